import { isPlainObject, openDeadline, untilAborted } from '../base/index.ts';
import { LIFECYCLE_STATES, type LifecycleWish } from '../model/index.ts';
import { parseMoment } from '../settings/index.ts';
import type { PlanSummary, TrialResult } from './api/configuration.ts';
import type { LifecycleSummary } from './api/routers.ts';
import type { ScrapeContent } from './scrape.ts';
import { isCrossSite } from './server/access.ts';
import { type Handler, toBase, type WebContext, type WebDependencies } from './server/context.ts';
import { answerForOther } from './whole-fleet.ts';

/** The result of a reload. Each fault is one line with file, line and column, and contains no secret. */
export type ReloadResult = { readonly ok: true } | { readonly ok: false; readonly faults: readonly string[] };

/** The result of a request for a life-cycle state. */
export type StateResult =
  | { readonly ok: true; readonly lifecycle: LifecycleSummary }
  /** `unknown`: no such router. `configured`: the configuration sets the state. `store`: it cannot be stored now. */
  | { readonly ok: false; readonly reason: 'unknown' | 'configured' | 'store' };

/** The actions that operators can request. */
export interface LifecycleContent extends Pick<ScrapeContent, 'describeShards' | 'hasRouter' | 'refresh'> {
  /** Reloads the configuration, all or nothing. */
  reload(acceptedSource?: string): Promise<ReloadResult>;
  /** Loads the configuration as a reload does and returns what would change. Changes nothing. */
  tryReload(): Promise<TrialResult>;
  /** Sets the life-cycle state of a router. Nothing changes unless the result is `ok`. */
  setRouterState(name: string, wish: LifecycleWish): Promise<StateResult>;
  /** Shuts the agent down gracefully. Called after the response has been sent. */
  quit(): void;
}

type LifecycleDependencies = WebDependencies<LifecycleContent>;

function renderPlan({ routers, sections, needsRestart }: PlanSummary): string {
  const { added, changed, removed, reconnected, total } = routers;
  const lines = [
    ...renderNames('added', added),
    ...(changed.count === 0 ? [] : [`routers changed: ${changed.count}`]),
    ...changed.routers.map(({ name, keys }) => `  ${name}: ${keys.join(', ')}`),
    ...renderMore(changed.count - changed.routers.length),
    ...renderNames('removed', removed),
    ...(reconnected === 0 ? [] : [`sessions to be restarted: ${reconnected}`]),
    ...(sections.length === 0 ? [] : [`sections changed: ${sections.join(', ')}`]),
    ...(needsRestart.length === 0 ? [] : [`need a restart of the agent: ${needsRestart.join(', ')}`]),
  ];
  const begin =
    lines.length === 0 ? 'A reload would change nothing' : 'A reload would make these changes; none was made';
  return `${[`${begin} (routers: ${total}).`, ...lines].join('\n')}\n`;
}

function renderNames(what: string, { count, names }: PlanSummary['routers']['added']): readonly string[] {
  if (count === 0) return [];
  return [`routers ${what}: ${count}`, ...names.map((name) => `  ${name}`), ...renderMore(count - names.length)];
}

function renderMore(count: number): readonly string[] {
  return count > 0 ? [`  and ${count} more`] : [];
}

const DISABLED = 'Disabled. Start router-exporter with --web.enable-lifecycle to allow it.\n';
const WRONG_TRIAL = 'Expected dry_run=1, without accept_removals.\n';
const CROSS_SITE = 'Cross-site request refused.\n';
const WRONG_BODY = `Expected JSON such as {"state": "maintenance", "until": "2026-12-01T06:00:00Z"}; states are ${LIFECYCLE_STATES.join(', ')}, and "until" is optional and must be in the future.`;
const REFUSALS = {
  unknown: ['No router of this name is configured', 404],
  configured: ['The configuration sets the state of this router and takes precedence', 409],
  store: ['The state cannot be stored now; see the log of the agent', 503],
} as const;
const HOURS = /^\d{1,3}$/;
/** Longest body of a request for a state. Bytes. */
const BODY_BYTES_MAX = 1024;

/** Longest wait of a browser for a poll; the poll continues. Milliseconds. */
const POLL_MS_MAX = 15_000;

