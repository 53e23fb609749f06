import { Worker } from 'node:worker_threads';
import { untilAborted } from '../../base/index.ts';
import type { BlockLost, BlockRecovered, Bzip2End, Bzip2Limits } from '../../bzip2/index.ts';
import { ArchiveError } from './archive-error.ts';
import {
  INPUT_CHUNK_BYTES,
  INPUT_WINDOW_BYTES,
  OUTPUT_WINDOW_BYTES,
  type Reply,
  type Request,
} from './archive-protocol.ts';
import { markOwn } from './own-chunks.ts';
import type { SourceReader } from './source-reader.ts';
import { type ThreadJob, WorkerThread, type WorkerThreadOptions } from './worker-thread.ts';

/** The worker's file stands beside this one, as a source in a checkout and compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
  import.meta.url,
);
/** So many bytes are taken before the thread hears of it, if there are more: each message costs time. */
const TAKEN_BYTES = 256 * 1024;
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

/** One decoding as this side sees it. */
class Job implements ThreadJob<Reply> {
  readonly id: number;
  isOver = false;
  /** Compressed bytes posted and not worked through. */
  inputBytes = 0;
  isInputEnded = false;
  /** Decoded bytes received and not taken by the reader. */
  outputBytes = 0;
  /** Decoded bytes taken by the reader, of which the thread does not know yet. */
  takenBytes = 0;
  readonly replies: Reply[] = [];
  #failure: unknown;
  #changed = Promise.withResolvers<void>();

  constructor(id: number) {
    this.id = id;
  }

  get isOwed(): boolean {
    // What was taken and not told of fills its window as well.
    if (this.isOver || this.outputBytes + this.takenBytes >= OUTPUT_WINDOW_BYTES) return false;
    return this.inputBytes > 0 || this.isInputEnded;
  }

  receive(reply: Reply): void {
    if (reply.kind === 'consumed') this.inputBytes -= reply.bytes;
    else this.replies.push(reply);
    if (reply.kind === 'output') this.outputBytes += reply.bytes.length;
    if (reply.kind === 'finished' || reply.kind === 'failed') this.isOver = true;
    this.notify();
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

/** A worker thread that decodes one bzip2 file at a time. */
export class ArchiveThread {
  readonly #thread: WorkerThread<Request, Reply>;

  constructor(options: Omit<WorkerThreadOptions, 'task'>) {
    this.#thread = new WorkerThread({ ...options, task: 'decoded the archive' });
  }

  /** Starts the thread, if it does not run, for a file that is about to come. */
  prepare(): void {
    this.#thread.prepare();
  }

  /** Decodes what `reader` gives. The bytes in flight are bounded both ways. @throws ArchiveError */
  async *decode(
    reader: SourceReader,
    limits: Bzip2Limits,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Uint8Array | BlockLost | BlockRecovered, Bzip2End, undefined> {
    const job = this.#thread.begin((id) => new Job(id));
    const { id } = job;
    try {
      const { outputBytesMax, ratioMax, resync } = limits;
      this.#thread.post({ kind: 'begin', job: id, limits: { outputBytesMax, ratioMax, resync } });
      void this.#feed(job, reader);
      for (;;) {
        const reply = await job.nextReply(signal);
        if (reply.kind === 'finished') return reply.end;
        if (reply.kind === 'failed') {
          throw new ArchiveError(reply.error.code, reply.error.message, { bit: reply.error.bit });
        }
        if (reply.kind === 'marker') yield reply.marker;
        if (reply.kind !== 'output') continue;
        const { length } = reply.bytes;
        markOwn(reply.bytes);
        yield reply.bytes;
        job.outputBytes -= length;
        job.takenBytes += length;
        if (job.takenBytes < TAKEN_BYTES && job.replies.length > 0) continue;
        this.#thread.post({ kind: 'taken', job: id, bytes: job.takenBytes });
        job.takenBytes = 0;
      }
    } finally {
      job.isOver = true;
      job.notify();
      this.#thread.post({ kind: 'abandon', job: id });
      this.#thread.end();
    }
  }

  /** Ends the thread for good; a decoding under way fails with `error`, and so does one that comes later. */
  close(error: ArchiveError): Promise<void> {
    return this.#thread.close(error);
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
          this.#thread.post({ kind: 'input', job: job.id, bytes }, [bytes.buffer]);
        }
      }
      if (job.isOver) return;
      job.isInputEnded = true;
      this.#thread.post({ kind: 'input-ended', job: job.id });
    } catch (error) {
      job.fail(error);
    }
  }
}
