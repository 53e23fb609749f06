import { shortenRuns, sortRotations, toSymbols } from './block-transform.ts';

interface CodeTables {
  /** Bits of each symbol's code, for each table. */
  readonly lengths: readonly Uint8Array[];
  /** Index of the table for each group. */
  readonly selectors: Uint8Array;
}

/** Symbols that share one table. */
const GROUP_SYMBOLS = 50;
/** Longest code; the format would allow 20. */
const CODE_BITS_MAX = 17;
/** Rounds of choosing the best table for each group and fitting the tables to their groups. */
const FITTING_ROUNDS = 4;
/** Bits of a symbol outside of a table's initial share before the first fitting. */
const FOREIGN_BITS = 15;
/** Tables by number of symbols; short blocks do not benefit from more. */
const TABLES_BY_SYMBOLS: readonly (readonly [below: number, tables: number])[] = [
  [200, 2],
  [600, 3],
  [1200, 4],
  [2400, 5],
];
const TABLES_MAX = 6;

/** As the original program does: an initial estimate by frequency, then fitted to the groups. */
function fitCodeTables(symbols: Uint16Array, alphabetSize: number): CodeTables {
  const tables = TABLES_BY_SYMBOLS.find(([below]) => symbols.length < below)?.[1] ?? TABLES_MAX;
  const groups = Math.ceil(symbols.length / GROUP_SYMBOLS);
  const selectors = new Uint8Array(groups);
  let lengths = estimateLengths(symbols, alphabetSize, tables);
  for (let round = 0; round < FITTING_ROUNDS; round++) {
    const counts = lengths.map(() => new Uint32Array(alphabetSize));
    for (let group = 0; group < groups; group++) {
      const members = symbols.subarray(group * GROUP_SYMBOLS, (group + 1) * GROUP_SYMBOLS);
      const best = findCheapest(members, lengths);
      selectors[group] = best;
      const count = counts[best];
      if (count) for (const symbol of members) count[symbol] = (count[symbol] ?? 0) + 1;
    }
    lengths = counts.map((count) => computeLengths(count));
  }
  return { lengths, selectors };
}

/** Gives each table a share of the alphabet that covers about the same number of symbols. */
function estimateLengths(symbols: Uint16Array, alphabetSize: number, tables: number): Uint8Array[] {
  const counts = new Uint32Array(alphabetSize);
  for (const symbol of symbols) counts[symbol] = (counts[symbol] ?? 0) + 1;
  const tableOf = new Uint8Array(alphabetSize);
  let before = 0;
  for (let symbol = 0; symbol < alphabetSize; symbol++) {
    tableOf[symbol] = Math.min(tables - 1, Math.floor((before * tables) / symbols.length));
    before += counts[symbol] ?? 0;
  }
  return Array.from({ length: tables }, (_, table) =>
    tableOf.map((favourite) => (favourite === table ? 0 : FOREIGN_BITS)),
  );
}

function findCheapest(members: Uint16Array, lengths: readonly Uint8Array[]): number {
  let best = 0;
  let bestBits = Number.POSITIVE_INFINITY;
  for (const [table, bitsOf] of lengths.entries()) {
    let bits = 0;
    for (const symbol of members) bits += bitsOf[symbol] ?? 0;
    if (bits >= bestBits) continue;
    best = table;
    bestBits = bits;
  }
  return best;
}

/** Huffman code lengths. Every symbol gets a code, also one that never occurs; if a code is too long, counts are rounded. */
function computeLengths(counts: Uint32Array): Uint8Array {
  let weights = Array.from(counts, (count) => Math.max(1, count));
  for (;;) {
    const lengths = computeUnboundedLengths(weights);
    if (lengths.every((bits) => bits <= CODE_BITS_MAX)) return lengths;
    weights = weights.map((weight) => 1 + (weight >> 1));
  }
}

/** Joins the two lightest nodes until one is left. Leaves are sorted and joined nodes grow, so each is a queue. */
function computeUnboundedLengths(weights: readonly number[]): Uint8Array {
  const leaves = [...weights.keys()].toSorted((a, b) => (weights[a] ?? 0) - (weights[b] ?? 0));
  const nodes = [...weights];
  const parents: number[] = [];
  let leaf = 0;
  let joined = weights.length;
  const takeLightest = (): number => {
    const next = leaves[leaf];
    const isLeaf = next !== undefined && (joined >= nodes.length || (nodes[next] ?? 0) <= (nodes[joined] ?? 0));
    if (isLeaf) leaf++;
    return isLeaf ? next : joined++;
  };
  for (let count = 1; count < weights.length; count++) {
    const a = takeLightest();
    const b = takeLightest();
    parents[a] = nodes.length;
    parents[b] = nodes.length;
    nodes.push((nodes[a] ?? 0) + (nodes[b] ?? 0));
  }
  const depths = new Uint8Array(nodes.length);
  for (let node = nodes.length - 2; node >= 0; node--) depths[node] = (depths[parents[node] ?? 0] ?? 0) + 1;
  return depths.subarray(0, weights.length);
}

/** The original program leaves the last bytes of a block free. */
const FREE_BYTES = 19;
const BLOCK_MAGIC = 0x314159265359;
const END_MAGIC = 0x177245385090;
const CRC_POLYNOMIAL = 0x04c11db7;

/**
 * Returns a bzip2 file with the content `input`. Written for the simulator, which shares no code with the agent's decoder; tests compare
 * it with the real program. `level`: size of a block in units of 100 kB; the highest one is the default of the original program, and the
 * one used by the device.
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

/** Sixteen bits for the ranges of byte values in use, then sixteen more for each of those ranges. */
function writeUsedBytes(bits: BitWriter, isUsed: Uint8Array): void {
  const rows = Array.from({ length: 16 }, (_, row) => isUsed.subarray(row * 16, row * 16 + 16));
  for (const row of rows) bits.write(Number(row.includes(1)), 1);
  for (const row of rows.filter((candidate) => candidate.includes(1))) for (const flag of row) bits.write(flag, 1);
}

/** Positions in a move-to-front list in unary: ones followed by a zero. */
function writeSelectors(bits: BitWriter, selectors: Uint8Array, tables: number): void {
  const recent = Array.from({ length: tables }, (_, table) => table);
  for (const selector of selectors) {
    const position = recent.indexOf(selector);
    recent.splice(0, 0, ...recent.splice(position, 1));
    for (let count = 0; count < position; count++) bits.write(1, 1);
    bits.write(0, 1);
  }
}

/** Each length as steps from the previous one: 10 is one more, 11 is one less, 0 ends. */
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

/** CRC-32 of bzip2: highest bit first. */
function computeCrc(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ byte] ?? 0);
  return ~crc >>> 0;
}

/** The highest bit of each number comes first. */
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

  /** 48 bits. */
  writeMagic(magic: number): void {
    this.write(Math.floor(magic / 2 ** 24), 24);
    this.write(magic % 2 ** 24, 24);
  }

  /** Returns all bits, padded to a whole byte. */
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
