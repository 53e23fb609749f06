import { expect, test, vi } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { StepLoop, type StepLoopOptions, type StepLoopOutcome } from '../../src/schedule/index.ts';

function createBench(step: StepLoopOptions['step'], leastWaitMs?: number) {
  const clock = createSteppedClock(0);
  const stepsMs: number[] = [];
  const failures: unknown[] = [];
  const loop = new StepLoop({
    step: (signal, turn) => {
      stepsMs.push(clock.monotonic());
      return step(signal, turn);
    },
    onFailure: (cause) => {
      failures.push(cause);
      return leastWaitMs;
    },
    backoff: { firstMs: 1000, ceilingMs: 8000 },
    clock,
    // The whole of each wait, so that waits can be distinguished.
    random: () => 1,
  });
  return { clock, loop, stepsMs, failures };
}

/** A step that hands out one outcome after the other, and after that is idle. */
function scripted(...outcomes: (StepLoopOutcome | Error)[]): StepLoopOptions['step'] {
  return () => {
    const outcome = outcomes.shift() ?? 'idle';
    return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
  };
}

/** A signal that is never aborted. */
const never = () => new AbortController().signal;

test('StepLoop is idle until it is woken, then repeats its step until the step is idle', async () => {
  const { loop, stepsMs } = createBench(scripted('more', 'more', 'idle', 'more'));
  await loop.whenIdle();
  expect(stepsMs).toHaveLength(0);
  loop.wake();
  await loop.whenIdle();
  expect(stepsMs).toHaveLength(3);
});

test('StepLoop makes another step when it is woken during the last one', async () => {
  const gate = Promise.withResolvers<void>();
  let count = 0;
  const { loop, stepsMs } = createBench(async () => {
    if (count++ === 0) await gate.promise;
    return 'idle';
  });
  loop.wake();
  loop.wake();
  loop.wake();
  gate.resolve();
  await loop.whenIdle();
  expect(stepsMs).toHaveLength(2);
});

test('StepLoop never makes two steps at once', async () => {
  let running = 0;
  let runningMost = 0;
  const { loop } = createBench(async () => {
    runningMost = Math.max(runningMost, ++running);
    await Promise.resolve();
    running--;
    return 'idle';
  });
  for (let count = 0; count < 5; count++) loop.wake();
  await loop.whenIdle();
  expect(runningMost).toBe(1);
});

test('StepLoop waits longer after each failure up to a ceiling, reports each, and retries without limit', async () => {
  const cause = new RangeError('sink down');
  const { clock, loop, stepsMs, failures } = createBench(() => Promise.reject(cause));
  loop.wake();
  await loop.whenIdle();
  await clock.advance(40_000);
  expect(stepsMs).toEqual([0, 1000, 3000, 7000, 15_000, 23_000, 31_000, 39_000]);
  expect(failures).toEqual(stepsMs.map(() => cause));
});

test('StepLoop begins with the shortest wait again after a step that worked', async () => {
  const no = new RangeError('no');
  const { clock, loop, stepsMs } = createBench(scripted(no, no, 'more', no, 'idle'));
  loop.wake();
  await loop.whenIdle();
  await clock.advance(60_000);
  expect(stepsMs).toEqual([0, 1000, 3000, 3000, 4000]);
});

test('StepLoop does not cut a wait short when it is woken meanwhile', async () => {
  const { clock, loop, stepsMs } = createBench(scripted(new RangeError('no')));
  loop.wake();
  await loop.whenIdle();
  await clock.advance(500);
  loop.wake();
  await loop.whenIdle();
  await clock.advance(499);
  expect(stepsMs).toEqual([0]);
  await clock.advance(1);
  expect(stepsMs).toEqual([0, 1000]);
});

test('StepLoop.hurry() repeats a failed step at once, and nothing where none has failed', async () => {
  const { clock, loop, stepsMs } = createBench(scripted(new Error('No'), new Error('No'), 'idle'));
  loop.hurry();
  loop.wake();
  await loop.whenIdle();
  await clock.advance(400);
  loop.hurry();
  await new Promise(setImmediate);
  expect(stepsMs).toEqual([0, 400]);
  await clock.advance(2000, () => loop.whenIdle());
  expect(stepsMs).toEqual([0, 400, 2400]);
  loop.hurry();
  expect(stepsMs).toHaveLength(3);
});

test('StepLoop.whenIdle() resolves while the loop waits after a failure', async () => {
  const { clock, loop, failures } = createBench(() => Promise.reject(new RangeError('no')));
  loop.wake();
  await loop.whenIdle();
  expect(failures).toHaveLength(1);
  expect(clock.monotonic()).toBe(0);
});

