import { expect, test } from 'vitest';
import { createBench, createGate, differences, lasting, MINUTE_MS, peek } from './scheduler-bench.ts';

test('Scheduler.trigger() begins a run at once and resolves with how it ended', async () => {
  const { clock, scheduler, add, turns, settle } = createBench();
  const outcomes: ('done' | 'failed')[] = ['done', 'done', 'failed'];
  add('a', { run: () => Promise.resolve(outcomes.shift() ?? 'done') });
  scheduler.start();
  await clock.advance(MINUTE_MS / 2, settle);
  expect(await scheduler.trigger('a')).toBe('done');
  await clock.advance(1000, settle);
  expect(await scheduler.trigger('a')).toBe('failed');
  expect(turns.map(({ startedMs, isTriggered }) => ({ startedMs, isTriggered }))).toEqual([
    { startedMs: expect.any(Number), isTriggered: false },
    { startedMs: 30_000, isTriggered: true },
    { startedMs: 31_000, isTriggered: true },
  ]);
});

test('Scheduler.trigger() resolves with failed for a run that rejects', async () => {
  const { clock, scheduler, add, ended, settle } = createBench();
  add('a', { run: () => Promise.reject(new RangeError('a fault of the program')) });
  scheduler.start();
  await clock.advance(100, settle);
  expect(await scheduler.trigger('a')).toBe('failed');
  expect(ended.map(({ isTriggered }) => isTriggered)).toEqual([false, true]);
});

test('Scheduler.trigger() resolves with gone for what is not there, is removed meanwhile, or after stop', async () => {
  const { clock, scheduler, add } = createBench();
  const gates = [createGate(), createGate()];
  add('running', { ...gates[0], serialKey: 'x' });
  add('waiting', { serialKey: 'x' });
  add('stopped', { ...gates[1], serialKey: 'y' });
  scheduler.start();
  await clock.advance(100);
  expect(await scheduler.trigger('nobody')).toBe('gone');
  const answers = ['running', 'waiting', 'stopped'].map((key) => scheduler.trigger(key));
  void scheduler.remove('waiting');
  void scheduler.remove('running');
  expect(await Promise.all(answers.slice(0, 2))).toEqual(['gone', 'gone']);
  const stopped = scheduler.stop();
  expect(await answers[2]).toBe('gone');
  for (const gate of gates) gate.open('done');
  await stopped;
  expect(await scheduler.trigger('stopped')).toBe('gone');
});

test('Scheduler.trigger() joins a run under way, even one that was not triggered', async () => {
  const { clock, scheduler, add, turns } = createBench();
  const gate = createGate();
  add('a', gate);
  scheduler.start();
  await clock.advance(100);
  const answers = [scheduler.trigger('a'), scheduler.trigger('a')];
  expect(await Promise.all(answers.map(peek))).toEqual(['pending', 'pending']);
  gate.open('failed');
  expect(await Promise.all(answers)).toEqual(['failed', 'failed']);
  await scheduler.whenIdle();
  expect(turns).toHaveLength(1);
});

test('Scheduler.trigger() waits for the serial key, and all triggers until then share one run', async () => {
  const { clock, scheduler, add, startsOf, turns } = createBench();
  let isAwaited = () => false;
  add('logs', {
    serialKey: 'x',
    intervalMs: 60 * MINUTE_MS,
    run: async (signal, turn) => {
      isAwaited = turn.isAwaited;
      await clock.sleep(40_000, signal);
      return 'done';
    },
  });
  scheduler.start();
  await clock.advance(20);
  add('status', { serialKey: 'x', intervalMs: 60 * MINUTE_MS, run: lasting(clock, 1000) });
  await clock.advance(100);
  // The first run of status itself waits already.
  expect(isAwaited()).toBe(true);
  const answers = [scheduler.trigger('status')];
  await clock.advance(10_000);
  answers.push(scheduler.trigger('status'), scheduler.trigger('status'));
  expect(startsOf('status')).toEqual([]);
  await clock.advance(31_000);
  expect(await Promise.all(answers)).toEqual(['done', 'done', 'done']);
  expect(turns.filter(({ key }) => key === 'status')).toMatchObject([{ isTriggered: true }]);
  // Now one that is not due: it makes the long run of the serial key know, waits for its end, and is one run for all.
  void scheduler.trigger('logs');
  await clock.advance(10);
  expect(isAwaited()).toBe(false);
  answers.push(scheduler.trigger('status'), scheduler.trigger('status'));
  expect(isAwaited()).toBe(true);
  await clock.advance(20_000);
  expect(startsOf('status')).toHaveLength(1);
  await clock.advance(30_000);
  expect(await Promise.all(answers)).toEqual(Array(5).fill('done'));
  expect(startsOf('status')).toHaveLength(2);
});

