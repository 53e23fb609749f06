import { decodeObject, parseJson, readString } from '../../base/index.ts';
import type { Completion, Soon } from './contracts.ts';

/** A record that a sink rejected permanently, with the reason. */
export interface RefusedRecord {
  readonly uid: string;
  readonly line: string;
  /** The sink's error text, or the rule that applies. */
  readonly reason: string;
  /** Status or code of the rejection, such as `400`; absent if the record was not sent. */
  readonly code?: string | undefined;
}

/** A dead letter as stored. */
export interface StoredDeadLetter extends RefusedRecord {
  /** Increasing, never reused. */
  readonly id: number;
  readonly sink: string;
  /** Empty if the record does not contain it. */
  readonly router: string;
  readonly component: string;
  readonly timestamp?: string | undefined;
  /** Time of the rejection: wall time in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly isReplayed: boolean;
  /** True if the disk changed the record: it must not be sent. Default false. */
  readonly isDamaged?: boolean | undefined;
}

/** Selects the dead letters that match all given conditions; all of them without any. */
export interface DeadLetterSelection {
  readonly sink?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  /** Minimum time since the rejection, in milliseconds. */
  readonly olderThanMs?: number | undefined;
}

/** Selects and sorts dead letters. */
export interface ListOptions {
  /** Default: all sinks. */
  readonly sink?: string | undefined;
  /** At most {@link DEAD_LETTER_LIST_MAX}. */
  readonly limit: number;
  /** Default `newest` first. */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** `id` of the last one of the previous page. Default: start at the beginning. */
  readonly afterId?: number | undefined;
}

/** Limits of one read of dead letters for replay. */
export interface DeadLetterBounds {
  readonly recordsMax: number;
  /** In bytes; a larger record is returned alone. */
  readonly bytesMax: number;
}

/** Records permanently rejected by sinks. All errors are `StoreError`, thrown by an embedded store or rejected by a cluster store. */
export interface DeadLetters {
  /** Stores rejected records, then removes those in `taken`, which the sink has now accepted. Durable on return. */
  add(sink: string, refused: readonly RefusedRecord[], taken?: readonly number[]): Completion;
  /** Adds dead letters of another store unchanged, except those that exist here. Returns the number added. */
  addMoved(letters: readonly StoredDeadLetter[]): Soon<number>;
  /** Returns those of a sink that are marked for replay, oldest first. */
  readReplayed(sink: string, bounds: DeadLetterBounds): Soon<readonly StoredDeadLetter[]>;
  /** Lists in the order of rejection. */
  list(options: ListOptions): Soon<readonly StoredDeadLetter[]>;
  get(id: number): Soon<StoredDeadLetter | undefined>;
  /** Marks for replay, ahead of new records for their sink; returns their number. */
  markReplay(selection: DeadLetterSelection): Soon<number>;
  /** Deletes permanently; returns their number. */
  drop(selection: DeadLetterSelection): Soon<number>;
  /** Drops those older than the retention. */
  expire(nowMs: number): Completion;
  count(sink?: string): number;
  /** Counts by sink; sinks without any are omitted. */
  counts(): Map<string, number>;
  /** As counted against the limit. */
  readonly bytes: number;
  close(): Completion;
}

/** A dead letter without its number; `bytes` as counted against the limit. */
export type UnnumberedDeadLetter = Omit<StoredDeadLetter, 'id'> & { readonly bytes: number };

/** Default limit of all dead letters together. Bytes. */
export const DEAD_LETTERS_BYTES_MAX = 64 * 1024 * 1024;
/** Default retention. Milliseconds. */
export const DEAD_LETTERS_KEEP_MS = 30 * 86_400_000;
/** Dead letters in one answer. */
export const DEAD_LETTER_LIST_MAX = 10_000;
/** Sinks quote what they were sent. Characters. */
const REASON_CHARS_MAX = 1000;
/** Approximate size of a dead letter besides its texts. Bytes. */
const LETTER_OVERHEAD_BYTES = 200;

/** Returns what is stored of a rejected record; `bytes` as counted against the limit. */
export function toDeadLetterFields({ uid, line, reason, code }: RefusedRecord) {
  const words = cutReason(reason);
  return { uid, line, reason: words, code, bytes: measureDeadLetter({ line, reason: words }), ...readOrigin(line) };
}

/** Size as counted against the limit. Bytes. */
export function measureDeadLetter({ line, reason }: Pick<RefusedRecord, 'line' | 'reason'>): number {
  return Buffer.byteLength(line) + Buffer.byteLength(reason) + LETTER_OVERHEAD_BYTES;
}

function cutReason(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX - 1).toWellFormed()}…`;
}

/** This program wrote the record, but nothing here relies on that. */
function readOrigin(line: string): { router: string; component: string; timestamp: string | undefined } {
  const record = decodeObject(parseJson(line)) ?? {};
  return {
    router: readString(record, 'router') ?? '',
    component: readString(record, 'component') ?? '',
    timestamp: readString(record, 'timestamp'),
  };
}
