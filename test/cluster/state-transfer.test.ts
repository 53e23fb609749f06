import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inCluster, withClusterDeadLetters } from '../../src/cluster/cluster.ts';
import type { ClusterPlaceOptions } from '../../src/cluster/offline-access.ts';
import type { DeadLetters, StoreError } from '../../src/model/index.ts';
import { type ExportOptions, exportState, type ImportOptions, importState, onDisk } from '../../src/store/index.ts';
import { type ClusterBench, createClusterBench } from '../support/store-bench.ts';
import {
  commitOf,
  createStoreFolder,
  drain,
  NOW_MS,
  noisyLines,
  runSql,
  type StoreFolder,
} from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

const transfer = withPrograms(['nats-server'], test);
const now = () => NOW_MS;
const ROUTERS = ['plant-7', 'plant.7'];

type Choice = Partial<ImportOptions & ExportOptions & Pick<ClusterPlaceOptions, 'checkFree'>>;

function toEngine(bench: ClusterBench) {
  return { servers: { servers: [bench.server.url], clock: bench.clock }, cluster: 'test' };
}

function toPlace(bench: ClusterBench, { checkFree = async () => {} }: Choice) {
  return inCluster({ ...toEngine(bench), checkFree, sinks: ['a'] });
}

function moveIn(bench: ClusterBench, input: string, choice: Choice = {}) {
  return importState(toPlace(bench, choice), { input, isWanted: () => true, replaces: false, now, ...choice });
}

function moveOut(bench: ClusterBench, output: string, choice: Choice = {}) {
  return exportState(toPlace(bench, choice), { output, isWanted: () => true, removes: false, now, ...choice });
}

async function writeDisk({ path }: StoreFolder, output: string) {
  await exportState(onDisk({ path, creates: false, now }), { output, isWanted: () => true, removes: false, now });
}

async function readDisk({ path }: StoreFolder, input: string) {
  await importState(onDisk({ path, creates: true, now }), { input, isWanted: () => true, replaces: false, now });
}

/** Exports what two routers left on a disk: positions, facts, values, and three records of each. */
async function exportFilled(folder: StoreFolder): Promise<string> {
  const output = join(folder.path, 'moved.db');
  {
    using store = folder.open();
    for (const router of ROUTERS) {
      store.commit(commitOf([`${router} 1`, `${router} 2`], 'first', 'network', router), { router, facts: 'met' });
      store.commit(commitOf([`${router} 3`], `second ${router}`, 'network', router));
      store.writeValue(router, 'byte_budget', `spent by ${router}`);
    }
  }
  await writeDisk(folder, output);
  return output;
}

transfer('importState() continues in the engine what a disk had, and on a disk what the engine had', async () => {
  await using disk = await createStoreFolder();
  await using other = await createStoreFolder();
  await using bench = await createClusterBench();
  const input = await exportFilled(disk);
  const counts = { routers: ROUTERS, logs: 2, records: 6, deadLetters: 0 };
  expect(await moveIn(bench, input)).toEqual({ ...counts, known: [] });
  {
    await using opened = await bench.open({ routers: ROUTERS });
    const { store } = opened;
    expect(store.readPositions('plant.7')).toEqual(new Map([['network', 'second plant.7']]));
    expect([store.readFacts('plant-7'), store.readValue('plant-7', 'byte_budget')]).toEqual([
      'met',
      'spent by plant-7',
    ]);
    const taken = await opened.take('a', 6);
    for (const router of ROUTERS) {
      expect(taken.filter((line) => line.startsWith(router))).toEqual([1, 2, 3].map((line) => `${router} ${line}`));
    }
    await store.commit(commitOf(['plant.7 4'], 'third', 'network', 'plant.7'));
  }
  const output = join(other.path, 'back.db');
  expect(await moveOut(bench, output, { removes: true })).toEqual({ ...counts, records: 1 });
  await readDisk(other, output);
  {
    using store = other.open();
    expect(store.readPositions('plant.7')).toEqual(new Map([['network', 'third']]));
    expect([store.readFacts('plant.7'), store.readValue('plant-7', 'byte_budget')]).toEqual([
      'met',
      'spent by plant-7',
    ]);
    expect(drain(store, 'a')).toEqual(['plant.7 4']);
  }
  // Nothing of them is left in the cluster.
  await using opened = await bench.open({ routers: ROUTERS });
  expect([opened.store.readPositions('plant.7').size, opened.store.readFacts('plant-7')]).toEqual([0, undefined]);
  await opened.store.commit(commitOf(['new'], 'p', 'network', 'plant.7'));
  expect(await opened.take('a', 1)).toEqual(['new']);
});

