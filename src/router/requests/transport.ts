import { hash } from 'node:crypto';
import type { Client, Dispatcher } from 'undici';
import type { Clock, Secret } from '../../base/index.ts';
import { createOneConnectionClient, parseRetryAfter } from '../../net/index.ts';
import { type RouterWay, toConnectTimeoutMs } from '../connection/connection-attempt.ts';
import { ConnectionLimit } from '../connection/connection-limit.ts';
import { Connector, type WireFacts } from '../connection/connector.ts';
import type { RouterTls } from '../connection/trust.ts';
import { RouterError, toRouterError } from '../errors.ts';
import { exchange, type WholeResponse } from './exchange.ts';
import { type RequestLimit, RequestTimer } from './request-timer.ts';
import { type AnswerHead, StreamedExchange } from './streamed-exchange.ts';

/** Address, way, headers and limits of one router. */
export interface TransportOptions extends RouterWay {
  /** Scheme, host, port and optional path prefix; the interface's own `/api/v2_0` is added here. */
  readonly url: string;
  /** TLS settings for `https` URLs. Default: the system's authorities. */
  readonly tls?: RouterTls | undefined;
  /** Headers of every request. Those of the interface itself take precedence. */
  readonly headers?: Readonly<Record<string, Secret>> | undefined;
  /** One request and its answer; for a download the time until the next bytes arrive. Milliseconds. */
  readonly requestTimeoutMs: number;
  /** One TCP connection, over all addresses of a name. Milliseconds, default 5,000; never more than `requestTimeoutMs`. */
  readonly connectTimeoutMs?: number | undefined;
  /** Clock for time limits. */
  readonly clock: Clock;
  /**
   * Called for every piece of the answer to a GET. An error that it returns ends the answer behind this piece, unless that
   * was the last one.
   */
  readonly onBody?: (() => RouterError | undefined) | undefined;
  /** Called before anything is sent; an error that it returns ends the request instead. Default: everything is sent. */
  readonly admit?: (() => Error | undefined) | undefined;
  /** Bound of the connections to all routers. Default: none. */
  readonly connectionLimit?: ConnectionLimit | undefined;
}

/** One request of the REST interface. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v2_0`, beginning with a slash, already percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Value of the header of this name. */
  readonly authorization?: string | undefined;
  readonly json?: unknown;
  /** First requested byte, for a router that supports ranges. */
  readonly rangeStart?: number | undefined;
  /** Last requested byte, with `rangeStart`. Absent: all to the end. */
  readonly rangeLast?: number | undefined;
  /** Requests the body only if its entity tag differs; otherwise a router that supports this answers with 304. */
  readonly unlessEtag?: string | undefined;
  /** Requests a digest of the answer, whose body is not decoded if its digest is this one. Absent: no digest. */
  readonly knownDigest?: string | undefined;
  /** A download that is longer fails behind these bytes. Absent: no bound. */
  readonly bytesMax?: number | undefined;
  readonly signal: AbortSignal;
}

/** An answer read whole. */
export interface JsonAnswer {
  readonly status: number;
  /** Wait that the router asks for (`Retry-After`). Milliseconds; `Infinity` for a date by a clock that is off. */
  readonly retryAfterMs?: number | undefined;
  /** The router's own time (`Date`), milliseconds since the Unix epoch. */
  readonly dateMs?: number | undefined;
  /** The decoded body; `undefined` when it is empty, no JSON, or the known one. */
  readonly body: unknown;
  /** Digest of the body's bytes, if one was requested. */
  readonly digest?: string | undefined;
}

/** A JSON answer with its undecoded body. */
export interface WholeAnswer extends JsonAnswer {
  readonly bytes: Uint8Array;
}

/** Facts about the body of a download, from its headers. */
export interface DownloadFacts {
  /** Its entity tag. */
  readonly etag: string | undefined;
  /** The router's own time, milliseconds since the Unix epoch. */
  readonly dateMs: number | undefined;
  /** True if it is a part of the file: one was requested, and the router supports ranges. */
  readonly isPartial: boolean;
  /** Bytes of the whole file, as far as the router says. */
  readonly fileBytes: number | undefined;
  /** Content encoding, as in `gzip`. */
  readonly encoding: string | undefined;
}

