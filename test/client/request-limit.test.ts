import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { RequestLimit } from '../../src/client/requests/exchange.ts';

test('RequestLimit counts from the last touch, and not while it is paused', async () => {
  const clock = createSteppedClock(0);
  const reached: number[] = [];
  const limit = new RequestLimit(clock, 10_000, () => void reached.push(clock.monotonic()));
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
