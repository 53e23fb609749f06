import type { Clock, Secret } from '../base/index.ts';
import { RouterError } from './errors.ts';
import type { JsonAnswer, TransportRequest } from './transport.ts';

/** What happened to the session of a router. */
export type SessionEvent =
  | { readonly type: 'session-opened' }
  | { readonly type: 'session-refreshed' }
  | { readonly type: 'session-lost'; readonly cause: unknown }
  | { readonly type: 'session-closed' }
  | { readonly type: 'login-failed'; readonly cause: unknown };

export interface SessionOptions {
  /** Name of the account. */
  readonly username: string;
  /** Password of the account. */
  readonly password: Secret;
  /** Clock for the age of tokens and the waits after refusals. */
  readonly clock: Clock;
  /** Sends one authentication request. */
  readonly ask: (request: Omit<TransportRequest, 'signal'>, signal: AbortSignal) => Promise<JsonAnswer>;
  /** Called for every event of the session. */
  readonly report: (event: SessionEvent) => void;
}

/** Validity of an access token, counted from when it arrived: the token itself carries no usable time. */
const ACCESS_VALID_MS = 5 * 60_000;
/** A token is renewed this long before its end, so that a slow link does not carry it over the edge. */
const REFRESH_MARGIN_MS = 60_000;
/** After refused credentials: first wait, doubled per refusal. Routers lock an account that is tried too often. */
const REFUSED_WAIT_MS = 30_000;
const REFUSED_WAIT_MS_MAX = 5 * 60_000;

interface Tokens {
  readonly access: string;
  readonly refresh: string;
  /** On the monotonic clock; `-Infinity` once the router has refused the access token. */
  readonly receivedAtMs: number;
  /** Whether they came with a login, and not with a refresh. */
  readonly isOfLogin: boolean;
}

type State =
  | { readonly name: 'none' }
  | { readonly name: 'live'; readonly tokens: Tokens }
  | { readonly name: 'renewing'; readonly tokens: Tokens | undefined; readonly outcome: Promise<string> }
  | { readonly name: 'closed' };

/**
 * The token life cycle of one router. Callers ask for a token before each request and never see how it was had.
 *
 * ```
 *           token() : login       token() 4 min after receipt, or after lost() : refresh, then login
 *   none ─────────────────▶ renewing ◀──────────────────────────────────── live ──┐ lost(token), after a 401:
 *    ▲ ▲                     │    │                                        ▲ │ ▲  │ the token counts as expired
 *    │ └── failed for good ──┘    └─────────────── tokens ─────────────────┘ │ └──┘
 *    └─────────────── lost(token) again, with a token of a refresh ──────────┘
 *
 *   any ── close() : logout when tokens are held ──▶ closed
 * ```
 *
 * - One renewal at a time: callers that come meanwhile join it.
 * - A refresh token is never sent twice. When it is unknown whether the router saw it, it counts as used and the next
 *   step is a login; only a request that certainly never left keeps it.
 * - After a 401 the refresh token is tried before a login: logins lock accounts and fill the router's own log.
 * - Refused credentials are not tried again before a growing wait has passed.
 */
export class Session {
  readonly #options: SessionOptions;
  #state: State = { name: 'none' };
  #refusals = 0;
  #refusedUntilMs = 0;
  #refusal: RouterError | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** A token that is valid for at least the refresh margin. Throws {@link RouterError}. */
  token(signal: AbortSignal): Promise<string> {
    const state = this.#state;
    switch (state.name) {
      case 'live':
        if (this.#options.clock.monotonic() - state.tokens.receivedAtMs < ACCESS_VALID_MS - REFRESH_MARGIN_MS) {
          return Promise.resolve(state.tokens.access);
        }
        return this.#renew(state.tokens, signal);
      case 'renewing':
        return state.outcome;
      case 'none':
        return this.#renew(undefined, signal);
      case 'closed':
        return Promise.reject(
          new RouterError('auth', 'The session was used after its end', { disposition: 'skip', isUnsent: true }),
        );
    }
  }

  /**
   * Says that the router refused `token`; returns whether another token can do better. The next one comes from a refresh.
   * `isRepeated`: the router has refused two tokens for the same request. Then the next one comes from a login, unless this
   * one already did.
   */
  lost(token: string, cause: unknown, isRepeated: boolean): boolean {
    const state = this.#state;
    // A newer token than that one is left alone.
    if (state.name !== 'live' || state.tokens.access !== token) return true;
    if (!isRepeated) {
      this.#enter({ name: 'live', tokens: { ...state.tokens, receivedAtMs: -Infinity } });
      return true;
    }
    if (state.tokens.isOfLogin) return false;
    this.#enter({ name: 'none' });
    this.#options.report({ type: 'session-lost', cause });
    return true;
  }

