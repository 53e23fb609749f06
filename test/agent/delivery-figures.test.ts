import { expect, test } from 'vitest';
import { DeliveryRate, findDeadLetter, listDeadLetters, SpoolTrend } from '../../src/agent/sinks/delivery-figures.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { createStoreFolder } from '../support/store-folder.ts';

test('DeliveryRate counts the records of the last minute', async () => {
  const clock = createSteppedClock(0);
  const rate = new DeliveryRate(clock);
  expect(rate.perSecond).toBe(0);
  await clock.advance(10_000);
  rate.add(50);
  // Since it was created: ten seconds.
  expect(rate.perSecond).toBe(5);
  await clock.advance(45_000);
  expect(rate.perSecond).toBeCloseTo(50 / 55);
  await clock.advance(20_000);
  expect(rate.perSecond).toBe(0);
  rate.add(55);
  expect(rate.perSecond).toBe(1);
  await clock.advance(3_600_000);
  expect(rate.perSecond).toBe(0);
});

test('SpoolTrend estimates when a growing spool is full, and returns nothing while it does not grow', async () => {
  const clock = createSteppedClock(0);
  const spool = { bytes: 1000 };
  const trend = new SpoolTrend(clock, () => spool.bytes);
  trend.start();
  expect(trend.findSecondsToFull(10_000)).toBeUndefined();
  await clock.advance(60_000);
  expect(trend.findSecondsToFull(10_000)).toBeUndefined();
  spool.bytes = 1600;
  // 600 bytes in a minute.
  expect(trend.findSecondsToFull(10_000)).toBe(840);
  expect(trend.findSecondsToFull(1500)).toBe(0);
  await clock.advance(11 * 60_000);
  expect(trend.findSecondsToFull(10_000)).toBeUndefined();
  spool.bytes = 100;
  expect(trend.findSecondsToFull(10_000)).toBeUndefined();
  trend.stop();
});

test('listDeadLetters and findDeadLetter return rejected records, page by page', async () => {
  const folder = await createStoreFolder();
  using deadLetters = folder.openDeadLetters({ now: () => 1000 });
  for (let n = 1; n <= 5; n++) {
    deadLetters.add(n === 5 ? 'loki' : 'search', [
      { uid: String(n), line: `{"router":"plant-${n}","component":"network"}`, reason: 'too old', code: '400' },
    ]);
  }
  const first = await listDeadLetters(deadLetters, { sink: undefined, limit: 2, before: undefined });
  expect(first).toMatchObject({
    hasMore: true,
    fault: null,
    counts: [
      ['loki', 1],
      ['search', 4],
    ],
  });
  expect(first.letters.map(({ router }) => router)).toEqual(['plant-5', 'plant-4']);
  const last = await listDeadLetters(deadLetters, { sink: 'search', limit: 3, before: first.letters[1]?.id });
  expect([last.letters.map(({ router }) => router), last.hasMore]).toEqual([['plant-3', 'plant-2', 'plant-1'], false]);
  const [deadLetter] = last.letters;
  expect(await findDeadLetter(deadLetters, deadLetter?.id ?? 0)).toEqual({
    ...deadLetter,
    at: '1970-01-01T00:00:01.000Z',
    code: '400',
    timestamp: null,
    record: '{"router":"plant-3","component":"network"}',
  });
  expect(await findDeadLetter(deadLetters, 99)).toBeUndefined();
});

test('dead letters of a file that cannot be read are a fault to be shown, and other errors are not', async () => {
  const fail = (cause: Error) => () => {
    throw cause;
  };
  const locked = new StoreError('locked', 'Another process holds the file', { disposition: 'retry' });
  const store = { list: fail(locked), counts: fail(locked), get: fail(locked) };
  const none = { letters: [], hasMore: false, counts: [] };
  const { fault } = await listDeadLetters(store, { sink: undefined, limit: 2, before: undefined });
  expect(fault).toContain('Another process holds the file');
  expect(await listDeadLetters(store, { sink: undefined, limit: 2, before: undefined })).toEqual({ ...none, fault });
  expect(await findDeadLetter(store, 1)).toEqual({ fault });
  const bug = new TypeError('A fault of the program');
  await expect(findDeadLetter({ get: fail(bug) }, 1)).rejects.toThrow(bug);
});
