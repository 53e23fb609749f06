import type { Clock, Timer } from '../../base/index.ts';

const STEP_MS = 30_000;
/** Ten minutes: long enough that single batches do not matter. */
const STEPS = 20;

/** Measures the growth of the spool during the last ten minutes. */
export class SpoolTrend {
  readonly #clock: Clock;
  readonly #measure: () => number;
  /** Sizes in bytes, the oldest first. */
  readonly #sizes: { readonly atMs: number; readonly bytes: number }[] = [];
  #timer: Timer | undefined;

  /** `measure` returns the size of the spool now, in bytes. */
  constructor(clock: Clock, measure: () => number) {
    this.#clock = clock;
    this.#measure = measure;
  }

  /** Measures from now on, twice a minute. */
  start(): void {
    this.#sizes.push({ atMs: this.#clock.monotonic(), bytes: this.#measure() });
    if (this.#sizes.length > STEPS) this.#sizes.shift();
    this.#timer = this.#clock.setTimer(STEP_MS, () => this.start());
  }

  /** Cancels the timer. */
  stop(): void {
    this.#timer?.cancel();
  }

  /**
   * Time until the spool has `bytesMax` if it goes on growing as it did. `undefined` when it does not grow, and while it
   * was not measured for long enough. Seconds.
   */
  findSecondsToFull(bytesMax: number): number | undefined {
    const [oldest] = this.#sizes;
    const seconds = oldest ? (this.#clock.monotonic() - oldest.atMs) / 1000 : 0;
    if (!oldest || seconds < STEP_MS / 1000) return undefined;
    const bytes = this.#measure();
    const perSecond = (bytes - oldest.bytes) / seconds;
    return perSecond > 0 ? Math.max(0, bytesMax - bytes) / perSecond : undefined;
  }
}
