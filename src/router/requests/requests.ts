import type { Clock } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { KnownOptions } from '../options.ts';
import type { ConsumeDownload } from './download-body.ts';
import { type Lane, Lanes } from './lanes.ts';
import {
  BUSY_STATUSES,
  LOGIN_PATH,
  type RouterRequest,
  renderAttempt,
  toAnswerError,
  toRefusalError,
  type WholeAnswer,
} from './messages.ts';
import { PartedDownload } from './parted-download.ts';
import { type AskForTokens, type Credentials, createCredentials } from './session.ts';
import { Transport } from './transport.ts';

/** A request in its lane, without what the session adds to it. */
export type Call = RouterRequest & { readonly lane: Lane };

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
 * Carries out calls, each in its lane and with valid credentials. What is safe to repeat is repeated: anything that was refused
 * with 401, once after a refresh and once after a login, unless it is known that this router means a lack of rights; a GET whose
 * kept connection was lost or silent, once; a GET or a login that is answered with 429 or 503, up to three times in all,
 * honouring a `Retry-After` of 15 seconds at most. Beside a download, what a token or a wait might help is left for its end.
 * After a router was busy to the end of a call, further calls do not wait for it until one succeeds.
 */
export class Requests {
  readonly transport: Transport;
  readonly lanes: Lanes;
  readonly #credentials: Credentials;
  readonly #options: KnownOptions;
  readonly #refusals: RefusalMemory;
  #retryAfter: RetryAfter | undefined;
  /** True if the router was still busy at the end of the last call. */
  #isBusy = false;

  constructor(options: KnownOptions) {
    this.#options = options;
    this.#refusals = new RefusalMemory(options.clock);
    this.transport = new Transport(options);
    const ask: AskForTokens = (request, signal) => this.lanes.transport.askJson({ ...request, signal });
    this.#credentials = createCredentials(options, ask);
    this.lanes = new Lanes(this.transport, () => this.#credentials.isReady, options);
  }

  /** Last wait that the router asked for, in an answer of 429 or 503; `undefined` when it is over. Delays no call. */
  get retryAfter(): RetryAfter | undefined {
    const isOver = this.#retryAfter && this.#options.clock.monotonic() >= this.#retryAfter.untilMs;
    return isOver ? undefined : this.#retryAfter;
  }

  /**
   * Returns the whole answer if its status is `success`, or without one whatever its status but 401; otherwise throws
   * {@link RouterError}.
   */
  ask(call: Call, success?: number): Promise<WholeAnswer> {
    return this.#run(call, async (request, transport) => {
      const answer = await transport.askJson(request);
      if (success === undefined ? answer.status === 401 : answer.status !== success)
        throw toAnswerError(answer, request);
      return answer;
    });
  }

  /**
   * Passes the body to `consume` while it arrives, with the offset of its first byte. Not repeated once it has begun. Gives way
   * to turns where the router sends parts of files; elsewhere turns may go on beside it.
   */
  async download<T>(request: RouterRequest, consume: ConsumeDownload<T>): Promise<T> {
    const open = (part: RouterRequest) =>
      this.#attempt(part, false, (one) =>
        this.transport.open(one, (answer) => {
          throw toAnswerError(answer, one);
        }),
      );
    const parted = new PartedDownload(request, open, this.lanes, this.#options);
    try {
      const { start, facts } = await parted.open();
      return await this.lanes.read(request.path, () => consume(parted.read(), start, facts));
    } finally {
      await parted.close();
    }
  }

  /** Logs in if there are no valid credentials, without a call. */
  async logIn(signal: AbortSignal): Promise<void> {
    await this.#run({ method: 'POST', path: LOGIN_PATH, lane: 'bulk', signal }, () => Promise.resolve());
  }

  /** Logs out and closes the connection; bounded by `signal`. */
  async close(signal: AbortSignal): Promise<void> {
    try {
      await this.lanes.run('bulk', signal, () => this.#credentials.close(signal));
    } finally {
      await this.lanes.close();
    }
  }

  #run<T>(call: Call, attempt: (request: RouterRequest, transport: Transport) => Promise<T>): Promise<T> {
    return this.lanes.run(call.lane, call.signal, (transport, isBeside) =>
      this.#attempt(call, isBeside, (request) => attempt(request, transport)),
    );
  }

  async #attempt<T>(
    call: RouterRequest,
    isBeside: boolean,
    attempt: (request: RouterRequest) => Promise<T>,
  ): Promise<T> {
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
        if (!isBeside) this.#noteRetryAfter(cause);
        if (signal.aborted) throw cause;
        const isGet = call.method === 'GET';
        if (cause.disposition === 'login-again') {
          if (isBeside && !this.#isVain(call, cause)) throw cause;
          await this.#renew(call, authorization, cause, refusals);
          refusals++;
        } else if (isGet && isSent && isStaleConnection(cause) && !hasReconnected) {
          hasReconnected = true;
        } else if (!isBeside && (isGet || !isSent) && BUSY_STATUSES.has(cause.status)) {
          const waitMs = cause.retryAfterMs ?? BUSY_WAIT_MS;
          this.#isBusy ||= attempts >= BUSY_ATTEMPTS_MAX;
          if (this.#isBusy || waitMs > BUSY_WAIT_MS_MAX) throw cause;
          attempts++;
          await this.#options.clock.sleep(waitMs, signal);
        } else {
          throw cause;
        }
      }
    }
  }

  /** Drops the token after a 401; throws if no other token can help. `refusals`: of this call so far. */
  async #renew(
    call: RouterRequest,
    authorization: string | undefined,
    cause: RouterError,
    refusals: number,
  ): Promise<void> {
    if (this.#isVain(call, cause)) throw toRefusalError(cause);
    if (refusals < REFUSALS_MAX && (await this.#credentials.lost(authorization, cause, refusals > 0))) return;
    // Fixed credentials cannot be renewed.
    if (refusals === 0) throw cause;
    this.#refusals.refused(call);
    throw toRefusalError(cause);
  }

  /** Returns true for a 401 that no other token helps. */
  #isVain(call: RouterRequest, { disposition }: RouterError): boolean {
    // A password that is sent with each request may have changed since, and costs no login to find out.
    return disposition === 'login-again' && this.#credentials.needsLogin && this.#refusals.isVain(call);
  }

  #noteRetryAfter({ retryAfterMs }: RouterError): void {
    if (retryAfterMs === undefined) return;
    const untilMs = this.#options.clock.monotonic() + Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    this.#retryAfter = { untilMs, isCapped: retryAfterMs > RETRY_AFTER_MS_MAX };
  }
}

/** Returns true if a kept connection was closed while it was used again, or stayed silent. */
function isStaleConnection(cause: RouterError): boolean {
  return cause.code === 'connect' && !cause.isUnsent;
}

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
  refused(call: RouterRequest): void {
    this.#refused ??= new Map();
    if (this.#refused.size >= REFUSED_CALLS_MAX) this.#refused.clear();
    this.#allUntilMs = this.#clock.monotonic() + REFUSAL_REMEMBERED_MS;
    this.#refused.set(renderAttempt(call), this.#allUntilMs);
  }

  /** Records that the router accepted a call. */
  accepted(call: RouterRequest): void {
    this.#refused?.delete(renderAttempt(call));
    this.#allUntilMs = 0;
  }

  /** Returns true if another login would not help after a 401 for the call. */
  isVain(call: RouterRequest): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs < (this.#refused?.get(renderAttempt(call)) ?? 0)) return true;
    if (nowMs >= this.#allUntilMs) return false;
    this.#refused?.set(renderAttempt(call), this.#allUntilMs);
    return true;
  }
}
