import { crc32 } from 'node:zlib';
import type { LogRecord } from '../model/index.ts';
import type { Row } from './sqlite-file.ts';

/** A record that a sink refused for good, and why. */
export interface RefusedRecord {
  readonly uid: string;
  /** The record as it was stored. */
  readonly line: string;
  /** The sink's own words, or those of a rule that is known to hold there. */
  readonly reason: string;
  /** Status or code with which the sink refused, such as `400`; absent when it was not even asked. */
  readonly code?: string | undefined;
}

/** A dead letter as it is kept. */
export interface StoredLetter extends RefusedRecord {
  /** Rises with every letter; never used twice. */
  readonly id: number;
  readonly sink: string;
  /** Empty when the record does not say. */
  readonly router: string;
  readonly component: string;
  /** Of the record; absent when it has none. */
  readonly timestamp?: string | undefined;
  /** When it was refused: wall time, milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Whether it waits to be tried again. */
  readonly isReplayed: boolean;
}

/** Which letters are meant: those to which all that is named here applies. Without anything: every letter. */
export interface LetterSelection {
  readonly sink?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  /** Refused at least so long ago. Milliseconds. */
  readonly olderThanMs?: number | undefined;
}

/** Sinks quote what they were sent; a reason is cut to this. Characters. */
const REASON_CHARS_MAX = 1000;
/** What a letter takes beside its texts, about. Bytes. */
const LETTER_OVERHEAD_BYTES = 200;

/** The first database format; entries are never changed once released. */
export const LETTER_MIGRATIONS: readonly string[] = [
  // `tally` is kept by triggers, so that neither a metric nor a bound has to look at every letter.
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

export const INSERT_LETTER = `INSERT INTO letter
  (sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line)
  VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The values for {@link INSERT_LETTER}. */
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

/** Whether the record is as it was written: what the disk has changed must not be sent. */
export function isIntact(row: Row): boolean {
  return crc32(String(row['line'])) === row['checksum'];
}

/** The condition of a selection, and the values for it. */
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

/** Where a record comes from. It was written by this program, but nothing here depends on that. */
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
