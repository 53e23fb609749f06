import type { ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { DeadlineExceeded, openDeadline, untilAborted } from '../base/index.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import type { MetricsFormat, MetricsScope, WebContent } from './content.ts';
import { isCrossSiteGet } from './cross-site.ts';
import { WebError } from './errors.ts';
import { chooseMetricsFormat, isGzipWanted } from './negotiate.ts';
import { answerForOther } from './shards.ts';
import { openTextStream } from './text-stream.ts';
import type { Handler, WebContext, WebDependencies } from './web-dependencies.ts';

const METRICS_TYPES: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Maximum concurrent scrapes of the whole fleet or of the agent; the same as in node_exporter. */
const SCRAPES_MAX = 40;
/** Maximum concurrent scrapes of single routers, including those that wait for a poll: cheap, and many in a large fleet. */
const PROBES_MAX = 1000;
/** Clients that have not read their response within this time are disconnected. Prometheus gives up long before. */
const ANSWER_MS_MAX = 180_000;

/** Maximum wait for a poll when the request has no `X-Prometheus-Scrape-Timeout-Seconds`. */
const SCRAPE_TIMEOUT_MS_DEFAULT = 10_000;
const SCRAPE_TIMEOUT_MS_MAX = 120_000;
/** Reserved for sending the response: this much, but of a short timeout only a fraction. */
const ANSWER_RESERVE_MS = 500;
const ANSWER_RESERVE_RATIO = 0.1;

/** Creates the handlers of `/metrics`, `/metrics/agent` and `/probe`. */
export function createScrapeHandlers(
  dependencies: WebDependencies,
): Readonly<Record<'all' | 'agent' | 'probe', Handler>> {
  const scrapes = new ConcurrencyLimit(SCRAPES_MAX);
  const probes = new ConcurrencyLimit(PROBES_MAX, PROBES_MAX);
  return {
    all(context) {
      const fault = findForeignKey(context, ['target', 'fresh']);
      if (fault !== undefined) return context.text(fault, 400);
      const selection = parseModules(context, dependencies.content);
      if ('fault' in selection) return context.text(selection.fault, 400);
      return answerScrape(dependencies, context, scrapes, { kind: 'all', ...selection });
    },
    agent(context) {
      const fault = findForeignKey(context, ['target', 'fresh', ...MODULE_KEYS]);
      if (fault !== undefined) return context.text(fault, 400);
      return answerScrape(dependencies, context, scrapes, { kind: 'agent' });
    },
    probe(context) {
      const [router, ...more] = context.req.queries('target') ?? [];
      if (router === undefined || router === '' || more.length > 0) {
        return context.text('The parameter "target" is needed, once: the configured name of a router.\n', 400);
      }
      // The name is not repeated: it came from outside.
      if (!dependencies.content.hasRouter(router)) {
        const elsewhere = answerForOther(dependencies.content, context, router, '/probe');
        if (elsewhere) return elsewhere;
        return context.text(
          'No router of this name is configured. "target" is a name of /sd, never an address.\n',
          404,
        );
      }
      const fault = findForeignKey(context, []);
      if (fault !== undefined) return context.text(fault, 400);
      const selection = parseModules(context, dependencies.content);
      if ('fault' in selection) return context.text(selection.fault, 400);
      if (isFresh(context) && isCrossSiteGet(dependencies, context)) return context.text(CROSS_SITE, 403);
      return answerScrape(dependencies, context, probes, { kind: 'router', router, ...selection });
    },
  };
}

const CROSS_SITE = 'A page of another site asked for this, so the router was not polled.\n';

/** Query parameters that select modules: as in node_exporter, and as in snmp_exporter. */
const MODULE_KEYS = ['collect[]', 'module'];
/** Parameters that select in other exporters. Whoever sends one does not want everything instead. */
const UNSUPPORTED_KEYS = ['exclude[]', 'name[]', 'collect'];

/** Returns the error for a parameter that selects in other exporters; `undefined` without one. Other unknown parameters are ignored. */
function findForeignKey(context: WebContext, elsewhere: readonly string[]): string | undefined {
  const foreign = [...UNSUPPORTED_KEYS, ...elsewhere].find((key) => context.req.queries(key) !== undefined);
  if (foreign === undefined) return undefined;
  return `The parameter "${foreign}" selects nothing here. ${HOW_TO_SELECT}\n`;
}

const HOW_TO_SELECT =
  'Use /probe?target=NAME for one router, and collect[]=MODULE on /metrics and /probe for the metrics of some modules.';

/**
 * Parses the requested modules; none when nothing is selected. Names may be repeated parameters or separated by commas. A
 * module that exists and that no router here has is no fault: routers move between processes, and the scrape must not fail.
 */
function parseModules(
  context: WebContext,
  content: WebContent,
): { readonly modules?: readonly string[] } | { readonly fault: string } {
  const given = MODULE_KEYS.flatMap((key) => context.req.queries(key) ?? []);
  if (given.length === 0) return {};
  const known = content.listModules();
  const modules = given.flatMap((names) => names.split(','));
  if (modules.every((name) => known.includes(name))) return { modules };
  // The name is not repeated: it came from outside.
  return { fault: `There is no such module. The modules are: ${known.join(', ')}\n` };
}

async function answerScrape(
  dependencies: WebDependencies,
  context: WebContext,
  gate: ConcurrencyLimit,
  scope: MetricsScope,
): Promise<Response> {
  const format = chooseMetricsFormat(context.req.header('accept'));
  const isGzip = isGzipWanted(context.req.header('accept-encoding'));
  const headers = {
    'Content-Type': METRICS_TYPES[format],
    Vary: 'Accept, Accept-Encoding',
    // A cache on the way must not serve old values, nor values to a user who may not read them.
    'Cache-Control': 'no-store',
    ...(isGzip && { 'Content-Encoding': 'gzip' }),
  };
  if (context.req.method === 'HEAD') return context.body(null, 200, headers);

  const leave = gate.enter(context.get('sharer'));
  if (!leave) return context.text('Too many scrapes at once; try again later.\n', 503, { 'Retry-After': '1' });
  const gone = context.req.raw.signal;
  const deadline = openDeadline(dependencies.clock, ANSWER_MS_MAX, gone);
  try {
    if (scope.kind === 'router' && isFresh(context)) await refresh(dependencies, context, scope.router);
    const stream = await openTextStream({
      chunks: dependencies.content.renderMetrics(format, scope),
      isGzip,
      signal: deadline.signal,
      onFailed(cause, fail) {
        if (!gone.aborted) dependencies.content.onFailed(describeCut(cause));
        const outgoing = context.env.outgoing;
        if (outgoing) cutConnection(outgoing);
        else fail();
      },
      onClosed() {
        deadline[Symbol.dispose]();
        leave();
      },
    });
    return context.body(stream, 200, headers);
  } catch (cause) {
    deadline[Symbol.dispose]();
    leave();
    if (gone.aborted) return answerGone();
    throw cause;
  }
}

function isFresh(context: WebContext): boolean {
  const fresh = context.req.query('fresh');
  return fresh === '1' || fresh === 'true';
}

/** Waits for a poll until just before the client times out; then the last known values are served. */
async function refresh({ content, clock }: WebDependencies, context: WebContext, router: string): Promise<void> {
  const limitMs = parsePatienceMs(context.req.header('x-prometheus-scrape-timeout-seconds'));
  const gone = context.req.raw.signal;
  using deadline = openDeadline(clock, limitMs, gone);
  try {
    await untilAborted(content.refresh(router, deadline.signal), deadline.signal);
  } catch (cause) {
    gone.throwIfAborted();
    if (!(cause instanceof DeadlineExceeded)) content.onFailed(cause);
  }
}

/** Returns the maximum wait for a poll, from the scrape timeout (seconds) that Prometheus sends in a header. */
export function parsePatienceMs(header: string | undefined): number {
  const seconds = Number(header?.trim() || Number.NaN);
  const givenMs = seconds > 0 ? seconds * 1000 : SCRAPE_TIMEOUT_MS_DEFAULT;
  const timeoutMs = Math.min(givenMs, SCRAPE_TIMEOUT_MS_MAX);
  return timeoutMs - Math.min(ANSWER_RESERVE_MS, timeoutMs * ANSWER_RESERVE_RATIO);
}

function describeCut(cause: unknown): unknown {
  if (!(cause instanceof DeadlineExceeded)) return cause;
  return new WebError('slow-client', 'A client did not take its metrics in time', { disposition: 'skip', cause });
}

/** Aborts a connection so that no client mistakes it for the end of the response, even without chunks (HTTP/1.0). */
function cutConnection(outgoing: ServerResponse): void {
  const { socket } = outgoing;
  // TLS itself shows whether a connection was closed properly, and TLS sockets have no reset.
  if (!socket || socket instanceof TLSSocket) outgoing.destroy();
  else socket.resetAndDestroy();
}

/** A placeholder response: the client has already disconnected. */
function answerGone(): Response {
  return new Response(null, { status: 503 });
}
