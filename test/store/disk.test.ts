import { readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startProgram } from '../support/child.ts';
import { findNoDiskReason, findNoLimitReason, limitFileBytes, openSmallDisk } from '../support/small-disk.ts';
import {
  commitOf,
  createStoreFolder,
  destroyTree,
  drain,
  noisyLines,
  readSlice,
  thrownBy,
} from '../support/store-folder.ts';

const MIB = 1024 * 1024;
const noDisk = findNoDiskReason();
const noLimit = findNoLimitReason();
const ROOM = new URL('../../src/store/index.ts', import.meta.url).href;

test('case 48: EmbeddedStore holds back on a full disk, keeps what it has, and continues by itself when there is room', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using folder = await createStoreFolder();
  await using disk = await openSmallDisk(32 * MIB);
  using store = folder.open({ path: disk.path });
  const written: string[] = [];
  const noise = noisyLines(1000);
  const fill = () => {
    for (let count = 0; count < 400; count++) {
      const lines = noise.map((line) => `${written.length} ${line}`);
      store.commit(commitOf(lines, `position ${written.length + lines.length}`));
      written.push(...lines);
    }
  };
  const filler = join(disk.path, 'something else');
  await writeFile(filler, Buffer.alloc(16 * MIB));
  expect(thrownBy(fill)).toMatchObject({ code: 'full', disposition: 'hold-back' });
  expect(thrownBy(() => store.commit(commitOf(noise)))).toMatchObject({ code: 'full' });
  // Positions alone are small, and there is a reserve for them and for what sinks have.
  store.commit(commitOf([], `position ${written.length}`));
  store.acknowledge('a', { batch: 1, index: 1 });
  expect(thrownBy(() => store.checkWritable())).toMatchObject({ code: 'full', disposition: 'hold-back' });
  expect(store.readPositions('plant-7').get('network')).toBe(`position ${written.length}`);
  expect(store.spooled.records).toBe(written.length);
  const before = written.length;
  await rm(filler);
  store.checkWritable();
  expect(thrownBy(fill)).toMatchObject({ code: 'full' });
  expect(written.length).toBeGreaterThan(before);
  // Delivering makes room as well.
  expect(drain(store, 'a')).toEqual(written.slice(1));
  store.commit(commitOf(['after'], 'after'));
  expect(drain(store, 'a')).toEqual(['after']);
});

test('EmbeddedStore holds back while others have filled the disk to the last byte, and continues by itself', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using folder = await createStoreFolder();
  await using disk = await openSmallDisk(8 * MIB);
  using store = folder.open({ path: disk.path, diskReserveBytes: 0 });
  let commits = 0;
  const fill = () => {
    for (; commits < 200; commits++) store.commit(commitOf(noisyLines(1000, commits), `${commits + 1}`));
  };
  const filler = join(disk.path, 'something else');
  await writeFile(filler, Buffer.alloc(4 * MIB));
  expect(thrownBy(fill)).toMatchObject({ code: 'full', disposition: 'hold-back' });
  // Something small may still find its place; nothing but that is thrown where it does not.
  let isTaken = true;
  for (const work of [
    () => store.checkWritable(),
    () => store.writeValue('plant-7', 'bytes', 'x'),
    () => store.acknowledge('a', { batch: 3, index: 0 }),
  ]) {
    try {
      work();
      isTaken = true;
    } catch (cause) {
      expect(cause).toMatchObject({ code: 'full', disposition: 'hold-back' });
      isTaken = false;
    }
  }
  const left = 1000 * (isTaken ? commits - 2 : commits);
  expect(store.spooled.records).toBe(left);
  expect(store.countWaiting('a')).toBe(left);
  expect(readSlice(store, 'a', { recordsMax: 3 })?.lines).toEqual(noisyLines(1000, isTaken ? 2 : 0).slice(0, 3));
  await rm(filler);
  expect(store.readPositions('plant-7').get('network')).toBe(`${commits}`);
  store.checkWritable();
  expect(drain(store, 'a')).toHaveLength(left);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore says hold-back for a disk that is read-only when it is opened, and opens once it is not', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using folder = await createStoreFolder();
  await using disk = await openSmallDisk(8 * MIB);
  {
    using store = folder.open({ path: disk.path });
    store.commit(commitOf(['1']));
  }
  await disk.remount('ro');
  expect(thrownBy(() => folder.open({ path: disk.path }))).toMatchObject({
    code: 'unwritable',
    disposition: 'hold-back',
  });
  expect(thrownBy(() => folder.open({ path: join(disk.path, 'new') }))).toMatchObject({
    code: 'unwritable',
    disposition: 'hold-back',
  });
  expect(thrownBy(() => folder.openDeadLetters({ path: disk.path }))).toMatchObject({
    code: 'unwritable',
    disposition: 'hold-back',
  });
  await disk.remount('rw');
  using store = folder.open({ path: disk.path });
  expect(drain(store, 'a')).toEqual(['1']);
});

