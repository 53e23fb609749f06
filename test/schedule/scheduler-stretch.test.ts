import { expect, test } from 'vitest';
import { createBench, createGate, differences, lasting, MINUTE_MS, peek } from './scheduler-bench.ts';

test('Scheduler leaves out scheduled times as the interval multiplier says, and takes up each change at the next scheduled time', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  let stretch = 1;
  add('a', { intervalMultiplier: () => stretch });
  scheduler.start();
  const waitsOf = async (minutes: number) => {
    const before = startsOf('a').length;
    await clock.advance(minutes * MINUTE_MS, settle);
    return differences(startsOf('a').slice(before - 1)).map((waitMs) => waitMs / MINUTE_MS);
  };
  await clock.advance(MINUTE_MS, settle);
  expect(await waitsOf(3)).toEqual([1, 1, 1]);
  stretch = 4;
  expect(await waitsOf(12)).toEqual([4, 4, 4]);
  stretch = 8;
  expect(await waitsOf(6)).toEqual([]);
  // Not two minutes later, as the last run would have had it.
  stretch = 1;
  expect(await waitsOf(2)).toEqual([7, 1]);
});

test('Scheduler gives a stretched activity its first run as soon as any', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  add('a', { intervalMultiplier: () => 8 });
  scheduler.start();
  await clock.advance(16 * MINUTE_MS + 100, settle);
  expect(startsOf('a')[0]).toBeLessThan(100);
  expect(differences(startsOf('a'))).toEqual([8 * MINUTE_MS, 8 * MINUTE_MS]);
});

test('Scheduler waits for the longer of back-off and multiplier', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  add('a', { intervalMultiplier: () => 3, run: () => Promise.resolve('failed') });
  scheduler.start();
  await clock.advance(30 * MINUTE_MS, settle);
  expect(differences(startsOf('a')).map((waitMs) => waitMs / MINUTE_MS)).toEqual([3, 3, 4, 5, 5, 5]);
});

test('Scheduler counts stretching as no lag, and a run beyond it as lag', async () => {
  const { clock, scheduler, add, startsOf, lagsOf } = createBench();
  add('a', { intervalMultiplier: () => 2, run: lasting(clock, 2.5 * MINUTE_MS) });
  add('b', { intervalMultiplier: () => 2, run: lasting(clock, 1.5 * MINUTE_MS) });
  scheduler.start();
  await clock.advance(20 * MINUTE_MS);
  expect(new Set(differences(startsOf('a')))).toEqual(new Set([3 * MINUTE_MS]));
  expect(new Set(differences(startsOf('b')))).toEqual(new Set([2 * MINUTE_MS]));
  expect(lagsOf('a').slice(0, 5)).toEqual([0, MINUTE_MS, MINUTE_MS, MINUTE_MS, MINUTE_MS]);
  expect(new Set(lagsOf('b'))).toEqual(new Set([0]));
});

test('Scheduler lets a stretched or paused activity make no long run of its serial key make way', async () => {
  const { clock, scheduler, add } = createBench();
  const seen: boolean[] = [];
  add('status', { serialKey: 'x', intervalMs: 10_000, intervalMultiplier: () => 100 });
  add('paused', { serialKey: 'x', intervalMs: 10_000, isPaused: () => true });
  add('logs', {
    serialKey: 'x',
    intervalMs: 60 * MINUTE_MS,
    run: async (signal, turn) => {
      await clock.sleep(50_000, signal);
      seen.push(turn.isAwaited());
      return 'done';
    },
  });
  scheduler.start();
  await clock.advance(MINUTE_MS);
  expect(seen).toEqual([false]);
});

test('Scheduler.trigger() ignores the interval multiplier, and does not move what it lets through', async () => {
  const { clock, scheduler, add, turns, settle } = createBench();
  add('a', { intervalMultiplier: () => 4 });
  scheduler.start();
  for (let index = 0; index < 12; index++) {
    await clock.advance(MINUTE_MS / 2, settle);
    await scheduler.trigger('a');
    await clock.advance(MINUTE_MS / 2, settle);
  }
  expect(turns.filter(({ isTriggered }) => isTriggered)).toHaveLength(12);
  const regular = turns.filter(({ isTriggered }) => !isTriggered).map(({ startedMs }) => startedMs);
  expect(differences(regular)).toEqual([4 * MINUTE_MS, 4 * MINUTE_MS]);
});

