import type { Clock } from '../../base/index.ts';
import { RouterError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
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
import { ResumableDownload } from './resumable-download.ts';
import { type AskForTokens, type Credentials, createCredentials } from './session.ts';
import { Transport } from './transport.ts';

/** A request and its lane, without credentials. */
export type Call = RouterRequest & { readonly lane: Lane };

/** Retries of a request that was refused with 401: with a refreshed token, then with one of a login. */
const REFUSALS_MAX = 2;
/** Wait for a busy router without `Retry-After`. Milliseconds. */
const BUSY_WAIT_MS = 3000;
/** Longest wait within a call; a longer `Retry-After` is left to the caller. Milliseconds. */
const BUSY_WAIT_MS_MAX = 15_000;
/** Maximum number of requests of one call while the router is busy. */
const BUSY_ATTEMPTS_MAX = 3;
/** Upper limit of `Retry-After`. Milliseconds. */
const RETRY_AFTER_MS_MAX = 15 * 60_000;

/** Wait that a router requested with `Retry-After`. */
export interface RetryAfter {
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  /** True if it asked for more than 15 minutes, or for a date by a clock that is off: both count as 15 minutes. */
  readonly isCapped: boolean;
}

/**
 * Sends calls in their lanes with valid credentials. Retries what is safe to repeat: any call refused with 401, once after a refresh and
 * once after a login, unless this router is known to use 401 for a lack of rights; once a GET whose kept connection was lost or silent;
 * up to three times in all a GET or a login answered with 429 or 503, honouring a `Retry-After` of up to 15 seconds. On a second
 * connection, calls that need a token or a wait are left until the download ends. If a router is still busy at the end of a call, further
 * calls do not wait for it until one succeeds.
 */
export class Requests {
  readonly transport: Transport;
  readonly lanes: Lanes;
  readonly #credentials: Credentials;
  readonly #options: CompleteOptions;
  readonly #refusals: RefusalMemory;
  #retryAfter: RetryAfter | undefined;
  /** True if the router was still busy at the end of the last call. */
  #isBusy = false;

  constructor(options: CompleteOptions) {
    this.#options = options;
    this.#refusals = new RefusalMemory(options.clock);
    this.transport = new Transport(options);
    const ask: AskForTokens = (request, signal) => this.lanes.transport.askJson({ ...request, signal });
    this.#credentials = createCredentials(options, ask);
    this.lanes = new Lanes(this.transport, () => this.#credentials.isReady, options);
  }

  /** Last wait requested in an answer of 429 or 503; `undefined` when it is over. Does not delay calls. */
  get retryAfter(): RetryAfter | undefined {
    const isOver = this.#retryAfter && this.#options.clock.monotonic() >= this.#retryAfter.untilMs;
    return isOver ? undefined : this.#retryAfter;
  }

  /** Returns the answer if its status is `success`; without `success`, for any status but 401. Otherwise throws {@link RouterError}. */
  ask(call: Call, success?: number): Promise<WholeAnswer> {
    return this.#run(call, async (request, transport) => {
      const answer = await transport.askJson(request);
      if (success === undefined ? answer.status === 401 : answer.status !== success)
        throw toAnswerError(answer, request);
      return answer;
    });
  }

  /**
   * Streams the body to `consume` with the offset of its first byte. Not retried once the body has started. Suspended while slots run if
   * the router supports ranges; otherwise slots may run concurrently.
   */
  async download<T>(request: RouterRequest, consume: ConsumeDownload<T>): Promise<T> {
    const open = (part: RouterRequest) =>
      this.#attempt(part, false, (one) =>
        this.transport.open(one, (answer) => {
          throw toAnswerError(answer, one);
        }),
      );
    const resumable = new ResumableDownload(request, open, this.lanes, this.#options);
    try {
      const { start, facts } = await resumable.open();
      return await this.lanes.read(request.path, () => consume(resumable.read(), start, facts));
    } finally {
      await resumable.close();
    }
  }

  /** Logs in unless there are valid credentials. */
  async logIn(signal: AbortSignal): Promise<void> {
    await this.#run({ method: 'POST', path: LOGIN_PATH, lane: 'bulk', signal }, () => Promise.resolve());
  }

  async close(signal: AbortSignal): Promise<void> {
    try {
      await this.lanes.run('bulk', signal, () => this.#credentials.close(signal));
    } finally {
      await this.lanes.close();
    }
  }

  #run<T>(call: Call, attempt: (request: RouterRequest, transport: Transport) => Promise<T>): Promise<T> {
    return this.lanes.run(call.lane, call.signal, (transport, isConcurrent) =>
      this.#attempt(call, isConcurrent, (request) => attempt(request, transport)),
    );
  }

  async #attempt<T>(
    call: RouterRequest,
    isConcurrent: boolean,
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
        if (!isConcurrent) this.#recordRetryAfter(cause);
        if (signal.aborted) throw cause;
        const isGet = call.method === 'GET';
        if (cause.disposition === 'login-again') {
          if (isConcurrent && !this.#lacksRight(call)) throw cause;
          await this.#renew(call, authorization, cause, refusals);
          refusals++;
        } else if (isGet && isSent && isStaleConnection(cause) && !hasReconnected) {
          hasReconnected = true;
        } else if (!isConcurrent && (isGet || !isSent) && BUSY_STATUSES.has(cause.status)) {
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
    if (this.#lacksRight(call)) throw toRefusalError(cause);
    if (refusals < REFUSALS_MAX && (await this.#credentials.lost(authorization, cause, refusals > 0))) return;
    // Fixed credentials cannot be renewed.
    if (refusals === 0) throw cause;
    this.#refusals.refused(call);
    throw toRefusalError(cause);
  }

  #lacksRight(call: RouterRequest): boolean {
    // A password that is sent with each request may have changed since; trying it needs no login.
    return this.#credentials.needsLogin && this.#refusals.lacksRight(call);
  }

  #recordRetryAfter({ retryAfterMs }: RouterError): void {
    if (retryAfterMs === undefined) return;
    const untilMs = this.#options.clock.monotonic() + Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    this.#retryAfter = { untilMs, isCapped: retryAfterMs > RETRY_AFTER_MS_MAX };
  }
}

/** True if a kept connection was closed during its next use, or stayed silent. */
function isStaleConnection(cause: RouterError): boolean {
  return cause.code === 'connect' && !cause.isUnsent;
}

/** No logins for a refused call meanwhile. A right granted later may apply only to new sessions. Milliseconds. */
const REFUSAL_REMEMBERED_MS = 60 * 60_000;
/** More than the interface has kinds of calls. */
const REFUSED_CALLS_MAX = 512;

/**
 * Calls that a router answers with 401 even straight after a login, where other routers answer 403: the account lacks the right. Without
 * this memory every such call would cost a login; logins lock accounts and fill the router's own log.
 */
class RefusalMemory {
  readonly #clock: Clock;
  /** Times until which a 401 does not cause a login, by call. Monotonic milliseconds. */
  #refused: Map<string, number> | undefined;
  /** The same for all calls, if the router has accepted none since a login that did not help. */
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

  /** Returns true if another login would not help after a 401. */
  lacksRight(call: RouterRequest): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs < (this.#refused?.get(renderAttempt(call)) ?? 0)) return true;
    if (nowMs >= this.#allUntilMs) return false;
    this.#refused?.set(renderAttempt(call), this.#allUntilMs);
    return true;
  }
}
