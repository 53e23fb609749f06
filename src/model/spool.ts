import type { LineRanges } from '../base/index.ts';

/**
 * The end of a call that may have to wait for others: an embedded store is done at the return, and throws; one in an engine
 * resolves later, and rejects. To be awaited in any case.
 */
export type Completion = Promise<void> | void;

/** Rendered records without line feeds. */
export interface RecordLines extends Iterable<string> {
  /** Number of records. */
  readonly length: number;
  /**
   * All records in UTF-8, separated by line feeds, if they already exist in that form. Whoever gets them may keep them: nobody
   * writes to their memory any more.
   */
  readonly bytes?: Buffer | undefined;
  /** All records as `packLines` of base packs them, if another thread has done that. */
  readonly packed?: Uint8Array | undefined;
}

/** The records of one step of one log, and the log's position once they are stored. */
export interface LogCommit {
  readonly router: string;
  readonly component: string;
  /** The log's position, as text that only `logs` reads. */
  readonly position: string;
  readonly lines: RecordLines;
}

/** Facts learnt about a router as a whole, as text that only `logs` reads. */
export interface FactsCommit {
  readonly router: string;
  readonly facts: string;
}

/** Limits of one read from the spool. */
export interface SliceBounds {
  readonly recordsMax: number;
  /** Maximum decompressed size of the records in bytes; a single larger record is returned alone. */
  readonly bytesMax: number;
  /** Returns true if the sink wants a log. Records of other logs are skipped unread. */
  readonly isWanted: (router: string, component: string) => boolean;
}

/** The next records for a sink, in commit order. */
export interface Slice<Cursor> {
  /** Empty if none of the examined records are wanted. */
  readonly lines: LineRanges;
  /** The sink's cursor after all of `lines` are settled. */
  readonly next: Cursor;
  /** Commit time of the oldest of `lines`: wall time in milliseconds since the Unix epoch. */
  readonly oldestMs: number;
  /** True if a limit ended the slice: there may be more. */
  readonly isFull: boolean;
  /** Number of records skipped because their log is not wanted. */
  readonly skipped: number;
  /** True if this is a redelivery of records that the sink has taken before and may have lost. */
  readonly isRepeat: boolean;
}
