import type { BlockLost, Bzip2Limits } from '../../bzip2/index.ts';
import type { UnshippedState } from '../errors.ts';
import type { FileBeginning, ScanPlan, ScanResult } from '../file-scan.ts';
import type { RecordContext } from '../lines/record-builder.ts';
import type { ScanBatch } from '../lines/scan-batch.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import type { SkewBounds } from '../time/log-clock.ts';
import type { ArchiveErrorCode } from './archive-error.ts';
import type { Trailing } from './archive-item.ts';

/** Bytes of a file are posted in chunks of at most this size. */
export const INPUT_CHUNK_BYTES = 64 * 1024;
/** Bytes of a file under way to the worker: enough to go on with while this side is busy. */
export const INPUT_WINDOW_BYTES = 512 * 1024;
/**
 * Records under way from the worker; it stops at that, so at most one batch more is under way. A batch is about 2 MiB of
 * JSON: the worker goes on while the main thread commits one and has another one waiting. Bytes.
 */
export const RECORDS_WINDOW_BYTES = 4 * 1024 * 1024;

/** A {@link RecordContext} in a form that survives the way between threads. */
export interface PlainContext extends Omit<RecordContext, 'zone' | 'matcher' | 'now'> {
  /** Text of the zone. */
  readonly zone: string;
  /** Settings of the matcher as text. */
  readonly matcher: string | undefined;
}

/** The answer to the question which file it is; `undefined` when it may not be read yet. */
export type PlainStart = { readonly file: LogFile; readonly context: PlainContext } | undefined;

/** To the worker. A job is one file; messages of an earlier job are stale and ignored. */
export type Request =
  | { readonly kind: 'begin'; readonly job: number; readonly plan: ScanPlan; readonly limits: Bzip2Limits }
  | { readonly kind: 'start'; readonly job: number; readonly start: PlainStart; readonly nowMs: number }
  /** `nowMs`: the agent's clock; absent until the file is known. */
  | { readonly kind: 'input'; readonly job: number; readonly bytes: Uint8Array; readonly nowMs: number | undefined }
  /** `isWhole` is false if the source has failed: then only what came before that is wanted. */
  | { readonly kind: 'ended'; readonly job: number; readonly isWhole: boolean }
  /** So many bytes of records have been taken. */
  | { readonly kind: 'taken'; readonly job: number; readonly bytes: number }
  /** Nobody wants the rest. */
  | { readonly kind: 'abandon'; readonly job: number };

/** A {@link ScanBatch} in a form that survives the way between threads. */
export interface PlainBatch extends Omit<ScanBatch, 'records'> {
  /** All of the memory is given away. */
  readonly memory: Uint8Array<ArrayBuffer>;
  /** Bytes of the memory that hold records. */
  readonly recordBytes: number;
  /** The records as they are stored. */
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly records: number;
}

/** The file and its log as they stand behind a batch. */
export interface ScanState {
  readonly file: LogFile | undefined;
  readonly stream: StreamState | undefined;
  /** The bounds of the router's clock as these lines have narrowed them. */
  readonly skew: SkewBounds | undefined;
}

/**
 * How a reading ended: `read` to its end or until nothing more was wanted; `failed` because of the archive, `source-failed` because of the
 * source; `unshipped` because it is no log.
 */
export type Outcome =
  | { readonly kind: 'read'; readonly result: ScanResult; readonly trailing: Trailing | undefined }
  | {
      readonly kind: 'failed';
      readonly code: ArchiveErrorCode;
      readonly message: string;
      readonly bit: number | undefined;
    }
  | { readonly kind: 'source-failed' }
  | { readonly kind: 'unshipped'; readonly state: UnshippedState };

/** From the worker. */
export type Reply =
  /** So many bytes of the file have been worked through. */
  | { readonly kind: 'consumed'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'head'; readonly job: number; readonly beginning: FileBeginning }
  | { readonly kind: 'batch'; readonly job: number; readonly batch: PlainBatch; readonly state: ScanState }
  /** The last message of a job. */
  | {
      readonly kind: 'ended';
      readonly job: number;
      readonly outcome: Outcome;
      readonly batch: PlainBatch;
      readonly state: ScanState;
      readonly lost: readonly BlockLost[];
    };
