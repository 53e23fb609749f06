import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import { type LogSource, openArchivePool, Zone } from '../../../src/logs/index.ts';
import { RouterReadError } from '../../../src/model/index.ts';
import { openRouter } from '../../client/http-router.ts';
import { compress, createNoise } from '../../support/archives.ts';
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
  readUnfinishedArchive,
  SECOND_MS,
  SLOW_ARCHIVES,
  START_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: bodies. */
const ARCHIVE = 'network/log-2026-11-21-12:00:00.bz2';
const textOf = (lines: number) =>
  Array.from({ length: lines }, (_, n) => `2026-11-21 12:59:59 [wan] line ${n}, ${n * 7919}\n`).join('');
const TEXT = textOf(500);

/** Bytes as if compressed, the same at each run: with line ends among them, and pieces that look like text. */
const NOISE = createNoise(200_000);

test.each([
  ['case 19', 'comes as plain text', TEXT],
  ['case 20', 'comes with gzip around it', () => gzipSync(compress(TEXT))],
  ['case 23', 'has 64 zero bytes behind its end', () => Buffer.concat([compress(TEXT), Buffer.alloc(64)])],
])('%s: an archive that %s gives the records and uids of the archive itself', async (_case, _how, content) => {
  const read = async (body: string | Buffer) => {
    await using bench = await openFileBench(new Map([[ARCHIVE, body]]));
    return await bench.reader.run();
  };
  const records = await read(typeof content === 'string' ? content : content());
  expect(records).toHaveLength(500);
  expect(records).toEqual(await read(compress(TEXT)));
});

test.each([
  ['bzip2', compress],
  ['gzip', (input: Buffer) => gzipSync(input)],
])('case 111: an archive in an archive of %s gives the records and uids of the inner one', async (_, pack) => {
  await using bench = await openFileBench(new Map([[ARCHIVE, compress(pack(Buffer.from(TEXT)))]]));
  await using alone = await openFileBench(new Map([[ARCHIVE, compress(TEXT)]]));
  expect(await bench.reader.run()).toEqual(await alone.reader.run());
  expect(bench.reader.records).toHaveLength(500);
});

test.each([
  ['archives three deep', compress(compress(compress(TEXT))), 'unsupported'],
  ['xz in bzip2', compress(Buffer.from('fd377a585a000004e6d6b446', 'hex')), 'unsupported'],
  ['bytes that are no text', NOISE.subarray(0, 5000), 'binary'],
  ['such bytes in an archive', compress(NOISE), 'binary'],
  ['a few such bytes, without a line end', Buffer.from('1b4f00f8a5c3028107931e44', 'hex'), 'binary'],
])('case 112: a rotated file of %s is one certain gap, and is not asked for again', async (_, body, reason) => {
  await using bench = await openFileBench(
    new Map<string, Buffer | string>([
      [ARCHIVE, body],
      ['network/current', TEXT],
    ]),
  );
  await bench.reader.run();
  await bench.reader.runsFor(20 * MINUTE_MS);
  expect(linesOf(bench.reader.records)).toHaveLength(500);
  expect(gapsOf(bench.reader.records)).toMatchObject([{ details: { certainty: 'certain', reason } }]);
  expect(bench.asked.filter((name) => name === ARCHIVE)).toEqual([ARCHIVE]);
});

test('case 112: an archive of gzip that stays damaged is a certain gap, with what could be read before', async () => {
  const damaged = gzipSync(TEXT);
  damaged.fill(0x55, 200, 220);
  await using bench = await openFileBench(new Map([[ARCHIVE, damaged]]));
  await bench.reader.runsFor(2 * HOUR_MS);
  expect(gapsOf(bench.reader.records)).toMatchObject([{ details: { certainty: 'certain', reason: 'damaged' } }]);
  expect(bench.asked).toHaveLength(4);
});

