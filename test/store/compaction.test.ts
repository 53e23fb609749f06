import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { packLines } from '../../src/base/index.ts';
import { commitOf, createStoreFolder, drain, noisyLines, runSql } from '../support/store-folder.ts';

const MIB = 1024 * 1024;

test('EmbeddedStore gives the disk back what an outage of a sink took, in small steps, and keeps some to go on with', async () => {
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

test('EmbeddedStore makes a database of the format before one that can give space back, when that is small', async () => {
  await using folder = await createStoreFolder();
  {
    using database = new DatabaseSync(folder.database);
    database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE log (
        router TEXT NOT NULL, component TEXT NOT NULL, position TEXT NOT NULL,
        PRIMARY KEY (router, component)
      ) WITHOUT ROWID, STRICT;
      CREATE TABLE spool (batch INTEGER PRIMARY KEY AUTOINCREMENT, records INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
      CREATE TABLE cursor (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL) WITHOUT ROWID, STRICT;
      INSERT INTO log VALUES ('plant-7', 'network', 'p');
      PRAGMA user_version = 1;`);
    database.prepare('INSERT INTO spool (records, body) VALUES (?, ?)').run(2, packLines(['1', '2']));
    // Much more than that was in it once.
    database.exec('CREATE TABLE filler (text TEXT)');
    database.prepare('INSERT INTO filler VALUES (?)').run('x'.repeat(5 * MIB));
    database.exec('DROP TABLE filler');
  }
  {
    using store = folder.open();
    expect(drain(store, 'a')).toEqual(['1', '2']);
    expect(store.readPositions('plant-7').size).toBe(1);
  }
  expect(runSql(folder.database, '', 'PRAGMA auto_vacuum')).toEqual([{ auto_vacuum: 2 }]);
  expect((await stat(folder.database)).size).toBeLessThan(MIB);
});

test('EmbeddedStore leaves a large database of the format before as it is, until it has become small', async () => {
  await using folder = await createStoreFolder();
  folder.open().close();
  runSql(folder.database, 'PRAGMA auto_vacuum = NONE; VACUUM');
  runSql(folder.database, `INSERT INTO note VALUES ('plant-7', 'large', hex(zeroblob(17 * 1024 * 1024)))`);
  folder.open().close();
  expect(runSql(folder.database, '', 'PRAGMA auto_vacuum')).toEqual([{ auto_vacuum: 0 }]);
  runSql(folder.database, 'DELETE FROM note');
  folder.open().close();
  expect(runSql(folder.database, '', 'PRAGMA auto_vacuum')).toEqual([{ auto_vacuum: 2 }]);
});
