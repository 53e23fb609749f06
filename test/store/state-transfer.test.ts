import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { EVENTS_LOG, type StoreError } from '../../src/model/index.ts';
import { type ExportOptions, exportState, type ImportOptions, importState, onDisk } from '../../src/store/index.ts';
import {
  commitOf,
  createStoreFolder,
  drain,
  NOW_MS,
  readSlice,
  runSql,
  type StoreFolder,
} from '../support/store-folder.ts';

const now = () => NOW_MS;
const all = () => true;

async function moveOut({ path }: StoreFolder, options: Partial<ExportOptions> = {}) {
  const output = join(path, 'moved.db');
  const place = onDisk({ path, creates: false, now });
  const moved = await exportState(place, { output, isWanted: all, removes: false, now, ...options });
  return { moved, output };
}

function moveIn({ path }: StoreFolder, input: string, options: Partial<ImportOptions> = {}) {
  return importState(onDisk({ path, creates: true, now }), { input, isWanted: all, replaces: false, now, ...options });
}

/** The error with which a transfer ends. */
function refusedBy(transfer: Promise<unknown>): Promise<StoreError> {
  return transfer.then(
    () => expect.unreachable('it was not refused'),
    (cause) => cause as StoreError,
  );
}

/** Two routers with positions, facts, values, records and dead letters. */
function fill(folder: StoreFolder): void {
  using store = folder.open();
  for (const router of ['plant-7', 'plant-8']) {
    store.commit(commitOf([`${router} 1`, `${router} 2`], `${router}-first`, 'network', router), {
      router,
      facts: `facts of ${router}`,
    });
    store.commit(commitOf([`${router} 3`], `${router}-second`, 'network', router));
    store.writeValue(router, 'byte_budget', `spent by ${router}`);
  }
  using deadLetters = folder.openDeadLetters();
  for (const router of ['plant-7', 'plant-8']) {
    const line = JSON.stringify({ router, component: 'network', uid: `${router}-9` });
    deadLetters.add('a', [{ uid: `${router}-9`, line, reason: 'no', code: undefined }]);
  }
}

test('importState() continues what exportState() took: positions, facts, values, waiting records and dead letters', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { moved, output } = await moveOut(source);
  const counts = { routers: ['plant-7', 'plant-8'], logs: 2, records: 6, deadLetters: 2 };
  expect(moved).toEqual(counts);
  expect((await stat(output)).mode & 0o777).toBe(0o600);

  expect(await moveIn(target, output)).toEqual({ ...counts, known: [] });

  using store = target.open();
  expect(store.readPositions('plant-8')).toEqual(new Map([['network', 'plant-8-second']]));
  expect(store.readFacts('plant-7')).toBe('facts of plant-7');
  expect(store.readValue('plant-7', 'byte_budget')).toBe('spent by plant-7');
  expect(drain(store, 'a')).toEqual(['plant-7 1', 'plant-7 2', 'plant-7 3', 'plant-8 1', 'plant-8 2', 'plant-8 3']);
  using deadLetters = target.openDeadLetters();
  expect(
    deadLetters
      .list({ limit: 9 })
      .map(({ uid }) => uid)
      .toSorted(),
  ).toEqual(['plant-7-9', 'plant-8-9']);
  expect(deadLetters.count('a')).toBe(2);
});

test('exportState() with removal leaves nothing of the routers behind, and everything of the others', async () => {
  await using source = await createStoreFolder();
  fill(source);
  await moveOut(source, { isWanted: (router) => router === 'plant-7', removes: true });
  using store = source.open();
  expect([store.readPositions('plant-7').size, store.readFacts('plant-7')]).toEqual([0, undefined]);
  expect(store.readValue('plant-7', 'byte_budget')).toBeUndefined();
  expect(store.readPositions('plant-8').size).toBe(1);
  expect(drain(store, 'a')).toEqual(['plant-8 1', 'plant-8 2', 'plant-8 3']);
  using deadLetters = source.openDeadLetters();
  expect(deadLetters.list({ limit: 9 }).map(({ router }) => router)).toEqual(['plant-8']);
});

test('exportState() leaves out records that every sink has', async () => {
  await using source = await createStoreFolder();
  fill(source);
  {
    using store = source.open({ sinks: ['a', 'b'] });
    const slice = readSlice(store, 'a', { recordsMax: 3 });
    if (slice) store.acknowledge('a', slice.next);
    drain(store, 'b');
  }
  expect((await moveOut(source)).moved.records).toBe(3);
});

