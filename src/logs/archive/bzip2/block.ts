import { ArchiveError } from '../../reading/errors.ts';
import type { BitWindow } from './bit-window.ts';

/** Longest code the format allows, in bits. */
const CODE_BITS_MAX = 20;
/** Codes up to this length in bits are decoded by one table lookup. */
const LOOK_BITS = 10;
/** Maximum number of symbols of a table: two run symbols, 255 moves, one end of block. */
const SYMBOLS_MAX = 258;

/** A Huffman table in the form read by the symbol loop. Reused for every block. */
class HuffmanTable {
  /** By the next {@link LOOK_BITS} bits: symbol × 32 + code length, or 0 for a longer or unassigned code. */
  readonly look = new Uint16Array(1 << LOOK_BITS);
  /** By code length: one more than the last code of that length, left-aligned to {@link CODE_BITS_MAX} bits. */
  readonly limits = new Int32Array(CODE_BITS_MAX + 1);
  /** By code length: the number to add to a code of that length to find its symbol in `symbols`. */
  readonly offsets = new Int32Array(CODE_BITS_MAX + 1);
  readonly symbols = new Uint16Array(SYMBOLS_MAX);

  /**
   * Assigns canonical codes. If the lengths need more codes than exist, the last symbols get none, as in bzip2: the
   * table may be unused, and otherwise a checksum shows the damage.
   */
  assign(lengths: Uint8Array, symbolCount: number): void {
    const { look, limits, offsets, symbols } = this;
    let code = 0;
    let index = 0;
    look.fill(0);
    for (let length = 1; length <= CODE_BITS_MAX; length++) {
      code *= 2;
      offsets[length] = index - code;
      for (let symbol = 0; symbol < symbolCount; symbol++) {
        if (lengths[symbol] !== length) continue;
        if (code >= 2 ** length) break;
        if (length <= LOOK_BITS) {
          const first = code << (LOOK_BITS - length);
          look.fill((symbol << 5) | length, first, first + (1 << (LOOK_BITS - length)));
        }
        symbols[index++] = symbol;
        code++;
      }
      limits[length] = code << (CODE_BITS_MAX - length);
    }
  }
}

/** Symbols coded with one table before the next selector is looked up. */
const GROUP_SYMBOLS = 50;
/** More groups than this cannot hold symbols of a block of 900,000 bytes. Writers may announce a few more; they are skipped. */
const SELECTORS_MAX = 18_002;
const TABLES_MAX = 6;
/** Limit of the steps between two code lengths. More steps would go up and down, which no writer does. */
const LENGTH_STEPS_MAX = CODE_BITS_MAX - 1;
/** Upper bound of a block header: symbol maps, 15-bit selector count, and tables with all steps. */
export const HEADER_BYTES_MAX = 40 * 1024;

/** The header of a block: everything before its symbols. Reused for every block. */
export class BlockHeader {
  crc = 0;
  origin = 0;
  /** The bytes that occur, in ascending order; then zeros. */
  readonly bytesUsed = new Uint8Array(256);
  symbolCount = 0;
  readonly selectors = new Uint8Array(SELECTORS_MAX);
  selectorCount = 0;
  readonly tables: readonly HuffmanTable[] = Array.from({ length: TABLES_MAX }, () => new HuffmanTable());
  readonly #lengths = new Uint8Array(SYMBOLS_MAX);

  /** Reads everything after the block's magic number. @throws ArchiveError `truncated`, `corrupt`, `unsupported`. */
  read(window: BitWindow): void {
    this.crc = window.readUint32();
    if (window.readBits(1) === 1) {
      throw new ArchiveError('unsupported', 'The block is randomised, which no bzip2 since 1999 writes', {
        bit: window.position - 1,
      });
    }
    this.origin = window.readBits(24);
    this.#readBytesUsed(window);
    const tableCount = window.readBits(3);
    if (tableCount < 2 || tableCount > TABLES_MAX) throw corruptAt(window, 'The number of Huffman tables is invalid');
    this.#readSelectors(window, tableCount);
    for (let table = 0; table < tableCount; table++) this.#readTable(window, table);
  }

