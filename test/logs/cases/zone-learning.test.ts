import { expect, test } from 'vitest';
import { parseRouterFacts } from '../../../src/logs/follow/router-facts.ts';
import { Zone } from '../../../src/logs/index.ts';
import { readRouterTime } from '../../../src/status/index.ts';
import {
  gapsOf,
  HOUR_MS,
  jumpsOf,
  type LogBench,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  type RunOptions,
  SECOND_MS,
} from '../../support/log-bench.ts';

/** Where no zone is configured it is learnt from the router, before the first line if it shows it, and that is no jump. */

type BenchOptions = NonNullable<Parameters<typeof openLogBench>[0]>;

/** A router without `timezone`; `asks` counts how often it was asked for its time. */
async function openUnconfigured({ runs, ...options }: BenchOptions = {}) {
  const bench = await openLogBench({ ...options, runs: { zone: new Zone(undefined), ...runs } });
  const state = { asks: 0 };
  const timed: RunOptions = {
    readTime: (signal) => {
      state.asks++;
      return readRouterTime(bench.client, signal);
    },
  };
  return Object.assign(bench, { state, timed });
}

/** A line, and after some of them a rotation, each followed by a run; `perRun` is time between two lines. */
async function follow(bench: LogBench, from: number, to: number, perRun: number, options: RunOptions = {}) {
  for (let line = from; line < to; line++) {
    await bench.clock.advance(perRun - 20 * SECOND_MS);
    if (line % 5 === 4) bench.router.rotate('network', `line ${line}`);
    else bench.write(line, line + 1);
    await bench.clock.advance(20 * SECOND_MS);
    await bench.reader.run(options);
  }
}

const timesOf = (bench: Pick<LogBench, 'reader'>) =>
  linesOf(bench.reader.records).map(({ timestamp = '' }) => timestamp.slice(0, 19));
const flagsOf = (bench: LogBench) => linesOf(bench.reader.records).map(({ flags = [] }) => flags.join());

