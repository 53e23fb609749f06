import { expect, test } from 'vitest';
import {
  gapsOf,
  linesOf,
  MINUTE_MS,
  messagesOf,
  openFileBench,
  openLogBench,
  SECOND_MS,
} from '../../support/log-bench.ts';

/** `docs/log-source.md`: lines, and what the device's writer does to them. */
const AT = '2026-11-21 12:59:00';
const read = async (content: string | Buffer) => {
  await using bench = await openFileBench(new Map([['network/current', content]]));
  return await bench.reader.run();
};

test('case 34: a carriage return at the end belongs to no message, and uids count it', async () => {
  const records = await read(`${AT} [wan] one\r\n${AT} [wan] two\r\n`);
  expect(messagesOf(records)).toEqual(['one', 'two']);
  expect(records[1]?.offset).toBe(`${AT} [wan] one\r\n`.length);
  expect(records[1]?.uid).toMatch(new RegExp(`-${records[1]?.offset.toString(36).padStart(8, '0')}$`));
});

test('empty lines continue no line and are no record, also where a carriage return ends them', async () => {
  const { length } = `${AT} [wan] one\r\n\r\n`;
  const records = await read(`${AT} [wan] one\r\n\r\n${AT} [wan] two\r\n\r\n\n\r`);
  expect(records).toMatchObject([{ message: 'one' }, { message: 'two', offset: length }]);
  expect(records.map(({ details }) => details)).toEqual([undefined, undefined]);
});

test('case 37: real lines behind a run of NUL bytes at the head of a file are delivered, and the NUL bytes counted', async () => {
  await using bench = await openFileBench(
    new Map([
      ['network/current', Buffer.concat([Buffer.alloc(2 ** 20), Buffer.from(`${AT} [wan] one\n${AT} [wan] two\n`)])],
    ]),
  );
  const records = await bench.reader.run();
  expect(records).toMatchObject([
    { message: 'one', flags: ['nul'], details: { nul_bytes: 2 ** 20 } },
    { message: 'two', offset: 2 ** 20 + `${AT} [wan] one\n`.length },
  ]);
  expect(bench.reader.events).toContainEqual(expect.objectContaining({ type: 'log-read', nulBytes: 2 ** 20 }));
});

test('a line of nothing but NUL bytes is a record that says so, and NUL bytes within a line go along untouched', async () => {
  const records = await read(
    Buffer.concat([Buffer.from(`${AT} [a] x\n`), Buffer.alloc(10), Buffer.from(`\n${AT} [a] y\0z\n`)]),
  );
  expect(records).toMatchObject([
    { message: 'x' },
    { message: '', flags: ['nul'], details: { nul_bytes: 10 } },
    { message: 'yz', flags: ['nul'], original: Buffer.from(`${AT} [a] y\0z`).toString('base64') },
  ]);
});

test('case 38: a character that is split between two readings is whole', async () => {
  await using bench = await openLogBench();
  bench.router.appendLog('network', 'äöü'.repeat(1300));
  bench.router.appendLog('network', 'ü'.repeat(4000));
  const [first, second] = await bench.reader.run();
  expect(first?.message).toBe('äöü'.repeat(1300));
  expect(second?.message).toBe('ü'.repeat(4000));
});

test('case 40: lines without a date continue the one before, also over a rotation and between two readings, as one record', async () => {
  await using bench = await openFileBench(new Map([['network/current', `${AT} [app] first\n  at a\n`]]));
  expect(messagesOf(await bench.reader.run())).toEqual([]);
  const rotated = `${AT} [app] first\n  at a\n${AT} [app] second\n  at b\n`;
  bench.files.set('network/log-2026-11-21-12:00:00.bz2', rotated);
  bench.files.set('network/current', '  at c\n2026-11-21 13:00:00 [app] third\n');
  expect(messagesOf(await bench.reader.run())).toEqual(['first\n  at a', 'second\n  at b\n  at c']);
  // Nothing came that could continue the last one.
  const [third] = await bench.reader.run();
  expect(third).toMatchObject({ message: 'third', offset: 7 });
  const [first, second] = bench.reader.records;
  expect(first?.details).toMatchObject({ lines: 2, end_offset: 39 });
  expect(second).toMatchObject({ offset: 39, details: { lines: 3 } });
  const whole = await openFileBench(new Map(bench.files));
  await whole.reader.run();
  await whole.reader.run();
  expect(whole.reader.records.map(({ uid, message }) => [uid, message])).toEqual(
    bench.reader.records.map(({ uid, message }) => [uid, message]),
  );
  await whole[Symbol.asyncDispose]();
});

