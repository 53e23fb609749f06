import { BLOCK_BYTES_MAX, type SymbolReader } from './block.ts';

/** Strands followed in parallel, so that this many independent loads wait for memory at the same time. */
const LANES = 16;
/** Number of strands of a full block; large, so that all lanes have work almost to the end. */
const CUTS_MAX = 256;
/** A small block is cut into strands of about this many bytes. */
const CUT_BYTES_MIN = 2048;
/** Each lane writes its strands here, from its end downwards; a strand takes one byte that was not counted as a step. */
const LANE_BYTES = BLOCK_BYTES_MAX + 2 * CUTS_MAX;
/** Marks a position in the chain where one strand starts and the previous one ends. */
const CUT = 0x8000_0000;

/**
 * Undoes the Burrows-Wheeler transform. The last column gives for each position that of the byte before it in the text.
 * Following this chain from the origin gives the text from its end, but each step waits for memory.
 *
 * So the chain is cut into strands, which are followed in parallel without knowing their place in the text, and then
 * ordered by where each one ended. The chain is built in the order of memory, unlike for the usual direction from the
 * start of the text.
 */
export class InverseTransform {
  /** By position: the next position × 256 + the byte. One more for lanes that have nothing to do: it leads to itself. */
  readonly #chain = new Int32Array(BLOCK_BYTES_MAX + 1);
  readonly #strands = new Uint8Array(LANES * LANE_BYTES);
  readonly #text = new Uint8Array(BLOCK_BYTES_MAX);
  /** By number of a cut: the strand from it, as bounds in `strands`, and the number of the cut where it ends. */
  readonly #starts = new Int32Array(CUTS_MAX + 2);
  readonly #ends = new Int32Array(CUTS_MAX + 2);
  readonly #followers = new Int32Array(CUTS_MAX + 2);

  /** Returns the text of a decoded last column whose row `origin` is the text itself. Valid until the next call. */
  invert(symbols: SymbolReader, origin: number): Uint8Array {
    const { length } = symbols;
    this.#buildChain(symbols);
    this.#follow(length, origin, Math.max(CUT_BYTES_MIN, Math.ceil(length / CUTS_MAX)));
    return this.#join(length);
  }

  #buildChain({ column, length, counts }: SymbolReader): void {
    const chain = this.#chain;
    /** By byte value: the first and the last position, plus one, that are still to be led to. */
    const firsts = new Int32Array(256);
    const ends = new Int32Array(256);
    for (let value = 0, sum = 0; value < 256; value++) {
      firsts[value] = sum;
      sum += counts[value] as number;
      ends[value] = sum;
    }
    // From both sides at once: in a run of equal bytes each step waits for the counter that the step before it wrote.
    let front = 0;
    let back = length - 1;
    for (; front < back; front++, back--) {
      const value = column[front] as number;
      const first = firsts[value] as number;
      firsts[value] = first + 1;
      chain[front] = (first << 8) | value;
      const valueBack = column[back] as number;
      const last = (ends[valueBack] as number) - 1;
      ends[valueBack] = last;
      chain[back] = (last << 8) | valueBack;
    }
    if (front === back) {
      const value = column[front] as number;
      chain[front] = ((firsts[value] as number) << 8) | value;
    }
    chain[length] = length << 8;
  }

  #follow(length: number, origin: number, cutBytes: number): void {
    const chain = this.#chain;
    const strands = this.#strands;
    const cuts = 1 + Math.ceil(length / cutBytes);
    const toPosition = (cut: number) => (cut === 0 ? origin : (cut - 1) * cutBytes);
    const toCut = (position: number) => (position === origin ? 0 : 1 + position / cutBytes);
    for (let cut = 0; cut < cuts; cut++) chain[toPosition(cut)] = (chain[toPosition(cut)] as number) | CUT;

    const positions = new Int32Array(LANES).fill(length);
    /** By lane: where it writes, less the steps left. */
    const offsets = Int32Array.from({ length: LANES }, (_, lane) => lane * LANE_BYTES + 2 * CUTS_MAX);
    const current = new Int32Array(LANES).fill(-1);
    let left = length;
    let nextCut = 0;
    const start = (lane: number) => {
      current[lane] = -1;
      positions[lane] = length;
      // If the origin is a multiple as well, it is still one cut.
      if (nextCut > 0 && nextCut < cuts && toPosition(nextCut) === origin) nextCut++;
      if (nextCut >= cuts) return;
      const link = (chain[toPosition(nextCut)] as number) & ~CUT;
      const offset = offsets[lane] as number;
      this.#ends[nextCut] = offset + left;
      strands[offset + left - 1] = link;
      offsets[lane] = offset - 1;
      positions[lane] = link >> 8;
      current[lane] = nextCut++;
    };
    for (let lane = 0; lane < LANES; lane++) start(lane);

    while (current.some((cut) => cut >= 0)) {
      left = followLanes(chain, strands, positions, offsets, left);
      for (let lane = 0; lane < LANES; lane++) {
        // A strand may end at its first step, so this repeats.
        for (let cut = current[lane] as number; cut >= 0; cut = current[lane] as number) {
          const position = positions[lane] as number;
          if ((chain[position] as number) >= 0) break;
          this.#starts[cut] = (offsets[lane] as number) + left;
          this.#followers[cut] = toCut(position);
          start(lane);
        }
      }
    }
  }

  #join(length: number): Uint8Array {
    const text = this.#text;
    let from = length;
    let cut = 0;
    do {
      const strand = this.#strands.subarray(this.#starts[cut], this.#ends[cut]);
      from -= strand.length;
      text.set(strand, from);
      cut = this.#followers[cut] as number;
    } while (cut !== 0);
    // A repeating text has equal rows, and the chain through one of them is only a part of it, counted from the start.
    // In forged data the part may not fill the block a whole number of times.
    if (from > 0) {
      let known = length - from;
      text.copyWithin(0, from, length);
      for (let copied = 0; known < length; known += copied) {
        copied = Math.min(known, length - known);
        text.copyWithin(known, 0, copied);
      }
    }
    return text.subarray(0, length);
  }
}

/** Follows all lanes until one reaches a cut. One counter serves all lanes. Returns the steps left. */
function followLanes(
  chain: Int32Array,
  strands: Uint8Array,
  positions: Int32Array,
  offsets: Int32Array,
  stepsLeft: number,
): number {
  for (let left = stepsLeft; ; left--) {
    let links = 0;
    for (let lane = 0; lane < LANES; lane++) links |= chain[positions[lane] as number] as number;
    if (links < 0) return left;
    for (let lane = 0; lane < LANES; lane++) {
      const link = chain[positions[lane] as number] as number;
      strands[(offsets[lane] as number) + left - 1] = link;
      positions[lane] = link >> 8;
    }
  }
}
