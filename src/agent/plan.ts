import { BackupCalendar, type BackupSettings, ProfileArchive } from '../backup/index.ts';
import { type Clock, type Logger, Steps } from '../base/index.ts';
import { type Config, listChangedKeys } from '../config/index.ts';
import type { ConnectionLimit } from '../router/index.ts';
import type { Scheduler } from '../schedule/index.ts';
import { areSameSettings } from '../settings/index.ts';
import { type Store, StoreError } from '../store/index.ts';
import { type PlanSummary, toWebPolicy, type WebServer, type WebSettings } from '../web/index.ts';
import { LineProcessing } from './line-processing.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { Fleet, FleetChange, FleetDifference, FleetWish } from './routers/fleet.ts';
import type { RouterAgent, RouterAgentOptions } from './routers/router-agent.ts';
import type { BackupPlan } from './routers/router-backup.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';

/** Options of a router's agent that come from the configuration. */
export type RouterParts = Pick<RouterAgentOptions, 'settings' | 'lifecycle' | 'hasSinks' | 'lines' | 'backup'>;

/** Parts of the agent that a plan replaces. */
interface PlanOptions {
  /** HTTP server whose policy is replaced. */
  readonly web: Pick<WebServer, 'prepare'>;
  /** Runner whose sinks are replaced. */
  readonly sinks: Pick<SinkSupervisor, 'prepare'>;
  /** Scheduler whose limit is replaced. */
  readonly scheduler: Pick<Scheduler, 'limitRuns'>;
  /** Limit of concurrent runs without a configured one. */
  readonly runsMaxDefault: number;
  /** Metrics that show the share of this process. */
  readonly metrics: Pick<SelfMetrics, 'setShard'>;
  /** Bound of the connections to routers, which is replaced. */
  readonly connections: Pick<ConnectionLimit, 'setMax'>;
  /** The bound that applies without a configured one. */
  readonly connectionsMaxDefault: number;
  /** Tells the sinks the number of routers whose records come together in their receivers, whatever process runs them. */
  readonly setFleetSize: (routers: number) => void;
  /** Number of files that the process may have open; `undefined` if unknown. */
  readonly descriptorsMax: number | undefined;
  /** Fleet whose routers are replaced. */
  readonly fleet: Pick<Fleet, 'apply' | 'compare'>;
  /** Store that drops the positions of removed routers. */
  readonly store: Pick<Store, 'keepRouters'>;
  /** Creates the agent of one router; does not throw. */
  readonly createRouter: (parts: RouterParts) => RouterAgent;
  /** Called when the state could not be written. */
  readonly onStoreFailed: (cause: StoreError) => void;
  /** Clock for the removal of routers and for backups. */
  readonly clock: Clock;
  /** Log for what the new configuration changes. */
  readonly logger: Logger;
}

/** A configuration that is ready to run: everything that can fail has succeeded. */
export interface Plan {
  readonly config: Config;
  /** Compares its routers with those that run. */
  readonly compare: () => Promise<FleetDifference>;
  /**
   * Makes it the running configuration. Never rejects. `signal` bounds the last deliveries of removed sinks and the logouts of
   * removed routers.
   */
  readonly commit: (signal: AbortSignal) => Promise<FleetChange>;
}

/**
 * Does everything about a configuration that can fail, without changing what runs. Throws if it fails; the folder of
 * backups may have been created by then. Sinks come last, because preparing them writes to the store; with `isTrial` that is left
 * out, and the plan must not be committed.
 */
export async function preparePlan(config: Config, options: PlanOptions, isTrial = false): Promise<Plan> {
  const { web, sinks, metrics, fleet, store, createRouter, onStoreFailed, clock, logger } = options;
  const lines = LineProcessing.of(config.log_rules, config.redact);
  const switchWeb = web.prepare(toWebPolicy(toWebSettings(config)));
  const backup = config.backup && (await prepareBackup(config.backup, clock));
  const sinkChange = await sinks.prepare(config.sinks, isTrial);
  const hasSinks = config.sinks.length > 0;
  const { routers } = config;
  const create: FleetWish['create'] = (one, lifecycle) =>
    createRouter({ settings: one, lifecycle, hasSinks, lines, backup: backup?.plan });
  const common = { hasSinks, backup: config.backup };
  return {
    config,
    compare: () => fleet.compare({ routers, common }),
    async commit(signal) {
      switchWeb();
      metrics.setShard(config.shards?.index ?? 0, config.shards?.total ?? 1);
      applyLimits(config, options);
      options.setFleetSize(routers.length + (config.shards?.others.size ?? 0));
      if (backup) sayWhere(backup, logger);
      // Side by side: a removed sink that hangs must not take the time in which removed routers are logged out of.
      const [change] = await Promise.all([
        fleet.apply({ routers, common, lines, create }, signal),
        sinkChange.commit(signal),
      ]);
      try {
        await forgetRouters(config, store, clock, logger);
      } catch (cause) {
        if (!(cause instanceof StoreError)) throw cause;
        onStoreFailed(cause);
      }
      return change;
    },
  };
}

