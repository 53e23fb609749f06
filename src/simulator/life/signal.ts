import { hashToUnit } from '../../base/index.ts';

/** A value from 0 to 1 that wanders with time: the same key and time always give the same. */
export function wander(key: string, timeMs: number, periodMs: number): number {
  const step = Math.floor(timeMs / periodMs);
  const share = timeMs / periodMs - step;
  const [from, to] = [hashToUnit(`${key}/${step}`), hashToUnit(`${key}/${step + 1}`)];
  return from + (to - from) * share;
}

/** A whole number from `min` to `max` that depends on the key alone. */
export function pickInteger(key: string, min: number, max: number): number {
  return min + Math.floor(hashToUnit(key) * (max - min + 1));
}

/** Amount since a start at a rate that varies but is never negative: a counter that only grows. */
export function grow(ratePerSecond: number, sinceStartMs: number): number {
  const seconds = Math.max(0, sinceStartMs) / 1000;
  const breath = (BREATH_SECONDS / (2 * Math.PI)) * (1 - Math.cos((2 * Math.PI * seconds) / BREATH_SECONDS));
  return Math.floor(ratePerSecond * (seconds + 0.8 * breath));
}

/** Busy and quiet times of the traffic alternate within this. */
const BREATH_SECONDS = 300;
