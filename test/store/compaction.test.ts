import { stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { commitOf, createStoreFolder, drain, noisyLines, runSql } from '../support/store-folder.ts';

const MIB = 1024 * 1024;

test('EmbeddedStore releases disk space after an outage of a sink, in small steps, and keeps some free pages', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    const lines = noisyLines(2000);
    for (let count = 0; count < 300; count++) store.commit(commitOf(lines));
    expect(store.spooled.bytes).toBeGreaterThan(25 * MIB);
    drain(store, 'a');
    expect(store.spooled.bytes).toBe(0);
    for (let count = 0; count < 10; count++) store.commit(commitOf([], String(count)));
  }
  const { size } = await stat(folder.database);
  expect(size).toBeLessThan(17 * MIB);
  expect(size).toBeGreaterThan(8 * MIB);
});

test('EmbeddedStore bounds its write-ahead log', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const lines = noisyLines(100_000);
  store.commit(commitOf(lines));
  const whenLarge = (await stat(`${folder.database}-wal`)).size;
  for (let count = 0; count < 20; count++) store.commit(commitOf(noisyLines(100, count)));
  const after = (await stat(`${folder.database}-wal`)).size;
  expect(whenLarge).toBeGreaterThan(4.5 * MIB);
  expect(after).toBeLessThan(4.5 * MIB);
});

test('EmbeddedStore keeps the space of a small database for what comes next', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    for (let count = 0; count < 20; count++) store.commit(commitOf(noisyLines(2000, count)));
    drain(store, 'a');
    for (let count = 0; count < 10; count++) store.commit(commitOf([], String(count)));
  }
  expect((await stat(folder.database)).size).toBeGreaterThan(1.5 * MIB);
});

test('EmbeddedStore keeps unused space as long as more of the file is used', async () => {
  await using folder = await createStoreFolder();
  folder.open().close();
  const add = (key: string, mebibytes: number) =>
    `INSERT INTO note VALUES ('plant-7', '${key}', hex(zeroblob(${mebibytes / 2} * 1024 * 1024)));`;
  runSql(folder.database, `${add('used', 30)} ${add('gone', 24)} DELETE FROM note WHERE key = 'gone'`);
  {
    using store = folder.open();
    for (let count = 0; count < 10; count++) store.commit(commitOf([], String(count)));
  }
  expect((await stat(folder.database)).size).toBeGreaterThan(54 * MIB);
});
