import type { RecordLines } from '../../model/index.ts';
import { parseRecord } from './record-times.ts';

const LINE_FEED = 0x0a;
const WORD_CHARS_MAX = 80;

/** Reads the last of some rendered records, at most `max`: a commit has thousands, and the others need not be decoded. */
export function readLastLines(records: RecordLines, max: number): readonly string[] {
  const { bytes } = records;
  if (!bytes) return [...records].slice(-max);
  let start = bytes.length;
  for (let count = 0; count < max && start > 0; count++) start = bytes.lastIndexOf(LINE_FEED, start - 1);
  return Buffer.from(bytes.subarray(start + 1))
    .toString()
    .split('\n');
}

/** The log file and offset of a record. */
export interface RecordOrigin {
  readonly component: string;
  readonly file: string;
  readonly offset: number;
}

/** Returns the origin of the last of some rendered records; `undefined` when there are none. */
export function findLastOrigin(records: RecordLines): RecordOrigin | undefined {
  if (records.length === 0) return undefined;
  const record = parseRecord(readLastLines(records, 1)[0] ?? '');
  const word = (key: string) => {
    const value = record[key];
    return typeof value === 'string' ? value.slice(0, WORD_CHARS_MAX) : '';
  };
  return { component: word('component'), file: word('file'), offset: Number(record['offset'] ?? 0) };
}
