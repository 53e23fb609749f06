import { expect, test, vi } from 'vitest';
import { createSteppedClock, DeadlineExceeded, Lifecycle } from '../../src/base/index.ts';

test('Lifecycle.stop() runs the steps in reverse order, each after the one before has ended', async () => {
  const clock = createSteppedClock(0);
  const lifecycle = new Lifecycle(clock);
  const events: string[] = [];
  for (const name of ['store', 'sinks', 'schedule']) {
    lifecycle.onStop(name, 1000, async () => {
      events.push(`${name} began`);
      await clock.sleep(10);
      events.push(`${name} ended`);
    });
  }
  const stopped = lifecycle.stop();
  await clock.advance(30);
  expect(await stopped).toEqual([]);
  expect(events).toEqual([
    'schedule began',
    'schedule ended',
    'sinks began',
    'sinks ended',
    'store began',
    'store ended',
  ]);
});

test('Lifecycle.stop() aborts a step that hangs after its limit, and continues', async () => {
  const clock = createSteppedClock(0);
  const lifecycle = new Lifecycle(clock);
  const last = vi.fn();
  let abortReason: unknown;
  lifecycle.onStop('last', 1000, last);
  lifecycle.onStop('stuck', 200, (signal) => {
    signal.addEventListener('abort', () => {
      abortReason = signal.reason;
    });
    return new Promise(() => {});
  });
  const stopped = lifecycle.stop();
  await clock.advance(199);
  expect(last).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(await stopped).toEqual([{ step: 'stuck', cause: expect.any(DeadlineExceeded) }]);
  expect(last).toHaveBeenCalledTimes(1);
  expect(abortReason).toBeInstanceOf(DeadlineExceeded);
});

test('Lifecycle.stop() reports steps that fail, at once or later, and never rejects', async () => {
  const lifecycle = new Lifecycle(createSteppedClock(0));
  const [now, later] = [new RangeError('now'), new RangeError('later')];
  lifecycle.onStop('fails later', 1000, () => Promise.reject(later));
  lifecycle.onStop('works', 1000, () => {});
  lifecycle.onStop('fails at once', 1000, () => {
    throw now;
  });
  expect(await lifecycle.stop()).toEqual([
    { step: 'fails at once', cause: now },
    { step: 'fails later', cause: later },
  ]);
});

test('Lifecycle.stop() runs each step once, however often it is called', async () => {
  const lifecycle = new Lifecycle(createSteppedClock(0));
  const step = vi.fn(() => Promise.reject(new RangeError('no')));
  lifecycle.onStop('step', 1000, step);
  const [first, second] = await Promise.all([lifecycle.stop(), lifecycle.stop()]);
  expect(await lifecycle.stop()).toBe(first);
  expect(second).toBe(first);
  expect(step).toHaveBeenCalledTimes(1);
});
