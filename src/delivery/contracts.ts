import type { Slice, SliceBounds } from '../model/index.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

/** Where undelivered records wait, one cursor per sink. */
export interface Spool<Cursor> {
  /** `undefined` when the sink has everything. */
  readSlice(sink: string, bounds: SliceBounds): Slice<Cursor> | undefined;
  /** Moves the sink's cursor behind what is settled. */
  acknowledge(sink: string, cursor: Cursor): void;
  /**
   * Gives again, before what is new, what the sink took in the last `replay`: before the time `endedMs` (wall time), or before
   * it took its last records.
   */
  repeat(sink: string, endedMs?: number): void;
}

/** Why a sink does not take a record, for good. */
export interface Refusal {
  /** The sink's own words, or those of a rule that is known to hold there. */
  readonly reason: string;
  /** Status or code with which the sink refused, such as `400`; absent when it was not even asked. */
  readonly code?: string | undefined;
}

export interface DeadLetter extends Refusal {
  readonly uid: string;
  /** The record as it was stored. */
  readonly line: string;
}

/** A dead letter that an operator wants to be tried again. */
export interface ReplayedLetter extends DeadLetter {
  readonly id: number;
}

/** Where refused records are kept. */
export interface DeadLetterBox {
  /**
   * Keeps `refused` and takes away the letters `taken`, which the sink has now: both or neither, durable once it returns. The
   * same record of the same sink again replaces what was there.
   */
  add(sink: string, refused: readonly DeadLetter[], taken?: readonly number[]): void;
  /** Letters of `sink` that are to be tried again, the oldest first. */
  readReplayed(
    sink: string,
    bounds: { readonly recordsMax: number; readonly bytesMax: number },
  ): readonly ReplayedLetter[];
}

/** How many records a sink gets at once. */
export interface BatchBounds {
  readonly recordsMax: number;
  /** Of the stored records, before the sink's own format. Bytes. */
  readonly bytesMax: number;
  /** How long a record may wait for others to fill the batch. Milliseconds. */
  readonly waitMs: number;
}

/** What became of a delivery that did not fail as a whole. What is named nowhere was taken. */
export interface DeliveryReport {
  /** Bytes of the request, as far as they are known. */
  readonly bytes?: number | undefined;
  /** Of those that were taken: how many were there already. */
  readonly duplicates?: number | undefined;
  /** Refused for good, by their index in the batch. */
  readonly refused?: readonly ({ readonly index: number } & Refusal)[] | undefined;
  /** Refused for good, and the sink does not say which. They are not sent again, because the others would come twice. */
  readonly refusedUnnamed?: { readonly records: number; readonly reason: string } | undefined;
  /** To be sent again, by index in rising order; after a wait, unless `retryAfterMs` is 0. */
  readonly retry?:
    | { readonly indexes: readonly number[]; readonly reason: string; readonly retryAfterMs?: number | undefined }
    | undefined;
  /** Something that an operator should read; nothing was lost. */
  readonly warning?: string | undefined;
}

/** One thing that was tried to see whether a sink would take records. */
export interface PreflightFinding {
  /** What was tried, in a word or two: `connect`, `authorise`, `test record`, `stream limit`. */
  readonly step: string;
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** What was found, in one sentence. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** What a preflight may hold against the sink's own limits. */
export interface PreflightFleet {
  readonly routers: number;
  /** Distinct values of each label of the routers. */
  readonly labelValues: Readonly<Record<string, number>>;
}

/**
 * The connection of a sink that may lose what it has taken: one that acknowledges before the records are safe, or not at
 * all. While one is watched, its end is what says that records may be lost, even when nothing is under way.
 */
export interface WatchedConnection {
  /** Called when the other side ends the connection. Set by whoever makes the deliveries. */
  onEnd: (() => void) | undefined;
  /** Says once whether the other side has ended the connection, and when (wall time, milliseconds since the Unix epoch). */
  takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined>;
}

/** Somewhere records go. It neither retries nor splits: its caller does. */
export interface Sink {
  /** Unique name; also the label `sink`. */
  readonly name: string;
  readonly batch: BatchBounds;
  /** Limit of one delivery. Milliseconds; absent: none, because a slow taker is better than none. */
  readonly timeoutMs?: number | undefined;
  /** Absent: what the sink takes is safe, and nothing goes again. */
  readonly connection?: WatchedConnection | undefined;
  /** Why this record is certain to be refused, known before it is sent. `nowMs`: wall time. */
  findRefusal?(record: OutgoingRecord, nowMs: number): Refusal | undefined;
  /**
   * Hands records over and resolves once the other side has said what became of each. The same records give the same
   * bytes. Throws `DeliveryError` when the batch failed as a whole: with disposition `dead-letter` when the other side
   * refuses it for good as it is (it is then split), else it comes again whole. `isRepeat`: the sink has taken these before.
   */
  deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat?: boolean): Promise<DeliveryReport>;
  /** Tries whether records would be taken, with a test record that says that it is one. Throws nothing but aborts. */
  preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]>;
  /**
   * Looks, without touching anything, whether this machine itself stands in the way of delivering. Throws `DeliveryError` when
   * it does. Absent: only the other side can tell.
   */
  checkPlace?(): Promise<void>;
  /** Ends connections and files. Not needed before the first delivery. */
  close(): Promise<void>;
}
