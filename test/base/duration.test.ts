import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDuration, renderDuration } from '../../src/base/index.ts';

test.each([
  ['0', 0],
  ['0s', 0],
  ['15ms', 15],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['1w', 604_800_000],
  ['1y2w3d4h5m6s7ms', 365 * 86_400_000 + 14 * 86_400_000 + 3 * 86_400_000 + 14_706_007],
])('parseDuration() reads %s', (text, durationMs) => {
  expect(parseDuration(text)).toBe(durationMs);
});

test.each(['', '5', '-5s', '1.5s', '5 s', ' 5s', '30m1h', '5S', '1h1h', 's', '99999999999y', '0x10s', '٣s'])(
  'parseDuration() takes %j for no duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test.each([
  [0, '0s'],
  [90_000, '1m30s'],
  [90 * 86_400_000, '90d'],
  [7 * 86_400_000, '1w'],
  [365 * 86_400_000, '1y'],
  [1001, '1s1ms'],
])('renderDuration() writes %d ms as people would', (durationMs, text) => {
  expect(renderDuration(durationMs)).toBe(text);
});

test('parseDuration() reads back whatever renderDuration() wrote', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (durationMs) => {
      expect(parseDuration(renderDuration(durationMs))).toBe(durationMs);
    }),
  );
});

test('parseDuration() never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('0123456789ywdhms .-')) }), (text) => {
      const durationMs = parseDuration(text);
      expect(durationMs === undefined || (Number.isSafeInteger(durationMs) && durationMs >= 0)).toBe(true);
    }),
  );
});
