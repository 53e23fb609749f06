import {
  type Clock,
  CodedError,
  type Logger,
  openDeadline,
  type Random,
  renderDuration,
  renderErrorChain,
  untilAborted,
} from '../../base/index.ts';
import {
  type DeadLetterBounds,
  type DeadLetters,
  type SpoolCursor,
  type Store,
  StoreError,
} from '../../model/index.ts';
import { StepLoop, type StepLoopOutcome } from '../../schedule/index.ts';
import { isUnverified } from '../../settings/index.ts';
import {
  DeliveryError,
  type DeliveryEvent,
  DeliveryWorker,
  type Sink,
  type SinkSettings,
  type StepOptions,
} from '../../sinks/index.ts';
import type { SinkSummary } from '../../web/index.ts';
import { createSelection } from '../line-processing.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';
import { toTime } from '../router-state/router-state.ts';
import { DeliveryRate } from './delivery-figures.ts';

export interface SinkContext {
  readonly store: Store;
  readonly deadLetters: DeadLetters;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: SelfMetrics;
  readonly onDelivered: (records: number) => void;
  /** Called when a sink can never deliver again. */
  readonly onGone: (cause: DeliveryError) => void;
}

/** A longer delivery is logged as a warning, even without a time limit. */
const SINK_PATIENCE_MS = 30_000;
/** Time limit for closing the file or connection of a removed sink. Milliseconds. */
const CLOSE_MS_MAX = 2000;
const SINK_BACKOFF = { firstMs: 500, ceilingMs: 5 * 60_000 };
/** Wait before checking if this replica serves the sink again. Milliseconds. */
const FENCED_MS = 1000;
/** Upper limit of the wait that a sink may ask for. */
const RETRY_AFTER_MS_MAX = 60 * 60_000;
/** Wait after rejected credentials: some servers lock an account. */
const OPERATOR_RETRY_MS = 60_000;

/** Delivery to one sink: its loop, its state, and the effects of its events on log and metrics. */
export class RunningSink {
  readonly settings: SinkSettings;
  readonly #context: SinkContext;
  readonly #sink: Sink;
  readonly #loop: StepLoop;
  readonly #worker: DeliveryWorker<SpoolCursor>;
  #ending: AbortController | undefined;
  readonly #selection: ReturnType<typeof createSelection>;
  #state: SinkSummary['state'] = 'unknown';
  readonly #startedAt: string;
  #since: string;
  #records = 0;
  /** Wall time in milliseconds since the Unix epoch. */
  #lastSuccessMs: number | undefined;
  #error: string | null = null;
  #reason: string | null = null;
  #lastFailure: SinkSummary['lastFailure'] = null;
  readonly #rate: DeliveryRate;
  #mayReplay = false;
  /** The owner of the sink in the cluster, if it does not serve it. */
  #unservedBy: string | undefined;
  /** True if the sink may hold a resource that only the serving replica may use. */
  #mayHold = false;

