import { execFile } from 'node:child_process';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { EmbeddedStore } from '../../src/store/index.ts';
import { countRuns } from '../support/sampled.ts';
import {
  commitOf,
  createStoreFolder,
  drain,
  noisyLines,
  readSlice,
  runSql,
  thrownBy,
  toStarts,
} from '../support/store-folder.ts';

test('EmbeddedStore creates its folder with access for its owner only', async () => {
  await using folder = await createStoreFolder();
  const path = join(folder.path, 'deep', 'state');
  using store = folder.open({ path });
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
  expect((await stat(path)).mode & 0o777).toBe(0o700);
  for (const name of ['router-exporter.db', 'router-exporter.db-wal']) {
    expect((await stat(join(path, name))).mode & 0o777).toBe(0o600);
  }
});

test('EmbeddedStore says at once that its folder cannot be made, also where the system says so in an unusual way', () => {
  expect(
    thrownBy(() => new EmbeddedStore({ path: '/proc/none/deep', sinks: [], spoolBytesMax: 1, now: () => 0 })),
  ).toMatchObject({
    message: expect.stringContaining('/proc/none/deep'),
  });
});

test('EmbeddedStore takes lines as bytes, as they stand, and counts them as their maker does', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const lines = ['{"straße":1}', '{"n":2}'];
  store.commit({ ...commitOf([]), lines: Object.assign([...lines], { bytes: Buffer.from(lines.join('\n')) }) });
  store.commit({ ...commitOf([]), lines: { length: 1, *[Symbol.iterator]() {}, bytes: Buffer.from('{"n":3}') } });
  expect(store.spooled.records).toBe(3);
  expect(drain(store, 'a')).toEqual([...lines, '{"n":3}']);
});

test('EmbeddedStore keeps positions by router and component over a restart, the last one of each', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf([], 'first'));
    store.commit(commitOf(['x'], 'second'));
    store.commit(commitOf([], 'other', 'system'));
    store.commit({ router: 'plant-8', component: 'network', position: 'eight', lines: [] });
  }
  using store = folder.open();
  expect(store.readPositions('plant-7')).toEqual(
    new Map([
      ['network', 'second'],
      ['system', 'other'],
    ]),
  );
  expect(store.readPositions('plant-8')).toEqual(new Map([['network', 'eight']]));
  expect(store.readPositions('plant-9')).toEqual(new Map());
});

test('EmbeddedStore.forgetLogs() removes the positions of logs, and keeps their records for the sinks', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  for (const component of ['network', 'system', 'modem']) store.commit(commitOf(['x'], 'p', component));
  store.commit({ router: 'plant-8', component: 'network', position: 'eight', lines: [] });
  store.forgetLogs('plant-7', ['network', 'modem']);
  expect(store.readPositions('plant-7')).toEqual(new Map([['system', 'p']]));
  expect(store.readPositions('plant-8')).toEqual(new Map([['network', 'eight']]));
  expect(drain(store, 'a')).toHaveLength(3);
});

test('EmbeddedStore hands each sink all records in the order of their commits, over a restart', async () => {
  await using folder = await createStoreFolder();
  const sinks = ['a', 'b'];
  {
    using store = folder.open({ sinks });
    store.commit(commitOf(['1', '2']));
    store.commit(commitOf(['3'], 'p', 'system'));
    expect(drain(store, 'a')).toEqual(['1', '2', '3']);
    store.commit(commitOf(['4', 'ü ✓ \\n']));
  }
  using store = folder.open({ sinks });
  expect(drain(store, 'a')).toEqual(['4', 'ü ✓ \\n']);
  expect(drain(store, 'b')).toEqual(['1', '2', '3', '4', 'ü ✓ \\n']);
  expect(readSlice(store, 'a')).toBeUndefined();
});

test('EmbeddedStore.readSlice() gives the same records again until they are acknowledged', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['1', '2']));
    expect(readSlice(store, 'a')).toEqual(readSlice(store, 'a'));
  }
  using store = folder.open();
  expect(readSlice(store, 'a')?.lines).toEqual(['1', '2']);
});

