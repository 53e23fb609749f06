import { createTask, type ParsedFields, parse, type ScheduledTask } from 'node-cron';
import { hashToUnit } from '../base/index.ts';
import { BackupError } from './errors.ts';

/**
 * Period over which the routers of a fleet are spread, so that they are not all contacted in the same second.
 * Milliseconds.
 */
const SPREAD_MS_MAX = 30 * 60_000;
/** Maximum spread as a share of the time to the next run: a run starts before the next one is due. */
const SPREAD_SHARE_MAX = 0.5;
/** Limit of the search for the next run. February 29 on a given day of the week comes at least every 40 years. */
const DAYS_MAX = 41 * 366;
/** Number of cached spans without a run: all routers of a fleet ask for the same ones. */
const SPANS_MAX = 64;

/** There is no run after `fromMs` and before `nextMs`. */
interface Span {
  readonly fromMs: number;
  readonly nextMs: number;
}

/**
 * Decides when backups are due, from a cron expression in the time zone of this machine. node-cron parses the
 * expression, including seconds, names and `@daily`: day of the month and day of the week must both match. node-cron
 * itself only looks ahead from the current time and uses its own timers, so only its parsed fields and matcher are used
 * here, and nothing runs on its own. A time skipped when summer time starts is skipped; a time that occurs twice counts
 * the first time.
 */
export class BackupCalendar {
  readonly #fields: ParsedFields;
  /** Matches noon of every day on which there is a run. */
  readonly #days: ScheduledTask;
  readonly #spans: Span[] = [];

  /** Throws {@link BackupError} `schedule` if the expression is invalid. */
  constructor(expression: string) {
    try {
      this.#fields = parse(expression);
      const { dayOfMonth, month, dayOfWeek } = this.#fields;
      this.#days = createTask(`0 0 12 ${dayOfMonth.join()} ${month.join()} ${dayOfWeek.join()}`, () => {});
    } catch (cause) {
      throw new BackupError('schedule', `${JSON.stringify(expression)} is not a valid schedule`, {
        disposition: 'operator',
        hint: 'Write minute, hour, day of the month, month and day of the week, as in "0 3 * * *"',
        cause,
      });
    }
    // Only the matcher is needed; node-cron would keep the task forever.
    void this.#days.destroy();
  }

  /**
   * Returns the first run after `afterMs` in milliseconds since the Unix epoch; `undefined` if there is none in the
   * searched range.
   */
  nextRunMs(afterMs: number): number | undefined {
    const known = this.#spans.find(({ fromMs, nextMs }) => fromMs <= afterMs && afterMs < nextMs);
    if (known) return known.nextMs;
    const nextMs = this.#findRunMs(afterMs);
    if (nextMs === undefined) return undefined;
    this.#spans.push({ fromMs: afterMs, nextMs });
    if (this.#spans.length > SPANS_MAX) this.#spans.shift();
    return nextMs;
  }

  /**
   * Returns when a router is due after `afterMs`: at a run, plus a part of the spread that depends only on its name.
   * Milliseconds since the Unix epoch.
   */
  dueMs(router: string, afterMs: number): number | undefined {
    const unit = hashToUnit(`${router}/backup`);
    for (let runMs = this.nextRunMs(afterMs - SPREAD_MS_MAX); runMs !== undefined; ) {
      const followingMs = this.nextRunMs(runMs);
      const periodMs = (followingMs ?? Number.POSITIVE_INFINITY) - runMs;
      const dueMs = runMs + Math.floor(unit * Math.min(SPREAD_MS_MAX, periodMs * SPREAD_SHARE_MAX));
      if (dueMs > afterMs) return dueMs;
      runMs = followingMs;
    }
    return undefined;
  }

  #findRunMs(afterMs: number): number | undefined {
    const after = new Date(afterMs);
    const noon = new Date(after.getFullYear(), after.getMonth(), after.getDate(), 12);
    for (let day = 0; day < DAYS_MAX; day++) {
      if (this.#days.match(noon)) {
        const runMs = this.#findOnDay(noon, afterMs);
        if (runMs !== undefined) return runMs;
      }
      noon.setDate(noon.getDate() + 1);
    }
    return undefined;
  }

  #findOnDay(noon: Date, afterMs: number): number | undefined {
    const { hour, minute, second } = this.#fields;
    for (const hours of toAscending(hour)) {
      if (new Date(noon).setHours(hours, 59, 59) <= afterMs) continue;
      for (const minutes of toAscending(minute)) {
        for (const seconds of toAscending(second)) {
          const time = new Date(noon);
          time.setHours(hours, minutes, seconds);
          // In the hour skipped by summer time the clock shows another time.
          if (time.getTime() > afterMs && time.getHours() === hours && time.getMinutes() === minutes)
            return time.getTime();
        }
      }
    }
    return undefined;
  }
}

function toAscending(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b);
}
