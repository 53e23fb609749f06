import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeBackoffMs } from '../../src/base/index.ts';

const BOUNDS = { firstMs: 1000, ceilingMs: 60_000 };

test('computeBackoffMs() doubles the longest possible wait with each failure up to the ceiling', () => {
  const waits = [1, 2, 3, 6, 7, 8, 1e9].map((failures) => computeBackoffMs(failures, BOUNDS, () => 1));
  expect(waits).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000]);
});

test('computeBackoffMs() takes a random share of that wait', () => {
  expect(computeBackoffMs(3, BOUNDS, () => 0)).toBe(0);
  expect(computeBackoffMs(3, BOUNDS, () => 0.25)).toBe(1000);
});

test('computeBackoffMs() stays within its bounds whatever the number of failures', () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (failures, share) => {
      const waitMs = computeBackoffMs(failures, BOUNDS, () => share);
      expect(waitMs).toBeGreaterThanOrEqual(0);
      expect(waitMs).toBeLessThanOrEqual(BOUNDS.ceilingMs);
    }),
  );
});
