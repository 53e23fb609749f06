import { totalmem } from 'node:os';
import type { Writable } from 'node:stream';
import { type Clock, type Lifecycle, type Logger, type Random, renderErrorChain, StepQueue } from '../base/index.ts';
import { readEnvironment } from '../config/index.ts';
import { createSink } from '../delivery/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { openArchivePool } from '../logs/index.ts';
import { NameLookup, readDescriptorLimit } from '../net/index.ts';
import { ConnectionLimit, findConnectionsMax } from '../router/index.ts';
import { findRunsMax, type RunEnded, Scheduler } from '../schedule/index.ts';
import type { StoreError } from '../store/index.ts';
import type { SpoolSummary } from '../web/index.ts';
import { ClusterShare } from './cluster/cluster-share.ts';
import type { Cluster } from './cluster/open-cluster.ts';
import { SinkShare } from './cluster/sink-share.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { RouterParts } from './plan.ts';
import { Fleet } from './routers/fleet.ts';
import { LifecycleKeeper } from './routers/lifecycle-keeper.ts';
import { RouterAgent, type RouterEvent } from './routers/router-agent.ts';
import { SinkSupervisor } from './sinks/sink-supervisor.ts';
import { SpoolTrend } from './sinks/spool-trend.ts';
import { SpoolGuard } from './spool-guard.ts';
import { createRouterValues, type State } from './state.ts';
import { LineFeed } from './views/line-feed.ts';

/** State, clock and output of routers, sinks and backups. */
export interface StationsOptions extends Omit<State, 'recent'> {
  /** The cluster that shares the routers. Default: none. */
  readonly cluster?: Cluster | undefined;
  /** The agent's metrics about itself. */
  readonly metrics: SelfMetrics;
  /** Clock for everything that waits or reads the time. */
  readonly clock: Clock;
  /** Random numbers for the jitter of back-offs. */
  readonly random: Random;
  /** The agent's own log. */
  readonly logger: Logger;
  /** Version of the program, for the user agent of sinks. */
  readonly version: string;
  /** Output of sinks of type `stdout`. */
  readonly stdout: Writable;
  /** Ends the agent because it cannot continue. */
  readonly fail: (cause: unknown) => void;
}

/** Totals since the agent started. */
export interface AgentCounts {
  polls: number;
  recordsShipped: number;
  gaps: number;
}

/** Parts shared by all routers and sinks, independent of the configuration. */
export interface Stations extends Omit<State, 'opening' | 'recent' | 'spoolBytesMax'> {
  readonly metrics: SelfMetrics;
  readonly exposition: FleetExposition;
  readonly scheduler: Scheduler;
  /** Limit of concurrent runs without a configured one. */
  readonly runsMaxDefault: number;
  /** Bound of the connections to routers. */
  readonly connections: ConnectionLimit;
  /** The bound that applies without a configured one. */
  readonly connectionsMaxDefault: number;
  /** Number of files that the process may have open; `undefined` if unknown. */
  readonly descriptorsMax: number | undefined;
  readonly fleet: Fleet;
  /** The routers that run here, of those of a cluster; `undefined` outside one. */
  readonly share: ClusterShare | undefined;
  /** The sinks that this replica serves; `undefined` outside a cluster. */
  readonly sinkShare: SinkShare | undefined;
  /** Lines as they are stored. */
  readonly feed: LineFeed;
  readonly sinks: SinkSupervisor;
  readonly counts: Readonly<AgentCounts>;
  /** Returns the fill level of the spool, and what is paused because of it. */
  readonly describeSpool: () => SpoolSummary;
  /** Tells the sinks the number of routers whose records come together in their receivers, whatever process runs them. */
  readonly setFleetSize: (routers: number) => void;
  /** Creates the agent of one router; does not throw. */
  readonly createRouter: (parts: RouterParts) => RouterAgent;
  /** Called when the state could not be written and nothing was lost. */
  readonly onStoreFailed: (cause: StoreError) => void;
}

