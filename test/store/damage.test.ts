import { copyFile, mkdir, readdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { packLines } from '../../src/base/index.ts';
import { EVENTS_LOG } from '../../src/model/index.ts';
import type { EmbeddedStoreOptions } from '../../src/store/index.ts';
import {
  commitOf,
  createStoreFolder,
  destroyTree,
  drain,
  NOW_MS,
  noisyLines,
  readSlice,
  runSql,
  thrownBy,
} from '../support/store-folder.ts';

/** Changes one bit in the middle of what is stored of a batch. */
function flipBit(file: string, batch: number): void {
  using database = new DatabaseSync(file);
  const body = database.prepare('SELECT body FROM spool WHERE batch = ?').get(batch)?.['body'];
  if (!(body instanceof Uint8Array)) throw new TypeError(`There is no batch ${batch}`);
  const middle = body.length >> 1;
  body[middle] = (body[middle] ?? 0) ^ 0x10;
  database.prepare('UPDATE spool SET body = ? WHERE batch = ?').run(body, batch);
}

test('EmbeddedStore drops a batch that is damaged on disk, reports it, forgets the position of its log, and keeps the rest', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ sinks: ['a', 'b'] });
    store.commit(commitOf(['1', '2'], 'n1'));
    store.commit(commitOf(['3', '4', '5'], 's1', 'system'));
    store.commit(commitOf(['6'], 'n2'));
    store.commit(commitOf(['7'], 'other', 'system', 'plant-8'));
  }
  flipBit(folder.database, 2);
  const onDamaged = vi.fn();
  const onRebuilt = vi.fn();
  using store = folder.open({ sinks: ['a', 'b'], onDamaged, onRebuilt });
  // What stands before it is given first.
  expect(readSlice(store, 'a')).toMatchObject({ lines: ['1', '2'], isFull: true });
  expect(onDamaged).not.toHaveBeenCalled();
  expect(drain(store, 'a')).toEqual(['1', '2', '6', '7']);
  expect(onDamaged).toHaveBeenCalledExactlyOnceWith({ router: 'plant-7', component: 'system', records: 3 });
  expect(onRebuilt).not.toHaveBeenCalled();
  expect(store.readPositions('plant-7')).toEqual(new Map([['network', 'n2']]));
  expect(store.readPositions('plant-8').size).toBe(1);
  expect(store.spooled.records).toBe(4);
  expect(store.countWaiting('b')).toBe(4);
  expect(drain(store, 'b')).toEqual(['1', '2', '6', '7']);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore drops a batch that was cut short or holds other records than it should', async () => {
  await using folder = await createStoreFolder();
  const onDamaged = vi.fn();
  {
    using store = folder.open();
    for (const line of ['1', '2', '3']) store.commit(commitOf([line, line], line));
  }
  using database = new DatabaseSync(folder.database);
  database.exec('UPDATE spool SET body = substr(body, 1, length(body) - 3) WHERE batch = 1');
  database.prepare('UPDATE spool SET body = ? WHERE batch = 2').run(packLines(['other']));
  database.close();
  using store = folder.open({ onDamaged });
  expect(drain(store, 'a')).toEqual(['3', '3']);
  expect(onDamaged.mock.calls.map(([{ records }]) => records as number)).toEqual([2, 2]);
});

test('EmbeddedStore.commit() refuses a run that started before its lines were lost, until positions are read again', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['1'], 'before'));
  }
  flipBit(folder.database, 1);
  using store = folder.open();
  expect(store.readPositions('plant-7').get('network')).toBe('before');
  expect(readSlice(store, 'a')).toBeUndefined();
  expect(thrownBy(() => store.commit(commitOf(['2'], 'after')))).toMatchObject({
    code: 'damaged',
    disposition: 'retry',
  });
  expect(store.spooled.records).toBe(0);
  store.commit(commitOf(['other log'], 'p', 'system'));
  store.commit(commitOf(['other router'], 'p', 'network', 'plant-8'));
  store.readPositions('plant-8');
  expect(thrownBy(() => store.commit(commitOf(['2'], 'after'))).code).toBe('damaged');
  expect(store.readPositions('plant-7').get('network')).toBeUndefined();
  store.commit(commitOf(['1', '2'], 'after'));
  expect(drain(store, 'a')).toEqual(['other log', 'other router', '1', '2']);
});

