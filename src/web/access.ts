import { createHmac, randomBytes } from 'node:crypto';
import { createSystemClock, type Secret } from '../base/index.ts';
import { type AccessRules, ROLES, type Role } from './access-settings.ts';
import { type BasicAuth, parseBasic } from './basic-auth.ts';

/** Routes that need a role other than `read`; below the route prefix. */
const METRICS_ROUTES: ReadonlySet<string> = new Set(['/metrics', '/metrics/agent', '/probe', '/sd']);
const ADMIN_ROUTES: ReadonlySet<string> = new Set(['/-/reload', '/-/quit', '/-/poll']);
const ADMIN_STATE_ROUTE = /^\/api\/v1\/routers\/[^/]+\/state$/;
const HEALTH_ROUTES: ReadonlySet<string> = new Set(['/-/healthy', '/-/ready']);

/** Tokens are not read again sooner, however many are refused. Milliseconds. */
const RENEWAL_INTERVAL_MS = 10_000;

/** A token with its digest, so that the time of a look-up tells nothing about the token. */
interface KnownToken {
  readonly token: string | Secret;
  readonly role: Role;
  /** The value that `digest` is of. */
  value: string;
  digest: string;
}

/** Identifies who sends a request, by password or bearer token, and decides what it may do. */
export class Access {
  readonly #rules: AccessRules;
  readonly #passwords: BasicAuth | undefined;
  readonly #key = randomBytes(32);
  readonly #tokens: readonly KnownToken[];
  readonly #clock = createSystemClock();
  #renewedMs = -Infinity;

  /** `passwords` is absent when there are no users. */
  constructor(rules: AccessRules, passwords: BasicAuth | undefined) {
    this.#rules = rules;
    this.#passwords = passwords;
    this.#tokens = rules.tokens.map(({ token, role }) => ({ token, role, value: '', digest: '' }));
  }

  /** True when neither users nor tokens are configured: everybody may do everything. */
  get isOpen(): boolean {
    return !this.#passwords && this.#tokens.length === 0;
  }

  /** Value of `WWW-Authenticate`. */
  get challenge(): string {
    return this.#passwords ? 'Basic realm="router-exporter", charset="UTF-8"' : 'Bearer realm="router-exporter"';
  }

  /** True when a route needs no credentials. */
  isFree(path: string): boolean {
    return this.isOpen || (this.#rules.isHealthOpen && HEALTH_ROUTES.has(path));
  }

  /** Finds the role of the value of an `Authorization` header; `undefined` when it is not valid. Throws what {@link BasicAuth.admits} throws. */
  async identify(authorization: string | undefined, client: string): Promise<Role | undefined> {
    const token = parseBearer(authorization);
    if (token !== undefined) return this.#findRole(this.#digest(token));
    if (!this.#passwords || !(await this.#passwords.admits(authorization, client))) return undefined;
    return this.#rules.users.get(parseBasic(authorization)?.user ?? '') ?? 'admin';
  }

  /** True when the value of an `Authorization` header is a valid token; where everybody may do everything, none is. */
  isToken(authorization: string | undefined): boolean {
    const token = parseBearer(authorization);
    return token !== undefined && this.#findRole(this.#digest(token)) !== undefined;
  }

  #findRole(digest: string): Role | undefined {
    for (const known of this.#tokens) {
      const value = typeof known.token === 'string' ? known.token : known.token.reveal();
      // A token of a file changes with it.
      if (value !== known.value) [known.value, known.digest] = [value, this.#digest(value)];
    }
    const role = this.#tokens.find((known) => known.digest === digest)?.role;
    if (role === undefined) this.#renewTokens();
    return role;
  }

  /**
   * Reads tokens again after one that is not known, as other secrets after a refusal: for the next request, so that nobody waits
   * for a command.
   */
  #renewTokens(): void {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#renewedMs < RENEWAL_INTERVAL_MS) return;
    this.#renewedMs = nowMs;
    for (const { token, value } of this.#tokens) if (typeof token !== 'string') void token.renew(value);
  }

  #digest(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('base64');
  }
}

function parseBearer(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** True when a role may ask for a route. One that does not exist is as a page. */
export function mayAsk(role: Role, path: string): boolean {
  if (HEALTH_ROUTES.has(path)) return true;
  const needed: Role = METRICS_ROUTES.has(path) ? 'metrics' : isAdminRoute(path) ? 'admin' : 'read';
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

function isAdminRoute(path: string): boolean {
  return ADMIN_ROUTES.has(path) || ADMIN_STATE_ROUTE.test(path);
}
