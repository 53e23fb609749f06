import { resolve } from 'node:path';
import { z } from 'zod';
import { byteSize, byteSizeWithin, duration, orDefaults, type SoundOf, section, text } from '../settings/index.ts';

const RECENT_BYTES_MOST = 1024 ** 4;

/** Schema of the section `storage`. */
export const storageSchema = section('State that survives a restart.', {
  // Next to the configuration file, so that a first start needs no special permissions and keeps everything in one
  // folder.
  path: text({ description: 'Folder of positions and spool.', kind: 'path' }).prefault('./data'),
  // Enough for days of logs of a mid-sized fleet, and small enough for any disk.
  spool_max: byteSize({
    description: 'Size that records waiting for their sinks may take before reading of logs pauses.',
  }).prefault('1GiB'),
  // At least the last fifty lines of each of 10,000 routers, and days of those of a small fleet.
  recent: byteSizeWithin(
    {
      description:
        'Size of the last lines of the routers that are kept for the pages, compressed; every router may use the same share. 0: none are kept.',
    },
    0,
    RECENT_BYTES_MOST,
    '256MiB',
  ).prefault('256MiB'),
});

/** The key `storage`, checked. */
export type StorageSettings = Readonly<ReturnType<typeof readStorage>>;

/** Converts the section to settings; the path becomes absolute. */
export function readStorage(keys: SoundOf<typeof storageSchema> | undefined, folder: string) {
  const { path, spool_max: spoolBytesMax, recent: recentBytesMax } = orDefaults(storageSchema, keys);
  return { path: resolve(folder, path), spoolBytesMax, recentBytesMax };
}

/** Renders settings as the section. */
export function renderStorage({ path, spoolBytesMax, recentBytesMax }: StorageSettings): object {
  return z.encode(storageSchema, { path, spool_max: spoolBytesMax, recent: recentBytesMax });
}

const LETTERS_BYTES_LEAST = 1024 ** 2;
const LETTERS_BYTES_MOST = 1024 ** 4;
const LETTERS_KEEP_MS_MIN = 60_000;
const LETTERS_KEEP_MS_MAX = 10 * 365 * 86_400_000;

/** Schema of the section `dead_letters`. */
export const deadLettersSchema = section(
  'Records that a sink refused for good. They are kept to be looked at and tried again.',
  {
    // Either few records are rejected, or all of them: then a few days of them are enough to find out why.
    max: byteSizeWithin(
      {
        description:
          'Size that those of all sinks may take together. Beyond it, the oldest of the sink whose letters take the most space go first.',
      },
      LETTERS_BYTES_LEAST,
      LETTERS_BYTES_MOST,
      '64MiB',
    ).prefault('64MiB'),
    // Long enough to come back from a holiday.
    keep: duration({ description: 'How long they are kept.' }, LETTERS_KEEP_MS_MIN, LETTERS_KEEP_MS_MAX).prefault(
      '30d',
    ),
  },
);

/** The key `dead_letters`, checked. */
export type DeadLetterSettings = Readonly<ReturnType<typeof readDeadLetters>>;

/** Converts the section to settings. */
export function readDeadLetters(keys: SoundOf<typeof deadLettersSchema> | undefined) {
  const { max: bytesMax, keep: keepMs } = orDefaults(deadLettersSchema, keys);
  return { bytesMax, keepMs };
}

/** Renders settings as the section. */
export function renderDeadLetters({ bytesMax, keepMs }: DeadLetterSettings): object {
  return z.encode(deadLettersSchema, { max: bytesMax, keep: keepMs });
}
