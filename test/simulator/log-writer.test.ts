import { describe, expect, test } from 'vitest';
import { filePath, listPath, openBench } from './client.ts';

const HOUR_MS = 3_600_000;
const small = { maxSizeBytes: 100, compressionMs: 4000 };

/** A line of exactly 100 bytes, so that each fills a small `current`. */
const filler = (mark: string) => mark.padEnd(100 - '2026-11-21 09:00:00 [n] \n'.length, '.');

async function openLogBench(...options: Parameters<typeof openBench>) {
  const bench = await openBench(...options);
  // The clock of these tests moves by hours, so every request has a session of its own.
  const get = async (path: string) => bench.client.get(path, (await bench.client.login()).access);
  return {
    ...bench,
    list: async (): Promise<string[]> => (await get(listPath)).json.log_files,
    read: async (file: string) => (await get(filePath(file))).text,
    append: (mark: string) => bench.router.appendLog('n', filler(mark)),
  };
}

describe('a line', () => {
  test('a line carries local time, also across the end of summer time', async () => {
    await using bench = await openLogBench();
    bench.router.jumpClock(Date.UTC(2026, 9, 25, 0, 59, 59) - bench.clock.now());
    bench.router.appendLog('n', 'summer');
    await bench.clock.advance(1000);
    bench.router.appendLog('n', 'winter');
    expect(await bench.read('n/current')).toBe('2026-10-25 02:59:59 [n] summer\n2026-10-25 02:00:00 [n] winter\n');
  });

  test('control bytes become underscores and trailing ones vanish', async () => {
    await using bench = await openLogBench();
    bench.router.appendLog('n', 'a\tb\nc\r\n');
    bench.router.appendLog('n', '\n\n');
    bench.router.appendLog('n', 'ä Ä.');
    const bytes = bench.router.truth('n').map((line) => line.bytes.subarray('2026-11-21 09:00:00 [n] '.length));
    expect(bytes).toEqual([Buffer.from('a_b_c'), Buffer.from([0xc3, 0xa4, 0x20, 0xc3, 0x5f, 0x2e])]);
  });

  test('a message is cut at 8192 bytes, also inside a character', async () => {
    await using bench = await openLogBench();
    bench.router.appendLog('n', `x${'ä'.repeat(5000)}`);
    const [line] = bench.router.truth('n');
    expect(line?.bytes.length).toBe('2026-11-21 09:00:00 [n] '.length + 8192);
    expect(line?.bytes.at(-1)).toBe(0xc3);
  });
});

describe('rotation', () => {
  test('a full current is rotated by the next message, which becomes the first line of the new one', async () => {
    await using bench = await openLogBench({ logs: { ...small, compressionMs: 0 } });
    bench.append('first');
    await bench.clock.advance(HOUR_MS);
    expect(await bench.list()).toEqual(['n/current']);
    bench.append('second');
    expect(await bench.list()).toEqual(['n/current', 'n/log-2026-11-21-09:00:00.bz2']);
    expect(await bench.read('n/current')).toBe(`2026-11-21 10:00:00 [n] ${filler('second')}\n`);
  });

  test('an old current is rotated by the next message and by nothing else', async () => {
    await using bench = await openLogBench({ logs: { maxAgeMs: HOUR_MS, compressionMs: 0 } });
    bench.router.appendLog('n', 'one');
    await bench.clock.advance(HOUR_MS);
    bench.router.appendLog('n', 'two');
    await bench.clock.advance(1);
    expect(await bench.list()).toEqual(['n/current']);
    bench.router.appendLog('n', 'three');
    expect(await bench.list()).toHaveLength(2);
    expect(await bench.read('n/current')).toContain('three');
  });

  test('limits of 0 never rotate', async () => {
    await using bench = await openLogBench({ logs: { maxSizeBytes: 0, maxAgeMs: 0 } });
    for (let count = 0; count < 50; count++) {
      bench.append('line');
      await bench.clock.advance(100 * HOUR_MS);
    }
    expect(await bench.list()).toEqual(['n/current']);
  });

  test('a timer rotates whatever has lines, without a message, and no limit does', async () => {
    await using bench = await openLogBench({ logs: { ...small, compressionMs: 0, rotateEveryMs: HOUR_MS } });
    for (const mark of ['a', 'b']) bench.append(mark);
    await bench.clock.advance(2 * HOUR_MS);
    expect(await bench.list()).toEqual(['n/current', 'n/log-2026-11-21-09:00:00.bz2']);
    expect(await bench.read('n/current')).toBe('');
    await bench.clock.advance(1000);
    bench.append('c');
    expect(await bench.read('n/current')).toBe(`2026-11-21 11:00:01 [n] ${filler('c')}\n`);
    expect(bench.router.truth('n').map(({ generation }) => generation)).toEqual([0, 0, 1]);
  });

  test('a log that is silent by night has lines between six and twenty hours', async () => {
    await using bench = await openLogBench({ logs: { silentByNight: ['n'] } });
    for (let hour = 9; hour < 9 + 24; hour++) {
      bench.router.appendLog('n', `n ${hour % 24}`);
      bench.router.appendLog('m', `m ${hour % 24}`);
      await bench.clock.advance(HOUR_MS);
    }
    const hours = bench.router.truth('n').map(({ text }) => Number(text.split(' ').at(-1)));
    expect(hours).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 6, 7, 8]);
    expect(bench.router.truth('m')).toHaveLength(24);
  });

  test('rotate() brings a message of its own', async () => {
    await using bench = await openLogBench({ logs: { compressionMs: 0 } });
    expect(() => bench.router.rotate('n')).toThrow('No line was written to the log n yet');
    bench.router.appendLog('n', 'one');
    bench.router.rotate('n', 'two');
    expect(await bench.read('n/current')).toBe('2026-11-21 09:00:00 [n] two\n');
    expect(await bench.list()).toHaveLength(2);
  });

  test('a second rotation in the same second replaces the first file without a word', async () => {
    await using bench = await openLogBench({ logs: { ...small, listUncompressed: true } });
    for (const mark of ['lost', 'kept', 'newest']) bench.append(mark);
    expect(await bench.list()).toEqual(['n/current', 'n/log-2026-11-21-08:00:00']);
    expect(await bench.read('n/log-2026-11-21-08:00:00')).toContain('kept');
    const truth = bench.router.truth('n').map(({ loss, lostUnread }) => ({ loss, lostUnread }));
    expect(truth).toEqual([
      { loss: 'overwritten', lostUnread: true },
      { loss: undefined, lostUnread: false },
      { loss: undefined, lostUnread: false },
    ]);
  });
});

