import { expect, test } from 'vitest';
import { ConcurrencyLimit } from '../../src/web/server/limits.ts';

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

test('a gate lets in half as many of one client, and forgets those that have left', () => {
  const gate = new ConcurrencyLimit(4);
  const leave = gate.enter('a');
  expect([gate.enter('a'), gate.enter('a'), gate.enter('b')].map((one) => one !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
  leave?.();
  leave?.();
  expect([gate.enter('a'), gate.enter('a'), gate.enter()].map((one) => one !== undefined)).toEqual([true, false, true]);
  expect(gate.enter('c')).toBeUndefined();
});
