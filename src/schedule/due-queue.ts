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
    const [left, right] = [this.#heap[a], this.#heap[b]];
    if (!left || !right) return false;
    return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);
  }

  #swap(a: number, b: number): void {
    const [left, right] = [this.#heap[a], this.#heap[b]];
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
