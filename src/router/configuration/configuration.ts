import { isPlainObject, readInteger, readString } from '../../base/index.ts';
import { decodeScheme, type ResourceScheme } from './scheme.ts';

/** Parameters of a resource or of a list entry by name; every value is a text, numbers and flags included. */
export type Parameters = Readonly<Record<string, string>>;

/** State of a profile of the configuration. Flags missing in the answer are absent. */
export interface ProfileState {
  readonly name: string;
  readonly lastActivated: boolean | undefined;
  readonly modified: boolean | undefined;
}

/** An entry of a list inside a list entry. */
export interface SublistEntry {
  readonly uid: string | undefined;
  readonly parameters: Parameters;
}

/** An entry of a list. */
export interface ListEntry {
  /** `list_uid`: names the entry in a change. */
  readonly uid: string | undefined;
  /** `index`, as in `user1`. Other lists have it as the parameter `name`, as in `wan1`. */
  readonly index: string | undefined;
  readonly parameters: Parameters;
  readonly sublist: readonly SublistEntry[];
}

/** A configuration resource as it was read. */
export interface Configuration {
  readonly profile: ProfileState | undefined;
  /** Single-valued parameters, from `config.unique` and from `config` itself: resources use either. */
  readonly unique: Parameters;
  readonly list: readonly ListEntry[];
  /** Present when the scheme was asked for. */
  readonly scheme: ResourceScheme | undefined;
}

/** Names that identify an entry; a new entry must not carry them, because the router assigns them. */
interface AssignedByRouter {
  readonly list_uid?: never;
  readonly sublist_uid?: never;
  readonly index?: never;
}

/** An entry of a sublist to be added. */
export type NewSublistEntry = AssignedByRouter & { readonly [parameter: string]: string | undefined };

/** An entry to be added at the end of a list. */
export interface NewEntry {
  readonly parameters: NewSublistEntry;
  readonly sublist?: readonly NewSublistEntry[];
}

/** A change of one entry of a sublist. */
export interface ChangedSublistEntry {
  readonly sublist_uid: string;
  readonly parameters: NewSublistEntry;
}

/** A change of one list entry by its uid, with changes of its sublist. */
export interface UidEntry {
  /** Required even if only entries of the sublist change: without it the router rejects the whole request. */
  readonly list_uid: string;
  readonly parameters?: NewSublistEntry;
  readonly sublist?: readonly ChangedSublistEntry[];
}

/** A change of one list entry: by its uid, or by its index, which is called `name` in most lists. */
export type ChangedEntry = UidEntry | { readonly index: string; readonly parameters: NewSublistEntry };

/** Profile of a call, and its activation afterwards. */
export interface ProfileChoice {
  /** Absent: the running profile. */
  readonly profile?: string;
  /** Part of the request with the name of the profile. Default `body`. */
  readonly profileIn?: 'body' | 'query';
  /** Activates the profile after the change. Default false: it is only changed. */
  readonly activate?: boolean;
}

/** Maximum number of entries of one list read from an answer. */
const ENTRIES_MAX = 10_000;
const ASSIGNED = new Set(['list_uid', 'sublist_uid', 'index', 'sublist']);

/** Renders the query parameters of a configuration request. */
export function renderConfigurationQuery(options: {
  readonly profile?: string | undefined;
  readonly filter?: Filter | undefined;
  readonly returnSize?: boolean | undefined;
  readonly appendScheme?: boolean | undefined;
  readonly deleteField?: string | undefined;
}): Record<string, string> {
  const { profile, filter, returnSize, appendScheme, deleteField } = options;
  return {
    ...(profile !== undefined && { profile }),
    ...(filter !== undefined && filter.length > 0 && { filter: renderFilter(filter) }),
    ...(returnSize && { return_size: '1' }),
    ...(appendScheme && { append_scheme: '1' }),
    ...(deleteField !== undefined && { delete: deleteField }),
  };
}

/** Renders the body of a POST that adds entries. */
export function renderNewEntries(entries: readonly NewEntry[], choice: ProfileChoice): object {
  const list = entries.map(({ parameters, sublist }) => ({ ...parameters, ...(sublist && { sublist }) }));
  return { ...renderProfile(choice), config: { list } };
}

/** Renders the body of a POST that adds entries to the sublist of an existing entry. */
export function renderNewSublistEntries(
  list_uid: string,
  sublist: readonly NewSublistEntry[],
  choice: ProfileChoice,
): object {
  return { ...renderProfile(choice), config: { list: [{ list_uid, sublist }] } };
}

