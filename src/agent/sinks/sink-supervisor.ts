import {
  type Clock,
  CodedError,
  type Logger,
  type Random,
  renderDuration,
  renderErrorChain,
  type Timer,
} from '../../base/index.ts';
import {
  DeliveryError,
  type DeliveryEvent,
  DeliveryWorker,
  type Sink,
  type SinkSettings,
  type StepOptions,
} from '../../delivery/index.ts';
import { RetryLoop, type RetryLoopOutcome } from '../../schedule/index.ts';
import { type DeadLetterStore, type EmbeddedStore, type SpoolCursor, StoreError } from '../../store/index.ts';
import type { SinkSummary } from '../../web/index.ts';
import { createSelection, type SinkSelection } from '../line-processing.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';
import { renderSettingsHash } from '../settings-hash.ts';

/** Store, connector and counters of all sinks. */
export interface SinkSupervisorOptions {
  /** Store that holds the spool and the sinks' cursors. */
  readonly store: EmbeddedStore;
  /** Store of rejected records. */
  readonly deadLetters: DeadLetterStore;
  /** Clock for waits and the age of records. */
  readonly clock: Clock;
  /** Random numbers for the jitter of back-offs. */
  readonly random: Random;
  /** Log for the state of sinks. */
  readonly logger: Logger;
  /** Metrics of deliveries. */
  readonly metrics: SelfMetrics;
  /** Creates a sink from its settings. May throw. */
  readonly create: (settings: SinkSettings) => Sink;
  /** Called after each delivery with the number of records. */
  readonly onDelivered: (records: number) => void;
  /** Called when a sink can never deliver again. */
  readonly onGone: (cause: DeliveryError) => void;
}

/** Changes that {@link SinkSupervisor.prepare} has prepared. */
export interface SinkChange {
  /**
   * Starts new and changed sinks, stops removed and replaced ones, and leaves the others running. Never rejects. `signal`
   * bounds the last deliveries of removed sinks.
   */
  readonly commit: (signal: AbortSignal) => Promise<void>;
}

interface RunningSink {
  readonly settings: SinkSettings;
  readonly hash: string;
  readonly sink: Sink;
  readonly loop: RetryLoop;
  readonly selection: SinkSelection;
  state: SinkSummary['state'];
  records: number;
  /** Wall time, milliseconds since the Unix epoch. */
  lastSuccessMs: number | undefined;
  error: string | null;
}

/** A delivery that takes longer than this is logged as a warning, even if it has no time limit. */
const SINK_PATIENCE_MS = 30_000;
const SINK_BACKOFF = { firstMs: 500, ceilingMs: 5 * 60_000 };
/** Upper limit of the wait that a sink may ask for. */
const RETRY_AFTER_MS_MAX = 60 * 60_000;
/** Interval at which sinks check for dead letters that a command has marked for replay. */
const REPLAY_LOOK_MS = 30_000;
/** Wait after rejected credentials: some servers lock an account. */
const OPERATOR_RETRY_MS = 60_000;

/** The sinks of the configuration, each delivering at its own pace. */
export class SinkSupervisor {
  readonly #options: SinkSupervisorOptions;
  readonly #sinks = new Map<string, RunningSink>();
  /** Sinks that may have dead letters to replay. */
  readonly #replaying = new Set<string>();
  #look: Timer | undefined;
  /** True if a failed change could harm running sinks. */
  #isBegun = false;
  /** True if the store still keeps records for removed sinks. */
  #hasOldCursors = false;
  #letterCounts: ReadonlyMap<string, number> = new Map();

  constructor(options: SinkSupervisorOptions) {
    this.#options = options;
  }

