import { setFlagsFromString } from 'node:v8';

/** From this number of routers on, the heap is mostly what is known of them, which hardly changes. */
const ROUTERS_MIN = 300;
/** With 4,000 routers of 16 parts: 184 instead of 349 MiB of heap, at 100 times the usual changes a fifth more processor time. */
const GROWTH_PERCENT = 30;
const BY_V8 = 0;

/**
 * Bounds by how much the heap grows before garbage is collected. V8 lets it grow up to threefold after a busy time, as is the
 * first contact with a fleet; with few routers, whose logs are most of the work, that is right. So it is while a configuration
 * is loaded: marking a heap of ten thousand routers holds the main thread for 10 to 30 ms each time.
 */
export class HeapGrowth {
  #percent = BY_V8;
  #loads = 0;

  /** Sets the number of routers that are known from now on. */
  bound(routers: number): void {
    this.#percent = routers >= ROUTERS_MIN ? GROWTH_PERCENT : BY_V8;
    this.#apply();
  }

  /** Leaves the heap to V8 while a configuration is loaded. */
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
    setFlagsFromString(`--heap-growing-percent=${this.#loads > 0 ? BY_V8 : this.#percent}`);
  }
}
