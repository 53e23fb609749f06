import { endianness } from 'node:os';
import { BLOCK_BYTES_MAX, type SymbolReader } from './symbol-reader.ts';

/** Blocks whose walks run interleaved. Four chains of dependent loads hide most of each other's waiting for memory. */
export const LANES_MAX = 4;

/** Bytes that one step of the walk yields. */
const STEP_BYTES = 4;

/**
 * One block between its symbols and its text: the chain through the sorted rotations, cut to steps of four bytes.
 * Each position has two words, side by side so that a step waits for memory once: the four bytes, and the next position.
 */
export class Lane {
  readonly steps = new Uint32Array(2 * BLOCK_BYTES_MAX);
  /** The text, before runs are expanded, is written to the end of this; see `text`. */
  readonly words = new Uint32Array(Math.ceil(BLOCK_BYTES_MAX / STEP_BYTES));
  readonly #bytes = new Uint8Array(this.words.buffer);
  length = 0;
  origin = 0;

  /** The text after {@link walk}, runs not expanded. Valid until the lane is used again. */
  get text(): Uint8Array {
    const end = Math.ceil(this.length / STEP_BYTES) * STEP_BYTES;
    return this.#bytes.subarray(end - this.length, end);
  }

  /**
   * Prepares the walk over a decoded last column. `chain` is scratch space for one block.
   *
   * The chain leads from each position to that of the byte before it in the text, so the text is walked from its end.
   * In that direction the chain is built in the order of memory, without scattering, and the positions that neighbours
   * lead to are neighbours again as long as their bytes are equal: that keeps this pass inside the caches.
   */
  prepare(symbols: SymbolReader, origin: number, chain: Uint32Array): void {
    const { column, length, counts } = symbols;
    const { steps } = this;
    const next = new Int32Array(256);
    for (let value = 0, sum = 0; value < 256; value++) {
      next[value] = sum;
      sum += counts[value] as number;
    }
    for (let index = 0; index < length; index++) {
      const value = column[index] as number;
      const to = next[value] as number;
      next[value] = to + 1;
      chain[index] = (to << 8) | value;
    }
    for (let index = 0; index < length; index++) {
      const last = chain[index] as number;
      const third = chain[last >>> 8] as number;
      const second = chain[third >>> 8] as number;
      const first = chain[second >>> 8] as number;
      steps[2 * index] = (last << 24) | ((third & 0xff) << 16) | ((second & 0xff) << 8) | (first & 0xff);
      steps[2 * index + 1] = first >>> 8;
    }
    this.length = length;
    this.origin = origin;
  }
}

/** Scratch space for {@link Lane.prepare}. */
export function createChain(): Uint32Array {
  return new Uint32Array(BLOCK_BYTES_MAX);
}

/** Writes the text of all lanes. */
export function walk(lanes: readonly Lane[]): void {
  for (const lane of lanes) {
    const { steps, words } = lane;
    let position = lane.origin;
    for (let word = Math.ceil(lane.length / STEP_BYTES) - 1; word >= 0; word--) {
      words[word] = steps[2 * position] as number;
      position = steps[2 * position + 1] as number;
    }
  }
  if (endianness() === 'BE') for (const lane of lanes) Buffer.from(lane.words.buffer).swap32();
}
