import type { TurnOutcome } from './activity.ts';

/** A failing router is asked ever less often, but no later than the first turn of its grid after this time. */
const BACKOFF_CEILING_MS = 5 * 60_000;
/** 2^30 intervals are longer than any ceiling. */
const DOUBLINGS_MAX = 30;

/**
 * Where one activity stands on its grid: the places of its turns are the first one plus whole intervals, whatever
 * happens in between. An interval of `Infinity` has no places at all. All times are monotonic.
 */
export class Grid {
  readonly #intervalMs: number;
  /** Place of the last turn that had one; far back before the first. */
  #lastMs = -Infinity;
  #dueMs = -Infinity;
  /** The place that the next turn would have had if the last one had not run over it. */
  #wantedMs = -Infinity;
  #failures = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Place of the next turn; far back before {@link begin}, `Infinity` when there is none. */
  get dueMs(): number {
    return this.#dueMs;
  }

  /** Fixes the grid by the place of its first turn. One without end between its places has none. */
  begin(firstMs: number): void {
    this.#dueMs = Number.isFinite(this.#intervalMs) ? firstMs : Number.POSITIVE_INFINITY;
    this.#wantedMs = this.#dueMs;
  }

  /** Whether the next place is at least `stretch` intervals behind the last turn. */
  admits(stretch: number): boolean {
    const earliestMs = this.#lastMs + stretch * this.#intervalMs;
    if (this.#dueMs < earliestMs) return false;
    this.#wantedMs = Math.max(this.#wantedMs, earliestMs);
    return true;
  }

  /** How late a turn is that begins at `nowMs`; `undefined` when it is ahead of its place. */
  lagAt(nowMs: number): number | undefined {
    return nowMs < this.#dueMs ? undefined : nowMs - this.#wantedMs;
  }

  /** Lets the places up to `nowMs` pass without a turn. */
  pass(nowMs: number): void {
    if (this.#dueMs > nowMs) return;
    this.#dueMs += (Math.floor((nowMs - this.#dueMs) / this.#intervalMs) + 1) * this.#intervalMs;
    this.#wantedMs = this.#dueMs;
  }

  /** Takes note of a turn. One ahead of its place moves the next only by ending a back-off. */
  settle(startedMs: number, endedMs: number, outcome: TurnOutcome): void {
    const hasPlace = this.#dueMs <= endedMs;
    const isRecovery = outcome === 'done' && this.#failures > 0;
    if (outcome === 'done') this.#failures = 0;
    // A failure ahead of its place does not count: asking often must not drive a router into back-off.
    else if (hasPlace) this.#failures++;
    if (hasPlace) {
      this.#lastMs = this.#dueMs;
      this.#dueMs = this.#findNext(endedMs);
      this.#wantedMs = this.#findNext(startedMs);
    } else if (isRecovery) {
      this.#dueMs = this.#findNext(endedMs);
      this.#wantedMs = this.#dueMs;
    }
  }

  /** The first place after `nowMs` that respects the back-off. */
  #findNext(nowMs: number): number {
    const doublings = Math.min(Math.max(0, this.#failures - 1), DOUBLINGS_MAX);
    const waitMs = Math.min(this.#intervalMs * 2 ** doublings, Math.max(this.#intervalMs, BACKOFF_CEILING_MS));
    const passed = Math.floor((nowMs - this.#lastMs) / this.#intervalMs);
    return this.#lastMs + Math.max(Math.ceil(waitMs / this.#intervalMs), passed + 1) * this.#intervalMs;
  }
}
