import { findNearest } from './nearest.ts';

/** Tells whether `name` is a time zone of the IANA list, which an offset such as `+01:00` is not. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The time zone that `name` is probably a misspelling of. */
export function findNearestTimeZone(name: string): string | undefined {
  return findNearest(name, Intl.supportedValuesOf('timeZone'));
}
