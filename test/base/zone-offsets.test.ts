import { expect, test } from 'vitest';
import { openZone } from '../../src/base/index.ts';

const HOUR_MS = 3_600_000;
const berlin = openZone('Europe/Berlin');

test('offsetMs() follows the changes of summer time, also within the hour of the change', () => {
  expect(berlin.offsetMs(Date.UTC(2026, 0, 1))).toBe(HOUR_MS);
  expect(berlin.offsetMs(Date.UTC(2026, 6, 1))).toBe(2 * HOUR_MS);
  const change = Date.UTC(2026, 9, 25, 1);
  expect([berlin.offsetMs(change - 1), berlin.offsetMs(change)]).toEqual([2 * HOUR_MS, HOUR_MS]);
});

test('offsetMs() knows zones that are off by parts of an hour', () => {
  expect(openZone('Asia/Kathmandu').offsetMs(Date.UTC(2026, 0, 1))).toBe(5.75 * HOUR_MS);
});

test('momentsOf() gives the one moment of a wall time, two in the hour that comes twice', () => {
  expect(berlin.momentsOf(Date.UTC(2026, 6, 1, 12))).toEqual([Date.UTC(2026, 6, 1, 10)]);
  expect(berlin.momentsOf(Date.UTC(2026, 9, 25, 2, 30))).toEqual([
    Date.UTC(2026, 9, 25, 0, 30),
    Date.UTC(2026, 9, 25, 1, 30),
  ]);
  expect(berlin.momentsOf(Date.UTC(2026, 9, 25, 3))).toEqual([Date.UTC(2026, 9, 25, 2)]);
});

test('momentsOf() reads a wall time that is skipped with the offset before the change', () => {
  expect(berlin.momentsOf(Date.UTC(2026, 2, 29, 2, 30))).toEqual([Date.UTC(2026, 2, 29, 1, 30)]);
});

test('there are no offsets of a zone that does not exist', () => {
  expect(() => openZone('Europe/Regensburg')).toThrow(RangeError);
});
