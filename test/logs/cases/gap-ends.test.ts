import { expect, test } from 'vitest';
import type { LogRecord } from '../../../src/model/index.ts';
import { compress } from '../../support/archives.ts';
import {
  gapsOf,
  LINKED_LOG,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  SECOND_MS,
} from '../../support/log-bench.ts';

/** Where a gap ends: in its own record when the line behind it is known, else in a record of its own. */
const CURRENT = 'network/current';
const ARCHIVE = 'network/log-2026-11-21-12:00:00.bz2';
const line = (time: string, message: string) => `2026-11-21 ${time} [wan] ${message}\n`;
/** Of small blocks. */
const pack = (text: string) => compress(text, 1);
const endsOf = (records: readonly LogRecord[]) => records.filter(({ event }) => event === 'log.gap_end');
const kindsOf = (records: readonly LogRecord[]) => records.map(({ event, message }) => event ?? message);
const uidOf = (records: readonly LogRecord[], message: string) => records.find((one) => one.message === message)?.uid;

/** A file that was read long ago and is still listed: the log was not wiped. */
const OLD = ['network/log-2026-11-21-11:30:00', line('12:00:00', 'old')] as const;

/** An archive that stays unfinished. */
const LOST = 'network/log-2026-11-21-12:10:00.bz2';
const CUT = pack(line('13:00:00', 'lost')).subarray(0, 30);

const PACKED_LINES = pack(
  Array.from({ length: 9000 }, (_, index) => line('12:30:00', `line ${index} ${index * 7919 ** 3}`)).join(''),
);

function damage(archive: Buffer, share: number): Buffer {
  const damaged = Buffer.from(archive);
  const at = Math.floor(archive.length * share);
  return damaged.fill(0x55, at, at + 16);
}

test('damage in the middle of an archive is a gap from the line before it to the first one behind it', async () => {
  await using bench = await openFileBench(new Map([[ARCHIVE, damage(PACKED_LINES, 0.5)]]));
  const records = await bench.reader.runsFor(5 * MINUTE_MS);
  const [gap] = gapsOf(records);
  const lines = linesOf(records);
  const behind = lines.findIndex(({ flags }) => flags?.includes('recovered'));
  expect(gap?.details).toMatchObject({
    from_uid: lines[behind - 1]?.uid,
    to_uid: lines[behind]?.uid,
    reason: 'damaged',
    time_from: '2026-11-21T11:30:00.000Z',
    time_to: expect.any(String),
  });
  expect(kindsOf(records).indexOf('log.gap')).toBe(behind);
  expect(endsOf(records)).toEqual([]);
  // Another reading, by an agent without state, emits the same.
  const again = await openFileBench(new Map(bench.files));
  expect(gapsOf(await again.reader.runsFor(5 * MINUTE_MS)).map(({ uid, details }) => [uid, details])).toEqual([
    [gap?.uid, gap?.details],
  ]);
  await again[Symbol.asyncDispose]();
});

test('damage at the end of an archive ends with the first line of the next file', async () => {
  const files = new Map([
    [ARCHIVE, damage(PACKED_LINES, 0.97)],
    [CURRENT, Buffer.from(line('13:00:00', 'next'))],
  ]);
  await using bench = await openFileBench(files);
  for (let look = 0; look < 6; look++) {
    await bench.reader.run();
    await bench.clock.advance(11 * SECOND_MS);
  }
  const { records } = bench.reader;
  const [gap] = gapsOf(records);
  expect(gap?.details).toMatchObject({ from_uid: linesOf(records).at(-2)?.uid, to_uid: null, time_to: null });
  expect(endsOf(records)).toMatchObject([
    { details: { gap_uid: gap?.uid, to_uid: uidOf(records, 'next'), time_to: '2026-11-21T12:00:00.000Z' } },
  ]);
  expect(kindsOf(records).slice(-3)).toEqual(['log.gap', 'log.gap_end', 'next']);
});

