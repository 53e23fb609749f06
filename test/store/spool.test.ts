import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { packLines } from '../../src/base/index.ts';
import type { SinkStart } from '../../src/model/index.ts';
import { commitOf, createStoreFolder, drain, NOW_MS, readSlice, runSql, toStarts } from '../support/store-folder.ts';

const isNetwork = (_router: string, component: string) => component === 'network';

test('EmbeddedStore.readSlice() passes over the logs that a sink does not want, and says how many records those were', async () => {
  await using folder = await createStoreFolder();
  let nowMs = NOW_MS;
  using store = folder.open({ now: () => nowMs });
  store.commit(commitOf(['s1', 's2'], 'p', 'system'));
  nowMs++;
  store.commit(commitOf(['n1']));
  nowMs++;
  store.commit(commitOf(['s3'], 'p', 'system'));
  store.commit(commitOf(['n2', 'n3']));
  store.commit(commitOf(['s4'], 'p', 'system'));
  const isWanted = vi.fn(isNetwork);
  expect(readSlice(store, 'a', { isWanted })).toEqual({
    lines: ['n1', 'n2', 'n3'],
    next: { batch: 6, index: 0 },
    oldestMs: NOW_MS + 1,
    isFull: false,
    skipped: 4,
    isRepeat: false,
  });
  expect(isWanted).toHaveBeenCalledWith('plant-7', 'system');
});

test('EmbeddedStore.readSlice() gives a slice without lines when all there is is not wanted, so that the cursor moves on', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['1', '2']));
  const slice = readSlice(store, 'a', { isWanted: () => false });
  expect(slice).toEqual({
    lines: [],
    next: { batch: 2, index: 0 },
    oldestMs: 0,
    isFull: false,
    skipped: 2,
    isRepeat: false,
  });
  if (slice) store.acknowledge('a', slice.next);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
  expect(readSlice(store, 'a', { isWanted: () => false })).toBeUndefined();
});

test('EmbeddedStore.readSlice() skips the rest of a batch that is not wanted any more', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['1', '2', '3']));
  store.acknowledge('a', { batch: 1, index: 1 });
  expect(readSlice(store, 'a', { isWanted: () => false })).toMatchObject({ lines: [], skipped: 2 });
});

