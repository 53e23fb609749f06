/** Number of connections to routers by state. */
export interface ConnectionLoad {
  /** Being opened, or with a request in progress. */
  readonly busy: number;
  readonly idle: number;
  /** Not opened yet because the limit is reached. */
  readonly waiting: number;
  readonly max: number;
  /** Total of idle connections closed in favour of others. */
  readonly evicted: number;
}

/** The permit of one connection. */
export interface ConnectionPermit {
  /** Marks the connection as idle; `close` is called if another connection needs the permit. */
  setIdle(close: () => void): void;
  setBusy(): void;
  /** Must be called when the connection is closed. Idempotent. */
  release(): void;
}

/**
 * Limit of the connections to all routers of this process. If one more is needed, the connection that has been idle for longest is closed
 * first. If none is idle, the new one waits for the first that becomes idle.
 *
 * ```
 *   claim() ─ below ─▶ busy ◀──▶ idle
 *      └─ at limit ─▶ waiting │   └── permit needed by another ──▶ closing
 *                             └──────── release() ─────────▶ closed ◀──┘
 * ```
 */
export class ConnectionLimit {
  #max: number;
  #evicted = 0;
  readonly #busy = new Set<ConnectionPermit>();
  /** In the order in which they became idle. */
  readonly #idle = new Map<ConnectionPermit, () => void>();
  readonly #closing = new Set<ConnectionPermit>();
  readonly #waiting = new Set<(permit: ConnectionPermit) => void>();
  /** Connections with a permit that wait for a descriptor. */
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

  /** Changes the limit. Idle connections beyond it are closed, busy ones continue. */
  setMax(max: number): void {
    this.#max = max;
    this.#makeRoom();
    this.#admit();
  }

  /** Calls `onClaimed` with a permit, to be released, once one is free. Returns a function that cancels the wait. */
  claim(onClaimed: (permit: ConnectionPermit) => void): () => void {
    this.#waiting.add(onClaimed);
    this.#makeRoom();
    this.#admit();
    return () => void this.#waiting.delete(onClaimed);
  }

  /**
   * For a process without a free descriptor: closes the connection that has been idle for longest, or else the first that becomes idle,
   * and calls `onFree` when one has been closed. Returns a function that cancels the wait.
   */
  awaitDescriptor(onFree: () => void): () => void {
    this.#starved.add(onFree);
    this.#makeRoom();
    return () => void this.#starved.delete(onFree);
  }

  #makeRoom(): void {
    for (const [permit, close] of this.#idle) {
      const isFull = this.#busy.size + this.#idle.size + this.#waiting.size > this.#max;
      if (!isFull && this.#starved.size <= this.#closing.size) return;
      this.#idle.delete(permit);
      this.#closing.add(permit);
      this.#evicted++;
      close();
    }
  }

  #admit(): void {
    for (const onClaimed of this.#waiting) {
      if (this.#busy.size + this.#idle.size + this.#closing.size >= this.#max) return;
      this.#waiting.delete(onClaimed);
      onClaimed(this.#createPermit());
    }
  }

  #createPermit(): ConnectionPermit {
    const permit: ConnectionPermit = {
      setIdle: (close) => {
        if (!this.#busy.delete(permit)) return;
        this.#idle.set(permit, close);
        this.#makeRoom();
      },
      setBusy: () => {
        if (this.#idle.delete(permit)) this.#busy.add(permit);
      },
      release: () => {
        const isOpen = [this.#busy.delete(permit), this.#idle.delete(permit), this.#closing.delete(permit)].includes(
          true,
        );
        if (!isOpen) return;
        const [onFree] = this.#starved;
        if (onFree) {
          this.#starved.delete(onFree);
          onFree();
        }
        this.#admit();
      },
    };
    this.#busy.add(permit);
    return permit;
  }
}
