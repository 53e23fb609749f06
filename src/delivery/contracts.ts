import type { Clock, LineRanges } from '../base/index.ts';
import type { Completion, LogRecord, Slice, SliceBounds } from '../model/index.ts';
import type { RecordFormat } from './formats/format.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

/** The store of undelivered records, with one cursor per sink. */
export interface Spool<Cursor> {
  /** False while another process serves the sink from the same records. Absent: there is no other. */
  serves?(sink: string): boolean;
  /** True while the sink is about to go to another process: what was begun ends, and nothing new begins. */
  isLeaving?(sink: string): boolean;
  /** Another value than before when another process may have served the sink since. Absent: there is no other. */
  termOf?(sink: string): number;
  /** Reads the next records of a sink; `undefined` when it has everything. */
  readSlice(sink: string, bounds: SliceBounds): Slice<Cursor> | undefined;
  /** Moves the sink's cursor behind the settled records. */
  acknowledge(sink: string, cursor: Cursor): Completion;
  /**
   * Returns records again, before new ones: those that the sink accepted within the last `replay` before `endedMs` (Unix
   * time), or before its last accepted records.
   */
  repeat(sink: string, endedMs?: number): Completion;
}

/** Reason for which a sink rejects a record permanently. */
export interface Refusal {
  /** The error text of the sink, or of a rule known to apply there. */
  readonly reason: string;
  /** Status or code of the rejection, such as `400`; absent when the record was never sent. */
  readonly code?: string | undefined;
}

/** A record that a sink refused for good. */
export interface DeadLetter extends Refusal {
  /** The uid of the record. */
  readonly uid: string;
  /** The record as stored. */
  readonly line: string;
}

/** A dead letter that an operator wants to retry. */
export interface ReplayedLetter extends DeadLetter {
  /** Number of the dead letter. */
  readonly id: number;
}

/** The store of permanently rejected records. */
export interface DeadLetterBox {
  /**
   * Stores `refused` and deletes the letters `taken`, which the sink has accepted, in one durable transaction. A letter for
   * the same record and sink replaces the earlier one.
   */
  add(sink: string, refused: readonly DeadLetter[], taken?: readonly number[]): Completion;
  /** Returns the dead letters of `sink` to retry, oldest first. */
  readReplayed(
    sink: string,
    bounds: { readonly recordsMax: number; readonly bytesMax: number },
  ): readonly ReplayedLetter[] | Promise<readonly ReplayedLetter[]>;
}

/** Bounds of one batch. */
export interface BatchBounds {
  /** Maximum number of records in a batch. */
  readonly recordsMax: number;
  /** Maximum size of a batch, as stored, before the sink's own format. A single larger record is sent alone. Bytes. */
  readonly bytesMax: number;
  /** Maximum time a record waits for others to fill the batch. Milliseconds. */
  readonly waitMs: number;
}

/** The result of a delivery that did not fail as a whole. Records not mentioned in it were accepted. */
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

/** The result of one check of whether a sink would accept records. */
export interface PreflightFinding {
  /** Name of the check: `connect`, `authorise`, `test record`, `stream limit`. */
  readonly step: string;
  /** Result; a warning does not prevent delivery. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  /** The finding in one sentence. */
  readonly message: string;
  /** Advice for the operator. */
  readonly hint?: string | undefined;
}

/** Figures of the fleet that a preflight compares with the sink's limits. */
export interface PreflightFleet {
  /** Number of routers. */
  readonly routers: number;
  /** Number of distinct values of each router label. */
  readonly labelValues: Readonly<Record<string, number>>;
}

/**
 * The connection of a sink that may lose accepted records, because it acknowledges before they are safe or not at all. Its
 * end signals a possible loss, even when nothing is in flight.
 */
export interface WatchedConnection {
  /** Called when the other side ends the connection. Set by the caller of `deliver`. */
  onEnd: (() => void) | undefined;
  /** Reports once that the other side has ended the connection, and when (Unix time in milliseconds). */
  takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined>;
}

/** What every type of sink is made from. */
export interface SinkOptions {
  /** Name of the sink. */
  readonly name: string;
  /** Batch bounds. */
  readonly batch: BatchBounds;
  /** Time limit of one delivery. Milliseconds. */
  readonly timeoutMs: number;
  /** Record format, if the type has a choice. The default depends on the type. */
  readonly format?: RecordFormat | undefined;
}

