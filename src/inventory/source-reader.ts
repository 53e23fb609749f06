import { type Clock, createSystemClock, DeadlineExceeded, openDeadline } from '../base/index.ts';
import {
  ContentCodingError,
  createConnector,
  createOneConnectionAgent,
  renderWay,
  requestBounded,
  toProxy,
} from '../net/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type DataRoot,
  listMatches,
  readTextFile,
  renderFault,
  revealTls,
  YamlThread,
} from '../settings/index.ts';
import {
  addDevices,
  addRouters,
  failReading,
  InventoryError,
  type ListedRouters,
  RouterList,
  toHeapMb,
} from './router-list.ts';
import type { NetboxSettings, RequestSettings, SourceSettings } from './settings.ts';
import type { SourceKeeper } from './source-keeper.ts';

interface SourceAnswer {
  readonly text: string;
  readonly validators: Validators;
}

interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

const OK = 200;
const NOT_MODIFIED = 304;
/** Longer validators are not sent back. */
const VALIDATOR_CHARS_MAX = 1024;
/** From one page of a list to the next. */
const KEEP_ALIVE_MS = 10_000;
/** All headers of an answer. Bytes. */
const HEADER_BYTES_MAX = 16 * 1024;

/** Requests to the server of one source. Redirects are not followed: they could lead to another server. */
class SourceClient implements AsyncDisposable {
  readonly #settings: RequestSettings;
  readonly #agent: ReturnType<typeof createOneConnectionAgent>;

