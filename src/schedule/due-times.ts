import type { RunOutcome } from './activity.ts';

/** Ceiling of the back-off of a failing router; the next run is at the first scheduled time after it. */
const BACKOFF_CEILING_MS = 5 * 60_000;
/** 2^30 intervals are longer than any ceiling. */
const DOUBLINGS_MAX = 30;

/**
 * The fixed-rate schedule of one activity: scheduled times are the first one plus whole intervals, whatever happens in
 * between. An interval of `Infinity` has no scheduled times. All times are monotonic.
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

  /** True if the last scheduled run failed. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Sets the time of the first run. A schedule with an infinite interval has none. */
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

  /** Skips the scheduled times up to `nowMs` without a run. */
  skip(nowMs: number): void {
    if (this.#dueMs > nowMs) return;
    this.#dueMs += (Math.floor((nowMs - this.#dueMs) / this.#intervalMs) + 1) * this.#intervalMs;
    this.#wantedMs = this.#dueMs;
  }

  /** Records a run. A run ahead of its scheduled time moves the next one only by ending a back-off. */
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

  /** Ends the wait of the back-off: the next run is at the next scheduled time. Failures still count. */
  hasten(nowMs: number): void {
    if (this.#failures < 2 || !Number.isFinite(this.#intervalMs) || this.#dueMs <= nowMs) return;
    const passed = Math.max(0, Math.floor((nowMs - this.#lastMs) / this.#intervalMs));
    this.#dueMs = Math.min(this.#dueMs, this.#lastMs + (passed + 1) * this.#intervalMs);
    this.#wantedMs = this.#dueMs;
  }

  /** Returns the first scheduled time after `nowMs` that respects the back-off. */
  #findNext(nowMs: number): number {
    const doublings = Math.min(Math.max(0, this.#failures - 1), DOUBLINGS_MAX);
    const waitMs = Math.min(this.#intervalMs * 2 ** doublings, Math.max(this.#intervalMs, BACKOFF_CEILING_MS));
    const passed = Math.floor((nowMs - this.#lastMs) / this.#intervalMs);
    return this.#lastMs + Math.max(Math.ceil(waitMs / this.#intervalMs), passed + 1) * this.#intervalMs;
  }
}

interface Slot<T> {
  readonly dueMs: number;
  readonly order: number;
  readonly item: T;
}

/**
 * A binary heap of items by due time; items with equal times come out in insertion order. An item occurs at most once:
 * pushing it again moves it.
 */
export class DueQueue<T> {
  readonly #heap: Slot<T>[] = [];
  readonly #indexes = new Map<T, number>();
  #order = 0;

  push(dueMs: number, item: T): void {
    this.remove(item);
    this.#heap.push({ dueMs, order: this.#order++, item });
    this.#rise(this.#heap.length - 1);
  }

  /** The earliest due time, or `undefined` when the queue is empty. */
  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  /** Removes and returns the earliest item that is due at `nowMs`. */
  popDue(nowMs: number): T | undefined {
    const top = this.#heap[0];
    if (!top || top.dueMs > nowMs) return undefined;
    this.remove(top.item);
    return top.item;
  }

  /** Removes an item if it is present. */
  remove(item: T): void {
    const index = this.#indexes.get(item);
    if (index === undefined) return;
    this.#indexes.delete(item);
    const last = this.#heap.pop();
    if (!last || index === this.#heap.length) return;
    this.#heap[index] = last;
    // The last item of the heap does not necessarily belong below the one it replaces.
    this.#sink(this.#rise(index));
  }

  /** Moves the item at `index` up to its position and returns that index. */
  #rise(start: number): number {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) break;
      this.#swap(index, parent);
      index = parent;
    }
    this.#note(index);
    return index;
  }

  #sink(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let first = index;
      if (left < this.#heap.length && this.#isBefore(left, first)) first = left;
      if (right < this.#heap.length && this.#isBefore(right, first)) first = right;
      if (first === index) return;
      this.#swap(index, first);
      index = first;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const left = this.#heap[a];
    const right = this.#heap[b];
    if (!left || !right) return false;
    return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const left = this.#heap[a];
    const right = this.#heap[b];
    if (!left || !right) return;
    this.#heap[a] = right;
    this.#heap[b] = left;
    this.#note(a);
    this.#note(b);
  }

  #note(index: number): void {
    const slot = this.#heap[index];
    if (slot) this.#indexes.set(slot.item, index);
  }
}
