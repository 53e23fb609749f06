/** When one resource was read, and when it is due. All times are milliseconds on the monotonic clock. */
export class TargetTimer {
  readonly #intervalMs: number;
  readonly #tickMs: number;
  #lastMs = -Infinity;
  #failures = 0;

  /** `tickMs`: turns come at multiples of this, more or less late. */
  constructor(intervalMs: number, tickMs: number) {
    this.#intervalMs = intervalMs;
    this.#tickMs = tickMs;
  }

  /**
   * Whether it is due in a turn that begins at `nowMs`. Intervals are whole ticks. What failed is tried again at the next
   * ticks, ever later, but not later than its interval.
   */
  isDue(nowMs: number, stretch = 1): boolean {
    const waitMs = toWholeTicks(this.intervalMs(stretch), this.#tickMs);
    if (waitMs === Infinity) return false;
    const failuresMs = this.#tickMs * Math.max(1, stretch) * 2 ** (this.#failures - 1);
    const ticksMs = this.#failures > 0 ? Math.min(waitMs, failuresMs) : waitMs;
    // A late turn is followed by one that comes early; what is due at every tick is not held up by that.
    return ticksMs <= this.#tickMs || nowMs - this.#lastMs >= ticksMs - this.#tickMs / 2;
  }

  /** How often it is read. */
  intervalMs(stretch = 1): number {
    return this.#intervalMs * Math.max(1, stretch);
  }

  /** It was read, or failed alone, in the turn that began at `startedMs`. */
  note(startedMs: number, hasFailed: boolean): void {
    this.#lastMs = startedMs;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
  }

  /** It is due at once. */
  reset(): void {
    this.#lastMs = -Infinity;
    this.#failures = 0;
  }
}

function toWholeTicks(intervalMs: number, tickMs: number): number {
  return Math.ceil(intervalMs / tickMs) * tickMs;
}
