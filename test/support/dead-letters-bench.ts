import { type Clock, createSystemClock } from '../../src/base/index.ts';
import { ClusterStore, initCluster } from '../../src/cluster/cluster.ts';
import type { DeadLetters } from '../../src/model/index.ts';
import type { DeadLetterOptions } from '../../src/store/index.ts';
import { type NatsServer, openNatsServer } from './sinks/nats-server.ts';
import { createStoreFolder, NOW_MS } from './store-folder.ts';

type DeadLettersOptions = Partial<Pick<DeadLetterOptions, 'bytesMax' | 'keepMs' | 'onDropped'>>;

/** Dead letters in a test. */
interface OpenDeadLetters<T extends DeadLetters = DeadLetters> extends AsyncDisposable {
  readonly deadLetters: T;
}

/** Dead letters that are the same ones after the other: what was written to one is found by the next. */
export interface DeadLettersBench extends AsyncDisposable {
  /** Wall time in milliseconds. */
  nowMs: number;
  open(options?: DeadLettersOptions): Promise<OpenDeadLetters>;
}

/** Letters on a disk. */
export async function createDiskDeadLettersBench(): Promise<DeadLettersBench> {
  const folder = await createStoreFolder();
  const bench: DeadLettersBench = {
    nowMs: NOW_MS,
    async open(options = {}) {
      const deadLetters = folder.openDeadLetters({ now: () => bench.nowMs, ...options });
      return { deadLetters, [Symbol.asyncDispose]: async () => deadLetters.close() };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
  return bench;
}

/** Letters of a cluster on a real nats-server. */
export interface ClusterDeadLettersBench extends DeadLettersBench {
  readonly server: NatsServer;
  /** `isOwner`: which sinks are this replica's. Default: all. */
  open(
    options?: DeadLettersOptions & { readonly isOwner?: (sink: string) => boolean },
  ): Promise<OpenDeadLetters<ClusterStore['deadLetters']>>;
}

/** Starts a server with empty streams. */
export async function createClusterDeadLettersBench(deadLettersBytesMax?: number): Promise<ClusterDeadLettersBench> {
  const server = await openNatsServer();
  const clock: Clock = { ...createSystemClock(), now: () => bench.nowMs };
  const servers = { servers: [server.url], clock };
  await initCluster({ servers, cluster: 'test', replicas: 1, bytesMax: 1024 * 1024, deadLettersBytesMax });
  const bench: ClusterDeadLettersBench = {
    nowMs: NOW_MS,
    server,
    async open(options = {}) {
      const { isOwner = () => true, ...deadLetters } = options;
      const store = new ClusterStore({
        servers,
        cluster: 'test',
        replica: 'one',
        sinks: [],
        isOwner: (_, name) => isOwner(name),
        onRecords: () => {},
        deadLetters,
      });
      await store.open();
      return { deadLetters: store.deadLetters, [Symbol.asyncDispose]: () => store.close() };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return bench;
}
