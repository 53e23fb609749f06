import { expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { type LogSource, openArchivePool, Zone } from '../../../src/logs/index.ts';
import { RouterReadError } from '../../../src/model/index.ts';
import {
  gapsOf,
  HOUR_MS,
  LogReader,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  SECOND_MS,
  START_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: first start. */
const AT_ONCE = { simulator: { logs: { compressionMs: 0 } } };

test('case 59: with start now, old lines are passed over and counted, and new ones come', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, runs: { start: 'now' } });
  bench.write(0, 10);
  await bench.clock.advance(10 * SECOND_MS);
  bench.router.rotate('network', 'first of current');
  bench.write(10, 14);
  const first = await bench.reader.run();
  expect(first).toMatchObject([
    { event: 'log.gap', file: 'network/log-2026-11-21-12:00:10.bz2', details: { reason: 'skipped' } },
    { event: 'log.gap', details: { certainty: 'certain', reason: 'skipped', lines: 5 } },
  ]);
  bench.write(14, 16);
  expect((await bench.reader.run()).map(({ event, message }) => event ?? message)).toEqual([
    'log.gap_end',
    'log.gap_end',
    'line 14',
    'line 15',
  ]);
  // A log that begins later is new as a whole.
  await bench.clock.advance(10 * SECOND_MS);
  bench.write(0, 2, 'system');
  expect(messagesOf(await bench.reader.run())).toEqual(['line 0', 'line 1']);
});

test('with start now, downloads that end early pass over the old lines part by part, and new ones come', async () => {
  const clock = createSteppedClock(START_MS);
  await using archives = openArchivePool({ workers: 1 });
  const PART_BYTES = 20_000;
  const write = (ms: number, message: string) =>
    `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} [wan] ${message}\n`;
  let current = Array.from({ length: 1000 }, (_, n) => write(START_MS - HOUR_MS + n * SECOND_MS, `old ${n}`)).join('');
  const source: LogSource = {
    listLogs: () => Promise.resolve(['network/current']),
    readLog: (_name, _signal, consume, { start = 0 } = {}) =>
      consume(
        (async function* () {
          const bytes = Buffer.from(current).subarray(start);
          yield bytes.subarray(0, PART_BYTES);
          if (bytes.length > PART_BYTES)
            throw new RouterReadError('timeout', 'Too slow', { disposition: 'retry', isAnswered: true });
        })(),
        start,
      ),
  };
  const reader = new LogReader(source, archives, { clock, start: 'now', zone: new Zone('UTC') });
  for (let run = 0; run < 6; run++) {
    await reader.run();
    await clock.advance(5 * MINUTE_MS);
    if (run > 2) current += write(clock.now(), `new ${run}`);
  }
  expect(messagesOf(linesOf(reader.records))).toEqual(['new 3', 'new 4']);
  const gaps = gapsOf(reader.records);
  expect(gaps.length).toBeGreaterThan(1);
  expect(gaps.reduce((lines, { details }) => lines + Number(details?.['lines']), 0)).toBe(1000);
  expect(new Set(gaps.map(({ uid }) => uid)).size).toBe(gaps.length);
});

test('with start now, lines that were written since the first contact come, even if current could not be read until then', async () => {
  const write = (ms: number, message: string) =>
    `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} [wan] ${message}\n`;
  const old = write(START_MS - MINUTE_MS, 'old');
  const files = new Map([
    ['network/log-2026-11-21-11:00:00', write(START_MS - 2 * HOUR_MS, 'older')],
    ['network/current', old],
  ]);
  await using bench = await openFileBench(files, { start: 'now', zone: new Zone('UTC') });
  bench.refusals.set('network/current', new RouterReadError('connect', 'Cut off', { disposition: 'retry' }));
  await bench.reader.run();
  await bench.clock.advance(MINUTE_MS);
  files.set('network/log-2026-11-21-12:01:00', `${old}${write(START_MS + 30 * SECOND_MS, 'new 1')}`);
  files.set('network/current', write(START_MS + MINUTE_MS, 'new 2'));
  await bench.reader.run();
  bench.refusals.clear();
  await bench.reader.runsFor(MINUTE_MS);
  expect(messagesOf(linesOf(bench.reader.records))).toEqual(['new 1', 'new 2']);
  expect(gapsOf(bench.reader.records).map(({ file, details }) => [file, details?.['lines']])).toEqual([
    ['network/log-2026-11-21-11:00:00', null],
    ['network/log-2026-11-21-12:01:00', 1],
  ]);
});

test('with start now and the positions lost, a router that was met before is read from its start, or from the first contact', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, runs: { start: 'now' } });
  bench.write(0, 2);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();
  bench.write(2, 4);
  await bench.reader.run();
  bench.write(4, 6);
  bench.reader.restart();
  const { log } = bench.reader;
  log.positions.clear();
  expect(messagesOf(linesOf(await bench.reader.run()))).toEqual(lineNames(2, 6));
  bench.reader.restart();
  log.positions.clear();
  log.facts = '';
  expect(messagesOf(await bench.reader.run())).toEqual(lineNames(0, 6));
});

test('case 60: with a start some time ago, the file on the edge is shipped from the right line on', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, runs: { start: { backMs: 24 * HOUR_MS } } });
  for (let hour = 0; hour < 48; hour++) {
    bench.router.appendLog('network', `hour ${hour}`);
    await bench.clock.advance(HOUR_MS);
    if (hour % 10 === 9) bench.router.rotate('network', `rotated after ${hour}`);
  }
  const records = await bench.reader.run();
  const hours = messagesOf(linesOf(records)).filter((message) => message.startsWith('hour'));
  expect(hours).toEqual(Array.from({ length: 24 }, (_, index) => `hour ${24 + index}`));
  expect(gapsOf(records).map(({ details }) => details?.['reason'])).toEqual(['skipped', 'skipped']);
});