/** Threads for archives. A router that stalls in the middle of a large archive occupies one, so there is another. */
const ARCHIVE_WORKERS = 2;
/**
 * Downloads give way to polls, sinks and scrapes while these take all of the main thread, but not for longer: logs are read slowly
 * then, but all of them. Milliseconds.
 */
const PIECE_WAIT_MS_MAX = 50;
/** Variable of the environment with the number of threads of Node.js. */
const POOL_THREADS_NAME = 'UV_THREADPOOL_SIZE';
/** Bounds of the steps of stopping. Milliseconds. */
const STOP_MS = { archives: 500, routers: 1500, delivery: 3500, schedule: 1500, share: 100, trend: 100 };

/** Creates the stations and connects them. There are no routers and no sinks yet, and nothing is running. */
export function createStations(options: StationsOptions, lifecycle: Lifecycle): Stations {
  const { store, deadLetters, opening, metrics, spoolBytesMax, clock, logger, fail } = options;
  const archives = openArchivePool({ workers: ARCHIVE_WORKERS });
  lifecycle.onStop('decompression', STOP_MS.archives, () => archives.close());
  const counts: AgentCounts = { polls: 0, recordsShipped: 0, gaps: 0 };
  const exposition = new FleetExposition();
  const scheduler = new Scheduler({ clock, report: (event) => recordRun(event, metrics, logger) });
  const descriptorsMax = readDescriptorLimit();
  const resources = { descriptors: descriptorsMax, memoryBytes: process.constrainedMemory() || totalmem() };
  const connectionsMaxDefault = findConnectionsMax(resources);
  const connections = new ConnectionLimit(connectionsMaxDefault);
  const onStoreFailed = (cause: StoreError, router?: string) => {
    if (cause.code === 'broken') fail(cause);
    // Until then, the opening of the state is what is logged.
    // A replica that has lost a router, or has no engine, says so once and not for each value.
    else if (options.cluster && (cause.code === 'fenced' || cause.disposition === 'hold-back')) return;
    else if (!store.isWaiting) {
      const fields = { ...(router !== undefined && { router }), error: renderErrorChain(cause) };
      logger.warn('State of a router could not be stored', fields);
    }
  };
  const values = createRouterValues(store, onStoreFailed);
  const lifecycles = new LifecycleKeeper({ store, values, clock });
  const feed = new LineFeed();
  const fleet = new Fleet({ scheduler, exposition, store, lifecycle: lifecycles, clock, logger });
  lifecycle.onStop('routers', STOP_MS.routers, (signal) => fleet.close(signal));
  const late: { sinkShare?: SinkShare } = {};
  const size = { routers: 0 };
  const sinks = createSinks(options, size, counts, () => late.sinkShare?.noteSinks());
  lifecycle.onStop('sinks', STOP_MS.delivery, (signal) => sinks.drain(signal));
  lifecycle.onStop('polling', STOP_MS.schedule, () => scheduler.stop());
  const share = options.cluster && createShare(options.cluster, { fleet, ...options });
  const sinkShare = options.cluster && createSinkShare(options.cluster, { sinks, ...options });
  if (sinkShare) late.sinkShare = sinkShare;
  if (sinkShare) lifecycle.onStop('moves of sinks', STOP_MS.share, () => sinkShare.close());
  if (share) lifecycle.onStop('moves of routers', STOP_MS.share, () => share.close());
  const spool = new SpoolGuard({
    store,
    spoolBytesMax,
    isHeldBack: opening.fault !== undefined,
    clock,
    logger,
    onSpooled: () => sinks.wake(),
  });
  const pieces = new StepQueue(clock, PIECE_WAIT_MS_MAX);
  const shared = {
    records: spool,
    gate: share,
    values,
    archives,
    connections,
    beforePiece: () => pieces.next(),
    names: new NameLookup({ clock, threads: Number(readEnvironment()[POOL_THREADS_NAME]) || undefined }),
    exposition,
    feed,
    clock,
    logger,
    report: (event: RouterEvent) => recordRouterEvent(event, counts, options),
    trigger: (key: string) => void scheduler.trigger(key),
  };
  const createRouter = (parts: RouterParts) => new RouterAgent({ ...parts, ...shared });
  const trend = new SpoolTrend(clock, () => store.spooled.bytes);
  trend.start();
  lifecycle.onStop('trend', STOP_MS.trend, () => trend.stop());
  const describeSpool = () => {
    const routersHeldBack = spool.listRoutersHeldBack();
    const isEachHeldBack = routersHeldBack.length > 0 && routersHeldBack.length >= fleet.routers.length;
    const isHeldBack = spool.isHeldBack || isEachHeldBack;
    const secondsToFull = trend.findSecondsToFull(spoolBytesMax()) ?? null;
    return { ...store.spooled, bytesMax: spoolBytesMax(), secondsToFull, isHeldBack, routersHeldBack };
  };
  metrics.read({
    spool: describeSpool,
    sinkLags: () => sinks.measureLags(),
    deadLetters: () => sinks.countLetters(),
    routers: () => fleet.countStates(),
    runs: () => scheduler.load,
    connections: () => connections.load,
  });
  return {
    store,
    deadLetters,
    metrics,
    exposition,
    scheduler,
    runsMaxDefault: findRunsMax(resources),
    connections,
    connectionsMaxDefault,
    descriptorsMax,
    fleet,
    share,
    sinkShare,
    feed,
    sinks,
    counts,
    describeSpool,
    setFleetSize: (routers) => {
      size.routers = routers;
    },
    createRouter,
    onStoreFailed,
  };
}

