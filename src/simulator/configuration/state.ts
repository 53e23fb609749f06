import { deriveRandom, randomHex } from '../seeded.ts';
import type { Field } from './field.ts';
import type { FreshEntry, ListDefinition, ResourceDefinition, Values } from './resource.ts';

/** An entry of a list within a list. */
export interface SubEntry {
  readonly uid: string;
  readonly fields: Values;
}

/** An entry of a list. */
export interface Entry {
  readonly uid: string;
  readonly index: string;
  readonly fields: Values;
  /** Empty for entries that hold no list. */
  readonly sublist: readonly SubEntry[];
}

/** All values of one resource. Never changed: a write makes a new one, so that profiles can share what is equal. */
export interface ResourceState {
  readonly unique: Values;
  readonly list: readonly Entry[];
}

/** A whole configuration: the resources that differ from a fresh device's. */
export type Configuration = ReadonlyMap<string, ResourceState>;

/** Digits of `list_uid` and `sublist_uid`. */
const UID_DIGITS = 10;

/** Makes identifiers that no entry has had before. */
export type CreateUid = () => string;

/** Identifiers from a random sequence. */
export function createUids(random: () => number): CreateUid {
  return () => randomHex(random, UID_DIGITS);
}

/** The values that `fields` have when nobody gave any. */
export function readDefaults(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map((field) => [field.name, field.default]));
}

const freshStates = new WeakMap<ResourceDefinition, ResourceState>();

/** The resource as a fresh device has it; the same object for all routers. */
export function readFresh(definition: ResourceDefinition): ResourceState {
  let state = freshStates.get(definition);
  if (!state) {
    const createUid = createUids(deriveRandom(0, definition.path));
    const { list } = definition;
    state = {
      unique: readDefaults(definition.unique),
      list: (list?.fresh ?? []).map((entry, position) => createFreshEntry(list, entry, position, createUid)),
    };
    freshStates.set(definition, state);
  }
  return state;
}

/** The values of a resource in `configuration`. */
export function readState(configuration: Configuration, definition: ResourceDefinition): ResourceState {
  return configuration.get(definition.path) ?? readFresh(definition);
}

/** Returns the configuration with one resource replaced. */
export function replaceState(
  configuration: Configuration,
  { path }: ResourceDefinition,
  state: ResourceState,
): Configuration {
  return new Map([...configuration, [path, state]]);
}

/** Fields of an entry with the name that the router gave it in place of an empty one. */
export function nameEntry(fields: Values, index: string): Values {
  return fields['name'] === '' ? { ...fields, name: index } : fields;
}

function createFreshEntry(
  list: ListDefinition | undefined,
  entry: FreshEntry,
  position: number,
  createUid: CreateUid,
): Entry {
  const { fields = [], sublist = [], indexPrefix = '' } = list ?? {};
  return {
    uid: createUid(),
    index: `${indexPrefix}${position + 1}`,
    fields: nameEntry({ ...readDefaults(fields), ...entry.fields }, `${indexPrefix}${position + 1}`),
    sublist: (entry.sublist ?? []).map((values) => ({
      uid: createUid(),
      fields: { ...readDefaults(sublist), ...values },
    })),
  };
}