/** What the router's clock said when it wrote each line, in UTC; `offsetOf` is that of its zone at a local time. */
const truthOf = (bench: LogBench, offsetOf: (stamp: string) => number) =>
  bench.router.truth('network').map(({ text }) => {
    const wallMs = Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`);
    return new Date(wallMs - offsetOf(text.slice(0, 19))).toISOString().slice(0, 19);
  });

test.for([0, -7 * MINUTE_MS, -5 * HOUR_MS - 7 * MINUTE_MS])(
  'the offset of the first line is learnt from the time that a router reports whose clock is off by %d ms',
  async (clockOffsetMs) => {
    await using bench = await openUnconfigured({ simulator: { clockOffsetMs } });
    bench.write(0, 3);
    await bench.reader.run(bench.timed);
    expect(flagsOf(bench)).toEqual(['', '', '']);
    expect(timesOf(bench)).toEqual(truthOf(bench, () => HOUR_MS));
    await follow(bench, 3, 30, 5 * MINUTE_MS, bench.timed);

    expect(timesOf(bench)).toEqual(truthOf(bench, () => HOUR_MS));
    expect(jumpsOf(bench.reader.records)).toEqual([]);
    const learnt = bench.reader.events.filter(({ type }) => type === 'log-zone-learnt');
    expect(learnt).toEqual([{ type: 'log-zone-learnt', offsetMs: HOUR_MS, zone: undefined }]);
    expect(bench.state.asks).toBe(1);
  },
);

/** Archives that each begin in the second in which the one before ends, in the local time of +01:00. */
const HOURLY = new Map(
  ['09', '10', '11'].flatMap((hour, index): [string, string][] => {
    const wall = (minute: number) => `2026-11-21 ${10 + index}:${minute || '00'}:00 [wan] ${hour}`;
    return [[`network/log-2026-11-21-${Number(hour) + 1}:00:00`, `${wall(0)} begins\n${wall(30)} goes on\n`]];
  }),
);

test.for([
  ['of the first line, where the header is off the clock of the agent by it', HOUR_MS, 0],
  ['of new lines, where the header is right', 0, 6],
] as const)(
  'three rotations prove the offset %s, against a router that reports none',
  async ([, dateOffMs, historyLines]) => {
    const files = new Map([...HOURLY, ['network/current', '2026-11-21 13:00:00 [wan] 12 begins\n']]);
    await using bench = await openFileBench(files, {
      zone: new Zone(undefined),
      // Both are the local time, which the header calls GMT; or UTC, which is not the time of the lines.
      readTime: () =>
        Promise.resolve({ wallAsUtcMs: bench.clock.now() + dateOffMs, utcMs: bench.clock.now() + dateOffMs }),
    });
    await bench.reader.run();
    await bench.clock.advance(MINUTE_MS);
    files.set('network/current', '2026-11-21 13:00:00 [wan] 12 begins\n2026-11-21 13:01:00 [wan] new\n');
    await bench.reader.run();
    const times = timesOf(bench);
    expect(times.slice(historyLines)).toEqual(
      ['09:00', '09:30', '10:00', '10:30', '11:00', '11:30', '12:00', '12:01']
        .slice(historyLines)
        .map((time) => `2026-11-21T${time}:00`),
    );
    expect(linesOf(bench.reader.records).flatMap(({ flags = [] }) => flags)).toEqual([]);
    expect(jumpsOf(bench.reader.records)).toEqual([]);
  },
);

test('fresh lines against a header that may be local time show no offset', async () => {
  await using bench = await openUnconfigured({ simulator: { clockOffsetMs: HOUR_MS } });
  await follow(bench, 0, 4, 2 * MINUTE_MS);
  expect(flagsOf(bench)).toEqual(Array(4).fill('zone_assumed'));
});

test('what a router reported outlives the process and is not asked for again', async () => {
  await using bench = await openUnconfigured();
  bench.write(0, 3);
  await bench.reader.run(bench.timed);
  bench.reader.restart();
  bench.write(3, 6);
  await bench.reader.run();
  expect(flagsOf(bench)).toEqual(Array(6).fill(''));
  expect(bench.reader.log.facts).toContain('"told":[{"utcMs":1795262400000,"offsetMs":3600000}]');
});

test('a router that reports no time is not waited for, and is asked again only after an hour', async () => {
  await using bench = await openUnconfigured();
  bench.router.setStatus('sysdetail/system', { isAbsent: true });
  bench.write(0, 3);
  await bench.reader.run(bench.timed);
  expect(flagsOf(bench)).toEqual(Array(3).fill('zone_assumed'));
  await bench.reader.run(bench.timed);
  expect(bench.state.asks).toBe(1);
  await bench.clock.advance(HOUR_MS);
  await bench.reader.run(bench.timed);
  expect(bench.state.asks).toBe(2);
});

test.for(['', '2026-11-21 13:00:00 UTC', '2026-11-21 13:07:00', 'soon', '2026-11-23 13:00:00'])(
  'the local time %j shows no offset',
  async (date) => {
    await using bench = await openUnconfigured();
    bench.router.setStatus('sysdetail/system', { unique: { date } });
    bench.write(0, 1);
    await bench.reader.run(bench.timed);
    expect(flagsOf(bench)).toEqual(['zone_assumed']);
  },
);

test('an answer without a Date header shows no offset', async () => {
  const client = {
    readDatedStatus: () =>
      Promise.resolve({ body: { status: { unique: { date: '2026-11-21 13:00:00' } } }, dateMs: undefined }),
  };
  expect(await readRouterTime(client, new AbortController().signal)).toBeUndefined();
});

test('a router that fails to report its time once is asked again before the first line, and waited for no longer than that', async () => {
  await using once = await openUnconfigured();
  await once.router.fault('http_500', { path: '/status/sysdetail/system', times: 1 });
  once.write(0, 3);
  expect(await once.reader.run(once.timed)).toEqual([]);
  await once.reader.run(once.timed);
  expect(flagsOf(once)).toEqual(['', '', '']);

  await using always = await openUnconfigured();
  await always.router.fault('http_500', { path: '/status/sysdetail/system' });
  always.write(0, 3);
  expect(await always.reader.run(always.timed)).toEqual([]);
  await always.reader.run(always.timed);
  expect(flagsOf(always)).toEqual(Array(3).fill('zone_assumed'));
  await always.router.clearFault();
  always.write(3, 4);
  await always.clock.advance(30 * SECOND_MS);
  await always.reader.run(always.timed);
  expect(flagsOf(always).at(-1)).toBe('');
  expect(timesOf(always)).toEqual([...Array(3).fill('2026-11-21T13:00:00'), '2026-11-21T12:00:00']);
  expect(jumpsOf(always.reader.records)).toEqual([]);
});

test('an only run asks once and does not wait', async () => {
  await using bench = await openUnconfigured();
  await bench.router.fault('http_500', { path: '/status/sysdetail/system' });
  bench.write(0, 3);
  expect(await bench.reader.run({ ...bench.timed, isOnlyRun: true })).toHaveLength(3);
});

test('names of archives against the first lines behind them show the offset of the first line', async () => {
  await using bench = await openUnconfigured({ simulator: { clockOffsetMs: -HOUR_MS } });
  for (let line = 0; line < 15; line++) {
    await bench.clock.advance(MINUTE_MS);
    if (line % 5 === 4) bench.router.rotate('network', `line ${line}`);
    else bench.write(line, line + 1);
  }
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toHaveLength(15);
  expect(flagsOf(bench)).toEqual(Array(15).fill(''));
  expect(timesOf(bench)).toEqual(truthOf(bench, () => HOUR_MS));
});

test('a zone that is learnt from rotations after lines were shipped makes no jump and no gap', async () => {
  await using bench = await openUnconfigured({
    simulator: { timezone: 'America/New_York', logs: { compressionMs: 0 } },
  });
  await follow(bench, 0, 60, 5 * MINUTE_MS);
  expect(flagsOf(bench)[0]).toBe('zone_assumed');
  expect(flagsOf(bench).at(-1)).toBe('');
  expect(timesOf(bench).at(-1)).toBe(truthOf(bench, () => -5 * HOUR_MS).at(-1));
  expect(jumpsOf(bench.reader.records)).toEqual([]);
  expect(gapsOf(bench.reader.records)).toEqual([]);
  expect(bench.reader.count('log-zone-learnt')).toBe(1);
});

test('a zone that is configured later makes no jump, and what is learnt next to a configured one is not reported', async () => {
  await using bench = await openUnconfigured({ simulator: { logs: { compressionMs: 0 } } });
  bench.router.setStatus('sysdetail/system', { isAbsent: true });
  await follow(bench, 0, 3, 5 * MINUTE_MS, bench.timed);
  const before = bench.reader.count('log-zone-learnt');
  bench.reader.restart();
  await follow(bench, 3, 30, 5 * MINUTE_MS, { zone: new Zone('UTC') });
  bench.reader.restart();
  await follow(bench, 30, 60, 5 * MINUTE_MS, { zone: new Zone('Europe/Berlin') });
  expect(jumpsOf(bench.reader.records)).toEqual([]);
  expect(bench.reader.count('log-zone-learnt')).toBe(before);
  expect(timesOf(bench).at(-1)).toBe(truthOf(bench, () => HOUR_MS).at(-1));
});

test.for([
  ['spring', Date.UTC(2027, 2, 27, 20), (stamp: string) => (stamp < '2027-03-28 02' ? 1 : 2)],
  ['autumn', Date.UTC(2027, 9, 30, 20), undefined],
] as const)(
  'a change of summer time in %s is no jump where the offset is only learnt',
  async ([, startMs, offsetOf]) => {
    await using bench = await openUnconfigured({ startMs });
    bench.write(0, 1);
    await follow(bench, 1, 170, 5 * MINUTE_MS - 1000, bench.timed);
    expect(jumpsOf(bench.reader.records)).toEqual([]);
    expect(gapsOf(bench.reader.records)).toEqual([]);
    const times = timesOf(bench);
    expect(times).toEqual(times.toSorted());
    expect(times.at(-1)).toBe(new Date(bench.clock.now() - 20 * SECOND_MS).toISOString().slice(0, 19));
    if (offsetOf) expect(times).toEqual(truthOf(bench, (stamp) => offsetOf(stamp) * HOUR_MS));
    expect(bench.state.asks).toBeLessThan(5);
  },
);

test('a router whose zone is set anew is asked again', async () => {
  await using bench = await openUnconfigured({ simulator: { logs: { compressionMs: 0 } } });
  await follow(bench, 0, 10, 5 * MINUTE_MS, bench.timed);
  const before = bench.state.asks;
  // Lines and local time of another zone: the wall clock of the router alone, as its Date header stays right.
  const shifted: RunOptions = {
    readTime: async (signal) => {
      const time = await bench.timed.readTime?.(signal);
      return time && { wallAsUtcMs: time.wallAsUtcMs, utcMs: time.utcMs - 2 * HOUR_MS };
    },
    source: {
      listLogs: (signal) => bench.client.listLogs(signal),
      readLog: (name, signal, consume, options) =>
        bench.client.readLog(
          name,
          signal,
          (body, start, facts) => consume(body, start, { ...facts, dateMs: (facts.dateMs ?? 0) - 2 * HOUR_MS }),
          options,
        ),
    },
  };
  bench.router.jumpClock(2 * HOUR_MS);
  for (let line = 10; line < 14; line++) {
    bench.write(line, line + 1);
    await bench.clock.advance(30 * SECOND_MS);
    await bench.reader.run(shifted);
  }
  expect(bench.state.asks).toBeGreaterThan(before);
  expect(bench.state.asks).toBeLessThan(before + 3);
  expect(timesOf(bench).at(-1)).toBe(new Date(bench.clock.now() - 30 * SECOND_MS).toISOString().slice(0, 19));
});

test('lines that contradict the time that the router reports count before it', async () => {
  await using bench = await openUnconfigured();
  const wrong: RunOptions = {
    readTime: async (signal) => {
      const time = await bench.timed.readTime?.(signal);
      return time && { wallAsUtcMs: time.utcMs, utcMs: time.utcMs };
    },
  };
  for (let line = 0; line < 12; line++) {
    bench.write(line, line + 1);
    await bench.clock.advance(30 * SECOND_MS);
    await bench.reader.run(wrong);
  }
  expect(timesOf(bench).at(-1)).toBe(new Date(bench.clock.now() - 30 * SECOND_MS).toISOString().slice(0, 19));
  expect(bench.state.asks).toBeLessThan(5);
});

/** A device at +01:00 is read, and its zone learnt; then a spare at UTC has `spare` as its files. Gives what came of that. */
async function replaceDevice(spare: Readonly<Record<string, string>>, spareTells: boolean) {
  const files = new Map([['network/current', '2026-11-21 13:00:00 [wan] of the first\n']]);
  await using bench = await openFileBench(files, { zone: new Zone(undefined) });
  const tell = (offsetMs: number) => () =>
    Promise.resolve({ wallAsUtcMs: bench.clock.now() + offsetMs, utcMs: bench.clock.now() });
  await bench.reader.run({ serial: 'A', readTime: tell(HOUR_MS) });
  expect(timesOf(bench)).toEqual(['2026-11-21T12:00:00']);
  files.clear();
  for (const [name, content] of Object.entries(spare)) files.set(name, content);
  await bench.clock.advance(10 * MINUTE_MS);
  const records = await bench.reader.run({ serial: 'B', ...(spareTells && { readTime: tell(0) }) });
  return { records, facts: parseRouterFacts(bench.reader.log.facts ?? '') };
}

const SPARE = { 'network/current': '2026-11-21 12:05:00 [wan] of the spare\n' };

test('the lines of a device that replaces another have the zone that it reports, and what ends has that of the one before', async () => {
  const { records, facts } = await replaceDevice(SPARE, true);
  expect(linesOf(records)).toMatchObject([{ message: 'of the spare', timestamp: '2026-11-21T12:05:00.500000000Z' }]);
  expect(linesOf(records)[0]?.flags).toBeUndefined();
  expect(gapsOf(records)).toMatchObject([
    { details: { reason: 'reset', time_from: expect.stringMatching('2026-11-21T12:00:00') } },
  ]);
  expect(facts?.zone.told?.map(({ offsetMs }) => offsetMs)).toEqual([0]);
});

test('the zone of a device that replaces another and reports no time is looked for in its archives', async () => {
  const { records } = await replaceDevice(
    {
      'network/log-2026-11-21-11:00:00': '2026-11-21 10:30:00 [wan] one\n',
      'network/log-2026-11-21-11:30:00': '2026-11-21 11:00:00 [wan] two\n',
      'network/current': '2026-11-21 11:30:00 [wan] three\n',
    },
    false,
  );
  expect(linesOf(records).map(({ message, flags }) => [message, flags])).toEqual([
    ['one', undefined],
    ['two', undefined],
    ['three', undefined],
  ]);
  expect(linesOf(records)[0]?.timestamp).toMatch('2026-11-21T10:30:00');
});

test('the lines of a device that replaces another and shows no zone are not placed with that of the one before', async () => {
  const { records } = await replaceDevice(SPARE, false);
  expect(linesOf(records)).toMatchObject([{ timestamp: '2026-11-21T12:05:00.500000000Z', flags: ['zone_assumed'] }]);
});

test('a record that was kept back for lines that continue it has the zone that is learnt meanwhile', async () => {
  const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
  const start = `${line('12:50:00', 'a')}  at 1\n${line('12:55:00', 'kept back')}`;
  const files = new Map([['network/current', start]]);
  await using bench = await openFileBench(files, { zone: new Zone(undefined) });
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual(['a\n  at 1']);
  const utcMs = bench.clock.now();
  files.set('network/current', `${start}  at 2\n${line('12:59:00', 'next')}`);
  const records = await bench.reader.run({ readTime: () => Promise.resolve({ wallAsUtcMs: utcMs + HOUR_MS, utcMs }) });
  expect(records).toMatchObject([{ message: 'kept back\n  at 2' }]);
  expect(records[0]?.timestamp).toBe('2026-11-21T11:55:00.000000035Z');
  expect(records[0]?.flags).toBeUndefined();
});
