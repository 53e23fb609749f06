import { type Clock, type Logger, renderErrorChain } from '../../base/index.ts';
import type { RecordLog } from '../../logs/index.ts';
import { type EmbeddedStore, StoreError } from '../../store/index.ts';

/** The store, and whom to tell when it takes no more. */
export interface SpoolGuardOptions {
  /** Store of records and positions. */
  readonly store: Pick<EmbeddedStore, 'readPositions' | 'readFacts' | 'commit' | 'spooled' | 'checkWritable'>;
  /** Bound of what is spooled. Bytes. */
  readonly spoolBytesMax: number;
  /** Called when records are durable, so that the sinks look for them. */
  readonly onSpooled: () => void;
  /** Clock for the waits between attempts. */
  readonly clock: Clock;
  /** Log for the start and end of a pause. */
  readonly logger: Logger;
}

/** Share of the spool that must be free before reading resumes, so that a single record does not start and stop a fleet. */
const ROOM_SHARE = 0.1;
/** Interval at which a full disk is tried again. */
const DISK_TRIAL_MS = 10_000;

/**
 * The record log of all routers. While there is no room for records, in the spool or on its disk, no log is read:
 * what is downloaded could not be kept, and the router keeps it for free. Logged once for all routers.
 */
export class SpoolGuard implements RecordLog {
  readonly #options: SpoolGuardOptions;
  #isHeldBack = false;
  #nextTrialMs = 0;

  constructor(options: SpoolGuardOptions) {
    this.#options = options;
  }

  /** True while log reading is paused. Evaluated before each run, which is also when free space is noticed. */
  get isHeldBack(): boolean {
    if (this.#isHeldBack && this.#hasRoom()) {
      this.#isHeldBack = false;
      this.#options.logger.info('Log reading resumed: there is room for records again');
    }
    return this.#isHeldBack;
  }

  readPositions(router: string): ReadonlyMap<string, string> {
    return this.#options.store.readPositions(router);
  }

  readFacts(router: string): string | undefined {
    return this.#options.store.readFacts(router);
  }

  commit(...commits: Parameters<RecordLog['commit']>): void {
    try {
      this.#options.store.commit(...commits);
    } catch (cause) {
      if (cause instanceof StoreError && cause.disposition === 'hold-back') this.#holdBack(cause);
      throw cause;
    }
    if (commits.some((one) => 'lines' in one && one.lines.length > 0)) this.#options.onSpooled();
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
    if (store.spooled.bytes > spoolBytesMax * (1 - ROOM_SHARE)) return false;
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
