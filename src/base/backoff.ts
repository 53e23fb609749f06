import type { Random } from './random.ts';

/** Bounds of a growing wait, in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly ceilingMs: number;
}

/** Exponents above this add nothing: 2^30 first waits are longer than any ceiling. */
const DOUBLINGS_MAX = 30;

/** The wait before attempt `failures + 1`, with full jitter: a random share of `firstMs` doubled per earlier failure. */
export function computeBackoffMs(failures: number, bounds: BackoffBounds, random: Random): number {
  const doublings = Math.min(Math.max(0, failures - 1), DOUBLINGS_MAX);
  return random() * Math.min(bounds.ceilingMs, bounds.firstMs * 2 ** doublings);
}