test('EmbeddedStore.readSlice() gives no more than 5000 records or about one MiB at a time, and loses none', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const many = Array.from({ length: 12_000 }, (_, index) => `record ${index}`);
  store.commit(commitOf(many));
  expect(readSlice(store, 'a')?.lines).toHaveLength(5000);
  expect(drain(store, 'a')).toEqual(many);
  const wide = Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(100_000)}`);
  store.commit(commitOf(wide));
  expect(readSlice(store, 'a')?.lines).toHaveLength(10);
  expect(drain(store, 'a')).toEqual(wide);
});

test('EmbeddedStore.readSlice() gives a record above the bound of a slice alone', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const huge = 'x'.repeat(3_000_000);
  store.commit(commitOf(['small', huge, 'after']));
  const slices: number[] = [];
  for (let slice = readSlice(store, 'a'); slice; slice = readSlice(store, 'a')) {
    slices.push(slice.lines.length);
    store.acknowledge('a', slice.next);
  }
  expect(slices).toEqual([1, 1, 1]);
});

test('EmbeddedStore.readSlice() gives small commits together', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  for (let index = 0; index < 20; index++) store.commit(commitOf([`${index}`]));
  expect(readSlice(store, 'a')?.lines).toHaveLength(20);
});

test('EmbeddedStore.acknowledge() frees space once every sink has the records, and not before', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ sinks: ['a', 'b'] });
  store.commit(commitOf(noisyLines(100)));
  const { bytes } = store.spooled;
  expect(bytes).toBeGreaterThan(1000);
  drain(store, 'a');
  expect(store.spooled).toEqual({ records: 100, bytes });
  drain(store, 'b');
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore knows after a restart how much is spooled', async () => {
  await using folder = await createStoreFolder();
  let before: EmbeddedStore['spooled'];
  {
    using store = folder.open();
    store.commit(commitOf(noisyLines(100)));
    before = store.spooled;
  }
  using store = folder.open();
  expect(store.spooled).toEqual(before);
});

test('EmbeddedStore.commit() makes several logs durable together, or none of them', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: 6000 });
  store.commit(commitOf(['n1'], '1'), commitOf(['s1', 's2'], '1', 'system'), commitOf([], 'facts', ''));
  expect(store.spooled.records).toBe(3);
  const both = [commitOf(['n2'], '2'), commitOf(noisyLines(100), '2', 'system')];
  expect(thrownBy(() => store.commit(...both)).code).toBe('full');
  expect(store.readPositions('plant-7')).toEqual(
    new Map([
      ['network', '1'],
      ['system', '1'],
      ['', 'facts'],
    ]),
  );
  expect(drain(store, 'a')).toEqual(['n1', 's1', 's2']);
});

test('EmbeddedStore.commit() leaves a few lines as they are, and packs more of them', async () => {
  await using folder = await createStoreFolder();
  const line = 'x'.repeat(800);
  using store = folder.open();
  const addedBy = (commit: () => void) => {
    const before = store.spooled.bytes;
    commit();
    return store.spooled.bytes - before;
  };
  expect(addedBy(() => store.commit(commitOf([line])))).toBeGreaterThan(line.length);
  expect(addedBy(() => store.commit(commitOf([line, line])))).toBeLessThan(100);
});

test('EmbeddedStore.commit() throws full and changes nothing when the spool has no room', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: 6000 });
  store.commit(commitOf(noisyLines(50), 'kept'));
  const before = store.spooled;
  const error = thrownBy(() => store.commit(commitOf(noisyLines(500, 2), 'never')));
  expect(error).toMatchObject({ code: 'full', disposition: 'hold-back' });
  expect(store.readPositions('plant-7')).toEqual(new Map([['network', 'kept']]));
  expect(store.spooled).toEqual(before);
  expect(drain(store, 'a')).toEqual(noisyLines(50));
});

test('EmbeddedStore.commit() takes positions without records, and records again once there is room', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: 6000 });
  store.commit(commitOf(noisyLines(60)));
  expect(thrownBy(() => store.commit(commitOf(noisyLines(60, 2)))).code).toBe('full');
  store.commit(commitOf([], 'moved'));
  expect(store.readPositions('plant-7').get('network')).toBe('moved');
  drain(store, 'a');
  store.commit(commitOf(noisyLines(60, 2)));
  expect(store.spooled.records).toBe(60);
});

test('EmbeddedStore lets a sink that is no longer configured hold back no space', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ sinks: ['a', 'gone'], spoolBytesMax: 6000 });
    store.commit(commitOf(noisyLines(60)));
    drain(store, 'a');
  }
  using store = folder.open({ sinks: ['a'], spoolBytesMax: 6000 });
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
  store.commit(commitOf(noisyLines(60, 2)));
  expect(drain(store, 'a')).toEqual(noisyLines(60, 2));
});

test('EmbeddedStore gives a sink that was taken away and comes back what is still there for others', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ sinks: ['a', 'b'] });
    store.commit(commitOf(['1']));
  }
  folder.open({ sinks: ['a'] }).close();
  using store = folder.open({ sinks: ['a', 'b'] });
  store.commit(commitOf(['2']));
  expect(drain(store, 'a')).toEqual(['1', '2']);
  expect(drain(store, 'b')).toEqual(['1', '2']);
});

test('EmbeddedStore never uses a place in the spool twice, though it was emptied and opened again', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['1']));
    drain(store, 'a');
  }
  using store = folder.open();
  store.commit(commitOf(['2']));
  expect(drain(store, 'a')).toEqual(['2']);
});

test('EmbeddedStore throws locked when another handle of this process owns the files', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    const error = thrownBy(() => folder.open());
    expect(error).toMatchObject({ code: 'locked', disposition: 'operator' });
    store.commit(commitOf(['1']));
  }
  using store = folder.open();
  expect(drain(store, 'a')).toEqual(['1']);
});

test('EmbeddedStore throws locked when another process owns the files', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['1']));
  const room = new URL('../../src/store/index.ts', import.meta.url).href;
  const program = `
    const { EmbeddedStore } = await import(${JSON.stringify(room)});
    try {
      new EmbeddedStore({ path: ${JSON.stringify(folder.path)}, sinks: [], spoolBytesMax: 1, now: () => 1 });
      console.log('opened');
    } catch (cause) {
      console.log(cause.code);
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout).toBe('locked\n');
});

