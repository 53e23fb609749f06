import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { SharedBudget } from '../../src/schedule/index.ts';

const HOUR_MS = 3_600_000;
const MIDNIGHT_MS = Date.UTC(2026, 10, 21);

function openBudget(bytesPerDay: number, used?: SharedBudget['used']) {
  const clock = createSteppedClock(MIDNIGHT_MS);
  return { clock, budget: new SharedBudget({ bytesPerDay, statusShare: 0.2, clock, used }) };
}

test('SharedBudget pauses logs when the common part is used up, and keeps the other part for status polls', () => {
  const { budget } = openBudget(1000);
  budget.record(799, 'common');
  expect(budget.isSpent('common')).toBe(false);
  budget.record(1, 'common');
  expect([budget.isSpent('common'), budget.isPaused, budget.statusPart]).toEqual([true, true, 'status']);
  expect(budget.pauses).toEqual({ logs: MIDNIGHT_MS + 24 * HOUR_MS, status: undefined });
  budget.record(200, 'status');
  expect([budget.isSpent('status'), budget.statusPart]).toEqual([true, undefined]);
  expect(budget.pauses).toEqual({ logs: MIDNIGHT_MS + 24 * HOUR_MS, status: MIDNIGHT_MS + 24 * HOUR_MS });
});

test('SharedBudget charges whole polls at eight times the interval to the status part, then liveness probes only', async () => {
  const { budget, clock } = openBudget(100_000);
  budget.record(80_000, 'common');
  expect([budget.pollMultiplier(false), budget.pollMultiplier(true)]).toEqual([8, 8]);
  // 5 % of the part at the beginning of the day.
  budget.record(1000, 'status');
  expect([budget.pollMultiplier(false), budget.statusPart]).toEqual([Number.POSITIVE_INFINITY, 'status']);
  await clock.advance(HOUR_MS);
  expect(budget.pollMultiplier(false)).toBe(8);
});

test('SharedBudget says when a pause ends, and it ends then and not before', async () => {
  const { budget, clock } = openBudget(100_000);
  budget.record(40_000, 'common');
  const { logs = 0 } = budget.pauses;
  expect(logs).toBeGreaterThan(clock.now());
  await clock.advance(logs - clock.now() - 1000);
  expect(budget.isPaused).toBe(true);
  expect(Math.abs((budget.pauses.logs ?? 0) - logs)).toBeLessThan(2);
  await clock.advance(1001);
  expect([budget.isPaused, budget.pauses.logs]).toEqual([false, undefined]);
});

test('SharedBudget goes on after a restart where both parts were, and without a budget never pauses', () => {
  const { budget } = openBudget(1000);
  budget.record(300, 'common');
  budget.record(100, 'status');
  expect(budget.used).toEqual({ day: '2026-11-21', bytes: 400, statusBytes: 100 });
  expect(openBudget(1000, budget.used).budget.used).toEqual(budget.used);
  const free = openBudget(0).budget;
  free.record(1e9, 'common');
  free.record(1e9, 'status');
  expect([free.isPaused, free.statusPart, free.pollMultiplier(true)]).toEqual([false, 'common', 1]);
  expect([free.isSpent('common'), free.isSpent('status'), free.used.bytes]).toEqual([false, false, 2e9]);
});
