import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain } from '../../base/index.ts';
import { ClusterError, type Membership, planMoves } from '../../cluster/index.ts';
import { NatsError } from '../../net/index.ts';
import { Settling } from './cluster-share.ts';

/** The cluster, and the sinks of the configuration. */
interface SinkShareOptions {
  /** The lease of this replica, and what is known of the others. */
  readonly membership: Pick<Membership, 'self' | 'lease' | 'view' | 'term' | 'claim' | 'release'>;
  /** Returns the names of the configured sinks. */
  readonly sinks: () => readonly string[];
  /**
   * Resolves when a sink that is leaving has nothing in hand of which its receiver has taken a part, and its cursor is stored; or when
   * `signal` aborts, with the attempt given up. Never rejects.
   */
  readonly handOver: (sink: string, signal: AbortSignal) => Promise<void>;
  /** Called when this replica may serve sinks that it did not serve before, or not any more. */
  readonly onMoved: () => void;
  /**
   * Called with the replica to which a sink belongs if no replica has served it for a minute: that one may not have it configured.
   * `undefined`: it is served, or may be soon.
   */
  readonly onUnserved: (sink: string, owner: string | undefined) => void;
  /** Clock for waits. */
  readonly clock: Clock;
  /** Log for sinks that come and go. */
  readonly logger: Logger;
}

/**
 * Time limit of what a sink that goes to another replica has in hand. Half of the time for which the other one waits, so that the
 * cursor is stored and the sink released before it takes the sink unasked. Milliseconds.
 */
const HANDOVER_MS = 5000;
/** A move of a sink, and the reload of one replica after the other, take less. Milliseconds. */
const UNSERVED_MS = 60_000;

/**
 * The share of this replica in the sinks. It serves those that it has claimed, as it runs the routers that it has claimed: the next
 * owner waits until the former one has stored the cursor of what the receiver has taken, and has released the sink. So a sink that
 * moves repeats nothing that was acknowledged. After a crash nobody releases it, and its next owner begins when the lease has ended.
 *
 * ```
 *   of another ── claimed ──▶ served ── belongs to another ──▶ leaving ── nothing in hand, or 5 s over ──▶ released, of another
 *                                └── taken by another ──▶ of another
 * ```
 */
export class SinkShare {
  readonly #options: SinkShareOptions;
  readonly #mutex = new Mutex();
  /** The claimed sinks, each with the number of its claim: others may have served a sink between two claims. */
  readonly #claimed = new Map<string, number>();
  readonly #leaving = new Set<string>();
  readonly #waitingSince = new Map<string, number>();
  /** Since when sinks are served by nobody. Monotonic milliseconds. */
  readonly #unservedSince = new Map<string, number>();
  readonly #settling: Settling;
  readonly #stop = new AbortController();
  #claims = 0;

  constructor(options: SinkShareOptions) {
    this.#options = options;
    this.#settling = new Settling(options.clock, () => void this.#mutex.run(() => this.#move()));
  }

  /** True while this replica may write for a sink: it has a lease and has claimed the sink, and nobody else has. */
  isOwner(sink: string): boolean {
    const { lease, view, self } = this.#options.membership;
    if (!lease.isHeld || !this.#claimed.has(sink)) return false;
    const { claim } = view.findClaim(sink, 'sink');
    return claim?.incarnation === self.incarnation;
  }

  /** True while a sink of this replica is about to go to another: nothing new may be begun for it. */
  isLeaving(sink: string): boolean {
    return this.#leaving.has(sink);
  }

  /** Another value than before whenever others may have served a sink since. */
  termOf(sink: string): number {
    // Neither of them ever goes back while the sink is served.
    return this.#options.membership.term + (this.#claimed.get(sink) ?? 0);
  }

  /** Members, claims or the lease have changed. */
  noteChange(): void {
    this.#settling.noteChange();
  }

  /** The configured sinks may have changed. */
  noteSinks(): void {
    this.#settling.schedule(0);
  }

  /** Ends the moves. Claimed sinks stay so until the lease ends, so that the cursors of the last deliveries are stored. */
  close(): void {
    this.#stop.abort();
    this.#settling.close();
  }

  async #move(): Promise<void> {
    const { membership, sinks, clock, onMoved } = this.#options;
    const { view, self, lease } = membership;
    // Without a lease nothing can be claimed, and nothing is written.
    if (this.#stop.signal.aborted || !lease.isHeld) return;
    const claimed = new Set(this.#claimed.keys());
    const plan = { view: view.of('sink'), self, routers: sinks(), claimed, waitingSince: this.#waitingSince };
    const { take, give, drop, isWaiting } = planMoves({ ...plan, nowMs: clock.monotonic() });
    for (const sink of drop) this.#claimed.delete(sink);
    const done = await Promise.all([
      ...give.map((sink) => this.#give(sink)),
      ...take.map((sink) => this.#attempt(sink, () => this.#take(sink))),
    ]);
    // Also without a move: with the lease, a sink is served again.
    onMoved();
    const mayBeUnserved = this.#lookForUnserved();
    if (isWaiting || done.includes(false) || mayBeUnserved) this.#settling.tryAgain();
  }

  /** Tells of sinks that nobody serves. Returns true if there are some that were served not long ago. */
  #lookForUnserved(): boolean {
    const { membership, sinks, onUnserved, clock } = this.#options;
    const view = membership.view.of('sink');
    const nowMs = clock.monotonic();
    let isYoung = false;
    for (const sink of sinks()) {
      const owner = view.findOwner(sink);
      const isServed = owner === membership.self.replica || view.findHolder(sink) !== undefined;
      const sinceMs = isServed ? nowMs : (this.#unservedSince.get(sink) ?? nowMs);
      if (isServed) this.#unservedSince.delete(sink);
      else this.#unservedSince.set(sink, sinceMs);
      const isLong = nowMs - sinceMs >= UNSERVED_MS;
      isYoung ||= !isServed && !isLong;
      onUnserved(sink, isLong ? owner : undefined);
    }
    return isYoung;
  }

  async #take(sink: string): Promise<void> {
    await this.#options.membership.claim(sink, 'sink');
    this.#claimed.set(sink, ++this.#claims);
  }

  /** Lets a sink go once it has nothing in hand. Returns false if it is to be tried again. */
  async #give(sink: string): Promise<boolean> {
    const { membership, handOver, clock, logger } = this.#options;
    this.#leaving.add(sink);
    try {
      using deadline = openDeadline(clock, HANDOVER_MS);
      await handOver(sink, deadline.signal);
      // The agent ends: its last deliveries are still to be stored.
      if (this.#stop.signal.aborted) return true;
      this.#claimed.delete(sink);
    } finally {
      this.#leaving.delete(sink);
    }
    logger.info('A sink goes to another replica', { sink, replica: membership.view.of('sink').findOwner(sink) });
    return await this.#attempt(sink, () => membership.release(sink, 'sink'));
  }

  /** Returns false if the engine has refused it, or did not answer. */
  async #attempt(sink: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (cause) {
      if (!(cause instanceof ClusterError || cause instanceof NatsError)) throw cause;
      const isOutdated = cause instanceof ClusterError && cause.code === 'outdated';
      const { logger } = this.#options;
      if (!isOutdated)
        logger.warn('The owner of a sink could not be written', { sink, error: renderErrorChain(cause) });
      return false;
    }
  }
}
