/** A generator of numbers in [0, 1). */
export type Random = () => number;

/** The system's randomness. Not for secrets. */
export const systemRandom: Random = () => Math.random();

/** Creates a repeatable generator (mulberry32). Not for secrets. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Maps `text` to a number in [0, 1) (FNV-1a). Spreads due times so that they stay the same after a restart. */
export function hashToUnit(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 2 ** 32;
}

/** Bounds of an exponential back-off, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly ceilingMs: number;
}

/** 2^30 times the first wait exceeds any ceiling. */
const DOUBLINGS_MAX = 30;

/** Returns the wait before attempt `failures + 1`: exponential back-off with full jitter. */
export function computeBackoffMs(failures: number, bounds: BackoffBounds, random: Random): number {
  const doublings = Math.min(Math.max(0, failures - 1), DOUBLINGS_MAX);
  return random() * Math.min(bounds.ceilingMs, bounds.firstMs * 2 ** doublings);
}
