import type { LineRun } from '../../base/index.ts';
import { DISTANCE_MS_MAX, type Pace, RECENT } from '../evidence/link-rule.ts';
import { type MatchPlan, toRuleBit } from '../matching/line-matcher.ts';
import { isPlainByte } from '../matching/literal-scan.ts';
import type { OrdinarySpan } from '../time/line-times.ts';
import { renderTimestamp, toNanoseconds } from '../time/stamp.ts';
import { BLOCK_BYTES } from './glued.ts';
import { type LineRenderer, LOW_BASE36, LOW_DECIMAL, type TagHead, TIME_FROM } from './line-renderer.ts';
import { instantiate, type WasmExports } from './usual-lines-wasm.ts';

/** Usual lines that were rendered one behind the other. */
export interface RenderedRun {
  /** The records with a line feed between two. Valid until the next call. */
  readonly records: Uint8Array;
  /** The same, condensed. Valid until the next call. */
  readonly run: LineRun;
  /** Where in the chunk the last one of them begins, and where the first line begins that was left. */
  readonly lastFrom: number;
  readonly to: number;
  /** Second of the day of the last one, and the pace of the file behind it. */
  readonly second: number;
  readonly pace: Pace;
  /** Messages that log rules may match: three numbers for each, its bounds in the chunk and the rules as bits. */
  readonly noted: Uint32Array;
}

/** What a run of lines has in common. */
export interface RunFrame {
  readonly renderer: LineRenderer;
  readonly plan: MatchPlan;
  readonly span: OrdinarySpan;
  /** `YYYY-MM-DD ` of the stamps. */
  readonly day: Buffer;
}

const MEMORY_PAGE_BYTES = 64 * 1024;
/** From here on an offset has all the digits that are written. */
const START_MIN = LOW_DECIMAL / 10;
/** Sets of literals are the bits of two words. */
const SETS_MAX = 128;
const WORD_BITS = 32;
/** A row of the automaton has no more columns: their places are bytes. */
const SHIFT_MAX = 6;
const STATE_BYTES_LOG = 2;
const ALTERNATIVE_WORDS = 6;
/** Bounds of a message, and the rules that may match it. */
export const NOTED_WORDS = 3;
const TAGS_MAX = 100;
const OPENING = 0x5b;

let current: LineKernel | undefined;

/** From here on, this thread renders usual lines in WebAssembly. */
export function useLineKernel(): void {
  current ??= new LineKernel();
}

/** Back to the renderer of all threads, for comparisons. */
export function leaveLineKernel(): void {
  current = undefined;
}

/** The kernel of this thread; `undefined` if it uses none. */
export function lineKernel(): LineKernel | undefined {
  return current;
}

/**
 * Renders usual lines of a chunk in WebAssembly, as {@link LineRenderer} does: the code is in assembly/usual-lines.ts. It knows
 * the tags that were shown to it, and leaves all lines alone that are in any way unusual.
 */
export class LineKernel {
  readonly #wasm: WasmExports;
  #bytes: Uint8Array;
  #plan: MatchPlan | undefined;
  #isPlanUsable = false;
  #renderer: LineRenderer | undefined;
  #tags = new Set<TagHead>();
  /** Heads of the tags, by the numbers that the kernel knows. */
  #heads: Uint8Array[] = [];
  #chunk: Uint8Array | undefined;
  #tail: Buffer | undefined;

  constructor() {
    this.#wasm = instantiate();
    this.#bytes = new Uint8Array(this.#wasm.memory.buffer);
    for (let number = 0; number < 100; number++) {
      this.#bytes.set(Buffer.from(String(number).padStart(2, '0')), this.#wasm.DECIMAL_PAIRS.value + number * 2);
    }
    for (let number = 0; number < 36 ** 2; number++) {
      this.#bytes.set(Buffer.from(number.toString(36).padStart(2, '0')), this.#wasm.BASE36_PAIRS.value + number * 2);
    }
    this.#wasm.distanceMax.value = DISTANCE_MS_MAX;
    this.#wasm.recentLines.value = RECENT;
  }