transfer('importState() does not change what it imported before, and continues what was interrupted', async () => {
  await using disk = await createStoreFolder();
  await using bench = await createClusterBench();
  const input = await exportFilled(disk);
  await moveIn(bench, input, { isWanted: (router) => router === 'plant-7' });
  expect(await moveIn(bench, input)).toMatchObject({ routers: ['plant.7'], known: ['plant-7'], records: 3 });
  await using opened = await bench.open();
  expect((await opened.take('a', 6)).toSorted()).toEqual(
    ROUTERS.flatMap((router) => [1, 2, 3].map((line) => `${router} ${line}`)),
  );
  // As after an end behind the first batch of records.
  const [first] = runSql(
    input,
    '',
    "SELECT note.text AS file, min(batch.id) AS batch FROM note, batch WHERE key = 'imported'",
  );
  await opened.store.writeValue('plant-7', 'imported', `${String(first?.['file'])}@${String(first?.['batch'])}`);
  await moveIn(bench, input, { isWanted: (router) => router === 'plant-7' });
  expect(await opened.take('a', 1)).toEqual(['plant-7 3']);
});

transfer('dead letters move into a cluster and out of it, with their marks; twice is once', async () => {
  await using disk = await createStoreFolder();
  await using other = await createStoreFolder();
  await using bench = await createClusterBench();
  const reason = 'no such field';
  const deadLetterOf = (router: string, uid: string) => ({
    uid,
    line: JSON.stringify({ router, component: 'network', uid, timestamp: '2026-11-21T00:00:00Z' }),
    reason,
    code: '400',
  });
  {
    using deadLetters = disk.openDeadLetters();
    deadLetters.add('a', [deadLetterOf('plant-7', '1'), deadLetterOf('plant.7', '2'), deadLetterOf('plant-8', '3')]);
    deadLetters.markReplay({ ids: deadLetters.list({ limit: 1, order: 'oldest' }).map(({ id }) => id) });
  }
  const input = await exportFilled(disk);
  const isWanted = (router: string) => ROUTERS.includes(router);
  expect(await moveIn(bench, input, { isWanted })).toMatchObject({ deadLetters: 2 });
  const withDeadLetters = <T>(work: (deadLetters: DeadLetters) => T | Promise<T>) =>
    withClusterDeadLetters(toEngine(bench), async (deadLetters) => await work(deadLetters));
  const about = { sink: 'a', component: 'network', timestamp: '2026-11-21T00:00:00Z', code: '400', reason };
  const both = [
    { ...about, uid: '1', router: 'plant-7', isReplayed: true, atMs: NOW_MS },
    { ...about, uid: '2', router: 'plant.7', isReplayed: false, atMs: NOW_MS },
  ];
  expect(await withDeadLetters((deadLetters) => deadLetters.list({ limit: 9, order: 'oldest' }))).toMatchObject(both);
  // Later changes of a dead letter in the cluster are not undone.
  await withDeadLetters((deadLetters) => deadLetters.markReplay({}));
  {
    await using opened = await bench.open({ routers: ROUTERS });
    for (const router of ROUTERS) await opened.store.writeValue(router, 'imported', 'of another file');
  }
  await moveIn(bench, input, { isWanted, replaces: true });
  expect(await withDeadLetters((deadLetters) => deadLetters.list({ limit: 9 }))).toMatchObject([
    { uid: '2', isReplayed: true },
    { uid: '1', isReplayed: true },
  ]);

  const output = join(other.path, 'back.db');
  const options = { removes: true, isWanted: (router: string) => router === 'plant.7' };
  expect(await moveOut(bench, output, options)).toMatchObject({ routers: ['plant.7'], deadLetters: 1 });
  expect(await withDeadLetters((deadLetters) => deadLetters.list({ limit: 9 }))).toMatchObject([{ uid: '1' }]);
  await readDisk(other, output);
  using deadLetters = other.openDeadLetters();
  expect(deadLetters.list({ limit: 9 })).toMatchObject([{ ...both[1], isReplayed: true }]);
});

