import { resolve } from 'node:path';
import { validate } from 'node-cron';
import type { z } from 'zod';
import { type ConfigFile, choice, flag, parsed, type SoundOf, section, text, wholeNumber } from '../settings/index.ts';

/** A folder with more files would be of no use to a person. */
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

/** Settings of backups: profiles, schedule and folder. The path is absolute, and node-cron accepts the schedule. */
export type BackupSettings = {
  readonly [Key in Exclude<keyof BackupKeys, 'shared'>]-?: NonNullable<BackupKeys[Key]>;
} & {
  /** True if every replica of a cluster reaches the folder. Default false. */
  readonly shared?: boolean;
};
type BackupKeys = z.output<typeof backupSchema>;

/** Checks the section. An empty map disables backups, as a missing one does; otherwise the schedule is required. */
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

/** Accepts a cron expression of 5 or 6 fields that has a future run; `undefined` otherwise. */
function parseSchedule(value: string): string | undefined {
  const expression = value.trim();
  const fieldCount = expression.split(/\s+/).length;
  return (fieldCount === 5 || fieldCount === 6) && validate(expression) ? expression : undefined;
}
