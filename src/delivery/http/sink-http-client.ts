import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Agent, type Dispatcher, request } from 'undici';
import type { Clock, Secret } from '../../base/index.ts';
import { createOneConnectionAgent, parseRetryAfter, readBounded } from '../../net/index.ts';
import type { ClientTls } from '../../settings/index.ts';
import { listSecrets, type SinkAuth } from '../auth.ts';
import { ConnectionEnd } from '../connection-end.ts';
import { DeliveryError } from '../errors.ts';
import type { HttpAnswer } from './answer.ts';
import { SinkConnector } from './connector.ts';
import { revealAuthorization, revealHeaders } from './request-headers.ts';
import { toTransportError } from './transport-error.ts';

export interface HttpSinkOptions {
  /** Of the sink, for messages. */
  readonly name: string;
  /** Where the sink is; paths of requests are put behind its path, and its query goes with every request. */
  readonly url: string;
  /** Pieces of a query beside that of `url`, percent-encoded, to be joined as they are. Default: none. */
  readonly query?: readonly (string | Secret)[] | undefined;
  /** Sent with every request. `Authorization` among them yields to `auth`. */
  readonly headers: Readonly<Record<string, Secret>>;
  /** Authentication of requests. Default: none. */
  readonly auth?: SinkAuth | undefined;
  /** TLS settings for `https` URLs. Default: the system's authorities. */
  readonly tls?: ClientTls | undefined;
  /** Of the bodies of requests. */
  readonly compress: 'gzip' | 'none';
  /** How far back records go again when a connection ended; absent or 0: none do, and connections are not watched. Milliseconds. */
  readonly replayMs?: number | undefined;
  /** Clock for time limits and HTTP dates. */
  readonly clock: Clock;
}

export interface HttpPost {
  /** Behind the path of the url, beginning with a slash, already percent-encoded; absent: the url as it is. */
  readonly path?: string | undefined;
  readonly contentType: string;
  readonly body: Uint8Array | string;
  /** Beyond those of the sink. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Bound of the answer's body. Default 64 KiB. */
  readonly answerBytesMax?: number | undefined;
  /** Whether a body above that bound is cut instead of a failure; that of an answer other than 2xx always is. */
  readonly isAnswerCut?: boolean | undefined;
  /** `bytes`: one character of the answer's `body` per byte. Default `text`, which is UTF-8. */
  readonly answerEncoding?: 'text' | 'bytes' | undefined;
}

const ANSWER_BYTES_MAX = 64 * 1024;
/** No sink keeps us waiting longer than this, whatever it asks for. Milliseconds. */
const RETRY_AFTER_MS_MAX = 24 * 3600 * 1000;
/**
 * How long an idle connection is kept, unless the sink announces less. Servers and what stands before them close theirs
 * after a minute or more; a batch that meets the end of a connection would have to be sent again. Milliseconds.
 */
const KEEP_ALIVE_MS = 30_000;
/** Log lines shrink to about an eighth already, and more effort costs more time than the bytes are worth. */
const GZIP_LEVEL = 1;
/** Shorter secrets are not looked for in answers: blanking every `a` would say what the secret is. Characters. */
const BLANKED_LENGTH_MIN = 4;

const compressGzip = promisify<Uint8Array | string, { level: number }, Buffer>(gzip);

/**
 * HTTP to one sink over one kept connection, bounded in size; every failure is a {@link DeliveryError}. How long a request
 * may take is up to the signal alone, and its reason is thrown as it is. It neither retries nor follows redirects.
 */
export class SinkHttpClient {
  readonly #options: HttpSinkOptions;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  readonly #connector: SinkConnector;
  readonly #agent: Agent;
  /** The ends of idle connections over which records went; absent without `replayMs`. */
  readonly connection: ConnectionEnd | undefined;
  /** Requests whose answer is not complete. */
  #underWay = 0;

