import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSteppedClock, LineRanges, LineTable, type SteppedClock } from '../../../src/base/index.ts';
import type { OutgoingRecord } from '../../../src/sinks/index.ts';
import { LogFile } from '../../../src/sinks/types/file/log.ts';
import { startProgram } from '../../support/child.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';
import { withPrograms } from '../../support/tools.ts';
import { waitFor } from '../../support/wait-for.ts';

const never = new AbortController().signal;
const HOUR_MS = 3_600_000;
const START = '2026-11-21T17:47:53.123Z';
const STAMP = '20261121T174753.123Z';

let folder: string;
let path: string;
let clock: SteppedClock;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-file-'));
  path = join(folder, 'logs', 'router.log');
  clock = createSteppedClock(Date.parse(START));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function createSink(options: SinkChange<'file'> = {}) {
  const keys = { name: 'disk', path, compress: 'none', batch: { records: 5000, bytes: '1MiB' } };
  const sink = createTestSink('file', keys, { clock, ...options });
  onTestFinished(() => sink.close());
  return sink;
}

/** Names in the folder of the file, the file included, without that of the lock. */
const names = () =>
  readdirSync(join(folder, 'logs'))
    .filter((name) => name !== '.router.log.lock')
    .toSorted();
const toText = (records: readonly OutgoingRecord[]) => records.map(({ line }) => `${line}\n`).join('');
const readAll = (file = path) => readFileSync(file, 'utf8');
const lineBytes = Buffer.byteLength(toText(sampleRecords('a', 1)));
/** A file as an earlier run has left it. */
function leave(name: string, content: string | Uint8Array): void {
  mkdirSync(join(folder, 'logs'), { recursive: true });
  writeFileSync(join(folder, 'logs', name), content);
}

/** The records as lines of one text, or of several with so many each. */
function toLines(records: readonly OutgoingRecord[], each = records.length): LineRanges {
  const lines = new LineRanges();
  for (let from = 0; from < records.length; from += each) {
    const texts = records.slice(from, from + each).map(({ line }) => line);
    lines.add(new LineTable(Buffer.from(texts.join('\n'))), 0, texts.length);
  }
  return lines;
}

type Write = (
  this: FileHandle,
  buffer: Uint8Array,
  offset: number,
  length: number,
) => Promise<{ bytesWritten: number }>;

