/** Limits concurrency: at most a fixed number of holders at a time. */
export class ConcurrencyLimit {
  readonly #max: number;
  #inside = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot and returns the function that releases it (idempotent); `undefined` when all slots are taken. */
  enter(): (() => void) | undefined {
    if (this.#inside >= this.#max) return undefined;
    this.#inside++;
    let isInside = true;
    return () => {
      if (isInside) this.#inside--;
      isInside = false;
    };
  }
}
