import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSeededRandom, createSteppedClock, type Random } from '../../src/base/index.ts';
import { type BudgetedActivity, ByteBudget, type BytesUsed, Scheduler } from '../../src/schedule/index.ts';
import { countRuns } from '../support/sampled.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A midnight. */
const START_MS = Date.UTC(2025, 9, 26);
const KINDS: readonly BudgetedActivity[] = ['slow', 'status', 'logs'];

function createBudget(bytesPerDay: number, used?: BytesUsed, startMs = START_MS) {
  const clock = createSteppedClock(startMs);
  const budget = new ByteBudget({ bytesPerDay, clock, used });
  return { clock, budget, stretches: () => KINDS.map((kind) => budget.intervalMultiplier(kind)) };
}

interface RouterUnderTest {
  readonly bytesPerDay: number;
  readonly days: number;
  readonly statusMs: number;
  readonly logsMs: number;
  /** Bytes of a run for status, of one that includes the slow modules, and of one for logs. */
  readonly costs: Readonly<Record<BudgetedActivity, number>>;
  /** How often the slow modules are read when nothing is stretched. */
  readonly slowMs: number;
  /** Makes of a cost what a run really takes. */
  readonly vary?: (bytes: number) => number;
}

interface Reading {
  readonly kind: BudgetedActivity;
  readonly atMs: number;
  readonly bytes: number;
  /** By kind, as it was before the run. */
  readonly stretches: readonly number[];
}

/** Runs a scheduler over a router with a budget, and gives what was read. */
async function runRouter(router: RouterUnderTest): Promise<Reading[]> {
  const { clock, budget, stretches } = createBudget(router.bytesPerDay);
  const vary = router.vary ?? ((bytes) => bytes);
  const readings: Reading[] = [];
  let slowAtMs = -Infinity;
  const read = (kind: BudgetedActivity) => {
    const bytes = vary(router.costs[kind]);
    readings.push({ kind, atMs: clock.monotonic(), bytes, stretches: stretches() });
    budget.record(bytes);
  };
  const scheduler = new Scheduler({ clock, report: () => {} });
  const common = { serialKey: 'plant-7', isPaused: () => budget.isPaused };
  scheduler.add({
    ...common,
    key: 'status',
    intervalMs: router.statusMs,
    intervalMultiplier: () => budget.intervalMultiplier('status'),
    run: async () => {
      const isSlowDue = clock.monotonic() >= slowAtMs + router.slowMs * budget.intervalMultiplier('slow');
      if (isSlowDue) slowAtMs = clock.monotonic();
      read(isSlowDue ? 'slow' : 'status');
      return 'done';
    },
  });
  scheduler.add({
    ...common,
    key: 'logs',
    intervalMs: router.logsMs,
    intervalMultiplier: () => budget.intervalMultiplier('logs'),
    run: async () => {
      read('logs');
      return 'done';
    },
  });
  scheduler.start();
  await clock.advance(router.days * DAY_MS - 1, () => scheduler.whenIdle());
  await scheduler.stop();
  return readings;
}

function sumOfDays(readings: readonly Reading[]): number[] {
  const sums: number[] = [];
  for (const { atMs, bytes } of readings) {
    const day = Math.floor(atMs / DAY_MS);
    sums[day] = (sums[day] ?? 0) + bytes;
  }
  return sums;
}

function isStatus({ kind }: Reading): boolean {
  return kind !== 'logs';
}

/** The longest time without status. */
function longestGapMs(readings: readonly Reading[]): number {
  const times = readings.filter(isStatus).map(({ atMs }) => atMs);
  return Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0)));
}

const TYPICAL = {
  days: 3,
  statusMs: MINUTE_MS,
  logsMs: MINUTE_MS / 2,
  slowMs: 15 * MINUTE_MS,
  costs: { status: 6000, slow: 26_000, logs: 1500 },
};
/** What the typical router uses in a day when it may: 1440 runs for status, 96 of them slow, 2880 for logs. */
const TYPICAL_NEED = 1344 * 6000 + 96 * 26_000 + 2880 * 1500;

