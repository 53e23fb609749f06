/**
 * The inner loops of the bzip2 decoder in AssemblyScript. `npm run wasm` compiles this to `src/bzip2/block-wasm.ts`. The same
 * as `SymbolReader`, `InverseTransform`, `RunExpander` and `updateCrc` do in TypeScript, which says how and why; tests compare the two.
 */

const BLOCK_BYTES: usize = 900_000;
const LANES: usize = 16;
const CUTS: usize = 256;
const LANE_BYTES: usize = BLOCK_BYTES + 2 * CUTS;
const CUT: u32 = 0x8000_0000;

/** By position: the next position × 256 + the byte. */
export const CHAIN: usize = 0x1_0000;
/** The text of a block, its runs not expanded, and room behind it that may be read. */
export const TEXT: usize = 0x40_0000;
/** Number of occurrences of each byte value in the last column. */
const COUNTS: usize = 0x50_0000;
/** By lane: its position, and where it writes less the steps left. */
export const POSITIONS: usize = 0x50_1000;
export const OFFSETS: usize = 0x50_1100;
/** By byte value: the position that the next such byte of the column leads to. */
const FIRSTS: usize = 0x50_1400;
export const STRANDS: usize = 0x60_0000;
/** The last column as its symbols are read: runs of equal bytes, each as its length × 256 + the byte. */
const RUNS: usize = 0x140_0000;

/** Builds the chain of the column that was read. */
export function buildChain(): void {
  memory.fill(COUNTS, 0, 1024);
  const end = RUNS + ((<usize>runs) << 2);
  for (let at: usize = RUNS; at < end; at += 4) {
    const entry = load<u32>(at);
    const count = COUNTS + ((<usize>(entry & 0xff)) << 2);
    store<u32>(count, load<u32>(count) + (entry >> 8));
  }
  let sum: u32 = 0;
  for (let value: usize = 0; value < 1024; value += 4) {
    store<u32>(FIRSTS + value, sum);
    sum += load<u32>(COUNTS + value);
  }
  const steps = i32x4(0, 256, 512, 768);
  let link: usize = CHAIN;
  for (let at: usize = RUNS; at < end; at += 4) {
    const entry = load<u32>(at);
    const value = entry & 0xff;
    const firstAt = FIRSTS + ((<usize>value) << 2);
    const first = load<u32>(firstAt);
    store<u32>(firstAt, first + (entry >> 8));
    const linkEnd = link + ((<usize>(entry >> 8)) << 2);
    // What is written beyond the run is overwritten by the next one.
    let links = i32x4.add(i32x4.splat((first << 8) | value), steps);
    v128.store(link, links);
    for (link += 16; link < linkEnd; link += 16) {
      links = i32x4.add(links, i32x4.splat(1024));
      v128.store(link, links);
    }
    link = linkEnd;
  }
  store<u32>(CHAIN + ((<usize>columnBytes) << 2), columnBytes << 8);
}

