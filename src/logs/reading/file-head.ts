import { hash } from 'node:crypto';
import { parseJson } from '../../base/index.ts';
import { addToPace, linkOffsetMs, type OffsetEvidence, type Pace } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs } from '../listing/listing.ts';
import type { ReadingEnd } from '../records/entry.ts';
import { parseLine, parseRepeatNotice } from '../records/parse-line.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { StampContext } from '../time/stamp.ts';
import { createLogError, type LogError } from './errors.ts';

/** Facts from the beginning of a file. */
export interface Head {
  /** SHA-256 up to the end of the first complete line, as hex. NUL bytes before that line do not count. */
  readonly key: string;
  /** Wall time of the first line that has one; `undefined` when no line of the head has one, or it is in a zone of its own. */
  readonly firstWallAsUtcMs: number | undefined;
  /** True if the first line has no time: other files may begin with the same one. */
  readonly isUntimed: boolean;
  /** SHA-256 of the whole body, as hex, if it is short and no line of it has a time: it may be the text of an error. */
  readonly textSha?: string | undefined;
}

/** Limit of the bytes that a file's key covers, and of the search for a time. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Stamp and tag of a line stand within this many bytes. */
const STAMP_BYTES_MAX = 256;
/** Beginnings of files that a power cut has left as NUL bytes are passed over up to here. */
const NUL_BYTES_MAX = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** The beginning of a file until it is known which one it is, however small the pieces are in which it comes. */
export class FileHead {
  #memory: Buffer = EMPTY;
  #length = 0;
  /** NUL bytes in front of all others. */
  #nulBytes = 0;
  /** Length at the last look. */
  #seenBytes = 0;

  /** Bytes so far. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  /** True if bytes have come since the last look. */
  get hasUnseen(): boolean {
    return this.#length > this.#seenBytes;
  }