/** A destination of records. It neither retries nor splits batches: its caller does. */
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
   * Sends records and resolves once the receiver has reported the result of each. The same records give the same bytes.
   * Throws `DeliveryError` when the batch failed as a whole: with disposition `dead-letter` when the receiver rejects it
   * permanently (it is then split), otherwise the whole batch is retried; `mayBeOfRecords`: until it is known that the sink
   * accepts others (it is then split). `isRepeat`: the sink has accepted these before.
   */
  deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat?: boolean): Promise<DeliveryReport>;
  /**
   * As {@link deliver}, for records that the sink needs no more of than their bytes: nobody makes objects of them; also for
   * those that it has accepted before. Absent = it needs them one by one.
   */
  readonly deliverLines?: ((lines: LineRanges, signal: AbortSignal) => Promise<DeliveryReport>) | undefined;
  /** Tests whether records would be accepted, with a test record marked as such. Throws only when aborted. */
  preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]>;
  /**
   * Checks, without side effects, whether this machine itself prevents delivery; throws `DeliveryError` if so. Absent = only
   * the receiver can tell.
   */
  checkPlace?(): Promise<void>;
  /**
   * Takes what only one agent may use, and keeps it until `release` or `close`; throws `DeliveryError` if another agent has it.
   * Called at the start; `deliver` does the same. Absent = several agents may deliver to the same place.
   */
  claim?(): Promise<void>;
  /** Lets go of what {@link claim} has taken, for the agent that serves the sink now; the next delivery takes it again. */
  release?(): Promise<void>;
  /** Closes connections and files. Not needed before the first delivery. */
  close(): Promise<void>;
}

/** One sink, the records for it, and the limits of a batch. */
export interface DeliveryWorkerOptions<Cursor> {
  /** The sink to deliver to. */
  readonly sink: Sink;
  /** Source of the records. */
  readonly spool: Spool<Cursor>;
  /** Store for records that the sink rejects permanently. */
  readonly deadLetters: DeadLetterBox;
  /** Source of the current time and of timers. */
  readonly clock: Clock;
  /** True when the sink gets the records of a log. */
  readonly isWanted: (router: string, component: string) => boolean;
  /** True when the sink gets a record of a wanted log; absent = every record. Requires parsing each record. */
  readonly isSelected?: ((record: LogRecord) => boolean) | undefined;
  /** Called with each event. */
  readonly report: (event: DeliveryEvent) => void;
}

/** The event of a delivery step. */
export type DeliveryEvent =
  /** The sink accepted these; `duplicates` of them it already had. `bytes`: size of the request, 0 when unknown. */
  | {
      readonly type: 'records-delivered';
      readonly records: number;
      readonly duplicates: number;
      readonly bytes: number;
    }
  /** The sink accepted these again, because it may have lost them. */
  | { readonly type: 'records-repeated'; readonly records: number; readonly bytes: number }
  /** The sink rejected these repeats. They do not become dead letters, because it has accepted them before. */
  | { readonly type: 'repeats-refused'; readonly records: number; readonly reason: string }
  /** These became dead letters; `reason` is that of the first. `isAnswered`: the sink itself rejected one of them. */
  | {
      readonly type: 'records-refused';
      readonly records: number;
      readonly reason: string;
      readonly isAnswered: boolean;
    }
  /** The sink rejected this many records of a batch without identifying them: they are lost for this sink. */
  | { readonly type: 'records-rejected'; readonly records: number; readonly reason: string }
  /** Records not selected for this sink. */
  | { readonly type: 'records-skipped'; readonly records: number }
  /** A batch was rejected permanently and is retried in halves. */
  | { readonly type: 'batch-split'; readonly records: number; readonly reason: string }
  | { readonly type: 'sink-warned'; readonly message: string };

/** The next action: step again, wait for records, or step again after a while so that a batch can fill. */
export type StepOutcome = 'more' | 'idle' | { readonly waitMs: number };

/** Options of one step. */
export interface StepOptions {
  /** True at shutdown: send batches without waiting for them to fill. Default false. */
  readonly isLast?: boolean | undefined;
}
