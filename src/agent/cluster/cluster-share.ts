import { type Clock, type Logger, Mutex, openDeadline, renderErrorChain, type Timer } from '../../base/index.ts';
import { ClusterError, type Membership, planMoves } from '../../cluster/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { NatsError } from '../../net/index.ts';
import type { Fleet, FleetChange, FleetDifference, FleetWish } from '../routers/fleet.ts';
import type { RouterGate } from '../routers/router-agent.ts';

/** The cluster, and the routers that run here. */
interface ClusterShareOptions {
  /** The lease of this replica, and what is known of the others. */
  readonly membership: Pick<
    Membership,
    'self' | 'lease' | 'view' | 'isEngineHere' | 'setRouters' | 'claim' | 'release'
  >;
  /** The routers that run here. */
  readonly fleet: Pick<Fleet, 'apply' | 'compare' | 'find'>;
  /** Called with the number of routers that came or went. */
  readonly onCounted: (taken: number, given: number) => void;
  /** Clock for waits. */
  readonly clock: Clock;
  /** Log for routers that come and go. */
  readonly logger: Logger;
}

/** Time limit of the logouts from routers that go to others. Milliseconds. */
const LOGOUT_MS_MAX = 5000;
/** Owner keys that are written at the same time. */
const CLAIMS_MAX = 128;

/**
 * The share of this replica in the routers: those that it has claimed run here. It follows the members of the cluster, and
 * changes what runs by the same means as a reload of the configuration.
 */
export class ClusterShare implements RouterGate {
  readonly #options: ClusterShareOptions;
  readonly #mutex = new Mutex();
  readonly #claimed = new Set<string>();
  readonly #waitingSince = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #settling: Settling;
  #wish: FleetWish | undefined;

  constructor(options: ClusterShareOptions) {
    this.#options = options;
    this.#settling = new Settling(options.clock, () => void this.#mutex.run(() => this.#move()));
  }

  /** All configured routers, whoever runs them. */
  get routers(): readonly RouterSettings[] {
    return this.#wish?.routers ?? [];
  }

  /** Names of the routers that this replica has claimed. */
  get claimed(): ReadonlySet<string> {
    return this.#claimed;
  }

  mayAsk(router: string): boolean {
    const { lease } = this.#options.membership;
    return (lease.isHeld || lease.isInGrace) && this.#has(router);
  }

  /** While the engine is away nothing that is read could be stored, although the lease goes on for a while. */
  mayRead(router: string): boolean {
    return this.#options.membership.isEngineHere && this.isOwner('router', router);
  }

  /** True while this replica has a lease and the thing belongs to it. */
  isOwner(kind: 'router' | 'janitor', name: string): boolean {
    const { lease, view, self } = this.#options.membership;
    if (kind === 'router') return lease.isHeld && this.#has(name);
    return lease.isHeld && view.findTaskOwner(`${kind}/${name}`) === self.replica;
  }