  /** True if a look may find more than the last one, and all looks together do not take much longer than one at the end. */
  get isWorthALook(): boolean {
    if (this.#nulBytes === this.#length && this.#length < NUL_BYTES_MAX) return false;
    return this.#length - this.#nulBytes >= 2 * Math.max(0, this.#seenBytes - this.#nulBytes);
  }

  /** Adds a copy of a chunk. */
  push(chunk: Uint8Array): void {
    const end = this.#length + chunk.length;
    if (this.#nulBytes === this.#length) this.#nulBytes += countNulBytes(chunk);
    if (end > this.#memory.length) this.#grow(end);
    this.#memory.set(chunk, this.#length);
    this.#length = end;
  }

  /** Returns what there is to look at. */
  look(): { readonly bytes: Buffer; readonly nulBytes: number } {
    this.#seenBytes = this.#length;
    return { bytes: this.bytes, nulBytes: this.#nulBytes };
  }

  /**
   * Finds the first complete line behind NUL bytes, and the first one with a time. Empty lines, and notices of repeated ones, are
   * part of the key, and not the line that ends it. `undefined` while more of the file is needed, or if it has no complete line.
   */
  find(end: ReadingEnd, context: StampContext): Head | undefined {
    const { bytes } = this;
    const nulBytes = this.#nulBytes;
    const isNul = nulBytes === bytes.length;
    if (isNul && end !== 'closed' && bytes.length < NUL_BYTES_MAX) return undefined;
    const head = isNul ? bytes : bytes.subarray(nulBytes);
    let keyBytes: number | undefined;
    let isUntimed = true;
    for (const line of linesOf(head, end)) {
      const { time } = parseLine(line.text, context);
      if (keyBytes === undefined && (time || !isPassedOver(line.text))) {
        keyBytes = line.end;
        isUntimed = time === undefined;
      }
      if (keyBytes === undefined || !time) continue;
      const firstWallAsUtcMs = time.offsetMs === undefined ? time.asUtcMs : undefined;
      return { key: toKey(head, keyBytes), firstWallAsUtcMs, isUntimed };
    }
    const isLong = head.length >= HEAD_BYTES_MAX + STAMP_BYTES_MAX;
    if (end === 'more' && !isLong) return undefined;
    if (keyBytes === undefined && head.length < HEAD_BYTES_MAX && (end !== 'closed' || head.length === 0))
      return undefined;
    const textSha = isLong || isNul ? undefined : hash('sha256', head);
    return { key: toKey(head, keyBytes ?? head.length), firstWallAsUtcMs: undefined, isUntimed, textSha };
  }

  /**
   * Finds out why a file whose beginning is not known may not be read as a log; `undefined` if it may, `more` while more of it is needed.
   * `mediaType` is that of the response.
   */
  findUnshippedState(
    end: ReadingEnd,
    context: StampContext,
    mediaType: string | undefined,
  ): LogError['code'] | 'more' | undefined {
    const head = this.bytes.subarray(this.#nulBytes);
    const isWhole = end !== 'more';
    const isLong = head.length >= HEAD_BYTES_MAX + STAMP_BYTES_MAX;
    const text = head.toString('utf8', 0, HEAD_BYTES_MAX).trim();
    if (/^(?:<[!?a-z]|\{|\[)/i.test(text)) {
      if (!isWhole && !isLong) return 'more';
      if (isPage(text, isWhole && !isLong, mediaType)) return 'error_page';
    }
    return isReversed(head, end, context);
  }

  /** Forgets all bytes: the file goes on behind them. */
  clear(): void {
    this.#memory = EMPTY;
    [this.#length, this.#nulBytes, this.#seenBytes] = [0, 0, 0];
  }

  #grow(needed: number): void {
    // The first chunk mostly suffices.
    const memory = Buffer.allocUnsafeSlow(this.#length === 0 ? needed : Math.max(2 * needed, HEAD_BYTES_MAX));
    memory.set(this.bytes, 0);
    this.#memory = memory;
  }
}

function toKey(head: Buffer, bytes: number): string {
  return hash('sha256', head.subarray(0, Math.min(bytes, HEAD_BYTES_MAX)));
}

function isPassedOver(line: string): boolean {
  return line === '' || parseRepeatNotice(line) !== undefined;
}

/** The beginnings of the lines that begin in a head: with an unterminated one if the file is closed, or it is long. */
function* linesOf(head: Buffer, end: ReadingEnd): Generator<{ readonly text: string; readonly end: number }> {
  let from = 0;
  while (from < Math.min(head.length, HEAD_BYTES_MAX)) {
    const lineFeed = head.indexOf(LINE_FEED, from);
    // Of a line that is longer than the head, the beginning is enough; but as much of it as any chunk would have brought.
    if (lineFeed < 0 && end !== 'closed' && head.length < HEAD_BYTES_MAX + STAMP_BYTES_MAX) return;
    const stop = lineFeed < 0 ? head.length : lineFeed;
    const text = head.toString('utf8', from, Math.min(stop, from + STAMP_BYTES_MAX));
    from = lineFeed < 0 ? stop : stop + 1;
    yield { text: text.endsWith('\r') ? text.slice(0, -1) : text, end: from };
  }
}

/** Returns why a file with this beginning is not shipped, for a look at no more of it than that; `undefined` if nothing speaks against it. */
export function examineHead(
  file: string,
  bytes: Buffer,
  about: { readonly isWhole: boolean; readonly mediaType: string | undefined; readonly nowMs: number },
): LogError | undefined {
  const context = { order: 'dmy', lineBeforeMs: undefined, endMs: about.nowMs } as const;
  const head = new FileHead();
  head.push(bytes);
  const state = head.findUnshippedState(about.isWhole ? 'open' : 'more', context, about.mediaType);
  if (state !== 'more') return state && createLogError(state, file);
  const text = bytes.toString('utf8', countNulBytes(bytes)).trim();
  return text.startsWith('<') && isPage(text, false, about.mediaType) ? createLogError('error_page', file) : undefined;
}

/** True if the text that a body begins with, or all of it, is a document: HTML, XML, or one JSON value over all lines. */
function isPage(text: string, isWhole: boolean, mediaType = ''): boolean {
  if (text.startsWith('<')) {
    if (/^(?:text\/html|(?:text|application)\/(?:\w+\+)?xml)\b/i.test(mediaType)) return true;
    if (!/^<(?:!doctype|html|\?xml)\b/i.test(text)) return false;
    return !isWhole || text.endsWith('>');
  }
  const isJson = /^application\/(?:\w+\+)?json\b/i.test(mediaType);
  const [firstLine = ''] = text.split('\n', 1);
  if (!isWhole) return isJson && parseDocument(firstLine) === undefined;
  const value = parseDocument(text);
  if (value === undefined) return false;
  return isJson || text.includes('\n') || 'error' in value || 'errors' in value;
}

/** Parses a JSON object or list; `undefined` if the text is something else. */
function parseDocument(text: string): object | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** So many lines with the same time at the beginning of a file say nothing, and more of them would hardly. */
const EQUAL_LINES_MAX = 16;
/** Where the newest line comes first, so many lines at least have an earlier time than the one before, and four for each with a later one. */
const STEPS_BACK_MIN = 4;
const STEPS_BACK_RATIO = 4;

/**
 * Tells by the times of the first lines whether the newest one comes first. A clock that is set makes one step back, and lines of several
 * processes a few; times of a clock that was never set say nothing.
 */
function isReversed(head: Buffer, end: ReadingEnd, context: StampContext): 'reversed' | 'more' | undefined {
  let [lines, back, forth] = [0, 0, 0];
  let lastMs: number | undefined;
  for (const { text } of linesOf(head, end)) {
    const { time } = parseLine(text, context);
    if (!time || time.asUtcMs < FLOOR_MS) continue;
    const utcMs = time.asUtcMs - (time.offsetMs ?? 0);
    if (lastMs !== undefined && utcMs < lastMs) back++;
    if (lastMs !== undefined && utcMs > lastMs) forth++;
    lastMs = utcMs;
    lines++;
    if (forth > back || (lines === EQUAL_LINES_MAX && back === 0)) return undefined;
    if (back - STEPS_BACK_RATIO * forth >= STEPS_BACK_MIN) return 'reversed';
  }
  return end === 'more' && head.length < HEAD_BYTES_MAX + STAMP_BYTES_MAX ? 'more' : undefined;
}

/** Returns the number of NUL bytes in front of all others. */
function countNulBytes(bytes: Uint8Array): number {
  let count = 0;
  while (bytes[count] === 0) count++;
  return count;
}

/** Lines whose distances are looked at. */
const LINES_MAX = 64;

/**
 * Holds the name of a log's newest rotated file, which is in UTC, against the first line of the file that is being
 * written, which is in the router's zone. `head` is the beginning of that file. `undefined` when nothing was rotated yet,
 * or no line of `head` has a stamp. One observation: the agent itself believes two.
 */
export function findOffsetEvidence({ rotated }: ListedLog, head: Uint8Array): OffsetEvidence | undefined {
  const stamp = rotated.at(-1)?.stamp;
  if (stamp === undefined) return undefined;
  const rotatedUtcMs = parseStampUtcMs(stamp);
  const beginning = new FileHead();
  beginning.push(head);
  const firstWallAsUtcMs = beginning.find('closed', createContext(rotatedUtcMs))?.firstWallAsUtcMs;
  if (firstWallAsUtcMs === undefined || Number.isNaN(rotatedUtcMs)) return undefined;
  const offsetMs = linkOffsetMs(firstWallAsUtcMs, stamp);
  return { rotatedUtcMs, firstWallAsUtcMs, offsetMs, distanceMs: findDistanceMs(beginning.bytes, rotatedUtcMs) };
}

/** The context of lines that were written since the rotation, nobody knows until when. */
function createContext(lineBeforeMs: number): StampContext {
  return { order: 'dmy', lineBeforeMs, endMs: Number.POSITIVE_INFINITY };
}

function findDistanceMs(head: Buffer, rotatedUtcMs: number): number | undefined {
  let pace: Pace | undefined;
  let last: number | undefined;
  // The last one may be cut off in the middle of its stamp.
  for (const line of head.toString('latin1').split('\n', LINES_MAX).slice(0, -1)) {
    const { time } = parseLine(line, createContext(last ?? rotatedUtcMs));
    if (!time) continue;
    pace = addToPace(pace, last === undefined ? 0 : time.asUtcMs - last);
    last = time.asUtcMs;
  }
  return pace && pace.lines > 1 ? pace.recentMs : undefined;
}
