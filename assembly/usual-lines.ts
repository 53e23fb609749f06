/**
 * Renders usual lines of a log as JSON records, in AssemblyScript. `npm run wasm` compiles this to
 * `src/logs/lines/usual-lines-wasm.ts`. Takes no other lines than `UsualRun` and gives the same bytes as `LineRenderer`:
 * `test/logs/lines/line-kernel.test.ts` compares them. `src/logs/lines/line-kernel.ts` sets the globals and regions below.
 */

/** The chunk. Loads of 16 bytes reach beyond its end. */
export const INPUT: usize = 0x1_0000;
export const INPUT_BYTES: usize = 0x2_0000;
/** The records, with a line feed behind each. A line that begins in the first part of the region fits into all of it. */
export const OUTPUT: usize = 0x4_0000;
export const OUTPUT_BYTES: usize = 0x4_0000;
/** Lines that log rules may match: first byte of the message, the byte behind its last one, in the chunk, and which rules. */
export const NOTED: usize = 0xa_0000;
/** Tags by a hash, or behind it: length of the tag, or {@link NO_TAG}; length of the head; the tag; its number; the head of its records. */
export const TAGS: usize = 0xd_0000;
export const TAG_SLOTS: usize = 256;
export const NO_TAG: u32 = 0xffff_ffff;
export const TAG_SLOT_BYTES: usize = 1024;
export const TAG_TEXT: usize = 8;
export const TAG_TEXT_BYTES: usize = 48;
export const TAG_NUMBER: usize = 56;
export const TAG_HEAD: usize = 64;
/** What follows the message, with the digits of uid and offset as zeros. */
export const TAIL: usize = 0x11_0000;
export const TAIL_BYTES: usize = 0x8000;
/** `YYYY-MM-DDThh:mm:ss.NNNNNNNNN`: the clock and the last six digits are written here. */
export const TIME: usize = 0x11_8000;
const TIME_CLOCK: usize = TIME + 11;
const TIME_LOW: usize = TIME + 23;
const TIME_BYTES: usize = 29;
/** Where the time stands in a record. */
const TIME_FROM: usize = 14;
/** Two digits for each number below 100, and for each below 1296 in base 36. */
export const DECIMAL_PAIRS: usize = 0x11_9000;
export const BASE36_PAIRS: usize = 0x11_9100;
/** Automaton of the literals: by byte, the offset of its column; then rows of offsets of rows. */
export const COLUMNS: usize = 0x11_a000;
/** Two words for each state in which literals end: the sets that they belong to. */
export const ENDS: usize = 0x12_0000;
/** By alternative: the two words of its sets; the rules that it is of, as bits, 0 if the line is left alone. */
export const ALTERNATIVES: usize = 0x16_0000;
const ALTERNATIVE_BYTES: usize = 24;
/** The same lines, condensed: the entries of a `LineRun`. */
export const CONDENSED: usize = 0x18_0000;
export const ROWS: usize = 0x20_0000;

const STAMP_CHARS: usize = 19;
const LINE_BYTES_MAX: usize = 0x1_0000;
/** The device's buffer: where one ends within a line, another line may begin. */
const BLOCK_BYTES: u32 = 4096;
/** Lines of several processes are now and then written in another order than stamped. Seconds. */
export const BACKWARD_SLACK: i32 = 5;
/** Of an entry: the seconds since the line before, plus the slack; or this, and behind the head the second in 32 bits. */
const SECOND_FOLLOWS: i32 = 255;
const NOTED_BYTES: usize = 12;
const NOTED_MAX: u32 = 0x4000;

/** The day of the stamps: `YYYY`, `-MM-` and `DD `. */
export let year: u32 = 0;
export let month: u32 = 0;
export let day: u32 = 0;
/** Seconds of the day that are taken, by the stamps, and what makes them seconds of the day of UTC. */
export let fromSecond: i32 = 0;
export let toSecond: i32 = 0;
export let utcShift: i32 = 0;
/** Length of the tail, and where in it the digits of uid and offset end. */
export let tailBytes: u32 = 0;
export let uidEnd: u32 = 0;
export let offsetEnd: u32 = 0;
/** False where the offset is beyond what the decimals of the time can show. */
export let hasLowNanoseconds: bool = true;
/** First offset of a row of states in which literals end, and by how much to shift that to get the place in `ENDS`. */
export let firstEnd: u32 = 0;
export let endShift: u32 = 0;
export let alternatives: u32 = 0;
/** Longest distance between lines that counts, and the lines that the recent distance is a mean of. Milliseconds. */
export let distanceMax: f64 = 0;
export let recentLines: f64 = 0;

/** The line before; later the last one that was rendered. Seconds from the beginning of the day on. */
export let lastSecond: i32 = 0;
export let paceLines: f64 = 0;
export let paceSpan: f64 = 0;
export let paceRecent: f64 = 0;
/** What was rendered: lines, where the last one begins in the chunk, bytes, and how many lines are noted. */
export let count: u32 = 0;
export let lastFrom: usize = 0;
export let outputBytes: usize = 0;
export let condensedBytes: usize = 0;
export let noted: u32 = 0;

