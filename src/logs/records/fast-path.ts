import type { RecordFlag } from '../../model/index.ts';
import { renderUid } from '../position/identity.ts';
import type { LogFileDraft } from '../position/position.ts';
import type { MatchTotals, MessageMatcher } from '../rules/line-matcher.ts';
import { isPlainByte } from '../rules/literals.ts';
import { renderTimestamp, toNanoseconds, toSecond } from '../time/stamp.ts';
import { LINE_BYTES_MAX } from './line-splitter.ts';
import type { LineTimes } from './line-times.ts';
import { BLOCK_BYTES, findEmbeddedLine, isOwnRequest, TAG_LENGTH_MAX } from './parse-line.ts';
import {
  type RecordBatch,
  type RecordBuffer,
  type RecordFrame,
  renderText,
  type WaitingEntries,
} from './record-batch.ts';

interface FastPathOptions extends LineRendererOptions {
  readonly times: LineTimes;
  readonly draft: LogFileDraft;
  readonly waiting: WaitingEntries;
  readonly matcher: MessageMatcher;
}

interface LineOutput {
  readonly batch: RecordBatch;
  readonly matches: MatchTotals;
}

interface FoundLine extends PlainLine {
  /** As if it were UTC. Milliseconds since the Unix epoch. */
  readonly asUtcMs: number;
  readonly mayMatch: boolean;
}

interface Day {
  readonly bytes: Buffer;
  readonly ms: number;
}

/** Characters of `YYYY-MM-DD ` and of the whole stamp. */
const DAY_CHARS = 11;
const STAMP_CHARS = 19;
const DAY_MS = 86_400_000;
const [LINE_FEED, BLANK, OPENING, DASH, COLON, ZERO, NINE] = [0x0a, 0x20, 0x5b, 0x2d, 0x3a, 0x30, 0x39];

/**
 * Fast path for common lines: plain bytes, a stamp `YYYY-MM-DD hh:mm:ss` of the same day as the previous line, a tag,
 * no severity. Gives the same records as the full parser and leaves all other lines to it.
 */
export class FastPath {
  readonly #options: FastPathOptions;
  readonly #renderer: LineRenderer;

  constructor(options: FastPathOptions) {
    this.#options = options;
    this.#renderer = new LineRenderer(options);
  }

  /**
   * Takes lines from `from` in the bytes and `start` in the file, each followed by a stamped line in the chunk, so that
   * no continuation follows. Returns the place of the first line that is left.
   */
  take(bytes: Buffer, from: number, start: number, { batch, matches }: LineOutput): number {
    const { times, draft, waiting, uidPrefix } = this.#options;
    const { text, wall, shown: shownBefore } = times.last;
    if (!mayBegin(bytes, from) || !wall || shownBefore?.verdict !== 'sane' || !isOfThisForm(text)) return from;
    const day = {
      bytes: Buffer.from(text.slice(0, DAY_CHARS), 'latin1'),
      ms: Math.floor(wall.asUtcMs / DAY_MS) * DAY_MS,
    };
    const lastLineEnd = bytes.lastIndexOf(LINE_FEED);
    let shown = shownBefore;
    let { asUtcMs } = wall;
    let at = from;
    let lastFrom = -1;
    for (let line = this.#find(bytes, at, start, day); line; line = this.#find(bytes, at, start + at - from, day)) {
      const end = line.messageTo + 1;
      if (end > lastLineEnd || readClock(bytes, end, day) < 0) break;
      if (line.asUtcMs === asUtcMs) times.repeat();
      else {
        const ordinary = times.resolveOrdinary({ asUtcMs: line.asUtcMs, hasFraction: false, length: STAMP_CHARS });
        if (!ordinary) break;
        shown = ordinary;
        ({ asUtcMs } = line);
      }
      if (lastFrom < 0) waiting.flush(batch.records);
      this.#renderer.render(line, shown, batch.records);
      if (line.mayMatch) this.#search(line, matches);
      draft.lastStart = line.start;
      batch.first ??= { uid: renderUid(uidPrefix, line.start), utcMs: shown.utcMs };
      batch.lines++;
      batch.bytes += end - at;
      lastFrom = at;
      at = end;
    }
    if (lastFrom >= 0) times.keepText(bytes.toString('latin1', lastFrom, lastFrom + STAMP_CHARS));
    return at;
  }

  #find(bytes: Buffer, from: number, start: number, day: Day): FoundLine | undefined {
    const { matcher } = this.#options;
    const second = readClock(bytes, from, day);
    if (second < 0) return undefined;
    const tag = this.#renderer.findTag(bytes, from + STAMP_CHARS + 2, TAG_LENGTH_MAX - 2);
    if (!tag) return undefined;
    let messageFrom = from + STAMP_CHARS + tag.tagBytes.length + 3;
    if (bytes[messageFrom] === OPENING) return undefined;
    if (bytes[messageFrom] === BLANK) messageFrom++;
    const messageTo = matcher.readPlain(bytes, messageFrom);
    if (bytes[messageTo] !== LINE_FEED || messageTo - from > LINE_BYTES_MAX) return undefined;
    // A buffer boundary in the line may be followed by another line.
    const mayHoldLine = BLOCK_BYTES - (start % BLOCK_BYTES) < messageTo - from;
    if (mayHoldLine && findEmbeddedLine(bytes.toString('latin1', from, messageTo)) !== undefined) return undefined;
    let redacted: string | undefined;
    if (matcher.mayChange) {
      const message = bytes.toString('latin1', messageFrom, messageTo);
      if (isOwnRequest(message)) return undefined;
      matcher.setText(message);
      const rest = matcher.redact(message);
      if (rest !== message) redacted = rest;
    }
    // Rules see the redacted message.
    const mayMatch = redacted !== undefined || matcher.mayMatch;
    return { bytes, start, tag, messageFrom, messageTo, redacted, asUtcMs: day.ms + second * 1000, mayMatch };
  }

  #search({ bytes, messageFrom, messageTo, redacted }: FoundLine, matches: MatchTotals): void {
    const { matcher } = this.#options;
    const message = redacted ?? bytes.toString('latin1', messageFrom, messageTo);
    if (redacted === undefined) matcher.setText(message);
    matcher.search(message, matches);
  }
}

