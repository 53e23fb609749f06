import { hash } from 'node:crypto';
import { parseJson } from '../../base/index.ts';
import { addToPace, linkOffsetMs, type OffsetEvidence, type Pace } from '../listing/link-rule.ts';
import { type ListedLog, parseStampUtcMs } from '../listing/listing.ts';
import { parseLine, parseRepeatNotice } from '../records/parse-line.ts';
import type { ReadingEnd } from '../records/record-batch.ts';
import { FLOOR_MS } from '../time/log-clock.ts';
import type { StampContext } from '../time/stamp.ts';
import { createLogError, type LogError } from './errors.ts';

/** Facts from the beginning of a file. */
export interface Head {
  /** SHA-256 up to the end of the first complete line, as hex, without leading NUL bytes. */
  readonly key: string;
  /** Wall time of the first line with a time; `undefined` without one, or if that line has its own UTC offset. */
  readonly firstWallAsUtcMs: number | undefined;
  /** True if the first line has no time: other files may begin with the same line. */
  readonly isUntimed: boolean;
  /** SHA-256 of the whole body, as hex, if it is short and has no time: it may be an error text. */
  readonly textSha?: string | undefined;
}

/** Limit of the bytes covered by the key and searched for a time. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Stamp and tag of a line fit in this many bytes. */
const STAMP_BYTES_MAX = 256;
/** Limit of leading NUL bytes, which a power cut leaves. Bytes. */
const NUL_BYTES_MAX = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

/** Buffers the beginning of a file until the file is identified, independent of chunk sizes. */
export class FileHead {
  #memory: Buffer = EMPTY;
  #length = 0;
  #nulBytes = 0;
  #seenBytes = 0;

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  get hasUnseen(): boolean {
    return this.#length > this.#seenBytes;
  }

  /** Doubling before each new check keeps the total cost near that of a single check. */
  get isWorthACheck(): boolean {
    if (this.#nulBytes === this.#length && this.#length < NUL_BYTES_MAX) return false;
    return this.#length - this.#nulBytes >= 2 * Math.max(0, this.#seenBytes - this.#nulBytes);
  }

  push(chunk: Uint8Array): void {
    const end = this.#length + chunk.length;
    if (this.#nulBytes === this.#length) this.#nulBytes += countNulBytes(chunk);
    if (end > this.#memory.length) this.#grow(end);
    this.#memory.set(chunk, this.#length);
    this.#length = end;
  }

  read(): { readonly bytes: Buffer; readonly nulBytes: number } {
    this.#seenBytes = this.#length;
    return { bytes: this.bytes, nulBytes: this.#nulBytes };
  }

  /**
   * Finds the key and the first line with a time. Leading empty lines and repeat notices belong to the key and do not
   * end it. `undefined` if more bytes are needed or no line is complete.
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
   * Returns why an unknown file is not a log; `undefined` if it may be one, `more` if more bytes are needed.
   * `mediaType`: of the response.
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

  clear(): void {
    this.#memory = EMPTY;
    [this.#length, this.#nulBytes, this.#seenBytes] = [0, 0, 0];
  }

  #grow(needed: number): void {
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

function* linesOf(head: Buffer, end: ReadingEnd): Generator<{ readonly text: string; readonly end: number }> {
  let from = 0;
  while (from < Math.min(head.length, HEAD_BYTES_MAX)) {
    const lineFeed = head.indexOf(LINE_FEED, from);
    // The beginning of a long line suffices, but always the same amount, independent of chunks.
    if (lineFeed < 0 && end !== 'closed' && head.length < HEAD_BYTES_MAX + STAMP_BYTES_MAX) return;
    const stop = lineFeed < 0 ? head.length : lineFeed;
    const text = head.toString('utf8', from, Math.min(stop, from + STAMP_BYTES_MAX));
    from = lineFeed < 0 ? stop : stop + 1;
    yield { text: text.endsWith('\r') ? text.slice(0, -1) : text, end: from };
  }
}

/** Returns why a file with this beginning is not shipped; `undefined` if it may be a log. */
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

function parseDocument(text: string): object | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Maximum lines with equal times that are examined. */
const EQUAL_LINES_MAX = 16;
/** A log is reversed with this many steps back, and four for each step forward. */
const STEPS_BACK_MIN = 4;
const STEPS_BACK_RATIO = 4;

/**
 * Detects newest-first order by the times of the first lines. A clock that is set makes one step back, several
 * processes a few. Times of a clock that was never set are ignored.
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

function countNulBytes(bytes: Uint8Array): number {
  let count = 0;
  while (bytes[count] === 0) count++;
  return count;
}

/** Lines used for the mean distance. */
const LINES_MAX = 64;

/**
 * Compares the name of the newest rotated file (UTC) with the first line of `current` (router's zone). `head`:
 * beginning of `current`. `undefined` without a rotated file or a stamped line. The agent needs two such observations.
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

function createContext(lineBeforeMs: number): StampContext {
  return { order: 'dmy', lineBeforeMs, endMs: Number.POSITIVE_INFINITY };
}

function findDistanceMs(head: Buffer, rotatedUtcMs: number): number | undefined {
  let pace: Pace | undefined;
  let last: number | undefined;
  // The last one may be cut off within its stamp.
  for (const line of head.toString('latin1').split('\n', LINES_MAX).slice(0, -1)) {
    const { time } = parseLine(line, createContext(last ?? rotatedUtcMs));
    if (!time) continue;
    pace = addToPace(pace, last === undefined ? 0 : time.asUtcMs - last);
    last = time.asUtcMs;
  }
  return pace && pace.lines > 1 ? pace.recentMs : undefined;
}
