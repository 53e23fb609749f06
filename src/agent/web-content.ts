import type { Clock } from '../base/index.ts';
import { type Config, renderEffectiveConfig, renderEffectiveRouter } from '../config/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import type { LifecycleWish } from '../model/index.ts';
import type { Scheduler } from '../schedule/index.ts';
import { CONFIG_CHANGES, CONFIG_ENTRIES, type ModuleDefinition } from '../status/index.ts';

import { type DeadLetters, StoreError } from '../store/index.ts';
import type { MetricsFormat, MetricsScope, StateResult, WebContent } from '../web/index.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { Fleet } from './routers/fleet.ts';
import { findLetter, listLetters } from './sinks/delivery-figures.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';
import type { FleetHistory } from './views/fleet-history.ts';
import type { LineFeed, RecentRecords } from './views/recent-records.ts';

/** Sources of the content of pages and JSON interface, and what of it comes from the agent as it is. */
interface WebContentOptions
  extends Pick<
    WebContent,
    | 'describeConfiguration'
    | 'describeShards'
    | 'describeSpool'
    | 'findUnreadiness'
    | 'onFailed'
    | 'quit'
    | 'reload'
    | 'tryReload'
  > {
  /** The running configuration. */
  readonly config: () => Config;
  /** The configured routers and their statistics. */
  readonly fleet: Fleet;
  /** State of the sinks. */
  readonly sinks: SinkSupervisor;
  /** Records that sinks rejected. */
  readonly deadLetters: DeadLetters;
  /** Triggers fresh probes. */
  readonly scheduler: Scheduler;
  /** Lines as they are stored. */
  readonly feed: LineFeed;
  /** The last lines of the routers. */
  readonly recent: RecentRecords;
  /** Counts of the fleet, minute by minute. */
  readonly history: FleetHistory;
  /** Metrics of the routers. */
  readonly exposition: FleetExposition;
  /** Metrics of the agent itself. */
  readonly metrics: SelfMetrics;
  /** Clock for ages and times. */
  readonly clock: Clock;
  /** Totals since the agent started. */
  readonly counts: { readonly gaps: number };
}

/** Creates the content of the web server from the modules that own it. */
export function createWebContent(options: WebContentOptions): WebContent {
  const { fleet, scheduler } = options;
  return {
    renderMetrics: (format, scope) => renderMetrics(options, format, scope),
    listModules: () => options.config().modules.map(({ name }) => name),
    describeShards: options.describeShards,
    hasRouter: (name) => fleet.find(name) !== undefined,
    async refresh(name, signal) {
      const router = fleet.find(name);
      if (!router?.admitsFreshPoll || signal.aborted) return;
      const abandoned = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => abandoned.resolve(), { once: true });
      await Promise.race([scheduler.trigger(router.statusKey), abandoned.promise]);
    },
    reload: options.reload,
    tryReload: options.tryReload,
    setRouterState: (name, wish) => setRouterState(options, name, wish),
    quit: options.quit,
    *listRouters() {
      for (const { recorder } of fleet.routers) yield recorder.summarize();
    },
    findRouter: (name) => fleet.find(name)?.recorder.summarize(),
    listNames: () => fleet.routers.map(({ settings }) => settings.name),
    listFleetMinutes: () => options.history.describe(),
    describeAvailability: (name) => fleet.find(name)?.recorder.describeAvailability() ?? '',
    describeRouter: (name) => fleet.find(name)?.recorder.describe(),
    readRecords: (query) => options.recent.read(query),
    followRecords: (query, listener) => options.feed.follow(query, listener),
    findGrafana: () => options.config().web.grafana_url,
    countGaps: () => options.counts.gaps,
    *listLogs() {
      for (const { settings, recorder } of fleet.routers) {
        for (const log of recorder.describeLogs()) yield { router: settings.name, ...log };
      }
    },
    renderConfig: () => renderEffectiveConfig(options.config()),
    renderRouterConfig(name) {
      const router = fleet.find(name);
      return router && renderEffectiveRouter(router.settings);
    },
    describeConfiguration: options.describeConfiguration,
    listSinks: () => options.sinks.describe(),
    listLetters: (selection) => listLetters(options.deadLetters, selection),
    findLetter: (id) => findLetter(options.deadLetters, id),
    describeSpool: options.describeSpool,
    describeRuns: () => scheduler.load,
    findUnreadiness: options.findUnreadiness,
    onFailed: options.onFailed,
  };
}

async function setRouterState(
  { fleet, onFailed }: WebContentOptions,
  name: string,
  wish: LifecycleWish,
): Promise<StateResult> {
  try {
    const change = await fleet.setState(name, wish);
    const router = fleet.find(name);
    if (change !== 'changed') return { ok: false, reason: change };
    return router ? { ok: true, lifecycle: router.recorder.summarize().lifecycle } : { ok: false, reason: 'unknown' };
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    onFailed(cause);
    return { ok: false, reason: 'store' };
  }
}

async function* renderMetrics(
  { exposition, metrics, clock, config }: WebContentOptions,
  format: MetricsFormat,
  scope: MetricsScope,
): AsyncGenerator<string> {
  // Before the first piece goes out, so that a failure here can still be answered with an error.
  const own = scope.kind === 'router' ? '' : await metrics.render(format);
  const nowMs = clock.monotonic();
  if (scope.kind !== 'agent') {
    const router = scope.kind === 'router' ? scope.router : undefined;
    const leftOut = scope.modules && listOthers(config().modules, scope.modules);
    yield* exposition.render(format, nowMs, router, leftOut);
  }
  yield own;
  if (format === 'openmetrics') yield '# EOF\n';
}

/** Lists the names of families of modules that are not wanted. */
function listOthers(modules: readonly ModuleDefinition[], wanted: readonly string[]): ReadonlySet<string> {
  const toFamilies = ({ reader, resources }: ModuleDefinition) => [
    ...(reader === 'configuration' ? [CONFIG_ENTRIES.name, CONFIG_CHANGES.name] : []),
    ...resources.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  ];
  const kept = new Set(modules.filter(({ name }) => wanted.includes(name)).flatMap(toFamilies));
  return new Set(modules.flatMap(toFamilies).filter((name) => !kept.has(name)));
}
