import { type Clock, type Lifecycle, type Logger, type Packing, renderErrorChain, type Timer } from '../base/index.ts';
import type { Config } from '../config/index.ts';
import type { RecordLog } from '../logs/index.ts';
import {
  type DeadLetterOptions,
  DeadLetterStore,
  type DeadLetters,
  EmbeddedStore,
  RESUME_SHARE,
  type Store,
  StoreError,
} from '../store/index.ts';
import { type ClusterStateOptions, openClusterStore } from './cluster/cluster-state.ts';
import type { SelfMetrics } from './metrics/self-metrics.ts';
import type { RefusalLog } from './sinks/refusal-log.ts';
import { spanOf } from './views/record-times.ts';

/** Folder, limits and clock of the state. */
export interface StateOptions {
  /** Configuration with the folder and limits of the state. */
  readonly config: Config;
  /** Metrics of the store. */
  readonly metrics: SelfMetrics;
  /** Clock for the times of records and letters, and for the waits while the disk is not writable. */
  readonly clock: Clock;
  /** Log for problems of the store. */
  readonly logger: Logger;
  /** The cluster that holds positions and records. Default: the disk does. */
  readonly cluster?: ClusterStateOptions['cluster'] | undefined;
  /** Called when there may be records for sinks that were stored elsewhere. */
  readonly onRecords?: (() => void) | undefined;
  /** Lines of the log about dropped dead letters. */
  readonly refusals: RefusalLog;
  /** Ends the agent because the state turned out to be unusable. */
  readonly fail: (cause: unknown) => void;
}

/** State on disk. */
export interface State {
  /** Positions and records: on the disk, or those of the cluster. */
  readonly store: Store;
  /** The last lines for the pages, which stay on the disk of each replica. */
  readonly recent: Pick<EmbeddedStore, 'listRecent' | 'readRecent'>;
  /** Size that records may take in the store. Bytes. */
  readonly spoolBytesMax: () => number;
  /** Dead letters: on the disk, or those of the cluster. */
  readonly deadLetters: DeadLetters;
  readonly opening: StateOpening;
}

/** Small stored values of routers, by key, kept on a best-effort basis: a failed write is retried later. */
export interface RouterValues {
  read(router: string, key: string): string | undefined;
  write(router: string, key: string, text: string): void;
}

/** Bounds of the steps of stopping. Milliseconds. */
const STOP_MS = { store: 800, recent: 300, shared: 500, deadLetters: 200, opening: 100 };
/** Interval at which an unwritable disk is tried again at the start. */
const OPENING_RETRY_MS = 10_000;

/**
 * Opens the state. Throws {@link StoreError}, except for a disk that cannot be written: the agent then runs without logs
 * until it can, because a supervisor would only restart it.
 */
export function openState(options: StateOptions, lifecycle: Lifecycle): State {
  const { cluster, config } = options;
  const local = openStore(options);
  lifecycle.onStop('state', cluster ? STOP_MS.recent : STOP_MS.store, () => local.close());
  const letterOptions = toLetterOptions(options);
  const shared = cluster && openClusterStore({ ...options, cluster, local, letters: letterOptions });
  if (shared) lifecycle.onStop('state of the cluster', STOP_MS.shared, () => shared.store.close());
  const deadLetters = shared?.letters ?? openDeadLetters(options, letterOptions);
  lifecycle.onStop('dead letters', STOP_MS.deadLetters, () => deadLetters.close());
  const opening = new StateOpening(() => {
    local.checkWritable();
    deadLetters.counts();
  }, options);
  lifecycle.onStop('opening of the state', STOP_MS.opening, () => opening.stop());
  const spoolBytesMax = shared?.spoolBytesMax ?? (() => config.storage.spoolBytesMax);
  return { store: shared?.store ?? local, recent: local, spoolBytesMax, deadLetters, opening };
}

/** The time until the disk lets the state be written for the first time. */
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

  /** Calls `run` when the disk lets the state be written, if it has not done so yet. */
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