test('EmbeddedStore refuses the format of a newer program, says so, and changes nothing', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['1']));
  }
  const format = readFormat(folder.database);
  setFormat(folder.database, 99);
  const error = thrownBy(() => folder.open({ sinks: [] }));
  expect(error).toMatchObject({ code: 'broken', disposition: 'operator' });
  expect(error.message).toContain('format 99');
  // The files are free again, and the newer program finds them as it left them.
  setFormat(folder.database, format);
  using store = folder.open();
  expect(drain(store, 'a')).toEqual(['1']);
});

/** What format 1 had, with three records of which a sink has one. */
const FORMAT_1 = `
  CREATE TABLE log (router TEXT NOT NULL, component TEXT NOT NULL, position TEXT NOT NULL, PRIMARY KEY (router, component));
  CREATE TABLE spool (batch INTEGER PRIMARY KEY AUTOINCREMENT, records INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE cursor (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL, idx INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  INSERT INTO log VALUES ('plant-7', 'network', 'p');
  INSERT INTO spool VALUES (7, 2, x'00'), (8, 1, x'00');
  INSERT INTO cursor VALUES ('a', 7, 1), ('b', 8, 0);
  PRAGMA user_version = 1`;

test('EmbeddedStore renames a database of an older format, never over an earlier one, reports how many records wait in it, and starts empty', async () => {
  await using folder = await createStoreFolder();
  const onOlder = vi.fn();
  const names = [`${folder.database}.format-1`, `${folder.database}.format-1-2`, `${folder.database}.format-1-3`];
  for (const _ of names) {
    await rm(folder.database, { force: true });
    runSql(folder.database, FORMAT_1);
    using store = folder.open({ onOlder });
    expect(store.readPositions('plant-7').size).toBe(0);
    store.commit(commitOf(['new']));
    expect(drain(store, 'a')).toEqual(['new']);
  }
  folder.open({ onOlder }).close();
  expect(onOlder.mock.calls).toEqual(names.map((file) => [{ format: 1, records: 2, file }]));
  expect(runSql(names[1] ?? '', '', 'SELECT sum(records) AS records FROM spool')).toEqual([{ records: 3 }]);
});

test('EmbeddedStore counts all records of an older database without sinks as waiting, and none where that cannot be read', async () => {
  await using folder = await createStoreFolder();
  const onOlder = vi.fn();
  runSql(folder.database, `${FORMAT_1}; DELETE FROM cursor`);
  folder.open({ onOlder }).close();
  await rm(folder.database);
  runSql(folder.database, `${FORMAT_1}; DROP TABLE spool`);
  folder.open({ onOlder }).close();
  expect(onOlder.mock.calls).toMatchObject([[{ records: 3 }], [{ records: undefined }]]);
});

