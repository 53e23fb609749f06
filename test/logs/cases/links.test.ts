import { expect, test } from 'vitest';
import { parseRouterFacts } from '../../../src/logs/follow/router-facts.ts';
import { type LogEvent, Zone } from '../../../src/logs/index.ts';
import {
  gapsOf,
  HOUR_MS,
  LINKED_LOG,
  type LogBench,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  SECOND_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: a link between two files is learnt before it accuses or delays. */
const CURRENT = 'network/current';
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
/** Rotated at 12:00 in the router's time, and read to its end. */
const BEFORE = ['network/log-2026-11-21-11:00:00.bz2', line('11:30:00', 'one') + line('11:50:00', 'two')] as const;

/** A file is read to its end and deleted; then the log goes on an hour later. */
async function loseFile(others: readonly (readonly [string, string])[]) {
  const bench = await openFileBench(new Map([...others, BEFORE]));
  await bench.reader.run();
  bench.files.delete(BEFORE[0]);
  bench.files.set('network/log-2026-11-21-12:30:00.bz2', line('13:00:00', 'behind the gap'));
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  const own = records.filter(({ component }) => component === 'network');
  await bench[Symbol.asyncDispose]();
  expect(messagesOf(linesOf(own))).toEqual(['behind the gap']);
  return { gaps: gapsOf(own), flags: own.flatMap(({ flags }) => flags ?? []) };
}

test('a missing file is a likely gap on a router whose files begin where the one before ends', async () => {
  const { gaps, flags } = await loseFile(LINKED_LOG);
  expect(gaps).toMatchObject([{ details: { certainty: 'likely', reason: 'broken-link' } }]);
  expect(flags).toEqual(['out_of_order']);
});

test('where that is not known, nothing waits, and what may have been deleted with the last file is a possible gap', async () => {
  const { gaps, flags } = await loseFile([]);
  expect(gaps).toMatchObject([{ details: { certainty: 'possible', reason: 'broken-link' } }]);
  expect(flags).toEqual([]);
});

test('a file that begins later than the one before ends is no gap while the one before is still listed', async () => {
  await using bench = await openFileBench(new Map([...LINKED_LOG, BEFORE, [CURRENT, '']]));
  await bench.reader.run();
  bench.files.set(CURRENT, line('12:07:10', 'three'));
  const waited = await bench.reader.run();
  expect(messagesOf(waited)).toEqual([]);
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(messagesOf(records)).toEqual(['three']);
});

test('a start at the date of the firmware, for want of a battery, withholds nothing and is no gap', async () => {
  await using bench = await openFileBench(new Map([...LINKED_LOG, BEFORE, [CURRENT, '']]));
  await bench.reader.run();
  bench.files.set(CURRENT, '2022-01-01 00:00:20 [wan] started\n');
  const started = await bench.reader.run();
  expect(messagesOf(linesOf(started))).toEqual(['started']);
  bench.files.set(CURRENT, `2022-01-01 00:00:20 [wan] started\n${line('13:10:00', 'clock set')}`);
  const records = [...started, ...(await bench.reader.runsFor(20 * MINUTE_MS))];
  expect(messagesOf(linesOf(records))).toEqual(['started', 'clock set']);
  expect(gapsOf(records)).toEqual([]);
  expect(records.flatMap(({ flags = [] }) => flags)).not.toContain('out_of_order');
});

test('what names of a clock that was years ahead have cost is a likely gap when it is set right', async () => {
  const ahead = 'network/log-2027-12-26-11:00:00.bz2';
  await using bench = await openFileBench(
    new Map([...LINKED_LOG, [ahead, '2027-12-26 11:30:00 [wan] ahead\n'], [CURRENT, '']]),
  );
  await bench.reader.run();
  // The router took new archives for the oldest, and deleted them at once.
  bench.files.set(CURRENT, line('13:00:00', 'behind the gap'));
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'likely', reason: 'broken-link' } }]);
});

test('a missing file that is listed only at a look after 15 minutes is read before its link counts as broken', async () => {
  await using bench = await openFileBench(new Map([...LINKED_LOG, BEFORE, [CURRENT, line('12:00:00', 'one')]]));
  await bench.reader.run();
  bench.files.set('network/log-2026-11-21-11:20:00.bz2', line('12:00:00', 'one'));
  // The file between is being compressed, and in no listing yet.
  bench.files.set(CURRENT, line('12:40:00', 'three'));
  await bench.reader.run();
  bench.files.set('network/log-2026-11-21-11:40:00.bz2', line('12:20:00', 'two'));
  await bench.clock.advance(20 * MINUTE_MS);
  const records = await bench.reader.run();
  expect(messagesOf(records)).toEqual(['two', 'three']);
  expect(records.flatMap(({ flags }) => flags ?? [])).toEqual([]);
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true, refuted: [] });
});

