import type { Slice, SliceBounds } from '../model/index.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

/** Where undelivered records wait, one cursor per sink. */
export interface Spool<Cursor> {
  /** Reads the next records of a sink; `undefined` when it has everything. */
  readSlice(sink: string, bounds: SliceBounds): Slice<Cursor> | undefined;
  /** Moves the sink's cursor behind the settled records. */
  acknowledge(sink: string, cursor: Cursor): void;
  /**
   * Gives again, before what is new, what the sink took in the last `replay`: before the time `endedMs` (wall time), or before
   * it took its last records.
   */
  repeat(sink: string, endedMs?: number): void;
}

/** Why a sink does not take a record, for good. */
export interface Refusal {
  /** The error text of the sink, or of a rule known to apply there. */
  readonly reason: string;
  /** Status or code of the rejection, such as `400`; absent when the record was never sent. */
  readonly code?: string | undefined;
}

export interface DeadLetter extends Refusal {
  /** The uid of the record. */
  readonly uid: string;
  /** The record as stored. */
  readonly line: string;
}

/** A dead letter that an operator wants to be tried again. */
export interface ReplayedLetter extends DeadLetter {
  /** Number of the dead letter. */
  readonly id: number;
}

/** Where refused records are kept. */
export interface DeadLetterBox {
  /**
   * Keeps `refused` and takes away the letters `taken`, which the sink has now: both or neither, durable once it returns. The
   * same record of the same sink again replaces what was there.
   */
  add(sink: string, refused: readonly DeadLetter[], taken?: readonly number[]): void;
  /** Returns the dead letters of `sink` to retry, oldest first. */
  readReplayed(
    sink: string,
    bounds: { readonly recordsMax: number; readonly bytesMax: number },
  ): readonly ReplayedLetter[];
}

/** How many records a sink gets at once. */
export interface BatchBounds {
  /** Maximum number of records in a batch. */
  readonly recordsMax: number;
  /** Maximum size of a batch, as stored, before the sink's own format. A single larger record is sent alone. Bytes. */
  readonly bytesMax: number;
  /** Maximum time a record waits for others to fill the batch. Milliseconds. */
  readonly waitMs: number;
}

/** What became of a delivery that did not fail as a whole. What is named nowhere was taken. */
export interface DeliveryReport {
  /** Size of the request, if known. */
  readonly bytes?: number | undefined;
  /** Number of accepted records that the receiver already had. */
  readonly duplicates?: number | undefined;
  /** Permanently rejected records, by index in the batch. */
  readonly refused?: readonly ({ readonly index: number } & Refusal)[] | undefined;
  /** Permanently rejected records that the sink does not identify. They are not sent again, because the others would be duplicated. */
  readonly refusedUnnamed?: { readonly records: number; readonly reason: string } | undefined;
  /** Records to send again, by index in ascending order; after a wait, unless `retryAfterMs` is 0. */
  readonly retry?:
    | { readonly indexes: readonly number[]; readonly reason: string; readonly retryAfterMs?: number | undefined }
    | undefined;
  /** Message for the operator; nothing was lost. */
  readonly warning?: string | undefined;
}

/** One thing that was tried to see whether a sink would take records. */
export interface PreflightFinding {
  /** Name of the check: `connect`, `authorise`, `test record`, `stream limit`. */
  readonly step: string;
  /** Result; a warning does not prevent delivery. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** The finding in one sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** What a preflight may hold against the sink's own limits. */
export interface PreflightFleet {
  /** Number of routers. */
  readonly routers: number;
  /** Number of distinct values of each router label. */
  readonly labelValues: Readonly<Record<string, number>>;
}

/**
 * The connection of a sink that may lose what it has taken: one that acknowledges before the records are safe, or not at
 * all. While one is watched, its end is what says that records may be lost, even when nothing is under way.
 */
export interface WatchedConnection {
  /** Called when the other side ends the connection. Set by the caller of `deliver`. */
  onEnd: (() => void) | undefined;
  /** Reports once that the other side has ended the connection, and when (Unix time in milliseconds). */
  takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined>;
}

/** Somewhere records go. It neither retries nor splits: its caller does. */
export interface Sink {
  /** Unique name; also the label `sink`. */
  readonly name: string;
  /** Batch bounds. */
  readonly batch: BatchBounds;
  /** Time limit of one delivery in milliseconds; absent = none, because a slow receiver is better than none. */
  readonly timeoutMs?: number | undefined;
  /** The watched connection; absent = accepted records are safe, and nothing is sent again. */
  readonly connection?: WatchedConnection | undefined;
  /** Returns why a record is certain to be rejected, known before sending. `nowMs`: Unix time. */
  findRefusal?(record: OutgoingRecord, nowMs: number): Refusal | undefined;
  /**
   * Hands records over and resolves once the other side has said what became of each. The same records give the same
   * bytes. Throws `DeliveryError` when the batch failed as a whole: with disposition `dead-letter` when the other side
   * refuses it for good as it is (it is then split), else it comes again whole. `isRepeat`: the sink has taken these before.
   */
  deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat?: boolean): Promise<DeliveryReport>;
  /** Tests whether records would be accepted, with a test record marked as such. Throws only when aborted. */
  preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]>;
  /**
   * Looks, without touching anything, whether this machine itself stands in the way of delivering. Throws `DeliveryError` when
   * it does. Absent: only the other side can tell.
   */
  checkPlace?(): Promise<void>;
  /** Closes connections and files. Not needed before the first delivery. */
  close(): Promise<void>;
}
