import { DeadlineExceeded, isPlainObject, parseJson, readString, type Secret } from '../../base/index.ts';
import { renderHeader } from '../../net/index.ts';
import { RouterError } from '../errors.ts';
import type { CompleteOptions } from '../settings.ts';
import { type JsonAnswer, LOGIN_PATH, REFRESH_PATH, type RouterRequest } from './messages.ts';

/** Sends one authentication request. */
export type AskForTokens = (request: Omit<RouterRequest, 'signal'>, signal: AbortSignal) => Promise<JsonAnswer>;

/** Credentials of requests for all values of `auth`. */
export interface Credentials {
  /** True if a retry needs a login, which locks accounts and fills logs. */
  readonly needsLogin: boolean;
  /** True if the next request does not need a new token. */
  readonly isReady: boolean;
  /** Value of the header `Authorization` for the next request. */
  authorization(signal: AbortSignal): Promise<string | undefined>;
  /** Records a refusal; returns true if a retry may work. `isRepeated`: not for the first time in this request. */
  lost(authorization: string | undefined, cause: RouterError, isRepeated: boolean): boolean | Promise<boolean>;
  close(signal: AbortSignal): Promise<void>;
}

interface SessionOptions extends Pick<CompleteOptions, 'username' | 'password' | 'clock' | 'report'> {
  readonly ask: AskForTokens;
}

const BEARER = 'Bearer ';
/** Validity of an access token after its arrival: the token itself carries no usable time. */
const ACCESS_VALID_MS = 5 * 60_000;
/** A token is renewed this long before its end, so that it does not expire on a slow link. */
const REFRESH_MARGIN_MS = 60_000;
/** First wait after refused credentials, doubled per refusal. Routers lock an account after too many attempts. */
const REFUSED_WAIT_MS = 30_000;
const REFUSED_WAIT_MS_MAX = 5 * 60_000;

interface Tokens {
  readonly access: string;
  readonly refresh: string;
  /** Monotonic milliseconds; `-Infinity` once the router has refused the access token. */
  readonly receivedAtMs: number;
  /** True if they came with a login, not with a refresh. */
  readonly isOfLogin: boolean;
}

type State =
  | { readonly name: 'none' }
  | { readonly name: 'live'; readonly tokens: Tokens }
  | { readonly name: 'closed' };

/**
 * The token life cycle of one router. The request queue ensures that {@link authorization} is called before each request, one at a time.
 *
 * ```
 *          authorization() : login
 *   none ───────────────────────────────▶ live ──┐ authorization() 4 min after receipt, or after lost() : refresh, then login
 *    ▲ ▲                                  │ │ ▲  │ lost(token), after a 401 : the token counts as expired
 *    │ └─ refresh token spent, no login ──┘ │ └──┘
 *    └─ lost(token) again, with a token of a refresh
 *
 *   any ── close() : logout when tokens are held ──▶ closed
 * ```
 *
 * - A refresh token is never sent twice. If it is unknown whether the router received it, it counts as used and the next step is a login;
 * only a request that was certainly not sent keeps it.
 * - After a 401 the refresh token is tried before a login: logins lock accounts and fill the router's own log.
 * - Refused credentials are read again from their file or command, and tried again if they have changed; otherwise only after a growing
 * wait.
 */
