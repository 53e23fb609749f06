/** Lines that are alike: each consists of a head, a text of its own, and a tail. */
export interface LineRun {
  /** Number of lines, one at least. */
  readonly count: number;
  /** Bytes of the lines, with a line feed behind each. */
  readonly bytes: number;
  /**
   * For each line: the number of its head; the seconds since the line before, plus `slack`, or 255 and then its second of the day in
   * 32 bits; how many bytes longer than its own text it is where it comes from; its own text; a line feed.
   */
  readonly entries: Uint8Array;
  /** Heads by number, with room for the time. */
  readonly heads: readonly Uint8Array[];
  /** Where the time stands in them. */
  readonly timeAt: number;
  /** `YYYY-MM-DDThh:mm:ss.NNNNNNNNN`, but for the clock and the last six digits. */
  readonly time: Uint8Array;
  /** True if its last six digits are those of the offset. */
  readonly showsOffset: boolean;
  /** The tail, but for the digits of uid and offset. */
  readonly tail: Uint8Array;
  /** Where in it the last four digits of the uid, in base 36, and the last six of the offset end. */
  readonly uidEnd: number;
  readonly offsetEnd: number;
  /** What these digits are in the first line. */
  readonly low36: number;
  readonly low: number;
  /** The second of the day that the first line counts from. */
  readonly second: number;
  /** So many seconds a line may be before the one in front of it, and is still counted from that. */
  readonly slack: number;
}

/** Marks of the sections of a condensed text, each a byte. */
const [PLAIN, HEAD, RUN] = [0, 1, 2];
/** In front of all sections: bytes of the text, in 32 bits. */
const SIZE_BYTES = 4;
/** Fields of a run before its time, tail and entries: the mark and three more bytes, then numbers of 32 bits. */
const RUN_BYTES = 40;
const LINE_FEED = 0x0a;
const SECOND_FOLLOWS = 255;
const [CLOCK_AT, LOW_AT] = ['YYYY-MM-DDT'.length, 'YYYY-MM-DDThh:mm:ss.NNN'.length];
const DIGITS = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
const MEMORY_BYTES_MIN = 64 * 1024;
/** More than a usual batch takes. */
const MEMORY_BYTES_KEPT_MAX = 2 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/** Memory of the last condenser that has finished, for the next one. */
let spare: Buffer = NOTHING;

/**
 * Writes lines down without what they have in common. Records mostly consist of that: what is left is a quarter to pack, and
 * packs to half the size. {@link expandLines} gives the same bytes again.
 */
export class LineCondenser {
  #memory: Buffer = NOTHING;
  #end = SIZE_BYTES;
  #textBytes = 0;
  /** Heads that were written, by number. */
  #heads: (Uint8Array | undefined)[] = [];

  /** Adds one line or several, with a line feed between two. */
  addPlain(lines: Uint8Array): void {
    const at = this.#reserve(5 + lines.length);
    this.#memory[at] = PLAIN;
    this.#memory.writeUInt32LE(lines.length, at + 1);
    this.#memory.set(lines, at + 5);
    this.#textBytes += lines.length + 1;
  }