test.each([
  ['in the middle', 0.5],
  ['at the head', 0],
])('case 113: bytes that are no text %s of a log are one certain gap, and all lines come', async (_, share) => {
  const at = Math.floor((TEXT.length * share) / 80) * 80;
  const cut = TEXT.lastIndexOf('\n', at) + 1;
  for (const end of ['\n', '']) {
    const body = Buffer.concat([Buffer.from(TEXT.slice(0, cut)), NOISE, Buffer.from(end + TEXT.slice(cut))]);
    for (const [name, content] of [
      ['network/current', body],
      [ARCHIVE, compress(body)],
    ] as const) {
      await using bench = await openFileBench(new Map([[name, content]]));
      await bench.reader.run();
      await bench.reader.runsFor(2 * MINUTE_MS);
      const { records } = bench.reader;
      expect(messagesOf(linesOf(records))).toEqual(messagesOf(await linesOfText()));
      const [gap, ...others] = gapsOf(records);
      expect(others).toEqual([]);
      const behind = linesOf(records)[TEXT.slice(0, cut).split('\n').length - 1];
      expect(gap).toMatchObject({
        offset: cut,
        details: { certainty: 'certain', reason: 'binary', bytes_min: NOISE.length, to_uid: behind?.uid },
      });
    }
  }
});

/** The records of {@link TEXT}. */
async function linesOfText() {
  await using bench = await openFileBench(new Map([['network/current', TEXT]]));
  return await bench.reader.run();
}

test('case 113: bytes that are no text come to a log that is followed, part by part, and a gap for each look', async () => {
  await using bench = await openFileBench(new Map<string, Buffer | string>([['network/current', TEXT]]));
  await bench.reader.run();
  let body = Buffer.concat([Buffer.from(TEXT), NOISE.subarray(0, 90_000), Buffer.from('\n')]);
  bench.files.set('network/current', body);
  expect(gapsOf(await bench.reader.run())).toMatchObject([{ details: { reason: 'binary', bytes_min: 90_000 } }]);
  expect(await bench.reader.run()).toEqual([]);
  body = Buffer.concat([body, NOISE.subarray(90_000), Buffer.from('\n2026-11-21 13:00:01 [wan] behind\n')]);
  bench.files.set('network/current', body);
  const records = await bench.reader.run();
  expect(messagesOf(linesOf(records))).toEqual(['behind']);
  expect(gapsOf(records)).toHaveLength(1);
  expect(records.filter(({ event }) => event === 'log.gap_end')).toHaveLength(1);
});

test('case 113: lines of text with a few control characters, or in another encoding, are lines', async () => {
  const lines = [
    '\x07bell and \x01 one',
    'Gr\xfc\xdfe',
    '\x1b[31mred\x1b[0m',
    '\xcf\xd2\xc9\xd7\xc5\xd4',
    'ok',
    '\x00\x00late',
  ];
  const text = Buffer.from(
    `2026-11-21 12:59:59 [wan] first\n${lines.join('\n')}\n2026-11-21 12:59:59 [wan] \x01\x02\x03 dump\n`,
    'latin1',
  );
  await using bench = await openFileBench(new Map([['network/current', text]]));
  await bench.reader.run();
  await bench.reader.run({ isOnlyRun: true });
  const [first, dump] = linesOf(bench.reader.records);
  expect(first?.message.split('\n')).toHaveLength(lines.length + 1);
  expect(dump?.message).toBe('\x01\x02\x03 dump');
  expect(gapsOf(bench.reader.records)).toEqual([]);
});

test('case 114: a current in an encoding that was not requested is a certain gap, reported once, and is not requested in each run', async () => {
  const pack = (lines: number) => gzipSync(TEXT.split('\n').slice(0, lines).join('\n'), { level: 9 });
  await using bench = await openFileBench(new Map<string, Buffer | string>([['network/current', pack(100)]]));
  for (let lines = 100; lines < 220; lines++) {
    bench.files.set('network/current', pack(lines));
    await bench.reader.runsFor(30 * SECOND_MS);
    if (lines === 150) bench.reader.restart();
  }
  expect(messagesOf(linesOf(bench.reader.records))).toEqual([]);
  expect(gapsOf(bench.reader.records)).toMatchObject([
    { file: 'network/current', details: { certainty: 'certain', reason: 'binary' } },
  ]);
  expect(bench.asked.length).toBeLessThan(25);
  expect(bench.reader.count('log-caught-up')).toBe(0);
  // It comes as text again.
  bench.files.set('network/current', TEXT);
  const records = await bench.reader.runsFor(15 * MINUTE_MS);
  expect(linesOf(records)).toHaveLength(500);
  expect(records.filter(({ event }) => event === 'log.gap_end')).toHaveLength(1);
});