/** A download whose body has begun. */
export interface OpenDownload {
  readonly body: AsyncIterable<Uint8Array>;
  /** Offset of the first byte. */
  readonly start: number;
  readonly facts: DownloadFacts;
  /** True if the router sends parts of files, by what it did or says. */
  readonly sendsParts: boolean;
  /** Ends the body with `reason`, which its reader gets. */
  end(reason: unknown): void;
  /** Drops the rest, and frees the connection. */
  close(): Promise<void>;
}

/** Consumes a body while it arrives; `start` is the offset of its first byte. */
export type ConsumeDownload<T> = (body: AsyncIterable<Uint8Array>, start: number, facts: DownloadFacts) => Promise<T>;

/** A longer entity tag is not kept. Characters. */
const ETAG_LENGTH_MAX = 256;
/** Bound of a JSON answer. The largest of the interface, a configuration with its scheme, is far below one MiB. */
const JSON_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of an unwanted body that are still read to keep the connection: about the cost of a TLS handshake. */
const UNREAD_BYTES_MAX = 8 * 1024;
/**
 * Idle time before a connection is closed, unless the router announces less; most close it by themselves after a minute or
 * so. Keep-alive packets on an idle connection cost about 100 bytes a minute with the headers of TCP and IP, a connection that
 * resumes a TLS session about 1,500: a poll every ten minutes finds the connection open, and for a rarer one a new
 * connection is cheaper.
 */
const KEEP_ALIVE_MS = 15 * 60_000;

/**
 * HTTP to one router over one kept connection: bounded in time and size, and every failure a {@link RouterError}.
 * It neither logs in nor retries.
 */
export class Transport {
  /** Facts about the connections. */
  readonly wire: WireFacts;
  readonly #options: TransportOptions;
  readonly #connector: Connector;
  readonly #timer: RequestTimer;
  readonly #client: Client;
  /** Path of the interface. */
  readonly #basePath: string;

