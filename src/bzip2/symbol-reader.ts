import type { BitWindow } from './bit-window.ts';
import { type BlockHeader, corruptAt, GROUP_SYMBOLS } from './block-header.ts';
import type { Bzip2Error } from './bzip2-error.ts';
import { CODE_BITS_MAX, LOOK_BITS } from './huffman-table.ts';

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
 * By position and word of the front: the bits changed by a move from that position to the first one. With them a move
 * takes the same few operations wherever it starts, where a loop would end at a different point each time.
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
 * Decodes the symbols of a block (Huffman codes, runs, moves to front) to the last column of its sorted rotations. It
 * can stop between any two groups of symbols if input is missing, and continue later. Reused for every block.
 */
export class SymbolReader {
  /** The last column. */
  readonly column = new Uint8Array(BLOCK_BYTES_MAX + RUN_STEP_BYTES);
  /** Number of decoded bytes in `column`. */
  length = 0;
  /** Number of occurrences of each byte value in `column`. */
  readonly counts = new Int32Array(256);
  /** The byte values, most recently used first. */
  readonly #recent = new Uint8Array(256);
  #lengthMax = 0;
  #group = 0;
  /** Length of the current run, and the weight of its next digit. */
  #run = 0;
  #weight = 1;

  /** Starts a block of at most `lengthMax` bytes. */
  start(header: BlockHeader, lengthMax: number): void {
    this.#recent.set(header.bytesUsed);
    this.counts.fill(0);
    this.length = 0;
    this.#lengthMax = lengthMax;
    this.#group = 0;
    this.#run = 0;
    this.#weight = 1;
  }

  /** Continues decoding. Returns false if input is missing. @throws Bzip2Error `truncated`, `corrupt`. */
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

    const fail = (reason: string): Bzip2Error => {
      window.bit = bit;
      // After the end of the input there are zeros; what they decode to is not evidence of damage.
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
