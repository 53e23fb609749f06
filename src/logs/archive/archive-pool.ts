import { Worker } from 'node:worker_threads';
import { type Clock, createSystemClock, renderDuration, type Timer, untilAborted } from '../../base/index.ts';
import { ArchiveError } from '../reading/errors.ts';
import { FileReading, type Reading, type ReadingOptions } from '../reading/file-reading.ts';
import { isCompressed, SNIFF_BYTES } from '../reading/text.ts';
import type { Bzip2Limits } from './bzip2/decoder.ts';
import { ChunkReader } from './chunk-reader.ts';
import { readDecoded } from './decode.ts';
import { RemoteReading, type Reply, type Request } from './remote-reading.ts';

interface ArchivePoolOptions {
  /** Maximum archives read at the same time, one thread each. Threads start when needed. */
  readonly workers: number;
  /** Clock for detecting threads that do not answer. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Starts a thread. Default: {@link startArchiveWorker}; tests pass one that fails. */
  readonly startWorker?: (() => Worker) | undefined;
}

interface ReadingAbout {
  readonly signal?: AbortSignal | undefined;
  readonly onBegun?: ((reading: Reading) => void) | undefined;
}

/** Reads rotated files: archives in worker threads, text on the calling thread. */
export interface ArchivePool extends AsyncDisposable {
  /**
   * Reads one file, whose format is detected by content, to its end or until it is unrelated. The source is read no
   * faster than lines are taken, and its iterator is always closed.
   *
   * @throws ArchiveError and errors of the source, after the readable part; `LogError`; the reason of the signal.
   */
  read(
    source: AsyncIterable<Uint8Array>,
    options: ReadingOptions,
    limits: Bzip2Limits,
    about?: ReadingAbout,
  ): ReturnType<typeof readDecoded>;
  /** Stops all threads. Readings in flight fail with `closed`. Idempotent. */
  close(): Promise<void>;
}

/** A thread without an answer for this long is replaced. Many slow patterns may take 1 s per line. Milliseconds. */
const STALL_MS_MAX = 600_000;
/** An idle thread, which takes tens of MB, ends after this time. Milliseconds. */
const IDLE_MS_MAX = 5000;
/** Compressed bytes gathered before a thread is requested, so that a slow source of a usual file does not occupy one. */
const GATHER_BYTES = 256 * 1024;
/**
 * Time for a thread to end by itself. Node.js 24 aborts the process if a thread is terminated while it creates a codec
 * of `node:zlib` (assertion `close before init`). Milliseconds.
 */
const EXIT_MS_MAX = 2000;
/** Covers 1000 lines of 64 KiB that wait until the router's clock is set. Typical use is a few MB. */
const WORKER_HEAP_MB_MAX = 512;
/** Next to this file, as TypeScript in a checkout and compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
  import.meta.url,
);

/** Starts the thread without the environment and flags of this process. */
export function startArchiveWorker(): Worker {
  return new Worker(WORKER_URL, {
    name: 'archive',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB_MAX },
  });
}

/** Opens a pool. Threads start with the first archive. */
export function openArchivePool(options: ArchivePoolOptions): ArchivePool {
  return new WorkerPool(options);
}

class WorkerPool implements ArchivePool {
  readonly #threads: readonly ArchiveThread[];
  readonly #freeThreads: FreeThreads;

  constructor({ workers, clock = createSystemClock(), startWorker = startArchiveWorker }: ArchivePoolOptions) {
    this.#threads = Array.from({ length: workers }, () => new ArchiveThread(clock, startWorker));
    this.#freeThreads = new FreeThreads(this.#threads);
  }

