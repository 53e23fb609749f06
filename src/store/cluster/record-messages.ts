import { packBytes, readPackedSize, unpackLines } from '../../base/index.ts';
import type { ClusterLink, Message } from './link.ts';
import { LINES_BYTES_MAX, RECORDS_HEADER, TIME_HEADER } from './record-feed.ts';

/** Allowance for the headers of a message. Bytes. */
const HEADERS_BYTES = 2048;
/** Maximum size of a message where the server has not told it yet. Bytes. */
const PAYLOAD_BYTES = 1024 * 1024;

/** Records of one step of one log. */
export interface PackedRecords {
  /** The records as `packLines` packs them. */
  readonly body: Uint8Array;
  /** Number of the records. */
  readonly records: number;
  /** Wall time of the commit. Milliseconds since the Unix epoch. */
  readonly committedMs: number;
}

/** Returns the size of the largest payload that the server takes. Bytes. */
export function readPayloadMax({ connection }: Pick<ClusterLink, 'connection'>): number {
  return (connection?.info?.max_payload ?? PAYLOAD_BYTES) - HEADERS_BYTES;
}

/** Makes messages of the records of a step: one, or a few as the server takes and readers unpack them. */
export function toRecordMessages(
  subject: string,
  { body, records, committedMs }: PackedRecords,
  bytesMax: number,
): Message[] {
  const time = String(Math.floor(committedMs));
  const toMessage = (payload: Uint8Array, count: number): Message => {
    return { subject, payload, words: [RECORDS_HEADER, String(count), TIME_HEADER, time] };
  };
  // What the codec packs tells its size; a few lines as they are need not.
  if (body.length <= bytesMax && (readPackedSize(body) ?? 0) <= LINES_BYTES_MAX) return [toMessage(body, records)];
  const table = unpackLines(body);
  const split = (from: number, to: number): Message[] => {
    const lines = table.memory.subarray(table.startOf(from), table.endOf(to - 1));
    const isOne = to - from === 1;
    if (lines.length <= LINES_BYTES_MAX || isOne) {
      const payload = packBytes(lines);
      if (payload.length <= bytesMax || isOne) return [toMessage(payload, to - from)];
    }
    const middle = from + Math.ceil((to - from) / 2);
    return [...split(from, middle), ...split(middle, to)];
  };
  return split(0, table.length);
}
