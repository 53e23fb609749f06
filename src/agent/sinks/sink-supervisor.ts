import {
  DeadlineExceeded,
  openDeadline,
  renderDuration,
  renderErrorChain,
  type Timer,
  untilAborted,
} from '../../base/index.ts';
import { StoreError } from '../../model/index.ts';
import { renderSettingsHash } from '../../settings/index.ts';
import { DeliveryError, type Sink, type SinkSettings, toSinkStart } from '../../sinks/index.ts';
import type { SinkSummary } from '../../web/index.ts';
import { RunningSink, type SinkContext } from './running-sink.ts';

interface SinkSupervisorOptions extends SinkContext {
  readonly create: (settings: SinkSettings) => Sink;
  readonly onChanged?: (() => void) | undefined;
}

interface SinkChange {
  /**
   * Starts new and changed sinks, stops removed and replaced ones, and leaves the others running. Never rejects.
   * `signal` bounds the last deliveries of removed sinks. Starts none during shutdown.
   */
  readonly commit: (signal: AbortSignal) => Promise<void>;
}

interface Member {
  readonly running: RunningSink;
  readonly hash: string;
}

const NO_CHANGE: SinkChange = { commit: async () => {} };
/** Interval of checks for dead letters that a command has marked for replay. */
const REPLAY_CHECK_MS = 30_000;
/** Time limit of the check that a new file can be written. Milliseconds. */
const PLACE_MS_MAX = 10_000;

/** The sinks of the configuration, each delivering independently of the others. */
export class SinkSupervisor {
  readonly #options: SinkSupervisorOptions;
  readonly #sinks = new Map<string, Member>();
  #checkTimer: Timer | undefined;
  /** True if a failed change could harm running sinks. */
  #isBegun = false;
  #isDraining = false;
  /** True if the store still keeps records for removed sinks. */
  #hasOldCursors = false;
  /** True while the store has the sinks of a change that is not complete. */
  #isChanging = false;
  #deadLetterCounts: ReadonlyMap<string, number> = new Map();

  constructor(options: SinkSupervisorOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#sinks.keys()];
  }

  async handOver(sink: string, signal: AbortSignal): Promise<void> {
    await this.#sinks.get(sink)?.running.handOver(signal);
  }

  recordUnserved(sink: string, owner: string | undefined): void {
    this.#sinks.get(sink)?.running.recordUnserved(owner);
  }

  describe(): readonly SinkSummary[] {
    const counts = this.countDeadLetters();
    return this.#list().map((sink) => sink.describe(counts.get(sink.name) ?? 0));
  }