/** The second of the day of `hh:mm:ss`; -1 for anything else. */
function readClock(at: usize): i32 {
  const digits = load<u64>(at) ^ 0x3030_3a30_303a_3030;
  if (((digits | (digits + 0x0606_0006_0600_0606)) & 0xf0f0_fff0_f0ff_f0f0) !== 0) return -1;
  const hours = (<i32>digits & 15) * 10 + (<i32>(digits >> 8) & 15);
  const minutes = (<i32>(digits >> 24) & 15) * 10 + (<i32>(digits >> 32) & 15);
  const seconds = (<i32>(digits >> 48) & 15) * 10 + (<i32>(digits >> 56) & 15);
  if (hours > 23 || minutes > 59 || seconds > 59) return -1;
  return (hours * 60 + minutes) * 60 + seconds;
}

/** Copies in steps of 16 bytes: up to 15 more than asked for. */
function copy(to: usize, from: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(to + at, v128.load(from + at));
}

function writePair(to: usize, number: u32): void {
  store<u16>(to, load<u16>(DECIMAL_PAIRS + (number << 1)));
}

/**
 * Renders lines from `from` on, in the chunk of `length` bytes, until one is unusual. `start`: where the first one begins in
 * the file, less the high digits of its offset; `start36` and `startBlock` the same for its uid and its block of the device.
 * `startMax`: no line is taken that begins there or later in the chunk. The last usual line is not rendered, because what
 * follows may continue it. Returns where the first line begins that is not rendered.
 */
