import { expect, test } from 'vitest';
import { type LogSource, Zone } from '../../../src/logs/index.ts';
import { RouterReadError } from '../../../src/model/index.ts';
import {
  gapsOf,
  HOUR_MS,
  LINKED_LOG,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  type RunOptions,
  SECOND_MS,
  START_MS,
} from '../../support/log-bench.ts';

/** Findings of the oracle's simulations about files that are missing, empty, alike or gone before their run. */
const CURRENT = 'network/current';
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;

test('case 25: a rotated file that is still empty is not done with', async () => {
  const first = line('12:00:00', 'first');
  await using bench = await openFileBench(new Map([[CURRENT, first]]));
  await bench.reader.run();
  const name = 'network/log-2026-11-21-12:00:00.bz2';
  bench.files.set(name, '').set(CURRENT, line('13:00:00', 'third'));
  const before = await bench.reader.run();
  expect(before).toEqual([]);
  bench.files.set(name, first + line('12:30:00', 'second'));
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(messagesOf(linesOf(records))).toEqual(['second', 'third']);
  expect(gapsOf(records)).toEqual([]);
});

test('case 25: a truncated archive that is not due yet is still waited for when a younger one is there', async () => {
  const one = line('12:00:00', 'one');
  await using bench = await openFileBench(new Map<string, Buffer | string>([[CURRENT, one]]));
  await bench.reader.run();
  const cut = 'network/log-2026-11-21-11:10:00.bz2';
  bench.files.set(cut, Buffer.from('BZh91AY&SY')).set(CURRENT, line('12:10:00', 'three'));
  // It is tried again at growing intervals; newer lines wait for a minute.
  for (const seconds of [0, 30, 29, 6]) {
    await bench.clock.advance(seconds * SECOND_MS);
    if (seconds !== 6) expect(await bench.reader.run()).toEqual([]);
  }
  bench.files
    .set('network/log-2026-11-21-11:13:00.bz2', line('12:10:00', 'three'))
    .set(CURRENT, line('12:13:00', 'four'));
  const records = await bench.reader.run();
  bench.files.set(cut, one + line('12:05:00', 'two'));
  records.push(...(await bench.reader.runsFor(20 * MINUTE_MS)));
  expect(gapsOf(records)).toEqual([]);
  expect(messagesOf(linesOf(records)).toSorted()).toEqual(['four', 'three', 'two']);
});

test('a file is not followed any more where it is not listed, and a file that was rotated later is', async () => {
  const one = line('12:00:00', 'one');
  await using bench = await openFileBench(new Map<string, Buffer | string>([[CURRENT, one]]));
  await bench.reader.run();
  const cut = 'network/log-2026-11-21-11:10:00.bz2';
  const next = 'network/log-2026-11-21-11:20:00.bz2';
  bench.files.delete(CURRENT);
  bench.files.set(cut, Buffer.from('BZh91AY&SY')).set(next, line('12:10:00', 'three'));
  const records = await bench.reader.runsFor(2 * MINUTE_MS);
  bench.files.set(cut, one + line('12:05:00', 'two')).set(CURRENT, line('12:20:00', 'four'));
  records.push(...(await bench.reader.runsFor(20 * MINUTE_MS)));
  expect(linesOf(records).map(({ message, flags }) => [message, flags])).toEqual([
    ['three', ['out_of_order']],
    ['four', ['out_of_order']],
    ['two', ['late']],
  ]);
  expect(gapsOf(records)).toEqual([]);
});

test('a file is not followed any more where current cannot be downloaded, and a file that was rotated later is listed', async () => {
  await using bench = await openFileBench(new Map([...LINKED_LOG, [CURRENT, line('12:00:00', 'one')]]));
  await bench.reader.run();
  // The file with its rest was deleted before the next look.
  bench.files
    .set('network/log-2026-11-21-11:20:00.bz2', line('12:10:00', 'three'))
    .set(CURRENT, line('12:20:00', 'four'));
  const busy = new RouterReadError('http', 'error 500', { disposition: 'retry', status: 500, isAnswered: true });
  bench.refusals.set(CURRENT, busy);
  const records = await bench.reader.runsFor(2 * MINUTE_MS);
  bench.refusals.delete(CURRENT);
  records.push(...(await bench.reader.runsFor(20 * MINUTE_MS)));
  const network = records.filter(({ component }) => component === 'network');
  expect(messagesOf(linesOf(network))).toEqual(['three', 'four']);
  expect(network.flatMap(({ flags = [] }) => flags)).not.toContain('late');
  expect(gapsOf(network)).toMatchObject([{ file: CURRENT, details: { reason: 'expired' } }]);
});