test('EmbeddedStore only counts a damaged batch whose log it does not know', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['1'], 'kept'));
    store.commit({ router: '', component: '', position: 'kept too', lines: [] });
  }
  runSql(folder.database, `UPDATE batch SET router = '', component = ''`);
  flipBit(folder.database, 1);
  const onDamaged = vi.fn();
  using store = folder.open({ onDamaged });
  expect(readSlice(store, 'a')).toBeUndefined();
  expect(onDamaged).toHaveBeenCalledExactlyOnceWith({ router: '', component: '', records: 1 });
  store.commit(commitOf(['2']));
  store.commit({ router: '', component: '', position: 'x', lines: [] });
  expect(store.readPositions('plant-7').size).toBe(1);
});

test('EmbeddedStore.readSlice() drops no more than 100 damaged batches in one call, and continues in the next', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    for (let index = 0; index < 150; index++) store.commit(commitOf([`${index}`]));
    store.commit(commitOf(['good']));
  }
  runSql(folder.database, `UPDATE spool SET body = x'0102030405' WHERE batch <= 150`);
  const onDamaged = vi.fn();
  using store = folder.open({ onDamaged });
  expect(readSlice(store, 'a')).toMatchObject({ lines: [], isFull: true, skipped: 0 });
  expect(onDamaged).toHaveBeenCalledTimes(100);
  expect(drain(store, 'a')).toEqual(['good']);
  expect(onDamaged).toHaveBeenCalledTimes(150);
});

test('EmbeddedStore counts what waits rightly when the batch is damaged of which a sink has a part', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ sinks: ['a', 'b'] });
    store.commit(commitOf(['1', '2', '3']));
    store.commit(commitOf(['4']));
    store.acknowledge('a', { batch: 1, index: 2 });
    expect(store.countWaiting('a')).toBe(2);
  }
  flipBit(folder.database, 1);
  using store = folder.open({ sinks: ['a', 'b'] });
  expect(readSlice(store, 'b')?.lines).toEqual(['4']);
  expect(store.countWaiting('a')).toBe(1);
  expect(drain(store, 'a')).toEqual(['4']);
  expect(store.countWaiting('a')).toBe(0);
});

test('case 46: a database that is damaged in the middle keeps the records that are whole, without their positions', async () => {
  await using folder = await createStoreFolder();
  const batches = Array.from({ length: 60 }, (_, index) => noisyLines(50, index + 1));
  {
    using store = folder.open({ sinks: ['a', 'b'] });
    for (const lines of batches) store.commit(commitOf(lines));
    const slice = readSlice(store, 'a');
    if (slice) store.acknowledge('a', slice.next);
  }
  const bytes = await readFile(folder.database);
  bytes.fill(0xff, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 12_000);
  await writeFile(folder.database, bytes);

  const onRebuilt = vi.fn<NonNullable<EmbeddedStoreOptions['onRebuilt']>>();
  using store = folder.open({ sinks: ['a', 'b'], onRebuilt });
  const saved: string[] = [];
  const readUntilDamage = () => saved.push(...drain(store, 'b'));
  expect(thrownBy(readUntilDamage)).toMatchObject({ code: 'damaged', disposition: 'retry' });
  expect(onRebuilt).toHaveBeenCalledOnce();
  const [{ recordsLost, ...reported } = { recordsLost: 0 }] = onRebuilt.mock.calls[0] ?? [];
  expect(reported).toEqual({
    recordsSaved: store.spooled.records,
    factsLost: 0,
    valuesLost: 0,
    cursorsLost: 0,
    damagedFile: `${folder.database}.damaged`,
  });
  saved.push(...drain(store, 'b'));
  const written = batches.flat();
  expect(new Set(saved).size).toBeGreaterThan(1000);
  expect(new Set(saved).size).toBeLessThan(written.length);
  // Every record is either there or counted as lost.
  expect(new Set(saved).size + Number(recordsLost)).toBe(written.length);
  expect(saved.every((line) => written.includes(line))).toBe(true);
  // A run in progress has a position that may be ahead of what was lost.
  expect(thrownBy(() => store.commit(commitOf(['new'])))).toMatchObject({ code: 'damaged' });
  // Without positions the lines are read again.
  expect(store.readPositions('plant-7')).toEqual(new Map());
  expect(thrownBy(() => store.commit(commitOf(['new'], 'p', 'network', 'plant-8'))).code).toBe('damaged');
  store.commit(commitOf(['new']));
  expect(drain(store, 'b')).toEqual(['new']);
  expect(drain(store, 'a').at(-1)).toBe('new');
});

