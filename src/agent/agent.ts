import type { Writable } from 'node:stream';
import { type Clock, Lifecycle, type Logger, type Random, renderDuration, renderErrorChain } from '../base/index.ts';
import type { Config, LoadedConfig, WatchedFiles } from '../config/index.ts';
import type { SourceKeeper, SourceOutcome } from '../inventory/index.ts';
import type { ConfigFault, SecretKeeper } from '../settings/index.ts';
import type { StoreError } from '../store/index.ts';
import { openWebServer, type ReloadResult, toWebPolicy, type WebContent, type WebServer } from '../web/index.ts';
import { createShardsView } from './cluster/describe-shards.ts';
import { type Cluster, openCluster } from './cluster/open-cluster.ts';
import { ConfigReloader } from './config-reloader.ts';
import { InventoryWatch } from './inventory-watch.ts';
import { SelfMetrics } from './metrics/self-metrics.ts';
import { type Plan, preparePlan, toWebSettings } from './plan.ts';
import { RepeatedWarnings } from './repeated-warnings.ts';
import { type CycleResult, runCycle } from './run-cycle.ts';
import { SecretWatch } from './secret-watch.ts';
import { openState } from './state.ts';
import { createStations, type Stations } from './stations.ts';
import { summarizePlan } from './summarize-plan.ts';
import { Supervisor } from './supervisor.ts';
import { FleetHistory } from './views/fleet-history.ts';
import { RecentRecords } from './views/recent-records.ts';
import { createWebContent } from './web-content.ts';

/** Configuration, clock and output of an agent. */
export interface AgentOptions {
  /** The configuration to start with, already checked. */
  readonly config: Config;
  /** Files of routers that are watched for changes. Default: none. */
  readonly watched?: WatchedFiles | undefined;
  /** Files whose changes wait for a reload, and are compared with what runs. Default: none. */
  readonly reread?: WatchedFiles | undefined;
  /** Warnings about the configuration. Default: none. */
  readonly warnings?: readonly ConfigFault[] | undefined;
  /** Reads the configuration again; absent: no reload. */
  readonly reload?: (() => Promise<LoadedConfig>) | undefined;
  /** Settings of the HTTP server that come from the command line. Default: none. */
  readonly web?: AgentWebOptions | undefined;
  /** Version of the program, for metrics and the user agent. */
  readonly version: string;
  /** Clock for everything that waits or reads the time. */
  readonly clock: Clock;
  /** Random numbers for the jitter of back-offs. */
  readonly random: Random;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Called with the running configuration after each successful reload. */
  readonly onConfigured?: ((config: Config) => Promise<void>) | undefined;
  /** Output of sinks of type `stdout`. */
  readonly stdout: Writable;
  /** The secrets of the configuration that can be read again. Default: none. */
  readonly secrets?: SecretKeeper | undefined;
  /** Answers of the sources of routers. Default: none. */
  readonly inventory?: SourceKeeper | undefined;
  /** Outcome of each source in this configuration. Default: none. */
  readonly sources?: readonly SourceOutcome[] | undefined;
}

/** Settings of the web server from the command line. */
export interface AgentWebOptions {
  /** Enables `POST /-/reload` and `POST /-/quit`. Default false. */
  readonly isLifecycleEnabled?: boolean | undefined;
  /** Path prefix of all routes. Default: the path of `externalUrl`, or none. */
  readonly routePrefix?: string | undefined;
  /** URL under which others reach the agent. Default: none. */
  readonly externalUrl?: string | undefined;
}

/** Totals since the agent started. */
export interface AgentSummary {
  readonly routers: number;
  readonly routersUp: number;
  readonly polls: number;
  readonly recordsShipped: number;
  readonly gaps: number;
}

/** A running agent. */
export interface Agent {
  /** Base addresses of its pages, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  /** Aborts when a shutdown was requested over HTTP. */
  readonly quit: AbortSignal;
  /** Aborts when the agent cannot continue; the reason is the cause. Stop it then. */
  readonly failed: AbortSignal;
  summary(): AgentSummary;
  /** Returns why the agent needs a restart: no run has started or ended for longer than any run may take. `undefined` while it is well. */
  findStall(): string | undefined;
  /** Loads the configuration again: all of it or nothing. Faults are in the result and in the log. */
  reload(): Promise<ReloadResult>;
  /** Polls every router and reads its logs once, and waits for the deliveries. Rejects with the reason of `signal`. */
  runCycle(signal: AbortSignal): Promise<CycleResult>;
  /** Renders all metrics as text. */
  renderMetrics(): Promise<string>;
  /** Resolves when no run is in progress and no record is in flight. */
  whenIdle(): Promise<void>;
  /** Stops polling, delivers spooled records, logs out, and releases everything, within 9 seconds. */
  stop(): Promise<void>;
}