/** What all open files have in common, to let one of their operations fail. */
async function fileHandles(): Promise<FileHandle> {
  await using handle = await open(folder);
  return Object.getPrototypeOf(handle) as FileHandle;
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: it does not work`), { code });
}

/** A busy machine takes its time. */
const WAIT = { timeout: 20_000 };

describe('FileSink.deliver()', () => {
  test('appends one record per line, and makes the folder and the file for owner and group alone', async () => {
    const records = sampleRecords('a', 3);
    const sink = createSink();
    expect(await sink.deliver(records.slice(0, 2), never)).toEqual({ bytes: 2 * lineBytes, duplicates: 0 });
    await sink.deliver(records.slice(2), never);
    expect(readAll()).toBe(toText(records));
    expect(statSync(path).mode & 0o137).toBe(0);
    expect(statSync(join(folder, 'logs')).mode & 0o027).toBe(0);
    expect(sink).toMatchObject({ name: 'disk', timeoutMs: 30_000, batch: { recordsMax: 5000 } });
  });

  test('writes lines as it writes their records, and takes none for another format', async () => {
    const records = sampleRecords('a', 5);
    const sink = createSink();
    expect(await sink.deliverLines?.(toLines(records.slice(0, 2)), never)).toEqual({
      bytes: 2 * lineBytes,
      duplicates: 0,
    });
    expect(await sink.deliverLines?.(toLines(records.slice(2), 1), never)).toEqual({
      bytes: 3 * lineBytes,
      duplicates: 0,
    });
    expect(readAll()).toBe(toText(records));
    expect(createSink({ format: 'ecs', path: `${path}.ecs` }).deliverLines).toBeUndefined();
  });

  test('rotates a file within the lines that do not fit, and repeats none that an earlier run has written', async () => {
    const records = sampleRecords('a', 5);
    leave('router.log', toText(records.slice(0, 1)));
    const sink = createSink({ max_size: 2 * lineBytes });
    expect(await sink.deliverLines?.(toLines(records), never)).toEqual({ bytes: 4 * lineBytes, duplicates: 1 });
    const all = names().toSorted((one, other) => other.length - one.length);
    expect(all.map((name) => readAll(join(folder, 'logs', name)))).toEqual(
      [records.slice(0, 2), records.slice(2, 4), records.slice(4)].map(toText),
    );
  });

  test('writes the format that is asked for', async () => {
    await createSink({ format: 'ecs' }).deliver([sampleRecord('a')], never);
    expect(JSON.parse(readAll())).toMatchObject({ event: { id: 'a' } });
  });

  test.for([
    ['batch', 1],
    ['rotate', 0],
    ['never', 0],
  ] as const)('with fsync %s forces what it wrote to the disk %i times before it resolves', async ([fsync, times]) => {
    const datasync = vi.spyOn(await fileHandles(), 'datasync');
    await createSink({ fsync }).deliver([sampleRecord('a')], never);
    expect(datasync).toHaveBeenCalledTimes(times);
  });

  test.for([
    ['batch', 1],
    ['rotate', 1],
    ['never', 0],
  ] as const)('with fsync %s finishes a file that is rotated %i times', async ([fsync, times]) => {
    const sink = createSink({ fsync, max_size: lineBytes });
    await sink.deliver([sampleRecord('a')], never);
    const prototype = await fileHandles();
    const sizes: number[] = [];
    const sync = Reflect.get(prototype, 'sync');
    vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      const stats = await this.stat();
      if (stats.isFile()) sizes.push(stats.size);
      await sync.call(this);
    });
    await sink.deliver([sampleRecord('b')], never);
    expect(sizes).toHaveLength(times);
  });

  test.for([
    ['batch', ['folder', 'folder']],
    ['rotate', ['folder', 'file', 'folder']],
    ['never', []],
  ] as const)('with fsync %s makes new names outlive a power cut: %j', async ([fsync, expected]) => {
    const prototype = await fileHandles();
    const sync = Reflect.get(prototype, 'sync');
    const synced: string[] = [];
    vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      synced.push((await this.stat()).isDirectory() ? 'folder' : 'file');
      await sync.call(this);
    });
    const sink = createSink({ fsync, max_size: lineBytes });
    await sink.deliver(sampleRecords('a', 2), never);
    expect(synced.filter((what) => fsync === 'rotate' || what === 'folder')).toEqual(expected);
  });

  test('continues in the file of an earlier run', async () => {
    leave('router.log', toText([sampleRecord('a')]));
    await createSink().deliver([sampleRecord('b')], never);
    expect(readAll()).toBe(toText([sampleRecord('a'), sampleRecord('b')]));
  });

  test('leaves no part of a batch whose writing fails, and writes all of it when it comes again', async () => {
    const prototype = await fileHandles();
    const write = Reflect.get(prototype, 'write') as Write;
    const sink = createSink();
    await sink.deliver([sampleRecord('a')], never);
    let writes = 0;
    const failing = vi.spyOn(prototype, 'writev').mockImplementation(async function (
      this: FileHandle,
      pieces: readonly Uint8Array[],
    ) {
      if (++writes > 1) throw systemError('ENOSPC');
      return await write.call(this, Buffer.concat(pieces), 0, lineBytes + 10);
    } as unknown as FileHandle['writev']);
    const batch = sampleRecords('b', 3);
    await expect(sink.deliver(batch, never)).rejects.toMatchObject({
      code: 'unwritable',
      disposition: 'hold-back',
      message: `Sink disk could not write ${path}`,
      hint: expect.stringContaining('Free space'),
    });
    expect(writes).toBe(2);
    expect(readAll()).toBe(toText([sampleRecord('a')]));
    failing.mockRestore();
    expect(await sink.deliver(batch, never)).toMatchObject({ duplicates: 0 });
    expect(readAll()).toBe(toText([sampleRecord('a'), ...batch]));
  });

  test('leaves no part of a batch when the system stops taking bytes in the middle of it', async () => {
    const child = new URL('../../support/sinks/file-writer.child.ts', import.meta.url).pathname;
    // 64 KiB a file, in blocks of 512 bytes.
    const limited = ['-c', 'ulimit -f 128; exec "$0" "$@"', process.execPath, child, path, '0', '50', '10000000'];
    await using writer = startProgram('sh', limited);
    const { code, stdout, stderr } = await writer.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('EFBIG');
    const batches = stdout.split('\n').length - 1;
    expect(batches).toBeGreaterThan(1);
    const lines = readAll().split('\n');
    expect(lines).toHaveLength(batches * 50 + 1);
    expect(lines.at(-1)).toBe('');
  });

  test('writes what a short write left over', async () => {
    const prototype = await fileHandles();
    const write = Reflect.get(prototype, 'write') as Write;
    vi.spyOn(prototype, 'writev').mockImplementation(async function (this: FileHandle, pieces: readonly Uint8Array[]) {
      const bytes = Buffer.concat(pieces);
      return await write.call(this, bytes, 0, Math.min(7, bytes.length));
    } as unknown as FileHandle['writev']);
    await createSink().deliver(sampleRecords('a', 3), never);
    expect(readAll()).toBe(toText(sampleRecords('a', 3)));
  });

  test('takes back what could not be forced to the disk', async () => {
    const sink = createSink();
    vi.spyOn(await fileHandles(), 'datasync').mockRejectedValueOnce(systemError('EIO'));
    await expect(sink.deliver([sampleRecord('a')], never)).rejects.toMatchObject({
      code: 'unwritable',
      disposition: 'retry',
    });
    expect(readAll()).toBe('');
    await sink.deliver([sampleRecord('a')], never);
    expect(readAll()).toBe(toText([sampleRecord('a')]));
  });

  test('counts what stayed as duplicates when even taking back failed', async () => {
    const prototype = await fileHandles();
    const sink = createSink();
    vi.spyOn(prototype, 'datasync').mockRejectedValueOnce(systemError('EIO'));
    vi.spyOn(prototype, 'truncate').mockRejectedValueOnce(systemError('EIO'));
    const records = sampleRecords('a', 3);
    await expect(sink.deliver(records, never)).rejects.toMatchObject({ code: 'unwritable' });
    expect(await sink.deliver(records, never)).toEqual({ bytes: 0, duplicates: 3 });
    expect(readAll()).toBe(toText(records));
  });

  test.for([
    ['EACCES', 'operator'],
    ['EROFS', 'operator'],
    ['EDQUOT', 'hold-back'],
    ['EIO', 'retry'],
  ] as const)('answers %s with disposition %s', async ([code, disposition]) => {
    vi.spyOn(await fileHandles(), 'writev').mockRejectedValueOnce(systemError(code));
    const cause = { code };
    await expect(createSink().deliver([sampleRecord('a')], never)).rejects.toMatchObject({
      code: 'unwritable',
      disposition,
      cause,
    });
  });

  test('refuses a path that is not a regular file, without waiting for a reader', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'pipe')]);
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));
    writeFileSync(join(folder, 'plain'), '');
    for (const name of ['pipe', 'link', 'plain/router.log', '']) {
      const sink = createSink({ path: join(folder, name) });
      const error: unknown = await sink.deliver([sampleRecord('a')], never).catch((thrown: unknown) => thrown);
      expect({ name, error }).toMatchObject({
        name,
        error: { code: 'unwritable', disposition: 'operator', hint: expect.any(String) },
      });
    }
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
  });

  test('rejects at once when aborted, and does not repeat what was written all the same', async () => {
    const prototype = await fileHandles();
    const datasync = Reflect.get(prototype, 'datasync');
    const syncing = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    vi.spyOn(prototype, 'datasync').mockImplementationOnce(async function (this: FileHandle) {
      syncing.resolve();
      await goOn.promise;
      await datasync.call(this);
    });
    const sink = createSink();
    const records = sampleRecords('a', 2);
    const abort = new AbortController();
    const reason = new RangeError('time is over');
    const delivering = sink.deliver(records, abort.signal);
    await syncing.promise;
    abort.abort(reason);
    await expect(delivering).rejects.toBe(reason);
    // The next one waits for it, for as long as it may.
    const closing = vi.spyOn(prototype, 'sync');
    await expect(sink.deliver(records, abort.signal)).rejects.toBe(reason);
    const again = sink.deliver(records, never);
    for (let count = 0; count < 10; count++) await new Promise((resolve) => setImmediate(resolve));
    expect(closing).not.toHaveBeenCalled();
    goOn.resolve();
    expect(await again).toEqual({ bytes: 0, duplicates: 2 });
    expect(readAll()).toBe(toText(records));
  });
});

test('FileSink does not repeat a delivery that was abandoned while its file was being opened and was written all the same', async () => {
  const opening = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const openLog = LogFile.open.bind(LogFile);
  const opened = vi.spyOn(LogFile, 'open').mockImplementationOnce(async (options) => {
    opening.resolve();
    await goOn.promise;
    return openLog(options);
  });
  const sink = createSink();
  const records = sampleRecords('a', 2);
  const abort = new AbortController();
  const delivering = sink.deliver(records, abort.signal);
  await opening.promise;
  abort.abort(new RangeError('time is over'));
  await expect(delivering).rejects.toThrow('time is over');
  goOn.resolve();
  expect(await sink.deliver(records, never)).toEqual({ bytes: 0, duplicates: 2 });
  expect(readAll()).toBe(toText(records));
  opened.mockRestore();
  await sink.close();
});

describe('FileSink rotates', () => {
  test('a file that would grow too large, where the line does not fit', async () => {
    const records = sampleRecords('a', 7);
    const sink = createSink({ max_size: 3 * lineBytes });
    await sink.deliver(records.slice(0, 2), never);
    await sink.deliver(records.slice(2), never);
    expect(names()).toEqual(['router.log', `router.log.${STAMP}`, 'router.log.20261121T174753.124Z']);
    expect(readAll(`${path}.${STAMP}`)).toBe(toText(records.slice(0, 3)));
    expect(readAll(`${path}.20261121T174753.124Z`)).toBe(toText(records.slice(3, 6)));
    expect(readAll()).toBe(toText(records.slice(6)));
  });

  test('for a line that is larger than a file may be, and gives it one of its own', async () => {
    const large = sampleRecord('large', { message: 'x'.repeat(500) });
    const sink = createSink({ max_size: lineBytes });
    await sink.deliver([sampleRecord('a'), large, sampleRecord('b')], never);
    expect(readAll(`${path}.20261121T174753.124Z`)).toBe(toText([large]));
    expect(readAll()).toBe(toText([sampleRecord('b')]));
  });

  test('a file that is old enough when a record comes, and no empty one', async () => {
    const sink = createSink();
    await sink.deliver([sampleRecord('a')], never);
    await clock.advance(24 * HOUR_MS - 1);
    await sink.deliver([sampleRecord('b')], never);
    expect(names()).toEqual(['router.log']);
    await clock.advance(1);
    await sink.deliver([sampleRecord('c')], never);
    expect(names()).toEqual(['router.log', 'router.log.20261122T174753.123Z']);
    expect(readAll()).toBe(toText([sampleRecord('c')]));
    // Its age begins with it.
    await clock.advance(24 * HOUR_MS - 1);
    await sink.deliver([sampleRecord('d')], never);
    expect(names()).toHaveLength(2);
    truncateSync(path);
    await clock.advance(2 * HOUR_MS);
    await sink.deliver([sampleRecord('e')], never);
    expect(names()).toHaveLength(2);
  });

  test('a file of an earlier run by the age that the file system knows', async () => {
    leave('router.log', toText([sampleRecord('a')]));
    const { birthtimeMs } = statSync(path);
    const later = createSteppedClock(Math.ceil(birthtimeMs) + 24 * HOUR_MS);
    await createSink({ clock: later }).deliver([sampleRecord('b')], never);
    expect(names()).toHaveLength(2);
    expect(readAll()).toBe(toText([sampleRecord('b')]));
  });

  test('to names that rise even when the clock goes back, and overwrites no file', async () => {
    leave('router.log.20301231T235959.999Z', 'of another time\n');
    leave('router.log.20309999T999999.999Z', 'no time\n');
    const sink = createSink({ max_size: lineBytes });
    await sink.deliver(sampleRecords('a', 2), never);
    clock.jump(-HOUR_MS);
    await sink.deliver(sampleRecords('b', 1), never);
    expect(names()).toEqual([
      'router.log',
      'router.log.20301231T235959.999Z',
      'router.log.20309999T999999.999Z',
      'router.log.20310101T000000.000Z',
      'router.log.20310101T000000.001Z',
    ]);
    expect(readAll(`${path}.20301231T235959.999Z`)).toBe('of another time\n');
  });

  test('and keeps so many of them, the newest', async () => {
    const sink = createSink({ max_size: lineBytes, keep: 2 });
    leave('router.log.20200101T000000.000Z.gz', gzipSync('old\n'));
    leave('router.log.bak', 'mine\n');
    leave('other.log.20200101T000000.000Z', 'of another program\n');
    for (const record of sampleRecords('a', 5)) {
      await clock.advance(1000);
      await sink.deliver([record], never);
    }
    await waitFor(() =>
      expect(names()).toEqual([
        'other.log.20200101T000000.000Z',
        'router.log',
        'router.log.20261121T174757.123Z',
        'router.log.20261121T174758.123Z',
        'router.log.bak',
      ]),
    );
  });

  test('and reopens the file when another program has moved, removed or truncated it', async () => {
    const sink = createSink();
    await sink.deliver([sampleRecord('a')], never);
    renameSync(path, `${path}.1`);
    await sink.deliver([sampleRecord('b')], never);
    expect(readAll()).toBe(toText([sampleRecord('b')]));
    writeFileSync(join(folder, 'new'), '');
    renameSync(join(folder, 'new'), path);
    await sink.deliver([sampleRecord('c')], never);
    expect(readAll()).toBe(toText([sampleRecord('c')]));
    truncateSync(path);
    await sink.deliver([sampleRecord('d')], never);
    expect(readAll()).toBe(toText([sampleRecord('d')]));
    rmSync(join(folder, 'logs'), { recursive: true });
    await sink.deliver([sampleRecord('e')], never);
    expect(readAll()).toBe(toText([sampleRecord('e')]));
  });
});

describe('FileSink compresses', () => {
  const PACKED = `router.log.${STAMP}.gz`;

  test('a rotated file in the background once its records are acknowledged', async () => {
    const sink = createSink({ max_size: 2 * lineBytes, compress: 'gzip' });
    const records = sampleRecords('a', 3);
    await sink.deliver(records, never);
    // It is not known yet whether the caller was notified.
    await new Promise((resolve) => setImmediate(resolve));
    expect(names()).toEqual(['router.log', `router.log.${STAMP}`]);
    await sink.deliver([sampleRecord('b')], never);
    await waitFor(() => expect(names()).toEqual(['router.log', PACKED]));
    expect(gunzipSync(readFileSync(`${path}.${STAMP}.gz`)).toString()).toBe(toText(records.slice(0, 2)));
    expect(statSync(`${path}.${STAMP}.gz`).mode & 0o137).toBe(0);
  });

  test('what an earlier run has not, removes what it has not finished, and does again what it may not have finished', async () => {
    leave('router.log', '');
    leave(`router.log.${STAMP}`, 'one\n');
    leave('router.log.20261121T174753.124Z', 'two\n');
    leave('router.log.20261121T174753.124Z.gz', 'half of it');
    leave('router.log.20261121T174753.125Z.gz.part', 'half of it');
    await createSink({ compress: 'gzip' }).deliver([sampleRecord('a')], never);
    await waitFor(() => expect(names()).toEqual(['router.log', PACKED, 'router.log.20261121T174753.124Z.gz']));
    expect(gunzipSync(readFileSync(`${path}.${STAMP}.gz`)).toString()).toBe('one\n');
    expect(gunzipSync(readFileSync(`${path}.20261121T174753.124Z.gz`)).toString()).toBe('two\n');
  });

  test('later, and says so, when it cannot', async () => {
    leave('router.log', '');
    leave(`router.log.${STAMP}`, 'one\n');
    mkdirSync(`${path}.${STAMP}.gz`);
    const sink = createSink({ compress: 'gzip' });
    // On a slow disk the first delivery can report it already.
    let warning: string | undefined;
    await vi.waitFor(async () => {
      warning ??= (await sink.deliver([sampleRecord('a')], never)).warning;
      expect(warning).toMatch(/^Sink disk could not compress or delete rotated files of .*router\.log: E/);
    }, WAIT);
    expect((await sink.deliver([sampleRecord('c')], never)).warning).toBeUndefined();
    expect(readAll(`${path}.${STAMP}`)).toBe('one\n');
    expect(names().filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('nothing further once it is closed', async () => {
    leave('router.log', '');
    // What does not shrink takes a second or two.
    leave(`router.log.${STAMP}`, randomBytes(20_000_000).toString('hex'));
    const sink = createSink({ compress: 'gzip' });
    await sink.deliver([sampleRecord('a')], never);
    await waitFor(() => expect(names()).toContain(`${PACKED}.part`));
    await sink.close();
    expect(names()).toEqual(['router.log', `router.log.${STAMP}`]);
  });
});

describe('FileSink, after a crash,', () => {
  test('cuts off a torn line, whose record comes again', async () => {
    const [first, torn] = sampleRecords('a', 2);
    leave('router.log', `${first?.line}\n${torn?.line.slice(0, 30)}`);
    expect(await createSink().deliver([torn ?? sampleRecord('')], never)).toMatchObject({ duplicates: 0 });
    expect(readAll()).toBe(toText(sampleRecords('a', 2)));
  });

  test('cuts off the NULs that a power cut leaves, and a torn line that is all there is', async () => {
    leave('router.log', `${sampleRecord('a').line}\n${'\0'.repeat(4096)}`);
    const first = createSink();
    await first.deliver([sampleRecord('b')], never);
    expect(readAll()).toBe(toText([sampleRecord('a'), sampleRecord('b')]));
    await first.close();
    leave('router.log', '{"timest');
    await createSink().deliver([sampleRecord('b')], never);
    expect(readAll()).toBe(toText([sampleRecord('b')]));
  });

  test.for([
    ['no line end', 'Dear diary,\ntoday'],
    ['no line at all that ends', '{'.repeat(5 * 1024 * 1024)],
  ])('touches no file of another program: %s', async ([, content = '']) => {
    leave('router.log', content);
    await expect(createSink().deliver([sampleRecord('a')], never)).rejects.toMatchObject({
      code: 'unwritable',
      disposition: 'operator',
      hint: expect.stringContaining('no other program'),
    });
    expect(readAll()).toBe(content);
  });

  test('does not repeat records that were written and not acknowledged', async () => {
    const records = sampleRecords('a', 10);
    leave('router.log', toText(records.slice(0, 7)));
    const sink = createSink();
    expect(await sink.deliver(records.slice(4), never)).toEqual({ bytes: 3 * lineBytes, duplicates: 3 });
    expect(readAll()).toBe(toText(records));
    // What comes for the first time after that is compared no more.
    await sink.deliver([sampleRecord('b')], never);
    await sink.deliver([sampleRecord('a-6')], never);
    expect(readAll()).toBe(toText([...records, sampleRecord('b'), sampleRecord('a-6')]));
  });

  test('finds them in the files that were rotated away as well, and compresses those only later', async () => {
    const records = sampleRecords('a', 6);
    leave('router.log.20261121T174753.124Z', toText(records.slice(0, 2)));
    leave('router.log.20261121T174753.125Z', toText(records.slice(2, 4)));
    const sink = createSink({ max_size: 2 * lineBytes, compress: 'gzip' });
    expect(await sink.deliver(records, never)).toMatchObject({ duplicates: 4 });
    expect(names()).toEqual(['router.log', 'router.log.20261121T174753.124Z', 'router.log.20261121T174753.125Z']);
    await sink.deliver([sampleRecord('b')], never);
    await waitFor(() => expect(names().filter((name) => name.endsWith('.gz'))).toHaveLength(3));
    await sink.close();
    const texts = names().map((name) => {
      const content = readFileSync(join(folder, 'logs', name));
      return name.endsWith('.gz') ? gunzipSync(content).toString() : content.toString();
    });
    expect(texts.toSorted().join('')).toBe(toText([...records, sampleRecord('b')]));
  });

  test('looks back 4 MiB, and at a line in which that begins not at all', async () => {
    const old = sampleRecord('old');
    const filler = sampleRecord('filler', { message: 'x'.repeat(4 * 1024 * 1024) });
    leave('router.log', toText([old, filler, sampleRecord('a')]));
    expect(await createSink().deliver([old, filler, sampleRecord('a')], never)).toMatchObject({ duplicates: 1 });
  });

  withPrograms(['python3'], test)(
    'has every record once, whenever it was killed, as other programs read it',
    async () => {
      const child = new URL('../../support/sinks/file-writer.child.ts', import.meta.url).pathname;
      const RECORDS = 400;
      let next = 0;
      for (const batches of [3, 4, 5]) {
        await using writer = startProgram(process.execPath, [child, path, String(next), String(RECORDS), '300000']);
        await writer.waitFor('stdout', new RegExp(`taken ${next + batches}\n`));
        writer.process.kill('SIGKILL');
        const { stdout } = await writer.ended;
        next = Number(/taken (\d+)\n$/.exec(stdout.slice(0, stdout.lastIndexOf('\n') + 1))?.[1]) + 1;
      }
      const sink = createSink({ max_size: 300_000, keep: 10_000, compress: 'gzip' });
      for (let batch = next; batch < next + 3; batch++) await sink.deliver(sampleRecords(`b${batch}`, RECORDS), never);
      await sink.close();
      const script = [
        'import json, sys, glob, gzip',
        'uids = []',
        'for name in glob.glob(sys.argv[1] + "*"):',
        '    with (gzip.open if name.endswith(".gz") else open)(name, "rb") as file:',
        '        uids += [json.loads(line)["uid"] for line in file]',
        'print(len(uids), len(set(uids)))',
      ].join('\n');
      const expected = (next + 3) * RECORDS;
      expect(execFileSync('python3', ['-c', script, path], { encoding: 'utf8' })).toBe(`${expected} ${expected}\n`);
      const count = execFileSync('sh', ['-c', `(zcat "$1".*.gz; cat "$1" $(ls "$1".*Z)) | wc -l`, 'sh', path], {
        encoding: 'utf8',
      });
      expect(Number(count)).toBe(expected);
    },
  );
});

describe('FileSink.preflight()', () => {
  const fleet = { routers: 1, labelValues: {} };

  test('says what would be made, and writes nothing', async () => {
    const findings = await createSink({ max_size: 1024 }).preflight(fleet, never);
    expect(findings.map(({ step, verdict }) => `${step} ${verdict}`)).toEqual([
      'folder ok',
      'file ok',
      'free space ok',
      'test record ok',
    ]);
    expect(findings.at(-1)?.message).toMatch(/^Not written/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('leaves a file alone that is being written', async () => {
    leave('router.log', '{"half');
    const findings = await createSink({ max_size: 1024 }).preflight(fleet, never);
    expect(findings.every(({ verdict }) => verdict === 'ok')).toBe(true);
    expect(readAll()).toBe('{"half');
  });

  test('warns when the disk has not enough room, by whether files are compressed', async () => {
    const place = { max_size: 2 ** 50, keep: 3 };
    const findings = [
      ...(await createSink({ ...place, compress: 'none' }).preflight(fleet, never)),
      ...(await createSink({ ...place, compress: 'gzip' }).preflight(fleet, never)),
    ].filter(({ step }) => step === 'free space');
    expect(findings).toMatchObject([
      {
        verdict: 'warning',
        message: expect.stringMatching(/^[\d.]+ [GM]iB free, .* need up to 4096 TiB$/),
        hint: expect.any(String),
      },
      { verdict: 'warning', message: expect.stringMatching(/ need up to 2048 TiB$/) },
    ]);
  });

  test.each([
    [1000, '2.0 KiB'],
    [2 ** 19, '1.0 MiB'],
    [2 ** 29 - 2 ** 18, '1024 MiB'],
    [2 ** 29, '1.0 GiB'],
    [11 * 2 ** 27, '2.8 GiB'],
  ])('says in units how much room files of %i bytes need', async (bytesMax, room) => {
    const findings = await createSink({ max_size: bytesMax, keep: 1, compress: 'none' }).preflight(fleet, never);
    expect(findings.find(({ step }) => step === 'free space')?.message).toMatch(
      new RegExp(`^[\\d.]+ (GiB|MiB) free, the files of this sink need up to ${room}$`),
    );
  });

  test('fails for a path that is no file and for a folder that is none', async () => {
    mkdirSync(path, { recursive: true });
    expect(await createSink().preflight(fleet, never)).toContainEqual({
      step: 'file',
      verdict: 'failed',
      message: `${path} is not a regular file`,
      hint: expect.any(String),
    });
    writeFileSync(join(folder, 'plain'), '');
    expect(await createSink({ path: join(folder, 'plain/router.log') }).preflight(fleet, never)).toContainEqual(
      expect.objectContaining({ verdict: 'failed' }),
    );
  });

  test.skipIf(process.getuid?.() === 0)('fails when the folder cannot be written', async () => {
    chmodSync(folder, 0o500);
    expect(await createSink().preflight(fleet, never)).toMatchObject([{ step: 'write', verdict: 'failed' }]);
    chmodSync(folder, 0o700);
  });
});

test('FileSink.close() before anything was delivered makes no file', async () => {
  await createSink().close();
  appendFileSync(join(folder, 'proof'), '');
  expect(readdirSync(folder)).toEqual(['proof']);
});

test('FileSink refuses a file that another agent writes, until that one has ended', async () => {
  const first = createSink();
  await first.claim?.();
  const second = createSink();
  const refusal = { code: 'unwritable', disposition: 'operator', message: `Another agent already writes ${path}` };
  await expect(second.claim?.()).rejects.toMatchObject(refusal);
  await first.deliver([sampleRecord('a')], never);
  await expect(second.deliver([sampleRecord('b')], never)).rejects.toMatchObject(refusal);
  expect(readAll()).toBe(toText([sampleRecord('a')]));
  await first.close();
  await second.deliver([sampleRecord('b')], never);
  expect(readAll()).toBe(toText([sampleRecord('a'), sampleRecord('b')]));
  expect(readFileSync(join(folder, 'logs', '.router.log.lock'), 'utf8')).toBe('');
});

test('FileSink.release() lets another agent continue in the file; the next delivery acquires it again, without duplicates', async () => {
  const [first, second] = [createSink(), createSink()];
  await first.deliver([sampleRecord('a')], never);
  await first.release?.();
  await second.deliver([sampleRecord('a'), sampleRecord('b')], never);
  await expect(first.deliver([sampleRecord('c')], never)).rejects.toThrow('Another agent');
  // What is delivered meanwhile waits for the end of the release.
  const [, report] = await Promise.all([second.release?.(), second.deliver([sampleRecord('b')], never)]);
  expect(report.duplicates).toBe(1);
  await second.release?.();
  await first.deliver([sampleRecord('c')], never);
  expect(readAll()).toBe(toText(['a', 'b', 'c'].map((uid) => sampleRecord(uid))));
});

/** Another process, which takes the lock of the file and keeps it, or ends with the error. */
function startOther() {
  const lock = new URL('../../../src/sinks/types/file/log.ts', import.meta.url).href;
  const script = `await (await import(${JSON.stringify(lock)})).FileLock.acquire(${JSON.stringify(path)});
    setInterval(() => {}, 1000); console.log('held');`;
  return startProgram(process.execPath, ['--input-type=module', '-e', script]);
}

test('FileSink keeps its file from other processes after a sink of this one was refused', async () => {
  const first = createSink();
  await first.claim?.();
  await expect(createSink().claim?.()).rejects.toThrow('Another agent');
  await using other = startOther();
  await other.waitFor('stderr', /Another agent already writes/);
});

test('FileSink gets a file whose agent was killed', async () => {
  await using agent = startOther();
  await agent.waitFor('stdout', /held/);
  const sink = createSink();
  await expect(sink.deliver([sampleRecord('a')], never)).rejects.toThrow('Another agent');
  agent.process.kill('SIGKILL');
  await agent.ended;
  await sink.deliver([sampleRecord('a')], never);
  expect(readAll()).toBe(toText([sampleRecord('a')]));
});

test('FileSink writes without a lock where none can be made', async () => {
  mkdirSync(join(folder, 'logs', '.router.log.lock'), { recursive: true });
  await createSink().deliver([sampleRecord('a')], never);
  expect(readAll()).toBe(toText([sampleRecord('a')]));
});
