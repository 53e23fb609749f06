import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Agent, Dispatcher } from 'undici';
import type { Clock, Secret } from '../../base/index.ts';
import {
  ContentCodingError,
  createOneConnectionAgent,
  decodeContent,
  parseRetryAfter,
  readBounded,
  renderWay,
  request,
  sanitizeErrorText,
  toClientAuth,
  toProxy,
} from '../../net/index.ts';
import { revealTls } from '../../settings/index.ts';
import { ConnectionEnd, SinkConnector, toTransportError } from '../connections.ts';
import { DeliveryError } from '../contracts.ts';
import type { HttpSinkSettings, SinkSurroundings } from '../types/define-sink.ts';
import { type HttpAnswer, SinkHeaders } from './messages.ts';

type HttpClientSettings = HttpSinkSettings & {
  readonly name: string;
  /** Request paths are appended to its path; its query is sent with every request. */
  readonly url: string;
  /** Percent-encoded pieces of a query that replaces that of `url`, joined as they are. Default: none. */
  readonly query?: readonly (string | Secret)[];
  /** Compression of request bodies. Default: none. */
  readonly compress?: 'gzip' | 'none';
};

export interface HttpPost {
  /** Path to append to that of the URL, with a leading slash, percent-encoded; absent = the URL as it is. */
  readonly path?: string | undefined;
  readonly contentType: string;
  readonly body: Uint8Array | string;
  /** Headers in addition to those of the sink. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum size of the response body. Bytes; default 64 KiB. */
  readonly answerBytesMax?: number | undefined;
  /** True to truncate a larger body instead of failing. Bodies of statuses other than 2xx are always truncated. */
  readonly isAnswerCut?: boolean | undefined;
  /** True when fewer records have a smaller response and may be sent again: a larger body fails with `too_large`. */
  readonly isAnswerByRecord?: boolean | undefined;
}

const ANSWER_BYTES_MAX = 64 * 1024;
const UNAUTHORIZED = 401;
/** Upper bound of the wait that a sink may request. Milliseconds. */
const RETRY_AFTER_MS_MAX = 24 * 3600 * 1000;
/**
 * Idle time of a connection, unless the sink announces less. Servers and proxies close theirs after a minute or more, and a
 * batch sent at that moment must be sent again. Milliseconds.
 */
const KEEP_ALIVE_MS = 30_000;
/** Level 1 already compresses log lines to about an eighth; higher levels are not worth the time. */
const GZIP_LEVEL = 1;
/** Shorter secrets are not masked in responses: masking every `a` would reveal the secret. Characters. */
const BLANKED_LENGTH_MIN = 4;

const compressGzip = promisify<Uint8Array | string, { level: number }, Buffer>(gzip);

/**
 * An HTTP client for one sink with one persistent connection and bounded responses. Every failure is a {@link DeliveryError}.
 * Only the signal limits the time of a request; its reason is thrown unchanged. The client neither retries nor follows
 * redirects.
 */
export class SinkHttpClient {
  readonly #settings: HttpClientSettings;
  readonly #headers: SinkHeaders;
  readonly #clock: Clock;
  readonly #url: URL;
  readonly #connector: SinkConnector;
  readonly #agent: Agent;
  /** Ends of idle connections that carried records; absent without `replay`. */
  readonly connection: ConnectionEnd | undefined;
  #underWay = 0;