test('importState() appends records to those that wait, and sinks continue where they were', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source, { isWanted: (router) => router === 'plant-7' });
  {
    using store = target.open({ sinks: ['a'] });
    store.commit(commitOf(['own 1', 'own 2'], 'p', 'network', 'own'));
    const slice = readSlice(store, 'a', { recordsMax: 1 });
    if (slice) store.acknowledge('a', slice.next);
  }
  await moveIn(target, output);
  using store = target.open({ sinks: ['a'] });
  expect(store.countWaiting('a')).toBe(4);
  expect(drain(store, 'a')).toEqual(['own 2', 'plant-7 1', 'plant-7 2', 'plant-7 3']);
});

test('importState() gives a new store the sinks of the old one, so that one which starts at the newest record loses none', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  await moveIn(target, (await moveOut(source)).output);
  using store = target.open({ sinks: [{ name: 'a', start: 'newest' }] });
  expect(drain(store, 'a')).toHaveLength(6);
});

test('importState() adds a file once for each router, whatever happened to it since', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source);
  await moveIn(target, output, { isWanted: (router) => router === 'plant-7' });
  {
    using store = target.open();
    store.commit(commitOf([], 'later', 'network', 'plant-7'));
  }
  expect(await moveIn(target, output)).toEqual({
    routers: ['plant-8'],
    known: ['plant-7'],
    logs: 1,
    records: 3,
    deadLetters: 1,
  });
  using store = target.open();
  expect(store.readPositions('plant-7').get('network')).toBe('later');
  expect(drain(store, 'a')).toHaveLength(6);
});

test('importState() continues where an import was interrupted', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source);
  const [origin] = runSql(output, '', "SELECT text FROM note WHERE key = 'imported' AND router = 'plant-7'");
  {
    using store = target.open();
    store.commit(commitOf(['plant-7 1', 'plant-7 2'], '', 'network', 'plant-7'));
    store.forgetLogs('plant-7', ['network']);
    // As after an end behind the first batch of the file.
    store.writeValue('plant-7', 'imported', `${String(origin?.['text'])}@1`);
  }
  expect(await moveIn(target, output)).toMatchObject({ routers: ['plant-7', 'plant-8'], known: [], records: 4 });
  expect(await moveIn(target, output)).toMatchObject({ routers: [], known: ['plant-7', 'plant-8'], records: 0 });
  using store = target.open();
  expect(drain(store, 'a')).toEqual(['plant-7 1', 'plant-7 2', 'plant-7 3', 'plant-8 1', 'plant-8 2', 'plant-8 3']);
  expect(store.readPositions('plant-7').get('network')).toBe('plant-7-second');
});

test('a dead letter that the disk has changed is not moved, and stays where it is', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  runSql(source.deadLetters, `UPDATE letter SET line = replace(line, 'network', 'netvork') WHERE router = 'plant-8'`);
  const { moved, output } = await moveOut(source, { removes: true });
  expect(moved.deadLetters).toBe(1);
  await moveIn(target, output);
  using left = source.openDeadLetters();
  using deadLetters = target.openDeadLetters();
  expect([left, deadLetters].map((one) => one.list({ limit: 9 }).map(({ router }) => router))).toEqual([
    ['plant-8'],
    ['plant-7'],
  ]);
});

test('importState() counts no dead letters as added that the store already has', async () => {
  await using source = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source);
  {
    using deadLetters = source.openDeadLetters();
    deadLetters.drop({ ids: deadLetters.list({ limit: 1, order: 'oldest' }).map(({ id }) => id) });
  }
  expect((await moveIn(source, output)).deadLetters).toBe(1);
});

test('importState() refuses positions that the store already has, and replaces them if requested', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source);
  {
    using store = target.open();
    store.commit(commitOf([], 'own', 'network', 'plant-8'));
  }
  const error = await refusedBy(moveIn(target, output));
  expect([error.code, error.message]).toEqual([
    'broken',
    'The store already has positions of 1 of these logs, such as plant-8/network',
  ]);
  {
    using store = target.open();
    expect([store.readPositions('plant-7').size, store.spooled.records]).toEqual([0, 0]);
  }
  await moveIn(target, output, { replaces: true });
  using store = target.open();
  expect(store.readPositions('plant-8').get('network')).toBe('plant-8-second');
});

