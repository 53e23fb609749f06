import { type Clock, isPlainObject, Mutex, type Secret } from '../../base/index.ts';
import type { WireFacts } from '../connection/connector.ts';
import { type ErrorDetail, RouterError, type RouterErrorOptions } from '../errors.ts';
import type { ConsumeDownload } from './download-body.ts';
import { BUSY_STATUSES, type JsonAnswer, type WholeAnswer } from './json-answer.ts';
import { PartedDownload } from './parted-download.ts';
import { SecondConnection } from './second-connection.ts';
import { type AuthMode, type Credentials, createCredentials, type SessionEvent } from './session.ts';
import { LOGIN_PATH, Transport, type TransportOptions, type TransportRequest } from './transport.ts';
import { Turns } from './turns.ts';

/** Credentials and connection of the requests of one router. */
export interface RequestQueueOptions extends TransportOptions {
  /** Authentication of requests. */
  readonly auth: AuthMode;
  /** Name of the account; not used with `bearer` and `none`. */
  readonly username: string;
  /** Password of the account; not used with `bearer` and `none`. */
  readonly password: Secret;
  /** Token of `bearer`. */
  readonly bearerToken?: Secret | undefined;
  /** Limit of the time in which the bytes of one download arrive. Milliseconds, default none. */
  readonly downloadMsMax?: number | undefined;
  /** Called before each piece of a download is handed over, which waits for it. Default: not called. */
  readonly beforePiece?: (() => Promise<void>) | undefined;
  /** Called for every event of the session. */
  readonly report: (event: SessionEvent) => void;
  /** Called when the router is known to answer on a second connection during a download, and when it no longer does. */
  readonly onSecondConnection?: ((answers: boolean, cause?: unknown) => void) | undefined;
}

/** A request without what the session adds to it. */
export type Call = Omit<TransportRequest, 'authorization'>;

/** Work of a turn. `isBeside`: bytes on the wire meanwhile are those of a download too. */
export type TurnWork<T> = (signal: AbortSignal, isBeside: boolean) => Promise<T>;

/** Repetitions of a request that was refused with 401: with a token of a refresh, then with one of a login. */
const REFUSALS_MAX = 2;
/** Wait for a busy router without `Retry-After`. Milliseconds. */
const BUSY_WAIT_MS = 3000;
/** Longest wait within a call; a longer `Retry-After` is left to the caller. Milliseconds. */
const BUSY_WAIT_MS_MAX = 15_000;
/** Maximum number of requests of one call while the router is busy. */
const BUSY_ATTEMPTS_MAX = 3;
/** Upper limit of `Retry-After`. Milliseconds. */
const RETRY_AFTER_MS_MAX = 15 * 60_000;

/** Wait that a router has asked for in the header `Retry-After`. */
export interface RetryAfter {
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** True if it asked for more than 15 minutes, or for a date by a wrong clock: both count as 15 minutes. */
  readonly isCapped: boolean;
}

/**
 * Carries out calls: one at a time, in the order of asking, each with valid credentials. What is safe to repeat is
 * repeated: anything that was refused with 401, once after a refresh and once after a login, unless it is known that this
 * router means a lack of rights; a GET whose kept connection was lost or silent, once; a GET or a login that is answered with 429 or
 * 503, up to three times in all, honouring a `Retry-After` of 15 seconds at most.
 * After a router was busy to the end of a call, further calls do not wait for it until one succeeds.
 */
export class RequestQueue {
  /** Facts about the connections. */
  readonly wire: WireFacts;
  readonly #transport: Transport;
  readonly #second: SecondConnection;
  readonly #credentials: Credentials;
  readonly #clock: Clock;
  readonly #mutex = new Mutex();
  readonly #turns = new Turns(this.#mutex);
  readonly #downloadMsMax: number;
  readonly #beforePiece: (() => Promise<void>) | undefined;
  /** Paths below which the router sends parts of files, or has shown that it does not; few, as paths have no names of files. */
  #sendsParts: Map<string, boolean> | undefined;
  readonly #refusals: RefusalMemory;
  #retryAfter: RetryAfter | undefined;
  /** True if the router was still busy at the end of the last call. */
  #isBusy = false;