test('a database of an older format is refused and unchanged when nothing handles the event, as in a command', async () => {
  await using folder = await createStoreFolder();
  runSql(folder.database, FORMAT_1);
  expect(thrownBy(() => folder.open())).toMatchObject({
    code: 'broken',
    disposition: 'operator',
    message: 'The state has format 1, and this program knows 10',
  });
  expect(await readdir(folder.path)).toEqual(['router-exporter.db']);
  expect(runSql(folder.database, '', 'SELECT sum(records) AS records FROM spool')).toEqual([{ records: 3 }]);
});

test('EmbeddedStore starts empty when its file is no database, and keeps that file', async () => {
  await using folder = await createStoreFolder();
  await writeFile(folder.database, 'this is my shopping list, not a database\n'.repeat(100));
  const onRebuilt = vi.fn();
  using store = folder.open({ onRebuilt });
  expect(onRebuilt).toHaveBeenCalledWith(
    expect.objectContaining({ recordsSaved: 0, damagedFile: `${folder.database}.damaged` }),
  );
  expect(await readFile(`${folder.database}.damaged`, 'utf8')).toContain('shopping list');
  store.commit(commitOf(['1']));
  expect(drain(store, 'a')).toEqual(['1']);
});

test('case 48: EmbeddedStore holds back while there is no room on the disk, keeps what it has, and continues when there is', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ databaseBytesMax: 256 * 1024 });
  const written: string[] = [];
  const error = thrownBy(() => {
    for (let seed = 0; seed < 50; seed++) {
      const lines = noisyLines(300, seed);
      store.commit(commitOf(lines, `position ${seed}`));
      written.push(...lines);
    }
  });
  expect(error).toMatchObject({ code: 'full', disposition: 'hold-back' });
  expect(written.length).toBeGreaterThan(300);
  expect(store.readPositions('plant-7').get('network')).toBe(`position ${written.length / 300 - 1}`);
  expect(drain(store, 'a')).toEqual(written);
  store.commit(commitOf(['after'], 'after'));
  expect(drain(store, 'a')).toEqual(['after']);
});

const DAY_MS = 86_400_000;

test('EmbeddedStore.keepRouters() yields while it removes thousands of routers', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const routers = Array.from({ length: 3000 }, (_, index) => `plant-${index}`);
  for (const router of routers) store.commit({ router, facts: 'known' });
  let runs = 0;
  const count = setInterval(() => runs++, 0);
  expect(await store.keepRouters(['plant-7'], 0)).toEqual([]);
  expect((await store.keepRouters(['plant-7'], 8 * DAY_MS)).length).toBe(2999);
  clearInterval(count);
  expect(runs).toBeGreaterThan(3);
  expect(store.readFacts('plant-7')).toBe('known');
  expect(store.readFacts('plant-8')).toBeUndefined();
});

test('case 51: EmbeddedStore.keepRouters() keeps the positions of a router that is gone for a week, and no longer', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  for (const router of ['here', 'gone', 'back']) store.commit({ ...commitOf([]), router });
  expect(await store.keepRouters(['here'], 0)).toEqual([]);
  expect(await store.keepRouters(['here', 'back'], 5 * DAY_MS)).toEqual([]);
  expect(store.readPositions('gone').size).toBe(1);
  expect(await store.keepRouters(['here', 'back'], 8 * DAY_MS)).toEqual(['gone']);
  expect(store.readPositions('gone').size).toBe(0);
  // The week restarts with each absence.
  expect(await store.keepRouters(['here'], 9 * DAY_MS)).toEqual([]);
  expect(await store.keepRouters(['here'], 15 * DAY_MS)).toEqual([]);
  expect(store.readPositions('back').size).toBe(1);
  expect(await store.keepRouters(['here'], 16 * DAY_MS)).toEqual(['back']);
  expect(store.readPositions('here').size).toBe(1);
});

test('EmbeddedStore throws broken when its folder cannot be made', async () => {
  await using folder = await createStoreFolder();
  await writeFile(join(folder.path, 'file'), '');
  expect(thrownBy(() => folder.open({ path: join(folder.path, 'file', 'state') }))).toMatchObject({ code: 'broken' });
});