/** Creates the handlers of `POST /-/reload`, `POST /-/quit`, `POST /-/poll`, `POST /-/maintenance` and `PUT /api/v1/routers/NAME/state`. */
export function createLifecycleHandlers(
  dependencies: LifecycleDependencies,
): Readonly<Record<'reload' | 'quit' | 'poll' | 'maintenance' | 'state', Handler>> {
  const guard =
    (handle: Handler): Handler =>
    (context) => {
      if (!dependencies.isLifecycleEnabled) return context.text(DISABLED, 403);
      return isCrossSite(dependencies, context) ? context.text(CROSS_SITE, 403) : handle(context);
    };
  /** Answers a form of the page of a router with that page. */
  const guardForm = (path: string, act: (name: string, context: WebContext) => Promise<Response | undefined>) =>
    guard(async (context) => {
      const { content } = dependencies;
      const name = context.req.query('router') ?? '';
      if (!content.hasRouter(name)) {
        const elsewhere = answerForOther(content, context, name, path);
        return elsewhere ?? context.text('No router of this name is configured.\n', 404);
      }
      // So that a reload of the page does not act again.
      const page = `${toBase(dependencies, '../')}router/${encodeURIComponent(name)}`;
      return (await act(name, context)) ?? context.redirect(page, 303);
    });
  return {
    reload: guard(async (context) => {
      if (context.req.query('dry_run') !== undefined) return tryReload(dependencies, context);
      const result = await dependencies.content.reload(context.req.query('accept_removals'));
      if (result.ok) return context.text('Reloaded.\n');
      return context.text(
        `The configuration could not be loaded; nothing was changed.\n${result.faults.join('\n')}\n`,
        500,
      );
    }),
    quit: guard((context) => {
      const { content } = dependencies;
      const outgoing = context.env.outgoing;
      // After the response was sent or the connection broke: in both cases the request was made.
      if (outgoing && !outgoing.closed) outgoing.once('close', () => content.quit());
      else queueMicrotask(() => content.quit());
      return context.text('Shutting down.\n');
    }),
    poll: guardForm('/-/poll', async (name, context) => {
      await pollOnce(dependencies, name, context.req.raw.signal);
      return undefined;
    }),
    maintenance: guardForm('/-/maintenance', async (name, context) => {
      const hours = new URLSearchParams((await readBody(context)) ?? '').get('hours') ?? '';
      if (!HOURS.test(hours)) return context.text('Expected a form with "hours", from 0 to 999; 0 ends it.\n', 400);
      const untilMs = dependencies.clock.now() + Number(hours) * 3_600_000;
      const wish: LifecycleWish =
        Number(hours) === 0 ? { state: 'active', untilMs: undefined } : { state: 'maintenance', untilMs };
      const result = await dependencies.content.setRouterState(name, wish);
      if (result.ok) return undefined;
      const [message, status] = REFUSALS[result.reason];
      return context.text(`${message}.\n`, status);
    }),
    state: guard((context) => setState(dependencies, context)),
  };
}

async function tryReload({ content }: LifecycleDependencies, context: WebContext): Promise<Response> {
  const { dry_run: wish, accept_removals: accepted } = context.req.query();
  if (wish !== '1' || accepted !== undefined) return context.text(WRONG_TRIAL, 400);
  const result = await content.tryReload();
  if (!result.ok) return context.text(`The configuration could not be loaded.\n${result.faults.join('\n')}\n`, 500);
  const wantsJson = (context.req.header('accept') ?? '').includes('application/json');
  return wantsJson ? context.json(result.plan) : context.text(renderPlan(result.plan));
}

async function setState({ content, clock }: LifecycleDependencies, context: WebContext): Promise<Response> {
  const name = context.req.param('name') ?? '';
  const elsewhere = answerForOther(content, context, name, `/api/v1/routers/${name}/state`);
  if (elsewhere) return elsewhere;
  const wish = parseWish(await readBody(context), clock.now());
  if (!wish) return context.json({ error: WRONG_BODY }, 400);
  const result = await content.setRouterState(name, wish);
  if (result.ok) return context.json(result.lifecycle);
  const [error, status] = REFUSALS[result.reason];
  return context.json({ error }, status);
}

async function readBody(context: WebContext): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of context.req.raw.body ?? []) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** `undefined` if invalid, or if the end has passed. */
function parseWish(text: string | undefined, nowMs: number): LifecycleWish | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  if (!isPlainObject(body) || Object.keys(body).some((key) => key !== 'state' && key !== 'until')) return undefined;
  const state = LIFECYCLE_STATES.find((one) => one === body['state']);
  if (!state) return undefined;
  const until = body['until'] ?? null;
  if (until === null) return { state, untilMs: undefined };
  const untilMs = typeof until === 'string' ? parseMoment(until) : undefined;
  return untilMs !== undefined && untilMs > nowMs ? { state, untilMs } : undefined;
}

async function pollOnce({ content, clock }: LifecycleDependencies, name: string, gone: AbortSignal): Promise<void> {
  using deadline = openDeadline(clock, POLL_MS_MAX, gone);
  // The router's page shows a failure or timeout.
  await untilAborted(content.refresh(name, deadline.signal), deadline.signal).catch(() => {});
}
