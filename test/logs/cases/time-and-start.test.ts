import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { type LogSource, openArchivePool, Zone } from '../../../src/logs/index.ts';
import { SourceError } from '../../../src/model/index.ts';
import {
  gapsOf,
  HOUR_MS,
  jumpsOf,
  LINKED_LOG,
  LogReader,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  readUnfinishedArchive,
  SECOND_MS,
  SLOW_ARCHIVES,
  START_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: time, first start, identity and state. */
const AT_ONCE = { simulator: { logs: { compressionMs: 0 } } };
const YEAR_S = 31_557_600;

const read = async (content: string, zone = 'Europe/Berlin') => {
  await using bench = await openFileBench(new Map([['network/current', content]]), { zone: new Zone(zone) });
  return await bench.reader.turn();
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
  await bench.reader.turn();
  await bench.clock.advance(MINUTE_MS);
  bench.files.set('network/current', `${current}Nov 21 12:00:30 [a] new\n`);
  await bench.reader.turn();
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
  await bench.reader.turn();
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
  await bench.reader.turn();
  bench.router.jumpClock(10 * YEAR_S * 1000);
  bench.write(3, 6);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.turn();
  bench.router.jumpClock(-10 * YEAR_S * 1000);
  bench.write(6, 9);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.turn();
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

test('case 57: lines that were just written and are hours off the time of the router raise a doubt about the zone', async () => {
  await using bench = await openLogBench({
    simulator: { timezone: 'Europe/Moscow' },
    turns: { zone: new Zone('UTC') },
  });
  bench.write(0, 1);
  await bench.reader.turn();
  await bench.clock.advance(30 * SECOND_MS);
  bench.write(1, 2);
  await bench.reader.turn();
  expect(bench.reader.events).toContainEqual({ type: 'log-zone-doubted', offByMs: 3 * HOUR_MS });
});

test('case 81: two rotations show the zone, which is in use from then on and told once', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, turns: { zone: new Zone(undefined) } });
  for (let file = 0; file < 5; file++) {
    bench.router.appendLog('network', `line ${file}`);
    await bench.reader.turn();
    await bench.clock.advance(6 * MINUTE_MS);
    bench.router.rotate('network', `after ${file}`);
    await bench.reader.turn();
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
    await bench.reader.turnsFor(MINUTE_MS);
    await bench.clock.advance(5 * SECOND_MS);
    bench.router.appendLog('network', `unread ${from}`);
    bench.router.rotate('network', `first of ${from}`);
    await bench.reader.turnsFor(2 * MINUTE_MS);
  };
  await step(0);
  bench.router.jumpClock(7 * YEAR_S * 1000);
  await step(10);
  bench.router.jumpClock(-7 * YEAR_S * 1000);
  await step(20);
  await step(30);
  await bench.reader.turnsFor(20 * MINUTE_MS);
  const { records } = bench.reader;
  const lines = messagesOf(linesOf(records)).filter((message) => !message.startsWith('unread'));
  expect(lines).toEqual([0, 10, 20, 30].flatMap((from) => [...lineNames(from, from + 3), `first of ${from}`]));
  // The router deletes each new archive at once, because the one from the future is newer.
  expect(messagesOf(records).filter((message) => message.startsWith('unread'))).toEqual(['unread 0', 'unread 10']);
  expect(gapsOf(records).length).toBeGreaterThanOrEqual(2);
});

test('case 59: with start now, old lines are passed over and counted, and new ones come', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, turns: { start: 'now' } });
  bench.write(0, 10);
  await bench.clock.advance(10 * SECOND_MS);
  bench.router.rotate('network', 'first of current');
  bench.write(10, 14);
  const first = await bench.reader.turn();
  expect(first).toMatchObject([
    { event: 'log.gap', file: 'network/log-2026-11-21-12:00:10.bz2', details: { reason: 'skipped' } },
    { event: 'log.gap', details: { certainty: 'certain', reason: 'skipped', lines: 5 } },
  ]);
  bench.write(14, 16);
  expect((await bench.reader.turn()).map(({ event, message }) => event ?? message)).toEqual([
    'log.gap_end',
    'log.gap_end',
    'line 14',
    'line 15',
  ]);
  // A log that begins later is new as a whole.
  await bench.clock.advance(10 * SECOND_MS);
  bench.write(0, 2, 'system');
  expect(messagesOf(await bench.reader.turn())).toEqual(['line 0', 'line 1']);
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
            throw new SourceError('timeout', 'Too slow', { disposition: 'retry', isAnswered: true });
        })(),
        start,
      ),
  };
  const reader = new LogReader(source, archives, { clock, start: 'now', zone: new Zone('UTC') });
  for (let turn = 0; turn < 6; turn++) {
    await reader.turn();
    await clock.advance(5 * MINUTE_MS);
    if (turn > 2) current += write(clock.now(), `new ${turn}`);
  }
  expect(messagesOf(linesOf(reader.records))).toEqual(['new 3', 'new 4']);
  const gaps = gapsOf(reader.records);
  expect(gaps.length).toBeGreaterThan(1);
  expect(gaps.reduce((lines, { details }) => lines + Number(details?.['lines']), 0)).toBe(1000);
  expect(new Set(gaps.map(({ uid }) => uid)).size).toBe(gaps.length);
});