  /** Logs out when there is something to log out of, and ends the session. Never throws: the router forgets it by itself. */
  async close(signal: AbortSignal): Promise<void> {
    const state = this.#state;
    this.#enter({ name: 'closed' });
    const tokens = state.name === 'live' || state.name === 'renewing' ? state.tokens : undefined;
    if (!tokens) return;
    try {
      await this.#options.ask(
        { method: 'POST', path: '/auth/logout', authorization: `Bearer ${tokens.access}` },
        signal,
      );
      this.#options.report({ type: 'session-closed' });
    } catch {
      // The tokens run out on the router after its auto-logout time.
    }
  }

  #enter(state: State): void {
    if (this.#state.name !== 'closed') this.#state = state;
  }

  #renew(tokens: Tokens | undefined, signal: AbortSignal): Promise<string> {
    let unspent = tokens;
    const obtain = async () => {
      if (tokens) {
        const fresh = await this.#refresh(tokens, signal);
        if (fresh) return fresh;
        unspent = undefined;
      }
      return this.#login(signal);
    };
    const outcome = obtain().then(
      (fresh) => {
        this.#enter({ name: 'live', tokens: fresh });
        return fresh.access;
      },
      (cause: unknown) => {
        // Only a refresh that never left the machine leaves its token usable.
        const kept = cause instanceof RouterError && cause.isUnsent ? unspent : undefined;
        this.#enter(kept ? { name: 'live', tokens: kept } : { name: 'none' });
        throw cause;
      },
    );
    this.#enter({ name: 'renewing', tokens, outcome });
    return outcome;
  }

  /** Resolves with `undefined` when the refresh token is spent or refused and a login is due. */
  async #refresh(tokens: Tokens, signal: AbortSignal): Promise<Tokens | undefined> {
    const { ask, report } = this.#options;
    let answer: JsonAnswer;
    try {
      const authorization = `Bearer ${tokens.refresh}`;
      answer = await ask({ method: 'POST', path: '/auth/refresh', authorization }, signal);
    } catch (cause) {
      if (signal.aborted || (cause instanceof RouterError && cause.isUnsent)) throw cause;
      report({ type: 'session-lost', cause });
      return undefined;
    }
    const fresh = this.#decode(answer, false);
    if (fresh) {
      report({ type: 'session-refreshed' });
      return fresh;
    }
    const { status, retryAfterMs } = answer;
    const what = `POST /auth/refresh was answered with ${status}`;
    report({
      type: 'session-lost',
      cause: new RouterError('auth', what, { disposition: 'login-again', status }),
    });
    // A router that asks for fewer requests does not get one more at once.
    if (status === 429 || status === 503) {
      throw new RouterError('http', what, { disposition: 'retry', status, retryAfterMs });
    }
    return undefined;
  }

  async #login(signal: AbortSignal): Promise<Tokens> {
    const { clock, username, password } = this.#options;
    if (this.#refusal && clock.monotonic() < this.#refusedUntilMs) throw this.#refusal;
    try {
      const json = { username, password: password.reveal() };
      const answer = await this.#options.ask({ method: 'POST', path: '/auth/login', json }, signal);
      const tokens = this.#decode(answer, true);
      if (!tokens) throw toLoginError(answer, username);
      this.#refusals = 0;
      this.#refusal = undefined;
      this.#options.report({ type: 'session-opened' });
      return tokens;
    } catch (cause) {
      if (!signal.aborted) this.#options.report({ type: 'login-failed', cause });
      if (cause instanceof RouterError && cause.code === 'auth') {
        this.#refusal = cause;
        const waitMs = Math.min(REFUSED_WAIT_MS * 2 ** this.#refusals++, REFUSED_WAIT_MS_MAX);
        this.#refusedUntilMs = clock.monotonic() + waitMs;
      }
      throw cause;
    }
  }

  #decode(answer: JsonAnswer, isOfLogin: boolean): Tokens | undefined {
    const { status, body } = answer;
    if (status !== 200 || typeof body !== 'object' || body === null) return undefined;
    const access: unknown = Reflect.get(body, 'access');
    const refresh: unknown = Reflect.get(body, 'refresh');
    if (!isToken(access) || !isToken(refresh)) return undefined;
    return { access, refresh, receivedAtMs: this.#options.clock.monotonic(), isOfLogin };
  }
}

/** Longest token that is accepted; those of the interface are JSON Web Tokens of some hundred characters. */
const TOKEN_LENGTH_MAX = 8192;

/** A token becomes part of a header, so it must not be able to end one. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TOKEN_LENGTH_MAX && /^[\x21-\x7e]+$/.test(value);
}

function toLoginError(answer: JsonAnswer, username: string): RouterError {
  const { status, retryAfterMs } = answer;
  if (status === 401 || status === 403) {
    return new RouterError('auth', `The router refused to log in user ${JSON.stringify(username)}`, {
      disposition: 'operator',
      hint: 'Check username and password of this router, and that the account is active on it',
      status,
    });
  }
  if (status === 200) {
    return new RouterError('parse', 'The login was answered without tokens', { disposition: 'retry', status });
  }
  const what = `The login was answered with status ${status}`;
  return new RouterError('http', what, { disposition: 'retry', status, retryAfterMs });
}
