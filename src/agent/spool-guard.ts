import { type Clock, type Logger, renderErrorChain } from '../base/index.ts';
import type { RecordLog } from '../logs/index.ts';
import { RESUME_SHARE, type Store, StoreError } from '../store/index.ts';

/** The store, and callbacks for its state. */
interface SpoolGuardOptions {
  /** Store of records and positions. */
  readonly store: Pick<
    Store,
    'openRouter' | 'readPositions' | 'readFacts' | 'commit' | 'forgetLogs' | 'spooled' | 'hasShare' | 'checkWritable'
  >;
  /** Returns the maximum size of the spool, which that of a cluster tells late. Bytes. */
  readonly spoolBytesMax: () => number;
  /** True if the disk cannot be written yet. Default false. */
  readonly isHeldBack?: boolean | undefined;
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
  readonly #options: SpoolGuardOptions;
  #isHeldBack: boolean;
  /** Routers that have used their share of the spool. */
  readonly #routers = new Set<string>();
  #nextTrialMs = 0;

  constructor(options: SpoolGuardOptions) {
    this.#options = options;
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
    if (store.spooled.bytes > spoolBytesMax() * (1 - RESUME_SHARE)) return false;
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