test('lines that are passed over in two files are two gaps', async () => {
  const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
  await using bench = await openFileBench(
    new Map([
      ['network/log-2026-11-21-11:40:00', line('12:20:00', 'old') + line('12:35:00', 'first')],
      ['network/log-2026-11-21-11:50:00', line('12:25:00', 'old as well') + line('12:45:00', 'second')],
    ]),
    { start: { backMs: 30 * MINUTE_MS } },
  );
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual(['first', 'second']);
  const gaps = gapsOf(records);
  expect(gaps).toMatchObject([{ details: { lines: 1 } }, { details: { lines: 1 } }]);
  expect(new Set(gaps.map(({ uid }) => uid)).size).toBe(2);
});

test('with a start some time ago, what a later file begins with belongs to the line before it and is not passed over', async () => {
  const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
  const notice = (count: number) => `${' '.repeat(16)}- Last output repeated ${count} times -\n`;
  await using bench = await openFileBench(
    new Map([
      ['network/log-2026-11-21-11:40:00', line('12:20:00', 'old') + notice(3) + line('12:35:00', 'first')],
      ['network/log-2026-11-21-11:50:00', notice(17) + line('12:45:00', 'second')],
      ['network/current', `\tstack of the second\n${line('12:55:00', 'third')}`],
    ]),
    { start: { backMs: 30 * MINUTE_MS } },
  );
  await bench.reader.run();
  // The last line may be continued until nothing more has come.
  await bench.reader.run();
  const { records } = bench.reader;
  expect(records.filter(({ event }) => event !== 'log.gap')).toMatchObject([
    { message: 'first' },
    { event: 'log.repeat', details: { count: 17 } },
    { message: 'second' },
    { message: '\tstack of the second' },
    { message: 'third' },
  ]);
  expect(gapsOf(records)).toMatchObject([{ details: { reason: 'skipped', lines: 2 } }]);
  expect(bench.reader.count('log-repeat-found')).toBe(1);
});

test.each([
  ['is not listed', undefined, undefined],
  ['is empty', '', undefined],
  ['is refused', '2026-11-21 06:30:00 [wan] line 7\n', 500],
])('a long history is read to its end where current %s', async (_how, current, status) => {
  const files = new Map(
    [1, 2, 3, 4, 5, 6].map((hour) => [
      `network/log-2026-11-21-0${hour}:00:00.bz2`,
      `2026-11-21 0${hour - 1}:30:00 [wan] line ${hour} ${'x'.repeat(1000)}\n`,
    ]),
  );
  if (current !== undefined) files.set('network/current', current);
  await using bench = await openFileBench(files, { historyBytesMax: 3000, zone: new Zone('UTC') });
  if (status !== undefined) {
    const refusal = new RouterReadError('http', 'Refused', { status, disposition: 'skip', isAnswered: true });
    bench.refusals.set('network/current', refusal);
  }
  await bench.reader.run();
  await bench.reader.runsFor(10 * MINUTE_MS);
  expect(messagesOf(linesOf(bench.reader.records)).map((message) => message.slice(0, 6))).toEqual(
    [1, 2, 3, 4, 5, 6].map((hour) => `line ${hour}`),
  );
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('case 61: of a long history no more than the budget is read before the live log, and the rest behind it, flagged', async () => {
  const budget = 30_000;
  await using bench = await openLogBench({
    simulator: { logs: { compressionMs: 0, maxFiles: 10 } },
    runs: { historyBytesMax: budget },
  });
  for (let file = 0; file < 5; file++) {
    for (let line = 0; line < 200; line++) bench.router.appendLog('network', `${file}/${line} ${'x'.repeat(60)}`);
    await bench.clock.advance(10 * SECOND_MS);
    bench.router.rotate('network', `first of ${file + 1}`);
  }
  const first = await bench.reader.run();
  // Two files of 19 kB and more reach the budget, then the live log, then again so much.
  expect(messagesOf(first).indexOf('first of 5')).toBe(200 + 201);
  expect(first.filter(({ flags }) => flags?.includes('backfill')).length).toBeLessThanOrEqual(201 * 2);
  bench.write(0, 3);
  const second = await bench.reader.run();
  expect(messagesOf(second).slice(0, 3)).toEqual(lineNames(0, 3));
  await bench.reader.run();
  const { records } = bench.reader;
  expect(linesOf(records)).toHaveLength(5 * 201 + 3);
  expect(gapsOf(records)).toEqual([]);
  // What is read behind the live log is not the newest.
  const { events } = bench.reader;
  const newest = events.flatMap((event) => (event.type === 'log-read' ? [event.newestUtcMs ?? 0] : []));
  expect(newest.at(-1)).toBe(Math.max(...newest));
});

test('what is left of a long history is downloaded once, and not searched for the rest of the live log before', async () => {
  const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
  const hours = ['05', '06', '07', '08', '09', '10'];
  const files = new Map([
    ...hours.map((hour) => [`network/log-2026-11-21-${hour}:30:00`, line(`${hour}:00:00`, `at ${hour}`)] as const),
    ['network/current', line('11:00:00', 'now')],
  ]);
  await using bench = await openFileBench(files, { historyBytesMax: 1, zone: new Zone('UTC') });
  for (const _ of hours) await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual(['at 05', 'now', 'at 06', 'at 07', 'at 08', 'at 09', 'at 10']);
  const archives = bench.asked.filter((name) => name !== 'network/current');
  expect(archives).toEqual(hours.map((hour) => `network/log-2026-11-21-${hour}:30:00`));
});
