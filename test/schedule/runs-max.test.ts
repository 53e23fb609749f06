import { expect, test } from 'vitest';
import { findRunsMax } from '../../src/schedule/index.ts';

const GIBIBYTE = 1024 ** 3;

test.for([
  ['a large machine', { descriptors: 1_048_576, memoryBytes: 64 * GIBIBYTE, routers: 20_000 }, 4096],
  ['few open files', { descriptors: 1024, memoryBytes: 64 * GIBIBYTE, routers: 10_000 }, 512],
  ['a small container', { descriptors: 1_048_576, memoryBytes: GIBIBYTE / 4, routers: 10_000 }, 256],
  [
    'a system that says nothing of open files',
    { descriptors: undefined, memoryBytes: GIBIBYTE, routers: 10_000 },
    1024,
  ],
  ['hardly anything', { descriptors: 20, memoryBytes: 1, routers: 10_000 }, 16],
  ['a fleet of 1,000 routers', { descriptors: 1_048_576, memoryBytes: 64 * GIBIBYTE, routers: 1000 }, 500],
  ['a single router', { descriptors: 1_048_576, memoryBytes: 64 * GIBIBYTE, routers: 1 }, 192],
] as const)('without a configured limit, %s decides on the number of concurrent runs', ([, resources, runsMax]) => {
  expect(findRunsMax(resources)).toBe(runsMax);
});
