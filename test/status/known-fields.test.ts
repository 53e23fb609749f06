import { expect, test } from 'vitest';
import { toRouterTime } from '../../src/status/index.ts';

const NEAR_MS = Date.UTC(2026, 10, 27, 10, 30);

test('toRouterTime() reads a local time, and neither one with a zone nor a day without a time', () => {
  const read = (date: string) => toRouterTime({ body: { status: { unique: { date } } }, dateMs: NEAR_MS })?.wallAsUtcMs;
  expect(read('2026-11-27 11:30:00')).toBe(Date.UTC(2026, 10, 27, 11, 30));
  expect(read('27.11.2026 11:30')).toBe(Date.UTC(2026, 10, 27, 11, 30));
  expect(read('Fri Nov 27 11:30:00 2026')).toBe(Date.UTC(2026, 10, 27, 11, 30));
  for (const date of ['2026-11-27 10:30:00Z', '2026-11-27', '27.11.2026', '', 'now'])
    expect(read(date)).toBeUndefined();
});
