import { shortenRuns, sortRotations, toSymbols } from './block-transform.ts';
import { fitCodeTables, GROUP_SYMBOLS } from './code-tables.ts';

/** The original program leaves the last bytes of a block free. */
const FREE_BYTES = 19;
const BLOCK_MAGIC = 0x314159265359;
const END_MAGIC = 0x177245385090;
const CRC_POLYNOMIAL = 0x04c11db7;

/**
 * Returns a bzip2 file with the content `input`. Written for the simulator, which shares no code with the agent's
 * decoder; tests compare it with the real program. `level` is the size of a block in units of 100 kB; the highest one is
 * the default of the original program, and what the device uses.
 */
export function encodeBzip2(input: Uint8Array, level = 9): Uint8Array {
  const bits = new BitWriter();
  for (const letter of Buffer.from(`BZh${level}`)) bits.write(letter, 8);
  const block = new Uint8Array(Math.min(level * 100_000 - FREE_BYTES, input.length * 2 + 8));
  let streamCrc = 0;
  for (let start = 0; start < input.length; ) {
    const { length, end } = shortenRuns(input, start, block);
    const crc = computeCrc(input.subarray(start, end));
    streamCrc = (((streamCrc << 1) | (streamCrc >>> 31)) ^ crc) >>> 0;
    writeBlock(bits, block.subarray(0, length), crc);
    start = end;
  }
  bits.writeMagic(END_MAGIC);
  bits.write(streamCrc, 32);
  return bits.finish();
}

function writeBlock(bits: BitWriter, block: Uint8Array, crc: number): void {
  const { last, origin } = sortRotations(block);
  const { symbols, alphabetSize, isUsed } = toSymbols(last);
  const { lengths, selectors } = fitCodeTables(symbols, alphabetSize);
  bits.writeMagic(BLOCK_MAGIC);
  bits.write(crc, 32);
  bits.write(0, 1); // not randomised
  bits.write(origin, 24);
  writeUsedBytes(bits, isUsed);
  bits.write(lengths.length, 3);
  bits.write(selectors.length, 15);
  writeSelectors(bits, selectors, lengths.length);
  for (const table of lengths) writeLengths(bits, table);
  const codes = lengths.map(assignCodes);
  for (const [index, symbol] of symbols.entries()) {
    const table = selectors[Math.floor(index / GROUP_SYMBOLS)] ?? 0;
    bits.write(codes[table]?.[symbol] ?? 0, lengths[table]?.[symbol] ?? 0);
  }
}

/** Writes sixteen bits for the ranges of byte values in use, then sixteen more for each of those ranges. */
function writeUsedBytes(bits: BitWriter, isUsed: Uint8Array): void {
  const rows = Array.from({ length: 16 }, (_, row) => isUsed.subarray(row * 16, row * 16 + 16));
  for (const row of rows) bits.write(Number(row.includes(1)), 1);
  for (const row of rows.filter((candidate) => candidate.includes(1))) for (const flag of row) bits.write(flag, 1);
}

/** Writes positions in a move-to-front list in unary: ones followed by a zero. */
function writeSelectors(bits: BitWriter, selectors: Uint8Array, tables: number): void {
  const recent = Array.from({ length: tables }, (_, table) => table);
  for (const selector of selectors) {
    const position = recent.indexOf(selector);
    recent.splice(0, 0, ...recent.splice(position, 1));
    for (let count = 0; count < position; count++) bits.write(1, 1);
    bits.write(0, 1);
  }
}

/** Writes each length as steps from the previous one: 10 is one more, 11 is one less, 0 ends. */
function writeLengths(bits: BitWriter, lengths: Uint8Array): void {
  let current = lengths[0] ?? 0;
  bits.write(current, 5);
  for (const length of lengths) {
    for (; current < length; current++) bits.write(0b10, 2);
    for (; current > length; current--) bits.write(0b11, 2);
    bits.write(0, 1);
  }
}

/** Canonical codes: shorter ones first, and within a length by symbol. */
function assignCodes(lengths: Uint8Array): Uint32Array {
  const codes = new Uint32Array(lengths.length);
  let code = 0;
  for (let length = Math.min(...lengths); length <= Math.max(...lengths); length++) {
    for (const [symbol, own] of lengths.entries()) if (own === length) codes[symbol] = code++;
    code <<= 1;
  }
  return codes;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc < 0 ? CRC_POLYNOMIAL : 0);
  return crc;
});

/** CRC-32 with the highest bit first, as bzip2 uses it. */
function computeCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ byte] ?? 0);
  return ~crc >>> 0;
}

/** Writes bits, the highest bit of each number first. */
class BitWriter {
  #bytes = new Uint8Array(4096);
  #length = 0;
  #pending = 0;
  #pendingBits = 0;

  /** Writes the lowest `count` bits of `value`, 0 to 32 of them. */
  write(value: number, count: number): void {
    if (count > 16) {
      this.write(value >>> 16, count - 16);
      this.write(value & 0xffff, 16);
      return;
    }
    this.#pending = (this.#pending << count) | (value & ((1 << count) - 1));
    this.#pendingBits += count;
    while (this.#pendingBits >= 8) {
      this.#pendingBits -= 8;
      this.#push((this.#pending >>> this.#pendingBits) & 0xff);
    }
    this.#pending &= (1 << this.#pendingBits) - 1;
  }

  /** Writes a number of 48 bits. */
  writeMagic(magic: number): void {
    this.write(Math.floor(magic / 2 ** 24), 24);
    this.write(magic % 2 ** 24, 24);
  }

  /** Returns everything written, padded to a whole byte. */
  finish(): Uint8Array {
    if (this.#pendingBits > 0) this.write(0, 8 - this.#pendingBits);
    return this.#bytes.slice(0, this.#length);
  }

  #push(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }
}
