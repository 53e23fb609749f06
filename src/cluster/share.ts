import { type Clock, Mutex, openDeadline, type Timer } from '../base/index.ts';
import { NatsError } from '../net/index.ts';
import { ClusterError } from './bucket.ts';
import type { Membership } from './membership.ts';
import { planMoves } from './moves.ts';
import type { ClaimKind } from './view.ts';

type Member = Pick<Membership, 'self' | 'lease' | 'view' | 'term' | 'isEngineHere' | 'claim' | 'release'>;

/** Returns true while this replica has a lease and owns a task that every member can do. */
export function ownsTask({ lease, view, self }: Member, task: string): boolean {
  return lease.isHeld && view.findTaskOwner(task) === self.replica;
}

/** The routers, or the sinks, that this replica has claimed. */
export class Claims {
  readonly kind: ClaimKind;
  readonly #membership: Member;
  /** Each with the number of its claim: another replica may have had it between two claims. */
  readonly #held = new Map<string, number>();
  readonly #leaving = new Set<string>();
  #count = 0;

  constructor(kind: ClaimKind, membership: Member) {
    this.kind = kind;
    this.#membership = membership;
  }

  get held(): ReadonlySet<string> {
    return new Set(this.#held.keys());
  }

  get size(): number {
    return this.#held.size;
  }

  /** Returns true if it is to run here: it is claimed, and does not move to another replica. */
  isStaying(name: string): boolean {
    return this.#held.has(name) && !this.#leaving.has(name);
  }

  /** Returns true while it is about to move to another replica: nothing new may be started for it. */
  isLeaving(name: string): boolean {
    return this.#leaving.has(name);
  }

  /** Returns true while a router may be contacted. */
  mayAsk(name: string): boolean {
    const { lease } = this.#membership;
    return (lease.isHeld || lease.isInGrace) && this.#has(name);
  }

  /**
   * Returns true while a router's logs may be read. While the engine is away nothing could be stored, although the lease
   * continues for a while.
   */
  mayRead(name: string): boolean {
    return this.#membership.isEngineHere && this.isOwner(name);
  }

  /** Reads the view, so that claims of others apply before the change is processed. */
  #has(name: string): boolean {
    if (!this.#held.has(name)) return false;
    const { view, self } = this.#membership;
    return view.findClaim(name, this.kind).claim?.incarnation === self.incarnation;
  }

  /** Returns true while this replica may write for it: it has a lease, has claimed it, and is the last to have done so. */
  isOwner(name: string): boolean {
    return this.#membership.lease.isHeld && this.#has(name);
  }

  /** Returns a value that changes whenever others may have had it. */
  termOf(name: string): number {
    // Neither decreases while it is claimed.
    return this.#membership.term + (this.#held.get(name) ?? 0);
  }

  /** Claims it. Rejects as `Membership.claim` does. */
  async take(name: string): Promise<void> {
    await this.#membership.claim(name, this.kind);
    this.#held.set(name, ++this.#count);
  }

  /** Marks those that are about to move to other replicas; the returned function ends that. */
  leave(names: readonly string[]): () => void {
    for (const name of names) this.#leaving.add(name);
    return () => {
      for (const name of names) this.#leaving.delete(name);
    };
  }

  drop(name: string): void {
    this.#held.delete(name);
  }

  /** Releases it for its next owner. Rejects as `Membership.release` does. */
  release(name: string): Promise<void> {
    return this.#membership.release(name, this.kind);
  }
}

/** The configured routers or sinks, and how they run. */
export interface Shared {
  readonly names: () => readonly string[];
  /**
   * Stops those that do not stay, and calls `onEnded` for each of `gone` once it has stopped; optional for those that did not
   * run. Aborts with `signal`. Never rejects.
   */
  readonly end: (gone: readonly string[], signal: AbortSignal, onEnded: (name: string) => void) => Promise<void>;
  /** Starts those that stay. Resolves with false if some do not run, and must be tried again. */
  readonly begin: () => Promise<boolean>;
  /**
   * Called with the owner of one that no replica has served for a minute: the owner may not have it configured. `undefined`:
   * it is served, or may be soon. Default: not checked.
   */
  readonly onUnserved?: ((name: string, owner: string | undefined) => void) | undefined;
}

export type ShareEvent =
  /** Some were claimed and released. `lost`: others had claimed them, or may have. */
  | {
      readonly type: 'moved';
      readonly kind: ClaimKind;
      readonly taken: number;
      readonly given: number;
      readonly lost: number;
    }
  /** Nothing of it is in flight here any more, and it is about to be released. */
  | { readonly type: 'given'; readonly kind: ClaimKind; readonly name: string }
  /** The engine has refused to store owners, or did not answer; the write is tried again. */
  | {
      readonly type: 'unwritten';
      readonly kind: ClaimKind;
      readonly names: readonly string[];
      readonly cause: unknown;
    };

interface ShareOptions {
  readonly claims: Claims;
  readonly membership: Member;
  readonly clock: Clock;
  readonly report: (event: ShareEvent) => void;
}

/**
 * Limit for stopping what moves to another replica: a logout, or the batch in flight of a sink. Half of the time for which
 * the other one waits, so that everything is stored and released before it takes it over unreleased. Milliseconds.
 */
const END_MS_MAX = 5000;
/** Maximum number of concurrent writes of owner keys. */
const CLAIMS_MAX = 128;
/** A move of a sink, and the reload of one replica after the other, take less. Milliseconds. */
const UNSERVED_MS = 60_000;

/**
 * This replica's share of the routers, or of the sinks: it runs those that it has claimed, and follows the members of the
 * cluster. The next owner waits until the former one has stopped and released, so that a router has one session, and a moved
 * sink repeats nothing that was acknowledged. After a crash nothing is released, and the next owner starts when the lease has
 * ended.
 *
 * ```
 *   of another ── claimed ──▶ here ── assigned to another ──▶ leaving ── nothing in flight, or 5 s ──▶ released, of another
 *                              └── claimed by another ──▶ of another
 * ```
 */
export class Share {
  readonly #options: ShareOptions;
  readonly #shared: Shared;
  readonly #mutex = new Mutex();
  readonly #waitingSince = new Map<string, number>();
  /** Since when no replica serves some of them. Monotonic milliseconds. */
  readonly #unservedSince = new Map<string, number>();
  readonly #settling: Settling;
  readonly #stop = new AbortController();

