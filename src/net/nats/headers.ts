import type { MsgHdrs } from '@nats-io/transport-node';
import { decodeObject } from '../../base/index.ts';

/**
 * Format of the stored messages of a cluster. From the first release on, a change comes with a conversion from the previous
 * format.
 */
const FORMAT = 1;
const FORMAT_KEY = 'router-exporter-format';

/** Metadata of the streams that a cluster creates. */
export const STREAM_METADATA: Readonly<Record<string, string>> = { [FORMAT_KEY]: String(FORMAT) };

/** Returns what is wrong with the format of a stream, and what to do; `undefined` if this program can read it. */
export function findFormatFault(
  name: string,
  config: object,
): { readonly message: string; readonly hint: string } | undefined {
  const format = decodeObject(Reflect.get(config, 'metadata'))?.[FORMAT_KEY];
  if (format === String(FORMAT)) return undefined;
  const found = typeof format === 'string' ? `the format ${format}` : 'another format';
  return {
    message: `The stream ${name} has ${found}, and this program knows ${FORMAT}; it was left as it is`,
    hint:
      Number(format) > FORMAT
        ? 'Run the version of router-exporter that wrote it, or a later one'
        : 'Let the version that wrote it deliver what it holds, then remove the streams of the cluster, or set another cluster.nats.name, and run router-exporter cluster init',
  };
}

const FIRST_LINE = 'NATS/1.0\r\n';
const END = '\r\n';

/** Message headers: names and values alternately. */
export type HeaderWords = readonly string[];

/** Returns the size of headers on the wire. Bytes. */
export function measureHeaders(words: HeaderWords): number {
  let bytes = FIRST_LINE.length + END.length;
  // A name is followed by a colon and a space, a value by a line end.
  for (const word of words) bytes += Buffer.byteLength(word) + 2;
  return bytes;
}

/**
 * Returns headers for the client library, which only encodes them. Its own class costs more per header than the rest of a
 * message in a batch.
 */
export function toMessageHeaders(words: HeaderWords): MsgHdrs {
  let text = FIRST_LINE;
  for (let index = 0; index < words.length; index += 2) {
    text += `${words[index]}: ${toHeaderValue(words[index + 1] ?? '')}\r\n`;
  }
  return { encode: () => Buffer.from(text + END) } as unknown as MsgHdrs;
}

/** A line end would start another header. */
function toHeaderValue(value: string): string {
  return /[\r\n]/.test(value) ? value.replaceAll(/[\r\n]/g, ' ') : value;
}