test('Scheduler.trigger() holds to the cap of runs', async () => {
  const { clock, scheduler, add, turns } = createBench(1);
  const gate = createGate();
  add('a', { ...gate, intervalMs: 60 * MINUTE_MS });
  scheduler.start();
  await clock.advance(20);
  add('b', { intervalMs: 60 * MINUTE_MS });
  const answer = scheduler.trigger('b');
  expect(await peek(answer)).toBe('pending');
  expect(turns.map(({ key }) => key)).toEqual(['a']);
  gate.open('done');
  expect(await answer).toBe('done');
});

test('Scheduler.trigger() moves no run of the schedule', async () => {
  const [asked, unasked] = [createBench(), createBench()];
  for (const { add, scheduler, clock } of [asked, unasked]) {
    add('a', { run: lasting(clock, 500) });
    scheduler.start();
  }
  await unasked.clock.advance(20 * MINUTE_MS);
  for (let index = 0; index < 20; index++) {
    await asked.clock.advance(20_000);
    void asked.scheduler.trigger('a');
    await asked.clock.advance(40_000);
  }
  const regular = asked.turns.filter(({ isTriggered }) => !isTriggered).map(({ startedMs }) => startedMs);
  expect(regular).toEqual(unasked.startsOf('a'));
  expect(asked.turns).toHaveLength(40);
});

test('Scheduler.trigger() serves a scheduled time that comes while its run is under way', async () => {
  const { clock, scheduler, add, startsOf, lagsOf } = createBench();
  add('a', { run: lasting(clock, 10_000) });
  scheduler.start();
  await clock.advance(MINUTE_MS - 5000);
  const [placeMs = 0] = startsOf('a');
  void scheduler.trigger('a');
  await clock.advance(2 * MINUTE_MS);
  // The run that was asked for at 0:55 ends at 1:05: the scheduled time at 1:00 has no other, and 2:00 is not moved.
  expect(startsOf('a')).toEqual([placeMs, MINUTE_MS - 5000, placeMs + 2 * MINUTE_MS]);
  expect(lagsOf('a')).toEqual([0, undefined, 0]);
});

test('Scheduler.trigger() that ends at the scheduled time has served it', async () => {
  const { clock, scheduler, add, startsOf } = createBench();
  add('a', { run: lasting(clock, 10_000) });
  scheduler.start();
  await clock.advance(30_000);
  const [placeMs = 0] = startsOf('a');
  await clock.advance(placeMs + 20_000);
  void scheduler.trigger('a');
  await clock.advance(2 * MINUTE_MS);
  expect(startsOf('a')).toEqual([placeMs, placeMs + 50_000, placeMs + 2 * MINUTE_MS]);
});

test('Scheduler reports the lag of a run that was both due and asked for, and none of one ahead of its scheduled time', async () => {
  const { clock, scheduler, add, ended } = createBench();
  add('long', { serialKey: 'x', intervalMs: 60 * MINUTE_MS, run: lasting(clock, 10_000) });
  add('a', { serialKey: 'x' });
  scheduler.start();
  await clock.advance(5000);
  void scheduler.trigger('a');
  await clock.advance(15_000);
  void scheduler.trigger('a');
  await scheduler.whenIdle();
  expect(ended.filter(({ key }) => key === 'a')).toMatchObject([
    { isTriggered: true, lagMs: 10_000 },
    { isTriggered: true, lagMs: undefined },
  ]);
});

test('Scheduler.trigger() ends a back-off when its run works, and the schedule is as before', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  let isUp = false;
  add('a', { run: () => Promise.resolve(isUp ? 'done' : 'failed') });
  scheduler.start();
  await clock.advance(8 * MINUTE_MS, settle);
  // Runs at 0, 1, 3 and 7 minutes; the next would come at 12.
  const placeMs = (startsOf('a')[0] ?? 0) % MINUTE_MS;
  expect(startsOf('a').map((startMs) => (startMs - placeMs) / MINUTE_MS)).toEqual([0, 1, 3, 7]);
  isUp = true;
  await clock.advance(MINUTE_MS / 2, settle);
  expect(await scheduler.trigger('a')).toBe('done');
  await clock.advance(3 * MINUTE_MS, settle);
  expect(
    startsOf('a')
      .slice(5)
      .map((startMs) => (startMs - placeMs) / MINUTE_MS),
  ).toEqual([9, 10, 11]);
});

