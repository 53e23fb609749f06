import type { RunOutcome } from './activity.ts';

/** Longest wait after failures. The next run is at the first scheduled time after it. */
const BACKOFF_CEILING_MS = 5 * 60_000;
/** Keeps 2^n finite: 2^30 intervals exceed any ceiling. */
const DOUBLINGS_MAX = 30;

/**
 * The fixed-rate schedule of one activity: scheduled times are the first one plus whole intervals. A failing activity
 * backs off in whole intervals, up to five minutes. An interval of `Infinity` has no scheduled times. All times are
 * monotonic.
 */
export class FixedRateSchedule {
  readonly #intervalMs: number;
  /** Scheduled time of the last run; -Infinity before the first. */
  #lastMs = -Infinity;
  #dueMs = -Infinity;
  /** The next scheduled time if the last run had not overrun it. */
  #wantedMs = -Infinity;
  #failures = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Next scheduled time; -Infinity before {@link begin}, `Infinity` if there is none. */
  get dueMs(): number {
    return this.#dueMs;
  }

  get isFailing(): boolean {
    return this.#failures > 0;
  }

  begin(firstMs: number): void {
    this.#dueMs = Number.isFinite(this.#intervalMs) ? firstMs : Number.POSITIVE_INFINITY;
    this.#wantedMs = this.#dueMs;
  }

  /** Returns true if the next scheduled time is at least `multiplier` intervals after the last run. */
  admits(multiplier: number): boolean {
    const earliestMs = this.#lastMs + multiplier * this.#intervalMs;
    if (this.#dueMs < earliestMs) return false;
    this.#wantedMs = Math.max(this.#wantedMs, earliestMs);
    return true;
  }

  /** Returns how late a run is that starts at `nowMs`; `undefined` if it is ahead of its scheduled time. */
  lagAt(nowMs: number): number | undefined {
    return nowMs < this.#dueMs ? undefined : nowMs - this.#wantedMs;
  }

  skip(nowMs: number): void {
    if (this.#dueMs > nowMs) return;
    this.#dueMs += (Math.floor((nowMs - this.#dueMs) / this.#intervalMs) + 1) * this.#intervalMs;
    this.#wantedMs = this.#dueMs;
  }

  /** Records a run. A run ahead of its scheduled time moves the next one only if it ends a back-off. */
  settle(startedMs: number, endedMs: number, outcome: RunOutcome): void {
    const isScheduled = this.#dueMs <= endedMs;
    const isRecovery = outcome === 'done' && this.#failures > 0;
    if (outcome === 'done') this.#failures = 0;
    // A failure ahead of the scheduled time does not count: frequent triggers must not drive a router into back-off.
    else if (isScheduled) this.#failures++;
    if (isScheduled) {
      this.#lastMs = this.#dueMs;
      this.#dueMs = this.#findNext(endedMs);
      this.#wantedMs = this.#findNext(startedMs);
    } else if (isRecovery) {
      this.#dueMs = this.#findNext(endedMs);
      this.#wantedMs = this.#dueMs;
    }
  }

  /** Ends the back-off wait: the next run is at the next scheduled time. Failures still count. */
  hasten(nowMs: number): void {
    if (this.#failures < 2 || !Number.isFinite(this.#intervalMs) || this.#dueMs <= nowMs) return;
    const passed = Math.max(0, Math.floor((nowMs - this.#lastMs) / this.#intervalMs));
    this.#dueMs = Math.min(this.#dueMs, this.#lastMs + (passed + 1) * this.#intervalMs);
    this.#wantedMs = this.#dueMs;
  }

  #findNext(nowMs: number): number {
    const doublings = Math.min(Math.max(0, this.#failures - 1), DOUBLINGS_MAX);
    const waitMs = Math.min(this.#intervalMs * 2 ** doublings, Math.max(this.#intervalMs, BACKOFF_CEILING_MS));
    const passed = Math.floor((nowMs - this.#lastMs) / this.#intervalMs);
    return this.#lastMs + Math.max(Math.ceil(waitMs / this.#intervalMs), passed + 1) * this.#intervalMs;
  }
}
