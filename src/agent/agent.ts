import type { Writable } from 'node:stream';
import { type Clock, Lifecycle, type Logger, type Random, renderDuration, renderErrorChain } from '../base/index.ts';
import type { Config, SinkSettings } from '../config/index.ts';
import { createStdoutSink, DeliveryError, deliverOnce, type Sink } from '../delivery/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { openArchivePool } from '../logs/index.ts';
import { Pump, Scheduler } from '../schedule/index.ts';
import { EmbeddedStore, type SpoolCursor } from '../store/index.ts';
import { openWebServer } from '../web/index.ts';
import { RouterAgent } from './router-agent.ts';
import { SelfMetrics } from './self-metrics.ts';

export interface AgentOptions {
  readonly config: Config;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where a sink of type `stdout` writes. */
  readonly stdout: Writable;
}

/** What the agent has done since it started. */
export interface AgentSummary {
  readonly routers: number;
  readonly routersUp: number;
  readonly polls: number;
  readonly recordsShipped: number;
  readonly gaps: number;
}

/** A running agent. */
export interface Agent {
  /** Base addresses of its pages, as in `http://127.0.0.1:9847`. */
  readonly urls: readonly string[];
  /** Aborts when the agent cannot do its work any more; the reason says why. Then it wants to be stopped. */
  readonly failed: AbortSignal;
  summary(): AgentSummary;
  /** Resolves when no router is being talked to and no record is on its way. */
  whenIdle(): Promise<void>;
  /** Stops polling, delivers what is spooled, logs out, and releases everything: within 9 seconds. */
  stop(): Promise<void>;
}

/** Decompression threads. A router that stalls in the middle of a large archive occupies one, so there is another. */
const ARCHIVE_WORKERS = 2;
/** A delivery that takes longer than this is worth a warning. It is not cut off: a slow reader is better than none. */
const SINK_PATIENCE_MS = 30_000;
const SINK_BACKOFF = { firstMs: 500, ceilingMs: 5 * 60_000 };
/** Bounds of the steps of stopping; together below the ten seconds that service managers allow. */
const STOP_MS = { schedule: 1500, delivery: 3500, routers: 2000, web: 500, archives: 500, store: 1000 };

