import { isUtf8 } from 'node:buffer';
import type { RawLine } from '../records/line-splitter.ts';
import { findEmbeddedLine, toRawLine } from '../records/parse-line.ts';
import { findStampEnd } from '../time/stamp.ts';

/** Bytes that suffice to tell what a file is. */
export const SNIFF_BYTES = 10;

/** Formats of a log file, recognised by content. */
type ArchiveFormat = 'bzip2' | 'gzip' | 'zstd' | 'text';

/** Result for the first bytes: a format that is decoded, text, or why they cannot be decoded. */
type Sniffed =
  | { readonly kind: 'format'; readonly format: ArchiveFormat }
  /** The file ends inside the mark of a compressed format. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'unsupported'; readonly name: string };

const BLOCK_MARK = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] as const;
const STREAM_END_MARK = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90] as const;
const BZIP2_HEADER = [0x42, 0x5a, 0x68] as const;
/** The level, at this offset in a bzip2 file, may be any of the digits 1 to 9. */
const LEVEL_OFFSET = 3;
const BZIP2_BYTES = 10;
/** So many of the ten bytes that start a bzip2 file. Text agrees with none or a few of them, a damaged archive with most. */
const BZIP2_BYTES_LIKE = 7;
const GZIP = [0x1f, 0x8b, 0x08] as const;
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd] as const;
const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] as const;
const COMPRESS = [0x1f, 0x9d] as const;

/**
 * Tells by content what a file is; names and declared types lie. `head` holds its first {@link SNIFF_BYTES} bytes, or
 * all of them when it is shorter. A file whose mark is damaged in a few bits still counts as of that format, because
 * the decoder's error is better than an archive taken for text.
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

/** True if the first bytes of a file are those of a compressed one, whether or not it can be decoded. */
export function isCompressed(head: Uint8Array): boolean {
  const sniffed = sniffFormat(head.subarray(0, SNIFF_BYTES));
  return sniffed.kind === 'unsupported' || (sniffed.kind === 'format' && sniffed.format !== 'text');
}

/** In compressed or other binary bytes, one of eleven is a control character; in text none is, or a few. */
const CONTROL_SHARE = 1 / 20;
const CONTROLS_MIN = 2;
/** Share of printable ASCII in a text of Western Europe, whatever its encoding. */
const PRINTABLE_SHARE = 3 / 4;
/** A character of UTF-8 that is cut off at the end. */
const CUT_CHARACTER = /[\u0080-\u00ff]{1,4}$/;

/**
 * True if bytes are no text: too many are control characters. NUL bytes do not count, because a power cut leaves runs of them in text; nor
 * do other bytes that text may have: bell, backspace, white space and escape. Text in any encoding is text.
 */
export function isBinary(bytes: Uint8Array): boolean {
  let [controls, nuls] = [0, 0];
  for (const byte of bytes) {
    if (byte === 0) nuls++;
    else if (isControl(byte)) controls++;
  }
  return controls >= CONTROLS_MIN && controls >= (bytes.length - nuls) * CONTROL_SHARE;
}

/** True for a character that text does not have. */
function isControl(byte: number): boolean {
  return byte < 0x07 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b) || byte === 0x7f;
}

/** True if bytes are text for sure: UTF-8, or mostly printable ASCII. They may end within a character. */
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

/** What the lines of a file become. */
interface TextTarget {
  /** Takes a line of text. */
  readonly onLine: (line: RawLine) => void;
  /** Takes a stretch of bytes that are no text. */
  readonly onBinary: (offset: number, bytes: number) => void;
}

/** A shorter line of random bytes may look like text. Bytes. */
const TEXT_BYTES_MIN = 16;
/** No stamp is longer. Bytes. */
const STAMP_BYTES_MAX = 64;
/** Lines that are kept back until the next one says what they are. */
const DOUBTFUL_MAX = 32;

/**
 * Tells lines of text from stretches of bytes that are none, such as compressed ones. These have line ends by chance, and
 * some of the pieces between two look like text: a stretch goes on up to the next line that is text for sure.
 */
export class TextFilter {
  readonly #target: TextTarget;
  /** The stretch that the last line belongs to. */
  #stretch: { readonly start: number; readonly end: number } | undefined;
  /** Lines behind text that may be the beginning of a stretch. */
  #doubtful: RawLine[] = [];
  #hasText = false;

  constructor(target: TextTarget) {
    this.#target = target;
  }

  /** True while lines may be handed to the target without asking. */
  get isIdle(): boolean {
    return !this.#stretch && this.#doubtful.length === 0;
  }

  /** Bytes of the stretch that the last line belongs to. */
  get binaryBytes(): number {
    return this.#stretch ? this.#stretch.end - this.#stretch.start : 0;
  }

  /** True if there was no line of text so far, and something else. */
  get isAllBinary(): boolean {
    return !this.#hasText && this.#stretch !== undefined;
  }

  /** Notes lines that were handed to the target without asking. */
  noteText(): void {
    this.#hasText = true;
  }

  push(line: RawLine): void {
    if (isSurelyText(line)) {
      this.settle();
      this.#pass(line);
    } else if (this.#stretch || isBinary(line.bytes)) this.#pushBinary(line);
    else {
      this.#doubtful.push(line);
      if (this.#doubtful.length > DOUBTFUL_MAX) this.#passDoubtful();
    }
  }

  /** Hands on everything that was kept back. */
  settle(): void {
    if (this.#stretch) this.#target.onBinary(this.#stretch.start, this.binaryBytes);
    this.#stretch = undefined;
    this.#passDoubtful();
  }

  #pass(line: RawLine): void {
    this.#hasText = true;
    this.#target.onLine(line);
  }

  #passDoubtful(): void {
    const lines = this.#doubtful;
    this.#doubtful = [];
    for (const line of lines) this.#pass(line);
  }

  #pushBinary(line: RawLine): void {
    const bytes = line.raw ?? line.bytes;
    // The last bytes of a stretch and the first line behind it have no line end between them.
    const at = bytes.length === line.length ? findEmbeddedLine(bytes.toString('latin1')) : undefined;
    const { start } = this.#stretch ?? this.#doubtful[0] ?? line;
    this.#stretch = { start, end: line.start + (at ?? line.length) };
    this.#doubtful = [];
    if (at === undefined) return;
    this.settle();
    this.#pass(toRawLine(line, at, bytes.subarray(at)));
  }
}

/** True if a line has a stamp, or is long enough, and in UTF-8 without control characters. */
function isSurelyText({ bytes, isAscii }: RawLine): boolean {
  if (findStampEnd(bytes.toString('latin1', 0, STAMP_BYTES_MAX)) !== undefined) return true;
  if (bytes.length < TEXT_BYTES_MIN || !(isAscii || isUtf8(bytes))) return false;
  return !bytes.some(isControl);
}
