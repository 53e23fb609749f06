import { RouterError } from '../errors.ts';
import type { Call, RequestQueue } from '../requests/request-queue.ts';
import {
  type ChangedEntry,
  type Configuration,
  decodeConfiguration,
  decodeListSize,
  type Filter,
  type NewEntry,
  type NewSublistEntry,
  type Parameters,
  type ProfileChoice,
  renderChangedEntries,
  renderChangedParameters,
  renderChoiceQuery,
  renderConfigurationQuery,
  renderNewEntries,
  renderNewSublistEntries,
  type UidEntry,
} from './configuration.ts';

/** Entries and profile of a call. */
export interface EntryChoice {
  /** Absent: the running profile. */
  readonly profile?: string;
  /** Absent or empty: all entries. */
  readonly filter?: Filter;
}

/** Bounds of the answers: a resource with its scheme is far below one MiB, a number of entries takes some hundred bytes. */
const CONFIGURATION_BYTES_MAX = 1024 * 1024;
const SIZE_BYTES_MAX = 64 * 1024;
const NEVER = new AbortController().signal;

/**
 * The calls on `/configuration/<section>/<resource>`; `resource` is given as that path, as in `administration/users`.
 * All throw {@link RouterError}: status 400 for values that the router refuses (its words name the parameters), 403
 * without rights, 404 for an unknown resource or profile. Changes are sent once: if the connection
 * is lost, read the resource to see whether the change was applied. Source: interface document, "Configuration endpoints".
 */
export class ConfigurationCalls {
  readonly #requests: RequestQueue;
  readonly #encodePath: (path: string) => string;

  constructor(requests: RequestQueue, encodePath: (path: string) => string) {
    this.#requests = requests;
    this.#encodePath = encodePath;
  }

  /** Reads a resource; with `appendScheme` also the valid values of its parameters. */
  async read(
    resource: string,
    options: EntryChoice & { readonly appendScheme?: boolean } = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration> {
    const call = this.#createCall('GET', resource, renderConfigurationQuery(options), signal);
    const configuration = decodeConfiguration(
      (await this.#requests.ask({ ...call, bytesMax: CONFIGURATION_BYTES_MAX }, 200)).body,
    );
    if (!configuration) throw toShapeError(call, 'an object "config"');
    return configuration;
  }

  /** Counts entries without reading them. */
  async countEntries(resource: string, options: EntryChoice = {}, signal: AbortSignal = NEVER): Promise<number> {
    const query = renderConfigurationQuery({ ...options, returnSize: true });
    const call = this.#createCall('GET', resource, query, signal);
    const size = decodeListSize((await this.#requests.ask({ ...call, bytesMax: SIZE_BYTES_MAX }, 200)).body);
    if (size === undefined) throw toShapeError(call, 'a number "config.list_size"');
    return size;
  }

  /** Adds entries at the end of the list. Returns the configuration in the answer, if the device sends one. */
  async addEntries(
    resource: string,
    entries: readonly NewEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('POST', resource, renderNewEntries(entries, choice), choice, signal);
  }

  /** Adds entries at the end of the sublist of an entry, given by its `list_uid`. */
  async addSublistEntries(
    resource: string,
    listUid: string,
    entries: readonly NewSublistEntry[],
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('POST', resource, renderNewSublistEntries(listUid, entries, choice), choice, signal);
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
    return this.#write('PUT', resource, renderChangedEntries(named, choice), choice, signal);
  }

  /** Changes single-valued parameters; those that are not named stay. */
  async changeParameters(
    resource: string,
    parameters: Parameters,
    choice: ProfileChoice = {},
    signal: AbortSignal = NEVER,
  ): Promise<Configuration | undefined> {
    return this.#write('PUT', resource, renderChangedParameters(parameters, choice), choice, signal);
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
    const query = renderConfigurationQuery({
      profile,
      filter: filter === 'all' ? undefined : filter,
      deleteField: field,
    });
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
    json: object,
    choice: ProfileChoice,
    signal: AbortSignal,
  ): Promise<Configuration | undefined> {
    const call = { ...this.#createCall(method, resource, renderChoiceQuery(choice), signal), json };
    const { body } = await this.#requests.ask(call, method === 'POST' ? 201 : 200);
    return decodeConfiguration(body);
  }

  #createCall(method: Call['method'], resource: string, query: Record<string, string>, signal: AbortSignal): Call {
    return { method, path: `/configuration/${this.#encodePath(resource)}`, query, signal };
  }
}

function toShapeError(call: Call, expected: string): RouterError {
  return new RouterError('parse', `${call.method} ${call.path} was not answered with ${expected}`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
  });
}