test('EmbeddedStore.readSlice() passes over no more than 2000 batches in one call', async () => {
  await using folder = await createStoreFolder();
  folder.open().close();
  const body = Buffer.from(packLines(['x'])).toString('hex');
  runSql(
    folder.database,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2050)
       INSERT INTO batch SELECT i, 'r', 'system', 5, 1, 10 FROM n;
     INSERT INTO spool SELECT id, 1, x'${body}' FROM batch`,
  );
  using store = folder.open();
  store.commit(commitOf(['wanted']));
  const first = readSlice(store, 'a', { isWanted: isNetwork });
  expect(first).toEqual({
    lines: [],
    next: { batch: 2001, index: 0 },
    oldestMs: 0,
    isFull: true,
    skipped: 2000,
    isRepeat: false,
  });
  expect(store.oldestWaitingMs('a', isNetwork)).toBe(5);
  if (first) store.acknowledge('a', first.next);
  expect(readSlice(store, 'a', { isWanted: isNetwork })).toMatchObject({ lines: ['wanted'], skipped: 50 });
  expect(store.oldestWaitingMs('a', isNetwork)).toBe(NOW_MS);
});

test('EmbeddedStore.readSlice() keeps to both bounds, and says when one of them ended it', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['1', '2', '3']));
  store.commit(commitOf(['4', '5']));
  expect(readSlice(store, 'a', { recordsMax: 2 })).toMatchObject({
    lines: ['1', '2'],
    next: { batch: 1, index: 2 },
    isFull: true,
  });
  expect(readSlice(store, 'a', { recordsMax: 3 })).toMatchObject({ lines: ['1', '2', '3'], isFull: true });
  expect(readSlice(store, 'a', { recordsMax: 5 })).toMatchObject({ lines: { length: 5 }, isFull: true });
  expect(readSlice(store, 'a', { recordsMax: 6 })).toMatchObject({ lines: { length: 5 }, isFull: false });
  expect(readSlice(store, 'a', { bytesMax: 4 })).toMatchObject({ lines: { length: 4 }, isFull: true });
  expect(readSlice(store, 'a', { bytesMax: 6 })).toMatchObject({ lines: { length: 5 }, isFull: false });
  expect(readSlice(store, 'a', { bytesMax: 0 })).toMatchObject({ lines: ['1'], isFull: true });
});

test('EmbeddedStore.readSlice() counts bytes, and not characters', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['üüüü', 'xx']));
  expect(readSlice(store, 'a', { bytesMax: 9 })?.lines).toEqual(['üüüü']);
  expect(readSlice(store, 'a', { bytesMax: 10 })?.lines).toEqual(['üüüü', 'xx']);
});

test('EmbeddedStore.readSlice() says when the oldest record of a slice was committed, over a restart', async () => {
  await using folder = await createStoreFolder();
  {
    let nowMs = 1000.7;
    using store = folder.open({ now: () => nowMs });
    store.commit(commitOf(['1', '2']));
    nowMs = 2000;
    store.commit(commitOf(['3']));
  }
  using store = folder.open();
  const slice = readSlice(store, 'a', { recordsMax: 1 });
  expect(slice?.oldestMs).toBe(1000);
  expect(store.oldestWaitingMs('a')).toBe(1000);
  store.acknowledge('a', { batch: 1, index: 1 });
  expect(readSlice(store, 'a')?.oldestMs).toBe(1000);
  store.acknowledge('a', { batch: 2, index: 0 });
  expect(readSlice(store, 'a')?.oldestMs).toBe(2000);
  expect(store.oldestWaitingMs('a')).toBe(2000);
  drain(store, 'a');
  expect(store.oldestWaitingMs('a')).toBeUndefined();
});

test('EmbeddedStore.countWaiting() counts the logs that the sink wants, over a restart, a sink and its own place in a batch', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open();
    store.commit(commitOf(['n1', 'n2', 'n3']));
    store.commit(commitOf(['s1', 's2'], 'p', 'system'));
    expect(store.countWaiting('a', isNetwork)).toBe(3);
    store.acknowledge('a', { batch: 1, index: 2 });
    expect(store.countWaiting('a')).toBe(3);
    expect(store.countWaiting('a', isNetwork)).toBe(1);
    expect(store.countWaiting('a', (router, component) => !isNetwork(router, component))).toBe(2);
    expect(store.countWaiting('unknown')).toBe(0);
  }
  using store = folder.open();
  expect(store.countWaiting('a', isNetwork)).toBe(1);
  store.setSinks(toStarts(['a', 'b']));
  expect(store.countWaiting('b')).toBe(5);
  store.acknowledge('a', { batch: 2, index: 1 });
  expect(store.countWaiting('a')).toBe(1);
  expect(store.countWaiting('a', isNetwork)).toBe(0);
  store.commit(commitOf(['n4']));
  expect(store.countWaiting('a', isNetwork)).toBe(1);
});

test('EmbeddedStore.acknowledge() never moves a cursor back, and does nothing for a sink that is gone', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ sinks: ['a', 'b'] });
  store.commit(commitOf(['1', '2']));
  store.commit(commitOf(['3']));
  store.acknowledge('a', { batch: 2, index: 0 });
  store.acknowledge('a', { batch: 1, index: 1 });
  expect(readSlice(store, 'a')?.lines).toEqual(['3']);
  store.acknowledge('gone', { batch: 3, index: 0 });
  expect(store.countWaiting('a')).toBe(1);
  expect(store.spooled.records).toBe(3);
});

test('EmbeddedStore starts a new sink behind the newest record if so configured, and keeps the position of a known one', async () => {
  await using folder = await createStoreFolder();
  const newest = (name: string): SinkStart => ({ name, start: 'newest' });
  {
    using store = folder.open({ sinks: ['a'] });
    store.commit(commitOf(['1']));
    store.setSinks([newest('a'), newest('b')]);
    expect(store.countWaiting('b')).toBe(0);
    store.commit(commitOf(['2']));
    expect(drain(store, 'b')).toEqual(['2']);
  }
  using store = folder.open({ sinks: [newest('a'), newest('b'), newest('c')] });
  store.commit(commitOf(['3']));
  expect(drain(store, 'a')).toEqual(['1', '2', '3']);
  expect(drain(store, 'b')).toEqual(['3']);
  expect(drain(store, 'c')).toEqual(['3']);
  expect(store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('EmbeddedStore begins behind everything there ever was with a sink at the newest record of an empty spool', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open();
  store.commit(commitOf(['1']));
  drain(store, 'a');
  store.setSinks([...toStarts(['a']), { name: 'b', start: 'newest' }]);
  store.commit(commitOf(['2']));
  expect(drain(store, 'b')).toEqual(['2']);
  expect(drain(store, 'a')).toEqual(['2']);
});

test('EmbeddedStore gives every sink its own choice in order, whatever its bounds, and frees what all have', async () => {
  await using folder = await createStoreFolder();
  const commit = fc.record({
    component: fc.constantFrom('network', 'system', 'mobile'),
    count: fc.integer({ min: 1, max: 9 }),
  });
  const bounds = fc.record({ recordsMax: fc.integer({ min: 1, max: 12 }), bytesMax: fc.nat(80) });
  let run = 0;
  fc.assert(
    fc.property(fc.array(commit, { maxLength: 20 }), bounds, bounds, fc.boolean(), (commits, ofA, ofB, isReopened) => {
      const path = `${folder.path}/${run++}`;
      const sinks = ['a', 'b'];
      let store = folder.open({ path, sinks });
      const written: { component: string; line: string }[] = [];
      for (const { component, count } of commits) {
        const lines = Array.from({ length: count }, (_, index) => `${written.length + index}`);
        store.commit(commitOf(lines, 'p', component));
        written.push(...lines.map((line) => ({ component, line })));
      }
      if (isReopened) {
        store.close();
        store = folder.open({ path, sinks });
      }
      const network = written.filter(({ component }) => component === 'network').map(({ line }) => line);
      expect(store.countWaiting('a', isNetwork)).toBe(network.length);
      expect(drain(store, 'a', { ...ofA, isWanted: isNetwork })).toEqual(network);
      expect(store.countWaiting('a')).toBe(0);
      expect(store.spooled.records).toBe(written.length);
      expect(drain(store, 'b', ofB)).toEqual(written.map(({ line }) => line));
      expect(store.spooled).toEqual({ records: 0, bytes: 0 });
      store.close();
    }),
    { numRuns: 30 },
  );
});