  constructor(settings: RequestSettings, clock: Clock) {
    this.#settings = settings;
    this.#agent = createOneConnectionAgent({
      keepAliveMs: KEEP_ALIVE_MS,
      headerBytesMax: HEADER_BYTES_MAX,
      connect: createConnector(clock, revealTls(settings.tls), toProxy(settings.proxy, 'source')),
    });
  }

  /**
   * Returns `undefined` if the list equals the one that `known` belongs to. Throws {@link InventoryError}, or the
   * reason of `signal`. The answer is not larger than a configuration file.
   */
  async get(url: URL, known: Validators, signal: AbortSignal): Promise<SourceAnswer | undefined> {
    try {
      const { status, headers, bytes, isCut } = await requestBounded({
        agent: this.#agent,
        url,
        accept: 'application/json',
        headers: {
          ...this.#renderAuth(),
          ...(known.etag !== undefined && { 'if-none-match': known.etag }),
          ...(known.lastModified !== undefined && { 'if-modified-since': known.lastModified }),
        },
        bytesMax: CONFIG_FILE_BYTES_MAX,
        signal,
      });
      if (status === NOT_MODIFIED && Object.keys(known).length > 0) return undefined;
      if (status !== OK)
        throw failReading('refused', `The source answered with status ${status}`, undefined, adviseStatus(status));
      if (isCut) throw failReading('too_large', `The answer has more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
      const text = decodeText(bytes);
      return {
        text,
        validators: { etag: toValidator(headers['etag']), lastModified: toValidator(headers['last-modified']) },
      };
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof InventoryError) throw cause;
      if (cause instanceof ContentCodingError) throw failReading('invalid', 'The answer cannot be read', cause);
      throw failReading('unreachable', 'The source could not be reached', cause);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.destroy();
  }

  #renderAuth(): Record<string, string> {
    const settings = this.#settings;
    if (settings.type === 'netbox') {
      const token = settings.token?.reveal();
      // Tokens of NetBox 4.5 and later have this prefix and need the other scheme.
      return token === undefined ? {} : { authorization: `${token.startsWith('nbt_') ? 'Bearer' : 'Token'} ${token}` };
    }
    const { username, password, bearer_token: bearer } = settings;
    if (username !== undefined && password) {
      const account = Buffer.from(`${username}:${password.reveal()}`, 'utf8').toString('base64');
      return { authorization: `Basic ${account}` };
    }
    return bearer ? { authorization: `Bearer ${bearer.reveal()}` } : {};
  }
}

function adviseStatus(status: number): string | undefined {
  if (status >= 300 && status < 400) return 'Redirects are not followed; write the URL that it leads to';
  return status === 401 || status === 403 ? 'Check the credentials of the source' : undefined;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw failReading('invalid', 'The answer is not UTF-8', cause);
  }
}

function toValidator(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && header.length <= VALIDATOR_CHARS_MAX && /^[\x20-\x7e]+$/.test(header)
    ? header
    : undefined;
}

const FILES_MAX = 1000;
/** Pages of one list: 100,000 devices in pages of the default size. */
const PAGES_MAX = 400;
/** Time limit of all pages of a list, as a multiple of the time limit of one request. */
const READING_TIMEOUTS = 10;

const LIST: DataRoot = {
  kind: 'list',
  format: 'json',
  expected: 'a list of routers, or of maps with "targets"',
  ifEmpty: 'it must be "[]" where there is no router',
};
const LIST_OF_FILE: DataRoot = { ...LIST, format: 'json or yaml' };
/** Characters of YAML per router, twice the usual; parsing takes a hundred times their size in memory. */
const YAML_CHARS_PER_ROUTER = 400;
const PAGE: DataRoot = {
  kind: 'map',
  format: 'json',
  expected: 'a page with "results"',
  ifEmpty: 'it must be a page with "results"',
};

/** Reads the list of one source, and remembers which one it has read. */
export class SourceReader implements AsyncDisposable {
  readonly #settings: SourceSettings;
  readonly #clock: Clock;
  readonly #client: SourceClient | undefined;
  #known: Validators = {};

  constructor(settings: SourceSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#client = settings.type === 'file_sd' ? undefined : new SourceClient(settings, clock);
  }

  /**
   * Returns the list, ordered by name; `undefined` if it has not changed since the last reading. Throws
   * `InventoryError`, or the reason of `signal`.
   */
  async read(signal: AbortSignal): Promise<ListedRouters | undefined> {
    const settings = this.#settings;
    // Content of a source may exhaust the memory of this thread, but not that of the agent.
    await using thread = new YamlThread(toHeapMb(settings.routers_max));
    if (settings.type === 'file_sd') return await this.#readFiles(settings.files, thread);
    if (settings.type === 'netbox') return await this.#readPages(settings, thread, signal);
    const answer = await this.#get(settings, new URL(settings.url), this.#known, signal);
    if (!answer) return undefined;
    const list = new RouterList(this.#settings.routers_max);
    await addRouters(list, (await parse('the answer', answer.text, LIST, thread)) as readonly unknown[], 'the answer');
    // Only now: an answer that is not a list must be requested again.
    this.#known = withoutAbsent(answer.validators);
    return list.render();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.[Symbol.asyncDispose]();
  }

  async #readFiles(patterns: readonly string[], thread: YamlThread): Promise<ListedRouters> {
    const { routers_max: routersMax } = this.#settings;
    const routers = new RouterList(routersMax);
    const root = { ...LIST_OF_FILE, yamlCharsMax: YAML_CHARS_PER_ROUTER * routersMax };
    let bytes = 0;
    for (const pattern of patterns) {
      const paths = await listMatches(pattern, FILES_MAX);
      // Otherwise a folder that is not mounted would look like an empty fleet.
      if (paths.length === 0) throw failReading('unreachable', `No file matches ${pattern}`);
      for (const path of paths) {
        const file = await readTextFile(path, CONFIG_FILE_BYTES_MAX);
        if (!file.ok) throw failReading('unreachable', `The file ${path} ${file.reason}`);
        bytes += file.text.length;
        if (bytes > CONFIG_FILE_BYTES_MAX)
          throw failReading('too_large', `The files have more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
        await addRouters(routers, (await parse(path, file.text, root, thread)) as readonly unknown[], path);
      }
    }
    return routers.render();
  }

  /** The address of the next page is computed: the one in the answer could lead to another server. */
  async #readPages(netbox: NetboxSettings, thread: YamlThread, signal: AbortSignal): Promise<ListedRouters> {
    const { url, timeout, query = '', page_size: pageSize } = netbox;
    const allowedGroups = new Set(netbox.allowed_groups);
    const routers = new RouterList(this.#settings.routers_max);
    const endsAtMs = this.#clock.monotonic() + READING_TIMEOUTS * timeout;
    let devices = 0;
    let total: unknown;
    for (let number = 0; number < PAGES_MAX; number++) {
      const address = new URL(`${url.replace(/\/+$/, '')}/api/dcim/devices/`);
      // The context of a device is often larger than everything else.
      address.search = `${query === '' ? '' : `${query}&`}exclude=config_context&limit=${pageSize}&offset=${devices}`;
      const answer = await this.#get(netbox, address, {}, signal);
      const page = await parse('the answer', answer?.text ?? '', PAGE, thread);
      const { results, next, count } = page as Readonly<Record<string, unknown>>;
      if (!Array.isArray(results))
        throw failReading('invalid', 'The answer is no page of devices: it has no list "results"');
      await addDevices(routers, results, netbox, allowedGroups);
      devices += results.length;
      if (number === 0) total = count;
      const isLast = next === null || next === undefined;
      // Pages are offsets: if a device of an earlier page is gone, the first one of the next page is missing.
      if (typeof total === 'number' && (count !== total || (isLast && devices !== total)))
        throw failReading(
          'unreachable',
          'The list of devices has changed while its pages were read; it is read again later',
        );
      if (isLast) return routers.render();
      if (results.length === 0) throw failReading('invalid', 'A page has no devices, but names a next one');
      if (this.#clock.monotonic() >= endsAtMs) {
        const limit = (READING_TIMEOUTS * timeout) / 1000;
        throw failReading('unreachable', `The source did not give all of its pages within ${limit} s`);
      }
    }
    throw failReading('too_large', `The list has more than ${PAGES_MAX} pages`);
  }

  async #get(
    { timeout: timeoutMs, proxy }: RequestSettings,
    url: URL,
    known: Validators,
    signal: AbortSignal,
  ): Promise<SourceAnswer | undefined> {
    using deadline = openDeadline(this.#clock, timeoutMs, signal);
    try {
      return await this.#client?.get(url, known, deadline.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof DeadlineExceeded)) throw cause;
      const way = renderWay(toProxy(proxy, 'source'));
      throw failReading('unreachable', `The source did not answer completely${way} within ${timeoutMs / 1000} s`);
    }
  }
}

async function parse(name: string, text: string, root: DataRoot, thread: YamlThread): Promise<unknown> {
  const parsed = await thread.parseData(name, text, root);
  if (parsed.ok) return parsed.value;
  throw failReading('invalid', `The list cannot be used: ${renderFault(parsed.fault)}`);
}

/**
 * Reads the lists of sources once and offers them; `onFailed` gets the cause of a failure. Returns early once `signal`
 * aborts.
 */
export async function offerLists(
  sources: readonly SourceSettings[],
  keeper: SourceKeeper,
  signal: AbortSignal,
  onFailed: (source: string, cause: unknown) => void,
): Promise<void> {
  for (const settings of sources) {
    await using reader = new SourceReader(settings, createSystemClock());
    try {
      const list = await reader.read(signal);
      if (list) keeper.offer(settings.name, list);
    } catch (cause) {
      if (signal.aborted) return;
      onFailed(settings.name, cause);
    }
  }
}

function withoutAbsent({ etag, lastModified }: Validators): Validators {
  return { ...(etag !== undefined && { etag }), ...(lastModified !== undefined && { lastModified }) };
}
