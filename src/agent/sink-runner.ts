import type { Writable } from 'node:stream';
import { type Clock, type Logger, type Random, renderDuration, renderErrorChain } from '../base/index.ts';
import type { SinkSettings } from '../config/index.ts';
import { createStdoutSink, DeliveryError, deliverOnce, type Sink } from '../delivery/index.ts';
import { Pump } from '../schedule/index.ts';
import type { EmbeddedStore, SpoolCursor } from '../store/index.ts';
import type { SinkSummary } from '../web/index.ts';
import type { SelfMetrics } from './self-metrics.ts';

export interface SinkRunnerOptions {
  readonly store: EmbeddedStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: SelfMetrics;
  /** Where a sink of type `stdout` writes. */
  readonly stdout: Writable;
  readonly onDelivered: (records: number) => void;
  /** Told when a sink has gone for good. */
  readonly onGone: (cause: DeliveryError) => void;
}

interface SinkState {
  readonly settings: SinkSettings;
  readonly pump: Pump;
  state: SinkSummary['state'];
  records: number;
  /** Wall time, milliseconds since the Unix epoch. */
  lastSuccessMs: number | undefined;
  error: string | null;
}

/** A delivery that takes longer than this is worth a warning. It is not cut off: a slow reader is better than none. */
const SINK_PATIENCE_MS = 30_000;
const SINK_BACKOFF = { firstMs: 500, ceilingMs: 5 * 60_000 };

/** The sinks of the configuration, each delivering at its own pace. */
export class SinkRunner {
  readonly #options: SinkRunnerOptions;
  readonly #sinks = new Map<string, SinkState>();

  constructor(options: SinkRunnerOptions) {
    this.#options = options;
  }

  /** How many there are. */
  get count(): number {
    return this.#sinks.size;
  }

  /** What each sink is doing, in the order of the configuration. */
  describe(): readonly SinkSummary[] {
    const { store } = this.#options;
    return [...this.#sinks.values()].map(({ settings, state, records, lastSuccessMs, error }) => ({
      name: settings.name,
      type: settings.type,
      state,
      recordsDelivered: records,
      recordsWaiting: store.countWaiting(settings.name),
      lagSeconds: null,
      deadLetters: 0,
      lastSuccess: lastSuccessMs === undefined ? null : new Date(lastSuccessMs).toISOString(),
      error,
    }));
  }

  /** Starts sinks that are new, stops those that are gone, and leaves the others at their work. */
  async apply(settings: readonly SinkSettings[], signal: AbortSignal): Promise<void> {
    const wanted = new Set(settings.map(({ name }) => name));
    for (const [name, { pump }] of this.#sinks) {
      if (wanted.has(name)) continue;
      await pump.drain(signal);
      this.#sinks.delete(name);
      this.#options.metrics.sinkUp.remove({ sink: name });
    }
    this.#options.store.setSinks([...wanted]);
    for (const one of settings) if (!this.#sinks.has(one.name)) this.#start(one);
    this.wake();
  }

  /** Says that there are records. */
  wake(): void {
    for (const { pump } of this.#sinks.values()) pump.wake();
  }

  async whenIdle(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map(({ pump }) => pump.whenIdle()));
  }

  /** Delivers what is spooled, as far as `signal` allows. */
  async drain(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#sinks.values()].map(({ pump }) => pump.drain(signal)));
  }

  #start(settings: SinkSettings): void {
    const { clock, random, metrics } = this.#options;
    const sink = createSink(settings, this.#options.stdout);
    metrics.sinkUp.set({ sink: sink.name }, 1);
    const pump = new Pump({
      clock,
      random,
      backoff: SINK_BACKOFF,
      step: (signal) => this.#deliver(sink, signal),
      onFailure: (cause) => this.#noteFailure(sink.name, cause),
    });
    this.#sinks.set(sink.name, {
      settings,
      pump,
      state: 'unknown',
      records: 0,
      lastSuccessMs: undefined,
      error: null,
    });
  }

  async #deliver(sink: Sink, signal: AbortSignal): Promise<'more' | 'idle'> {
    const { clock, store } = this.#options;
    const patience = clock.setTimer(SINK_PATIENCE_MS, () => {
      const waited = renderDuration(SINK_PATIENCE_MS);
      this.#noteState(sink.name, false, `It has not taken records for ${waited}`);
      this.#options.logger.warn('A sink does not take its records', { sink: sink.name, waited });
    });
    try {
      return await deliverOnce<SpoolCursor>(store, sink, signal, ({ records }) =>
        this.#noteSuccess(sink.name, records),
      );
    } finally {
      patience.cancel();
    }
  }

  #noteSuccess(name: string, records: number): void {
    const { metrics, clock, onDelivered } = this.#options;
    const sink = this.#sinks.get(name);
    if (sink) {
      sink.records += records;
      sink.lastSuccessMs = clock.now();
    }
    this.#noteState(name, true, null);
    metrics.sinkRecords.inc({ sink: name, result: 'delivered' }, records);
    onDelivered(records);
  }

  #noteFailure(name: string, cause: unknown): void {
    const { logger, onGone } = this.#options;
    const error = renderErrorChain(cause);
    this.#noteState(name, false, error);
    // Nobody can open standard output again: a supervisor that restarts the agent can.
    if (cause instanceof DeliveryError && cause.code === 'closed') onGone(cause);
    else logger.warn('A sink failed', { sink: name, error });
  }

  #noteState(name: string, isUp: boolean, error: string | null): void {
    this.#options.metrics.sinkUp.set({ sink: name }, isUp ? 1 : 0);
    const sink = this.#sinks.get(name);
    if (!sink) return;
    sink.state = isUp ? 'up' : 'down';
    sink.error = error;
  }
}

function createSink(settings: SinkSettings, stdout: Writable): Sink {
  switch (settings.type) {
    case 'stdout':
      return createStdoutSink(settings.name, stdout);
  }
}
