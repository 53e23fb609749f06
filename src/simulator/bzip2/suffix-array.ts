/**
 * Sorts the suffixes of `text`, the shorter first where one is the beginning of another; returns their start positions.
 * Values are from 0 to `valueMax`. Induced sorting (SA-IS, Nong, Zhang and Chan 2009): time and memory are linear for
 * any input, also for one line repeated for ever, on which comparison sorts take minutes.
 */
export function sortSuffixes(text: Uint8Array | Int32Array, valueMax: number): Int32Array {
  const { length } = text;
  if (length < 2) return new Int32Array(length);
  const isSmall = markSmall(text);
  const starts: number[] = [];
  const ordinals = new Int32Array(length).fill(-1);
  for (let index = 1; index < length; index++) {
    if (isSmall[index - 1] || !isSmall[index]) continue;
    ordinals[index] = starts.length;
    starts.push(index);
  }
  const buckets = new Buckets(text, isSmall, valueMax);
  const roughly = buckets.induce(starts);
  if (starts.length === 0) return roughly;
  const names = nameSubstrings(
    text,
    starts,
    ordinals,
    roughly.filter((index) => (ordinals[index] ?? -1) >= 0),
  );
  const order = sortSuffixes(names.text, names.valueMax);
  return buckets.induce(Array.from(order, (ordinal) => starts[ordinal] ?? 0));
}

/** 1 for each suffix that is smaller than the one behind it (type S), 0 for the others (type L). */
function markSmall(text: Uint8Array | Int32Array): Uint8Array {
  const isSmall = new Uint8Array(text.length);
  for (let index = text.length - 2; index >= 0; index--) {
    const value = text[index] ?? 0;
    const next = text[index + 1] ?? 0;
    isSmall[index] = value === next ? (isSmall[index + 1] ?? 0) : Number(value < next);
  }
  return isSmall;
}

/** The part of the order that each first value has: its L suffixes, then its S suffixes. */
class Buckets {
  readonly #text: Uint8Array | Int32Array;
  readonly #isSmall: Uint8Array;
  /** Start of the L and the S suffixes of each value; one more entry for the end of the last. */
  readonly #largeStarts: Int32Array;
  readonly #smallStarts: Int32Array;

  constructor(text: Uint8Array | Int32Array, isSmall: Uint8Array, valueMax: number) {
    this.#text = text;
    this.#isSmall = isSmall;
    const large = new Int32Array(valueMax + 2);
    const small = new Int32Array(valueMax + 2);
    for (let index = 0; index < text.length; index++) {
      const counts = isSmall[index] ? small : large;
      counts[text[index] ?? 0] = (counts[text[index] ?? 0] ?? 0) + 1;
    }
    let start = 0;
    for (let value = 0; value < valueMax + 2; value++) {
      const largeCount = large[value] ?? 0;
      const smallCount = small[value] ?? 0;
      large[value] = start;
      small[value] = start + largeCount;
      start += largeCount + smallCount;
    }
    this.#largeStarts = large;
    this.#smallStarts = small;
  }

  /** Derives the order of all suffixes from that of those in `seeds`. */
  induce(seeds: readonly number[]): Int32Array {
    const text = this.#text;
    const isSmall = this.#isSmall;
    const { length } = text;
    const order = new Int32Array(length).fill(-1);
    const place = (index: number, nexts: Int32Array) => {
      const value = text[index] ?? 0;
      const next = nexts[value] ?? 0;
      order[next] = index;
      nexts[value] = next + 1;
    };
    const smalls = this.#smallStarts.slice();
    for (const seed of seeds) place(seed, smalls);
    const larges = this.#largeStarts.slice();
    place(length - 1, larges);
    for (let rank = 0; rank < length; rank++) {
      const before = (order[rank] ?? -1) - 1;
      if (before >= 0 && !isSmall[before]) place(before, larges);
    }
    // The S suffixes of a value end where the L suffixes of the next one begin.
    const ends = this.#largeStarts.slice(1);
    for (let rank = length - 1; rank >= 0; rank--) {
      const before = (order[rank] ?? -1) - 1;
      if (before < 0 || !isSmall[before]) continue;
      const value = text[before] ?? 0;
      const end = (ends[value] ?? 0) - 1;
      ends[value] = end;
      order[end] = before;
    }
    return order;
  }
}

/** The text of the substrings between the positions in `starts`: equal ones get equal values, in their sorted order. */
function nameSubstrings(
  text: Uint8Array | Int32Array,
  starts: readonly number[],
  ordinals: Int32Array,
  sorted: Int32Array,
): { readonly text: Int32Array; readonly valueMax: number } {
  const names = new Int32Array(starts.length);
  const endOf = (start: number) => starts[(ordinals[start] ?? 0) + 1] ?? text.length;
  let name = 0;
  for (let rank = 1; rank < sorted.length; rank++) {
    const previous = sorted[rank - 1] ?? 0;
    const start = sorted[rank] ?? 0;
    if (!isSameSubstring(text, previous, endOf(previous), start, endOf(start))) name++;
    names[ordinals[start] ?? 0] = name;
  }
  return { text: names, valueMax: name };
}

/** Compares up to and including the value at the end, which is where the next substring begins. */
function isSameSubstring(
  text: Uint8Array | Int32Array,
  startA: number,
  endA: number,
  startB: number,
  endB: number,
): boolean {
  if (endA - startA !== endB - startB || endA === text.length || endB === text.length) return false;
  for (let offset = 0; offset <= endA - startA; offset++) {
    if (text[startA + offset] !== text[startB + offset]) return false;
  }
  return true;
}
