import { type Clock, CodedError, isSelected, openDeadline } from '../../base/index.ts';
import { type RouterClient, RouterError } from '../../client/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import { type ArchivePool, FollowMemory, followOnce, type LogEvent, readKnownGaps, Zone } from '../../logs/index.ts';
import { StoreError } from '../../model/index.ts';
import type { RunOutcome, SharedBudget } from '../../schedule/index.ts';
import { readRouterTime, readSerialNumber } from '../../status/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import type { SpoolGuard } from '../spool-guard.ts';
import { findLastOrigin, type LineFeed } from '../views/recent-records.ts';
import type { RouterLifecycle } from './lifecycle-keeper.ts';

interface LogReadingOptions {
  readonly settings: RouterSettings;
  readonly client: RouterClient;
  readonly budget: SharedBudget;
  readonly recorder: RouterRecorder;
  readonly lifecycle: () => RouterLifecycle;
  readonly lines: () => LineProcessing;
  readonly records: SpoolGuard;
  readonly archives: ArchivePool;
  readonly feed: Pick<LineFeed, 'prepare'>;
  readonly clock: Clock;
  /** Called when another device answers than the polls have reported. */
  readonly onOtherDevice: () => void;
}

/**
 * Time limit of one run over the logs of a router. A slow link carries some megabytes in it; the next run continues.
 */
const LOGS_DEADLINE_MS = 10 * 60_000;
/**
 * Time limit of one download, which polls may have to wait for. After this time a run starts no other log, so that its
 * own limit ends no download. Milliseconds.
 */
export const DOWNLOAD_MS_MAX = LOGS_DEADLINE_MS / 2;
/** Wait before listing the logs again if the account may not, as for resources. Milliseconds. */
const FORBIDDEN_MS = 60 * 60_000;
/** Logs that grow fast are read up to this many times as often as configured, but at most every second. */
const LOG_FLOOR_PARTS = [6, 5, 4, 3, 2];
const LOG_FLOOR_MS = 1000;

/** Reads one router's logs, run by run. */
export class LogReading {
  /**
   * Shortest interval, for logs that the router will soon delete: a whole part of the configured one, so that scheduled
   * times stay. Milliseconds.
   */
  readonly floorMs: number;
  readonly #options: LogReadingOptions;
  readonly #zone: Zone;
  readonly #memory = new FollowMemory();
  #hasMore = false;
  #hasFaults = false;
  /** The account may not list the logs; monotonic milliseconds. */
  #forbiddenUntilMs = -Infinity;
  /** True if another replica has moved the logs since their positions were loaded. */
  #isFenced = false;
  /** Serial number of a device that has been replaced, ignored until polls report the new one. */
  #formerSerial: string | undefined;
  #hasRecalledGaps = false;

  constructor(options: LogReadingOptions) {
    const { settings } = options;
    this.#options = options;
    const { interval: intervalMs } = settings.logs;
    const parts = LOG_FLOOR_PARTS.find((count) => intervalMs % count === 0 && intervalMs / count >= LOG_FLOOR_MS) ?? 1;
    this.floorMs = intervalMs / parts;
    this.#zone = new Zone(settings.timezone);
    this.#recallGaps();
  }

  /** True if a file could not be read in the last run. */
  get hasFaults(): boolean {
    return this.#hasFaults;
  }

  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** True for an hour after the router refused to list its logs to this account. */
  get isForbidden(): boolean {
    return this.#options.clock.monotonic() < this.#forbiddenUntilMs;
  }

  /** Call for a new session, which may have other rights. */
  onSession(): void {
    this.#forbiddenUntilMs = -Infinity;
  }

  /** Returns the factor of {@link floorMs} after which the next run is due; `stretch` is the throttle of the router. */
  findMultiplier(stretch: number): number {
    const { floorMs } = this;
    const { settings, budget } = this.#options;
    const budgetMultiplier = budget.intervalMultiplier('logs');
    const ceilingMs = settings.logs.interval * Math.max(1, stretch / budgetMultiplier);
    const wantedMs = this.#memory.computeIntervalMs({ floorMs, ceilingMs });
    return Math.max(1, Math.floor(wantedMs / floorMs)) * budgetMultiplier;
  }

