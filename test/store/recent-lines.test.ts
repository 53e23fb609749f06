import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EVENTS_LOG } from '../../src/model/index.ts';
import { type EmbeddedStore, exportState, onDisk, type RecentBatch } from '../../src/store/index.ts';
import { commitOf, createStoreFolder, drain, noisyLines, runSql, thrownBy } from '../support/store-folder.ts';

/** Lines of these tests begin with their time: a number with a blank behind it. */
function spanOf(bytes: Uint8Array) {
  const times = Buffer.from(bytes)
    .toString()
    .split('\n')
    .map((line) => Number.parseInt(line, 10) || 0);
  return { firstMs: Math.min(...times), lastMs: Math.max(...times) };
}

const settings = (bytesMax: number) => ({ recent: { bytesMax, spanOf } });

function listAll(store: EmbeddedStore, router?: string): RecentBatch[] {
  const all: RecentBatch[] = [];
  let place = { lastMs: Number.MAX_SAFE_INTEGER, router: '', seq: 0 };
  for (;;) {
    const batches = store.listRecent(place, router);
    const last = batches.at(-1);
    if (!last) return all;
    all.push(...batches);
    place = last;
  }
}

/** The kept lines of a router in the order of their commits. */
function linesOf(store: EmbeddedStore, router = 'plant-7'): string[] {
  const batches = listAll(store, router).toSorted((a, b) => a.seq - b.seq);
  return batches.flatMap((batch) => store.readRecent(batch)?.toString().split('\n') ?? []);
}

test('EmbeddedStore keeps the last lines of a router whether or not the sinks have them, and after a restart', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open(settings(1024 * 1024));
    store.commit(commitOf(['1 a', '2 b']), commitOf(['3 c'], 'p', 'system'));
    store.commit(commitOf(['4 d']));
    drain(store, 'a');
    expect(linesOf(store)).toEqual(['1 a', '2 b', '3 c', '4 d']);
  }
  using store = folder.open(settings(1024 * 1024));
  store.commit(commitOf(['5 e']));
  expect(linesOf(store)).toEqual(['1 a', '2 b', '3 c', '4 d', '5 e']);
  expect(listAll(store).map(({ component, firstMs, lastMs }) => [component, firstMs, lastMs])).toEqual([
    ['network', 5, 5],
    ['network', 4, 4],
    ['system', 3, 3],
    ['network', 1, 2],
  ]);
});

test('last lines stay when their router moves away, with what was waiting of it', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open(settings(1024 * 1024));
    store.commit(commitOf(['1 a']));
  }
  const { path } = folder;
  const place = onDisk({ path, creates: false, now: () => 0 });
  await exportState(place, { output: join(path, 'moved.db'), isWanted: () => true, removes: true, now: () => 0 });
  using store = folder.open(settings(1024 * 1024));
  expect(store.spooled.records).toBe(0);
  expect(linesOf(store)).toEqual(['1 a']);
});

test('a commit writes its body once: the last lines are those of the spool, which stay for them when all sinks have them', async () => {
  await using folder = await createStoreFolder();
  const counts = () =>
    runSql(
      folder.database,
      '',
      'SELECT (SELECT count(*) FROM batch) AS waiting, (SELECT count(*) FROM spool) AS bodies, (SELECT count(body) FROM recent) AS own',
    )[0];
  {
    using store = folder.open(settings(1024 * 1024));
    store.commit(commitOf(['1 a', '2 b']), commitOf(['3 c'], 'p', 'system'));
    store.close();
    expect(counts()).toEqual({ waiting: 2, bodies: 2, own: 0 });
  }
  {
    using store = folder.open(settings(1024 * 1024));
    drain(store, 'a');
    expect(store.spooled).toEqual({ records: 0, bytes: 0 });
    expect(linesOf(store)).toEqual(['1 a', '2 b', '3 c']);
    store.close();
    expect(counts()).toEqual({ waiting: 0, bodies: 2, own: 0 });
  }
  using store = folder.open(settings(0));
  await store.keepRouters(['plant-7'], 0);
  store.close();
  expect(counts()).toEqual({ waiting: 0, bodies: 0, own: 0 });
});

