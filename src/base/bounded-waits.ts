import type { Clock } from './clock.ts';

/** The abort reason of an exceeded deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
  /** The time allowed, in milliseconds. */
  readonly limitMs: number;
  constructor(limitMs: number) {
    super(`The limit of ${limitMs} ms was reached`);
    this.limitMs = limitMs;
  }
}

/** A signal that aborts on its own; release it with `using` so that its timer does not outlive the work. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Returns a signal that aborts with {@link DeadlineExceeded} after `limitMs` on `clock`, or with the parent's reason if
 * the parent aborts first.
 */
export function openDeadline(clock: Clock, limitMs: number, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = clock.setTimer(limitMs, () => controller.abort(new DeadlineExceeded(limitMs)));
  // Cheaper than AbortSignal.any(), and every request has a deadline.
  const onAbort = () => controller.abort(parent?.reason);
  if (parent?.aborted === true) onAbort();
  parent?.addEventListener('abort', onAbort);
  return {
    signal,
    [Symbol.dispose]() {
      timer.cancel();
      parent?.removeEventListener('abort', onAbort);
    },
  };
}

/**
 * Waits for `promise`, or rejects with the signal's reason if the signal aborts first. Leaves no listener behind, so
 * repeated calls do not pile up listeners on a long-lived signal. Without a signal it only waits.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  // Every request waits here: `Promise.race` and a listener with options take longer.
  return new Promise((resolve, reject) => {
    const end =
      <R>(settle: (result: R) => void) =>
      (result: R) => {
        signal.removeEventListener('abort', onAbort);
        settle(result);
      };
    // Later than what the promise has settled with already, which may be something to give back.
    const onAbort = () => queueMicrotask(() => end(reject)(signal.reason));
    // After an abort nobody observes a later failure of the promise.
    promise.then(end(resolve), end(reject));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

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
    // Without its result: the last one of a router would be held until its next request.
    this.#tail = turn.then(ignore, ignore);
    return untilAborted(turn, signal);
  }
}

function ignore(): void {}
