import { getRequestListener } from '@hono/node-server';
import type { Clock } from '../base/index.ts';
import { createWebApp, type Doorkeeper } from './app.ts';
import { BasicAuth } from './basic-auth.ts';
import type { WebContent } from './content.ts';
import { WebError } from './errors.ts';
import { type Listener, openListener, type WebAddress } from './listener.ts';
import { PasswordThread } from './password-thread.ts';
import { parseExternalUrl, parseRoutePrefix } from './paths.ts';
import { checkSecurity, NO_SECURITY, type WebSecurity } from './security.ts';
import type { Served } from './served.ts';

export interface WebServerOptions {
  readonly addresses: readonly WebAddress[];
  readonly content: WebContent;
  readonly clock: Clock;
  /** Absent = plain HTTP for everybody. */
  readonly security?: WebSecurity | undefined;
  /** Everything is served below this path, as in `/router-exporter`. Default: the path of the external URL. */
  readonly routePrefix?: string | undefined;
  /** How the server is reached from outside, for service discovery and for links. */
  readonly externalUrl?: string | undefined;
  /** Whether `POST /-/reload` and `POST /-/quit` do something. */
  readonly isLifecycleEnabled: boolean;
}

/** What a reload can change. */
export interface WebUpdate {
  /** Absent = as before. */
  readonly content?: WebContent | undefined;
  /** Absent = none any more. */
  readonly security: WebSecurity | undefined;
}

/** The listening sockets. */
export interface WebServer {
  /** Base addresses for people, route prefix included, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  /**
   * Serves other content, or with other certificates, users and headers, from the next request on. Throws
   * {@link WebError} `settings` or `restart`, and then nothing has changed. Addresses to listen on stay.
   */
  update(update: WebUpdate): void;
  close(): Promise<void>;
}

/** Listens on all addresses or on none. Throws {@link WebError}. */
export async function openWebServer(options: WebServerOptions): Promise<WebServer> {
  const { content, clock, isLifecycleEnabled } = options;
  let security = options.security ?? NO_SECURITY;
  checkSecurity(security);
  const externalUrl = options.externalUrl === undefined ? undefined : parseExternalUrl(options.externalUrl);
  const routePrefix = parseRoutePrefix(options.routePrefix ?? externalUrl?.pathname ?? '');
  const served: Served = { content, clock, routePrefix, externalUrl, isLifecycleEnabled };
  const passwords = new PasswordThread();
  const createAuth = ({ users }: WebSecurity) => (users.size === 0 ? undefined : new BasicAuth(users, passwords));
  const doorkeeper: Doorkeeper = { auth: createAuth(security), headers: security.headers };
  // A request of HTTP/1.0, as simple health checks send it, has no Host header.
  const answer = getRequestListener(createWebApp(served, doorkeeper).fetch, { hostname: 'localhost' });
  const listeners: Listener[] = [];
  const close = async () => {
    await Promise.all([...listeners.map((listener) => listener.close()), passwords.close()]);
  };
  try {
    for (const address of options.addresses) {
      listeners.push(await openListener(address, security.tls, (request, response) => void answer(request, response)));
    }
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    urls: listeners.map(({ url }) => url + routePrefix),
    update(update) {
      const next = update.security ?? NO_SECURITY;
      checkSecurity(next);
      checkChange(security, next);
      served.content = update.content ?? served.content;
      doorkeeper.headers = next.headers;
      // Who was accepted stays so only while nothing about the users changes.
      if (!isSame([...security.users], [...next.users])) doorkeeper.auth = createAuth(next);
      if (next.tls && !isSame(security.tls, next.tls)) for (const listener of listeners) listener.setTls(next.tls);
      security = next;
    },
    close,
  };
}

/** A listening socket either speaks TLS or does not, and either asks every client for a certificate or none. */
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
