import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Activity } from '../../src/schedule/index.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { createBench, createGate, differences, lasting, MINUTE_MS, peek } from './scheduler-bench.ts';

describe('Scheduler.add() after start', () => {
  test('Scheduler.add() gives an activity its first run within 20 ms per activity, then one per interval', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    for (let index = 0; index < 9; index++) add(`router-${index}`);
    scheduler.start();
    await clock.advance(10 * MINUTE_MS + 123.4, settle);
    const addedMs = clock.monotonic();
    add('late');
    await clock.advance(10 * MINUTE_MS, settle);
    const [firstMs = 0, ...rest] = startsOf('late');
    expect(firstMs).toBeGreaterThanOrEqual(addedMs);
    expect(firstMs).toBeLessThan(addedMs + 201);
    expect(rest).toHaveLength(9);
    expect(new Set(differences(startsOf('late')))).toEqual(new Set([MINUTE_MS]));
  });

  test('Scheduler.add() spreads many activities by their serial keys, over no more than the interval', async () => {
    const { clock, scheduler, add, turns, settle } = createBench();
    scheduler.start();
    await clock.advance(MINUTE_MS, settle);
    for (let index = 0; index < 500; index++) add(`router-${index}`, { intervalMs: 4000 });
    await clock.advance(3999, settle);
    expect(turns).toHaveLength(500);
    for (const quarterMs of [0, 1000, 2000, 3000]) {
      const within = turns.filter(({ startedMs }) => Math.floor((startedMs - MINUTE_MS) / 1000) * 1000 === quarterMs);
      expect(within.length).toBeGreaterThan(50);
    }
  });

  test('Scheduler.add() gives what is added for one router at the same time its runs in one go', async () => {
    const { clock, scheduler, add, turns, settle } = createBench();
    scheduler.start();
    for (let index = 0; index < 50; index++) {
      await clock.advance(0.7);
      add(`router-${index}/status`, { serialKey: `router-${index}` });
      await clock.advance(0.7);
      add(`router-${index}/logs`, { serialKey: `router-${index}`, intervalMs: MINUTE_MS / 2 });
    }
    await clock.advance(MINUTE_MS - 100, settle);
    for (let index = 0; index < 50; index++) {
      const own = turns.filter(({ key }) => key.startsWith(`router-${index}/`));
      expect(own.map(({ key }) => key.replace(/.*\//, ''))).toEqual(['status', 'logs', 'logs']);
      expect(own[0]?.startedMs).toBe(own[1]?.startedMs);
    }
  });

  test('Scheduler.add() does not wait for a run of the same router that comes much later', async () => {
    const { clock, scheduler, add, startsOf, settle } = createBench();
    add('rare', { serialKey: 'x', intervalMs: 60 * MINUTE_MS });
    scheduler.start();
    await clock.advance(MINUTE_MS, settle);
    add('often', { serialKey: 'x' });
    await clock.advance(100, settle);
    expect(startsOf('often')).toHaveLength(1);
  });

  test('Scheduler.add() with the key of another activity replaces that', async () => {
    const { clock, scheduler, add, turns, settle } = createBench();
    const runs: string[] = [];
    const runAs = (name: string): Activity['run'] => {
      return () => {
        runs.push(name);
        return Promise.resolve('done');
      };
    };
    add('a', { run: runAs('first') });
    add('a', { run: runAs('second') });
    scheduler.start();
    await clock.advance(MINUTE_MS, settle);
    expect(runs).toEqual(['second']);
    add('a', { run: runAs('third') });
    await clock.advance(2 * MINUTE_MS, settle);
    expect(runs).toEqual(['second', 'third', 'third']);
    expect(turns).toHaveLength(3);
  });
});

describe('Scheduler.remove()', () => {
  test('Scheduler.remove() ends the runs of one activity, and moves no run of any other', async () => {
    const [changed, unchanged] = [createBench(), createBench()];
    for (const { add, scheduler } of [changed, unchanged]) {
      for (let index = 0; index < 10; index++) {
        add(`router-${index}`, {
          run: () => Promise.resolve(index === 3 ? 'failed' : 'done'),
        });
      }
      scheduler.start();
    }
    await unchanged.clock.advance(20 * MINUTE_MS, unchanged.settle);
    const { clock, scheduler, add, startsOf, settle } = changed;
    await clock.advance(3.5 * MINUTE_MS, settle);
    await scheduler.remove('router-5');
    add('new');
    await clock.advance(16.5 * MINUTE_MS, settle);
    expect(startsOf('router-5')).toEqual(unchanged.startsOf('router-5').slice(0, 4));
    expect(startsOf('new')).toHaveLength(17);
    // Back-off included: router-3 fails.
    for (const index of [0, 1, 2, 3, 4, 6, 7, 8, 9]) {
      expect(startsOf(`router-${index}`)).toEqual(unchanged.startsOf(`router-${index}`));
    }
  });

  test('Scheduler.remove() aborts a run under way and resolves when it has ended, unreported', async () => {
    const { clock, scheduler, add, ended } = createBench();
    const gate = createGate();
    const other = createGate();
    add('a', gate);
    add('b', other);
    scheduler.start();
    await clock.advance(MINUTE_MS / 2);
    const removed = scheduler.remove('a');
    expect(gate.signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(other.signals.map(({ aborted }) => aborted)).toEqual([false]);
    expect(await peek(removed)).toBe('pending');
    gate.open('done');
    await removed;
    other.open('done');
    await scheduler.whenIdle();
    await clock.advance(5 * MINUTE_MS);
    expect(gate.signals).toHaveLength(1);
    expect(ended.map(({ key }) => key)).not.toContain('a');
    expect(other.signals.length).toBeGreaterThan(4);
  });

  test('Scheduler.remove() keeps the serial key until an aborted run has ended, then the others of the serial key go on', async () => {
    const { clock, scheduler, add, startsOf } = createBench();
    const gate = createGate();
    add('status', { ...gate, serialKey: 'plant-7' });
    add('logs', { serialKey: 'plant-7' });
    scheduler.start();
    await clock.advance(MINUTE_MS);
    const removed = scheduler.remove('status');
    // The same router with new settings.
    add('status', { serialKey: 'plant-7' });
    await clock.advance(MINUTE_MS);
    expect(startsOf('logs')).toEqual([]);
    expect(startsOf('status')).toHaveLength(1);
    gate.open('failed');
    await removed;
    await clock.advance(10 * MINUTE_MS);
    expect(startsOf('logs')).toHaveLength(11);
    expect(startsOf('status')).toHaveLength(12);
  });

  test('Scheduler.remove() takes an activity out of its serial key while it waits there', async () => {
    const { clock, scheduler, add, startsOf } = createBench();
    const gate = createGate();
    add('first', { ...gate, serialKey: 'x' });
    add('second', { serialKey: 'x' });
    add('third', { serialKey: 'x' });
    scheduler.start();
    await clock.advance(100);
    await scheduler.remove('second');
    gate.open('done');
    await scheduler.whenIdle();
    expect(startsOf('second')).toEqual([]);
    expect(startsOf('third')).toHaveLength(1);
    await clock.advance(5 * MINUTE_MS);
    expect(startsOf('second')).toEqual([]);
    expect(startsOf('third')).toHaveLength(6);
  });

  test('Scheduler.remove() takes an activity out while it waits for the cap, and the next of its serial key steps in', async () => {
    const { clock, scheduler, add, turns, startsOf } = createBench(1);
    const gate = createGate();
    scheduler.start();
    add('blocker', { ...gate, intervalMs: 60 * MINUTE_MS });
    await clock.advance(20);
    add('ready', { serialKey: 'x' });
    add('behind', { serialKey: 'x' });
    await clock.advance(100);
    expect(turns.map(({ key }) => key)).toEqual(['blocker']);
    await scheduler.remove('ready');
    gate.open('done');
    await scheduler.whenIdle();
    expect(turns.map(({ key }) => key)).toEqual(['blocker', 'behind']);
    await clock.advance(5 * MINUTE_MS);
    expect(startsOf('ready')).toEqual([]);
    expect(startsOf('behind')).toHaveLength(6);
  });

  test('Scheduler.remove() begins at once what had no scheduled time while its run was under way', async () => {
    const { clock, scheduler, add, startsOf } = createBench(1);
    const gate = createGate();
    add('a', gate);
    scheduler.start();
    await clock.advance(100);
    add('b');
    await clock.advance(100);
    expect(startsOf('b')).toEqual([]);
    const removed = scheduler.remove('a');
    gate.open('done');
    await removed;
    await scheduler.whenIdle();
    expect(startsOf('b')).toEqual([200]);
  });

  test('Scheduler.remove() resolves for an activity that is not there, that never ran, and after stop', async () => {
    const { clock, scheduler, add, turns } = createBench();
    await scheduler.remove('nobody');
    add('a');
    add('b');
    await scheduler.remove('a');
    scheduler.start();
    await clock.advance(MINUTE_MS);
    expect(turns.map(({ key }) => key)).toEqual(['b']);
    await scheduler.stop();
    await scheduler.remove('b');
  });

  test('Scheduler keeps nothing of routers that come and go', async () => {
    const { clock, scheduler, add } = createBench();
    scheduler.start();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 10_000; index++) {
      const lane = `${index}${'x'.repeat(2000)}`;
      add('a', { serialKey: lane });
      if (index % 2 === 0) void scheduler.trigger('a');
      void scheduler.remove('a');
    }
    await clock.advance(MINUTE_MS);
    collectGarbage();
    // The names alone are 20 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
    await scheduler.stop();
  });

  test('Scheduler keeps nothing of what was removed, wherever it stood', async () => {
    const { clock, scheduler, add, startsOf } = createBench(10);
    const gate = createGate();
    scheduler.start();
    add('blocker', { ...gate, serialKey: 'shared' });
    await clock.advance(100);
    const seen: WeakRef<object>[] = [];
    const addTracked = (key: string, options: Partial<Activity>) => {
      const load = { bytes: new Uint8Array(1000) };
      seen.push(new WeakRef(load));
      add(key, { ...options, isPaused: () => load.bytes.length === 0 });
    };
    // Alternately they wait in a serial key, are under way or rest for a day, and at last they wait for a free run.
    for (let index = 0; index < 50; index++) {
      const lane = index % 3 === 0 ? 'shared' : `lane-${index}`;
      const run = lasting(clock, index % 3 === 1 ? MINUTE_MS : 0);
      addTracked(`tracked-${index}`, { serialKey: lane, intervalMs: 1440 * MINUTE_MS, run });
      void scheduler.trigger(`tracked-${index}`);
      await clock.advance(30);
    }
    expect(seen.filter((ref) => ref.deref()).length).toBe(50);
    await Promise.all(Array.from({ length: 50 }, (_, index) => scheduler.remove(`tracked-${index}`)));
    await peek(Promise.resolve());
    collectGarbage();
    expect(seen.filter((ref) => ref.deref())).toEqual([]);
    // The scheduler itself is still alive.
    gate.open('done');
    await scheduler.whenIdle();
    await clock.advance(5 * MINUTE_MS);
    expect(startsOf('blocker').length).toBeGreaterThan(4);
  });
});

test('Scheduler keeps one run per serial key, its cap and its schedules over any order of additions, removals and triggers', () => {
  const key = fc.constantFrom('a/1', 'a/2', 'b/1', 'b/2', 'c/1');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), key, durationMs: fc.constantFrom(0, 3, 17, 45) }),
    fc.record({ kind: fc.constant('remove' as const), key }),
    fc.record({ kind: fc.constant('trigger' as const), key }),
    fc.record({ kind: fc.constant('advance' as const), byMs: fc.nat(60) }),
  );
  return fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { clock, scheduler, add, turns } = createBench(2);
      const running = new Map<string, number>();
      const present = new Set<string>();
      const pending: Promise<unknown>[] = [];
      scheduler.start();
      for (const current of steps) {
        switch (current.kind) {
          case 'add': {
            const [lane = ''] = current.key.split('/');
            present.add(current.key);
            add(current.key, {
              serialKey: lane,
              intervalMs: 20,
              run: async (signal) => {
                running.set(lane, (running.get(lane) ?? 0) + 1);
                expect(running.get(lane)).toBe(1);
                expect([...running.values()].reduce((sum, count) => sum + count)).toBeLessThanOrEqual(2);
                await clock.sleep(current.durationMs, signal).catch(() => {});
                running.set(lane, (running.get(lane) ?? 0) - 1);
                return 'done';
              },
            });
            break;
          }
          case 'remove':
            present.delete(current.key);
            pending.push(scheduler.remove(current.key));
            break;
          case 'trigger':
            pending.push(scheduler.trigger(current.key));
            break;
          case 'advance':
            await clock.advance(current.byMs);
        }
      }
      // Lets aborted runs end, so that those behind them have begun when the clock moves.
      await peek(Promise.resolve());
      await clock.advance(1000);
      await Promise.all(pending);
      // Only activities that still exist have runs.
      const begun = turns.length;
      await clock.advance(1000);
      expect(new Set(turns.slice(begun).map((turn) => turn.key))).toEqual(present);
      await scheduler.stop();
      expect([...running.values()].every((count) => count === 0)).toBe(true);
    }),
    { numRuns: 200 },
  );
});
