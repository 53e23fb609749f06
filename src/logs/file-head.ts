import { hash } from 'node:crypto';
import { JOINED_BYTES_MAX } from './lines/entry.ts';
import { parseLine } from './lines/parse-line.ts';
import type { StampContext } from './time/stamp.ts';

/** Facts from the beginning of a file. */
export interface Head {
  /** SHA-256 up to the end of the first line with a stamp, as hex. NUL bytes before that line do not count. */
  readonly key: string;
  /** Wall time of that line; `undefined` when no line of the head carries a stamp. */
  readonly firstWallAsUtcMs: number | undefined;
}

/** Limit of the search for the first line with a stamp, and of the bytes that a file's key covers. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Lines without a stamp that a file may begin with behind a rotation: the rest of one record. */
const CUT_RECORD_BYTES_MAX = JOINED_BYTES_MAX;
/** Stamp and tag of a line stand within this many bytes. */
const STAMP_BYTES_MAX = 256;
/** Beginnings of files that a power cut has left as NUL bytes are passed over up to here. */
const NUL_BYTES_MAX = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** The bytes of a file until its first line with a stamp is known, however small the pieces are in which they come. */
export class HeadBuffer {
  #memory: Buffer = EMPTY;
  /** False while the memory is that of the only chunk. */
  #isOwn = false;
  #length = 0;
  /** NUL bytes in front of all others. */
  #nulBytes = 0;
  /** Length at the last look. */
  #seenBytes = 0;

  /** Bytes so far. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** True if bytes have come since the last look. */
  get hasUnseen(): boolean {
    return this.#length > this.#seenBytes;
  }

  /** True if a look may find more than the last one, and all looks together do not take much longer than one at the end. */
  get isWorthALook(): boolean {
    if (this.#nulBytes === this.#length && this.#length < NUL_BYTES_MAX) return false;
    return this.#length - this.#nulBytes >= 2 * Math.max(0, this.#seenBytes - this.#nulBytes);
  }

  /** Adds a chunk, which is not copied if it stays the only one. */
  push(chunk: Uint8Array): void {
    const end = this.#length + chunk.length;
    if (this.#nulBytes === this.#length) this.#nulBytes += countNulBytes(chunk);
    if (this.#length === 0) this.#memory = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    else {
      if (end > this.#memory.length || !this.#isOwn) this.#grow(end);
      this.#memory.set(chunk, this.#length);
    }
    this.#length = end;
  }

  /** Returns what there is to look at. */
  look(): { readonly bytes: Buffer; readonly nulBytes: number } {
    this.#seenBytes = this.#length;
    return { bytes: this.bytes, nulBytes: this.#nulBytes };
  }

  /** Forgets all bytes: the file goes on behind them. */
  clear(): void {
    this.#memory = EMPTY;
    this.#isOwn = false;
    [this.#length, this.#nulBytes, this.#seenBytes] = [0, 0, 0];
  }

  #grow(needed: number): void {
    const memory = Buffer.allocUnsafeSlow(Math.max(2 * needed, HEAD_BYTES_MAX));
    memory.set(this.bytes, 0);
    this.#memory = memory;
    this.#isOwn = true;
  }
}

/**
 * Finds the first line with a stamp behind `nulBytes`. `undefined` while more of the file is needed; `isWhole` when there is none and the
 * last line ends with the file.
 */
export function findHead(bytes: Buffer, nulBytes: number, isWhole: boolean, context: StampContext): Head | undefined {
  const isNul = nulBytes === bytes.length;
  if (isNul && !isWhole && bytes.length < NUL_BYTES_MAX) return undefined;
  const head = isNul ? bytes : bytes.subarray(nulBytes);
  const found = findKeyBytes(head, isWhole, context);
  if (!found) return undefined;
  const key = hash('sha256', head.subarray(0, found.length));
  return { key, firstWallAsUtcMs: found.firstWallAsUtcMs };
}

/**
 * Finds the wall time of the first line with a stamp in a file whose head has none: a rotation may have cut a record of many
 * lines. `more` while more of the file is needed; `none` when the rest of one record would be shorter.
 */
export function findLateStamp(
  bytes: Buffer,
  nulBytes: number,
  isWhole: boolean,
  context: StampContext,
): number | 'more' | 'none' {
  if (nulBytes === bytes.length) return 'none';
  const found = findStampedLine(bytes.subarray(nulBytes), CUT_RECORD_BYTES_MAX, isWhole, context);
  return typeof found === 'string' ? found : found.wallAsUtcMs;
}

/** Returns the number of NUL bytes in front of all others. */
export function countNulBytes(bytes: Uint8Array): number {
  let count = 0;
  while (bytes[count] === 0) count++;
  return count;
}

/** The beginning of a page or of a JSON body, which some devices send with status 200 when they mean an error. */
export function looksForeign(head: Buffer): boolean {
  return /^\s*[<{]/.test(head.toString('latin1', 0, 64));
}

function findKeyBytes(head: Buffer, isWhole: boolean, context: StampContext) {
  const first = findStampedLine(head, HEAD_BYTES_MAX, isWhole, context);
  if (first === 'more') return undefined;
  if (first !== 'none') return { length: Math.min(first.end, HEAD_BYTES_MAX), firstWallAsUtcMs: first.wallAsUtcMs };
  if (head.length >= HEAD_BYTES_MAX) return { length: HEAD_BYTES_MAX, firstWallAsUtcMs: undefined };
  return isWhole && head.length > 0 ? { length: head.length, firstWallAsUtcMs: undefined } : undefined;
}

/** Finds the first line with a stamp that begins within `bytesMax`: its time, and where it ends. */
function findStampedLine(head: Buffer, bytesMax: number, isWhole: boolean, context: StampContext) {
  let from = 0;
  while (from < bytesMax) {
    const end = head.indexOf(LINE_FEED, from);
    const isUnterminated = end < 0;
    // Of a line that is longer than the head, the beginning is enough; but as much of it as any chunk would have brought.
    if (isUnterminated && !isWhole && head.length < bytesMax + STAMP_BYTES_MAX) return 'more';
    const stop = isUnterminated ? head.length : end;
    const { time } = parseLine(head.toString('utf8', from, Math.min(stop, from + STAMP_BYTES_MAX)), context);
    if (time) return { wallAsUtcMs: time.asUtcMs, end: isUnterminated ? stop : stop + 1 };
    if (isUnterminated) break;
    from = end + 1;
  }
  return 'none';
}