transfer(
  'importState() refuses dead letters that have no room, and a router of which a cluster has nothing else is exported',
  async () => {
    await using disk = await createStoreFolder();
    await using small = await createClusterBench({ deadLettersBytesMax: 20_000 });
    await using large = await createClusterBench();
    {
      using deadLetters = disk.openDeadLetters();
      const line = (uid: string) => JSON.stringify({ router: 'plant-7', uid, text: 'x'.repeat(5000) });
      deadLetters.add(
        'a',
        Array.from('12345', (uid) => ({ uid, line: line(uid), reason: 'no' })),
      );
      using store = disk.open();
      store.readPositions('plant-7');
    }
    const input = join(disk.path, 'moved.db');
    await writeDisk(disk, input);
    await expect(moveIn(small, input)).rejects.toMatchObject({
      code: 'full',
      hint: expect.stringContaining('dead-letters drop'),
    });
    await moveIn(large, input);
    const output = join(disk.path, 'again.db');
    expect(await moveOut(large, output)).toMatchObject({ routers: ['plant-7'], logs: 0, deadLetters: 5 });
  },
);

transfer('importState() refuses to replace other positions, unless requested', async () => {
  await using disk = await createStoreFolder();
  await using bench = await createClusterBench();
  const input = await exportFilled(disk);
  {
    await using opened = await bench.open();
    await opened.store.commit(commitOf([], 'own'));
  }
  await expect(moveIn(bench, input)).rejects.toMatchObject({
    code: 'broken',
    message: 'The store already has positions of 1 of these logs, such as plant-7/network',
  });
  await moveIn(bench, input, { replaces: true });
  await using opened = await bench.open();
  expect(opened.store.readPositions('plant-7').get('network')).toBe('second plant-7');
});

transfer(
  'a replica that has the router open is refused after an import, and continues from there; an import is refused by its commits',
  async () => {
    await using disk = await createStoreFolder();
    await using bench = await createClusterBench();
    const input = await exportFilled(disk);
    await using replica = await bench.open({ routers: ROUTERS, sinks: [] });
    // Between the reading of the positions and their commit.
    const checkFree = async () => {
      await replica.store.commit(commitOf([], 'mine'));
    };
    const refused: StoreError = await moveIn(bench, input, { checkFree }).then(
      () => expect.unreachable('it was not refused'),
      (cause: unknown) => cause as StoreError,
    );
    expect(refused).toMatchObject({ code: 'fenced', message: expect.stringContaining('plant-7') });
    expect(refused.hint).toContain('Stop the replicas');
    expect(replica.store.readPositions('plant-7').get('network')).toBe('mine');

    await moveIn(bench, input, { replaces: true });
    await expect(replica.store.commit(commitOf([], 'later'))).rejects.toMatchObject({ code: 'fenced' });
    await replica.store.openRouter('plant-7');
    expect(replica.store.readPositions('plant-7').get('network')).toBe('second plant-7');
  },
);

transfer('nothing is read or written while a replica has one of the routers', async () => {
  await using disk = await createStoreFolder();
  await using bench = await createClusterBench();
  const input = await exportFilled(disk);
  const checkFree = async (routers: readonly string[]) => {
    throw new RangeError(`held: ${routers.join(', ')}`);
  };
  const held = 'held: plant-7, plant.7';
  await expect(moveIn(bench, input, { checkFree })).rejects.toThrow(held);
  {
    await using opened = await bench.open({ routers: ROUTERS });
    expect(opened.store.readPositions('plant.7').size).toBe(0);
  }
  await moveIn(bench, input);
  await expect(moveOut(bench, join(disk.path, 'out.db'), { checkFree })).rejects.toThrow(held);
});

transfer(
  'importState() leaves room for cursors, and cuts batches that are too long for a message',
  { timeout: 30_000 },
  async () => {
    await using disk = await createStoreFolder();
    await using small = await createClusterBench({ bytesMax: 1024 * 1024 });
    await using large = await createClusterBench();
    const lines = noisyLines(20_000);
    {
      using store = disk.open();
      store.commit(commitOf(lines));
      using deadLetters = disk.openDeadLetters();
      deadLetters.add('a', [{ uid: '1', line: JSON.stringify({ router: 'plant-7', uid: '1' }), reason: 'no' }]);
    }
    const input = join(disk.path, 'moved.db');
    await writeDisk(disk, input);
    await expect(moveIn(small, input)).rejects.toMatchObject({ code: 'full' });
    // Nothing was written.
    expect(await withClusterDeadLetters(toEngine(small), async (deadLetters) => deadLetters.count())).toBe(0);
    await moveIn(large, input);
    await using opened = await large.open();
    expect(await opened.take('a', lines.length)).toEqual(lines);
  },
);
