import { expect, test } from 'vitest';
import {
  gapsOf,
  HOUR_MS,
  lineNames,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  SECOND_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: tail and rotation. */
const AT_ONCE = { simulator: { logs: { compressionMs: 0 } } };

test('case 1: after ten lines were read and five were appended, there are exactly five new records', async () => {
  await using bench = await openLogBench();
  bench.write(0, 10);
  const before = await bench.reader.run();
  expect(messagesOf(before)).toEqual(lineNames(0, 10));
  bench.write(10, 15);
  const after = await bench.reader.run();
  expect(messagesOf(after)).toEqual(lineNames(10, 15));
  const lengthOf = '2026-11-21 13:00:00 [network] line 10\n'.length;
  expect(after.map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4].map((n) => 10 * (lengthOf - 1) + n * lengthOf));
  expect(await bench.reader.run()).toEqual([]);
});

test('cases 2 and 90: half a line gives no record for hours, and is no fault; with its end it is one', async () => {
  const half = '2026-11-21 13:00:00 [wan] first\n2026-11-21 13:00:01 [wan] sec';
  await using bench = await openFileBench(new Map([['network/current', half]]));
  expect(messagesOf(await bench.reader.run())).toEqual(['first']);
  for (let hour = 0; hour < 6; hour++) {
    await bench.clock.advance(HOUR_MS);
    expect(await bench.reader.run()).toEqual([]);
  }
  expect(bench.reader.events.at(-1)).toMatchObject({ type: 'log-caught-up', isWaitingForLineEnd: true });
  expect(bench.reader.count('log-failed')).toBe(0);
  bench.files.set('network/current', `${half}ond\n`);
  expect(messagesOf(await bench.reader.run())).toEqual(['second']);
  expect(bench.reader.events.at(-1)).toMatchObject({ type: 'log-caught-up', isWaitingForLineEnd: false });
});

test('a line that was read in two halves, wherever it was cut, is the same record as one that was read at once', async () => {
  const [first, second] = ['2026-11-21 13:00:00 [wan] first\n', '2026-11-21 13:00:01 [wan] über 2026-11-21 [lan]\r\n'];
  const whole = Buffer.from(`${first}${second}2026-11-21 13:00:02 [wan] third\n`);
  const cuts = Array.from({ length: whole.length + 1 }, (_, cut) => cut);
  await using bench = await openFileBench(
    new Map(cuts.map((cut) => [`log${cut}/current`, whole.subarray(0, cut)] as const)),
  );
  await bench.reader.run();
  await bench.clock.advance(MINUTE_MS);
  for (const cut of cuts) bench.files.set(`log${cut}/current`, whole);
  await bench.reader.run();
  for (const cut of cuts) {
    const records = bench.reader.records.filter(({ component }) => component === `log${cut}`);
    expect([cut, ...records.map(({ offset, message, flags }) => [offset, message, flags])]).toEqual([
      cut,
      [0, 'first', undefined],
      [first.length, 'über 2026-11-21 [lan]', undefined],
      [Buffer.byteLength(first + second), 'third', undefined],
    ]);
  }
  const uids = new Set(bench.reader.records.map(({ uid }) => uid));
  expect(uids.size).toBe(3 * cuts.length);
});

test('case 4: a file that was read whole and rotated gives nothing more, and no gap', async () => {
  await using bench = await openLogBench(AT_ONCE);
  bench.write(0, 10);
  await bench.reader.run();
  await bench.clock.advance(SECOND_MS);
  bench.router.rotate('network', 'after');
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(messagesOf(records)).toEqual(['after']);
});

test('case 5: what was added before a rotation comes from the archive, then the new file from its start', async () => {
  await using bench = await openLogBench(AT_ONCE);
  bench.write(0, 10);
  await bench.reader.run();
  bench.write(10, 15);
  bench.router.rotate('network', 'after');
  const records = await bench.reader.run();
  expect(messagesOf(records)).toEqual([...lineNames(10, 15), 'after']);
  expect(records.map(({ file }) => file.endsWith('.bz2'))).toEqual([...Array(5).fill(true), false]);
  expect(records.at(-1)?.offset).toBe(0);
});

