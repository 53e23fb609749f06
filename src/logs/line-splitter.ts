/** A whole line as it stands in the file. */
export interface RawLine {
  /** Where the line starts, in decompressed bytes. */
  readonly start: number;
  /** Without the line feed; the head only when `isTruncated`. Valid until the next call. */
  readonly bytes: Uint8Array;
  readonly isTruncated: boolean;
}

/** Longest line that is kept whole; the device cuts messages at 8 KiB, so a longer one is damage. Bytes. */
export const LINE_BYTES_MAX = 64 * 1024;

const LINE_FEED = 0x0a;

/** Cuts a stream of chunks at its line feeds. Holds at most {@link LINE_BYTES_MAX} bytes, however long a line is. */
export class LineSplitter {
  /** Where the line begins that has no end yet. */
  #start: number;
  #parts: Uint8Array[] = [];
  #keptBytes = 0;
  #isTruncated = false;
  /** Bytes of the line that has no end yet, kept or not. */
  #length = 0;

  /** `offset`: place of the first byte that will be pushed. */
  constructor(offset: number) {
    this.#start = offset;
  }

  /** Where the line begins that has no end yet: everything before it has been handed out. */
  get offset(): number {
    return this.#start;
  }

  /** Hands each line that ends in `chunk` to `onLine`, in order. */
  push(chunk: Uint8Array, onLine: (line: RawLine) => void): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, from);
      if (end < 0) break;
      this.#keep(chunk.subarray(from, end));
      const length = this.#length + (end - from);
      this.#emit(onLine);
      this.#start += length + 1;
      this.#length = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    this.#length += chunk.length - from;
  }

  /** Hands out the unterminated rest, if there is one: only for a file that is known to be complete. */
  finish(onLine: (line: RawLine) => void): void {
    if (this.#length === 0) return;
    this.#emit(onLine);
    this.#start += this.#length;
    this.#length = 0;
  }

  #keep(bytes: Uint8Array): void {
    const room = LINE_BYTES_MAX - this.#keptBytes;
    if (bytes.length > room) this.#isTruncated = true;
    if (bytes.length === 0 || room === 0) return;
    const kept = bytes.length > room ? bytes.subarray(0, room) : bytes;
    this.#parts.push(kept);
    this.#keptBytes += kept.length;
  }

  #emit(onLine: (line: RawLine) => void): void {
    const [first] = this.#parts;
    const bytes = first && this.#parts.length === 1 ? first : Buffer.concat(this.#parts);
    onLine({ start: this.#start, bytes, isTruncated: this.#isTruncated });
    this.#parts = [];
    this.#keptBytes = 0;
    this.#isTruncated = false;
  }
}
