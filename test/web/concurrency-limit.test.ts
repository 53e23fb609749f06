import { expect, test } from 'vitest';
import { ConcurrencyLimit } from '../../src/web/concurrency-limit.ts';

test('a gate lets in as many as fit, and another for each that leaves, however often that one says so', () => {
  const gate = new ConcurrencyLimit(2);
  const leaveFirst = gate.enter();
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
  leaveFirst?.();
  leaveFirst?.();
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
});
