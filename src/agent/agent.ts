import type { Writable } from 'node:stream';
import { type Clock, Lifecycle, type Logger, openDeadline, type Random, renderErrorChain } from '../base/index.ts';
import type { Config, LoadedConfig, WatchedFiles } from '../config/index.ts';
import { FleetExposition } from '../exposition/index.ts';
import { openArchivePool } from '../logs/index.ts';
import { Scheduler } from '../schedule/index.ts';
import { DeadLetterStore, EmbeddedStore, StoreError } from '../store/index.ts';
import { openWebServer, type ReloadResult } from '../web/index.ts';
import { ConfigReloader } from './config-reloader.ts';
import { createSink } from './create-sink.ts';
import { Fleet } from './fleet.ts';
import { createNoteBook } from './note-book.ts';
import { preparePlan, type RouterParts } from './plan.ts';
import { RecentRecords } from './recent-records.ts';
import { RouterAgent, type RouterEvent } from './router-agent.ts';
import { SelfMetrics } from './self-metrics.ts';
import { SinkRunner } from './sink-runner.ts';
import { SpoolGuard } from './spool-guard.ts';
import { createWebContent } from './web-content.ts';
import { toWebSecurity } from './web-security.ts';

export interface AgentOptions {
  readonly config: Config;
  /** Files of routers that are watched for changes. Default: none. */
  readonly watched?: WatchedFiles | undefined;
  /** Reads the configuration again; absent = it cannot be. */
  readonly reload?: (() => Promise<LoadedConfig>) | undefined;
  readonly web?: AgentWebOptions | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Told which configuration runs, after each reload that succeeded. */
  readonly onConfigured?: ((config: Config) => void) | undefined;
  /** Where a sink of type `stdout` writes. */
  readonly stdout: Writable;
  /** Ends the waiting for a disk that cannot be written, should it abort while the agent starts. */
  readonly signal?: AbortSignal | undefined;
}

/** What is said about the web server on the command line, not in the configuration. */
export interface AgentWebOptions {
  /** Whether `POST /-/reload` and `POST /-/quit` do something. Default false. */
  readonly isLifecycleEnabled?: boolean | undefined;
  readonly routePrefix?: string | undefined;
  readonly externalUrl?: string | undefined;
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
  /** Aborts when somebody has asked over HTTP that the agent ends. */
  readonly quit: AbortSignal;
  /** Aborts when the agent cannot do its work any more; the reason says why. Then it wants to be stopped. */
  readonly failed: AbortSignal;
  summary(): AgentSummary;
  /** Loads the configuration again: all of it or nothing. Faults are in the result and in the log. */
  reload(): Promise<ReloadResult>;
  /** Resolves when no router is being talked to and no record is on its way. */
  whenIdle(): Promise<void>;
  /** Stops polling, delivers what is spooled, logs out, and releases everything: within 9 seconds. */
  stop(): Promise<void>;
}

/** Decompression threads. A router that stalls in the middle of a large archive occupies one, so there is another. */
const ARCHIVE_WORKERS = 2;
/** Bounds of the steps of stopping; together below the ten seconds that service managers allow. */
const STOP_MS = {
  configuration: 500,
  schedule: 1500,
  delivery: 3500,
  routers: 1500,
  web: 500,
  archives: 500,
  deadLetters: 200,
  store: 800,
};
/** How often a disk that cannot be written is tried at the start. */
const OPENING_RETRY_MS = 10_000;
/** How long a reload waits for what it ends: the last deliveries of a sink, the logout of a router. */
const RELOAD_PATIENCE_MS = 5000;