test('with start now and the positions lost, a router that was met before is read from its start, or from the first contact', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, turns: { start: 'now' } });
  bench.write(0, 2);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.turn();
  bench.write(2, 4);
  await bench.reader.turn();
  bench.write(4, 6);
  bench.reader.restart();
  const { log } = bench.reader;
  log.positions.clear();
  expect(messagesOf(linesOf(await bench.reader.turn()))).toEqual(lineNames(2, 6));
  bench.reader.restart();
  log.positions.clear();
  log.facts = '';
  expect(messagesOf(await bench.reader.turn())).toEqual(lineNames(0, 6));
});

test('case 60: with a start some time ago, the file on the edge is shipped from the right line on', async () => {
  await using bench = await openLogBench({ ...AT_ONCE, turns: { start: { backMs: 24 * HOUR_MS } } });
  for (let hour = 0; hour < 48; hour++) {
    bench.router.appendLog('network', `hour ${hour}`);
    await bench.clock.advance(HOUR_MS);
    if (hour % 10 === 9) bench.router.rotate('network', `rotated after ${hour}`);
  }
  const records = await bench.reader.turn();
  const hours = messagesOf(linesOf(records)).filter((message) => message.startsWith('hour'));
  expect(hours).toEqual(Array.from({ length: 24 }, (_, index) => `hour ${24 + index}`));
  expect(gapsOf(records).map(({ details }) => details?.['reason'])).toEqual(['skipped', 'skipped']);
});

test('lines of a log that begins anew at the date of the firmware get their times once the clock is set', async () => {
  const line = (time: string, message: string) => `${time} [wan] ${message}\n`;
  const archive = 'network/log-2026-11-21-11:40:00';
  const files = new Map([
    [archive, line('2026-11-21 12:20:00', 'old')],
    ['network/current', line('2026-11-21 12:50:00', 'last')],
  ]);
  await using bench = await openFileBench(files);
  await bench.reader.turn();
  files.delete(archive);
  const boot = line('2022-01-01 00:00:20', 'boot');
  files.set('network/current', boot + line('2022-01-01 00:00:50', 'up') + line('2026-11-21 13:00:10', 'clock set'));
  await bench.clock.advance(MINUTE_MS);
  const records = linesOf(await bench.reader.turn());
  expect(messagesOf(records)).toEqual(['boot', 'up', 'clock set']);
  expect(records.map(({ timestamp }) => timestamp?.slice(0, 19))).toEqual([
    '2026-11-21T11:59:40',
    '2026-11-21T12:00:10',
    '2026-11-21T12:00:10',
  ]);
  expect(records[0]?.flags).toEqual(['unsynced', 'remapped']);
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
  const records = await bench.reader.turn();
  expect(messagesOf(linesOf(records))).toEqual(['first', 'second']);
  const gaps = gapsOf(records);
  expect(gaps).toMatchObject([{ details: { lines: 1 } }, { details: { lines: 1 } }]);
  expect(new Set(gaps.map(({ uid }) => uid)).size).toBe(2);
});

