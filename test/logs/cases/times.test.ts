import { expect, test, vi } from 'vitest';
import { Zone } from '../../../src/logs/index.ts';
import { StoreError } from '../../../src/model/index.ts';
import {
  gapsOf,
  HOUR_MS,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  readUnfinishedArchive,
  SECOND_MS,
  SLOW_ARCHIVES,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: time. */
const AT_ONCE = { simulator: { logs: { compressionMs: 0 } } };
const YEAR_S = 31_557_600;

const read = async (content: string, zone = 'Europe/Berlin') => {
  await using bench = await openFileBench(new Map([['network/current', content]]), { zone: new Zone(zone) });
  return await bench.reader.run();
};

test('case 53: 02:59:59 and then 02:00:00 in Berlin in autumn are a second apart', async () => {
  const lines = ['02:59:58', '02:59:59', '02:00:00', '02:00:01', '03:00:00'];
  const records = await read(lines.map((time) => `2026-10-25 ${time} [a] x\n`).join(''));
  expect(records.map(({ timestamp }) => timestamp?.slice(11, 19))).toEqual([
    '00:59:58',
    '00:59:59',
    '01:00:00',
    '01:00:01',
    '02:00:00',
  ]);
  expect(records.every(({ event }) => event === undefined)).toBe(true);
});

test('dates without a year are none of the future, though a log is many months old, and its next lines are as they should be', async () => {
  const zone = new Zone('UTC');
  const months = ['Mar', 'Apr', 'Aug'].map((month) => `${month}  1 12:00:00 [a] ${month}\n`).join('');
  const archive = 'Feb 10 12:00:00 [a] Feb\nFeb 28 12:00:00 [a] end of Feb\n';
  const current = `${months}Nov 21 11:00:00 [a] Nov\n`;
  await using bench = await openFileBench(
    new Map([
      ['network/log-2026-03-01-12:00:00.bz2', archive],
      ['network/current', current],
    ]),
    { zone },
  );
  await bench.reader.run();
  await bench.clock.advance(MINUTE_MS);
  bench.files.set('network/current', `${current}Nov 21 12:00:30 [a] new\n`);
  await bench.reader.run();
  const { records } = bench.reader;
  expect(records.map(({ timestamp, message }) => [message, timestamp?.slice(0, 16)])).toEqual([
    ['Feb', '2026-02-10T12:00'],
    ['end of Feb', '2026-02-28T12:00'],
    ['Mar', '2026-03-01T12:00'],
    ['Apr', '2026-04-01T12:00'],
    ['Aug', '2026-08-01T12:00'],
    ['Nov', '2026-11-21T11:00'],
    ['new', '2026-11-21T12:00'],
  ]);
  expect(records.every(({ flags }) => flags === undefined)).toBe(true);
});

test('an archive of dates without a year ends at its rotation, not at its download', async () => {
  const archive = 'Nov 30 12:00:00 [a] one\nDec 31 23:59:59 [a] two\nJan  1 00:00:01 [a] three\n';
  await using bench = await openFileBench(new Map([['network/log-2025-01-01-00:10:00.bz2', archive]]), {
    zone: new Zone('UTC'),
  });
  await bench.reader.run();
  const years = bench.reader.records.map(({ timestamp }) => timestamp?.slice(0, 4));
  expect(years).toEqual(['2024', '2024', '2025']);
});

test('case 54: a time that summer time skips is flagged, and times rise', async () => {
  const records = await read(['01:59:59', '02:30:00', '03:30:01'].map((time) => `2026-03-29 ${time} [a] x\n`).join(''));
  expect(records.map(({ flags }) => flags)).toEqual([undefined, ['hole'], undefined]);
  const times = linesOf(records).map(({ timestamp }) => timestamp ?? '');
  expect(times).toEqual(times.toSorted());
});

test('case 56: a clock that jumps ten years ahead and back gives two jumps, no time in the future, and right times after', async () => {
  await using bench = await openLogBench();
  bench.write(0, 3);
  await bench.reader.run();
  bench.router.jumpClock(10 * YEAR_S * 1000);
  bench.write(3, 6);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();
  bench.router.jumpClock(-10 * YEAR_S * 1000);
  bench.write(6, 9);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();
  const { records } = bench.reader;
  expect(records.filter(({ event }) => event === 'log.clock_jump')).toHaveLength(2);
  expect(bench.reader.count('log-clock-jumped')).toBe(2);
  const lines = linesOf(records);
  expect(messagesOf(lines)).toEqual(lineNames(0, 9));
  for (const { timestamp } of lines) expect(timestamp?.slice(0, 13)).toBe('2026-11-21T12');
  expect(lines.map(({ flags }) => flags?.[0])).toEqual([
    ...Array(3).fill(undefined),
    ...Array(3).fill('clock_uncertain'),
    ...Array(3).fill(undefined),
  ]);
  expect(Buffer.from(lines[3]?.original ?? '', 'base64').toString()).toMatch(/^2036-/);
});

test('lines from before the clock was set get their times from the first line after', async () => {
  const boot = ['00:00:05', '00:00:09', '00:00:20'].map((time) => `1970-01-01 ${time} [boot] x\n`).join('');
  const records = await read(`${boot}2026-11-21 11:30:00 [ntp] clock set\n`, 'UTC');
  expect(records.find(({ event }) => event === 'log.clock_jump')).toMatchObject({
    details: { before: '1970-01-01T00:00:20.000Z', after: '2026-11-21T11:30:00.000Z' },
  });
  expect(linesOf(records).map(({ timestamp, flags }) => [timestamp?.slice(11, 19), flags?.join()])).toEqual([
    ['11:29:45', 'unsynced,remapped'],
    ['11:29:49', 'unsynced,remapped'],
    ['11:30:00', 'unsynced,remapped'],
    ['11:30:00', undefined],
  ]);
  const times = linesOf(records).map(({ timestamp }) => timestamp ?? '');
  expect(times).toEqual(times.toSorted());
});

test('case 57: lines that were just written and are hours off the time of the router report a mismatched zone', async () => {
  await using bench = await openLogBench({
    simulator: { timezone: 'Europe/Moscow' },
    runs: { zone: new Zone('UTC') },
  });
  bench.write(0, 1);
  await bench.reader.run();
  await bench.clock.advance(30 * SECOND_MS);
  bench.write(1, 2);
  await bench.reader.run();
  expect(bench.reader.events).toContainEqual({ type: 'log-zone-mismatched', offByMs: 3 * HOUR_MS });
});

test('case 81: two rotations show the zone, which is in use from then on and reported once', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, runs: { zone: new Zone(undefined) } });
  for (let file = 0; file < 5; file++) {
    bench.router.appendLog('network', `line ${file}`);
    await bench.reader.run();
    await bench.clock.advance(6 * MINUTE_MS);
    bench.router.rotate('network', `after ${file}`);
    await bench.reader.run();
    await bench.clock.advance(6 * MINUTE_MS);
  }
  const { records } = bench.reader;
  expect(records[0]?.flags).toEqual(['zone_assumed']);
  expect(records.at(-1)?.flags).toBeUndefined();
  expect(records.at(-1)?.timestamp?.slice(11, 16)).toBe('12:54');
  const learnt = bench.reader.events.filter(({ type }) => type === 'log-zone-learnt');
  expect(learnt).toEqual([{ type: 'log-zone-learnt', offsetMs: HOUR_MS, zone: undefined }]);
  expect(bench.reader.log.facts).toContain('"seen":[{"utcMs":');
});