test('EmbeddedStore waits with a damaged database for a disk with room to rebuild it, where it may wait', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using folder = await createStoreFolder();
  await using disk = await openSmallDisk(8 * MIB);
  let nowMs = 0;
  const options = { path: disk.path, diskReserveBytes: 0, now: () => nowMs };
  const database = join(disk.path, 'router-exporter.db');
  {
    using store = folder.open(options);
    for (let batch = 0; batch < 40; batch++) store.commit(commitOf(noisyLines(500, batch)));
  }
  await destroyTree(database, 'batch');
  const filler = join(disk.path, 'something else');
  await writeFile(filler, Buffer.alloc(8 * MIB)).catch(() => {});
  await truncate(filler, (await stat(filler)).size - MIB);
  const onRebuilt = vi.fn();
  using store = folder.open({ ...options, canWait: true, onRebuilt });
  expect(store.isWaiting).toBe(true);
  expect(thrownBy(() => store.checkWritable())).toMatchObject({ code: 'full', disposition: 'hold-back' });
  expect(thrownBy(() => folder.open(options))).toMatchObject({ code: 'full', disposition: 'hold-back' });
  // What it had begun is gone: it would take the last room.
  expect((await readdir(disk.path)).filter((name) => name.includes('rebuil'))).toEqual([]);
  await rm(filler);
  // Not at each call: copying may take long.
  expect(thrownBy(() => store.checkWritable()).code).toBe('full');
  nowMs += 10_000;
  store.checkWritable();
  expect(store.isWaiting).toBe(false);
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ recordsSaved: 20_000 }));
  expect(store.readPositions('plant-7')).toEqual(new Map());
  store.commit(commitOf(['new']));
  expect(drain(store, 'a')).toHaveLength(20_001);
});

/** Commits until it fails, once for each line of its input; says how far it came and why it ended. */
const COMMITTER = `
  import { EmbeddedStore } from ${JSON.stringify(ROOM)};
  import { createInterface } from 'node:readline';
  const store = new EmbeddedStore({
    path: process.argv[1], sinks: [{ name: 'a', start: 'oldest' }], spoolBytesMax: 1e9, now: () => 1,
  });
  let count = 0;
  const commit = () => {
    const lines = Array.from({ length: 200 }, () => Math.random().toString(36) + Math.random().toString(36));
    store.commit({ router: 'plant-7', component: 'network', position: String(count + 1), lines });
    count++;
  };
  const emit = (what) => console.log(JSON.stringify({ what, count, records: store.spooled.records }));
  emit('opened');
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      for (let index = 0; index < 1500; index++) commit();
      emit('done');
    } catch (cause) {
      emit(cause.code + ' ' + cause.disposition + ' ' + cause.cause?.errcode);
    }
  }
  store.close();`;