test('Scheduler begins no run of a paused activity, goes on at the next scheduled time after the pause, and reports no lag', async () => {
  const { clock, scheduler, add, startsOf, lagsOf, settle } = createBench();
  let isPaused = false;
  add('a', { isPaused: () => isPaused });
  add('b');
  scheduler.start();
  await clock.advance(2 * MINUTE_MS, settle);
  isPaused = true;
  await clock.advance(60 * MINUTE_MS, settle);
  expect(startsOf('a')).toHaveLength(2);
  expect(startsOf('b')).toHaveLength(62);
  isPaused = false;
  await clock.advance(2 * MINUTE_MS, settle);
  expect(differences(startsOf('a')).map((waitMs) => waitMs / MINUTE_MS)).toEqual([1, 61, 1]);
  expect(lagsOf('a')).toEqual([0, 0, 0, 0]);
});

test('Scheduler.trigger() resolves with failed at once while the activity is paused, and no run begins', async () => {
  const { clock, scheduler, add, turns, settle } = createBench();
  let isPaused = true;
  add('a', { isPaused: () => isPaused });
  scheduler.start();
  await clock.advance(MINUTE_MS / 2, settle);
  expect(await scheduler.trigger('a')).toBe('failed');
  expect(turns).toEqual([]);
  isPaused = false;
  expect(await scheduler.trigger('a')).toBe('done');
  // Also while another activity has the serial key.
  const gate = createGate();
  add('b', { ...gate, serialKey: 'a' });
  void scheduler.trigger('b');
  isPaused = true;
  expect(await peek(scheduler.trigger('a'))).toBe('failed');
  gate.open('done');
});

test('Scheduler.trigger() joins a run under way though a pause has set in meanwhile', async () => {
  const { clock, scheduler, add } = createBench();
  const gate = createGate();
  let isPaused = false;
  add('a', { ...gate, isPaused: () => isPaused });
  scheduler.start();
  await clock.advance(100);
  isPaused = true;
  const answer = scheduler.trigger('a');
  gate.open('done');
  expect(await answer).toBe('done');
});

test('Scheduler begins no run that was waiting when the pause set in, and the others of the serial key go on', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  let isPaused = false;
  add('logs', {
    serialKey: 'x',
    intervalMs: 10 * MINUTE_MS,
    run: async (signal) => {
      await clock.sleep(40_000, signal);
      isPaused = true;
      return 'done';
    },
  });
  add('status', { serialKey: 'x', isPaused: () => isPaused });
  add('last', { serialKey: 'x', intervalMs: 10 * MINUTE_MS });
  scheduler.start();
  await clock.advance(20_000);
  const answer = scheduler.trigger('status');
  expect(await peek(answer)).toBe('pending');
  await clock.advance(20_100);
  expect(await answer).toBe('failed');
  expect(startsOf('status')).toEqual([]);
  expect(startsOf('last')).toHaveLength(1);
  isPaused = false;
  await clock.advance(3 * MINUTE_MS, settle);
  // It kept its schedule, which began with that of the other.
  const [logsMs = 0] = startsOf('logs');
  expect(startsOf('status').map((startMs) => startMs - logsMs)).toEqual([1, 2, 3].map((place) => place * MINUTE_MS));
});

test('Scheduler.trigger() that was let wait into a pause leaves back-off and schedule as they were', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench(1);
  let isPaused = false;
  add('a', { isPaused: () => isPaused, run: () => Promise.resolve('failed') });
  scheduler.start();
  await clock.advance(MINUTE_MS + 10_000, settle);
  add('blocker', { intervalMs: 60 * MINUTE_MS, run: lasting(clock, 10_000) });
  void scheduler.trigger('blocker');
  const answer = scheduler.trigger('a');
  isPaused = true;
  await clock.advance(11_000);
  expect(await answer).toBe('failed');
  isPaused = false;
  await clock.advance(3 * MINUTE_MS, settle);
  expect(differences(startsOf('a'))).toEqual([MINUTE_MS, 2 * MINUTE_MS]);
});
