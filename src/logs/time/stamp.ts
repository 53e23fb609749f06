/** The order of day and month in a date of numbers that does not begin with the year. */
export type DateOrder = 'dmy' | 'mdy';

/** A time as the router wrote it: its own wall clock, without a zone. */
interface WallTime {
  /** The wall time as if it were UTC. Milliseconds since the Unix epoch. */
  readonly asUtcMs: number;
  /** True if the text resolves milliseconds or less. */
  readonly hasFraction: boolean;
}

/** A time stamp at the beginning of a text. */
export interface Stamp extends WallTime {
  /** Characters that it takes. */
  readonly length: number;
  /** Wall time minus UTC, where the text says it. Milliseconds. */
  readonly offsetMs?: number | undefined;
  /** The number in angle brackets before it, which holds the severity. */
  readonly priority?: number | undefined;
}

/** Context for stamps that are ambiguous or incomplete. */
export interface StampContext {
  readonly order: DateOrder;
  /** Wall time of the line before, about; `undefined` if there is none. A stamp without a year follows it. */
  readonly lineBeforeMs: number | undefined;
  /** Time at which the file ends, about, by the wall clock: of the years left, a stamp without one is of the last before that. */
  readonly endMs: number;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** The forms of dates. Months have English names; without a year, it is found from the lines around. */
const DATES = [
  String.raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d\d)\k<mark>(?<day>\d\d)`,
  String.raw`(?<first>\d\d)(?<between>[./-])(?<second>\d\d)\k<between>(?<lastYear>\d{4})`,
  String.raw`(?<shortDay>\d\d)\.(?<shortMonth>\d\d)\.(?<shortYear>\d\d)`,
  String.raw`(?<name>[A-Z][a-z]{2}) (?<namedDay>[ \d]\d)`,
];
const GAP = String.raw`[ \t]{1,2}`;
const CLOCK = String.raw`(?<hours>\d{1,2}):(?<minutes>\d\d):(?<seconds>\d\d)(?:[.,](?<fraction>\d{1,9}))?`;
const HALF = '(?: ?(?<half>[AaPp])[Mm])';
/** Offsets of zones are quarters of hours. */
const OFFSET = String.raw`(?:(?<utc>Z)| ?(?<sign>[-+])(?<zoneHours>0\d|1[0-4]):?(?<zoneMinutes>00|15|30|45))`;
const STAMP = new RegExp(
  String.raw`^(?:<(?<priority>\d{1,3})>)?(?:${DATES.join('|')})(?:T|${GAP})${CLOCK}${HALF}?${OFFSET}?(?=[ \t]|$)`,
);
/** Texts that begin like this mean to begin with a time, readable or not (that of a kernel counts from its start): they continue no other line. */
const LIKE_STAMP = /^(?:<\d{1,3}>|\[ *\d+\.\d{6}\] |\d{1,4}[-./]\d{1,2}[-./]\d{1,4}[ \tT]|[A-Z][a-z]{2} [ \d]\d \d\d:)/;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A wall clock may be ahead of the end of the file: by a zone, which is no more than 14 hours, and by a day that is wrong. */
const AHEAD_MS_MAX = 2 * DAY_MS;
/** A clock is set back by less than this, and a log is silent for less than the rest of a year. */
const BACK_MS_MAX = 30 * DAY_MS;

/**
 * Reads the time stamp that `text` begins with: `YYYY-MM-DD hh:mm:ss`, the same with `/` or `.`, day or month first,
 * `DD.MM.YY`, or `Mon DD hh:mm:ss` without a year. A priority in angle brackets may come first; a fraction, `am` or `pm`, and
 * `Z` or an offset may follow. `undefined` when there is none.
 */
export function parseStamp(text: string, context: StampContext): Stamp | undefined {
  return parseUsualStamp(text) ?? parseAnyStamp(text, context);
}

/** Returns where the stamp at the beginning of a text ends, whatever its form; `undefined` when there is none. */
export function findStampEnd(text: string): number | undefined {
  return STAMP.exec(text)?.[0].length;
}

/** The usual form with the day of the line before, without a fraction: nearly all lines of a log. */
function parseUsualStamp(text: string): Stamp | undefined {
  if (!text.startsWith(usualDay.text) || text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) {
    return undefined;
  }
  const [hours, minutes, seconds] = [readTwo(text, 11), readTwo(text, 14), readTwo(text, 17)];
  const next = text.charCodeAt(USUAL_LENGTH);
  // A fraction, an offset or more digits may follow; what is not a time is looked at closely.
  if (next !== BLANK || text.charCodeAt(USUAL_LENGTH + 1) !== BRACKET || !(hours < 24 && minutes < 60 && seconds < 60))
    return undefined;
  const asUtcMs = usualDay.ms + ((hours * 60 + minutes) * 60 + seconds) * 1000;
  return { asUtcMs, hasFraction: false, length: USUAL_LENGTH };
}

/** Two digits as a number; more than 99 when they are none. */
function readTwo(text: string, from: number): number {
  const [tens, ones] = [text.charCodeAt(from) - ZERO, text.charCodeAt(from + 1) - ZERO];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NO_NUMBER;
}

const USUAL_LENGTH = 'YYYY-MM-DD hh:mm:ss'.length;
const NO_NUMBER = 100;
const [COLON, BLANK, BRACKET, ZERO] = [0x3a, 0x20, 0x5b, 0x30];
/** The day of the last line in the usual form, with the blank behind it. */
let usualDay = { text: '\0', ms: 0 };

function parseAnyStamp(text: string, context: StampContext): Stamp | undefined {
  const match = STAMP.exec(text);
  const parts = match?.groups;
  if (!match || !parts) return undefined;
  const time = { hours: toHours(parts), minutes: Number(parts['minutes']), seconds: Number(parts['seconds']) };
  const wholeMs = toDatedMs(parts, time, context);
  if (wholeMs === undefined) return undefined;
  const [whole] = match;
  if (parts['year'] !== undefined && text[10] === ' ') {
    usualDay = { text: text.slice(0, 11), ms: Math.floor(wholeMs / DAY_MS) * DAY_MS };
  }
  const { fraction, priority, utc, sign } = parts;
  const offsetMs =
    (Number(parts['zoneHours']) * HOUR_MS + Number(parts['zoneMinutes']) * MINUTE_MS) * (sign === '-' ? -1 : 1);
  return {
    asUtcMs: wholeMs + (fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1000)),
    hasFraction: fraction !== undefined,
    length: whole.length,
    ...(utc !== undefined && { offsetMs: 0 }),
    ...(sign !== undefined && { offsetMs }),
    ...(priority !== undefined && { priority: Number(priority) }),
  };
}

type Parts = Readonly<Record<string, string | undefined>>;

/** The hour of the day; one that no clock shows becomes one that is none. */
function toHours({ hours, half }: Parts): number {
  if (half === undefined) return hours?.length === 2 ? Number(hours) : NO_NUMBER;
  const hour = Number(hours);
  if (hour < 1 || hour > 12) return NO_NUMBER;
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
}

/** The wall time of a date in any of the {@link DATES forms}. */
function toDatedMs(parts: Parts, time: TimeOfDay, context: StampContext): number | undefined {
  const { year, month, day, first, between, second, lastYear, shortDay, shortMonth, shortYear, name, namedDay } = parts;
  if (year !== undefined) return toWallMs(Number(year), Number(month), Number(day), time);
  if (name !== undefined) return toYearlessWallMs(MONTHS.indexOf(name) + 1, Number(namedDay), time, context);
  if (shortYear !== undefined) return toWallMs(2000 + Number(shortYear), Number(shortMonth), Number(shortDay), time);
  // Dots are for days first, everywhere.
  const isDayFirst = between === '.' || context.order === 'dmy';
  const [ofDay, ofMonth] = isDayFirst ? [first, second] : [second, first];
  return toWallMs(Number(lastYear), Number(ofMonth), Number(ofDay), time);
}

/** True if a text seems to begin with a time, even one that no calendar has. */
export function isLikeStamp(text: string): boolean {
  return LIKE_STAMP.test(text);
}

/** A date whose day and month are told apart only by what other lines show. */
const AMBIGUOUS = /^\d\d[/-]\d\d[/-]\d{4}/;

/** True if the first of `lines` with a date has one whose order is not known. */
export function needsDateOrder(lines: Iterable<string>, endMs: number): boolean {
  for (const line of lines) {
    if (AMBIGUOUS.test(line)) return true;
    if (parseStamp(line, { order: 'dmy', lineBeforeMs: undefined, endMs })) return false;
  }
  return false;
}

/**
 * Finds out from the first lines of a file in which order its dates are; `undefined` when they say nothing about it. A
 * number above twelve decides; else the order in which the lines do not go back; else the one that ends closest before
 * `endMs`, the time of rotation or of download (by the router's wall clock, about).
 */
export function learnDateOrder(lines: readonly string[], endMs: number): DateOrder | undefined {
  const scores = (['dmy', 'mdy'] as const).map((order) => ({ order, ...judgeOrder(lines, order, endMs) }));
  const [best, other] = scores.toSorted(
    (a, b) => a.unreadable - b.unreadable || a.steps - b.steps || a.distanceMs - b.distanceMs,
  );
  if (!best || !other || best.ambiguous === 0) return undefined;
  const isEqual =
    best.unreadable === other.unreadable && best.steps === other.steps && best.distanceMs === other.distanceMs;
  return isEqual ? undefined : best.order;
}

function judgeOrder(lines: readonly string[], order: DateOrder, endMs: number) {
  let [ambiguous, unreadable, steps, last] = [0, 0, 0, Number.NEGATIVE_INFINITY];
  for (const line of lines) {
    if (!AMBIGUOUS.test(line)) continue;
    ambiguous++;
    const time = parseStamp(line, { order, lineBeforeMs: undefined, endMs })?.asUtcMs;
    if (time === undefined) unreadable++;
    else {
      if (time < last) steps++;
      last = time;
    }
  }
  // A zone may be up to 14 hours ahead of the end as it is known here.
  const isFuture = last > endMs + DAY_MS;
  return { ambiguous, unreadable, steps, distanceMs: isFuture ? Number.POSITIVE_INFINITY : endMs - last };
}

interface TimeOfDay {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

/** `undefined` for what no calendar or clock shows. */
function toWallMs(year: number, month: number, day: number, time: TimeOfDay): number | undefined {
  const { hours, minutes, seconds } = time;
  const wallMs = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  // Date.UTC carries 31 February over into March; what does not come back as it was is no time.
  const back = new Date(wallMs);
  const isReal =
    back.getUTCFullYear() === year &&
    back.getUTCMonth() === month - 1 &&
    back.getUTCDate() === day &&
    back.getUTCHours() === hours &&
    back.getUTCMinutes() === minutes &&
    back.getUTCSeconds() === seconds;
  return isReal ? wallMs : undefined;
}

function toYearlessWallMs(
  month: number,
  day: number,
  time: TimeOfDay,
  { lineBeforeMs, endMs }: StampContext,
): number | undefined {
  const maxMs = endMs + AHEAD_MS_MAX;
  const find = (years: readonly number[], minMs: number) =>
    years
      .map((year) => toWallMs(year, month, day, time))
      .find((wallMs) => wallMs !== undefined && wallMs >= minMs && wallMs <= maxMs);
  const minMs = (lineBeforeMs ?? Number.POSITIVE_INFINITY) - BACK_MS_MAX;
  const [firstYear, lastYear] = [new Date(minMs).getUTCFullYear(), new Date(maxMs).getUTCFullYear()];
  return find([firstYear, firstYear + 1], minMs) ?? find([lastYear, lastYear - 1], Number.NEGATIVE_INFINITY);
}

/** Nanoseconds that keep lines of one second in the order of their files: see {@link renderTimestamp}. */
const HALF_SECOND_NS = 500_000_000;
const MILLISECOND_NS = 1_000_000;
const SECOND_MS = 1000;

const BILLION = 1_000_000_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Most lines share the day with the line before, and many the second. */
let lastDay = { day: Number.NaN, text: '' };
let lastSecond = { second: Number.NaN, text: '' };

/**
 * RFC 3339 with nine decimals. Routers write whole seconds, so what comes below is the line's offset in its file: order
 * survives, and every reading gives the same value. Lines in the second in which their file begins (`isFirstSecond`) get
 * half a second more, because the file before it ends in that same second. After a fraction, half the offset fills the
 * millisecond.
 */
export function renderTimestamp(utcMs: number, hasFraction: boolean, offset: number, isFirstSecond: boolean): string {
  if (hasFraction) {
    const ns = Math.min(Math.floor(offset / 2), MILLISECOND_NS - 1);
    return `${new Date(utcMs).toISOString().slice(0, -1)}${String(ns).padStart(6, '0')}Z`;
  }
  const second = toSecond(utcMs);
  if (second !== lastSecond.second) lastSecond = { second, text: renderSecond(second) };
  return `${lastSecond.text}.${String(BILLION + toNanoseconds(offset, isFirstSecond)).slice(1)}Z`;
}

/** Returns the nine decimals of {@link renderTimestamp} for a time in whole seconds, as a number. */
export function toNanoseconds(offset: number, isFirstSecond: boolean): number {
  return (isFirstSecond ? HALF_SECOND_NS : 0) + Math.min(offset, HALF_SECOND_NS - 1);
}

/** As `YYYY-MM-DDThh:mm:ss`. */
function renderSecond(second: number): string {
  const day = Math.floor((second * SECOND_MS) / DAY_MS);
  if (day !== lastDay.day) lastDay = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 11) };
  const ofDay = second - (day * DAY_MS) / SECOND_MS;
  const minutes = Math.floor(ofDay / 60);
  return `${lastDay.text}${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[ofDay % 60]}`;
}

/** Whole seconds since the Unix epoch. */
export function toSecond(utcMs: number): number {
  return Math.floor(utcMs / SECOND_MS);
}
