import { deriveRandom, randomHex } from '../seeded.ts';
import type { Field, FreshEntry, ListDefinition, ResourceDefinition, Values } from './resource.ts';
import { resourceTable } from './resources.ts';

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
  /** Empty for entries without a list. */
  readonly sublist: readonly SubEntry[];
}

/** All values of one resource. Immutable, so that profiles can share equal states. */
export interface ResourceState {
  readonly unique: Values;
  readonly list: readonly Entry[];
}

/** A whole configuration: the resources that differ from a fresh device's. */
export type Configuration = ReadonlyMap<string, ResourceState>;

const UID_DIGITS = 10;

/** Creates identifiers that no entry has had before. */
export type CreateUid = () => string;

/** Returns identifiers from a random sequence. */
export function createUids(random: () => number): CreateUid {
  return () => randomHex(random, UID_DIGITS);
}

/** Returns the default values of `fields`. */
export function readDefaults(fields: readonly Field[]): Values {
  return Object.fromEntries(fields.map((field) => [field.name, field.default]));
}

const freshStates = new WeakMap<ResourceDefinition, ResourceState>();

/** The same object for all routers. */
function readFresh(definition: ResourceDefinition): ResourceState {
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

/** Returns the values of a resource. */
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

/** Fills an empty name of an entry with the one that the router assigned. */
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

/** Returns the configuration of a fresh device, with the router's own single values by path and parameter. */
export function createFreshConfiguration(own: Readonly<Record<string, Values>>): Configuration {
  const states = Object.entries(own).flatMap(([path, values]) => {
    const definition = resourceTable.get(path);
    if (!definition) return [];
    const fresh = readFresh(definition);
    return [[path, { ...fresh, unique: { ...fresh.unique, ...values } }] as const];
  });
  return new Map(states);
}

/** Returns a single value of a configuration; empty if the parameter does not exist. */
export function readValue(configuration: Configuration, path: string, name: string): string {
  const definition = resourceTable.get(path);
  return definition ? (readState(configuration, definition).unique[name] ?? '') : '';
}

/** Returns the entries of a list in a configuration; empty if the list does not exist. */
export function readEntries(configuration: Configuration, path: string): ReturnType<typeof readFresh>['list'] {
  const definition = resourceTable.get(path);
  return definition ? readState(configuration, definition).list : [];
}
