import { Worker } from 'node:worker_threads';
import { type Clock, type Timer, untilAborted } from '../../base/index.ts';
import type { BlockLost, BlockRecovered, Bzip2End, Bzip2Limits } from '../../bzip2/index.ts';
import { ArchiveError } from './archive-error.ts';
import {
  INPUT_CHUNK_BYTES,
  INPUT_WINDOW_BYTES,
  OUTPUT_WINDOW_BYTES,
  type Reply,
  type Request,
} from './archive-protocol.ts';
import type { SourceReader } from './source-reader.ts';

/** The worker's file stands beside this one, as a source in a checkout and compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
  import.meta.url,
);
/** A decoder's typed arrays do not count; all else that it keeps is small. */
const WORKER_HEAP_MB_MAX = 64;

/** Starts the thread that decodes. It needs nothing of the environment and of the flags of this process. */
export function startArchiveWorker(): Worker {
  return new Worker(WORKER_URL, {
    name: 'archive',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB_MAX },
  });
}

/** Clock and limits of one worker thread. */
export interface ArchiveThreadOptions {
  /** Clock for the detection of a stalled thread. */
  readonly clock: Clock;
  /** Time without progress after which the thread counts as stalled, in milliseconds. */
  readonly stallMsMax: number;
  /** Starts the worker thread. */
  readonly startWorker: () => Worker;
}

/** One decoding as this side sees it. */
class Job {
  readonly id: number;
  isOver = false;
  /** Compressed bytes posted and not worked through. */
  inputBytes = 0;
  isInputEnded = false;
  /** Decoded bytes received and not taken by the reader. */
  outputBytes = 0;
  readonly replies: Reply[] = [];
  #failure: unknown;
  #changed = Promise.withResolvers<void>();

  constructor(id: number) {
    this.id = id;
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.notify();
  }

  notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** Resolves at the next change of anything here. */
  async change(signal?: AbortSignal): Promise<void> {
    await untilAborted(this.#changed.promise, signal);
  }

  async nextReply(signal: AbortSignal | undefined): Promise<Reply> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const reply = this.replies.shift();
      if (reply) return reply;
      await this.change(signal);
    }
  }
}

/**
 * A worker thread that decodes one bzip2 file at a time. The thread starts with the first file, is replaced with the
 * next one after it died, and does not keep the process alive while it has nothing to do.
 */
export class ArchiveThread {
  readonly #options: ArchiveThreadOptions;
  #worker: Worker | undefined;
  #job: Job | undefined;
  #jobs = 0;
  #watch: Timer | undefined;
  #closed: ArchiveError | undefined;

  constructor(options: ArchiveThreadOptions) {
    this.#options = options;
  }

  /** Decodes what `reader` gives. The bytes in flight are bounded both ways. @throws ArchiveError */
  async *decode(
    reader: SourceReader,
    limits: Bzip2Limits,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array | BlockLost | BlockRecovered, Bzip2End, undefined> {
    if (this.#closed) throw this.#closed;
    const worker = this.#start();
    const job = new Job(++this.#jobs);
    const { id } = job;
    this.#job = job;
    worker.ref();
    try {
      const { outputBytesMax, ratioMax, resync } = limits;
      this.#post({ kind: 'begin', job: id, limits: { outputBytesMax, ratioMax, resync } });
      void this.#feed(job, reader);
      for (;;) {
        const reply = await job.nextReply(signal);
        if (reply.kind === 'finished') return reply.end;
        if (reply.kind === 'failed') {
          throw new ArchiveError(reply.error.code, reply.error.message, { bit: reply.error.bit });
        }
        if (reply.kind === 'marker') yield reply.marker;
        if (reply.kind !== 'output') continue;
        yield reply.bytes;
        job.outputBytes -= reply.bytes.length;
        this.#post({ kind: 'taken', job: id, bytes: reply.bytes.length });
      }
    } finally {
      job.isOver = true;
      job.notify();
      this.#post({ kind: 'abandon', job: id });
      this.#job = undefined;
      this.#rewatch();
      worker.unref();
    }
  }

  /** Ends the thread for good; a decoding under way fails with `error`, and so does one that comes later. */
  async close(error: ArchiveError): Promise<void> {
    this.#closed = error;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#job?.fail(error);
    await worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#options.startWorker();
    worker.unref();
    worker.on('message', (reply: Reply) => this.#receive(reply));
    worker.on('error', (cause) => this.#lose(worker, 'The thread that decoded the archive died', cause));
    worker.on('exit', () => this.#lose(worker, 'The thread that decoded the archive ended'));
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker, reason: string, cause?: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#job?.fail(new ArchiveError('worker-lost', reason, { cause }));
    void worker.terminate();
  }

  #post(request: Request): void {
    this.#worker?.postMessage(request, request.kind === 'input' ? [request.bytes.buffer] : []);
    this.#rewatch();
  }

  #receive(reply: Reply): void {
    const job = this.#job;
    if (reply.job !== job?.id) return;
    if (reply.kind === 'consumed') job.inputBytes -= reply.bytes;
    else job.replies.push(reply);
    if (reply.kind === 'output') job.outputBytes += reply.bytes.length;
    if (reply.kind === 'finished' || reply.kind === 'failed') job.isOver = true;
    job.notify();
    this.#rewatch();
  }

  async #feed(job: Job, reader: SourceReader): Promise<void> {
    try {
      for (let chunk = await reader.read(); chunk && !job.isOver; chunk = await reader.read()) {
        for (let from = 0; from < chunk.length; from += INPUT_CHUNK_BYTES) {
          while (job.inputBytes >= INPUT_WINDOW_BYTES && !job.isOver) await job.change();
          if (job.isOver) return;
          // A copy: the source's chunk may be a part of a buffer that is used for other things too.
          const bytes = new Uint8Array(chunk.subarray(from, from + INPUT_CHUNK_BYTES));
          job.inputBytes += bytes.length;
          this.#post({ kind: 'input', job: job.id, bytes });
        }
      }
      if (job.isOver) return;
      job.isInputEnded = true;
      this.#post({ kind: 'input-ended', job: job.id });
    } catch (error) {
      job.fail(error);
    }
  }

  /** Starts the wait for the next answer anew, or ends it when the thread owes none. */
  #rewatch(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    const job = this.#job;
    if (!job || job.isOver || job.outputBytes >= OUTPUT_WINDOW_BYTES) return;
    if (job.inputBytes === 0 && !job.isInputEnded) return;
    const { clock, stallMsMax } = this.#options;
    const worker = this.#worker;
    if (!worker) return;
    this.#watch = clock.setTimer(stallMsMax, () =>
      this.#lose(worker, `The thread that decoded the archive did not answer for ${stallMsMax} ms`),
    );
  }
}