describe('compression', () => {
  test('the lines are in no listed file first, then in a growing archive, then in a whole one', async () => {
    await using bench = await openLogBench({ logs: small });
    bench.append('first');
    bench.append('second');
    const archive = 'n/log-2026-11-21-08:00:00.bz2';
    expect(await bench.list()).toEqual(['n/current']);
    await bench.clock.advance(2000);
    expect(await bench.list()).toEqual(['n/current', archive]);
    expect(await bench.read(archive)).toBe('');
    await bench.clock.advance(1000);
    const half = await bench.read(archive);
    expect(half.startsWith('BZh9')).toBe(true);
    const quiet = bench.router.whenQuiet();
    await bench.clock.advance(1000);
    await quiet;
    const whole = await bench.read(archive);
    expect(whole.length).toBeGreaterThan(half.length);
    expect(whole.startsWith(half)).toBe(true);
    expect(await bench.list()).toEqual(['n/current', archive]);
  });

  test('the listing shows the plain file during compression with listUncompressed', async () => {
    await using bench = await openLogBench({ logs: { ...small, listUncompressed: true } });
    bench.append('first');
    bench.append('second');
    const name = 'n/log-2026-11-21-08:00:00';
    expect(await bench.list()).toEqual(['n/current', name]);
    await bench.clock.advance(2000);
    expect(await bench.list()).toEqual(['n/current', name, `${name}.bz2`]);
    await bench.clock.advance(2000);
    expect(await bench.list()).toEqual(['n/current', `${name}.bz2`]);
  });

  test('an archive of that name stops the compression, and the plain file stays', async () => {
    await using bench = await openLogBench({ logs: { ...small, compressionMs: 500, listUncompressed: true } });
    bench.append('first');
    bench.append('second');
    await bench.clock.advance(600);
    bench.append('third');
    await bench.clock.advance(HOUR_MS);
    const name = 'n/log-2026-11-21-08:00:00';
    expect(await bench.list()).toEqual(['n/current', name, `${name}.bz2`]);
    expect(await bench.read(name)).toContain('second');
  });
});

describe('pruning', () => {
  test('the newest files by name are kept, and unread lines are recorded as lost', async () => {
    await using bench = await openLogBench({ logs: { ...small, maxFiles: 2, compressionMs: 0 } });
    for (const mark of ['a', 'b', 'c', 'd', 'e']) {
      bench.append(mark);
      if (mark === 'a') await bench.read('n/current');
      await bench.clock.advance(1000);
    }
    expect(await bench.list()).toEqual(['n/current', 'n/log-2026-11-21-08:00:03.bz2', 'n/log-2026-11-21-08:00:04.bz2']);
    expect(
      bench.router.truth('n').map(({ sequence, loss, served, lostUnread }) => [sequence, loss, served, lostUnread]),
    ).toEqual([
      [0, 'pruned', true, false],
      [1, 'pruned', false, true],
      [2, undefined, false, false],
      [3, undefined, false, false],
      [4, undefined, false, false],
    ]);
  });

  test('names from a clock in the future make every new archive die at birth', async () => {
    await using bench = await openLogBench({ logs: { ...small, maxFiles: 1, compressionMs: 100 } });
    bench.router.jumpClock(7 * 365 * 24 * HOUR_MS);
    bench.append('from the future');
    bench.append('turn');
    await bench.clock.advance(1000);
    bench.router.jumpClock(-7 * 365 * 24 * HOUR_MS);
    bench.append('honest');
    await bench.clock.advance(1000);
    expect(await bench.list()).toEqual(['n/current', 'n/log-2033-11-19-08:00:00.bz2']);
    expect(bench.router.truth('n').map(({ loss }) => loss)).toEqual([undefined, 'pruned', undefined]);
  });

  test('plain and compressed form of one rotation count as two, so that an old archive goes early', async () => {
    await using bench = await openLogBench({ logs: { ...small, maxFiles: 3 } });
    bench.append('a');
    for (const mark of ['b', 'c']) {
      await bench.clock.advance(10_000);
      bench.append(mark);
    }
    await bench.clock.advance(3000);
    bench.append('d');
    expect(await bench.list()).toEqual(['n/current', 'n/log-2026-11-21-08:00:20.bz2']);
  });

  test('truth() refuses to answer when it had to forget', async () => {
    await using bench = await openLogBench({ logs: { ...small, maxFiles: 1, compressionMs: 0, truthBytesMax: 150 } });
    for (const mark of ['a', 'b', 'c']) {
      bench.append(mark);
      await bench.clock.advance(1000);
    }
    expect(bench.router.truth('n')).toHaveLength(3);
    bench.append('d');
    expect(() => bench.router.truth('n')).toThrow('outgrew the memory');
  });
});
