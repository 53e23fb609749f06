import type { RecordFlag, Severity } from '../model/index.ts';
import { type RecordFrame, renderHead, renderShared, renderText } from './entry.ts';
import { renderUid } from './position/identity.ts';
import type { RecordBuffer } from './record-buffer.ts';
import { renderTimestamp, toNanoseconds, toSecond } from './time/stamp.ts';

/** What all lines of one second share. */
export interface LineMoment {
  readonly utcMs: number;
  readonly isFirstSecond: boolean;
  readonly flags: readonly RecordFlag[];
}

/** A line with a whole second as its time and nothing unusual about it. */
export interface UsualLine {
  readonly start: number;
  readonly tag: string;
  readonly severity: Severity | undefined;
  readonly message: string;
  /** Whether `message` is ASCII and JSON would escape nothing in it. */
  readonly isPlain: boolean;
}

/** Offsets come in two halves: the high one stays the same for many lines. */
const LOW_DECIMAL = 1_000_000;
const LOW_DECIMAL_DIGITS = 6;
const LOW_BASE36 = 36 ** 4;
const LOW_BASE36_DIGITS = 4;
const NANOSECOND_DIGITS = 9;
/** UTF-8 has no more for a code unit of a string. */
const UTF8_BYTES_MAX = 3;
const ZERO = 0x30;
const DIGITS_36 = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
/** Tags are a few dozen, unless somebody makes them up. */
const TAGS_MAX = 1000;
const EMPTY = Buffer.alloc(0);

/**
 * Renders usual lines of one file, nearly all there are: byte for byte what `renderEntry` gives, of a few long pieces of
 * which most are those of the line before.
 */
export class LineRenderer {
  readonly #observedMs: number;
  readonly #frame: RecordFrame;
  readonly #file: string;
  readonly #uidPrefix: string;
  readonly #flags: readonly RecordFlag[];
  readonly #tags = new Map<string, Buffer>();
  /** From the beginning to the decimals of the time. */
  readonly #time = Buffer.from('{"timestamp":"YYYY-MM-DDThh:mm:ss.');
  #minute = Number.NaN;
  #moment: LineMoment | undefined;
  /** What follows the offset, and the flags in it. */
  #end = EMPTY;
  #endFlags: readonly RecordFlag[] | undefined;
  /** From behind the message to the low digits of the uid, and from there to those of the offset. */
  #uidHigh = -1;
  #uid = EMPTY;
  #offsetHigh = -1;
  #offset = EMPTY;

  /** `flags`: those of every line. */
  constructor(options: {
    readonly observedMs: number;
    readonly frame: RecordFrame;
    readonly file: string;
    readonly uidPrefix: string;
    readonly flags: readonly RecordFlag[];
  }) {
    this.#observedMs = options.observedMs;
    this.#frame = options.frame;
    this.#file = options.file;
    this.#uidPrefix = options.uidPrefix;
    this.#flags = options.flags;
  }

