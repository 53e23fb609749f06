import { type DeadLetters, type StatePlace, StoreError } from '../model/index.ts';
import { ClusterStore } from './cluster-store.ts';
import type { Engine } from './link.ts';

/** A cluster whose state is moved. */
export interface ClusterPlaceOptions extends Engine, Pick<StatePlace, 'checkFree'> {
  readonly sinks: readonly string[];
}

/**
 * Returns the streams of a cluster as source or target of a state transfer. A step is refused if a replica has changed its
 * data since it was read.
 */
export function inCluster({ servers, cluster, sinks, checkFree }: ClusterPlaceOptions): StatePlace {
  return {
    checkFree,
    use: (work) =>
      withClusterStore({ servers, cluster }, sinks, (store) => work({ store, deadLetters: store.deadLetters })),
  };
}

/** Opens the dead letters of a cluster for one piece of work, as a command does. Rejects with {@link StoreError}. */
export function withClusterDeadLetters<T>(engine: Engine, work: (deadLetters: DeadLetters) => Promise<T>): Promise<T> {
  return withClusterStore(engine, [], ({ deadLetters }) => work(deadLetters));
}

async function withClusterStore<T>(
  engine: Engine,
  sinks: readonly string[],
  work: (store: ClusterStore) => Promise<T>,
): Promise<T> {
  const store = new ClusterStore({
    ...engine,
    replica: 'state',
    sinks: sinks.map((name) => ({ name, start: 'oldest' })),
    // The caller checks whether the routers are free.
    isOwner: (kind) => kind !== 'janitor',
    onRecords: () => {},
  });
  try {
    await store.open();
    // So that the count is known from the start.
    await store.deadLetters.look();
    return await work(store);
  } catch (cause) {
    if (!(cause instanceof StoreError) || cause.code !== 'fenced') throw cause;
    throw new StoreError('fenced', cause.message, {
      disposition: 'operator',
      hint: 'Stop the replicas, or take these routers out of their configuration, and repeat the command',
    });
  } finally {
    await store.close();
  }
}
