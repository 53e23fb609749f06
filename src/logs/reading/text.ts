import { isUtf8 } from 'node:buffer';
import type { RawLine } from '../records/line-splitter.ts';
import { findEmbeddedLine, toRawLine } from '../records/parse-line.ts';
import { findStampEnd } from '../time/stamp.ts';

/** Bytes needed to detect the format. */
export const SNIFF_BYTES = 10;

type ArchiveFormat = 'bzip2' | 'gzip' | 'zstd' | 'text';

type Sniffed =
  | { readonly kind: 'format'; readonly format: ArchiveFormat }
  | { readonly kind: 'truncated' }
  | { readonly kind: 'unsupported'; readonly name: string };

const BLOCK_MARK = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] as const;
const STREAM_END_MARK = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90] as const;
const BZIP2_HEADER = [0x42, 0x5a, 0x68] as const;
/** Offset of the level (`1` to `9`) in a bzip2 file. */
const LEVEL_OFFSET = 3;
const BZIP2_BYTES = 10;
/** Matching bytes needed of the ten that start a bzip2 file. Text matches in a few, a damaged archive in most. */
const BZIP2_BYTES_LIKE = 7;
const GZIP = [0x1f, 0x8b, 0x08] as const;
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd] as const;
const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] as const;
const COMPRESS = [0x1f, 0x9d] as const;

/**
 * Detects the format by content, because names and media types are unreliable. `head`: the first {@link SNIFF_BYTES}
 * bytes, or all. A signature damaged in a few bits still counts, because a decoding error is better than an archive
 * read as text.
 */
export function sniffFormat(head: Uint8Array): Sniffed {
  if (countBzip2Bytes(head) >= BZIP2_BYTES_LIKE) return { kind: 'format', format: 'bzip2' };
  if (countEqual(head, GZIP) >= 2) return { kind: 'format', format: 'gzip' };
  if (countEqual(head, ZSTD) >= 3) return { kind: 'format', format: 'zstd' };
  if (countEqual(head, XZ) >= 5) return { kind: 'unsupported', name: 'xz' };
  if (countEqual(head, COMPRESS) === 2) return { kind: 'unsupported', name: 'compress (.Z)' };
  if (head.length > 0 && isCutMark(head)) return { kind: 'truncated' };
  return { kind: 'format', format: 'text' };
}

export function isCompressed(head: Uint8Array): boolean {
  const sniffed = sniffFormat(head.subarray(0, SNIFF_BYTES));
  return sniffed.kind === 'unsupported' || (sniffed.kind === 'format' && sniffed.format !== 'text');
}

/** About 1 of 11 compressed bytes is a control character; in text nearly none. */
const CONTROL_SHARE = 1 / 20;
const CONTROLS_MIN = 2;
/** Share of printable ASCII in Western European text of any encoding. */
const PRINTABLE_SHARE = 3 / 4;
/** UTF-8 character cut off at the end. */
const CUT_CHARACTER = /[\u0080-\u00ff]{1,4}$/;

/**
 * Returns true if too many bytes are control characters. NUL (left by a power cut), bell, backspace, white space and
 * escape do not count. Text in any encoding is text.
 */
export function isBinary(bytes: Uint8Array): boolean {
  let [controls, nuls] = [0, 0];
  for (const byte of bytes) {
    if (byte === 0) nuls++;
    else if (isControl(byte)) controls++;
  }
  return controls >= CONTROLS_MIN && controls >= (bytes.length - nuls) * CONTROL_SHARE;
}

function isControl(byte: number): boolean {
  return byte < 0x07 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b) || byte === 0x7f;
}

/** Returns true for UTF-8 or mostly printable ASCII, possibly cut within a character. */
export function isText(bytes: Uint8Array): boolean {
  if (isBinary(bytes)) return false;
  const printable = bytes.reduce((sum, byte) => sum + (byte > 0x1f && byte < 0x7f ? 1 : 0), 0);
  if (printable >= bytes.length * PRINTABLE_SHARE) return true;
  const cut = CUT_CHARACTER.exec(Buffer.from(bytes.subarray(-4)).toString('latin1'))?.[0].length ?? 0;
  return isUtf8(bytes) || isUtf8(bytes.subarray(0, bytes.length - cut));
}

