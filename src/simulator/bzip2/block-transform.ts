import { sortSuffixes } from './suffix-array.ts';

/** The bytes of a block in the order of its sorted rotations. */
export interface SortedBlock {
  /** The byte before the first of each rotation. */
  readonly last: Uint8Array;
  /** Index of the rotation that is the block itself. */
  readonly origin: number;
}

/** A block as symbols for the entropy coder. */
export interface BlockSymbols {
  /** Ends with the end-of-block symbol. */
  readonly symbols: Uint16Array;
  /** Number of different symbols, including the end-of-block symbol. */
  readonly alphabetSize: number;
  /** 1 for each byte value that occurs in the block. */
  readonly isUsed: Uint8Array;
}

/** Equal bytes in a row that are written literally; a count of further ones follows. */
const RUN_LITERALS = 4;
/** Maximum value of one count. */
const RUN_BYTES_MAX = 255;

/**
 * Shortens runs of equal bytes from `start` on, until `target` is full or the input ends.
 * @returns bytes written to `target`, and where the input goes on
 */
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

/** Burrows-Wheeler transform of `block`, which must not be empty. */
export function sortRotations(block: Uint8Array): SortedBlock {
  const { length } = block;
  // Among the suffixes of the least rotation, a suffix that begins another one also sorts before it as a rotation
  // (Lyndon words have no border), so sorting suffixes sorts rotations.
  const shift = findLeastRotation(block);
  const rotated = new Uint8Array(length);
  rotated.set(block.subarray(shift));
  rotated.set(block.subarray(0, shift), length - shift);
  const originStart = (length - shift) % length;
  const last = new Uint8Array(length);
  let origin = 0;
  const order = sortSuffixes(rotated, 255);
  for (let rank = 0; rank < length; rank++) {
    const start = order[rank] ?? 0;
    last[rank] = rotated[start === 0 ? length - 1 : start - 1] ?? 0;
    if (start === originStart) origin = rank;
  }
  return { last, origin };
}

/** Returns the start of the rotation that sorts first. Linear time: a candidate that loses is skipped completely. */
function findLeastRotation(block: Uint8Array): number {
  const { length } = block;
  let candidate = 0;
  let rival = 1;
  let equal = 0;
  while (candidate < length && rival < length && equal < length) {
    const ours = block[(candidate + equal) % length] ?? 0;
    const theirs = block[(rival + equal) % length] ?? 0;
    if (ours === theirs) {
      equal++;
      continue;
    }
    if (ours > theirs) candidate += equal + 1;
    else rival += equal + 1;
    if (candidate === rival) rival++;
    equal = 0;
  }
  return Math.min(candidate, rival);
}

/**
 * Applies move-to-front and encodes runs of the front value as digits: 0 and 1 are the digits, then positions from 1
 * on.
 */
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