  constructor(options: RequestQueueOptions) {
    this.#clock = options.clock;
    this.#downloadMsMax = options.downloadMsMax ?? Number.POSITIVE_INFINITY;
    this.#beforePiece = options.beforePiece;
    this.#refusals = new RefusalMemory(options.clock);
    this.#transport = new Transport(options);
    this.wire = this.#transport.wire;
    this.#credentials = createCredentials(options.auth, {
      ...options,
      ask: (request, signal) => (this.#second.transport ?? this.#transport).askJson({ ...request, signal }),
    });
    this.#second = new SecondConnection({
      open: () => this.#transport.createSecond(),
      hasToken: () => this.#credentials.isReady,
      clock: options.clock,
      onLearnt: options.onSecondConnection ?? (() => {}),
    });
  }

  /** Last wait that the router asked for, in an answer of 429 or 503; `undefined` when it is over. Delays no call. */
  get retryAfter(): RetryAfter | undefined {
    const isOver = this.#retryAfter && this.#clock.monotonic() >= this.#retryAfter.untilMs;
    return isOver ? undefined : this.#retryAfter;
  }

  /** Returns the whole answer if its status is `success`; otherwise throws {@link RouterError}. */
  ask(call: Call, success: number): Promise<JsonAnswer> {
    return this.#run(call, async (request, transport) => {
      const answer = await transport.askJson(request);
      if (answer.status !== success) throw toAnswerError(answer, request);
      return answer;
    });
  }

  /** Returns the whole answer, whatever its status; only a 401 first leads to a new token. */
  askAny(call: Call): Promise<WholeAnswer> {
    return this.#run(call, async (request, transport) => {
      const answer = await transport.askJson(request);
      if (answer.status === 401) throw toAnswerError(answer, request);
      return answer;
    });
  }

  /**
   * Passes the body to `consume` while it arrives, with the offset of its first byte. Not repeated once it has begun. Begins
   * when no turn goes before it. Gives way to turns where the router sends parts of files; elsewhere turns may go on beside it.
   */
  async download<T>(call: Call, consume: ConsumeDownload<T>): Promise<T> {
    const { path } = call;
    const parted = new PartedDownload({
      request: call,
      open: (request) =>
        this.#attempt(request, (one) =>
          this.#transport.open(one, (answer) => {
            throw toAnswerError(answer, one);
          }),
        ),
      turns: this.#turns,
      sendsParts: () => this.#sendsParts?.get(path) ?? false,
      noteParts: (isSent) => this.#noteParts(path, isSent),
      timeMsMax: this.#downloadMsMax,
      beforePiece: this.#beforePiece,
      clock: this.#clock,
    });
    try {
      const { start, facts } = await parted.open();
      const read = () => consume(parted.read(), start, facts);
      return await (this.#sendsParts?.get(path) === true ? read() : this.#second.beside(read));
    } finally {
      await parted.close();
    }
  }

  /** True while a turn waits for the download that is under way. */
  get isTurnAwaited(): boolean {
    return this.#turns.isAwaited;
  }

  /**
   * Does work of several calls in a turn, which goes before downloads. Where a second connection to the router fails during
   * a download, the signal of the work aborts, and it is begun again at the end of the download.
   */
  async inTurn<T>(signal: AbortSignal, work: TurnWork<T>): Promise<T> {
    using turn = await this.#turns.take(signal, (waiting) => this.#second.whenUsable(waiting));
    if (turn.isBeside) {
      const done = await this.#second.run(signal, (one) => work(one, true));
      if (done) return done.result;
      await turn.whenAlone();
    }
    return await work(signal, false);
  }

  /** Logs in if there are no valid credentials, without a call. */
  async logIn(signal: AbortSignal): Promise<void> {
    await this.#run({ method: 'POST', path: LOGIN_PATH, signal }, () => Promise.resolve());
  }

  /** No call is expected for a while: closes a connection that would not last until then. */
  rest(): void {
    this.#transport.rest();
  }

  /** Logs out and closes the connection; bounded by `signal`. */
  async close(signal: AbortSignal): Promise<void> {
    try {
      await this.#mutex.run(() => this.#credentials.close(signal), signal);
    } finally {
      await this.#second.close();
      await this.#transport.close();
    }
  }

  #run<T>(call: Call, attempt: (request: TransportRequest, transport: Transport) => Promise<T>): Promise<T> {
    const { signal } = call;
    const second = this.#second.transport;
    if (!second) return this.#mutex.run(() => this.#attempt(call, (one) => attempt(one, this.#transport)), signal);
    return this.#second.ask(signal, () => this.#attemptBeside(call, (one) => attempt(one, second)));
  }

  /**
   * As {@link #attempt}, on the second connection: what a token or a wait might help is left for the end of the download. Only
   * a GET that lost its kept connection is repeated, once.
   */
  async #attemptBeside<T>(call: Call, attempt: (request: TransportRequest) => Promise<T>): Promise<T> {
    for (let hasReconnected = false; ; hasReconnected = true) {
      const authorization = await this.#credentials.authorization(call.signal);
      try {
        return await attempt({ ...call, authorization });
      } catch (cause) {
        if (!(cause instanceof RouterError) || call.signal.aborted) throw cause;
        if (this.#isVain(call, cause)) throw toRefusalError(cause);
        if (hasReconnected || call.method !== 'GET' || !isStaleConnection(cause)) throw cause;
      }
    }
  }

  async #attempt<T>(call: Call, attempt: (request: TransportRequest) => Promise<T>): Promise<T> {
    const { signal } = call;
    let refusals = 0;
    let hasReconnected = false;
    for (let attempts = 1; ; ) {
      let authorization: string | undefined;
      let isSent = false;
      try {
        authorization = await this.#credentials.authorization(signal);
        isSent = true;
        const result = await attempt({ ...call, authorization });
        this.#isBusy = false;
        if (call.path !== LOGIN_PATH) this.#refusals.accepted(call);
        return result;
      } catch (cause) {
        if (!(cause instanceof RouterError)) throw cause;
        if (cause.isAnswered) this.#refusals.accepted(call);
        this.#noteRetryAfter(cause);
        if (signal.aborted) throw cause;
        const isGet = call.method === 'GET';
        if (cause.disposition === 'login-again') {
          await this.#renew(call, authorization, cause, refusals);
          refusals++;
        } else if (isGet && isSent && isStaleConnection(cause) && !hasReconnected) {
          hasReconnected = true;
        } else if ((isGet || !isSent) && BUSY_STATUSES.has(cause.status)) {
          const waitMs = cause.retryAfterMs ?? BUSY_WAIT_MS;
          this.#isBusy ||= attempts >= BUSY_ATTEMPTS_MAX;
          if (this.#isBusy || waitMs > BUSY_WAIT_MS_MAX) throw cause;
          attempts++;
          await this.#clock.sleep(waitMs, signal);
        } else {
          throw cause;
        }
      }
    }
  }

  /** Drops the token after a 401; throws if no other token can help. `refusals`: of this call so far. */
  async #renew(call: Call, authorization: string | undefined, cause: RouterError, refusals: number): Promise<void> {
    if (this.#isVain(call, cause)) throw toRefusalError(cause);
    if (refusals < REFUSALS_MAX && (await this.#credentials.lost(authorization, cause, refusals > 0))) return;
    // Fixed credentials cannot be renewed.
    if (refusals === 0) throw cause;
    this.#refusals.refused(call);
    throw toRefusalError(cause);
  }

  /** Returns true for a 401 that no other token helps. */
  #isVain(call: Call, { disposition }: RouterError): boolean {
    // A password that is sent with each request may have changed since, and costs no login to find out.
    return disposition === 'login-again' && this.#credentials.needsLogin && this.#refusals.isVain(call);
  }

  #noteParts(path: string, isSent: boolean): void {
    this.#sendsParts ??= new Map();
    this.#sendsParts.set(path, isSent && this.#sendsParts.get(path) !== false);
  }

  #noteRetryAfter({ retryAfterMs }: RouterError): void {
    if (retryAfterMs === undefined) return;
    const untilMs = this.#clock.monotonic() + Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    this.#retryAfter = { untilMs, isCapped: retryAfterMs > RETRY_AFTER_MS_MAX };
  }
}

