import { expect, test } from 'vitest';
import { findOffsetEvidence, judgeRotations, type OffsetEvidence } from '../../src/logs/index.ts';

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
    distanceMs: undefined,
  });
});

test('findOffsetEvidence() has nothing without a rotation, or without a line that has a stamp', () => {
  expect(find('2026-11-21 09:35:58 [wan] up\n', { ...log, rotated: [] })).toBeUndefined();
  expect(find('no stamp\n')).toBeUndefined();
  expect(find('')).toBeUndefined();
});

test('judgeRotations() says whether the rotations of some logs are too many to be chance', () => {
  const quiet = find('2026-11-21 09:35:58 [wan] up\n2026-11-21 09:37:38 [wan] down\n2026-11-21 09:39:18 [wan] up\n');
  expect(quiet?.distanceMs).toBe(100_000);
  const other = { ...quiet, rotatedUtcMs: Date.UTC(2026, 10, 20) } as OffsetEvidence;
  const judge = (...seen: (OffsetEvidence | undefined)[]) =>
    judgeRotations(new Map(seen.flatMap((one, index) => (one ? [[`log ${index}`, one] as const] : []))));
  expect(judge(quiet)).toMatchObject({ holds: false, matches: 1, chance: 0.05 });
  expect(judge(quiet, other)).toMatchObject({ holds: true, matches: 2 });
  expect(judge(quiet, find('2026-11-21 09:41:10 [wan] up\n'))).toMatchObject({ holds: false, matches: 1, refuted: [] });
});
