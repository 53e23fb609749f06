/** Longest code the format allows, in bits. */
export const CODE_BITS_MAX = 20;
/** Codes up to this length in bits are decoded by one table lookup. */
export const LOOK_BITS = 10;
/** Maximum number of symbols of a table: two run symbols, 255 moves, one end of block. */
export const SYMBOLS_MAX = 258;

/** A Huffman table in the form read by the symbol loop. Reused for every block. */
export class HuffmanTable {
  /** By the next {@link LOOK_BITS} bits: symbol × 32 + code length, or 0 for a longer or unassigned code. */
  readonly look = new Uint16Array(1 << LOOK_BITS);
  /** By code length: one more than the last code of that length, left-aligned to {@link CODE_BITS_MAX} bits. */
  readonly limits = new Int32Array(CODE_BITS_MAX + 1);
  /** By code length: the number to add to a code of that length to find its symbol in `symbols`. */
  readonly offsets = new Int32Array(CODE_BITS_MAX + 1);
  /** Symbols in the order of their codes. */
  readonly symbols = new Uint16Array(SYMBOLS_MAX);

  /**
   * Assigns canonical codes. If the lengths require more codes than exist, the last symbols get none, as in bzip2: such a
   * table may be one that is never used, and what comes of one that is used has a checksum.
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
