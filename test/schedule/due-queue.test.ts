import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueQueue } from '../../src/schedule/due-queue.ts';

test('DueQueue gives nothing before it is due, and nothing when it is empty', () => {
  const queue = new DueQueue<string>();
  expect(queue.nextDueMs).toBeUndefined();
  expect(queue.popDue(Infinity)).toBeUndefined();
  queue.push(10, 'a');
  expect(queue.nextDueMs).toBe(10);
  expect(queue.popDue(9)).toBeUndefined();
  expect(queue.popDue(10)).toBe('a');
  expect(queue.nextDueMs).toBeUndefined();
});

test('DueQueue gives items in the order of their times, equal ones in the order in which they came', () => {
  const steps = fc.array(fc.oneof(fc.nat(20), fc.constant('pop' as const)), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (pushesAndPops) => {
      const queue = new DueQueue<number>();
      const model: { dueMs: number; item: number }[] = [];
      const popModel = (nowMs: number) => {
        // Array sorting is stable, so equal times keep the order of their coming.
        model.sort((a, b) => a.dueMs - b.dueMs);
        return model[0] && model[0].dueMs <= nowMs ? model.shift()?.item : undefined;
      };
      let item = 0;
      for (const step of pushesAndPops) {
        if (step === 'pop') {
          expect(queue.popDue(12)).toBe(popModel(12));
          continue;
        }
        queue.push(step, item);
        model.push({ dueMs: step, item: item++ });
      }
      while (model.length > 0) expect(queue.popDue(Infinity)).toBe(popModel(Infinity));
      expect(queue.popDue(Infinity)).toBeUndefined();
    }),
  );
});
