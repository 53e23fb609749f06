import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createSteppedClock, createSystemClock, StepQueue, Steps, yieldToLoop } from '../../src/base/index.ts';

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

test('StepQueue lets one after another begin, and the next turn of the event loop has what does not fit into a few milliseconds', async () => {
  let nowMs = 0;
  let begun = 0;
  const queue = new StepQueue({ monotonic: () => nowMs }, 0);
  const work = async (forMs: number) => {
    await queue.next();
    begun++;
    await Promise.resolve();
    await Promise.resolve();
    // What it goes on with before it waits belongs to its piece.
    nowMs += forMs;
    await yieldToLoop();
    // What it goes on with later does not.
  };
  const countTurns = async (pieces: number, forMs: number) => {
    begun = 0;
    const done = Promise.all(Array.from({ length: pieces }, () => work(forMs)));
    const counts: number[] = [];
    for (let turn = 0; turn < 10; turn++) {
      const before = begun;
      await yieldToLoop();
      counts.push(begun - before);
    }
    await done;
    return counts.filter((count) => count > 0);
  };
  expect(await countTurns(8, 0.1)).toEqual([8]);
  expect(await countTurns(8, 0.5)).toEqual([4, 4]);
  expect(await countTurns(3, 20)).toEqual([1, 1, 1]);
});

test('StepQueue gives way to others for as long as they work in each turn, but no longer than it was told', async () => {
  let nowMs = 0;
  let othersMs = 20;
  const queue = new StepQueue({ monotonic: () => nowMs }, 50);
  const startsMs: number[] = [];
  const done = Promise.all(
    [0, 1, 2, 3].map(async () => {
      await queue.next();
      startsMs.push(nowMs);
      nowMs += 2;
    }),
  );
  for (let turn = 0; turn < 40; turn++) {
    if (startsMs.length === 2) othersMs = 1;
    nowMs += othersMs;
    await yieldToLoop();
  }
  await done;
  const waitsMs = startsMs.map((startMs, index) => startMs - (startsMs[index - 1] ?? 0));
  expect(waitsMs[1]).toBeGreaterThanOrEqual(50);
  expect(waitsMs[1]).toBeLessThanOrEqual(50 + 2 * 20);
  expect(waitsMs[3]).toBeLessThanOrEqual(5);
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
