import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSteppedClock, yieldToLoop } from '../../src/base/index.ts';
import { type Activity, Scheduler } from '../../src/schedule/index.ts';
import { createBench, createGate, differences, lasting, MINUTE_MS } from './scheduler-bench.ts';

describe('schedule', () => {
  test('Scheduler gives each activity a run per interval, on a schedule of its own', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('a');
    add('b', { intervalMs: 10_000 });
    scheduler.start();
    await clock.advance(10 * MINUTE_MS, settle);
    expect(startsOf('a')).toHaveLength(10);
    expect(new Set(differences(startsOf('a')))).toEqual(new Set([MINUTE_MS]));
    expect(startsOf('b')).toHaveLength(60);
    expect(new Set(differences(startsOf('b')))).toEqual(new Set([10_000]));
  });

  test('Scheduler.start() spreads the first runs over 20 ms per activity, at scheduled times that depend on the key alone', async () => {
    const first = createBench();
    const second = createBench();
    const keys = Array.from({ length: 100 }, (_, index) => `router-${index}/status`);
    for (const key of keys) first.add(key);
    for (const key of keys.toReversed()) second.add(key);
    for (const { scheduler, clock, settle } of [first, second]) {
      scheduler.start();
      await clock.advance(2000, settle);
    }
    const starts = keys.flatMap((key) => first.startsOf(key));
    expect(starts).toHaveLength(100);
    expect(new Set(starts).size).toBeGreaterThan(80);
    expect(keys.flatMap((key) => second.startsOf(key))).toEqual(starts);
    for (const quarterMs of [0, 500, 1000, 1500]) {
      const within = starts.filter((startMs) => startMs >= quarterMs && startMs < quarterMs + 500);
      expect(within.length).toBeGreaterThan(10);
    }
  });

  test('Scheduler runs a poll concurrently with a download of its key, and starts no download while the poll runs', async () => {
    const { clock, scheduler, add, startsOf } = createBench();
    const serial = { serialKey: 'router', intervalMs: MINUTE_MS };
    add('status', { ...serial, isPoll: true, run: lasting(clock, 10_000) });
    add('logs', { ...serial, run: lasting(clock, 150_000) });
    add('backup', { ...serial, run: lasting(clock, 1000) });
    scheduler.start();
    await clock.advance(4 * MINUTE_MS);
    const [statusMs = 0] = startsOf('status');
    expect(startsOf('status').map((ms) => ms - statusMs)).toEqual([0, 60_000, 120_000, 180_000]);
    // Both after polls that were due at the same time, or had begun.
    expect(startsOf('logs').map((ms) => ms - statusMs)).toEqual([10_000, 190_000]);
    expect(startsOf('backup').map((ms) => ms - statusMs)[0]).toBe(160_000);
  });

  test('Scheduler.start() spreads the first runs over no more than the interval', async () => {
    const { clock, scheduler, add, turns, settle } = createBench();
    for (let index = 0; index < 100; index++) add(`router-${index}`, { intervalMs: 100 });
    scheduler.start();
    await clock.advance(99, settle);
    expect(turns).toHaveLength(100);
  });

  test('Scheduler counts its schedule in monotonic time, so that a wall clock that jumps moves no run', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('a');
    scheduler.start();
    for (const jumpMs of [86_400_000, -10 * 86_400_000, 5]) {
      clock.jump(jumpMs);
      await clock.advance(MINUTE_MS, settle);
    }
    expect(differences(startsOf('a'))).toEqual([MINUTE_MS, MINUTE_MS]);
  });

  test('Scheduler reports a run that the one before it ran over as late, and never lets runs pile up', async () => {
    const { clock, scheduler, add, startsOf, lagsOf } = createBench();
    add('slow', { intervalMs: 10_000, run: lasting(clock, 25_000) });
    scheduler.start();
    await clock.advance(5 * MINUTE_MS);
    const starts = startsOf('slow');
    // Runs of 25 seconds begin at every third scheduled time of 10 seconds: no more than that fit.
    expect(starts).toHaveLength(10);
    expect(new Set(differences(starts))).toEqual(new Set([30_000]));
    // The first is in time; each of the others should have begun two scheduled times earlier.
    const [first, ...later] = lagsOf('slow');
    expect(first).toBe(0);
    expect(later).toHaveLength(9);
    expect(new Set(later)).toEqual(new Set([20_000]));
  });

  test('Scheduler reports no lag of runs that end before their next scheduled time, however long they are', async () => {
    const { clock, scheduler, add, lagsOf } = createBench();
    add('a', { intervalMs: 10_000, run: lasting(clock, 9_999) });
    scheduler.start();
    await clock.advance(10 * MINUTE_MS);
    expect(lagsOf('a').length).toBeGreaterThan(55);
    expect(new Set(lagsOf('a'))).toEqual(new Set([0]));
  });

  test('Scheduler counts as lag of a failing activity only what is beyond its back-off', async () => {
    const { clock, scheduler, add, startsOf, lagsOf } = createBench();
    add('dead', {
      run: async (signal) => {
        await clock.sleep(90_000, signal);
        return 'failed';
      },
    });
    scheduler.start();
    await clock.advance(30 * MINUTE_MS);
    // A run lasts 90 seconds: it runs over the scheduled time after one interval, not over those after two, four and five.
    expect(differences(startsOf('dead')).map((waitMs) => waitMs / MINUTE_MS)).toEqual([2, 2, 4, 5, 5, 5, 5]);
    expect(lagsOf('dead').slice(0, 5)).toEqual([0, MINUTE_MS, 0, 0, 0]);
  });

  test('Scheduler spreads many runs that are due at once over several iterations of the event loop', async () => {
    const stepped = createSteppedClock(0);
    let workedMs = 0;
    const clock = { ...stepped, monotonic: () => stepped.monotonic() + workedMs };
    const scheduler = new Scheduler({ clock, report: () => {} });
    scheduler.start();
    const ended: Promise<unknown>[] = [];
    for (let index = 0; index < 20; index++) {
      // Each begins with a millisecond of work, and fails as fast as a refused connection.
      const run: Activity['run'] = () => {
        workedMs++;
        return Promise.resolve('failed');
      };
      scheduler.add({ key: `router-${index}`, serialKey: `router-${index}`, intervalMs: 3_600_000, run });
      ended.push(scheduler.trigger(`router-${index}`));
    }
    const turns = [workedMs];
    for (let turn = 0; turn < 40; turn++) {
      const begunMs = workedMs;
      await yieldToLoop();
      turns.push(workedMs - begunMs);
    }
    await Promise.all(ended);
    expect(Math.max(...turns)).toBeLessThanOrEqual(8);
    expect(turns.reduce((sum, one) => sum + one)).toBe(20);
    await scheduler.stop();
  });

  test('Scheduler gives one run, not many, after a process that stood still', async () => {
    const { clock, scheduler, add, startsOf, lagsOf } = createBench();
    let standsStill = true;
    add('a', { intervalMs: 1000, run: () => Promise.resolve('done') });
    add('blocker', {
      serialKey: 'a',
      intervalMs: 3_600_000,
      run: async (signal) => {
        if (standsStill) await clock.sleep(100_500, signal);
        standsStill = false;
        return 'done';
      },
    });
    scheduler.start();
    await clock.advance(101_600);
    const late = startsOf('a').filter((startMs) => startMs > 100_000 && startMs < 101_000);
    expect(late.length).toBeLessThanOrEqual(2);
    const lags = lagsOf('a').map((lagMs) => lagMs ?? Number.NaN);
    expect(Math.max(...lags)).toBeGreaterThan(99_000);
    expect(lags.filter((lagMs) => lagMs > 0)).toHaveLength(1);
  });

  test('Scheduler leaves out no scheduled time, whatever fraction of a millisecond its clock began with', () =>
    fc.assert(
      fc.asyncProperty(fc.string(), fc.double({ min: 0, max: 1e7, noNaN: true }), async (key, offsetMs) => {
        const { clock, scheduler, add, startsOf, settle } = createBench();
        await clock.advance(offsetMs);
        add(key, { intervalMs: 3_600_000 });
        scheduler.start();
        await clock.advance(24 * 3_600_000 - 1000, settle);
        expect(startsOf(key)).toHaveLength(24);
      }),
    ));
});