/** Creates access to the values of routers in the store. Failures go to `onFailed` and nowhere else. */
export function createRouterValues(
  store: Pick<Store, 'readValue' | 'writeValue'>,
  onFailed: (cause: StoreError) => void,
): RouterValues {
  const noteFailure = (cause: unknown): void => {
    if (!(cause instanceof StoreError)) throw cause;
    onFailed(cause);
  };
  return {
    read(router, key) {
      try {
        return store.readValue(router, key);
      } catch (cause) {
        noteFailure(cause);
        return undefined;
      }
    },
    write(router, key, text) {
      try {
        store.writeValue(router, key, text)?.catch(noteFailure);
      } catch (cause) {
        noteFailure(cause);
      }
    },
  };
}

function openStore({ config: { storage, sinks }, cluster, metrics, clock, logger }: StateOptions): EmbeddedStore {
  return new EmbeddedStore({
    ...storage,
    recent: { bytesMax: storage.recentBytesMax, spanOf },
    // Those of a cluster read its records.
    sinks: cluster ? [] : sinks,
    canWait: true,
    now: () => clock.now(),
    onEmpty: (file) =>
      logger.error('The file of the state was empty; logs are read again, and records that waited in it are lost', {
        file,
      }),
    onRebuilt: (rebuilt) => logger.error('The state was damaged and has been rebuilt from what could be read', rebuilt),
    onDamaged: (damaged) => {
      metrics.damagedRecords.inc(damaged.records);
      logger.error('Stored records were damaged; their log is read again from the router', damaged);
    },
  });
}

function toLetterOptions({ config, metrics, refusals }: StateOptions) {
  return {
    ...config.deadLetters,
    onDropped: (sink, records) => {
      metrics.deadLettersDropped.inc({ sink }, records);
      refusals.add(sink, 'dropped', records);
    },
  } satisfies Partial<DeadLetterOptions>;
}

function openDeadLetters(
  { config, clock, logger }: StateOptions,
  options: ReturnType<typeof toLetterOptions>,
): DeadLetterStore {
  return new DeadLetterStore({
    ...options,
    path: config.storage.path,
    canWait: true,
    now: () => clock.now(),
    onEmpty: (file) => logger.error('The file of the dead letters was empty; those that it held are lost', { file }),
    onRebuilt: (rebuilt) => logger.error('The dead letters could not be read and were put aside', rebuilt),
  });
}

/** The store, and callbacks for its state. */
export interface SpoolGuardOptions {
  /** Store of records and positions. */
  readonly store: Pick<
    Store,
    'openRouter' | 'readPositions' | 'readFacts' | 'commit' | 'forgetLogs' | 'spooled' | 'hasShare' | 'checkWritable'
  >;
  /** Maximum size of the spool. Bytes. */
  readonly spoolBytesMax: number;
  /** True if the disk cannot be written yet. Default false. */
  readonly isHeldBack?: boolean | undefined;
  /** How records are packed. Default: condensed, which only this version and later ones read. */
  readonly packing?: Packing | undefined;
  /** Called when records are durable, so that the sinks look for them. */
  readonly onSpooled: () => void;
  /** Clock for the waits between attempts. */
  readonly clock: Clock;
  /** Log for the start and end of a pause. */
  readonly logger: Logger;
}

/** Interval at which a full disk is tried again. */
const DISK_TRIAL_MS = 10_000;

/**
 * The record log of all routers. While the spool or its disk is full, no log is read, because downloaded lines could not
 * be stored. While the records of one router take its share of the spool, only its logs are not read. Each pause is logged
 * once.
 */
export class SpoolGuard implements RecordLog {
  readonly packing: Packing;
  readonly #options: SpoolGuardOptions;
  #isHeldBack: boolean;
  /** Routers that have used their share of the spool. */
  readonly #routers = new Set<string>();
  #nextTrialMs = 0;

