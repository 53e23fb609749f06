/**
 * archive: from the bytes of a rotated file, compressed or not, to its records.
 *
 * Owns: telling formats apart by content, the worker threads in which archives are decoded and their lines become records,
 * bounds on hostile input.
 * Does not own: how lines become records (file-scan.ts), what a truncated or damaged archive means for the log (the
 * tail decides), retries.
 * Start reading at: archive-pool.ts, then decode.ts (formats) and the module bzip2; archive-job.ts is the other side of
 * remote-reading.ts, in the thread.
 */
export type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';
export { ArchiveError, type ArchiveErrorCode } from './archive-error.ts';
export type { Trailing } from './archive-item.ts';
export {
  type ArchivePool,
  type ArchivePoolOptions,
  type ArchiveReading,
  openArchivePool,
} from './archive-pool.ts';
export { isBinary, SNIFF_BYTES, sniffFormat } from './sniff.ts';
