import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RequestTimer } from '../../src/router/requests/exchange.ts';

const LIMIT_MS = 10_000;

/** A clock, the timer, and the times at which limits were reached. */
function openTimer() {
  const clock = createSteppedClock(0);
  const pending = new Set<number>();
  let count = 0;
  const counting = {
    ...clock,
    setTimer: (delayMs: number, fire: () => void) => {
      const id = count++;
      pending.add(id);
      const timer = clock.setTimer(delayMs, () => {
        pending.delete(id);
        fire();
      });
      const cancel = () => {
        pending.delete(id);
        timer.cancel();
      };
      return { cancel };
    },
  };
  const timer = new RequestTimer(counting, LIMIT_MS);
  const reached: number[] = [];
  return { clock, timer, reached, pending, begin: () => timer.begin(() => void reached.push(clock.monotonic())) };
}

test('RequestTimer ends each request at its own limit', async () => {
  const { clock, reached, begin } = openTimer();
  begin().end();
  await clock.advance(4000);
  begin();
  await clock.advance(3000);
  begin();
  await clock.advance(30_000);
  expect(reached).toEqual([14_000, 17_000]);
});

test('RequestTimer counts from the last touch, and not while a limit is paused', async () => {
  const { clock, reached, begin } = openTimer();
  const limit = begin();
  await clock.advance(9000);
  limit.touch();
  await clock.advance(9000);
  limit.pause();
  await clock.advance(60_000);
  expect(reached).toEqual([]);
  limit.touch();
  await clock.advance(60_000);
  expect(reached).toEqual([88_000]);
});

test('RequestTimer uses one timer for the requests of a turn, and none while it rests', () => {
  const { timer, pending, begin } = openTimer();
  for (let request = 0; request < 8; request++) begin().end();
  expect(pending.size).toBe(1);
  const limit = begin();
  timer.rest();
  expect(pending.size).toBe(1);
  limit.end();
  timer.rest();
  expect(pending.size).toBe(0);
});
