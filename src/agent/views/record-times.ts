import type { TimeSpan } from '../../store/index.ts';

const TIMED_TEXT = '{"timestamp":"';
const TIMED = Buffer.from(TIMED_TEXT);
/** `2025-10-26T00:59:58.000018231Z`. */
const TIME_CHARS = 30;
/** `2025-10-26T00:59:58.000`, up to milliseconds. */
const MS_CHARS = 23;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}/;
const LINE_FEED = 0x0a;
/** Time of records without a readable one. */
const NO_TIME = '1970-01-01T00:00:00.000000000Z';

interface TimedRecord {
  readonly timestamp?: unknown;
  readonly observed_timestamp?: unknown;
  readonly event?: unknown;
  readonly details?: unknown;
}

/**
 * Returns the time of a record in a timeline: UTC, RFC 3339 with nine decimals, so that texts sort by time. A gap comes
 * after the last line before it, the end of a gap before the first line after it. Other records without a time have
 * that of their download.
 */
export function toTimelineTime({ timestamp, observed_timestamp, event, details }: TimedRecord): string {
  if (isTime(timestamp)) return pad(timestamp, '0');
  if (event === 'log.gap' && isTime(field(details, 'time_from'))) return pad(field(details, 'time_from'), '9');
  if ((event === 'log.gap' || event === 'log.gap_end') && isTime(field(details, 'time_to'))) {
    return pad(field(details, 'time_to'), '0');
  }
  return isTime(observed_timestamp) ? pad(observed_timestamp, '0') : NO_TIME;
}

/**
 * Returns the time of the rendered record that begins at `start` in a text, as {@link toTimelineTime} does, without
 * parsing the record; `undefined` for one that does not begin with a time of full length.
 */
export function readTimelineTime(text: string, start: number): string | undefined {
  const at = start + TIMED.length;
  if (!text.startsWith(TIMED_TEXT, start)) return undefined;
  const isWhole =
    text[at + 4] === '-' && text[at + 10] === 'T' && text[at + 19] === '.' && text[at + TIME_CHARS - 1] === 'Z';
  return isWhole ? text.slice(at, at + TIME_CHARS) : undefined;
}

/** Converts a time of a timeline to milliseconds since the Unix epoch. */
export function toTimelineMs(time: string): number {
  return Date.parse(`${time.slice(0, MS_CHARS)}Z`) || 0;
}

/**
 * Returns the earliest and the latest time of rendered records, separated by line feeds. Compares bytes in place: every
 * record of every log passes here, on the main thread.
 */
export function spanOf(bytes: Uint8Array): TimeSpan {
  const memory = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [first, last] = ['', ''];
  const widen = (time: string) => {
    if (first === '' || time < first) first = time;
    if (last === '' || time > last) last = time;
  };
  let [earliest, latest] = [-1, -1];
  for (let start = 0; start <= memory.length; ) {
    const feed = memory.indexOf(LINE_FEED, start);
    const end = feed < 0 ? memory.length : feed;
    const at = start + TIMED.length;
    if (!beginsWithTime(memory, start, end)) widen(toTimelineTime(parseRecord(memory.toString('utf8', start, end))));
    else if (latest < 0) [earliest, latest] = [at, at];
    else if (compareTimes(memory, at, latest) > 0) latest = at;
    else if (compareTimes(memory, at, earliest) < 0) earliest = at;
    start = end + 1;
  }
  for (const at of latest < 0 ? [] : [earliest, latest]) widen(memory.toString('latin1', at, at + TIME_CHARS));
  return { firstMs: toTimelineMs(first), lastMs: toTimelineMs(last) };
}

function beginsWithTime(memory: Buffer, start: number, end: number): boolean {
  if (end - start <= TIMED.length + TIME_CHARS) return false;
  for (let index = 0; index < TIMED.length; index++) if (memory[start + index] !== TIMED[index]) return false;
  return true;
}

function compareTimes(memory: Buffer, one: number, other: number): number {
  for (let index = 0; index < TIME_CHARS; index++) {
    const difference = (memory[one + index] as number) - (memory[other + index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Parses a rendered record; a damaged one is empty. */
export function parseRecord(line: string): Readonly<Record<string, unknown>> {
  try {
    const record: unknown = JSON.parse(line);
    return typeof record === 'object' && record !== null ? (record as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && TIME.test(value);
}

function pad(time: unknown, digit: '0' | '9'): string {
  return `${String(time)
    .slice(0, TIME_CHARS)
    .replace(/Z$/, '')
    .padEnd(TIME_CHARS - 1, digit)}Z`;
}

function field(details: unknown, name: string): unknown {
  return typeof details === 'object' && details !== null ? Reflect.get(details, name) : undefined;
}
