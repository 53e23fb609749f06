import { setFlagsFromString } from 'node:v8';

/** From this number of routers on, the heap is mostly what is known of them, which hardly changes. */
const ROUTERS_MIN = 300;
/**
 * Few: by default V8 would mark a heap of 35 MB for each 10 MB that come, objects or memory outside of it, which takes 5 to
 * 10 % of the time in which an archive is read. Many: with 4,000 routers of 16 parts, 184 instead of 349 MiB of heap, at 100 times
 * the usual changes a fifth more processor time.
 */
const GROWTH_PERCENT = { few: 100, many: 30 };
/**
 * While a configuration is loaded. The pause at the end of a collection of the whole heap is mostly copying: of objects out of
 * half-empty old pages, and of young ones out of theirs. Pages that are a tenth full are kept as they are instead, and old ones
 * are tidied up by the next collection after the load. With 10,000 routers, 8 to 22 ms instead of 14 to 37. Nearly all that is
 * new stays, and copying 8 MiB of it takes up to 31 ms: what fills a fifth of that is collected between two steps.
 */
const LOADING: readonly string[] = [
  '--heap-growing-percent=0',
  '--no-compact',
  '--page-promotion-threshold=10',
  '--minor-gc-task-trigger=20',
];
/** The defaults of V8. */
const TIDY: readonly string[] = ['--compact', '--page-promotion-threshold=70', '--minor-gc-task-trigger=80'];

/**
 * Bounds by how much the heap grows before garbage is collected. V8 lets it grow up to threefold after a busy time, as is the
 * first contact with a fleet, and by a quarter at others. That is left to it while a configuration is loaded: marking a heap of
 * ten thousand routers holds the main thread for 10 to 30 ms each time.
 */
export class HeapGrowth {
  #percent = GROWTH_PERCENT.few;
  #loads = 0;

  /** Sets the number of routers that are known from now on. */
  bound(routers: number): void {
    this.#percent = routers >= ROUTERS_MIN ? GROWTH_PERCENT.many : GROWTH_PERCENT.few;
    this.#apply();
  }

  /** Leaves the growth of the heap to V8 while a configuration is loaded, and has pauses short rather than memory saved. */
  async duringLoad<T>(load: () => Promise<T>): Promise<T> {
    this.#loads++;
    this.#apply();
    try {
      return await load();
    } finally {
      this.#loads--;
      this.#apply();
    }
  }

  #apply(): void {
    const flags = this.#loads > 0 ? LOADING : [`--heap-growing-percent=${this.#percent}`, ...TIDY];
    for (const flag of flags) setFlagsFromString(flag);
  }
}
