/**
 * archive: from the bytes of a rotated file, compressed or not, to its records.
 *
 * Owns: telling formats apart by content, the worker threads in which the bzip2 decoder runs and lines become records,
 * bounds on hostile input.
 * Does not own: how lines become records (file-scan.ts), what a truncated or damaged archive means for the log (the
 * tail decides), retries.
 * Start reading at: archive-pool.ts; then the module bzip2 for decoding, archive-scan.ts and scan-job.ts for lines.
 */
export type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';
export { ArchiveError, type ArchiveErrorCode } from './archive-error.ts';
export type {
  ArchiveEnd,
  ArchiveFormat,
  ArchiveItem,
  ArchiveMarker,
  Trailing,
} from './archive-item.ts';
export { type ArchivePool, type ArchivePoolOptions, type DecodeOptions, openArchivePool } from './archive-pool.ts';
export { isBinary, SNIFF_BYTES, sniffFormat } from './sniff.ts';
