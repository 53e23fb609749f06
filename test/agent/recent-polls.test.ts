import { expect, test } from 'vitest';
import { RecentPolls } from '../../src/agent/router-state/poll-history.ts';

const FAULT = { step: 'http', resource: 'lte2', error: 'late' } as const;
const FAILURE = { reason: 'timeout', error: 'late' };

test('RecentPolls keeps the last 12 polls, and 12 that failed and 4 that failed in part beyond those', () => {
  const history = new RecentPolls();
  expect(history.lastDurationMs).toBeUndefined();
  for (let atMs = 0; atMs < 100; atMs++) {
    const failure = atMs < 30 && atMs % 2 === 0 ? FAILURE : undefined;
    history.add({ atMs, durationMs: 1500, failure, fault: atMs < 30 ? FAULT : undefined });
  }
  expect(history.lastDurationMs).toBe(1500);
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