test.each([
  ['bytes that are no text', NOISE.subarray(0, 3000), []],
  ['text', Buffer.from('2026-11-21 12:59:59 [wan] behind the end\n'), [{ reason: 'trailing', bytes_min: 41 }]],
])(
  'case 115: behind the end of a whole archive, %s costs no second download, and is a gap if it is text',
  async (_, rest, details) => {
    await using bench = await openFileBench(new Map([[ARCHIVE, Buffer.concat([compress(TEXT), rest])]]));
    await bench.reader.runsFor(20 * MINUTE_MS);
    expect(linesOf(bench.reader.records)).toHaveLength(500);
    expect(gapsOf(bench.reader.records).map((gap) => gap.details)).toMatchObject(details);
    expect(bench.asked).toEqual([ARCHIVE]);
    const bytes = rest.length;
    const reported = bench.reader.events.filter(({ type }) => type === 'archive-trailing-ignored');
    expect(reported).toMatchObject(details.length > 0 ? [] : [{ component: 'network', file: ARCHIVE, bytes }]);
  },
);

test('case 22: an archive without a byte is done with, and is not asked for again', async () => {
  await using bench = await openFileBench(new Map([[ARCHIVE, compress('')]]));
  for (let run = 0; run < 3; run++) expect(await bench.reader.run()).toEqual([]);
  expect(bench.asked).toEqual([ARCHIVE]);
});

test('case 25: an archive that is cut in the middle gives its lines once, when it is whole, and no gap', async () => {
  await using bench = await openLogBench({ simulator: SLOW_ARCHIVES });
  expect(await readUnfinishedArchive(bench)).toEqual([]);
  expect(bench.reader.count('archive-unfinished')).toBe(1);
  const records = await bench.reader.runsFor(20 * MINUTE_MS);
  expect(messagesOf(records)).toEqual([...lineNames(2000, 2100), 'after']);
});

test('case 26: an archive that stays cut gives its good beginning, and after the time of grace a certain gap', async () => {
  const whole = compress(textOf(10_000), 1);
  await using bench = await openFileBench(new Map([[ARCHIVE, whole.subarray(0, Math.floor(whole.length * 0.8))]]));
  const records = await bench.reader.runsFor(17 * MINUTE_MS);
  expect(linesOf(records).length).toBeGreaterThan(1000);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(records.length);
  expect(gapsOf(records)).toMatchObject([
    { details: { certainty: 'certain', reason: 'damaged', from_uid: linesOf(records).at(-1)?.uid } },
  ]);
  expect(bench.asked.length).toBeLessThan(20);
});

test('case 27: of a body that is shorter than it says only whole lines count, and the rest comes later', async () => {
  await using bench = await openLogBench();
  bench.write(0, 100);
  await bench.router.fault('truncate_body', { path: '/download/log?log_file', times: 2 });
  await bench.reader.run();
  expect(bench.reader.events).toContainEqual(
    expect.objectContaining({ type: 'log-failed', cause: expect.objectContaining({ code: 'connect' }) }),
  );
  const first = bench.reader.records.length;
  expect(first).toBeLessThan(100);
  bench.write(100, 110);
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 110));
});

test.each(['reset_mid_body', 'truncate_body'] as const)(
  'a log whose download always ends with %s keeps no other log from being read, and its archives come once it works',
  async (fault) => {
    await using bench = await openLogBench();
    const writeHour = async (hour: number) => {
      for (const component of ['audit', 'network']) bench.write(hour * 20, hour * 20 + 20, component);
      await bench.clock.advance(HOUR_MS);
    };
    await bench.router.fault(fault, { path: '/download/log?log_file=audit' });
    for (let hour = 0; hour < 8; hour++) {
      await writeHour(hour);
      if (hour % 3 === 2) for (const component of ['audit', 'network']) bench.router.rotate(component, 'after');
      await bench.reader.run();
    }
    const namesOf = (component: string) =>
      messagesOf(linesOf(bench.reader.records.filter((record) => record.component === component))).filter(
        (message) => message !== 'after',
      );
    expect(namesOf('network')).toEqual(lineNames(0, 160));
    await bench.router.clearFault();
    await bench.reader.runsFor(20 * MINUTE_MS);
    // What was held up comes behind what is newer.
    expect(namesOf('audit').toSorted()).toEqual(lineNames(0, 160).toSorted());
    expect(gapsOf(bench.reader.records)).toEqual([]);
  },
);

