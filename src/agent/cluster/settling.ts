import type { Clock, Timer } from '../../base/index.ts';

/**
 * Changes of the members are acted upon once there was none for so long, but not later than that: after an outage of the
 * engine the replicas come back one after another, and each would move routers. Milliseconds.
 */
const SETTLE_MS = 1000;
const SETTLE_MS_MAX = 3000;
/** Wait before something is tried again. Milliseconds. */
const AGAIN_MS = 1000;

/** Says when changes of the cluster are acted upon. */
export class Settling {
  readonly #clock: Clock;
  readonly #act: () => void;
  #timer: Timer | undefined;
  #isClosed = false;
  /** Time of the oldest change that was not acted upon yet. Monotonic milliseconds. */
  #changedMs: number | undefined;

  constructor(clock: Clock, act: () => void) {
    this.#clock = clock;
    this.#act = act;
  }

  /** Acts when there are no more changes for a while. */
  noteChange(): void {
    const nowMs = this.#clock.monotonic();
    this.#changedMs ??= nowMs;
    this.schedule(Math.max(0, Math.min(SETTLE_MS, this.#changedMs + SETTLE_MS_MAX - nowMs)));
  }

  /** Acts after a time, instead of at an earlier or later one. */
  schedule(waitMs: number): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#changedMs = undefined;
      this.#act();
    });
  }

  /** Acts again after a second, unless it acts earlier anyway. */
  tryAgain(): void {
    if (!this.#timer) this.schedule(AGAIN_MS);
  }

  /** Acts no more. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
