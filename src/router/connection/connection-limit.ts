/** Connections to routers, by what they are doing. */
export interface ConnectionLoad {
  /** Being opened, or with a request under way. */
  readonly busy: number;
  /** Kept for the next request. */
  readonly idle: number;
  /** Not opened yet, because too many are open. */
  readonly waiting: number;
  /** Most that are open at a time. */
  readonly max: number;
  /** Idle ones that were closed so far to make room for others. */
  readonly evicted: number;
}

/** The place of one connection. */
export interface ConnectionPlace {
  /** The connection has nothing to do; `close` ends it if its place is wanted. */
  setIdle(close: () => void): void;
  /** The connection has a request under way. */
  setBusy(): void;
  /** The connection is closed. Idempotent. */
  release(): void;
}

/**
 * Bound of the connections to all routers of this process. When one more is wanted than may be open, the connection that
 * has been idle for longest is closed first. If none is idle, the new one waits for the first that becomes idle.
 *
 * ```
 *   claim() ── room ──▶ busy ◀──▶ idle
 *      └─ none ─▶ waiting  │        └── its place is wanted ──▶ closing
 *                          └──────── release() ─────────▶ gone ◀──┘
 * ```
 */
export class ConnectionLimit {
  #max: number;
  #evicted = 0;
  readonly #busy = new Set<ConnectionPlace>();
  /** In the order in which they became idle. */
  readonly #idle = new Map<ConnectionPlace, () => void>();
  /** Evicted, and not closed yet. */
  readonly #closing = new Set<ConnectionPlace>();
  readonly #waiting = new Set<(place: ConnectionPlace) => void>();
  /** Connections with a place that wait for a descriptor. */
  readonly #starved = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  get load(): ConnectionLoad {
    return {
      busy: this.#busy.size,
      idle: this.#idle.size,
      waiting: this.#waiting.size,
      max: this.#max,
      evicted: this.#evicted,
    };
  }

  /** Changes the bound. Idle connections beyond it are closed, busy ones go on. */
  setMax(max: number): void {
    this.#max = max;
    this.#makeRoom();
    this.#admit();
  }

  /**
   * Calls `onClaimed` with a place, at once or when there is room. Returns a function that ends the wait; a place that was
   * given has to be released.
   */
  claim(onClaimed: (place: ConnectionPlace) => void): () => void {
    this.#waiting.add(onClaimed);
    this.#makeRoom();
    this.#admit();
    return () => void this.#waiting.delete(onClaimed);
  }

  /**
   * Closes the connection that has been idle for longest, or else the first that becomes idle, because the process has no
   * descriptor left, and calls `onFree` when one of its connections has been closed. Returns a function that ends the wait.
   */
  awaitDescriptor(onFree: () => void): () => void {
    this.#starved.add(onFree);
    this.#makeRoom();
    return () => void this.#starved.delete(onFree);
  }

  #makeRoom(): void {
    for (const [place, close] of this.#idle) {
      const isFull = this.#busy.size + this.#idle.size + this.#waiting.size > this.#max;
      if (!isFull && this.#starved.size <= this.#closing.size) return;
      this.#idle.delete(place);
      this.#closing.add(place);
      this.#evicted++;
      close();
    }
  }

  #admit(): void {
    for (const onClaimed of this.#waiting) {
      if (this.#busy.size + this.#idle.size + this.#closing.size >= this.#max) return;
      this.#waiting.delete(onClaimed);
      onClaimed(this.#createPlace());
    }
  }

  #createPlace(): ConnectionPlace {
    const place: ConnectionPlace = {
      setIdle: (close) => {
        if (!this.#busy.delete(place)) return;
        this.#idle.set(place, close);
        this.#makeRoom();
      },
      setBusy: () => {
        if (this.#idle.delete(place)) this.#busy.add(place);
      },
      release: () => {
        const isOpen = [this.#busy.delete(place), this.#idle.delete(place), this.#closing.delete(place)].includes(true);
        if (!isOpen) return;
        const [onFree] = this.#starved;
        if (onFree) {
          this.#starved.delete(onFree);
          onFree();
        }
        this.#admit();
      },
    };
    this.#busy.add(place);
    return place;
  }
}
