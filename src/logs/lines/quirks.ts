import type { RecordFlag } from '../../model/index.ts';
import type { RawLine } from './line-splitter.ts';

/** Additions to a record whose line has unusual bytes. */
export interface Quirks {
  /** True if the message is not the text of the bytes. */
  readonly needsOriginal: boolean;
  readonly details: Readonly<Record<string, string | number | null>> | undefined;
}

/** Those of a usual line. */
export const NO_QUIRKS: Quirks = { needsOriginal: false, details: undefined };

const CARRIAGE_RETURN = 0x0d;
const UNDERSCORE = 0x5f;

/** Marks what is unusual about the bytes of a line, and gives what has to go along with them. */
export function describeQuirks(line: RawLine, body: Buffer, text: string, flags: RecordFlag[]): Quirks {
  if (line.isAscii && line.nulBytes === 0 && line.sha256 === undefined) return NO_QUIRKS;
  const isLossy = !line.isAscii && text.includes('\uFFFD') && !Buffer.from(text, 'utf8').equals(body);
  if (line.sha256 !== undefined) flags.push('truncated');
  if (line.nulBytes > 0) flags.push('nul');
  if (isLossy) flags.push('lossy');
  if (!line.isAscii && isScrambled(body)) flags.push('device_scrambled');
  const details = {
    ...(line.sha256 !== undefined && { bytes: line.length, sha256: line.sha256 }),
    ...(line.nulBytes > 0 && { nul_bytes: line.nulBytes }),
  };
  const hasDetails = line.sha256 !== undefined || line.nulBytes > 0;
  return { needsOriginal: isLossy || line.nulBytes > 0, details: hasDetails ? details : undefined };
}

/** Returns the bytes of a line as the router sent them, without its line end. */
export function toOriginal({ raw, bytes }: RawLine): Buffer {
  return withoutCarriageReturn(raw ?? bytes);
}

/** A carriage return at the end of a line belongs to the line end and not to the line. */
export function withoutCarriageReturn(bytes: Buffer): Buffer {
  return bytes.length > 0 && bytes[bytes.length - 1] === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
}

/** True if a line has no bytes besides its line end. */
export function isEmptyLine(line: RawLine): boolean {
  return line.length === 0 || (line.length === 1 && line.bytes[0] === CARRIAGE_RETURN);
}

/**
 * Returns true if the log daemon broke a UTF-8 character (it writes `_` for the bytes 0x80 to 0x9F): a lead byte that
 * is followed by `_` where a byte of its letter should be.
 */
function isScrambled(bytes: Uint8Array): boolean {
  for (let index = bytes.indexOf(UNDERSCORE); index >= 0; index = bytes.indexOf(UNDERSCORE, index + 1)) {
    for (let back = 1; back <= 3; back++) {
      const byte = bytes[index - back] ?? 0;
      if (lengthOfLetter(byte) > back) return true;
      if (!isContinuation(byte) && byte !== UNDERSCORE) break;
    }
  }
  return false;
}

/** Bytes of the letter that begins with this one; 0 for a byte that begins none. */
function lengthOfLetter(byte: number): number {
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}