/** Follows all lanes until one reaches a cut. Returns the number of steps left. */
export function followLanes(stepsLeft: usize): usize {
  let p0 = load<u32>(POSITIONS, 0);
  let p1 = load<u32>(POSITIONS, 4);
  let p2 = load<u32>(POSITIONS, 8);
  let p3 = load<u32>(POSITIONS, 12);
  let p4 = load<u32>(POSITIONS, 16);
  let p5 = load<u32>(POSITIONS, 20);
  let p6 = load<u32>(POSITIONS, 24);
  let p7 = load<u32>(POSITIONS, 28);
  let p8 = load<u32>(POSITIONS, 32);
  let p9 = load<u32>(POSITIONS, 36);
  let p10 = load<u32>(POSITIONS, 40);
  let p11 = load<u32>(POSITIONS, 44);
  let p12 = load<u32>(POSITIONS, 48);
  let p13 = load<u32>(POSITIONS, 52);
  let p14 = load<u32>(POSITIONS, 56);
  let p15 = load<u32>(POSITIONS, 60);
  let left = stepsLeft;
  const o0 = STRANDS + load<u32>(OFFSETS, 0);
  const o1 = STRANDS + load<u32>(OFFSETS, 4);
  const o2 = STRANDS + load<u32>(OFFSETS, 8);
  const o3 = STRANDS + load<u32>(OFFSETS, 12);
  const o4 = STRANDS + load<u32>(OFFSETS, 16);
  const o5 = STRANDS + load<u32>(OFFSETS, 20);
  const o6 = STRANDS + load<u32>(OFFSETS, 24);
  const o7 = STRANDS + load<u32>(OFFSETS, 28);
  const o8 = STRANDS + load<u32>(OFFSETS, 32);
  const o9 = STRANDS + load<u32>(OFFSETS, 36);
  const o10 = STRANDS + load<u32>(OFFSETS, 40);
  const o11 = STRANDS + load<u32>(OFFSETS, 44);
  const o12 = STRANDS + load<u32>(OFFSETS, 48);
  const o13 = STRANDS + load<u32>(OFFSETS, 52);
  const o14 = STRANDS + load<u32>(OFFSETS, 56);
  const o15 = STRANDS + load<u32>(OFFSETS, 60);
  for (;;) {
    const l0 = load<u32>(CHAIN + (p0 << 2));
    const l1 = load<u32>(CHAIN + (p1 << 2));
    const l2 = load<u32>(CHAIN + (p2 << 2));
    const l3 = load<u32>(CHAIN + (p3 << 2));
    const l4 = load<u32>(CHAIN + (p4 << 2));
    const l5 = load<u32>(CHAIN + (p5 << 2));
    const l6 = load<u32>(CHAIN + (p6 << 2));
    const l7 = load<u32>(CHAIN + (p7 << 2));
    const l8 = load<u32>(CHAIN + (p8 << 2));
    const l9 = load<u32>(CHAIN + (p9 << 2));
    const l10 = load<u32>(CHAIN + (p10 << 2));
    const l11 = load<u32>(CHAIN + (p11 << 2));
    const l12 = load<u32>(CHAIN + (p12 << 2));
    const l13 = load<u32>(CHAIN + (p13 << 2));
    const l14 = load<u32>(CHAIN + (p14 << 2));
    const l15 = load<u32>(CHAIN + (p15 << 2));
    if (<i32>(l0 | l1 | l2 | l3 | l4 | l5 | l6 | l7 | l8 | l9 | l10 | l11 | l12 | l13 | l14 | l15) < 0) break;
    left--;
    p0 = l0 >> 8;
    p1 = l1 >> 8;
    p2 = l2 >> 8;
    p3 = l3 >> 8;
    p4 = l4 >> 8;
    p5 = l5 >> 8;
    p6 = l6 >> 8;
    p7 = l7 >> 8;
    p8 = l8 >> 8;
    p9 = l9 >> 8;
    p10 = l10 >> 8;
    p11 = l11 >> 8;
    p12 = l12 >> 8;
    p13 = l13 >> 8;
    p14 = l14 >> 8;
    p15 = l15 >> 8;
    store<u8>(o0 + left, l0);
    store<u8>(o1 + left, l1);
    store<u8>(o2 + left, l2);
    store<u8>(o3 + left, l3);
    store<u8>(o4 + left, l4);
    store<u8>(o5 + left, l5);
    store<u8>(o6 + left, l6);
    store<u8>(o7 + left, l7);
    store<u8>(o8 + left, l8);
    store<u8>(o9 + left, l9);
    store<u8>(o10 + left, l10);
    store<u8>(o11 + left, l11);
    store<u8>(o12 + left, l12);
    store<u8>(o13 + left, l13);
    store<u8>(o14 + left, l14);
    store<u8>(o15 + left, l15);
  }
  store<u32>(POSITIONS, p0, 0);
  store<u32>(POSITIONS, p1, 4);
  store<u32>(POSITIONS, p2, 8);
  store<u32>(POSITIONS, p3, 12);
  store<u32>(POSITIONS, p4, 16);
  store<u32>(POSITIONS, p5, 20);
  store<u32>(POSITIONS, p6, 24);
  store<u32>(POSITIONS, p7, 28);
  store<u32>(POSITIONS, p8, 32);
  store<u32>(POSITIONS, p9, 36);
  store<u32>(POSITIONS, p10, 40);
  store<u32>(POSITIONS, p11, 44);
  store<u32>(POSITIONS, p12, 48);
  store<u32>(POSITIONS, p13, 52);
  store<u32>(POSITIONS, p14, 56);
  store<u32>(POSITIONS, p15, 60);
  return left;
}