test('a rotated file whose download always takes too long is asked for less and less often, up to each quarter of an hour', async () => {
  await using bench = await openFileBench(new Map([[ARCHIVE, compress(TEXT)]]));
  bench.refusals.set(ARCHIVE, new RouterReadError('timeout', 'Too slow', { disposition: 'retry', isAnswered: true }));
  await bench.reader.runsFor(2 * HOUR_MS);
  const before = bench.asked.length;
  expect(before).toBeLessThan(18);
  await bench.reader.runsFor(HOUR_MS);
  expect(bench.asked.length - before).toBe(4);
  bench.refusals.clear();
  await bench.reader.runsFor(15 * MINUTE_MS);
  expect(linesOf(bench.reader.records)).toHaveLength(500);
});

test('a log whose download always comes to a stop ends the run, and the next run begins with the other logs', async () => {
  const text = '2026-11-21 12:00:00 [wan] line\n';
  const stopping = new RouterReadError('timeout', 'Nothing came', { disposition: 'retry' });
  await using bench = await openFileBench(
    new Map([
      ['audit/current', text],
      ['network/current', text],
      ['system/current', text],
    ]),
  );
  bench.refusals.set('audit/current', stopping).set('network/current', stopping);
  // The router would soon delete its lines, which is no reason to try it first again.
  const { retention } = bench.reader.memory.of('audit');
  for (const [atMs, bytes] of [
    [0, 0],
    [60_000, 10_000_000],
  ] as const)
    retention.recordRead(bench.clock.monotonic() - 60_000 + atMs, bytes);
  for (let run = 0; run < 3; run++) await expect(bench.reader.run()).rejects.toBe(stopping);
  expect(bench.asked).toEqual(['audit/current', 'network/current', 'system/current', 'audit/current']);
  expect(bench.reader.records).toMatchObject([{ component: 'system', message: 'line' }]);
});

test.each([
  ['connect', false],
  ['connect', true],
  ['timeout', false],
  ['timeout', true],
] as const)(
  'a current whose download always ends early (%s, ranges: %s) is read as far as it comes, and costs little where nothing new does',
  async (code, hasRanges) => {
    const PART_BYTES = 30_000;
    const write = (from: number, to: number) =>
      lineNames(from, to)
        .map((name) => `2026-11-21 12:00:00 [wan] ${name}\n`)
        .join('');
    const files = new Map([['network/current', write(0, 1000)]]);
    let sentBytes = 0;
    const source: LogSource = {
      listLogs: () => Promise.resolve([...files.keys()]),
      readLog(name, _signal, consume, { start = 0 } = {}) {
        const from = hasRanges ? start : 0;
        const bytes = Buffer.from(files.get(name) ?? '').subarray(from);
        return consume(
          (async function* () {
            const part = name.endsWith('current') ? bytes.subarray(0, PART_BYTES) : bytes;
            sentBytes += part.length;
            yield part;
            if (part.length < bytes.length)
              throw new RouterReadError(code, 'Ended early', { disposition: 'retry', isAnswered: code === 'timeout' });
          })(),
          from,
        );
      },
    };
    const clock = createSteppedClock(START_MS);
    await using archives = openArchivePool({ workers: 1 });
    const reader = new LogReader(source, archives, { clock, zone: new Zone('Europe/Berlin') });
    await reader.run();
    await reader.runsFor(HOUR_MS);
    expect(sentBytes).toBeLessThan(30 * PART_BYTES);
    const whole = lineNames(0, 1000);
    const read = messagesOf(reader.records);
    expect(read.length).toBeGreaterThan(800);
    expect(read).toEqual(hasRanges ? whole : whole.slice(0, read.length));
    // Another file is read at once.
    files.set('network/log-2026-11-21-12:00:00', files.get('network/current') ?? '');
    files.set('network/current', write(1000, 1002));
    await reader.run();
    expect(messagesOf(reader.records)).toEqual(lineNames(0, 1002));
    expect(gapsOf(reader.records)).toEqual([]);
  },
);