function isCutMark(head: Uint8Array): boolean {
  const isCutBzip2 = head.length < BZIP2_BYTES && countBzip2Bytes(head) === head.length;
  return isCutBzip2 || [GZIP, ZSTD, XZ].some((mark) => countEqual(head, mark) === head.length);
}

function countBzip2Bytes(head: Uint8Array): number {
  const level = head[LEVEL_OFFSET] ?? 0;
  const rest = head.subarray(LEVEL_OFFSET + 1);
  return (
    countEqual(head, BZIP2_HEADER) +
    (level >= 0x31 && level <= 0x39 ? 1 : 0) +
    Math.max(countEqual(rest, BLOCK_MARK), countEqual(rest, STREAM_END_MARK))
  );
}

function countEqual(bytes: Uint8Array, mark: readonly number[]): number {
  return mark.filter((byte, index) => bytes[index] === byte).length;
}

interface TextTarget {
  readonly onLine: (line: RawLine) => void;
  readonly onBinary: (offset: number, bytes: number) => void;
}

/** Shorter lines of random bytes may look like text. Bytes. */
const TEXT_BYTES_MIN = 16;
/** Longest stamp. Bytes. */
const STAMP_BYTES_MAX = 64;
const UNCLEAR_LINES_MAX = 32;

/**
 * Separates lines of text from binary stretches, such as compressed data. These contain line feeds by chance, and parts
 * that look like text: a stretch ends at the next line that is certainly text.
 */
export class TextFilter {
  readonly #target: TextTarget;
  #stretch: { readonly start: number; readonly end: number } | undefined;
  /** Lines after text that may begin a binary stretch. */
  #unclear: RawLine[] = [];
  #hasText = false;

  constructor(target: TextTarget) {
    this.#target = target;
  }

  get isIdle(): boolean {
    return !this.#stretch && this.#unclear.length === 0;
  }

  get binaryBytes(): number {
    return this.#stretch ? this.#stretch.end - this.#stretch.start : 0;
  }

  get isAllBinary(): boolean {
    return !this.#hasText && this.#stretch !== undefined;
  }

  markText(): void {
    this.#hasText = true;
  }

  push(line: RawLine): void {
    if (isSurelyText(line)) {
      this.settle();
      this.#pass(line);
    } else if (this.#stretch || isBinary(line.bytes)) this.#pushBinary(line);
    else {
      this.#unclear.push(line);
      if (this.#unclear.length > UNCLEAR_LINES_MAX) this.#passUnclear();
    }
  }

  settle(): void {
    if (this.#stretch) this.#target.onBinary(this.#stretch.start, this.binaryBytes);
    this.#stretch = undefined;
    this.#passUnclear();
  }

  #pass(line: RawLine): void {
    this.#hasText = true;
    this.#target.onLine(line);
  }

  #passUnclear(): void {
    const lines = this.#unclear;
    this.#unclear = [];
    for (const line of lines) this.#pass(line);
  }

  #pushBinary(line: RawLine): void {
    const bytes = line.raw ?? line.bytes;
    // No line feed separates the end of a stretch from the next line.
    const at = bytes.length === line.length ? findEmbeddedLine(bytes.toString('latin1')) : undefined;
    const { start } = this.#stretch ?? this.#unclear[0] ?? line;
    this.#stretch = { start, end: line.start + (at ?? line.length) };
    this.#unclear = [];
    if (at === undefined) return;
    this.settle();
    this.#pass(toRawLine(line, at, bytes.subarray(at)));
  }
}

/** True for a stamped line, or a long enough line of UTF-8 without control characters. */
function isSurelyText({ bytes, isAscii }: RawLine): boolean {
  if (findStampEnd(bytes.toString('latin1', 0, STAMP_BYTES_MAX)) !== undefined) return true;
  if (bytes.length < TEXT_BYTES_MIN || !(isAscii || isUtf8(bytes))) return false;
  return !bytes.some(isControl);
}