/** The bytes of the input, and places behind them that may be read. */
export const INPUT: usize = 0x180_0000;
export const SELECTORS: usize = 0x50_2000;
/** Tables of codes: six, of the same layout as {@link HuffmanTable}. */
export const TABLES: usize = 0x51_0000;
export const TABLE_BYTES: usize = 0x1000;
export const TABLE_LIMITS: usize = 0x800;
export const TABLE_OFFSETS: usize = 0x860;
export const TABLE_SYMBOLS: usize = 0x8c0;
export const RECENT: usize = 0x50_7000;
/** By place: the bytes of the front that a move changes. */
export const MASKS: usize = 0x50_7200;

const GROUP_SYMBOLS: i32 = 50;
const LOOK_BITS: u32 = 10;
const CODE_BITS_MAX: u32 = 20;
const RUN_WEIGHT_MAX: u32 = 1 << 20;

/** Where reading stands; between calls. */
export let bit: u32 = 0;
export let columnBytes: u32 = 0;
export let runs: u32 = 0;
export let group: u32 = 0;
export let run: u32 = 0;
export let weight: u32 = 1;

/** Outcomes of {@link readSymbols}. */
export const INPUT_MISSING: i32 = 0;
export const BLOCK_READ: i32 = 1;
export const NO_SELECTOR: i32 = 2;
export const NO_CODE: i32 = 3;
export const RUN_TOO_LONG: i32 = 4;
export const BLOCK_TOO_LONG: i32 = 5;