test('of two files that begin alike and wait for their rest, the right one goes on, and the other is not lost for it', async () => {
  const boot = line('12:00:00', 'boot');
  const long = boot + line('12:00:05', 'a line of the longer one');
  await using bench = await openFileBench(new Map([[CURRENT, long]]));
  await bench.reader.run();
  bench.files.set(CURRENT, boot);
  expect(messagesOf(await bench.reader.runsFor(2 * MINUTE_MS))).toEqual(['boot']);
  bench.files.set(CURRENT, line('13:00:00', 'newest'));
  bench.files.set('network/log-2026-11-21-12:00:00.bz2', boot + line('12:10:00', 'rest'));
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual(['rest', 'newest']);
  expect(gapsOf(records)).toEqual([]);
});

test('behind an outage that was too long, one rotated file is searched without success, and each is downloaded to be read', async () => {
  await using bench = await openFileBench(new Map([[CURRENT, line('11:59:00', 'one')]]), { zone: new Zone('UTC') });
  await bench.reader.run();
  bench.files.set(CURRENT, line('20:00:00', 'last'));
  const names = ['17', '18', '19'].map((hour) => `network/log-2026-11-21-${hour}:30:00`);
  for (const [index, name] of names.entries()) bench.files.set(name, line(`${17 + index}:00:00`, `${17 + index}`));
  await bench.clock.advance(8 * HOUR_MS);
  bench.asked.length = 0;
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual(['17', '18', '19', 'last']);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'certain', reason: 'expired' } }]);
  expect(bench.asked.filter((name) => name !== CURRENT).toSorted()).toEqual([names[0], ...names]);
});

test.each([
  ['comes', [], ['one', 'three', 'two']],
  ['stays for a day', [{ details: { certainty: 'possible', reason: 'not-found', bytes_min: null } }], ['one', 'three']],
  ['is deleted unread', [{ details: { certainty: 'certain', reason: 'expired', bytes_min: null } }], ['one', 'three']],
] as const)(
  'a rotated file that is refused for an hour and then %s was no gap until then',
  async (how, gaps, messages) => {
    const name = 'network/log-2026-11-21-12:00:10';
    const one = line('12:59:00', 'one');
    await using bench = await openFileBench(new Map([[CURRENT, one]]));
    const [first] = await bench.reader.run();
    bench.files.set(name, one + line('13:00:05', 'two')).set(CURRENT, line('13:00:10', 'three'));
    bench.refusals.set(name, new RouterReadError('connect', 'Cut off', { disposition: 'retry' }));
    await bench.reader.runsFor(HOUR_MS);
    expect(gapsOf(bench.reader.records)).toEqual([]);
    const gapAtMs = START_MS + 24 * HOUR_MS + 30 * SECOND_MS;
    expect(bench.reader.events.findLast(({ type }) => type === 'log-retention')).toMatchObject({ gapAtMs });
    if (how === 'comes') bench.refusals.clear();
    else if (how === 'is deleted unread') bench.files.delete(name);
    await bench.reader.runsFor(how === 'stays for a day' ? 24 * HOUR_MS : HOUR_MS);
    expect(messagesOf(linesOf(bench.reader.records))).toEqual(messages);
    expect(gapsOf(bench.reader.records)).toMatchObject(gaps);
    // The gap is behind what was read of it.
    for (const { details } of gapsOf(bench.reader.records)) expect(details?.['from_uid']).toBe(first?.uid);
  },
);

