import type { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/index.ts';
import { ArchiveError } from './archive-error.ts';
import type { Reply, Request } from './archive-protocol.ts';

/** Clock and limits of one worker thread. */
export interface ArchiveThreadOptions {
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
export interface ThreadJob {
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
