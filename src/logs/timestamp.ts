/** Nanoseconds that keep lines of one second in the order of their files: see {@link renderTimestamp}. */
const HALF_SECOND_NS = 500_000_000;
const MILLISECOND_NS = 1_000_000;
const SECOND_MS = 1000;

/** Seconds as RFC 3339 up to the second: most lines share theirs with the line before. */
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
  if (second !== lastSecond.second) {
    lastSecond = { second, text: new Date(second * SECOND_MS).toISOString().slice(0, -4) };
  }
  const ns = (isFirstSecond ? HALF_SECOND_NS : 0) + Math.min(offset, HALF_SECOND_NS - 1);
  return `${lastSecond.text}${String(ns).padStart(9, '0')}Z`;
}

/** Whole seconds since the Unix epoch. */
export function toSecond(utcMs: number): number {
  return Math.floor(utcMs / SECOND_MS);
}
