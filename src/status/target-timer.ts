/** Records when one resource was read and decides when it is due. All times are milliseconds on the monotonic clock. */
export class TargetTimer {
  readonly #intervalMs: number;
  readonly #tickMs: number;
  #lastMs = -Infinity;
  #failures = 0;

  /** `tickMs`: polls come at multiples of this, more or less late. */
  constructor(intervalMs: number, tickMs: number) {
    this.#intervalMs = intervalMs;
    this.#tickMs = tickMs;
  }

  /**
   * Returns true if it is due in a poll that starts at `nowMs`. Intervals are whole ticks. A failed read is retried at
   * the next ticks, with growing delay, but no later than its interval.
   */
  isDue(nowMs: number, multiplier = 1): boolean {
    const waitMs = toWholeTicks(this.intervalMs(multiplier), this.#tickMs);
    if (waitMs === Infinity) return false;
    const failuresMs = this.#tickMs * Math.max(1, multiplier) * 2 ** (this.#failures - 1);
    const ticksMs = this.#failures > 0 ? Math.min(waitMs, failuresMs) : waitMs;
    // A late poll is followed by an early one; a resource that is due at every tick must not miss that.
    return ticksMs <= this.#tickMs || nowMs - this.#lastMs >= ticksMs - this.#tickMs / 2;
  }

  /** Returns the current interval. */
  intervalMs(multiplier = 1): number {
    return this.#intervalMs * Math.max(1, multiplier);
  }

  /** Records that it was read, or failed on its own, in the poll that started at `startedMs`. */
  recordRead(startedMs: number, hasFailed: boolean): void {
    this.#lastMs = startedMs;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
  }

  /** Makes it due at once. */
  reset(): void {
    this.#lastMs = -Infinity;
    this.#failures = 0;
  }
}

function toWholeTicks(intervalMs: number, tickMs: number): number {
  return Math.ceil(intervalMs / tickMs) * tickMs;
}
