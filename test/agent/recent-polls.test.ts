import { expect, test } from 'vitest';
import { RecentPolls } from '../../src/agent/router-state/poll-history.ts';

const FAULT = { step: 'http', resource: 'lte2', error: 'late' } as const;
const FAILURE = { reason: 'timeout', error: 'late' };

test('RecentPolls keeps the last 12 polls, and 12 that failed and 4 that failed in part beyond those', () => {
  const history = new RecentPolls();
  for (let atMs = 0; atMs < 100; atMs++) {
    const failure = atMs < 30 && atMs % 2 === 0 ? FAILURE : undefined;
    history.add({ atMs, durationMs: 1500, failure, fault: atMs < 30 ? FAULT : undefined }, undefined);
  }
  const polls = history.describe();
  const toMs = ({ at }: { at: string }) => Date.parse(at);
  expect(polls.filter(({ ok, fault }) => ok && !fault).map(toMs)).toEqual(Array.from({ length: 12 }, (_, i) => 99 - i));
  expect(polls.filter(({ ok }) => !ok).map(toMs)).toEqual(Array.from({ length: 12 }, (_, i) => 28 - 2 * i));
  expect(polls.filter(({ ok, fault }) => ok && fault).map(toMs)).toEqual([29, 27, 25, 23]);
  expect(polls.map(toMs)).toEqual(polls.map(toMs).toSorted((a, b) => b - a));
  expect(polls.find(({ ok }) => !ok)).toEqual({
    at: '1970-01-01T00:00:00.028Z',
    durationSeconds: 1.5,
    ok: false,
    reason: 'timeout',
    error: 'late',
    fault: FAULT,
  });
});

test('RecentPolls keeps the last 60 polls as numbers, the oldest first', () => {
  const polls = new RecentPolls();
  expect([polls.describePoints(), polls.lastDurationMs]).toEqual([[], undefined]);
  for (let index = 0; index < 75; index++) {
    const failure = index % 2 === 0 ? undefined : FAILURE;
    polls.add({ atMs: index * 1000, durationMs: index, failure, fault: undefined }, index < 74 ? undefined : 2500);
  }
  const points = polls.describePoints();
  expect(points).toHaveLength(60);
  expect(points[0]).toEqual({ at: '1970-01-01T00:00:15.000Z', durationSeconds: 0.015, ok: false, logLagSeconds: null });
  expect(points.at(-1)).toEqual({
    at: '1970-01-01T00:01:14.000Z',
    durationSeconds: 0.074,
    ok: true,
    logLagSeconds: 2.5,
  });
});

test('RecentPolls distinguishes an immediate failure from an immediate success', () => {
  const polls = new RecentPolls();
  for (const failure of [undefined, FAILURE]) polls.add({ atMs: 0, durationMs: 0, failure, fault: undefined }, 0);
  expect(polls.describePoints().map(({ ok, durationSeconds }) => [ok, durationSeconds])).toEqual([
    [true, 0],
    [false, 0],
  ]);
});