/** Bounds of the steps of stopping, milliseconds; with those of the stations below the ten seconds that service managers allow. */
const STOP_MS = { configuration: 500, history: 100, inventory: 200, secrets: 100, warnings: 100, web: 500 };

/**
 * Starts the agent. Throws if it cannot, with everything released. While the disk cannot be written, the
 * agent runs without logs.
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const lifecycle = new Lifecycle(options.clock);
  const warnings = new RepeatedWarnings(options.logger, options.clock);
  lifecycle.onStop('warnings', STOP_MS.warnings, () => warnings.close());
  try {
    return await start({ ...options, logger: warnings.logger }, lifecycle);
  } catch (cause) {
    await lifecycle.stop();
    throw cause;
  }
}

async function start(options: AgentOptions, lifecycle: Lifecycle): Promise<Agent> {
  const { config, clock, logger } = options;
  const [failed, quit] = [new AbortController(), new AbortController()];
  const web = await openWeb(options, lifecycle);
  const metrics = new SelfMetrics(options.version);
  const fail = (cause: unknown) => failed.abort(cause);
  const cluster = config.cluster && openCluster({ ...options, settings: config.cluster, metrics, fail }, lifecycle);
  const late: { wake: () => void } = { wake: () => {} };
  const state = openState({ ...options, cluster, metrics, fail, onRecords: () => late.wake() }, lifecycle);
  // Pages are served until then, so that a stopping agent can be observed.
  lifecycle.onStop('pages', STOP_MS.web, () => web.serve(undefined));
  const stations = createStations({ ...options, ...state, cluster, metrics, fail }, lifecycle);
  const { share, sinkShare } = stations;
  late.wake = () => stations.sinks.wake();
  const own = { web, metrics, clock, logger };
  const parts = { ...stations, fleet: share ?? stations.fleet, ...own };
  const prepare = (next: Config) => preparePlan(next, parts);
  const supervisor = new Supervisor({ ...options, prepare });
  // Delivers first what an earlier process left in the spool.
  await supervisor.start(failed.signal);
  stations.scheduler.start();
  if (share && sinkShare) cluster?.begin(share, sinkShare);
  const commit = (plan: Plan) => supervisor.commit(plan);
  const reload = (isNeeded?: () => boolean) => reloader.reload(isNeeded);
  const inventory = new InventoryWatch({ inventory: options.inventory, reload, clock, logger });
  const reloader = new ConfigReloader({
    ...options,
    load: options.reload,
    prepare,
    tryOut: async (next) => summarizePlan(supervisor.config, await preparePlan(next, parts, true)),
    commit,
    onCommitted: (loaded) => inventory.apply(loaded.config.router_sources, loaded.sources ?? []),
    metrics,
  });
  lifecycle.onStop('configuration', STOP_MS.configuration, () => reloader.close());
  lifecycle.onStop('inventory', STOP_MS.inventory, () => inventory.close());
  metrics.readSources(() => inventory.describe());
  if (options.secrets) {
    const watch = new SecretWatch({ secrets: options.secrets, clock, logger });
    lifecycle.onStop('secrets', STOP_MS.secrets, () => watch.close());
  }
  state.opening.whenOpen(() => stations.sinks.wake());
  const readiness = { isReady: true };
  const history = new FleetHistory(clock, () => stations.fleet.countForPages());
  history.start();
  lifecycle.onStop('history', STOP_MS.history, () => history.stop());
  const content = createWebContent({
    ...stations,
    config: () => supervisor.config,
    shards: cluster
      ? createShardsView(
          { settings: cluster.settings, membership: cluster.membership, fleet: stations.fleet },
          clock,
          () => supervisor.config,
        )
      : () => supervisor.shards,
    history,
    recent: new RecentRecords(state.recent, (name) => stations.fleet.find(name) !== undefined),
    clock,
    spool: stations.describeSpool,
    describeConfiguration: () => ({ ...reloader.describe(), sources: inventory.describe() }),
    findUnreadiness: () =>
      readiness.isReady ? (describeFault(state.opening.fault) ?? describeAbsence(cluster)) : NOT_RUNNING,
    reload: (acceptedSource) => {
      if (acceptedSource === undefined || inventory.confirm(acceptedSource)) return reload();
      return Promise.resolve({
        ok: false,
        faults: [`No answer of a source "${acceptedSource}" waits to be confirmed`],
      });
    },
    tryReload: () => reloader.tryOut(),
    quit: () => quit.abort(),
    onFailed: (cause) => logPageFailure(logger, cause),
  });
  web.serve(content);
  await inventory.apply(config.router_sources, options.sources ?? []);
  logger.info('Started', { routers: config.routers.length, sinks: config.sinks.length, urls: web.urls });
  return createAgent({
    ...stations,
    content,
    clock,
    urls: web.urls,
    reloader,
    failed,
    quit,
    readiness,
    lifecycle,
    logger,
  });
}

/** Above the time limit of every run; the longest, a backup, has 15 minutes. Milliseconds. */
const STALL_MS = 20 * 60_000;

