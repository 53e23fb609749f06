import type { BlockLost, BlockRecovered, Bzip2End, Bzip2Limits } from '../../bzip2/index.ts';
import type { ArchiveErrorCode } from './archive-error.ts';

/**
 * Decoded bytes are posted in chunks of at most this size, so that a reader that works through one holds its loop briefly.
 * As a string one still fits where V8 keeps young objects; above 128 KiB each would get memory of its own.
 */
export const OUTPUT_CHUNK_BYTES = 96 * 1024;
/** Decoded bytes under way to the reader; the worker stops at that. Room for two blocks, so that the next one is decoded meanwhile. */
export const OUTPUT_WINDOW_BYTES = 2 * 1024 * 1024;
/** Compressed bytes are posted in chunks of at most this size. */
export const INPUT_CHUNK_BYTES = 64 * 1024;
/** Compressed bytes under way to the worker. Enough for a few blocks of log text. */
export const INPUT_WINDOW_BYTES = 512 * 1024;

/** To the worker. A job is one file; messages of an earlier job are stale and ignored. */
export type Request =
  | { readonly kind: 'begin'; readonly job: number; readonly limits: Bzip2Limits }
  | { readonly kind: 'input'; readonly job: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'input-ended'; readonly job: number }
  /** The reader has taken so many bytes. */
  | { readonly kind: 'taken'; readonly job: number; readonly bytes: number }
  /** Nobody wants the rest. */
  | { readonly kind: 'abandon'; readonly job: number };

/** From the worker. */
export type Reply =
  | { readonly kind: 'output'; readonly job: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'marker'; readonly job: number; readonly marker: BlockLost | BlockRecovered }
  /** So many bytes of input have been worked through. */
  | { readonly kind: 'consumed'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'finished'; readonly job: number; readonly end: Bzip2End }
  | { readonly kind: 'failed'; readonly job: number; readonly error: ArchiveFault };

/** An error in a form that survives the way between threads. */
export interface ArchiveFault {
  readonly code: ArchiveErrorCode;
  readonly message: string;
  readonly bit: number | undefined;
}