  /** Renders the usual lines of a chunk from a place on, which is `start` in the file. `undefined` if it takes none. */
  render(chunk: Buffer, from: number, start: number, { renderer, plan, span, day }: RunFrame): RenderedRun | undefined {
    const wasm = this.#wasm;
    if (chunk.length > wasm.INPUT_BYTES.value || start < START_MIN || !this.#usePlan(plan)) return undefined;
    this.#useRenderer(renderer);
    if (!this.#setTail(renderer, start)) return undefined;
    if (chunk !== this.#chunk) {
      this.#bytes.set(chunk, wasm.INPUT.value);
      this.#chunk = chunk;
    }
    this.#setSpan(span, day);
    const time = renderTimestamp(span.utcDayMs, false, 0, false).slice(0, 'YYYY-MM-DDThh:mm:ss.'.length);
    const nanoseconds = String(toNanoseconds(start, false)).padStart(9, '0');
    const timeText = Buffer.from(`${time}${nanoseconds}`);
    this.#bytes.set(timeText, wasm.TIME.value);
    const showsOffset = toNanoseconds(start, false) === start;
    wasm.hasLowNanoseconds.value = Number(showsOffset);
    const low = start % LOW_DECIMAL;
    const low36 = start % LOW_BASE36;
    const startMax = Math.min(chunk.length, from + LOW_DECIMAL - low, from + LOW_BASE36 - low36);
    const to = wasm.render(from, chunk.length, low, low36, start % BLOCK_BYTES, startMax);
    const count = wasm.count.value;
    if (count === 0) return undefined;
    const noted = wasm.NOTED.value;
    const condensed = wasm.CONDENSED.value;
    return {
      run: {
        count,
        bytes: wasm.outputBytes.value,
        entries: this.#bytes.subarray(condensed, condensed + wasm.condensedBytes.value),
        heads: this.#heads,
        timeAt: TIME_FROM,
        time: timeText,
        showsOffset,
        tail: renderer.prepareTail(start).bytes,
        uidEnd: wasm.uidEnd.value,
        offsetEnd: wasm.offsetEnd.value,
        low36,
        low,
        second: span.last + span.shift,
        slack: wasm.BACKWARD_SLACK.value,
      },
      // Without the line feed behind the last one.
      records: this.#bytes.subarray(wasm.OUTPUT.value, wasm.OUTPUT.value + wasm.outputBytes.value - 1),
      lastFrom: wasm.lastFrom.value,
      to,
      second: wasm.lastSecond.value,
      pace: { lines: wasm.paceLines.value, spanMs: wasm.paceSpan.value, recentMs: wasm.paceRecent.value },
      noted: new Uint32Array(this.#bytes.buffer, noted, wasm.noted.value * NOTED_WORDS),
    };
  }

  /** Shows a tag, whose lines are taken from here on. */
  learn(tag: TagHead, renderer: LineRenderer): void {
    this.#useRenderer(renderer);
    if (this.#tags.has(tag) || this.#tags.size >= TAGS_MAX) return;
    this.#tags.add(tag);
    const wasm = this.#wasm;
    const { tagBytes, bytes } = tag;
    const slotBytes = wasm.TAG_SLOT_BYTES.value;
    if (tagBytes.length >= wasm.TAG_TEXT_BYTES.value || bytes.length > slotBytes - wasm.TAG_HEAD.value) return;
    // A line that may begin within it is for somebody else.
    if (!tagBytes.every((byte) => isPlainByte(byte) && byte !== OPENING)) return;
    const view = new DataView(this.#bytes.buffer);
    let hash = tagBytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) >>> 0, 0);
    const slots = wasm.TAG_SLOTS.value;
    const toSlot = () => wasm.TAGS.value + (hash % slots) * slotBytes;
    while (view.getUint32(toSlot(), true) !== wasm.NO_TAG.value >>> 0) hash = (hash + 1) >>> 0;
    view.setUint32(toSlot(), tagBytes.length, true);
    view.setUint32(toSlot() + 4, bytes.length, true);
    this.#bytes.set(tagBytes, toSlot() + wasm.TAG_TEXT.value);
    this.#bytes.set(bytes, toSlot() + wasm.TAG_HEAD.value);
    this.#bytes[toSlot() + wasm.TAG_NUMBER.value] = this.#heads.push(bytes) - 1;
  }

  /** Forgets the tags of another file, whose records begin in another way. */
  #useRenderer(renderer: LineRenderer): void {
    if (renderer === this.#renderer) return;
    this.#renderer = renderer;
    this.#tags = new Set();
    this.#heads = [];
    const wasm = this.#wasm;
    const view = new DataView(this.#bytes.buffer);
    for (let slot = 0; slot < wasm.TAG_SLOTS.value; slot++) {
      view.setUint32(wasm.TAGS.value + slot * wasm.TAG_SLOT_BYTES.value, wasm.NO_TAG.value, true);
    }
  }

  /** Sets the stamps whose lines are taken, and what is known of the lines before. */
  #setSpan({ from, to, shift, last, pace }: OrdinarySpan, day: Buffer): void {
    const wasm = this.#wasm;
    wasm.year.value = day.readInt32LE(0);
    wasm.month.value = day.readInt32LE(4);
    wasm.day.value = day.readUIntLE(8, 3);
    wasm.fromSecond.value = from;
    wasm.toSecond.value = to;
    wasm.utcShift.value = shift;
    wasm.lastSecond.value = last;
    wasm.paceLines.value = pace.lines;
    wasm.paceSpan.value = pace.spanMs;
    wasm.paceRecent.value = pace.recentMs;
  }

  #setTail(renderer: LineRenderer, start: number): boolean {
    const wasm = this.#wasm;
    const { bytes, uidEnd, offsetEnd } = renderer.prepareTail(start);
    if (bytes.length > wasm.TAIL_BYTES.value) return false;
    if (bytes !== this.#tail) {
      this.#tail = bytes;
      this.#bytes.set(bytes, wasm.TAIL.value);
      wasm.tailBytes.value = bytes.length;
      wasm.uidEnd.value = uidEnd;
      wasm.offsetEnd.value = offsetEnd;
    }
    return true;
  }

  /** Makes the automaton of a plan ready. False if it is too large. */
  #usePlan(plan: MatchPlan): boolean {
    if (plan.table === this.#plan?.table && plan.firstRule === this.#plan.firstRule) return this.#isPlanUsable;
    this.#plan = plan;
    this.#isPlanUsable = this.#writePlan(plan);
    return this.#isPlanUsable;
  }

  #writePlan({ table, firstRule, endRule }: MatchPlan): boolean {
    const wasm = this.#wasm;
    const { shift, firstEnd, setsOfEnd, alternatives } = table;
    const rowBytesLog = shift + STATE_BYTES_LOG;
    const rowsEnd = wasm.ROWS.value + table.next.length * 4;
    const hasRoom =
      setsOfEnd.length * 16 <= wasm.ALTERNATIVES.value - wasm.ENDS.value &&
      alternatives.length * ALTERNATIVE_WORDS * 4 <= wasm.CONDENSED.value - wasm.ALTERNATIVES.value;
    if (table.setCount > SETS_MAX || shift > SHIFT_MAX || !hasRoom) return false;
    if (rowsEnd > this.#bytes.length) {
      wasm.memory.grow(Math.ceil((rowsEnd - this.#bytes.length) / MEMORY_PAGE_BYTES));
      this.#bytes = new Uint8Array(wasm.memory.buffer);
      this.#chunk = undefined;
    }
    for (const [byte, column] of table.classes.entries()) {
      this.#bytes[wasm.COLUMNS.value + byte] = isPlainByte(byte) ? column << STATE_BYTES_LOG : 0;
    }
    const words = new Uint32Array(this.#bytes.buffer);
    words.set(
      Uint32Array.from(table.next, (state) => state << rowBytesLog),
      wasm.ROWS.value / 4,
    );
    for (const [index, sets] of setsOfEnd.entries()) words.set(toBits(sets), wasm.ENDS.value / 4 + index * 4);
    for (const [index, { pattern, sets }] of alternatives.entries()) {
      const at = wasm.ALTERNATIVES.value / 4 + index * ALTERNATIVE_WORDS;
      const isRule = pattern >= firstRule && pattern < endRule;
      words.set([...toBits(sets), isRule ? toRuleBit(pattern - firstRule) : 0], at);
    }
    wasm.firstEnd.value = firstEnd << rowBytesLog;
    wasm.endShift.value = rowBytesLog;
    wasm.alternatives.value = alternatives.length;
    return true;
  }
}

function toBits(sets: readonly number[]): number[] {
  const words = [0, 0, 0, 0];
  for (const set of sets) {
    const word = Math.floor(set / WORD_BITS);
    words[word] = ((words[word] ?? 0) | (1 << (set % WORD_BITS))) >>> 0;
  }
  return words;
}
