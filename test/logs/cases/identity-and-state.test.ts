import { describe, expect, test } from 'vitest';
import { Zone } from '../../../src/logs/index.ts';
import { RouterReadError } from '../../../src/model/index.ts';
import {
  gapsOf,
  HOUR_MS,
  jumpsOf,
  LINKED_LOG,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: identity and state. */
const AT_ONCE = { simulator: { logs: { compressionMs: 0 } } };

test('a log whose position was lost while the process runs is read again without a jump of the clock', async () => {
  await using bench = await openLogBench();
  for (let line = 0; line < 30; line++) {
    bench.write(line, line + 1);
    await bench.clock.advance(10 * MINUTE_MS);
    await bench.reader.run();
  }
  bench.reader.log.positions.delete('network');
  await bench.clock.advance(MINUTE_MS);
  const again = await bench.reader.run();
  expect(messagesOf(linesOf(again))).toEqual(lineNames(0, 30));
  expect(jumpsOf(again)).toEqual([]);
});

test('cases 45 and 51: with the state lost, the same lines get the same uids and times; with the state kept, none comes again', async () => {
  await using bench = await openLogBench(AT_ONCE);
  bench.write(0, 50);
  await bench.reader.run();
  bench.router.rotate('network', 'after');
  await bench.reader.run();
  const identify = (records: typeof bench.reader.records) =>
    linesOf(records).map(({ uid, timestamp }) => [uid, timestamp]);
  const before = identify(bench.reader.records);
  bench.reader.restart();
  expect(await bench.reader.run()).toEqual([]);
  bench.reader.log.positions.clear();
  expect(identify(await bench.reader.run())).toEqual(before);
});

test('case 50: another serial number is another router: a reset, a possible gap, and its own lines from their start', async () => {
  await using bench = await openLogBench();
  bench.write(0, 5);
  await bench.reader.run({ serial: 'A' });
  bench.write(5, 7);
  expect(messagesOf(await bench.reader.run({ serial: 'A' }))).toEqual(['line 5', 'line 6']);
  await bench.router.factoryReset();
  await bench.clock.advance(MINUTE_MS);
  bench.write(0, 3);
  const records = await bench.reader.run({ serial: 'B' });
  expect(records.map(({ event, message }) => event ?? message)).toEqual([
    'log.gap',
    'log.reset',
    'log.gap_end',
    ...lineNames(0, 3),
  ]);
  expect(bench.reader.count('log-reset')).toBe(1);
});

describe('case 100: a device that answers for another one before a poll has read its serial number', () => {
  /** A log that was read from device A, which another one with three lines has replaced. */
  async function openReplaced() {
    const bench = await openLogBench();
    bench.write(0, 5);
    await bench.reader.run({ serial: 'A' });
    await bench.router.factoryReset();
    await bench.clock.advance(MINUTE_MS);
    bench.write(0, 3);
    return bench;
  }

  test('is asked who it is before anything of it is read, and its lines come once', async () => {
    await using bench = await openReplaced();
    const records = await bench.reader.run({ serial: 'A', readSerial: async () => 'B' });
    expect(records.map(({ event, message }) => event ?? message)).toEqual([
      'log.gap',
      'log.reset',
      'log.gap_end',
      ...lineNames(0, 3),
    ]);
    // The poll reports it later.
    await bench.clock.advance(MINUTE_MS);
    bench.write(3, 4);
    const later = await bench.reader.run({ serial: 'B', readSerial: () => expect.fail('It is known') });
    expect(messagesOf(linesOf(later))).toEqual(['line 3']);
    expect(bench.reader.count('log-reset')).toBe(1);
    const uids = bench.reader.records.map(({ uid }) => uid);
    expect(new Set(uids).size).toBe(uids.length);
  });

  test('is recognised by archives of other names, when no log has an open file', async () => {
    const files = new Map([['network/log-2026-11-21-10:00:00', '2026-11-21 10:59:00 [a] of A\n']]);
    await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
    await bench.reader.run({ serial: 'A' });
    files.clear();
    files.set('network/log-2026-11-21-09:00:00', '2026-11-21 09:59:00 [a] of B\n');
    await bench.clock.advance(MINUTE_MS);
    await bench.reader.run({ serial: 'A', readSerial: async () => 'B' });
    expect(bench.reader.events).toContainEqual(expect.objectContaining({ type: 'log-reset', reason: 'replaced' }));
    expect(messagesOf(linesOf(bench.reader.records))).toEqual(['of A', 'of B']);
    await bench.reader.run({ serial: 'B' });
    expect(bench.reader.count('log-reset')).toBe(1);
  });

  test('may be the same one with emptied logs, or may not answer', async () => {
    for (const serial of ['A', undefined]) {
      await using bench = await openReplaced();
      let asked = 0;
      const readSerial = async () => {
        asked++;
        return serial;
      };
      await bench.reader.run({ serial: 'A', readSerial });
      await bench.clock.advance(20 * MINUTE_MS);
      await bench.reader.run({ serial: 'A', readSerial });
      expect(messagesOf(linesOf(bench.reader.records))).toEqual([...lineNames(0, 5), ...lineNames(0, 3)]);
      expect(asked).toBe(1);
      expect(bench.reader.events).not.toContainEqual(expect.objectContaining({ reason: 'replaced' }));
    }
  });

  test('is read all the same where the account may not ask, and at the second run where it fails to answer', async () => {
    await using bench = await openReplaced();
    const refuse = (status: number) => () =>
      Promise.reject(new RouterReadError('http', 'No', { disposition: 'retry', status, isAnswered: true }));
    await expect(bench.reader.run({ serial: 'A', readSerial: refuse(500) })).rejects.toThrow('No');
    expect(linesOf(bench.reader.records)).toHaveLength(5);
    await bench.reader.run({ serial: 'A', readSerial: refuse(500) });
    await using other = await openReplaced();
    await other.reader.run({ serial: 'A', readSerial: refuse(403) });
    // So answer routers that tell a lack of rights from a lost session by a new login alone.
    await using third = await openReplaced();
    await third.reader.run({ serial: 'A', readSerial: refuse(401) });
    for (const { clock, reader } of [bench, other, third]) {
      await clock.advance(2 * MINUTE_MS);
      await reader.run({ serial: 'A', readSerial: refuse(500) });
      expect(linesOf(reader.records)).toHaveLength(8);
    }
  });

  test('is not read as long as its connection fails', async () => {
    await using bench = await openReplaced();
    const cut = () => Promise.reject(new RouterReadError('connect', 'Lost', { disposition: 'retry' }));
    for (let run = 0; run < 3; run++) {
      await expect(bench.reader.run({ serial: 'A', readSerial: cut })).rejects.toThrow('Lost');
    }
    expect(linesOf(bench.reader.records)).toHaveLength(5);
    // It lists its logs all the same.
    await expect(bench.reader.run({ serial: 'A', readSerial: cut })).rejects.toThrow('Lost');
    await bench.reader.run({ serial: 'A', readSerial: cut });
    await bench.clock.advance(2 * MINUTE_MS);
    await bench.reader.run({ serial: 'A', readSerial: cut });
    expect(linesOf(bench.reader.records)).toHaveLength(8);
  });

  test('is asked once when its archives are gone, also if no line follows, and not for a log that is not wanted', async () => {
    const rotated = (component: string, hour: number) => `${component}/log-2026-11-21-${hour}:00:00`;
    const line = (hour: number) => `2026-11-21 ${hour}:30:00 [a] at ${hour}\n`;
    const files = new Map(['a', 'b'].map((component) => [rotated(component, 10), line(11)]));
    await using bench = await openFileBench(files, { zone: new Zone('Europe/Berlin') });
    await bench.reader.run({ serial: 'A' });
    let asked = 0;
    const readSerial = async () => {
      asked++;
      return 'A';
    };
    files.delete(rotated('a', 10));
    for (let run = 0; run < 3; run++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.run({ serial: 'A', readSerial, isWanted: (component) => component === 'b' });
    }
    expect(asked).toBe(0);
    for (let run = 0; run < 3; run++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.run({ serial: 'A', readSerial });
    }
    expect(asked).toBe(1);
    files.clear();
    for (let run = 0; run < 3; run++) {
      await bench.clock.advance(MINUTE_MS);
      await bench.reader.run({ serial: 'A', readSerial });
    }
    expect(asked).toBe(2);
  });

  test('is not read in any log when it is too busy to say who it is', async () => {
    await using bench = await openLogBench();
    bench.write(0, 3, 'network');
    bench.write(0, 3, 'wan');
    await bench.reader.run({ serial: 'A' });
    await bench.router.factoryReset();
    await bench.clock.advance(MINUTE_MS);
    bench.write(0, 2, 'network');
    bench.write(0, 2, 'wan');
    const busy = () =>
      Promise.reject(new RouterReadError('http', 'Busy', { disposition: 'retry', status: 503, isAnswered: true }));
    await bench.reader.run({ serial: 'A', readSerial: busy });
    expect(linesOf(bench.reader.records)).toHaveLength(6);
    await bench.reader.run({ serial: 'A', readSerial: async () => 'B' });
    expect(linesOf(bench.reader.records)).toHaveLength(10);
    expect(bench.reader.count('log-reset')).toBe(2);
  });

  test('is not asked while the files are those that are known, rotated or not', async () => {
    await using bench = await openLogBench(AT_ONCE);
    const readSerial = () => expect.fail('Nothing says that it is another one');
    bench.write(0, 5);
    for (let run = 0; run < 8; run++) {
      await bench.reader.run({ serial: 'A', readSerial });
      bench.router.rotate('network', `after ${run}`);
      await bench.clock.advance(MINUTE_MS);
      bench.write(5, 7);
    }
    expect(linesOf(bench.reader.records).length).toBeGreaterThan(20);
  });
});

test('case 52: ten thousand rotated files that were read keep the position and a run small', async () => {
  const files = new Map<string, string>([['network/current', '']]);
  const names = Array.from({ length: 10_000 }, (_, index) => {
    const moment = new Date(Date.UTC(2026, 0, 1) + index * MINUTE_MS).toISOString();
    return `network/log-${moment.slice(0, 10)}-${moment.slice(11, 19)}`;
  });
  for (const [index, name] of names.entries()) files.set(name, `2026-01-01 00:00:00 [a] file ${index}\n`);
  await using bench = await openFileBench(files, { zone: new Zone(undefined), start: 'now' });
  await bench.reader.run();
  expect(bench.reader.log.positions.get('network')?.length).toBeLessThan(400_000);
  for (const name of names.slice(0, 9000)) files.delete(name);
  files.set('network/current', '2026-11-21 12:00:00 [a] new\n');
  expect(messagesOf(linesOf(await bench.reader.run()))).toEqual(['new']);
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
    await bench.reader.run();
  }
  const last = bench.reader.events.findLast(({ type }) => type === 'log-retention');
  const msToLoss = last && 'msToLoss' in last ? (last.msToLoss ?? 0) : 0;
  expect(msToLoss / MINUTE_MS).toBeGreaterThan(50);
  expect(msToLoss / MINUTE_MS).toBeLessThan(75);
  const intervalMs = bench.reader.memory.computeIntervalMs({ floorMs: 5000, ceilingMs: 24 * HOUR_MS });
  expect(intervalMs).toBeLessThan(msToLoss / 3);
  expect(bench.reader.memory.computeIntervalMs({ floorMs: 5000, ceilingMs: 30_000 })).toBe(30_000);
});

