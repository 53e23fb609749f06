import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HeapGrowth } from '../../src/agent/heap-growth.ts';

const [BY_V8, BOUND] = ['--heap-growing-percent=0', '--heap-growing-percent=30'];

/** Records the flags that are set, in place of V8. */
function watchFlags(): () => unknown {
  const set = vi.spyOn(v8, 'setFlagsFromString').mockReturnValue(undefined);
  syncBuiltinESMExports();
  onTestFinished(() => {
    set.mockRestore();
    syncBuiltinESMExports();
  });
  return () => set.mock.lastCall?.[0];
}

test('HeapGrowth.bound() leaves the heap of a few routers to V8, and lets that of a fleet grow by less than a third', () => {
  const lastFlag = watchFlags();
  const heap = new HeapGrowth();
  heap.bound(200);
  expect(lastFlag()).toBe(BY_V8);
  heap.bound(10_000);
  expect(lastFlag()).toBe(BOUND);
});

test('HeapGrowth.duringLoad() leaves the heap to V8 until the load has ended, whatever its outcome', async () => {
  const lastFlag = watchFlags();
  const heap = new HeapGrowth();
  heap.bound(10_000);
  const ended = heap.duringLoad(async () => {
    expect(lastFlag()).toBe(BY_V8);
    heap.bound(9000);
    expect(lastFlag()).toBe(BY_V8);
    throw new RangeError('no');
  });
  await expect(ended).rejects.toThrow('no');
  expect(lastFlag()).toBe(BOUND);
});