  /** Throws `misconfigured` for headers and credentials that cannot be sent. */
  constructor(options: HttpSinkOptions) {
    this.#options = options;
    const { url, query = [], auth } = options;
    this.#url = new URL(url);
    if (query.length > 0) this.#url.search = query.map(reveal).join('');
    const headers = revealHeaders(options.name, options.headers);
    this.#secrets = [...Object.values(headers), ...(auth ? listSecrets(auth) : []), ...listQuerySecrets(query)]
      .filter(({ length }) => length >= BLANKED_LENGTH_MIN)
      // One may be part of another.
      .toSorted((one, other) => other.length - one.length);
    this.#headers = { ...headers, ...revealAuthorization(options) };
    const { replayMs = 0, clock } = options;
    this.connection = replayMs > 0 ? new ConnectionEnd() : undefined;
    this.#connector = new SinkConnector(options.tls ?? {}, (isOrderly) => {
      // An end during a request fails the request, or belongs to its answer.
      if (this.#underWay === 0) this.connection?.note(isOrderly ? clock.now() : undefined);
    });
    // For as long as what was taken may be lost, the connection is what tells.
    const keepAliveMs = Math.max(KEEP_ALIVE_MS, replayMs);
    this.#agent = createOneConnectionAgent({
      keepAliveMs,
      // The end tells when the sink may have lost something.
      isEndAwaited: replayMs > 0,
      connect: this.#connector.connect,
    });
  }

  /** Scheme, host, port and path, for messages: no credentials and no query, which may be secret. */
  get place(): string {
    return renderPlace(this.#url);
  }

  /** Sends a body and reads the answer, whatever its status. */
  async post(options: HttpPost, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const isGzip = this.#options.compress === 'gzip';
    const body = isGzip ? await compressGzip(options.body, { level: GZIP_LEVEL }) : Buffer.from(options.body);
    const headers = {
      ...options.headers,
      'content-type': options.contentType,
      ...(isGzip && { 'content-encoding': 'gzip' }),
    };
    return this.#ask('POST', options.path, { ...options, headers, body }, signal, body.length);
  }

  /** Asks for something and reads the answer, whatever its status. `path` as in {@link HttpPost}. */
  get(path: string | undefined, signal: AbortSignal, answerBytesMax?: number): Promise<HttpAnswer> {
    return this.#ask('GET', path, { answerBytesMax }, signal, 0);
  }

  /** Asks for a path of the same host that is not below the path of the url. */
  getFromRoot(path: string, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#request('GET', new URL(path, this.#url.origin), {}, signal, 0);
  }

  /** Closes the connection, also one on its way. Requests under way are cut. */
  async close(): Promise<void> {
    const destroyed = this.#agent.destroy();
    this.#connector.endOpenings();
    await destroyed;
  }

  #ask(
    method: 'GET' | 'POST',
    path: string | undefined,
    parts: RequestParts,
    signal: AbortSignal,
    sentBytes: number,
  ): Promise<HttpAnswer> {
    return this.#request(method, joinUrl(this.#url, path), parts, signal, sentBytes);
  }

  async #request(
    method: 'GET' | 'POST',
    url: URL,
    { headers, body, ...limits }: RequestParts,
    signal: AbortSignal,
    sentBytes: number,
  ): Promise<HttpAnswer> {
    signal.throwIfAborted();
    // A connection that does not come to an end would stand in the way of the next request.
    const onAbort = () => this.#connector.endOpenings();
    signal.addEventListener('abort', onAbort, { once: true });
    this.#underWay++;
    try {
      const answer = await request(url, {
        dispatcher: this.#agent,
        method,
        signal,
        headers: { ...this.#headers, accept: '*/*', 'accept-encoding': 'identity', ...headers },
        body: body ?? null,
      });
      const { answerBytesMax = ANSWER_BYTES_MAX, isAnswerCut = false } = limits;
      const { bytes, isCut } = await readBounded(answer.body, answerBytesMax, signal);
      if (isCut && !isAnswerCut && isSuccess(answer.statusCode)) {
        throw new DeliveryError('protocol_error', `The answer has more than ${answerBytesMax} bytes`, {
          disposition: 'retry',
          answer: String(answer.statusCode),
        });
      }
      return this.#toAnswer(answer, bytes, limits, sentBytes);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw toTransportError(cause, this.#options.name, renderPlace(url));
    } finally {
      this.#underWay--;
      signal.removeEventListener('abort', onAbort);
    }
  }

  #toAnswer(
    { statusCode, headers }: Dispatcher.ResponseData,
    bytes: Buffer,
    { answerEncoding = 'text' }: AnswerLimits,
    sentBytes: number,
  ): HttpAnswer {
    const body = bytes.toString(answerEncoding === 'text' ? 'utf8' : 'latin1');
    // What is not success ends in messages, and some servers repeat what they were sent.
    const blank = (text: string) => (isSuccess(statusCode) ? text : this.#blank(text));
    const header = (name: string) => {
      const value = headers[name];
      return typeof value === 'string' ? blank(value) : undefined;
    };
    const waitMs = parseRetryAfter(header('retry-after'), this.#options.clock.now());
    return {
      status: statusCode,
      body: blank(body),
      ...(waitMs !== undefined && { retryAfterMs: Math.min(waitMs, RETRY_AFTER_MS_MAX) }),
      sentBytes,
      header,
    };
  }

  #blank(text: string): string {
    return this.#secrets.reduce((blanked, secret) => blanked.replaceAll(secret, '[secret]'), text);
  }
}

type AnswerLimits = Pick<HttpPost, 'answerBytesMax' | 'isAnswerCut' | 'answerEncoding'>;

interface RequestParts extends AnswerLimits {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Uint8Array | string | undefined;
}

function reveal(piece: string | Secret): string {
  return typeof piece === 'string' ? piece : piece.reveal();
}

/** Secrets of a query, as they are sent, and as a server may repeat them. */
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

/** `path` behind the path of `base`, and the query of both. */
function joinUrl(base: URL, path: string | undefined): URL {
  const url = new URL(base);
  if (path === undefined) return url;
  const [place = '', query = ''] = path.split('?', 2);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${place}`;
  url.search = [base.search.slice(1), query].filter((part) => part !== '').join('&');
  return url;
}

function renderPlace({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
