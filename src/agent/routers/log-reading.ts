import { type Clock, CodedError, isSelected, openDeadline } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import {
  type ArchivePool,
  FollowMemory,
  followOnce,
  type LogEvent,
  type RouterTime,
  readKnownGaps,
  Zone,
} from '../../logs/index.ts';
import { type DatedAnswer, type RouterClient, RouterError } from '../../router/index.ts';
import type { RunOutcome, SharedBudget } from '../../schedule/index.ts';
import { readSerialNumber, readSystemWallMs } from '../../status/index.ts';
import { StoreError } from '../../store/index.ts';
import type { LineProcessing } from '../line-processing.ts';
import type { RouterRecorder } from '../router-state/router-recorder.ts';
import type { SpoolGuard } from '../spool-guard.ts';
import { findLastOrigin, type LineFeed } from '../views/recent-records.ts';
import type { RouterLifecycle } from './lifecycle-keeper.ts';

/** One router, and what the reading of its logs needs. */
interface LogReadingOptions {
  /** Settings of the router. */
  readonly settings: RouterSettings;
  /** Reads from the router. */
  readonly client: RouterClient;
  /** Its byte budget. */
  readonly budget: SharedBudget;
  /** Gets what happens. */
  readonly recorder: RouterRecorder;
  /** Returns what the operator wants of the router. */
  readonly lifecycle: () => RouterLifecycle;
  /** Returns the redaction and metric rules for the lines of the next run. */
  readonly lines: () => LineProcessing;
  /** Stores records and positions. */
  readonly records: SpoolGuard;
  /** Threads that decompress rotated logs, shared by all routers. */
  readonly archives: ArchivePool;
  /** Gets the records that were stored. */
  readonly feed: Pick<LineFeed, 'prepare'>;
  /** Clock for everything that waits or reads the time. */
  readonly clock: Clock;
  /** Called when another device answers than the polls have told of. */
  readonly onOtherDevice: () => void;
}

/** Status resource that contains the router's local time. */
export const TIME_RESOURCE = 'sysdetail/system';
/** Limit of one run over the logs of a router: a slow link carries some megabytes in it, and the next run continues. */
const LOGS_DEADLINE_MS = 10 * 60_000;
/**
 * Limit of one download, which polls may have to wait for. A run goes on with another log for no longer than this, so that
 * its own limit ends no download. Milliseconds.
 */
export const DOWNLOAD_MS_MAX = LOGS_DEADLINE_MS / 2;
/** A router that does not let this account list its logs is asked again after this time, as for its resources. Milliseconds. */
const FORBIDDEN_MS = 60 * 60_000;
/** Logs that grow fast are read up to this many times as often as configured, but no more often than every second. */
const LOG_FLOOR_PARTS = [6, 5, 4, 3, 2];
const LOG_FLOOR_MS = 1000;

/** The reading of one router's logs, run by run. */
export class LogReading {
  /**
   * Shortest interval, for logs that the router will soon delete: a whole part of the configured one, so that the scheduled
   * times stay. Milliseconds.
   */
  readonly floorMs: number;
  readonly #options: LogReadingOptions;
  readonly #zone: Zone;
  readonly #memory = new FollowMemory();
  /** True if the last run has left some logs for the next one. */
  #hasMore = false;
  /** True if a file could not be read in the last run. */
  #hasFaults = false;
  /** Until when the logs rest, because this account may not list them. Monotonic, milliseconds. */
  #forbiddenUntilMs = -Infinity;
  /** True if another replica has moved the logs since their positions were loaded. */
  #isFenced = false;
  /** Serial number that polls have told of a device that answers no more; it does not count until they tell another one. */
  #formerSerial: string | undefined;
  /** True once the pages have the gaps that are stored. */
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

  /** True if the last run has left some logs for the next one. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** True for an hour after the router has refused to list its logs to this account. */
  get isForbidden(): boolean {
    return this.#options.clock.monotonic() < this.#forbiddenUntilMs;
  }

  /** A new session may have other rights. */
  noteSession(): void {
    this.#forbiddenUntilMs = -Infinity;
  }

  /** Returns the factor of {@link floorMs} with which the next run is due; `stretch` is how much the router is spared. */
  findMultiplier(stretch: number): number {
    const { floorMs } = this;
    const { settings, budget } = this.#options;
    const budgetMultiplier = budget.intervalMultiplier('logs');
    const ceilingMs = settings.logs.interval * Math.max(1, stretch / budgetMultiplier);
    const wantedMs = this.#memory.computeIntervalMs({ floorMs, ceilingMs });
    return Math.max(1, Math.floor(wantedMs / floorMs)) * budgetMultiplier;
  }

  /** Reads what is new in all logs. `isAwaited` returns true once a poll waits for the end of the run. */
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
        // Not a failure of this router: its new owner reads on where the log stands.
        this.#isFenced = true;
        this.#hasRecalledGaps = false;
        return 'done';
      }
      recorder.record({ type: 'logs-failed', cause });
      if (cause instanceof RouterError && cause.isForbidden) this.#forbiddenUntilMs = clock.monotonic() + FORBIDDEN_MS;
      // A full spool, an answered refusal or a budget that is used up does not justify a long back-off.
      const isRouterGone = cause instanceof RouterError && !cause.isAnswered && cause.code !== 'budget';
      return isRouterGone || !(cause instanceof CodedError) ? 'failed' : 'done';
    }
  }

  /** Shows the gaps that were found before a restart, or by the replica that had the router before. */
  #recallGaps(): void {
    const { settings, records, recorder } = this.#options;
    try {
      recorder.record({ type: 'gaps-recalled', gaps: readKnownGaps(records.readFacts(settings.name)) });
      this.#hasRecalledGaps = true;
    } catch (cause) {
      // The run that needs the store tells of it, and the next one tries again.
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
          // What was whole on this side before the rules changed is not stored by those of before, either.
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

/**
 * Reads a router's time: local from the body of the answer, UTC from its header. Returns `undefined` without both; throws
 * what the client throws.
 */
export async function readRouterTime(
  client: Pick<RouterClient, 'readDatedStatus'>,
  signal: AbortSignal,
): Promise<RouterTime | undefined> {
  return toRouterTime(await client.readDatedStatus(TIME_RESOURCE, signal));
}

/** Returns the router's time from an answer for {@link TIME_RESOURCE}; `undefined` unless it has both times. */
export function toRouterTime({ body, dateMs }: DatedAnswer): RouterTime | undefined {
  const wallAsUtcMs = dateMs === undefined ? undefined : readSystemWallMs(body, dateMs);
  return dateMs === undefined || wallAsUtcMs === undefined ? undefined : { wallAsUtcMs, utcMs: dateMs };
}
