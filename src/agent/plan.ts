import { BackupCalendar, type BackupSettings, ProfileArchive } from '../backup/index.ts';
import type { Clock, Logger } from '../base/index.ts';
import type { ConnectionLimit } from '../client/index.ts';
import { type Config, listChangedKeys, SECTIONS } from '../config/index.ts';
import { type Store, StoreError } from '../model/index.ts';
import { findRunsMax, type Scheduler } from '../schedule/index.ts';
import { areSameSettings } from '../settings/index.ts';
import { type PlanSummary, toWebPolicy, type WebServer, type WebSettings } from '../web/index.ts';
import { LineProcessing } from './line-processing.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { Fleet, FleetChange, FleetDifference, FleetWish } from './routers/fleet.ts';
import type { RouterAgent, RouterAgentOptions } from './routers/router-agent.ts';
import type { BackupPlan } from './routers/router-backup.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';

export type RouterParts = Pick<RouterAgentOptions, 'settings' | 'lifecycle' | 'hasSinks' | 'lines' | 'backup'>;

interface PlanOptions {
  readonly web: Pick<WebServer, 'prepare'>;
  readonly sinks: Pick<SinkSupervisor, 'prepare'>;
  readonly scheduler: Pick<Scheduler, 'limitRuns'>;
  readonly memoryBytes: number;
  readonly metrics: Pick<SelfMetrics, 'setShard' | 'setFirmwareVersions'>;
  readonly connections: Pick<ConnectionLimit, 'setMax'>;
  readonly connectionsMaxDefault: number;
  /** Passes the sinks the number of routers whose records reach the same receivers, over all processes. */
  readonly setFleetSize: (routers: number) => void;
  /** Maximum number of open files of the process; `undefined` if unknown. */
  readonly descriptorsMax: number | undefined;
  readonly fleet: Pick<Fleet, 'apply' | 'compare'>;
  readonly store: Pick<Store, 'keepRouters'>;
  readonly createRouter: (parts: RouterParts) => RouterAgent;
  /** Called when the state could not be written. */
  readonly onStoreFailed: (cause: StoreError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Plan {
  readonly config: Config;
  readonly compare: () => Promise<FleetDifference>;
  /**
   * Makes it the running configuration. Never rejects. `signal` bounds the last deliveries of removed sinks and the
   * logouts of removed routers.
   */
  readonly commit: (signal: AbortSignal) => Promise<FleetChange>;
}

/**
 * Does everything about a configuration that can fail, without changing what runs. Throws if it fails; it may have
 * created the backup folder. Sinks come last, because preparing them writes to the store; with `isTrial` that is left
 * out, and the plan must not be committed.
 */
export async function preparePlan(config: Config, options: PlanOptions, isTrial = false): Promise<Plan> {
  const { web, sinks, metrics, fleet, store, createRouter, onStoreFailed, clock, logger } = options;
  const lines = LineProcessing.of(config.log_rules, config.redact);
  const switchWeb = web.prepare(toWebPolicy(toWebSettings(config)));
  const backup = config.backup && (await prepareBackup(config.backup, clock));
  const sinkChange = await sinks.prepare(config.sinks, isTrial);
  const hasSinks = config.sinks.length > 0;
  const { routers, firmware_versions: firmwareVersions = [] } = config;
  const create: FleetWish['create'] = (one, lifecycle) =>
    createRouter({ settings: one, lifecycle, hasSinks, lines, backup: backup?.plan });
  const common = { hasSinks, backup: config.backup };
  return {
    config,
    compare: () => fleet.compare({ routers, common }),
    async commit(signal) {
      switchWeb();
      metrics.setShard(config.shards?.index ?? 0, config.shards?.total ?? 1);
      metrics.setFirmwareVersions(firmwareVersions);
      applyLimits(config, options);
      options.setFleetSize(routers.length + (config.shards?.others.size ?? 0));
      if (backup) sayWhere(backup, logger);
      // Concurrent: a removed sink that hangs must not use up the time for logouts from removed routers.
      const [change] = await Promise.all([
        fleet.apply({ routers, common, lines, firmwareVersions, create }, signal),
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

/** Returns the settings of the web server, with the name under which the other replicas of a cluster reach this one. */
export function toWebSettings({ web, cluster }: Pick<Config, 'web' | 'cluster'>): WebSettings {
  return cluster?.advertise === undefined ? web : { ...web, peers: [cluster.advertise] };
}

function applyLimits({ schedule, connections, routers }: Config, options: PlanOptions): void {
  const { memoryBytes, connectionsMaxDefault, descriptorsMax, logger } = options;
  const connectionsMax = connections.max ?? connectionsMaxDefault;
  options.connections.setMax(connectionsMax);
  const runsMax =
    schedule.concurrent_runs ?? findRunsMax({ descriptors: descriptorsMax, memoryBytes, routers: routers.length });
  // A run without a connection would only wait for one.
  options.scheduler.limitRuns(Math.min(runsMax, connectionsMax));
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
  logger.info('The profiles in the backup folder contain secrets of the routers', { path });
  if (isOpenToOthers) logger.warn('Other users of this machine can read the backup folder', { path });
}

/** Routers listed by name for each kind of change; a whole fleet may change. */
const LISTED_MAX = 100;

/** Describes how a plan would change the running configuration, without values. */
export async function summarizePlan(before: Config, plan: Plan): Promise<PlanSummary> {
  const { config } = plan;
  const { added, changed, removed, reconnected } = await plan.compare();
  const routers = changed.slice(0, LISTED_MAX).map((router) => {
    return { name: router.after.name, keys: listChangedKeys(router.before, router.after) };
  });
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

const RESTART_KEYS = ['web.listen', 'storage', 'cluster', 'dead_letters'] as const;

/** Returns the keys that differ and that a reload cannot apply. */
export function listRestartKeys(before: Config, next: Config): readonly string[] {
  const [old, wanted] = [before, next].map((config) => ({ ...config, 'web.listen': config.web.listen }));
  return RESTART_KEYS.filter((key) => !areSameSettings(old?.[key], wanted?.[key]));
}