/** Returns true if a kept connection was closed while it was used again, or stayed silent. */
function isStaleConnection(cause: RouterError): boolean {
  return cause.code === 'connect' && !cause.isUnsent;
}

/** Key of a remembered call. */
type CallName = Pick<TransportRequest, 'method' | 'path'>;

/**
 * Time after which a refused call may cost a login again: an operator may have granted the right, and it may only apply to
 * new sessions. Milliseconds.
 */
const REFUSAL_REMEMBERED_MS = 60 * 60_000;
/** Calls that are remembered: more than the interface has kinds of. */
const REFUSED_CALLS_MAX = 512;

/**
 * Calls that a router answers with 401 even straight after a login, where other routers answer 403: the account lacks the right.
 * Without this memory every such call would cost a login; logins lock accounts and fill the router's own log.
 */
class RefusalMemory {
  readonly #clock: Clock;
  /** Times until which a 401 does not cause a login, by call; most routers refuse none. Monotonic. */
  #refused: Map<string, number> | undefined;
  /** End of the same state for all calls, if the router accepted none since a login that did not help. */
  #allUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records that a call was refused straight after a login. */
  refused(call: CallName): void {
    this.#refused ??= new Map();
    if (this.#refused.size >= REFUSED_CALLS_MAX) this.#refused.clear();
    this.#allUntilMs = this.#clock.monotonic() + REFUSAL_REMEMBERED_MS;
    this.#refused.set(toKey(call), this.#allUntilMs);
  }

  /** Records that the router accepted a call. */
  accepted(call: CallName): void {
    this.#refused?.delete(toKey(call));
    this.#allUntilMs = 0;
  }

  /** Returns true if another login would not help after a 401 for the call. */
  isVain(call: CallName): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs < (this.#refused?.get(toKey(call)) ?? 0)) return true;
    if (nowMs >= this.#allUntilMs) return false;
    this.#refused?.set(toKey(call), this.#allUntilMs);
    return true;
  }
}

function toKey({ method, path }: CallName): string {
  return `${method} ${path}`;
}

/** Limits of the router's own error details: length of each, and number. */
const WORDS_LENGTH_MAX = 200;
const WORDS_MAX = 20;

const HINTS: Readonly<Record<number, string>> = {
  400: 'The router does not accept what was sent; the words in brackets are its own',
  403: 'The group of the account does not permit this; see the rights of its user on the router',
  404: 'This router does not have it: it has other cards or another firmware, or the name is wrong',
  500: 'The router could not store or activate it; see its own log',
  503: 'The router is busy with another request of this kind; retries did not help',
};

/** Returns the error for an answer with an unexpected status. */
export function toAnswerError(answer: JsonAnswer, request: TransportRequest): RouterError {
  const { status, retryAfterMs } = answer;
  const words = decodeWords(answer.body);
  const said = words.map(({ topic, text }) => `${topic}: ${text}`).join('; ');
  const what = `${request.method} ${request.path} was answered with ${status}${said && ` (${said})`}`;
  const options: Omit<RouterErrorOptions, 'disposition'> = { status, words, retryAfterMs, hint: HINTS[status] };
  if (status === 401) return new RouterError('auth', what, { ...options, disposition: 'login-again' });
  if (status === 403) return new RouterError('auth', what, { ...options, disposition: 'operator', isAnswered: true });
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new RouterError('http', what, { ...options, disposition: isFinal ? 'skip' : 'retry', isAnswered: true });
}

/** Returns the error for a 401 straight after a login: the account is valid, but may not make this call. */
export function toRefusalError({ message, status, words }: RouterError): RouterError {
  const hint = HINTS[403];
  const options = { status, words, hint, disposition: 'operator', isAnswered: true } as const;
  return new RouterError('auth', `${message}, even after a new login`, options);
}

/** Decodes the details of an error body, `{"error": [{"<topic>": "<text>"}, …]}`; none if it has another form. */
function decodeWords(body: unknown): readonly ErrorDetail[] {
  const errors: unknown = isPlainObject(body) ? body['error'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.slice(0, WORDS_MAX).flatMap((error: unknown) => {
    if (!isPlainObject(error)) return [];
    return Object.entries(error)
      .slice(0, 1)
      .flatMap(([topic, text]) => (typeof text === 'string' ? { topic: clean(topic), text: clean(text) } : []));
  });
}

function clean(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, WORDS_LENGTH_MAX);
}
