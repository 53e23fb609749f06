import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Clock } from '../../base/index.ts';
import { readDescriptorLimit } from '../../net/index.ts';
import { WebError } from '../errors.ts';
import { FanOut } from '../fan-out.ts';
import { createHealthApp, createWebApp, type WebContent } from '../routes.ts';
import { Access, type AccessRules, HostPolicy, NO_RULES } from './access.ts';
import type { AccessPolicy } from './app.ts';
import { AddressSet, type Network } from './client-address.ts';
import { type ConnectionBounds, ConnectionTable, type Excess, toBounds } from './connections.ts';
import { parseServerPaths } from './context.ts';
import { RateLimit } from './limits.ts';
import { type Answer, type Listener, openListener, type WebAddress } from './listener.ts';
import { BasicAuth, PasswordThread } from './passwords.ts';
import { checkTls, NO_SECURITY, type WebSecurity } from './security.ts';

/** Settings that a reload can change. */
export interface WebPolicy {
  /** Absent: plain HTTP and open access. */
  readonly security?: WebSecurity | undefined;
  /** Default: no tokens, and every user is `admin`. */
  readonly access?: AccessRules | undefined;
  /** Host names that browsers may use besides addresses and private names; `*.` at the start stands for any. Default: none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Proxies in front of the server: many clients come from their addresses. Default: none. */
  readonly trustedProxies?: readonly Network[] | undefined;
}

/** Options of {@link openWebServer}. */
export interface WebServerOptions extends WebPolicy {
  /** Addresses to listen on. */
  readonly addresses: readonly WebAddress[];
  /** Source of time. */
  readonly clock: Clock;
  /** Called with errors that prevent a response while there is no content; later {@link WebContent.onFailed} is called. */
  readonly onFailed: (cause: unknown) => void;
  /** Default: what the process's limit of file descriptors allows. */
  readonly bounds?: ConnectionBounds | undefined;
  /** Path prefix of all routes, such as `/router-exporter`. Default: the path of the external URL. */
  readonly routePrefix?: string | undefined;
  /** URL from outside, for service discovery and links. */
  readonly externalUrl?: string | undefined;
  /** Allows `POST /-/reload` and `POST /-/quit`. */
  readonly isLifecycleEnabled: boolean;
}

/** The running server with all its listening sockets. */
export interface WebServer {
  /** URLs for users, route prefix included, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  /** Serves this content from the next request on. Without content, as at the start, `/-/healthy` is 200 and everything else 503. */
  serve(content: WebContent | undefined): void;
  /**
   * Prepares another policy and returns the function that applies it, which cannot fail. Throws {@link WebError} `settings` or `restart`,
   * with nothing changed. The listening addresses stay.
   */
  prepare(policy: WebPolicy): () => void;
  /** Stops listening and closes all connections. */
  close(): Promise<void>;
}

