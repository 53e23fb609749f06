import { describeExcess } from '../../bzip2/index.ts';
import { ArchiveError } from './archive-error.ts';

/** Throws `too-large` when `outputBytes` from `inputBytes` are too many. */
export function checkOutput(...args: Parameters<typeof describeExcess>): void {
  const excess = describeExcess(...args);
  if (excess !== undefined) throw new ArchiveError('too-large', excess);
}
