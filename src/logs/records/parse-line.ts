import type { Severity } from '../../model/index.ts';
import { findStampEnd, parseStamp, type Stamp, type StampContext } from '../time/stamp.ts';
import type { RawLine } from './line-splitter.ts';

/** A parsed line. Without a stamp it has only a message. */
export interface ParsedLine {
  readonly time: Stamp | undefined;
  readonly tag: string | undefined;
  readonly severity: Severity | undefined;
  readonly message: string;
  /** Host name. The record has it only in `original`. */
  readonly host?: string | undefined;
}

/** Severity words of the log daemon, in brackets directly after those of the tag. */
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

/** Longest tag. Characters. */
export const TAG_LENGTH_MAX = 256;
const SEVERITY = /^\[([A-Z]+)\]/;
/** Severities of RFC 3164: the last three bits of a priority. */
const BY_PRIORITY: readonly Severity[] = [...SEVERITIES.values()];
/** Host and program after a time of RFC 3164. */
const HOST_AND_PROGRAM = /^([\w.:-]+) ([\w./-]{1,64}?)(?::(?: |$)|(?=\[\d+\]:))/;
const EMBEDDED = /(?:<\d{1,3}>)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[/;
const REPEAT = /^ {16}- Last output repeated (?:twice|(\d{1,9}) times) -$/;

/**
 * Parses `<date> <time> [<tag>] <message>`, also with `[<severity>]` after the tag, with one or two blanks or tabs
 * before the tag, or without a tag; and `<priority><date> <time> <host> <program>: <message>`.
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

/** RFC 3164 if the date has no year or a priority precedes it; otherwise only a message. */
function parseUntagged(text: string, from: number, { priority }: Stamp): Omit<ParsedLine, 'time'> {
  const message = text.slice(from + 1);
  const found = priority !== undefined || /^[A-Z]/.test(text) ? HOST_AND_PROGRAM.exec(message) : undefined;
  if (!found) return { tag: undefined, severity: undefined, message };
  const [whole, host, program] = found;
  return { tag: program, severity: undefined, message: message.slice(whole.length), host };
}

/** Parses ` [<tag>] <message>` from a place on; `undefined` for another form. */
export function parseRest(
  text: string,
  from: number,
): (Omit<ParsedLine, 'time'> & { readonly tag: string }) | undefined {
  if ((text[from] !== ' ' && text[from] !== '\t') || text[from + 1] !== '[') return undefined;
  const end = text.indexOf(']', from + 2);
  if (end < 0 || end - from > TAG_LENGTH_MAX) return undefined;
  const tag = text.slice(from + 2, end);
  // Adjacent brackets hold a severity only if the daemon knows the word.
  const word = text[end + 1] === '[' ? SEVERITY.exec(text.slice(end + 1, end + 16))?.[1] : undefined;
  const severity = word === undefined ? undefined : SEVERITIES.get(word);
  const behind = severity && word ? end + word.length + 3 : end + 1;
  return { tag, severity, message: text.slice(text[behind] === ' ' ? behind + 1 : behind) };
}

/** Returns the repeat count of a notice of the log daemon; `undefined` for other text. */
export function parseRepeatNotice(text: string): number | undefined {
  const match = REPEAT.exec(text);
  if (!match) return undefined;
  return match[1] === undefined ? 1 : Number(match[1]);
}

/** Returns the place after the first character at which another line begins; `undefined` if none does. */
export function findEmbeddedLine(text: string, from = 1): number | undefined {
  const index = text.slice(from).search(EMBEDDED);
  return index < 0 ? undefined : index + from;
}

interface LinePart {
  readonly line: RawLine;
  readonly isGlued: boolean;
  readonly isTail: boolean;
}

/** Buffer size of the log daemon: after a crash, files end at a multiple of this. Bytes. */
export const BLOCK_BYTES = 4096;
const STAMP_BYTES = 'YYYY-MM-DD hh:mm:ss'.length;
const [BLANK, BRACKET, DASH, ZERO, NINE] = [0x20, 0x5b, 0x2d, 0x30, 0x39];

/**
 * Splits half a line of a crashed log daemon from the first line of its next start.
 *
 * A line is split only where a well-formed line begins, and only if the text before is malformed, or ends in NUL bytes,
 * at a known end of the file (`tornAt`) or at a buffer boundary. Otherwise the message quotes a line.
 */
export function splitGlued(raw: RawLine, tornAt: readonly number[]): readonly LinePart[] {
  const at = mayBeGlued(raw, tornAt) && raw.sha256 === undefined ? findSeam(raw, tornAt) : undefined;
  if (at === undefined) return [{ line: raw, isGlued: false, isTail: true }];
  const bytes = raw.raw ?? raw.bytes;
  const head = toRawLine(raw, 0, bytes.subarray(0, at));
  const [first, ...rest] = splitGlued(toRawLine(raw, at, bytes.subarray(at)), tornAt);
  return [{ line: head, isGlued: true, isTail: false }, ...(first ? [{ ...first, isGlued: true }] : []), ...rest];
}

function mayBeGlued(raw: RawLine, tornAt: readonly number[]): boolean {
  const nextBlock = BLOCK_BYTES - (raw.start % BLOCK_BYTES);
  return nextBlock < raw.length || tornAt.length > 0 || raw.nulBytes > 0 || !beginsLikeLine(raw.bytes);
}

function findSeam(raw: RawLine, tornAt: readonly number[]): number | undefined {
  const bytes = raw.raw ?? raw.bytes;
  // Offsets in a line without its NUL bytes are wrong.
  if (bytes.length !== raw.length) return undefined;
  const text = bytes.toString('latin1');
  const isUsual = beginsLikeLine(bytes);
  // A priority may precede the stamp, which is no embedded line.
  const textFrom = findStampEnd(text);
  for (let at = findEmbeddedLine(text, textFrom); at !== undefined; at = findEmbeddedLine(text, at + 1)) {
    const offset = raw.start + at;
    const isWellFormed = isUsual || text.slice(textFrom ?? at, at).trim() !== '';
    if (!isWellFormed || bytes[at - 1] === 0 || offset % BLOCK_BYTES === 0 || tornAt.includes(offset)) return at;
  }
  return undefined;
}

/** True if the bytes begin with `YYYY-…` and have a bracket after the stamp. */
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

/** Returns a part of a line as a line that begins at `from`. */
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

const OWN_REQUEST = /\b(?:GET|POST) (?:\/api\/v2_0)?\/?(?:download\/log|auth\/(?:login|refresh|logout)|status\/)/;

/** Returns true if a message is about a request of this program. */
export function isOwnRequest(message: string): boolean {
  return (message.includes('GET ') || message.includes('POST ')) && OWN_REQUEST.test(message);
}
