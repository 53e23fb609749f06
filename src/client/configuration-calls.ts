import { isPlainObject, readInteger, readString } from '../base/index.ts';
import { RouterError } from './errors.ts';
import type { Lane } from './requests/lanes.ts';
import { encodePath, toShapeError } from './requests/messages.ts';
import type { Call, Requests } from './requests/requests.ts';
import { decodeScheme, type ResourceScheme } from './scheme.ts';

/** Parameters of a resource or a list entry by name; every value is a string, numbers and flags included. */
export type Parameters = Readonly<Record<string, string>>;

/** State of a configuration profile. Flags missing in the answer are `undefined`. */
export interface ProfileState {
  readonly name: string;
  readonly lastActivated: boolean | undefined;
  readonly modified: boolean | undefined;
}

interface SublistEntry {
  readonly uid: string | undefined;
  readonly parameters: Parameters;
}

/** An entry of a list. */
export interface ListEntry {
  /** `list_uid`: identifies the entry in a change. */
  readonly uid: string | undefined;
  /** As in `user1`. Other lists have a parameter `name` instead, as in `wan1`. */
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
  /** Present if the scheme was requested. */
  readonly scheme: ResourceScheme | undefined;
}

/** Fields that the router assigns; a new entry must not have them. */
interface AssignedByRouter {
  readonly list_uid?: never;
  readonly sublist_uid?: never;
  readonly index?: never;
}

type NewSublistEntry = AssignedByRouter & { readonly [parameter: string]: string | undefined };

/** An entry to be added to the end of a list. */
export interface NewEntry {
  readonly parameters: NewSublistEntry;
  readonly sublist?: readonly NewSublistEntry[];
}

interface ChangedSublistEntry {
  readonly sublist_uid: string;
  readonly parameters: NewSublistEntry;
}

interface UidEntry {
  /** Required even if only the sublist changes: without it the router rejects the whole request. */
  readonly list_uid: string;
  readonly parameters?: NewSublistEntry;
  readonly sublist?: readonly ChangedSublistEntry[];
}

/** A change of one list entry, identified by its uid or by its index (`name` in most lists). */
export type ChangedEntry = UidEntry | { readonly index: string; readonly parameters: NewSublistEntry };

/** Profile of a call, and whether to activate it. */
export interface ProfileChoice {
  /** Default: the running profile. */
  readonly profile?: string;
  /** Where the request names the profile. Default `body`. */
  readonly profileIn?: 'body' | 'query';
  /** Activates the profile after the change. Default false. */
  readonly activate?: boolean;
}

/** A condition on the entries of a list. */
export interface Condition {
  readonly parameter: string;
  /** `eq`: exactly equal. `like`: contains the value, ignoring case. */
  readonly operator: 'eq' | 'like';
  /** Several values are alternatives. */
  readonly value: string | readonly string[];
}

/** Conditions combined with AND. */
export type Filter = readonly Condition[];

/** Creates the condition that `parameter` equals `value`, or one of several. */
export function equals(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'eq', value };
}

/** Creates the condition that `parameter` contains `value`, or one of several, ignoring case. */
export function contains(parameter: string, value: string | readonly string[]): Condition {
  return { parameter, operator: 'like', value };
}

interface EntryChoice {
  /** Default: the running profile. */
  readonly profile?: string;
  /** Default: all entries. */
  readonly filter?: Filter;
}

/** Maximum sizes of answers: a resource with its scheme is far below 1 MiB, a number of entries takes some hundred bytes. */
const CONFIGURATION_BYTES_MAX = 1024 * 1024;
const SIZE_BYTES_MAX = 64 * 1024;
/** Of one list in an answer. */
const ENTRIES_MAX = 10_000;
const ASSIGNED = new Set(['list_uid', 'sublist_uid', 'index', 'sublist']);
const NEVER = new AbortController().signal;

/**
 * Calls on `/configuration/<section>/<resource>`; `resource` is that path, as in `administration/users`. All throw {@link RouterError}:
 * status 400 for values that the router rejects (its words name the parameters), 403 without rights, 404 for an unknown resource or
 * profile. Changes are sent once: if the connection is lost, read the resource to see whether the change was applied. Source: interface
 * document, "Configuration endpoints".
 */
export class ConfigurationCalls {
  readonly #requests: Requests;
  readonly #lane: Lane;

  constructor(requests: Requests, lane: Lane) {
    this.#requests = requests;
    this.#lane = lane;
  }

  /** Reads a resource; with `appendScheme` also the valid values of its parameters. A larger body than `bytesMax` is an error. */
  async read(
    resource: string,
    options: EntryChoice & { readonly appendScheme?: boolean; readonly bytesMax?: number } = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration> {
    const call = this.#createCall('GET', resource, renderQuery(options), signal);
    const { bytesMax = CONFIGURATION_BYTES_MAX } = options;
    const { body } = await this.#requests.ask({ ...call, bytesMax }, 200);
    const configuration = decodeConfiguration(body);
    if (!configuration) throw toShapeError(`GET ${call.path}`, 'an object "config"');
    return configuration;
  }

  /** Returns the number of entries without reading them. */
  async countEntries(resource: string, options: EntryChoice = {}, signal: AbortSignal = NEVER): Promise<number> {
    const call = this.#createCall('GET', resource, { ...renderQuery(options), return_size: '1' }, signal);
    const { body } = await this.#requests.ask({ ...call, bytesMax: SIZE_BYTES_MAX }, 200);
    const config: unknown = isPlainObject(body) ? body['config'] : undefined;
    const size = isPlainObject(config) ? readInteger(config, 'list_size') : undefined;
    if (size === undefined) throw toShapeError(`GET ${call.path}`, 'a number "config.list_size"');
    return size;
  }

  /** Adds entries to the end of the list. Returns the configuration in the answer, if the device sends one. */
  async addEntries(
    resource: string,
    entries: readonly NewEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    const list = entries.map(({ parameters, sublist }) => ({ ...parameters, ...(sublist && { sublist }) }));
    return this.#write('POST', resource, { list }, choice, signal);
  }

  /** Adds entries to the end of the sublist of the entry `listUid`. */
  async addSublistEntries(
    resource: string,
    listUid: string,
    entries: readonly NewSublistEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('POST', resource, { list: [{ list_uid: listUid, sublist: entries }] }, choice, signal);
  }

  /** Changes entries. Entries given by index or name require a read of the list first, because icom OS 9.5 accepts only the uid. */
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

  /** Changes single-valued parameters; parameters that are not named stay. */
  async changeParameters(
    resource: string,
    parameters: Parameters,
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('PUT', resource, { unique: parameters }, choice, signal);
  }

  /**
   * Deletes the entries that match the filter, or all if `filter` is `all`: a forgotten filter must not empty a list. `field` deletes
   * entries of sublists instead, such as `interface` of `wan/wans`.
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

/** One object, or an array of objects that are combined with AND. */
function renderFilter(filter: Filter): string {
  const conditions = filter.map(({ parameter, operator, value }) => ({ p: parameter, o: operator, v: value }));
  return JSON.stringify(conditions.length === 1 ? conditions[0] : conditions);
}

/** `undefined` without a `config`. */
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

/** Decodes a profile of a configuration answer or of the profile list; `undefined` without a name. */
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

/** Parameters are the string fields of an object. */
function decodeParameters(value: unknown): Parameters {
  if (!isPlainObject(value)) return {};
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !ASSIGNED.has(entry[0]),
  );
  return Object.fromEntries(texts);
}
