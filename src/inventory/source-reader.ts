import { type Clock, createSystemClock, DeadlineExceeded, openDeadline } from '../base/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  type DataRoot,
  listMatches,
  readTextFile,
  renderFault,
  YamlThread,
} from '../settings/index.ts';
import { failReading } from './errors.ts';
import { type ListedRouters, RouterList, toHeapMb } from './router-list.ts';
import type { NetboxSettings, RequestSettings, SourceSettings } from './settings.ts';
import { type SourceAnswer, SourceClient, type Validators } from './source-client.ts';
import type { SourceKeeper } from './source-keeper.ts';
import { addDevices, addRouters } from './to-routers.ts';

/** Files of one source. */
const FILES_MAX = 1000;
/** Pages of one list: 100,000 devices in pages of the default size. */
const PAGES_MAX = 400;
/** All pages of a list may take so many times what one request may take. */
const READING_TIMEOUTS = 10;

const LIST: DataRoot = {
  kind: 'list',
  format: 'json',
  expected: 'a list of routers, or of maps with "targets"',
  ifEmpty: 'it must be "[]" where there is no router',
};
const LIST_OF_FILE: DataRoot = { ...LIST, format: 'json or yaml' };
/** Characters of YAML for each router; usual ones take half of it. YAML takes a hundred times its size in memory. */
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
   * Reads the list, in order of the names. `undefined`: it has not changed since it was read last. Throws `InventoryError`, or the
   * reason of `signal`.
   */
  async read(signal: AbortSignal): Promise<ListedRouters | undefined> {
    const settings = this.#settings;
    // What a source sends may end this thread, but not the agent.
    await using thread = new YamlThread(toHeapMb(settings.routers_max));
    if (settings.type === 'file_sd') return await this.#readFiles(settings.files, thread);
    if (settings.type === 'netbox') return await this.#readPages(settings, thread, signal);
    const answer = await this.#get(settings, new URL(settings.url), this.#known, signal);
    if (!answer) return undefined;
    const list = new RouterList(this.#settings.routers_max);
    await addRouters(list, (await parse('the answer', answer.text, LIST, thread)) as readonly unknown[], 'the answer');
    // Only now, because an answer that is no list must be asked for again.
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
      // Without it, a folder that is not mounted would look like a fleet that has gone.
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

  /** Reads all pages. The address of the next one is computed: that in the answer could lead to another server. */
  async #readPages(netbox: NetboxSettings, thread: YamlThread, signal: AbortSignal): Promise<ListedRouters> {
    const { url, timeout, query = '', page_size: pageSize } = netbox;
    const allowedGroups = new Set(netbox.allowed_groups);
    const routers = new RouterList(this.#settings.routers_max);
    const endsAtMs = this.#clock.monotonic() + READING_TIMEOUTS * timeout;
    let devices = 0;
    let total: unknown;
    for (let number = 0; number < PAGES_MAX; number++) {
      const address = new URL(`${url.replace(/\/+$/, '')}/api/dcim/devices/`);
      // The context of a device is often larger than all the rest of it.
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
      // Pages are counted off: once a device is gone from one that was read, the first one of the next page would be missing.
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

  /** Makes one request, within its time limit. */
  async #get(
    { timeout: timeoutMs }: RequestSettings,
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
      throw failReading('unreachable', `The source did not answer completely within ${timeoutMs / 1000} s`);
    }
  }
}

/** Parses an answer or a file in a thread, with the bounds of configuration files. */
async function parse(name: string, text: string, root: DataRoot, thread: YamlThread): Promise<unknown> {
  const parsed = await thread.parseData(name, text, root);
  if (parsed.ok) return parsed.value;
  throw failReading('invalid', `The list cannot be used: ${renderFault(parsed.fault)}`);
}

/** Reads the lists of sources once, and offers them; `onFailed` is told why one cannot be read. Ends early once `signal` aborts. */
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
