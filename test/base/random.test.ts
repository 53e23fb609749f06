import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSeededRandom, hashToUnit, systemRandom } from '../../src/base/index.ts';

function take(seed: number): number[] {
  const random = createSeededRandom(seed);
  return Array.from({ length: 100 }, random);
}

test('createSeededRandom() gives equal sequences for equal seeds and others for other seeds', () => {
  expect(take(7)).toEqual(take(7));
  expect(take(7)).not.toEqual(take(8));
});

test('createSeededRandom(), hashToUnit() and systemRandom() stay in [0, 1)', () => {
  fc.assert(
    fc.property(fc.integer(), fc.string(), (seed, text) => {
      for (const value of [createSeededRandom(seed)(), hashToUnit(text), systemRandom()]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThan(1);
      }
    }),
  );
});

test('hashToUnit() spreads similar texts over the whole range, the same at every start', () => {
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let index = 0; index < 10_000; index++) {
    const tenth = Math.floor(hashToUnit(`plant-${index}/status`) * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  for (const count of tenths) expect(Math.abs(count - 1000)).toBeLessThan(200);
  expect(hashToUnit('plant-7/status')).toBe(0.5112863292451948);
});