  constructor(settings: SinkSettings, sink: Sink, context: SinkContext) {
    const { clock, random, metrics, store, deadLetters } = context;
    this.#startedAt = new Date(clock.now()).toISOString();
    this.#since = this.#startedAt;
    this.settings = settings;
    this.#rate = new DeliveryRate(clock);
    this.#context = context;
    this.#sink = sink;
    this.#selection = createSelection(settings);
    this.#worker = new DeliveryWorker<SpoolCursor>({
      sink,
      spool: store,
      deadLetters: {
        add: (of, refused, taken) => deadLetters.add(of, refused, taken),
        readReplayed: (of, bounds) => this.#readReplayed(of, bounds),
      },
      clock,
      ...this.#selection,
      report: (event) => this.#onDelivery(event),
    });
    this.#loop = new StepLoop({
      clock,
      random,
      backoff: SINK_BACKOFF,
      step: (signal, options) => this.#step(signal, options),
      onFailure: (cause) => this.#recordFailure(cause),
    });
    if (sink.connection) sink.connection.onEnd = () => this.#loop.wake();
    // Reported at the start, before the first delivery would find it.
    if (this.#isServed) void sink.claim?.().catch((cause: unknown) => this.#recordFault(cause));
    metrics.registerSink(this.name);
    if (settings.type !== 'stdout' && settings.type !== 'file') {
      metrics.sinkTlsUnverified.set({ sink: this.name }, isUnverified(settings.tls) ? 1 : 0);
    }
    // If records are waiting, the first attempt sets the state.
    if (this.#countWaiting(this.#selection.isWanted) === 0) metrics.sinkUp.set({ sink: this.name }, 1);
  }

  get name(): string {
    return this.settings.name;
  }

  /** Age of the oldest undelivered record in seconds; 0 without one. */
  get lagSeconds(): number {
    const { store, clock } = this.#context;
    try {
      const oldestMs = store.oldestWaitingMs(this.name, this.#selection.isWanted);
      return oldestMs === undefined ? 0 : Math.max(0, clock.now() - oldestMs) / 1000;
    } catch (cause) {
      // Metrics and pages must not fail with the disk.
      if (!(cause instanceof StoreError)) throw cause;
      return 0;
    }
  }

  describe(deadLetters: number): SinkSummary {
    return {
      name: this.name,
      type: this.settings.type,
      state: this.#state,
      since: this.#since,
      startedAt: this.#startedAt,
      recordsDelivered: this.#records,
      recordsPerSecond: this.#rate.perSecond,
      recordsWaiting: this.#countWaiting(this.#selection.isWanted),
      lagSeconds: this.lagSeconds,
      deadLetters,
      lastSuccess: toTime(this.#lastSuccessMs),
      error: this.#error,
      reason: this.#reason,
      lastFailure: this.#lastFailure,
    };
  }

  /** Signals that there are records, or that another replica may serve the sink now. */
  wake(): void {
    if (!this.#isServed) {
      if (this.#state === 'down' && this.#unservedBy === undefined) this.#resetState();
      // The current step may still use it.
      if (!this.#ending) void this.#release();
    }
    this.#loop.wake();
  }

  /** Marks the sink as down while its `owner` in the cluster does not serve it; `undefined`: it does. */
  recordUnserved(owner: string | undefined): void {
    if (owner === this.#unservedBy) return;
    this.#unservedBy = owner;
    if (owner === undefined) {
      if (this.#state === 'down') this.#resetState();
      return;
    }
    this.#context.logger.warn('No replica serves a sink; its owner may not have it configured', {
      sink: this.name,
      replica: owner,
    });
    this.#setState(false, `Replica ${owner} does not serve it; it may not have it configured`);
  }

  /** False while another replica serves the sink, or may. */
  get #isServed(): boolean {
    return this.#context.store.serves?.(this.name) !== false;
  }

  /** Releases what the serving replica needs. Never rejects. */
  async #release(): Promise<void> {
    if (!this.#mayHold) return;
    this.#mayHold = false;
    await this.#sink.release?.().catch((cause: unknown) => this.#recordFault(cause));
  }

  expectReplays(): void {
    this.#mayReplay = true;
  }

  whenIdle(): Promise<void> {
    return this.#loop.whenIdle();
  }

  /** Delivers spooled records until `signal` aborts, then closes the sink. */
  async drain(signal: AbortSignal): Promise<void> {
    await this.#loop.drain(signal);
    await this.#settle(signal);
    await this.#sink.close();
  }

  /** Retries to store the cursor of accepted records; otherwise the next process would deliver them again. */
  async #settle(signal: AbortSignal): Promise<void> {
    if (!this.#worker.isSettling || signal.aborted) return;
    await untilAborted(this.#worker.step(signal), signal).catch((cause: unknown) => this.#recordFault(cause));
  }

  /**
   * Resolves when no partly accepted batch is in flight, before the sink moves to another replica. Once `signal`
   * aborts, the current attempt is aborted: a later answer could not be stored.
   */
  async handOver(signal: AbortSignal): Promise<void> {
    // After an outage of the engine, storing the cursor may be backed off for minutes.
    if (this.#worker.isSettling) this.#loop.hurry();
    await untilAborted(this.#worker.whenDone(), signal).catch(() => {});
    if (signal.aborted) this.#ending?.abort();
    await untilAborted(this.#release(), signal).catch(() => {});
  }

  /**
   * Ends the delivery after a change of the configuration. `isChanged`: the sink gets other settings; otherwise it was
   * removed.
   */
  async stop(isChanged: boolean, signal: AbortSignal): Promise<void> {
    const { metrics, logger, clock } = this.#context;
    // The new settings may fix the sink, so no time is spent on the old ones.
    await this.#loop.drain(isChanged ? AbortSignal.abort() : signal);
    // A file on a disk that hangs must not delay other sinks or later reloads.
    using deadline = openDeadline(clock, CLOSE_MS_MAX);
    await untilAborted(this.#sink.close(), deadline.signal).catch((cause: unknown) => this.#recordFault(cause));
    if (isChanged) return;
    metrics.unregisterSink(this.name);
    const records = this.#countWaiting();
    if (records > 0) warnOfGoneSink(logger, { sink: this.name, records });
  }

  /** 0 if the store cannot be read. */
  #countWaiting(isWanted?: ReturnType<typeof createSelection>['isWanted']): number {
    try {
      return this.#context.store.countWaiting(this.name, isWanted);
    } catch {
      return 0;
    }
  }

  /** Returns none while a command locks the file: new records must not wait. */
  async #readReplayed(sink: string, bounds: DeadLetterBounds) {
    if (!this.#mayReplay) return [];
    try {
      const deadLetters = await this.#context.deadLetters.readReplayed(sink, bounds);
      if (deadLetters.length === 0) this.#mayReplay = false;
      return deadLetters;
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#mayReplay = false;
      return [];
    }
  }

  async #step(signal: AbortSignal, options: StepOptions): Promise<StepLoopOutcome> {
    const { store, clock, logger } = this.#context;
    const worker = this.#worker;
    // The opening of the state wakes it.
    if (store.isWaiting) return 'idle';
    if (this.#isServed) this.#mayHold = true;
    const ending = new AbortController();
    const end = () => ending.abort(signal.reason);
    signal.addEventListener('abort', end);
    this.#ending = ending;
    const patience = clock.setTimer(SINK_PATIENCE_MS, () => {
      const waited = renderDuration(SINK_PATIENCE_MS);
      this.#setState(false, `No records accepted for ${waited}`);
      logger.warn('Sink is not accepting records', { sink: this.name, waited });
    });
    try {
      return await worker.step(ending.signal, options);
    } catch (cause) {
      if (ending.signal.aborted && !signal.aborted) {
        worker.abandon();
        return 'idle';
      }
      if (!(cause instanceof StoreError) || cause.code !== 'fenced') throw cause;
      // Another replica serves the sink, or has served it; delivered records are delivered again.
      worker.abandon();
      logger.info('Another replica has moved the cursor of a sink', { sink: this.name });
      clock.setTimer(FENCED_MS, () => this.wake());
      return 'idle';
    } finally {
      this.#ending = undefined;
      signal.removeEventListener('abort', end);
      patience.cancel();
      if (!this.#isServed) void this.#release();
    }
  }

  #onDelivery(event: DeliveryEvent): void {
    const { metrics, logger, clock, onDelivered } = this.#context;
    const { name } = this;
    const count = (result: string, records: number) => metrics.sinkRecords.inc({ sink: name, result }, records);
    const log = (
      level: keyof Logger,
      message: string,
      { records, reason }: { readonly records: number; readonly reason: string },
    ) => logger[level](message, { sink: name, records, error: reason });
    switch (event.type) {
      case 'records-delivered': {
        this.#records += event.records;
        this.#rate.add(event.records);
        this.#lastSuccessMs = clock.now();
        this.#setState(true, null);
        count('delivered', event.records - event.duplicates);
        if (event.duplicates > 0) count('duplicate', event.duplicates);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        onDelivered(event.records);
        return;
      }
      case 'records-repeated':
        this.#setState(true, null);
        count('repeated', event.records);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        logger.info('Records were sent to a sink again, because it may have lost them', {
          sink: name,
          records: event.records,
        });
        return;
      case 'repeats-refused':
        log('warn', 'A sink refused repeated records that it had accepted before', event);
        return;
      case 'records-skipped':
        count('skipped', event.records);
        return;
      case 'records-refused':
        if (event.isAnswered) this.#setState(true, null);
        count('dead_letter', event.records);
        log('warn', 'A sink rejected records permanently; they are stored as dead letters', event);
        return;
      case 'records-rejected':
        this.#setState(true, null);
        count('rejected', event.records);
        log('error', 'A sink rejected records without naming them', event);
        return;
      case 'batch-split':
        // At debug: the results of the halves follow soon.
        log('debug', 'A sink refused a batch; retrying it in halves', event);
        return;
      case 'sink-warned':
        metrics.sinkWarnings.inc({ sink: name });
        logger.warn('Sink warning', { sink: name, words: event.message });
        return;
    }
  }

  /** Returns the minimum wait until the next attempt. Milliseconds. */
  #recordFailure(cause: unknown): number | undefined {
    const { metrics, onGone } = this.#context;
    // The agent cannot reopen standard output; its supervisor can, by restarting it.
    if (cause instanceof DeliveryError && cause.code === 'closed') {
      this.#setState(false, renderErrorChain(cause), cause.code);
      onGone(cause);
      return undefined;
    }
    metrics.countSinkFailure(this.name, this.#recordFault(cause));
    if (!(cause instanceof DeliveryError)) return undefined;
    if (cause.disposition === 'operator') return OPERATOR_RETRY_MS;
    return Math.min(cause.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  }

  /** Failures here say nothing about the replica that serves the sink now. */
  #resetState(): void {
    const { metrics, clock } = this.#context;
    metrics.sinkUp.set({ sink: this.name }, 1);
    this.#state = 'unknown';
    this.#since = new Date(clock.now()).toISOString();
    this.#error = null;
    this.#reason = null;
    // A pending cursor may still be stored if the sink returns to this replica.
    if (!this.#worker.isSettling) this.#loop.hurry();
  }

  #recordFault(cause: unknown): string {
    const error = renderErrorChain(cause);
    const reason = cause instanceof CodedError ? String(cause.code) : 'failed';
    this.#setState(false, error, reason);
    this.#context.logger.warn('A sink failed', { sink: this.name, reason, error });
    return reason;
  }

  #setState(isUp: boolean, error: string | null, reason: string | null = null): void {
    this.#context.metrics.sinkUp.set({ sink: this.name }, isUp ? 1 : 0);
    const [state, at] = [isUp ? ('up' as const) : ('down' as const), new Date(this.#context.clock.now()).toISOString()];
    if (state !== this.#state) this.#since = at;
    this.#state = state;
    this.#error = error;
    this.#reason = reason;
    if (error !== null) this.#lastFailure = { at, error };
  }
}

/** Warns of a sink that was removed before it had all of its records. */
export function warnOfGoneSink(logger: Logger, gone: { readonly sink: string; readonly records: number }): void {
  logger.warn('Sink removed with undelivered records; those that no other sink waits for are dropped', { ...gone });
}