test.each([
  ['in the same process', false],
  ['by another process', true],
])(
  'a gap whose end comes later ends with the first line behind it, in one commit, read %s, and counts once',
  async (_how, isRestarted) => {
    const files = new Map<string, string | Buffer>([OLD, [ARCHIVE, line('12:30:00', 'before')], [LOST, CUT]]);
    await using bench = await openFileBench(files);
    await bench.reader.run();
    // Listed, never read whole, and gone; there is no line behind it yet.
    files.delete(LOST);
    const reported = await bench.reader.run();
    expect(gapsOf(reported)).toMatchObject([{ details: { reason: 'expired', to_uid: null, time_to: null } }]);
    if (isRestarted) bench.reader.restart();
    await bench.clock.advance(20 * MINUTE_MS);
    files.set(CURRENT, line('13:10:00', 'behind') + line('13:10:01', 'more'));
    const commits: LogRecord[][] = [];
    const { log } = bench.reader;
    await bench.reader.run({
      records: {
        readPositions: () => log.readPositions(),
        readFacts: () => log.readFacts(),
        commit: (...all) => {
          const lines = all.flatMap((one) => ('lines' in one ? [...one.lines] : []));
          commits.push(lines.map((text) => JSON.parse(text) as LogRecord));
          log.commit(...all);
        },
      },
    });
    const [step = []] = commits.filter((records) => records.length > 0);
    expect(kindsOf(step)).toEqual(['log.gap_end', 'behind', 'more']);
    expect(step[0]).toMatchObject({
      component: 'network',
      details: { gap_uid: gapsOf(reported)[0]?.uid, to_uid: step[1]?.uid, time_to: '2026-11-21T12:10:00.000Z' },
    });
    expect(bench.reader.count('log-gap-found')).toBe(1);
    expect(bench.reader.count('log-gap-ended')).toBe(1);
    await bench.clock.advance(SECOND_MS);
    expect(await bench.reader.run()).toEqual([]);
  },
);

test('the end of a gap has the same uid for every agent that reads it', async () => {
  const read = async () => {
    const files = new Map<string, string | Buffer>([[ARCHIVE, PACKED_LINES.subarray(0, 40_000)]]);
    await using bench = await openFileBench(files);
    const before = await bench.reader.runsFor(17 * MINUTE_MS);
    files.set(CURRENT, line('13:00:00', 'behind'));
    return [...gapsOf(before), ...(await bench.reader.run())].map(({ uid, event }) => [event, uid]);
  };
  const [first, second] = [await read(), await read()];
  expect(first.map(([event]) => event)).toEqual(['log.gap', 'log.gap_end', undefined]);
  expect(second).toEqual(first);
});

test('a gap that is emitted after the line behind it was read carries that line', async () => {
  const files = new Map<string, string | Buffer>([OLD, [CURRENT, line('12:30:00', 'before')]]);
  await using bench = await openFileBench(files);
  await bench.reader.run();
  files.set(CURRENT, line('13:00:00', 'ahead'));
  await bench.reader.run();
  bench.reader.restart();
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(kindsOf(records)).toEqual(['ahead', 'log.gap']);
  expect(gapsOf(records)[0]?.details).toMatchObject({
    reason: 'not-found',
    to_uid: uidOf(records, 'ahead'),
    time_to: '2026-11-21T12:00:00.000Z',
  });
});

test.each([
  ['nothing of which can be read', damage(pack(line('12:30:00', 'lost')), 0.4), 1],
  ['only the middle of which can be read', damage(damage(PACKED_LINES, 0.05), 0.97), 2],
])('the end of an archive %s is a gap up to the line behind it that was read before', async (_how, archive, count) => {
  const files = new Map<string, string | Buffer>([OLD, [ARCHIVE, archive], [CURRENT, line('13:00:00', 'next')]]);
  await using bench = await openFileBench(files);
  for (let look = 0; look < 6; look++) {
    await bench.reader.run();
    await bench.clock.advance(61 * SECOND_MS);
  }
  files.set(CURRENT, line('13:00:00', 'next') + line('13:05:00', 'later'));
  await bench.reader.run();
  const { records } = bench.reader;
  const kinds = kindsOf(records);
  expect(kinds.indexOf('next')).toBeLessThan(kinds.indexOf('log.gap'));
  const gaps = gapsOf(records);
  expect(gaps).toHaveLength(count);
  expect(gaps.at(-1)?.details).toMatchObject({ reason: 'damaged', to_uid: uidOf(records, 'next') });
  expect(endsOf(records)).toEqual([]);
});

