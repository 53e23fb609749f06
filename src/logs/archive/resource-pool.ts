import { untilAborted } from '../../base/index.ts';
import type { ArchiveError } from './archive-error.ts';

/** Hands out a few things, each to one user at a time: first come, first served. */
export class ResourcePool<T> {
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