test.each([
  ['comes at last', [], ['one', 'two', 'five', 'three', 'four']],
  ['is deleted unread', [{ details: { certainty: 'certain', reason: 'expired' } }], ['one', 'two', 'five']],
] as const)(
  'where files show how they follow each other, one that is refused for long and %s is no gap as long as it is listed',
  async (how, gaps, messages) => {
    const name = 'network/log-2026-11-21-12:10:00';
    const one = line('12:59:00', 'one');
    await using bench = await openFileBench(new Map([...LINKED_LOG, [CURRENT, one]]));
    await bench.reader.run();
    bench.files.set('network/log-2026-11-21-12:05:00', one + line('13:04:00', 'two'));
    bench.files.set(name, line('13:05:00', 'three') + line('13:09:00', 'four')).set(CURRENT, line('13:10:00', 'five'));
    bench.refusals.set(name, new RouterReadError('connect', 'Cut off', { disposition: 'retry' }));
    await bench.reader.runsFor(HOUR_MS);
    expect(gapsOf(bench.reader.records)).toEqual([]);
    if (how === 'comes at last') bench.refusals.clear();
    else bench.files.delete(name);
    await bench.reader.runsFor(HOUR_MS);
    const own = bench.reader.records.filter(({ component }) => component === 'network');
    expect(messagesOf(linesOf(own))).toEqual(messages);
    expect(gapsOf(own)).toMatchObject(gaps);
    // The gap is behind what was read before it.
    const two = own.find(({ message }) => message === 'two');
    for (const { details } of gapsOf(own)) expect(details?.['from_uid']).toBe(two?.uid);
  },
);

test('a file that looks like one from long ago does not close the gap before it', async () => {
  const boot = line('10:00:00', 'boot');
  const start = line('11:00:00', 'before') + line('11:10:00', 'last');
  const early = 'network/log-2026-11-21-09:30:00.bz2';
  await using bench = await openFileBench(new Map([...LINKED_LOG, [early, boot]]));
  await bench.reader.run();
  bench.files.delete(early);
  bench.files.set('network/log-2026-11-21-10:30:00.bz2', start);
  bench.files.set('network/log-2026-11-21-11:30:00.bz2', boot + line('12:20:00', 'alike'));
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(messagesOf(linesOf(records))).toEqual(['before', 'last', 'alike']);
  const { details, file } = gapsOf(records).find((gap) => gap.file.includes('10:30:00')) ?? {};
  expect([details?.['reason'], file]).toEqual(['broken-link', 'network/log-2026-11-21-10:30:00']);
});

test('files of a device that replaces another are read although the one before had the same names and beginnings', async () => {
  const name = (minute: number) => `network/log-2026-11-21-11:${minute}:00.bz2`;
  const hourly = line('12:00:00', 'hourly');
  const files = new Map<string, string | Buffer>([
    [name(10), hourly + line('12:05:00', 'read of the first')],
    [CURRENT, line('12:10:00', 'current of the first')],
  ]);
  await using bench = await openFileBench(files);
  await bench.reader.run({ serial: 'A' });
  // Listed, and not whole yet.
  files.set(name(20), '');
  await bench.reader.run({ serial: 'A' });
  files.clear();
  files.set(name(10), hourly + line('12:07:00', 'first of the second'));
  files.set(name(20), line('12:15:00', 'second of the second'));
  files.set(CURRENT, line('12:10:00', 'current of the first') + line('12:30:00', 'current of the second'));
  const records = await bench.reader.run({ serial: 'B' });
  expect(messagesOf(linesOf(records))).toEqual([
    'hourly',
    'first of the second',
    'second of the second',
    'current of the first',
    'current of the second',
  ]);
  expect(gapsOf(records)).toMatchObject([
    { file: 'network/log-2026-11-21-11:20:00', details: { certainty: 'certain', reason: 'expired' } },
    { details: { certainty: 'possible', reason: 'reset' } },
  ]);
  const uids = bench.reader.records.map(({ uid }) => uid);
  expect(new Set(uids).size).toBe(uids.length);
  const kinds = records.map(({ event }) => event);
  expect(kinds.indexOf('log.reset')).toBeGreaterThan(kinds.lastIndexOf('log.gap'));
});

