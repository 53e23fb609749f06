import type { z } from 'zod';
import { byteSize, byteSizeWithin, duration, type Settled, section, text } from '../settings/index.ts';

const RECENT_BYTES_MOST = 1024 ** 4;

/** Schema of the section `storage`. */
export const storageSchema = section('State that survives a restart.', {
  // Next to the configuration file, so that a first start needs no special permissions.
  path: text({ description: 'Folder of positions and spool.', kind: 'path' }).prefault('./data'),
  // Enough for days of logs of a mid-sized fleet, and small enough for any disk.
  spool_max: byteSize({
    description: 'Size that records waiting for their sinks may take before reading of logs pauses.',
  }).prefault('1GiB'),
  // At least the last fifty lines of each of 10,000 routers, or days of lines of a small fleet.
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

/** The section `storage` with its defaults; the path is absolute. Bytes. */
export type StorageSettings = Settled<z.output<typeof storageSchema>>;

const DEAD_LETTERS_BYTES_LEAST = 1024 ** 2;
const DEAD_LETTERS_BYTES_MOST = 1024 ** 4;
const DEAD_LETTERS_KEEP_MS_MIN = 60_000;
const DEAD_LETTERS_KEEP_MS_MAX = 10 * 365 * 86_400_000;

/** Schema of the section `dead_letters`. */
export const deadLettersSchema = section(
  'Records that a sink refused for good. They are kept to be looked at and tried again.',
  {
    // If all records are rejected, this holds a few days of them: enough to find out why.
    max: byteSizeWithin(
      {
        description:
          'Size that those of all sinks may take together. Beyond it, the oldest of the sink whose dead letters take the most space go first.',
      },
      DEAD_LETTERS_BYTES_LEAST,
      DEAD_LETTERS_BYTES_MOST,
      '64MiB',
    ).prefault('64MiB'),
    // Longer than a holiday.
    keep: duration(
      { description: 'How long they are kept.' },
      DEAD_LETTERS_KEEP_MS_MIN,
      DEAD_LETTERS_KEEP_MS_MAX,
    ).prefault('30d'),
  },
);

/** The section `dead_letters` with its defaults. Bytes and milliseconds. */
export type DeadLetterSettings = Settled<z.output<typeof deadLettersSchema>>;
