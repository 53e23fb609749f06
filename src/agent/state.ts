import { type Clock, type Lifecycle, type Logger, renderErrorChain, type Timer } from '../base/index.ts';
import type { Cluster } from '../cluster/index.ts';
import type { Config } from '../config/index.ts';
import { type DeadLetters, type Store, StoreError } from '../model/index.ts';
import { toSinkStart } from '../sinks/index.ts';
import { type DeadLetterOptions, DeadLetterStore, EmbeddedStore } from '../store/index.ts';
import { openClusterStore } from './cluster.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import { warnOfGoneSink } from './sinks/running-sink.ts';
import { spanOf } from './views/record-times.ts';

interface StateOptions {
  readonly config: Config;
  readonly metrics: SelfMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The cluster that stores positions and records. Default: none; they are stored on disk. */
  readonly cluster?: Cluster | undefined;
  /** Called when records from other replicas may be ready for sinks. */
  readonly onRecords?: (() => void) | undefined;
  readonly fail: (cause: unknown) => void;
}

export interface State {
  readonly store: Store;
  /** The last lines for the pages, on the disk of each replica. */
  readonly recent: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>;
  /** Maximum size of stored records. Bytes. */
  readonly spoolBytesMax: () => number;
  readonly deadLetters: DeadLetters;
  readonly opening: StateOpening;
}

/** Time limits of shutdown steps. Milliseconds. */
const STOP_MS = { store: 800, recent: 300, shared: 500, deadLetters: 200, opening: 100 };
/** Interval of attempts to write to the disk at the start. */
const OPENING_RETRY_MS = 10_000;

/**
 * Opens the state. Throws {@link StoreError}, except for a disk that cannot be written: the agent then runs without
 * logs until it can, because a supervisor would only restart it.
 */
export function openState(options: StateOptions, lifecycle: Lifecycle): State {
  const { cluster, config } = options;
  const local = openStore(options);
  lifecycle.onStop('state', cluster ? STOP_MS.recent : STOP_MS.store, () => local.close());
  const deadLetterOptions = toDeadLetterOptions(options);
  const shared = cluster && openClusterStore(cluster, { ...options, local, deadLetters: deadLetterOptions });
  if (shared) lifecycle.onStop('state of the cluster', STOP_MS.shared, () => shared.close());
  const deadLetters = shared?.deadLetters ?? openDeadLetters(options, deadLetterOptions);
  lifecycle.onStop('dead letters', STOP_MS.deadLetters, () => deadLetters.close());
  const opening = new StateOpening(() => {
    local.checkWritable();
    deadLetters.counts();
  }, options);
  lifecycle.onStop('opening of the state', STOP_MS.opening, () => opening.stop());
  const spoolBytesMax = () => shared?.bytesMax ?? config.storage.spool_max;
  return { store: shared ?? local, recent: local, spoolBytesMax, deadLetters, opening };
}

/** Retries at the start until the state can be written. */
export class StateOpening {
  readonly #attempt: () => void;
  readonly #options: Pick<StateOptions, 'clock' | 'logger' | 'fail'>;
  #fault: StoreError | undefined;
  #timer: Timer | undefined;
  #whenOpen: (() => void) | undefined;

  /** Makes the first attempt. `attempt` writes to the disk, and throws if that fails. */
  constructor(attempt: () => void, options: Pick<StateOptions, 'clock' | 'logger' | 'fail'>) {
    this.#attempt = attempt;
    this.#options = options;
    this.#try();
  }

  /** Reason why the state cannot be written yet; `undefined` once it could be. */
  get fault(): StoreError | undefined {
    return this.#fault;
  }

  /** Calls `run` once the state can be written; never if it already can. */
  whenOpen(run: () => void): void {
    if (this.#fault) this.#whenOpen = run;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#whenOpen = undefined;
  }

  #try(): void {
    const { clock, logger, fail } = this.#options;
    const before = this.#fault;
    try {
      this.#attempt();
      this.#fault = undefined;
    } catch (cause) {
      if (!(cause instanceof StoreError) || cause.disposition === 'operator') {
        fail(cause);
        return;
      }
      this.#fault = cause;
      if (before?.message !== cause.message) {
        logger.error('The state cannot be written; no logs are read until it can', { error: renderErrorChain(cause) });
      }
      this.#timer = clock.setTimer(OPENING_RETRY_MS, () => this.#try());
      return;
    }
    if (!before) return;
    logger.info('The state can be written; logs are read from now on');
    this.#whenOpen?.();
  }
}

interface UnstoredContext {
  readonly router: string | undefined;
  readonly store: Pick<Store, 'isWaiting'>;
  readonly isShared: boolean;
  readonly fail: (cause: unknown) => void;
  readonly logger: Logger;
}

/** Ends the agent if the store is broken; otherwise logs that a value was not stored, which loses nothing. */
export function reportUnstored(cause: StoreError, { router, store, isShared, fail, logger }: UnstoredContext): void {
  if (cause.code === 'broken') {
    fail(cause);
    return;
  }
  // A replica that has lost a router, or its engine, logs that once instead of for each value.
  if (isShared && (cause.code === 'fenced' || cause.disposition === 'hold-back')) return;
  // Until then, the opening of the state is logged instead.
  if (store.isWaiting) return;
  const fields = { ...(router !== undefined && { router }), error: renderErrorChain(cause) };
  logger.warn('State of a router could not be stored', fields);
}

function openStore({ config: { storage, sinks }, cluster, metrics, clock, logger }: StateOptions): EmbeddedStore {
  return new EmbeddedStore({
    path: storage.path,
    spoolBytesMax: storage.spool_max,
    recent: { bytesMax: storage.recent, spanOf },
    // In a cluster, sinks read its records.
    sinks: cluster ? [] : sinks.map(toSinkStart),
    canWait: true,
    now: () => clock.now(),
    onOlder: (older) =>
      logger.error(
        'The state had an older format and was put aside; logs are read again, and its undelivered records are lost',
        { ...older },
      ),
    onSinkGone: (gone) => warnOfGoneSink(logger, gone),
    onEmpty: (file) =>
      logger.error('The file of the state was empty; logs are read again, and records that waited in it are lost', {
        file,
      }),
    onRebuilt: (rebuilt) =>
      logger.error('The state was damaged and has been rebuilt from what could be read', { ...rebuilt }),
    onDamaged: (damaged) => {
      metrics.damagedRecords.inc(damaged.records);
      logger.error(
        'Stored records were damaged; lines are read again from the router, events do not reach the sinks',
        damaged,
      );
    },
  });
}

function toDeadLetterOptions({ config, metrics, logger }: StateOptions) {
  return {
    bytesMax: config.dead_letters.max,
    keepMs: config.dead_letters.keep,
    onDropped: (sink, records) => {
      metrics.deadLettersDropped.inc({ sink }, records);
      logger.error('Dead letters were dropped, because they were too old or too many', { sink, records });
    },
  } satisfies Partial<DeadLetterOptions>;
}

function openDeadLetters(
  { config, clock, logger }: StateOptions,
  options: ReturnType<typeof toDeadLetterOptions>,
): DeadLetterStore {
  return new DeadLetterStore({
    ...options,
    path: config.storage.path,
    canWait: true,
    now: () => clock.now(),
    onOlder: (older) => logger.error('The dead letters had an older format and were put aside', { ...older }),
    onEmpty: (file) => logger.error('The file of the dead letters was empty; those that it held are lost', { file }),
    onRebuilt: (rebuilt) => logger.error('The dead letters could not be read and were put aside', rebuilt),
  });
}