  /** Describes each sink, in the order of the configuration. */
  describe(): readonly SinkSummary[] {
    const { store } = this.#options;
    const letters = this.countLetters();
    return [...this.#sinks.values()].map((running) => ({
      name: running.settings.name,
      type: running.settings.type,
      state: running.state,
      recordsDelivered: running.records,
      recordsWaiting: store.countWaiting(running.settings.name, running.selection.isWanted),
      lagSeconds: this.#lagSecondsOf(running),
      deadLetters: letters.get(running.settings.name) ?? 0,
      lastSuccess: running.lastSuccessMs === undefined ? null : new Date(running.lastSuccessMs).toISOString(),
      error: running.error,
    }));
  }

  /** Returns the age of the oldest record that each sink has yet to take, 0 without one. Seconds. */
  measureLags(): Map<string, number> {
    return new Map([...this.#sinks].map(([name, running]) => [name, this.#lagSecondsOf(running)]));
  }

  /** Counts dead letters by sink. */
  countLetters(): Map<string, number> {
    try {
      this.#letterCounts = this.#options.deadLetters.counts();
    } catch (cause) {
      // A command may lock the file for a moment; the previous count is close enough.
      if (!(cause instanceof StoreError)) throw cause;
    }
    return new Map([...this.#sinks.keys()].map((name) => [name, this.#letterCounts.get(name) ?? 0]));
  }

  /**
   * Prepares new and changed sinks. Throws, with nothing changed: `DeliveryError` if this machine prevents delivery to one of
   * them (not the first time, because then there is nothing to keep and the sink may recover), and {@link StoreError} if the
   * disk cannot be written. Storing the sinks is the last step, so the result must be committed.
   */
  async prepare(settings: readonly SinkSettings[]): Promise<SinkChange> {
    const { store, create } = this.#options;
    const wanted = new Map(settings.map((one) => [one.name, { settings: one, hash: renderSettingsHash(one) }]));
    const leaving = [...this.#sinks.values()].filter((one) => wanted.get(one.settings.name)?.hash !== one.hash);
    const gone = leaving.filter((one) => !wanted.has(one.settings.name));
    const made = new Map<string, Sink>();
    try {
      for (const [name, { settings: one, hash }] of wanted) {
        if (this.#sinks.get(name)?.hash === hash) continue;
        const sink = create(one);
        made.set(name, sink);
        if (this.#isBegun) await sink.checkPlace?.();
      }
      store.checkWritable();
      // Removed sinks keep their cursors until their last deliveries have ended.
      store.setSinks([...settings, ...gone.map((one) => one.settings)]);
    } catch (cause) {
      await Promise.allSettled([...made.values()].map((sink) => sink.close()));
      throw cause;
    }
    return {
      commit: async (signal) => {
        this.#isBegun = true;
        for (const running of leaving) await this.#stop(running, !gone.includes(running), signal);
        const kept = new Map(this.#sinks);
        this.#sinks.clear();
        for (const [name, { settings: one, hash }] of wanted) {
          const sink = made.get(name);
          const running = sink ? this.#start(one, hash, sink) : kept.get(name);
          if (running) this.#sinks.set(name, running);
        }
        if (gone.length > 0) this.#freeCursors();
        this.wake();
        this.#lookAgain();
      },
    };
  }

  /** Wakes all sinks, because there are records. */
  wake(): void {
    for (const { loop } of this.#sinks.values()) loop.wake();
  }

  async whenIdle(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map(({ loop }) => loop.whenIdle()));
  }

  /** Delivers what is spooled until `signal` aborts, and closes the sinks. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#look?.cancel();
    await Promise.all(
      [...this.#sinks.values()].map(async ({ loop, sink }) => {
        await loop.drain(signal);
        await sink.close();
      }),
    );
  }

  /** Drops expired dead letters and checks for marked ones periodically: marking a letter wakes no sink. */
  #lookAgain(): void {
    const { clock, deadLetters, logger } = this.#options;
    for (const name of this.#sinks.keys()) this.#replaying.add(name);
    this.#look?.cancel();
    this.#look = clock.setTimer(REPLAY_LOOK_MS, () => {
      try {
        deadLetters.expire(clock.now());
      } catch (cause) {
        logger.warn('Dead letters could not be looked through', { error: renderErrorChain(cause) });
      }
      if (this.#hasOldCursors) this.#freeCursors();
      this.#lookAgain();
      this.wake();
    });
  }

  /** Drops records that only removed sinks were waiting for; retried at the next check if the disk cannot be written. */
  #freeCursors(): void {
    const { store, logger } = this.#options;
    try {
      store.setSinks([...this.#sinks.values()].map(({ settings }) => settings));
      this.#hasOldCursors = false;
    } catch (cause) {
      this.#hasOldCursors = true;
      logger.warn('Records of a removed sink could not be freed; it is tried again', {
        error: renderErrorChain(cause),
      });
    }
  }

  /** Returns the number of records waiting for a sink; 0 if the store cannot be read. */
  #countWaiting(name: string, isWanted?: SinkSelection['isWanted']): number {
    try {
      return this.#options.store.countWaiting(name, isWanted);
    } catch {
      return 0;
    }
  }

  async #stop({ settings, loop, sink }: RunningSink, isChanged: boolean, signal: AbortSignal): Promise<void> {
    const { metrics, logger } = this.#options;
    const { name } = settings;
    // The new settings may be what makes it work, so no time is spent on the old ones.
    await loop.drain(isChanged ? AbortSignal.abort() : signal);
    await sink.close().catch((cause: unknown) => this.#noteFault(name, cause));
    if (isChanged) return;
    metrics.unregisterSink(name);
    const records = this.#countWaiting(name);
    if (records > 0) logger.warn('A sink was removed; it does not get what waited for it', { sink: name, records });
  }

  #start(settings: SinkSettings, hash: string, sink: Sink): RunningSink {
    const { clock, random, metrics, store, deadLetters } = this.#options;
    const { name } = settings;
    const selection = createSelection(settings.select);
    const worker = new DeliveryWorker<SpoolCursor>({
      sink,
      spool: store,
      deadLetters: {
        add: (of, refused, taken) => deadLetters.add(of, refused, taken),
        readReplayed: (of, bounds) => this.#readReplayed(of, bounds),
      },
      clock,
      ...selection,
      report: (event) => this.#onDelivery(name, event),
    });
    const loop = new RetryLoop({
      clock,
      random,
      backoff: SINK_BACKOFF,
      step: (signal, options) => this.#step(name, worker, signal, options),
      onFailure: (cause) => this.#noteFailure(name, cause),
    });
    if (sink.connection) sink.connection.onEnd = () => loop.wake();
    metrics.registerSink(name);
    // If records are waiting, the first attempt sets the state.
    if (this.#countWaiting(name, selection.isWanted) === 0) metrics.sinkUp.set({ sink: name }, 1);
    return {
      settings,
      hash,
      sink,
      loop,
      selection,
      state: 'unknown',
      records: 0,
      lastSuccessMs: undefined,
      error: null,
    };
  }

  /** Reads marked letters only after a check, and returns none while a command locks the file: new records must not wait. */
  #readReplayed(sink: string, bounds: Parameters<DeadLetterStore['readReplayed']>[1]) {
    if (!this.#replaying.has(sink)) return [];
    try {
      const letters = this.#options.deadLetters.readReplayed(sink, bounds);
      if (letters.length === 0) this.#replaying.delete(sink);
      return letters;
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#replaying.delete(sink);
      return [];
    }
  }

  async #step(
    name: string,
    worker: DeliveryWorker<SpoolCursor>,
    signal: AbortSignal,
    options: StepOptions,
  ): Promise<RetryLoopOutcome> {
    const { clock, logger } = this.#options;
    const patience = clock.setTimer(SINK_PATIENCE_MS, () => {
      const waited = renderDuration(SINK_PATIENCE_MS);
      this.#noteState(name, false, `It has not taken records for ${waited}`);
      logger.warn('A sink does not take its records', { sink: name, waited });
    });
    try {
      return await worker.step(signal, options);
    } finally {
      patience.cancel();
    }
  }

  #onDelivery(name: string, event: DeliveryEvent): void {
    const { metrics, logger, clock, onDelivered } = this.#options;
    const count = (result: string, records: number) => metrics.sinkRecords.inc({ sink: name, result }, records);
    switch (event.type) {
      case 'records-delivered': {
        const sink = this.#sinks.get(name);
        if (sink) {
          sink.records += event.records;
          sink.lastSuccessMs = clock.now();
        }
        this.#noteState(name, true, null);
        count('delivered', event.records - event.duplicates);
        if (event.duplicates > 0) count('duplicate', event.duplicates);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        onDelivered(event.records);
        return;
      }
      case 'records-repeated':
        this.#noteState(name, true, null);
        count('repeated', event.records);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        logger.info('Records went to a sink again, because it may have lost them', {
          sink: name,
          records: event.records,
        });
        return;
      case 'repeats-refused': {
        const { records, reason } = event;
        logger.warn('A sink refused records that went to it again; it has taken them before', {
          sink: name,
          records,
          reason,
        });
        return;
      }
      case 'records-skipped':
        count('skipped', event.records);
        return;
      case 'records-refused': {
        const { records, reason, isAnswered } = event;
        if (isAnswered) this.#noteState(name, true, null);
        count('dead_letter', records);
        logger.warn('A sink refused records for good; they are dead letters', { sink: name, records, reason });
        return;
      }
      case 'records-rejected': {
        const { records, reason } = event;
        this.#noteState(name, true, null);
        count('rejected', records);
        logger.error('A sink rejected records and does not say which', { sink: name, records, reason });
        return;
      }
      case 'batch-split': {
        const { records, reason } = event;
        logger.info('A sink refused a batch, which goes on in halves', { sink: name, records, reason });
        return;
      }
      case 'sink-warned':
        metrics.sinkWarnings.inc({ sink: name });
        logger.warn('Sink warning', { sink: name, words: event.message });
        return;
    }
  }

  /** Returns the minimum wait until the next attempt. Milliseconds. */
  #noteFailure(name: string, cause: unknown): number | undefined {
    const { metrics, onGone } = this.#options;
    // The agent cannot reopen standard output; its supervisor can, by restarting it.
    if (cause instanceof DeliveryError && cause.code === 'closed') {
      this.#noteState(name, false, renderErrorChain(cause));
      onGone(cause);
      return undefined;
    }
    this.#noteFault(name, cause);
    const reason = cause instanceof CodedError ? String(cause.code) : 'failed';
    metrics.countSinkFailure(name, reason);
    if (!(cause instanceof DeliveryError)) return undefined;
    if (cause.disposition === 'operator') return OPERATOR_RETRY_MS;
    return Math.min(cause.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  }

  #noteFault(name: string, cause: unknown): void {
    const error = renderErrorChain(cause);
    this.#noteState(name, false, error);
    this.#options.logger.warn('A sink failed', { sink: name, error });
  }

  #noteState(name: string, isUp: boolean, error: string | null): void {
    this.#options.metrics.sinkUp.set({ sink: name }, isUp ? 1 : 0);
    const sink = this.#sinks.get(name);
    if (!sink) return;
    sink.state = isUp ? 'up' : 'down';
    sink.error = error;
  }

  #lagSecondsOf({ settings, selection }: RunningSink): number {
    const { store, clock } = this.#options;
    const oldestMs = store.oldestWaitingMs(settings.name, selection.isWanted);
    return oldestMs === undefined ? 0 : Math.max(0, clock.now() - oldestMs) / 1000;
  }
}
