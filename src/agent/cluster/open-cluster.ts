import { randomUUID } from 'node:crypto';
import { type Clock, type Lifecycle, type Logger, renderErrorChain } from '../../base/index.ts';
import {
  ClusterError,
  type ClusterSettings,
  Membership,
  type MembershipEvent,
  toNatsServers,
} from '../../cluster/index.ts';
import { type Config, toLifecycleWish } from '../../config/index.ts';
import { toSinkStart } from '../../delivery/index.ts';
import {
  ClusterStore,
  type ClusterStoreOptions,
  type DeadLetters,
  type EmbeddedStore,
  type Store,
  StoreError,
} from '../../store/index.ts';
import type { FleetShards, ForeignRouter } from '../../web/index.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';
import type { Fleet } from '../routers/fleet.ts';
import type { ClusterShare } from './cluster-share.ts';
import type { SinkShare } from './sink-share.ts';

/** The engine, and the output of this replica. */
interface ClusterOptions {
  /** The engine, and the name of this replica. */
  readonly settings: ClusterSettings;
  /** Version of the program. */
  readonly version: string;
  /** Metrics of the cluster. */
  readonly metrics: SelfMetrics;
  /** Clock of the lease and of all waits. */
  readonly clock: Clock;
  /** Log for what becomes of the lease. */
  readonly logger: Logger;
  /** Ends the agent because the bucket has another format. */
  readonly fail: (cause: unknown) => void;
}

/** Bound of the end of the lease at the end of the agent. Milliseconds. */
const STOP_MS = 200;
/** Requests within this time get the same description: it takes milliseconds for a large fleet. Milliseconds. */
const KEPT_MS = 500;

/** This replica in its cluster. */
export class Cluster {
  readonly settings: ClusterSettings;
  readonly membership: Membership;
  readonly #options: ClusterOptions;
  #share: ClusterShare | undefined;
  #sinks: SinkShare | undefined;
  #hasJoined = false;

  constructor(options: ClusterOptions) {
    const { settings, version, clock, metrics } = options;
    this.#options = options;
    this.settings = settings;
    this.membership = new Membership({
      settings,
      incarnation: randomUUID(),
      version,
      startedMs: clock.now(),
      clock,
      report: (event) => this.#report(event),
      onChange: () => {
        this.#share?.noteChange();
        this.#sinks?.noteChange();
      },
    });
    metrics.readCluster(() => this.#measure());
  }

  /** True once this replica had a lease. */
  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  /** True while this replica has a lease and the thing belongs to it. */
  isOwner(kind: 'router' | 'sink' | 'janitor', name: string): boolean {
    if (kind === 'sink') return this.#sinks?.isOwner(name) ?? false;
    return this.#share?.isOwner(kind, name) ?? false;
  }

  /** True while a sink of this replica is about to go to another. */
  isLeaving(sink: string): boolean {
    return this.#sinks?.isLeaving(sink) ?? false;
  }

  /** Another value than before whenever others may have served a sink of this replica. */
  termOf(sink: string): number {
    return this.#sinks?.termOf(sink) ?? 0;
  }

  /** True if a replica has the router configured, or if it cannot be told. */
  mayKnow(router: string): boolean {
    return this.membership.view.mayKnow(router);
  }

  /** True if a replica serves the sink. */
  isServed(sink: string): boolean {
    return this.membership.view.findHolder(sink, 'sink') !== undefined;
  }

  /** Becomes a member, with these shares of the routers and sinks. */
  begin(share: ClusterShare, sinks: SinkShare): void {
    this.#share = share;
    this.#sinks = sinks;
    this.membership.start();
  }

  #measure() {
    const { lease, view } = this.membership;
    return {
      members: view.members.length,
      missing: view.listMissing(this.#options.clock.now()).size,
      isLeaseHeld: lease.isHeld,
      leaseAgeSeconds: lease.ageMs / 1000,
      routersOwned: this.#share?.claimed.size ?? 0,
      areListsDifferent: view.areListsDifferent,
    };
  }

  #report(event: MembershipEvent): void {
    const { logger, settings } = this.#options;
    const fields = { cluster: settings.name, replica: settings.replica };
    switch (event.type) {
      case 'joined':
        this.#hasJoined = true;
        logger.info('This replica has a lease', { ...fields, members: this.membership.view.members.length });
        return;
      case 'engine-away':
        if (event.cause instanceof ClusterError && event.cause.code === 'format') this.#options.fail(event.cause);
        else
          logger.error('The engine of the cluster cannot be used', { ...fields, error: renderErrorChain(event.cause) });
        return;
      case 'lease-lost':
        logger.warn('The lease of this replica has ended; its routers may be with others', fields);
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
    }
  }
}

