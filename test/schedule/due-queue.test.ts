import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueQueue } from '../../src/schedule/run-queues.ts';

test('DueQueue gives nothing before it is due, and nothing when it is empty', () => {
  const queue = new DueQueue<string>();
  expect(queue.nextDueMs).toBeUndefined();
  expect(queue.popDue(Infinity)).toBeUndefined();
  queue.remove('a');
  queue.push(10, 'a');
  expect(queue.nextDueMs).toBe(10);
  expect(queue.popDue(9)).toBeUndefined();
  expect(queue.popDue(10)).toBe('a');
  expect(queue.nextDueMs).toBeUndefined();
});

test('DueQueue gives items in the order of their times, equal ones as they came, whatever is moved or taken out', () => {
  const item = fc.nat(30);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('push' as const), item, dueMs: fc.nat(20) }) },
    fc.record({ kind: fc.constant('remove' as const), item }),
    fc.record({ kind: fc.constant('pop' as const), nowMs: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const queue = new DueQueue<number>();
      let model: { dueMs: number; item: number }[] = [];
      const popModel = (nowMs: number) => {
        // Array sorting is stable, so equal times keep the order of their coming.
        model.sort((a, b) => a.dueMs - b.dueMs);
        return model[0] && model[0].dueMs <= nowMs ? model.shift()?.item : undefined;
      };
      for (const current of steps) {
        if (current.kind === 'pop') {
          expect(queue.popDue(current.nowMs)).toBe(popModel(current.nowMs));
          continue;
        }
        model = model.filter((place) => place.item !== current.item);
        if (current.kind === 'remove') {
          queue.remove(current.item);
          continue;
        }
        queue.push(current.dueMs, current.item);
        model.push({ dueMs: current.dueMs, item: current.item });
      }
      while (model.length > 0) expect(queue.popDue(Infinity)).toBe(popModel(Infinity));
      expect(queue.popDue(Infinity)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});