test('Scheduler.trigger() drives nothing into back-off, however often its runs fail', async () => {
  const { clock, scheduler, add, turns, settle } = createBench();
  add('a', { run: () => Promise.resolve('failed') });
  scheduler.start();
  for (let index = 0; index < 60; index++) {
    await clock.advance(MINUTE_MS / 2, settle);
    await scheduler.trigger('a');
  }
  const regular = turns.filter(({ isTriggered }) => !isTriggered).map(({ startedMs }) => startedMs);
  expect(differences(regular).map((waitMs) => waitMs / MINUTE_MS)).toEqual([1, 2, 4, 5, 5, 5, 5]);
});

test('Scheduler.trigger() before start is answered by the first run', async () => {
  const { clock, scheduler, add, turns, settle } = createBench();
  add('a');
  const answer = scheduler.trigger('a');
  expect(await peek(answer)).toBe('pending');
  expect(turns).toEqual([]);
  scheduler.start();
  await clock.advance(100, settle);
  expect(await answer).toBe('done');
  expect(turns).toMatchObject([{ isTriggered: true }]);
});

test('Scheduler runs an activity without an interval only when it is triggered, even before the start', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  add('status', { serialKey: 'router' });
  add('backup', { serialKey: 'router', intervalMs: Number.POSITIVE_INFINITY });
  add('other', { intervalMs: Number.POSITIVE_INFINITY });
  const asked = scheduler.trigger('backup');
  scheduler.start();
  await clock.advance(10 * MINUTE_MS, settle);
  expect(await asked).toBe('done');
  expect(startsOf('backup')).toEqual([0]);

  expect(await scheduler.trigger('backup')).toBe('done');
  await clock.advance(10 * MINUTE_MS, settle);
  expect(startsOf('backup')).toEqual([0, 10 * MINUTE_MS]);
  expect(startsOf('other')).toEqual([]);
  expect(startsOf('status')).toHaveLength(20);
});

test('Scheduler runs an activity whose interval is Infinity only when it is triggered', async () => {
  const { clock, scheduler, add, startsOf, lagsOf, settle } = createBench();
  const outcomes: ('done' | 'failed')[] = ['failed', 'failed', 'failed', 'done'];
  const rare = { intervalMs: Infinity, run: () => Promise.resolve(outcomes.shift() ?? 'done') };
  add('router/backup', { ...rare, serialKey: 'router' });
  add('router/status', { serialKey: 'router' });
  scheduler.start();
  add('late/backup', { ...rare, serialKey: 'late' });
  await clock.advance(10 * MINUTE_MS, settle);
  expect(startsOf('router/backup')).toEqual([]);
  for (const outcome of ['failed', 'failed', 'failed', 'done', 'done']) {
    expect(await scheduler.trigger('router/backup')).toBe(outcome);
    await clock.advance(10 * MINUTE_MS, settle);
  }
  expect(startsOf('router/backup').map((startMs) => startMs / MINUTE_MS)).toEqual([10, 20, 30, 40, 50]);
  expect(new Set(lagsOf('router/backup'))).toEqual(new Set([undefined]));
  expect(startsOf('router/status')).toHaveLength(60);
  expect(startsOf('late/backup')).toEqual([]);
});

test('Scheduler.trigger() of an activity whose interval is Infinity waits for start, and for the serial key', async () => {
  const { clock, scheduler, add, startsOf } = createBench();
  const gate = createGate();
  add('status', { ...gate, serialKey: 'x' });
  add('backup', { serialKey: 'x', intervalMs: Infinity });
  const early = scheduler.trigger('backup');
  expect(await peek(early)).toBe('pending');
  scheduler.start();
  expect(await early).toBe('done');
  await clock.advance(100);
  const late = scheduler.trigger('backup');
  expect(await peek(late)).toBe('pending');
  gate.open('done');
  expect(await late).toBe('done');
  expect(startsOf('backup')).toEqual([0, 100]);
  await scheduler.remove('backup');
  expect(await scheduler.trigger('backup')).toBe('gone');
});

test('Scheduler lets an activity whose interval is Infinity be paused', async () => {
  const { clock, scheduler, add, startsOf, settle } = createBench();
  let isPaused = true;
  add('backup', { intervalMs: Infinity, isPaused: () => isPaused });
  scheduler.start();
  await clock.advance(MINUTE_MS, settle);
  expect(await scheduler.trigger('backup')).toBe('failed');
  isPaused = false;
  expect(await scheduler.trigger('backup')).toBe('done');
  await clock.advance(60 * MINUTE_MS, settle);
  expect(startsOf('backup')).toEqual([MINUTE_MS]);
});