test('EmbeddedStore throws broken when it is used after its end, and closing twice does no harm', async () => {
  await using folder = await createStoreFolder();
  const store = folder.open();
  store.close();
  store.close();
  expect(thrownBy(() => store.commit(commitOf(['1'])))).toMatchObject({ code: 'broken' });
  expect(thrownBy(() => store.readPositions('plant-7'))).toMatchObject({ code: 'broken' });
  expect(thrownBy(() => readSlice(store, 'a'))).toMatchObject({ code: 'broken' });
});

test('EmbeddedStore keeps the cursor of each sink right over any order of commits, deliveries, crashes and restarts', async () => {
  await using folder = await createStoreFolder();
  const sinks = ['a', 'b'] as const;
  const sink = fc.constantFrom(...sinks);
  const step = fc.oneof(
    fc.record({ kind: fc.constant('commit' as const), count: fc.oneof(fc.nat(5), fc.constant(6000)) }),
    fc.record({ kind: fc.constant('deliver' as const), sink }),
    fc.record({ kind: fc.constant('crash before acknowledge' as const), sink }),
    fc.record({ kind: fc.constant('reopen' as const) }),
  );
  let run = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) => {
      const path = join(folder.path, String(run++));
      let store = folder.open({ path, sinks });
      const committed: string[] = [];
      const delivered = { a: 0, b: 0 };
      try {
        for (const current of steps) {
          switch (current.kind) {
            case 'commit': {
              const lines = Array.from({ length: current.count }, (_, index) => `${committed.length + index}`);
              committed.push(...lines);
              store.commit(commitOf(lines, String(committed.length)));
              break;
            }
            case 'deliver':
            case 'crash before acknowledge': {
              const slice = readSlice(store, current.sink);
              const from = delivered[current.sink];
              const lines = slice?.lines ?? [];
              expect(lines).toEqual(committed.slice(from, from + lines.length));
              expect(lines.length > 0).toBe(from < committed.length);
              if (!slice || current.kind !== 'deliver') break;
              store.acknowledge(current.sink, slice.next);
              delivered[current.sink] += lines.length;
              break;
            }
            case 'reopen':
              store.close();
              store = folder.open({ path, sinks });
              break;
          }
          const outstanding = committed.length - Math.min(delivered.a, delivered.b);
          expect(store.spooled.records).toBeGreaterThanOrEqual(outstanding);
          expect(store.spooled.records === 0).toBe(store.spooled.bytes === 0);
        }
        const position = store.readPositions('plant-7').get('network');
        expect(position ?? '0').toBe(String(committed.length));
        for (const name of sinks) expect(drain(store, name)).toEqual(committed.slice(delivered[name]));
        expect(store.spooled).toEqual({ records: 0, bytes: 0 });
      } finally {
        store.close();
      }
    }),
    { numRuns: countRuns(40) },
  );
});

test('EmbeddedStore.commit() stores neither records nor position when one of them cannot be stored', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const broken = { router: 'plant-7', component: undefined as unknown as string, position: 'p', lines: ['a line'] };
  expect(() => store.commit(broken)).toThrow(expect.objectContaining({ code: 'broken' }));
  expect(drain(store, 'a')).toEqual([]);
  expect(store.readPositions('plant-7')).toEqual(new Map());
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore.commit() takes a batch that is larger than the bound while nothing else waits', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: 1000 });
  store.commit(commitOf(noisyLines(100)));
  expect(() => store.commit(commitOf(['one more']))).toThrow(expect.objectContaining({ code: 'full' }));
  expect(drain(store, 'a')).toHaveLength(100);
  store.commit(commitOf(['one more']));
});

