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
  let p0 = positions[0] as number;
  let p1 = positions[1] as number;
  let p2 = positions[2] as number;
  let p3 = positions[3] as number;
  let p4 = positions[4] as number;
  let p5 = positions[5] as number;
  let p6 = positions[6] as number;
  let p7 = positions[7] as number;
  let p8 = positions[8] as number;
  let p9 = positions[9] as number;
  let p10 = positions[10] as number;
  let p11 = positions[11] as number;
  let p12 = positions[12] as number;
  let p13 = positions[13] as number;
  let p14 = positions[14] as number;
  let p15 = positions[15] as number;
  const o0 = offsets[0] as number;
  const o1 = offsets[1] as number;
  const o2 = offsets[2] as number;
  const o3 = offsets[3] as number;
  const o4 = offsets[4] as number;
  const o5 = offsets[5] as number;
  const o6 = offsets[6] as number;
  const o7 = offsets[7] as number;
  const o8 = offsets[8] as number;
  const o9 = offsets[9] as number;
  const o10 = offsets[10] as number;
  const o11 = offsets[11] as number;
  const o12 = offsets[12] as number;
  const o13 = offsets[13] as number;
  const o14 = offsets[14] as number;
  const o15 = offsets[15] as number;
  let left = stepsLeft;
  for (;;) {
    const l0 = chain[p0] as number;
    const l1 = chain[p1] as number;
    const l2 = chain[p2] as number;
    const l3 = chain[p3] as number;
    const l4 = chain[p4] as number;
    const l5 = chain[p5] as number;
    const l6 = chain[p6] as number;
    const l7 = chain[p7] as number;
    const l8 = chain[p8] as number;
    const l9 = chain[p9] as number;
    const l10 = chain[p10] as number;
    const l11 = chain[p11] as number;
    const l12 = chain[p12] as number;
    const l13 = chain[p13] as number;
    const l14 = chain[p14] as number;
    const l15 = chain[p15] as number;
    if ((l0 | l1 | l2 | l3 | l4 | l5 | l6 | l7 | l8 | l9 | l10 | l11 | l12 | l13 | l14 | l15) < 0) break;
    left--;
    strands[o0 + left] = l0;
    p0 = l0 >> 8;
    strands[o1 + left] = l1;
    p1 = l1 >> 8;
    strands[o2 + left] = l2;
    p2 = l2 >> 8;
    strands[o3 + left] = l3;
    p3 = l3 >> 8;
    strands[o4 + left] = l4;
    p4 = l4 >> 8;
    strands[o5 + left] = l5;
    p5 = l5 >> 8;
    strands[o6 + left] = l6;
    p6 = l6 >> 8;
    strands[o7 + left] = l7;
    p7 = l7 >> 8;
    strands[o8 + left] = l8;
    p8 = l8 >> 8;
    strands[o9 + left] = l9;
    p9 = l9 >> 8;
    strands[o10 + left] = l10;
    p10 = l10 >> 8;
    strands[o11 + left] = l11;
    p11 = l11 >> 8;
    strands[o12 + left] = l12;
    p12 = l12 >> 8;
    strands[o13 + left] = l13;
    p13 = l13 >> 8;
    strands[o14 + left] = l14;
    p14 = l14 >> 8;
    strands[o15 + left] = l15;
    p15 = l15 >> 8;
  }
  positions[0] = p0;
  positions[1] = p1;
  positions[2] = p2;
  positions[3] = p3;
  positions[4] = p4;
  positions[5] = p5;
  positions[6] = p6;
  positions[7] = p7;
  positions[8] = p8;
  positions[9] = p9;
  positions[10] = p10;
  positions[11] = p11;
  positions[12] = p12;
  positions[13] = p13;
  positions[14] = p14;
  positions[15] = p15;
  return left;
}
