import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** A line as Loki keeps it. */
interface LokiLine {
  readonly labels: Readonly<Record<string, string>>;
  readonly ns: string;
  readonly line: string;
  readonly metadata: Readonly<Record<string, string>>;
}

interface LokiServerLimits {
  maxAgeMs: number;
  graceMs: number;
  lineBytesMax: number;
  labelNamesMax: number;
  streamsMax: number;
  /** How far behind the newest of its stream a line may lie: half of `max_chunk_age`. */
  behindMs: number;
  metadataBytesMax: number;
  metadataEntriesMax: number;
  /** `max_returned_stream_errors`. */
  namedMax: number;
  allowStructuredMetadata: boolean;
}

/** What the server does instead of treating a push as usual. */
type LokiMisbehaviour =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The limit of the tenant: nothing is kept. */
  | { readonly kind: 'rate-limit'; readonly retryAfter?: string }
  /** The limit of one stream: the first so many lines of the push are kept. */
  | { readonly kind: 'stream-rate-limit'; readonly kept: number }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'hang' }
  /** Keeps everything and ends the connection in the middle of its answer. */
  | { readonly kind: 'cut' };

export interface LokiServerOptions {
  /** Wall time of the server. Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Without it there is only one tenant and no header is asked for. */
  readonly tenant?: string;
  readonly bearer?: string;
  readonly limits?: Partial<LokiServerLimits>;
  /** What `/config` shows; absent: there is no such page. */
  readonly config?: string;
  readonly ready?: { readonly status: number; readonly body: string };
  /** False: another receiver that speaks its push API, as VictoriaLogs 1.110 does, with status 200. Default true. */
  readonly isLoki?: boolean;
  /** As before Loki 3.7 (loki#21039): lines that differ in their metadata alone are one. */
  readonly isMetadataIgnored?: boolean;
  /** Adds `__stream_shard__` to the streams in messages, as automatic sharding does. */
  readonly isSharding?: boolean;
}

export interface LokiServer extends AsyncDisposable {
  /** Base, without a path. */
  readonly url: string;
  /** Every push as it came, decompressed. */
  readonly bodies: readonly string[];
  /** Every path that was asked for. */
  readonly paths: readonly string[];
  /** May be changed at any time. */
  readonly limits: LokiServerLimits;
  records(): readonly LokiLine[];
  streams(): readonly string[];
  /** Lines that came again and were not kept twice. */
  readonly duplicates: number;
  /** What a client did that Loki does not allow, or does not forgive. */
  readonly violations: readonly string[];
  misbehave(misbehaviour: LokiMisbehaviour, times?: number): void;
  close(): Promise<void>;
}

const DEFAULTS: LokiServerLimits = {
  maxAgeMs: 7 * 86_400_000,
  graceMs: 600_000,
  lineBytesMax: 256 * 1024,
  labelNamesMax: 15,
  streamsMax: 5000,
  behindMs: 3_600_000,
  metadataBytesMax: 64 * 1024,
  metadataEntriesMax: 128,
  namedMax: 10,
  allowStructuredMetadata: true,
};

/**
 * Loki's push interface with its default limits, and its words where it refuses something (pkg/validation/validate.go,
 * pkg/ingester/stream.go). What breaks a rule is dropped, the rest is kept and the answer is 400.
 */
