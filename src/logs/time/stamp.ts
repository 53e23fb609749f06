/** Order of day and month in numeric dates that do not begin with the year. */
export type DateOrder = 'dmy' | 'mdy';

interface WallTime {
  /** Wall time as if it were UTC. Milliseconds since the Unix epoch. */
  readonly asUtcMs: number;
  /** True if the text has a fraction of a second. */
  readonly hasFraction: boolean;
}

/** A time stamp at the beginning of a text. */
export interface Stamp extends WallTime {
  readonly length: number;
  /** Wall time minus UTC, if written. Milliseconds. */
  readonly offsetMs?: number | undefined;
  /** Syslog priority before the stamp. */
  readonly priority?: number | undefined;
}

/** Context for ambiguous and incomplete stamps. */
export interface StampContext {
  readonly order: DateOrder;
  /** Approximate wall time of the previous line, which a stamp without a year follows. */
  readonly lineBeforeMs: number | undefined;
  /** Approximate wall time of the end of the file. A stamp without a year is in the last possible year before it. */
  readonly endMs: number;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Forms of dates. Month names are English. */
const DATES = [
  String.raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d\d)\k<mark>(?<day>\d\d)`,
  String.raw`(?<first>\d\d)(?<between>[./-])(?<second>\d\d)\k<between>(?<lastYear>\d{4})`,
  String.raw`(?<shortDay>\d\d)\.(?<shortMonth>\d\d)\.(?<shortYear>\d\d)`,
  String.raw`(?<name>[A-Z][a-z]{2}) (?<namedDay>[ \d]\d)`,
];
const GAP = String.raw`[ \t]{1,2}`;
const CLOCK = String.raw`(?<hours>\d{1,2}):(?<minutes>\d\d):(?<seconds>\d\d)(?:[.,](?<fraction>\d{1,9}))?`;
const HALF = '(?: ?(?<half>[AaPp])[Mm])';
/** Zone offsets are quarters of hours. */
const OFFSET = String.raw`(?:(?<utc>Z)| ?(?<sign>[-+])(?<zoneHours>0\d|1[0-4]):?(?<zoneMinutes>00|15|30|45))`;
const STAMP = new RegExp(
  String.raw`^(?:<(?<priority>\d{1,3})>)?(?:${DATES.join('|')})(?:T|${GAP})${CLOCK}${HALF}?${OFFSET}?(?=[ \t]|$)`,
);
/** Text that seems to begin with a time, also a kernel's seconds since boot: not a continuation line. */
const LIKE_STAMP = /^(?:<\d{1,3}>|\[ *\d+\.\d{6}\] |\d{1,4}[-./]\d{1,2}[-./]\d{1,4}[ \tT]|[A-Z][a-z]{2} [ \d]\d \d\d:)/;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A wall clock may be ahead of the end of the file by a zone of 14 hours and by a wrong day. */
const AHEAD_MS_MAX = 2 * DAY_MS;
/** Clocks are set back by less than this, and no log is silent for the rest of a year. */
const BACK_MS_MAX = 30 * DAY_MS;

/**
 * Parses the stamp at the beginning of `text`: `YYYY-MM-DD hh:mm:ss`, also with `/` or `.`, with day or month first,
 * `DD.MM.YY`, or `Mon DD hh:mm:ss`. A priority may precede it; a fraction, `am` or `pm`, and `Z` or an offset may
 * follow. `undefined` without a stamp.
 */
export function parseStamp(text: string, context: StampContext): Stamp | undefined {
  const match = STAMP.exec(text);
  const parts = match?.groups;
  if (!match || !parts) return undefined;
  const time = { hours: toHours(parts), minutes: Number(parts['minutes']), seconds: Number(parts['seconds']) };
  const wholeMs = toDatedMs(parts, time, context);
  if (wholeMs === undefined) return undefined;
  const [whole] = match;
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

/** Returns the end of the stamp at the beginning of a text; `undefined` without a stamp. */
export function findStampEnd(text: string): number | undefined {
  return STAMP.exec(text)?.[0].length;
}

type Parts = Readonly<Record<string, string | undefined>>;

/** No hour, minute or second. */
const NO_NUMBER = 100;

/** Impossible hours become an invalid number. */
function toHours({ hours, half }: Parts): number {
  if (half === undefined) return hours?.length === 2 ? Number(hours) : NO_NUMBER;
  const hour = Number(hours);
  if (hour < 1 || hour > 12) return NO_NUMBER;
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
}

function toDatedMs(parts: Parts, time: TimeOfDay, context: StampContext): number | undefined {
  const { year, month, day, first, between, second, lastYear, shortDay, shortMonth, shortYear, name, namedDay } = parts;
  if (year !== undefined) return toWallMs(Number(year), Number(month), Number(day), time);
  if (name !== undefined) return toYearlessWallMs(MONTHS.indexOf(name) + 1, Number(namedDay), time, context);
  if (shortYear !== undefined) return toWallMs(2000 + Number(shortYear), Number(shortMonth), Number(shortDay), time);
  // Dates with dots always have the day first.
  const isDayFirst = between === '.' || context.order === 'dmy';
  const [ofDay, ofMonth] = isDayFirst ? [first, second] : [second, first];
  return toWallMs(Number(lastYear), Number(ofMonth), Number(ofDay), time);
}

/** Returns true if a text seems to begin with a time, even an invalid one. */
export function isLikeStamp(text: string): boolean {
  return LIKE_STAMP.test(text);
}

/** Dates that may have day or month first. */
const AMBIGUOUS = /^\d\d[/-]\d\d[/-]\d{4}/;

/** Returns true if the first date in `lines` is ambiguous. */
export function needsDateOrder(lines: Iterable<string>, endMs: number): boolean {
  for (const line of lines) {
    if (AMBIGUOUS.test(line)) return true;
    if (parseStamp(line, { order: 'dmy', lineBeforeMs: undefined, endMs })) return false;
  }
  return false;
}

/**
 * Finds the order of dates from the first lines of a file; `undefined` if it cannot be decided. A number above 12
 * decides; otherwise the order without steps back; otherwise the one that ends closest before `endMs`, the wall time of
 * rotation or download.
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
  // A zone may be up to 14 hours ahead.
  const isFuture = last > endMs + DAY_MS;
  return { ambiguous, unreadable, steps, distanceMs: isFuture ? Number.POSITIVE_INFINITY : endMs - last };
}

interface TimeOfDay {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

function toWallMs(year: number, month: number, day: number, time: TimeOfDay): number | undefined {
  const { hours, minutes, seconds } = time;
  const wallMs = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  // `Date.UTC` accepts 31 February, so the result is compared.
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

/** Half a second, used to keep lines of one second in order. See {@link renderTimestamp}. */
const HALF_SECOND_NS = 500_000_000;
const MILLISECOND_NS = 1_000_000;
const SECOND_MS = 1000;

const BILLION = 1_000_000_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Most lines have the day of the previous line, and many its second. */
let lastDay = { day: Number.NaN, text: '' };
let lastSecond = { second: Number.NaN, text: '' };

/**
 * Renders RFC 3339 with nine decimals. Routers write whole seconds, so the decimals are the offset of the line in its
 * file, which keeps the order and is the same in every reading. Lines in the first second of their file
 * (`isFirstSecond`) get half a second more, because the previous file ends in the same second. After a fraction, half
 * the offset fills the millisecond.
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

/** Returns the nine decimals of {@link renderTimestamp} for a whole second. */
export function toNanoseconds(offset: number, isFirstSecond: boolean): number {
  return (isFirstSecond ? HALF_SECOND_NS : 0) + Math.min(offset, HALF_SECOND_NS - 1);
}

function renderSecond(second: number): string {
  const day = Math.floor((second * SECOND_MS) / DAY_MS);
  if (day !== lastDay.day) lastDay = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 11) };
  const ofDay = second - (day * DAY_MS) / SECOND_MS;
  const minutes = Math.floor(ofDay / 60);
  return `${lastDay.text}${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[ofDay % 60]}`;
}

/** Converts to whole seconds since the Unix epoch. */
export function toSecond(utcMs: number): number {
  return Math.floor(utcMs / SECOND_MS);
}
