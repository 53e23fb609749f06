import type { Hono } from 'hono';
import { type Clock, StepQueue } from '../base/index.ts';
import { createApiHandlers } from './api/answers.ts';
import { createLifecycleHandlers, type LifecycleContent } from './lifecycle.ts';
import { createStreamHandler, type StreamContent } from './live-tail.ts';
import { createNotifyHandler, type NotifyContent } from './notify.ts';
import { createAssetHandlers, readAssets } from './pages/layout.ts';
import { createPageHandlers, type PagesContent } from './pages/pages.ts';
import { createScrapeHandlers, type ScrapeContent } from './scrape.ts';
import { type AccessPolicy, answerBusy, createApp, type Handlers } from './server/app.ts';
import type { Handler, WebContext, WebDependencies, WebEnv } from './server/context.ts';
import { ConcurrencyLimit } from './server/limits.ts';
import { createDiscoveryHandler } from './service-discovery.ts';

/**
 * The content that the server shows: what each page and route asks for, as its own file declares it. Everything except a fresh poll comes
 * from memory or from the store, so no request waits for a router.
 */
export interface WebContent extends ScrapeContent, LifecycleContent, StreamContent, PagesContent, NotifyContent {
  /** Returns why the agent is not ready; `undefined` when the configuration is loaded and the state database can be written. */
  findUnreadiness(): string | undefined;
}

const HEALTHY: Handlers = { GET: (context) => context.text('Healthy.\n') };

const NOT_READY = 'The agent is starting or stopping; try again later.\n';
/** `Retry-After` while there is no content. Seconds. */
const STARTING_RETRY_SECONDS = 5;
/** Concurrent searches of stored lines, of all clients together: each reads up to 32 MiB. */
const SEARCHES_MAX = 2;
/** Concurrent pages and JSON documents. Each, and the data behind it, stays in memory until its client has read it. */
const PAGES_MAX = 40;
/** Clients that have not read their page by then are disconnected. */
const PAGE_MS_MAX = 60_000;

/** Creates the web app: all routes, without a socket. */
export function createWebApp(dependencies: WebDependencies<WebContent>, accessPolicy: AccessPolicy): Hono<WebEnv> {
  const { content, routePrefix } = dependencies;
  const searches = new ConcurrencyLimit(SEARCHES_MAX);
  const bounded: WebContent = {
    ...content,
    readRecords: (query) => searches.run('searches of log lines', () => content.readRecords(query)),
  };
  return createApp(
    {
      routes: createRoutes({ ...dependencies, content: bounded }),
      routePrefix,
      notFound: (context) => context.text('Not found.\n', 404),
      onFailed: (cause) => content.onFailed(cause),
    },
    accessPolicy,
  );
}

/** Creates the app for the time without content: `/-/healthy` is 200, everything else 503. */
export function createHealthApp(
  routePrefix: string,
  onFailed: (cause: unknown) => void,
  accessPolicy: AccessPolicy,
): Hono<WebEnv> {
  const headers = { 'Retry-After': String(STARTING_RETRY_SECONDS), 'Cache-Control': 'no-store' };
  const notFound: Handler = (context) => context.text(NOT_READY, 503, headers);
  const routes = { [`${routePrefix}/-/healthy`]: HEALTHY };
  return createApp({ routes, routePrefix, notFound, onFailed }, accessPolicy);
}

/** All routes. Unknown paths are 404, unlisted methods 405. */
function createRoutes(dependencies: WebDependencies<WebContent>): Readonly<Record<string, Handlers>> {
  const { routePrefix, clock } = dependencies;
  const scrape = createScrapeHandlers(dependencies);
  const { reload, quit, poll, maintenance, state } = createLifecycleHandlers(dependencies);
  const toHome: Handler = (context) => context.redirect(`${routePrefix}/`, 302);
  const follow = { GET: createStreamHandler(dependencies) };
  const gate = new ConcurrencyLimit(PAGES_MAX);
  // So that many readers delay no health check.
  const queue = new StepQueue(clock, 0);
  const assets = readAssets();
  const documents: Readonly<Record<string, Handler>> = {
    ...createPageHandlers(dependencies, assets),
    ...createApiHandlers(dependencies),
    '/sd': createDiscoveryHandler(dependencies),
  };
  const below: Readonly<Record<string, Handlers>> = {
    ...Object.fromEntries(
      Object.entries(documents).map(([path, handler]) => [path, { GET: boundPage(clock, gate, queue, handler) }]),
    ),
    // Outside the limit of pages, or a page that got a slot could lack its style sheet.
    ...Object.fromEntries(Object.entries(createAssetHandlers(assets)).map(([path, GET]) => [path, { GET }])),
    '/logs/stream': follow,
    '/router/:name/stream': follow,
    '/api/v1/records/stream': follow,
    '/metrics': { GET: scrape.all },
    '/metrics/agent': { GET: scrape.agent },
    '/probe': { GET: scrape.probe },
    '/api/v1/routers/:name/state': { PUT: state },
    '/api/v1/routers/:name/notify': { POST: createNotifyHandler(dependencies) },
    '/-/healthy': HEALTHY,
    '/-/ready': { GET: (context) => answerReadiness(dependencies.content, context) },
    '/-/reload': { POST: reload, PUT: reload },
    '/-/quit': { POST: quit, PUT: quit },
    '/-/poll': { POST: poll },
    '/-/maintenance': { POST: maintenance },
  };
  return {
    ...(routePrefix !== '' && { '/': { GET: toHome }, [routePrefix]: { GET: toHome } }),
    ...Object.fromEntries(Object.entries(below).map(([path, handlers]) => [routePrefix + path, handlers])),
  };
}

function answerReadiness(content: WebContent, context: WebContext): Response {
  const reason = content.findUnreadiness();
  return reason === undefined ? context.text('Ready.\n') : context.text(`${reason}\n`, 503);
}

/** Limits the concurrent responses of a handler and the time to send each. */
function boundPage(clock: Clock, gate: ConcurrencyLimit, queue: StepQueue, handler: Handler): Handler {
  return async (context) => {
    const leave = gate.enter(context.get('limitedClient'));
    if (!leave) return answerBusy(context, 'Too many requests at once');
    const { outgoing } = context.env;
    const timer = clock.setTimer(PAGE_MS_MAX, () => outgoing?.destroy());
    const end = () => {
      timer.cancel();
      leave();
    };
    outgoing?.once('close', end);
    try {
      await queue.next();
      return await handler(context);
    } finally {
      // A closed response emits no further 'close'.
      if (outgoing?.closed ?? true) end();
    }
  };
}
