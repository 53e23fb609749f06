import { findStampEnd } from '../time/stamp.ts';
import type { RawLine } from './line-splitter.ts';
import { findEmbeddedLine } from './parse-line.ts';

/** A line, or a part of one that turned out to be two. */
export interface LinePart {
  readonly line: RawLine;
  readonly isGlued: boolean;
  /** True for the last part. */
  readonly isTail: boolean;
}

/** The log daemon's buffer, if it has one: what a crash leaves ends at a multiple of this. */
export const BLOCK_BYTES = 4096;
const STAMP_BYTES = 'YYYY-MM-DD hh:mm:ss'.length;
const [BLANK, BRACKET, DASH, ZERO, NINE] = [0x20, 0x5b, 0x2d, 0x30, 0x39];

/**
 * Takes apart what a crashed log daemon glued together: half a line, and behind it the first one of its next start. A
 * line is only split where another well-formed one begins, and only when what comes before is none, or ends in NUL
 * bytes, or ends where the file was once seen to end (`tornAt`) or where a buffer does. Anything else is a message that
 * quotes a line.
 */
export function splitGlued(raw: RawLine, tornAt: readonly number[]): readonly LinePart[] {
  const at = raw.sha256 === undefined ? findSeam(raw, tornAt) : undefined;
  if (at === undefined) return [{ line: raw, isGlued: false, isTail: true }];
  const bytes = raw.raw ?? raw.bytes;
  const head = toRawLine(raw, 0, bytes.subarray(0, at));
  const [first, ...rest] = splitGlued(toRawLine(raw, at, bytes.subarray(at)), tornAt);
  return [{ line: head, isGlued: true, isTail: false }, ...(first ? [{ ...first, isGlued: true }] : []), ...rest];
}

/** Returns true if a line needs a closer look. Most lines do not. */
export function mayBeGlued(raw: RawLine, tornAt: readonly number[]): boolean {
  const nextBlock = BLOCK_BYTES - (raw.start % BLOCK_BYTES);
  return nextBlock < raw.length || tornAt.length > 0 || raw.nulBytes > 0 || !beginsLikeLine(raw.bytes);
}

/** Returns the byte offset at which a second line begins that has to be split off. */
function findSeam(raw: RawLine, tornAt: readonly number[]): number | undefined {
  const bytes = raw.raw ?? raw.bytes;
  // NUL bytes that were not kept make offsets in the line meaningless.
  if (bytes.length !== raw.length) return undefined;
  const text = bytes.toString('latin1');
  const isUsual = beginsLikeLine(bytes);
  const textFrom = findStampEnd(text) ?? text.length;
  for (let at = findEmbeddedLine(text); at !== undefined; at = findEmbeddedLine(text, at + 1)) {
    const offset = raw.start + at;
    const isWellFormed = isUsual || text.slice(textFrom, at).trim() !== '';
    if (!isWellFormed || bytes[at - 1] === 0 || offset % BLOCK_BYTES === 0 || tornAt.includes(offset)) return at;
  }
  return undefined;
}

/** Returns true if the bytes begin with `YYYY-…` and have a bracket where a stamp of that form ends. */
function beginsLikeLine(bytes: Buffer): boolean {
  const [first = 0] = bytes;
  return (
    first >= ZERO &&
    first <= NINE &&
    bytes[4] === DASH &&
    bytes[STAMP_BYTES] === BLANK &&
    bytes[STAMP_BYTES + 1] === BRACKET
  );
}

/** Returns a part of a line as one of its own, which begins at `from` in it. */
export function toRawLine(whole: RawLine, from: number, part: Buffer): RawLine {
  const bytes = part.includes(0) ? Buffer.from(part.filter((byte) => byte !== 0)) : part;
  const nulBytes = part.length - bytes.length;
  return {
    start: whole.start + from,
    length: part.length,
    bytes,
    isAscii: whole.isAscii,
    nulBytes,
    raw: nulBytes > 0 ? part : undefined,
    sha256: undefined,
  };
}
