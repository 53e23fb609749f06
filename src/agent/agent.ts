import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import {
  type Clock,
  createSystemClock,
  isSelected,
  Lifecycle,
  type Logger,
  type Random,
  renderDuration,
  renderErrorChain,
  StepQueue,
} from '../base/index.ts';
import { ConnectionLimit, findConnectionsMax } from '../client/index.ts';
import { type Cluster, type ClusterModule, loadCluster } from '../cluster/index.ts';
import { type Config, type LoadedConfig, readEnvironment, type WatchedFiles } from '../config/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import type { SourceKeeper, SourceOutcome } from '../inventory/index.ts';
import { openArchivePool } from '../logs/index.ts';
import { StoreError } from '../model/index.ts';
import { NameLookup, readDescriptorLimit } from '../net/index.ts';
import { type RunEnded, Scheduler } from '../schedule/index.ts';
import type { ConfigFault, SecretKeeper } from '../settings/index.ts';
import { createSink, type Sink, type SinkSettings } from '../sinks/index.ts';
import { AnswerFiles } from '../store/index.ts';
import {
  type EventSummary,
  openWebServer,
  type ReloadResult,
  type SpoolSummary,
  toWebPolicy,
  type WebContent,
  type WebServer,
} from '../web/index.ts';
import { AgentEvents } from './agent-events.ts';
import { createShardsView, FleetShare, openCluster } from './cluster.ts';
import { type RouterStateName, SelfMetrics } from './metrics/self-metrics.ts';
import { type Plan, preparePlan, type RouterParts, summarizePlan, toWebSettings } from './plan.ts';
import { ConfigReloader, Supervisor } from './reload.ts';
import { RepeatedWarnings } from './repeated-warnings.ts';
import { EVENTS_MAX } from './router-state/router-journal.ts';
import type { RouterEvent } from './router-state/router-state.ts';
import { createRouterValues } from './routers/adaptive-interval.ts';
import { Fleet } from './routers/fleet.ts';
import { LifecycleKeeper } from './routers/lifecycle-keeper.ts';
import { RouterAgent, type RouterAgentOptions } from './routers/router-agent.ts';
import { type CycleResult, runCycle } from './run-cycle.ts';
import { SpoolTrend } from './sinks/delivery-figures.ts';
import { SinkSupervisor } from './sinks/sink-supervisor.ts';
import { SpoolGuard } from './spool-guard.ts';
import { openState, reportUnstored, type State } from './state.ts';
import { FleetHistory } from './views/fleet-history.ts';
import { LineFeed, RecentRecords } from './views/recent-records.ts';
import { InventoryWatch, SecretWatch } from './watches.ts';
import { createWebContent } from './web-content.ts';

/** Configuration, clock and output of an agent. */
export interface AgentOptions {
  /** The configuration to start with, already checked. */
  readonly config: Config;
  /** Router files that cause a reload when they change. Default: none. */
  readonly watched?: WatchedFiles | undefined;
  /** Files that are compared with the running configuration when they change. Default: none. */
  readonly reread?: WatchedFiles | undefined;
  /** Warnings about the configuration. Default: none. */
  readonly warnings?: readonly ConfigFault[] | undefined;
  /** Reads the configuration again; absent: no reload. */
  readonly reload?: (() => Promise<LoadedConfig>) | undefined;
  /** Settings of the HTTP server from the command line. Default: none. */
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
  /** Secrets that can be read again. Default: none. */
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
  readonly states: Readonly<Record<RouterStateName, number>>;
  readonly polls: number;
  readonly recordsShipped: number;
  readonly gaps: number;
}

/**
 * Time limits of shutdown steps in milliseconds. With those of state and cluster, they stay below the ten seconds that
 * service managers allow.
 */
const STOP_MS = {
  configuration: 500,
  history: 100,
  events: 200,
  inventory: 200,
  secrets: 100,
  warnings: 100,
  web: 500,
  archives: 500,
  routers: 1500,
  delivery: 3500,
  schedule: 1500,
  share: 100,
  trend: 100,
  loop: 100,
};
/** Above the time limit of every run; a backup has the longest, 15 minutes. Milliseconds. */
const STALL_MS = 20 * 60_000;
/** Threads for archives: a router that stalls within a large archive occupies one. */
const ARCHIVE_WORKERS = 2;
/**
 * Longest wait of a piece of a download for polls, sinks and scrapes, so that logs are read even when these take all of
 * the main thread. Milliseconds.
 */