  /** `connector`: shares the TLS sessions of an earlier transport of the same router. Default: a new one. */
  constructor(options: TransportOptions, connector = createConnector(options)) {
    this.#options = options;
    this.#connector = connector;
    this.#timer = new RequestTimer(options.clock, options.requestTimeoutMs);
    this.wire = connector;
    const { origin, pathname } = new URL(options.url);
    this.#basePath = `${pathname.replace(/\/+$/, '')}/api/v2_0`;
    this.#client = createOneConnectionClient(origin, {
      keepAliveMs: KEEP_ALIVE_MS,
      connect: options.admit ? refuseLate(connector.connect, options.admit) : connector.connect,
    });
  }

  /** Sends a request and reads its whole answer, whatever its status. */
  async askJson(options: TransportRequest): Promise<WholeAnswer> {
    this.#admit();
    this.#connector.begin();
    try {
      const response = await exchange(this.#client, this.#toRequest(options), {
        bytesMax: JSON_BYTES_MAX,
        onBody: options.method === 'GET' ? this.#options.onBody : undefined,
        signal: options.signal,
        timer: this.#timer,
      });
      if (response.isCut) throw toTooLongError(options, response.statusCode);
      return this.#decode(response, response.bytes, options);
    } catch (cause) {
      throw toCallerError(cause, options);
    } finally {
      this.#connector.end();
    }
  }

  /**
   * Sends a request and resolves when its body begins. The connection is free again when the download is closed; what was
   * left unread is dropped. The body begins at `start`: 0 unless a range was asked for and given. An answer of another
   * status is read whole and given to `refuse` instead.
   */
  async open(options: TransportRequest, refuse: (answer: JsonAnswer) => never): Promise<OpenDownload> {
    this.#admit();
    const connector = this.#connector;
    const request = this.#toRequest(options);
    connector.begin();
    const answer = new StreamedExchange(this.#client, request, options.signal);
    const limit = this.#timer.begin((cause) => answer.fail(cause));
    let isOpen = false;
    try {
      const head = await answer.head;
      const start = head.statusCode === 200 ? 0 : findRangeStart(head, options);
      if (start === undefined) {
        const bytes = await this.#readWhole(answer, head, options);
        return refuse(this.#decode(head, bytes, options));
      }
      isOpen = true;
      const { clock, onBody } = this.#options;
      const body = new DownloadBody({ answer, limit, request: options, clock, onBody });
      return {
        body,
        start,
        facts: decodeFacts(head),
        sendsParts: head.statusCode === 206 || head.headers['accept-ranges'] === 'bytes',
        end: (reason) => body.end(reason),
        async close() {
          limit.touch();
          // A short rest is read to keep the connection; a long one costs more than a new connection.
          await answer.drop(UNREAD_BYTES_MAX);
          limit.end();
          connector.end();
        },
      };
    } catch (cause) {
      throw toCallerError(cause, options);
    } finally {
      if (!isOpen) {
        limit.end();
        connector.end();
      }
    }
  }

  /** No request is expected for a while: closes a connection that would not last until then. */
  rest(): void {
    this.#timer.rest();
    this.#connector.rest();
  }

  /** Closes the connection and any attempt to open one. Requests in progress are aborted. */
  async close(): Promise<void> {
    const destroyed = this.#client.destroy();
    this.#connector.close();
    await destroyed;
    this.#timer.rest();
  }

  #admit(): void {
    const refusal = this.#options.admit?.();
    if (refusal) throw refusal;
  }

  /** Reads the body of an answer that is not a download. */
  async #readWhole(answer: StreamedExchange, head: AnswerHead, request: TransportRequest): Promise<Buffer> {
    const onBody = request.method === 'GET' ? this.#options.onBody : undefined;
    const pieces: Buffer[] = [];
    let length = 0;
    let end: RouterError | undefined;
    for (let piece = await answer.read(); piece !== undefined; piece = await answer.read()) {
      if (end) {
        answer.fail(end);
        throw end;
      }
      end = onBody?.();
      pieces.push(piece);
      length += piece.length;
      if (length <= JSON_BYTES_MAX) continue;
      const error = toTooLongError(request, head.statusCode);
      answer.fail(error);
      throw error;
    }
    return Buffer.concat(pieces, length);
  }

  #renderHeaders(): Record<string, string> {
    const { headers } = this.#options;
    if (!headers) return {};
    const own = Object.entries(headers);
    return Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value.reveal()]));
  }

  #decode(head: Pick<WholeResponse, 'statusCode' | 'headers'>, bytes: Buffer, request: TransportRequest): WholeAnswer {
    return toJsonAnswer(head, bytes, request, this.#options.clock, Object.values(this.#renderHeaders()));
  }

  #toRequest(options: TransportRequest): Dispatcher.DispatchOptions {
    const { query, authorization, rangeStart, rangeLast, unlessEtag, json } = options;
    const headers = this.#renderHeaders();
    headers['accept'] = '*/*';
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (rangeStart !== undefined) headers['range'] = `bytes=${rangeStart}-${rangeLast ?? ''}`;
    if (unlessEtag !== undefined) headers['if-none-match'] = unlessEtag;
    if (json !== undefined) headers['content-type'] = 'application/json';
    const search = query === undefined ? '' : new URLSearchParams(query).toString();
    return {
      path: `${this.#basePath}${options.path}${search === '' ? '' : `?${search}`}`,
      method: options.method,
      headers,
      body: json === undefined ? null : JSON.stringify(json),
    };
  }
}

/** Asks again when a connection is open, which may have taken a while: the request is sent at once then. */
function refuseLate(connect: Connector['connect'], admit: () => Error | undefined): Connector['connect'] {
  return (target, callback) =>
    connect(target, (...result) => {
      const [error, socket] = result;
      const refusal = error ? undefined : admit();
      if (!refusal) {
        callback(...result);
        return;
      }
      socket?.destroy();
      callback(refusal, null);
    });
}

function createConnector(options: TransportOptions): Connector {
  const { tls = {}, requestTimeoutMs, connectTimeoutMs, clock, proxy, sourceAddress } = options;
  const limits = {
    timeoutMs: requestTimeoutMs,
    connectTimeoutMs: toConnectTimeoutMs(connectTimeoutMs, requestTimeoutMs),
  };
  const limit = options.connectionLimit ?? new ConnectionLimit(Number.POSITIVE_INFINITY);
  return new Connector({ tls, ...limits, clock, limit, proxy, sourceAddress });
}