test('case 7: of three rotations the oldest file has expired: a certain gap, and the rest in order, unflagged', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxFiles: 2 } } });
  bench.write(0, 5);
  await bench.reader.run();
  bench.write(5, 10);
  for (let rotation = 0; rotation < 3; rotation++) {
    await bench.clock.advance(10 * MINUTE_MS);
    bench.router.rotate('network', `after rotation ${rotation}`);
  }
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual([0, 1, 2].map((rotation) => `after rotation ${rotation}`));
  expect(records.flatMap(({ flags }) => flags ?? [])).toEqual([]);
  expect(records[0]).toMatchObject({
    event: 'log.gap',
    details: { certainty: 'certain', reason: 'expired', from_uid: bench.reader.records[4]?.uid },
  });
  expect(gapsOf(await bench.reader.runsFor(20 * MINUTE_MS))).toEqual([]);
});

test('case 10: a file that was emptied and written anew is read from its start, and what was unread is a possible gap', async () => {
  await using bench = await openFileBench(new Map([['network/current', '2026-11-21 12:00:00 [wan] old\n']]));
  await bench.reader.run();
  bench.files.set('network/current', '');
  await bench.reader.runsFor(MINUTE_MS);
  bench.files.set('network/current', '2026-11-21 13:00:30 [wan] new\n');
  const early = await bench.reader.runsFor(3 * MINUTE_MS);
  const gapAtOf = () => bench.reader.events.findLast((event) => event.type === 'log-retention')?.gapAtMs;
  expect((gapAtOf() ?? 0) - bench.clock.now()).toBeCloseTo(12 * MINUTE_MS, -5);
  const records = [...early, ...(await bench.reader.runsFor(20 * MINUTE_MS))];
  expect(messagesOf(linesOf(records))).toEqual(['new']);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'possible', reason: 'not-found' } }]);
  expect(gapAtOf()).toBeUndefined();
});

test('case 12: a listed file that is answered with 404 is asked for again, and then is a certain gap: expired', async () => {
  await using bench = await openLogBench(AT_ONCE);
  bench.write(0, 5);
  await bench.reader.run();
  bench.write(5, 10);
  await bench.clock.advance(SECOND_MS);
  bench.router.rotate('network', 'after');
  const reads: string[] = [];
  const source = {
    listLogs: bench.client.listLogs.bind(bench.client),
    readLog: ((name, signal, consume, options) => {
      reads.push(name);
      const asked = name.endsWith('.bz2') ? 'network/log-2000-01-01-00:00:00.bz2' : name;
      return bench.client.readLog(asked, signal, consume, options);
    }) satisfies typeof bench.client.readLog,
  };
  const gaps = [];
  for (let run = 0; run < 10; run++) {
    gaps.push(...gapsOf(await bench.reader.run({ source })));
    await bench.clock.advance(30 * SECOND_MS);
  }
  expect(reads.filter((name) => name.endsWith('.bz2'))).toHaveLength(3);
  expect(gaps).toMatchObject([{ details: { certainty: 'certain', reason: 'expired' } }]);
});

test('case 13: the order of the list and names that come twice change nothing', async () => {
  await using bench = await openLogBench(AT_ONCE);
  for (let rotation = 0; rotation < 3; rotation++) {
    bench.write(rotation * 5, rotation * 5 + 5);
    await bench.clock.advance(10 * SECOND_MS);
    bench.router.rotate('network', `after ${rotation}`);
  }
  const expected = await bench.reader.run();
  const shuffled = bench.createReader();
  const source = {
    listLogs: async () => {
      const names = (await bench.client.listLogs()).toReversed();
      return [...names.slice(2), ...names, ...names.slice(0, 2)];
    },
    readLog: bench.client.readLog.bind(bench.client),
  };
  expect(await shuffled.run({ source })).toEqual(expected);
});

test('case 14: files with names of no known form are counted and never asked for', async () => {
  const names = ['../x', 'a/b/c', 'x/core.gz', 'x/../current', '/current', 'x/log-2026-11-21-12:00:00.exe'];
  await using bench = await openFileBench(new Map(names.map((name) => [name, 'x'])));
  await bench.reader.run();
  expect(bench.asked).toEqual([]);
  expect(bench.reader.events[0]).toMatchObject({ type: 'logs-listed', unknown: names.length });
});

test('case 16: a current that is not listed for a while is not read again when it is back', async () => {
  const file = '2026-11-21 13:00:00 [wan] first\n';
  await using bench = await openFileBench(new Map([['network/current', file]]));
  await bench.reader.run();
  bench.files.delete('network/current');
  await bench.reader.runsFor(MINUTE_MS);
  bench.files.set('network/current', `${file}2026-11-21 13:02:00 [wan] second\n`);
  expect(messagesOf(await bench.reader.runsFor(20 * MINUTE_MS))).toEqual(['second']);
});