test.each([
  ['is still looked for', 2],
  ['was lost', 16],
])('a file that ended where one began that was read before it and %s is late, and ends no gap', async (_, minutes) => {
  await using bench = await openFileBench(new Map([BEFORE, [CURRENT, line('12:40:00', 'three')]]));
  await bench.reader.run();
  bench.files.set(CURRENT, line('13:00:00', 'five'));
  await bench.reader.run();
  await bench.clock.advance(minutes * MINUTE_MS);
  bench.files.set('network/log-2026-11-21-11:40:00.bz2', line('12:20:00', 'two'));
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  const [two] = records.filter(({ message }) => message === 'two');
  expect(two?.flags).toEqual(['late']);
  const [gap] = gapsOf(records);
  const [five] = records.filter(({ message }) => message === 'five');
  const [end] = records.filter(({ event }) => event === 'log.gap_end');
  expect(gap?.details?.['to_uid'] ?? end?.details?.['to_uid']).toBe(five?.uid);
});

test('where the rule is confirmed, a file that vanishes alone is a possible gap, and only a second one ends the use of the rule', async () => {
  const nameOf = (minutes: number) => `network/log-2026-11-21-${at(minutes - 60)}.bz2`;
  const at = (minutes: number) => `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${minutes % 60 || '00'}:00`;
  /** A file of an hour: it begins where the one before ends. */
  const fileAt = (hour: number) => line(at(hour * 60), `begin ${hour}`) + line(at(hour * 60 + 30), `end ${hour}`);
  const history = [1, 2, 3, 4, 5, 6, 7].map((hour): [string, string] => [nameOf(hour * 60 + 60), fileAt(hour)]);
  await using bench = await openFileBench(new Map([...history, [CURRENT, fileAt(8)]]));
  await bench.reader.run();
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true, matches: 7, misses: 0 });
  // The file of nine o'clock was written and rotated between two looks, and its compression failed.
  const lose = async (hour: number) => {
    bench.files.set(nameOf(hour * 60), fileAt(hour - 1));
    bench.files.set(CURRENT, fileAt(hour + 1));
    expect(messagesOf(await bench.reader.run())).toEqual([]);
    return bench.reader.runsFor(20 * MINUTE_MS);
  };
  const records = await lose(9);
  expect(messagesOf(linesOf(records))).toEqual(['begin 10', 'end 10']);
  const gap = { certainty: 'possible', reason: 'broken-link' };
  expect(gapsOf(records)).toMatchObject([{ details: gap }]);
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true, misses: 1, refuted: [] });
  expect(gapsOf(await lose(11))).toMatchObject([{ details: gap }]);
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: false, refuted: ['network'] });
});

test('where the rule is confirmed, an archive that is missing between two others is a possible gap', async () => {
  const hours = [1, 2, 3, 4, 5, 7, 8];
  const history = hours.map((hour): [string, string] => [
    `network/log-2026-11-21-0${hour}:00:00.bz2`,
    line(`0${hour}:00:00`, `begin ${hour}`) + line(`0${hour}:30:00`, `end ${hour}`),
  ]);
  await using bench = await openFileBench(new Map(history));
  await bench.reader.runsFor(20 * MINUTE_MS);
  expect(linesOf(bench.reader.records)).toHaveLength(2 * hours.length);
  expect(gapsOf(bench.reader.records)).toMatchObject([{ details: { certainty: 'possible', reason: 'broken-link' } }]);
});

/** How files of the router follow each other, as last reported. */
function judgedLast(events: readonly LogEvent[]) {
  return events.findLast((event) => event.type === 'log-links-judged');
}

const factsOf = ({ reader }: Pick<LogBench, 'reader'>) => parseRouterFacts(reader.log.facts ?? '');

test('the rule is learnt from rotations in a log with few lines, counted once each, and is known after a restart', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0 } } });
  for (let rotation = 0; rotation < 3; rotation++) {
    bench.write(rotation * 2, rotation * 2 + 1);
    await bench.reader.runsFor(4 * MINUTE_MS);
    if (rotation < 2) expect(judgedLast(bench.reader.events)?.holds ?? false).toBe(false);
    bench.router.rotate('network', `rotation ${rotation}`);
    await bench.reader.runsFor(MINUTE_MS);
  }
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true, refuted: [] });
  expect(factsOf(bench)?.links).toMatchObject({ network: { matches: 3 } });
  bench.reader.restart();
  const before = bench.reader.count('log-links-judged');
  await bench.reader.run();
  expect(bench.reader.count('log-links-judged')).toBe(before + 1);
});

