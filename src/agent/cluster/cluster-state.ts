import { type Clock, type Logger, renderErrorChain } from '../../base/index.ts';
import { type ClusterSettings, toNatsServers } from '../../cluster/index.ts';
import type { Config } from '../../config/index.ts';
import { toSinkStart } from '../../delivery/index.ts';
import {
  ClusterStore,
  type ClusterStoreOptions,
  type DeadLetters,
  type EmbeddedStore,
  type Store,
  StoreError,
} from '../../store/index.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';

/** The cluster, and what stays on the disk of this replica. */
export interface ClusterStateOptions {
  /** Configuration with the sinks. */
  readonly config: Pick<Config, 'sinks'>;
  /** The cluster, and what belongs to this replica. */
  readonly cluster: {
    readonly settings: ClusterSettings;
    isOwner(kind: 'router' | 'sink' | 'janitor', name: string): boolean;
    mayKnow(router: string): boolean;
    isServed(sink: string): boolean;
    isLeaving(sink: string): boolean;
    /** Another value than before whenever others may have served a sink of this replica. */
    termOf(sink: string): number;
  };
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
export interface ClusterState {
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