/** Listens on all addresses or on none; without content yet. Throws {@link WebError}. */
export async function openWebServer(options: WebServerOptions): Promise<WebServer> {
  const { clock, isLifecycleEnabled, onFailed } = options;
  let security = options.security ?? NO_SECURITY;
  if (security.tls) checkTls(security.tls);
  const { externalUrl, routePrefix } = parseServerPaths(options);
  const passwords = new PasswordThread();
  const fanOut = new FanOut(clock);
  const createAuth = ({ users }: WebSecurity) => (users.size === 0 ? undefined : new BasicAuth(users, passwords));
  const hosts = [externalUrl?.hostname, ...options.addresses.map(({ host }) => host)];
  const ownHosts = hosts.filter((host) => host !== undefined);
  const createLimit = ({ rateLimit }: WebSecurity) => rateLimit && new RateLimit(rateLimit, clock);
  let auth = createAuth(security);
  const descriptors = readDescriptorLimit();
  const boundsFor = ({ trustedProxies }: WebPolicy) => options.bounds ?? toBounds(descriptors, trustedProxies);
  const toAccessPolicy = (
    policy: WebPolicy,
    { users, limit }: { users: BasicAuth | undefined; limit: RateLimit | undefined },
  ): AccessPolicy => ({
    access: createAccess(policy, users),
    limit,
    hosts: new HostPolicy([...ownHosts, ...(policy.allowedHosts ?? [])]),
    proxies: new AddressSet(policy.trustedProxies ?? []),
    exempt: new AddressSet(boundsFor(policy).exempt),
    headers: (policy.security ?? NO_SECURITY).headers,
  });
  const accessPolicy = toAccessPolicy(options, { users: auth, limit: createLimit(security) });
  // HTTP/1.0 requests, as sent by simple health checks, have no Host header.
  const toListener = ({ fetch }: ReturnType<typeof createWebApp>) =>
    getRequestListener(fetch, { hostname: 'localhost' });
  const answerWithout = toListener(createHealthApp(routePrefix, onFailed, accessPolicy));
  let answer = answerWithout;
  const connections = new ConnectionTable(boundsFor(options));
  const healthPath = `${routePrefix}/-/healthy`;
  const answerOrRefuse: Answer = (request, response, excess) => {
    const fault = findFault(request);
    if (fault) {
      refuse(response, fault);
      return;
    }
    if (excess && request.url !== healthPath) {
      refuse(response, EXCESS[excess]);
      return;
    }
    // Connections above the limits are not kept alive.
    response.shouldKeepAlive &&= excess === undefined;
    void answer(request, response);
  };
  const listeners: Listener[] = [];
  const close = async () => {
    await Promise.all([...listeners.map((listener) => listener.close()), passwords.close(), fanOut.close()]);
  };
  try {
    for (const address of options.addresses) {
      listeners.push(await openListener(address, security.tls, connections, answerOrRefuse));
    }
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    urls: listeners.map(({ url }) => url + routePrefix),
    serve(content) {
      const dependencies = content && { content, fanOut, clock, routePrefix, externalUrl, isLifecycleEnabled };
      answer = dependencies ? toListener(createWebApp(dependencies, accessPolicy)) : answerWithout;
    },
    prepare(wanted) {
      const next = wanted.security ?? NO_SECURITY;
      if (next.tls) checkTls(next.tls);
      checkChange(security, next);
      // Cached credentials stay valid only while the users are unchanged.
      const nextAuth = isSame([...security.users], [...next.users]) ? auth : createAuth(next);
      const limit = isSame(security.rateLimit, next.rateLimit) ? accessPolicy.limit : createLimit(next);
      const nextPolicy = toAccessPolicy(wanted, { users: nextAuth, limit });
      return () => {
        Object.assign(accessPolicy, nextPolicy);
        auth = nextAuth;
        if (next.tls && !isSame(security.tls, next.tls)) for (const listener of listeners) listener.setTls(next.tls);
        connections.setBounds(boundsFor(wanted));
        security = next;
      };
    },
    close,
  };
}

/** Throws {@link WebError} `settings` if a role is for an unknown user: the user who was meant would be `admin`. */
function createAccess({ access = NO_RULES, security }: WebPolicy, passwords: BasicAuth | undefined): Access {
  const unknown = [...access.users.keys()].find((user) => !security?.users.has(user));
  if (unknown === undefined) return new Access(access, passwords);
  throw new WebError(
    'settings',
    `web.access.users names ${JSON.stringify(unknown)}, which is not a user of the web server`,
    {
      disposition: 'operator',
      hint: 'Name users of web.config_file or --web.config.file',
    },
  );
}

const EXCESS: Readonly<Record<Excess, Refusal>> = {
  address: { status: 429, text: 'Too many connections from this address; try again later.\n', retryAfterSeconds: 5 },
  total: { status: 503, text: 'Too many connections; try again later.\n', retryAfterSeconds: 5 },
};

interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds?: number;
}

const SEVERAL_HOSTS: Refusal = { status: 400, text: 'Expected exactly one Host header.\n' };
const OTHER_VERSION: Refusal = { status: 505, text: 'Unsupported HTTP version; use HTTP/1.1.\n' };

/** Finds what the Node.js parser accepts but proxies may interpret differently. */
function findFault({ httpVersion, rawHeaders }: IncomingMessage): Refusal | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return OTHER_VERSION;
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length > 1 ? SEVERAL_HOSTS : undefined;
}

function refuse(response: ServerResponse, { status, text, retryAfterSeconds }: Refusal): void {
  response
    .writeHead(status, {
      'Content-Type': 'text/plain',
      Connection: 'close',
      ...(retryAfterSeconds !== undefined && { 'Retry-After': retryAfterSeconds }),
    })
    .end(text);
}

/** Throws if a change needs new sockets: a socket either uses TLS or not, and requests client certificates or not. */
function checkChange(before: WebSecurity, next: WebSecurity): void {
  const toKind = ({ tls }: WebSecurity) => [tls !== undefined, (tls?.clientAuth ?? 'none') !== 'none'];
  if (isSame(toKind(before), toKind(next))) return;
  throw new WebError('restart', "Switching TLS, or asking for clients' certificates, on or off needs a restart", {
    disposition: 'operator',
    hint: 'Restart router-exporter to serve with the new web configuration',
  });
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
