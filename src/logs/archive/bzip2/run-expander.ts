/** Polynomial of the CRC-32 that bzip2 uses, most significant bit first. */
const POLYNOMIAL = 0x04c11db7;
/** Bytes per round of the sliced computation. */
const SLICES = 8;

/** Eight tables in one: entry `slice * 256 + byte` is what `byte` adds to the sum when `slice` more bytes follow in the round. */
const TABLES = createTables();

function createTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ POLYNOMIAL : sum << 1;
    tables[byte] = sum;
  }
  for (let index = 256; index < tables.length; index++) {
    const shorter = tables[index - 256] as number;
    tables[index] = (shorter << 8) ^ (tables[shorter >>> 24] as number);
  }
  return tables;
}

const CRC_START = -1;

function updateCrc(sum: number, bytes: Uint8Array, to: number): number {
  const tables = TABLES;
  let crc = sum;
  let at = 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  for (; at + SLICES <= to; at += SLICES) {
    const high = crc ^ view.getInt32(at);
    const low = view.getInt32(at + 4);
    crc =
      (tables[1792 + (high >>> 24)] as number) ^
      (tables[1536 + ((high >>> 16) & 0xff)] as number) ^
      (tables[1280 + ((high >>> 8) & 0xff)] as number) ^
      (tables[1024 + (high & 0xff)] as number) ^
      (tables[768 + (low >>> 24)] as number) ^
      (tables[512 + ((low >>> 16) & 0xff)] as number) ^
      (tables[256 + ((low >>> 8) & 0xff)] as number) ^
      (tables[low & 0xff] as number);
  }
  for (; at < to; at++) crc = (crc << 8) ^ (tables[(crc >>> 24) ^ (bytes[at] as number)] as number);
  return crc;
}

/** Number of equal bytes after which a count of further ones follows. */
const RUN_START_BYTES = 4;
/** Segments and runs up to this long are cheaper in a loop than by a call. */
const LOOP_BYTES_MAX = 24;
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
  #segmentEnd = 0;
  #isRunNext = false;
  #repeat = 0;
  #value = 0;
  #crc = CRC_START;

  start(text: Uint8Array): void {
    this.#text = text;
    this.#at = 0;
    this.#repeat = 0;
    this.#crc = CRC_START;
    this.#findRun();
  }

  sum(length: number): void {
    this.#crc = updateCrc(this.#crc, this.buffer, length);
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
    return this.#isRunNext;
  }

  /** Expands the next piece into {@link buffer} and returns its length; 0 at the end. */
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
