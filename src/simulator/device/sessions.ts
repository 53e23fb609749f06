import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Random } from '../../base/index.ts';
import { isPassword } from '../configuration/render.ts';
import { type Configuration, readEntries } from '../configuration/state.ts';
import { readWebSettings } from '../configuration/web-settings.ts';
import { randomHex } from '../seeded.ts';
import type { RouterClock } from './router-clock.ts';
import type { RouterCounters } from './router-counters.ts';

/** Rights of an account: reading status, reading everything, or changing everything; each includes the previous one. */
export type Group = 'status' | 'read' | 'readwrite';

/** A user of the router. */
export interface Account {
  readonly username: string;
  readonly password: string;
  readonly group: Group;
}

const RANKS: Readonly<Record<Group, number>> = { status: 0, read: 1, readwrite: 2 };

/** Returns true if members of `group` have the right `needed`. */
export function hasRight(group: Group, needed: Group): boolean {
  return RANKS[group] >= RANKS[needed];
}

function findAccount(configuration: Configuration, username: string): Account | undefined {
  const entry = readEntries(configuration, 'administration/users').find(
    ({ fields }) => fields['username'] === username && fields['active'] === '1',
  );
  if (!entry) return undefined;
  return { username, password: entry.fields['password'] ?? '', group: (entry.fields['group'] ?? 'status') as Group };
}

function verifyAccount(configuration: Configuration, username: string, password: string): Account | undefined {
  const account = findAccount(configuration, username);
  return account && isPassword(password, account.password) ? account : undefined;
}

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });

/** JSON web token, signed with HMAC-SHA-256. */
function signToken(claims: object, key: string): string {
  const content = `${HEADER}.${encode(claims)}`;
  return `${content}.${computeSignature(content, key).toString('base64url')}`;
}

/** `undefined` for a token that was not signed with `key`. The times are not checked. */
function verifyToken(token: string, key: string): unknown {
  const [header, claims = '', signature = '', ...rest] = token.split('.');
  if (header !== HEADER || rest.length > 0) return undefined;
  const expected = computeSignature(`${header}.${claims}`, key);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
}

