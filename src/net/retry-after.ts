/** A clock that differs by more is not believed when it says a date. Milliseconds. */
const CLOCK_OFFSET_MS_MAX = 60_000;

/**
 * How long `Retry-After`, a number of seconds or a date, asks to wait. Milliseconds; `undefined` for anything else.
 * `dateHeader`, the header `Date` of the same answer, is given where the clock of the other side may be off: when it shows
 * another time than `nowMs`, a date says nothing but "later", which is `Infinity`.
 */
export function parseRetryAfter(header: unknown, nowMs: number, dateHeader?: unknown): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  // Something like "-1" or "1.5" also is a date to the parser.
  const waitMs = /^[A-Z][a-z]{2}/.test(header) ? Date.parse(header) - nowMs : Number.NaN;
  if (Number.isNaN(waitMs)) return undefined;
  const offsetMs = typeof dateHeader === 'string' ? Date.parse(dateHeader) - nowMs : 0;
  return Math.abs(offsetMs) <= CLOCK_OFFSET_MS_MAX ? Math.max(0, waitMs) : Infinity;
}