test('a broken link ends with the first line of the file behind it', async () => {
  const before = 'network/log-2026-11-21-11:40:00';
  await using bench = await openFileBench(new Map([...LINKED_LOG, [before, line('12:10:00', 'before')]]));
  const first = await bench.reader.run();
  bench.files.delete(before);
  bench.files.set('network/log-2026-11-21-12:30:00', line('13:00:00', 'behind'));
  const records = [...first, ...(await bench.reader.runsFor(20 * MINUTE_MS))];
  expect(gapsOf(records)).toMatchObject([
    {
      details: {
        certainty: 'likely',
        reason: 'broken-link',
        from_uid: uidOf(records, 'before'),
        to_uid: uidOf(records, 'behind'),
      },
    },
  ]);
  expect(endsOf(records)).toEqual([]);
});

test('when all files are deleted, the gap ends with the first line of the log that begins anew', async () => {
  const files = new Map([
    ['network/log-2026-11-21-12:00:00', line('12:30:00', 'rotated')],
    [CURRENT, line('13:00:00', 'unread end')],
  ]);
  await using bench = await openFileBench(files);
  await bench.reader.run();
  files.clear();
  await bench.reader.run();
  files.set(CURRENT, line('13:30:00', 'anew'));
  const records = await bench.reader.run();
  expect(kindsOf(records)).toEqual(['log.gap', 'log.reset', 'log.gap_end', 'anew']);
  expect(endsOf(records)[0]?.details).toMatchObject({ gap_uid: records[0]?.uid, to_uid: records[3]?.uid });
});

test('a record that was kept back goes before the gap, and the line behind it is not joined to it', async () => {
  const held = `${line('12:30:00', 'a')}  at 1\n${line('12:31:00', 'held')}`;
  const files = new Map<string, string | Buffer>([OLD, [ARCHIVE, held], [LOST, CUT]]);
  await using bench = await openFileBench(files);
  expect(messagesOf(await bench.reader.run())).toEqual(['old', 'a\n  at 1']);
  files.delete(LOST);
  files.set(CURRENT, `  at 3\n${line('13:10:00', 'b')}  at 4\n`);
  const records = await bench.reader.runsFor(MINUTE_MS);
  const kinds = kindsOf(records);
  expect(kinds.indexOf('held')).toBeLessThan(kinds.indexOf('log.gap'));
  expect(kinds.indexOf('log.gap')).toBeLessThan(kinds.indexOf('log.gap_end'));
  const [end] = endsOf(records);
  expect(end?.details?.['to_uid']).toBe(records[kinds.indexOf('log.gap_end') + 1]?.uid);
  expect(messagesOf(records).filter((message) => message.includes('at 3'))).toEqual(['  at 3']);
});

test('gaps in history that is read behind what is new end in that history, the last one where what is new begins', async () => {
  const name = (minute: number) => `network/log-2026-11-21-11:${minute}:00`;
  const files = new Map<string, string | Buffer>([
    [name(10), line('12:00:00', 'first')],
    [name(20), line('12:10:00', 'second')],
    [name(30), line('12:20:00', 'lost')],
    [name(40), line('12:30:00', 'fourth')],
    [name(50), line('12:40:00', 'lost too')],
    [CURRENT, line('12:50:00', 'live')],
  ]);
  await using bench = await openFileBench(files, { historyBytesMax: 1 });
  expect(messagesOf(await bench.reader.run())).toEqual(['first', 'live', 'second']);
  files.delete(name(30));
  expect(kindsOf(await bench.reader.run())).toEqual(['log.gap', 'log.gap_end', 'fourth']);
  files.delete(name(50));
  expect(kindsOf(await bench.reader.run())).toEqual(['log.gap']);
  const { records } = bench.reader;
  expect(endsOf(records)).toMatchObject([{ file: name(30), details: { to_uid: uidOf(records, 'fourth') } }]);
  expect(gapsOf(records)).toMatchObject([
    { file: name(30), details: { to_uid: null } },
    { file: name(50), details: { to_uid: uidOf(records, 'live'), time_to: '2026-11-21T11:50:00.000Z' } },
  ]);
});