function computeSignature(content: string, key: string): Buffer {
  return createHmac('sha256', key).update(content).digest();
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The field names are those of the interface. */
interface TokenPair {
  readonly access: string;
  readonly refresh: string;
}

/** Lifetime of an access token; fixed by the interface. */
const ACCESS_TOKEN_MS = 5 * 60_000;
/** Limit of the sessions per router; the least recently active one is dropped. Clients that never log out reach it. */
export const SESSIONS_MAX = 256;
/** Limit of the locked user names; the oldest lock is dropped. */
const LOCKS_MAX = 1000;
/** No account has a longer name, so a longer one need not be locked. */
const USERNAME_LENGTH_MAX = 100;

interface Session {
  readonly id: string;
  readonly username: string;
  /** Issue time of each access token that may still be valid, by token id. */
  readonly accessTokens: Map<string, number>;
  /** The only valid refresh token; all earlier ones have been used. */
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
 *   session ──logout | auto-logout time without activity | restart | account gone or inactive──> gone, tokens refused
 *   name ──login fails──> locked for a few seconds: even the right password is refused
 *
 * The interface is silent on some points: an access token outlives a refresh until its own 5 minutes are over, using a
 * spent refresh token is refused without ending the session, a new password ends no session, and a new group counts for
 * sessions that exist. Times are those of the monotonic clock: setting the router's clock ends no session.
 */
export class Sessions {
  readonly #configuration: () => Configuration;
  readonly #clock: RouterClock;
  readonly #counters: RouterCounters;
  readonly #random: Random;
  readonly #sessionsMax: number;
  readonly #sessions = new Map<string, Session>();
  /** End of the lock of each name. */
  readonly #locks = new Map<string, number>();
  #key: string;

  /** `configuration` returns the configuration in effect. */
  constructor(
    configuration: () => Configuration,
    clock: RouterClock,
    counters: RouterCounters,
    random: Random,
    sessionsMax = SESSIONS_MAX,
  ) {
    this.#sessionsMax = sessionsMax;
    this.#configuration = configuration;
    this.#clock = clock;
    this.#counters = counters;
    this.#random = random;
    this.#key = randomHex(random, 64);
  }

  /** Opens a session; `undefined` if name or password are wrong, or the name is locked. */
  login(username: string, password: string): TokenPair | undefined {
    const account = this.verify(username, password);
    if (!account) return undefined;
    this.#counters.add('logins');
    this.#makeRoom();
    const id = randomHex(this.#random, 16);
    const session = { id, username, accessTokens: new Map(), refreshId: '', lastActivityMs: this.#monotonic() };
    this.#sessions.set(id, session);
    return this.#issue(session, account);
  }

  /** Returns the account with this name and password, without a session; `undefined` as for a login. */
  verify(username: string, password: string): Account | undefined {
    if ((this.#locks.get(username) ?? -Infinity) > this.#monotonic()) {
      this.#counters.add('lockedLogins');
      return undefined;
    }
    this.#locks.delete(username);
    const account = verifyAccount(this.#configuration(), username, password);
    if (!account) {
      this.#counters.add('loginFailures');
      this.#lock(username);
    }
    return account;
  }

  /** Exchanges a refresh token for a new pair; `undefined` if it is not, or no longer, valid. */
  refresh(token: string): TokenPair | undefined {
    const claims = this.#verifySignature(token);
    const session = this.#find(claims);
    const account = session && findAccount(this.#configuration(), session.username);
    if (claims?.usage !== 'refresh' || !session || !account) return undefined;
    if (claims.jti !== session.refreshId) {
      this.#counters.add('refreshReuses');
      return undefined;
    }
    this.#counters.add('refreshes');
    this.#touch(session);
    return this.#issue(session, account);
  }

  /** Returns the account of an access token; `undefined` if the token is not valid. Counts as activity. */
  authenticate(token: string): Account | undefined {
    const claims = this.#verifySignature(token);
    const session = this.#find(claims);
    if (!claims || !session || !this.#isLiveAccess(session, claims)) return undefined;
    this.#touch(session);
    return findAccount(this.#configuration(), session.username);
  }

  /** Ends the session of either of its valid tokens; returns false if the token is not valid. */
  logout(token: string): boolean {
    const claims = this.#verifySignature(token);
    const session = this.#find(claims);
    if (!claims || !session) return false;
    if (claims.jti !== session.refreshId && !this.#isLiveAccess(session, claims)) return false;
    this.#counters.add('logouts');
    this.#sessions.delete(session.id);
    return true;
  }

  /** Expires all access tokens; refresh tokens stay valid. */
  expireAccessTokens(): void {
    for (const session of this.#sessions.values()) session.accessTokens.clear();
  }

  /** Invalidates all tokens and their signing key, like a restart. */
  forgetAll(): void {
    this.#sessions.clear();
    this.#locks.clear();
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
    const configuration = this.#configuration();
    const { sessionTimeoutMs } = readWebSettings(configuration);
    const isIdle = this.#monotonic() - session.lastActivityMs >= sessionTimeoutMs;
    if (!isIdle && findAccount(configuration, session.username)) return session;
    this.#sessions.delete(session.id);
    return undefined;
  }

  #lock(username: string): void {
    const { loginTimeoutMs } = readWebSettings(this.#configuration());
    if (loginTimeoutMs === 0 || username.length > USERNAME_LENGTH_MAX) return;
    const [oldest] = this.#locks.keys();
    if (this.#locks.size >= LOCKS_MAX && oldest !== undefined) this.#locks.delete(oldest);
    this.#locks.set(username, this.#monotonic() + loginTimeoutMs);
  }

  /** Keeps the map in order of last activity, so that the first entry is the least recently active one. */
  #touch(session: Session): void {
    session.lastActivityMs = this.#monotonic();
    this.#sessions.delete(session.id);
    this.#sessions.set(session.id, session);
  }

  #makeRoom(): void {
    for (const id of this.#sessions.keys()) {
      if (this.#sessions.size < this.#sessionsMax) return;
      this.#sessions.delete(id);
    }
  }

  #issue(session: Session, account: Account): TokenPair {
    for (const [id, issuedMs] of session.accessTokens) {
      if (this.#monotonic() - issuedMs >= ACCESS_TOKEN_MS) session.accessTokens.delete(id);
    }
    const accessId = randomHex(this.#random, 32);
    session.accessTokens.set(accessId, this.#monotonic());
    session.refreshId = randomHex(this.#random, 32);
    return {
      access: this.#sign(session, account, 'access', accessId),
      refresh: this.#sign(session, account, 'refresh', session.refreshId),
    };
  }

  /** No `exp`, and `iat` in seconds since the router started: a client has to measure the lifetime itself. */
  #sign({ id }: Session, { group, username }: Account, usage: Claims['usage'], jti: string): string {
    const iat = Math.floor(this.#clock.uptimeMs() / 1000);
    return signToken({ group, iat, jti, name: username, session_id: id, usage }, this.#key);
  }

  #verifySignature(token: string): Claims | undefined {
    return verifyToken(token, this.#key) as Claims | undefined;
  }
}