test('case 28: an archive that expands without end is stopped, and is a gap at once', async () => {
  const stream = compress(Buffer.alloc(10_000_000));
  const layer = Buffer.concat([stream, stream, stream, stream, stream]);
  await using bench = await openFileBench(new Map([[ARCHIVE, layer]]));
  const records = await bench.reader.run();
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'certain', reason: 'too-large' } }]);
  await bench.reader.run();
  expect(bench.asked).toEqual([ARCHIVE]);
});

test('a damaged block is asked for twice more, then what stands behind it comes with uids of its own, and a gap says where', async () => {
  const text = Array.from({ length: 10_000 }, (_, n) => `2026-11-21 12:59:59 [wan] line ${n}\n`).join('');
  const bytes = compress(text, 1);
  const damaged = Buffer.from(bytes);
  damaged.fill(0x55, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 16);
  await using bench = await openFileBench(new Map([[ARCHIVE, damaged]]));
  const records = await bench.reader.runsFor(5 * MINUTE_MS);
  expect(bench.asked).toHaveLength(4);
  const recovered = records.filter(({ flags }) => flags?.includes('recovered'));
  expect(recovered.length).toBeGreaterThan(1000);
  for (const { uid } of recovered) expect(uid).toMatch(/^[a-z2-7]{16}-b\d+-[0-9a-z]+$/);
  const whole = linesOf(records).filter(({ flags }) => !flags?.includes('partial') && !flags?.includes('recovered'));
  expect(messagesOf(whole)).toEqual(lineNames(0, whole.length));
  expect(recovered.at(-1)?.message).toBe('line 9999');
  expect(gapsOf(records)).toMatchObject([
    {
      details: { certainty: 'certain', reason: 'damaged', start_bit: expect.any(Number), end_bit: expect.any(Number) },
    },
  ]);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(records.length);
});

/** Ten thousand lines, a second apart, in archives of blocks of 100 kB, which a router rotates at their end. */
const LONG = Array.from({ length: 10_000 }, (_, n) => {
  const time = new Date(Date.UTC(2026, 10, 21, 8) + n * SECOND_MS).toISOString().slice(0, 19).replace('T', ' ');
  return `${time} [wan] line ${n}, ${(n * 7919) % 10_007}\n`;
});
const LONG_ARCHIVE = 'network/log-2026-11-21-09:50:00.bz2';

/** The archive of {@link LONG}, damaged at a share of its bytes. */
function damageLong(share: number): Buffer {
  const archive = compress(LONG.join(''), 1);
  return archive.fill(0x55, Math.floor(archive.length * share), Math.floor(archive.length * share) + 16);
}

test.each([
  ['its first block', 0.05],
  ['the middle of that', 0.35],
])(
  'case 102: an archive that is damaged in %s, which was read before, gives no line again, and a gap for its rest',
  async (_where, share) => {
    const files = new Map<string, string | Buffer>([['network/current', LONG.slice(0, 8000).join('')]]);
    await using bench = await openFileBench(files);
    await bench.reader.run();
    files.set(LONG_ARCHIVE, damageLong(share));
    files.set('network/current', '2026-11-21 10:50:01 [wan] behind\n');
    await bench.reader.runsFor(20 * MINUTE_MS);
    const { records } = bench.reader;
    expect(linesOf(records).map(({ message }) => message.split(',')[0])).toEqual([...lineNames(0, 8000), 'behind']);
    const [last, behind] = linesOf(records).slice(-2);
    expect(gapsOf(records)).toMatchObject([
      { details: { certainty: 'certain', reason: 'damaged', from_uid: last?.uid } },
    ]);
    expect(behind?.message).toBe('behind');
    expect(bench.reader.count('log-clock-jumped')).toBe(0);
  },
);

test('an archive that is damaged behind what was read before goes on where that ended', async () => {
  const files = new Map<string, string | Buffer>([['network/current', LONG.slice(0, 2000).join('')]]);
  await using bench = await openFileBench(files);
  await bench.reader.run();
  files.set(LONG_ARCHIVE, damageLong(0.7));
  files.set('network/current', '2026-11-21 10:50:01 [wan] behind\n');
  await bench.reader.runsFor(20 * MINUTE_MS);
  const { records } = bench.reader;
  const lines = linesOf(records);
  expect(new Set(lines.map(({ message }) => message)).size).toBe(lines.length);
  expect(lines.length).toBeGreaterThan(7000);
  expect(gapsOf(records)).toMatchObject([{ details: { certainty: 'certain', reason: 'damaged' } }]);
});

