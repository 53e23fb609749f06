import { renderUid } from '../position/identity.ts';
import type { LogFileDraft } from '../position/position.ts';
import type { MatchTotals, MessageMatcher } from '../rules/line-matcher.ts';
import type { WaitingEntries } from './entry.ts';
import type { LineRenderer, PlainLine } from './line-renderer.ts';
import { LINE_BYTES_MAX } from './line-splitter.ts';
import type { LineTimes } from './line-times.ts';
import { BLOCK_BYTES, findEmbeddedLine, isOwnRequest, TAG_LENGTH_MAX } from './parse-line.ts';
import type { RecordBatch } from './record-batch.ts';

/** What usual lines need to become records. */
interface UsualLinesOptions {
  /** The clock of the file, and the times of the lines before. */
  readonly times: LineTimes;
  /** The file that they are read from. */
  readonly file: LogFileDraft;
  /** Lines before that wait for lines that continue them. */
  readonly waiting: WaitingEntries;
  /** Writes the records. */
  readonly renderer: LineRenderer;
  /** Beginning of the uids of the file's lines. */
  readonly uidPrefix: string;
  /** Redaction and log rules. */
  readonly matcher: MessageMatcher;
}

/** What records and matches of log rules are added to. */
interface LineOutput {
  readonly batch: RecordBatch;
  readonly matches: MatchTotals;
}

/** A usual line as it was found. */
interface FoundLine extends PlainLine {
  /** Its stamp, as if it were UTC. */
  readonly asUtcMs: number;
  /** True if log rules may match its message. */
  readonly mayMatch: boolean;
}

/** A day as stamps show it. */
interface Day {
  /** `YYYY-MM-DD `. */
  readonly bytes: Buffer;
  /** Its beginning as if it were UTC. */
  readonly ms: number;
}

/** Characters of `YYYY-MM-DD ` and of the whole stamp. */
const DAY_CHARS = 11;
const STAMP_CHARS = 19;
const DAY_MS = 86_400_000;
const [LINE_FEED, BLANK, OPENING, DASH, COLON, ZERO, NINE] = [0x0a, 0x20, 0x5b, 0x2d, 0x3a, 0x30, 0x39];

/**
 * Turns usual lines into records where they stand in a chunk, without making anything of them: plain bytes, the stamp `YYYY-MM-DD hh:mm:ss` of the
 * day of the line before, a tag, no severity. What it takes is what the parser of any line would have made of it; all else it leaves alone.
 */
export class UsualLines {
  readonly #options: UsualLinesOptions;

  constructor(options: UsualLinesOptions) {
    this.#options = options;
  }

  /**
   * Takes the lines of `bytes` from the one on that begins at `from` there and at `start` in the file, each that has another line with a stamp
   * behind it: no line continues it. Returns where in the bytes the first line begins that is left.
   */
  take(bytes: Buffer, from: number, start: number, { batch, matches }: LineOutput): number {
    const { times, file, waiting, renderer, uidPrefix } = this.#options;
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
      renderer.render(line, shown, batch.records);
      if (line.mayMatch) this.#search(line, matches);
      file.lastStart = line.start;
      batch.first ??= { uid: renderUid(uidPrefix, line.start), utcMs: shown.utcMs };
      batch.lines++;
      batch.bytes += end - at;
      lastFrom = at;
      at = end;
    }
    if (lastFrom >= 0) times.keepText(bytes.toString('latin1', lastFrom, lastFrom + STAMP_CHARS));
    return at;
  }

  /** Finds the line that begins at a place in the bytes, and at `start` in the file. `undefined` if it is no usual one. */
  #find(bytes: Buffer, from: number, start: number, day: Day): FoundLine | undefined {
    const { renderer, matcher } = this.#options;
    const second = readClock(bytes, from, day);
    if (second < 0) return undefined;
    const tag = renderer.findTag(bytes, from + STAMP_CHARS + 2, TAG_LENGTH_MAX - 2);
    if (!tag) return undefined;
    let messageFrom = from + STAMP_CHARS + tag.tagBytes.length + 3;
    if (bytes[messageFrom] === OPENING) return undefined;
    if (bytes[messageFrom] === BLANK) messageFrom++;
    const messageTo = matcher.readPlain(bytes, messageFrom);
    if (bytes[messageTo] !== LINE_FEED || messageTo - from > LINE_BYTES_MAX) return undefined;
    // A buffer of the device may end within the line, and another line begin there.
    const mayHoldLine = BLOCK_BYTES - (start % BLOCK_BYTES) < messageTo - from;
    if (mayHoldLine && findEmbeddedLine(bytes.toString('latin1', from, messageTo)) !== undefined) return undefined;
    let redacted: string | undefined;
    if (matcher.mayChange) {
      const message = bytes.toString('latin1', messageFrom, messageTo);
      if (isOwnRequest(message)) return undefined;
      matcher.noteText(message);
      const rest = matcher.redact(message);
      if (rest !== message) redacted = rest;
    }
    // Rules are about what is left.
    const mayMatch = redacted !== undefined || matcher.mayMatch;
    return { bytes, start, tag, messageFrom, messageTo, redacted, asUtcMs: day.ms + second * 1000, mayMatch };
  }

  #search({ bytes, messageFrom, messageTo, redacted }: FoundLine, matches: MatchTotals): void {
    const { matcher } = this.#options;
    const message = redacted ?? bytes.toString('latin1', messageFrom, messageTo);
    if (redacted === undefined) matcher.noteText(message);
    matcher.search(message, matches);
  }
}

/** True if a stamp is of the form that is read here. */
function isOfThisForm(stamp: string): boolean {
  const first = stamp.charCodeAt(0);
  return stamp.length === STAMP_CHARS && first >= ZERO && first <= NINE && stamp.charCodeAt(4) === DASH;
}

/** False if the line that begins at a place is no usual one, at the first look. */
function mayBegin(bytes: Buffer, from: number): boolean {
  return bytes[from + STAMP_CHARS + 1] === OPENING && bytes[from + STAMP_CHARS] === BLANK;
}

/** The second of the day that a stamp of this day shows, with a tag behind it; -1 for anything else. */
function readClock(bytes: Buffer, from: number, day: Day): number {
  if (from + STAMP_CHARS + 2 >= bytes.length) return -1;
  for (let index = DAY_CHARS - 1; index >= 0; index--) if (bytes[from + index] !== day.bytes[index]) return -1;
  if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON || !mayBegin(bytes, from)) return -1;
  const hours = readTwo(bytes, from + 11, 24);
  const minutes = readTwo(bytes, from + 14, 60);
  const seconds = readTwo(bytes, from + 17, 60);
  return hours < 0 || minutes < 0 || seconds < 0 ? -1 : (hours * 60 + minutes) * 60 + seconds;
}

/** Two digits as a number; -1 if they are none, or stand for `limit` or more. */
function readTwo(bytes: Buffer, at: number, limit: number): number {
  const [tens, ones] = [(bytes[at] as number) - ZERO, (bytes[at + 1] as number) - ZERO];
  const number = tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : limit;
  return number < limit ? number : -1;
}
