import type { ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { DeadlineExceeded, openDeadline, untilAborted } from '../base/index.ts';
import type { MetricsFormat, MetricsScope, WebContent } from './content.ts';
import { WebError } from './errors.ts';
import { Gate } from './gate.ts';
import { chooseMetricsFormat, isGzipWanted } from './negotiate.ts';
import type { Handler, Served, WebContext } from './served.ts';
import { openTextStream } from './text-stream.ts';

const METRICS_TYPES: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Scrapes of the whole fleet or of the agent at a time; node_exporter allows as many. */
const SCRAPES_MAX = 40;
/** Scrapes of single routers at a time, those that wait for a poll included: cheap, and of a large fleet many at once. */
const PROBES_MAX = 1000;
/** A client that has not taken its whole answer after this long is cut off. Prometheus gives up long before. */
const ANSWER_MS_MAX = 180_000;

/** How long a poll may be waited for: what Prometheus says it waits for us, or this. */
const SCRAPE_TIMEOUT_MS_DEFAULT = 10_000;
const SCRAPE_TIMEOUT_MS_MAX = 120_000;
/** Kept back from it for the way of the answer: so much, but of a short time only this part. */
const ANSWER_RESERVE_MS = 500;
const ANSWER_RESERVE_RATIO = 0.1;

/** The handlers of `/metrics`, `/metrics/agent` and `/probe`. */
export function createScrapeHandlers(served: Served): Readonly<Record<'all' | 'agent' | 'probe', Handler>> {
  const scrapes = new Gate(SCRAPES_MAX);
  const probes = new Gate(PROBES_MAX);
  return {
    all(context) {
      const fault = findForeignKey(context, ['target', 'fresh']);
      if (fault !== undefined) return context.text(fault, 400);
      const selection = parseModules(context, served.content);
      if ('fault' in selection) return context.text(selection.fault, 400);
      return answerScrape(served, context, scrapes, { kind: 'all', ...selection });
    },
    agent(context) {
      const fault = findForeignKey(context, ['target', 'fresh', ...MODULE_KEYS]);
      if (fault !== undefined) return context.text(fault, 400);
      return answerScrape(served, context, scrapes, { kind: 'agent' });
    },
    probe(context) {
      const [router, ...more] = context.req.queries('target') ?? [];
      if (router === undefined || router === '' || more.length > 0) {
        return context.text('The parameter "target" is needed, once: the configured name of a router.\n', 400);
      }
      // The name is not repeated: it came from outside.
      if (!served.content.hasRouter(router)) {
        return context.text(
          'No router of this name is configured. "target" is a name of /sd, never an address.\n',
          404,
        );
      }
      const fault = findForeignKey(context, []);
      if (fault !== undefined) return context.text(fault, 400);
      const selection = parseModules(context, served.content, router);
      if ('fault' in selection) return context.text(selection.fault, 400);
      return answerScrape(served, context, probes, { kind: 'router', router, ...selection });
    },
  };
}

/** Keys of the query that select modules: as in node_exporter, and as in snmp_exporter. */
const MODULE_KEYS = ['collect[]', 'module'];
/** Keys that select in other exporters. Nobody who sends one wants to be served everything instead. */
const UNSUPPORTED_KEYS = ['exclude[]', 'name[]', 'collect'];

/** Says that a key would select something elsewhere; `undefined` when there is none. Other unknown keys are ignored. */
function findForeignKey(context: WebContext, elsewhere: readonly string[]): string | undefined {
  const foreign = [...UNSUPPORTED_KEYS, ...elsewhere].find((key) => context.req.queries(key) !== undefined);
  if (foreign === undefined) return undefined;
  return `The parameter "${foreign}" selects nothing here. ${HOW_TO_SELECT}\n`;
}

const HOW_TO_SELECT =
  'Use /probe?target=NAME for one router, and collect[]=MODULE on /metrics and /probe for the metrics of some modules.';

/** The modules that are asked for; none when nothing is selected. Names may come one by one or with commas between them. */
function parseModules(
  context: WebContext,
  content: WebContent,
  router?: string,
): { readonly modules?: readonly string[] } | { readonly fault: string } {
  const given = MODULE_KEYS.flatMap((key) => context.req.queries(key) ?? []);
  if (given.length === 0) return {};
  const known = content.listModules(router);
  const modules = given.flatMap((names) => names.split(','));
  if (modules.every((name) => known.includes(name))) return { modules };
  // The name is not repeated: it came from outside.
  return { fault: `There is no such module. The modules are: ${known.join(', ')}\n` };
}

async function answerScrape(served: Served, context: WebContext, gate: Gate, scope: MetricsScope): Promise<Response> {
  const format = chooseMetricsFormat(context.req.header('accept'));
  const isGzip = isGzipWanted(context.req.header('accept-encoding'));
  const headers = {
    'Content-Type': METRICS_TYPES[format],
    Vary: 'Accept, Accept-Encoding',
    ...(isGzip && { 'Content-Encoding': 'gzip' }),
  };
  if (context.req.method === 'HEAD') return context.body(null, 200, headers);

  const leave = gate.enter();
  if (!leave) return context.text('Too many scrapes at once; try again later.\n', 503, { 'Retry-After': '1' });
  const gone = context.req.raw.signal;
  const deadline = openDeadline(served.clock, ANSWER_MS_MAX, gone);
  try {
    if (scope.kind === 'router' && isFresh(context)) await refresh(served, context, scope.router);
    const stream = await openTextStream({
      chunks: served.content.renderMetrics(format, scope),
      isGzip,
      signal: deadline.signal,
      onFailed(cause, fail) {
        if (!gone.aborted) served.content.onFailed(describeCut(cause));
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

/** Waits for a poll as long as the client has time for it. When that is over, the last known values have to do. */
async function refresh({ content, clock }: Served, context: WebContext, router: string): Promise<void> {
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

/** How long the answer may be waited for, by the header with which Prometheus tells its own patience in seconds. */
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

/** Ends a connection in a way that no client takes for the end of the answer, not even without chunks (HTTP/1.0). */
function cutConnection(outgoing: ServerResponse): void {
  const { socket } = outgoing;
  // TLS tells by itself whether a connection came to its proper end, and its sockets know no reset.
  if (!socket || socket instanceof TLSSocket) outgoing.destroy();
  else socket.resetAndDestroy();
}

/** For the record: nobody is there to read it. */
function answerGone(): Response {
  return new Response(null, { status: 503 });
}
