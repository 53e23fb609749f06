import { isAscii } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import type { RecordFlag } from '../../model/index.ts';

/** A whole line as it stands in the file. */
export interface RawLine {
  /** Offset of the line, in decompressed bytes. */
  readonly start: number;
  /** Bytes of the line in the file, without the line feed. */
  readonly length: number;
  /** Without line feed and NUL bytes; the head only when the line is longer than {@link LINE_BYTES_MAX}. */
  readonly bytes: Buffer;
  /** True if all of `bytes` is ASCII. May be false although it is. */
  readonly isAscii: boolean;
  /** NUL bytes that were cut out. */
  readonly nulBytes: number;
  /** The line with its NUL bytes, as long as it is no longer than {@link LINE_BYTES_MAX}. */
  readonly raw: Buffer | undefined;
  /** SHA-256 of the whole line as hex, when `bytes` is only its head. */
  readonly sha256: string | undefined;
}

/** Longest line that is kept whole; the device cuts messages at 8 KiB, so a longer one is damage. Bytes. */
export const LINE_BYTES_MAX = 64 * 1024;

const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** Cuts a stream of chunks at its line feeds. Holds at most {@link LINE_BYTES_MAX} bytes, however long a line is. */
export class LineSplitter {
  /** Offset of the line that has no end yet. */
  #start: number;
  /** Bytes of the line that has no end yet, kept or not. */
  #length = 0;
  /** The line so far: as it is, or from {@link LINE_BYTES_MAX} on without its NUL bytes. */
  #parts: Buffer[] = [];
  #keptBytes = 0;
  #isAscii = true;
  #nulBytes = 0;
  /** Over all of a line that is longer than what is kept. */
  #hash: Hash | undefined;

  /** `offset`: place of the first byte that will be pushed. */
  constructor(offset: number) {
    this.#start = offset;
  }

  /** Offset of the line that has no end yet; everything before it has been handed out. */
  get offset(): number {
    return this.#start;
  }

  /** Bytes of the line that has no end yet. */
  get unfinishedBytes(): number {
    return this.#length;
  }

  /**
   * Hands each line that ends in `chunk` to `onLine`, in order. Nothing of the memory of `chunk` is kept. `takeRun` is asked
   * first where a line begins: it takes lines itself, the first of which begins at `from` in the bytes and at `start` in the
   * file, and returns where in the bytes the first one begins that it did not take. Default: it takes none.
   */
  push(
    chunk: Uint8Array,
    onLine: (line: RawLine) => void,
    takeRun: (bytes: Buffer, from: number, start: number) => number = (_, from) => from,
  ): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let from = 0;
    for (;;) {
      if (this.#length === 0) {
        const to = takeRun(bytes, from, this.#start);
        this.#start += to - from;
        from = to;
      }
      const end = bytes.indexOf(LINE_FEED, from);
      if (end < 0) break;
      this.#keep(bytes.subarray(from, end));
      this.#emit(onLine, 1);
      from = end + 1;
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  /** Hands out the unterminated rest, if there is one: only for a file that is known to be complete. */
  finish(onLine: (line: RawLine) => void): void {
    if (this.#length > 0) this.#emit(onLine, 0);
  }

  #keep(bytes: Buffer): void {
    this.#length += bytes.length;
    this.#isAscii &&= isAscii(bytes);
    if (!this.#hash && this.#length > LINE_BYTES_MAX) {
      this.#hash = createHash('sha256');
      const parts = this.#parts;
      this.#parts = [];
      this.#keptBytes = 0;
      for (const part of parts) this.#keepHead(part);
    }
    if (this.#hash) this.#keepHead(bytes);
    // A copy: the memory of chunks may be filled with others, and a small part would keep all of one alive.
    else this.#parts.push(Buffer.from(bytes));
  }

  #keepHead(bytes: Buffer): void {
    this.#hash?.update(bytes);
    const rest = withoutNul(bytes);
    this.#nulBytes += bytes.length - rest.length;
    const kept = rest.subarray(0, LINE_BYTES_MAX - this.#keptBytes);
    if (kept.length === 0) return;
    this.#parts.push(Buffer.from(kept));
    this.#keptBytes += kept.length;
  }

  #emit(onLine: (line: RawLine) => void, lineEndBytes: number): void {
    const [first = EMPTY] = this.#parts;
    const joined = this.#parts.length > 1 ? Buffer.concat(this.#parts) : first;
    const start = this.#start;
    const length = this.#length;
    const bytes = this.#hash ? joined : withoutNul(joined);
    const nulBytes = this.#hash ? this.#nulBytes : joined.length - bytes.length;
    const isCut = bytes.length + nulBytes < length;
    this.#start += length + lineEndBytes;
    const line = {
      start,
      length,
      bytes,
      isAscii: this.#isAscii,
      nulBytes,
      raw: nulBytes > 0 && !this.#hash ? joined : undefined,
      sha256: isCut ? this.#hash?.digest('hex') : undefined,
    };
    this.#parts = [];
    this.#length = 0;
    this.#keptBytes = 0;
    this.#isAscii = true;
    this.#nulBytes = 0;
    this.#hash = undefined;
    onLine(line);
  }
}

/** Runs of NUL bytes are what a power cut leaves of blocks that never reached the disk. */
function withoutNul(bytes: Buffer): Buffer {
  if (!bytes.includes(0)) return bytes;
  return Buffer.from(bytes.filter((byte) => byte !== 0));
}

/** Additions to a record whose line has unusual bytes. */
interface Quirks {
  /** True if the message is not the text of the bytes. */
  readonly needsOriginal: boolean;
  readonly details: Readonly<Record<string, string | number | null>> | undefined;
}

/** Those of a usual line. */
const NO_QUIRKS: Quirks = { needsOriginal: false, details: undefined };

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