test.each([
  ['is not listed', undefined],
  ['is empty', ''],
])('a long history is read to its end where current %s', async (_how, current) => {
  const files = new Map(
    [1, 2, 3, 4, 5, 6].map((hour) => [
      `network/log-2026-11-21-0${hour}:00:00.bz2`,
      `2026-11-21 0${hour - 1}:30:00 [wan] line ${hour} ${'x'.repeat(1000)}\n`,
    ]),
  );
  if (current !== undefined) files.set('network/current', current);
  await using bench = await openFileBench(files, { historyBytesMax: 3000, zone: new Zone('UTC') });
  await bench.reader.turn();
  await bench.reader.turnsFor(10 * MINUTE_MS);
  expect(messagesOf(linesOf(bench.reader.records)).map((message) => message.slice(0, 6))).toEqual(
    [1, 2, 3, 4, 5, 6].map((hour) => `line ${hour}`),
  );
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('a log whose position was lost while the process lives is read again without a jump of the clock', async () => {
  await using bench = await openLogBench();
  for (let line = 0; line < 30; line++) {
    bench.write(line, line + 1);
    await bench.clock.advance(10 * MINUTE_MS);
    await bench.reader.turn();
  }
  bench.reader.log.positions.delete('network');
  await bench.clock.advance(MINUTE_MS);
  const again = await bench.reader.turn();
  expect(messagesOf(linesOf(again))).toEqual(lineNames(0, 30));
  expect(jumpsOf(again)).toEqual([]);
});

test('case 61: of a long history no more than the budget is read before the live log, and the rest behind it, flagged', async () => {
  const budget = 30_000;
  await using bench = await openLogBench({
    simulator: { logs: { compressionMs: 0, maxFiles: 10 } },
    turns: { historyBytesMax: budget },
  });
  for (let file = 0; file < 5; file++) {
    for (let line = 0; line < 200; line++) bench.router.appendLog('network', `${file}/${line} ${'x'.repeat(60)}`);
    await bench.clock.advance(10 * SECOND_MS);
    bench.router.rotate('network', `first of ${file + 1}`);
  }
  const first = await bench.reader.turn();
  // Two files of 19 kB and more reach the budget, then the live log, then again so much.
  expect(messagesOf(first).indexOf('first of 5')).toBe(200 + 201);
  expect(first.filter(({ flags }) => flags?.includes('backfill')).length).toBeLessThanOrEqual(201 * 2);
  bench.write(0, 3);
  const second = await bench.reader.turn();
  expect(messagesOf(second).slice(0, 3)).toEqual(lineNames(0, 3));
  await bench.reader.turn();
  const { records } = bench.reader;
  expect(linesOf(records)).toHaveLength(5 * 201 + 3);
  expect(gapsOf(records)).toEqual([]);
});

test('cases 45 and 51: with the state lost, the same lines get the same uids and times; with the state kept, none comes again', async () => {
  await using bench = await openLogBench(AT_ONCE);
  bench.write(0, 50);
  await bench.reader.turn();
  bench.router.rotate('network', 'after');
  await bench.reader.turn();
  const identify = (records: typeof bench.reader.records) =>
    linesOf(records).map(({ uid, timestamp }) => [uid, timestamp]);
  const before = identify(bench.reader.records);
  bench.reader.restart();
  expect(await bench.reader.turn()).toEqual([]);
  bench.reader.log.positions.clear();
  expect(identify(await bench.reader.turn())).toEqual(before);
});

test('case 50: another serial number is another router: a reset, a possible gap, and its own lines from their start', async () => {
  await using bench = await openLogBench();
  bench.write(0, 5);
  await bench.reader.turn({ serial: 'A' });
  bench.write(5, 7);
  expect(messagesOf(await bench.reader.turn({ serial: 'A' }))).toEqual(['line 5', 'line 6']);
  await bench.router.factoryReset();
  await bench.clock.advance(MINUTE_MS);
  bench.write(0, 3);
  const records = await bench.reader.turn({ serial: 'B' });
  expect(records.map(({ event, message }) => event ?? message)).toEqual([
    'log.gap',
    'log.reset',
    'log.gap_end',
    ...lineNames(0, 3),
  ]);
  expect(bench.reader.count('log-reset')).toBe(1);
});

describe('case 100: a device that answers for another one before a poll has told its serial number', () => {
  /** A log that was read from device A, which another one with three lines has replaced. */
  async function openReplaced() {
    const bench = await openLogBench();
    bench.write(0, 5);
    await bench.reader.turn({ serial: 'A' });
    await bench.router.factoryReset();
    await bench.clock.advance(MINUTE_MS);
    bench.write(0, 3);
    return bench;
  }

  test('is asked who it is before anything of it is read, and its lines come once', async () => {
    await using bench = await openReplaced();
    const records = await bench.reader.turn({ serial: 'A', readSerial: async () => 'B' });
    expect(records.map(({ event, message }) => event ?? message)).toEqual([
      'log.gap',
      'log.reset',
      'log.gap_end',
      ...lineNames(0, 3),
    ]);
    // The poll tells it later.
    await bench.clock.advance(MINUTE_MS);
    bench.write(3, 4);
    const later = await bench.reader.turn({ serial: 'B', readSerial: () => expect.fail('It is known') });
    expect(messagesOf(linesOf(later))).toEqual(['line 3']);
    expect(bench.reader.count('log-reset')).toBe(1);
    const uids = bench.reader.records.map(({ uid }) => uid);
    expect(new Set(uids).size).toBe(uids.length);
  });

  test('is recognised by archives of other names, when no log has an open file', async () => {
    const files = new Map([['network/log-2026-11-21-10:00:00', '2026-11-21 10:59:00 [a] of A\n']]);
    await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
    await bench.reader.turn({ serial: 'A' });
    files.clear();
    files.set('network/log-2026-11-21-09:00:00', '2026-11-21 09:59:00 [a] of B\n');
    await bench.clock.advance(MINUTE_MS);
    await bench.reader.turn({ serial: 'A', readSerial: async () => 'B' });
    expect(bench.reader.events).toContainEqual(expect.objectContaining({ type: 'log-reset', reason: 'replaced' }));
    expect(messagesOf(linesOf(bench.reader.records))).toEqual(['of A', 'of B']);
    await bench.reader.turn({ serial: 'B' });
    expect(bench.reader.count('log-reset')).toBe(1);
  });

  test('may be the same one with emptied logs, or may not tell', async () => {
    for (const serial of ['A', undefined]) {
      await using bench = await openReplaced();
      let asked = 0;
      const readSerial = async () => {
        asked++;
        return serial;
      };
      await bench.reader.turn({ serial: 'A', readSerial });
      await bench.clock.advance(20 * MINUTE_MS);
      await bench.reader.turn({ serial: 'A', readSerial });
      expect(messagesOf(linesOf(bench.reader.records))).toEqual([...lineNames(0, 5), ...lineNames(0, 3)]);
      expect(asked).toBe(1);
      expect(bench.reader.events).not.toContainEqual(expect.objectContaining({ reason: 'replaced' }));
    }
  });

  test('is read all the same where the account may not ask, and at the second run where it fails to answer', async () => {
    await using bench = await openReplaced();
    const refuse = (status: number) => () =>
      Promise.reject(new SourceError('http', 'No', { disposition: 'retry', status, isAnswered: true }));
    await expect(bench.reader.turn({ serial: 'A', readSerial: refuse(500) })).rejects.toThrow('No');
    expect(linesOf(bench.reader.records)).toHaveLength(5);
    await bench.reader.turn({ serial: 'A', readSerial: refuse(500) });
    await using other = await openReplaced();
    await other.reader.turn({ serial: 'A', readSerial: refuse(403) });
    for (const { clock, reader } of [bench, other]) {
      await clock.advance(2 * MINUTE_MS);
      await reader.turn({ serial: 'A', readSerial: refuse(500) });
      expect(linesOf(reader.records)).toHaveLength(8);
    }
  });

  test('is not read as long as its connection fails', async () => {
    await using bench = await openReplaced();
    const cut = () => Promise.reject(new SourceError('connect', 'Lost', { disposition: 'retry' }));
    for (let turn = 0; turn < 3; turn++) {
      await expect(bench.reader.turn({ serial: 'A', readSerial: cut })).rejects.toThrow('Lost');
    }
    expect(linesOf(bench.reader.records)).toHaveLength(5);
    // It lists its logs all the same.
    await expect(bench.reader.turn({ serial: 'A', readSerial: cut })).rejects.toThrow('Lost');
    await bench.reader.turn({ serial: 'A', readSerial: cut });
    await bench.clock.advance(2 * MINUTE_MS);
    await bench.reader.turn({ serial: 'A', readSerial: cut });
    expect(linesOf(bench.reader.records)).toHaveLength(8);
  });

  test('is asked once when its archives are gone, also if no line follows, and not for a log that is not wanted', async () => {
    const rotated = (component: string, hour: number) => `${component}/log-2026-11-21-${hour}:00:00`;
    const line = (hour: number) => `2026-11-21 ${hour}:30:00 [a] at ${hour}\n`;
    const files = new Map(['a', 'b'].map((component) => [rotated(component, 10), line(11)]));
    await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
    await bench.reader.turn({ serial: 'A' });
    let asked = 0;
    const readSerial = async () => {
      asked++;
      return 'A';
    };
    files.delete(rotated('a', 10));
    for (let turn = 0; turn < 3; turn++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.turn({ serial: 'A', readSerial, isWanted: (component) => component === 'b' });
    }
    expect(asked).toBe(0);
    for (let turn = 0; turn < 3; turn++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.turn({ serial: 'A', readSerial });
    }
    expect(asked).toBe(1);
    files.clear();
    for (let turn = 0; turn < 3; turn++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.turn({ serial: 'A', readSerial });
    }
    expect(asked).toBe(2);
  });

  test('is not read in any log when it is too busy to say who it is', async () => {
    await using bench = await openLogBench();
    bench.write(0, 3, 'network');
    bench.write(0, 3, 'wan');
    await bench.reader.turn({ serial: 'A' });
    await bench.router.factoryReset();
    await bench.clock.advance(MINUTE_MS);
    bench.write(0, 2, 'network');
    bench.write(0, 2, 'wan');
    const busy = () =>
      Promise.reject(new SourceError('http', 'Busy', { disposition: 'retry', status: 503, isAnswered: true }));
    await bench.reader.turn({ serial: 'A', readSerial: busy });
    expect(linesOf(bench.reader.records)).toHaveLength(6);
    await bench.reader.turn({ serial: 'A', readSerial: async () => 'B' });
    expect(linesOf(bench.reader.records)).toHaveLength(10);
    expect(bench.reader.count('log-reset')).toBe(2);
  });

  test('is not asked while the files are those that are known, rotated or not', async () => {
    await using bench = await openLogBench(AT_ONCE);
    const readSerial = () => expect.fail('Nothing says that it is another one');
    bench.write(0, 5);
    for (let turn = 0; turn < 8; turn++) {
      await bench.reader.turn({ serial: 'A', readSerial });
      bench.router.rotate('network', `after ${turn}`);
      await bench.clock.advance(MINUTE_MS);
      bench.write(5, 7);
    }
    expect(linesOf(bench.reader.records).length).toBeGreaterThan(20);
  });
});

test('case 101: with the clock of the agent set back a day after a rotation, the log goes on within minutes, without a gap', async () => {
  await using bench = await openLogBench({ simulator: SLOW_ARCHIVES });
  // The archive is to be tried again later.
  await readUnfinishedArchive(bench);
  expect(bench.reader.count('archive-unfinished')).toBe(1);
  bench.clock.jump(-24 * HOUR_MS);
  bench.router.jumpClock(24 * HOUR_MS);
  bench.reader.restart();
  await bench.reader.turnsFor(3 * MINUTE_MS);
  expect(messagesOf(linesOf(bench.reader.records))).toEqual([...lineNames(0, 2100), 'after']);
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('case 101: with the clock of the agent set back a day, a file that never turns up is a gap after the usual time', async () => {
  const files = new Map([['network/current', '2026-11-21 12:59:00 [a] of the one\n']]);
  await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
  await bench.reader.turn();
  files.set('network/current', '2026-11-21 12:59:30 [a] of the other\n');
  await bench.clock.advance(MINUTE_MS);
  await bench.reader.turn();
  expect(gapsOf(bench.reader.records)).toEqual([]);
  bench.clock.jump(-24 * HOUR_MS);
  await bench.reader.turn();
  await bench.clock.advance(16 * MINUTE_MS);
  await bench.reader.turn();
  expect(gapsOf(bench.reader.records)).toHaveLength(1);
  expect(messagesOf(linesOf(bench.reader.records))).toEqual(['of the one', 'of the other']);
});

test('case 52: ten thousand rotated files that were read keep the position and a turn small', async () => {
  const files = new Map<string, string>([['network/current', '']]);
  const names = Array.from({ length: 10_000 }, (_, index) => {
    const moment = new Date(Date.UTC(2026, 0, 1) + index * MINUTE_MS).toISOString();
    return `network/log-${moment.slice(0, 10)}-${moment.slice(11, 19)}`;
  });
  for (const [index, name] of names.entries()) files.set(name, `2026-01-01 00:00:00 [a] file ${index}\n`);
  await using bench = await openFileBench(files, { zone: new Zone(undefined), start: 'now' });
  await bench.reader.turn();
  expect(bench.reader.log.positions.get('network')?.length).toBeLessThan(400_000);
  for (const name of names.slice(0, 9000)) files.delete(name);
  files.set('network/current', '2026-11-21 12:00:00 [a] new\n');
  expect(messagesOf(linesOf(await bench.reader.turn()))).toEqual(['new']);
  expect(bench.reader.log.positions.get('network')?.length).toBeLessThan(60_000);
});

test('case 99: a log that grows by 1 MB in ten minutes, with five archives, is an hour from loss, and is looked at in time', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxSizeBytes: 2 ** 30 } } });
  const megabyte = () => {
    for (let line = 0; line < 125; line++) bench.router.appendLog('network', `${line} ${'x'.repeat(7960)}`);
  };
  for (let file = 0; file < 6; file++) {
    megabyte();
    await bench.clock.advance(10 * MINUTE_MS);
    bench.router.rotate('network', `after ${file}`);
    await bench.reader.turn();
  }
  const last = bench.reader.events.findLast(({ type }) => type === 'log-retention');
  const msToLoss = last && 'msToLoss' in last ? (last.msToLoss ?? 0) : 0;
  expect(msToLoss / MINUTE_MS).toBeGreaterThan(50);
  expect(msToLoss / MINUTE_MS).toBeLessThan(75);
  const intervalMs = bench.reader.memory.computeIntervalMs({ floorMs: 5000, ceilingMs: 24 * HOUR_MS });
  expect(intervalMs).toBeLessThan(msToLoss / 3);
  expect(bench.reader.memory.computeIntervalMs({ floorMs: 5000, ceilingMs: 30_000 })).toBe(30_000);
});

