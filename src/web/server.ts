import { getRequestListener } from '@hono/node-server';
import type { Clock } from '../base/index.ts';
import { createHealthApp, createWebApp, type Doorkeeper } from './app.ts';
import { BasicAuth } from './basic-auth.ts';
import type { WebContent } from './content.ts';
import { WebError } from './errors.ts';
import { type Listener, openListener, type WebAddress } from './listener.ts';
import { PasswordThread } from './password-thread.ts';
import { parseExternalUrl, parseRoutePrefix } from './paths.ts';
import { checkSecurity, NO_SECURITY, type WebSecurity } from './security.ts';

export interface WebServerOptions {
  readonly addresses: readonly WebAddress[];
  readonly clock: Clock;
  /** Told what prevented an answer while there is no content; afterwards {@link WebContent.onFailed} is. */
  readonly onFailed: (cause: unknown) => void;
  /** Absent = plain HTTP for everybody. */
  readonly security?: WebSecurity | undefined;
  /** Everything is served below this path, as in `/router-exporter`. Default: the path of the external URL. */
  readonly routePrefix?: string | undefined;
  /** How the server is reached from outside, for service discovery and for links. */
  readonly externalUrl?: string | undefined;
  /** Whether `POST /-/reload` and `POST /-/quit` do something. */
  readonly isLifecycleEnabled: boolean;
}

/** The listening sockets. */
export interface WebServer {
  /** Base addresses for people, route prefix included, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  /**
   * Serves this content from the next request on, on every address. Without any, as at first, `/-/healthy` is answered and
   * everything else is 503.
   */
  serve(content: WebContent | undefined): void;
  /**
   * Makes other certificates, users and headers ready (absent = none any more), and gives what makes them the ones in use,
   * which cannot fail. Throws {@link WebError} `settings` or `restart`, with nothing changed. Addresses to listen on stay.
   */
  prepare(security: WebSecurity | undefined): () => void;
  close(): Promise<void>;
}

/** Listens on all addresses or on none; there is nothing to serve yet. Throws {@link WebError}. */
export async function openWebServer(options: WebServerOptions): Promise<WebServer> {
  const { clock, isLifecycleEnabled, onFailed } = options;
  let security = options.security ?? NO_SECURITY;
  checkSecurity(security);
  const externalUrl = options.externalUrl === undefined ? undefined : parseExternalUrl(options.externalUrl);
  const routePrefix = parseRoutePrefix(options.routePrefix ?? externalUrl?.pathname ?? '');
  const passwords = new PasswordThread();
  const createAuth = ({ users }: WebSecurity) => (users.size === 0 ? undefined : new BasicAuth(users, passwords));
  const doorkeeper: Doorkeeper = { auth: createAuth(security), headers: security.headers };
  // A request of HTTP/1.0, as simple health checks send it, has no Host header.
  const toListener = ({ fetch }: ReturnType<typeof createWebApp>) =>
    getRequestListener(fetch, { hostname: 'localhost' });
  const answerWithout = toListener(createHealthApp({ routePrefix, onFailed }, doorkeeper));
  let answer = answerWithout;
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
    serve(content) {
      const served = content && { content, clock, routePrefix, externalUrl, isLifecycleEnabled };
      answer = served ? toListener(createWebApp(served, doorkeeper)) : answerWithout;
    },
    prepare(wanted) {
      const next = wanted ?? NO_SECURITY;
      checkSecurity(next);
      checkChange(security, next);
      // Who was accepted stays so only while nothing about the users changes.
      const auth = isSame([...security.users], [...next.users]) ? doorkeeper.auth : createAuth(next);
      return () => {
        doorkeeper.headers = next.headers;
        doorkeeper.auth = auth;
        if (next.tls && !isSame(security.tls, next.tls)) for (const listener of listeners) listener.setTls(next.tls);
        security = next;
      };
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
