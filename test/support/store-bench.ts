import { type Clock, createSystemClock } from '../../src/base/index.ts';
import { ClusterStore, initCluster } from '../../src/cluster/cluster.ts';
import type { ClusterStoreOptions } from '../../src/cluster/cluster-store.ts';
import type { SinkStart } from '../../src/model/index.ts';
import { type OpenStore, toOpenStore } from './open-store.ts';
import { type NatsServer, openNatsServer } from './sinks/nats-server.ts';
import { createStoreFolder, NOW_MS, toStarts } from './store-folder.ts';

/** How a store is opened in a test. */
interface BenchStoreOptions {
  /** Default: one sink `a`, which begins at the oldest record. */
  readonly sinks?: readonly (string | SinkStart)[];
  /** Routers that are open from the start. Default: `plant-7`. */
  readonly routers?: readonly string[];
}

/** Stores that are the same one after the other: what was written to one is found by the next. */
export interface StoreBench extends AsyncDisposable {
  /** Time of the stores, wall time in milliseconds. */
  nowMs: number;
  open(options?: BenchStoreOptions): Promise<OpenStore>;
}

/** How many bytes the store takes. */
export interface BenchOptions {
  readonly bytesMax?: number;
  /** Size of all dead letters. */
  readonly deadLettersBytesMax?: number;
}

const ROOM_BYTES = 64 * 1024 * 1024;

/** Stores on a disk. */
export async function createEmbeddedBench({
  bytesMax = ROOM_BYTES,
}: Pick<BenchOptions, 'bytesMax'> = {}): Promise<StoreBench> {
  const folder = await createStoreFolder();
  const bench = {
    nowMs: NOW_MS,
    async open({ sinks, routers = ['plant-7'] }: BenchStoreOptions = {}) {
      const store = folder.open({ spoolBytesMax: bytesMax, now: () => bench.nowMs, ...(sinks && { sinks }) });
      for (const router of routers) store.openRouter(router);
      return toOpenStore(store);
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
  return bench;
}

/** Stores in the stream of a cluster on a real nats-server. */
export interface ClusterBench extends StoreBench {
  readonly server: NatsServer;
  readonly clock: Clock;
  open(options?: BenchStoreOptions & ClusterBenchOptions): Promise<OpenStore & { readonly store: ClusterStore }>;
}

/** What may differ between the replicas of a cluster. */
type ClusterBenchOptions = Partial<
  Pick<
    ClusterStoreOptions,
    'replica' | 'isOwner' | 'isServed' | 'termOf' | 'deadLetters' | 'cluster' | 'onDamaged' | 'onSilent'
  >
>;

/** Starts a server with an empty stream. */
export async function createClusterBench({
  bytesMax = ROOM_BYTES,
  deadLettersBytesMax,
}: BenchOptions = {}): Promise<ClusterBench> {
  const server = await openNatsServer();
  const clock: Clock = { ...createSystemClock(), now: () => bench.nowMs };
  const servers = { servers: [server.url], clock };
  await initCluster({ servers, cluster: 'test', replicas: 1, bytesMax, deadLettersBytesMax });
  const bench: ClusterBench = {
    nowMs: NOW_MS,
    server,
    clock,
    async open({ sinks = ['a'], routers = ['plant-7'], ...own } = {}) {
      let woken = Promise.withResolvers<void>();
      const store = new ClusterStore({
        servers,
        cluster: 'test',
        replica: 'one',
        sinks: toStarts(sinks),
        isOwner: () => true,
        onRecords: () => {
          woken.resolve();
          woken = Promise.withResolvers<void>();
        },
        ...own,
      });
      await store.open().catch(async (cause: unknown) => {
        await store.close();
        throw cause;
      });
      for (const router of routers) await store.openRouter(router);
      return { ...toOpenStore(store, () => woken.promise), store };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return bench;
}
