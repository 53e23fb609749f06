import { isIP } from 'node:net';
import { Hono } from 'hono';
import { type Clock, StepQueue } from '../base/index.ts';
import { type Access, mayAsk } from './access.ts';
import { type AddressSet, toClientKey } from './address.ts';
import type { ListedRouter } from './api/routers.ts';
import { answerJson } from './cached-answer.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { WebContent } from './content.ts';
import { WebError } from './errors.ts';
import { answerList, listByName, withoutCredentials } from './fleet-list.ts';
import type { HostPolicy } from './host-policy.ts';
import { createLifecycleHandlers } from './lifecycle-routes.ts';
import { LETTERS_MAX, parseLetterQuery, SHARED_LETTERS_MAX } from './pages/letters-page.ts';
import { createPageRoutes } from './pages/page-routes.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRecordHandlers, createStreamHandler, readShownRecords } from './record-routes.ts';
import { createScrapeHandlers } from './scrape.ts';
import { createDiscoveryHandler } from './service-discovery.ts';
import { answerForOther, isOwnAlone, toUnanswered } from './shards.ts';
import type { Handler, WebContext, WebDependencies, WebEnv } from './web-dependencies.ts';
import { collectFleet, collectLogs, describeProcess } from './whole-fleet.ts';

/** Bounds the work of one header; a request passes a few proxies. */
const HOPS_MAX = 32;

/**
 * Identifies the client of a request: the address of its connection, or, when that is one of the `proxies`, the last
 * address in `X-Forwarded-For` that is none. Those before it are what the client says, and no proxy has checked them.
 */
export function findClient(peer: string, forwardedFor: string | undefined, proxies: AddressSet): string {
  if (!proxies.has(peer)) return toClientKey(peer);
  const hops = (forwardedFor ?? '').split(',').slice(-HOPS_MAX);
  const client = hops.map((hop) => hop.trim()).findLast((hop) => !proxies.has(hop));
  return toClientKey(client !== undefined && isIP(client) !== 0 ? client : peer);
}

/** Access policy and response headers. A reload replaces them. */
export interface AccessPolicy {
  /** Access rules: users, tokens and their roles. */
  access: Access;
  /** Names by which the server may be asked. */
  hosts: HostPolicy;
  /** Limit of all requests together; `undefined` = none. */
  limit: RateLimit | undefined;
  /** Proxies whose `X-Forwarded-For` names the client. */
  proxies: AddressSet;
  /** Addresses that may take as much as all together. */
  exempt: AddressSet;
  /** Headers added to every response. */
  headers: Readonly<Record<string, string>>;
}

type Handlers = Readonly<Partial<Record<'GET' | 'POST' | 'PUT', Handler>>>;
type Routes = Readonly<Record<string, Handlers>>;

const HEALTHY: Handlers = { GET: (context) => context.text('Healthy.\n') };

const NOT_READY = 'The agent is starting or stopping; try again later.\n';
/** `Retry-After` while the agent has no content to serve. Seconds. */
const STARTING_RETRY_SECONDS = 5;

/** Creates the web app: all routes, without a socket. */
export function createWebApp(dependencies: WebDependencies, accessPolicy: AccessPolicy): Hono<WebEnv> {
  const content = boundSearches(dependencies.content);
  const app = createGuardedApp(createRoutes({ ...dependencies, content }), accessPolicy, {
    routePrefix: dependencies.routePrefix,
    onFailed: (cause) => content.onFailed(cause),
  });
  app.notFound((context) => context.text('Not found.\n', 404));
  return app;
}

/** Creates the app that serves while there is no content yet: `/-/healthy` is 200, everything else 503. */
export function createHealthApp(guard: GuardOptions, accessPolicy: AccessPolicy): Hono<WebEnv> {
  const app = createGuardedApp({ [`${guard.routePrefix}/-/healthy`]: HEALTHY }, accessPolicy, guard);
  app.notFound((context) =>
    context.text(NOT_READY, 503, { 'Retry-After': String(STARTING_RETRY_SECONDS), 'Cache-Control': 'no-store' }),
  );
  return app;
}

const MISDIRECTED =
  'This host name is not allowed. To allow it, add it to web.allowed_hosts or set --web.external-url.\n';

interface GuardOptions extends Pick<WebDependencies, 'routePrefix'> {
  readonly onFailed: (cause: unknown) => void;
}

