import { spawnSync } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HeapGrowth } from '../../src/agent/heap-growth.ts';

const LOADING = [
  '--heap-growing-percent=0',
  '--no-compact',
  '--page-promotion-threshold=10',
  '--minor-gc-task-trigger=20',
];
const FEW = ['--heap-growing-percent=100', '--compact', '--page-promotion-threshold=70', '--minor-gc-task-trigger=80'];
const MANY = ['--heap-growing-percent=30', '--compact', '--page-promotion-threshold=70', '--minor-gc-task-trigger=80'];

/** Records the flags that are set, in place of V8. Returns those since the last call. */
function watchFlags(): () => unknown {
  const set = vi.spyOn(v8, 'setFlagsFromString').mockReturnValue(undefined);
  syncBuiltinESMExports();
  onTestFinished(() => {
    set.mockRestore();
    syncBuiltinESMExports();
  });
  return () => {
    const flags = set.mock.calls.map(([flag]) => flag);
    set.mockClear();
    return flags;
  };
}

test('HeapGrowth.bound() lets the heap of a few routers grow twofold, and that of a fleet by less than a third', () => {
  const takeFlags = watchFlags();
  const heap = new HeapGrowth();
  heap.bound(200);
  expect(takeFlags()).toEqual(FEW);
  heap.bound(10_000);
  expect(takeFlags()).toEqual(MANY);
});

test('HeapGrowth.duringLoad() leaves the heap to V8 and copies little until the load has ended, whatever its outcome', async () => {
  const takeFlags = watchFlags();
  const heap = new HeapGrowth();
  heap.bound(10_000);
  takeFlags();
  const ended = heap.duringLoad(async () => {
    expect(takeFlags()).toEqual(LOADING);
    heap.bound(9000);
    expect(takeFlags()).toEqual(LOADING);
    throw new RangeError('no');
  });
  await expect(ended).rejects.toThrow('no');
  expect(takeFlags()).toEqual(MANY);
});

test('V8 has the flags of both times', () => {
  // It prints an error for a flag that it does not know, and goes on.
  const { stderr } = spawnSync(process.execPath, [...LOADING, ...MANY, '--eval', '0'], { encoding: 'utf8' });
  expect(stderr).toBe('');
});
