import { expect, test } from 'vitest';
import { SessionBook } from '../../src/agent/session-book.ts';
import { createSteppedClock } from '../../src/base/index.ts';

test('SessionBook follows the session, since when it is so, and counts', async () => {
  const clock = createSteppedClock(0);
  const book = new SessionBook(clock);
  expect(book.describe()).toEqual({ state: 'none', since: null, logins: 0, loginFailures: 0, refreshes: 0 });
  const cause = new Error('refused');
  book.note({ type: 'login-failed', cause });
  await clock.advance(1000);
  book.note({ type: 'login-failed', cause });
  expect(book.describe()).toMatchObject({ state: 'failed', since: '1970-01-01T00:00:00.000Z', loginFailures: 2 });
  expect([book.isFailureOf(cause), book.isFailureOf(new Error('refused')), book.isFailureOf(undefined)]).toEqual([
    true,
    false,
    false,
  ]);
  book.note({ type: 'session-opened' });
  await clock.advance(1000);
  book.note({ type: 'session-refreshed' });
  expect(book.describe()).toEqual({
    state: 'open',
    since: '1970-01-01T00:00:01.000Z',
    logins: 1,
    loginFailures: 2,
    refreshes: 1,
  });
  book.note({ type: 'session-opened' });
  expect(book.describe().since).toBe('1970-01-01T00:00:02.000Z');
  book.note({ type: 'session-lost', cause });
  expect(book.describe().state).toBe('lost');
  book.note({ type: 'session-closed' });
  expect(book.describe().state).toBe('closed');
});

test('SessionBook without a failed login knows no error', () => {
  expect(new SessionBook(createSteppedClock(0)).isFailureOf(undefined)).toBe(false);
});
