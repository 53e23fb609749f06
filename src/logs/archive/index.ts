/**
 * archive: from the bytes of a log file, compressed or not, to its text.
 *
 * Owns: telling formats apart by content, the worker threads that the bzip2 decoder runs in, bounds on hostile input.
 * Does not own: lines, what a truncated or damaged archive means for the log (the tail decides), retries.
 * Start reading at: archive-pool.ts, then the room bzip2.
 */
export type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';
export { ArchiveError, type ArchiveErrorCode } from './archive-error.ts';
export type {
  ArchiveEnd,
  ArchiveFormat,
  ArchiveItem,
  ArchiveMarker,
} from './archive-item.ts';
export { type ArchivePool, type ArchivePoolOptions, type DecodeOptions, openArchivePool } from './archive-pool.ts';
export { SNIFF_BYTES, sniffFormat } from './sniff.ts';
