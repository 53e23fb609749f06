/** Polynomial of the CRC-32 that bzip2 uses, most significant bit first. */
const POLYNOMIAL = 0x04c11db7;
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ POLYNOMIAL : sum << 1;
  return sum;
});
const CRC_START = -1;

/** Number of equal bytes after which a count of further ones follows. */
const RUN_START_BYTES = 4;
/** A block of text without long runs fits completely, so that it is expanded only once. */
const BUFFER_BYTES = 1024 * 1024;

/**
 * Undoes the first stage of bzip2: four equal bytes are followed by a repeat count. Works in pieces of its fixed
 * buffer, because a block can expand 50 times.
 */
export class RunExpander {
  readonly buffer = new Uint8Array(BUFFER_BYTES);
  #text: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Equal bytes since the last count; `#value` is the last one. */
  #equal = 0;
  #value = 0;
  /** Repeats of `#value` that are still to be written. */
  #repeat = 0;
  #crc = CRC_START;

  start(text: Uint8Array): void {
    this.#text = text;
    this.#at = 0;
    this.#equal = 0;
    this.#repeat = 0;
    this.#crc = CRC_START;
  }

  sum(length: number): void {
    const { buffer } = this;
    let crc = this.#crc;
    for (let at = 0; at < length; at++) {
      crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ (buffer[at] as number)] as number);
    }
    this.#crc = crc;
  }

  /** The CRC as it stands in the archive, unsigned. */
  get crc(): number {
    return ~this.#crc >>> 0;
  }

  get isDone(): boolean {
    return this.#at >= this.#text.length && this.#repeat === 0;
  }

  /** True if the text ended where a count was expected. Valid once {@link isDone}. */
  get isCut(): boolean {
    return this.#equal === RUN_START_BYTES;
  }

  /** Expands the next piece into {@link buffer} and returns its length; 0 at the end. */
  fill(): number {
    const { buffer } = this;
    const text = this.#text;
    const { length } = text;
    let at = this.#at;
    let equal = this.#equal;
    let value = this.#value;
    let written = 0;
    while (written < BUFFER_BYTES) {
      if (this.#repeat > 0) {
        const end = Math.min(written + this.#repeat, BUFFER_BYTES);
        this.#repeat -= end - written;
        while (written < end) buffer[written++] = value;
      } else if (at >= length) break;
      else if (equal === RUN_START_BYTES) {
        this.#repeat = text[at++] as number;
        equal = 0;
      } else {
        const byte = text[at++] as number;
        equal = equal > 0 && byte === value ? equal + 1 : 1;
        value = byte;
        buffer[written++] = byte;
      }
    }
    this.#at = at;
    this.#equal = equal;
    this.#value = value;
    return written;
  }
}