describe('back-off', () => {
  test('Scheduler waits one, two, four intervals and at most five minutes while an activity fails', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('dead', { run: () => Promise.resolve('failed') });
    scheduler.start();
    await clock.advance(60 * MINUTE_MS, settle);
    const waits = differences(startsOf('dead')).map((waitMs) => waitMs / MINUTE_MS);
    expect(waits.slice(0, 6)).toEqual([1, 2, 4, 5, 5, 5]);
  });

  test('Scheduler returns to the plain interval after the first run that works', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    const outcomes: ('done' | 'failed')[] = ['failed', 'failed', 'done', 'done', 'failed', 'done'];
    add('a', { run: () => Promise.resolve(outcomes.shift() ?? 'done') });
    scheduler.start();
    await clock.advance(9 * MINUTE_MS, settle);
    expect(differences(startsOf('a')).map((waitMs) => waitMs / MINUTE_MS)).toEqual([1, 2, 1, 1, 1, 1, 1]);
  });

  test('Scheduler never waits longer than the interval when that is above five minutes', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('rare', { intervalMs: 60 * MINUTE_MS, run: () => Promise.resolve('failed') });
    scheduler.start();
    await clock.advance(600 * MINUTE_MS, settle);
    expect(new Set(differences(startsOf('rare')))).toEqual(new Set([60 * MINUTE_MS]));
  });

  test('Scheduler lets a failing activity slow down no other', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('dead', { run: () => Promise.resolve('failed') });
    add('well');
    scheduler.start();
    await clock.advance(20 * MINUTE_MS, settle);
    expect(startsOf('well')).toHaveLength(20);
    expect(startsOf('dead').length).toBeLessThan(8);
  });
});

