import { isUtf8 } from 'node:buffer';
import { isBinary, isControl } from './archive/sniff.ts';
import { toRawLine } from './lines/glued.ts';
import type { RawLine } from './lines/line-splitter.ts';
import { findEmbeddedLine } from './lines/parse-line.ts';
import { findStampEnd } from './time/stamp.ts';

/** What the lines of a file become. */
export interface TextTarget {
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
