import { expect, test } from 'vitest';
import { createBench, down } from './router-recorder-bench.ts';

/** Returns a function that lets a poll fail with an error, and returns true if it counts as a login error. */
function knowsLogin({ poll, recorder }: ReturnType<typeof createBench>): (error: unknown) => boolean {
  return (error) => {
    poll(down(error, 'http'));
    return recorder.summarize().fault?.step === 'auth';
  };
}

test('RouterRecorder follows the session, since when it is so, and counts', async () => {
  const bench = createBench();
  const { clock, recorder, record } = bench;
  const isLogin = knowsLogin(bench);
  const describe = () => recorder.describe().session;
  expect(describe()).toEqual({ state: 'none', since: null, logins: 0, loginFailures: 0, refreshes: 0 });
  const cause = new Error('refused');
  record({ type: 'login-failed', cause });
  await clock.advance(1000);
  record({ type: 'login-failed', cause });
  expect(describe()).toMatchObject({ state: 'failed', since: '2026-11-21T00:00:00.000Z', loginFailures: 2 });
  expect([isLogin(cause), isLogin(new Error('refused')), isLogin(undefined)]).toEqual([true, false, false]);
  record({ type: 'session-opened' });
  await clock.advance(1000);
  record({ type: 'session-refreshed' });
  expect(describe()).toEqual({
    state: 'open',
    since: '2026-11-21T00:00:01.000Z',
    logins: 1,
    loginFailures: 2,
    refreshes: 1,
  });
  record({ type: 'session-opened' });
  expect(describe().since).toBe('2026-11-21T00:00:02.000Z');
  record({ type: 'session-lost', cause });
  expect(describe().state).toBe('lost');
  record({ type: 'session-closed' });
  expect(describe().state).toBe('closed');
});

test('RouterRecorder without a failed login knows no error', () => {
  expect(knowsLogin(createBench())(undefined)).toBe(false);
});

test('RouterRecorder knows the error of every login of a poll, also behind another one', () => {
  const bench = createBench();
  const isLogin = knowsLogin(bench);
  const { record } = bench;
  const [first, second] = [new Error('first'), new Error('second')];
  for (const cause of [first, second]) record({ type: 'login-failed', cause });
  expect([first, second, new Error('third')].map(isLogin)).toEqual([true, true, false]);
  expect(isLogin(new Error('No poll', { cause: first }))).toBe(true);
});
