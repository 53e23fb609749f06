import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createSteppedClock, createSystemClock, Steps, TurnShare, yieldToLoop } from '../../src/base/index.ts';

const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

test('yieldToLoop() resolves after what was due before it', async () => {
  const order: string[] = [];
  setImmediate(() => order.push('due'));
  await Promise.resolve();
  await yieldToLoop();
  order.push('on');
  expect(order).toEqual(['due', 'on']);
});

test('Steps lets everybody else have a turn between two steps of a few milliseconds', async () => {
  const clock = createSteppedClock(START_MS);
  const steps = new Steps(clock);
  expect(steps.isDue).toBe(false);
  await clock.advance(2);
  expect(steps.isDue).toBe(true);
  const due = vi.fn();
  setImmediate(due);
  await steps.next();
  expect(due).toHaveBeenCalled();
  expect(steps.isDue).toBe(false);
});

test('Steps gives several loops that share them one step in each turn', async () => {
  let nowMs = 0;
  const steps = new Steps({ monotonic: () => nowMs });
  const loops = new Set(Array.from({ length: 10 }).keys());
  const turnsMs: number[] = [];
  const loop = async (_: unknown, index: number) => {
    for (let piece = 0; piece < 12; piece++) {
      nowMs++;
      if (steps.isDue) await steps.next();
    }
    loops.delete(index);
  };
  const ended = Promise.all(Array.from({ length: loops.size }, loop));
  while (loops.size > 0) {
    const beganMs = nowMs;
    await yieldToLoop();
    turnsMs.push(nowMs - beganMs);
  }
  await ended;
  // Each of the others does the piece that it had begun.
  expect(Math.max(...turnsMs)).toBeLessThanOrEqual(2 + 9);
});

test('Steps counts the work in steps that has just ended into its first step', async () => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs };
  const former = new Steps(clock);
  await former.next();
  nowMs += 1;
  const next = new Steps(clock);
  expect(next.isDue).toBe(false);
  nowMs += 1;
  expect(next.isDue).toBe(true);
  await yieldToLoop();
  nowMs += 1;
  expect(new Steps(clock).isDue).toBe(false);
});

test('TurnShare ends the work of a turn after a few milliseconds, and goes on in the next if something was left', async () => {
  let nowMs = 0;
  const onNext = vi.fn();
  const turns = new TurnShare({ monotonic: () => nowMs }, onNext);
  const work = (forMs: number) =>
    turns.do(() => {
      nowMs += forMs;
    });
  work(1.5);
  expect(turns.isSpent).toBe(false);
  await yieldToLoop();
  expect(onNext).not.toHaveBeenCalled();
  work(1.5);
  // Time in which others worked does not count.
  nowMs += 1000;
  expect(turns.isSpent).toBe(false);
  work(1);
  expect([turns.isSpent, turns.isSpent]).toEqual([true, true]);
  await yieldToLoop();
  expect(onNext).toHaveBeenCalledOnce();
  expect(turns.isSpent).toBe(false);
});

test('TurnShare begins as many pieces in a turn as fit into it with what they go on with', async () => {
  let nowMs = 0;
  let taken = 0;
  const turns = new TurnShare({ monotonic: () => nowMs }, () => {}, 8);
  const begin = async (forMs: number) => {
    taken++;
    await Promise.resolve();
    await Promise.resolve();
    nowMs += forMs;
    await yieldToLoop();
    // What it goes on with after it has waited counts no more.
    nowMs += 100;
  };
  const countPieces = async (forMs: number) => {
    for (let turn = 0; turn < 30; turn++) {
      taken = 0;
      while (!turns.isSpent) turns.do(() => void begin(forMs));
      await yieldToLoop();
      await yieldToLoop();
    }
    return taken;
  };
  expect(await countPieces(0.1)).toBe(8);
  expect(await countPieces(0.5)).toBe(4);
  expect(await countPieces(20)).toBe(2);
  expect(await countPieces(0.2)).toBe(8);
});

test('SteppedClock stands still until it is told to move', async () => {
  const clock = createSteppedClock(START_MS);
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS, 0]);
  await clock.advance(1500);
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS + 1500, 1500]);
});

test('SteppedClock.jump() moves the wall time and leaves the monotonic time and its timers alone', async () => {
  const clock = createSteppedClock(START_MS);
  const fire = vi.fn();
  clock.setTimer(1000, fire);
  clock.jump(-86_400_000);
  expect([clock.now(), clock.monotonic()]).toEqual([START_MS - 86_400_000, 0]);
  clock.jump(10 * 86_400_000);
  await clock.advance(999);
  expect(fire).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(fire).toHaveBeenCalledTimes(1);
});