test('case 94: a clock that is seven years ahead for one rotation blocks and reorders nothing, and what dies at birth is a gap', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxFiles: 1 } } });
  const step = async (from: number) => {
    bench.write(from, from + 3);
    await bench.reader.runsFor(MINUTE_MS);
    await bench.clock.advance(5 * SECOND_MS);
    bench.router.appendLog('network', `unread ${from}`);
    bench.router.rotate('network', `first of ${from}`);
    await bench.reader.runsFor(2 * MINUTE_MS);
  };
  await step(0);
  bench.router.jumpClock(7 * YEAR_S * 1000);
  await step(10);
  bench.router.jumpClock(-7 * YEAR_S * 1000);
  await step(20);
  await step(30);
  await bench.reader.runsFor(20 * MINUTE_MS);
  const { records } = bench.reader;
  const lines = messagesOf(linesOf(records)).filter((message) => !message.startsWith('unread'));
  expect(lines).toEqual([0, 10, 20, 30].flatMap((from) => [...lineNames(from, from + 3), `first of ${from}`]));
  // The router deletes each new archive at once, because the one from the future is newer.
  expect(messagesOf(records).filter((message) => message.startsWith('unread'))).toEqual(['unread 0', 'unread 10']);
  expect(gapsOf(records).length).toBeGreaterThanOrEqual(2);
});