function createSinks(
  options: StationsOptions,
  size: { readonly routers: number },
  counts: AgentCounts,
  onChanged: () => void,
): SinkSupervisor {
  const { store, deadLetters, metrics, clock, random, logger, version, stdout, fail } = options;
  return new SinkSupervisor({
    store,
    clock,
    random,
    logger,
    metrics,
    deadLetters,
    create: (settings) => {
      const onShortHello = (words: string) => logger.warn('Sink warning', { sink: settings.name, words });
      return createSink(settings, { clock, stdout, routers: () => size.routers, version, onShortHello });
    },
    onDelivered: (records) => {
      counts.recordsShipped += records;
    },
    onGone: fail,
    onChanged,
  });
}

function createShare(
  { membership }: Cluster,
  { fleet, metrics, clock, logger }: Pick<StationsOptions, 'metrics' | 'clock' | 'logger'> & Pick<Stations, 'fleet'>,
): ClusterShare {
  return new ClusterShare({
    membership,
    fleet,
    onCounted: (taken, gone) => {
      metrics.clusterMoves?.inc({ direction: 'taken' }, taken);
      metrics.clusterMoves?.inc({ direction: 'gone' }, gone);
    },
    clock,
    logger,
  });
}

function createSinkShare(
  { membership }: Cluster,
  { sinks, clock, logger }: Pick<StationsOptions, 'clock' | 'logger'> & Pick<Stations, 'sinks'>,
): SinkShare {
  return new SinkShare({
    membership,
    sinks: () => sinks.names,
    handOver: (sink, signal) => sinks.handOver(sink, signal),
    onMoved: () => sinks.wake(),
    onUnserved: (sink, owner) => sinks.noteUnserved(sink, owner),
    clock,
    logger,
  });
}

function recordRun({ key, lagMs, error }: RunEnded, metrics: SelfMetrics, logger: Logger): void {
  if (lagMs !== undefined) metrics.scheduleLag.observe(lagMs / 1000);
  if (error !== undefined) {
    logger.error('Scheduled task failed unexpectedly', { task: key, error: renderErrorChain(error) });
  }
}

/** Records router events that concern the agent as a whole. */
function recordRouterEvent(
  event: RouterEvent,
  counts: AgentCounts,
  { metrics, fail }: Pick<StationsOptions, 'metrics' | 'fail'>,
): void {
  switch (event.type) {
    case 'polled':
      counts.polls++;
      metrics.polls.inc({ result: event.isUp ? 'success' : 'failure' });
      return;
    case 'gap-found':
      counts.gaps++;
      return;
    case 'mapping-failed':
      metrics.mappingErrors.inc({ module: event.module, metric: event.metric });
      return;
    case 'store-failed':
      fail(event.cause);
      return;
  }
}
