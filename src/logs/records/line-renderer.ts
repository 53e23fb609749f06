import type { RecordFlag } from '../../model/index.ts';
import { renderUid } from '../position/identity.ts';
import { isPlainByte } from '../rules/literal-scan.ts';
import { renderTimestamp, toNanoseconds, toSecond } from '../time/stamp.ts';
import { type RecordFrame, renderText } from './entry.ts';
import type { RecordBuffer } from './record-batch.ts';

/** Values shared by all lines of one second. */
interface LineMoment {
  readonly utcMs: number;
  readonly isFirstSecond: boolean;
  readonly flags: readonly RecordFlag[];
}

/** Prefix shared by all records with one tag. */
interface TagHead {
  readonly tagBytes: Buffer;
  /** Up to the text of the message, with room for the time. */
  readonly bytes: Buffer;
}

/** A line of plain bytes as it stands in a chunk, with a whole second as its time and nothing unusual about it. */
export interface PlainLine {
  readonly bytes: Buffer;
  /** Offset of the line in the file. */
  readonly start: number;
  readonly tag: TagHead;
  /** The message: plain bytes. */
  readonly messageFrom: number;
  readonly messageTo: number;
  /** The message, if something was removed from it. */
  readonly redacted: string | undefined;
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
/** Tags that are found by their bytes; a power of two. */
const TAG_SLOTS = 256;
/** Offset of the time in a record. */
const TIME_FROM = '{"timestamp":"'.length;
/** A longer message is copied by the system's own function, which takes longer to call. */
const COPIED_BYTES_MAX = 160;
const BRACKET = 0x5d;
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
  readonly #tags = new Map<string, TagHead>();
  /** The tags of bytes, by a hash of them. */
  readonly #tagsByHash: (TagHead | undefined)[] = [];
  /** `YYYY-MM-DDThh:mm:ss.` */
  readonly #time = Buffer.from('YYYY-MM-DDThh:mm:ss.');
  #minute = Number.NaN;
  #moment: LineMoment | undefined;
  /** Text after the offset, and the flags in it. */
  #end = EMPTY;
  #endFlags: readonly RecordFlag[] | undefined;
  /** From behind the message to the end, with the uid and the offset of the last line. */
  #tail = EMPTY;
  #uidHigh = -1;
  #offsetHigh = -1;
  #offsetDigits = 0;
  /** Ends of the low digits of the uid and of the offset within the tail. */
  #uidEnd = 0;
  #offsetEnd = 0;

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
  render(line: PlainLine, moment: LineMoment, records: RecordBuffer): void {
    const { bytes, start, tag, messageFrom, messageTo, redacted } = line;
    this.#prepare(start, moment);
    const text = redacted === undefined ? undefined : renderText(redacted).slice(1, -1);
    const textBytes = text === undefined ? messageTo - messageFrom : text.length * UTF8_BYTES_MAX;
    const memory = records.reserve(tag.bytes.length + textBytes + this.#tail.length);
    let at = this.#writeHead(memory, records.start, tag, start, moment);
    if (text !== undefined) at += memory.write(text, at, 'utf8');
    else if (textBytes > COPIED_BYTES_MAX) at += bytes.copy(memory, at, messageFrom, messageTo);
    else for (let from = messageFrom; from < messageTo; from++) memory[at++] = bytes[from] as number;
    records.commit(this.#writeTail(memory, at, start));
  }

  /** Finds the tag of plain bytes that stands between `from` and the next closing bracket; `undefined` without one. */
  findTag(bytes: Buffer, from: number, lengthMax: number): TagHead | undefined {
    let hash = 0;
    const last = Math.min(bytes.length - 1, from + lengthMax);
    for (let at = from; at <= last; at++) {
      const byte = bytes[at] as number;
      if (byte === BRACKET) {
        const slot = hash & (TAG_SLOTS - 1);
        const known = this.#tagsByHash[slot];
        if (known && isAt(bytes, from, at, known.tagBytes)) return known;
        const head = this.#headOf(bytes.toString('latin1', from, at));
        this.#tagsByHash[slot] = head;
        return head;
      }
      if (!isPlainByte(byte)) return undefined;
      hash = (hash * 31 + byte) | 0;
    }
    return undefined;
  }

  /** Makes time and tail ready. */
  #prepare(start: number, moment: LineMoment): void {
    if (moment !== this.#moment) this.#begin(moment);
    const uidHigh = Math.floor(start / LOW_BASE36);
    const offsetHigh = Math.floor(start / LOW_DECIMAL);
    const digits = start < LOW_DECIMAL ? countDigits(start) : LOW_DECIMAL_DIGITS;
    if (uidHigh !== this.#uidHigh || offsetHigh !== this.#offsetHigh || digits !== this.#offsetDigits) {
      this.#uidHigh = uidHigh;
      this.#offsetHigh = offsetHigh;
      this.#offsetDigits = digits;
      const uid = `","uid":"${renderUid(this.#uidPrefix, start)}`;
      const offset = `${uid}","file":"${this.#file}","offset":${start}`;
      this.#uidEnd = Buffer.byteLength(uid);
      this.#offsetEnd = Buffer.byteLength(offset);
      this.#tail = Buffer.concat([Buffer.from(offset), this.#end]);
    }
  }

  #begin(moment: LineMoment): void {
    this.#moment = moment;
    const second = toSecond(moment.utcMs);
    const minute = Math.floor(second / 60);
    if (minute === this.#minute) writeDigits(this.#time, this.#time.length - 'ss.'.length, second - minute * 60, 2);
    else {
      this.#minute = minute;
      this.#time.write(renderTimestamp(moment.utcMs, false, 0, false), 0, this.#time.length, 'latin1');
    }
    if (moment.flags === this.#endFlags || (this.#endFlags?.length === 0 && moment.flags.length === 0)) return;
    this.#endFlags = moment.flags;
    this.#end = Buffer.from(`${this.#frame.renderShared([...this.#flags, ...moment.flags])}}`);
    this.#tail = Buffer.concat([this.#tail.subarray(0, this.#offsetEnd), this.#end]);
  }

  #writeHead(memory: Buffer, from: number, { bytes }: TagHead, start: number, { isFirstSecond }: LineMoment): number {
    memory.set(bytes, from);
    const time = this.#time;
    let at = from + TIME_FROM;
    for (let index = 0; index < time.length; index++) memory[at++] = time[index] as number;
    writeDigits(memory, at, toNanoseconds(start, isFirstSecond), NANOSECOND_DIGITS);
    return from + bytes.length;
  }

  #writeTail(memory: Buffer, at: number, start: number): number {
    const tail = this.#tail;
    writeBase36(tail, this.#uidEnd - LOW_BASE36_DIGITS, start - this.#uidHigh * LOW_BASE36, LOW_BASE36_DIGITS);
    const digits = this.#offsetDigits;
    writeDigits(tail, this.#offsetEnd - digits, start - this.#offsetHigh * LOW_DECIMAL, digits);
    memory.set(tail, at);
    return at + tail.length;
  }

  /** From the beginning to the message, with room for the time. */
  #headOf(tag: string): TagHead {
    const known = this.#tags.get(tag);
    if (known !== undefined) return known;
    if (this.#tags.size >= TAGS_MAX) this.#tags.clear();
    const time = `{"timestamp":"YYYY-MM-DDThh:mm:ss.NNNNNNNNNZ"`;
    const head = `${time},${this.#frame.renderHead(this.#observedMs)},"tag":${renderText(tag)},"message":"`;
    const created = { tagBytes: Buffer.from(tag), bytes: Buffer.from(head) };
    this.#tags.set(tag, created);
    return created;
  }
}

/** True if these bytes stand between two places. */
function isAt(bytes: Buffer, from: number, to: number, wanted: Buffer): boolean {
  if (to - from !== wanted.length) return false;
  for (let index = 0; index < wanted.length; index++) if (bytes[from + index] !== wanted[index]) return false;
  return true;
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