test('an archive whose first block is damaged gives the lines behind it with uids of their block, and the gap in front of them', async () => {
  await using bench = await openFileBench(new Map([[LONG_ARCHIVE, damageLong(0.05)]]));
  const records = await bench.reader.runsFor(5 * MINUTE_MS);
  const lines = linesOf(records);
  expect(lines.length).toBeGreaterThan(5000);
  expect(lines.every(({ uid, flags }) => /-b\d+-/.test(uid) && flags?.includes('recovered'))).toBe(true);
  expect(lines[0]?.flags).toContain('partial');
  const gap = records.findIndex(({ event }) => event === 'log.gap');
  expect(gap).toBeLessThan(records.indexOf(lines[0] as (typeof records)[number]));
  expect(gapsOf(records)).toMatchObject([{ details: { reason: 'damaged', to_uid: lines[0]?.uid } }]);
});

test('a body of NUL bytes in tiny pieces takes no longer than its bytes', async () => {
  const pieces = 40_000;
  const archives = openArchivePool({ workers: 1 });
  onTestFinished(() => archives.close());
  const source: LogSource = {
    listLogs: () => Promise.resolve(['network/current']),
    readLog: (_name, _signal, consume) =>
      consume(
        (async function* () {
          yield Buffer.alloc(3_000_000);
          for (let piece = 0; piece < pieces; piece++) yield Buffer.alloc(1);
          yield Buffer.from('2026-11-21 12:59:59 [wan] at last\n');
        })(),
      ),
  };
  const reader = new LogReader(source, archives, { clock: createSteppedClock(START_MS) });
  const before = process.cpuUsage();
  const records = await reader.run();
  const { user, system } = process.cpuUsage(before);
  expect(messagesOf(linesOf(records))).toEqual(['at last']);
  // 40,000 looks at three million bytes would take minutes.
  expect((user + system) / 1e6).toBeLessThan(20);
});

test.each([
  ['case 31', 'that ignores ranges', false],
  ['cases 31 and 32', 'that supports ranges', true],
])(
  '%s: a router %s gives the same records, byte for byte, while the file grows',
  async (_case, _how, rangeRequests) => {
    await using bench = await openLogBench({ simulator: { features: { rangeRequests } } });
    for (let step = 0; step < 12; step++) {
      bench.write(step * 50, step * 50 + 50);
      await bench.reader.run();
      await bench.clock.advance(SECOND_MS);
      if (step === 6) bench.reader.restart();
    }
    expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 600));
    const whole = bench.createReader();
    const uids = (await whole.run()).map(({ uid, timestamp }) => [uid, timestamp]);
    expect(bench.reader.records.map(({ uid, timestamp }) => [uid, timestamp])).toEqual(uids);
  },
);

test('a router with ranges and entity tags is asked only for what is new, and not at all for what has not changed', async () => {
  await using bench = await openLogBench({ simulator: { features: { rangeRequests: true } } });
  bench.write(0, 20_000);
  await bench.reader.run();
  const before = bench.router.counters.bodyBytes;
  for (let run = 0; run < 10; run++) await bench.reader.run();
  bench.write(20_000, 20_001);
  expect(messagesOf(await bench.reader.run())).toEqual(['line 20000']);
  expect(bench.router.counters.bodyBytes - before).toBeLessThan(20_000);
});

test('a router that answers 304 although it has rotated is asked once without a condition, and none goes out by the clock', async () => {
  const files = new Map([['network/current', '2026-11-21 12:59:00 [wan] line 0\n']]);
  const conditions: (string | undefined)[] = [];
  const source: LogSource = {
    listLogs: () => Promise.resolve([...files.keys()]),
    readLog(name, _signal, consume, { unlessEtag } = {}) {
      const fault = (status: number) =>
        new RouterReadError('http', `${status}`, { disposition: 'retry', status, isAnswered: true });
      if (!name.endsWith('current')) return Promise.reject(fault(500));
      conditions.push(unlessEtag);
      if (unlessEtag !== undefined) return Promise.reject(fault(304));
      const body = (async function* () {
        yield Buffer.from(files.get(name) ?? '');
      })();
      return consume(body, 0, { etag: '"always the same"' });
    },
  };
  await using archives = openArchivePool({ workers: 1 });
  const clock = createSteppedClock(START_MS);
  const reader = new LogReader(source, archives, { clock });
  await reader.run();
  await reader.runsFor(2 * HOUR_MS);
  expect(conditions.filter((condition) => condition === undefined)).toHaveLength(1);
  // The archive is listed, and its download fails.
  files.set('network/log-2026-11-21-14:00:00.bz2', '').set('network/current', '2026-11-21 15:00:00 [wan] line 1\n');
  await reader.runsFor(5 * MINUTE_MS);
  expect(messagesOf(linesOf(reader.records))).toEqual(lineNames(0, 2));
  const before = conditions.length;
  await reader.runsFor(2 * HOUR_MS);
  expect(conditions.slice(before)).toEqual(Array(conditions.length - before).fill('"always the same"'));
});

