/** Number of equal bytes after which a count of further ones follows. */
const RUN_START_BYTES = 4;
/** Segments and runs up to this long are cheaper in a loop than by a call. */
const LOOP_BYTES_MAX = 24;
/** A block of text without long runs fits completely, so that it is expanded only once. */
const BUFFER_BYTES = 1024 * 1024;

/**
 * Undoes the first stage of bzip2: four equal bytes are followed by the number of further ones. Works in pieces of its
 * fixed buffer, because a block can expand fiftyfold.
 */
export class RunExpander {
  /** Buffer written by {@link fill}. */
  readonly buffer = new Uint8Array(BUFFER_BYTES);
  #text: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** End of the bytes that are literals. */
  #segmentEnd = 0;
  #isRunNext = false;
  #repeat = 0;
  #value = 0;

  start(text: Uint8Array): void {
    this.#text = text;
    this.#at = 0;
    this.#repeat = 0;
    this.#findRun();
  }

  /** True if everything has been expanded. */
  get isDone(): boolean {
    return this.#at >= this.#text.length && this.#repeat === 0;
  }

  /** True if the text ended where a count was expected; valid once {@link isDone}. */
  get isCut(): boolean {
    return this.#isRunNext;
  }

  /** Expands the next piece into {@link buffer} and returns its length, 0 at the end. */
  fill(): number {
    const { buffer } = this;
    const text = this.#text;
    let written = 0;
    while (written < BUFFER_BYTES) {
      if (this.#repeat > 0) {
        const end = Math.min(written + this.#repeat, BUFFER_BYTES);
        this.#repeat -= end - written;
        if (end - written <= LOOP_BYTES_MAX) for (const value = this.#value; written < end; ) buffer[written++] = value;
        else {
          buffer.fill(this.#value, written, end);
          written = end;
        }
        continue;
      }
      let at = this.#at;
      const end = Math.min(this.#segmentEnd, at + BUFFER_BYTES - written);
      if (end - at <= LOOP_BYTES_MAX) while (at < end) buffer[written++] = text[at++] as number;
      else {
        buffer.set(text.subarray(at, end), written);
        written += end - at;
        at = end;
      }
      this.#at = at;
      if (at < this.#segmentEnd) break;
      if (!this.#isRunNext || at >= text.length) break;
      this.#value = text[at - 1] as number;
      this.#repeat = text[at] as number;
      this.#at = at + 1;
      this.#findRun();
    }
    return written;
  }

  /** Finds the end of the next four equal bytes. */
  #findRun(): void {
    const text = this.#text;
    const { length } = text;
    const from = this.#at;
    // Of any four neighbours, one pair starts at a multiple of three from here, so two pairs in three need no check.
    for (let pair = from; pair + 1 < length; pair += 3) {
      const value = text[pair];
      if (value !== text[pair + 1]) continue;
      let start = pair;
      while (start > from && text[start - 1] === value) start--;
      let end = pair + 2;
      while (end < length && end - start < RUN_START_BYTES && text[end] === value) end++;
      if (end - start < RUN_START_BYTES) continue;
      this.#segmentEnd = start + RUN_START_BYTES;
      this.#isRunNext = true;
      return;
    }
    this.#segmentEnd = length;
    this.#isRunNext = false;
  }
}
