import type { Severity } from '../../model/index.ts';
import { findStampEnd, parseStamp, type Stamp, type StampContext } from '../time/stamp.ts';
import type { RawLine } from './line-splitter.ts';

/** A line taken apart. Lines without a time stamp have only a message. */
export interface ParsedLine {
  readonly time: Stamp | undefined;
  /** The word in brackets. */
  readonly tag: string | undefined;
  readonly severity: Severity | undefined;
  readonly message: string;
  /** The name of the host, which the record has only in its original text. */
  readonly host?: string | undefined;
}

/** The log daemon's words, in brackets of their own right behind those of the tag. */
const SEVERITIES: ReadonlyMap<string, Severity> = new Map([
  ['EMERG', 'emergency'],
  ['ALERT', 'alert'],
  ['CRIT', 'critical'],
  ['ERR', 'error'],
  ['WARNING', 'warning'],
  ['NOTICE', 'notice'],
  ['INFO', 'info'],
  ['DEBUG', 'debug'],
]);

/** A longer word in brackets is no tag. Characters. */
export const TAG_LENGTH_MAX = 256;
const SEVERITY = /^\[([A-Z]+)\]/;
/** The severities of RFC 3164, which are the last three bits of a priority. */
const BY_PRIORITY: readonly Severity[] = [...SEVERITIES.values()];
/** What follows a time of RFC 3164: the host, and the program up to the first character that no name has. */
const HOST_AND_PROGRAM = /^([\w.:-]+) ([\w./-]{1,64}?)(?::(?: |$)|(?=\[\d+\]:))/;
const EMBEDDED = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[/;
const REPEAT = /^ {16}- Last output repeated (?:twice|(\d{1,9}) times) -$/;

/**
 * Parses `<date> <time> [<tag>] <message>`, the same with `[<severity>]` behind the tag, with one or two blanks or tabs before
 * the tag, or without a tag; and `<priority><date> <time> <host> <program>: <message>`.
 */
export function parseLine(text: string, context: StampContext): ParsedLine {
  const stamp = parseStamp(text, context);
  if (!stamp) return { time: undefined, tag: undefined, severity: undefined, message: text };
  const from = /^[ \t]{2}/.test(text.slice(stamp.length, stamp.length + 2)) ? stamp.length + 1 : stamp.length;
  const { priority } = stamp;
  const { severity = priority === undefined ? undefined : BY_PRIORITY[priority % 8], ...rest } =
    parseRest(text, from) ?? parseUntagged(text, from, stamp);
  return { time: stamp, severity, ...rest };
}

/** Parses the rest of a line without brackets: of RFC 3164, where the date has no year, or a message. */
function parseUntagged(text: string, from: number, { priority }: Stamp): Omit<ParsedLine, 'time'> {
  const message = text.slice(from + 1);
  const found = priority !== undefined || /^[A-Z]/.test(text) ? HOST_AND_PROGRAM.exec(message) : undefined;
  if (!found) return { tag: undefined, severity: undefined, message };
  const [whole, host, program] = found;
  return { tag: program, severity: undefined, message: message.slice(whole.length), host };
}

/** Parses ` [<tag>] <message>` from a place in a line on; `undefined` if it has another form. */
export function parseRest(
  text: string,
  from: number,
): (Omit<ParsedLine, 'time'> & { readonly tag: string }) | undefined {
  if ((text[from] !== ' ' && text[from] !== '\t') || text[from + 1] !== '[') return undefined;
  const end = text.indexOf(']', from + 2);
  if (end < 0 || end - from > TAG_LENGTH_MAX) return undefined;
  const tag = text.slice(from + 2, end);
  // Two pairs of brackets without a blank between them are the daemon's own only around a word that it knows.
  const word = text[end + 1] === '[' ? SEVERITY.exec(text.slice(end + 1, end + 16))?.[1] : undefined;
  const severity = word === undefined ? undefined : SEVERITIES.get(word);
  const behind = severity && word ? end + word.length + 3 : end + 1;
  return { tag, severity, message: text.slice(text[behind] === ' ' ? behind + 1 : behind) };
}

/** Returns the number of equal lines that a repeat notice of the log daemon stands for; `undefined` for any other text. */
export function parseRepeatNotice(text: string): number | undefined {
  const match = REPEAT.exec(text);
  if (!match) return undefined;
  return match[1] === undefined ? 1 : Number(match[1]);
}

/** Returns the offset, after the first character, at which another line begins with stamp and bracket; `undefined` if none does. */
export function findEmbeddedLine(text: string, from = 1): number | undefined {
  const index = text.slice(from).search(EMBEDDED);
  return index < 0 ? undefined : index + from;
}

/** A line, or a part of one that turned out to be two. */
interface LinePart {
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
  const at = mayBeGlued(raw, tornAt) && raw.sha256 === undefined ? findSeam(raw, tornAt) : undefined;
  if (at === undefined) return [{ line: raw, isGlued: false, isTail: true }];
  const bytes = raw.raw ?? raw.bytes;
  const head = toRawLine(raw, 0, bytes.subarray(0, at));
  const [first, ...rest] = splitGlued(toRawLine(raw, at, bytes.subarray(at)), tornAt);
  return [{ line: head, isGlued: true, isTail: false }, ...(first ? [{ ...first, isGlued: true }] : []), ...rest];
}

/** Returns true if a line needs a closer look. Most lines do not. */
function mayBeGlued(raw: RawLine, tornAt: readonly number[]): boolean {
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

/** A request that this program makes, as routers log them when they are told to. */
const OWN_REQUEST = /\b(?:GET|POST) (?:\/api\/v2_0)?\/?(?:download\/log|auth\/(?:login|refresh|logout)|status\/)/;

/** True if a message is about a request of this program. */
export function isOwnRequest(message: string): boolean {
  return (message.includes('GET ') || message.includes('POST ')) && OWN_REQUEST.test(message);
}