test('case 30: a partial answer for another range than asked for counts as no range, and is not tried again', async () => {
  const content = Array.from({ length: 400 }, (_, n) => `2026-11-21 13:00:00 [wan] line ${n}\n`).join('');
  let length = 8000;
  const ranges: (string | undefined)[] = [];
  await using bench = await openRouter((request, response) => {
    if (request.url?.includes('list_files')) {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ log_files: ['network/current'] }));
      return;
    }
    ranges.push(request.headers.range);
    const body = content.slice(0, length);
    if (request.headers.range === undefined) response.end(body);
    else response.writeHead(206, { 'Content-Range': `bytes 0-9/${length}` }).end(body.slice(0, 10));
  });
  await using archives = openArchivePool({ workers: 1 });
  const reader = new LogReader(bench.client, archives, { clock: createSteppedClock(START_MS) });
  await reader.run();
  for (length of [9000, 10_000, 11_000]) await reader.run();
  const complete = content.slice(0, length).split('\n').length - 1;
  expect(messagesOf(reader.records)).toEqual(lineNames(0, complete));
  expect(ranges.filter((range) => range !== undefined)).toHaveLength(1);
});

test.each([false, true])(
  'case 33: a download whose token ends in the middle goes on, each line once (ranges: %s)',
  async (rangeRequests) => {
    await using bench = await openLogBench({ simulator: { features: { rangeRequests } } });
    bench.write(0, 20);
    await bench.reader.run();
    bench.write(20, 5000);
    await bench.router.fault('reset_mid_body', { path: '/download/log?log_file', times: 1 });
    bench.router.expireTokens();
    await bench.reader.run();
    expect(messagesOf(bench.reader.records)).toEqual(lineNames(0, 5000));
    expect(new Set(bench.reader.records.map(({ uid }) => uid)).size).toBe(5000);
  },
);

test('case 86: a firmware that names archives otherwise changes no uid', async () => {
  await using bench = await openFileBench(new Map([['network/current', TEXT]]));
  const uids = (await bench.reader.run()).map(({ uid }) => uid);
  bench.files.set('network/log-2026-11-21-12:00:00.gz', gzipSync(TEXT));
  bench.files.set('network/current', '2026-11-21 13:00:00 [wan] after\n');
  expect(messagesOf(await bench.reader.run())).toEqual(['after']);
  const other = await openFileBench(new Map([['network/log-2026-11-21-12:00:00.gz', TEXT]]));
  expect((await other.reader.run()).map(({ uid }) => uid)).toEqual(uids);
  await other[Symbol.asyncDispose]();
});

test('case 78: while 13 MB are decompressed, the main thread works for less than 50 ms at a time', async () => {
  // Streams one behind the other are one archive, and compressing takes long.
  const stream = compress(textOf(10_000));
  const archive = Buffer.concat(Array.from({ length: 28 }, () => stream));
  await using bench = await openFileBench(new Map([[ARCHIVE, archive]]));
  // Its own processor time between two timers: on a busy machine the clock on the wall measures the others.
  const stretchesMs: number[] = [];
  let before = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    stretchesMs.push((user + system) / 1000);
    before = process.threadCpuUsage();
  }, 1);
  onTestFinished(() => clearInterval(timer));
  expect((await bench.reader.run()).length).toBeGreaterThan(200_000);
  const sorted = stretchesMs.toSorted((a, b) => a - b);
  expect(sorted.length).toBeGreaterThan(20);
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(50);
}, 240_000);