test('case 40: a file that begins with 32 KB of a record that a rotation has cut is read, from itself and from its archive', async () => {
  await using bench = await openFileBench(new Map([['network/current', `${AT} [app] first\n\tat a\n`]]));
  await bench.reader.run();
  const stack = Array.from({ length: 150 }, (_, frame) => `\tat frame ${frame} ${'y'.repeat(200)}\n`).join('');
  bench.files.set('network/log-2026-11-21-12:00:00.bz2', `${AT} [app] first\n\tat a\n${AT} [app] failed\n`);
  bench.files.set('network/current', `${stack}2026-11-21 13:00:00 [app] last\n`);
  await bench.reader.run();
  await bench.reader.run();
  expect(messagesOf(bench.reader.records)).toEqual(['first\n\tat a', `failed\n${stack.trimEnd()}`, 'last']);
  expect(bench.reader.count('log-failed')).toBe(0);
  await bench.clock.advance(MINUTE_MS);
  bench.files.set('network/log-2026-11-21-12:01:00.bz2', bench.files.get('network/current') ?? '');
  bench.files.set('network/current', '2026-11-21 13:01:00 [app] new\n');
  await bench.reader.run();
  await bench.reader.run();
  expect(messagesOf(bench.reader.records).slice(3)).toEqual(['new']);
});

test('case 40: a line that continues what was shipped already is shipped by itself, and no line is dropped', async () => {
  await using bench = await openFileBench(new Map([['network/current', `${AT} [app] first\n`]]));
  await bench.reader.run();
  bench.files.set('network/current', `${AT} [app] first\n  at a\n${AT} [app] second\n`);
  const records = await bench.reader.runsFor(MINUTE_MS);
  expect(records).toMatchObject([{ message: '  at a', flags: ['unparsed'] }, { message: 'second' }]);
});

test('lines that continue others are joined up to 200, and a kill between two readings loses none of them', async () => {
  const more = Array.from({ length: 450 }, (_, index) => `  at ${index}\n`).join('');
  await using bench = await openFileBench(new Map([['network/current', `${AT} [app] a\n  at\n`]]));
  await bench.reader.run();
  bench.reader.restart();
  bench.files.set('network/current', `${AT} [app] a\n  at\n${more}`);
  const records = await bench.reader.runsFor(MINUTE_MS);
  expect(messagesOf(records).join('\n')).toBe(`a\n  at\n${more.trimEnd()}`);
  expect(records.map(({ details }) => details?.['lines'])).toEqual([200, 200, 52]);
});

test('case 41: a message that quotes a whole line keeps it, and an empty word in brackets is allowed', async () => {
  const quoted = `said: 2026-01-01 00:00:00 [x] [y] ] [ z`;
  expect(await read(`${AT} [wan] ${quoted}\n${AT} [] x\n`)).toMatchObject([
    { tag: 'wan', message: quoted },
    { tag: '', message: 'x' },
  ]);
});

test('case 42: two equal lines of one second are two records', async () => {
  const records = await read(`${AT} [wan] same\n${AT} [wan] same\n`);
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(2);
  expect(new Set(records.map(({ timestamp }) => timestamp)).size).toBe(2);
});

test('case 88: a notice of left-out lines is a record of its own, bound to the line before, also over a rotation', async () => {
  await using bench = await openLogBench({
    simulator: { logs: { compressionMs: 0, showRepeats: false, maxSizeBytes: 20 } },
  });
  for (let count = 0; count < 18; count++) bench.router.appendLog('network', 'again');
  bench.router.appendLog('network', 'other');
  const records = await bench.reader.run();
  const [again, notice, other] = records;
  expect(messagesOf(records)).toEqual(['again', '- Last output repeated 17 times -', 'other']);
  expect(notice).toMatchObject({ event: 'log.repeat', details: { count: 17, of_uid: again?.uid } });
  expect(notice?.file).toBe(other?.file);
  expect(notice?.file).not.toBe(again?.file);
  expect(bench.reader.count('log-repeat-found')).toBe(1);
});

test('a line that a crashed daemon has glued to half of another one is split, with a place and a uid of its own', async () => {
  await using bench = await openLogBench({ simulator: { logs: { tornBytes: 4 } } });
  bench.router.appendLog('network', 'before');
  bench.router.restart();
  bench.router.appendLog('network', 'after');
  const records = await bench.reader.run();
  expect(records).toMatchObject([
    { message: 'before' },
    { message: '2026', flags: ['glued', 'unparsed'] },
    { message: 'after', tag: 'network', flags: ['glued'] },
  ]);
  expect(records[2]?.offset).toBe((records[1]?.offset ?? 0) + 4);
});

test('a line that was glued to a half that was read before has the byte at which it stands, over ranges and after a restart', async () => {
  for (const restarts of [false, true]) {
    await using bench = await openLogBench({ simulator: { logs: { tornBytes: 4 } } });
    bench.router.appendLog('network', 'before');
    const [before] = await bench.reader.run();
    bench.router.restart();
    await bench.clock.advance(MINUTE_MS);
    expect(linesOf(await bench.reader.run())).toEqual([]);
    if (restarts) bench.reader.restart();
    bench.router.appendLog('network', 'after');
    const records = linesOf(await bench.reader.run());
    const end = (before?.offset ?? 0) + '2026-11-21 13:00:00 [network] before\n'.length;
    expect(records.map(({ offset, message, flags }) => [offset, message, flags])).toEqual([
      [end, '2026', ['glued', 'unparsed']],
      [end + 4, 'after', ['glued']],
    ]);
    await bench.clock.advance(MINUTE_MS);
    expect(await bench.reader.run()).toEqual([]);
  }
});

