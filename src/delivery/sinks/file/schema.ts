import { absolutePath, byteSizeWithin, choice, duration, wholeNumber } from '../../../settings/index.ts';
import { batch, compress, format, timeout } from '../common-keys.ts';
import { sinkSchema } from '../define-sink.ts';

const BYTES_LEAST = 64 * 1024;
const BYTES_MOST = 1024 ** 4;
const AGE_MS_MIN = 60_000;
const AGE_MS_MAX = 365 * 86_400_000;
/** More files in one folder would be unmanageable. */
const KEEP_MAX = 10_000;

/** A sink of type `file`. By default it keeps ten files of a size that editors can open. */
export const fileSchema = sinkSchema('file', 'One record per line in a file that is rotated by size and age.', {
  path: absolutePath({ description: 'Path of the file. Rotated files stay in the same folder.' }).refine(
    (value) => !value.endsWith('/'),
    { error: 'the path of a file, which does not end in "/"' },
  ),
  max_size: byteSizeWithin(
    { description: 'Size at which the file is rotated.' },
    BYTES_LEAST,
    BYTES_MOST,
    '100MiB',
  ).prefault('100MiB'),
  max_age: duration({ description: 'Age at which the file is rotated.' }, AGE_MS_MIN, AGE_MS_MAX).prefault('1d'),
  keep: wholeNumber({ description: 'Number of rotated files to keep; the oldest are deleted.' }, 1, KEEP_MAX).prefault(
    10,
  ),
  compress: compress('gzip', 'rotated files'),
  fsync: choice(
    {
      description:
        'When the file is synced to disk: after each `batch`, only before a rotation (`rotate`), or `never`. Without `batch`, a power failure may lose records that count as delivered.',
    },
    ['batch', 'rotate', 'never'],
  ).prefault('batch'),
  format: format(['native', 'ecs', 'otel']),
  // A batch costs some turns of the main thread, whatever its size: large ones catch up while the agent is busy.
  batch: batch({ recordsMax: 50_000, bytesMax: 8 * 1024 ** 2, waitMs: 0 }),
  timeout,
});
