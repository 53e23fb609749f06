interface Slot<T> {
  readonly dueMs: number;
  readonly order: number;
  readonly item: T;
}

/** A binary heap of items by due time; equal times come out in insertion order. Pushing an item again moves it. */
export class DueQueue<T> {
  readonly #heap: Slot<T>[] = [];
  readonly #indexes = new Map<T, number>();
  #order = 0;

  push(dueMs: number, item: T): void {
    this.remove(item);
    this.#heap.push({ dueMs, order: this.#order++, item });
    this.#rise(this.#heap.length - 1);
  }

  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  popDue(nowMs: number): T | undefined {
    const top = this.#heap[0];
    if (!top || top.dueMs > nowMs) return undefined;
    this.remove(top.item);
    return top.item;
  }

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

  #rise(start: number): number {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) break;
      this.#swap(index, parent);
      index = parent;
    }
    this.#recordIndex(index);
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
    this.#recordIndex(a);
    this.#recordIndex(b);
  }

  #recordIndex(index: number): void {
    const slot = this.#heap[index];
    if (slot) this.#indexes.set(slot.item, index);
  }
}

/** Number of runs, by what they are doing. */
export interface RunLoad {
  readonly running: number;
  /** Due, and waiting for a slot. */
  readonly waiting: number;
  /** Due, and waiting for one of the slots of routers whose last run failed. */
  readonly heldBack: number;
  readonly max: number;
}

/**
 * Share of slots for routers whose last run failed. Each of them holds its slot until a time-out, so they must not take
 * those of the others.
 */
const FAILING_SHARE = 1 / 4;

/** Slots for concurrent runs of one kind, in the order of waiting; failing routers get a quarter of them at most. */
export class RunPool<T> {
  #max: number;
  readonly #waiting = new Set<T>();
  readonly #heldBack = new Set<T>();
  readonly #running = new Set<T>();
  readonly #failing = new Set<T>();

  constructor(max: number) {
    this.#max = max;
  }

  get load(): RunLoad {
    return {
      running: this.#running.size,
      waiting: this.#waiting.size,
      heldBack: this.#heldBack.size,
      max: this.#max,
    };
  }

  setMax(max: number): void {
    this.#max = max;
  }

  push(item: T, isFailing: boolean): void {
    (isFailing ? this.#heldBack : this.#waiting).add(item);
  }

  remove(item: T): void {
    this.#waiting.delete(item);
    this.#heldBack.delete(item);
  }

  /** Returns the next item, which then holds a slot; `undefined` if none waits or no slot is free. */
  take(): T | undefined {
    if (this.#running.size >= this.#max) return undefined;
    const isFailing = this.#isFailingNext;
    const [item] = isFailing ? this.#heldBack : this.#waiting;
    if (item === undefined) return undefined;
    this.remove(item);
    this.#running.add(item);
    if (isFailing) this.#failing.add(item);
    return item;
  }

  release(item: T): void {
    this.#running.delete(item);
    this.#failing.delete(item);
  }

  /** While both wait, the kind with fewer slots is next, so that neither starves. */
  get #isFailingNext(): boolean {
    const failing = this.#failing.size;
    if (this.#heldBack.size === 0 || failing >= Math.max(1, Math.floor(this.#max * FAILING_SHARE))) return false;
    return this.#waiting.size === 0 || failing < this.#running.size - failing;
  }
}