describe('serial keys and the cap', () => {
  test('Scheduler never runs two activities of one serial key at once, and lets none starve', async () => {
    const { clock, scheduler, add, startsOf } = createBench();
    let running = 0;
    let runningMost = 0;
    for (const key of ['status', 'logs', 'backup']) {
      add(key, {
        serialKey: 'plant-7',
        intervalMs: 10_000,
        run: async (signal) => {
          runningMost = Math.max(runningMost, ++running);
          await clock.sleep(6000, signal);
          running--;
          return 'done';
        },
      });
    }
    scheduler.start();
    await clock.advance(10 * MINUTE_MS);
    expect(runningMost).toBe(1);
    for (const key of ['status', 'logs', 'backup']) expect(startsOf(key).length).toBeGreaterThan(25);
  });

  test('Scheduler runs activities of different serial keys at once', async () => {
    const { clock, scheduler, add, turns } = createBench();
    for (const key of ['a', 'b', 'c']) add(key, { run: lasting(clock, 50_000) });
    scheduler.start();
    await clock.advance(100);
    expect(turns).toHaveLength(3);
  });

  test('Scheduler has no more runs under way than its cap, and begins the next as soon as one ends', async () => {
    // Two of them for polls.
    const { clock, scheduler, add, turns } = createBench(3);
    let running = 0;
    let runningMost = 0;
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    for (const [index, gate] of gates.entries()) {
      add(`router-${index}`, {
        isPoll: true,
        run: async () => {
          runningMost = Math.max(runningMost, ++running);
          await gate.promise;
          running--;
          return 'done';
        },
      });
    }
    scheduler.start();
    await clock.advance(100);
    expect(turns).toHaveLength(2);
    for (const gate of gates) gate.resolve();
    await scheduler.whenIdle();
    expect(turns).toHaveLength(5);
    expect(runningMost).toBe(2);
  });
});

