import { expect, test } from 'vitest';
import { findRunsMax } from '../../src/schedule/index.ts';

const GIBIBYTE = 1024 ** 3;

test.for([
  ['a large machine', { descriptors: 1_048_576, memoryBytes: 64 * GIBIBYTE }, 4096],
  ['few open files', { descriptors: 1024, memoryBytes: 64 * GIBIBYTE }, 512],
  ['a small container', { descriptors: 1_048_576, memoryBytes: GIBIBYTE / 4 }, 256],
  ['a system that says nothing of open files', { descriptors: undefined, memoryBytes: GIBIBYTE }, 1024],
  ['hardly anything', { descriptors: 20, memoryBytes: 1 }, 16],
] as const)('without a configured limit, %s decides on the number of concurrent runs', ([, resources, runsMax]) => {
  expect(findRunsMax(resources)).toBe(runsMax);
});
