import { expect, test } from 'vitest';
import { type LogSource, Zone } from '../../../src/logs/index.ts';
import { RouterReadError } from '../../../src/model/index.ts';
import {
  jumpsOf,
  type LogBench,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  SECOND_MS,
  START_MS,
} from '../../support/log-bench.ts';

/** A line that was merely not read yet is no proof that the clock of the router has jumped. */

const SLOW = { simulator: { logs: { compressionMs: 12 * SECOND_MS } } };

/** A line every six minutes; the last of each ten begins a new file. */
async function writeQuietly(bench: LogBench, from: number, to: number, component = 'network'): Promise<void> {
  for (let line = from; line < to; line++) {
    await bench.clock.advance(6 * MINUTE_MS);
    if (line % 10 === 9) bench.router.rotate(component, `line ${line}`);
    else bench.write(line, line + 1, component);
  }
}

/** The same with a run after each half minute. */
async function followQuietly(bench: LogBench, from: number, to: number): Promise<void> {
  for (let line = from; line < to; line++) {
    await bench.reader.runsFor(6 * MINUTE_MS);
    if (line % 10 === 9) bench.router.rotate('network', `line ${line}`);
    else bench.write(line, line + 1);
  }
}

test('a first contact while the newest archive is being compressed makes no jump of the lines that had to wait', async () => {
  await using bench = await openLogBench(SLOW);
  await writeQuietly(bench, 0, 40);
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 29));
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();

  expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 40));
  expect(bench.reader.count('log-clock-jumped')).toBe(0);
});

test('a log whose newest file waits for the one before it does not count as caught up, and its history is no growth', async () => {
  await using bench = await openLogBench(SLOW);
  await writeQuietly(bench, 0, 40);
  await bench.reader.run();
  expect(bench.reader.count('log-caught-up')).toBe(0);
  await bench.clock.advance(30 * SECOND_MS);
  await bench.reader.run();
  expect(bench.reader.count('log-caught-up')).toBe(1);
  const retention = bench.reader.events.filter(({ type }) => type === 'log-retention');
  expect(retention).toEqual([{ type: 'log-retention', component: 'network', msToLoss: undefined }]);
});

test('rotations that are compressed for 12 s make no jump of a log that is followed', async () => {
  await using bench = await openLogBench(SLOW);
  await writeQuietly(bench, 0, 15);
  await followQuietly(bench, 15, 32);
  await bench.reader.runsFor(MINUTE_MS);
  expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 32));
});

test('rotations that are compressed for minutes make no jump of lines that go ahead of them', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 4 * MINUTE_MS } } });
  await writeQuietly(bench, 0, 15);
  await followQuietly(bench, 15, 32);
  await bench.reader.runsFor(10 * MINUTE_MS);
  expect(linesOf(bench.reader.records)).toHaveLength(32);
  expect(jumpsOf(bench.reader.records)).toEqual([]);
});

test('a file that is compressed for minutes while the one after it has no line yet makes no jump', async () => {
  const quiet = (time: string) => `2026-11-21 ${time} [wan] ${time}\n`;
  await using bench = await openFileBench(new Map([['network/current', quiet('11:54:00')]]), { zone: new Zone('UTC') });
  const { clock, files, reader } = bench;
  const turnAt = async (time: string) => {
    await clock.advance(Date.parse(`2026-11-21T${time}Z`) - clock.now());
    await reader.run();
  };
  await turnAt('12:00:00');
  // A timer rotates, and the next file is empty; the one before is in no listing while it is compressed.
  files.set('network/current', '');
  await turnAt('12:11:00');
  files.set('network/log-2026-11-21-12:10:00', quiet('11:54:00'));
  await turnAt('12:14:00');
  await turnAt('12:21:00');
  files.set('network/log-2026-11-21-12:20:00', quiet('12:15:00'));
  await turnAt('12:24:00');
  files.set('network/current', quiet('12:29:00'));
  await turnAt('12:30:00');
  expect(messagesOf(reader.records)).toEqual(['11:54:00', '12:15:00', '12:29:00']);
});

