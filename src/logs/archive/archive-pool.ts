import { Worker } from 'node:worker_threads';
import { type Clock, createSystemClock, untilAborted } from '../../base/index.ts';
import type { Bzip2Limits } from '../../bzip2/index.ts';
import { ArchiveError } from '../reading/errors.ts';
import { FileReading, type Reading, type ReadingOptions } from '../reading/file-reading.ts';
import { isCompressed, SNIFF_BYTES } from '../reading/text.ts';
import { ArchiveThread } from './archive-thread.ts';
import { readDecoded } from './decode.ts';
import { RemoteReading } from './remote-reading.ts';
import { SourceReader } from './source-reader.ts';

/** Number of workers and their limits. */
interface ArchivePoolOptions {
  /** Most archives read at the same time, one thread each; threads start when first needed. */
  readonly workers: number;
  /** For the watch over threads that stop answering. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Starts a thread. Default: that of this program; another one for tests that break it. */
  readonly startWorker?: (() => Worker) | undefined;
}

interface ReadingAbout {
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Gets the reading. */
  readonly onBegun?: ((reading: Reading) => void) | undefined;
}

/** Reads rotated files: archives in worker threads, text on this one. */
export interface ArchivePool extends AsyncDisposable {
  /**
   * Reads one file of whatever format its first bytes show, to its end or until it is known to be unrelated. The source is read no faster
   * than lines are taken, and its iterator is closed whatever happens.
   *
   * @throws ArchiveError and what the source throws, after the good part was read; `LogError`; the signal's reason when aborted.
   */
  read(
    source: AsyncIterable<Uint8Array>,
    options: ReadingOptions,
    limits: Bzip2Limits,
    about?: ReadingAbout,
  ): ReturnType<typeof readDecoded>;
  /** Stops all threads; readings under way fail with `closed`. Idempotent. */
  close(): Promise<void>;
}

/** A thread that owes an answer for so long is replaced, and its file fails: the worst of many patterns may take a second for a line. */
const STALL_MS_MAX = 600_000;
/** A thread takes some tens of MB. It ends when it has had nothing to do for this long: the logs of a router follow each other. Milliseconds. */
const IDLE_MS_MAX = 5000;
/** Compressed bytes gathered before a thread is asked for, so that a slow source of a usual log file does not occupy one. */
const GATHER_BYTES = 256 * 1024;
/** Mostly it is a few: a chunk of text, and the compiled patterns. A thousand lines of 64 KiB may wait for a clock to be set. */
const WORKER_HEAP_MB_MAX = 512;
/** The worker's file stands beside this one, as a source in a checkout and compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
  import.meta.url,
);

/** Starts the thread. It needs nothing of the environment and of the flags of this process. */
export function startArchiveWorker(): Worker {
  return new Worker(WORKER_URL, {
    name: 'archive',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB_MAX },
  });
}

/** Opens a pool; no thread runs before the first archive. */
export function openArchivePool(options: ArchivePoolOptions): ArchivePool {
  return new WorkerPool(options);
}

class WorkerPool implements ArchivePool {
  readonly #threads: readonly ArchiveThread[];
  readonly #freeThreads: ResourcePool<ArchiveThread>;

  constructor({ workers, clock = createSystemClock(), startWorker = startArchiveWorker }: ArchivePoolOptions) {
    const options = { clock, stallMsMax: STALL_MS_MAX, idleMsMax: IDLE_MS_MAX, startWorker };
    this.#threads = Array.from({ length: workers }, () => new ArchiveThread(options));
    this.#freeThreads = new ResourcePool(this.#threads);
  }

  /** Text comes straight from the network, and slow routers would occupy all threads. */
  async read(
    source: AsyncIterable<Uint8Array>,
    options: ReadingOptions,
    limits: Bzip2Limits,
    about: ReadingAbout = {},
  ): ReturnType<typeof readDecoded> {
    const { signal, onBegun } = about;
    const reader = new SourceReader(source, signal);
    try {
      if (isCompressed(await reader.peek(SNIFF_BYTES))) return await this.#readInThread(reader, options, limits, about);
      const reading = new FileReading(options);
      onBegun?.(reading);
      return await readDecoded(reader, limits, reading);
    } finally {
      await reader.close();
    }
  }

  async #readInThread(
    reader: SourceReader,
    options: ReadingOptions,
    limits: Bzip2Limits,
    { signal, onBegun }: ReadingAbout,
  ): ReturnType<typeof readDecoded> {
    // It takes a tenth of a second to start, while the file is still on its way.
    this.#freeThreads.next?.prepare();
    await reader.peek(GATHER_BYTES);
    const thread = await this.#freeThreads.acquire(signal);
    try {
      const reading = thread.begin((id) => new RemoteReading(id, thread, options, limits));
      onBegun?.(reading);
      try {
        return await reading.read(reader, signal);
      } finally {
        thread.end();
      }
    } finally {
      this.#freeThreads.release(thread);
    }
  }

  async close(): Promise<void> {
    const error = new ArchiveError('closed', 'The pool of archive threads was closed');
    this.#freeThreads.close(error);
    await Promise.all(this.#threads.map((thread) => thread.close(error)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Hands out a few things, each to one user at a time: first come, first served. */
class ResourcePool<T> {
  readonly #idle: T[];
  readonly #waiting: PromiseWithResolvers<T>[] = [];
  #closed: ArchiveError | undefined;

  /** `all`: the first one is handed out first. */
  constructor(all: readonly T[]) {
    this.#idle = all.toReversed();
  }

  /** The one that is handed out next, if one is not in use. */
  get next(): T | undefined {
    return this.#idle.at(-1);
  }

  /** Waits for one that is not in use. Throws the signal's reason. */
  async acquire(signal: AbortSignal | undefined): Promise<T> {
    if (this.#closed) throw this.#closed;
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const waiting = Promise.withResolvers<T>();
    this.#waiting.push(waiting);
    try {
      return await untilAborted(waiting.promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(waiting);
      if (index >= 0) this.#waiting.splice(index, 1);
      // It came in the same moment as the abort.
      else waiting.promise.then((late) => this.release(late)).catch(() => {});
      throw error;
    }
  }

  release(one: T): void {
    const next = this.#waiting.shift();
    if (next) next.resolve(one);
    else this.#idle.push(one);
  }

  /** Whoever waits or comes later gets the error. */
  close(error: ArchiveError): void {
    this.#closed = error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
