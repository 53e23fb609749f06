import { findNearest } from './nearest.ts';

/** Asking for one is a thousand times slower than a look into this, which lacks only other spellings. */
const CANONICAL_NAMES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));

/** Tells whether `name` is a time zone of the IANA list, which an offset such as `+01:00` is not. */
export function isTimeZone(name: string): boolean {
  if (CANONICAL_NAMES.has(name)) return true;
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The time zone that `name` is probably a misspelling of. */
export function findNearestTimeZone(name: string): string | undefined {
  return findNearest(name, [...CANONICAL_NAMES]);
}
