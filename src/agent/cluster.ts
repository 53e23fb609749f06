import { type Clock, type Lifecycle, type Logger, renderErrorChain } from '../base/index.ts';
import type { Cluster, ClusterEvent, ClusterModule, ClusterStore, Share } from '../cluster/index.ts';
import { type Config, toLifecycleWish } from '../config/index.ts';
import { toSinkStart } from '../sinks/index.ts';
import type { EmbeddedStore } from '../store/index.ts';
import type { FleetShards, ForeignRouter } from '../web/index.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { Fleet, FleetChange, FleetDifference, FleetWish } from './routers/fleet.ts';
import type { SinkSupervisor } from './sinks/sink-supervisor.ts';

interface Reporting {
  readonly metrics: SelfMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the agent: the bucket or the stream has another format. */
  readonly fail: (cause: unknown) => void;
}

/** Time limit for ending the lease at shutdown. Milliseconds. */
const STOP_MS = 200;
/** Requests within this time get the same description, which takes milliseconds for a large fleet. Milliseconds. */
const KEPT_MS = 500;

/**
 * Creates this replica; it becomes a member later. Its lease ends after everything that is registered later has
 * stopped.
 */
export function openCluster(
  engine: ClusterModule,
  options: Reporting & { readonly settings: Cluster['settings']; readonly version: string },
  lifecycle: Lifecycle,
): Cluster {
  const { settings, version, metrics, clock } = options;
  const report = (event: ClusterEvent) => reportEvent(cluster, event, options);
  const cluster: Cluster = new engine.Cluster({ settings, version, clock, report });
  lifecycle.onStop('cluster', STOP_MS, () => cluster.close());
  metrics.readCluster(() => cluster.measure());
  return cluster;
}

function reportEvent(
  { settings, membership }: Cluster,
  event: ClusterEvent,
  { metrics, logger, fail }: Reporting,
): void {
  const fields = { cluster: settings.name, replica: settings.replica };
  const { view } = membership;
  switch (event.type) {
    case 'joined':
      logger.info('This replica has a lease', { ...fields, members: view.members.length });
      return;
    case 'other-format':
      fail(event.cause);
      return;
    case 'engine-away':
      logger.error('The engine of the cluster cannot be used', { ...fields, error: renderErrorChain(event.cause) });
      return;
    case 'lease-lost':
      logger.warn('The lease of this replica has ended; other replicas may take over its routers', fields);
      return;
    case 'name-taken': {
      const { address, startedMs } = event.by;
      const started = new Date(startedMs).toISOString();
      logger.warn('Another process has the lease of this replica; waiting for its end', {
        ...fields,
        address,
        started,
      });
      return;
    }
    case 'moved': {
      const { kind, taken, given, lost } = event;
      if (kind === 'sink') return;
      metrics.clusterMoves?.inc({ direction: 'taken' }, taken);
      metrics.clusterMoves?.inc({ direction: 'gone' }, given + lost);
      logger.info('Routers have moved', { taken, given, lost, members: view.members.length });
      return;
    }
    case 'given': {
      const { kind, name } = event;
      if (kind === 'router') return;
      logger.info('A sink goes to another replica', { sink: name, replica: view.of(kind).findOwner(name) });
      return;
    }
    case 'unwritten': {
      const { kind, names } = event;
      const error = renderErrorChain(event.cause);
      logger.warn(`The owners of ${kind}s could not be written; retrying`, {
        [`${kind}s`]: names.length,
        error,
      });
      return;
    }
  }
}

export function openClusterStore(
  cluster: Cluster,
  options: Reporting & {
    readonly config: Pick<Config, 'sinks'>;
    readonly local: EmbeddedStore;
    readonly deadLetters: NonNullable<Parameters<Cluster['openStore']>[0]['deadLetters']>;
    /** Called when records from other replicas may be ready for sinks. */
    readonly onRecords?: (() => void) | undefined;
  },
): ClusterStore {
  const { config, local, deadLetters, onRecords = () => {}, metrics, logger, fail } = options;
  return cluster.openStore({
    sinks: config.sinks.map(toSinkStart),
    local,
    deadLetters,
    onRecords,
    onForgotten: (routers) => logger.info('Forgot routers that no replica has configured any more', { routers }),
    onServing: (sink) => logger.info('This replica serves a sink', { sink }),
    onSilent: (sink, cause) =>
      logger.warn('The records for a sink do not arrive; reading them again from the last position', {
        sink,
        error: renderErrorChain(cause),
      }),
    onLeft: () =>
      logger.warn('A server of the engine does not answer; trying the next one', { cluster: cluster.settings.name }),
    onDamaged: ({ cause, ...damaged }) => {
      metrics.damagedRecords.inc(damaged.records);
      const error = renderErrorChain(cause);
      logger.error('Records in the stream of the cluster are damaged; a sink does not get them', { ...damaged, error });
    },
    onFault: (fault) => {
      if (fault.code === 'format') fail(fault);
      else logger.error('The stream of the cluster cannot be used', { error: renderErrorChain(fault) });
    },
  });
}

type Replica = Pick<Cluster, 'routers' | 'sinks' | 'setRouters' | 'createShare' | 'join'>;