  /** Throws `misconfigured` for headers and credentials that cannot be sent. */
  constructor(settings: HttpClientSettings, { clock, onShortHello }: Pick<SinkSurroundings, 'clock' | 'onShortHello'>) {
    const { name, url, query = [], headers, replay: replayMs = 0, tls, proxy } = settings;
    this.#settings = settings;
    this.#clock = clock;
    this.#url = new URL(url);
    if (query.length > 0) this.#url.search = query.map(reveal).join('');
    this.#headers = new SinkHeaders(name, headers, toClientAuth(settings));
    this.#headers.reveal();
    this.connection = replayMs > 0 ? new ConnectionEnd() : undefined;
    this.#connector = new SinkConnector(
      { tls: revealTls(tls), proxy: toProxy(proxy, 'sink'), clock, onShortHello },
      (isOrderly) => {
        // An end during a request fails the request, or belongs to its response.
        if (this.#underWay === 0) this.connection?.record(isOrderly ? clock.now() : undefined);
      },
    );
    this.#agent = createOneConnectionAgent({
      // While accepted records may be lost, only the end of the connection signals it.
      keepAliveMs: Math.max(KEEP_ALIVE_MS, replayMs),
      // The end of the connection signals a possible loss.
      isEndAwaited: replayMs > 0,
      connect: this.#connector.connect,
    });
  }

  /** Scheme, host, port and path for messages, without credentials and query, which may be secret; and the proxy. */
  get place(): string {
    return this.#renderPlace(this.#url);
  }

  /** Path of the URL, percent-encoded. */
  get basePath(): string {
    return this.#url.pathname;
  }

  /** Sends a body and returns the response, whatever its status. */
  async post(options: HttpPost, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const isGzip = this.#settings.compress === 'gzip';
    const body = isGzip ? await compressGzip(options.body, { level: GZIP_LEVEL }) : Buffer.from(options.body);
    const headers = {
      ...options.headers,
      'content-type': options.contentType,
      ...(isGzip && { 'content-encoding': 'gzip' }),
    };
    return this.#request({ ...options, method: 'POST', url: joinUrl(this.#url, options.path), headers, body }, signal);
  }

  /** Sends a GET request and returns the response, whatever its status. `path` as in {@link HttpPost}. */
  get(path: string | undefined, signal: AbortSignal, answerBytesMax?: number): Promise<HttpAnswer> {
    return this.#request({ method: 'GET', url: joinUrl(this.#url, path), answerBytesMax }, signal);
  }

  getFromRoot(path: string, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#request({ method: 'GET', url: new URL(path, this.#url.origin) }, signal);
  }

  /** Closes the connection and cancels attempts and requests. */
  async close(): Promise<void> {
    const destroyed = this.#agent.destroy();
    this.#connector.cancelAttempts();
    await destroyed;
  }

  async #request(parts: RequestParts, signal: AbortSignal): Promise<HttpAnswer> {
    const own = this.#headers.reveal();
    const answer = await this.#requestOnce(parts, own, signal);
    if (answer.status !== UNAUTHORIZED || !(await this.#headers.renew(own))) return answer;
    return this.#requestOnce(parts, this.#headers.reveal(), signal);
  }

  /** `own`: the headers of every request. */
  async #requestOnce(
    parts: RequestParts,
    own: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const { method, url, headers, body = null, answerBytesMax = ANSWER_BYTES_MAX, isAnswerCut = false } = parts;
    signal.throwIfAborted();
    // A connection attempt that never ends would block the next request.
    const onAbort = () => this.#connector.cancelAttempts();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#underWay++;
    try {
      const answer = await request(this.#agent, url, {
        method,
        signal,
        headers: { accept: '*/*', 'accept-encoding': 'identity', ...own, ...headers },
        body,
      });
      // The body does not matter then.
      const isStatusEnough = isAnswerCut || !isSuccess(answer.statusCode);
      const decoded = decodeContent(answer.body, answer.headers['content-encoding']);
      const { bytes, isCut } = await readBounded(decoded, answerBytesMax, signal).catch((cause: unknown) => {
        if (cause instanceof ContentCodingError && isStatusEnough) return { bytes: Buffer.alloc(0), isCut: false };
        throw cause;
      });
      if (isCut && !isStatusEnough) throw toTooLong(answer.statusCode, parts);
      return this.#toAnswer(answer, bytes, parts);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw toTransportError(cause, this.#settings.name, this.#renderPlace(url));
    } finally {
      this.#underWay--;
      signal.removeEventListener('abort', onAbort);
    }
  }

  #renderPlace({ origin, pathname }: URL): string {
    return `${origin}${pathname}${renderWay(toProxy(this.#settings.proxy, 'sink'))}`;
  }

  #toAnswer({ statusCode, headers }: Dispatcher.ResponseData, bytes: Buffer, { body: sent }: RequestParts): HttpAnswer {
    // Failures are quoted in messages, and some servers echo the request. Successes are data, such as ids and lengths.
    const blank = (text: string) => (isSuccess(statusCode) ? text : this.#blank(text));
    const header = (name: string) => {
      const value = headers[name];
      return typeof value === 'string' ? blank(value) : undefined;
    };
    const waitMs = parseRetryAfter(header('retry-after'), this.#clock.now());
    return {
      status: statusCode,
      body: blank(bytes.toString()),
      bytes,
      ...(waitMs !== undefined && { retryAfterMs: Math.min(waitMs, RETRY_AFTER_MS_MAX) }),
      sentBytes: sent?.length ?? 0,
      header,
      quote: (text) => sanitizeErrorText(this.#blank(text)),
    };
  }

  #blank(text: string): string {
    const { query = [] } = this.#settings;
    const secrets = [...this.#headers.listSecrets(), ...listQuerySecrets(query)].filter(
      ({ length }) => length >= BLANKED_LENGTH_MIN,
    );
    // One may be part of another.
    const longestFirst = secrets.toSorted((one, other) => other.length - one.length);
    return longestFirst.reduce((blanked, secret) => blanked.replaceAll(secret, '[secret]'), text);
  }
}

interface RequestParts extends Pick<HttpPost, 'headers' | 'answerBytesMax' | 'isAnswerCut' | 'isAnswerByRecord'> {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** As sent. Default: none. */
  readonly body?: Buffer | undefined;
}

function toTooLong(
  status: number,
  { answerBytesMax = ANSWER_BYTES_MAX, isAnswerByRecord }: RequestParts,
): DeliveryError {
  const message = `The response has more than ${answerBytesMax} bytes`;
  const answer = String(status);
  return isAnswerByRecord
    ? new DeliveryError('too_large', message, { disposition: 'dead-letter', answer })
    : new DeliveryError('protocol_error', message, { disposition: 'retry', answer });
}

function reveal(piece: string | Secret): string {
  return typeof piece === 'string' ? piece : piece.reveal();
}

/** Lists the secrets of a query, encoded as sent and decoded as a server may echo them. */
function listQuerySecrets(query: readonly (string | Secret)[]): readonly string[] {
  return query.flatMap((piece) => {
    if (typeof piece === 'string') return [];
    const sent = piece.reveal();
    return [sent, new URLSearchParams(`=${sent}`).get('') ?? sent];
  });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Appends `path` to the path of `base` and joins their queries. */
function joinUrl(base: URL, path: string | undefined): URL {
  const url = new URL(base);
  if (path === undefined) return url;
  const [place = '', query = ''] = path.split('?', 2);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${place}`;
  url.search = [base.search.slice(1), query].filter((part) => part !== '').join('&');
  return url;
}