test.each([-24 * HOUR_MS, 24 * HOUR_MS])(
  'a log that grows fast is looked at in time, also once the clock of the agent was set by %i ms',
  async (jumpMs) => {
    await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxSizeBytes: 2 ** 30 } } });
    for (let look = 0; look < 8; look++) {
      if (look === 4) bench.clock.jump(jumpMs);
      bench.router.appendLog('network', 'x'.repeat(7960));
      await bench.clock.advance(MINUTE_MS / 2);
      await bench.reader.run();
    }
    const { lifetimeMs = 0 } = bench.reader.memory.of('network').retention;
    // Six files of one MiB, at eight kilobytes in half a minute.
    expect(lifetimeMs / HOUR_MS).toBeCloseTo((6 * 2 ** 20 * 30) / 7990 / 3600, 0);
  },
);

test('lines about requests of this program are flagged, and do not make it look more often', async () => {
  await using bench = await openLogBench({ simulator: { features: { logRequests: true } } });
  bench.router.appendLog('network', 'a line');
  const records = await bench.reader.runsFor(5 * MINUTE_MS);
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
  const records = (await bench.reader.run({ isOnlyRun: true })).filter(({ component }) => component === 'network');
  expect(messagesOf(linesOf(records))).toEqual(['one\n  more of one', 'four\n  more of four']);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'likely', from_uid: records[0]?.uid } }]);
});

