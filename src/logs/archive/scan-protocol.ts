import type { BlockLost, BlockRecovered } from '../../bzip2/index.ts';
import type { UnshippedState } from '../errors.ts';
import type { FileBeginning, ScanPlan, ScanResult } from '../file-scan.ts';
import type { RecordContext } from '../lines/record-builder.ts';
import type { ScanBatch } from '../lines/scan-batch.ts';
import type { LogFile, StreamState } from '../position/position.ts';
import type { SkewBounds } from '../time/log-clock.ts';

/** Text under way to the worker: enough to go on with while this side is busy. Bytes. */
export const TEXT_WINDOW_BYTES = 1024 * 1024;
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
export type ScanRequest =
  | { readonly kind: 'begin'; readonly job: number; readonly plan: ScanPlan }
  | { readonly kind: 'start'; readonly job: number; readonly start: PlainStart; readonly nowMs: number }
  /** `nowMs`: the agent's clock; absent until the file is known. */
  | { readonly kind: 'text'; readonly job: number; readonly bytes: Uint8Array; readonly nowMs: number | undefined }
  | { readonly kind: 'marker'; readonly job: number; readonly marker: BlockLost | BlockRecovered }
  /** `isWhole` is false if the body has failed: then only whole lines before that are wanted. */
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

/** From the worker. */
export type ScanReply =
  | { readonly kind: 'head'; readonly job: number; readonly beginning: FileBeginning }
  /** So many bytes of text have been worked through. */
  | { readonly kind: 'consumed'; readonly job: number; readonly bytes: number }
  | { readonly kind: 'batch'; readonly job: number; readonly batch: PlainBatch; readonly state: ScanState }
  /** The last message of a job. `result` is absent if the body has failed. */
  | {
      readonly kind: 'result';
      readonly job: number;
      readonly result: ScanResult | undefined;
      readonly batch: PlainBatch;
      readonly state: ScanState;
      readonly lost: readonly BlockLost[];
    }
  /** The body is not shipped. */
  | {
      readonly kind: 'unshipped';
      readonly job: number;
      readonly state: UnshippedState;
      readonly lost: readonly BlockLost[];
    };