test('SteppedClock.advance() fires timers in the order of their times, equal ones as they were set', async () => {
  const clock = createSteppedClock(0);
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name}@${clock.monotonic()}`);
  clock.setTimer(20, note('late'));
  clock.setTimer(10, note('first'));
  clock.setTimer(10, note('second'));
  clock.setTimer(31, note('never'));
  await clock.advance(30);
  expect(fired).toEqual(['first@10', 'second@10', 'late@20']);
  expect(clock.monotonic()).toBe(30);
});

test('SteppedClock.advance() also fires timers that were set by the ones it fired', async () => {
  const clock = createSteppedClock(0);
  const firedMs: number[] = [];
  const again = () => {
    firedMs.push(clock.monotonic());
    clock.setTimer(10, again);
  };
  clock.setTimer(10, again);
  await clock.advance(35);
  expect(firedMs).toEqual([10, 20, 30]);
});

test('SteppedClock.advance() waits for the work of a timer before it fires the next', async () => {
  const clock = createSteppedClock(0);
  const events: string[] = [];
  let isSettled = true;
  clock.setTimer(10, () => {
    isSettled = false;
    events.push('first began');
  });
  clock.setTimer(20, () => void events.push(`second began, settled: ${isSettled}`));
  await clock.advance(20, async () => {
    events.push('settle');
    isSettled = true;
  });
  expect(events).toEqual(['first began', 'settle', 'second began, settled: true', 'settle']);
});

test('SteppedClock does not fire a timer that was cancelled, not even by another of the same moment', async () => {
  const clock = createSteppedClock(0);
  const fire = vi.fn();
  clock.setTimer(10, () => later.cancel());
  const later = clock.setTimer(10, fire);
  const early = clock.setTimer(5, fire);
  early.cancel();
  early.cancel();
  await clock.advance(100);
  expect(fire).not.toHaveBeenCalled();
});

test('SteppedClock fires a timer of the past at the next step and without going back', async () => {
  const clock = createSteppedClock(0);
  await clock.advance(50);
  const firedMs: number[] = [];
  clock.setTimer(-10, () => void firedMs.push(clock.monotonic()));
  await clock.advance(0);
  expect(firedMs).toEqual([50]);
});

for (const [name, create] of [
  ['SteppedClock', () => createSteppedClock(0)],
  ['SystemClock', createSystemClock],
] as const) {
  test(`${name}.sleep() rejects with the reason at once when its signal has been aborted`, async () => {
    const reason = new RangeError('enough');
    await expect(create().sleep(1e9, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test(`${name}.sleep() rejects with the reason when its signal aborts meanwhile`, async () => {
    const abort = new AbortController();
    const reason = new RangeError('enough');
    const sleep = create().sleep(1e9, abort.signal);
    abort.abort(reason);
    await expect(sleep).rejects.toBe(reason);
  });
}

test('SteppedClock.sleep() resolves when its time has come, and an abort after that changes nothing', async () => {
  const clock = createSteppedClock(0);
  const abort = new AbortController();
  const woken = vi.fn();
  const sleep = clock.sleep(100, abort.signal).then(woken);
  await clock.advance(99);
  expect(woken).not.toHaveBeenCalled();
  await clock.advance(1);
  abort.abort(new RangeError('too late'));
  await sleep;
  expect(woken).toHaveBeenCalledTimes(1);
});

test('SteppedClock.sleep() leaves nothing behind on a signal that outlives it', async () => {
  const clock = createSteppedClock(0);
  const abort = new AbortController();
  const sleeps = [clock.sleep(1, abort.signal), clock.sleep(2, abort.signal)];
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(2);
  await clock.advance(2);
  await Promise.all(sleeps);
  expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
});

test('SystemClock.setTimer() fires once, and not when cancelled before', async () => {
  const clock = createSystemClock();
  const cancelled = vi.fn();
  clock.setTimer(0, cancelled).cancel();
  await new Promise<void>((resolve) => clock.setTimer(0, resolve));
  await clock.sleep(0);
  expect(cancelled).not.toHaveBeenCalled();
});

test('SystemClock.setTimer() does not fire at once when the delay is longer than the system can wait', async () => {
  const clock = createSystemClock();
  const fire = vi.fn();
  const timer = clock.setTimer(2 ** 31 + 5, fire);
  await clock.sleep(5);
  expect(fire).not.toHaveBeenCalled();
  timer.cancel();
});

test('SystemClock.monotonic() never goes back', () => {
  const clock = createSystemClock();
  const times = Array.from({ length: 1000 }, () => clock.monotonic());
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});
