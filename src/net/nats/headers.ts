import type { MsgHdrs } from '@nats-io/transport-node';

const FIRST_LINE = 'NATS/1.0\r\n';
const END = '\r\n';

/** Headers of a message, as names and values in turn. */
export type HeaderWords = readonly string[];

/** Returns the size of headers on the wire. Bytes. */
export function measureHeaders(words: HeaderWords): number {
  let bytes = FIRST_LINE.length + END.length;
  // Behind each name there is a colon and a blank, behind each value a line end.
  for (const word of words) bytes += Buffer.byteLength(word) + 2;
  return bytes;
}

/**
 * Returns headers for the client library, which only encodes them. Its own class takes longer for a header than everything else
 * for a message of a batch.
 */
export function toMessageHeaders(words: HeaderWords): MsgHdrs {
  let text = FIRST_LINE;
  for (let index = 0; index < words.length; index += 2) {
    text += `${words[index]}: ${toHeaderValue(words[index + 1] ?? '')}\r\n`;
  }
  return { encode: () => Buffer.from(text + END) } as unknown as MsgHdrs;
}

/** A line end would begin another header. */
function toHeaderValue(value: string): string {
  return /[\r\n]/.test(value) ? value.replaceAll(/[\r\n]/g, ' ') : value;
}
