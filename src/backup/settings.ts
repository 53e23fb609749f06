import { resolve } from 'node:path';
import { Cron } from 'croner';
import type { z } from 'zod';
import { hashToUnit } from '../base/index.ts';
import { type ConfigFile, choice, flag, parsed, type SoundOf, section, text, wholeNumber } from '../settings/index.ts';

const KEEP_MAX = 1000;

/** Schema of the section `backup`. */
export const backupSchema = section('Stored profiles of the routers, kept as files.', {
  schedule: parsed(
    {
      description:
        'When they are downloaded, as a cron expression in the time zone of this machine: minute, hour, day of month, month, day of week, with seconds before them if there are six. Day of month and day of week must both fit. They are downloaded after a change was seen, too. Without this key there is no backup.',
      kind: 'cron expression',
    },
    'a cron expression of 5 or 6 fields that comes true some day, such as "0 3 * * *" for three at night',
    parseSchedule,
  ).optional(),
  // Next to the configuration file, like the state.
  path: text({
    description:
      'Folder of the files. They hold secrets in plain text, so only the user of this program may read them.',
    kind: 'path',
  }).prefault('./backups'),
  shared: flag({
    description:
      'True if every replica of a cluster reaches the same folder at `path`. A cluster needs it, because whichever replica has a router writes its backups.',
  }).prefault(false),
  // Many months of a profile that changes occasionally.
  keep: wholeNumber(
    { description: 'Different versions that are kept of each profile of a router.' },
    1,
    KEEP_MAX,
  ).prefault(10),
  format: choice(
    {
      description:
        '`ascii` can be read and compared (`profiles diff`); `binary` is what a router takes back as a whole.',
    },
    ['binary', 'ascii'],
  ).prefault('ascii'),
});

/** Settings of backups. The path is absolute, and the schedule comes true some day. */
export type BackupSettings = {
  readonly [Key in Exclude<keyof BackupKeys, 'shared'>]-?: NonNullable<BackupKeys[Key]>;
} & {
  /** True if every replica of a cluster reaches the folder. Default false. */
  readonly shared?: boolean;
};
type BackupKeys = z.output<typeof backupSchema>;

/** Checks the section. An empty map disables backups like a missing one; otherwise the schedule is required. */
export function readBackup(
  main: ConfigFile,
  { schedule, path, keep, format, shared }: SoundOf<typeof backupSchema> = {},
): BackupSettings | undefined {
  const at = ['backup', 'schedule'];
  const written = main.source.valueAt(['backup']);
  const isNothing = typeof written !== 'object' || written === null || Object.keys(written).length === 0;
  if (!isNothing && main.source.valueAt(at) === undefined) {
    main.faults.add(at, 'Missing key; expected a cron expression such as "0 3 * * *", or no key at all');
  }
  if (schedule === undefined || path === undefined || keep === undefined || format === undefined) return undefined;
  return { schedule, path: resolve(main.folder, path), keep, format, ...(shared === true && { shared }) };
}

/** Accepts a cron expression of 5 or 6 fields that has a future run. */
function parseSchedule(value: string): string | undefined {
  const expression = value.trim();
  const fieldCount = expression.split(/\s+/).length;
  if (fieldCount !== 5 && fieldCount !== 6) return undefined;
  try {
    return openCron(expression).nextRun() === null ? undefined : expression;
  } catch {
    return undefined;
  }
}

/** Day of the month and day of the week must both match. Without a function, there are no timers. */
function openCron(expression: string): Cron {
  return new Cron(expression, { domAndDow: true, mode: '5-or-6-parts' });
}

/** The routers of a fleet are spread over this period, so that they are not all contacted at once. Milliseconds. */
const SPREAD_MS_MAX = 30 * 60_000;
/** Maximum spread as a share of the time to the next run: a run starts before the next one is due. */
const SPREAD_SHARE_MAX = 0.5;
/** Cached spans without a run: all routers of a fleet need the same ones. */
const SPANS_MAX = 64;

interface Span {
  readonly fromMs: number;
  readonly nextMs: number;
}

/**
 * Computes when backups are due, from a cron expression in the time zone of this machine, with seconds, names or `@daily`. A time that is
 * skipped when summer time starts is the end of what is skipped; a time that occurs twice counts the first time.
 */
export class BackupCalendar {
  readonly #cron: Cron;
  readonly #spans: Span[] = [];

  /** `expression` must be one that the schema accepts. */
  constructor(expression: string) {
    this.#cron = openCron(expression);
  }

  /**
   * Returns the first run after `afterMs` in milliseconds since the Unix epoch; `undefined` if none is in the searched
   * range.
   */
  nextRunMs(afterMs: number): number | undefined {
    const known = this.#spans.find(({ fromMs, nextMs }) => fromMs <= afterMs && afterMs < nextMs);
    if (known) return known.nextMs;
    const nextMs = this.#cron.nextRun(new Date(afterMs))?.getTime();
    if (nextMs === undefined) return undefined;
    this.#spans.push({ fromMs: afterMs, nextMs });
    if (this.#spans.length > SPANS_MAX) this.#spans.shift();
    return nextMs;
  }

  /**
   * Returns when a router is next due after `afterMs`: at a run, plus a part of the spread that depends on its name.
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
}