const CHANGES: Readonly<Record<string, string>> = {
  'of which a table is a view': 'ALTER TABLE fact RENAME TO others; CREATE VIEW fact AS SELECT * FROM others',
  'with a trigger': 'CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END',
  'with a number that is out of range': 'UPDATE batch SET committed_ms = 9223372036854775807',
};

test.for(['cut', 'not a database', 'another database', ...Object.keys(CHANGES)])(
  'importState() refuses a file that is %s, changes nothing and leaves nothing behind',
  async (kind) => {
    await using source = await createStoreFolder();
    await using target = await createStoreFolder();
    fill(source);
    const { output } = await moveOut(source);
    if (kind === 'cut') {
      const whole = await readFile(output);
      await writeFile(output, whole.subarray(0, whole.length - 8192));
    } else if (kind === 'not a database') await writeFile(output, 'hello');
    else if (CHANGES[kind] !== undefined) {
      using changed = new DatabaseSync(output);
      changed.exec(CHANGES[kind]);
    } else {
      await writeFile(output, '');
      using other = new DatabaseSync(output);
      other.exec('CREATE TABLE x (y)');
    }
    const error = await refusedBy(moveIn(target, output));
    expect(error.message).toBe(`${output} is not a whole file of state export`);
    expect(runSql(target.database, 'SELECT 1', "SELECT name FROM sqlite_master WHERE name = 'log'")).toEqual([]);
    expect((await readdir(target.path)).filter((name) => name.startsWith('importing'))).toEqual([]);
  },
);

test('exportState() and importState() refuse a store that an agent uses, and files that are not there or already are', async () => {
  await using source = await createStoreFolder();
  const output = join(source.path, 'moved.db');
  expect((await refusedBy(moveOut(source))).code).toBe('absent');
  fill(source);
  {
    using running = source.open();
    expect(running.spooled.records).toBe(6);
    expect((await refusedBy(moveOut(source))).code).toBe('locked');
  }
  await expect(stat(output)).rejects.toThrow('ENOENT');
  expect((await refusedBy(moveIn(source, output))).code).toBe('absent');
  await moveOut(source);
  expect((await refusedBy(moveOut(source))).message).toContain('exists already');
  runSql(output, 'PRAGMA user_version = 1');
  await using target = await createStoreFolder();
  expect(await refusedBy(moveIn(target, output))).toMatchObject({
    message: `${output}: The state has format 1, and this program knows 10`,
    hint: 'Import it with the version that exported it',
  });
});

test('exportState() takes what is being delivered to a sink again', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  const sinks = [{ name: 'a', start: 'oldest', replayMs: 3_600_000 }] as const;
  {
    using store = source.open({ sinks });
    for (const line of ['1', '2', '3']) store.commit(commitOf([line]));
    drain(store, 'a');
    store.repeat('a');
    const slice = readSlice(store, 'a', { recordsMax: 1 });
    if (slice) store.acknowledge('a', slice.next);
  }
  const { moved, output } = await moveOut(source, { removes: true });
  expect(moved.records).toBe(2);
  await moveIn(target, output);
  using store = target.open({ sinks });
  expect(drain(store, 'a')).toEqual(['2', '3']);
});

test('importState() adds to a store whose rebuild a crash interrupted, and not to the damaged one', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  fill(source);
  const { output } = await moveOut(source);
  {
    using store = target.open();
    store.commit(commitOf(['saved'], 'p', 'network', 'own'));
  }
  await rename(target.database, `${target.database}.rebuilding`);
  await moveIn(target, output);
  using store = target.open();
  expect(drain(store, 'a')[0]).toBe('saved');
  expect(store.readPositions('plant-7').size).toBe(1);
});

test('the journal of a router moves with it, in place of one that the store already has, and is no log', async () => {
  await using source = await createStoreFolder();
  await using target = await createStoreFolder();
  {
    using store = source.open();
    store.commit(commitOf(['down'], 'journal', EVENTS_LOG), commitOf([], 'position'));
  }
  {
    using store = target.open();
    store.commit(commitOf([], 'other journal', EVENTS_LOG));
  }
  const { moved, output } = await moveOut(source);
  expect(moved).toMatchObject({ routers: ['plant-7'], logs: 1, records: 1 });
  expect(await moveIn(target, output)).toMatchObject({ routers: ['plant-7'], logs: 1, records: 1 });
  using store = target.open();
  expect(store.readPositions('plant-7').get(EVENTS_LOG)).toBe('journal');
  expect(drain(store, 'a')).toEqual(['down']);
});