function isOfThisForm(stamp: string): boolean {
  const first = stamp.charCodeAt(0);
  return stamp.length === STAMP_CHARS && first >= ZERO && first <= NINE && stamp.charCodeAt(4) === DASH;
}

function mayBegin(bytes: Buffer, from: number): boolean {
  return bytes[from + STAMP_CHARS + 1] === OPENING && bytes[from + STAMP_CHARS] === BLANK;
}

/** Returns the second of the day of a stamp with this day and a tag after it; -1 for anything else. */
function readClock(bytes: Buffer, from: number, day: Day): number {
  if (from + STAMP_CHARS + 2 >= bytes.length) return -1;
  for (let index = DAY_CHARS - 1; index >= 0; index--) if (bytes[from + index] !== day.bytes[index]) return -1;
  if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON || !mayBegin(bytes, from)) return -1;
  const hours = readTwo(bytes, from + 11, 24);
  const minutes = readTwo(bytes, from + 14, 60);
  const seconds = readTwo(bytes, from + 17, 60);
  return hours < 0 || minutes < 0 || seconds < 0 ? -1 : (hours * 60 + minutes) * 60 + seconds;
}

/** Returns -1 unless it is a number below `limit`. */
function readTwo(bytes: Buffer, at: number, limit: number): number {
  const [tens, ones] = [(bytes[at] as number) - ZERO, (bytes[at + 1] as number) - ZERO];
  const number = tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : limit;
  return number < limit ? number : -1;
}

/** Values shared by all lines of one second. */
interface LineMoment {
  readonly utcMs: number;
  readonly isFirstSecond: boolean;
  readonly flags: readonly RecordFlag[];
}

interface TagHead {
  readonly tagBytes: Buffer;
  readonly bytes: Buffer;
}

/** A line of plain bytes with a whole second as its time. */
export interface PlainLine {
  readonly bytes: Buffer;
  readonly start: number;
  readonly tag: TagHead;
  readonly messageFrom: number;
  readonly messageTo: number;
  readonly redacted: string | undefined;
}

/** Offsets are rendered in two halves, because the high one rarely changes. */
const LOW_DECIMAL = 1_000_000;
const LOW_DECIMAL_DIGITS = 6;
const LOW_BASE36 = 36 ** 4;
const LOW_BASE36_DIGITS = 4;
const NANOSECOND_DIGITS = 9;
/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;
const DIGITS_36 = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');
/** Real logs have a few dozen tags. */
const TAGS_MAX = 1000;
/** Power of two. */
const TAG_SLOTS = 256;
/** Offset of the time in a record. */
const TIME_FROM = '{"timestamp":"'.length;
/** A native copy is faster only for longer messages. Bytes. */
const COPIED_BYTES_MAX = 160;
const BRACKET = 0x5d;
const EMPTY = Buffer.alloc(0);

interface LineRendererOptions {
  readonly observedMs: number;
  readonly frame: RecordFrame;
  readonly file: string;
  readonly uidPrefix: string;
  readonly flags: readonly RecordFlag[];
}

/** Renders common lines byte for byte like `renderEntry`, mostly from parts shared with the previous line. */
export class LineRenderer {
  readonly #observedMs: number;
  readonly #frame: RecordFrame;
  readonly #file: string;
  readonly #uidPrefix: string;
  readonly #flags: readonly RecordFlag[];
  readonly #tags = new Map<string, TagHead>();
  readonly #tagsByHash: (TagHead | undefined)[] = [];
  /** `YYYY-MM-DDThh:mm:ss.` */
  readonly #time = Buffer.from('YYYY-MM-DDThh:mm:ss.');
  #minute = Number.NaN;
  #moment: LineMoment | undefined;
  #end = EMPTY;
  #endFlags: readonly RecordFlag[] | undefined;
  /** From the end of the message on, with uid and offset of the last line. */
  #tail = EMPTY;
  #uidHigh = -1;
  #offsetHigh = -1;
  #offsetDigits = 0;
  /** Ends of the low digits of uid and offset in the tail. */
  #uidEnd = 0;
  #offsetEnd = 0;

  constructor(options: LineRendererOptions) {
    this.#observedMs = options.observedMs;
    this.#frame = options.frame;
    this.#file = options.file;
    this.#uidPrefix = options.uidPrefix;
    this.#flags = options.flags;
  }

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

  /** Finds the tag between `from` and the next closing bracket; `undefined` without one. */
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
