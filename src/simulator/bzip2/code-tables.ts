/** Prefix codes of a block, and which of them each group of symbols uses. */
export interface CodeTables {
  /** Bits of each symbol's code, for each table. */
  readonly lengths: readonly Uint8Array[];
  /** Index of the table for each group. */
  readonly selectors: Uint8Array;
}

/** Symbols that share one table. */
export const GROUP_SYMBOLS = 50;
/** Longest code; the format would allow 20. */
const CODE_BITS_MAX = 17;
/** Rounds of choosing the best table for each group and fitting the tables to their groups. */
const FITTING_ROUNDS = 4;
/** Bits that a symbol outside of a table's first share costs before the first fitting. */
const FOREIGN_BITS = 15;
/** Tables by number of symbols; more do not pay for themselves in short blocks. */
const TABLES_BY_SYMBOLS: readonly (readonly [below: number, tables: number])[] = [
  [200, 2],
  [600, 3],
  [1200, 4],
  [2400, 5],
];
const TABLES_MAX = 6;

/** Finds codes for a block as the original program does: a first guess by frequency, then fitted to the groups. */
export function fitCodeTables(symbols: Uint16Array, alphabetSize: number): CodeTables {
  const tables = TABLES_BY_SYMBOLS.find(([below]) => symbols.length < below)?.[1] ?? TABLES_MAX;
  const groups = Math.ceil(symbols.length / GROUP_SYMBOLS);
  const selectors = new Uint8Array(groups);
  let lengths = guessLengths(symbols, alphabetSize, tables);
  for (let round = 0; round < FITTING_ROUNDS; round++) {
    const counts = lengths.map(() => new Uint32Array(alphabetSize));
    for (let group = 0; group < groups; group++) {
      const members = symbols.subarray(group * GROUP_SYMBOLS, (group + 1) * GROUP_SYMBOLS);
      const best = findCheapest(members, lengths);
      selectors[group] = best;
      const count = counts[best];
      if (count) for (const symbol of members) count[symbol] = (count[symbol] ?? 0) + 1;
    }
    lengths = counts.map((count) => computeLengths(count));
  }
  return { lengths, selectors };
}

/** Gives each table a share of the alphabet that covers about the same number of symbols. */
function guessLengths(symbols: Uint16Array, alphabetSize: number, tables: number): Uint8Array[] {
  const counts = new Uint32Array(alphabetSize);
  for (const symbol of symbols) counts[symbol] = (counts[symbol] ?? 0) + 1;
  const tableOf = new Uint8Array(alphabetSize);
  let before = 0;
  for (let symbol = 0; symbol < alphabetSize; symbol++) {
    tableOf[symbol] = Math.min(tables - 1, Math.floor((before * tables) / symbols.length));
    before += counts[symbol] ?? 0;
  }
  return Array.from({ length: tables }, (_, table) =>
    tableOf.map((favourite) => (favourite === table ? 0 : FOREIGN_BITS)),
  );
}

function findCheapest(members: Uint16Array, lengths: readonly Uint8Array[]): number {
  let best = 0;
  let bestBits = Number.POSITIVE_INFINITY;
  for (const [table, bitsOf] of lengths.entries()) {
    let bits = 0;
    for (const symbol of members) bits += bitsOf[symbol] ?? 0;
    if (bits >= bestBits) continue;
    best = table;
    bestBits = bits;
  }
  return best;
}

/** Huffman code lengths. Every symbol gets a code, also one that never occurs; too long a code makes the counts coarser. */
function computeLengths(counts: Uint32Array): Uint8Array {
  let weights = Array.from(counts, (count) => Math.max(1, count));
  for (;;) {
    const lengths = computeUnboundedLengths(weights);
    if (lengths.every((bits) => bits <= CODE_BITS_MAX)) return lengths;
    weights = weights.map((weight) => 1 + (weight >> 1));
  }
}

/** Joins the two lightest nodes until one is left. Leaves are sorted and joined nodes grow, so each is a queue. */
function computeUnboundedLengths(weights: readonly number[]): Uint8Array {
  const leaves = [...weights.keys()].toSorted((a, b) => (weights[a] ?? 0) - (weights[b] ?? 0));
  const nodes = [...weights];
  const parents: number[] = [];
  let leaf = 0;
  let joined = weights.length;
  const takeLightest = (): number => {
    const next = leaves[leaf];
    const isLeaf = next !== undefined && (joined >= nodes.length || (nodes[next] ?? 0) <= (nodes[joined] ?? 0));
    if (isLeaf) leaf++;
    return isLeaf ? next : joined++;
  };
  for (let count = 1; count < weights.length; count++) {
    const a = takeLightest();
    const b = takeLightest();
    parents[a] = nodes.length;
    parents[b] = nodes.length;
    nodes.push((nodes[a] ?? 0) + (nodes[b] ?? 0));
  }
  const depths = new Uint8Array(nodes.length);
  for (let node = nodes.length - 2; node >= 0; node--) depths[node] = (depths[parents[node] ?? 0] ?? 0) + 1;
  return depths.subarray(0, weights.length);
}