const PIECE_WAIT_MS_MAX = 50;
/** Stored events of each router, and of all of them: a text of 4 KiB for each of ten thousand. */
const EVENTS_MIN = 10;
const EVENTS_IN_ALL = 200_000;
/** Of the events of the agent. Bytes. */
const EVENTS_BYTES_MAX = 64 * 1024;
const POOL_THREADS_NAME = 'UV_THREADPOOL_SIZE';

/**
 * Starts the agent. Throws if it cannot, with everything released. While the disk cannot be written, the agent runs
 * without logs.
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const lifecycle = new Lifecycle(options.clock);
  const warnings = new RepeatedWarnings(options.logger, options.clock);
  lifecycle.onStop('warnings', STOP_MS.warnings, () => warnings.close());
  try {
    return await Agent.start({ ...options, logger: warnings.logger }, lifecycle);
  } catch (cause) {
    await lifecycle.stop();
    throw cause;
  }
}

/** A running agent. Everything is stopped in the reverse order of its creation. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #lifecycle: Lifecycle;
  readonly #web: WebServer;
  readonly #failed = new AbortController();
  readonly #quit = new AbortController();
  #isStopping = false;
  readonly #counts = { polls: 0, recordsShipped: 0, gaps: 0 };
  #fleetSize = 0;
  readonly #metrics: SelfMetrics;
  readonly #cluster: Cluster | undefined;
  readonly #state: State;
  readonly #exposition = new FleetExposition();
  readonly #scheduler: Scheduler;
  /** Maximum number of open files of the process; `undefined` if unknown. */
  readonly #descriptorsMax = readDescriptorLimit();
  readonly #memoryBytes = process.constrainedMemory() || totalmem();
  readonly #connectionsMaxDefault: number;
  readonly #connections: ConnectionLimit;
  readonly #feed = new LineFeed();
  readonly #fleet: Fleet;
  readonly #sinks: SinkSupervisor;
  /** This replica's part of a cluster; `undefined` outside one. */
  readonly #share: FleetShare | undefined;
  readonly #spool: SpoolGuard;
  readonly #trend: SpoolTrend;
  readonly #shared: Omit<RouterAgentOptions, 'settings' | 'lifecycle' | 'hasSinks' | 'lines' | 'backup'>;
  readonly #supervisor: Supervisor;
  readonly #inventory: InventoryWatch;
  readonly #reloader: ConfigReloader;
  readonly #history: FleetHistory;
  readonly #events: AgentEvents;
  readonly #content: WebContent;

  /** Starts an agent and registers what to release in `lifecycle`. See {@link startAgent}. */
  static async start(options: AgentOptions, lifecycle: Lifecycle): Promise<Agent> {
    const web = await openWeb(options, lifecycle);
    const agent = new Agent(options, { web, engine: options.config.cluster && (await loadCluster()) }, lifecycle);
    await agent.#begin();
    return agent;
  }

  /** Creates and connects everything. There are no routers and no sinks yet, and nothing runs. */
  constructor(
    options: AgentOptions,
    { web, engine }: { readonly web: WebServer; readonly engine: ClusterModule | undefined },
    lifecycle: Lifecycle,
  ) {
    const { config, clock, random, logger, version } = options;
    this.#options = options;
    this.#lifecycle = lifecycle;
    this.#web = web;
    const metrics = new SelfMetrics(version);
    this.#metrics = metrics;
    // Of the process, whatever the time of the agent.
    lifecycle.onStop('event loop', STOP_MS.loop, metrics.measureLoop(createSystemClock()));
    const fail = (cause: unknown) => this.#failed.abort(cause);
    const own = { metrics, clock, logger, fail };
    const { cluster } = config;
    this.#cluster = engine && cluster && openCluster(engine, { ...own, settings: cluster, version }, lifecycle);
    this.#state = openState({ ...own, config, cluster: this.#cluster, onRecords: () => this.#sinks.wake() }, lifecycle);
    const { store, deadLetters, opening, spoolBytesMax } = this.#state;
    // Pages are served until then, so that a stopping agent can be observed.
    lifecycle.onStop('pages', STOP_MS.web, () => web.serve(undefined));
    const archives = openArchivePool({ workers: ARCHIVE_WORKERS });
    lifecycle.onStop('decompression', STOP_MS.archives, () => archives.close());
    this.#scheduler = new Scheduler({ clock, report: (event) => this.#onRun(event) });
    this.#connectionsMaxDefault = findConnectionsMax({
      descriptors: this.#descriptorsMax,
      memoryBytes: this.#memoryBytes,
    });
    this.#connections = new ConnectionLimit(this.#connectionsMaxDefault);
    const values = createRouterValues(store, (cause, router) => this.#onUnstored(cause, router));
    this.#fleet = new Fleet({
      scheduler: this.#scheduler,
      exposition: this.#exposition,
      store,
      lifecycle: new LifecycleKeeper({ store, values, clock }),
      clock,
      logger,
    });
    lifecycle.onStop('routers', STOP_MS.routers, (signal) => this.#fleet.close(signal));
    this.#sinks = new SinkSupervisor({
      store,
      clock,
      random,
      logger,
      metrics,
      deadLetters,
      create: (settings) => this.#createSink(settings),
      onDelivered: (records) => {
        this.#counts.recordsShipped += records;
      },
      onGone: fail,
      onChanged: () => this.#share?.refreshSinks(),
    });
    lifecycle.onStop('sinks', STOP_MS.delivery, (signal) => this.#sinks.drain(signal));
    lifecycle.onStop('polling', STOP_MS.schedule, () => this.#scheduler.stop());
    this.#share = this.#cluster && new FleetShare(this.#cluster, this.#fleet, this.#sinks);
    lifecycle.onStop('moves', STOP_MS.share, () => this.#share?.close());
    this.#spool = new SpoolGuard({
      store,
      spoolBytesMax,
      isHeldBack: opening.fault !== undefined,
      clock,
      logger,
      onSpooled: () => this.#sinks.wake(),
    });
    this.#trend = new SpoolTrend(clock, () => store.spooled.bytes);
    lifecycle.onStop('trend', STOP_MS.trend, () => this.#trend.stop());
    const pieces = new StepQueue(clock, PIECE_WAIT_MS_MAX);
    this.#shared = {
      records: this.#spool,
      journal: {
        isWanted: (kind, router) =>
          this.#supervisor.config.sinks.some(
            (sink) => isSelected(kind, sink.events) && isSelected(router, sink.routers),
          ),
        eventsMax: () => Math.max(EVENTS_MIN, Math.min(EVENTS_MAX, Math.floor(EVENTS_IN_ALL / this.#fleetSize))),
        onUnstored: (cause, router) => this.#onUnstored(cause, router),
      },
      gate: this.#cluster?.routers,
      values,
      archives,
      connections: this.#connections,
      beforePiece: () => pieces.next(),
      names: new NameLookup({ clock, threads: Number(readEnvironment()[POOL_THREADS_NAME]) || undefined }),
      exposition: this.#exposition,
      feed: this.#feed,
      clock,
      logger,
      report: (event) => this.#count(event),
      trigger: (key) => void this.#scheduler.trigger(key),
    };
    this.#supervisor = new Supervisor({
      config,
      prepare: (next) => this.#prepare(next),
      onConfigured: options.onConfigured,
      clock,
      logger,
    });
    this.#reloader = new ConfigReloader({
      load: options.reload,
      prepare: (next) => this.#prepare(next),
      tryOut: async (next) => summarizePlan(this.#supervisor.config, await this.#prepare(next, true)),
      commit: (plan) => this.#supervisor.commit(plan),
      onReloaded: (change, [fault]) => {
        const { added, changed, removed } = change ?? {};
        const words = change ? `${added} routers added, ${changed} changed, ${removed} removed` : fault;
        this.#events.add('agent.reload', `Reload ${change ? 'succeeded' : 'failed'}: ${words}`, { ...change });
      },
      onCommitted: ({ config: next, sources }) => this.#inventory.apply(next.router_sources, sources ?? []),
      watched: options.watched,
      reread: options.reread,
      warnings: options.warnings,
      clock,
      logger,
      metrics,
    });
    lifecycle.onStop('configuration', STOP_MS.configuration, () => this.#reloader.close());
    const reload = (isNeeded: () => boolean) => this.#reloader.reload(isNeeded);
    this.#inventory = new InventoryWatch({ inventory: options.inventory, reload, clock, logger });
    lifecycle.onStop('inventory', STOP_MS.inventory, () => this.#inventory.close());
    this.#history = new FleetHistory(clock, () => this.#fleet.countForPages());
    lifecycle.onStop('history', STOP_MS.history, () => this.#history.stop());
    this.#events = new AgentEvents({
      files: new AnswerFiles(join(config.storage.path, 'events'), EVENTS_BYTES_MAX),
      canWrite: () => opening.fault === undefined,
      clock,
      onFailed: (cause) => logger.warn('Events of the agent could not be stored', { error: renderErrorChain(cause) }),
    });
    lifecycle.onStop('events', STOP_MS.events, () => this.#events.written);
    this.#content = this.#createContent();
    metrics.read({
      spool: () => this.#describeSpool(),
      sinkLags: () => this.#sinks.measureLags(),
      deadLetters: () => this.#sinks.countDeadLetters(),
      routers: () => this.#fleet.countStates(),
      runs: () => this.#scheduler.load,
      connections: () => this.#connections.load,
      sources: () => this.#inventory.describe(),
    });
  }

  /** Base URLs of its pages, as in `http://127.0.0.1:9847`. */
  get urls(): readonly string[] {
    return this.#web.urls;
  }

  /** Aborts when a shutdown was requested over HTTP. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Aborts when the agent cannot continue, with the cause as reason. Stop it then. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  summary(): AgentSummary {
    return { routers: this.#fleet.routers.length, states: this.#fleet.countStates(), ...this.#counts };
  }

  /** Returns the newest events of all routers and of the agent. */
  listEvents(max: number): readonly EventSummary[] {
    return this.#content.listEvents({ max });
  }

  /** Returns the reason if the agent needs a restart: no run has started or ended for longer than any run may take. */
  findStall(): string | undefined {
    const { stalledMs } = this.#scheduler;
    if (stalledMs < STALL_MS) return undefined;
    return `No poll or other run has started or ended for ${renderDuration(Math.round(stalledMs / 1000) * 1000)}`;
  }

  /** Loads the configuration again, completely or not at all. Faults are in the result and in the log. */
  reload(): Promise<ReloadResult> {
    return this.#reloader.reload();
  }

  /** Polls every router and reads its logs once, then waits for the deliveries. Rejects with the reason of `signal`. */
  runCycle(signal: AbortSignal): Promise<CycleResult> {
    const { clock } = this.#options;
    return runCycle({ fleet: this.#fleet, scheduler: this.#scheduler, sinks: this.#sinks, clock }, signal);
  }

  async renderMetrics(): Promise<string> {
    return (await Array.fromAsync(this.#content.renderMetrics('text', { kind: 'all' }))).join('');
  }

  /** Resolves when no run is in progress and no record is in flight. */
  async whenIdle(): Promise<void> {
    await this.#scheduler.whenIdle();
    await this.#sinks.whenIdle();
  }

  /** Stops polling, delivers spooled records, logs out, and releases everything, within 9 seconds. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { step, cause } of await this.#lifecycle.stop()) {
      const hint = step === 'routers' && { hint: 'Sessions of routers that answer slowly end by their auto-logout' };
      this.#options.logger.warn('A shutdown step failed', { step, error: renderErrorChain(cause), ...hint });
    }
  }

  async #begin(): Promise<void> {
    const { config, secrets, sources = [], clock, logger } = this.#options;
    this.#trend.start();
    // First delivers the records that an earlier process left in the spool.
    await this.#supervisor.start(this.#failed.signal);
    this.#scheduler.start();
    this.#share?.start();
    this.#reloader.start();
    if (secrets) {
      const watch = new SecretWatch({ secrets, clock, logger });
      this.#lifecycle.onStop('secrets', STOP_MS.secrets, () => watch.close());
    }
    this.#state.opening.whenOpen(() => this.#sinks.wake());
    this.#history.start();
    await this.#events.written;
    const { version } = this.#options;
    this.#events.add('agent.start', `The agent ${version} started`, { version, routers: config.routers.length });
    this.#web.serve(this.#content);
    await this.#inventory.apply(config.router_sources, sources);
    logger.info('Started', { routers: config.routers.length, sinks: config.sinks.length, urls: this.urls });
  }

  #prepare(config: Config, isTrial = false): Promise<Plan> {
    const { clock, logger } = this.#options;
    const options = {
      web: this.#web,
      sinks: this.#sinks,
      scheduler: this.#scheduler,
      memoryBytes: this.#memoryBytes,
      metrics: this.#metrics,
      connections: this.#connections,
      connectionsMaxDefault: this.#connectionsMaxDefault,
      descriptorsMax: this.#descriptorsMax,
      setFleetSize: (routers: number) => {
        this.#fleetSize = routers;
      },
      fleet: this.#share ?? this.#fleet,
      store: this.#state.store,
      createRouter: (parts: RouterParts) => new RouterAgent({ ...parts, ...this.#shared }),
      onStoreFailed: (cause: StoreError) => this.#onUnstored(cause),
      clock,
      logger,
    };
    return preparePlan(config, options, isTrial);
  }

  #createSink(settings: SinkSettings): Sink {
    const { clock, stdout, version, logger } = this.#options;
    const onShortHello = (words: string) => logger.warn('Sink warning', { sink: settings.name, words });
    return createSink(settings, { clock, stdout, routers: () => this.#fleetSize, version, onShortHello });
  }

  #createContent(): WebContent {
    const { clock } = this.#options;
    const fleet = this.#fleet;
    return createWebContent({
      config: () => this.#supervisor.config,
      describeShards: this.#cluster
        ? createShardsView(this.#cluster, fleet, clock, () => this.#supervisor.config)
        : () => this.#supervisor.shards,
      fleet,
      sinks: this.#sinks,
      deadLetters: this.#state.deadLetters,
      scheduler: this.#scheduler,
      feed: this.#feed,
      recent: new RecentRecords(this.#state.recent, (name) => fleet.find(name) !== undefined),
      history: this.#history,
      events: this.#events,
      exposition: this.#exposition,
      metrics: this.#metrics,
      clock,
      counts: this.#counts,
      describeSpool: () => this.#describeSpool(),
      describeConfiguration: () => ({ ...this.#reloader.describe(), sources: this.#inventory.describe() }),
      findUnreadiness: () => this.#findUnreadiness(),
      reload: (acceptedSource) => this.#accept(acceptedSource),
      tryReload: () => this.#reloader.tryOut(),
      quit: () => this.#quit.abort(),
      onFailed: (cause) => logPageFailure(this.#options.logger, cause),
    });
  }

  /** With a source: only if its answer waits for confirmation. */
  async #accept(source: string | undefined): Promise<ReloadResult> {
    if (source === undefined || this.#inventory.confirm(source)) return await this.#reloader.reload();
    return { ok: false, faults: [`No answer of a source "${source}" waits to be confirmed`] };
  }

  #describeSpool(): SpoolSummary {
    const { store, spoolBytesMax } = this.#state;
    const bytesMax = spoolBytesMax();
    const routersHeldBack = this.#spool.listRoutersHeldBack();
    const isEachHeldBack = routersHeldBack.length > 0 && routersHeldBack.length >= this.#fleet.routers.length;
    const isHeldBack = this.#spool.isHeldBack || isEachHeldBack;
    const secondsToFull = this.#trend.findSecondsToFull(bytesMax) ?? null;
    return { ...store.spooled, bytesMax, secondsToFull, isHeldBack, routersHeldBack };
  }

  #findUnreadiness(): string | undefined {
    const { fault } = this.#state.opening;
    if (this.#isStopping) return 'The agent is starting or stopping; try again later.';
    if (fault) return `The state cannot be written, so no logs are read: ${renderErrorChain(fault)}`;
    // Ready once it was a member: from then on it knows the owners of all routers.
    if (this.#cluster?.hasJoined === false) return 'This replica has no lease of its cluster yet.';
    return undefined;
  }

  #onUnstored(cause: StoreError, router?: string): void {
    const { store } = this.#state;
    const fail = (reason: unknown) => this.#failed.abort(reason);
    const isShared = this.#cluster !== undefined;
    reportUnstored(cause, { router, store, isShared, fail, logger: this.#options.logger });
  }

  #onRun({ key, lagMs, error }: RunEnded): void {
    // Keys are ROUTER/ACTIVITY, and names of routers may contain slashes.
    const activity = key.slice(key.lastIndexOf('/') + 1);
    if (lagMs !== undefined) this.#metrics.scheduleLag.observe({ activity }, lagMs / 1000);
    if (error === undefined) return;
    this.#options.logger.error('Scheduled task failed unexpectedly', { task: key, error: renderErrorChain(error) });
  }

  #count(event: RouterEvent): void {
    if (event.type === 'polled') {
      this.#counts.polls++;
      this.#metrics.polls.inc({ result: event.result.isUp ? 'success' : 'failure' });
      for (const { module, metric } of event.result.resources.flatMap(({ faults }) => faults)) {
        this.#metrics.mappingErrors.inc({ module, metric });
      }
    }
    if (event.type === 'log-gap-found' && event.reason !== 'skipped') this.#counts.gaps++;
    const isBroken = event.type === 'logs-failed' && event.cause instanceof StoreError && event.cause.code === 'broken';
    if (isBroken) this.#failed.abort(event.cause);
  }
}

/** Until it has content, the server answers only the liveness check. */
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
