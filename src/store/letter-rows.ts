import { crc32 } from 'node:zlib';
import type { StoredLetter } from './letters.ts';
import type { Row } from './sqlite-file.ts';

/** Columns of a dead letter in a database, without its number, which every store counts by itself. */
export const LETTER_COLUMNS =
  'sink, uid, at_ms, is_replayed, bytes, checksum, router, component, timestamp, code, reason, line';

/** A letter with its size, as it counts against the limit, and without its number. */
export type UnnumberedLetter = Omit<StoredLetter, 'id'> & { readonly bytes: number };

/** Returns the values of {@link LETTER_COLUMNS}. */
export function toLetterValues(letter: UnnumberedLetter) {
  const { sink, uid, atMs, isReplayed, bytes, router, component, timestamp, code, reason, line } = letter;
  const about = [sink, uid, Math.floor(atMs), isReplayed ? 1 : 0, bytes, crc32(line)] as const;
  return [...about, router, component, timestamp ?? null, code ?? null, reason, line] as const;
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
    ...(!isIntact(row) && { isDamaged: true }),
  };
}

function isIntact(row: Row): boolean {
  return crc32(String(row['line'])) === row['checksum'];
}
