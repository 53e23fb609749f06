import { isPlainObject, readInteger, readString } from '../base/index.ts';
import { RouterError } from './errors.ts';
import type { Lane } from './requests/lanes.ts';
import { encodePath, toShapeError } from './requests/messages.ts';
import type { Call, Requests } from './requests/requests.ts';
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
interface SublistEntry {
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
type NewSublistEntry = AssignedByRouter & { readonly [parameter: string]: string | undefined };

/** An entry to be added at the end of a list. */
export interface NewEntry {
  readonly parameters: NewSublistEntry;
  readonly sublist?: readonly NewSublistEntry[];
}

/** A change of one entry of a sublist. */
interface ChangedSublistEntry {
  readonly sublist_uid: string;
  readonly parameters: NewSublistEntry;
}

/** A change of one list entry by its uid, with changes of its sublist. */
interface UidEntry {
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

/** Entries and profile of a call. */
interface EntryChoice {
  /** Absent: the running profile. */
  readonly profile?: string;
  /** Absent or empty: all entries. */
  readonly filter?: Filter;
}

/** Bounds of the answers: a resource with its scheme is far below one MiB, a number of entries takes some hundred bytes. */
const CONFIGURATION_BYTES_MAX = 1024 * 1024;
const SIZE_BYTES_MAX = 64 * 1024;
/** Maximum number of entries of one list read from an answer. */
const ENTRIES_MAX = 10_000;
const ASSIGNED = new Set(['list_uid', 'sublist_uid', 'index', 'sublist']);
const NEVER = new AbortController().signal;

/**
 * The calls on `/configuration/<section>/<resource>`; `resource` is given as that path, as in `administration/users`.
 * All throw {@link RouterError}: status 400 for values that the router refuses (its words name the parameters), 403
 * without rights, 404 for an unknown resource or profile. Changes are sent once: if the connection
 * is lost, read the resource to see whether the change was applied. Source: interface document, "Configuration endpoints".
 */
export class ConfigurationCalls {
  readonly #requests: Requests;
  readonly #lane: Lane;

  constructor(requests: Requests, lane: Lane) {
    this.#requests = requests;
    this.#lane = lane;
  }