/** Reads symbols until the block ends, or the input runs low. */
export function readSymbols(lastStartBit: i32, lengthMax: u32, selectorCount: u32, endSymbol: u32): i32 {
  let at = bit;
  let length = columnBytes;
  let lastRun: usize = RUNS - 4 + ((<usize>runs) << 2);
  let groups = group;
  let repeat = run;
  let digit = weight;
  let outcome: i32 = -1;
  let front = v128.load(RECENT);
  while (outcome < 0) {
    if (<i32>at > lastStartBit) {
      outcome = INPUT_MISSING;
      break;
    }
    if (groups >= selectorCount) {
      outcome = NO_SELECTOR;
      break;
    }
    const table = TABLES + <usize>load<u8>(SELECTORS + groups) * TABLE_BYTES;
    groups++;
    for (let left = GROUP_SYMBOLS; left > 0; left--) {
      const bits = bswap(load<u32>(INPUT + (at >> 3))) << (at & 7);
      const entry = <u32>load<u16>(table + ((bits >> (32 - LOOK_BITS)) << 1));
      let symbol = entry >> 5;
      if (entry !== 0) at += entry & 31;
      else {
        const code = bits >> (32 - CODE_BITS_MAX);
        let codeBits = LOOK_BITS + 1;
        while (codeBits <= CODE_BITS_MAX && code >= load<u32>(table + (codeBits << 2), TABLE_LIMITS)) codeBits++;
        if (codeBits > CODE_BITS_MAX) {
          outcome = NO_CODE;
          break;
        }
        const place = (bits >> (32 - codeBits)) + load<u32>(table + (codeBits << 2), TABLE_OFFSETS);
        symbol = <u32>load<u16>(table + (place << 1), TABLE_SYMBOLS);
        at += codeBits;
      }
      if (symbol <= 1) {
        repeat += digit << symbol;
        if (digit > RUN_WEIGHT_MAX) {
          outcome = RUN_TOO_LONG;
          break;
        }
        digit <<= 1;
        continue;
      }
      if (repeat > 0) {
        const end = length + repeat;
        if (end > lengthMax) {
          outcome = RUN_TOO_LONG;
          break;
        }
        // A block may begin with more of the byte that is in front already.
        if (length === 0) {
          lastRun += 4;
          store<u32>(lastRun, <u32>i8x16.extract_lane_u(front, 0));
        }
        store<u32>(lastRun, load<u32>(lastRun) + (repeat << 8));
        length = end;
        repeat = 0;
        digit = 1;
      }
      if (symbol === endSymbol) {
        outcome = BLOCK_READ;
        break;
      }
      if (length >= lengthMax) {
        outcome = BLOCK_TOO_LONG;
        break;
      }
      const place = <usize>(symbol - 1);
      let value: u32 = 0;
      if (place < 16) {
        // The bytes before the place move by one; the others stay.
        const values = i8x16.swizzle(front, i8x16.splat(<i8>place));
        value = <u32>i8x16.extract_lane_u(values, 0);
        const moved = i8x16.shuffle(front, values, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
        front = v128.bitselect(moved, front, v128.load(MASKS + (place << 4)));
      } else {
        v128.store(RECENT, front);
        value = <u32>load<u8>(RECENT + place);
        memory.copy(RECENT + 1, RECENT, place);
        store<u8>(RECENT, value);
        front = v128.load(RECENT);
      }
      lastRun += 4;
      store<u32>(lastRun, 256 | value);
      length++;
    }
  }
  v128.store(RECENT, front);
  bit = at;
  columnBytes = length;
  runs = <u32>((lastRun + 4 - RUNS) >> 2);
  group = groups;
  run = repeat;
  weight = digit;
  return outcome;
}

/** Returns the place behind the next four equal bytes of the text; 0 if there are none before `length`. */
export function findRunEnd(from: usize, length: usize): usize {
  for (let at = from; at + 4 <= length; at += 16) {
    const bytes = v128.load(TEXT + at);
    const pairs = i8x16.eq(bytes, v128.load(TEXT + at, 1));
    const threes = v128.and(pairs, i8x16.eq(bytes, v128.load(TEXT + at, 2)));
    const starts = i8x16.bitmask(v128.and(threes, i8x16.eq(bytes, v128.load(TEXT + at, 3))));
    if (starts === 0) continue;
    const end = at + <usize>ctz(starts) + 4;
    return end <= length ? end : 0;
  }
  return 0;
}

/** Bytes whose sum is wanted: the text with its runs expanded. */
export const EXPANDED: usize = 0x1c0_0000;
/** Sixteen tables, one behind the other, as `crc.ts` makes them. */
export const CRC_TABLES: usize = 0x51_8000;

/** Updates a sum with the first bytes of {@link EXPANDED}. */
export function updateCrc(sum: u32, length: usize): u32 {
  let crc = sum;
  let at: usize = EXPANDED;
  const end = EXPANDED + length;
  for (; at + 16 <= end; at += 16) {
    const first = crc ^ bswap(load<u32>(at));
    crc =
      load<u32>(CRC_TABLES + ((<usize>(first >> 24)) << 2), 15 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>((first >> 16) & 0xff)) << 2), 14 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>((first >> 8) & 0xff)) << 2), 13 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>(first & 0xff)) << 2), 12 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 4)) << 2), 11 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 5)) << 2), 10 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 6)) << 2), 9 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 7)) << 2), 8 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 8)) << 2), 7 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 9)) << 2), 6 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 10)) << 2), 5 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 11)) << 2), 4 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 12)) << 2), 3 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 13)) << 2), 2 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 14)) << 2), 1 << 10) ^
      load<u32>(CRC_TABLES + ((<usize>load<u8>(at, 15)) << 2));
  }
  for (; at < end; at++) crc = (crc << 8) ^ load<u32>(CRC_TABLES + ((<usize>((crc >> 24) ^ load<u8>(at))) << 2));
  return crc;
}
