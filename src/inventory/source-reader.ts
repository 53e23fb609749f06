import { z } from 'zod';
import { type Clock, DeadlineExceeded, openDeadline, Steps } from '../base/index.ts';
import {
  CONFIG_FILE_BYTES_MAX,
  ConfigFiles,
  listMatches,
  type RootExpected,
  readTextFile,
  renderFault,
} from '../settings/index.ts';
import { failReading } from './errors.ts';
import type { RequestSettings, SourceSettings } from './settings.ts';
import { SourceClient, type Validators } from './source-client.ts';
import { type NamedRouter, toNetboxRouters, toRouters } from './to-routers.ts';

/** Files of one source. */
const FILES_MAX = 1000;
/** Pages of one list: 100,000 devices in pages of the default size. */
const PAGES_MAX = 400;

const LIST: RootExpected = {
  kind: 'list',
  expected: 'a list of routers, or of maps with "targets"',
  ifEmpty: 'it must be "[]" where there is no router',
  schema: z.array(z.unknown()),
};
const PAGE: RootExpected = {
  kind: 'map',
  expected: 'a page with "results"',
  ifEmpty: 'it must be a page with "results"',
  schema: z.unknown(),
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
    this.#client = settings.request && new SourceClient(settings.request);
  }

  /**
   * Reads the list: one router per line, as JSON. `undefined`: it has not changed since it was read last. Throws
   * `InventoryError`, or the reason of `signal`.
   */
  async read(signal: AbortSignal): Promise<string | undefined> {
    const { request, netbox, files = [], allowed } = this.#settings;
    if (!request || !this.#client) return await renderList(await this.#readFiles(files));
    using deadline = openDeadline(this.#clock, request.timeoutMs, signal);
    try {
      if (netbox) {
        const devices = await this.#readPages(this.#client, request, deadline.signal);
        return await renderList(await toNetboxRouters(devices, netbox, allowed.groups));
      }
      const answer = await this.#client.get(new URL(request.url), this.#known, deadline.signal);
      if (!answer) return undefined;
      const list = await renderList(await toRouters((await parse(answer.text, LIST)) as readonly unknown[]));
      // Only now, because an answer that is no list must be asked for again.
      this.#known = withoutAbsent(answer.validators);
      return list;
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof DeadlineExceeded)) throw cause;
      throw failReading('unreachable', `The source did not answer completely within ${request.timeoutMs / 1000} s`);
    }
  }

  /** Lets the next reading ask for the whole list. */
  forget(): void {
    this.#known = {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.[Symbol.asyncDispose]();
  }

  async #readFiles(patterns: readonly string[]): Promise<readonly NamedRouter[]> {
    const routers: NamedRouter[] = [];
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
        const list = (await parse(file.text, LIST)) as readonly unknown[];
        for (const router of await toRouters(list)) routers.push(router);
      }
    }
    return routers;
  }

  /** Reads all pages. The address of the next one is computed: that in the answer could lead to another server. */
  async #readPages(client: SourceClient, { url }: RequestSettings, signal: AbortSignal): Promise<readonly unknown[]> {
    const { query = '', pageSize = 0 } = this.#settings.netbox ?? {};
    const devices: unknown[] = [];
    let bytes = 0;
    for (let page = 0; page < PAGES_MAX; page++) {
      const address = new URL(`${url.replace(/\/+$/, '')}/api/dcim/devices/`);
      address.search = `${query === '' ? '' : `${query}&`}limit=${pageSize}&offset=${devices.length}`;
      const answer = await client.get(address, {}, signal);
      bytes += answer?.text.length ?? 0;
      if (bytes > CONFIG_FILE_BYTES_MAX)
        throw failReading('too_large', `The pages have more than ${CONFIG_FILE_BYTES_MAX / 1024 ** 2} MiB`);
      const { results, next } = (await parse(answer?.text ?? '', PAGE)) as Readonly<Record<string, unknown>>;
      if (!Array.isArray(results))
        throw failReading('invalid', 'The answer is no page of devices: it has no list "results"');
      for (const device of results as readonly unknown[]) devices.push(device);
      if (next === null || next === undefined) return devices;
      if (results.length === 0) throw failReading('invalid', 'A page has no devices, but names a next one');
    }
    throw failReading('too_large', `The list has more than ${PAGES_MAX} pages`);
  }
}

/** Parses YAML or JSON in a thread, with the bounds of configuration files. */
async function parse(text: string, root: RootExpected): Promise<unknown> {
  await using files = new ConfigFiles();
  const file = await files.parse('answer', 'answer', { text }, root);
  const [fault] = files.faults;
  if (file && !fault) return file.source.value;
  throw failReading(
    'invalid',
    `The answer cannot be used: ${fault === undefined ? 'it is empty' : renderFault(fault)}`,
  );
}

async function renderList(routers: readonly NamedRouter[]): Promise<string> {
  const steps = new Steps();
  const lines: string[] = [];
  for (const router of routers) {
    lines.push(JSON.stringify(router));
    if (steps.isDue) await steps.next();
  }
  return lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`;
}

function withoutAbsent({ etag, lastModified }: Validators): Validators {
  return { ...(etag !== undefined && { etag }), ...(lastModified !== undefined && { lastModified }) };
}
