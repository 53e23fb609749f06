import type { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/index.ts';
import type { BlockLost, Bzip2Limits } from '../../bzip2/index.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import { ArchiveError, type LogError } from '../reading/errors.ts';
import type { FileBeginning, ReadingOptions, ReadingResult } from '../reading/file-reading.ts';
import type { RecordBatch } from '../records/record-batch.ts';
import type { RecordContext } from '../records/record-builder.ts';
import type { SkewBounds } from '../time/log-clock.ts';
import type { Trailing } from './decode.ts';

/** Bytes of a file under way to the worker: enough to go on with while this side is busy. */
export const INPUT_WINDOW_BYTES = 512 * 1024;
/**
 * Records under way from the worker; it stops at that, so at most one batch more is under way. A batch is about 2 MiB of
 * JSON: the worker goes on while the main thread commits one and has another one waiting. Bytes.
 */
export const RECORDS_WINDOW_BYTES = 4 * 1024 * 1024;

/** A {@link RecordContext} in a form that survives the way between threads. */
interface PlainContext extends Omit<RecordContext, 'zone' | 'matcher' | 'now'> {
  /** Text of the zone. */
  readonly zone: string;
  /** Settings of the matcher as text. */
  readonly matcher: string | undefined;
}

/** A {@link ReadingStart} in such a form. */
export interface PlainStart {
  readonly file: LogFile;
  readonly context: PlainContext;
}

/** To the worker. A job is one file; messages of an earlier job are stale and ignored. */
export type Request =
  | {
      readonly kind: 'begin';
      readonly job: number;
      readonly plan: Omit<ReadingOptions, 'begin' | 'onBatch'>;
      readonly limits: Bzip2Limits;
    }
  /** The answer to the question which file it is; without `start` when it may not be read yet. */
  | { readonly kind: 'start'; readonly job: number; readonly start: PlainStart | undefined; readonly nowMs: number }
  /** `nowMs`: the agent's clock; absent until the file is known. */
  | { readonly kind: 'input'; readonly job: number; readonly bytes: Uint8Array; readonly nowMs: number | undefined }
  /** `isWhole` is false if the source has failed: then only what came before that is wanted. */
  | { readonly kind: 'ended'; readonly job: number; readonly isWhole: boolean }
  /** So many bytes of records have been taken. */
  | { readonly kind: 'taken'; readonly job: number; readonly bytes: number }
  /** Nobody wants the rest. */
  | { readonly kind: 'abandon'; readonly job: number };

/** A {@link RecordBatch} in a form that survives the way between threads. */
export interface PlainBatch extends Omit<RecordBatch, 'records'> {
  /** All of the memory is given away. */
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Bytes of the memory that hold records. */
  readonly recordBytes: number;
  /** The records as they are stored. */
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly records: number;
}

/** The file and its log as they stand behind a batch. */
export interface ReadingState {
  readonly file: LogFile | undefined;
  readonly stream: StreamState | undefined;
  /** The bounds of the router's clock as these lines have narrowed them. */
  readonly skew: SkewBounds | undefined;
}

/**
 * How a reading ended: `read` to its end or until nothing more was wanted; `failed` because of the archive, `source-failed` because of the
 * source; `unshipped` because it is no log.
 */
export type Outcome =
  | { readonly kind: 'read'; readonly result: ReadingResult; readonly trailing: Trailing | undefined }
  | {
      readonly kind: 'failed';
      readonly code: ArchiveError['code'];
      readonly message: string;
      readonly bit: number | undefined;
    }
  | { readonly kind: 'source-failed' }
  | { readonly kind: 'unshipped'; readonly state: LogError['code'] };

/** From the worker. */
export type Reply =
  /** So many bytes of the file have been worked through. */
  | { readonly kind: 'consumed'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'head'; readonly job: number; readonly beginning: FileBeginning }
  | { readonly kind: 'batch'; readonly job: number; readonly batch: PlainBatch; readonly state: ReadingState }
  /** The last message of a job. */
  | {
      readonly kind: 'ended';
      readonly job: number;
      readonly outcome: Outcome;
      readonly batch: PlainBatch;
      readonly state: ReadingState;
      readonly lost: readonly BlockLost[];
    };

/** Clock and limits of one worker thread. */
interface ArchiveThreadOptions {
  /** Clock for the detection of a stalled thread, and of one that is no longer needed. */
  readonly clock: Clock;
  /** Time without progress after which the thread counts as stalled, in milliseconds. */
  readonly stallMsMax: number;
  /** An idle thread ends after this time, in milliseconds. */
  readonly idleMsMax: number;
  /** Starts the worker thread. */
  readonly startWorker: () => Worker;
}

/** One file as this side sees it. Messages of an earlier job are stale and ignored. */
interface ThreadJob {
  readonly id: number;
  /** True while the thread has something to do for this job. */
  readonly isOwed: boolean;
  /** Takes an answer of the thread. */
  receive(reply: Reply): void;
  /** The thread is lost or closed. */
  fail(error: ArchiveError): void;
}

/**
 * A worker thread that reads one archive at a time. The thread starts with the first job or before it, is replaced with the next
 * one after it died, does not keep the process alive while it has nothing to do, and ends soon after that.
 */
export class ArchiveThread {
  readonly #options: ArchiveThreadOptions;
  #worker: Worker | undefined;
  #job: ThreadJob | undefined;
  #jobs = 0;
  #watch: Timer | undefined;
  #closed: ArchiveError | undefined;

  constructor(options: ArchiveThreadOptions) {
    this.#options = options;
  }

  /** Starts the thread, if it does not run, for a job that is about to come. */
  prepare(): void {
    if (this.#closed) return;
    this.#start();
    this.#rewatch();
  }

  /** Begins the job that `create` makes for a number. Throws if the thread was closed. */
  begin<Job extends ThreadJob>(create: (id: number) => Job): Job {
    if (this.#closed) throw this.#closed;
    const worker = this.#start();
    const job = create(++this.#jobs);
    this.#job = job;
    worker.ref();
    this.#rewatch();
    return job;
  }

  /** Nothing more is wanted of the job that was begun last. */
  end(): void {
    this.#job = undefined;
    this.#rewatch();
    this.#worker?.unref();
  }

  /** Sends a message to the thread; drops it if the thread is lost. */
  post(request: Request, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker?.postMessage(request, transfer);
    this.#rewatch();
  }

  /** Ends the thread for good; a job under way fails with `error`, and so does one that comes later. */
  async close(error: ArchiveError): Promise<void> {
    this.#closed = error;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#job?.fail(error);
    this.#rewatch();
    await worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = this.#options.startWorker();
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

  /** Starts the wait for the next answer anew, or the wait for the next job. */
  #rewatch(): void {
    this.#watch?.cancel();
    this.#watch = undefined;
    const { clock, stallMsMax, idleMsMax } = this.#options;
    const worker = this.#worker;
    if (!worker) return;
    if (this.#job?.isOwed) {
      const reason = `The thread that read the archive did not answer for ${stallMsMax} ms`;
      // Answers that were waiting for a batch to be stored may have been taken meanwhile.
      this.#watch = clock.setTimer(stallMsMax, () => {
        if (this.#job?.isOwed) this.#lose(worker, reason);
      });
    } else if (!this.#job) {
      this.#watch = clock.setTimer(idleMsMax, () => this.#lose(worker, 'The thread was idle'), false);
    }
  }
}
