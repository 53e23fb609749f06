import { packBytes, toPlainBody, unpackLines } from '../../base/index.ts';
import type { ClusterLink, Message } from './link.ts';
import { RECORDS_HEADER, TIME_HEADER } from './record-feed.ts';

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

/** Makes messages of the records of a step: one, or as few as the server takes. */
export function toRecordMessages(
  subject: string,
  { body: packed, records, committedMs }: PackedRecords,
  bytesMax: number,
): Message[] {
  // Replicas of earlier versions read the same stream.
  const body = toPlainBody(packed);
  const time = String(Math.floor(committedMs));
  const toMessage = (payload: Uint8Array, count: number): Message => {
    return { subject, payload, words: [RECORDS_HEADER, String(count), TIME_HEADER, time] };
  };
  if (body.length <= bytesMax) return [toMessage(body, records)];
  const split = (texts: readonly string[]): Message[] => {
    const payload = packBytes(texts.join('\n'));
    if (payload.length <= bytesMax || texts.length === 1) return [toMessage(payload, texts.length)];
    const half = Math.ceil(texts.length / 2);
    return [...split(texts.slice(0, half)), ...split(texts.slice(half))];
  };
  const table = unpackLines(body);
  return split(Array.from({ length: table.length }, (_, index) => table.at(index)?.text ?? ''));
}
