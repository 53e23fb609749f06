import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreError } from '../errors.ts';
import type { DeadLetters } from '../letters.ts';
import type { StatePlace } from '../state-transfer.ts';
import { ClusterStore } from './cluster-store.ts';
import type { Engine } from './link.ts';

/** A cluster whose state is moved. */
export interface ClusterPlaceOptions extends Engine, Pick<StatePlace, 'checkFree'> {
  /** Names of the configured sinks. */
  readonly sinks: readonly string[];
}

/** The streams of a cluster, from which or to which state is moved. What has changed since it was read is refused. */
export function inCluster({ servers, cluster, sinks, checkFree }: ClusterPlaceOptions): StatePlace {
  return {
    createWorkFolder: () => mkdtempSync(join(tmpdir(), 'router-exporter-import-')),
    checkFree,
    use: (work) => withClusterStore({ servers, cluster }, sinks, (store) => work({ store, letters: store.letters })),
  };
}

/** Opens the dead letters of a cluster for one piece of work, as a command does. Rejects with {@link StoreError}. */
export function withClusterLetters<T>(engine: Engine, work: (letters: DeadLetters) => Promise<T>): Promise<T> {
  return withClusterStore(engine, [], ({ letters }) => work(letters));
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
    // Whether the routers are free is asked by whoever moves them.
    isOwner: (kind) => kind !== 'janitor',
    onRecords: () => {},
  });
  try {
    await store.open();
    // The number of letters is known from the start.
    await store.letters.look();
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
