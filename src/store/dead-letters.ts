import { crc32 } from 'node:zlib';
import type { LogRecord } from '../model/index.ts';
import type { Row } from './sqlite-file.ts';

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
}

/** Selects the letters that match all given conditions; without any, all letters. */
export interface LetterSelection {
  readonly sink?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  /** Minimum time since the rejection, in milliseconds. */
  readonly olderThanMs?: number | undefined;
}

/** Sinks quote what they were sent, so a reason is cut to this many characters. */
const REASON_CHARS_MAX = 1000;
/** Approximate size of a letter besides its texts, in bytes. */
const LETTER_OVERHEAD_BYTES = 200;

/** Schema versions in order; entries are never changed once released. */
export const LETTER_MIGRATIONS: readonly string[] = [
  // Triggers maintain `tally`, so that neither a metric nor a limit has to scan all letters.
  `CREATE TABLE letter (
     id INTEGER PRIMARY KEY AUTOINCREMENT, sink TEXT NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL,
     is_replayed INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, router TEXT NOT NULL,
     component TEXT NOT NULL, timestamp TEXT, code TEXT, reason TEXT NOT NULL, line TEXT NOT NULL,
     UNIQUE (sink, uid)
   ) STRICT;
   CREATE INDEX letter_at ON letter (at_ms);
   CREATE INDEX letter_replayed ON letter (sink, id) WHERE is_replayed = 1;
   CREATE TABLE tally (sink TEXT PRIMARY KEY, letters INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID, STRICT;
   CREATE TRIGGER letter_added AFTER INSERT ON letter BEGIN
     INSERT INTO tally (sink, letters, bytes) VALUES (new.sink, 1, new.bytes)
       ON CONFLICT DO UPDATE SET letters = letters + 1, bytes = bytes + excluded.bytes;
   END;
   CREATE TRIGGER letter_gone AFTER DELETE ON letter BEGIN
     UPDATE tally SET letters = letters - 1, bytes = bytes - old.bytes WHERE sink = old.sink;
     DELETE FROM tally WHERE sink = old.sink AND letters = 0;
   END;`,
];

/** SQL statement that adds a dead letter. */
export const INSERT_LETTER = `INSERT INTO letter
  (sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line)
  VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Returns the values for {@link INSERT_LETTER}. */
export function toValues(sink: string, { uid, line, reason, code }: RefusedRecord, atMs: number) {
  const words = cutReason(reason);
  const bytes = Buffer.byteLength(line) + Buffer.byteLength(words) + LETTER_OVERHEAD_BYTES;
  const { router, component, timestamp } = readOrigin(line);
  return [
    sink,
    uid,
    Math.floor(atMs),
    bytes,
    crc32(line),
    router,
    component,
    timestamp,
    code ?? null,
    words,
    line,
  ] as const;
}

/** Returns the dead letter of a row of the database. */
export function toLetter(row: Row): StoredLetter {
  return {
    id: Number(row['id']),
    sink: String(row['sink']),
    uid: String(row['uid']),
    router: String(row['router']),
    component: String(row['component']),
    timestamp: row['timestamp'] === null ? undefined : String(row['timestamp']),
    atMs: Number(row['at_ms']),
    isReplayed: row['is_replayed'] === 1,
    code: row['code'] === null ? undefined : String(row['code']),
    reason: String(row['reason']),
    line: String(row['line']),
  };
}

/** Returns true if the record is as it was written: data changed by the disk must not be sent. */
export function isIntact(row: Row): boolean {
  return crc32(String(row['line'])) === row['checksum'];
}

/** Returns the SQL condition of a selection and its values. */
export function toCondition({ sink, ids, olderThanMs }: LetterSelection, nowMs: number) {
  const parts: string[] = ['1'];
  const values: (string | number)[] = [];
  if (sink !== undefined) {
    parts.push('sink = ?');
    values.push(sink);
  }
  if (ids !== undefined) {
    parts.push('id IN (SELECT value FROM json_each(?))');
    values.push(JSON.stringify(ids));
  }
  if (olderThanMs !== undefined) {
    parts.push('at_ms <= ?');
    values.push(Math.floor(nowMs - olderThanMs));
  }
  return { where: parts.join(' AND '), values };
}

function cutReason(reason: string): string {
  return reason.length <= REASON_CHARS_MAX ? reason : `${reason.slice(0, REASON_CHARS_MAX - 1).toWellFormed()}…`;
}

/** Reads where a record comes from. This program wrote the record, but nothing here relies on that. */
function readOrigin(line: string): { router: string; component: string; timestamp: string | null } {
  try {
    const record = JSON.parse(line) as Partial<LogRecord> | null;
    const toText = (value: unknown) => (typeof value === 'string' ? value : '');
    const timestamp = record?.timestamp;
    return {
      router: toText(record?.router),
      component: toText(record?.component),
      timestamp: typeof timestamp === 'string' ? timestamp : null,
    };
  } catch {
    return { router: '', component: '', timestamp: null };
  }
}
