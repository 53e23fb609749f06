import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  createSteppedClock,
  createSystemClock,
  forEachYielding,
  StepQueue,
  yieldToLoop,
} from '../../src/base/index.ts';

const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

test('yieldToLoop() resolves after what was due before it', async () => {
  const order: string[] = [];
  setImmediate(() => order.push('due'));
  await Promise.resolve();
  await yieldToLoop();
  order.push('on');
  expect(order).toEqual(['due', 'on']);
});

/** Replaces the time of the system by one that only the test moves, from far after what was before it. */
function holdTime(): { nowMs: number } {
  const time = { nowMs: performance.now() + 1e6 };
  const now = vi.spyOn(performance, 'now').mockImplementation(() => time.nowMs);
  onTestFinished(() => now.mockRestore());
  return time;
}

/** Returns the milliseconds of held time that pass in each event-loop iteration until `work` has ended. */
async function measureIterations(time: { readonly nowMs: number }, work: Promise<unknown>): Promise<readonly number[]> {
  const iterationsMs: number[] = [];
  const nextIteration = async () => {
    const beganMs = time.nowMs;
    await yieldToLoop();
    iterationsMs.push(time.nowMs - beganMs);
    return 'running';
  };
  const ended = work.then(() => 'ended');
  while ((await Promise.race([ended, nextIteration()])) === 'running');
  return iterationsMs;
}

test('forEachYielding() gives its function each item once, in order and one at a time', async () => {
  const events: string[] = [];
  await forEachYielding(new Set(['a', 'b']), async (item) => {
    events.push(`${item} began`);
    await yieldToLoop();
    events.push(`${item} ended`);
  });
  expect(events).toEqual(['a began', 'a ended', 'b began', 'b ended']);
});

test('forEachYielding() yields to the event loop every few milliseconds', async () => {
  const time = holdTime();
  const work = forEachYielding(Array.from({ length: 40 }), () => {
    time.nowMs += 0.5;
  });
  const iterationsMs = await measureIterations(time, work);
  expect(Math.max(...iterationsMs)).toBeLessThanOrEqual(2.5);
  expect(iterationsMs.length).toBeGreaterThanOrEqual(8);
  expect(iterationsMs.length).toBeLessThanOrEqual(12);
});

test('forEachYielding() has concurrent loops share the milliseconds of one event-loop iteration', async () => {
  const time = holdTime();
  const loop = () =>
    forEachYielding(Array.from({ length: 12 }), () => {
      time.nowMs += 1;
    });
  const iterationsMs = await measureIterations(time, Promise.all(Array.from({ length: 10 }, loop)));
  // Each of the others does the item that it had begun.
  expect(Math.max(...iterationsMs)).toBeLessThanOrEqual(2 + 9);
});

test('forEachYielding() rejects with what its function throws, and takes no further item', async () => {
  const reason = new RangeError('enough');
  const items = [1, 2, 3].values();
  const work = forEachYielding(items, () => {
    throw reason;
  });
  await expect(work).rejects.toBe(reason);
  expect([...items]).toEqual([2, 3]);
});

test('StepQueue starts one after the other, and leaves to the next event-loop iteration what does not fit into a few milliseconds', async () => {
  let nowMs = 0;
  let begun = 0;
  const queue = new StepQueue({ monotonic: () => nowMs }, 0);
  const work = async (forMs: number) => {
    await queue.next();
    begun++;
    await Promise.resolve();
    await Promise.resolve();
    // Work until it waits belongs to its piece.
    nowMs += forMs;
    await yieldToLoop();
    // Later work does not.
  };
  const countTurns = async (pieces: number, forMs: number) => {
    begun = 0;
    const done = Promise.all(Array.from({ length: pieces }, () => work(forMs)));
    const counts: number[] = [];
    for (let iteration = 0; iteration < 10; iteration++) {
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

test('StepQueue gives way to other work in each event-loop iteration, but no longer than its limit', async () => {
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
  for (let iteration = 0; iteration < 40; iteration++) {
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

test('SteppedClock stands still until it is advanced', async () => {
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