  /** Text is read here, because slow routers would occupy all threads. */
  async read(
    source: AsyncIterable<Uint8Array>,
    options: ReadingOptions,
    limits: Bzip2Limits,
    about: ReadingAbout = {},
  ): ReturnType<typeof readDecoded> {
    const { signal, onBegun } = about;
    const reader = new ChunkReader(source, signal);
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
    reader: ChunkReader,
    options: ReadingOptions,
    limits: Bzip2Limits,
    { signal, onBegun }: ReadingAbout,
  ): ReturnType<typeof readDecoded> {
    this.#freeThreads.next?.prepare();
    await reader.peek(GATHER_BYTES);
    const thread = await this.#freeThreads.acquire(signal);
    try {
      const reading = thread.begin(options, limits);
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

/** A worker thread for one archive at a time. It is replaced after it died, and ends when idle. */
class ArchiveThread {
  readonly #clock: Clock;
  readonly #startWorker: () => Worker;
  #worker: Worker | undefined;
  /** Messages of earlier jobs are ignored. */
  #job: RemoteReading | undefined;
  #jobs = 0;
  #watch: Timer | undefined;
  #closed: ArchiveError | undefined;

  constructor(clock: Clock, startWorker: () => Worker) {
    this.#clock = clock;
    this.#startWorker = startWorker;
  }

  prepare(): void {
    if (this.#closed) return;
    this.#start();
    this.#rewatch();
  }

  begin(options: ReadingOptions, limits: Bzip2Limits): RemoteReading {
    if (this.#closed) throw this.#closed;
    const worker = this.#start();
    const job = new RemoteReading(++this.#jobs, (...message) => this.#post(...message), options, limits);
    this.#job = job;
    worker.ref();
    this.#rewatch();
    return job;
  }

  end(): void {
    this.#job = undefined;
    this.#rewatch();
    this.#worker?.unref();
  }

  #post(request: Request, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker?.postMessage(request, transfer);
    this.#rewatch();
  }

  /** Ends the thread for good. The current job and later ones fail with `error`. */
  async close(error: ArchiveError): Promise<void> {
    this.#closed = error;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#job?.fail(error);
    this.#rewatch();
    if (!worker) return;
    // Not `once` of node:events, which rejects if the thread dies with an error meanwhile.
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage({ kind: 'exit' } satisfies Request, []);
    const deadline = this.#clock.setTimer(EXIT_MS_MAX, () => void worker.terminate());
    await exited;
    deadline.cancel();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#startWorker();
    worker.unref();
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (cause) => this.#lose(worker, 'The thread that read the archive died', cause));
    worker.on('exit', () => this.#lose(worker, 'The thread that read the archive ended'));
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker, reason: string, cause?: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#job?.fail(new ArchiveError('worker-lost', reason, { cause }));
    this.#rewatch();
    void worker.terminate();
  }

  #receive(reply: Reply): void {
    if (reply.job === this.#job?.id) this.#job.receive(reply);
    this.#rewatch();
  }

  #rewatch(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    const worker = this.#worker;
    if (!worker) return;
    if (this.#job?.isOwed) {
      const reason = `The thread that read the archive did not answer for ${renderDuration(STALL_MS_MAX)}`;
      // Answers waiting for a commit may have been taken meanwhile.
      this.#watch = this.#clock.setTimer(STALL_MS_MAX, () => {
        if (this.#job?.isOwed) this.#lose(worker, reason);
      });
    } else if (!this.#job) {
      this.#watch = this.#clock.setTimer(IDLE_MS_MAX, () => this.#lose(worker, 'The thread was idle'), false);
    }
  }
}

class FreeThreads {
  readonly #idle: ArchiveThread[];
  readonly #waiting: PromiseWithResolvers<ArchiveThread>[] = [];
  #closed: ArchiveError | undefined;

  constructor(all: readonly ArchiveThread[]) {
    this.#idle = all.toReversed();
  }

  get next(): ArchiveThread | undefined {
    return this.#idle.at(-1);
  }

  /** Waits for a free thread. Throws the reason of the signal. */
  async acquire(signal: AbortSignal | undefined): Promise<ArchiveThread> {
    if (this.#closed) throw this.#closed;
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    const waiting = Promise.withResolvers<ArchiveThread>();
    this.#waiting.push(waiting);
    try {
      return await untilAborted(waiting.promise, signal);
    } catch (error) {
      const index = this.#waiting.indexOf(waiting);
      if (index >= 0) this.#waiting.splice(index, 1);
      // The thread was assigned at the moment of the abort.
      else waiting.promise.then((late) => this.release(late)).catch(() => {});
      throw error;
    }
  }

  release(thread: ArchiveThread): void {
    const next = this.#waiting.shift();
    if (next) next.resolve(thread);
    else this.#idle.push(thread);
  }

  close(error: ArchiveError): void {
    this.#closed = error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }
}