/** The settings of the web server, with the name by which the other replicas of a cluster ask this one. */
export function toWebSettings({ web, cluster }: Pick<Config, 'web' | 'cluster'>): WebSettings {
  return cluster?.advertise === undefined ? web : { ...web, peers: [cluster.advertise] };
}

function applyLimits({ schedule, connections, routers }: Config, options: PlanOptions): void {
  const { runsMaxDefault, connectionsMaxDefault, descriptorsMax, logger } = options;
  const connectionsMax = connections.max ?? connectionsMaxDefault;
  options.connections.setMax(connectionsMax);
  // A run without a connection would only wait for one.
  options.scheduler.limitRuns(Math.min(schedule.concurrent_runs ?? runsMaxDefault, connectionsMax));
  const wanted = Math.min(routers.length, connections.max ?? routers.length);
  if (descriptorsMax === undefined || wanted <= descriptorsMax / 2) return;
  logger.warn(
    'The limit of open files is too low to keep a connection to each router; raise LimitNOFILE= or ulimit -n',
    {
      openFilesMax: descriptorsMax,
      openFilesWanted: 2 * wanted,
      routers: routers.length,
    },
  );
}

/** Drops the state of routers that were removed some days ago. Called when the fleet changes. */
async function forgetRouters(
  { routers }: Config,
  store: PlanOptions['store'],
  clock: Clock,
  logger: Logger,
): Promise<void> {
  const names = routers.map(({ name }) => name);
  const forgotten = await store.keepRouters(names, clock.now());
  if (forgotten.length > 0) logger.info('Forgot routers that are not configured any more', { routers: forgotten });
}

interface PreparedBackup {
  readonly plan: BackupPlan;
  readonly isOpenToOthers: boolean;
}

async function prepareBackup(settings: BackupSettings, clock: Clock): Promise<PreparedBackup> {
  const { path, keep, format, schedule } = settings;
  const archive = new ProfileArchive({ path, keep, clock });
  const { isOpenToOthers } = await archive.prepare();
  return { plan: { archive, calendar: new BackupCalendar(schedule), format }, isOpenToOthers };
}

function sayWhere({ plan, isOpenToOthers }: PreparedBackup, logger: Logger): void {
  const { path } = plan.archive;
  logger.info('The profiles in this folder hold the secrets of the routers', { path });
  if (isOpenToOthers) logger.warn('Other users of this machine can look into the folder of backups', { path });
}

/** Routers that are listed of each kind: of a fleet of 10,000, all may change. */
const LISTED_MAX = 100;

/** Sections besides those of the routers. */
const SECTIONS: readonly (keyof Config)[] = [
  ...(['web', 'storage', 'cluster', 'schedule', 'connections', 'router_sources', 'backup'] as const),
  ...(['sinks', 'dead_letters', 'log_rules', 'redact'] as const),
];

/** Describes what a plan would change about the running configuration, without values. */
export async function summarizePlan(before: Config, plan: Plan): Promise<PlanSummary> {
  const { config } = plan;
  const { added, changed, removed, reconnected } = await plan.compare();
  const steps = new Steps();
  const routers: { name: string; keys: readonly string[] }[] = [];
  for (const router of changed.slice(0, LISTED_MAX)) {
    routers.push({ name: router.after.name, keys: listChangedKeys(router.before, router.after) });
    if (steps.isDue) await steps.next();
  }
  return {
    routers: {
      total: config.routers.length,
      added: { count: added.length, names: added.slice(0, LISTED_MAX) },
      changed: { count: changed.length, routers },
      removed: { count: removed.length, names: removed.slice(0, LISTED_MAX) },
      reconnected,
    },
    sections: SECTIONS.filter((key) => !areSameSettings(before[key], config[key])),
    needsRestart: listRestartKeys(before, config),
  };
}

/** Lists the keys that differ and that a reload cannot apply. */
export function listRestartKeys(before: Config, next: Config): readonly string[] {
  return [
    ...(areSameSettings(before.web.listen, next.web.listen) ? [] : ['web.listen']),
    ...(areSameSettings(before.storage, next.storage) ? [] : ['storage']),
    ...(areSameSettings(before.cluster, next.cluster) ? [] : ['cluster']),
    ...(areSameSettings(before.dead_letters, next.dead_letters) ? [] : ['dead_letters']),
  ];
}
