import { expect, test } from 'vitest';
import { createSteppedClock, DeadlineExceeded, openDeadline, untilAborted } from '../../src/base/index.ts';

test('Deadline aborts with DeadlineExceeded, which names the limit, when its time is over', async () => {
  const clock = createSteppedClock(0);
  using deadline = openDeadline(clock, 250);
  await clock.advance(249);
  expect(deadline.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(deadline.signal.reason).toBeInstanceOf(DeadlineExceeded);
  expect(deadline.signal.reason).toMatchObject({ limitMs: 250 });
});

test('Deadline aborts with the reason of its parent when that comes first', async () => {
  const clock = createSteppedClock(0);
  const parent = new AbortController();
  using deadline = openDeadline(clock, 250, parent.signal);
  const reason = new RangeError('stop');
  parent.abort(reason);
  await clock.advance(1000);
  expect(deadline.signal.reason).toBe(reason);
});

test('Deadline does not abort any more once it was released', async () => {
  const clock = createSteppedClock(0);
  const deadline = openDeadline(clock, 250, new AbortController().signal);
  deadline[Symbol.dispose]();
  await clock.advance(1000);
  expect(deadline.signal.aborted).toBe(false);
});

test('untilAborted() gives what the promise was settled with before the abort, even in the same moment', async () => {
  const abort = new AbortController();
  const given = Promise.withResolvers<string>();
  const waiting = untilAborted(given.promise, abort.signal);
  given.resolve('a place');
  abort.abort(new RangeError('too late'));
  expect(await waiting).toBe('a place');
  expect(await untilAborted(given.promise, abort.signal)).toBe('a place');
  await expect(untilAborted(Promise.withResolvers().promise, abort.signal)).rejects.toThrow('too late');
});
