import { expect, test } from 'vitest';
import { findOffsetEvidence } from '../../src/logs/index.ts';

const rotated = [
  { stamp: '2026-11-20-23:00:00', name: 'wan/log-2026-11-20-23:00:00.bz2' },
  { stamp: '2026-11-21-08:35:58', name: 'wan/log-2026-11-21-08:35:58.bz2' },
];
const log = { current: 'wan/current', rotated };
const find = (head: string, one = log) => findOffsetEvidence(one, Buffer.from(head));

test.each([
  ['2026-11-21 09:35:58 [wan] up\n', 1],
  ['2026-11-21 09:35:59 [wan] up\n', 1],
  ['2026-11-21 08:35:58 [wan] up\n', 0],
  ['2026-11-21 03:05:58 [wan] up\n', -5.5],
  ['                - Last output repeated twice -\n2026-11-21 09:35:58 [wan] up\n', 1],
  // The line is longer than the head.
  ['2026-11-21 09:35:58 [wan] somewhat long', 1],
])('findOffsetEvidence() holds the name of the newest rotation against the first line: %j', (head, hours) => {
  expect(find(head)).toMatchObject({ rotatedUtcMs: Date.UTC(2026, 10, 21, 8, 35, 58), offsetMs: hours * 3_600_000 });
});

test('findOffsetEvidence() says what it saw where no zone has such an offset', () => {
  expect(find('2026-11-21 09:41:10 [wan] up\n')).toEqual({
    rotatedUtcMs: Date.UTC(2026, 10, 21, 8, 35, 58),
    firstWallAsUtcMs: Date.UTC(2026, 10, 21, 9, 41, 10),
    offsetMs: undefined,
  });
});

test('findOffsetEvidence() has nothing without a rotation, or without a line that has a stamp', () => {
  expect(find('2026-11-21 09:35:58 [wan] up\n', { ...log, rotated: [] })).toBeUndefined();
  expect(find('no stamp\n')).toBeUndefined();
  expect(find('')).toBeUndefined();
});
