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
  DeliveryError,
  type DeliveryEvent,
  DeliveryWorker,
  type Sink,
  type SinkSettings,
  type StepOptions,
} from '../../delivery/index.ts';
import { RetryLoop, type RetryLoopOutcome } from '../../schedule/index.ts';
import { isUnverified } from '../../settings/index.ts';
import { type DeadLetters, type LetterBounds, type SpoolCursor, type Store, StoreError } from '../../store/index.ts';
import type { SinkSummary } from '../../web/index.ts';
import { createSelection } from '../line-processing.ts';
import type { SelfMetrics } from '../metrics/self-metrics.ts';
import { toTime } from '../times.ts';
import { DeliveryRate } from './delivery-figures.ts';

/** Stores, clock and counters that all sinks share. */
export interface SinkContext {
  /** Store that holds the spool and the sinks' cursors. */
  readonly store: Store;
  /** Store of rejected records. */
  readonly deadLetters: DeadLetters;
  /** Clock for waits and the age of records. */
  readonly clock: Clock;
  /** Random numbers for the jitter of back-offs. */
  readonly random: Random;
  /** Log for the state of sinks, which bounds repeated warnings. */
  readonly logger: Logger;
  /** Metrics of deliveries. */
  readonly metrics: SelfMetrics;
  /** Called after each delivery with the number of records. */
  readonly onDelivered: (records: number) => void;
  /** Called when a sink can never deliver again. */
  readonly onGone: (cause: DeliveryError) => void;
}