describe('Scheduler.stalledMs', () => {
  test('is zero while runs start and end, and before, after and without them', async () => {
    const { clock, scheduler, add, settle } = createBench();
    await clock.advance(MINUTE_MS);
    expect(scheduler.stalledMs).toBe(0);
    scheduler.start();
    await clock.advance(MINUTE_MS);
    expect(scheduler.stalledMs).toBe(0);
    add('a', { intervalMs: 60 * MINUTE_MS });
    await clock.advance(59 * MINUTE_MS, settle);
    // Between two runs nothing is due.
    expect(scheduler.stalledMs).toBe(0);
    add('b', { run: lasting(clock, 5 * MINUTE_MS) });
    await clock.advance(4 * MINUTE_MS);
    await scheduler.stop();
    expect(scheduler.stalledMs).toBe(0);
  });

  test('grows while a run hangs and no other starts or ends', async () => {
    const { clock, scheduler, add } = createBench(1);
    const gate = createGate();
    add('hangs', { run: gate.run });
    add('waits');
    scheduler.start();
    await clock.advance(10 * MINUTE_MS);
    expect(scheduler.stalledMs).toBeGreaterThan(9 * MINUTE_MS);
    gate.open('done');
    await scheduler.whenIdle();
    expect(scheduler.stalledMs).toBe(0);
  });
});

describe('report and end', () => {
  test('Scheduler reports each run with its outcome, how late it was and how long it took', async () => {
    const { clock, scheduler, add, ended } = createBench();
    add('first', { serialKey: 'x', run: lasting(clock, 3000) });
    add('second', {
      serialKey: 'x',
      run: async (signal) => {
        await clock.sleep(500, signal);
        return 'failed';
      },
    });
    scheduler.start();
    await clock.advance(5000);
    expect(ended).toHaveLength(2);
    const [before, after] = ended;
    expect(before).toMatchObject({ type: 'run-ended', lagMs: 0 });
    // Whichever came first in the serial key, the other had to wait for it.
    expect(after?.lagMs).toBeGreaterThan(0);
    expect(new Set(ended.map(({ key, outcome, durationMs }) => `${key} ${outcome} ${durationMs}`))).toEqual(
      new Set(['first done 3000', 'second failed 500']),
    );
  });

  test('Scheduler.stop() aborts the runs under way, waits for their end and begins no other', async () => {
    const { clock, scheduler, add, turns, ended } = createBench(1);
    const events: string[] = [];
    const run: Activity['run'] = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          setImmediate(() => {
            events.push('turn ended');
            reject(signal.reason);
          });
        });
      });
    add('under way', { run });
    add('in the same lane', { serialKey: 'under way' });
    add('over the cap');
    scheduler.start();
    await clock.advance(100);
    const begun = turns.length;
    await scheduler.stop();
    events.push('stopped');
    await clock.advance(60 * MINUTE_MS);
    expect(events.at(-1)).toBe('stopped');
    expect(turns.length).toBe(begun);
    expect(ended.filter(({ key }) => key === 'under way')).toEqual([]);
  });

  test('Scheduler.whenIdle() resolves at once when no run is under way', async () => {
    const { scheduler, add } = createBench();
    add('a');
    await scheduler.whenIdle();
    scheduler.start();
    await scheduler.whenIdle();
    await scheduler.stop();
  });

  test('Scheduler does nothing without activities', async () => {
    const { clock, scheduler, turns } = createBench();
    scheduler.start();
    await clock.advance(MINUTE_MS);
    await scheduler.stop();
    expect(turns).toEqual([]);
  });
});

