import { parseStampUtcMs } from './names.ts';
import { Zone } from './zone.ts';

/** A file begins in the second in which the one before it was rotated; this much more covers two clocks read in turn. */
export const LINK_MS_MAX = 2000;
/** Offsets of all zones are multiples of this. */
const OFFSET_STEP_MS = 15 * 60_000;
const OFFSET_MS_MAX = 14 * 3_600_000;
const UNKNOWN = new Zone(undefined);

/** Whether a file that begins at `firstUtcMs` follows the file that was rotated at `stamp`. */
export function isLinked(firstUtcMs: number, stamp: string): boolean {
  return Math.abs(firstUtcMs - parseStampUtcMs(stamp)) <= LINK_MS_MAX;
}

/** Whether some zone explains the distance between the two, should the one in use be wrong. */
export function isLinkedInAnyZone(firstUtcMs: number, stamp: string): boolean {
  return linkOffsetMs(firstUtcMs, stamp, UNKNOWN) !== undefined;
}

/**
 * The router's UTC offset as a rotation shows it: names of files are in UTC, lines in the router's zone, and the first line
 * of a file falls in the second in which the file before it was renamed to `stamp`. `undefined` when the two do not belong
 * together. While the rules of the zone are not known, any offset that a zone can have will do.
 */
export function linkOffsetMs(firstWallAsUtcMs: number, stamp: string, zone: Zone): number | undefined {
  const stampUtcMs = parseStampUtcMs(stamp);
  if (zone.isNamed) {
    const { utcMs } = zone.toUtc(firstWallAsUtcMs, stampUtcMs);
    return isLinked(utcMs, stamp) ? firstWallAsUtcMs - utcMs : undefined;
  }
  return toOffsetMs(firstWallAsUtcMs - stampUtcMs, LINK_MS_MAX);
}

/** The offset that a zone can have and that a difference shows, unless it is further from one than `residueMsMax`. */
export function toOffsetMs(differenceMs: number, residueMsMax: number): number | undefined {
  const offsetMs = Math.round(differenceMs / OFFSET_STEP_MS) * OFFSET_STEP_MS;
  const isZone = Math.abs(offsetMs) <= OFFSET_MS_MAX && Math.abs(differenceMs - offsetMs) <= residueMsMax;
  return isZone ? offsetMs : undefined;
}