test('a rebuilt database keeps of which log and from when its batches are', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ now: () => 1000 });
    store.commit(commitOf(['network']));
    store.commit(commitOf(['system'], 'p', 'system'));
  }
  await destroyTree(folder.database, 'log');
  using store = folder.open();
  expect(thrownBy(() => store.readPositions('plant-7')).code).toBe('damaged');
  const slice = readSlice(store, 'a', { isWanted: (_, component) => component === 'system' });
  expect(slice).toMatchObject({ lines: ['system'], oldestMs: 1000, skipped: 1 });
  expect(store.spooled.records).toBe(2);
});

test('a rebuilt database gives every sink the batches whose log cannot be read any more', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['network']));
  }
  await destroyTree(folder.database, 'batch');
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  expect(onRebuilt).toHaveBeenCalledWith(expect.objectContaining({ recordsSaved: 1, recordsLost: 0 }));
  expect(readSlice(store, 'a', { isWanted: () => false })).toMatchObject({ lines: ['network'], oldestMs: NOW_MS });
  // Found while opening: no run can have an older position.
  store.commit(commitOf(['new']));
});

test('a rebuilt database takes no body that stays for the last lines for one that waits', async () => {
  await using folder = await createStoreFolder();
  const recent = { bytesMax: 1024 * 1024, spanOf: () => ({ firstMs: 1, lastMs: 2 }) };
  {
    using store = folder.open({ recent });
    store.commit(commitOf(['delivered']));
    drain(store, 'a');
    store.setSinks([
      { name: 'a', start: 'oldest' },
      { name: 'new', start: 'oldest' },
    ]);
    store.commit(commitOf(['waiting']));
  }
  await destroyTree(folder.database, 'log');
  const onRebuilt = vi.fn();
  using store = folder.open({ sinks: ['a', 'new'], recent, onRebuilt });
  expect(thrownBy(() => store.readPositions('plant-7')).code).toBe('damaged');
  expect(onRebuilt).toHaveBeenCalledWith(expect.objectContaining({ recordsSaved: 1, recordsLost: 0 }));
  expect(drain(store, 'new')).toEqual(['waiting']);
});

test('a rebuilt database keeps the facts about routers, and empty ones of a router whose facts are lost', async () => {
  await using folder = await createStoreFolder();
  const facts = Array.from({ length: 400 }, (_, index) => ({
    router: `plant-${index}`,
    facts: `met ${index} `.repeat(50),
  }));
  {
    using store = folder.open();
    for (const one of facts) store.commit(one);
    store.commit(commitOf(['1']), commitOf(['2'], 'p', 'network', 'plant-8'));
  }
  await destroyTree(folder.database, 'batch');
  {
    using store = folder.open();
    for (const { router, facts: text } of facts) expect(store.readFacts(router)).toBe(text);
    store.commit(commitOf(['3']));
  }
  // The page in the middle: the facts on both sides of it are whole.
  const bytes = await readFile(folder.database);
  const lost = bytes.indexOf('met 200 met 200');
  const page = Math.floor(lost / 4096) * 4096;
  await writeFile(folder.database, bytes.fill(0xff, page, page + 4096));
  await destroyTree(folder.database, 'batch');
  {
    using store = folder.open();
    const kept = facts.filter(({ router, facts: text }) => store.readFacts(router) === text);
    expect(kept.length).toBeGreaterThan(facts.length / 2);
    expect(kept.length).toBeLessThan(facts.length);
    store.commit(commitOf(['3']));
  }
  await destroyTree(folder.database, 'fact');
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  expect(thrownBy(() => store.readFacts('plant-7')).code).toBe('damaged');
  expect([store.readFacts('plant-7'), store.readFacts('plant-9'), store.readFacts('nobody')]).toEqual([
    '',
    '',
    undefined,
  ]);
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ factsLost: 400 }));
});