  constructor(options: ShareOptions, shared: Shared) {
    this.#options = options;
    this.#shared = shared;
    this.#settling = new Settling(options.clock, () => void this.#mutex.run(() => this.#move()));
  }

  /** Call when members, owners or the lease have changed. */
  onChange(): void {
    this.#settling.onChange();
  }

  /** Call when the configured names may have changed. */
  onNamesChange(): void {
    this.#settling.schedule(0);
  }

  /** Runs work that must not overlap with a move, whose time limits would pass while it waits. */
  runExclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run(work);
  }

  /** Ends the moves. Claims stay until the lease ends, so that pending work can be stored. */
  close(): void {
    this.#stop.abort();
    this.#settling.close();
  }

  async #move(): Promise<void> {
    const { claims, membership, clock, report } = this.#options;
    const { view, self, lease } = membership;
    // Without a lease nothing can be claimed; the claims keep running ones from contacting routers and writing.
    if (this.#stop.signal.aborted || !lease.isHeld) return;
    const { kind, held: claimed } = claims;
    const known = { view: view.of(kind), self, routers: this.#shared.names(), claimed };
    const { take, give, drop, isWaiting } = planMoves({
      ...known,
      waitingSince: this.#waitingSince,
      nowMs: clock.monotonic(),
    });
    for (const name of drop) claims.drop(name);
    const done = await Promise.all([
      give.length + drop.length === 0 || this.#give(give),
      this.#each(take, (name) => claims.take(name)),
    ]);
    // Also without a move: with the lease, it continues.
    const areHere = this.#stop.signal.aborted || (await this.#shared.begin());
    const { held } = claims;
    const taken = take.filter((name) => held.has(name)).length;
    if (taken + give.length + drop.length > 0) {
      report({ type: 'moved', kind, taken, given: give.length, lost: drop.length });
    }
    const mayBeUnserved = this.#lookForUnserved();
    if (isWaiting || !areHere || done.includes(false) || mayBeUnserved) this.#settling.tryAgain();
  }

  /**
   * Releases each as soon as it has stopped here, so that a slow one delays no other. Returns false if some could not be
   * released, and must be tried again.
   */
  async #give(given: readonly string[]): Promise<boolean> {
    const { claims, clock, report } = this.#options;
    const left = new Set(given);
    const ready: string[] = [];
    let isComplete = true;
    const release = async () => {
      const isDone = await this.#each(ready.splice(0), (name) => claims.release(name));
      isComplete &&= isDone;
    };
    let releases = Promise.resolve();
    const onEnded = (name: string) => {
      // When the agent ends, pending work is still to be stored.
      if (!left.delete(name) || this.#stop.signal.aborted) return;
      claims.drop(name);
      report({ type: 'given', kind: claims.kind, name });
      // Those that come while keys are written go with the next ones.
      if (ready.push(name) === 1) releases = releases.then(release);
    };
    const stay = claims.leave(given);
    try {
      using deadline = openDeadline(clock, END_MS_MAX);
      await this.#shared.end(given, deadline.signal, onEnded);
      for (const name of [...left]) onEnded(name);
    } finally {
      stay();
    }
    await releases;
    return isComplete;
  }

  /** Runs `work` for each name, several at a time. Returns false if some failed, and must be tried again. */
  async #each(names: readonly string[], work: (name: string) => Promise<void>): Promise<boolean> {
    const { claims, report } = this.#options;
    const left = [...names];
    const failed: string[] = [];
    let failure: unknown;
    const next = async () => {
      for (let name = left.shift(); name !== undefined && failed.length < CLAIMS_MAX; name = left.shift()) {
        try {
          await work(name);
        } catch (cause) {
          if (!(cause instanceof ClusterError || cause instanceof NatsError)) throw cause;
          failed.push(name);
          if (!(cause instanceof ClusterError && cause.code === 'outdated')) failure = cause;
        }
      }
    };
    await Promise.all(Array.from({ length: CLAIMS_MAX }, next));
    if (failure !== undefined) report({ type: 'unwritten', kind: claims.kind, names: failed, cause: failure });
    return failed.length === 0;
  }

