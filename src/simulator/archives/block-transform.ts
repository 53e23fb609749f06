interface SortedBlock {
  /** The last byte of each rotation, in sorted order. */
  readonly last: Uint8Array;
  /** Index of the rotation that is the block itself. */
  readonly origin: number;
}

interface BlockSymbols {
  /** Ends with the end-of-block symbol. */
  readonly symbols: Uint16Array;
  /** Number of different symbols, including the end-of-block symbol. */
  readonly alphabetSize: number;
  /** 1 for each byte value that occurs in the block. */
  readonly isUsed: Uint8Array;
}

/** Equal bytes in a row that are written literally; a count of further ones follows. */
const RUN_LITERALS = 4;
/** Maximum of one count. */
const RUN_BYTES_MAX = 255;

/** Encodes runs from `start` until `target` is full. `length`: bytes in `target`; `end`: where the input continues. */
export function shortenRuns(input: Uint8Array, start: number, target: Uint8Array): { length: number; end: number } {
  let length = 0;
  let end = start;
  while (end < input.length && length + RUN_LITERALS < target.length) {
    const byte = input[end] ?? 0;
    let run = 1;
    while (run < RUN_BYTES_MAX && input[end + run] === byte) run++;
    const literals = Math.min(run, RUN_LITERALS);
    target.fill(byte, length, length + literals);
    length += literals;
    if (run >= RUN_LITERALS) target[length++] = run - RUN_LITERALS;
    end += run;
  }
  return { length, end };
}

/**
 * Burrows-Wheeler transform of `block`, which must not be empty. The rotations are sorted by their first byte, then by twice as many
 * bytes each round: at most 20 rounds, also for one endlessly repeated line, where comparing rotations takes minutes.
 */
export function sortRotations(block: Uint8Array): SortedBlock {
  const { length } = block;
  let ranks = Int32Array.from(block);
  let order = sortByRank(ranks, Int32Array.from(ranks.keys()));
  for (let known = 1, isSorted = false; !isSorted && known < length; known *= 2) {
    // By their second half, which is already sorted.
    const bySecond = order.map((start) => (start < known ? start + length : start) - known);
    const rankBehind = (start: number) => ranks[start + known < length ? start + known : start + known - length];
    order = sortByRank(ranks, bySecond);
    const next = new Int32Array(length);
    let rank = 0;
    for (let place = 1; place < length; place++) {
      const start = order[place] ?? 0;
      const before = order[place - 1] ?? 0;
      if (ranks[start] !== ranks[before] || rankBehind(start) !== rankBehind(before)) rank++;
      next[start] = rank;
    }
    ranks = next;
    isSorted = rank === length - 1;
  }
  const last = Uint8Array.from(order, (start) => block[start === 0 ? length - 1 : start - 1] ?? 0);
  return { last, origin: order.indexOf(0) };
}

/** Stable. */
function sortByRank(ranks: Int32Array, rotations: Int32Array): Int32Array<ArrayBuffer> {
  const ends = new Int32Array(Math.max(256, ranks.length));
  for (const rank of ranks) ends[rank] = (ends[rank] ?? 0) + 1;
  for (let rank = 1; rank < ends.length; rank++) ends[rank] = (ends[rank] ?? 0) + (ends[rank - 1] ?? 0);
  const sorted = new Int32Array(ranks.length);
  for (let index = rotations.length - 1; index >= 0; index--) {
    const rotation = rotations[index] ?? 0;
    const rank = ranks[rotation] ?? 0;
    const place = (ends[rank] ?? 0) - 1;
    ends[rank] = place;
    sorted[place] = rotation;
  }
  return sorted;
}

/** Applies move-to-front and encodes runs of the front value as digits: 0 and 1 are the digits, then positions from 1. */
export function toSymbols(last: Uint8Array): BlockSymbols {
  const isUsed = new Uint8Array(256);
  for (const byte of last) isUsed[byte] = 1;
  const recent = Uint8Array.from(isUsed.keys()).filter((byte) => isUsed[byte]);
  const endOfBlock = recent.length + 1;
  const symbols = new Uint16Array(last.length + 1);
  let length = 0;
  let run = 0;
  const flushRun = () => {
    // Bijective base 2, least digit first.
    for (let rest = run; rest > 0; rest = (rest - 1) >> 1) symbols[length++] = (rest - 1) & 1;
    run = 0;
  };
  for (const byte of last) {
    if (recent[0] === byte) {
      run++;
      continue;
    }
    flushRun();
    const position = recent.indexOf(byte);
    recent.copyWithin(1, 0, position);
    recent[0] = byte;
    symbols[length++] = position + 1;
  }
  flushRun();
  symbols[length++] = endOfBlock;
  return { symbols: symbols.subarray(0, length), alphabetSize: endOfBlock + 1, isUsed };
}
