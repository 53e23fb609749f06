import { type Clock, type Logger, renderErrorChain } from '../base/index.ts';
import type { RecordLog } from '../logs/index.ts';
import { EVENTS_LOG, RESUME_SHARE, type Store, StoreError } from '../model/index.ts';

interface SpoolGuardOptions {
  readonly store: Pick<
    Store,
    'openRouter' | 'readPositions' | 'readFacts' | 'commit' | 'forgetLogs' | 'spooled' | 'hasShare' | 'checkWritable'
  >;
  /** Maximum size of the spool in bytes; a cluster knows it late. */
  readonly spoolBytesMax: () => number;
  /** True if the disk cannot be written yet. Default false. */
  readonly isHeldBack?: boolean | undefined;
  readonly onSpooled: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval of attempts to write to a full disk. */
const DISK_TRIAL_MS = 10_000;

/**
 * The record log of all routers. While the spool or its disk is full, no log is read, because its lines could not be
 * stored. While the records of one router take its share of the spool, only its logs are not read. Each pause is logged
 * once.
 */
export class SpoolGuard implements RecordLog {
  readonly #options: SpoolGuardOptions;
  #isHeldBack: boolean;
  readonly #routers = new Set<string>();
  #nextTrialMs = 0;

  constructor(options: SpoolGuardOptions) {
    this.#options = options;
    this.#isHeldBack = options.isHeldBack ?? false;
  }

  /** True while log reading of all routers is paused. Evaluated before each run, which also detects free space. */
  get isHeldBack(): boolean {
    if (this.#isHeldBack && this.#hasRoom()) {
      this.#isHeldBack = false;
      this.#options.logger.info('Log reading resumed: there is room for records again');
    }
    return this.#isHeldBack;
  }

  /** Returns true while the logs of this router are not read, alone or with those of all routers. */
  isRouterHeldBack(router: string): boolean {
    return this.isHeldBack || this.#hasUsedShare(router);
  }

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

  /** Loads the stored state of a router again, because another replica has moved its logs. */
  async openRouter(router: string): Promise<void> {
    await this.#options.store.openRouter(router);
  }

  readPositions(router: string): ReadonlyMap<string, string> {
    const positions = this.#attempt(() => this.#options.store.readPositions(router));
    return new Map([...positions].filter(([component]) => component !== EVENTS_LOG));
  }

  /** Returns the journal of a router; `undefined` before the first contact. */
  readJournal(router: string): string | undefined {
    return this.#attempt(() => this.#options.store.readPositions(router)).get(EVENTS_LOG);
  }

  readFacts(router: string): string | undefined {
    return this.#attempt(() => this.#options.store.readFacts(router));
  }

  async forgetLogs(router: string, components: readonly string[]): Promise<void> {
    try {
      await this.#options.store.forgetLogs(router, components);
    } catch (cause) {
      this.#checkFailure(cause);
      throw cause;
    }
  }

  async commit(...commits: Parameters<RecordLog['commit']>): Promise<void> {
    try {
      await this.#options.store.commit(...commits);
    } catch (cause) {
      this.#checkFailure(cause);
      if (cause instanceof StoreError && cause.code === 'share') this.#holdBackRouters(commits, cause);
      throw cause;
    }
    if (commits.some((one) => 'lines' in one && one.lines.length > 0)) this.#options.onSpooled();
  }

  /** A failing disk may fail at a read already, when the files are opened again. */
  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      this.#checkFailure(cause);
      throw cause;
    }
  }

  #checkFailure(cause: unknown): void {
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
