import { type Clock, CodedError, type CodedErrorOptions, type LineRanges } from '../base/index.ts';
import type { Completion, ShippedRecord, Slice, SliceBounds } from '../model/index.ts';
import type { OutgoingRecord } from './outgoing-record.ts';

interface Spool<Cursor> {
  /** Returns false while another process serves the sink from the same records. Absent: there is no other. */
  serves?(sink: string): boolean;
  /** Returns true while the sink is about to move to another process: finish what was started, start nothing new. */
  isLeaving?(sink: string): boolean;
  /** Returns a value that changes when another process may have served the sink. Absent: there is no other. */
  termOf?(sink: string): number;
  /** Reads the next records of a sink; `undefined` when it has everything. */
  readSlice(sink: string, bounds: SliceBounds): Slice<Cursor> | undefined;
  acknowledge(sink: string, cursor: Cursor): Completion;
  /**
   * Redelivers, ahead of new records, those that the sink accepted within the last `replay` before `endedMs` (Unix time), or
   * before its last accepted records.
   */
  repeat(sink: string, endedMs?: number): Completion;
}

export interface Refusal {
  /** Error text of the sink, or of a rule known to apply there. */
  readonly reason: string;
  /** Status or code of the rejection, such as `400`; absent when the record was never sent. */
  readonly code?: string | undefined;
}

export interface DeadLetter extends Refusal {
  readonly uid: string;
  /** The record as stored. */
  readonly line: string;
}

interface ReplayedDeadLetter extends DeadLetter {
  readonly id: number;
}

interface DeadLetterStorage {
  /**
   * Stores `refused` and deletes the dead letters `taken`, which the sink has accepted, in one durable transaction. A new one
   * for the same record and sink replaces the earlier one.
   */
  add(sink: string, refused: readonly DeadLetter[], taken?: readonly number[]): Completion;
  /** Returns the dead letters of `sink` to retry, oldest first. */
  readReplayed(
    sink: string,
    bounds: { readonly recordsMax: number; readonly bytesMax: number },
  ): readonly ReplayedDeadLetter[] | Promise<readonly ReplayedDeadLetter[]>;
}

interface BatchBounds {
  readonly recordsMax: number;
  /** Maximum size of a batch, as stored. A single larger record is sent alone. Bytes. */
  readonly bytesMax: number;
  readonly waitMs: number;
}

/** Result of a delivery that did not fail as a whole. Records not mentioned were accepted. */
export interface DeliveryReport {
  /** Size of the request, if known. Bytes. */
  readonly bytes?: number | undefined;
  /** Accepted records that the receiver already had. */
  readonly duplicates?: number | undefined;
  /** Permanently rejected records, by index in the batch. */
  readonly refused?: readonly ({ readonly index: number } & Refusal)[] | undefined;
  /** Permanently rejected records that the sink does not identify. Not sent again, because the others would be duplicated. */
  readonly refusedUnnamed?: { readonly records: number; readonly reason: string } | undefined;
  /** Records to send again, by index in ascending order; after a wait, unless `retryAfterMs` is 0. */
  readonly retry?:
    | { readonly indexes: readonly number[]; readonly reason: string; readonly retryAfterMs?: number | undefined }
    | undefined;
  /** Message for the operator; nothing was lost. */
  readonly warning?: string | undefined;
}