  /** Reports those that no replica serves. Returns true if some were served not long ago. */
  #lookForUnserved(): boolean {
    const { claims, membership, clock } = this.#options;
    const { names, onUnserved } = this.#shared;
    if (!onUnserved) return false;
    const view = membership.view.of(claims.kind);
    const nowMs = clock.monotonic();
    let isYoung = false;
    for (const name of names()) {
      const owner = view.findOwner(name);
      const isServed = owner === membership.self.replica || view.findHolder(name) !== undefined;
      const sinceMs = isServed ? nowMs : (this.#unservedSince.get(name) ?? nowMs);
      if (isServed) this.#unservedSince.delete(name);
      else this.#unservedSince.set(name, sinceMs);
      const isLong = nowMs - sinceMs >= UNSERVED_MS;
      isYoung ||= !isServed && !isLong;
      onUnserved(name, isLong ? owner : undefined);
    }
    return isYoung;
  }
}

/**
 * Changes of the members are processed once there was none for this long, but not later than the maximum: after an outage of
 * the engine the replicas come back one after another, and each would move routers. Milliseconds.
 */
const SETTLE_MS = 1000;
const SETTLE_MS_MAX = 3000;
const AGAIN_MS = 1000;

class Settling {
  readonly #clock: Clock;
  readonly #act: () => void;
  #timer: Timer | undefined;
  #isClosed = false;
  /** When the oldest unprocessed change came. Monotonic milliseconds. */
  #changedMs: number | undefined;

  constructor(clock: Clock, act: () => void) {
    this.#clock = clock;
    this.#act = act;
  }

  /** Acts when there are no more changes for a while. */
  onChange(): void {
    const nowMs = this.#clock.monotonic();
    this.#changedMs ??= nowMs;
    this.schedule(Math.max(0, Math.min(SETTLE_MS, this.#changedMs + SETTLE_MS_MAX - nowMs)));
  }

  /** Acts after a time, in place of any other scheduled time. */
  schedule(waitMs: number): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#changedMs = undefined;
      this.#act();
    });
  }

  /** Acts again after a second, unless it is scheduled anyway. */
  tryAgain(): void {
    if (!this.#timer) this.schedule(AGAIN_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