test('EmbeddedStore.setSinks() frees at once what only a sink that is gone was to get', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ sinks: ['a', 'gone'], spoolBytesMax: 6000 });
  store.commit(commitOf(noisyLines(60)));
  drain(store, 'a');
  expect(thrownBy(() => store.commit(commitOf(noisyLines(60, 2)))).code).toBe('full');
  store.setSinks(toStarts(['a']));
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
  store.commit(commitOf(noisyLines(60, 2)));
  expect(drain(store, 'a')).toEqual(noisyLines(60, 2));
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore.setSinks() keeps the cursors of the sinks that stay, and what they have yet to get', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ sinks: ['a', 'b', 'gone'] });
    store.commit(commitOf(['1']));
    drain(store, 'a');
    store.commit(commitOf(['2']));
    store.setSinks(toStarts(['b', 'a']));
    expect(store.spooled.records).toBe(2);
    expect(drain(store, 'a')).toEqual(['2']);
  }
  using store = folder.open({ sinks: ['a', 'b'] });
  expect(drain(store, 'a')).toEqual([]);
  expect(drain(store, 'b')).toEqual(['1', '2']);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore.setSinks() gives a new sink what is still spooled, and holds back space for it from then on', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ sinks: ['a'] });
  store.commit(commitOf(['delivered']));
  drain(store, 'a');
  store.commit(commitOf(['spooled']));
  store.setSinks(toStarts(['a', 'new']));
  store.commit(commitOf(['later']));
  drain(store, 'a');
  expect(store.spooled.records).toBe(2);
  expect(drain(store, 'new')).toEqual(['spooled', 'later']);
});

test('EmbeddedStore.setSinks() frees nothing when no sink is left, and the next one gets it', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ sinks: ['a'] });
  store.commit(commitOf(['1']));
  store.setSinks(toStarts([]));
  expect(store.spooled.records).toBe(1);
  store.setSinks(toStarts(['b']));
  expect(drain(store, 'b')).toEqual(['1']);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore keeps values by router and key over a restart, the last one of each', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    expect(store.readValue('plant-7', 'bytes')).toBeUndefined();
    store.writeValue('plant-7', 'bytes', 'first');
    store.writeValue('plant-7', 'bytes', '');
    store.writeValue('plant-7', 'firmware', 'ü ✓ \n');
    store.writeValue('plant-8', 'bytes', 'eight');
  }
  using store = folder.open();
  expect(store.readValue('plant-7', 'bytes')).toBe('');
  expect(store.readValue('plant-7', 'firmware')).toBe('ü ✓ \n');
  expect(store.readValue('plant-8', 'bytes')).toBe('eight');
  expect(store.readValue('plant-8', 'firmware')).toBeUndefined();
});

test('EmbeddedStore.writeValue() throws too-long above 16 Ki characters, and keeps what was there', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  const longest = 'x'.repeat(16 * 1024);
  store.writeValue('plant-7', 'resources', longest);
  const error = thrownBy(() => store.writeValue('plant-7', 'resources', `${longest}x`));
  expect(error).toMatchObject({ code: 'too-long', disposition: 'skip' });
  expect(store.readValue('plant-7', 'resources')).toBe(longest);
});

test('EmbeddedStore throws broken for values after its end', async () => {
  await using folder = await createStoreFolder();
  const store = folder.open();
  store.close();
  expect(thrownBy(() => store.readValue('plant-7', 'bytes'))).toMatchObject({ code: 'broken' });
  expect(thrownBy(() => store.writeValue('plant-7', 'bytes', '1'))).toMatchObject({ code: 'broken' });
  expect(thrownBy(() => store.setSinks(toStarts(['a'])))).toMatchObject({ code: 'broken' });
});

test('EmbeddedStore stores facts with the steps of a log or not at all, and forgets them with their router', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: 200 });
  const random = Array.from({ length: 400 }, (_, index) => String(Math.imul(index + 1, 2654435761) >>> 0)).join('');
  store.commit(commitOf(['1']), { router: 'plant-7', facts: 'first' });
  expect(() => store.commit(commitOf([random]), { router: 'plant-7', facts: 'second' })).toThrow(
    'The spool has reached its limit',
  );
  expect(store.readFacts('plant-7')).toBe('first');
  store.commit({ router: 'plant-8', facts: 'other' });
  expect(store.readFacts('plant-8')).toBe('other');
  expect(await store.keepRouters(['plant-7'], 0, 1)).toEqual([]);
  expect(await store.keepRouters(['plant-7'], 1, 1)).toEqual(['plant-8']);
  expect([store.readFacts('plant-7'), store.readFacts('plant-8')]).toEqual(['first', undefined]);
});

function setFormat(file: string, version: number): void {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
}

function readFormat(file: string): number {
  const database = new DatabaseSync(file);
  const format = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  database.close();
  return format;
}
