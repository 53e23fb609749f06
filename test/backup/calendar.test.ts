import { afterAll, describe, expect, test } from 'vitest';

// The schedule follows the zone of the machine; this file has its own process, so here it is a zone with summer time.
const zone = process.env['TZ'];
process.env['TZ'] = 'Europe/Berlin';
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});
const { BackupCalendar } = await import('../../src/backup/index.ts');

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const at = (iso: string) => Date.parse(iso);
const render = (timeMs: number | undefined) => (timeMs === undefined ? undefined : new Date(timeMs).toISOString());
const nextOf = (expression: string, after: string) => render(new BackupCalendar(expression).nextRunMs(at(after)));
/** The next `count` runs. */
function runsOf(expression: string, after: string, count: number): (string | undefined)[] {
  const calendar = new BackupCalendar(expression);
  const runs: (string | undefined)[] = [];
  for (let runMs = calendar.nextRunMs(at(after)); runs.length < count; ) {
    runs.push(render(runMs));
    if (runMs === undefined) break;
    runMs = calendar.nextRunMs(runMs);
  }
  return runs;
}

describe('nextRunMs()', () => {
  test.for([
    ['0 3 * * *', '2026-11-21T01:59:59.999Z', '2026-11-21T02:00:00.000Z'],
    ['0 3 * * *', '2026-11-21T02:00:00.000Z', '2026-11-22T02:00:00.000Z'],
    ['0 3 * * *', '2026-12-31T12:00:00Z', '2027-01-01T02:00:00.000Z'],
    ['*/20 * * * *', '2026-11-21T02:05:00Z', '2026-11-21T02:20:00.000Z'],
    ['40,5 4,3 * * *', '2026-11-21T02:06:00Z', '2026-11-21T02:40:00.000Z'],
    ['30 15 6 * * *', '2026-11-21T00:00:00Z', '2026-11-21T05:15:30.000Z'],
    ['0 3 * * sun', '2026-11-21T12:00:00Z', '2026-11-22T02:00:00.000Z'],
    ['0 3 1 * 1', '2026-11-21T12:00:00Z', '2027-02-01T02:00:00.000Z'],
    ['0 3 L * *', '2026-11-21T12:00:00Z', '2026-11-30T02:00:00.000Z'],
    ['0 3 * * 1#2', '2026-11-21T12:00:00Z', '2026-12-14T02:00:00.000Z'],
    ['0 3 29 2 *', '2026-11-21T12:00:00Z', '2028-02-29T02:00:00.000Z'],
    ['0 3 29 2 1', '2026-11-21T12:00:00Z', '2044-02-29T02:00:00.000Z'],
    ['@daily', '2026-11-21T12:00:00Z', '2026-11-21T23:00:00.000Z'],
    ['@hourly', '2026-11-21T12:00:00Z', '2026-11-21T13:00:00.000Z'],
  ] as const)('finds for "%s" after %s the run at %s, in the zone of the machine', ([expression, after, expected]) => {
    expect(nextOf(expression, after)).toBe(expected);
  });

  test('follows the clock on the wall over a change of summer time', () => {
    expect(runsOf('0 3 * * *', '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T02:00:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T01:00:00.000Z',
    ]);
  });

  test('is due at the end of the hour that summer time skips, for a time in it', () => {
    expect(runsOf('30 2 * * *', '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ]);
  });

  test('counts a time that comes twice once', () => {
    expect(runsOf('30 2 * * *', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ]);
  });

  test('gives the same answers in any order of asking', () => {
    const calendar = new BackupCalendar('*/7 3 * * *');
    const times = Array.from(
      { length: 500 },
      (_, index) => at('2026-11-21T00:00:00Z') + ((index * 7919) % 500) * 6 * MINUTE_MS,
    );
    for (const time of times) {
      expect(calendar.nextRunMs(time)).toBe(new BackupCalendar('*/7 3 * * *').nextRunMs(time));
    }
  });
});

describe('dueMs()', () => {
  const routers = Array.from({ length: 2000 }, (_, index) => `router-${index}`);
  const noonMs = at('2026-11-21T11:00:00Z');
  const runMs = at('2026-11-22T02:00:00Z');

  test('spreads routers over half an hour from the run on', () => {
    const calendar = new BackupCalendar('0 3 * * *');
    const offsets = routers.map((router) => (calendar.dueMs(router, noonMs) ?? 0) - runMs);
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...offsets)).toBeLessThan(30 * MINUTE_MS);
    // Every minute of the thirty has its share of 67 or so.
    const perMinute = offsets.reduce((counts, offset) => {
      const minute = Math.floor(offset / MINUTE_MS);
      return counts.set(minute, (counts.get(minute) ?? 0) + 1);
    }, new Map<number, number>());
    expect(perMinute.size).toBe(30);
    expect(Math.max(...perMinute.values())).toBeLessThan(120);
  });

  test('gives a router the same place every day', () => {
    const calendar = new BackupCalendar('0 3 * * *');
    const first = calendar.dueMs('plant-7', noonMs) ?? 0;
    const second = calendar.dueMs('plant-7', first) ?? 0;
    expect(second - first).toBe(DAY_MS);
    expect(new BackupCalendar('0 3 * * *').dueMs('plant-7', noonMs)).toBe(first);
  });

  test('is still due in the spread of a run that has begun', () => {
    const calendar = new BackupCalendar('0 3 * * *');
    for (const router of routers.slice(0, 50)) {
      const dueMs = calendar.dueMs(router, noonMs) ?? 0;
      expect(calendar.dueMs(router, dueMs - 1)).toBe(dueMs);
      expect(calendar.dueMs(router, dueMs)).toBe(dueMs + DAY_MS);
    }
  });

  test('spreads over no more than half of the time to the next run', () => {
    const calendar = new BackupCalendar('*/10 * * * *');
    for (const router of routers.slice(0, 200)) {
      const dueMs = calendar.dueMs(router, noonMs) ?? 0;
      expect(dueMs).toBeGreaterThan(noonMs);
      expect(dueMs - noonMs).toBeLessThan(15 * MINUTE_MS);
      expect(dueMs % (10 * MINUTE_MS)).toBeLessThan(5 * MINUTE_MS);
      expect((calendar.dueMs(router, dueMs) ?? 0) - dueMs).toBe(10 * MINUTE_MS);
    }
  });
});
