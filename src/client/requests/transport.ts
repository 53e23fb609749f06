import type { Client, Dispatcher } from 'undici';
import { readVersion, type Timer } from '../../base/index.ts';
import { ContentCodingError, createOneConnectionClient, decodeContent, isCoded, readBounded } from '../../net/index.ts';
import { Connector } from '../connection/connector.ts';
import { adviseClosed, RouterError, toCallerError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import { type OpenDownload, openDownload, toCodingError } from './download-body.ts';
import { type AnswerHead, RequestLimit, type SentRequest, StreamedExchange } from './exchange.ts';
import {
  type JsonAnswer,
  LOGIN_PATH,
  REFRESH_PATH,
  type RouterRequest,
  renderAttempt,
  toJsonAnswer,
  type WholeAnswer,
} from './messages.ts';

/** Default limit of a JSON answer: the largest, the names of all log files, has about 1 MiB. */
const JSON_BYTES_MAX = 4 * 1024 * 1024;
/** Part of the request's limit to wait for the first byte on a kept connection. */
const SILENCE_SHARE = 0.5;
/**
 * Idle time before a connection is closed, unless the router announces less; most routers close it after a minute or so. Keep-alive
 * packets on an idle connection cost about 100 bytes a minute with TCP and IP headers; a connection that resumes a TLS session costs
 * about 1,500 bytes. So a connection is kept for a poll every ten minutes; for rarer polls a new one is cheaper.
 */
const KEEP_ALIVE_MS = 15 * 60_000;

/** HTTP to one router over one kept connection, bounded in time and size. Throws {@link RouterError}. Does not retry. */
export class Transport {
  readonly connector: Connector;
  readonly #options: CompleteOptions;
  readonly #client: Client;
  readonly #basePath: string;

  constructor(options: CompleteOptions, connector = new Connector(options)) {
    this.#options = options;
    this.connector = connector;
    const { origin, pathname } = new URL(options.url);
    this.#basePath = `${pathname.replace(/\/+$/, '')}/api/v2_0`;
    this.#client = createOneConnectionClient(origin, {
      keepAliveMs: KEEP_ALIVE_MS,
      connect: options.admit ? refuseLate(connector.connect, options.admit) : connector.connect,
    });
  }

  /** Creates the transport of a second connection. Its bytes and TLS sessions count as those of this one. */
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
   * Sends a request and resolves when its body starts. The connection is free again when the download is closed; unread bytes are
   * dropped. The body starts at offset 0 unless the router returned the requested range. An answer of another status is read whole and
   * passed to `refuse`.
   */
  async open(options: RouterRequest, refuse: (answer: JsonAnswer) => never): Promise<OpenDownload> {
    const sent = this.#send(options);
    let download: OpenDownload | undefined;
    try {
      const head = await sent.answer.head;
      download = openDownload(head, sent, options, this.#options);
      return download ?? refuse(await this.#readAnswer(sent.answer, options));
    } catch (cause) {
      throw toCallerError(cause, options.signal, renderAttempt(options));
    } finally {
      if (!download) sent.end();
    }
  }

  /** Notifies the transport that no request is expected for a while: closes a connection that would not last until then. */
  rest(): void {
    this.connector.rest();
  }

  /** Closes the connection and any attempt to open one. Requests in progress are aborted. */
  async close(): Promise<void> {
    const destroyed = this.#client.destroy();
    this.connector.close();
    await destroyed;
  }

  #send(options: RouterRequest): SentRequest {
    const refusal = this.#options.admit?.();
    if (refusal) throw refusal;
    const request = this.#toRequest(options);
    const onBroken = (cause: Error) => answer.breakOff(cause);
    this.connector.begin(onBroken);
    // Started before the attempt to connect, whose limit may be as long, so that the error names the limit of the request.
    const { clock, requestTimeoutMs } = this.#options;
    const limit = new RequestLimit(clock, requestTimeoutMs, (cause) => answer.fail(cause));
    const isWatched = this.connector.isSilent && (options.method === 'GET' || options.path === REFRESH_PATH);
    const silence = isWatched ? this.#awaitFirstByte(options, (cause) => answer.fail(cause)) : undefined;
    const answer = new StreamedExchange(this.#client, request, options.signal);
    const end = () => {
      limit.pause();
      silence?.cancel();
      this.connector.end(onBroken);
    };
    return { answer, limit, end };
  }

  /** Closes a kept connection that a NAT may have dropped silently. The time left is enough for a new one. */
  #awaitFirstByte(options: RouterRequest, fail: (cause: RouterError) => void): Timer {
    const { clock, requestTimeoutMs } = this.#options;
    return clock.setTimer(requestTimeoutMs * SILENCE_SHARE, () => {
      if (!this.connector.isSilent) return;
      this.connector.dropSilent();
      const what = `${renderAttempt(options)} was not answered on a connection that had been idle`;
      fail(new RouterError('connect', what, { disposition: 'retry' }));
    });
  }

  async #readAnswer(answer: StreamedExchange, request: RouterRequest): Promise<WholeAnswer> {
    const head = await answer.head;
    const bytesMax = Math.min(request.bytesMax ?? Infinity, JSON_BYTES_MAX);
    if (Number(head.headers['content-length']) > bytesMax) {
      const error = toTooLongError(request, head.statusCode, bytesMax);
      // Do not pay for the rest of the body.
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
    // Identifies the agent in the router's log.
    const agent = { 'user-agent': `router-exporter/${readVersion()}` };
    return Object.assign(agent, Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value.reveal()])));
  }

  #toRequest(options: RouterRequest): Dispatcher.DispatchOptions {
    const { query, authorization, rangeStart, rangeLast, unlessEtag, json } = options;
    const headers = this.#renderHeaders();
    headers['accept'] = '*/*';
    // With an encoding, ranges and lengths would be those of the encoded bytes.
    headers['accept-encoding'] = 'identity';
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (rangeStart !== undefined) headers['range'] = `bytes=${rangeStart}-${rangeLast ?? ''}`;
    if (unlessEtag !== undefined) headers['if-none-match'] = unlessEtag;
    if (json !== undefined) headers['content-type'] = 'application/json';
    // `+` for a blank is a convention of forms: a router that only decodes URLs would look for a profile with a plus in its name.
    const search = query === undefined ? '' : new URLSearchParams(query).toString().replaceAll('+', '%20');
    return {
      path: `${this.#basePath}${options.path}${search === '' ? '' : `?${search}`}`,
      method: options.method,
      headers,
      body: json === undefined ? null : JSON.stringify(json),
    };
  }
}

/** Calls `admit` again once a connection is open, because opening may take a while. */
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

/** `undefined` if the decoded answer is longer than `bytesMax`. */
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
