/**
 * archive: from the bytes of a log file, compressed or not, to its text.
 *
 * Owns: telling formats apart by content, the bzip2 decoder, the worker threads it runs in, bounds on hostile input.
 * Does not own: lines, what a truncated or damaged archive means for the log (the tail decides), retries.
 * Start reading at: archive-pool.ts, then bzip2/decoder.ts.
 */
export { ArchiveError, type ArchiveErrorCode } from './archive-error.ts';
export type {
  ArchiveEnd,
  ArchiveFormat,
  ArchiveItem,
  ArchiveLimits,
  ArchiveMarker,
  BlockLost,
  BlockRecovered,
} from './archive-item.ts';
export { type ArchivePool, type ArchivePoolOptions, type DecodeOptions, openArchivePool } from './archive-pool.ts';
export { Bzip2Decoder } from './bzip2/decoder.ts';
export { SNIFF_BYTES, sniffFormat } from './sniff.ts';
