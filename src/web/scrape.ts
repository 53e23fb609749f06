import type { ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { DeadlineExceeded, openDeadline, untilAborted } from '../base/index.ts';
import { WebError } from './errors.ts';
import { isCrossSiteGet } from './server/access.ts';
import { chooseMetricsFormat, isGzipWanted, type MetricsFormat } from './server/answers.ts';
import type { Handler, WebContext, WebDependencies } from './server/context.ts';
import { ConcurrencyLimit } from './server/limits.ts';
import { openTextStream } from './text-stream.ts';
import { answerForOther, type FleetContent } from './whole-fleet.ts';

/** The metrics that a request asks for. `modules` limits those read from routers; the agent's metrics about routers are always included. */
export type MetricsScope =
  | { readonly kind: 'all'; readonly modules?: readonly string[] | undefined }
  | { readonly kind: 'agent' }
  | { readonly kind: 'router'; readonly router: string; readonly modules?: readonly string[] | undefined };

/** The content of scrapes. */
export interface ScrapeContent extends Pick<FleetContent, 'describeShards' | 'hasRouter'> {
  /**
   * Renders metrics in chunks of any size, as fast as the client reads. Errors before the first 32 KiB lead to a 500; later ones abort
   * the connection, so that a truncated response is not mistaken for a complete one.
   */
  renderMetrics(format: MetricsFormat, scope: MetricsScope): AsyncIterable<string> | Iterable<string>;
  /** Names of all modules, including those that no router of this process uses. */
  listModules(): readonly string[];
  /**
   * Polls a router now, or joins the poll in progress. Resolves when the poll has ended, even if the router is down, or when `signal`
   * aborts; without a poll if the values are recent enough or the byte budget does not allow one.
   */
  refresh(name: string, signal: AbortSignal): Promise<void>;
  /** Called with the error that prevented a response. Disconnected clients are not reported. */
  onFailed(cause: unknown): void;
}

const METRICS_TYPES: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Concurrent scrapes of the whole fleet or of the agent, as in node_exporter. */
const SCRAPES_MAX = 40;
/** Concurrent scrapes of single routers, including those that wait for a poll: cheap, and many in a large fleet. */
const PROBES_MAX = 1000;
/** Clients that have not read their response by then are disconnected. Prometheus times out long before. */
const ANSWER_MS_MAX = 180_000;

/** Longest wait for a poll without `X-Prometheus-Scrape-Timeout-Seconds`. */
const SCRAPE_TIMEOUT_MS_DEFAULT = 10_000;
const SCRAPE_TIMEOUT_MS_MAX = 120_000;
/** Time kept for sending the response; of a short timeout only a fraction. */
const ANSWER_RESERVE_MS = 500;
const ANSWER_RESERVE_RATIO = 0.1;

/** Creates the handlers of `/metrics`, `/metrics/agent` and `/probe`. */
export function createScrapeHandlers(
  dependencies: WebDependencies<ScrapeContent>,
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
        return context.text('Expected one parameter "target": the configured name of a router.\n', 400);
      }
      // The name came from outside, so it is not repeated.
      if (!dependencies.content.hasRouter(router)) {
        const elsewhere = answerForOther(dependencies.content, context, router, '/probe');
        if (elsewhere) return elsewhere;
        return context.text(
          'No router of this name is configured. "target" is a name listed by /sd, not an address.\n',
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

const CROSS_SITE = 'Cross-site request refused: the router was not polled.\n';

/** As in node_exporter, and as in snmp_exporter. */
const MODULE_KEYS = ['collect[]', 'module'];
/** Selections of other exporters: an error is better than an unselected answer. */
const UNSUPPORTED_KEYS = ['exclude[]', 'name[]', 'collect'];

/** Returns the error for an unsupported selection. Other unknown parameters are ignored. */
function findForeignKey(context: WebContext, elsewhere: readonly string[]): string | undefined {
  const foreign = [...UNSUPPORTED_KEYS, ...elsewhere].find((key) => context.req.queries(key) !== undefined);
  if (foreign === undefined) return undefined;
  return `The parameter "${foreign}" is not supported. ${HOW_TO_SELECT}\n`;
}

const HOW_TO_SELECT =
  'Use /probe?target=NAME for one router, and collect[]=MODULE on /metrics and /probe for the metrics of some modules.';

/** A module that no router here uses is no error: routers move between processes, and the scrape must not fail. */
function parseModules(
  context: WebContext,
  content: ScrapeContent,
): { readonly modules?: readonly string[] } | { readonly fault: string } {
  const given = MODULE_KEYS.flatMap((key) => context.req.queries(key) ?? []);
  if (given.length === 0) return {};
  const known = content.listModules();
  const modules = given.flatMap((names) => names.split(','));
  if (modules.every((name) => known.includes(name))) return { modules };
  // The name came from outside, so it is not repeated.
  return { fault: `Unknown module. Modules: ${known.join(', ')}\n` };
}

async function answerScrape(
  dependencies: WebDependencies<ScrapeContent>,
  context: WebContext,
  gate: ConcurrencyLimit,
  scope: MetricsScope,
): Promise<Response> {
  const format = chooseMetricsFormat(context.req.header('accept'));
  const isGzip = isGzipWanted(context.req.header('accept-encoding'));
  const headers = {
    'Content-Type': METRICS_TYPES[format],
    Vary: 'Accept, Accept-Encoding',
    // A cache must not serve old values, or values to a user who may not read them.
    'Cache-Control': 'no-store',
    ...(isGzip && { 'Content-Encoding': 'gzip' }),
  };
  if (context.req.method === 'HEAD') return context.body(null, 200, headers);

  const leave = gate.enter(context.get('limitedClient'));
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
async function refresh(
  { content, clock }: WebDependencies<ScrapeContent>,
  context: WebContext,
  router: string,
): Promise<void> {
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

/** Returns the longest wait for a poll, from the scrape timeout (seconds) in a header of Prometheus. */
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

/** Aborts a connection so that the client does not mistake it for the end of the response, even without chunks (HTTP/1.0). */
function cutConnection(outgoing: ServerResponse): void {
  const { socket } = outgoing;
  // TLS shows whether a connection was closed properly, and TLS sockets have no reset.
  if (!socket || socket instanceof TLSSocket) outgoing.destroy();
  else socket.resetAndDestroy();
}

/** A placeholder: the client has disconnected. */
function answerGone(): Response {
  return new Response(null, { status: 503 });
}
