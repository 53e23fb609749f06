import type { Clock } from './clock.ts';

/** The abort reason of an exceeded deadline. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
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

/** Returns a signal that aborts with {@link DeadlineExceeded} after `limitMs`, or with the parent's reason if the parent aborts first. */
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

/** Waits for `promise`, or rejects with the signal's reason on abort. Leaves no listener behind on a long-lived signal. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  // Every request waits here: `Promise.race` and a listener with options are slower.
  return new Promise((resolve, reject) => {
    const end =
      <R>(settle: (result: R) => void) =>
      (result: R) => {
        signal.removeEventListener('abort', onAbort);
        settle(result);
      };
    // Later than the result of a promise that has settled already: the caller may have to release it.
    const onAbort = () => queueMicrotask(() => end(reject)(signal.reason));
    // After an abort, a later failure of the promise is ignored.
    promise.then(end(resolve), end(reject));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

/** Runs one task at a time, in the order of the calls. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier work has ended, failed or not. Rejects with the signal's reason if `signal` aborts while waiting. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const result = this.#tail.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    // Without its result: the last response of a router would be kept until its next request.
    this.#tail = result.then(ignore, ignore);
    return untilAborted(result, signal);
  }
}

function ignore(): void {}

interface StopFault {
  readonly step: string;
  readonly cause: unknown;
}

/** Shuts down components in reverse order of registration; a step that hangs delays it by its own limit only. `stop` is idempotent. */
export class Lifecycle {
  readonly #clock: Clock;
  readonly #steps: { name: string; limitMs: number; stop: (signal: AbortSignal) => unknown }[] = [];
  #stopping: Promise<StopFault[]> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Registers `stop` to run before all steps registered so far. Its signal aborts after `limitMs`. */
  onStop(name: string, limitMs: number, stop: (signal: AbortSignal) => unknown): void {
    this.#steps.push({ name, limitMs, stop });
  }

  /** Runs all steps and resolves with the failed ones; never rejects. */
  stop(): Promise<StopFault[]> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<StopFault[]> {
    const faults: StopFault[] = [];
    for (const step of this.#steps.toReversed()) {
      using deadline = openDeadline(this.#clock, step.limitMs);
      const { signal } = deadline;
      const expired = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => expired.reject(signal.reason), { once: true });
      try {
        await Promise.race([Promise.resolve(step.stop(signal)), expired.promise]);
      } catch (cause) {
        faults.push({ step: step.name, cause });
      }
    }
    return faults;
  }
}