test('a glued line with a whole head is split where the file was seen to end, and where a buffer ends, and nowhere else', async () => {
  const half = `${AT} [wan] half a mess`;
  await using bench = await openFileBench(new Map([['network/current', `${AT} [wan] x\n${half}`]]));
  await bench.reader.run();
  bench.files.set('network/current', `${AT} [wan] x\n${half}${AT} [wan] next\n`);
  expect(await bench.reader.run()).toMatchObject([
    { message: 'half a mess', flags: ['glued'] },
    { message: 'next', flags: ['glued'] },
  ]);
  expect(messagesOf(await read(`${half}${AT} [wan] next\n`))).toEqual([`half a mess${AT} [wan] next`]);
  const filler = `${AT} [wan] ${'y'.repeat(4096 - half.length - `${AT} [wan] \n`.length)}\n`;
  expect(messagesOf(await read(`${filler}${half}${AT} [wan] next\n`)).slice(1)).toEqual(['half a mess', 'next']);
});

test.each(['21.11.2026 11:00:00', '2026-11-21 11:00:00.250', '11/21/2026 11:00:00', 'Nov 21 11:00:00'])(
  'a line with the time %s that quotes another line is one line',
  async (time) => {
    expect(messagesOf(await read(`${time} [fwd] got: ${AT} [ppp] up\n`))).toEqual([`got: ${AT} [ppp] up`]);
  },
);

test('cases 91 and 92: letters that the daemon has scrambled or cut give valid JSON and can be recovered byte for byte', async () => {
  await using bench = await openLogBench();
  bench.router.appendLog('network', 'Äx');
  bench.router.appendLog('network', `${'x'.repeat(8191)}ü`);
  const [scrambled, cut] = await bench.reader.run();
  expect(scrambled?.flags).toEqual(['lossy', 'device_scrambled']);
  expect(Buffer.from(scrambled?.original ?? '', 'base64').subarray(-3)).toEqual(Buffer.from([0xc3, 0x5f, 0x78]));
  expect(cut?.flags).toEqual(['lossy']);
  expect(Buffer.from(cut?.original ?? '', 'base64').at(-1)).toBe(0xc3);
});

test('a line that is too long is cut, and says how long it is and what its SHA-256 is', async () => {
  const [record] = await read(`${AT} [wan] ${'x'.repeat(100_000)}\n`);
  expect(record).toMatchObject({ flags: ['truncated'], details: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } });
  expect(record?.details?.['bytes']).toBe(100_000 + `${AT} [wan] `.length);
  expect(record?.message.length).toBeLessThan(65_536);
});

test('case 96: severities appear with a firmware that writes them, and earlier messages stay as they were', async () => {
  expect(await read(`${AT} [wan] [x] old\n${AT} [wan][WARNING] new\n`)).toMatchObject([
    { tag: 'wan', message: '[x] old' },
    { tag: 'wan', severity: 'warning', message: 'new' },
  ]);
});

test('case 98: lines of one second on both sides of a rotation sort in the order of the files, and read again they are equal', async () => {
  await using bench = await openLogBench({ simulator: { logs: { compressionMs: 0 } } });
  bench.router.appendLog('network', 'long before');
  await bench.clock.advance(10 * SECOND_MS);
  for (let line = 0; line < 30; line++) bench.router.appendLog('network', `before ${line}`);
  await bench.reader.run();
  bench.router.rotate('network', 'after 0');
  bench.router.appendLog('network', 'after 1');
  await bench.reader.runsFor(30 * SECOND_MS);
  const { records } = bench.reader;
  const times = records.map(({ timestamp }) => timestamp ?? '');
  expect(times).toEqual(times.toSorted());
  const again = await bench.createReader().run();
  const identify = (all: typeof records) => linesOf(all).map(({ uid, timestamp }) => [uid, timestamp]);
  expect(identify(again)).toEqual(identify(records));
  expect(gapsOf(again)).toEqual([]);
});

test('case 40: a file that begins with much text without a time is read on once a line has one, also when it is rotated', async () => {
  const text = Array.from(
    { length: 5000 },
    (_, n) => `\tat step ${n} of a dump without a time, ${'x'.repeat(40)}\n`,
  ).join('');
  await using bench = await openFileBench(new Map([['network/current', text]]));
  expect(await bench.reader.run()).toHaveLength(5000);
  const first = `${text}2026-11-21 13:00:00 [wan] first\n`;
  bench.files.set('network/current', first);
  await bench.reader.run();
  const second = `${first}2026-11-21 13:00:10 [wan] second\n`;
  bench.files.set('network/current', second);
  await bench.reader.run();
  bench.files.set('network/log-2026-11-21-12:00:30', `${second}2026-11-21 13:00:20 [wan] third\n`);
  bench.files.set('network/current', '2026-11-21 13:00:30 [wan] fourth\n');
  await bench.reader.runsFor(2 * MINUTE_MS);
  expect(messagesOf(bench.reader.records.slice(5000))).toEqual(['first', 'second', 'third', 'fourth']);
});