/**
 * Builds the rooms, introduces them to each other and starts them. Throws what stands in the way of starting. The web server
 * comes first, so that it can be seen that the agent lives while it waits for a disk.
 */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { clock, random, logger } = options;
  const lifecycle = new Lifecycle(clock);
  const failure = new AbortController();
  const quit = new AbortController();
  let { config } = options;
  try {
    const { storage } = config;
    const { listen } = config.web;
    const { spoolBytesMax } = storage;
    const onPageFailed = (cause: unknown) =>
      logger.error('A page could not be made', { error: renderErrorChain(cause) });
    const web = await openWebServer({
      addresses: listen,
      security: toWebSecurity(config.web.security),
      clock,
      routePrefix: options.web?.routePrefix,
      externalUrl: options.web?.externalUrl,
      isLifecycleEnabled: options.web?.isLifecycleEnabled ?? false,
      onFailed: onPageFailed,
    });
    lifecycle.onStop('web', STOP_MS.web, () => web.close());
    const metrics = new SelfMetrics(options.version);
    const openStore = () =>
      new EmbeddedStore({
        path: config.storage.path,
        spoolBytesMax,
        sinks: config.sinks,
        now: () => clock.now(),
        onRebuilt: (rebuilt) =>
          logger.error('The state was damaged and has been rebuilt from what could be read', rebuilt),
        onDamaged: (damaged) => {
          metrics.damagedRecords.inc(damaged.records);
          logger.error('Stored records were damaged; their log is read again from the router', damaged);
        },
      });
    const store = await onceWritable(openStore, options);
    lifecycle.onStop('state', STOP_MS.store, () => store.close());
    const openLetters = () =>
      openDeadLetters(config, clock, logger, (sink, records) => metrics.deadLettersDropped.inc({ sink }, records));
    const deadLetters = await onceWritable(openLetters, options);
    lifecycle.onStop('dead letters', STOP_MS.deadLetters, () => deadLetters.close());
    const spool = new SpoolGuard({ store, spoolBytesMax, clock, logger, onSpooled: () => sinks.wake() });
    const archives = openArchivePool({ workers: ARCHIVE_WORKERS });
    lifecycle.onStop('decompression', STOP_MS.archives, () => archives.close());

    const counts = { polls: 0, recordsShipped: 0, gaps: 0 };
    const exposition = new FleetExposition();
    const scheduler = new Scheduler({
      clock,
      report: ({ key, lagMs, error }) => {
        if (lagMs !== undefined) metrics.scheduleLag.observe(lagMs / 1000);
        if (error !== undefined)
          logger.error('A turn failed for no known reason', { turn: key, error: renderErrorChain(error) });
      },
    });
    const fleet = new Fleet({ scheduler, exposition });
    const sinks = new SinkRunner({
      store,
      clock,
      random,
      logger,
      metrics,
      deadLetters,
      create: (settings) =>
        createSink(settings, {
          clock,
          stdout: options.stdout,
          routers: () => fleet.routers.length,
          version: options.version,
        }),
      onDelivered: (records) => {
        counts.recordsShipped += records;
      },
      onGone: (cause) => failure.abort(cause),
    });
    const onRouter = (event: RouterEvent) => {
      switch (event.type) {
        case 'polled':
          counts.polls++;
          metrics.polls.inc({ result: event.isUp ? 'success' : 'failure' });
          return;
        case 'gap-found':
          counts.gaps++;
          return;
        case 'mapping-failed':
          metrics.mappingErrors.inc({ module: event.module, metric: event.metric });
          return;
        case 'store-failed':
          failure.abort(event.cause);
          return;
      }
    };
    const onStoreFailed = (cause: StoreError) => {
      if (cause.code === 'broken') failure.abort(cause);
      else logger.warn('A note could not be written', { error: renderErrorChain(cause) });
    };
    const notes = createNoteBook(store, onStoreFailed);
    const recent = new RecentRecords();
    const createRouter = (parts: RouterParts) =>
      new RouterAgent({
        ...parts,
        records: spool,
        notes,
        archives,
        exposition,
        recent,
        clock,
        logger,
        report: onRouter,
        trigger: (key) => void scheduler.trigger(key),
      });
    const prepare = (next: Config) =>
      preparePlan(next, { web, sinks, fleet, store, createRouter, onStoreFailed, clock, logger });
    metrics.read({
      spooled: () => ({ ...store.spooled, bytesMax: spoolBytesMax }),
      isHeldBack: () => spool.isHeldBack,
      sinkLags: () => sinks.measureLags(),
      deadLetters: () => sinks.countLetters(),
      routers: () => fleet.countStates(),
    });

    lifecycle.onStop('pages', STOP_MS.web, () => web.serve(undefined));
    lifecycle.onStop('routers', STOP_MS.routers, (signal) => fleet.close(signal));
    lifecycle.onStop('sinks', STOP_MS.delivery, (signal) => sinks.drain(signal));
    lifecycle.onStop('polling', STOP_MS.schedule, () => scheduler.stop());
    const first = await onceWritable(() => prepare(config), options);
    // Begins with what an earlier process left in the spool.
    await first.commit(failure.signal);
    scheduler.start();
    const reloader = new ConfigReloader({
      load: options.reload,
      prepare,
      commit: async (plan) => {
        using deadline = openDeadline(clock, RELOAD_PATIENCE_MS);
        warnAboutRestart(config, plan.config, logger);
        config = plan.config;
        const change = await plan.commit(deadline.signal);
        options.onConfigured?.(config);
        logger.info('Loaded the configuration again', { ...change, routers: config.routers.length });
      },
      watched: options.watched,
      clock,
      logger,
      metrics,
    });
    lifecycle.onStop('configuration', STOP_MS.configuration, () => reloader.close());
    let isReady = true;
    web.serve(
      createWebContent({
        // A reload changes neither of these two.
        config: () => ({ ...config, storage, web: { ...config.web, listen } }),
        fleet,
        sinks,
        scheduler,
        exposition,
        metrics,
        clock,
        spool: () => ({ ...store.spooled, bytesMax: spoolBytesMax, isHeldBack: spool.isHeldBack }),
        isReady: () => isReady,
        reload: () => reloader.reload(),
        quit: () => quit.abort(),
        onFailed: onPageFailed,
      }),
    );
    logger.info('Started', { routers: config.routers.length, sinks: config.sinks.length, urls: web.urls });

    return {
      urls: web.urls,
      quit: quit.signal,
      failed: failure.signal,
      summary: () => ({ routers: fleet.routers.length, routersUp: fleet.countStates().up, ...counts }),
      reload: () => reloader.reload(),
      async whenIdle() {
        await scheduler.whenIdle();
        await sinks.whenIdle();
      },
      async stop() {
        isReady = false;
        for (const { step, cause } of await lifecycle.stop()) {
          logger.warn('A step of stopping did not end well', { step, error: renderErrorChain(cause) });
        }
      },
    };
  } catch (cause) {
    await lifecycle.stop();
    throw cause;
  }
}