describe('a router with a budget', () => {
  test('ByteBudget at half the need holds, is used, and lets a router be read all day long, three days in a row', async () => {
    const bytesPerDay = TYPICAL_NEED / 2;
    const readings = await runRouter({ ...TYPICAL, bytesPerDay });
    for (const used of sumOfDays(readings)) {
      expect(used).toBeLessThan(bytesPerDay + 26_000);
      expect(used).toBeGreaterThan(0.95 * bytesPerDay);
    }
    const hours = new Set(readings.filter(isStatus).map(({ atMs }) => Math.floor(atMs / HOUR_MS)));
    expect(hours.size).toBe(72);
    expect(longestGapMs(readings)).toBeLessThanOrEqual(8 * MINUTE_MS);
    // The morning gets no more than its share: a quarter of the day, a quarter of the bytes.
    const morning = readings.filter(({ atMs }) => atMs < DAY_MS / 4);
    expect(sumOfDays(morning)[0]).toBeLessThan(bytesPerDay * 0.35);
  });

  test('ByteBudget stretches slow modules first and before much is used, then status, and logs last', async () => {
    const bytesPerDay = TYPICAL_NEED / 2;
    const readings = await runRouter({ ...TYPICAL, days: 1, bytesPerDay });
    const shareUsedAtFirst = (index: number) => {
      const place = readings.findIndex(({ stretches }) => (stretches[index] ?? 1) > 1);
      expect(place).toBeGreaterThan(0);
      return readings.slice(0, place).reduce((sum, { bytes }) => sum + bytes, 0) / bytesPerDay;
    };
    const [slow, status] = [shareUsedAtFirst(0), shareUsedAtFirst(1)];
    expect(slow).toBeLessThan(0.08);
    expect(status).toBeGreaterThan(slow);
    expect(status).toBeLessThan(0.16);
    for (const { stretches } of readings) {
      const [slowNow = 1, statusNow = 1, logsNow = 1] = stretches;
      if (statusNow > 1) expect(slowNow).toBe(8);
      if (logsNow > 1) expect(statusNow).toBe(8);
    }
    // Half the need is met without the logs but for the last hours, in which single runs weigh much.
    const ofLogs = readings.filter(({ stretches }) => stretches[2] !== 1);
    expect(ofLogs.filter(({ atMs }) => atMs < 18 * HOUR_MS)).toEqual([]);
    expect(ofLogs.length).toBeLessThan(0.03 * readings.length);
  });

  test('ByteBudget above the need never stretches anything', async () => {
    for (const share of [1.03, 2]) {
      const readings = await runRouter({ ...TYPICAL, bytesPerDay: TYPICAL_NEED * share });
      expect(sumOfDays(readings)).toEqual([TYPICAL_NEED, TYPICAL_NEED, TYPICAL_NEED]);
      expect(new Set(readings.flatMap(({ stretches }) => stretches))).toEqual(new Set([1]));
    }
  });

  test('ByteBudget of a twentieth of the need still has the router read once an hour', async () => {
    const bytesPerDay = TYPICAL_NEED / 20;
    const readings = await runRouter({ ...TYPICAL, bytesPerDay });
    for (const used of sumOfDays(readings)) {
      expect(used).toBeLessThan(bytesPerDay + 26_000);
      expect(used).toBeGreaterThan(0.95 * bytesPerDay);
    }
    expect(longestGapMs(readings)).toBeLessThan(1.25 * HOUR_MS);
  });

  test('ByteBudget goes on no more than two hours after a download that took half of it, and then lasts all day', async () => {
    const bytesPerDay = TYPICAL_NEED / 2;
    let turns = 0;
    const vary = (bytes: number) => (++turns === 200 ? bytesPerDay / 2 : bytes);
    const readings = await runRouter({ ...TYPICAL, days: 1, bytesPerDay, vary });
    expect(longestGapMs(readings)).toBeLessThan(2 * HOUR_MS + 8 * MINUTE_MS);
    const evening = readings.filter(({ atMs }) => atMs > 18 * HOUR_MS);
    const evenings = evening.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(evenings).toBeGreaterThan(0.08 * bytesPerDay);
    expect(longestGapMs(evening)).toBeLessThan(12 * MINUTE_MS);
    expect(sumOfDays(readings)[0]).toBeGreaterThan(0.95 * bytesPerDay);
  });

  test('ByteBudget holds within one run, is used, and keeps its order, whatever runs cost and need', async () => {
    const checked = { ahead: 0, free: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.double({ min: 0.15, max: 1.5, noNaN: true }),
        fc.integer(),
        fc.nat(30_000),
        fc.nat(30_000),
        fc.nat(30_000),
        async (share, seed, status, slow, logs) => {
          const costs = { status: status + 100, slow: status + slow + 100, logs: logs + 100 };
          const router = { ...TYPICAL, days: 2, statusMs: 5 * MINUTE_MS, logsMs: 2 * MINUTE_MS, costs };
          const free = await runRouter({ ...router, bytesPerDay: 0, vary: createCosts(createSeededRandom(seed)) });
          const [need = 0] = sumOfDays(free);
          const bytesPerDay = Math.ceil(need * share);
          const vary = createCosts(createSeededRandom(seed));
          const readings = await runRouter({ ...router, bytesPerDay, vary });

          const largest = Math.max(...readings.map(({ bytes }) => bytes));
          for (const used of sumOfDays(readings)) {
            expect(used).toBeLessThan(bytesPerDay + largest);
            if (share < 0.7) expect(used).toBeGreaterThan(0.8 * bytesPerDay);
          }
          for (const { stretches } of readings) {
            const [slowNow = 1, statusNow = 1, logsNow = 1] = stretches;
            expect([1, 2, 4, 8]).toEqual(expect.arrayContaining([slowNow, statusNow, logsNow]));
            if (statusNow > 1) expect(slowNow).toBe(8);
            if (logsNow > 1) expect(statusNow).toBe(8);
          }
          // What is never ahead of the day by more than the first 3 % is read as if there were no budget.
          const usedFree = [0, 0];
          const isAhead = free.some(({ atMs, bytes }) => {
            const day = Math.floor(atMs / DAY_MS);
            usedFree[day] = (usedFree[day] ?? 0) + bytes;
            return (usedFree[day] ?? 0) > bytesPerDay * (0.03 + 0.97 * (atMs / DAY_MS - day));
          });
          if (!isAhead) expect(readings).toEqual(free);
          checked[isAhead ? 'ahead' : 'free']++;
        },
      ),
      // The first is never ahead of its day, the second always: one of each at least.
      {
        numRuns: countRuns(40),
        examples: [
          [1.5, 1, 1000, 1000, 1000],
          [0.5, 1, 1000, 1000, 1000],
        ],
      },
    );
    expect(checked.ahead).toBeGreaterThan(0);
    expect(checked.free).toBeGreaterThan(0);
  });
});

