import { Worker } from 'node:worker_threads';
import type { Comparison, ComparisonResult } from './bcrypt-worker.ts';
import { WebError } from './errors.ts';

/** The worker is in the same folder: a source file in a checkout, compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './bcrypt-worker.ts' : './bcrypt-worker.js',
  import.meta.url,
);
/** Maximum comparisons in progress or waiting. At the usual bcrypt cost the last one waits three seconds. */
const COMPARISONS_MAX = 32;

/**
 * Compares passwords with bcrypt hashes, one after the other. A comparison takes 0.1 s of CPU time, so it runs in its own
 * thread: guessing passwords slows down only other logins. The thread starts with the first comparison, is replaced if it
 * dies, and does not keep the process alive while idle.
 */
export class PasswordThread {
  readonly #waiting = new Map<number, PromiseWithResolvers<boolean>>();
  #worker: Worker | undefined;
  #comparisons = 0;
  #isClosed = false;

  /** Throws {@link WebError}: `busy` when too many comparisons wait already, `password-check` when the thread died. */
  async isMatch(password: string, hash: string): Promise<boolean> {
    if (this.#isClosed) throw fail('The web server is being closed');
    if (this.#waiting.size >= COMPARISONS_MAX) {
      throw new WebError('busy', 'Too many passwords wait to be compared', { disposition: 'hold-back' });
    }
    const worker = this.#start();
    const id = ++this.#comparisons;
    const result = Promise.withResolvers<boolean>();
    this.#waiting.set(id, result);
    worker.ref();
    worker.postMessage({ id, password, hash } satisfies Comparison, []);
    return result.promise;
  }

  /** Ends the thread permanently. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#lose(worker, fail('The web server is being closed'));
    await worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(WORKER_URL, { name: 'bcrypt', env: {}, execArgv: [] });
    worker.on('message', ({ id, isMatch }: ComparisonResult) => {
      this.#waiting.get(id)?.resolve(isMatch);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
    });
    worker.on('error', (cause) => this.#lose(worker, fail('The thread that compares passwords died', cause)));
    worker.on('exit', () => this.#lose(worker, fail('The thread that compares passwords ended')));
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker | undefined, error: WebError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function fail(message: string, cause?: unknown): WebError {
  return new WebError('password-check', message, { disposition: 'retry', cause });
}
