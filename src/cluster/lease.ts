import type { Clock } from '../base/index.ts';

interface LeaseOptions {
  /** A lease that is not renewed ends after this time. Milliseconds. */
  readonly leaseMs: number;
  /** Time for which status polling continues while the engine is away. Milliseconds. */
  readonly statusGraceMs: number;
  readonly clock: Clock;
}

/** An attempt that took this many times its limit was suspended with its process, and says nothing about the engine. */
const PAUSED_FACTOR = 2;

/**
 * The lease of this replica, by its own clock. It counts from before a renewal was sent, so it never ends later than at the
 * engine.
 *
 * ```
 *   none ── acquired ──▶ unseen ── own message came back ──▶ held ── not renewed in time, or lost ──▶ none
 * ```
 * Once its own message came back, all earlier changes of other replicas are known: until then, a replica that was away polls
 * no router.
 *
 * While attempts to reach the engine fail, the routers of the last lease may be polled for status. The failure must be
 * younger than a lease: a suspended process does not know what happened meanwhile.
 */
export class Lease {
  readonly #options: LeaseOptions;
  /** When the last confirmed renewal was sent. Monotonic milliseconds. */
  #sentMs = -Infinity;
  #isSeen = false;
  #awaySinceMs: number | undefined;
  #failedMs = -Infinity;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** True while this replica may write, and contact its routers. */
  get isHeld(): boolean {
    return this.#isSeen && this.ageMs < this.#options.leaseMs;
  }

  /** Time since the last confirmed renewal was sent; `Infinity` before the first. Milliseconds. */
  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#sentMs;
  }

  /** True while routers may be polled for status although the lease has ended. */
  get isInGrace(): boolean {
    if (this.#awaySinceMs === undefined || !this.#isSeen) return false;
    const { clock, leaseMs, statusGraceMs } = this.#options;
    const nowMs = clock.monotonic();
    return nowMs - this.#awaySinceMs < statusGraceMs && nowMs - this.#failedMs < leaseMs;
  }

  get isEngineAway(): boolean {
    return this.#awaySinceMs !== undefined;
  }

  /** Records a new lease, sent at `sentMs`. It holds from {@link see} on. */
  acquire(sentMs: number): void {
    this.renew(sentMs);
    this.#isSeen = false;
  }

  /** Records a confirmed renewal. The engine had kept the lease, even if it had ended here. */
  renew(sentMs: number): void {
    this.#sentMs = sentMs;
    this.#awaySinceMs = undefined;
  }

  see(): void {
    this.#isSeen = true;
  }

  lose(): void {
    this.#sentMs = -Infinity;
    this.#isSeen = false;
    this.#awaySinceMs = undefined;
  }

  /** Records a failed attempt to reach the engine, started at `beganMs` with the limit `limitMs`. */
  recordFailure(beganMs: number, limitMs: number): void {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - beganMs > PAUSED_FACTOR * limitMs) return;
    this.#failedMs = nowMs;
    this.#awaySinceMs ??= nowMs;
  }
}