  /** Adds lines that are alike. */
  addRun(run: LineRun): void {
    for (const [number, head] of run.heads.entries()) if (this.#heads[number] !== head) this.#addHead(number, head);
    const { time, tail, entries } = run;
    let at = this.#reserve(RUN_BYTES + time.length + tail.length + entries.length);
    const memory = this.#memory;
    memory.set([RUN, run.timeAt, Number(run.showsOffset), time.length], at);
    at += 4;
    const { count, second, slack, low36, low, uidEnd, offsetEnd } = run;
    for (const number of [count, second, low36, low, uidEnd, offsetEnd, tail.length, entries.length, slack]) {
      at = memory.writeInt32LE(number, at);
    }
    for (const bytes of [time, tail, entries]) {
      memory.set(bytes, at);
      at += bytes.length;
    }
    this.#textBytes += run.bytes;
  }

  /** Ends the text and returns it. Valid until another one is begun, here or elsewhere in this thread. */
  finish(): Uint8Array {
    this.#reserve(0);
    const memory = this.#memory;
    memory.writeUInt32LE(Math.max(0, this.#textBytes - 1), 0);
    const text = memory.subarray(0, this.#end);
    if (memory.length <= MEMORY_BYTES_KEPT_MAX) spare = memory;
    this.#memory = NOTHING;
    this.#end = SIZE_BYTES;
    this.#textBytes = 0;
    this.#heads = [];
    return text;
  }

  #addHead(number: number, head: Uint8Array): void {
    this.#heads[number] = head;
    const at = this.#reserve(4 + head.length);
    this.#memory.set([HEAD, number, head.length & 0xff, head.length >> 8], at);
    this.#memory.set(head, at + 4);
  }

  /** Makes room for so many bytes and returns their place. */
  #reserve(bytes: number): number {
    const at = this.#end;
    this.#end += bytes;
    if (this.#memory.length === 0) [this.#memory, spare] = [spare, NOTHING];
    if (this.#end > this.#memory.length) {
      const more = Buffer.allocUnsafeSlow(Math.max(MEMORY_BYTES_MIN, 2 * this.#end));
      this.#memory.copy(more, 0, 0, at);
      this.#memory = more;
    }
    return at;
  }
}

/** Returns the lines of a condensed text, with a line feed between two. Throws `RangeError` if it is none, or has more than `bytesMax`. */
export function expandLines(text: Buffer, bytesMax: number): Buffer {
  const bytes = text.readUInt32LE(0);
  if (bytes > bytesMax) throw new RangeError(`The text has ${bytes} bytes, more than ${bytesMax}`);
  // One more, for the line feed behind the last line.
  const lines = Buffer.allocUnsafeSlow(bytes + 1);
  const heads: Buffer[] = [];
  let to = 0;
  for (let at = SIZE_BYTES; at < text.length; ) {
    const mark = text[at];
    if (mark === PLAIN) {
      const from = at + 5;
      at = from + text.readUInt32LE(at + 1);
      to += text.copy(lines, to, from, at);
      lines[to++] = LINE_FEED;
    } else if (mark === HEAD) {
      const from = at + 4;
      const number = text[at + 1] as number;
      at = from + text.readUInt16LE(at + 2);
      heads[number] = text.subarray(from, at);
    } else if (mark === RUN) ({ at, to } = expandRun(text, at, heads, lines, to));
    else throw new RangeError(`${mark} begins no section of a text`);
  }
  if (Math.max(0, to - 1) !== bytes) throw new RangeError('The text is not whole');
  return lines.subarray(0, bytes);
}

function expandRun(text: Buffer, from: number, heads: readonly Buffer[], lines: Buffer, start: number) {
  const timeAt = text[from + 1] as number;
  const showsOffset = text[from + 2] === 1;
  const timeLength = text[from + 3] as number;
  const numberAt = (index: number) => text.readInt32LE(from + 4 + index * 4);
  const [count, uidEnd, offsetEnd, slack] = [numberAt(0), numberAt(4), numberAt(5), numberAt(8)];
  let [second, low36, low] = [numberAt(1), numberAt(2), numberAt(3)];
  const tailFrom = from + RUN_BYTES + timeLength;
  const time = text.subarray(from + RUN_BYTES, tailFrom);
  const tail = text.subarray(tailFrom, tailFrom + numberAt(6));
  const end = tailFrom + tail.length + numberAt(7);
  if (end <= from || end > text.length) throw new RangeError('A run of the text is not whole');
  let at = tailFrom + tail.length;
  let to = start;
  for (let line = 0; line < count; line++) {
    const head = heads[text[at] as number];
    const seconds = text[at + 1] as number;
    const about = text[at + 2] as number;
    at += 3;
    if (seconds !== SECOND_FOLLOWS) second += seconds - slack;
    else {
      second = text.readInt32LE(at);
      at += 4;
    }
    const textEnd = text.indexOf(LINE_FEED, at);
    if (!head || textEnd < 0 || textEnd >= end) throw new RangeError('A line of the text is not whole');
    head.copy(lines, to);
    time.copy(lines, to + timeAt);
    writeClock(lines, to + timeAt + CLOCK_AT, second);
    if (showsOffset) writeDigits(lines, to + timeAt + LOW_AT + 6, low, 6, 10);
    to += head.length;
    to += text.copy(lines, to, at, textEnd);
    tail.copy(lines, to);
    writeDigits(lines, to + uidEnd, low36, 4, 36);
    writeDigits(lines, to + offsetEnd, low, 6, 10);
    to += tail.length;
    lines[to++] = LINE_FEED;
    const length = about + textEnd - at;
    low36 += length;
    low += length;
    at = textEnd + 1;
  }
  return { at: end, to };
}

function writeClock(memory: Buffer, at: number, second: number): void {
  writeDigits(memory, at + 2, Math.floor(second / 3600), 2, 10);
  writeDigits(memory, at + 5, Math.floor(second / 60) % 60, 2, 10);
  writeDigits(memory, at + 8, second % 60, 2, 10);
}

/** Writes the last `count` digits of a number, up to `end`. */
function writeDigits(memory: Buffer, end: number, number: number, count: number, base: number): void {
  let rest = number;
  for (let index = end - 1; index >= end - count; index--) {
    const next = Math.floor(rest / base);
    memory[index] = DIGITS[rest - next * base] as number;
    rest = next;
  }
}
