/** Runs one task at a time, in the order of the calls. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /**
   * Runs `work` after all earlier work has ended, whether it failed or not. Rejects with the signal's reason as soon as
   * `signal` aborts while waiting.
   */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turn = this.#tail.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    this.#tail = turn.catch(() => {});
    if (!signal) return turn;
    return raceAbort(turn, signal);
  }
}

async function raceAbort<T>(turn: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([turn, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