/** Renders the body of a PUT that changes entries. */
export function renderChangedEntries(entries: readonly UidEntry[], choice: ProfileChoice): object {
  const list = entries.map(({ list_uid, parameters, sublist }) => {
    const changes = sublist?.map((one) => ({ ...one.parameters, sublist_uid: one.sublist_uid }));
    return { ...parameters, list_uid, ...(changes && { sublist: changes }) };
  });
  return { ...renderProfile(choice), config: { list } };
}

/** Renders the body of a PUT that changes single-valued parameters. */
export function renderChangedParameters(unique: Parameters, choice: ProfileChoice): object {
  return { ...renderProfile(choice), config: { unique } };
}

/** Renders the query of a POST or PUT. */
export function renderChoiceQuery({ profile, profileIn }: ProfileChoice): Record<string, string> {
  return profileIn === 'query' ? renderConfigurationQuery({ profile }) : {};
}

function renderProfile({ profile, profileIn, activate }: ProfileChoice): object {
  const name = profileIn === 'query' ? undefined : profile;
  if (name === undefined && !activate) return {};
  return { profile: { ...(name !== undefined && { name }), ...(activate && { activate: '1' }) } };
}

/** Decodes the envelope of a configuration answer; `undefined` when there is no `config` in it. */
export function decodeConfiguration(body: unknown): Configuration | undefined {
  if (!isPlainObject(body) || !isPlainObject(body['config'])) return undefined;
  const { config, profile, scheme } = body;
  const list: unknown = config['list'];
  return {
    profile: decodeProfileState(profile),
    unique: { ...decodeParameters(config), ...decodeParameters(config['unique']) },
    list: Array.isArray(list) ? list.slice(0, ENTRIES_MAX).filter(isPlainObject).map(decodeEntry) : [],
    scheme: scheme === undefined ? undefined : decodeScheme(scheme),
  };
}

/** Decodes `config.list_size`; `undefined` when it is missing. */
export function decodeListSize(body: unknown): number | undefined {
  if (!isPlainObject(body) || !isPlainObject(body['config'])) return undefined;
  return readInteger(body['config'], 'list_size');
}

/** Decodes a profile as configuration answers and the profile list describe it; `undefined` without a name. */
export function decodeProfileState(value: unknown): ProfileState | undefined {
  if (!isPlainObject(value)) return undefined;
  const name = readString(value, 'name');
  if (name === undefined) return undefined;
  const readFlag = (field: string) => (typeof value[field] === 'boolean' ? value[field] : undefined);
  return { name, lastActivated: readFlag('last_activated'), modified: readFlag('modified') };
}

function decodeEntry(entry: Readonly<Record<string, unknown>>): ListEntry {
  const { sublist } = entry;
  return {
    uid: readString(entry, 'list_uid'),
    index: readString(entry, 'index'),
    parameters: decodeParameters(entry),
    sublist: Array.isArray(sublist)
      ? sublist
          .slice(0, ENTRIES_MAX)
          .filter(isPlainObject)
          .map((item) => ({ uid: readString(item, 'sublist_uid'), parameters: decodeParameters(item) }))
      : [],
  };
}

/** Returns the text fields of an object, which are its parameters. */
function decodeParameters(value: unknown): Parameters {
  if (!isPlainObject(value)) return {};
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !ASSIGNED.has(entry[0]),
  );
  return Object.fromEntries(texts);
}

/** One condition on the entries of a list. */
export interface Condition {
  /** A parameter of the entry. */
  readonly parameter: string;
  /** `eq`: exactly equal. `like`: contains the value, ignoring case. */
  readonly operator: 'eq' | 'like';
  /** Several values are alternatives. */
  readonly value: string | readonly string[];
}

/** Conditions that must all hold. */
export type Filter = readonly Condition[];

/** Creates the condition that `parameter` is exactly `value`, or one of several. */
export function equals(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'eq', value };
}

/** Creates the condition that `parameter` contains `value`, or one of several, ignoring case. */
export function contains(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'like', value };
}

/** Renders a filter for the query parameter `filter`: one object, or an array of objects that are combined with AND. */
export function renderFilter(filter: Filter): string {
  const conditions = filter.map(({ parameter, operator, value }) => ({ p: parameter, o: operator, v: value }));
  return JSON.stringify(conditions.length === 1 ? conditions[0] : conditions);
}