test('a rebuilt database keeps what an operator has asked for of a router', async () => {
  await using folder = await createStoreFolder();
  const values = Array.from({ length: 400 }, (_, index) => [`plant-${index}`, `paused ${index} `.repeat(50)] as const);
  {
    using store = folder.open();
    for (const [router, text] of values) store.writeValue(router, 'lifecycle', text);
    store.commit(commitOf(['1']));
  }
  await destroyTree(folder.database, 'batch');
  {
    using store = folder.open();
    for (const [router, text] of values) expect(store.readValue(router, 'lifecycle')).toBe(text);
  }
  // The page in the middle: the values on both sides of it are whole.
  const bytes = await readFile(folder.database);
  const page = Math.floor(bytes.indexOf('paused 200 paused 200') / 4096) * 4096;
  await writeFile(folder.database, bytes.fill(0xff, page, page + 4096));
  await destroyTree(folder.database, 'batch');
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  const kept = values.filter(([router, text]) => store.readValue(router, 'lifecycle') === text);
  expect(kept.length).toBeGreaterThan(values.length / 2);
  expect(kept.length).toBeLessThan(values.length);
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ valuesLost: values.length - kept.length, factsLost: 0 }),
  );
});

test('a rebuild of which nothing can be read says so', async () => {
  await using folder = await createStoreFolder();
  const onRebuilt = vi.fn();
  await writeFile(folder.database, 'damaged beyond repair '.repeat(1000));
  folder.open({ onRebuilt }).close();
  const lost = { recordsLost: 'unknown', factsLost: 'unknown', valuesLost: 'unknown', cursorsLost: 'unknown' };
  const damagedFile = `${folder.database}.damaged`;
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith({ recordsSaved: 0, ...lost, damagedFile });
});

test('a rebuilt database numbers new batches behind those that the sinks already have', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    for (let count = 0; count < 5; count++) store.commit(commitOf([`delivered ${count}`]));
    drain(store, 'a');
    store.commit(commitOf(['1', '2']));
  }
  await destroyTree(folder.database, 'spool');
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  expect(thrownBy(() => readSlice(store, 'a')).code).toBe('damaged');
  expect(onRebuilt).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ recordsSaved: 0, recordsLost: 2 }));
  expect(readSlice(store, 'a')).toBeUndefined();
  store.readPositions('plant-7');
  store.commit(commitOf(['new']));
  expect(drain(store, 'a')).toEqual(['new']);
});

test('EmbeddedStore finishes a rebuild that a crash has ended when the damaged database was renamed', async () => {
  await using folder = await createStoreFolder();
  await using finished = await createStoreFolder();
  {
    using store = finished.open();
    store.commit(commitOf(['saved']));
  }
  await copyFile(finished.database, `${folder.database}.rebuilding`);
  await writeFile(`${folder.database}.damaged`, 'put aside');
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  expect(drain(store, 'a')).toEqual(['saved']);
  expect(onRebuilt).not.toHaveBeenCalled();
  expect(await readdir(folder.path)).not.toContain('router-exporter.db.rebuilding');
});

test('EmbeddedStore refuses a run from before a rebuild that an error interrupted and the next call finishes', async () => {
  await using folder = await createStoreFolder();
  await using finished = await createStoreFolder();
  {
    using store = finished.open();
    store.commit(commitOf(['saved']));
  }
  runSql(finished.database, 'DELETE FROM log');
  {
    using store = folder.open();
    store.commit(commitOf(['saved'], 'before'));
  }
  await destroyTree(folder.database, 'log');
  using store = folder.open();
  // Nothing can be put aside while a folder is in the way.
  await mkdir(`${folder.database}.damaged`);
  expect(thrownBy(() => store.readPositions('plant-7')).code).toBe('broken');
  await rmdir(`${folder.database}.damaged`);
  // As if it had come between the two renamings.
  await rename(folder.database, `${folder.database}.damaged`);
  await copyFile(finished.database, `${folder.database}.rebuilding`);
  expect(thrownBy(() => store.commit(commitOf(['new'], 'after')))).toMatchObject({
    code: 'damaged',
    disposition: 'retry',
  });
  expect(store.readPositions('plant-7').size).toBe(0);
  store.commit(commitOf(['new'], 'after'));
  expect(drain(store, 'a')).toEqual(['saved', 'new']);
});

