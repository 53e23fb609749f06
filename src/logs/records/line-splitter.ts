import { isAscii } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import type { RecordFlag } from '../../model/index.ts';

/** A line as it is in the file. */
export interface RawLine {
  /** Offset of the line, in decompressed bytes. */
  readonly start: number;
  readonly length: number;
  /** Without line feed and NUL bytes; cut to {@link LINE_BYTES_MAX}. */
  readonly bytes: Buffer;
  /** True only if all `bytes` are ASCII; may be false for ASCII. */
  readonly isAscii: boolean;
  readonly nulBytes: number;
  /** The line with its NUL bytes, if not longer than {@link LINE_BYTES_MAX}. */
  readonly raw: Buffer | undefined;
  /** SHA-256 of the whole line as hex, if `bytes` is cut. */
  readonly sha256: string | undefined;
}

/** Longest line kept completely. Devices cut messages at 8 KiB, so a longer line is damage. Bytes. */
export const LINE_BYTES_MAX = 64 * 1024;

const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** Splits chunks into lines. Holds at most {@link LINE_BYTES_MAX} bytes, however long a line is. */
export class LineSplitter {
  #start: number;
  #length = 0;
  /** Without NUL bytes once the line is longer than {@link LINE_BYTES_MAX}. */
  #parts: Buffer[] = [];
  #keptBytes = 0;
  #isAscii = true;
  #nulBytes = 0;
  #hash: Hash | undefined;

  constructor(offset: number) {
    this.#start = offset;
  }

  /** Offset of the unfinished line. All lines before it were emitted. */
  get offset(): number {
    return this.#start;
  }

  get unfinishedBytes(): number {
    return this.#length;
  }

  /**
   * Emits each line that ends in `chunk`, in order, without keeping memory of `chunk`. At each beginning of a line
   * `takeRun` may take lines itself, from `from` in the bytes and `start` in the file; it returns the place of the
   * first line it did not take. Default: none.
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
    // A copy, because chunks are reused, and a small part would keep a whole chunk alive.
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

/** A power cut leaves NUL bytes in blocks that were not written. */
function withoutNul(bytes: Buffer): Buffer {
  if (!bytes.includes(0)) return bytes;
  return Buffer.from(bytes.filter((byte) => byte !== 0));
}

interface Quirks {
  readonly needsOriginal: boolean;
  readonly details: Readonly<Record<string, string | number | null>> | undefined;
}

const NO_QUIRKS: Quirks = { needsOriginal: false, details: undefined };

const CARRIAGE_RETURN = 0x0d;
const UNDERSCORE = 0x5f;

/** Adds flags for unusual bytes of a line, and returns the additions to its record. */
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

/** Removes a carriage return, which belongs to the line end. */
export function withoutCarriageReturn(bytes: Buffer): Buffer {
  return bytes.length > 0 && bytes[bytes.length - 1] === CARRIAGE_RETURN ? bytes.subarray(0, -1) : bytes;
}

export function isEmptyLine(line: RawLine): boolean {
  return line.length === 0 || (line.length === 1 && line.bytes[0] === CARRIAGE_RETURN);
}

/** True if the log daemon broke a UTF-8 character: it writes `_` for bytes 0x80 to 0x9F, here after a lead byte. */
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

function lengthOfLetter(byte: number): number {
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  return byte >= 0xf0 && byte <= 0xf4 ? 4 : 0;
}

function isContinuation(byte: number): boolean {
  return byte >= 0x80 && byte <= 0xbf;
}