/** Result of one check of whether a sink would accept records. */
export interface PreflightFinding {
  /** Name of the check, such as `connect`, `test record` or `stream limit`. */
  readonly step: string;
  /** A warning does not prevent delivery. */
  readonly verdict: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Figures of the fleet that a preflight compares with the sink's limits. */
export interface PreflightFleet {
  readonly routers: number;
  /** Number of distinct values of each router label. */
  readonly labelValues: Readonly<Record<string, number>>;
}

/**
 * The connection of a sink that may lose accepted records, because it acknowledges them before they are safe, or never. Its
 * end signals a possible loss, even when nothing is in flight.
 */
interface WatchedConnection {
  /** Called when the receiver closes the connection. Set by the caller of `deliver`. */
  onEnd: (() => void) | undefined;
  /** Reports once that the receiver closed the connection, and when (Unix time in milliseconds). */
  takeEnd(): Promise<{ readonly endedMs?: number | undefined } | undefined>;
}

/** A configured destination. */
export interface Sink extends Destination {
  readonly name: string;
  readonly batch: BatchBounds;
  /** Limit of one delivery; absent = none: a slow receiver is waited for. Milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** A destination of records. It neither retries nor splits batches; its caller does. */
export interface Destination {
  /** Absent = accepted records are safe, and nothing is sent again. */
  readonly connection?: WatchedConnection | undefined;
  /** Returns why a record is certain to be rejected, known before sending. `nowMs`: Unix time. */
  findRefusal?(record: OutgoingRecord, nowMs: number): Refusal | undefined;
  /**
   * Sends records, and resolves once the receiver has reported the result of each. The same records give the same bytes.
   * Throws `DeliveryError` when the batch failed as a whole. Disposition `dead-letter`: the receiver rejects it permanently,
   * so the caller splits it; otherwise the caller retries the whole batch. `mayBeOfRecords`: the caller splits it once the
   * sink is known to accept other records. `isRepeat`: the sink has accepted these before.
   */
  deliver(records: readonly OutgoingRecord[], signal: AbortSignal, isRepeat?: boolean): Promise<DeliveryReport>;
  /**
   * Like {@link deliver}, for sinks that need only the bytes of records: no objects are created for them; also for repeats.
   * Absent = the sink needs records one by one.
   */
  readonly deliverLines?: ((lines: LineRanges, signal: AbortSignal) => Promise<DeliveryReport>) | undefined;
  /** Tests whether records would be accepted, with a test record marked as such. Throws only when aborted. */
  preflight(fleet: PreflightFleet, signal: AbortSignal): Promise<readonly PreflightFinding[]>;
  /**
   * Checks, without side effects, whether this machine itself prevents delivery; throws `DeliveryError` if so. Absent = only
   * the receiver can tell.
   */
  checkMachine?(): Promise<void>;
  /**
   * Takes what only one agent may use, and keeps it until `release` or `close`; throws `DeliveryError` if another agent has
   * it. Called at the start; `deliver` does the same. Absent = several agents may deliver to the same place.
   */
  claim?(): Promise<void>;
  /** Releases what {@link claim} has taken, for the agent that serves the sink now; the next delivery takes it again. */
  release?(): Promise<void>;
  /** Closes connections and files. Not needed before the first delivery. */
  close(): Promise<void>;
}

/** One sink, the source of its records, and how they are selected. */
export interface DeliveryWorkerOptions<Cursor> {
  /** The sink to deliver to. */
  readonly sink: Sink;
  readonly spool: Spool<Cursor>;
  readonly deadLetters: DeadLetterStorage;
  readonly clock: Clock;
  /** Returns true when the sink gets the records of a log. */
  readonly isWanted: (router: string, component: string) => boolean;
  /** Returns true when the sink gets a record of a wanted log; absent = every record. Requires parsing each record. */
  readonly isSelected?: ((record: ShippedRecord) => boolean) | undefined;
  readonly report: (event: DeliveryEvent) => void;
}

/** Event of a delivery step. */
export type DeliveryEvent =
  /** The sink accepted these; it already had `duplicates` of them. `bytes`: size of the request, 0 when unknown. */
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

/** The next action: step again, wait for records, or step again after a wait so that a batch can fill. */
export type StepOutcome = 'more' | 'idle' | { readonly waitMs: number };

/** Options of one step. */
export interface StepOptions {
  /** True at shutdown: send batches without waiting for them to fill. Default false. */
  readonly isLast?: boolean | undefined;
}

/**
 * - `closed`: the sink is permanently gone.
 * - `unreachable`: the connection failed or broke.
 * - `timeout`: no response within the limit.
 * - `throttled`: the sink asks for a slower rate.
 * - `failed`: the sink reported a temporary failure.
 * - `unauthorized`: the sink rejected the credentials.
 * - `misconfigured`: the address is not that of such a sink, or its certificate is not trusted.
 * - `too_large`: the batch exceeds a limit of the sink.
 * - `refused`: the sink rejects the content of the batch.
 * - `protocol_error`: the response violates the protocol.
 * - `unwritable`: the file cannot be written.
 */
export type DeliveryFailure =
  | 'closed'
  | 'unreachable'
  | 'timeout'
  | 'throttled'
  | 'failed'
  | 'unauthorized'
  | 'misconfigured'
  | 'too_large'
  | 'refused'
  | 'protocol_error'
  | 'unwritable';

interface DeliveryErrorOptions extends CodedErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly answer?: string | undefined;
  /** True when these records may be the cause: if the sink accepts others, they are rejected. Default false. */
  readonly mayBeOfRecords?: boolean | undefined;
  /** True when the connection ended before the answer, perhaps because the batch is too large. Default false. */
  readonly isCutOff?: boolean | undefined;
}

/** An error of the delivery to one sink. */
export class DeliveryError extends CodedError<DeliveryFailure> {
  override readonly name = 'DeliveryError';
  readonly retryAfterMs: number | undefined;
  readonly answer: string | undefined;
  readonly mayBeOfRecords: boolean;
  readonly isCutOff: boolean;

  constructor(code: DeliveryFailure, message: string, options: DeliveryErrorOptions) {
    super(code, message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.answer = options.answer;
    this.mayBeOfRecords = options.mayBeOfRecords ?? false;
    this.isCutOff = options.isCutOff ?? false;
  }

  /** Returns this error as the cause of one with another message. */
  reworded(what: string): DeliveryError {
    const { code, disposition, retryAfterMs, answer } = this;
    return new DeliveryError(code, what, { disposition, retryAfterMs, answer, cause: this });
  }
}
