import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import { expect, onTestFinished, test, vi } from 'vitest';
import { boundHeapGrowth } from '../../src/agent/heap-growth.ts';

test('boundHeapGrowth() leaves the heap of a few routers to V8, and lets that of a fleet grow by less than a third', () => {
  const set = vi.spyOn(v8, 'setFlagsFromString').mockReturnValue(undefined);
  syncBuiltinESMExports();
  onTestFinished(() => {
    set.mockRestore();
    syncBuiltinESMExports();
  });
  boundHeapGrowth(200);
  expect(set).not.toHaveBeenCalled();
  boundHeapGrowth(10_000);
  expect(set.mock.calls).toEqual([['--heap-growing-percent=30']]);
});