test('EmbeddedStore holds back while the disk fails writes, opens its files again, and has lost nothing', async (context) => {
  context.skip(noLimit !== undefined, noLimit);
  await using folder = await createStoreFolder();
  await using child = startProgram(
    process.execPath,
    ['--input-type=module', '--eval', COMMITTER, folder.path],
    {
      NODE_NO_WARNINGS: '1',
    },
    undefined,
    'pipe',
  );
  const pid = child.process.pid ?? 0;
  await child.waitFor('stdout', /"opened"/);
  // SQLITE_IOERR_WRITE: the limit stands for a disk that fails.
  await limitFileBytes(pid, 2 * MIB);
  child.process.stdin?.write('\n');
  await child.waitFor('stdout', /"unwritable hold-back 778"/);
  {
    // It has let go of its files, which is how it comes to those that are there when the disk is back.
    using store = folder.open();
    expect(store.spooled.records).toBe(200 * Number(store.readPositions('plant-7').get('network')));
  }
  child.process.stdin?.write('\n');
  await child.waitFor('stdout', /(unwritable hold-back 778[\s\S]*){2}/);
  await limitFileBytes(pid, 'unlimited');
  child.process.stdin?.write('\n');
  child.process.stdin?.end();
  const { stdout } = await child.ended;
  const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { what: string; count: number; records: number };
  expect(last.what).toBe('done');
  expect(last.records).toBe(200 * last.count);
  using store = folder.open();
  expect(store.readPositions('plant-7').get('network')).toBe(String(last.count));
  expect(drain(store, 'a')).toHaveLength(200 * last.count);
});

test('EmbeddedStore.checkWritable() changes nothing where the disk takes writes, and throws where it does not', async () => {
  await using folder = await createStoreFolder();
  const store = folder.open();
  store.commit(commitOf(['1']));
  store.checkWritable();
  expect(readSlice(store, 'a')?.lines).toEqual(['1']);
  store.close();
  expect(thrownBy(() => store.checkWritable()).code).toBe('broken');
});

/** Commits, and says so after each commit, until it is killed. */
const ENDLESS = `
  import { EmbeddedStore } from ${JSON.stringify(ROOM)};
  import { writeSync } from 'node:fs';
  const store = new EmbeddedStore({
    path: process.argv[1], sinks: [{ name: 'a', start: 'oldest' }], spoolBytesMax: 1e9, now: () => 1,
  });
  const bounds = { recordsMax: 5, bytesMax: 1e6, isWanted: () => true };
  for (let count = 1; ; count++) {
    const lines = [String(3 * count - 2), String(3 * count - 1), String(3 * count)];
    store.commit({ router: 'plant-7', component: 'network', position: String(count), lines });
    writeSync(1, 'committed ' + count + '\\n');
    if (count % 2 === 0) continue;
    const slice = store.readSlice('a', bounds);
    if (slice) store.acknowledge('a', slice.next);
    writeSync(1, 'acknowledged ' + [...(slice?.lines ?? [])].at(-1)?.text + '\\n');
  }`;

test('EmbeddedStore has after a kill what it had said was safe: records with their position, and the cursor', async () => {
  await using folder = await createStoreFolder();
  for (const moment of [/committed 40\n/, /acknowledged 3\d\d\n/, /committed 301\n/]) {
    const path = join(folder.path, String(moment.source.length));
    await using child = startProgram(process.execPath, ['--input-type=module', '--eval', ENDLESS, path]);
    await child.waitFor('stdout', moment);
    child.process.kill('SIGKILL');
    const { stdout } = await child.ended;
    const last = (what: string) => Number([...stdout.matchAll(new RegExp(`${what} (\\d+)\\n`, 'g'))].at(-1)?.[1]);
    using store = folder.open({ path });
    const position = Number(store.readPositions('plant-7').get('network'));
    expect(position).toBeGreaterThanOrEqual(last('committed'));
    const rest = drain(store, 'a').map(Number);
    expect(rest.at(-1)).toBe(3 * position);
    expect(rest[0]).toBeGreaterThan(last('acknowledged'));
    expect(rest).toEqual(Array.from({ length: rest.length }, (_, index) => (rest[0] ?? 0) + index));
  }
});
