/** Longest code the format allows, in bits. */
export const CODE_BITS_MAX = 20;
/** Codes up to this many bits are found by one look. */
export const LOOK_BITS = 10;
/** Most symbols of a table: two run symbols, 255 moves, one end of block. */
export const SYMBOLS_MAX = 258;

/** One Huffman table in the form in which the symbol loop reads it. Reused for every block. */
export class HuffmanTable {
  /** By the next {@link LOOK_BITS} bits: symbol × 32 + code length, or 0 for a longer or unassigned code. */
  readonly look = new Uint16Array(1 << LOOK_BITS);
  /** By code length: one more than the last code of that length, left-aligned to {@link CODE_BITS_MAX} bits. */
  readonly limits = new Int32Array(CODE_BITS_MAX + 1);
  /** By code length: what to add to a code of that length to find its symbol in `symbols`. */
  readonly offsets = new Int32Array(CODE_BITS_MAX + 1);
  /** Symbols in the order of their codes. */
  readonly symbols = new Uint16Array(SYMBOLS_MAX);

  /** Assigns canonical codes. False when the lengths ask for more codes than there are. */
  assign(lengths: Uint8Array, symbolCount: number): boolean {
    const { look, limits, offsets, symbols } = this;
    let code = 0;
    let index = 0;
    look.fill(0);
    for (let length = 1; length <= CODE_BITS_MAX; length++) {
      code *= 2;
      offsets[length] = index - code;
      for (let symbol = 0; symbol < symbolCount; symbol++) {
        if (lengths[symbol] !== length) continue;
        if (code >= 2 ** length) return false;
        if (length <= LOOK_BITS) {
          const first = code << (LOOK_BITS - length);
          look.fill((symbol << 5) | length, first, first + (1 << (LOOK_BITS - length)));
        }
        symbols[index++] = symbol;
        code++;
      }
      limits[length] = code << (CODE_BITS_MAX - length);
    }
    return true;
  }
}