  /** Reads a resource; with `appendScheme` also the valid values of its parameters. */
  async read(
    resource: string,
    options: EntryChoice & { readonly appendScheme?: boolean } = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration> {
    const call = this.#createCall('GET', resource, renderQuery(options), signal);
    const { body } = await this.#requests.ask({ ...call, bytesMax: CONFIGURATION_BYTES_MAX }, 200);
    const configuration = decodeConfiguration(body);
    if (!configuration) throw toShapeError(`GET ${call.path}`, 'an object "config"');
    return configuration;
  }

  /** Counts entries without reading them. */
  async countEntries(resource: string, options: EntryChoice = {}, signal: AbortSignal = NEVER): Promise<number> {
    const call = this.#createCall('GET', resource, { ...renderQuery(options), return_size: '1' }, signal);
    const { body } = await this.#requests.ask({ ...call, bytesMax: SIZE_BYTES_MAX }, 200);
    const config: unknown = isPlainObject(body) ? body['config'] : undefined;
    const size = isPlainObject(config) ? readInteger(config, 'list_size') : undefined;
    if (size === undefined) throw toShapeError(`GET ${call.path}`, 'a number "config.list_size"');
    return size;
  }

  /** Adds entries at the end of the list. Returns the configuration in the answer, if the device sends one. */
  async addEntries(
    resource: string,
    entries: readonly NewEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    const list = entries.map(({ parameters, sublist }) => ({ ...parameters, ...(sublist && { sublist }) }));
    return this.#write('POST', resource, { list }, choice, signal);
  }

  /** Adds entries at the end of the sublist of an entry, given by its `list_uid`. */
  async addSublistEntries(
    resource: string,
    listUid: string,
    entries: readonly NewSublistEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('POST', resource, { list: [{ list_uid: listUid, sublist: entries }] }, choice, signal);
  }

  /**
   * Changes entries, given by their uid, or by their index or name: then the list is read first, because icom OS 9.5 takes the
   * uid alone.
   */
  async changeEntries(
    resource: string,
    entries: readonly ChangedEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    const named = await this.#findUids(resource, entries, choice, signal);
    const list = named.map(({ list_uid, parameters, sublist }) => {
      const changes = sublist?.map((one) => ({ ...one.parameters, sublist_uid: one.sublist_uid }));
      return { ...parameters, list_uid, ...(changes && { sublist: changes }) };
    });
    return this.#write('PUT', resource, { list }, choice, signal);
  }

  /** Changes single-valued parameters; those that are not named stay. */
  async changeParameters(
    resource: string,
    parameters: Parameters,
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('PUT', resource, { unique: parameters }, choice, signal);
  }

  /**
   * Deletes the entries that the filter matches, or all of them when `filter` is the word `all`: leaving a filter out by
   * mistake must not empty a list. `field` deletes entries of sublists instead, as `interface` of `wan/wans` does.
   */
  async deleteEntries(
    resource: string,
    options: { readonly filter: Filter | 'all'; readonly profile?: string; readonly field?: string },
    signal: AbortSignal = NEVER,
  ): Promise<void> {
    const { filter, profile, field } = options;
    if (filter !== 'all' && filter.length === 0) {
      throw new RouterError('http', `DELETE ${resource} was not sent: its filter is empty`, {
        disposition: 'skip',
        hint: "To delete every entry, say filter: 'all'",
        isUnsent: true,
      });
    }
    const query = {
      ...renderQuery({ profile, filter: filter === 'all' ? undefined : filter }),
      ...(field !== undefined && { delete: field }),
    };
    await this.#requests.ask(this.#createCall('DELETE', resource, query, signal), 200);
  }

  async #findUids(
    resource: string,
    entries: readonly ChangedEntry[],
    { profile }: ProfileChoice,
    signal: AbortSignal,
  ): Promise<readonly UidEntry[]> {
    const isByUid = (entry: ChangedEntry): entry is UidEntry => 'list_uid' in entry;
    if (entries.every(isByUid)) return entries;
    const { list } = await this.read(resource, profile === undefined ? {} : { profile }, signal);
    return entries.map((entry): UidEntry => {
      if (isByUid(entry)) return entry;
      const { index, parameters } = entry;
      const found = list.find((one) => (one.index ?? one.parameters['name']) === index);
      if (found?.uid !== undefined) return { list_uid: found.uid, parameters };
      throw new RouterError('http', `PUT ${resource} was not sent: it has no entry ${JSON.stringify(index)}`, {
        disposition: 'skip',
        hint: 'Read the resource to see its entries',
        isUnsent: true,
      });
    });
  }

  async #write(
    method: 'POST' | 'PUT',
    resource: string,
    config: object,
    { profile, profileIn, activate }: ProfileChoice,
    signal: AbortSignal,
  ): Promise<Configuration | undefined> {
    const query = profileIn === 'query' ? renderQuery({ profile }) : {};
    const name = profileIn === 'query' ? undefined : profile;
    const choice = { ...(name !== undefined && { name }), ...(activate && { activate: '1' }) };
    const json = { ...(Object.keys(choice).length > 0 && { profile: choice }), config };
    const call = { ...this.#createCall(method, resource, query, signal), json };
    const { body } = await this.#requests.ask(call, method === 'POST' ? 201 : 200);
    return decodeConfiguration(body);
  }

  #createCall(method: Call['method'], resource: string, query: Record<string, string>, signal: AbortSignal): Call {
    return { method, path: `/configuration/${encodePath(resource)}`, query, lane: this.#lane, signal };
  }
}

/** Renders what a query says of profile, entries and scheme. */
function renderQuery(options: {
  readonly profile?: string | undefined;
  readonly filter?: Filter | undefined;
  readonly appendScheme?: boolean | undefined;
}): Record<string, string> {
  const { profile, filter, appendScheme } = options;
  return {
    ...(profile !== undefined && { profile }),
    ...(filter !== undefined && filter.length > 0 && { filter: renderFilter(filter) }),
    ...(appendScheme && { append_scheme: '1' }),
  };
}

/** Renders a filter for the query parameter `filter`: one object, or an array of objects that are combined with AND. */
function renderFilter(filter: Filter): string {
  const conditions = filter.map(({ parameter, operator, value }) => ({ p: parameter, o: operator, v: value }));
  return JSON.stringify(conditions.length === 1 ? conditions[0] : conditions);
}

/** Decodes the envelope of a configuration answer; `undefined` when there is no `config` in it. */
function decodeConfiguration(body: unknown): Configuration | undefined {
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