/** A disk that is full or read-only when the agent starts is waited for: ending would only make a supervisor start it anew. */
async function onceWritable<T>(open: () => T | Promise<T>, { clock, logger, signal }: AgentOptions): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.disposition !== 'hold-back') throw cause;
      logger.error('The state cannot be written; it is tried again', { error: renderErrorChain(cause) });
      await clock.sleep(OPENING_RETRY_MS, signal);
    }
  }
}

function openDeadLetters(
  { storage, deadLetters }: Config,
  clock: Clock,
  logger: Logger,
  onDropped: (sink: string, records: number) => void,
): DeadLetterStore {
  return new DeadLetterStore({
    path: storage.path,
    ...deadLetters,
    now: () => clock.now(),
    onDropped: (sink, records) => {
      onDropped(sink, records);
      logger.error('Dead letters were dropped, because they were too old or too many', { sink, records });
    },
    onRebuilt: (rebuilt) => logger.error('The dead letters could not be read and were put aside', rebuilt),
  });
}

/** Says what a reload cannot change. */
function warnAboutRestart(before: Config, next: Config, logger: Logger): void {
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const keys = [
    ...(isSame(before.web.listen, next.web.listen) ? [] : ['web.listen']),
    ...(isSame(before.storage, next.storage) ? [] : ['storage']),
    ...(isSame(before.deadLetters, next.deadLetters) ? [] : ['dead_letters']),
  ];
  if (keys.length > 0) logger.warn('A change of these keys needs a restart of the agent', { keys });
}