test('files that follow each other without a proof make no jumps, at first contact and later', async () => {
  const render = (fromMs: number, count: number) =>
    Array.from({ length: count }, (_, line) => {
      const stamp = new Date(fromMs + line * 6 * MINUTE_MS).toISOString().slice(0, 19).replace('T', ' ');
      return `${stamp} [wan] quiet\n`;
    }).join('');
  const at = (time: string) => Date.parse(`2026-11-21T${time}Z`);
  const files = new Map([
    ['network/log-2026-11-21-09:00:00', render(at('07:00:00'), 20)],
    ['network/log-2026-11-21-10:00:00', render(at('09:03:07'), 9)],
    ['network/current', render(at('10:04:11'), 20)],
  ]);
  await using bench = await openFileBench(files, { zone: new Zone('UTC') });
  await bench.reader.run();
  await bench.reader.runsFor(20 * MINUTE_MS);
  const { clock } = bench;
  files.set('network/log-2026-11-21-12:21:00', `${files.get('network/current')}`);
  files.set('network/current', render(clock.now() - 2 * MINUTE_MS, 1));
  await bench.reader.runsFor(20 * MINUTE_MS);
  expect(linesOf(bench.reader.records)).toHaveLength(50);
  expect(jumpsOf(bench.reader.records)).toEqual([]);
});

test.for([0, 20])(
  'runs that a deadline ends in the middle make no jumps, after %d lines that were followed',
  async (followed) => {
    await using bench = await openLogBench(SLOW);
    if (followed > 0) await followQuietly(bench, 0, followed);
    await writeQuietly(bench, followed, followed + 40);
    for (const downloads of [1, 1, 2, 0, 1]) {
      const deadline = new AbortController();
      let left = downloads;
      const source: LogSource = {
        listLogs: (signal) => bench.client.listLogs(signal),
        readLog: (name, signal, consume, options) => {
          if (left-- === 0) deadline.abort();
          return bench.client.readLog(name, signal, consume, options);
        },
      };
      await bench.reader.run({ source }, deadline.signal).catch(() => {});
      await bench.clock.advance(7 * MINUTE_MS);
      bench.write(1000, 1001);
    }
    await bench.reader.runsFor(5 * MINUTE_MS);
    expect(linesOf(bench.reader.records)).toHaveLength(followed + 45);
    expect(jumpsOf(bench.reader.records)).toEqual([]);
  },
);

test.for([0, 20])(
  'runs that the byte budget cuts short make no jumps, after %d lines that were followed',
  async (followed) => {
    await using bench = await openLogBench(SLOW);
    if (followed > 0) await followQuietly(bench, 0, followed);
    const components = ['network', 'system', 'vpn'];
    for (const component of components) await writeQuietly(bench, followed, followed + 30, component);
    for (let run = 0; run < 30; run++) {
      await bench.reader.run({ shouldYield: () => true });
      await bench.clock.advance(7 * MINUTE_MS);
      for (const component of components) bench.write(1000 + run, 1001 + run, component);
    }
    await bench.reader.runsFor(2 * MINUTE_MS);
    expect(linesOf(bench.reader.records)).toHaveLength(followed + 3 * 60);
    expect(jumpsOf(bench.reader.records)).toEqual([]);
  },
);

test('runs in which another log takes minutes make no jumps of lines that are written meanwhile', async () => {
  await using bench = await openLogBench();
  let isSlow = false;
  let line = 0;
  const source: LogSource = {
    listLogs: (signal) => bench.client.listLogs(signal),
    readLog: async (name, signal, consume, options) => {
      if (isSlow && name === 'network/current') {
        await bench.clock.advance(5 * MINUTE_MS);
        bench.write(line++, line, 'system');
      }
      return bench.client.readLog(name, signal, consume, options);
    },
  };
  for (let run = 0; run < 12; run++) {
    bench.write(run, run + 1, 'network');
    bench.write(line++, line, 'system');
    isSlow = run % 4 === 2;
    await bench.clock.advance(10 * SECOND_MS);
    await bench.reader.run({ source });
    await bench.clock.advance(20 * SECOND_MS);
  }
  expect(messagesOf(bench.reader.records.filter(({ component }) => component === 'system'))).toEqual(
    lineNames(0, line),
  );
  expect(jumpsOf(bench.reader.records)).toEqual([]);
});