  #readBytesUsed(window: BitWindow): void {
    const rows = window.readBits(16);
    let count = 0;
    this.bytesUsed.fill(0);
    for (let row = 0; row < 16; row++) {
      if ((rows & (0x8000 >> row)) === 0) continue;
      const columns = window.readBits(16);
      for (let column = 0; column < 16; column++) {
        if ((columns & (0x8000 >> column)) !== 0) this.bytesUsed[count++] = row * 16 + column;
      }
    }
    if (count === 0) throw corruptAt(window, 'The block uses no byte value');
    this.symbolCount = count + 2;
  }

  #readSelectors(window: BitWindow, tableCount: number): void {
    const count = window.readBits(15);
    if (count === 0) throw corruptAt(window, 'The block has no selectors');
    const recent = [0, 1, 2, 3, 4, 5];
    for (let index = 0; index < count; index++) {
      const place = Math.clz32(~(window.peekBits(window.bit, 8) << 24));
      window.readBits(Math.min(place + 1, tableCount));
      if (place >= tableCount) throw corruptAt(window, 'A selector names a missing Huffman table');
      const table = recent[place] ?? 0;
      if (place > 0) {
        recent.copyWithin(1, 0, place);
        recent[0] = table;
      }
      if (index < SELECTORS_MAX) this.selectors[index] = table;
    }
    this.selectorCount = Math.min(count, SELECTORS_MAX);
  }

  #readTable(window: BitWindow, table: number): void {
    let length = window.readBits(5);
    for (let symbol = 0; symbol < this.symbolCount; symbol++) {
      for (let steps = 0; window.readBits(1) === 1; steps++) {
        checkLength(window, length);
        length += window.readBits(1) === 1 ? -1 : 1;
        if (steps >= LENGTH_STEPS_MAX) throw corruptAt(window, 'A Huffman code length changes too often');
      }
      checkLength(window, length);
      this.#lengths[symbol] = length;
    }
    this.tables[table]?.assign(this.#lengths, this.symbolCount);
  }
}

function checkLength(window: BitWindow, length: number): void {
  if (length < 1 || length > CODE_BITS_MAX) throw corruptAt(window, 'A Huffman code length is invalid');
}

/** Returns an error `corrupt` at the position just read. */
export function corruptAt(window: BitWindow, reason: string): ArchiveError {
  return new ArchiveError('corrupt', reason, { bit: window.position });
}

/** Maximum number of bytes in a block of the highest level before its runs are expanded. */
export const BLOCK_BYTES_MAX = 900_000;
/** Maximum number of bits of one group, plus those that one lookup reads. */
const GROUP_BITS_MAX = GROUP_SYMBOLS * CODE_BITS_MAX + 32;
/** A run has at most {@link BLOCK_BYTES_MAX} bytes, so its digits never weigh more than this. */
const RUN_WEIGHT_MAX = 2 ** 20;
/** Runs are written in steps of this many bytes; excess bytes are overwritten by what follows. */
const RUN_STEP_BYTES = 16;
/** Number of positions at the front of the list that are kept in four words. Nearly all moves in text start here. */
const FRONT_PLACES = 16;

/**
 * By position and word of the front: the bits changed by a move from that position to the first one. A move then takes
 * the same operations from any position, without a loop of varying length.
 */
const MOVE_MASKS = createMoveMasks();

function createMoveMasks(): Int32Array {
  const masks = new Int32Array(FRONT_PLACES * 4);
  const bytes = new Uint8Array(FRONT_PLACES);
  const view = new DataView(bytes.buffer);
  for (let place = 0; place < FRONT_PLACES; place++) {
    bytes[place] = 0xff;
    for (let word = 0; word < 4; word++) masks[place * 4 + word] = view.getInt32(word * 4, true);
  }
  return masks;
}

/**
 * Decodes the symbols of a block (Huffman codes, runs, moves to front) to the last column of its sorted rotations. Can
 * stop between two groups of symbols and resume with more input. Reused for every block.
 */
export class SymbolReader {
  readonly column = new Uint8Array(BLOCK_BYTES_MAX + RUN_STEP_BYTES);
  length = 0;
  readonly counts = new Int32Array(256);
  readonly #recent = new Uint8Array(256);
  #lengthMax = 0;
  #group = 0;
  /** Length of the current run, and the weight of its next digit. */
  #run = 0;
  #weight = 1;

  start(header: BlockHeader, lengthMax: number): void {
    this.#recent.set(header.bytesUsed);
    this.counts.fill(0);
    this.length = 0;
    this.#lengthMax = lengthMax;
    this.#group = 0;
    this.#run = 0;
    this.#weight = 1;
  }