/** Builds the rooms, introduces them to each other and starts them. Throws what stands in the way of starting. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { config, clock, random, logger } = options;
  const lifecycle = new Lifecycle(clock);
  const failure = new AbortController();
  try {
    const store = new EmbeddedStore({
      path: config.storage.path,
      spoolBytesMax: config.storage.spoolBytesMax,
      sinks: config.sinks.map(({ name }) => name),
    });
    lifecycle.onStop('state', STOP_MS.store, () => store.close());
    const archives = openArchivePool({ workers: ARCHIVE_WORKERS });
    lifecycle.onStop('decompression', STOP_MS.archives, () => archives.close());

    const exposition = new FleetExposition();
    let recordsShipped = 0;
    let gaps = 0;
    let polls = 0;
    const pumps: Pump[] = [];
    const routers = config.routers.map(
      (settings) =>
        new RouterAgent({
          settings,
          store,
          archives,
          exposition,
          clock,
          logger,
          onPolled: (isUp) => {
            polls++;
            metrics.polls.inc({ result: isUp ? 'success' : 'failure' });
          },
          onSpooled: () => {
            for (const pump of pumps) pump.wake();
          },
          onGap: () => gaps++,
          onStoreFailed: (cause) => failure.abort(cause),
        }),
    );
    const metrics = new SelfMetrics(options.version, {
      spooled: () => store.spooled,
      routers: () => countStates(routers),
    });

    let isReady = false;
    const web = await openWebServer(config.web.listen, {
      renderMetrics: async () => exposition.render(clock.monotonic()) + (await metrics.render()),
      listRouters: () => routers.map((router) => router.row),
      isReady: () => isReady,
      onFailed: (cause) => logger.error('A page could not be made', { error: renderErrorChain(cause) }),
    });
    lifecycle.onStop('web', STOP_MS.web, () => web.close());
    lifecycle.onStop('routers', STOP_MS.routers, (signal) =>
      Promise.all(routers.map((router) => router.close(signal))),
    );

    for (const settings of config.sinks) {
      const sink = createSink(settings, options.stdout);
      metrics.sinkUp.set({ sink: sink.name }, 1);
      const pump = new Pump({
        clock,
        random,
        backoff: SINK_BACKOFF,
        step: async (signal) => {
          const patience = clock.setTimer(SINK_PATIENCE_MS, () => {
            metrics.sinkUp.set({ sink: sink.name }, 0);
            logger.warn('A sink does not take its records', {
              sink: sink.name,
              waited: renderDuration(SINK_PATIENCE_MS),
            });
          });
          try {
            return await deliverOnce<SpoolCursor>(store, sink, signal, ({ records }) => {
              recordsShipped += records;
              metrics.sinkUp.set({ sink: sink.name }, 1);
              metrics.sinkRecords.inc({ sink: sink.name, result: 'delivered' }, records);
            });
          } finally {
            patience.cancel();
          }
        },
        onFailure: (cause) => {
          metrics.sinkUp.set({ sink: sink.name }, 0);
          // Nobody can open standard output again: a supervisor that restarts the agent can.
          if (cause instanceof DeliveryError && cause.code === 'closed') failure.abort(cause);
          else logger.warn('A sink failed', { sink: sink.name, error: renderErrorChain(cause) });
        },
      });
      pumps.push(pump);
    }
    lifecycle.onStop('sinks', STOP_MS.delivery, (signal) => Promise.all(pumps.map((pump) => pump.drain(signal))));

    const scheduler = new Scheduler({
      clock,
      report: ({ key, lagMs, error }) => {
        metrics.scheduleLag.observe(lagMs / 1000);
        if (error !== undefined)
          logger.error('A turn failed for no known reason', { turn: key, error: renderErrorChain(error) });
      },
    });
    for (const router of routers)
      for (const activity of router.activities(config.sinks.length > 0)) scheduler.add(activity);
    lifecycle.onStop('polling', STOP_MS.schedule, () => scheduler.stop());
    scheduler.start();
    // What an earlier process left in the spool.
    for (const pump of pumps) pump.wake();
    isReady = true;
    for (const { name, url, tls } of config.routers) {
      const router = { router: name };
      if (url.startsWith('http:'))
        logger.warn('Polled over plain HTTP: anybody on the way can read the password', router);
      if (tls.insecureSkipVerify)
        logger.warn('Any certificate is accepted: who stands in between can read the password', router);
    }
    logger.info('Started', { routers: routers.length, sinks: config.sinks.length, urls: web.urls });

    const stop = async () => {
      isReady = false;
      for (const { step, cause } of await lifecycle.stop()) {
        logger.warn('A step of stopping did not end well', { step, error: renderErrorChain(cause) });
      }
    };
    return {
      urls: web.urls,
      failed: failure.signal,
      summary: () => ({
        routers: routers.length,
        routersUp: countStates(routers).up,
        polls,
        recordsShipped,
        gaps,
      }),
      async whenIdle() {
        await scheduler.whenIdle();
        await Promise.all(pumps.map((pump) => pump.whenIdle()));
      },
      stop,
    };
  } catch (cause) {
    await lifecycle.stop();
    throw cause;
  }
}

function createSink(settings: SinkSettings, stdout: Writable): Sink {
  switch (settings.type) {
    case 'stdout':
      return createStdoutSink(settings.name, stdout);
  }
}

function countStates(routers: readonly RouterAgent[]): Record<'up' | 'down' | 'unknown', number> {
  const counts = { up: 0, down: 0, unknown: 0 };
  for (const router of routers) counts[router.state]++;
  return counts;
}