test('EmbeddedStore begins a rebuild again that a crash has ended before it was finished', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['saved']));
  }
  await copyFile(folder.database, join(folder.path, 'half'));
  await destroyTree(folder.database, 'log');
  await rename(join(folder.path, 'half'), `${folder.database}.rebuilding`);
  using store = folder.open();
  expect(thrownBy(() => store.readPositions('plant-7')).code).toBe('damaged');
  expect(drain(store, 'a')).toEqual(['saved']);
});

test('an empty file of the store or of the dead letters is told, and a missing one is not', async () => {
  await using folder = await createStoreFolder();
  const onEmpty = vi.fn();
  folder.open({ onEmpty }).close();
  folder.openDeadLetters({ onEmpty }).close();
  expect(onEmpty).not.toHaveBeenCalled();
  for (const file of [folder.database, folder.deadLetters]) await writeFile(file, '');
  {
    using store = folder.open({ onEmpty });
    expect(store.readPositions('plant-7').size).toBe(0);
    using deadLetters = folder.openDeadLetters({ onEmpty });
    expect(deadLetters.count()).toBe(0);
  }
  expect(onEmpty.mock.calls).toEqual([[folder.database], [folder.deadLetters]]);
  folder.open({ onEmpty }).close();
  expect(onEmpty).toHaveBeenCalledTimes(2);
});

test.for([
  ['the time of a batch', 'UPDATE batch SET committed_ms = 9223372036854775807 WHERE id = 2', ['1', '2', '3']],
  ['the size of a batch', 'UPDATE batch SET bytes = 9223372036854775807 WHERE id = 2', ['1', '2', '3']],
  ['the count of a batch', 'UPDATE spool SET records = 9007199254740993 WHERE batch = 2', ['1', '3']],
  ['the cursor of a sink', `UPDATE cursor SET idx = 9007199254740993 WHERE sink = 'a'`, ['1', '2', '3']],
] as const)(
  '%s out of range stops no sink: the database is rebuilt without it, and the former one kept',
  async ([, sql, lines]) => {
    await using folder = await createStoreFolder();
    const onRebuilt = vi.fn();
    {
      using store = folder.open({ sinks: ['a', 'b'] });
      for (const line of ['1', '2', '3']) store.commit(commitOf([line], line));
    }
    runSql(folder.database, sql);
    if (sql.includes('spool')) runSql(folder.database, 'UPDATE batch SET records = 9007199254740993 WHERE id = 2');
    using store = folder.open({ sinks: ['a', 'b'], onRebuilt });
    for (const sink of ['a', 'b']) {
      try {
        readSlice(store, sink);
      } catch {
        // The call that finds it fails, once.
      }
      expect(drain(store, sink)).toEqual(lines);
    }
    const damagedFile = `${folder.database}.damaged`;
    const lost = {
      recordsLost: 3 - lines.length,
      factsLost: 0,
      valuesLost: 0,
      cursorsLost: sql.includes('cursor') ? 1 : 0,
    };
    expect(onRebuilt).toHaveBeenCalledExactlyOnceWith({ recordsSaved: lines.length, ...lost, damagedFile });
  },
);

test('damaged events cost no journal, and a rebuilt database keeps those of all routers', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['down'], 'journal', EVENTS_LOG));
    store.commit(commitOf(['line'], 'position'));
  }
  flipBit(folder.database, 1);
  const onDamaged = vi.fn();
  {
    using store = folder.open({ onDamaged });
    expect(drain(store, 'a')).toEqual(['line']);
    expect(onDamaged).toHaveBeenCalledExactlyOnceWith({ router: 'plant-7', component: EVENTS_LOG, records: 1 });
    expect(store.readPositions('plant-7').get(EVENTS_LOG)).toBe('journal');
    // It is written as a whole, whatever was lost.
    store.commit(commitOf(['up'], 'next journal', EVENTS_LOG));
  }
  await destroyTree(folder.database, 'batch');
  using store = folder.open();
  drain(store, 'a');
  store.commit(commitOf([], 'last journal', EVENTS_LOG, 'plant-8'));
  expect(store.readPositions('plant-8')).toEqual(new Map([[EVENTS_LOG, 'last journal']]));
  // Positions of logs are lost.
  expect(store.readPositions('plant-7')).toEqual(new Map([[EVENTS_LOG, 'next journal']]));
});