test('case 17: two components that rotate at once do not mix, and the one with much to read gives way to the other', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0, maxSizeBytes: 2 ** 30 } } });
  const filler = 'x'.repeat(8000);
  for (let file = 0; file < 4; file++) {
    for (let line = 0; line < 250; line++) bench.router.appendLog('a-busy', `${file}/${line} ${filler}`);
    bench.write(file * 5, file * 5 + 5, 'b-quiet');
    await bench.clock.advance(10 * SECOND_MS);
    bench.router.rotate('a-busy', `after ${file}`);
    bench.router.rotate('b-quiet', `after ${file}`);
  }
  const records = await bench.reader.run();
  const busy = records.filter(({ component }) => component === 'a-busy');
  const quiet = records.filter(({ component }) => component === 'b-quiet');
  expect(busy).toHaveLength(1004);
  expect(messagesOf(quiet)).toEqual(
    [0, 1, 2, 3].flatMap((file) => [...lineNames(file * 5, file * 5 + 5), `after ${file}`]),
  );
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(records.length);
  // The quiet one had its run before the busy one was done.
  expect(records.indexOf(quiet.at(-1) ?? (records[0] as never))).toBeLessThan(records.indexOf(busy.at(-1) as never));
});

test('case 17: where each run ends behind its first log, one that is always urgent leaves their slots to the others', async () => {
  await using bench = await openLogBench({ simulator: { logs: { maxSizeBytes: 2 ** 30 } } });
  for (let run = 0; run < 16; run++) {
    // Six files of one MiB are full in less than ten minutes.
    for (const component of ['b-busy', 'd-busy'])
      for (let line = 0; line < 80; line++) bench.router.appendLog(component, 'x'.repeat(8000));
    for (const component of ['a-quiet', 'c-quiet']) bench.write(run, run + 1, component);
    await bench.clock.advance(30 * SECOND_MS);
    await bench.reader.run({ shouldYield: () => run > 3 });
  }
  const newest = (component: string) =>
    messagesOf(bench.reader.records.filter((record) => record.component === component)).at(-1);
  // In each four runs the busy ones come first.
  expect(new Set([newest('a-quiet'), newest('c-quiet')])).toEqual(new Set(['line 14', 'line 15']));
});

test('case 18: components without a byte give no record and no fault, and are not taken for each other', async () => {
  await using bench = await openFileBench(
    new Map([
      ['network/current', ''],
      ['system/current', ''],
    ]),
  );
  expect(await bench.reader.run()).toEqual([]);
  for (const name of ['network', 'system']) bench.files.set(`${name}/current`, '2026-11-21 13:00:00 [x] same\n');
  const records = await bench.reader.run();
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(2);
  expect(bench.reader.count('log-failed')).toBe(0);
});

test('case 85: a rotated file that is listed both plain and compressed is one, and its lines come once', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 20_000, listUncompressed: true } } });
  bench.write(0, 5);
  await bench.reader.run();
  bench.write(5, 10);
  await bench.clock.advance(SECOND_MS);
  bench.router.rotate('network', 'after');
  await bench.clock.advance(15 * SECOND_MS);
  expect(await bench.client.listLogs()).toHaveLength(3);
  const records = await bench.reader.runsFor(MINUTE_MS);
  expect(messagesOf(records)).toEqual([...lineNames(5, 10), 'after']);
});

test('case 95: a component that is silent for 40 days makes no gap', async () => {
  await using bench = await openLogBench();
  bench.write(0, 5);
  await bench.reader.run();
  for (let day = 0; day < 40; day++) {
    await bench.clock.advance(24 * HOUR_MS);
    expect(await bench.reader.run()).toEqual([]);
  }
});

test('case 97: a log folder that is lost at each restart gives one reset each time, and a possible gap', async () => {
  await using bench = await openLogBench(AT_ONCE);
  for (let life = 0; life < 3; life++) {
    bench.write(0, 5);
    await bench.reader.runsFor(MINUTE_MS);
    bench.router.rotate('network', `life ${life}`);
    await bench.reader.runsFor(MINUTE_MS);
    await bench.router.factoryReset();
    await bench.clock.advance(30 * SECOND_MS);
  }
  bench.write(0, 5);
  await bench.reader.runsFor(20 * MINUTE_MS);
  const { records } = bench.reader;
  expect(records.filter(({ event }) => event === 'log.reset')).toHaveLength(3);
  expect(gapsOf(records).map(({ details }) => [details?.['certainty'], details?.['reason']])).toEqual(
    [0, 1, 2].map(() => ['possible', 'reset']),
  );
  expect(linesOf(records)).toHaveLength(3 * 6 + 5);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(records.length);
});