/** The configured routers and sinks; those that this replica has claimed run here. */
export class FleetShare {
  readonly #cluster: Replica;
  readonly #fleet: Pick<Fleet, 'apply' | 'compare' | 'find'>;
  readonly #routers: Share;
  readonly #sinks: Share;
  #wish: FleetWish | undefined;

  constructor(
    cluster: Replica,
    fleet: Pick<Fleet, 'apply' | 'compare' | 'find'>,
    sinks: Pick<SinkSupervisor, 'names' | 'handOver' | 'wake' | 'recordUnserved'>,
  ) {
    this.#cluster = cluster;
    this.#fleet = fleet;
    this.#routers = cluster.createShare(cluster.routers, {
      names: () => this.#names,
      end: async (_, signal, onEnded) => void (await this.#run(signal, onEnded)),
      begin: () => this.#begin(),
    });
    this.#sinks = cluster.createShare(cluster.sinks, {
      names: () => sinks.names,
      async end(gone, signal, onEnded) {
        await Promise.all(gone.map((sink) => sinks.handOver(sink, signal).then(() => onEnded(sink))));
      },
      async begin() {
        sinks.wake();
        return true;
      },
      onUnserved: (sink, owner) => sinks.recordUnserved(sink, owner),
    });
  }

  /** Runs those of the wanted routers that this replica owns. Never rejects. `signal` bounds the logouts. */
  apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    return this.#routers.runExclusive(() => {
      this.#wish = wish;
      this.#cluster.setRouters(this.#names);
      this.#routers.onNamesChange();
      return this.#run(signal);
    });
  }

  /**
   * Compares a wanted set with the routers that run here. A new router counts as added, even if another replica will
   * own it.
   */
  compare(wish: Pick<FleetWish, 'routers' | 'common'>): Promise<FleetDifference> {
    const known = new Set(this.#names);
    const { held } = this.#cluster.routers;
    const routers = wish.routers.filter(({ name }) => held.has(name) || !known.has(name));
    return this.#fleet.compare({ ...wish, routers });
  }

  refreshSinks(): void {
    this.#sinks.onNamesChange();
  }

  start(): void {
    this.#cluster.join([this.#routers, this.#sinks]);
  }

  /** Ends the moves. Routers continue until the fleet is closed. */
  close(): void {
    this.#routers.close();
    this.#sinks.close();
  }

  get #names(): readonly string[] {
    return this.#wish?.routers.map(({ name }) => name) ?? [];
  }

  async #run(signal: AbortSignal, onRemoved?: (router: string) => void): Promise<FleetChange> {
    const wish = this.#wish;
    if (!wish) return { added: 0, changed: 0, removed: 0 };
    const routers = wish.routers.filter(({ name }) => this.#cluster.routers.isStaying(name));
    return await this.#fleet.apply({ ...wish, routers, onRemoved }, signal);
  }

  async #begin(): Promise<boolean> {
    const areHere = () =>
      this.#names.every((name) => !this.#cluster.routers.isStaying(name) || this.#fleet.find(name) !== undefined);
    if (!areHere()) await this.#run(AbortSignal.abort());
    return areHere();
  }
}

/** Returns a function that describes the replicas of a cluster, cached for a moment. */
export function createShardsView(
  cluster: Cluster,
  fleet: Pick<Fleet, 'find'>,
  clock: Clock,
  config: () => Config,
): () => FleetShards {
  let known: { readonly atMs: number; readonly shards: FleetShards } | undefined;
  return () => {
    const atMs = clock.monotonic();
    if (!known || atMs - known.atMs >= KEPT_MS) {
      known = { atMs, shards: describeShards(cluster, fleet, clock.now(), config()) };
    }
    return known.shards;
  };
}

function describeShards(
  { settings, membership }: Cluster,
  fleet: Pick<Fleet, 'find'>,
  nowMs: number,
  { routers, web }: Pick<Config, 'routers' | 'web'>,
): FleetShards {
  const { view, self, lease } = membership;
  const { members } = view;
  const names = members.map(({ replica }) => replica);
  // Before it has a lease, this replica is in no view.
  if (!names.includes(self.replica)) names.push(self.replica);
  const indices = new Map(names.map((name, index) => [name, index]));
  const others = new Map<string, ForeignRouter>();
  for (const router of routers) {
    const { name, url, labels, notify_token: notifyToken } = router;
    if (fleet.find(name)) continue;
    const owner = view.findHolder(name)?.replica ?? view.findRouterOwner(name);
    const shard = indices.get(owner ?? '') ?? -1;
    others.set(name, { name, url, labels, lifecycle: toLifecycleWish(router), notifyToken, shard });
  }
  return {
    index: indices.get(self.replica) ?? 0,
    total: names.length,
    peers: names.map(
      (name) => view.findMember(name)?.address ?? (name === self.replica ? settings.advertise : undefined),
    ),
    names,
    token: web.access?.tokens?.find(({ role }) => role === 'read')?.token,
    others,
    cluster: {
      name: settings.name,
      replica: self.replica,
      members: members.length,
      missing: [...view.listMissing(nowMs)].map(([replica, sinceMs]) => ({
        replica,
        since: new Date(sinceMs).toISOString(),
      })),
      isLeaseHeld: lease.isHeld,
      isEngineAway: lease.isEngineAway,
      areListsDifferent: view.areListsDifferent,
    },
  };
}
