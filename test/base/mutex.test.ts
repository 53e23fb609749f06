import { expect, test, vi } from 'vitest';
import { Mutex } from '../../src/base/index.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

test('Mutex.run() runs one piece of work at a time, in the order of asking', async () => {
  const mutex = new Mutex();
  const events: string[] = [];
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const runs = gates.map((gate, index) =>
    mutex.run(async () => {
      events.push(`${index} began`);
      await gate.promise;
      events.push(`${index} ended`);
    }),
  );
  for (const gate of gates.toReversed()) gate.resolve();
  await Promise.all(runs);
  expect(events).toEqual(['0 began', '0 ended', '1 began', '1 ended', '2 began', '2 ended']);
});

test('Mutex.run() passes on what the work gave or threw, and goes on after a failure', async () => {
  const mutex = new Mutex();
  const cause = new RangeError('no');
  const failed = mutex.run(() => Promise.reject(cause));
  const done = mutex.run(() => Promise.resolve(7));
  await expect(failed).rejects.toBe(cause);
  expect(await done).toBe(7);
});

test('Mutex.run() rejects at once when aborted while waiting, and its work never begins', async () => {
  const mutex = new Mutex();
  const gate = Promise.withResolvers<void>();
  const first = mutex.run(() => gate.promise);
  const abort = new AbortController();
  const work = vi.fn(() => Promise.resolve());
  const waiting = mutex.run(work, abort.signal);
  const reason = new RangeError('changed my mind');
  abort.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  gate.resolve();
  await first;
  await mutex.run(() => Promise.resolve());
  expect(work).not.toHaveBeenCalled();
});

test('Mutex.run() does not begin with an aborted signal', async () => {
  const work = vi.fn(() => Promise.resolve());
  const reason = new RangeError('no');
  const mutex = new Mutex();
  await expect(mutex.run(work, AbortSignal.abort(reason))).rejects.toBe(reason);
  await mutex.run(() => Promise.resolve());
  expect(work).not.toHaveBeenCalled();
});

test('Mutex.run() keeps others out until work that was aborted has really ended', async () => {
  const mutex = new Mutex();
  const abort = new AbortController();
  const began = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const aborted = mutex.run(() => {
    began.resolve();
    return gate.promise;
  }, abort.signal);
  await began.promise;
  abort.abort(new RangeError('stop'));
  await expect(aborted).rejects.toThrow('stop');
  const next = vi.fn(() => Promise.resolve());
  const following = mutex.run(next);
  await new Promise((resolve) => setImmediate(resolve));
  expect(next).not.toHaveBeenCalled();
  gate.resolve();
  await following;
  expect(next).toHaveBeenCalledTimes(1);
});

test('Mutex.run() does not hold what the last work gave', async () => {
  const mutex = new Mutex();
  const open = async () => new WeakRef(await mutex.run(() => Promise.resolve({ body: 'x' })));
  const given = await open();
  const isForgotten = () => {
    collectGarbage();
    return given.deref() === undefined;
  };
  await expect.poll(isForgotten).toBe(true);
});