function describeStall(stalledMs: number): string | undefined {
  if (stalledMs < STALL_MS) return undefined;
  return `No poll or other run has started or ended for ${renderDuration(Math.round(stalledMs / 1000) * 1000)}`;
}

const NOT_RUNNING = 'The agent is starting or stopping; try again later.';

function describeFault(fault: StoreError | undefined): string | undefined {
  return fault && `The state cannot be written, so no logs are read: ${renderErrorChain(fault)}`;
}

/** A replica is ready once it was a member: then it answers for its routers, and knows who has the others. */
function describeAbsence(cluster: Cluster | undefined): string | undefined {
  return !cluster || cluster.hasJoined ? undefined : 'This replica has no lease of its cluster yet.';
}

interface AgentParts extends Pick<Stations, 'fleet' | 'counts' | 'scheduler' | 'sinks'> {
  readonly urls: readonly string[];
  readonly content: Pick<WebContent, 'renderMetrics'>;
  readonly clock: Clock;
  readonly reloader: ConfigReloader;
  readonly failed: AbortController;
  readonly quit: AbortController;
  readonly readiness: { isReady: boolean };
  readonly lifecycle: Lifecycle;
  readonly logger: Logger;
}

function createAgent(parts: AgentParts): Agent {
  const { urls, fleet, counts, scheduler, sinks, reloader, failed, quit, readiness, lifecycle, logger } = parts;
  return {
    urls,
    quit: quit.signal,
    failed: failed.signal,
    summary: () => ({ routers: fleet.routers.length, routersUp: fleet.countStates().up, ...counts }),
    findStall: () => describeStall(scheduler.stalledMs),
    reload: () => reloader.reload(),
    runCycle: (signal) => runCycle(parts, signal),
    renderMetrics: async () => (await Array.fromAsync(parts.content.renderMetrics('text', { kind: 'all' }))).join(''),
    async whenIdle() {
      await scheduler.whenIdle();
      await sinks.whenIdle();
    },
    async stop() {
      readiness.isReady = false;
      for (const { step, cause } of await lifecycle.stop()) {
        logger.warn('A shutdown step failed', { step, error: renderErrorChain(cause) });
      }
    },
  };
}

/** Opens the web server; until it has content it answers only the liveness check. */
async function openWeb({ config, web, clock, logger }: AgentOptions, lifecycle: Lifecycle): Promise<WebServer> {
  const server = await openWebServer({
    ...toWebPolicy(toWebSettings(config)),
    addresses: config.web.listen,
    clock,
    routePrefix: web?.routePrefix,
    externalUrl: web?.externalUrl,
    isLifecycleEnabled: web?.isLifecycleEnabled ?? false,
    onFailed: (cause) => logPageFailure(logger, cause),
  });
  lifecycle.onStop('web', STOP_MS.web, () => server.close());
  return server;
}

function logPageFailure(logger: Logger, cause: unknown): void {
  logger.error('Could not render a page', { error: renderErrorChain(cause) });
}