export class Session implements Credentials {
  readonly needsLogin = true;
  readonly #options: SessionOptions;
  #state: State = { name: 'none' };
  #refusals = 0;
  #refusedUntilMs = 0;
  #refusal: RouterError | undefined;
  #refusedPassword = '';
  #triedPassword = '';

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** True if there is a token that need not be renewed yet. */
  get isReady(): boolean {
    if (this.#state.name !== 'live') return false;
    return this.#options.clock.monotonic() - this.#state.tokens.receivedAtMs < ACCESS_VALID_MS - REFRESH_MARGIN_MS;
  }

  /** Resolves with a token that is valid for at least the refresh margin. Throws {@link RouterError}. */
  async authorization(signal: AbortSignal): Promise<string> {
    const state = this.#state;
    if (state.name === 'closed') {
      throw new RouterError('auth', 'The session was used after its end', { disposition: 'skip', isUnsent: true });
    }
    let tokens = state.name === 'live' ? state.tokens : undefined;
    if (tokens && this.isReady) return `${BEARER}${tokens.access}`;
    tokens = tokens && (await this.#refresh(tokens, signal));
    tokens ??= await this.#login(signal);
    this.#state = { name: 'live', tokens };
    return `${BEARER}${tokens.access}`;
  }

  /**
   * Records that the router refused a token; returns true if another one may work. The next one comes from a refresh. `isRepeated`: the
   * router has refused two tokens for the same request; then the next one comes from a login, unless this one already did.
   */
  lost(authorization: string | undefined, cause: unknown, isRepeated: boolean): boolean {
    const state = this.#state;
    // A newer token stays valid.
    if (state.name !== 'live' || `${BEARER}${state.tokens.access}` !== authorization) return true;
    if (!isRepeated) {
      this.#state = { name: 'live', tokens: { ...state.tokens, receivedAtMs: -Infinity } };
      return true;
    }
    if (state.tokens.isOfLogin) return false;
    this.#state = { name: 'none' };
    this.#options.report({ type: 'session-lost', cause });
    return true;
  }

  /**
   * Logs out if there are tokens, and ends the session. Uses the refresh token if the access token may have expired: the router answers
   * 401 to an expired one and keeps the session. Never throws: the router's tokens expire anyway.
   */
  async close(signal: AbortSignal): Promise<void> {
    const { isReady } = this;
    const state = this.#state;
    this.#state = { name: 'closed' };
    if (state.name !== 'live') return;
    const { access, refresh } = state.tokens;
    try {
      const authorization = `${BEARER}${isReady ? access : refresh}`;
      const { status } = await this.#options.ask({ method: 'POST', path: '/auth/logout', authorization }, signal);
      if (status === 200) this.#options.report({ type: 'session-closed' });
    } catch {
      // The tokens expire on the router after its auto-logout time.
    }
  }

  /** Returns `undefined` if the refresh token is used up or refused. Uses it up unless it was certainly not sent. */
  async #refresh(tokens: Tokens, signal: AbortSignal): Promise<Tokens | undefined> {
    const { ask, report } = this.#options;
    let answer: JsonAnswer;
    try {
      const authorization = `${BEARER}${tokens.refresh}`;
      answer = await ask({ method: 'POST', path: REFRESH_PATH, authorization }, signal);
    } catch (cause) {
      if (cause instanceof RouterError && cause.isUnsent) throw cause;
      this.#state = { name: 'none' };
      if (signal.aborted) throw cause;
      report({ type: 'session-lost', cause });
      return undefined;
    }
    const fresh = this.#decode(answer, false);
    if (fresh) {
      report({ type: 'session-refreshed', ...readGroup(fresh.access) });
      return fresh;
    }
    this.#state = { name: 'none' };
    const { status, retryAfterMs } = answer;
    const what = `POST /auth/refresh was answered with ${status}`;
    report({
      type: 'session-lost',
      cause: new RouterError('auth', what, { disposition: 'login-again', status }),
    });
    // A router that asks for fewer requests must not get a login right away.
    if (status === 429 || status === 503) {
      throw new RouterError('http', what, { disposition: 'retry', status, retryAfterMs });
    }
    return undefined;
  }

  async #login(signal: AbortSignal): Promise<Tokens> {
    const { clock, password } = this.#options;
    const used = password.reveal();
    // Another password is tried at once, but only the first one: one that differs each time must not lock the account.
    const isWorthTrying = used !== this.#refusedPassword && this.#refusals <= 1;
    if (this.#refusal && !isWorthTrying && clock.monotonic() < this.#refusedUntilMs) {
      throw this.#refusal;
    }
    try {
      const tokens = await this.#askForTokens(signal, used);
      this.#refusals = 0;
      this.#refusal = undefined;
      this.#refusedPassword = '';
      this.#options.report({ type: 'session-opened', ...readGroup(tokens.access) });
      return tokens;
    } catch (cause) {
      // The caller's time limit is a failure of the login, the end of the agent is not.
      if (!signal.aborted || cause instanceof DeadlineExceeded) this.#options.report({ type: 'login-failed', cause });
      if (cause instanceof RouterError && cause.code === 'auth') {
        this.#refusal = cause;
        this.#refusedPassword = this.#triedPassword;
        const waitMs = Math.min(REFUSED_WAIT_MS * 2 ** this.#refusals++, REFUSED_WAIT_MS_MAX);
        this.#refusedUntilMs = clock.monotonic() + waitMs;
      }
      throw cause;
    }
  }

  /** Retries once if the refused password has changed meanwhile. */
  async #askForTokens(signal: AbortSignal, used: string): Promise<Tokens> {
    const { ask, username, password } = this.#options;
    for (let value = used, isSecond = false; ; value = password.reveal(), isSecond = true) {
      this.#triedPassword = value;
      const answer = await ask({ method: 'POST', path: LOGIN_PATH, json: { username, password: value } }, signal);
      const tokens = this.#decode(answer, true);
      if (tokens) return tokens;
      const error = toLoginError(answer, username);
      if (isSecond || error.code !== 'auth' || !(await password.renew(value))) throw error;
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

/** Tokens of the interface are JSON Web Tokens of some hundred characters. */
const TOKEN_LENGTH_MAX = 8192;

/** Tokens become part of a header, so they must not contain line breaks. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TOKEN_LENGTH_MAX && /^[\x21-\x7e]+$/.test(value);
}

/** Longer names of groups are ignored. */
const GROUP_LENGTH_MAX = 64;

/** Only from a JSON Web Token. */
function readGroup(token: string): { readonly group?: string } {
  const claims = parseJson(Buffer.from(token.split('.', 3)[1] ?? '', 'base64url').toString('utf8'));
  const group = isPlainObject(claims) ? readString(claims, 'group') : undefined;
  return group !== undefined && group.length <= GROUP_LENGTH_MAX ? { group } : {};
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
    const hint = 'Another device, or the login page of a proxy, responds here: check the url of this router';
    const shown =
      answer.body === undefined ? `: with ${renderHeader('Content-Type', answer.contentType)}, not JSON` : '';
    return new RouterError('parse', `The login was answered without tokens${shown}`, {
      disposition: 'retry',
      status,
      hint,
    });
  }
  const what = `The login was answered with status ${status}`;
  return new RouterError('http', what, { disposition: 'retry', status, retryAfterMs, hint: findLoginHint(status) });
}

/** Hints for statuses that no router with this interface returns for a login. */
function findLoginHint(status: number): string | undefined {
  if (status >= 300 && status < 400) {
    return 'Redirects are not followed: check scheme, host, port and path in the url of this router';
  }
  if (status !== 404) return undefined;
  return 'There is no REST interface of version 2.0 here: check port and path in the url of this router, and its firmware';
}

/** Creates the credentials of the requests to one router. */
export function createCredentials(options: CompleteOptions, ask: AskForTokens): Credentials {
  const { username, password, clock, report, bearerToken, headers = {} } = options;
  const others = Object.values(headers);
  switch (options.auth) {
    case 'token':
      return new Session({ username, password, clock, ask, report });
    case 'basic':
      return createFixedCredentials(() => renderBasic(username, password), [password, ...others]);
    case 'bearer': {
      const render = () => (bearerToken === undefined ? undefined : `${BEARER}${bearerToken.reveal()}`);
      return createFixedCredentials(render, bearerToken ? [bearerToken, ...others] : others);
    }
    case 'none':
      return createFixedCredentials(() => undefined, others);
  }
}

/** After a refusal, a retry may work only if one of `secrets` has changed. */
function createFixedCredentials(render: () => string | undefined, secrets: readonly Secret[]): Credentials {
  return {
    needsLogin: false,
    isReady: true,
    authorization: () => Promise.resolve(render()),
    async lost(authorization) {
      if (authorization !== render()) return true;
      const renewed = await Promise.all(secrets.map((secret) => secret.renew(secret.reveal())));
      return renewed.includes(true);
    },
    close: () => Promise.resolve(),
  };
}

function renderBasic(username: string, password: Secret): string {
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`, 'utf8').toString('base64')}`;
}