  /** Reads new lines of all logs. `isAwaited` returns true once a poll waits for the end of the run. */
  async run(signal: AbortSignal, isAwaited: () => boolean): Promise<RunOutcome> {
    const { settings, clock, records, recorder } = this.#options;
    using deadline = openDeadline(clock, LOGS_DEADLINE_MS, signal);
    this.#hasFaults = false;
    try {
      if (this.#isFenced) await records.openRouter(settings.name);
      this.#isFenced = false;
      if (!this.#hasRecalledGaps) this.#recallGaps();
      await this.#tail(deadline.signal, isAwaited);
      recorder.record({ type: 'logs-read' });
      return 'done';
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (cause instanceof StoreError && cause.code === 'fenced') {
        // Not a failure: the new owner continues from the stored position.
        this.#isFenced = true;
        this.#hasRecalledGaps = false;
        return 'done';
      }
      recorder.record({ type: 'logs-failed', cause });
      if (cause instanceof RouterError && cause.isForbidden) this.#forbiddenUntilMs = clock.monotonic() + FORBIDDEN_MS;
      // A full spool, an answered refusal or a used-up budget does not justify a long back-off.
      const isRouterGone = cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget';
      return isRouterGone || !(cause instanceof CodedError) ? 'failed' : 'done';
    }
  }

  /** Records the gaps that were found before a restart, or by the previous owner in a cluster. */
  #recallGaps(): void {
    const { settings, records, recorder } = this.#options;
    try {
      recorder.record({ type: 'gaps-recalled', gaps: readKnownGaps(records.readFacts(settings.name)) });
      this.#hasRecalledGaps = true;
    } catch (cause) {
      // The run reports a failure of the store, and the next one retries.
      if (!(cause instanceof StoreError)) throw cause;
    }
  }

  async #tail(signal: AbortSignal, isAwaited: () => boolean): Promise<void> {
    const { settings, client, budget, recorder, lifecycle, clock, records, archives, lines, feed } = this.#options;
    const beganMs = clock.monotonic();
    const rules = lines();
    this.#hasMore = await followOnce(
      {
        router: settings,
        source: client,
        records,
        onStoring: (stored) => {
          // Lines matched by the previous rules are not stored.
          if (lines() !== rules) signal.throwIfAborted();
          const origin = findLastOrigin(stored);
          const publish = feed.prepare(settings.name, stored);
          return () => {
            if (origin) recorder.record({ type: 'records-stored', origin });
            publish();
          };
        },
        archives,
        clock,
        zone: this.#zone,
        readTime: (runSignal) => readRouterTime(client, runSignal),
        memory: this.#memory,
        pause: lifecycle().pause,
        start: settings.logs.start,
        matcher: rules.matcher,
        firmware: recorder.state.identity.firmware,
        serial: this.#serial,
        readSerial: (runSignal) => this.#readSerial(runSignal),
        isWanted: (component) => isSelected(component, settings.logs.components),
        report: (event) => this.#onEvent(event),
        shouldYield: () =>
          isAwaited() ||
          clock.monotonic() - beganMs > DOWNLOAD_MS_MAX ||
          budget.isPaused ||
          client.retryAfter !== undefined,
      },
      signal,
    );
  }

  get #serial(): string | undefined {
    const { serial } = this.#options.recorder.state.identity;
    if (serial !== this.#formerSerial) this.#formerSerial = undefined;
    return this.#formerSerial === undefined ? serial : undefined;
  }

  async #readSerial(signal: AbortSignal): Promise<string | undefined> {
    const { client, recorder, onOtherDevice } = this.#options;
    const { identity } = recorder.state;
    const serial = readSerialNumber(await client.readStatus('device_info', signal));
    if (serial !== undefined && serial !== identity.serial) {
      this.#formerSerial = identity.serial;
      onOtherDevice();
    }
    return serial;
  }

  #onEvent(event: LogEvent): void {
    this.#options.recorder.record(event);
    if (event.type === 'log-failed') this.#hasFaults = true;
  }
}