function createGuardedApp(
  routes: Routes,
  accessPolicy: AccessPolicy,
  { routePrefix, onFailed }: GuardOptions,
): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.use(async (context, next) => {
    const path = context.req.path.slice(routePrefix.length);
    const client = identifyClient(accessPolicy, context);
    context.set('sharer', client.isExempt ? undefined : client.key);
    const refusal =
      refuseExcess(accessPolicy, context, path) ??
      (accessPolicy.hosts.admits(context, path)
        ? await authorize(accessPolicy, context, path, client.key, onFailed)
        : context.text(MISDIRECTED, 421));
    if (isAskedByPeer(accessPolicy, context, path)) context.set('sharer', undefined);
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
  app.onError((cause, context) => {
    // A crowd of requests must not flood the log as well.
    if (cause instanceof WebError && cause.code === 'busy') return answerBusy(context, cause.message);
    onFailed(cause);
    return context.text('Internal error; see the log of the agent.\n', 500);
  });
  // Makes the table of the routes, which the first request would wait for otherwise, and all else with it.
  app.router.match('GET', '/');
  return app;
}

/** Maximum concurrent searches of the stored lines, of all clients together: each reads up to 32 MiB of them. */
const SEARCHES_MAX = 2;

function boundSearches(content: WebContent): WebContent {
  const gate = new ConcurrencyLimit(SEARCHES_MAX);
  return { ...content, readRecords: (query) => gate.run('searches of log lines', () => content.readRecords(query)) };
}

/** Maximum concurrent pages and JSON documents. Each, and the data behind it, stays in memory until its client has read it. */
const PAGES_MAX = 40;
/** Clients that have not read their page within this time are disconnected. */
const PAGE_MS_MAX = 60_000;

/** All routes. Unknown paths are 404, unlisted methods 405. */
function createRoutes(dependencies: WebDependencies): Routes {
  const { routePrefix } = dependencies;
  const scrape = createScrapeHandlers(dependencies);
  const { reload, quit, poll, state } = createLifecycleHandlers(dependencies);
  const toHome: Handler = (context) => context.redirect(`${routePrefix}/`, 302);
  const records = createRecordHandlers(dependencies);
  const follow = createStreamHandler(dependencies);
  const gate = new ConcurrencyLimit(PAGES_MAX);
  // So that a crowd of readers delays no health check.
  const turns = new StepQueue(dependencies.clock, 0);
  const page = (handler: Handler) => ({ GET: boundPage(dependencies.clock, gate, turns, handler) });
  const below = {
    ...Object.fromEntries(
      Object.entries(createPageRoutes(dependencies)).map(([path, handler]) => [path, page(handler)]),
    ),
    '/logs/stream': { GET: follow },
    '/router/:name/stream': { GET: follow },
    '/api/v1/records/stream': { GET: follow },
    '/metrics': { GET: scrape.all },
    '/metrics/agent': { GET: scrape.agent },
    '/probe': { GET: scrape.probe },
    '/sd': page(createDiscoveryHandler(dependencies)),
    '/api/v1/routers': page((context) => answerRouters(dependencies, context)),
    '/api/v1/routers/:name': page((context) => describeRouter(dependencies, context)),
    '/api/v1/routers/:name/state': { PUT: state },
    '/api/v1/routers/:name/records': page(records.router),
    '/api/v1/records': page(records.all),
    '/api/v1/logs': page((context) => answerLogs(dependencies, context)),
    '/api/v1/dead-letters': page((context) => answerLetters(dependencies, context)),
    '/api/v1/dead-letters/:id': page((context) => answerLetter(dependencies, context)),
    '/api/v1/process': page(async (context) => answerJson(context, await describeProcess(dependencies.content))),
    '/api/v1/runs': page((context) => answerJson(context, dependencies.content.describeRuns())),
    '/api/v1/sinks': page((context) => answerSinks(dependencies, context)),
    '/-/healthy': HEALTHY,
    '/-/ready': { GET: (context) => answerReadiness(dependencies, context) },
    '/-/reload': { POST: reload, PUT: reload },
    '/-/quit': { POST: quit, PUT: quit },
    '/-/poll': { POST: poll },
  } satisfies Routes;
  return {
    ...(routePrefix !== '' && { '/': { GET: toHome }, [routePrefix]: { GET: toHome } }),
    ...Object.fromEntries(Object.entries(below).map(([path, handlers]) => [routePrefix + path, handlers])),
  };
}

function answerReadiness({ content }: WebDependencies, context: WebContext): Response {
  const reason = content.findUnreadiness();
  return reason === undefined ? context.text('Ready.\n') : context.text(`${reason}\n`, 503);
}

function answerBusy(context: WebContext, reason: string): Response {
  return context.text(`${reason}; try again later.\n`, 503, { 'Retry-After': '1' });
}

/** Bounds the number of concurrent responses of a handler and the time each may take to be sent. */
function boundPage(clock: Clock, gate: ConcurrencyLimit, turns: StepQueue, handler: Handler): Handler {
  return async (context) => {
    const leave = gate.enter(context.get('sharer'));
    if (!leave) return answerBusy(context, 'Too many requests at once');
    const { outgoing } = context.env;
    const timer = clock.setTimer(PAGE_MS_MAX, () => outgoing?.destroy());
    const end = () => {
      timer.cancel();
      leave();
    };
    outgoing?.once('close', end);
    try {
      await turns.next();
      return await handler(context);
    } finally {
      // A response that is already closed emits no further 'close'.
      if (outgoing?.closed ?? true) end();
    }
  };
}

/** Answers with the routers of all processes; with `own=1` only with those of this process. */
async function answerRouters(dependencies: WebDependencies, context: WebContext): Promise<Response> {
  const fleet = isOwnAlone(context) ? { ...dependencies.content, faults: [] } : await collectFleet(dependencies);
  const routers = await listByName(fleet);
  // Each when it is its turn: together they take longer than a step may.
  const listed = function* (): Generator<ListedRouter> {
    for (const router of routers) yield { ...router, availability: fleet.describeAvailability(router.name) };
  };
  return answerList(context, 'routers', listed(), toUnanswered(fleet.faults));
}

/** Answers with how far the logs of all routers are read; with `own=1` only of those of this process. */
async function answerLogs(dependencies: WebDependencies, context: WebContext): Promise<Response> {
  if (isOwnAlone(context)) return answerList(context, 'logs', dependencies.content.listLogs());
  const { values, faults } = await collectLogs(dependencies);
  return answerList(context, 'logs', values, toUnanswered(faults));
}

/** Answers with the sinks and the spool of this process. */
function answerSinks({ content }: WebDependencies, context: WebContext): Promise<Response> {
  return answerJson(context, { sinks: content.listSinks(), spool: content.describeSpool() });
}

/** Answers with dead letters of this process. */
async function answerLetters({ content }: WebDependencies, context: WebContext): Promise<Response> {
  const { sink, before } = parseLetterQuery((name) => context.req.query(name));
  const limit = context.req.query('limit') === String(SHARED_LETTERS_MAX) ? SHARED_LETTERS_MAX : LETTERS_MAX;
  const { letters, ...more } = await content.listLetters({ sink, before, limit });
  return answerList(context, 'letters', letters, more);
}

/** Answers with one dead letter of this process. */
async function answerLetter({ content }: WebDependencies, context: WebContext): Promise<Response> {
  const id = Number(context.req.param('id'));
  const letter = Number.isSafeInteger(id) ? await content.findLetter(id) : undefined;
  if (!letter) return context.json({ error: 'There is no dead letter of this number' }, 404);
  return 'fault' in letter ? context.json({ error: letter.fault }, 503) : answerJson(context, letter);
}

async function describeRouter({ content }: WebDependencies, context: WebContext): Promise<Response> {
  const name = context.req.param('name') ?? '';
  const router = content.describeRouter(name);
  if (router) {
    const recentRecords = await readShownRecords(content, name);
    return answerJson(context, { ...withoutCredentials(router), recentRecords });
  }
  const elsewhere = answerForOther(content, context, name, `/api/v1/routers/${name}`);
  if (elsewhere) return elsewhere;
  return context.json({ error: 'No router of this name is configured' }, 404);
}

function refuseExcess({ limit }: AccessPolicy, context: WebContext, path: string): Response | undefined {
  if (!limit || path === '/-/healthy' || limit.admits()) return undefined;
  return context.text('Too many requests; try again later.\n', 429, { 'Retry-After': String(limit.retryAfterSeconds) });
}

/** Identifies the client of a request, and whether it may take as much as all together. */
function identifyClient({ proxies, exempt }: AccessPolicy, context: WebContext): { key: string; isExempt: boolean } {
  const peer = context.env.incoming?.socket.remoteAddress ?? '';
  const key = findClient(peer, context.req.header('x-forwarded-for'), proxies);
  // A proxy that names its client is not asked for itself.
  return { key, isExempt: peer === '' || (exempt.has(peer) && key === toClientKey(peer)) };
}

/** True for a request as the other processes of the fleet send it, for all their readers; only a token tells them from others. */
function isAskedByPeer({ access }: AccessPolicy, context: WebContext, path: string): boolean {
  return path.startsWith('/api/v1/') && isOwnAlone(context) && access.isToken(context.req.header('authorization'));
}

/** Returns the refusal of a request without the right to it; `undefined` when access is granted. */
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
    // A flood of passwords must not flood the log as well.
    if (!(cause instanceof WebError && cause.code === 'busy')) onFailed(cause);
    return context.text('Passwords cannot be checked now; try again later.\n', 503, { 'Retry-After': '1' });
  }
}
