import { expect, test } from 'vitest';
import { LogBook } from '../../src/agent/log-book.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';

function createBook() {
  const clock = createSteppedClock(0);
  return { clock, book: new LogBook({ name: 'plant-7', labels: {} }, new FleetExposition(), clock, new Map()) };
}

test('LogBook keeps the last 10 gaps, the newest first', async () => {
  const { clock, book } = createBook();
  for (let index = 0; index < 12; index++) {
    await clock.advance(1000);
    const bytesMin = index === 11 ? undefined : index;
    book.note({
      type: 'log-gap-found',
      component: 'network',
      certainty: 'certain',
      reason: 'expired',
      bytesMin,
      uid: 'a',
      untilUtcMs: undefined,
    });
  }
  expect(book.gaps).toHaveLength(10);
  expect(book.gaps[0]).toEqual({
    at: '1970-01-01T00:00:12.000Z',
    component: 'network',
    certainty: 'certain',
    reason: 'expired',
    bytesMin: null,
    until: null,
  });
  expect(book.gaps.at(-1)).toMatchObject({ at: '1970-01-01T00:00:03.000Z', bytesMin: 2 });
  expect(book.describe()).toMatchObject([{ component: 'network', gaps: 12, position: null }]);
});

test('LogBook knows the lag of the log that is furthest behind, and the place of the last record', async () => {
  const { clock, book } = createBook();
  expect(book.lagMs).toBeUndefined();
  for (const component of ['network', 'system', 'modem']) {
    book.note({ type: 'log-caught-up', component, isWaitingForLineEnd: false });
    await clock.advance(1000);
  }
  book.note({ type: 'log-caught-up', component: 'network', isWaitingForLineEnd: false });
  expect(book.lagMs).toBe(2000);
  book.notePlace({ component: 'system', file: 'system/current', offset: 7 });
  expect(book.describe()[1]).toMatchObject({
    component: 'system',
    position: { file: 'system/current', offset: 7 },
    lagSeconds: 2,
  });
});