export async function openLokiServer(options: LokiServerOptions): Promise<LokiServer> {
  const loki = new Loki(options);
  const server = createServer((request, response) => {
    loki.handle(request, response).catch((cause: unknown) => {
      loki.violations.push(String(cause));
      response.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const close = async () => {
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    bodies: loki.bodies,
    paths: loki.paths,
    limits: loki.limits,
    records: () => loki.kept,
    streams: () => [...loki.streams.keys()],
    get duplicates() {
      return loki.duplicates;
    },
    violations: loki.violations,
    misbehave: (misbehaviour, times = 1) => {
      for (let count = 0; count < times; count++) loki.queue.push(misbehaviour);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Push {
  readonly labels: Readonly<Record<string, string>>;
  readonly entries: readonly LokiLine[];
}

interface KeptStream {
  newestNs: bigint;
  readonly known: Set<string>;
}

class Loki {
  readonly #options: LokiServerOptions;
  readonly limits: LokiServerLimits;
  readonly bodies: string[] = [];
  readonly paths: string[] = [];
  readonly kept: LokiLine[] = [];
  readonly streams = new Map<string, KeptStream>();
  readonly violations: string[] = [];
  readonly queue: LokiMisbehaviour[] = [];
  readonly #takenInPart = new Set<string>();
  duplicates = 0;

  constructor(options: LokiServerOptions) {
    this.#options = options;
    this.limits = { ...DEFAULTS, ...options.limits };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { config, ready = { status: 200, body: 'ready\n' } } = this.#options;
    const path = request.url ?? '';
    this.paths.push(path);
    const raw = await readBody(request);
    if (path === '/ready') return answer(response, ready.status, ready.body);
    if (path === '/loki/api/v1/status/buildinfo' && this.#options.isLoki !== false) {
      return answer(response, 200, '{"version":"3.7.6","revision":"abc"}');
    }
    if (path === '/config' && config !== undefined) return answer(response, 200, config);
    if (path !== '/loki/api/v1/push') return answer(response, 404, '404 page not found\n');
    const fault = this.#findRequestFault(request);
    if (fault) return answer(response, ...fault);
    const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString('utf8');
    if (!isJson(body)) return answer(response, 400, 'unexpected end of JSON input\n');
    this.bodies.push(body);
    if (this.#takenInPart.has(body)) this.violations.push('A push that was taken in part came again');
    const pushes = this.#readPush(body);
    if (!pushes) return answer(response, 400, 'loghttp.PushRequest: the body is not what it should be\n');
    const misbehaviour = this.queue.shift();
    switch (misbehaviour?.kind) {
      case 'hang':
        return;
      case 'cut':
        this.#keep(pushes);
        response.writeHead(500, { 'content-length': '100' }).write('half');
        response.socket?.destroySoon();
        return;
      case 'status':
        return answer(response, misbehaviour.status, misbehaviour.body ?? '', misbehaviour.headers);
      case 'blocked':
        return answer(
          response,
          260,
          "ingestion blocked for user fake until '2030-01-01T00:00:00Z' with status code '260'\n",
        );
      case 'rate-limit': {
        const words = `Ingestion rate limit exceeded for user fake (limit: 4194304 bytes/sec) while attempting to ingest '${pushes.length}' lines totaling '1048576' bytes, reduce log volume or contact your Loki administrator to see if the limit can be increased\n`;
        const { retryAfter } = misbehaviour;
        return answer(response, 429, words, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
      }
      case 'stream-rate-limit': {
        let left = misbehaviour.kept;
        for (const { labels, entries } of pushes) {
          this.#keep([{ labels, entries: entries.slice(0, left) }]);
          left = Math.max(0, left - entries.length);
        }
        return answer(response, 429, 'Per stream rate limit exceeded (limit: 3MB/sec) while attempting to ingest\n');
      }
      case undefined: {
        const refusal = this.#keep(pushes);
        if (!refusal) return answer(response, this.#options.isLoki === false ? 200 : 204, '');
        if (refusal.isPartial) this.#takenInPart.add(body);
        answer(response, refusal.status, `${refusal.words}\n`);
      }
    }
  }

  #findRequestFault(request: IncomingMessage): readonly [number, string] | undefined {
    const { tenant, bearer } = this.#options;
    if (bearer !== undefined && request.headers.authorization !== `Bearer ${bearer}`) return [401, 'unknown token\n'];
    if (tenant !== undefined && request.headers['x-scope-orgid'] !== tenant) return [401, 'no org id\n'];
    if (request.method !== 'POST') this.violations.push(`${request.method} instead of POST`);
    // Everything else is taken for protobuf.
    if (request.headers['content-type'] !== 'application/json') {
      this.violations.push(`content type ${request.headers['content-type']}`);
      return [400, 'snappy: corrupt input\n'];
    }
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding === 'gzip') return undefined;
    this.violations.push(`content encoding ${encoding}`);
    return [400, `Content-Encoding "${encoding}" not supported\n`];
  }

  /** Keeps what may be kept; `undefined` when that is everything. */
  #keep(
    pushes: readonly Push[],
  ): { readonly status: number; readonly words: string; readonly isPartial: boolean } | undefined {
    const errors: string[] = [];
    const valid: Push[] = [];
    for (const push of pushes) {
      const fault = this.#findLabelFault(push.labels);
      if (fault !== undefined) {
        errors.push(fault);
        continue;
      }
      const entries = push.entries.filter((entry) => {
        const entryFault = this.#findEntryFault(entry);
        if (entryFault !== undefined) errors.push(entryFault);
        return entryFault === undefined;
      });
      if (entries.length > 0) valid.push({ labels: push.labels, entries });
    }
    let last: { status: number; words: string } | undefined;
    for (const push of valid) last = this.#ingest(push) ?? last;
    // What the ingester says goes before what the distributor has to say.
    if (last) return { ...last, isPartial: last.status === 400 };
    return errors.length === 0 ? undefined : { status: 400, words: group(errors), isPartial: valid.length > 0 };
  }

  #findLabelFault(labels: Readonly<Record<string, string>>): string | undefined {
    const names = Object.keys(labels);
    if (names.length === 0) return 'error at least one label pair is required per stream';
    const counted = names.filter((name) => name !== 'service_name').length;
    if (counted > this.limits.labelNamesMax) {
      return `entry for stream '${this.#print(labels)}' has ${counted} label names; limit ${this.limits.labelNamesMax}`;
    }
    for (const [name, value] of Object.entries(labels)) {
      if (Buffer.byteLength(name) > 1024) return `stream '${this.#print(labels)}' has label name too long: '${name}'`;
      if (Buffer.byteLength(value) > 2048)
        return `stream '${this.#print(labels)}' has label value too long: '${value}'`;
    }
    return undefined;
  }

  #findEntryFault({ labels, ns, line, metadata }: LokiLine): string | undefined {
    const { limits } = this;
    const ms = Number(BigInt(ns) / 1_000_000n);
    const stream = this.#print(labels);
    const oldestMs = this.#options.now() - limits.maxAgeMs;
    if (ms < oldestMs) {
      return `entry for stream '${stream}' has timestamp too old: ${toRfc3339(ms)}, oldest acceptable timestamp is: ${toRfc3339(oldestMs)}`;
    }
    if (ms > this.#options.now() + limits.graceMs)
      return `entry for stream '${stream}' has timestamp too new: ${toRfc3339(ms)}`;
    const bytes = Buffer.byteLength(line);
    if (bytes > limits.lineBytesMax) {
      return `Max entry size '${limits.lineBytesMax}' bytes exceeded for stream '${stream}' while adding an entry with length '${bytes}' bytes`;
    }
    const entries = Object.entries(metadata);
    if (entries.length === 0) return undefined;
    if (!limits.allowStructuredMetadata) {
      return `stream '${stream}' includes structured metadata, but this feature is disallowed. Please see \`limits_config.allow_structured_metadata\` or contact your Loki administrator to enable it.`;
    }
    const size = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
    if (size > limits.metadataBytesMax) {
      return `stream '${stream}' has structured metadata too large: '${size}' bytes, limit: '${limits.metadataBytesMax}' bytes. Please see \`limits_config.max_structured_metadata_size\` or contact your Loki administrator to increase it.`;
    }
    if (entries.length > limits.metadataEntriesMax) {
      return `stream '${stream}' has too many structured metadata labels: '${entries.length}', limit: '${limits.metadataEntriesMax}'. Please see \`limits_config.max_structured_metadata_entries_count\` or contact your Loki administrator to increase it.`;
    }
    return undefined;
  }

  #ingest({ labels, entries }: Push): { status: number; words: string } | undefined {
    const name = printLabels(labels);
    let stream = this.streams.get(name);
    if (!stream) {
      if (this.streams.size >= this.limits.streamsMax) {
        const words = `Maximum active stream limit exceeded when trying to create stream ${name}, reduce the number of active streams (reduce labels or reduce label values), or contact your Loki administrator to see if the limit can be increased, user: 'fake'`;
        return { status: 429, words };
      }
      stream = { newestNs: 0n, known: new Set() };
      this.streams.set(name, stream);
    }
    const behind: string[] = [];
    for (const entry of entries) {
      const ns = BigInt(entry.ns);
      const oldest = stream.newestNs - BigInt(this.limits.behindMs) * 1_000_000n;
      if (ns < oldest) {
        const reason = `entry too far behind, entry timestamp is: ${toRfc3339(Number(ns / 1_000_000n))}, oldest acceptable timestamp is: ${toRfc3339(Number(oldest / 1_000_000n))}`;
        behind.push(`entry with timestamp ${toGoTime(ns)} ignored, reason: '${reason}',`);
        continue;
      }
      if (ns > stream.newestNs) stream.newestNs = ns;
      const identity = JSON.stringify([entry.ns, entry.line, this.#options.isMetadataIgnored ? '' : entry.metadata]);
      if (stream.known.has(identity)) {
        this.duplicates++;
        continue;
      }
      stream.known.add(identity);
      this.kept.push(entry);
    }
    if (behind.length === 0) return undefined;
    const total = `user 'fake', total ignored: ${behind.length} out of ${entries.length} for stream: ${this.#print(labels)}`;
    return { status: 400, words: [...behind.slice(0, this.limits.namedMax), total].join('\n') };
  }

  #readPush(body: string): Push[] | undefined {
    const before = this.violations.length;
    const streams = this.#readObject(JSON.parse(body), ['streams'])['streams'];
    if (!Array.isArray(streams) || streams.length === 0) this.violations.push('streams is no list of streams');
    const names = new Set<string>();
    const pushes = (Array.isArray(streams) ? streams : []).map((item: unknown): Push => {
      const { stream, values } = this.#readObject(item, ['stream', 'values']);
      const labels = this.#readTexts(stream, /^[a-zA-Z_][a-zA-Z0-9_]*$/, 'label');
      const name = printLabels(labels);
      if (names.has(name)) this.violations.push(`two streams ${name}`);
      names.add(name);
      if (!Array.isArray(values) || values.length === 0) this.violations.push(`${name} has no values`);
      const entries = (Array.isArray(values) ? values : []).map((value: unknown) => this.#readEntry(labels, value));
      return { labels, entries };
    });
    return this.violations.length === before ? pushes : undefined;
  }

  #readEntry(labels: Readonly<Record<string, string>>, value: unknown): LokiLine {
    const [ns, line, metadata, ...rest]: unknown[] = Array.isArray(value) ? value : [];
    if (rest.length > 0) this.violations.push('an entry of more than three parts');
    if (typeof ns !== 'string' || !/^[1-9]\d{0,18}$/.test(ns)) this.violations.push(`time ${JSON.stringify(ns)}`);
    if (typeof line !== 'string') this.violations.push(`line ${JSON.stringify(line)}`);
    else if (!line.isWellFormed()) this.violations.push('a line that is not UTF-8');
    return {
      labels,
      ns: String(ns),
      line: String(line),
      metadata: this.#readTexts(metadata, /^[a-zA-Z_][a-zA-Z0-9_]*$/, 'metadata'),
    };
  }

  #readTexts(value: unknown, namePattern: RegExp, kind: string): Record<string, string> {
    const texts: Record<string, string> = {};
    for (const [name, text] of Object.entries(this.#readObject(value))) {
      if (!namePattern.test(name)) this.violations.push(`${kind} ${name}`);
      if (typeof text !== 'string' || text === '' || !text.isWellFormed()) {
        this.violations.push(`${kind} ${name} is ${JSON.stringify(text)}`);
      }
      texts[name] = String(text);
    }
    return texts;
  }

  #readObject(value: unknown, keys?: readonly string[]): Readonly<Record<string, unknown>> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.violations.push(`${JSON.stringify(value)} instead of an object`);
      return {};
    }
    const found = Object.keys(value);
    if (keys && JSON.stringify(found) !== JSON.stringify(keys)) this.violations.push(`keys ${found.join(', ')}`);
    return Object.fromEntries(Object.entries(value));
  }

  /** A stream as messages name it. */
  #print(labels: Readonly<Record<string, string>>): string {
    return printLabels(this.#options.isSharding ? { ...labels, __stream_shard__: '3' } : labels);
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function printLabels(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).toSorted();
  return `{${names.map((name) => `${name}=${quoteGo(labels[name] ?? '')}`).join(', ')}}`;
}

/** Like Go's `strconv.Quote`. */
function quoteGo(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '"': '\\"',
    '\\': '\\\\',
    '\x07': '\\a',
    '\b': '\\b',
    '\f': '\\f',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\v': '\\v',
  };
  const toEscape = (character: string) => {
    const code = character.codePointAt(0) ?? 0;
    return (
      names[character] ??
      (code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`)
    );
  };
  return `"${text.replace(/["\\\p{Cc}\u2028\ufeff]/gu, toEscape)}"`;
}

/** Messages that are equal are said once, with their number in front. */
function group(errors: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const error of errors) counts.set(error, (counts.get(error) ?? 0) + 1);
  const isGrouped = counts.size > 1 || errors.length > 1;
  return Array.from(counts, ([error, count]) => (isGrouped ? `${count} errors like: ${error}` : error)).join('; ');
}

function toRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** As Go prints a time: without zeros at the end of its fraction. */
function toGoTime(ns: bigint): string {
  const second = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19).replace('T', ' ');
  const fraction = String(ns % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${second}${fraction === '' ? '' : `.${fraction}`} +0000 UTC`;
}
