import { openDeadline } from './bounded-waits.ts';
import type { Clock } from './clock.ts';

/** A shutdown step that failed or timed out. */
export interface StopFault {
  readonly step: string;
  readonly cause: unknown;
}

/**
 * Shuts down components in reverse order of registration. Each step has a name and a time limit, so a step that hangs
 * delays the shutdown by no more than its own limit. `stop` is idempotent.
 */
export class Lifecycle {
  readonly #clock: Clock;
  readonly #steps: { name: string; limitMs: number; stop: (signal: AbortSignal) => unknown }[] = [];
  #stopping: Promise<StopFault[]> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Registers `stop` to run before everything registered so far. Its signal aborts after `limitMs`. */
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