describe('the pace', () => {
  test('ByteBudget takes the ladder step by step as bytes run ahead of the day: slow modules, status, logs, pause', () => {
    const { budget, stretches } = createBudget(100_000);
    const seen: string[] = [];
    for (let used = 0; used < 100_000; used += 100) {
      const now = budget.isPaused ? 'paused' : stretches().join(' ');
      if (now !== seen.at(-1)) seen.push(now);
      budget.record(100);
    }
    expect(seen).toEqual([
      '1 1 1',
      '2 1 1',
      '4 1 1',
      '8 1 1',
      '8 2 1',
      '8 4 1',
      '8 8 1',
      '8 8 2',
      '8 8 4',
      '8 8 8',
      'paused',
    ]);
  });

  test('ByteBudget leaves first cycles of a day alone that take no more than 3 % of it', () => {
    const { budget, stretches } = createBudget(100_000);
    budget.record(3000);
    expect(stretches()).toEqual([1, 1, 1]);
    budget.record(1);
    expect(stretches()).toEqual([2, 1, 1]);
  });

  test('ByteBudget allows later what was saved earlier', async () => {
    const { clock, budget, stretches } = createBudget(100_000);
    await clock.advance(DAY_MS / 2);
    budget.record(50_000);
    expect(stretches()).toEqual([1, 1, 1]);
    budget.record(3200);
    expect(stretches()).toEqual([8, 2, 1]);
    await clock.advance(HOUR_MS);
    expect(stretches()).toEqual([1, 1, 1]);
  });

  test('ByteBudget is spent, and pauses, when all of it is used, until the next midnight', async () => {
    const { clock, budget, stretches } = createBudget(100_000);
    await clock.advance(13 * HOUR_MS);
    budget.record(99_999);
    expect(budget.isSpent).toBe(false);
    budget.record(1);
    for (const hours of [0, 10, 0.999]) {
      await clock.advance(hours * HOUR_MS);
      expect([budget.isSpent, budget.isPaused]).toEqual([true, true]);
      expect(stretches()).toEqual([8, 8, 8]);
    }
    expect(budget.nextDayMs).toBe(START_MS + DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 100_000 });
    await clock.advance(0.001 * HOUR_MS);
    expect([budget.isSpent, budget.isPaused]).toEqual([false, false]);
    expect(stretches()).toEqual([1, 1, 1]);
    expect(budget.nextDayMs).toBe(START_MS + 2 * DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-27', bytes: 0 });
  });

  test('ByteBudget forgets with the day that it had to count from what was left', async () => {
    const { clock, budget, stretches } = createBudget(100_000);
    budget.record(80_000);
    expect(budget.isPaused).toBe(true);
    await clock.advance(DAY_MS);
    budget.record(4500);
    expect(stretches()).toEqual([4, 1, 1]);
  });

  test('ByteBudget pauses for two hours at most, then stretches all, and the less the more it can afford', async () => {
    const { clock, budget, stretches } = createBudget(100_000);
    budget.record(70_000);
    expect(budget.isPaused).toBe(true);
    await clock.advance(2 * HOUR_MS - 1000);
    expect([budget.isPaused, budget.isSpent]).toEqual([true, false]);
    await clock.advance(2000);
    expect(budget.isPaused).toBe(false);
    expect(stretches()).toEqual([8, 8, 8]);
    await clock.advance(HOUR_MS);
    const [slow = 0, status = 0, logs = 0] = stretches();
    expect([slow, status, logs]).not.toEqual([8, 8, 8]);
    expect(slow).toBe(8);
    // A second large download: again two hours.
    budget.record(15_000);
    expect(budget.isPaused).toBe(true);
    await clock.advance(2 * HOUR_MS + 1000);
    expect(budget.isPaused).toBe(false);
  });

  test('ByteBudget counts the whole budget again once it has caught up with the day', async () => {
    const { clock, budget } = createBudget(100_000);
    budget.record(50_000);
    expect(budget.isPaused).toBe(true);
    await clock.advance(13 * HOUR_MS);
    expect(budget.isPaused).toBe(false);
    // Otherwise what the afternoon is to have could go down to 88 % of the half.
    budget.record(10_000);
    expect(budget.isPaused).toBe(true);
  });

  test('ByteBudget of 0 stretches nothing and never pauses, and counts all the same', async () => {
    const { clock, budget, stretches } = createBudget(0);
    budget.record(1e12);
    expect(stretches()).toEqual([1, 1, 1]);
    expect([budget.isPaused, budget.isSpent]).toEqual([false, false]);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 1e12 });
    await clock.advance(DAY_MS);
    expect(budget.used.bytes).toBe(0);
  });
});

