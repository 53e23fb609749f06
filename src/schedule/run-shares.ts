/** Kinds of runs that share the places: polls, everything else of routers that answer, and runs of routers that fail. */
export type RunKind = 'status' | 'work' | 'failing';

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
 * Most places that a kind may take, as a part of all. Long downloads never take the places of polls; routers that are known
 * not to answer, each of which holds its place until a time-out, never take those of the others.
 */
const SHARES: Readonly<Record<RunKind, number>> = { status: 1, work: 3 / 4, failing: 1 / 4 };
const KINDS = ['status', 'work', 'failing'] as const;

/**
 * Places for concurrent runs. Within a kind, who waits longest is next; between kinds, the one with the fewest places under
 * way, so that neither polls nor logs starve while there are too few places for both.
 */
export class RunShares<T> {
  #max: number;
  #workMax = Number.POSITIVE_INFINITY;
  readonly #waiting: Readonly<Record<RunKind, Set<T>>> = { status: new Set(), work: new Set(), failing: new Set() };
  readonly #running = new Map<T, RunKind>();
  readonly #counts: Record<RunKind, number> = { status: 0, work: 0, failing: 0 };

  constructor(max: number) {
    this.#max = max;
  }

  get load(): RunLoad {
    const { status, work, failing } = this.#waiting;
    const waiting = status.size + work.size;
    return { running: this.#running.size, waiting, heldBack: failing.size, max: this.#max };
  }

  /** Changes the number of places. Runs under way go on. */
  setMax(max: number): void {
    this.#max = max;
  }

  /** Number of runs under way that are work. */
  get work(): number {
    return this.#counts.work;
  }

  /** Limits the places of work further. Runs under way go on. */
  limitWork(workMax: number): void {
    this.#workMax = workMax;
  }

  /** The poll that has waited longest although a place is free; `undefined` if there is none. */
  get nextPoll(): T | undefined {
    if (this.#running.size >= this.#max) return undefined;
    const [item] = this.#waiting.status;
    return item;
  }

  /** Waits for a place. */
  push(item: T, kind: RunKind): void {
    this.#waiting[kind].add(item);
  }

  /** No longer waits. */
  remove(item: T): void {
    for (const kind of KINDS) this.#waiting[kind].delete(item);
  }

  /** Returns the next that gets a place; `undefined` if there is none, or no place. */
  take(): T | undefined {
    if (this.#running.size >= this.#max) return undefined;
    const [kind] = KINDS.filter((one) => this.#waiting[one].size > 0 && this.#counts[one] < this.#mostOf(one)).toSorted(
      (a, b) => this.#counts[a] - this.#counts[b],
    );
    if (!kind) return undefined;
    const [item] = this.#waiting[kind];
    if (item === undefined) return undefined;
    this.#waiting[kind].delete(item);
    this.#running.set(item, kind);
    this.#counts[kind]++;
    return item;
  }

  /** Gives up a place. */
  release(item: T): void {
    const kind = this.#running.get(item);
    if (kind && this.#running.delete(item)) this.#counts[kind]--;
  }

  #mostOf(kind: RunKind): number {
    const most = Math.ceil(this.#max * SHARES[kind]);
    if (kind === 'status') return Math.max(1, most);
    return Math.max(1, Math.min(most, this.#max - 1, kind === 'work' ? this.#workMax : Infinity));
  }
}