/** Runs over two logs of which the listings are as given, one after the other, and then stay as the last one. */
async function openListings(contents: ReadonlyMap<string, string>, ...listings: string[][]) {
  const bench = await openFileBench(new Map(contents));
  const source: LogSource = {
    listLogs: () => Promise.resolve((listings.length > 1 ? listings.shift() : listings[0]) ?? []),
    readLog: (name, _signal, consume) =>
      consume(
        (async function* () {
          yield Buffer.from(contents.get(name) ?? '');
        })(),
      ),
  };
  return { bench, run: (options: RunOptions = {}) => bench.reader.run({ source, ...options }) };
}

const BOTH = [CURRENT, 'system/current'];
const LOST = 'log-2026-11-21-12:30:00.bz2';
const CONTENTS = new Map([
  [CURRENT, line('13:00:00', 'network')],
  ['system/current', line('13:00:00', 'system')],
]);

test('a file that was listed before its log was read, and is gone by then, is a certain gap', async () => {
  const { bench, run } = await openListings(
    CONTENTS,
    // At first contact the log network takes up its file only after another listing.
    ['system/current'],
    ['system/current'],
    [...BOTH, `system/${LOST}`],
    BOTH,
  );
  await using _ = bench;
  await run();
  await bench.clock.advance(SECOND_MS);
  const gaps = gapsOf(await run());
  expect(gaps).toMatchObject([{ file: 'system/log-2026-11-21-12:30:00', details: { certainty: 'certain' } }]);
});

test('a file that was listed at first contact, and is gone before its log was read, is a certain gap', async () => {
  const left = 'system/log-2026-11-21-12:40:00.bz2';
  const contents = new Map([...CONTENTS, [left, line('13:30:00', 'behind it')]]);
  const { bench, run } = await openListings(contents, [...BOTH, `system/${LOST}`, left], [...BOTH, left]);
  await using _ = bench;
  await run({ shouldYield: () => true });
  const gaps = gapsOf(await run());
  expect(gaps).toMatchObject([{ file: 'system/log-2026-11-21-12:30:00', details: { certainty: 'certain' } }]);
});

test('a file that is first asked for long after it was listed is asked for again, like any other one, when it comes cut', async () => {
  const name = `system/${LOST}`;
  await using bench = await openFileBench(new Map([...CONTENTS, [name, line('13:30:00', 'behind it')]]));
  await bench.reader.run({ shouldYield: () => true });
  await bench.clock.advance(20 * MINUTE_MS);
  bench.files.set(name, 'BZh91AY&SY');
  const records = await bench.reader.run();
  await bench.clock.advance(30 * SECOND_MS);
  bench.files.set(name, line('13:30:00', 'behind it'));
  records.push(...(await bench.reader.runsFor(2 * MINUTE_MS)));
  expect(gapsOf(records)).toEqual([]);
  expect(messagesOf(linesOf(records))).toContain('behind it');
});

test('a file that was listed after its log was read, and is gone in the next run, is a certain gap', async () => {
  const { bench, run } = await openListings(CONTENTS, [CURRENT], [CURRENT], BOTH, [...BOTH, `network/${LOST}`], BOTH);
  await using _ = bench;
  await run();
  await bench.clock.advance(SECOND_MS);
  expect(gapsOf(await run())).toEqual([]);
  await bench.clock.advance(SECOND_MS);
  const gaps = gapsOf(await run());
  expect(gaps).toMatchObject([{ file: 'network/log-2026-11-21-12:30:00', details: { certainty: 'certain' } }]);
});

test('the rest of a file that was rotated while the clock was ahead is found behind an outage, and is no gap', async () => {
  await using bench = await openFileBench(new Map([[CURRENT, line('11:59:00', 'one')]]), { zone: new Zone('UTC') });
  await bench.reader.run();
  bench.files.set('network/log-2027-11-21-17:00:00', line('11:59:00', 'one') + line('12:30:00', 'two'));
  bench.files.set('network/log-2026-11-21-18:30:00', line('17:00:00', 'three')).set(CURRENT, line('18:30:00', 'four'));
  await bench.clock.advance(8 * HOUR_MS);
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual(['two', 'three', 'four']);
  expect(gapsOf(records)).toEqual([]);
});
