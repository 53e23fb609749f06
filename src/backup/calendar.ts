import { createTask, type ParsedFields, parse, type ScheduledTask } from 'node-cron';
import { hashToUnit } from '../base/index.ts';
import { BackupError } from './errors.ts';

/** Over how much time the routers of a fleet are spread, so that they are not all asked in the same second. Milliseconds. */
const SPREAD_MS_MAX = 30 * 60_000;
/** Of the time to the next run, the part over which routers are spread at most: a run begins before the next one is due. */
const SPREAD_SHARE_MAX = 0.5;
/** How far ahead a run is looked for. The 29th of February on a given day of the week comes every 40 years at the latest. */
const DAYS_MAX = 41 * 366;
/** Spans without a run that are remembered, because all routers of a fleet ask for the same ones. */
const SPANS_MAX = 64;

/** No run after `fromMs` before `nextMs`. */
interface Span {
  readonly fromMs: number;
  readonly nextMs: number;
}

/**
 * When backups are due, by a cron expression in the time zone of this machine.
 *
 * The expression is read by node-cron, seconds, names and `@daily` included: day of the month and day of the week must
 * both fit. node-cron itself looks only from the machine's own time onwards and waits with timers of its own; so its
 * public parts, the parsed fields and the matcher, are asked here, and nothing runs by itself. A time that a change to
 * summer time leaves out is left out; one that comes twice counts the first time.
 */
export class BackupCalendar {
  readonly #fields: ParsedFields;
  /** Fits noon of every day on which there is a run. */
  readonly #days: ScheduledTask;
  readonly #spans: Span[] = [];

  /** Throws {@link BackupError} `schedule` when the expression is none. */
  constructor(expression: string) {
    try {
      this.#fields = parse(expression);
      const { dayOfMonth, month, dayOfWeek } = this.#fields;
      this.#days = createTask(`0 0 12 ${dayOfMonth.join()} ${month.join()} ${dayOfWeek.join()}`, () => {});
    } catch (cause) {
      throw new BackupError('schedule', `${JSON.stringify(expression)} is no schedule`, {
        disposition: 'operator',
        hint: 'Write minute, hour, day of the month, month and day of the week, as in "0 3 * * *"',
        cause,
      });
    }
    // The matcher is all that is wanted; node-cron would remember the task for ever.
    void this.#days.destroy();
  }

  /** The first run after `afterMs`; `undefined` when there is none within a lifetime. Milliseconds since the Unix epoch. */
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
   * When a router is due after `afterMs`: at a run, later by a part of the spread that its name alone decides. Milliseconds
   * since the Unix epoch.
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
          // In the hour that summer time leaves out, the clock shows another time.
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
