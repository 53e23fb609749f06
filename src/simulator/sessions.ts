import { sign, verify } from 'hono/jwt';
import type { Random } from '../base/index.ts';
import type { Account } from './accounts.ts';
import type { RouterClock } from './router-clock.ts';
import type { RouterCounters } from './router-counters.ts';
import { randomHex } from './seeded.ts';

/** What a login or a refresh gives. The field names are those of the interface. */
export interface TokenPair {
  readonly access: string;
  readonly refresh: string;
}

/** An access token ends this long after its issue; fixed by the interface. */
const ACCESS_TOKEN_MS = 5 * 60_000;
/** A session ends after this much inactivity: the device's default of its auto-logout setting. */
const SESSION_TIMEOUT_MS = 15 * 60_000;
/** Sessions kept per router; the one that has been silent longest makes room. A client that never logs out hits this. */
const SESSIONS_MAX = 256;

interface Session {
  readonly id: string;
  readonly account: Account;
  /** Issue time of each access token that may still be valid, by token id. */
  readonly accessTokens: Map<string, number>;
  /** The one refresh token that counts; every earlier one has been used. */
  refreshId: string;
  lastActivityMs: number;
}

interface Claims {
  readonly group: string;
  readonly iat: number;
  readonly jti: string;
  readonly name: string;
  readonly session_id: string;
  readonly usage: 'access' | 'refresh';
}

/**
 * The sessions of one router:
 *
 *   login ──> session { access: 5 min, refresh: once } ──refresh──> same session, new pair
 *   session ──logout | 15 min without activity | restart──> gone, all its tokens refused
 *
 * The interface is silent on two points: an access token outlives a refresh until its own 5 minutes are over, and using
 * a spent refresh token is refused without ending the session. Times are those of the monotonic clock: setting the
 * router's clock ends no session.
 */
export class Sessions {
  readonly #accounts: readonly Account[];
  readonly #clock: RouterClock;
  readonly #counters: RouterCounters;
  readonly #random: Random;
  readonly #sessions = new Map<string, Session>();
  #key: string;

  constructor(accounts: readonly Account[], clock: RouterClock, counters: RouterCounters, random: Random) {
    this.#accounts = accounts;
    this.#clock = clock;
    this.#counters = counters;
    this.#random = random;
    this.#key = randomHex(random, 64);
  }

  /** Opens a session; `undefined` when name or password are wrong. */
  async login(username: string, password: string): Promise<TokenPair | undefined> {
    const account = this.#accounts.find((one) => one.username === username && one.password === password);
    if (!account) {
      this.#counters.add('loginFailures');
      return undefined;
    }
    this.#counters.add('logins');
    this.#makeRoom();
    const id = randomHex(this.#random, 16);
    const session = { id, account, accessTokens: new Map(), refreshId: '', lastActivityMs: this.#monotonic() };
    this.#sessions.set(id, session);
    return this.#issue(session);
  }

  /** Exchanges a refresh token for a new pair; `undefined` when it does not count (any more). */
  async refresh(token: string): Promise<TokenPair | undefined> {
    const claims = await this.#verify(token);
    const session = this.#find(claims);
    if (claims?.usage !== 'refresh' || !session) return undefined;
    if (claims.jti !== session.refreshId) {
      this.#counters.add('refreshReuses');
      return undefined;
    }
    this.#counters.add('refreshes');
    this.#touch(session);
    // Everything up to here ran without waiting since the signature check, so of two equal tokens one loses.
    return this.#issue(session);
  }

  /** The account behind an access token; `undefined` when the token is not valid. Counts as activity. */
  async authenticate(token: string): Promise<Account | undefined> {
    const claims = await this.#verify(token);
    const session = this.#find(claims);
    if (!claims || !session || !this.#isLiveAccess(session, claims)) return undefined;
    this.#touch(session);
    return session.account;
  }

  /** Ends the session of either of its valid tokens; false when the token is not valid. */
  async logout(token: string): Promise<boolean> {
    const claims = await this.#verify(token);
    const session = this.#find(claims);
    if (!claims || !session) return false;
    if (claims.jti !== session.refreshId && !this.#isLiveAccess(session, claims)) return false;
    this.#counters.add('logouts');
    this.#sessions.delete(session.id);
    return true;
  }

  /** Makes every access token expire now; refresh tokens stay. */
  expireAccessTokens(): void {
    for (const session of this.#sessions.values()) session.accessTokens.clear();
  }

  /** What a restart does: no token issued before counts, not even its signature. */
  forgetAll(): void {
    this.#sessions.clear();
    this.#key = randomHex(this.#random, 64);
  }

  #monotonic(): number {
    return this.#clock.clock.monotonic();
  }

  #isLiveAccess(session: Session, claims: Claims): boolean {
    const issuedMs = session.accessTokens.get(claims.jti);
    return issuedMs !== undefined && this.#monotonic() - issuedMs < ACCESS_TOKEN_MS;
  }

  #find(claims: Claims | undefined): Session | undefined {
    const session = this.#sessions.get(claims?.session_id ?? '');
    if (!session) return undefined;
    if (this.#monotonic() - session.lastActivityMs < SESSION_TIMEOUT_MS) return session;
    this.#sessions.delete(session.id);
    return undefined;
  }

  /** The map is kept in order of last activity, so that the first entry is the one silent longest. */
  #touch(session: Session): void {
    session.lastActivityMs = this.#monotonic();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
  }

  #makeRoom(): void {
    for (const id of this.#sessions.keys()) {
      if (this.#sessions.size < SESSIONS_MAX) return;
      this.#sessions.delete(id);
    }
  }

  async #issue(session: Session): Promise<TokenPair> {
    for (const [id, issuedMs] of session.accessTokens) {
      if (this.#monotonic() - issuedMs >= ACCESS_TOKEN_MS) session.accessTokens.delete(id);
    }
    const accessId = randomHex(this.#random, 32);
    session.accessTokens.set(accessId, this.#monotonic());
    session.refreshId = randomHex(this.#random, 32);
    const [access, refresh] = await Promise.all([
      this.#sign(session, 'access', accessId),
      this.#sign(session, 'refresh', session.refreshId),
    ]);
    return { access, refresh };
  }

  /** No `exp`, and `iat` in seconds since the router started: a client has to count the minutes by itself. */
  #sign(session: Session, usage: Claims['usage'], jti: string): Promise<string> {
    const { username, group } = session.account;
    const iat = Math.floor(this.#clock.uptimeMs() / 1000);
    return sign({ group, iat, jti, name: username, session_id: session.id, usage }, this.#key, 'HS256');
  }

  async #verify(token: string): Promise<Claims | undefined> {
    try {
      // `iat` is no date here, so the library must not compare it with one.
      return (await verify(token, this.#key, { alg: 'HS256', iat: false })) as unknown as Claims;
    } catch {
      return undefined;
    }
  }
}
