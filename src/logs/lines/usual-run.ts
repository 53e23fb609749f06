import type { MessageMatcher } from '../matching/line-matcher.ts';
import { BLOCK_BYTES } from './glued.ts';
import type { LineRenderer, TagHead } from './line-renderer.ts';
import { LINE_BYTES_MAX } from './line-splitter.ts';
import { isOwnRequest } from './own-request.ts';
import { findEmbeddedLine, TAG_LENGTH_MAX } from './parse-line.ts';

/** Characters of `YYYY-MM-DD ` and of the whole stamp. */
const DAY_CHARS = 11;
export const STAMP_CHARS = 19;
const DAY_MS = 86_400_000;
const [LINE_FEED, BLANK, OPENING, DASH, COLON, ZERO, NINE] = [0x0a, 0x20, 0x5b, 0x2d, 0x3a, 0x30, 0x39];

/**
 * Takes usual lines apart where they stand in a chunk, without making anything of them: plain bytes, the stamp
 * `YYYY-MM-DD hh:mm:ss` of one day, a tag, no severity. What it takes is what the parser of any line would have made of it;
 * all else it leaves alone.
 */
export class UsualRun {
  /** The chunk. */
  readonly bytes: Buffer;
  readonly #renderer: LineRenderer;
  readonly #matcher: MessageMatcher;
  /** `YYYY-MM-DD ` of its stamps, and the beginning of that day as if it were UTC. */
  readonly day: Buffer;
  readonly dayMs: number;
  /** Offset in the file of the last line found. */
  start = 0;
  /** Its last byte is before this place in the bytes. */
  to = 0;
  asUtcMs = 0;
  tag: TagHead | undefined;
  messageFrom = 0;
  /** Its message, if something was removed from that. */
  redacted: string | undefined;
  /** True if log rules may match its message. */
  mayMatch = false;

  /** `stamp`: that of a line before, which was at `asUtcMs`. */
  constructor(bytes: Buffer, stamp: string, asUtcMs: number, renderer: LineRenderer, matcher: MessageMatcher) {
    this.bytes = bytes;
    this.#renderer = renderer;
    this.#matcher = matcher;
    this.day = Buffer.from(stamp.slice(0, DAY_CHARS), 'latin1');
    this.dayMs = Math.floor(asUtcMs / DAY_MS) * DAY_MS;
  }

  /** True if a stamp is of the form that is read here. */
  static knows(stamp: string): boolean {
    const first = stamp.charCodeAt(0);
    return stamp.length === STAMP_CHARS && first >= ZERO && first <= NINE && stamp.charCodeAt(4) === DASH;
  }

  /** False if the line that begins at a place is no usual one, at the first look. */
  static mayBegin(bytes: Buffer, from: number): boolean {
    return bytes[from + STAMP_CHARS + 1] === OPENING && bytes[from + STAMP_CHARS] === BLANK;
  }

  /** Finds the line that begins at a place in the bytes, and at `start` in the file. False if it is no usual one. */
  find(from: number, start: number): boolean {
    const bytes = this.bytes;
    const second = this.#readClock(from);
    if (second < 0) return false;
    const tag = this.#renderer.findTag(bytes, from + STAMP_CHARS + 2, TAG_LENGTH_MAX - 2);
    if (!tag) return false;
    let at = from + STAMP_CHARS + tag.tagBytes.length + 3;
    if (bytes[at] === OPENING) return false;
    if (bytes[at] === BLANK) at++;
    const to = this.#matcher.readPlain(bytes, at);
    if (bytes[to] !== LINE_FEED || to - from > LINE_BYTES_MAX) return false;
    // A buffer of the device may end within the line, and another line begin there.
    if (BLOCK_BYTES - (start % BLOCK_BYTES) < to - from && this.#holdsLine(from, to)) return false;
    this.redacted = undefined;
    if (this.#matcher.mayChange && !this.#redact(at, to)) return false;
    this.start = start;
    this.to = to;
    this.asUtcMs = this.dayMs + second * 1000;
    this.tag = tag;
    this.messageFrom = at;
    // Rules are about what is left.
    this.mayMatch = this.redacted !== undefined || this.#matcher.mayMatch;
    return true;
  }

  /** The second of the day that a stamp of this day shows, with a tag behind it; -1 for anything else. */
  #readClock(from: number): number {
    const bytes = this.bytes;
    if (from + STAMP_CHARS + 2 >= bytes.length) return -1;
    const day = this.day;
    for (let index = DAY_CHARS - 1; index >= 0; index--) if (bytes[from + index] !== day[index]) return -1;
    if (bytes[from + 13] !== COLON || bytes[from + 16] !== COLON) return -1;
    if (bytes[from + STAMP_CHARS] !== BLANK || bytes[from + STAMP_CHARS + 1] !== OPENING) return -1;
    const hours = readTwo(bytes, from + 11, 24);
    const minutes = readTwo(bytes, from + 14, 60);
    const seconds = readTwo(bytes, from + 17, 60);
    return hours < 0 || minutes < 0 || seconds < 0 ? -1 : (hours * 60 + minutes) * 60 + seconds;
  }

  #holdsLine(from: number, to: number): boolean {
    return findEmbeddedLine(this.bytes.toString('latin1', from, to)) !== undefined;
  }

  /** Removes from the message what is to be removed. False if it is about a request of this program. */
  #redact(from: number, to: number): boolean {
    const message = this.bytes.toString('latin1', from, to);
    if (isOwnRequest(message)) return false;
    this.#matcher.noteText(message);
    const rest = this.#matcher.redact(message);
    if (rest !== message) this.redacted = rest;
    return true;
  }
}

/** Two digits as a number; -1 if they are none, or stand for `limit` or more. */
function readTwo(bytes: Buffer, at: number, limit: number): number {
  const [tens, ones] = [(bytes[at] as number) - ZERO, (bytes[at + 1] as number) - ZERO];
  const number = tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : limit;
  return number < limit ? number : -1;
}
