import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createFile,
  createPosition,
  type LogFile,
  type LogPosition,
  parsePosition,
  renderPosition,
} from '../../src/logs/position/position.ts';
import { editPosition } from '../support/stored-position.ts';

const FILE: LogFile = {
  ...createFile('ab'.repeat(32), 0),
  off: 1000,
  firstUtcMs: Date.UTC(2026, 10, 21, 8, 36, 49),
  lastUtcMs: Date.UTC(2026, 10, 21, 9, 0, 0),
  lastStart: 960,
  tornAt: [1010],
};

const START_MS = Date.UTC(2026, 10, 1);

const POSITION: LogPosition = {
  ...createPosition('UTC'),
  open: FILE,
  pending: [{ file: { ...FILE, gen: 1 }, sinceMs: 5, isOvertaken: true, isRotated: false, isPassed: false }],
  lost: [{ ...FILE, gen: 2 }],
  waiting: {
    '2026-11-21-08:35:58': { sinceMs: 7, attempts: 2, fault: 'cut', notBeforeMs: 8, isBackfill: false },
  },
  completed: { '2026-11-20-08:35:58': { ...FILE, gen: 3 }, '2026-11-19-08:35:58': null },
  sequenceEnd: { stamp: '2026-11-20-08:35:58', edge: { uid: 'x', utcMs: 9 } },
  brokenLinks: [{ after: '2026-11-20-08:35:58', from: undefined, sinceMs: 9 }],
};

test('parsePosition() reads back what renderPosition() wrote', () => {
  for (const position of [POSITION, createPosition('UTC')]) {
    expect(parsePosition(renderPosition(position))).toEqual(position);
  }
});

test('renderPosition() makes less than a megabyte of the longest record that waits, and of the names of many files', () => {
  const bytes = randomBytes(256 * 1024);
  const held = {
    uid: 'x',
    file: 'network/current',
    start: 0,
    end: bytes.length,
    observedMs: 1,
    timestamp: undefined,
    tag: undefined,
    severity: undefined,
    message: bytes.toString(),
    flags: [],
    lines: 200,
    needsOriginal: true,
    original: bytes.toString('base64'),
    details: undefined,
  };
  const files = Array.from({ length: 5000 }, (_, index) => [
    new Date(START_MS + index * 61_000).toISOString().slice(0, 19).replace('T', '-'),
    { sinceMs: START_MS, attempts: 0, fault: undefined, notBeforeMs: 0, isBackfill: false },
  ]);
  const position = { ...POSITION, waiting: Object.fromEntries(files), stream: { ...POSITION.stream, held } };
  const text = renderPosition(position);
  expect(text.length).toBeLessThan(1_000_000);
  expect(parsePosition(text)).toEqual(position);
});

test('case 46: parsePosition() makes nothing of a position in which a single character has changed', () => {
  const text = renderPosition(POSITION);
  for (let index = 0; index < text.length; index += 3) {
    const damaged = `${text.slice(0, index)}${text[index] === '1' ? '2' : '1'}${text.slice(index + 1)}`;
    if (damaged !== text) expect(parsePosition(damaged)).toBeUndefined();
  }
});

test.each([
  ['nothing', ''],
  ['half of it', renderPosition(POSITION).slice(0, 200)],
  ['a position without a checksum', JSON.stringify(POSITION)],
  ['other JSON', '[]'],
  ['null', 'null'],
  ['a number', '7'],
])('parsePosition() makes nothing of %s, so that the log is read from its start', (_what, text) => {
  expect(parsePosition(text)).toBeUndefined();
});

test.each([1, 3, 5, undefined])('case 47: parsePosition() makes nothing of a position of version %s', (version) => {
  const text = editPosition(renderPosition(POSITION), (stored) => Object.assign(stored, { version }));
  expect(parsePosition(text)).toBeUndefined();
});

test('parsePosition() never throws, and what it gives is whole', () => {
  const damaged = fc
    .tuple(fc.constantFrom(...Object.keys(POSITION)), fc.jsonValue())
    .map(([key, value]) => editPosition(renderPosition(POSITION), (stored) => Object.assign(stored, { [key]: value })));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), damaged), (text) => {
      const position = parsePosition(text);
      if (!position) return;
      const files = [
        ...(position.open ? [position.open] : []),
        ...position.pending.map(({ file }) => file),
        ...position.lost,
        ...Object.values(position.completed).filter((file) => file !== null),
      ];
      for (const { key, off } of files) {
        expect(typeof key).toBe('string');
        expect(Number.isSafeInteger(off) && off >= 0).toBe(true);
      }
      for (const { sinceMs, attempts } of Object.values(position.waiting)) {
        expect([typeof sinceMs, typeof attempts]).toEqual(['number', 'number']);
      }
    }),
  );
});

test.each([
  ['an offset below zero', { open: { ...FILE, off: -1 } }],
  ['an offset with a fraction', { open: { ...FILE, off: 0.5 } }],
  ['null for files', { completed: null }],
  ['an open file without a key', { open: { ...FILE, key: undefined } }],
  ['an offset that is text', { open: { ...FILE, off: '1000' } }],
  ['a time that no date has', { open: { ...FILE, lastUtcMs: 1e16 } }],
  ['a proof of no kind', { open: { ...FILE, proof: {} } }],
  ['a pending file without content', { pending: [{ sinceMs: 1, isOvertaken: false, isPassed: false }] }],
  ['a fault that does not exist', { waiting: { x: { ...POSITION.waiting['2026-11-21-08:35:58'], fault: 'tired' } } }],
  ['a list of completed files', { completed: [] }],
  ['no zone', { zone: undefined }],
  ['a clock without an epoch', { stream: { ...POSITION.stream, clock: { isAhead: false } } }],
])('parsePosition() makes nothing of one with %s', (_what, fields) => {
  const text = editPosition(renderPosition(POSITION), (stored) => Object.assign(stored, fields));
  expect(parsePosition(text)).toBeUndefined();
});