/** A delivery that takes longer than this is logged as a warning, even if it has no time limit. */
const SINK_PATIENCE_MS = 30_000;
/** Limit of the wait until a sink that leaves has closed its file or connection. Milliseconds. */
const CLOSE_MS_MAX = 2000;
const SINK_BACKOFF = { firstMs: 500, ceilingMs: 5 * 60_000 };
/** Wait before it is looked whether a sink is served here again. Milliseconds. */
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
  readonly #loop: RetryLoop;
  readonly #worker: DeliveryWorker<SpoolCursor>;
  /** Ends the step that is under way. */
  #ending: AbortController | undefined;
  readonly #selection: ReturnType<typeof createSelection>;
  #state: SinkSummary['state'] = 'unknown';
  readonly #startedAt: string;
  #since: string;
  #records = 0;
  /** Wall time, milliseconds since the Unix epoch. */
  #lastSuccessMs: number | undefined;
  #error: string | null = null;
  #reason: string | null = null;
  #lastFailure: SinkSummary['lastFailure'] = null;
  readonly #rate: DeliveryRate;
  /** True if there may be dead letters to replay. */
  #mayReplay = false;
  /** The replica that would have to serve the sink, and does not. */
  #unservedBy: string | undefined;
  /** True if the sink may hold what only the replica that serves it may use. */
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
    this.#loop = new RetryLoop({
      clock,
      random,
      backoff: SINK_BACKOFF,
      step: (signal, options) => this.#step(signal, options),
      onFailure: (cause) => this.#noteFailure(cause),
    });
    if (sink.connection) sink.connection.onEnd = () => this.#loop.wake();
    // Said at the start, although the first delivery would find it as well.
    if (this.#isServed) void sink.claim?.().catch((cause: unknown) => this.#noteFault(cause));
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

  /** Age of the oldest record that the sink has yet to take, 0 without one. Seconds. */
  get lagSeconds(): number {
    const { store, clock } = this.#context;
    try {
      const oldestMs = store.oldestWaitingMs(this.name, this.#selection.isWanted);
      return oldestMs === undefined ? 0 : Math.max(0, clock.now() - oldestMs) / 1000;
    } catch (cause) {
      // Metrics and pages do not end with the disk.
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
      if (this.#state === 'down' && this.#unservedBy === undefined) this.#noteLeft();
      // A step that is under way may be about to use it still.
      if (!this.#ending) void this.#release();
    }
    this.#loop.wake();
  }

  /** The sink is down as long as no replica serves it, because the one to which it belongs does not. `undefined`: it does. */
  noteUnserved(owner: string | undefined): void {
    if (owner === this.#unservedBy) return;
    this.#unservedBy = owner;
    if (owner === undefined) {
      if (this.#state === 'down') this.#noteLeft();
      return;
    }
    this.#context.logger.warn('No replica serves a sink; the one to which it belongs may not have it configured', {
      sink: this.name,
      replica: owner,
    });
    this.#noteState(false, `Replica ${owner} does not serve it; it may not have it configured`);
  }

  /** False while another replica serves the sink, or may. */
  get #isServed(): boolean {
    return this.#context.store.serves?.(this.name) !== false;
  }

  /** Lets the replica that serves the sink now use what this one has used. Never rejects. */
  async #release(): Promise<void> {
    if (!this.#mayHold) return;
    this.#mayHold = false;
    await this.#sink.release?.().catch((cause: unknown) => this.#noteFault(cause));
  }

  /** Signals that there may be dead letters to replay. Does not wake the sink. */
  expectReplays(): void {
    this.#mayReplay = true;
  }

  whenIdle(): Promise<void> {
    return this.#loop.whenIdle();
  }

  /** Delivers what is spooled until `signal` aborts, and closes the sink. */
  async drain(signal: AbortSignal): Promise<void> {
    await this.#loop.drain(signal);
    await this.#settle(signal);
    await this.#sink.close();
  }

  /** Tries once more to store the cursor of what the sink has taken, if that failed: the next process would deliver it again. */
  async #settle(signal: AbortSignal): Promise<void> {
    if (!this.#worker.isSettling || signal.aborted) return;
    await untilAborted(this.#worker.step(signal), signal).catch((cause: unknown) => this.#noteFault(cause));
  }

  /**
   * Resolves when the sink, which is about to go to another replica, has nothing in hand of which it has taken a part. Once `signal`
   * aborts, gives up the attempt that is under way: an answer that comes later could not be stored.
   */
  async handOver(signal: AbortSignal): Promise<void> {
    // After an outage of the engine it may wait for minutes before it stores the cursor.
    if (this.#worker.isSettling) this.#loop.hurry();
    await untilAborted(this.#worker.whenDone(), signal).catch(() => {});
    if (signal.aborted) this.#ending?.abort();
    await untilAborted(this.#release(), signal).catch(() => {});
  }

  /** Ends the delivery after a change of the configuration. `isChanged`: the sink gets other settings; otherwise it was removed. */
  async stop(isChanged: boolean, signal: AbortSignal): Promise<void> {
    const { metrics, logger, clock } = this.#context;
    // The new settings may be what makes it work, so no time is spent on the old ones.
    await this.#loop.drain(isChanged ? AbortSignal.abort() : signal);
    // A file on a disk that hangs must not hold up the others, nor every reload after this one.
    using deadline = openDeadline(clock, CLOSE_MS_MAX);
    await untilAborted(this.#sink.close(), deadline.signal).catch((cause: unknown) => this.#noteFault(cause));
    if (isChanged) return;
    metrics.unregisterSink(this.name);
    const records = this.#countWaiting();
    if (records > 0) {
      logger.warn('Sink removed; its undelivered records are dropped', { sink: this.name, records });
    }
  }

  /** Returns the number of waiting records; 0 if the store cannot be read. */
  #countWaiting(isWanted?: ReturnType<typeof createSelection>['isWanted']): number {
    try {
      return this.#context.store.countWaiting(this.name, isWanted);
    } catch {
      return 0;
    }
  }

  /** Reads marked letters only after a check, and returns none while a command locks the file: new records must not wait. */
  async #readReplayed(sink: string, bounds: LetterBounds) {
    if (!this.#mayReplay) return [];
    try {
      const letters = await this.#context.deadLetters.readReplayed(sink, bounds);
      if (letters.length === 0) this.#mayReplay = false;
      return letters;
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause;
      this.#mayReplay = false;
      return [];
    }
  }

  async #step(signal: AbortSignal, options: StepOptions): Promise<RetryLoopOutcome> {
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
      this.#noteState(false, `It has not taken records for ${waited}`);
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
      // Another replica serves the sink now, or has; what was delivered is delivered again.
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
    const tell = (
      level: keyof Logger,
      message: string,
      { records, reason }: { readonly records: number; readonly reason: string },
    ) => logger[level](message, { sink: name, records, error: reason });
    switch (event.type) {
      case 'records-delivered': {
        this.#records += event.records;
        this.#rate.add(event.records);
        this.#lastSuccessMs = clock.now();
        this.#noteState(true, null);
        count('delivered', event.records - event.duplicates);
        if (event.duplicates > 0) count('duplicate', event.duplicates);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        onDelivered(event.records);
        return;
      }
      case 'records-repeated':
        this.#noteState(true, null);
        count('repeated', event.records);
        metrics.sinkSentBytes.inc({ sink: name }, event.bytes);
        logger.info('Records went to a sink again, because it may have lost them', {
          sink: name,
          records: event.records,
        });
        return;
      case 'repeats-refused':
        tell('warn', 'A sink refused records that went to it again; it has taken them before', event);
        return;
      case 'records-skipped':
        count('skipped', event.records);
        return;
      case 'records-refused':
        if (event.isAnswered) this.#noteState(true, null);
        count('dead_letter', event.records);
        tell('warn', 'A sink refused records for good; they are dead letters', event);
        return;
      case 'records-rejected':
        this.#noteState(true, null);
        count('rejected', event.records);
        tell('error', 'A sink rejected records and does not say which', event);
        return;
      case 'batch-split':
        // The result of the halves follows soon, and says more.
        tell('debug', 'A sink refused a batch, which goes on in halves', event);
        return;
      case 'sink-warned':
        metrics.sinkWarnings.inc({ sink: name });
        logger.warn('Sink warning', { sink: name, words: event.message });
        return;
    }
  }

  /** Returns the minimum wait until the next attempt. Milliseconds. */
  #noteFailure(cause: unknown): number | undefined {
    const { metrics, onGone } = this.#context;
    // The agent cannot reopen standard output; its supervisor can, by restarting it.
    if (cause instanceof DeliveryError && cause.code === 'closed') {
      this.#noteState(false, renderErrorChain(cause), cause.code);
      onGone(cause);
      return undefined;
    }
    metrics.countSinkFailure(this.name, this.#noteFault(cause));
    if (!(cause instanceof DeliveryError)) return undefined;
    if (cause.disposition === 'operator') return OPERATOR_RETRY_MS;
    return Math.min(cause.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX);
  }

  /** What failed here says nothing of the replica that serves the sink now, nor does it wait here if the sink comes back. */
  #noteLeft(): void {
    const { metrics, clock } = this.#context;
    metrics.sinkUp.set({ sink: this.name }, 1);
    this.#state = 'unknown';
    this.#since = new Date(clock.now()).toISOString();
    this.#error = null;
    this.#reason = null;
    // A cursor that is still to be stored may be stored if the sink comes back.
    if (!this.#worker.isSettling) this.#loop.hurry();
  }

  /** Returns the reason. */
  #noteFault(cause: unknown): string {
    const error = renderErrorChain(cause);
    const reason = cause instanceof CodedError ? String(cause.code) : 'failed';
    this.#noteState(false, error, reason);
    this.#context.logger.warn('A sink failed', { sink: this.name, reason, error });
    return reason;
  }

  #noteState(isUp: boolean, error: string | null, reason: string | null = null): void {
    this.#context.metrics.sinkUp.set({ sink: this.name }, isUp ? 1 : 0);
    const [state, at] = [isUp ? ('up' as const) : ('down' as const), new Date(this.#context.clock.now()).toISOString()];
    if (state !== this.#state) this.#since = at;
    this.#state = state;
    this.#error = error;
    this.#reason = reason;
    if (error !== null) this.#lastFailure = { at, error };
  }
}