test('lines that found no room in the store are read in the next run, and are no jump then', async () => {
  await using bench = await openLogBench({ simulator: { features: { rangeRequests: true } } });
  bench.write(0, 3);
  await bench.reader.run();
  await bench.reader.runsFor(MINUTE_MS);
  bench.write(3, 4);
  const { log } = bench.reader;
  const full = new RouterReadError('full', 'The spool is full', { disposition: 'hold-back' });
  const records = {
    readPositions: () => log.readPositions(),
    readFacts: () => log.readFacts(),
    commit: () => {
      throw full;
    },
  };
  await expect(bench.reader.run({ records })).rejects.toBe(full);
  await bench.clock.advance(10 * MINUTE_MS);
  expect(messagesOf(await bench.reader.run())).toEqual(['line 3']);
  await bench.reader.runsFor(MINUTE_MS);
  bench.write(4, 5);
  await bench.reader.runsFor(MINUTE_MS);
  expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 5));
});

test('a clock that is set by nine minutes is still a jump, seen in a log with a line every six minutes', async () => {
  await using bench = await openLogBench(SLOW);
  await writeQuietly(bench, 0, 15);
  await followQuietly(bench, 15, 25);
  bench.router.jumpClock(9 * MINUTE_MS);
  await followQuietly(bench, 25, 30);
  bench.router.jumpClock(-9 * MINUTE_MS);
  await followQuietly(bench, 30, 35);
  expect(jumpsOf(bench.reader.records)).toHaveLength(2);
});

test.each([-60, -3, 3, 60])(
  'the clock of the agent, set by %i minutes, is no jump of the clock of the router, which still shows later',
  async (minutes) => {
    await using bench = await openLogBench();
    let line = 0;
    const follow = async (runs: number) => {
      for (let run = 0; run < runs; run++) {
        bench.write(line, ++line);
        await bench.reader.runsFor(30 * SECOND_MS);
      }
    };
    await follow(10);
    for (const offsetMs of [minutes * MINUTE_MS, -minutes * MINUTE_MS]) {
      bench.clock.jump(offsetMs);
      // The simulated router goes by the same clock: its own stays as it was.
      bench.router.jumpClock(-offsetMs);
      await follow(10);
    }
    expect(jumpsOf(bench.reader.records)).toEqual([]);
    expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, line));
    bench.router.jumpClock(3 * MINUTE_MS);
    await follow(2);
    expect(jumpsOf(bench.reader.records)).toHaveLength(1);
  },
);

test('a new file that holds half a line is no reason to be behind', async () => {
  const files = new Map([['network/current', '2026-11-21 11:00:00 [wan] one\n']]);
  await using bench = await openFileBench(files, { zone: new Zone('UTC') });
  await bench.reader.run();
  files.set('network/log-2026-11-21-11:30:00', '2026-11-21 11:00:00 [wan] one\n');
  files.set('network/current', '2026-11-21 11:30:00 [wa');
  const before = bench.reader.count('log-caught-up');
  await bench.reader.run();
  expect(bench.reader.count('log-caught-up')).toBe(before + 1);
});

test('the log of a device that replaces another makes no jumps, and its history is no growth', async () => {
  const render = (fromMs: number, count: number) =>
    Array.from({ length: count }, (_, line) => {
      const stamp = new Date(fromMs + line * 6 * MINUTE_MS).toISOString().slice(0, 19).replace('T', ' ');
      return `${stamp} [wan] line ${line}\n`;
    }).join('');
  const files = new Map<string, string>();
  await using bench = await openFileBench(files, { zone: new Zone('UTC') });
  for (let count = 1; count < 5; count++) {
    files.set('network/current', render(START_MS, count));
    await bench.reader.run({ serial: 'A' });
    await bench.clock.advance(6 * MINUTE_MS);
  }
  files.set('network/current', render(START_MS - 600 * MINUTE_MS, 100));
  const records = await bench.reader.run({ serial: 'B' });
  expect(messagesOf(linesOf(records))).toEqual(lineNames(0, 100));
  expect(jumpsOf(records)).toEqual([]);
  const retention = bench.reader.events.findLast(({ type }) => type === 'log-retention');
  expect(retention).toEqual({ type: 'log-retention', component: 'network', msToLoss: undefined });
});
