import type { Client, Dispatcher } from 'undici';
import { readVersion, type Timer } from '../../base/index.ts';
import { ContentCodingError, createOneConnectionClient, decodeContent, isCoded, readBounded } from '../../net/index.ts';
import { Connector } from '../connection/connector.ts';
import { adviseClosed, RouterError, toCallerError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import {
  DownloadBody,
  decodeDownload,
  decodeFacts,
  findRangeStart,
  type OpenDownload,
  toCodingError,
} from './download-body.ts';
import { type AnswerHead, type RequestLimit, RequestTimer, StreamedExchange } from './exchange.ts';
import {
  type JsonAnswer,
  LOGIN_PATH,
  REFRESH_PATH,
  type RouterRequest,
  renderAttempt,
  toJsonAnswer,
  type WholeAnswer,
} from './messages.ts';

/** Bound of a JSON answer whose request has none: the largest, the names of all log files, is about one MiB. */
const JSON_BYTES_MAX = 4 * 1024 * 1024;
/** Share of the limit of a request for the first byte over a connection that was kept. */
const SILENCE_SHARE = 0.5;
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
  readonly connector: Connector;
  readonly #options: KnownOptions;
  readonly #timer: RequestTimer;
  readonly #client: Client;
  /** Path of the interface. */
  readonly #basePath: string;

  /** `connector`: shares the TLS sessions of an earlier transport of the same router. Default: a new one. */
  constructor(options: KnownOptions, connector = new Connector(options)) {
    this.#options = options;
    this.connector = connector;
    this.#timer = new RequestTimer(options.clock, options.requestTimeoutMs);
    const { origin, pathname } = new URL(options.url);
    this.#basePath = `${pathname.replace(/\/+$/, '')}/api/v2_0`;
    this.#client = createOneConnectionClient(origin, {
      keepAliveMs: KEEP_ALIVE_MS,
      connect: options.admit ? refuseLate(connector.connect, options.admit) : connector.connect,
    });
  }

  /** Returns the way of a second connection to the router, whose bytes and sessions of TLS count as those of this one. */
  createSecond(): Transport {
    return new Transport(this.#options, this.connector.createSecond());
  }

  /** Sends a request and reads its whole answer, whatever its status. */
  async askJson(options: RouterRequest): Promise<WholeAnswer> {
    const { answer, end } = this.#send(options);
    try {
      return await this.#readAnswer(answer, options);
    } catch (cause) {
      const lostHint = options.path === LOGIN_PATH ? adviseClosed(this.#options.url.startsWith('https:')) : undefined;
      throw toCallerError(cause, options.signal, renderAttempt(options), lostHint);
    } finally {
      end();
    }
  }

  /**
   * Sends a request and resolves when its body begins. The connection is free again when the download is closed; what was
   * left unread is dropped. The body begins at `start`: 0 unless a range was asked for and given. An answer of another
   * status is read whole and given to `refuse` instead.
   */
  async open(options: RouterRequest, refuse: (answer: JsonAnswer) => never): Promise<OpenDownload> {
    const { answer, limit, end } = this.#send(options);
    let isOpen = false;
    try {
      const head = await answer.head;
      const start = head.statusCode === 200 ? 0 : findRangeStart(head, options.rangeStart);
      if (start === undefined) return refuse(await this.#readAnswer(answer, options));
      isOpen = true;
      const body = new DownloadBody(answer, limit, options, this.#options);
      const encoding = head.headers['content-encoding'];
      const decoded = isCoded(encoding) ? decodeDownload(body, encoding, options) : undefined;
      return {
        body: decoded ?? body,
        start,
        facts: decodeFacts(head),
        sendsParts: !decoded && (head.statusCode === 206 || head.headers['accept-ranges'] === 'bytes'),
        end: (reason) => body.end(reason),
        async close() {
          limit.touch();
          if (decoded) {
            // The decoder may still read it.
            answer.fail(new DOMException('The rest is not wanted', 'AbortError'));
            void decoded.return(undefined).catch(() => {});
          }
          // A short rest is read to keep the connection; a long one costs more than a new connection.
          else await answer.drop(UNREAD_BYTES_MAX);
          end();
        },
      };
    } catch (cause) {
      throw toCallerError(cause, options.signal, renderAttempt(options));
    } finally {
      if (!isOpen) end();
    }
  }

  /** No request is expected for a while: closes a connection that would not last until then. */
  rest(): void {
    this.#timer.rest();
    this.connector.rest();
  }

  /** Closes the connection and any attempt to open one. Requests in progress are aborted. */
  async close(): Promise<void> {
    const destroyed = this.#client.destroy();
    this.connector.close();
    await destroyed;
    this.#timer.rest();
  }

  /** Sends a request. `limit`: that of its time; `end` ends it, and frees the connection for the next one. */
  #send(options: RouterRequest): { answer: StreamedExchange; limit: RequestLimit; end: () => void } {
    const refusal = this.#options.admit?.();
    if (refusal) throw refusal;
    const request = this.#toRequest(options);
    const onBroken = (cause: Error) => answer.breakOff(cause);
    this.connector.begin(onBroken);
    // Begun before the attempt to connect, whose limit may be as long: that of the request is what its caller knows.
    const limit = this.#timer.begin((cause) => answer.fail(cause));
    const isWatched = this.connector.isSilent && (options.method === 'GET' || options.path === REFRESH_PATH);
    const silence = isWatched ? this.#awaitFirstByte(options, (cause) => answer.fail(cause)) : undefined;
    const answer = new StreamedExchange(this.#client, request, options.signal);
    const end = () => {
      limit.end();
      silence?.cancel();
      this.connector.end(onBroken);
    };
    return { answer, limit, end };
  }

  /**
   * Closes a connection that was kept, if nothing comes over it: a NAT may have forgotten it without a word to either side. There is
   * time left to ask again over a new one, or to log in over it.
   */
  #awaitFirstByte(options: RouterRequest, fail: (cause: RouterError) => void): Timer {
    const { clock, requestTimeoutMs } = this.#options;
    return clock.setTimer(requestTimeoutMs * SILENCE_SHARE, () => {
      if (!this.connector.isSilent) return;
      this.connector.dropSilent();
      const what = `${renderAttempt(options)} was not answered on a connection that had been idle`;
      fail(new RouterError('connect', what, { disposition: 'retry' }));
    });
  }

  /** Reads an answer that is no download. */
  async #readAnswer(answer: StreamedExchange, request: RouterRequest): Promise<WholeAnswer> {
    const head = await answer.head;
    const bytesMax = Math.min(request.bytesMax ?? Infinity, JSON_BYTES_MAX);
    if (Number(head.headers['content-length']) > bytesMax) {
      const error = toTooLongError(request, head.statusCode, bytesMax);
      // Each byte of it that comes until then costs money.
      answer.fail(error);
      throw error;
    }
    const bytes = await answer.readWhole(bytesMax, request.method === 'GET' ? this.#options.onBody : undefined);
    const content = bytes && (await decodeAnswer(head, bytes, request, bytesMax));
    if (!content) throw toTooLongError(request, head.statusCode, bytesMax);
    const { clock, password, bearerToken, headers = {} } = this.#options;
    const secrets = [password, bearerToken, ...Object.values(headers)].flatMap((secret) => secret?.reveal() ?? []);
    return toJsonAnswer(head, content, request, clock, secrets);
  }

  #renderHeaders(): Record<string, string> {
    const own = Object.entries(this.#options.headers ?? {});
    // The log of the router says who asks.
    const agent = { 'user-agent': `router-exporter/${readVersion()}` };
    return Object.assign(agent, Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value.reveal()])));
  }

  #toRequest(options: RouterRequest): Dispatcher.DispatchOptions {
    const { query, authorization, rangeStart, rangeLast, unlessEtag, json } = options;
    const headers = this.#renderHeaders();
    headers['accept'] = '*/*';
    // A range would be one of encoded bytes, and the length of a file that of what was sent.
    headers['accept-encoding'] = 'identity';
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (rangeStart !== undefined) headers['range'] = `bytes=${rangeStart}-${rangeLast ?? ''}`;
    if (unlessEtag !== undefined) headers['if-none-match'] = unlessEtag;
    if (json !== undefined) headers['content-type'] = 'application/json';
    // A blank as `+` is a convention of forms: a router that decodes URLs alone would look for a profile with a plus in its name.
    const search = query === undefined ? '' : new URLSearchParams(query).toString().replaceAll('+', '%20');
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

/** Decodes an answer with a content encoding; `undefined` for one that is longer than `bytesMax` then. */
async function decodeAnswer(
  { statusCode, headers }: AnswerHead,
  bytes: Buffer,
  options: RouterRequest,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const encoding = headers['content-encoding'];
  if (!isCoded(encoding)) return bytes;
  try {
    const content = await readBounded(decodeContent([bytes], encoding), bytesMax, options.signal);
    return content.isCut ? undefined : content.bytes;
  } catch (cause) {
    if (!(cause instanceof ContentCodingError)) throw cause;
    // The status says enough.
    if (statusCode >= 300) return Buffer.alloc(0);
    throw toCodingError(cause, options, {
      status: statusCode,
      isAnswered: isOfSession(options, statusCode),
    });
  }
}

/** True if an answer concerns its request alone, and not the login. */
function isOfSession({ path }: RouterRequest, status: number): boolean {
  return !path.startsWith('/auth/') && status !== 401;
}

function toTooLongError(options: RouterRequest, status: number, bytesMax: number): RouterError {
  return new RouterError('parse', `${renderAttempt(options)} answered with more than ${bytesMax} bytes`, {
    disposition: 'skip',
    status,
    isAnswered: isOfSession(options, status),
  });
}
