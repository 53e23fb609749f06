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
/** Longest body of a request for a state. Bytes. */
const BODY_BYTES_MAX = 1024;

/** Longest wait of a browser for a poll; the poll continues. Milliseconds. */
const POLL_MS_MAX = 15_000;

/** Creates the handlers of `POST /-/reload`, `POST /-/quit`, `POST /-/poll` and `PUT /api/v1/routers/NAME/state`. */
export function createLifecycleHandlers(
  dependencies: LifecycleDependencies,
): Readonly<Record<'reload' | 'quit' | 'poll' | 'state', Handler>> {
  const guard =
    (handle: Handler): Handler =>
    (context) => {
      if (!dependencies.isLifecycleEnabled) return context.text(DISABLED, 403);
      return isCrossSite(dependencies, context) ? context.text(CROSS_SITE, 403) : handle(context);
    };
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
    poll: guard(async (context) => {
      const { content } = dependencies;
      const name = context.req.query('router') ?? '';
      if (!content.hasRouter(name)) {
        const elsewhere = answerForOther(content, context, name, '/-/poll');
        return elsewhere ?? context.text('No router of this name is configured.\n', 404);
      }
      await pollOnce(dependencies, name, context.req.raw.signal);
      // So that a reload of the page does not poll again.
      return context.redirect(`${toBase(dependencies, '../')}router/${encodeURIComponent(name)}`, 303);
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
  switch (result.reason) {
    case 'unknown':
      return context.json({ error: 'No router of this name is configured' }, 404);
    case 'configured':
      return context.json({ error: 'The configuration sets the state of this router and takes precedence' }, 409);
    case 'store':
      return context.json({ error: 'The state cannot be stored now; see the log of the agent' }, 503);
  }
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
