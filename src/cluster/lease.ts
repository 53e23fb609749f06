import type { Clock } from '../base/index.ts';

/** Length of a lease, and what follows its end. */
export interface LeaseOptions {
  /** A lease that is not renewed ends after this time. Milliseconds. */
  readonly leaseMs: number;
  /** Time for which status polling goes on while the engine is away. Milliseconds. */
  readonly statusGraceMs: number;
  /** Monotonic clock of this replica. */
  readonly clock: Clock;
}

/** An attempt that took so many times its limit was stopped with its process, and says nothing about the engine. */
const PAUSED_FACTOR = 2;

/**
 * The lease of this replica, by its own clock. It counts from before a renewal was sent, so it never ends later than at the
 * engine.
 *
 * ```
 *   none ── acquired ──▶ unseen ── own message came back ──▶ held ── not renewed in time, or lost ──▶ none
 * ```
 * What other replicas did before the lease was acquired is known once its own message came back: a replica that was away
 * asks no router until then.
 *
 * While attempts to reach the engine fail, the routers of the last lease may be asked for their status. The failure must be
 * younger than a lease: a process that was stopped knows nothing of what happened meanwhile.
 */
export class Lease {
  readonly #options: LeaseOptions;
  /** Time at which the last confirmed renewal was sent. Monotonic milliseconds. */
  #sentMs = -Infinity;
  #isSeen = false;
  #awaySinceMs: number | undefined;
  #failedMs = -Infinity;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** True while this replica may write, and ask its routers. */
  get isHeld(): boolean {
    return this.#isSeen && this.ageMs < this.#options.leaseMs;
  }

  /** Time since the last confirmed renewal was sent; `Infinity` before the first. Milliseconds. */
  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#sentMs;
  }

  /** True while routers may be asked for their status although the lease has ended. */
  get isInGrace(): boolean {
    if (this.#awaySinceMs === undefined || !this.#isSeen) return false;
    const { clock, leaseMs, statusGraceMs } = this.#options;
    const nowMs = clock.monotonic();
    return nowMs - this.#awaySinceMs < statusGraceMs && nowMs - this.#failedMs < leaseMs;
  }

  /** True while the engine is known to be away. */
  get isEngineAway(): boolean {
    return this.#awaySinceMs !== undefined;
  }

  /** A new lease was confirmed; `sentMs`: before it was sent. It holds from {@link see} on. */
  acquire(sentMs: number): void {
    this.renew(sentMs);
    this.#isSeen = false;
  }

  /** A renewal of this lease was confirmed. The engine had kept the lease, even if it had ended here. */
  renew(sentMs: number): void {
    this.#sentMs = sentMs;
    this.#awaySinceMs = undefined;
  }

  /** Marks everything before the acquisition of the lease as known. */
  see(): void {
    this.#isSeen = true;
  }

  /** The engine says that the lease has ended. */
  lose(): void {
    this.#sentMs = -Infinity;
    this.#isSeen = false;
    this.#awaySinceMs = undefined;
  }

  /** An attempt to reach the engine failed; it began at `beganMs` and had to end within `limitMs`. */
  noteFailure(beganMs: number, limitMs: number): void {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - beganMs > PAUSED_FACTOR * limitMs) return;
    this.#failedMs = nowMs;
    this.#awaySinceMs ??= nowMs;
  }
}
