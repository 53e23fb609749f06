import { decodeObject, parseJson, readString } from '../base/index.ts';
import type { Completion } from '../model/index.ts';

/** A record permanently rejected by a sink, and the reason. */
export interface RefusedRecord {
  readonly uid: string;
  /** The record as stored. */
  readonly line: string;
  /** The sink's own error text, or the rule known to apply to it. */
  readonly reason: string;
  /** Status or code of the rejection, such as `400`; absent if the record was not sent. */
  readonly code?: string | undefined;
}

/** A stored dead letter. */
export interface StoredLetter extends RefusedRecord {
  /** Increases with every letter and is never reused. */
  readonly id: number;
  readonly sink: string;
  /** Empty if the record does not contain it. */
  readonly router: string;
  readonly component: string;
  /** Timestamp of the record; absent if it has none. */
  readonly timestamp?: string | undefined;
  /** Time of the rejection: wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** True if the letter is marked for replay. */
  readonly isReplayed: boolean;
  /** True if the record is not as it was written: data changed by the disk must not be sent. Default false. */
  readonly isDamaged?: boolean | undefined;
}

/** Selects the letters that match all given conditions; without any, all letters. */
export interface LetterSelection {
  readonly sink?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  /** Minimum time since the rejection, in milliseconds. */
  readonly olderThanMs?: number | undefined;
}

/** Selects dead letters, and sets their order. */
export interface ListOptions {
  /** Sink whose letters are listed. Default: all sinks. */
  readonly sink?: string | undefined;
  /** Maximum number of letters in one answer; at most 10,000. */
  readonly limit: number;
  /** Order of the letters. Default `newest` first. */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** `id` of the last letter of the previous page; the answer continues after it. Default: start at the beginning. */
  readonly afterId?: number | undefined;
}

/** Limits of one reading of letters that are tried again. */
export interface LetterBounds {
  readonly recordsMax: number;
  /** Size of the records; a larger one is given alone. Bytes. */
  readonly bytesMax: number;
}

/** A result that a store on disk has at once and one in an engine later. */
export type Soon<T> = T | Promise<T>;

/**
 * Records permanently rejected by sinks: on the disk of one machine (`DeadLetterStore`), or shared by the replicas of a cluster
 * (`ClusterLetters`). What the one throws, the other may reject with; all of it is `StoreError`.
 */
export interface DeadLetters {
  /** Stores the records that a sink rejected, then removes the letters `taken`, which it has now accepted. Durable at the end. */
  add(sink: string, refused: readonly RefusedRecord[], taken?: readonly number[]): Completion;
  /** Adds letters of another store as they are, except those that are here already. Returns the number of the added ones. */
  addMoved(letters: readonly StoredLetter[]): Soon<number>;
  /** Returns the letters of a sink that are marked for replay, oldest first. */
  readReplayed(sink: string, bounds: LetterBounds): Soon<readonly StoredLetter[]>;
  /** Returns letters in the order in which they were rejected. */
  list(options: ListOptions): Soon<readonly StoredLetter[]>;
  get(id: number): Soon<StoredLetter | undefined>;
  /** Marks letters for replay, ahead of new records for their sink; returns their number. */
  markReplay(selection: LetterSelection): Soon<number>;
  /** Drops letters permanently; returns their number. */
  drop(selection: LetterSelection): Soon<number>;
  /** Drops letters older than the retention. */
  expire(nowMs: number): Completion;
  /** Returns the number of letters of a sink, or of all sinks. */
  count(sink?: string): number;
  /** Returns the number of letters by sink; sinks without letters are omitted. */
  counts(): Map<string, number>;
  /** Size of all letters, as counted against the limit. */
  readonly bytes: number;
  /** Ends the use of the letters. */
  close(): Completion;
}

/** Default size of all letters together. Bytes. */
export const LETTERS_BYTES_MAX = 64 * 1024 * 1024;
/** Default retention of a letter. Milliseconds. */
export const LETTERS_KEEP_MS = 30 * 86_400_000;
/** Letters in one answer at most. */
export const LETTER_LIST_MAX = 10_000;
/** Sinks quote what they were sent, so a reason is cut to this many characters. */
const REASON_CHARS_MAX = 1000;
/** Approximate size of a letter besides its texts, in bytes. */
const LETTER_OVERHEAD_BYTES = 200;

/** Returns what is stored of a rejected record; `bytes`: as it counts against the limit. */
export function toLetterFields({ uid, line, reason, code }: RefusedRecord) {
  const words = cutReason(reason);
  return { uid, line, reason: words, code, bytes: measureLetter({ line, reason: words }), ...readOrigin(line) };
}

/** Size of a letter as it counts against the limit. Bytes. */
export function measureLetter({ line, reason }: Pick<RefusedRecord, 'line' | 'reason'>): number {
  return Buffer.byteLength(line) + Buffer.byteLength(reason) + LETTER_OVERHEAD_BYTES;
}

function cutReason(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX - 1).toWellFormed()}…`;
}

/** Reads where a record comes from. This program wrote the record, but nothing here relies on that. */
function readOrigin(line: string): { router: string; component: string; timestamp: string | undefined } {
  const record = decodeObject(parseJson(line)) ?? {};
  return {
    router: readString(record, 'router') ?? '',
    component: readString(record, 'component') ?? '',
    timestamp: readString(record, 'timestamp'),
  };
}
