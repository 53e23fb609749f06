import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromToken, toToken } from '../../src/cluster/subjects.ts';
import { countRuns } from '../support/sampled.ts';

const names = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter((name) => name.isWellFormed());

test('a token leads back to its name, and to no other', () => {
  fc.assert(
    fc.property(names, names, (one, other) => {
      const token = toToken(one, '=');
      expect(token).toMatch(/^[A-Za-z0-9=_-]+$/);
      expect(fromToken(token, '=')).toBe(one);
      expect(token === toToken(other, '=')).toBe(one === other);
    }),
    { numRuns: countRuns(5000) },
  );
});

test.each([
  ['plant-7', 'plant-7'],
  ['plant_7', 'plant_7'],
  ['plant.7', 'plant=2E7'],
  ['a=2E', 'a=3D2E'],
  ['Köln', 'K=C3=B6ln'],
])('%s becomes %s', (name, token) => {
  expect(toToken(name, '=')).toBe(token);
});

test.each(['', 'a.b', 'a=2e', 'a=2', '=41', '=FF', 'ö'])('%j is no token', (token) => {
  expect(fromToken(token, '=')).toBeUndefined();
});
