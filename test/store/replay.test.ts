import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SinkStart } from '../../src/model/index.ts';
import type { EmbeddedStore } from '../../src/store/index.ts';
import { commitOf, createStoreFolder, drain, NOW_MS, noisyLines, readSlice, runSql } from '../support/store-folder.ts';

const REPLAY_MS = 16_000;
const a: SinkStart = { name: 'a', start: 'oldest', replayMs: REPLAY_MS };

/** A store whose clock the test moves. */
async function openBench(sinks: readonly (string | SinkStart)[] = [a], spoolBytesMax?: number) {
  const folder = await createStoreFolder();
  let nowMs = NOW_MS;
  const open = () => folder.open({ sinks, now: () => nowMs, ...(spoolBytesMax !== undefined && { spoolBytesMax }) });
  let store = open();
  return {
    folder,
    get store(): EmbeddedStore {
      return store;
    },
    wait: (ms: number) => {
      nowMs += ms;
    },
    now: () => nowMs,
    /** Commits lines in one batch, and has `sink` take them. */
    ship(sink: string, ...lines: string[]) {
      store.commit(commitOf(lines));
      drain(store, sink);
    },
    reopen() {
      store.close();
      store = open();
    },
    async [Symbol.asyncDispose]() {
      store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('EmbeddedStore.repeat() gives again, before what is new, what a sink took in the last replay before its last records', async () => {
  await using bench = await openBench();
  bench.ship('a', 'old');
  bench.wait(20_000);
  bench.ship('a', '1', '2');
  bench.wait(10_000);
  bench.ship('a', '3');
  // However long ago that was.
  bench.wait(3_600_000);
  bench.store.commit(commitOf(['new']));
  bench.store.repeat('a');
  expect(readSlice(bench.store, 'a')).toMatchObject({ lines: ['1', '2', '3'], isRepeat: true });
  expect(bench.store.countWaiting('a')).toBe(1);
  expect(bench.store.oldestWaitingMs('a')).toBe(bench.now());
  expect(drain(bench.store, 'a')).toEqual(['1', '2', '3', 'new']);
  expect(readSlice(bench.store, 'a')).toBeUndefined();
});

test('EmbeddedStore.repeat() goes back from the time at which the receiver was last known to live', async () => {
  await using bench = await openBench();
  bench.ship('a', '1');
  bench.wait(10_000);
  bench.ship('a', '2');
  bench.store.repeat('a', bench.now() + 10_000);
  expect(drain(bench.store, 'a')).toEqual(['2']);
  bench.store.repeat('a', bench.now() + 20_000);
  expect(drain(bench.store, 'a')).toEqual([]);
  // A repetition of known duration does not restart the count: a receiver that ends idle connections would get
  // the same for ever.
  bench.wait(15_000);
  bench.ship('a', '3');
  bench.store.repeat('a');
  expect(drain(bench.store, 'a')).toEqual(['2', '3']);
});

test('what a sink took again may go again for as long as when it was new', async () => {
  await using bench = await openBench();
  bench.ship('a', '1');
  bench.wait(10_000);
  bench.store.repeat('a');
  expect(drain(bench.store, 'a')).toEqual(['1']);
  bench.wait(15_000);
  bench.ship('a', '2');
  bench.store.repeat('a');
  expect(drain(bench.store, 'a')).toEqual(['1', '2']);
});

test('a pass survives a crash, and restarts when the receiver was lost once more', async () => {
  await using bench = await openBench();
  bench.ship('a', '1', '2', '3');
  bench.ship('a', '4');
  bench.store.commit(commitOf(['new']));
  bench.store.repeat('a');
  const first = readSlice(bench.store, 'a', { recordsMax: 2 });
  expect(first).toMatchObject({ lines: ['1', '2'], isRepeat: true, isFull: true });
  if (first) bench.store.acknowledge('a', first.next);
  bench.reopen();
  expect(readSlice(bench.store, 'a')?.lines).toEqual(['3', '4']);
  bench.wait(60_000);
  bench.store.repeat('a');
  expect(drain(bench.store, 'a')).toEqual(['1', '2', '3', '4', 'new']);
});

test('what is kept for a sink counts neither as spooled nor as waiting, over a restart too, and is freed with the next records', async () => {
  await using bench = await openBench();
  bench.ship('a', '1', '2');
  const nothing = { records: 0, bytes: 0 };
  for (const _ of [1, 2]) {
    expect(bench.store.spooled).toEqual(nothing);
    expect(bench.store.countWaiting('a')).toBe(0);
    expect(bench.store.oldestWaitingMs('a')).toBeUndefined();
    bench.reopen();
  }
  bench.wait(20_000);
  bench.ship('a', '3');
  bench.store.close();
  expect(runSql(bench.folder.database, '', 'SELECT id, records FROM batch')).toEqual([{ id: 2, records: 1 }]);
  bench.reopen();
});

test('without replay nothing is kept, and repeat() does nothing', async () => {
  await using bench = await openBench(['a']);
  bench.ship('a', '1');
  bench.store.repeat('a');
  expect(readSlice(bench.store, 'a')).toBeUndefined();
  bench.store.close();
  expect(runSql(bench.folder.database, '', 'SELECT * FROM batch, taken, repeat')).toEqual([]);
  expect(runSql(bench.folder.database, '', 'SELECT * FROM batch')).toEqual([]);
  bench.reopen();
});

test('a full spool drops what is kept, the oldest first, before it refuses new records', async () => {
  const lines = (seed: number) => noisyLines(50, seed);
  await using bench = await openBench([a], 16 * 1024);
  for (let seed = 1; seed <= 20; seed++) bench.ship('a', ...lines(seed));
  bench.store.repeat('a');
  const again = drain(bench.store, 'a');
  expect(again.length).toBeGreaterThan(0);
  expect(again).toEqual(
    Array.from({ length: 20 }, (_, index) => lines(index + 1))
      .flat()
      .slice(-again.length),
  );
  bench.store.close();
  const [{ bytes }] = runSql(bench.folder.database, '', 'SELECT sum(bytes) AS bytes FROM batch') as [{ bytes: number }];
  expect(bytes).toBeLessThanOrEqual(16 * 1024);
  bench.reopen();
  // What waits fills all of it.
  let seed = 100;
  const fill = () => {
    for (;;) bench.store.commit(commitOf(lines(seed++)));
  };
  expect(fill).toThrow('The spool has reached its limit');
  expect(bench.store.spooled.bytes).toBeGreaterThan(12 * 1024);
  bench.store.repeat('a');
  expect(readSlice(bench.store, 'a')).toMatchObject({ isRepeat: false });
});

test('each sink has its own pass; one that has no replay, or is removed, keeps nothing', async () => {
  await using bench = await openBench([a, 'b']);
  bench.store.commit(commitOf(['1', '2']));
  drain(bench.store, 'a');
  bench.store.repeat('a');
  expect(readSlice(bench.store, 'b')).toMatchObject({ lines: ['1', '2'], isRepeat: false });
  expect(bench.store.spooled.records).toBe(2);
  drain(bench.store, 'b');
  expect(bench.store.spooled.records).toBe(0);
  expect(drain(bench.store, 'a')).toEqual(['1', '2']);
  bench.store.setSinks([{ name: 'b', start: 'oldest' }]);
  bench.store.close();
  expect(runSql(bench.folder.database, '', 'SELECT id FROM batch')).toEqual([]);
  bench.reopen();
});

test('a new sink that begins with the oldest record gets what is kept for another, and it waits then', async () => {
  await using bench = await openBench();
  bench.ship('a', '1', '2');
  bench.store.setSinks([a, { name: 'b', start: 'oldest' }]);
  expect(bench.store.spooled.records).toBe(2);
  expect(drain(bench.store, 'b')).toEqual(['1', '2']);
  expect(bench.store.spooled).toEqual({ records: 0, bytes: 0 });
});

test('a clock that was set back keeps nothing for longer than replay', async () => {
  await using bench = await openBench();
  bench.ship('a', '1');
  bench.wait(-86_400_000);
  bench.ship('a', '2');
  bench.wait(20_000);
  bench.ship('a', '3');
  bench.store.repeat('a');
  expect(drain(bench.store, 'a')).toEqual(['3']);
});

test('a pass goes over the logs that the sink wants only', async () => {
  await using bench = await openBench();
  bench.store.commit(commitOf(['n1']));
  bench.store.commit(commitOf(['s1'], 'p', 'system'));
  drain(bench.store, 'a');
  bench.store.repeat('a');
  const isWanted = (_router: string, component: string) => component === 'network';
  expect(drain(bench.store, 'a', { isWanted })).toEqual(['n1']);
  bench.store.repeat('a');
  expect(drain(bench.store, 'a', { isWanted: () => false })).toEqual([]);
  expect(readSlice(bench.store, 'a')).toBeUndefined();
});

test('whatever a receiver forgets of the last replay goes again: none is missing, and nothing older comes', async () => {
  await using folder = await createStoreFolder();
  const step = fc.oneof(
    fc.record({ kind: fc.constant('commit' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('deliver' as const), recordsMax: fc.integer({ min: 1, max: 7 }) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 9000 }) }),
    fc.record({ kind: fc.constant('lose' as const) }),
    fc.record({ kind: fc.constant('crash' as const) }),
  );
  let run = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const path = `${folder.path}/${run++}`;
      let nowMs = NOW_MS;
      const open = () => folder.open({ path, sinks: [a], now: () => nowMs });
      let store = open();
      let committed = 0;
      /** When the receiver took each line last; what it has lost is not in it. */
      const held = new Map<string, number>();
      const deliver = (recordsMax: number) => {
        const slice = readSlice(store, 'a', { recordsMax });
        if (!slice) return false;
        for (const line of slice.lines) held.set(line, nowMs);
        store.acknowledge('a', slice.next);
        return true;
      };
      const lose = () => {
        for (const [line, atMs] of held) if (nowMs - atMs < REPLAY_MS) held.delete(line);
        store.repeat('a');
      };
      for (const one of steps) {
        if (one.kind === 'commit') {
          store.commit(commitOf(Array.from({ length: one.count }, () => `${committed++}`)));
        } else if (one.kind === 'deliver') deliver(one.recordsMax);
        else if (one.kind === 'wait') nowMs += one.ms;
        else if (one.kind === 'lose') lose();
        else {
          store.close();
          store = open();
          lose();
        }
      }
      lose();
      while (deliver(3));
      expect([...held.keys()].toSorted((one, other) => Number(one) - Number(other))).toEqual(
        Array.from({ length: committed }, (_, index) => `${index}`),
      );
      expect(store.spooled.records).toBe(0);
      store.close();
    }),
    { numRuns: 60 },
  );
});
