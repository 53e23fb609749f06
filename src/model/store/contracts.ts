import { CodedError, type LineRanges } from '../../base/index.ts';

/** A result that an embedded store returns at once and a cluster store later. */
export type Soon<T> = T | Promise<T>;

/** The end of a call: an embedded store is done on return, and throws; a cluster store resolves or rejects later. Always await it. */
export type Completion = Soon<void>;

/** Rendered records without line feeds. */
export interface RecordLines extends Iterable<string> {
  readonly length: number;
  /** All records in UTF-8, separated by line feeds, if available. The memory is not written to any more, so a receiver may keep it. */
  readonly bytes?: Buffer | undefined;
  /** All records packed by `packLines`, if another thread has done that. */
  readonly packed?: Uint8Array | undefined;
}

/**
 * The pseudo log of the events of a router: its records are the events, its position is the journal of the router, a text that
 * only `agent` reads. Logs of routers have other names.
 */
export const EVENTS_LOG = '';

/** The records of one step of one log, and the log's position after it. */
export interface LogCommit {
  readonly router: string;
  /** {@link EVENTS_LOG} for events of the router. */
  readonly component: string;
  /** Text that only `logs` reads. */
  readonly position: string;
  readonly lines: RecordLines;
}

/** Facts learnt about a router, as text that only `logs` reads. */
export interface FactsCommit {
  readonly router: string;
  readonly facts: string;
}

/** Limits of one read from the spool. */
export interface SliceBounds {
  readonly recordsMax: number;
  /** Decompressed size in bytes; a larger record is returned alone. */
  readonly bytesMax: number;
  /** Returns true if the sink wants a log. Records of other logs are skipped unread. */
  readonly isWanted: (router: string, component: string) => boolean;
}

/** The next records for a sink, in commit order. */
export interface Slice<Cursor> {
  /** Empty if the sink wants none of the examined records. */
  readonly lines: LineRanges;
  readonly next: Cursor;
  /** Commit time of the oldest of `lines`: wall time in milliseconds since the Unix epoch. */
  readonly oldestMs: number;
  /** True if a limit ended the slice: there may be more. */
  readonly isFull: boolean;
  /** Records of logs that the sink does not want. */
  readonly skipped: number;
  /** True for a redelivery of records that the sink accepted before and may have lost. */
  readonly isRepeat: boolean;
}

/**
 * - `full`: the spool or the disk is full.
 * - `share`: the waiting records of a router fill its share of the spool.
 * - `unwritable`: the disk rejects writes (read-only or failing), or the cluster does not answer.
 * - `too-long`: a value exceeds its limit.
 * - `locked`: another process holds the files.
 * - `damaged`: damaged data was removed; retry after reading positions again.
 * - `absent`: the file does not exist and was not to be created.
 * - `broken`: the database failed.
 * - `fenced`: another replica has moved the log or the cursor since it was read here.
 * - `format`: the cluster's stream has an unknown format and is not touched.
 */
type StoreFailure =
  | 'full'
  | 'share'
  | 'unwritable'
  | 'too-long'
  | 'locked'
  | 'damaged'
  | 'absent'
  | 'broken'
  | 'fenced'
  | 'format';

/** A failure of durable state. */
export class StoreError extends CodedError<StoreFailure> {
  override readonly name = 'StoreError';
}

/** Share of the spool that must be free before reading resumes, so that a single record does not start and stop a fleet. */
export const RESUME_SHARE = 0.1;

/** A configured sink, and where a new one starts: at the oldest spooled record, or after the newest. */
export interface SinkStart {
  readonly name: string;
  readonly start: 'oldest' | 'newest';
  /** Period whose records may be redelivered, because the sink may lose what it accepted. Milliseconds; default 0: none. */
  readonly replayMs?: number | undefined;
}

/** Returns true if a sink wants a log. Batches of an unknown log, as after damage, are always wanted. */
export type LogChoice = (router: string, component: string) => boolean;

/** A position in the spool: everything before `index` of batch `batch` is settled. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

/**
 * Positions, facts, values and record queue of the routers of this process: on its disk (`EmbeddedStore`), or shared by the replicas of a
 * cluster (`ClusterStore`). All errors are `StoreError`, thrown or rejected. Reads never wait: they return what {@link openRouter} loaded
 * and what was written since.
 */
export interface Store {
  /** True while the store could not be opened since the start. */
  readonly isWaiting: boolean;
  /** Records that at least one sink has yet to get; bytes as stored. */
  readonly spooled: { readonly records: number; readonly bytes: number };

  /** Loads the state of a router before its first run here, and again after a `fenced` commit. */
  openRouter(router: string): Completion;
  /** Waits for pending work on a router, then unloads its state: another replica may run it. */
  closeRouter(router: string): Completion;
  readPositions(router: string): Map<string, string>;
  readFacts(router: string): string | undefined;
  /** Deletes the positions of logs. Records that wait for sinks stay. */
  forgetLogs(router: string, components: readonly string[]): Completion;
  /**
   * Adds records, advances the positions of their logs and stores facts, atomically; all commits are of one router. The records are read
   * before the call returns. `full`, `share`, `unwritable` and `fenced` change nothing; `damaged`: the position was lost since it was
   * read.
   */
  commit(...commits: (LogCommit | FactsCommit)[]): Completion;
  /** True if a router that was refused with `share` may add records again. */
  hasShare(router: string): boolean;
  /** Sets the configured routers; resolves with those whose state is removed after a week without configuration. One call at a time. */
  keepRouters(configured: readonly string[], nowMs: number): Promise<string[]>;
  readValue(router: string, key: string): string | undefined;
  /** Replaces a value; `too-long` above 16 Ki characters. */
  writeValue(router: string, key: string, text: string): Completion;

  /** Sets the sinks. The cursor of a removed sink is dropped, with the records that only it was waiting for. */
  setSinks(sinks: readonly SinkStart[]): Completion;
  /** False while another replica serves the sink, or may. Absent without a cluster. */
  serves?(sink: string): boolean;
  /** True while the sink moves to another replica: finish what was begun, begin nothing new. Absent without a cluster. */
  isLeaving?(sink: string): boolean;
  /** Changes when another replica may have served the sink since. Absent without a cluster. */
  termOf?(sink: string): number;
  /** Returns the next records for a sink; `undefined` if there are none. */
  readSlice(sink: string, bounds: SliceBounds): Slice<SpoolCursor> | undefined;
  /** Moves the cursor of a sink past settled records, never back. */
  acknowledge(sink: string, cursor: SpoolCursor): Completion;
  /** Redelivers, ahead of new records, what a sink accepted in its `replayMs` before `endedMs`, or before its last records. */
  repeat(sink: string, endedMs?: number): Completion;
  /** Counts the records of wanted logs that a sink has yet to acknowledge. */
  countWaiting(sink: string, isWanted?: LogChoice): number;
  /** Commit time of the oldest record that a sink has yet to acknowledge. Wall time in milliseconds since the Unix epoch. */
  oldestWaitingMs(sink: string, isWanted?: LogChoice): number | undefined;

  /** Throws what {@link commit} would reject with because of the disk or the cluster, as far as known. Ignores free space in the spool. */
  checkWritable(): void;
  close(): Completion;
}

/** Values are small, and are read and written as a whole. Characters. */
export const VALUE_CHARS_MAX = 16 * 1024;

/** Returns the error for a value above {@link VALUE_CHARS_MAX}. */
export function toValueTooLong({ length }: string): StoreError {
  const message = `A value has ${length} characters; the limit is ${VALUE_CHARS_MAX}`;
  return new StoreError('too-long', message, { disposition: 'skip' });
}
