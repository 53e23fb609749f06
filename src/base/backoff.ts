import type { Random } from './random.ts';

/** Bounds of an exponential back-off, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly ceilingMs: number;
}

/** Larger exponents change nothing: 2^30 times the first wait is longer than any ceiling. */
const DOUBLINGS_MAX = 30;

/**
 * Returns the wait before attempt `failures + 1`, with full jitter: a random share of `firstMs`, doubled for each
 * earlier failure.
 */
export function computeBackoffMs(failures: number, bounds: BackoffBounds, random: Random): number {
  const doublings = Math.min(Math.max(0, failures - 1), DOUBLINGS_MAX);
  return random() * Math.min(bounds.ceilingMs, bounds.firstMs * 2 ** doublings);
}