  /** Runs those of the wanted routers that this replica has. Never rejects. `signal` bounds the logouts. */
  apply(wish: FleetWish, signal: AbortSignal): Promise<FleetChange> {
    return this.#mutex.run(async () => {
      this.#wish = wish;
      this.#options.membership.setRouters(wish.routers.map(({ name }) => name));
      this.#settling.schedule(0);
      return await this.#run(this.#claimed, signal);
    });
  }

  /** Compares a wanted set with what runs here. A new router counts as added, whoever will have it. */
  compare(wish: Pick<FleetWish, 'routers' | 'common'>): Promise<FleetDifference> {
    const known = new Set(this.routers.map(({ name }) => name));
    const routers = wish.routers.filter(({ name }) => this.#claimed.has(name) || !known.has(name));
    return this.#options.fleet.compare({ ...wish, routers });
  }

  /** Members, owners or the lease have changed. */
  noteChange(): void {
    this.#settling.noteChange();
  }

  /** Ends the moves. The routers go on until the fleet is closed. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#settling.close();
    await this.#mutex.run(async () => {});
  }

  /** Sees routers that others have taken at once, before the change is acted upon. */
  #has(router: string): boolean {
    if (!this.#claimed.has(router)) return false;
    const { view, self } = this.#options.membership;
    const { claim } = view.findClaim(router);
    return claim?.incarnation === self.incarnation;
  }

  async #move(): Promise<void> {
    const { membership, clock, onCounted, logger } = this.#options;
    const wish = this.#wish;
    if (!wish || this.#stop.signal.aborted) return;
    // Without a lease nothing can be claimed; what runs is kept from asking by the gate.
    if (!membership.lease.isHeld) return;
    const { view, self } = membership;
    const nowMs = clock.monotonic();
    const routers = wish.routers.map(({ name }) => name);
    const plan = {
      view: view.of('router'),
      self,
      routers,
      claimed: this.#claimed,
      waitingSince: this.#waitingSince,
      nowMs,
    };
    const { take, give, drop, isWaiting } = planMoves(plan);
    const [claimed, gone] = [new Set(this.#claimed), [...give, ...drop]];
    for (const router of drop) this.#claimed.delete(router);
    let isComplete = true;
    if (gone.length > 0) {
      for (const router of gone) claimed.delete(router);
      isComplete = await this.#give(new Set(give), claimed);
    }
    if (take.length > 0) {
      const isDone = await this.#each(take, async (router) => {
        await membership.claim(router);
        this.#claimed.add(router);
      });
      isComplete &&= isDone;
    }
    const isRunning = routers.every((router) => !this.#claimed.has(router) || this.#options.fleet.find(router));
    if (!isRunning && !this.#stop.signal.aborted) await this.#run(this.#claimed, AbortSignal.abort());
    const isAllHere = routers.every((router) => !this.#claimed.has(router) || this.#options.fleet.find(router));
    const taken = take.filter((router) => this.#claimed.has(router)).length;
    if (taken + gone.length > 0) {
      onCounted(taken, gone.length);
      const members = view.members.length;
      logger.info('Routers have moved', { taken, given: give.length, lost: drop.length, members });
    }
    if (isWaiting || !isComplete || !isAllHere) this.#settling.tryAgain();
  }

  /**
   * Runs only the claimed routers from now on, and releases the given ones, each as soon as nothing of it runs here: one that does
   * not answer its logout holds up no other. Returns false if some could not be released, and are to be tried again.
   */
  async #give(given: ReadonlySet<string>, claimed: ReadonlySet<string>): Promise<boolean> {
    const left = new Set(given);
    const ready: string[] = [];
    let isComplete = true;
    const release = async () => {
      const ended = ready.splice(0);
      const isDone = await this.#each(ended, (router) => this.#options.membership.release(router));
      isComplete &&= isDone;
    };
    let releases = Promise.resolve();
    const onEnded = (router: string) => {
      if (!left.delete(router)) return;
      this.#claimed.delete(router);
      // What comes while keys are written goes with the next ones.
      if (ready.push(router) === 1) releases = releases.then(release);
    };
    using deadline = openDeadline(this.#options.clock, LOGOUT_MS_MAX);
    await this.#run(claimed, deadline.signal, onEnded);
    // Of those that were not running, nothing had to end.
    for (const router of [...left]) onEnded(router);
    await releases;
    return isComplete;
  }

  /** Does something with each router, several at a time. Returns false if some failed, and are to be tried again. */
  async #each(routers: readonly string[], work: (router: string) => Promise<void>): Promise<boolean> {
    const left = [...routers];
    let failure: unknown;
    let failed = 0;
    const next = async () => {
      for (let router = left.shift(); router !== undefined && failed < CLAIMS_MAX; router = left.shift()) {
        try {
          await work(router);
        } catch (cause) {
          if (!(cause instanceof ClusterError || cause instanceof NatsError)) throw cause;
          failed++;
          if (!(cause instanceof ClusterError && cause.code === 'outdated')) failure = cause;
        }
      }
    };
    await Promise.all(Array.from({ length: CLAIMS_MAX }, next));
    if (failure !== undefined) {
      this.#options.logger.warn('The owners of routers could not be written; it is tried again', {
        routers: failed,
        error: renderErrorChain(failure),
      });
    }
    return failed === 0;
  }

  async #run(
    claimed: ReadonlySet<string>,
    signal: AbortSignal,
    onRemoved?: (router: string) => void,
  ): Promise<FleetChange> {
    const { fleet } = this.#options;
    const wish = this.#wish;
    if (!wish) return { added: 0, changed: 0, removed: 0 };
    const routers = wish.routers.filter(({ name }) => claimed.has(name));
    return await fleet.apply({ ...wish, routers, onRemoved }, signal);
  }
}

/**
 * Changes of the members are acted upon once there was none for so long, but not later than that: after an outage of the
 * engine the replicas come back one after another, and each would move routers. Milliseconds.
 */
const SETTLE_MS = 1000;
const SETTLE_MS_MAX = 3000;
/** Wait before something is tried again. Milliseconds. */
const AGAIN_MS = 1000;

/** Says when changes of the cluster are acted upon. */
export class Settling {
  readonly #clock: Clock;
  readonly #act: () => void;
  #timer: Timer | undefined;
  #isClosed = false;
  /** Time of the oldest change that was not acted upon yet. Monotonic milliseconds. */
  #changedMs: number | undefined;

  constructor(clock: Clock, act: () => void) {
    this.#clock = clock;
    this.#act = act;
  }

  /** Acts when there are no more changes for a while. */
  noteChange(): void {
    const nowMs = this.#clock.monotonic();
    this.#changedMs ??= nowMs;
    this.schedule(Math.max(0, Math.min(SETTLE_MS, this.#changedMs + SETTLE_MS_MAX - nowMs)));
  }

  /** Acts after a time, instead of at an earlier or later one. */
  schedule(waitMs: number): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#changedMs = undefined;
      this.#act();
    });
  }

  /** Acts again after a second, unless it acts earlier anyway. */
  tryAgain(): void {
    if (!this.#timer) this.schedule(AGAIN_MS);
  }

  /** Acts no more. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