test('StepLoop.drain() works off what is left and then stops for good', async () => {
  const { clock, loop, stepsMs } = createBench(scripted('more', 'more', 'idle'));
  await loop.drain(never());
  expect(stepsMs).toHaveLength(3);
  loop.wake();
  await loop.whenIdle();
  await clock.advance(60_000);
  expect(stepsMs).toHaveLength(3);
});

test('StepLoop.drain() ends at the first step that fails', async () => {
  const { clock, loop, stepsMs, failures } = createBench(() => Promise.reject(new RangeError('no')));
  await loop.drain(never());
  await clock.advance(60_000);
  expect(stepsMs).toEqual([0]);
  expect(failures).toHaveLength(1);
});

test('StepLoop.drain() joins a step under way and makes the ones that follow', async () => {
  const gate = Promise.withResolvers<void>();
  let count = 0;
  const { loop, stepsMs } = createBench(async () => {
    if (count++ === 0) await gate.promise;
    return count < 4 ? 'more' : 'idle';
  });
  loop.wake();
  const drained = vi.fn();
  const draining = loop.drain(never()).then(drained);
  await new Promise((resolve) => setImmediate(resolve));
  expect(drained).not.toHaveBeenCalled();
  gate.resolve();
  await draining;
  expect(stepsMs).toHaveLength(4);
});

test('StepLoop.drain() makes no step more while the loop waits after a failure', async () => {
  const { clock, loop, stepsMs } = createBench(() => Promise.reject(new RangeError('no')));
  loop.wake();
  await loop.whenIdle();
  await loop.drain(never());
  await clock.advance(60_000);
  expect(stepsMs).toEqual([0]);
});

test('StepLoop.drain() aborts the step under way when its signal aborts, and does not count that as a failure', async () => {
  const began = Promise.withResolvers<void>();
  const { loop, failures } = createBench(
    (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        began.resolve();
      }),
  );
  const abort = new AbortController();
  const drained = loop.drain(abort.signal);
  await began.promise;
  abort.abort(new RangeError('time is over'));
  await drained;
  expect(failures).toEqual([]);
});

test('StepLoop.drain() makes no step with a signal that has been aborted', async () => {
  const { loop, stepsMs } = createBench(scripted('more', 'more', 'idle'));
  await loop.drain(AbortSignal.abort());
  expect(stepsMs).toHaveLength(0);
});

test('StepLoop waits as long as a step asks for, counts as idle meanwhile, and steps again', async () => {
  const { clock, loop, stepsMs } = createBench(scripted({ waitMs: 300 }, 'idle'));
  loop.wake();
  await loop.whenIdle();
  expect(stepsMs).toEqual([0]);
  loop.wake();
  expect(stepsMs).toEqual([0]);
  await clock.advance(300);
  await loop.whenIdle();
  expect(stepsMs).toEqual([0, 300]);
});

test('StepLoop.drain() cuts such a wait short and says that it is the end', async () => {
  const turns: boolean[] = [];
  const { loop } = createBench((_, { isLast }) => {
    turns.push(isLast);
    return Promise.resolve(isLast ? 'idle' : { waitMs: 300 });
  });
  loop.wake();
  await loop.whenIdle();
  await loop.drain(never());
  expect(turns).toEqual([false, true]);
});

test('StepLoop waits at least as long as its owner says after a failure', async () => {
  const { clock, loop, stepsMs } = createBench(scripted(new RangeError('busy'), 'idle'), 5000);
  loop.wake();
  await loop.whenIdle();
  await clock.advance(4999);
  expect(stepsMs).toEqual([0]);
  await clock.advance(1);
  await loop.whenIdle();
  expect(stepsMs).toEqual([0, 5000]);
});

test('StepLoop takes the longer of its back-off and the wait that its owner asks for, after every failure', async () => {
  const { clock, loop, stepsMs } = createBench(() => Promise.reject(new RangeError('busy')), 3000);
  loop.wake();
  await loop.whenIdle();
  await clock.advance(30_000);
  // The back-off alone is 1, 2, 4 and 8 seconds.
  expect(stepsMs).toEqual([0, 3000, 6000, 10_000, 18_000, 26_000]);
});

test('StepLoop waits longer than its ceiling when its owner asks for that', async () => {
  const { clock, loop, stepsMs } = createBench(() => Promise.reject(new RangeError('busy')), 60_000);
  loop.wake();
  await loop.whenIdle();
  await clock.advance(150_000);
  expect(stepsMs).toEqual([0, 60_000, 120_000]);
});
