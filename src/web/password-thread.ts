import { Worker } from 'node:worker_threads';
import type { PasswordComparer, PasswordWork, Standing } from './basic-auth.ts';
import type { Comparison, ComparisonResult } from './bcrypt-worker.ts';
import { WebError } from './errors.ts';

/** The worker is in the same folder: a source file in a checkout, compiled in a package. */
const WORKER_URL = new URL(
  import.meta.url.endsWith('.ts') ? './bcrypt-worker.ts' : './bcrypt-worker.js',
  import.meta.url,
);
/** Maximum comparisons that wait beside the one in progress. At the usual bcrypt cost the last one waits three seconds. */
const WAITING_MAX: Readonly<Record<Standing, number>> = { good: 31, new: 31, failed: 16 };

interface Job extends Comparison {
  readonly client: string;
  readonly result: PromiseWithResolvers<boolean>;
}

/**
 * Compares passwords with bcrypt hashes, one after the other. A comparison takes 0.1 s of CPU time, so it runs in its own
 * thread: guessing passwords slows down only other logins. Clients whose credentials were valid lately come first, then those
 * that are new, the newest first: a crowd that comes at once, each from an address of its own, would keep everybody behind it
 * waiting. Clients that failed before come last. The thread starts with the first comparison, is replaced if it dies, and does not
 * keep the process alive while idle.
 */
export class PasswordThread implements PasswordComparer {
  readonly #waiting: Readonly<Record<Standing, Job[]>> = { good: [], new: [], failed: [] };
  #current: Job | undefined;
  #worker: Worker | undefined;
  #comparisons = 0;
  #isClosed = false;

  /**
   * Throws {@link WebError}: `busy` when too many comparisons wait already, or when this one gives way to another client,
   * `password-check` when the thread died.
   */
  async isMatch(password: string, hash: string, { fillers, standing, client }: PasswordWork): Promise<boolean> {
    if (this.#isClosed) throw fail('The web server is being closed');
    const queue = this.#waiting[standing];
    if (queue.length >= WAITING_MAX[standing]) {
      const excess = standing === 'new' ? queue.shift() : takeFromLargest(queue, client);
      if (!excess) throw refuse();
      excess.result.reject(refuse());
    }
    const result = Promise.withResolvers<boolean>();
    queue.push({ id: ++this.#comparisons, password, hash, fillers, client, result });
    this.#proceed();
    return result.promise;
  }

  /** Ends the thread permanently. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#lose(worker, fail('The web server is being closed'));
    await worker?.terminate();
  }

  #proceed(): void {
    if (this.#current) return;
    const job = this.#waiting.good.shift() ?? this.#waiting.new.pop() ?? this.#waiting.failed.shift();
    if (!job) {
      this.#worker?.unref();
      return;
    }
    this.#current = job;
    const { id, password, hash, fillers, result } = job;
    try {
      const worker = this.#start();
      worker.ref();
      worker.postMessage({ id, password, hash, fillers } satisfies Comparison, []);
    } catch (cause) {
      // The system has no room for a thread.
      this.#current = undefined;
      result.reject(fail('The thread that compares passwords could not start', cause));
      this.#proceed();
    }
  }

  #start(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(WORKER_URL, { name: 'bcrypt', env: {}, execArgv: [] });
    worker.on('message', ({ id, isMatch }: ComparisonResult) => {
      if (this.#current?.id !== id) return;
      this.#current.result.resolve(isMatch);
      this.#current = undefined;
      this.#proceed();
    });
    worker.on('error', (cause) => this.#lose(worker, fail('The thread that compares passwords died', cause)));
    worker.on('exit', () => this.#lose(worker, fail('The thread that compares passwords ended')));
    this.#worker = worker;
    return worker;
  }

  #lose(worker: Worker | undefined, error: WebError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    const lost = [this.#current, ...Object.values(this.#waiting).flatMap((queue) => queue.splice(0))];
    this.#current = undefined;
    for (const job of lost) job?.result.reject(error);
  }
}

/**
 * Takes the last job of the client with the most out of a full queue, if that client has at least two more than the new one:
 * a crowd of guesses from a few addresses keeps nobody else out.
 */
function takeFromLargest(queue: Job[], newcomer: string): Job | undefined {
  const counts = new Map<string, number>();
  for (const { client } of queue) counts.set(client, (counts.get(client) ?? 0) + 1);
  const [largest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
  if (most < (counts.get(newcomer) ?? 0) + 2) return undefined;
  return queue.splice(
    queue.findLastIndex(({ client }) => client === largest),
    1,
  )[0];
}

function refuse(): WebError {
  return new WebError('busy', 'Too many passwords wait to be compared', { disposition: 'hold-back' });
}

function fail(message: string, cause?: unknown): WebError {
  return new WebError('password-check', message, { disposition: 'retry', cause });
}
