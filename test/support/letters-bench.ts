import { type Clock, createSystemClock } from '../../src/base/index.ts';
import { ClusterStore, type DeadLetterOptions, type DeadLetters, initCluster } from '../../src/store/index.ts';
import { type NatsServer, openNatsServer } from './sinks/nats-server.ts';
import { createStoreFolder, NOW_MS } from './store-folder.ts';

type LettersOptions = Partial<Pick<DeadLetterOptions, 'bytesMax' | 'keepMs' | 'onDropped'>>;

/** Dead letters in a test. */
interface OpenLetters<T extends DeadLetters = DeadLetters> extends AsyncDisposable {
  readonly letters: T;
}

/** Dead letters that are the same ones after the other: what was written to one is found by the next. */
export interface LettersBench extends AsyncDisposable {
  /** Wall time in milliseconds. */
  nowMs: number;
  open(options?: LettersOptions): Promise<OpenLetters>;
}

/** Letters on a disk. */
export async function createDiskLettersBench(): Promise<LettersBench> {
  const folder = await createStoreFolder();
  const bench: LettersBench = {
    nowMs: NOW_MS,
    async open(options = {}) {
      const letters = folder.openLetters({ now: () => bench.nowMs, ...options });
      return { letters, [Symbol.asyncDispose]: async () => letters.close() };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
  return bench;
}

/** Letters of a cluster on a real nats-server. */
export interface ClusterLettersBench extends LettersBench {
  readonly server: NatsServer;
  /** `isOwner`: which sinks are this replica's. Default: all. */
  open(
    options?: LettersOptions & { readonly isOwner?: (sink: string) => boolean },
  ): Promise<OpenLetters<ClusterStore['letters']>>;
}

/** Starts a server with empty streams. */
export async function createClusterLettersBench(lettersBytesMax?: number): Promise<ClusterLettersBench> {
  const server = await openNatsServer();
  const clock: Clock = { ...createSystemClock(), now: () => bench.nowMs };
  const servers = { servers: [server.url], clock };
  await initCluster({ servers, cluster: 'test', replicas: 1, bytesMax: 1024 * 1024, lettersBytesMax });
  const bench: ClusterLettersBench = {
    nowMs: NOW_MS,
    server,
    async open(options = {}) {
      const { isOwner = () => true, ...letters } = options;
      const store = new ClusterStore({
        servers,
        cluster: 'test',
        replica: 'one',
        sinks: [],
        isOwner: (_, name) => isOwner(name),
        onRecords: () => {},
        letters,
      });
      await store.open();
      return { letters: store.letters, [Symbol.asyncDispose]: () => store.close() };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return bench;
}
