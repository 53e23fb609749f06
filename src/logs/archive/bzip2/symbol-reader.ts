import type { ArchiveError } from '../archive-error.ts';
import type { BitWindow } from './bit-window.ts';
import { type BlockHeader, corruptAt, GROUP_SYMBOLS } from './block-header.ts';
import { CODE_BITS_MAX, LOOK_BITS } from './huffman-table.ts';

/** Bytes that a block of the highest level can hold before its runs are expanded. */
export const BLOCK_BYTES_MAX = 900_000;
/** Most bits of one group, and as many more as the register reads ahead. */
const GROUP_BITS_MAX = GROUP_SYMBOLS * CODE_BITS_MAX + 64;
/** A run has at most {@link BLOCK_BYTES_MAX} bytes, so its digits never weigh more than this. */
const RUN_WEIGHT_MAX = 2 ** 20;
/** Runs and moves up to this long are cheaper in a loop than by a call. */
const LOOP_BYTES_MAX = 24;

/**
 * Decodes the symbols of a block (Huffman codes, runs, moves to front) to the last column of its sorted rotations.
 * It can stop between any two groups of symbols when input is missing, and go on later. Reused for every block.
 */
export class SymbolReader {
  /** The last column. */
  readonly column = new Uint8Array(BLOCK_BYTES_MAX);
  /** How many bytes of `column` are decoded. */
  length = 0;
  /** How often each byte value stands in `column`. */
  readonly counts = new Int32Array(256);
  readonly #recent = new Uint8Array(256);
  #lengthMax = 0;
  #group = 0;
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

  /** Decodes on. False when input is missing. @throws ArchiveError `truncated`, `corrupt`. */
  resume(window: BitWindow, header: BlockHeader): boolean {
    const { bytes } = window;
    const { column, counts } = this;
    const recent = this.#recent;
    const lengthMax = this.#lengthMax;
    const { selectors, selectorCount, tables } = header;
    const endSymbol = header.symbolCount - 1;
    const endBit = window.length * 8;
    const lastStartBit = window.isComplete ? endBit : endBit - GROUP_BITS_MAX;
    let length = this.length;
    let group = this.#group;
    let run = this.#run;
    let weight = this.#weight;
    // The register holds the next bits, the first one leftmost; `held` says how many of its bits are input.
    let at = window.bit >>> 3;
    let held = 8 - (window.bit & 7);
    let register = (bytes[at++] as number) << (32 - held);

    const fail = (reason: string): ArchiveError => {
      window.bit = at * 8 - held;
      // Behind the end of the input stand zeros; what they spell is no evidence of damage.
      return window.bitsLeft < 0 ? window.truncated() : corruptAt(window, reason);
    };

    for (;;) {
      const bit = at * 8 - held;
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
        if (held < 16) {
          register |= (((bytes[at] as number) << 8) | (bytes[at + 1] as number)) << (16 - held);
          at += 2;
          held += 16;
        }
        let symbol = look[register >>> (32 - LOOK_BITS)] as number;
        if (symbol !== 0) {
          const codeBits = symbol & 31;
          register <<= codeBits;
          held -= codeBits;
          symbol >>>= 5;
        } else {
          if (held < CODE_BITS_MAX) {
            register |= (bytes[at++] as number) << (24 - held);
            held += 8;
          }
          const code = register >>> (32 - CODE_BITS_MAX);
          let codeBits = LOOK_BITS + 1;
          while (codeBits <= CODE_BITS_MAX && code >= (table.limits[codeBits] as number)) codeBits++;
          if (codeBits > CODE_BITS_MAX) throw fail('A Huffman code is not assigned');
          symbol = table.symbols[(register >>> (32 - codeBits)) + (table.offsets[codeBits] as number)] as number;
          register <<= codeBits;
          held -= codeBits;
        }

        if (symbol <= 1) {
          run += weight << symbol;
          if (weight > RUN_WEIGHT_MAX) throw fail('A run is longer than the block');
          weight <<= 1;
          continue;
        }

        if (run > 0) {
          if (run > lengthMax - length) throw fail('A run is longer than the block');
          const value = recent[0] as number;
          counts[value] = (counts[value] as number) + run;
          if (run <= LOOP_BYTES_MAX) for (const end = length + run; length < end; ) column[length++] = value;
          else {
            column.fill(value, length, length + run);
            length += run;
          }
          run = 0;
          weight = 1;
        }

        if (symbol === endSymbol) {
          window.bit = at * 8 - held;
          if (window.bitsLeft < 0) throw window.truncated();
          this.length = length;
          return true;
        }
        if (length >= lengthMax) throw fail('The block is longer than its level allows');

        let place = symbol - 1;
        const value = recent[place] as number;
        if (place <= LOOP_BYTES_MAX) {
          for (; place > 0; place--) recent[place] = recent[place - 1] as number;
        } else recent.copyWithin(1, 0, place);
        recent[0] = value;
        column[length++] = value;
        counts[value] = (counts[value] as number) + 1;
      }
    }
  }
}