describe('restart and clock', () => {
  test('ByteBudget goes on after a restart where it was', async () => {
    const { clock, budget, stretches } = createBudget(100_000);
    await clock.advance(6 * HOUR_MS);
    budget.record(31_500);
    const next = createBudget(100_000, budget.used, clock.now());
    expect(next.budget.used).toEqual({ day: '2025-10-26', bytes: 31_500 });
    expect(next.stretches()).toEqual(stretches());
    expect(next.stretches()).toEqual([8, 8, 1]);
  });

  test('ByteBudget starts a new day after a restart on a later day, and when the stored day is invalid', () => {
    for (const day of ['2025-10-25', '2024-02-29', '', '2025-13-41', '20251026']) {
      const { budget, stretches } = createBudget(100_000, { day, bytes: 90_000 });
      expect(stretches()).toEqual([1, 1, 1]);
      expect(budget.used).toEqual({ day: '2025-10-26', bytes: 0 });
    }
  });

  test('ByteBudget grants no bytes again when the wall clock goes back over midnight and returns', async () => {
    const { clock, budget } = createBudget(100_000, undefined, START_MS - HOUR_MS);
    budget.record(95_000);
    await clock.advance(HOUR_MS + 60_000);
    budget.record(4000);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 4000 });
    clock.jump(-5 * 60_000);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 4000 });
    expect(budget.nextDayMs).toBe(START_MS + DAY_MS);
    budget.record(3000);
    await clock.advance(10 * 60_000);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 7000 });
    expect(budget.intervalMultiplier('slow')).toBe(8);
  });

  test('ByteBudget holds for the later day while the wall clock shows the one before it', async () => {
    const { clock, budget } = createBudget(100_000);
    budget.record(100_000);
    clock.jump(-12 * HOUR_MS);
    expect([budget.isSpent, budget.isPaused]).toEqual([true, true]);
    await clock.advance(35 * HOUR_MS);
    expect(budget.isSpent).toBe(true);
    await clock.advance(HOUR_MS);
    expect(budget.isSpent).toBe(false);
  });

  test('ByteBudget takes a day that was far ahead for a mistake, and keeps what it had used', async () => {
    const { clock, budget } = createBudget(100_000, undefined, START_MS + 5000 * DAY_MS);
    budget.record(60_000);
    clock.jump(-5000 * DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 60_000 });
    await clock.advance(DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-27', bytes: 0 });
    const restarted = createBudget(100_000, { day: '2039-07-05', bytes: 60_000 });
    expect(restarted.budget.used).toEqual({ day: '2025-10-26', bytes: 60_000 });
  });

  test('ByteBudget grants no bytes again when the wall clock is set back by days and then corrected', () => {
    const { clock, budget } = createBudget(100_000);
    budget.record(60_000);
    clock.jump(-5 * DAY_MS);
    budget.record(10_000);
    expect(budget.used).toEqual({ day: '2025-10-21', bytes: 70_000 });
    clock.jump(5 * DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 70_000 });
    clock.jump(DAY_MS);
    expect(budget.used.bytes).toBe(0);
  });

  test('ByteBudget remembers what a day had used though a midnight passed while the wall clock was wrong', async () => {
    const { clock, budget } = createBudget(100_000);
    budget.record(60_000);
    clock.jump(-5 * DAY_MS);
    budget.record(0);
    await clock.advance(DAY_MS);
    budget.record(1000);
    expect(budget.used).toEqual({ day: '2025-10-22', bytes: 1000 });
    clock.jump(4 * DAY_MS);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 60_000 });
  });

  test('ByteBudget begins a day that the wall clock jumps forward to', () => {
    const { clock, budget, stretches } = createBudget(100_000, undefined, Date.UTC(1970, 0, 1, 3));
    budget.record(100_000);
    clock.jump(START_MS);
    expect(stretches()).toEqual([1, 1, 1]);
    expect(budget.used).toEqual({ day: '2025-10-26', bytes: 0 });
  });

  test('ByteBudget is back within two hours when the wall clock is set back within the day', async () => {
    const { clock, budget, stretches } = createBudget(100_000, undefined, START_MS + 20 * HOUR_MS);
    budget.record(80_000);
    expect(stretches()).toEqual([1, 1, 1]);
    clock.jump(-19 * HOUR_MS);
    expect(budget.isPaused).toBe(true);
    await clock.advance(2 * HOUR_MS + 1000);
    expect(budget.isPaused).toBe(false);
    expect(stretches()).toEqual([8, 8, 8]);
  });
});

/** From a fifth to three times the cost, and now and then ten times. */
function createCosts(random: Random): (bytes: number) => number {
  return (bytes) => Math.ceil(bytes * (random() < 0.01 ? 10 : 0.2 + 2.8 * random()));
}
