import { createHmac, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { createSystemClock, type Secret } from '../../base/index.ts';
import { type ListenAddress, renderListenAddress } from '../../settings/index.ts';
import { AddressSet, LOOPBACK } from './client-address.ts';
import type { ServerPaths, WebContext } from './context.ts';
import { type BasicAuth, parseBasic } from './passwords.ts';
import type { WebSecurity } from './security.ts';

/** Roles of users and tokens, in rising order; each includes the ones before. */
export const ROLES = ['metrics', 'read', 'admin'] as const;

/** `metrics`: metrics and service discovery. `read`: also pages and JSON. `admin`: also reload, quit, poll and states of routers. */
export type Role = (typeof ROLES)[number];

/** Access rules: users, tokens and their roles. */
export interface AccessRules {
  /** True if `/-/healthy` and `/-/ready` need no credentials. */
  readonly isHealthOpen: boolean;
  /** Roles of users of the web configuration file; default `admin`. */
  readonly users: ReadonlyMap<string, Role>;
  readonly tokens: readonly { readonly name: string; readonly role: Role; readonly token: string | Secret }[];
}

/** No tokens; every user is `admin`. */
export const NO_RULES: AccessRules = { isHealthOpen: false, users: new Map(), tokens: [] };

interface OpenSettings {
  readonly listen: readonly ListenAddress[];
  readonly access?: { readonly tokens?: readonly unknown[] | undefined } | undefined;
  readonly security?: WebSecurity | undefined;
}

/**
 * Returns a warning if any client that reaches the server from the network may use it, with `isLifecycleEnabled` also to end the
 * agent.
 */
export function describeOpenAccess(
  { listen, access, security }: OpenSettings,
  isLifecycleEnabled: boolean,
): string | undefined {
  const own = new AddressSet(LOOPBACK);
  const open = listen.find(({ host }) => host !== 'localhost' && !own.has(host ?? ''));
  const isClosed =
    (access?.tokens?.length ?? 0) > 0 ||
    (security?.users.size ?? 0) > 0 ||
    security?.tls?.clientAuth === 'require-and-verify';
  if (!open || isClosed) return undefined;
  const [what, rights] = isLifecycleEnabled
    ? ['--web.enable-lifecycle', 'reload and stop the agent']
    : ['Open to the network', 'read pages, metrics and log lines'];
  return `${what} without users and tokens: any client of ${renderListenAddress(open)} may ${rights}; configure users or tokens, or listen only on 127.0.0.1`;
}

/** Routes that need a role other than `read`; below the route prefix. */
const METRICS_ROUTES: ReadonlySet<string> = new Set(['/metrics', '/metrics/agent', '/probe', '/sd']);
const ADMIN_ROUTES: ReadonlySet<string> = new Set(['/-/reload', '/-/quit', '/-/poll', '/-/maintenance']);
const ADMIN_STATE_ROUTE = /^\/api\/v1\/routers\/[^/]+\/state$/;
/** Routers authenticate with their own tokens. */
const NOTIFY_ROUTE = /^\/api\/v1\/routers\/[^/]+\/notify$/;
const HEALTH_ROUTES: ReadonlySet<string> = new Set(['/-/healthy', '/-/ready']);

/** Shortest time between two reads of the tokens, however many are refused. Milliseconds. */
const RENEWAL_INTERVAL_MS = 10_000;

/** A token with its digest: comparing digests leaks no timing information about the token. */
interface KnownToken {
  readonly token: string | Secret;
  readonly role: Role;
  /** The value that `digest` is of. */
  value: string;
  digest: string;
}

/** Identifies clients by password or bearer token, and decides what they may do. */
export class Access {
  readonly #rules: AccessRules;
  readonly #passwords: BasicAuth | undefined;
  readonly #key = randomBytes(32);
  readonly #tokens: readonly KnownToken[];
  readonly #clock = createSystemClock();
  #renewedMs = -Infinity;

  constructor(rules: AccessRules, passwords: BasicAuth | undefined) {
    this.#rules = rules;
    this.#passwords = passwords;
    this.#tokens = rules.tokens.map(({ token, role }) => ({ token, role, value: '', digest: '' }));
  }

  /** True if neither users nor tokens are configured: no credentials are needed. */
  get isOpen(): boolean {
    return !this.#passwords && this.#tokens.length === 0;
  }

  /** Value of `WWW-Authenticate`. */
  get challenge(): string {
    return this.#passwords ? 'Basic realm="router-exporter", charset="UTF-8"' : 'Bearer realm="router-exporter"';
  }

  /** True if a route needs no credentials of users. */
  isFree(path: string): boolean {
    return this.isOpen || NOTIFY_ROUTE.test(path) || (this.#rules.isHealthOpen && HEALTH_ROUTES.has(path));
  }

  /** Returns the role for an `Authorization` header; `undefined` if it is not valid. Throws what {@link BasicAuth.admits} throws. */
  async identify(authorization: string | undefined, client: string): Promise<Role | undefined> {
    const token = parseBearer(authorization);
    if (token !== undefined) return this.#findRole(this.#digest(token));
    if (!this.#passwords || !(await this.#passwords.admits(authorization, client))) return undefined;
    return this.#rules.users.get(parseBasic(authorization)?.user ?? '') ?? 'admin';
  }

  /** True if an `Authorization` header has a valid token; false without configured tokens. */
  isToken(authorization: string | undefined): boolean {
    const token = parseBearer(authorization);
    return token !== undefined && this.#findRole(this.#digest(token)) !== undefined;
  }

  #findRole(digest: string): Role | undefined {
    for (const known of this.#tokens) {
      const value = typeof known.token === 'string' ? known.token : known.token.reveal();
      // The value of a token file may have changed.
      if (value !== known.value) [known.value, known.digest] = [value, this.#digest(value)];
    }
    const role = this.#tokens.find((known) => known.digest === digest)?.role;
    if (role === undefined) this.#renewTokens();
    return role;
  }

  /** Reads tokens again after an unknown one, for the next request, so that this one does not wait for a command. */
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

/** Returns the token of an `Authorization` header; `undefined` if there is none. */
export function parseBearer(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** True if a role may request a route. An unknown route counts as a page. */
export function mayAsk(role: Role, path: string): boolean {
  if (HEALTH_ROUTES.has(path)) return true;
  const needed: Role = METRICS_ROUTES.has(path) ? 'metrics' : isAdminRoute(path) ? 'admin' : 'read';
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

function isAdminRoute(path: string): boolean {
  return ADMIN_ROUTES.has(path) || ADMIN_STATE_ROUTE.test(path);
}

/** Names outside public DNS: of this machine, a container network or a Kubernetes cluster, and reserved for private use. */
const PRIVATE_SUFFIXES = ['.localhost', '.svc', '.cluster.local', '.internal'];
/** Routes for programs, which may use any host name; below the route prefix. */
const FOR_PROGRAMS = /^\/(metrics(\/agent)?|probe|sd|-\/\w+|api\/v1\/routers\/[^/]+\/notify)$/;
/** Headers of every browser that a page can neither remove nor suppress. */
const BROWSER_HEADERS = ['accept-language', 'origin', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest'];

/**
 * Host names that requests may use. Another site can point its name to this machine (DNS rebinding); its scripts could then read
 * everything here. The `Host` header shows that name.
 */
export class HostPolicy {
  readonly #names: ReadonlySet<string>;
  /** With the dot, as in `.example.com`. */
  readonly #suffixes: readonly string[];

  /** `names` may begin with `*.`. */
  constructor(names: readonly string[]) {
    const small = names.map((name) => name.toLowerCase());
    this.#names = new Set(small.filter((name) => !name.startsWith('*')));
    this.#suffixes = [...PRIVATE_SUFFIXES, ...small.flatMap((name) => (name.startsWith('*.') ? [name.slice(1)] : []))];
  }

  /**
   * True if a request may be answered. `path`: below the route prefix. Programs may use any name on the routes made for them, because
   * only in a browser can another site choose the name.
   */
  admits(context: WebContext, path: string): boolean {
    const host = context.req.header('host');
    // HTTP/1.0, which browsers do not use.
    if (host === undefined || this.knows(host)) return true;
    return FOR_PROGRAMS.test(path) && !isBrowser(context);
  }

  /** True for an address, a name without dots, a private name and a configured one, with or without a port. */
  knows(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true;
    if (!/^[a-z0-9._-]+$/.test(name)) return false;
    return !name.includes('.') || this.#names.has(name) || this.#suffixes.some((suffix) => name.endsWith(suffix));
  }
}

function isBrowser(context: WebContext): boolean {
  const { req } = context;
  if ((req.header('user-agent') ?? '').startsWith('Mozilla/')) return true;
  return BROWSER_HEADERS.some((name) => req.header(name) !== undefined);
}

/**
 * Detects requests that a browser sends for a page of another site: it adds the user's credentials, and reaches networks that the page
 * cannot. Programs send none of these headers and pass.
 */
export function isCrossSite({ externalUrl }: Pick<ServerPaths, 'externalUrl'>, context: WebContext): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  // Browsers send Sec-Fetch-Site only to trusted origins, which plain HTTP is not.
  const origin = context.req.header('origin') ?? context.req.header('referer');
  if (origin === undefined) return false;
  const host = URL.parse(origin)?.host;
  return host === undefined || (host !== context.req.header('host')?.toLowerCase() && host !== externalUrl?.host);
}

/**
 * Like {@link isCrossSite}, for a GET with a cost: over plain HTTP a page can send one without any of those headers, as an image or by a
 * script. Then only a browser that requests an HTML page passes, because a user opened it.
 */
export function isCrossSiteGet(dependencies: Pick<ServerPaths, 'externalUrl'>, context: WebContext): boolean {
  if (isCrossSite(dependencies, context)) return true;
  const says = ['sec-fetch-site', 'origin', 'referer'].some((name) => context.req.header(name) !== undefined);
  const hasNameOfBrowser = (context.req.header('user-agent') ?? '').startsWith('Mozilla/');
  return hasNameOfBrowser && !says && !(context.req.header('accept') ?? '').includes('text/html');
}
