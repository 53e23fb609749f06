import { expect, test } from 'vitest';
import { RouterReadError } from '../../../src/model/index.ts';
import { gapsOf, linesOf, MINUTE_MS, messagesOf, openFileBench } from '../../support/log-bench.ts';

const CURRENT = 'network/current';
const ARCHIVE = 'network/log-2026-11-21-12:00:00.bz2';
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;

test.each([429, 503])(
  'a router that answers the download of a rotated file with %i for long loses no line, and no gap is emitted',
  async (status) => {
    const first = line('12:00:00', 'first');
    await using bench = await openFileBench(new Map([[CURRENT, first]]));
    await bench.reader.run();
    bench.files.set(ARCHIVE, first + line('12:30:00', 'second')).set(CURRENT, line('13:00:00', 'third'));
    bench.refusals.set(
      ARCHIVE,
      new RouterReadError('http', 'Busy', { status, disposition: 'retry', isAnswered: true, retryAfterMs: 60_000 }),
    );
    const records = [];
    for (let minute = 0; minute < 50; minute++)
      records.push(...(await bench.reader.runsFor(MINUTE_MS).catch(() => [])));
    bench.refusals.clear();
    records.push(...(await bench.reader.runsFor(40 * MINUTE_MS)));
    expect(gapsOf(bench.reader.records)).toEqual([]);
    expect(messagesOf(linesOf(bench.reader.records)).toSorted()).toEqual(['first', 'second', 'third']);
  },
);

test('a file that is always refused as busy holds up no other log, and its own log for an hour only', async () => {
  const stuck = 'audit/log-2026-11-21-12:00:00.bz2';
  const files = new Map([
    [stuck, line('12:00:00', 'stuck')],
    ['audit/current', line('12:30:00', 'behind it')],
    [CURRENT, line('12:00:00', 'other')],
  ]);
  await using bench = await openFileBench(files);
  bench.refusals.set(
    stuck,
    new RouterReadError('http', 'Busy', { status: 503, disposition: 'retry', isAnswered: true }),
  );
  expect(messagesOf(linesOf(await bench.reader.run()))).toEqual(['other']);
  bench.files.set(CURRENT, line('12:00:00', 'other') + line('12:31:00', 'more'));
  expect(messagesOf(linesOf(await bench.reader.runsFor(MINUTE_MS)))).toEqual(['more']);
  expect(messagesOf(linesOf(await bench.reader.runsFor(90 * MINUTE_MS)))).toEqual(['behind it']);
  bench.refusals.clear();
  expect(messagesOf(linesOf(await bench.reader.runsFor(8 * 60 * MINUTE_MS)))).toEqual(['stuck']);
  expect(gapsOf(bench.reader.records)).toEqual([]);
});
