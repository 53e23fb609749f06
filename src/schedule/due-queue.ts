/** A binary heap of things by due time; equal times come out in the order in which they went in. */
export class DueQueue<T> {
  readonly #heap: { readonly dueMs: number; readonly order: number; readonly item: T }[] = [];
  #order = 0;

  push(dueMs: number, item: T): void {
    const entry = { dueMs, order: this.#order++, item };
    let index = this.#heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** The earliest due time, or `undefined` when the queue is empty. */
  get nextDueMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  /** Takes the earliest item that is due at `nowMs`. */
  popDue(nowMs: number): T | undefined {
    const top = this.#heap[0];
    if (!top || top.dueMs > nowMs) return undefined;
    this.#swap(0, this.#heap.length - 1);
    this.#heap.pop();
    this.#sink(0);
    return top.item;
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
  }
}