test('in a fleet of ten thousand every router keeps at least its last fifty lines of usual length, one commit for each line', async () => {
  await using folder = await createStoreFolder();
  const routers = Array.from({ length: 2 }, (_, index) => `plant-${index}`);
  // The share that each of 10,000 routers has of 256 MiB.
  const share = Math.floor((256 * 1024 * 1024) / 10_000);
  using store = folder.open(settings(share * routers.length));
  await store.keepRouters(routers, 0);
  const line = (number: number) =>
    `${number} {"observed_timestamp":"2026-10-26T01:00:31.412Z","router":"plant-7","component":"network","severity":"warning","message":"${noisyLines(1, number)[0]}","uid":"${noisyLines(1, number + 9999)[0]?.slice(0, 25)}","file":"network/current","offset":18231}`;
  for (let number = 0; number < 300; number++) {
    for (const router of routers) store.commit(commitOf([line(number)], 'p', 'network', router));
  }
  for (const router of routers) {
    const kept = linesOf(store, router);
    expect(kept.length).toBeGreaterThanOrEqual(50);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => line(300 - kept.length + index)));
  }
});

test('a router that floods drops only its own oldest lines, within its share', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open(settings(200_000));
  await store.keepRouters(['noisy', 'calm'], 0);
  store.commit(commitOf(['1 calm'], 'p', 'network', 'calm'));
  const flood = noisyLines(20_000);
  for (let from = 0; from < flood.length; from += 200) {
    store.commit(commitOf(flood.slice(from, from + 200), 'p', 'network', 'noisy'));
    drain(store, 'a');
  }
  expect(linesOf(store, 'calm')).toEqual(['1 calm']);
  const kept = linesOf(store, 'noisy');
  expect(kept.length).toBeGreaterThan(500);
  expect(kept).toEqual(flood.slice(-kept.length));
  // One commit above the share: its last lines are kept.
  store.commit(commitOf(flood, 'p', 'network', 'noisy'));
  expect(linesOf(store, 'noisy').slice(-700)).toEqual(flood.slice(-700));
  store.close();
  const sql = 'SELECT router, sum(bytes) AS bytes, sum(length(body)) AS body FROM recent GROUP BY router';
  const sizes = runSql(folder.database, '', sql);
  expect(Number(sizes[1]?.['bytes'])).toBeLessThanOrEqual(100_000);
  expect(Number(sizes[1]?.['body'])).toBeGreaterThan(30_000);
});

test('a commit that fails leaves the last lines as they were', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ ...settings(1024 * 1024), databaseBytesMax: 400_000 });
  store.commit(commitOf(['1 a']));
  expect(thrownBy(() => store.commit(commitOf(noisyLines(8000)))).code).toBe('full');
  store.commit(commitOf(['2 b']));
  expect(linesOf(store)).toEqual(['1 a', '2 b']);
});

test('more routers get smaller shares; a router that is forgotten leaves no lines, and 0 keeps none', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open(settings(300_000));
    await store.keepRouters(['a', 'b'], 0);
    for (let count = 0; count < 15; count++) {
      for (const router of ['a', 'b']) store.commit(commitOf(noisyLines(100), 'p', 'network', router));
    }
    const before = linesOf(store, 'a').length;
    await store.keepRouters(['a', 'b', 'c', 'd', 'e', 'f'], 0);
    for (let count = 0; count < 2; count++) store.commit(commitOf(['1 c'], 'p', 'network', 'c'));
    expect(linesOf(store, 'a').length).toBeLessThan(before / 2);
    expect(linesOf(store, 'b').length).toBeLessThan(before / 2);
    await store.keepRouters(['a'], 0);
    expect(linesOf(store, 'b').length).toBeGreaterThan(0);
    expect(await store.keepRouters(['a'], 8 * 86_400_000)).toEqual(['b', 'c']);
    expect([linesOf(store, 'b'), linesOf(store, 'c')]).toEqual([[], []]);
    expect(linesOf(store, 'a').length).toBeGreaterThan(0);
  }
  using store = folder.open(settings(0));
  await store.keepRouters(['a'], 0);
  store.commit(commitOf(['9 z'], 'p', 'network', 'a'));
  expect(listAll(store)).toEqual([]);
});

test('a damaged batch of last lines is skipped, and the others stay', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open(settings(1024 * 1024));
    for (const line of ['1 a', '2 b', '3 c']) store.commit(commitOf([line]));
  }
  runSql(folder.database, `UPDATE spool SET body = x'00' WHERE batch = 2`);
  using store = folder.open(settings(1024 * 1024));
  for (let number = 4; number < 40; number++) store.commit(commitOf([`${number} d`]));
  expect(linesOf(store).slice(0, 3)).toEqual(['1 a', '3 c', '4 d']);
  expect(linesOf(store)).toHaveLength(38);
});

test('events of a router are no lines', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open(settings(1024 * 1024));
  store.commit(commitOf(['1 line']), commitOf(['2 event'], 'journal', EVENTS_LOG));
  expect(linesOf(store)).toEqual(['1 line']);
  expect(drain(store, 'a')).toEqual(['1 line', '2 event']);
});
