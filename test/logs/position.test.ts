import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createPosition,
  type Instance,
  type LogPosition,
  parsePosition,
  renderPosition,
} from '../../src/logs/position.ts';

const INSTANCE: Instance = {
  key: 'ab'.repeat(32),
  gen: 0,
  off: 1000,
  prefixSha: 'cd'.repeat(32),
  firstUtcMs: Date.UTC(2026, 10, 21, 8, 36, 49),
  lastUtcMs: Date.UTC(2026, 10, 21, 9, 0, 0),
  lastStart: 960,
};

const POSITION: LogPosition = {
  version: 1,
  open: INSTANCE,
  pending: [{ instance: { ...INSTANCE, gen: 1 }, sinceMs: 5, isOvertaken: true }],
  lost: [{ ...INSTANCE, gen: 2 }],
  waiting: { '2026-11-21-08:35:58': { sinceMs: 7, attempts: 2 } },
  completed: { '2026-11-20-08:35:58': { ...INSTANCE, gen: 3 } },
  lastStamp: '2026-11-20-08:35:58',
  brokenLinks: [{ after: '2026-11-20-08:35:58', sinceMs: 9 }],
  hasHistory: true,
};

test('parsePosition() reads back what renderPosition() wrote', () => {
  for (const position of [POSITION, createPosition()]) {
    expect(parsePosition(renderPosition(position))).toEqual(position);
  }
});

test('renderPosition() stays one line of text', () => {
  expect(renderPosition(POSITION)).not.toContain('\n');
});

test.each([
  ['nothing', ''],
  ['half of it', renderPosition(POSITION).slice(0, 200)],
  ['other JSON', '[]'],
  ['null', 'null'],
  ['a number', '7'],
  ['a later version', JSON.stringify({ ...POSITION, version: 2 })],
  ['no version', JSON.stringify({ ...POSITION, version: undefined })],
  ['null for files', JSON.stringify({ ...POSITION, completed: null })],
  ['null for waiting files', JSON.stringify({ ...POSITION, waiting: null })],
  ['a list for files', JSON.stringify({ ...POSITION, completed: [] })],
  ['no list of pending files', JSON.stringify({ ...POSITION, pending: {} })],
  ['an empty pending file', JSON.stringify({ ...POSITION, pending: [null] })],
  ['a pending file without content', JSON.stringify({ ...POSITION, pending: [{ sinceMs: 1, isOvertaken: false }] })],
  ['an open file that is text', JSON.stringify({ ...POSITION, open: 'current' })],
  ['an open file without a key', JSON.stringify({ ...POSITION, open: { ...INSTANCE, key: undefined } })],
  ['an offset that is no number', JSON.stringify({ ...POSITION, open: { ...INSTANCE, off: '1000' } })],
  ['an offset below zero', JSON.stringify({ ...POSITION, open: { ...INSTANCE, off: -1 } })],
  ['an offset with a fraction', JSON.stringify({ ...POSITION, open: { ...INSTANCE, off: 0.5 } })],
  ['a time that is text', JSON.stringify({ ...POSITION, open: { ...INSTANCE, lastUtcMs: 'noon' } })],
  ['a waiting file without a time', JSON.stringify({ ...POSITION, waiting: { x: { attempts: 1 } } })],
  ['a lost file that is a number', JSON.stringify({ ...POSITION, lost: [1] })],
  ['a broken link without a name', JSON.stringify({ ...POSITION, brokenLinks: [{ sinceMs: 1 }] })],
])('parsePosition() makes nothing of %s, so that the log is read from its start', (_what, text) => {
  expect(parsePosition(text)).toBeUndefined();
});

test('parsePosition() never throws, and what it gives is whole', () => {
  const damaged = fc
    .tuple(fc.constantFrom(...Object.keys(POSITION)), fc.jsonValue())
    .map(([key, value]) => JSON.stringify({ ...POSITION, [key]: value }));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
      const position = parsePosition(text);
      if (!position) return;
      const instances = [
        ...(position.open ? [position.open] : []),
        ...position.pending.map(({ instance }) => instance),
        ...position.lost,
        ...Object.values(position.completed),
      ];
      for (const { key, off } of instances) {
        expect(typeof key).toBe('string');
        expect(Number.isSafeInteger(off) && off >= 0).toBe(true);
      }
      for (const { sinceMs, attempts } of Object.values(position.waiting)) {
        expect([typeof sinceMs, typeof attempts]).toEqual(['number', 'number']);
      }
    }),
  );
});