function renderAttempt(options: TransportRequest): string {
  return `${options.method} ${options.path}`;
}

/** Returns the reason of the caller's abort unchanged; converts everything else to a RouterError. */
function toCallerError(cause: unknown, request: TransportRequest): unknown {
  const { signal } = request;
  return signal.aborted ? signal.reason : toRouterError(cause, renderAttempt(request));
}

/** A download that gives fewer bytes per second than this, over this time, ends: it would hold the connection for hours. */
const BYTES_PER_SECOND_MIN = 100;
const PACE_MS = 30_000;

/** Measures how fast a body arrives while it is waited for. */
class Pace {
  readonly #clock: Clock;
  #askedMs = 0;
  #waitedMs = 0;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The wait for the next piece begins. */
  wait(): void {
    this.#askedMs = this.#clock.monotonic();
  }

  /** Counts a piece that has come; returns true if the last 30 seconds of waiting gave too little. */
  isTooSlow(bytes: number): boolean {
    this.#waitedMs += this.#clock.monotonic() - this.#askedMs;
    this.#bytes += bytes;
    if (this.#waitedMs < PACE_MS) return false;
    const isTooSlow = this.#bytes * 1000 < BYTES_PER_SECOND_MIN * this.#waitedMs;
    [this.#waitedMs, this.#bytes] = [0, 0];
    return isTooSlow;
  }
}

/** The answer of a download, and its bounds. */
interface DownloadBodyOptions {
  readonly answer: StreamedExchange;
  /** Limit of the wait for each piece. */
  readonly limit: RequestLimit;
  readonly request: TransportRequest;
  readonly clock: Clock;
  readonly onBody: TransportOptions['onBody'];
}

/** The body of a download, handed on piece by piece until it ends or must end. The consumer's own time does not count. */
class DownloadBody implements AsyncIterableIterator<Uint8Array> {
  readonly #options: DownloadBodyOptions;
  readonly #pace: Pace;
  #leftBytes: number;
  /** Why the consumer's side has ended it. */
  #reason: unknown;
  /** Error that ends the body behind the piece that was given last. */
  #fault: RouterError | undefined;
  /** True once nothing more may be received. */
  #mustEnd = false;

  constructor(options: DownloadBodyOptions) {
    this.#options = options;
    this.#pace = new Pace(options.clock);
    this.#leftBytes = options.request.bytesMax ?? Number.POSITIVE_INFINITY;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const { answer, limit, request } = this.#options;
    limit.touch();
    this.#pace.wait();
    try {
      if (this.#fault) throw this.#fault;
      const piece = await answer.read();
      if (!piece) return { done: true, value: undefined };
      return { done: false, value: this.#take(piece) };
    } catch (cause) {
      answer.fail(cause);
      throw this.#reason !== undefined && cause === this.#reason ? cause : toCallerError(cause, request);
    } finally {
      limit.pause();
    }
  }

  /** Ends the answer; the consumer gets `reason`. */
  end(reason: unknown): void {
    this.#reason = reason;
    this.#options.answer.fail(reason);
  }

  /** Returns what is handed on of a piece. */
  #take(piece: Buffer): Uint8Array {
    const { answer, request, onBody } = this.#options;
    if (!this.#mustEnd) {
      const end = onBody?.();
      this.#mustEnd = end !== undefined;
      // What has come by now is still handed on, because it was paid for.
      if (end && !answer.isEnded) answer.fail(end);
    }
    if (this.#pace.isTooSlow(piece.length)) this.#fault = toSlownessError(request);
    const given = this.#leftBytes < piece.length ? piece.subarray(0, this.#leftBytes) : piece;
    this.#leftBytes -= piece.length;
    if (this.#leftBytes < 0) this.#fault = toLengthError(request, request.bytesMax);
    return given;
  }
}

function toSlownessError(options: TransportRequest): RouterError {
  const what = `${renderAttempt(options)} gave less than ${BYTES_PER_SECOND_MIN} bytes per second`;
  return new RouterError('timeout', what, { disposition: 'retry', isAnswered: true });
}

function toLengthError(options: TransportRequest, bytesMax: number | undefined): RouterError {
  return new RouterError('http', `${renderAttempt(options)} gave more than ${bytesMax} bytes`, {
    disposition: 'skip',
    status: 200,
    isAnswered: true,
    hint: 'What came before is kept; where the router supports ranges, the next download goes on behind it',
  });
}

function toTooLongError(options: TransportRequest, status: number): RouterError {
  return new RouterError('parse', `${renderAttempt(options)} answered with more than ${JSON_BYTES_MAX} bytes`, {
    disposition: 'skip',
    status,
    isAnswered: !options.path.startsWith('/auth/') && status !== 401,
  });
}

/** Returns the offset of the first byte of a partial answer; `undefined` unless it is the range that was asked for. */
function findRangeStart({ statusCode, headers }: AnswerHead, options: TransportRequest): number | undefined {
  if (statusCode !== 206 || options.rangeStart === undefined) return undefined;
  const range = headers['content-range'];
  const start = typeof range === 'string' ? /^bytes (\d{1,15})-/.exec(range)?.[1] : undefined;
  return start !== undefined && Number(start) === options.rangeStart ? options.rangeStart : undefined;
}

/** Maximum length of the name of an encoding. Characters. */
const ENCODING_LENGTH_MAX = 20;

function decodeFacts({ statusCode, headers }: AnswerHead): DownloadFacts {
  const { etag, date, 'content-encoding': encoding } = headers;
  const isPartial = statusCode === 206;
  const length = isPartial ? /\/(\d+)$/.exec(String(headers['content-range']))?.[1] : headers['content-length'];
  const fileBytes = typeof length === 'string' && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  return {
    etag: typeof etag === 'string' && etag.length <= ETAG_LENGTH_MAX ? etag : undefined,
    dateMs: parseDate(date),
    isPartial,
    fileBytes,
    encoding: typeof encoding === 'string' && encoding.length <= ENCODING_LENGTH_MAX ? encoding : undefined,
  };
}

function toJsonAnswer(
  { statusCode, headers }: Pick<WholeResponse, 'statusCode' | 'headers'>,
  bytes: Buffer,
  { authorization, knownDigest, path }: TransportRequest,
  clock: Clock,
  headerValues: readonly string[],
): WholeAnswer {
  const digest = knownDigest === undefined || statusCode !== 200 ? undefined : hash('sha256', bytes, 'base64');
  // A router that keeps its refresh token returns what it was sent.
  const [, credentials = ''] =
    statusCode === 200 && path.startsWith('/auth/') ? [] : (authorization ?? '').split(' ', 2);
  return {
    status: statusCode,
    // The clock of a router may show its date of manufacture.
    retryAfterMs: parseRetryAfter(headers['retry-after'], clock.now(), headers.date),
    dateMs: parseDate(headers.date),
    body: digest !== undefined && digest === knownDigest ? undefined : parseJson(bytes, [credentials, ...headerValues]),
    digest,
    bytes,
  };
}

function parseDate(header: string | string[] | undefined): number | undefined {
  const dateMs = typeof header === 'string' ? Date.parse(header) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

/** Shorter credentials are no secret, but parts of words that a router answers with. Characters. */
const MASKED_LENGTH_MIN = 8;

/**
 * Decodes a body; `undefined` if it is no JSON. The secrets of its request are masked in its texts: some servers quote the
 * request in their errors, which reach pages and the agent's log. A number is no quotation.
 */
function parseJson(bytes: Buffer, secrets: readonly string[]): unknown {
  if (bytes.length === 0) return undefined;
  const masked = secrets
    // The header may be quoted without its scheme, as in `Bearer TOKEN`.
    .flatMap((secret) => [secret, secret.slice(secret.lastIndexOf(' ') + 1)])
    .filter((secret) => secret.length >= MASKED_LENGTH_MIN);
  try {
    const text = bytes.toString('utf8');
    const value: unknown = JSON.parse(text);
    // Only a text with a backslash holds characters in another form than they have.
    const isSuspect = masked.length > 0 && (text.includes('\\') || masked.some((secret) => text.includes(secret)));
    return isSuspect ? maskTexts(value, masked) : value;
  } catch {
    return undefined;
  }
}

function maskTexts(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), value);
  if (Array.isArray(value)) return value.map((one) => maskTexts(one, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map((entry) => entry.map((one) => maskTexts(one, secrets))));
}
