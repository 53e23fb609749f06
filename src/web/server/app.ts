import { Hono } from 'hono';
import { WebError } from '../errors.ts';
import { type Access, type HostPolicy, mayAsk } from './access.ts';
import { type AddressSet, findClient, toClientKey } from './client-address.ts';
import { type Handler, isOwnAlone, type WebContext, type WebEnv } from './context.ts';
import type { RateLimit } from './limits.ts';

/** Access policy and response headers. A reload replaces them. */
export interface AccessPolicy {
  access: Access;
  hosts: HostPolicy;
  /** Limit of all requests together; `undefined` = none. */
  limit: RateLimit | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  proxies: AddressSet;
  /** Addresses without a limit per client. */
  exempt: AddressSet;
  headers: Readonly<Record<string, string>>;
}

/** The handlers of one path by method; other methods get 405. */
export type Handlers = Readonly<Partial<Record<'GET' | 'POST' | 'PUT', Handler>>>;

interface AppOptions {
  readonly routes: Readonly<Record<string, Handlers>>;
  readonly routePrefix: string;
  readonly notFound: Handler;
  /** Called with the error that prevented a response. */
  readonly onFailed: (cause: unknown) => void;
}

const MISDIRECTED =
  'This host name is not allowed. To allow it, add it to web.allowed_hosts or set --web.external-url.\n';

/** Creates the app that checks access and passes requests on to the handlers of their routes. */
export function createApp(options: AppOptions, accessPolicy: AccessPolicy): Hono<WebEnv> {
  const { routes, routePrefix, notFound, onFailed } = options;
  const app = new Hono<WebEnv>();
  app.use(async (context, next) => {
    const path = context.req.path.slice(routePrefix.length);
    const client = identifyClient(accessPolicy, context);
    context.set('limitedClient', client.isExempt ? undefined : client.key);
    const refusal =
      refuseExcess(accessPolicy, context, path) ??
      (accessPolicy.hosts.admits(context, path)
        ? await authorize(accessPolicy, context, path, client.key, onFailed)
        : context.text(MISDIRECTED, 421));
    if (isAskedByPeer(accessPolicy, context, path)) context.set('limitedClient', undefined);
    if (refusal) context.res = refusal;
    else await next();
    context.res.headers.set('X-Content-Type-Options', 'nosniff');
    for (const [name, value] of Object.entries(accessPolicy.headers)) context.res.headers.set(name, value);
  });
  for (const [path, handlers] of Object.entries(routes)) {
    const methods = Object.entries(handlers).flatMap(([method, handler]) => {
      app.on(method, path, handler);
      // Hono answers HEAD with the GET handler and drops the body.
      return method === 'GET' ? ['GET', 'HEAD'] : [method];
    });
    const allow = { Allow: [...methods, 'OPTIONS'].join(', ') };
    app.options(path, (context) => context.body(null, 204, allow));
    app.all(path, (context) => context.text('Method not allowed.\n', 405, allow));
  }
  app.notFound(notFound);
  app.onError((cause, context) => {
    // Many refused requests must not flood the log.
    if (cause instanceof WebError && cause.code === 'busy') return answerBusy(context, cause.message);
    onFailed(cause);
    return context.text('Internal error; see the log of the agent.\n', 500);
  });
  // Builds the routing table now instead of during the first request.
  app.router.match('GET', '/');
  return app;
}

/** Answers 503: a concurrency limit is reached. */
export function answerBusy(context: WebContext, reason: string): Response {
  return context.text(`${reason}; try again later.\n`, 503, { 'Retry-After': '1' });
}

function refuseExcess({ limit }: AccessPolicy, context: WebContext, path: string): Response | undefined {
  if (!limit || path === '/-/healthy' || limit.admits()) return undefined;
  return context.text('Too many requests; try again later.\n', 429, { 'Retry-After': String(limit.retryAfterSeconds) });
}

function identifyClient({ proxies, exempt }: AccessPolicy, context: WebContext): { key: string; isExempt: boolean } {
  const peer = context.env.incoming?.socket.remoteAddress ?? '';
  const key = findClient(peer, context.req.header('x-forwarded-for'), proxies);
  // A proxy that names its client is not exempt itself.
  return { key, isExempt: peer === '' || (exempt.has(peer) && key === toClientKey(peer)) };
}

/** True for a request from another process of the fleet; only a token proves that. */
function isAskedByPeer({ access }: AccessPolicy, context: WebContext, path: string): boolean {
  return path.startsWith('/api/v1/') && isOwnAlone(context) && access.isToken(context.req.header('authorization'));
}

async function authorize(
  { access }: AccessPolicy,
  context: WebContext,
  path: string,
  client: string,
  onFailed: (cause: unknown) => void,
): Promise<Response | undefined> {
  if (access.isFree(path)) return undefined;
  try {
    const role = await access.identify(context.req.header('authorization'), client);
    if (role === undefined) return context.text('Unauthorized.\n', 401, { 'WWW-Authenticate': access.challenge });
    if (mayAsk(role, path)) return undefined;
    return context.text(`The role "${role}" does not allow this.\n`, 403);
  } catch (cause) {
    // Many passwords must not flood the log.
    if (!(cause instanceof WebError && cause.code === 'busy')) onFailed(cause);
    return context.text('Passwords cannot be checked now; try again later.\n', 503, { 'Retry-After': '1' });
  }
}
