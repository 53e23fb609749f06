import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { commitOf, createStoreFolder, drain, noisyLines, readSlice, thrownBy } from '../support/store-folder.ts';

const SPOOL_BYTES = 100_000;

test('EmbeddedStore.commit() refuses a router more than is left free, while the others continue', async () => {
  await using folder = await createStoreFolder();
  using store = folder.open({ spoolBytesMax: SPOOL_BYTES });
  await store.keepRouters(['noisy', 'calm', 'plant-7'], 0);
  const commit = (router: string, seed: number, lines = 100) =>
    store.commit(commitOf(noisyLines(lines, seed), `p${seed}`, 'network', router));
  let seed = 0;
  const error = thrownBy(() => {
    for (; seed < 100; seed++) commit('noisy', seed);
  });
  expect(error).toMatchObject({ code: 'share', disposition: 'hold-back', message: expect.stringContaining('noisy') });
  expect(store.spooled.bytes).toBeGreaterThan(SPOOL_BYTES * 0.4);
  expect(store.spooled.bytes).toBeLessThanOrEqual(SPOOL_BYTES / 2);
  // Nothing of the refused commit is stored.
  expect(store.readPositions('noisy').get('network')).toBe(`p${seed - 1}`);
  expect(store.hasShare('noisy')).toBe(false);
  for (let more = 0; more < 5; more++) {
    commit('calm', 200 + more, 10);
    commit('plant-7', 300 + more, 10);
  }
  expect(store.hasShare('calm')).toBe(true);
  // A position without records takes no room.
  store.commit(commitOf([], 'later', 'network', 'noisy'));

  const half = store.spooled.bytes / 2;
  for (let slice = readSlice(store, 'a'); slice && store.spooled.bytes > half; slice = readSlice(store, 'a')) {
    store.acknowledge('a', slice.next);
  }
  expect(store.hasShare('noisy')).toBe(true);
  commit('noisy', 400);
});

test('EmbeddedStore.commit() lets the only router use the whole spool, and knows the shares again after a restart', async () => {
  await using folder = await createStoreFolder();
  {
    using store = folder.open({ spoolBytesMax: SPOOL_BYTES });
    await store.keepRouters(['plant-7'], 0);
    const error = thrownBy(() => {
      for (let seed = 0; seed < 100; seed++) store.commit(commitOf(noisyLines(100, seed)));
    });
    expect(error.code).toBe('full');
    expect(store.spooled.bytes).toBeGreaterThan(SPOOL_BYTES * 0.9);
    expect(store.hasShare('plant-7')).toBe(true);
  }
  using store = folder.open({ spoolBytesMax: SPOOL_BYTES });
  await store.keepRouters(['plant-7', 'calm'], 0);
  expect(store.hasShare('plant-7')).toBe(false);
  expect(thrownBy(() => store.commit(commitOf(['1']))).code).toBe('share');
  store.commit(commitOf(['1'], 'p', 'network', 'calm'));
  drain(store, 'a');
  store.commit(commitOf(noisyLines(2000), 'p'));
  expect(store.spooled.bytes).toBeGreaterThan(SPOOL_BYTES);
});

test('EmbeddedStore accepts every router again once the sinks have everything, whatever came before', async () => {
  const step = fc.record({ router: fc.integer({ min: 0, max: 3 }), lines: fc.integer({ min: 1, max: 150 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await using folder = await createStoreFolder();
      using store = folder.open({ spoolBytesMax: 20_000 });
      const routers = ['a', 'b', 'c', 'd'];
      await store.keepRouters(routers, 0);
      let stored = 0;
      for (const [seed, { router, lines }] of steps.entries()) {
        try {
          store.commit(commitOf(noisyLines(lines, seed), 'p', 'network', routers[router]));
          stored += lines;
        } catch (cause) {
          expect(cause).toMatchObject({ disposition: 'hold-back' });
          // A router without waiting records is only refused when the spool has no room at all.
          if (store.spooled.records === 0) throw cause;
        }
      }
      expect(drain(store, 'a')).toHaveLength(stored);
      for (const router of routers) {
        expect(store.hasShare(router)).toBe(true);
        store.commit(commitOf(noisyLines(1), 'p', 'network', router));
      }
    }),
    { numRuns: 20 },
  );
});