test('files that begin with the same line without a time have different uids, however many files were between', async () => {
  const stampOf = (minute: number) =>
    new Date(Date.UTC(2026, 10, 21, 9, minute)).toISOString().slice(0, 19).replace('T', '-');
  const lineOf = (minute: number, text: string) => `${stampOf(minute).replace(/-(?=\d\d:)/, ' ')} [wan] ${text}\n`;
  const files = new Map<string, string>();
  for (let minute = 1; minute <= 72; minute++) {
    const isCut = minute === 1 || minute === 72;
    files.set(`network/log-${stampOf(minute)}`, `${isCut ? '}\n' : ''}${lineOf(minute, `line ${minute}`)}`);
  }
  await using bench = await openFileBench(files);
  const records = [...(await bench.reader.run()), ...(await bench.reader.runsFor(5 * MINUTE_MS))];
  expect(messagesOf(records).filter((message) => message === '}')).toHaveLength(2);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(74);
});

test('a log without times whose files all begin with the same line goes on behind each rotation', async () => {
  const file = (...lines: string[]) => ['=== started ===', ...lines, ''].join('\n');
  await using bench = await openFileBench(new Map([['network/current', file('one')]]));
  const records = await bench.reader.runsFor(2 * MINUTE_MS);
  for (const [stamp, before, after] of [
    ['12:03:00', 'one', 'two'],
    ['12:06:00', 'two', 'three'],
  ] as const) {
    bench.files.set(`network/log-2026-11-21-${stamp}`, file(before));
    bench.files.set('network/current', file(after));
    records.push(...(await bench.reader.runsFor(2 * MINUTE_MS)));
  }
  const banner = '=== started ===';
  expect(messagesOf(records)).toEqual([banner, 'one', banner, 'two', banner, 'three']);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(6);
});
