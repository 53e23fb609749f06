/** Number of runs, by what they are doing. */
export interface RunLoad {
  /** Under way. */
  readonly running: number;
  /** Due, and waiting for a place. */
  readonly waiting: number;
  /** Due, and waiting for one of the places of routers whose last run failed. */
  readonly heldBack: number;
  /** Most that are under way at a time. */
  readonly max: number;
}

/**
 * Most places for routers whose last run failed, as a part of all: each of them holds its place until a time-out, so they must not
 * take those of the others.
 */
const FAILING_SHARE = 1 / 4;

/** Places for concurrent runs of one kind. Who waits longest is next; routers that fail have at most a quarter of the places. */
export class RunPool<T> {
  #max: number;
  readonly #waiting = new Set<T>();
  /** Those that wait, of routers that fail. */
  readonly #heldBack = new Set<T>();
  readonly #running = new Set<T>();
  /** Those of {@link #running} that are of routers that fail. */
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

  /** Changes the number of places. Runs under way go on. */
  setMax(max: number): void {
    this.#max = max;
  }

  /** Waits for a place. */
  push(item: T, isFailing: boolean): void {
    (isFailing ? this.#heldBack : this.#waiting).add(item);
  }

  /** No longer waits. */
  remove(item: T): void {
    this.#waiting.delete(item);
    this.#heldBack.delete(item);
  }

  /** Returns the next that gets a place; `undefined` if there is none, or no place. */
  take(): T | undefined {
    if (this.#running.size >= this.#max) return undefined;
    const isFailing = this.#isTurnOfFailing;
    const [item] = isFailing ? this.#heldBack : this.#waiting;
    if (item === undefined) return undefined;
    this.remove(item);
    this.#running.add(item);
    if (isFailing) this.#failing.add(item);
    return item;
  }

  /** Gives up a place. */
  release(item: T): void {
    this.#running.delete(item);
    this.#failing.delete(item);
  }

  /** While both wait, whichever has fewer places is next, so that neither starves. */
  get #isTurnOfFailing(): boolean {
    const failing = this.#failing.size;
    if (this.#heldBack.size === 0 || failing >= Math.max(1, Math.floor(this.#max * FAILING_SHARE))) return false;
    return this.#waiting.size === 0 || failing < this.#running.size - failing;
  }
}