test.each([
  ['configured', new Zone('Europe/Berlin')],
  ['learnt', new Zone(undefined)],
])('a log that is quiet for an hour says nothing against its zone: %s', async (_how, zone) => {
  await using bench = await openLogBench({ turns: { zone } });
  const readTime = async () => ({ wallAsUtcMs: bench.clock.now() + HOUR_MS, utcMs: bench.clock.now() });
  bench.write(0, 3);
  await bench.reader.turn({ readTime });
  await bench.clock.advance(30 * SECOND_MS);
  bench.write(3, 4);
  for (let look = 0; look < 60; look++) {
    await bench.reader.turn({ readTime });
    await bench.clock.advance(MINUTE_MS);
  }
  bench.write(4, 5);
  const last = (await bench.reader.turn({ readTime })).at(-1);
  expect(last?.message).toBe('line 4');
  expect(last?.flags).toBeUndefined();
  expect(bench.reader.count('log-zone-doubted')).toBe(0);
  expect(bench.reader.count('log-clock-jumped')).toBe(0);
  expect(bench.reader.count('log-zone-learnt')).toBe(zone.isNamed ? 0 : 1);
});

test('lines about requests of this program are flagged, and do not make it look more often', async () => {
  await using bench = await openLogBench({ simulator: { features: { logRequests: true } } });
  bench.router.appendLog('network', 'a line');
  const records = await bench.reader.turnsFor(5 * MINUTE_MS);
  const own = records.filter(({ flags }) => flags?.includes('self'));
  expect(own.length).toBeGreaterThan(10);
  expect(own.every(({ component }) => component === 'restd')).toBe(true);
  expect(bench.reader.memory.computeIntervalMs({ floorMs: 5000, ceilingMs: 30_000 })).toBe(30_000);
  expect(bench.reader.memory.of('restd').retention.lifetimeMs).toBeUndefined();
});

test('a single reading, as of `logs fetch`, keeps nothing back: neither the last record nor what stands behind a missing file', async () => {
  const file = (from: string, ...lines: string[]) =>
    lines
      .map((line) => (line.startsWith(' ') ? line : `${from} [a] ${line}`))
      .join('\n')
      .concat('\n');
  await using bench = await openFileBench(
    new Map([
      ...LINKED_LOG,
      ['network/log-2026-11-21-10:00:00', file('2026-11-21 10:59:00', 'one', '  more of one')],
      ['network/current', file('2026-11-21 12:00:00', 'four', '  more of four')],
    ]),
  );
  const records = (await bench.reader.turn({ isOnlyRun: true })).filter(({ component }) => component === 'network');
  expect(messagesOf(linesOf(records))).toEqual(['one\n  more of one', 'four\n  more of four']);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'likely', from_uid: records[0]?.uid } }]);
});
