import type { BitWindow } from './bit-window.ts';

/** Length in bits of the magic numbers that start a block and end a stream. */
export const MAGIC_BITS = 48;
/** First and second half of the magic number that starts a block: the digits of pi. */
export const BLOCK_MAGIC = [0x314159, 0x265359] as const;
/** First and second half of the magic number that ends a stream: the digits of the square root of pi. */
export const END_MAGIC = [0x177245, 0x385090] as const;

/**
 * By any 16 bits on a byte boundary: a mask of the bit offsets (0 to 7, as powers of two) at which a magic number that
 * started in the previous byte would show these bits.
 */
const OFFSETS_BY_WORD = createOffsets();

function createOffsets(): Uint8Array {
  const offsets = new Uint8Array(0x10000);
  for (const [high, low] of [BLOCK_MAGIC, END_MAGIC]) {
    const magic = (BigInt(high) << 24n) | BigInt(low);
    for (let offset = 0; offset < 8; offset++) {
      const word = Number((magic >> BigInt(MAGIC_BITS - 16 - (8 - offset))) & 0xffffn);
      offsets[word] = (offsets[word] as number) | (1 << offset);
    }
  }
  return offsets;
}

/** Returns true if `magic` is at `bit` in the window. */
export function isMagicAt(window: BitWindow, bit: number, magic: readonly [number, number]): boolean {
  return window.peekBits(bit, 24) === magic[0] && window.peekBits(bit + 24, 24) === magic[1];
}

/** Returns true if the input ends at `bit` in the window with the first bits of a magic number. */
export function isMagicCutAt(window: BitWindow, bit: number): boolean {
  const bits = window.length * 8 - bit;
  if (bits >= MAGIC_BITS) return false;
  const isCut = ([high, low]: readonly [number, number]) =>
    bits <= 24
      ? bits <= 0 || window.peekBits(bit, bits) === high >>> (24 - bits)
      : window.peekBits(bit, 24) === high && window.peekBits(bit + 24, bits - 24) === low >>> (48 - bits);
  return isCut(BLOCK_MAGIC) || isCut(END_MAGIC);
}

/**
 * Moves the window's position to the next magic number of either kind, at any bit offset. Returns false if the window
 * contains none; the position is then the first one that more input could complete to a magic number.
 */
export function seekMagic(window: BitWindow): boolean {
  const { bytes } = window;
  const lastBit = window.length * 8 - MAGIC_BITS;
  const firstBit = window.bit;
  for (let at = firstBit >>> 3; at * 8 <= lastBit; at++) {
    const word = ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    const offsets = OFFSETS_BY_WORD[word] as number;
    if (offsets === 0) continue;
    for (let offset = 0; offset < 8; offset++) {
      const bit = at * 8 + offset;
      if ((offsets & (1 << offset)) === 0 || bit < firstBit || bit > lastBit) continue;
      if (isMagicAt(window, bit, BLOCK_MAGIC) || isMagicAt(window, bit, END_MAGIC)) {
        window.bit = bit;
        return true;
      }
    }
  }
  window.bit = Math.max(firstBit, lastBit + 1);
  return false;
}