test('lines of a log that begins anew at the date of the firmware get their times once the clock is set', async () => {
  const line = (time: string, message: string) => `${time} [wan] ${message}\n`;
  const archive = 'network/log-2026-11-21-11:40:00';
  const files = new Map([
    [archive, line('2026-11-21 12:20:00', 'old')],
    ['network/current', line('2026-11-21 12:50:00', 'last')],
  ]);
  await using bench = await openFileBench(files);
  await bench.reader.run();
  files.delete(archive);
  const boot = line('2022-01-01 00:00:20', 'boot');
  files.set('network/current', boot + line('2022-01-01 00:00:50', 'up') + line('2026-11-21 13:00:10', 'clock set'));
  await bench.clock.advance(MINUTE_MS);
  const records = linesOf(await bench.reader.run());
  expect(messagesOf(records)).toEqual(['boot', 'up', 'clock set']);
  expect(records.map(({ timestamp }) => timestamp?.slice(0, 19))).toEqual([
    '2026-11-21T11:59:40',
    '2026-11-21T12:00:10',
    '2026-11-21T12:00:10',
  ]);
  expect(records[0]?.flags).toEqual(['unsynced', 'remapped']);
});

test('case 101: with the clock of the agent set back a day after a rotation, the log goes on within minutes, without a gap', async () => {
  await using bench = await openLogBench({ simulator: SLOW_ARCHIVES });
  // The archive is to be tried again later.
  await readUnfinishedArchive(bench);
  expect(bench.reader.count('archive-unfinished')).toBe(1);
  bench.clock.jump(-24 * HOUR_MS);
  bench.router.jumpClock(24 * HOUR_MS);
  bench.reader.restart();
  await bench.reader.runsFor(3 * MINUTE_MS);
  expect(messagesOf(linesOf(bench.reader.records))).toEqual([...lineNames(0, 2100), 'after']);
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('case 101: with the clock of the agent set back a day, a file that never turns up is a gap after the usual time', async () => {
  const files = new Map([['network/current', '2026-11-21 12:59:00 [a] of the one\n']]);
  await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
  await bench.reader.run();
  files.set('network/current', '2026-11-21 12:59:30 [a] of the other\n');
  await bench.clock.advance(MINUTE_MS);
  await bench.reader.run();
  expect(gapsOf(bench.reader.records)).toEqual([]);
  bench.clock.jump(-24 * HOUR_MS);
  await bench.reader.run();
  await bench.clock.advance(16 * MINUTE_MS);
  await bench.reader.run();
  expect(gapsOf(bench.reader.records)).toHaveLength(1);
  expect(messagesOf(linesOf(bench.reader.records))).toEqual(['of the one', 'of the other']);
});

test.each([
  ['', false],
  [', also when the disk is full just then', true],
])(
  'case 101: with the clock of the agent set ahead an hour while a rotated file is missing, it is waited for all the same%s',
  async (_also, isFull) => {
    const one = '2026-11-21 12:59:00 [a] of the one\n';
    const files = new Map([['network/current', one]]);
    await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
    await bench.reader.run();
    files.set('network/current', '2026-11-21 12:59:30 [a] of the other\n');
    await bench.reader.run();
    bench.clock.jump(HOUR_MS);
    await bench.clock.advance(30 * SECOND_MS);
    if (isFull) {
      const commit = vi.spyOn(bench.reader.log, 'commit').mockImplementation(() => {
        throw new StoreError('full', 'The disk is full', { disposition: 'hold-back' });
      });
      await expect(bench.reader.run()).rejects.toThrow('full');
      commit.mockRestore();
    }
    await bench.reader.run();
    files.set('network/log-2026-11-21-11:59:30', `${one}2026-11-21 12:59:10 [a] the rest\n`);
    const records = await bench.reader.runsFor(MINUTE_MS);
    expect(records.map(({ event, message, flags }) => [event ?? message, flags])).toEqual([
      ['the rest', undefined],
      ['of the other', undefined],
    ]);
  },
);

test.each([
  ['configured', new Zone('Europe/Berlin')],
  ['learnt', new Zone(undefined)],
])('a log that is quiet for an hour says nothing against its zone: %s', async (_how, zone) => {
  await using bench = await openLogBench({ runs: { zone } });
  const readTime = async () => ({ wallAsUtcMs: bench.clock.now() + HOUR_MS, utcMs: bench.clock.now() });
  bench.write(0, 3);
  await bench.reader.run({ readTime });
  await bench.clock.advance(30 * SECOND_MS);
  bench.write(3, 4);
  for (let look = 0; look < 60; look++) {
    await bench.reader.run({ readTime });
    await bench.clock.advance(MINUTE_MS);
  }
  bench.write(4, 5);
  const last = (await bench.reader.run({ readTime })).at(-1);
  expect(last?.message).toBe('line 4');
  expect(last?.flags).toBeUndefined();
  expect(bench.reader.count('log-zone-mismatched')).toBe(0);
  expect(bench.reader.count('log-clock-jumped')).toBe(0);
  expect(bench.reader.count('log-zone-learnt')).toBe(zone.isNamed ? 0 : 1);
});
