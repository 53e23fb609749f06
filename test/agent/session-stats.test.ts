import { expect, test } from 'vitest';
import { SessionStats } from '../../src/agent/stats/session-stats.ts';
import { createSteppedClock } from '../../src/base/index.ts';

test('SessionStats follows the session, since when it is so, and counts', async () => {
  const clock = createSteppedClock(0);
  const stats = new SessionStats(clock);
  expect(stats.describe()).toEqual({ state: 'none', since: null, logins: 0, loginFailures: 0, refreshes: 0 });
  const cause = new Error('refused');
  stats.record({ type: 'login-failed', cause });
  await clock.advance(1000);
  stats.record({ type: 'login-failed', cause });
  expect(stats.describe()).toMatchObject({ state: 'failed', since: '1970-01-01T00:00:00.000Z', loginFailures: 2 });
  expect([stats.isFailureOf(cause), stats.isFailureOf(new Error('refused')), stats.isFailureOf(undefined)]).toEqual([
    true,
    false,
    false,
  ]);
  stats.record({ type: 'session-opened' });
  await clock.advance(1000);
  stats.record({ type: 'session-refreshed' });
  expect(stats.describe()).toEqual({
    state: 'open',
    since: '1970-01-01T00:00:01.000Z',
    logins: 1,
    loginFailures: 2,
    refreshes: 1,
  });
  stats.record({ type: 'session-opened' });
  expect(stats.describe().since).toBe('1970-01-01T00:00:02.000Z');
  stats.record({ type: 'session-lost', cause });
  expect(stats.describe().state).toBe('lost');
  stats.record({ type: 'session-closed' });
  expect(stats.describe().state).toBe('closed');
});

test('SessionStats without a failed login knows no error', () => {
  expect(new SessionStats(createSteppedClock(0)).isFailureOf(undefined)).toBe(false);
});

test('SessionStats knows the error of every login of a poll, also behind another one', () => {
  const stats = new SessionStats(createSteppedClock(0));
  const [first, second] = [new Error('first'), new Error('second')];
  for (const cause of [first, second]) stats.record({ type: 'login-failed', cause });
  expect([first, second, new Error('third')].map((error) => stats.isFailureOf(error))).toEqual([true, true, false]);
  expect(stats.isFailureOf(new Error('No poll', { cause: first }))).toBe(true);
});