  /** Returns the age of the oldest undelivered record of each sink in seconds, 0 without one. */
  measureLags(): Map<string, number> {
    return new Map(this.#list().map((sink) => [sink.name, sink.lagSeconds]));
  }

  countDeadLetters(): Map<string, number> {
    try {
      this.#deadLetterCounts = this.#options.deadLetters.counts();
    } catch (cause) {
      // A command may lock the file for a moment; the previous count is close enough.
      if (!(cause instanceof StoreError)) throw cause;
    }
    return new Map([...this.#sinks.keys()].map((name) => [name, this.#deadLetterCounts.get(name) ?? 0]));
  }

  /**
   * Prepares new and changed sinks. Throws, with nothing changed: `DeliveryError` if this machine prevents delivery to
   * one of them, and {@link StoreError} if the disk cannot be written; neither the first time, because sink and disk
   * may recover. Storing the sinks is the last step, so the result must be committed; with `isTrial` it is left out,
   * and a commit changes nothing.
   */
  async prepare(settings: readonly SinkSettings[], isTrial = false): Promise<SinkChange> {
    const { create } = this.#options;
    const wanted = new Map(settings.map((one) => [one.name, { settings: one, hash: renderSettingsHash(one) }]));
    const leaving = [...this.#sinks].flatMap(([name, { running, hash }]) =>
      wanted.get(name)?.hash === hash ? [] : [running],
    );
    const gone = leaving.filter(({ name }) => !wanted.has(name));
    const made = new Map<string, Sink>();
    try {
      for (const [name, { settings: one, hash }] of wanted) {
        if (this.#sinks.get(name)?.hash === hash) continue;
        const sink = create(one);
        made.set(name, sink);
        if (this.#isBegun) await this.#checkMachine(sink);
      }
      if (isTrial) {
        if (this.#isBegun) this.#options.store.checkWritable();
        await closeAll(made);
        return NO_CHANGE;
      }
      this.#isChanging = true;
      // Removed sinks keep their cursors until their last deliveries have ended.
      await this.#storeSinks([...settings, ...gone.map((one) => one.settings)]);
    } catch (cause) {
      this.#isChanging = false;
      await closeAll(made);
      throw cause;
    }
    return {
      commit: async (signal) => {
        this.#isBegun = true;
        await Promise.all(leaving.map((running) => running.stop(!gone.includes(running), signal)));
        // They would not be closed any more. Their records wait for the next process.
        if (this.#isDraining) return closeAll(made);
        const kept = new Map(this.#sinks);
        this.#sinks.clear();
        for (const [name, { settings: one, hash }] of wanted) {
          const sink = made.get(name);
          const member = sink ? { running: new RunningSink(one, sink, this.#options), hash } : kept.get(name);
          if (member) this.#sinks.set(name, member);
        }
        this.#isChanging = false;
        if (gone.length > 0) await this.#freeCursors();
        this.#options.onChanged?.();
        this.wake();
        this.#scheduleCheck();
      },
    };
  }

  /** A disk that hangs must not delay all later reloads. */
  async #checkMachine(sink: Sink): Promise<void> {
    using deadline = openDeadline(this.#options.clock, PLACE_MS_MAX);
    try {
      await untilAborted(sink.checkMachine?.() ?? Promise.resolve(), deadline.signal);
    } catch (cause) {
      if (!(cause instanceof DeadlineExceeded)) throw cause;
      const limit = renderDuration(PLACE_MS_MAX);
      throw new DeliveryError('unwritable', `Sink ${sink.name} could not check its file within ${limit}`, {
        disposition: 'retry',
        hint: 'Check whether its disk or network file system responds',
      });
    }
  }

  /** The first sinks are also passed to the store at its creation, so that it stores them once it can. */
  async #storeSinks(sinks: readonly SinkSettings[]): Promise<void> {
    const { store } = this.#options;
    try {
      store.checkWritable();
      await store.setSinks(sinks.map(toSinkStart));
    } catch (cause) {
      if (this.#isBegun || !(cause instanceof StoreError) || cause.disposition !== 'hold-back') throw cause;
    }
  }

  wake(): void {
    for (const sink of this.#list()) sink.wake();
  }

  async whenIdle(): Promise<void> {
    await Promise.all(this.#list().map((sink) => sink.whenIdle()));
  }

  /** Delivers spooled records until `signal` aborts, then closes the sinks. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    this.#checkTimer?.cancel();
    await Promise.all(this.#list().map((sink) => sink.drain(signal)));
  }

  #list(): RunningSink[] {
    return [...this.#sinks.values()].map(({ running }) => running);
  }

  /** Drops expired dead letters and checks for marked ones: marking a dead letter wakes no sink. */
  #scheduleCheck(): void {
    const { clock } = this.#options;
    if (this.#isDraining) return;
    for (const sink of this.#list()) sink.expectReplays();
    this.#checkTimer?.cancel();
    this.#checkTimer = clock.setTimer(REPLAY_CHECK_MS, () => {
      void this.#expireDeadLetters();
      if (this.#hasOldCursors && !this.#isChanging) void this.#freeCursors();
      this.#scheduleCheck();
      this.wake();
    });
  }

  async #expireDeadLetters(): Promise<void> {
    const { store, clock, deadLetters, logger } = this.#options;
    try {
      if (!store.isWaiting) await deadLetters.expire(clock.now());
    } catch (cause) {
      logger.warn('Dead letters could not be checked for expiry', { error: renderErrorChain(cause) });
    }
  }

  /**
   * Drops records that only removed sinks were waiting for; retried at the next check if the disk cannot be written.
   */
  async #freeCursors(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await store.setSinks(this.#list().map(({ settings }) => toSinkStart(settings)));
      this.#hasOldCursors = false;
    } catch (cause) {
      this.#hasOldCursors = true;
      logger.warn('Records of a removed sink could not be freed; retrying', {
        error: renderErrorChain(cause),
      });
    }
  }
}

async function closeAll(sinks: ReadonlyMap<string, Sink>): Promise<void> {
  await Promise.allSettled([...sinks.values()].map((sink) => sink.close()));
}