  /** Continues decoding. Returns false if input is missing. @throws ArchiveError `truncated`, `corrupt`. */
  resume(window: BitWindow, header: BlockHeader): boolean {
    const input = new DataView(window.bytes.buffer);
    const { column, counts } = this;
    const columnView = new DataView(column.buffer);
    const recent = this.#recent;
    const recentView = new DataView(recent.buffer);
    const masks = MOVE_MASKS;
    const lengthMax = this.#lengthMax;
    const { selectors, selectorCount, tables } = header;
    const endSymbol = header.symbolCount - 1;
    const lastStartBit = window.length * 8 - (window.isComplete ? 0 : GROUP_BITS_MAX);
    let { bit } = window;
    let length = this.length;
    let group = this.#group;
    let run = this.#run;
    let weight = this.#weight;
    // The front of `recent`, least significant byte first: each word is kept in both places.
    let front0 = recentView.getInt32(0, true);
    let front1 = recentView.getInt32(4, true);
    let front2 = recentView.getInt32(8, true);
    let front3 = recentView.getInt32(12, true);

    const fail = (reason: string): ArchiveError => {
      window.bit = bit;
      // Zeros after the end of the input are not evidence of damage.
      return window.bitsLeft < 0 ? window.truncated() : corruptAt(window, reason);
    };

    for (;;) {
      if (bit > lastStartBit) {
        window.bit = bit;
        if (window.isComplete) throw window.truncated();
        this.length = length;
        this.#group = group;
        this.#run = run;
        this.#weight = weight;
        return false;
      }
      if (group >= selectorCount) throw fail('The block has more symbols than selectors');
      const table = tables[selectors[group++] as number] as (typeof tables)[number];
      const { look } = table;

      for (let left = GROUP_SYMBOLS; left > 0; left--) {
        // At least 25 bits, the next one leftmost. Loading again for each symbol costs less than tracking what is left.
        const bits = input.getInt32(bit >>> 3) << (bit & 7);
        const entry = look[bits >>> (32 - LOOK_BITS)] as number;
        let symbol = entry >>> 5;
        if (entry !== 0) bit += entry & 31;
        else {
          const code = bits >>> (32 - CODE_BITS_MAX);
          let codeBits = LOOK_BITS + 1;
          while (codeBits <= CODE_BITS_MAX && code >= (table.limits[codeBits] as number)) codeBits++;
          if (codeBits > CODE_BITS_MAX) throw fail('A Huffman code is not assigned');
          symbol = table.symbols[(bits >>> (32 - codeBits)) + (table.offsets[codeBits] as number)] as number;
          bit += codeBits;
        }

        if (symbol <= 1) {
          run += weight << symbol;
          if (weight > RUN_WEIGHT_MAX) throw fail('A run is longer than the block');
          weight <<= 1;
          continue;
        }

        if (run > 0) {
          const end = length + run;
          if (end > lengthMax) throw fail('A run is longer than the block');
          const value = recent[0] as number;
          const word = Math.imul(value, 0x01010101);
          counts[value] = (counts[value] as number) + run;
          for (; length < end; length += RUN_STEP_BYTES) {
            columnView.setInt32(length, word);
            columnView.setInt32(length + 4, word);
            columnView.setInt32(length + 8, word);
            columnView.setInt32(length + 12, word);
          }
          length = end;
          run = 0;
          weight = 1;
        }

        if (symbol === endSymbol) {
          window.bit = bit;
          if (window.bitsLeft < 0) throw window.truncated();
          this.length = length;
          return true;
        }
        if (length >= lengthMax) throw fail('The block is longer than its level allows');

        const place = symbol - 1;
        const value = recent[place] as number;
        column[length++] = value;
        counts[value] = (counts[value] as number) + 1;
        if (place < FRONT_PLACES) {
          const mask = place * 4;
          front3 ^= (front3 ^ ((front3 << 8) | (front2 >>> 24))) & (masks[mask + 3] as number);
          front2 ^= (front2 ^ ((front2 << 8) | (front1 >>> 24))) & (masks[mask + 2] as number);
          front1 ^= (front1 ^ ((front1 << 8) | (front0 >>> 24))) & (masks[mask + 1] as number);
          front0 ^= (front0 ^ ((front0 << 8) | value)) & (masks[mask] as number);
          recentView.setInt32(0, front0, true);
          recentView.setInt32(4, front1, true);
          recentView.setInt32(8, front2, true);
          recentView.setInt32(12, front3, true);
        } else {
          recent.copyWithin(1, 0, place);
          recent[0] = value;
          front0 = recentView.getInt32(0, true);
          front1 = recentView.getInt32(4, true);
          front2 = recentView.getInt32(8, true);
          front3 = recentView.getInt32(12, true);
        }
      }
    }
  }
}