/** Creates this replica; it becomes a member later. Its lease ends behind everything that is registered later. */
export function openCluster(options: ClusterOptions, lifecycle: Lifecycle): Cluster {
  const cluster = new Cluster(options);
  lifecycle.onStop('cluster', STOP_MS, () => cluster.membership.close());
  return cluster;
}

/** Returns a function that describes the replicas of a cluster, as they were moments ago. */
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

/** Describes the replicas of a cluster as the processes that share the fleet. */
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
    const { name, url, labels } = router;
    if (fleet.find(name)) continue;
    const owner = view.findHolder(name)?.replica ?? view.findRouterOwner(name);
    const shard = indices.get(owner ?? '') ?? -1;
    others.set(name, { name, url, labels, lifecycle: toLifecycleWish(router), shard });
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

/** The cluster, and what stays on the disk of this replica. */
interface ClusterStateOptions {
  /** Configuration with the sinks. */
  readonly config: Pick<Config, 'sinks'>;
  /** The cluster, and what belongs to this replica. */
  readonly cluster: Cluster;
  /** Keeps the last lines for the pages. */
  readonly local: Pick<EmbeddedStore, 'addRecent' | 'keepRouters'>;
  /** Called when there may be records for sinks that were stored elsewhere. */
  readonly onRecords?: (() => void) | undefined;
  /** Limits of the dead letters, and who is told of those that were dropped. */
  readonly letters: ClusterStoreOptions['letters'];
  /** Metrics of the store. */
  readonly metrics: Pick<SelfMetrics, 'damagedRecords'>;
  /** Clock of the store. */
  readonly clock: Clock;
  /** Log for a stream that cannot be used. */
  readonly logger: Logger;
  /** Ends the agent because the stream has another format. */
  readonly fail: (cause: unknown) => void;
}

/** The store of a cluster. */
interface ClusterState {
  readonly store: Store;
  readonly letters: DeadLetters;
  /** Size of its stream; infinite while it is not known. Bytes. */
  readonly spoolBytesMax: () => number;
}

/**
 * Opens the store that the replicas of a cluster share; it connects by itself. The last lines of the routers that run here are
 * kept on the disk as well.
 */
export function openClusterStore(options: ClusterStateOptions): ClusterState {
  const { config, cluster, local, letters, onRecords = () => {}, metrics, clock, logger, fail } = options;
  const { settings } = cluster;
  const shared = {
    servers: toNatsServers(settings, clock),
    cluster: settings.name,
    replica: settings.replica,
    sinks: config.sinks.map(toSinkStart),
    isOwner: (kind: 'router' | 'sink' | 'janitor', name: string) => cluster.isOwner(kind, name),
    mayKnow: (router: string) => cluster.mayKnow(router),
    isServed: (sink: string) => cluster.isServed(sink),
    isLeaving: (sink: string) => cluster.isLeaving(sink),
    termOf: (sink: string) => cluster.termOf(sink),
    onForgotten: (routers) => logger.info('Forgot routers that no replica has configured any more', { routers }),
    onRecords,
    letters,
    onServing: (sink) => logger.info('This replica serves a sink', { sink }),
    onSilent: (sink, cause) =>
      logger.warn('The records for a sink do not arrive; they are read again from where they stopped', {
        sink,
        error: renderErrorChain(cause),
      }),
    onLeft: () =>
      logger.warn('A server of the engine does not answer; the next one is tried', { cluster: settings.name }),
    onDamaged: ({ cause, ...damaged }) => {
      metrics.damagedRecords.inc(damaged.records);
      const error = renderErrorChain(cause);
      logger.error('Records in the stream of the cluster are damaged; a sink does not get them', { ...damaged, error });
    },
    onFault: (fault: StoreError) => {
      if (fault.code === 'format') fail(fault);
      else logger.error('The stream of the cluster cannot be used', { error: renderErrorChain(fault) });
    },
  } satisfies ClusterStoreOptions;
  const store = new StoreWithRecent(shared, local);
  // Whatever fails is reported as a fault, or where something is written.
  void store.open().catch(() => {});
  return { store, letters: store.letters, spoolBytesMax: () => store.bytesMax };
}

/** The store of a cluster, beside which a disk keeps the last lines of the routers that run here, as far as it can. */
class StoreWithRecent extends ClusterStore {
  readonly #local: ClusterStateOptions['local'];

  constructor(options: ClusterStoreOptions, local: ClusterStateOptions['local']) {
    super(options);
    this.#local = local;
  }

  override async commit(...commits: Parameters<ClusterStore['commit']>): Promise<void> {
    await super.commit(...commits);
    await attempt(() => this.#local.addRecent(commits.filter((commit) => 'position' in commit)));
  }

  override async keepRouters(...args: Parameters<ClusterStore['keepRouters']>): Promise<string[]> {
    await attempt(() => this.#local.keepRouters(...args));
    return await super.keepRouters(...args);
  }
}

/** Pages without their last lines are no reason to read a log again. */
async function attempt(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
  }
}
