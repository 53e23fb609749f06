import { expect, test } from 'vitest';
import { Gate } from '../../src/web/gate.ts';

test('a gate lets in as many as fit, and another for each that leaves, however often that one says so', () => {
  const gate = new Gate(2);
  const leaveFirst = gate.enter();
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
  leaveFirst?.();
  leaveFirst?.();
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
});