export function render(from: usize, length: usize, start: u32, start36: u32, startBlock: u32, startMax: usize): usize {
  const end = INPUT + length;
  const endMax = INPUT + startMax;
  const first = INPUT + from;
  let at = first;
  let out = OUTPUT;
  /** The line that was found last: nothing of it counts yet. */
  let pending: usize = 0;
  let pendingSecond = lastSecond;
  let isPendingNoted: u32 = 0;
  let pendingOut = OUTPUT;
  let condensed = CONDENSED;
  let pendingCondensed = CONDENSED;
  let lines = paceLines;
  let span = paceSpan;
  let recent = paceRecent;
  let shownSecond: i32 = -1;
  count = 0;
  noted = 0;
  while (at < endMax && pendingOut < OUTPUT + OUTPUT_BYTES && noted < NOTED_MAX) {
    if (at + STAMP_CHARS + 2 >= end) break;
    if (load<u32>(at) !== year || load<u32>(at + 4) !== month || (load<u32>(at + 8) & 0xff_ffff) !== day) break;
    if (load<u16>(at + STAMP_CHARS) !== 0x5b20) break;
    const second = readClock(at + 11);
    if (second < fromSecond || second >= toSecond || second < pendingSecond - BACKWARD_SLACK) break;
    // The tag: one whose records have begun before.
    const tag = at + STAMP_CHARS + 2;
    let tagEnd = tag;
    let hash: u32 = 0;
    while (tagEnd - tag < TAG_TEXT_BYTES) {
      const byte = <u32>load<u8>(tagEnd);
      if (byte === 0x5d) break;
      hash = hash * 31 + byte;
      tagEnd++;
    }
    const tagBytes = tagEnd - tag;
    let slot: usize = 0;
    for (;;) {
      slot = TAGS + <usize>(hash & <u32>(TAG_SLOTS - 1)) * TAG_SLOT_BYTES;
      const known = load<u32>(slot);
      if (known === NO_TAG) break;
      if (known === <u32>tagBytes) {
        let same: usize = 0;
        while (same < tagBytes && load<u8>(tag + same) === load<u8>(slot + TAG_TEXT + same)) same++;
        if (same === tagBytes) break;
      }
      hash++;
    }
    if (load<u32>(slot) === NO_TAG || tagEnd + 1 >= end) break;
    let message = tagEnd + 1;
    const behind = <u32>load<u8>(message);
    if (behind === 0x5b) break;
    if (behind === 0x20) message++;
    // Head, then the message, which is copied while its end is looked for.
    const headBytes = <usize>load<u32>(slot + 4);
    const record = pendingOut;
    copy(record, slot + TAG_HEAD, headBytes);
    let to = message;
    let write = record + headBytes;
    const entry = pendingCondensed;
    const seconds = second - pendingSecond + BACKWARD_SLACK;
    let writeEntry = entry + (seconds < SECOND_FOLLOWS ? 3 : 7);
    let bits: i32 = 0;
    for (;;) {
      const bytes = v128.load(to);
      v128.store(write, bytes);
      v128.store(writeEntry, bytes);
      // Printable ASCII but for the quotation mark and the backslash.
      const odd = v128.or(
        v128.or(i8x16.lt_s(bytes, i8x16.splat(0x20)), i8x16.eq(bytes, i8x16.splat(0x7f))),
        v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      );
      bits = i8x16.bitmask(odd);
      if (bits !== 0) break;
      to += 16;
      write += 16;
      writeEntry += 16;
      if (to >= end || to - at > LINE_BYTES_MAX) break;
    }
    if (bits === 0) break;
    const rest = <usize>ctz(bits);
    to += rest;
    write += rest;
    writeEntry += rest;
    if (to >= end || load<u8>(to) !== 0x0a || to - at > LINE_BYTES_MAX) break;
    // A buffer of the device may end within the line, and another line begin there.
    if (BLOCK_BYTES - ((startBlock + <u32>(at - first)) & (BLOCK_BYTES - 1)) < <u32>(to - at)) {
      let bracket = message;
      while (bracket < to && load<u8>(bracket) !== 0x5b) bracket++;
      if (bracket < to) break;
    }
    let state: u32 = 0;
    let setsLow: u64 = 0;
    let setsHigh: u64 = 0;
    for (let index = message; index < to; index++) {
      state = load<u32>(ROWS + state + <usize>load<u8>(COLUMNS + <usize>load<u8>(index)));
      if (state < firstEnd) continue;
      const ends = ENDS + ((<usize>((state - firstEnd) >> endShift)) << 4);
      setsLow |= load<u64>(ends);
      setsHigh |= load<u64>(ends + 8);
    }
    let rules: u32 = 0;
    let isLeft = false;
    if ((setsLow | setsHigh) !== 0) {
      const last = ALTERNATIVES + <usize>alternatives * ALTERNATIVE_BYTES;
      for (let one = ALTERNATIVES; one < last; one += ALTERNATIVE_BYTES) {
        const low = load<u64>(one);
        const high = load<u64>(one + 8);
        if ((setsLow & low) !== low || (setsHigh & high) !== high) continue;
        const bits = load<u32>(one + 16);
        rules |= bits;
        isLeft = isLeft || bits === 0;
      }
      if (isLeft) break;
    }
    // It is a usual line: so the one before counts.
    if (pending !== 0) {
      const previous = lastSecond;
      lastSecond = pendingSecond;
      const distance = min(max(<f64>(pendingSecond - previous) * 1000, 0), distanceMax);
      span += distance;
      recent += (distance - recent) / min(lines, recentLines);
      lines += 1;
      count++;
      noted += isPendingNoted;
      lastFrom = pending;
      out = pendingOut;
      condensed = pendingCondensed;
    }
    // The time.
    if (second !== shownSecond) {
      shownSecond = second;
      const utc = <u32>(second + utcShift);
      writePair(TIME_CLOCK, utc / 3600);
      writePair(TIME_CLOCK + 3, (utc / 60) % 60);
      writePair(TIME_CLOCK + 6, utc % 60);
    }
    const low = start + <u32>(at - first);
    const high3 = low / 10_000;
    const middle = (low / 100) % 100;
    const ones = low % 100;
    if (hasLowNanoseconds) {
      writePair(TIME_LOW, high3);
      writePair(TIME_LOW + 2, middle);
      writePair(TIME_LOW + 4, ones);
    }
    v128.store(record + TIME_FROM, v128.load(TIME));
    v128.store(record + TIME_FROM + TIME_BYTES - 16, v128.load(TIME + TIME_BYTES - 16));
    // The tail.
    copy(write, TAIL, tailBytes);
    const low36 = start36 + <u32>(at - first);
    store<u16>(write + uidEnd - 4, load<u16>(BASE36_PAIRS + <usize>((low36 / 1296) << 1)));
    store<u16>(write + uidEnd - 2, load<u16>(BASE36_PAIRS + <usize>((low36 % 1296) << 1)));
    writePair(write + offsetEnd - 6, high3);
    writePair(write + offsetEnd - 4, middle);
    writePair(write + offsetEnd - 2, ones);
    const recordEnd = write + tailBytes;
    store<u8>(recordEnd, 0x0a);
    store<u8>(entry, load<u8>(slot + TAG_NUMBER));
    store<u8>(entry, min(seconds, SECOND_FOLLOWS), 1);
    store<u8>(entry, message - at + 1, 2);
    if (seconds >= SECOND_FOLLOWS) store<i32>(entry, second + utcShift, 3);
    store<u8>(writeEntry, 0x0a);
    const note = NOTED + <usize>noted * NOTED_BYTES;
    store<u32>(note, <u32>(message - INPUT));
    store<u32>(note + 4, <u32>(to - INPUT));
    store<u32>(note + 8, rules);
    isPendingNoted = rules !== 0 ? 1 : 0;
    pending = at;
    pendingSecond = second;
    pendingOut = recordEnd + 1;
    pendingCondensed = writeEntry + 1;
    at = to + 1;
  }
  paceLines = lines;
  paceSpan = span;
  paceRecent = recent;
  outputBytes = out - OUTPUT;
  condensedBytes = condensed - CONDENSED;
  lastFrom -= INPUT;
  return (pending !== 0 ? pending : first) - INPUT;
}