  /** Adds the record of a line to `records`. */
  render({ start, tag, severity, message, isPlain }: UsualLine, moment: LineMoment, records: RecordBuffer): void {
    if (moment !== this.#moment) this.#begin(moment);
    const uidLow = this.#splitUid(start);
    const offsetLow = this.#splitOffset(start);
    const tagged = this.#tagged(tag, severity);
    const text = isPlain ? message : renderText(message).slice(1, -1);
    const [time, uid, offset, end] = [this.#time, this.#uid, this.#offset, this.#end];
    const digits = NANOSECOND_DIGITS + LOW_BASE36_DIGITS + LOW_DECIMAL_DIGITS;
    const pieces = time.length + tagged.length + uid.length + offset.length + end.length;
    const memory = records.reserve(pieces + digits + text.length * UTF8_BYTES_MAX);
    let at = records.start;
    memory.set(time, at);
    at += time.length;
    writeDigits(memory, at, toNanoseconds(start, moment.isFirstSecond), NANOSECOND_DIGITS);
    at += NANOSECOND_DIGITS;
    memory.set(tagged, at);
    at += tagged.length;
    at += memory.write(text, at, isPlain ? 'latin1' : 'utf8');
    memory.set(uid, at);
    at += uid.length;
    writeBase36(memory, at, uidLow, LOW_BASE36_DIGITS);
    at += LOW_BASE36_DIGITS;
    memory.set(offset, at);
    at += offset.length;
    const offsetDigits = start < LOW_DECIMAL ? countDigits(start) : LOW_DECIMAL_DIGITS;
    writeDigits(memory, at, offsetLow, offsetDigits);
    at += offsetDigits;
    memory.set(end, at);
    records.commit(at + end.length);
  }

  #begin(moment: LineMoment): void {
    this.#moment = moment;
    const second = toSecond(moment.utcMs);
    const minute = Math.floor(second / 60);
    if (minute === this.#minute) writeDigits(this.#time, this.#time.length - 'ss.'.length, second - minute * 60, 2);
    else {
      this.#minute = minute;
      const from = '{"timestamp":"'.length;
      this.#time.write(renderTimestamp(moment.utcMs, false, 0, false), from, this.#time.length - from, 'latin1');
    }
    if (this.#endFlags?.length === 0 && moment.flags.length === 0) return;
    this.#endFlags = moment.flags;
    this.#end = Buffer.from(`${renderShared(this.#frame, [...this.#flags, ...moment.flags])}}`);
  }

  /** The low part of an offset in a uid; the piece before it is ready then. */
  #splitUid(start: number): number {
    const high = Math.floor(start / LOW_BASE36);
    if (high !== this.#uidHigh) {
      this.#uidHigh = high;
      const uid = renderUid(this.#uidPrefix, high * LOW_BASE36);
      this.#uid = Buffer.from(`","uid":"${uid.slice(0, -LOW_BASE36_DIGITS)}`);
    }
    return start - high * LOW_BASE36;
  }

  /** The low part of an offset as a number; the piece before it is ready then. */
  #splitOffset(start: number): number {
    const high = Math.floor(start / LOW_DECIMAL);
    if (high !== this.#offsetHigh) {
      this.#offsetHigh = high;
      this.#offset = Buffer.from(`","file":"${this.#file}","offset":${high > 0 ? high : ''}`);
    }
    return start - high * LOW_DECIMAL;
  }

  /** From behind the decimals of the time to the message. */
  #tagged(tag: string, severity: Severity | undefined): Buffer {
    // A tag has no closing bracket.
    const key = severity === undefined ? tag : `${tag}]${severity}`;
    const known = this.#tags.get(key);
    if (known !== undefined) return known;
    if (this.#tags.size >= TAGS_MAX) this.#tags.clear();
    const ofSeverity = severity === undefined ? '' : `,"severity":"${severity}"`;
    const head = renderHead(this.#frame, this.#observedMs);
    const bytes = Buffer.from(`Z",${head},"tag":${renderText(tag)}${ofSeverity},"message":"`);
    // A copy of the key: a part of a chunk's text would keep all of it.
    this.#tags.set(Buffer.from(key).toString(), bytes);
    return bytes;
  }
}

function countDigits(number: number): number {
  let count = 1;
  for (let rest = number; rest >= 10; rest = Math.floor(rest / 10)) count++;
  return count;
}

/** Writes the last `count` decimal digits of a number below 2^31. */
function writeDigits(memory: Buffer, at: number, number: number, count: number): void {
  let rest = number;
  for (let index = at + count - 1; index >= at; index--) {
    const next = (rest / 10) | 0;
    memory[index] = ZERO + rest - next * 10;
    rest = next;
  }
}

function writeBase36(memory: Buffer, at: number, number: number, count: number): void {
  let rest = number;
  for (let index = at + count - 1; index >= at; index--) {
    const next = (rest / 36) | 0;
    memory[index] = DIGITS_36[rest - next * 36] ?? ZERO;
    rest = next;
  }
}
