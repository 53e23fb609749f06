import { Worker } from 'node:worker_threads';
import { type Clock, createSystemClock } from '../../base/index.ts';
import type { BlockLost, Bzip2Limits } from '../../bzip2/index.ts';
import { FileScan, type Scan, type ScanOptions, type ScanResult } from '../file-scan.ts';
import { createBatch, type ScanBatch } from '../lines/scan-batch.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import { ArchiveError } from './archive-error.ts';
import type { Trailing } from './archive-item.ts';
import { ArchiveThread } from './archive-thread.ts';
import { readDecoded } from './decode.ts';
import { RemoteReading } from './remote-reading.ts';
import { ResourcePool } from './resource-pool.ts';
import { isCompressed, SNIFF_BYTES } from './sniff.ts';
import { SourceReader } from './source-reader.ts';

/** Number of workers and their limits. */
export interface ArchivePoolOptions {
  /** Most archives read at the same time, one thread each; threads start when first needed. */
  readonly workers: number;
  /** For the watch over threads that stop answering. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Starts a thread. Default: that of this program; another one for tests that break it. */
  readonly startWorker?: (() => Worker) | undefined;
}

/** Reads rotated files: archives in worker threads, text on this one. */
export interface ArchivePool extends AsyncDisposable {
  /** Creates the reading of one file of whatever format its first bytes show. `signal` ends it with its reason. */
  open(options: ScanOptions, limits: Bzip2Limits, signal?: AbortSignal): ArchiveReading;
  /** Stops all threads; readings under way fail with `closed`. Idempotent. */
  close(): Promise<void>;
}

/** One reading of one rotated file. */
export interface ArchiveReading extends Scan {
  /**
   * Reads a file to its end or until it is known to be unrelated. The source is read no faster than lines are taken, and its iterator is closed
   * whatever happens.
   *
   * @throws ArchiveError and what the source throws, after the good part was read; `LogError`; the signal's reason when aborted.
   */
  read(source: AsyncIterable<Uint8Array>): Promise<ScanResult>;
  /** Bytes behind the end of a compressed layer, once all was read. */
  readonly trailing: Trailing | undefined;
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

  open(options: ScanOptions, limits: Bzip2Limits, signal?: AbortSignal): ArchiveReading {
    return new PooledReading(options, limits, this.#freeThreads, signal);
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

/**
 * The reading of one rotated file: in a worker thread, or on this one if it is text; both come to the same. Text comes straight from the
 * network, and slow routers would occupy all threads.
 */
class PooledReading implements ArchiveReading {
  readonly #options: ScanOptions;
  readonly #limits: Bzip2Limits;
  readonly #threads: ResourcePool<ArchiveThread>;
  readonly #signal: AbortSignal | undefined;
  #scan: FileScan | RemoteReading | undefined;
  #trailing: Trailing | undefined;

  constructor(
    options: ScanOptions,
    limits: Bzip2Limits,
    threads: ResourcePool<ArchiveThread>,
    signal: AbortSignal | undefined,
  ) {
    this.#options = options;
    this.#limits = limits;
    this.#threads = threads;
    this.#signal = signal;
  }

  get file(): LogFile | undefined {
    return this.#scan?.file;
  }

  get stream(): StreamState | undefined {
    return this.#scan?.stream;
  }

  get lost(): readonly BlockLost[] {
    return this.#scan?.lost ?? [];
  }

  get trailing(): Trailing | undefined {
    return this.#trailing;
  }

  takeBatch(): ScanBatch {
    return this.#scan?.takeBatch() ?? createBatch();
  }

  async read(source: AsyncIterable<Uint8Array>): Promise<ScanResult> {
    const reader = new SourceReader(source, this.#signal);
    try {
      const isArchive = isCompressed(await reader.peek(SNIFF_BYTES));
      const { result, trailing } = await (isArchive ? this.#readInThread(reader) : this.#readHere(reader));
      this.#trailing = trailing;
      return result;
    } finally {
      await reader.close();
    }
  }

  #readHere(reader: SourceReader): ReturnType<typeof readDecoded> {
    const scan = new FileScan(this.#options);
    this.#scan = scan;
    return readDecoded(reader, this.#limits, scan);
  }

  async #readInThread(reader: SourceReader): ReturnType<typeof readDecoded> {
    // It takes a tenth of a second to start, while the file is still on its way.
    this.#threads.next?.prepare();
    await reader.peek(GATHER_BYTES);
    const thread = await this.#threads.acquire(this.#signal);
    try {
      const reading = thread.begin((id) => new RemoteReading(id, thread, this.#options, this.#limits));
      this.#scan = reading;
      try {
        return await reading.read(reader, this.#signal);
      } finally {
        thread.end();
      }
    } finally {
      this.#threads.release(thread);
    }
  }
}