  constructor(options: SpoolGuardOptions) {
    this.#options = options;
    this.packing = options.packing ?? 'condensed';
    this.#isHeldBack = options.isHeldBack ?? false;
  }

  /** True while log reading of all routers is paused. Evaluated before each run, which is also when free space is noticed. */
  get isHeldBack(): boolean {
    if (this.#isHeldBack && this.#hasRoom()) {
      this.#isHeldBack = false;
      this.#options.logger.info('Log reading resumed: there is room for records again');
    }
    return this.#isHeldBack;
  }

  /** Returns true while the logs of this router are not read: those of no router are, or it has used its share. */
  isRouterHeldBack(router: string): boolean {
    return this.isHeldBack || this.#hasUsedShare(router);
  }

  /** Lists the routers that have used their share of the spool. */
  listRoutersHeldBack(): readonly string[] {
    return [...this.#routers].filter((router) => this.#hasUsedShare(router));
  }

  #hasUsedShare(router: string): boolean {
    const { store, logger } = this.#options;
    if (this.#routers.has(router) && store.hasShare(router)) {
      this.#routers.delete(router);
      logger.info('Log reading of the router resumed: its records take less of the spool again', { router });
    }
    return this.#routers.has(router);
  }

  /** Loads what is stored of a router anew, because another replica has moved its logs. */
  async openRouter(router: string): Promise<void> {
    await this.#options.store.openRouter(router);
  }

  readPositions(router: string): ReadonlyMap<string, string> {
    return this.#attempt(() => this.#options.store.readPositions(router));
  }

  readFacts(router: string): string | undefined {
    return this.#attempt(() => this.#options.store.readFacts(router));
  }

  async forgetLogs(router: string, components: readonly string[]): Promise<void> {
    try {
      await this.#options.store.forgetLogs(router, components);
    } catch (cause) {
      this.#noteFailure(cause);
      throw cause;
    }
  }

  async commit(...commits: Parameters<RecordLog['commit']>): Promise<void> {
    try {
      await this.#options.store.commit(...commits);
    } catch (cause) {
      this.#noteFailure(cause);
      if (cause instanceof StoreError && cause.code === 'share') this.#holdBackRouters(commits, cause);
      throw cause;
    }
    if (commits.some((one) => 'lines' in one && one.lines.length > 0)) this.#options.onSpooled();
  }

  /** A disk that fails may do so at a read already, when the files are opened again. */
  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      this.#noteFailure(cause);
      throw cause;
    }
  }

  #noteFailure(cause: unknown): void {
    const isHeldBack = cause instanceof StoreError && cause.code !== 'share' && cause.disposition === 'hold-back';
    if (isHeldBack) this.#holdBack(cause);
  }

  #holdBackRouters(commits: Parameters<RecordLog['commit']>, cause: StoreError): void {
    for (const { router } of commits) {
      if (this.#routers.has(router)) continue;
      this.#routers.add(router);
      const error = renderErrorChain(cause);
      this.#options.logger.error('Log reading of the router paused: its records cannot be stored', { router, error });
    }
  }

  #holdBack(cause: StoreError): void {
    const { clock, logger } = this.#options;
    this.#nextTrialMs = clock.monotonic() + DISK_TRIAL_MS;
    if (this.#isHeldBack) return;
    this.#isHeldBack = true;
    logger.error('Log reading paused: records cannot be stored', { error: renderErrorChain(cause) });
  }

  #hasRoom(): boolean {
    const { store, spoolBytesMax, clock } = this.#options;
    if (store.spooled.bytes > spoolBytesMax * (1 - RESUME_SHARE)) return false;
    if (clock.monotonic() < this.#nextTrialMs) return false;
    this.#nextTrialMs = clock.monotonic() + DISK_TRIAL_MS;
    try {
      store.checkWritable();
      return true;
    } catch (cause) {
      if (cause instanceof StoreError) return false;
      throw cause;
    }
  }
}
