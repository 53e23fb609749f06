/** Bounds how many of something are under way at a time. */
export class Gate {
  readonly #max: number;
  #inside = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Lets one in, who must call the answer on leaving; `undefined` when it is full. Leaving twice is leaving once. */
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