test('Scheduler reports a run that rejects, and gives the router its next runs all the same', async () => {
  const { clock, scheduler, add, ended, startsOf, settle } = createBench();
  const cause = new RangeError('a fault of the program');
  add('a', { serialKey: 'router', run: () => Promise.reject(cause) });
  add('b', { serialKey: 'router' });
  scheduler.start();
  await clock.advance(3 * MINUTE_MS, settle);
  expect(startsOf('b')).toHaveLength(3);
  expect(startsOf('a').length).toBeGreaterThan(1);
  expect(ended.find(({ key }) => key === 'a')).toMatchObject({ outcome: 'failed', error: cause });
});

/** Adds activities whose runs last until the scheduler stops. */
function addMany(
  { add, clock }: Pick<ReturnType<typeof createBench>, 'add' | 'clock'>,
  name: string,
  options: { readonly count?: number; readonly isPoll?: boolean; readonly isFailing?: boolean },
): void {
  const { count = 20, isPoll = false, isFailing = false } = options;
  let runs = 0;
  for (let index = 0; index < count; index++) {
    const run: Activity['run'] = async (signal) => {
      if (isFailing && runs++ < count) return 'failed';
      await clock.sleep(60 * MINUTE_MS, signal).catch(() => {});
      return 'done';
    };
    add(`${name}-${index}`, { isPoll, run });
  }
}

describe('places for runs', () => {
  test.for([
    ['polls', true, 8],
    ['downloads', false, 4],
  ] as const)('%s alone take their own of 12 places', async ([name, isPoll, most]) => {
    const bench = createBench(12);
    addMany(bench, name, { isPoll });
    bench.scheduler.start();
    await bench.clock.advance(MINUTE_MS);
    expect(bench.scheduler.load).toEqual({ running: most, waiting: 20 - most, heldBack: 0, max: 12 });
    await bench.scheduler.stop();
  });

  test('downloads that last leave polls all of theirs, and polls that last leave downloads theirs', async () => {
    const bench = createBench(12);
    addMany(bench, 'download', {});
    bench.scheduler.start();
    await bench.clock.advance(MINUTE_MS);
    addMany(bench, 'poll', { isPoll: true });
    await bench.clock.advance(MINUTE_MS);
    expect(bench.scheduler.load).toMatchObject({ running: 12, waiting: 28 });
    await bench.scheduler.stop();
  });

  test.for([
    ['polls', true, 2, 6],
    ['downloads', false, 1, 3],
  ] as const)(
    '%s of routers that fail take a quarter at most, and the others the rest',
    async ([name, isPoll, most, rest]) => {
      const bench = createBench(12);
      addMany(bench, name, { isPoll, isFailing: true });
      bench.scheduler.start();
      await bench.clock.advance(3 * MINUTE_MS);
      expect(bench.scheduler.load).toMatchObject({ running: most, waiting: 0, heldBack: 20 - most });
      addMany(bench, 'others', { isPoll });
      await bench.clock.advance(MINUTE_MS);
      expect(bench.scheduler.load).toMatchObject({ running: most + rest, waiting: 20 - rest, heldBack: 20 - most });
      await bench.scheduler.stop();
    },
  );

  test.for([1, 2])('with a limit of %d, there is one place for polls and one for downloads', async (runsMax) => {
    const bench = createBench(runsMax);
    addMany(bench, 'download', {});
    addMany(bench, 'poll', { isPoll: true });
    bench.scheduler.start();
    await bench.clock.advance(MINUTE_MS);
    expect(bench.scheduler.load).toMatchObject({ running: 2, max: 2 });
    await bench.scheduler.stop();
  });

  test('a lower limit lets what is under way go on, a higher one takes effect at once', async () => {
    const bench = createBench(6);
    addMany(bench, 'poll', { isPoll: true });
    bench.scheduler.start();
    await bench.clock.advance(MINUTE_MS);
    bench.scheduler.limitRuns(3);
    expect(bench.scheduler.load).toMatchObject({ running: 4, max: 3 });
    bench.scheduler.limitRuns(9);
    expect(bench.scheduler.load).toMatchObject({ running: 6, max: 9 });
    await bench.scheduler.stop();
  });
});
