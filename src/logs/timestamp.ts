/** Nanoseconds that keep lines of one second in the order of their files: see {@link renderTimestamp}. */
const HALF_SECOND_NS = 500_000_000;
const MILLISECOND_NS = 1_000_000;
const SECOND_MS = 1000;

const DAY_MS = 86_400_000;
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

/** What comes below a time that is a whole second: the nine decimals of {@link renderTimestamp} as a number. */
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