test('archives that are there at first contact are evidence, and one that is missing among them refutes nothing', async () => {
  const [first, second, third] = LINKED_LOG;
  await using bench = await openFileBench(
    new Map([
      first ?? BEFORE,
      second ?? BEFORE,
      third ?? BEFORE,
      BEFORE,
      ['network/log-2026-11-21-11:40:00.bz2', line('12:30:00', 'something was deleted before this')],
      [CURRENT, line('12:55:00', 'three')],
    ]),
  );
  await bench.reader.run();
  await bench.reader.runsFor(20 * MINUTE_MS);
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true, matches: 2, misses: 1, refuted: [] });
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('archives of a timer are no evidence at first contact, though some begin by chance where the one before ends', async () => {
  const files = Array.from({ length: 10 }, (_, hour): [string, string] => {
    const [before, time] = [`${hour}`.padStart(2, '0'), `${hour + 1}`.padStart(2, '0')];
    const minute = hour === 3 || hour === 7 ? '00' : '17';
    return [`network/log-2026-11-21-${before}:59:59.bz2`, line(`${time}:${minute}:00`, `first of ${hour}`)];
  });
  await using bench = await openFileBench(new Map([...files, [CURRENT, line('11:47:00', 'not held up')]]));
  expect(messagesOf(await bench.reader.run())).toContain('not held up');
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: false, refuted: [] });
});

test('one rotation without a match, with nothing missing, ends the use of the rule for that log alone', async () => {
  await using bench = await openLogBench({ simulator: { logs: { rotateEveryMs: 10 * MINUTE_MS, compressionMs: 0 } } });
  for (let minutes = 0; minutes < 60; minutes += 7) {
    bench.write(minutes, minutes + 1);
    await bench.reader.runsFor(7 * MINUTE_MS);
  }
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: false, refuted: ['network'] });
  expect(messagesOf(bench.reader.records)).toHaveLength(9);
});

test('a timer that rotates is never taken for a writer that rotates, by a busy log that is silent by night neither', async () => {
  const logs = { rotateEveryMs: HOUR_MS, silentByNight: ['network'], compressionMs: 0 };
  await using bench = await openLogBench({ simulator: { logs, timezone: 'UTC' } });
  const reported = () =>
    bench.reader.events.flatMap((one) => (one.type === 'log-links-judged' && one.holds ? [one] : []));
  for (let minute = 0; minute < 24 * 60; minute += 5) {
    for (let count = 0; count < 5; count++) bench.router.appendLog('network', `busy ${minute} ${count}`);
    if (minute % 15 === 0) bench.router.appendLog('system', `quiet ${minute}`);
    await bench.clock.advance(5 * MINUTE_MS - SECOND_MS);
    // What the router has now is there now.
    await bench.reader.run();
    const truth = ['network', 'system'].flatMap((component) => bench.router.truth(component));
    expect(linesOf(bench.reader.records)).toHaveLength(truth.length);
    await bench.clock.advance(SECOND_MS);
  }
  expect(reported()).toEqual([]);
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('another firmware, or another device, begins anew', async () => {
  await using bench = await openFileBench(new Map(LINKED_LOG), { firmware: '9.4', serial: 'A' });
  await bench.reader.run();
  expect(factsOf(bench)?.links).toMatchObject({ audit: { matches: 2 } });
  await bench.reader.run({ firmware: '9.5' });
  expect(factsOf(bench)?.links).toEqual({});
});

test.for([
  ['firmware', { firmware: '9.5' }],
  ['device', { serial: 'B' }],
] as const)('that the rule is not known any more is reported once when another %s answers', async ([, another]) => {
  const before = { firmware: '9.4', serial: 'A' };
  await using bench = await openFileBench(new Map(LINKED_LOG), before);
  await bench.reader.run();
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: true });
  bench.files.delete('audit/log-2026-11-20-08:00:00.bz2');
  bench.files.delete('audit/log-2026-11-20-08:30:00.bz2');
  await bench.reader.run({ ...before, ...another });
  await bench.reader.run({ ...before, ...another });
  expect(judgedLast(bench.reader.events)).toMatchObject({ holds: false, refuted: [] });
  const reported = bench.reader.events.flatMap((one) => (one.type === 'log-links-judged' ? [one.holds] : []));
  expect(reported.slice(reported.indexOf(true))).toEqual([true, false]);
});

test('logs that a timer rotates at once, and in which the same thing stands next, are one observation of the zone', async () => {
  const rotated = 'log-2026-11-21-11:00:00.bz2';
  const before = line('10:40:00', 'before');
  const next = line('13:15:01', 'something happens');
  await using bench = await openFileBench(
    new Map([
      [`network/${rotated}`, before],
      [CURRENT, next],
      [`system/${rotated}`, before],
      ['system/current', next],
    ]),
    { zone: new Zone(undefined) },
  );
  await bench.reader.runsFor(2 * MINUTE_MS);
  expect(bench.reader.count('log-zone-learnt')).toBe(0);
  const [first] = linesOf(bench.reader.records);
  expect(first).toMatchObject({ timestamp: '2026-11-21T10:40:00.500000000Z', flags: ['zone_assumed'] });
});
