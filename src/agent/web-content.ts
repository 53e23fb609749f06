import { compareKeys, ProfileArchive } from '../backup/index.ts';
import { type Clock, renderErrorChain } from '../base/index.ts';
import { type Config, renderEffectiveConfig, renderEffectiveRouter } from '../config/index.ts';
import type { FleetExposition } from '../exposition/index.ts';
import { type DeadLetters, type LifecycleWish, StoreError } from '../model/index.ts';
import type { Scheduler } from '../schedule/index.ts';
import {
  CONFIG_CHANGES,
  CONFIG_ENTRIES,
  CONFIG_EXPECTED,
  GENERIC_ROWS,
  GENERIC_VALUE,
  type ModuleDefinition,
} from '../status/index.ts';
import {
  describeOpenAccess,
  type MetricsFormat,
  type MetricsScope,
  type SpoolSummary,
  type StateResult,
  type WebContent,
} from '../web/index.ts';
import type { AgentEvents } from './agent-events.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { Fleet } from './routers/fleet.ts';
import { findDeadLetter, listDeadLetters } from './sinks/delivery-figures.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';
import type { FleetHistory } from './views/fleet-history.ts';
import { listEvents } from './views/list-events.ts';
import type { LineFeed, RecentRecords } from './views/recent-records.ts';

interface WebContentOptions
  extends Pick<
    WebContent,
    'describeConfiguration' | 'describeShards' | 'findUnreadiness' | 'onFailed' | 'quit' | 'reload' | 'tryReload'
  > {
  readonly config: () => Config;
  readonly fleet: Fleet;
  readonly sinks: SinkSupervisor;
  readonly deadLetters: DeadLetters;
  readonly scheduler: Scheduler;
  readonly feed: LineFeed;
  readonly recent: RecentRecords;
  readonly history: FleetHistory;
  readonly events: AgentEvents;
  readonly exposition: FleetExposition;
  readonly metrics: SelfMetrics;
  readonly clock: Clock;
  readonly describeSpool: () => SpoolSummary;
  readonly counts: { readonly gaps: number };
}

/** Creates the content of the web server from the modules that own it. */
export function createWebContent(options: WebContentOptions): WebContent {
  const { fleet, scheduler } = options;
  return {
    renderMetrics: (format, scope) => renderMetrics(options, format, scope),
    listModules: () => options.config().modules.map(({ name }) => name),
    describeShards: options.describeShards,
    describeOpenAccess: () => describeOpenAccess(options.config().web, false),
    hasRouter: (name) => fleet.find(name) !== undefined,
    async refresh(name, signal) {
      const router = fleet.find(name);
      if (!router?.admitsFreshPoll || signal.aborted) return;
      const abandoned = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => abandoned.resolve(), { once: true });
      await Promise.race([scheduler.trigger(router.statusKey), abandoned.promise]);
    },
    // A router that has just left for another replica is not among the others yet.
    findNotifyToken: (name) => {
      const router = fleet.find(name)?.settings ?? options.config().routers.find((one) => one.name === name);
      return router?.notify_token;
    },
    notify: (name) => fleet.find(name)?.requestPoll(),
    reload: options.reload,
    tryReload: options.tryReload,
    setRouterState: (name, wish) => setRouterState(options, name, wish),
    quit: options.quit,
    *listRouters() {
      for (const { recorder } of fleet.routers) yield recorder.summarize();
    },
    findRouter(name) {
      const recorder = fleet.find(name)?.recorder;
      return recorder && { ...recorder.summarize(), availability: recorder.describeAvailability() };
    },
    describeAvailability: (name) => fleet.find(name)?.recorder.describeAvailability() ?? '',
    listNames: () => fleet.routers.map(({ settings }) => settings.name),
    describeRouter: (name) => fleet.find(name)?.recorder.describe(),
    readRecords: (query) => options.recent.read(query),
    followRecords: (query, listener) => options.feed.follow(query, listener),
    findGrafana: () => options.config().web.grafana_url,
    *listLogs() {
      for (const { settings, recorder } of fleet.routers) {
        for (const log of recorder.describeLogs()) yield { router: settings.name, ...log };
      }
    },
    listEvents: (query) => listEvents(fleet.routers, options.events, query, options.clock.now()),
    renderConfig: () => renderEffectiveConfig(options.config()),
    renderRouterConfig(name) {
      const router = fleet.find(name);
      return router && renderEffectiveRouter(router.settings, options.config().origins);
    },
    listBackups: (name) => listBackups(options, name),
    async compareKeys(...version) {
      const archive = openArchive(options);
      return archive ? compareKeys(archive, ...version).catch(renderErrorChain) : 'there are no backups';
    },
    describeConfiguration: options.describeConfiguration,
    listDeadLetters: (selection) => listDeadLetters(options.deadLetters, selection),
    findDeadLetter: (id) => findDeadLetter(options.deadLetters, id),
    describeProcess: async () => ({
      minutes: options.history.describe(),
      gaps: options.counts.gaps,
      runs: scheduler.load,
      sinks: options.sinks.describe(),
      spool: options.describeSpool(),
    }),
    findUnreadiness: options.findUnreadiness,
    onFailed: options.onFailed,
  };
}

/** Versions that a page shows. */
const BACKUPS_MAX = 100;

function openArchive({ config, clock }: WebContentOptions): ProfileArchive | undefined {
  const { backup } = config();
  return backup && new ProfileArchive({ path: backup.path, keep: backup.keep, clock });
}

async function listBackups(options: WebContentOptions, router: string) {
  const profiles = await openArchive(options)?.listProfiles(router).catch(options.onFailed);
  return (profiles ?? [])
    .flatMap(({ profile, versions: all }) => all.map((one, index) => ({ ...one, profile, number: all.length - index })))
    .toSorted((a, b) => b.timeMs - a.timeMs)
    .slice(0, BACKUPS_MAX)
    .map(({ timeMs, ...version }) => ({ ...version, at: new Date(timeMs).toISOString() }));
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
  // Before the first piece is sent, so that a failure can still be answered with an error.
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

function listOthers(modules: readonly ModuleDefinition[], wanted: readonly string[]): ReadonlySet<string> {
  const toFamilies = ({ reader, resources }: ModuleDefinition) => [
    ...(reader === 'configuration' ? [CONFIG_ENTRIES.name, CONFIG_CHANGES.name] : []),
    ...(reader === 'compliance' ? [CONFIG_EXPECTED.name] : []),
    ...(reader === 'generic' ? [GENERIC_ROWS.name, GENERIC_VALUE.name] : []),
    ...resources.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  ];
  const kept = new Set(modules.filter(({ name }) => wanted.includes(name)).flatMap(toFamilies));
  return new Set(modules.flatMap(toFamilies).filter((name) => !kept.has(name)));
}
