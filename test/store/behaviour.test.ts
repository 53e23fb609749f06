import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENTS_LOG } from '../../src/model/index.ts';
import type { OpenStore } from '../support/open-store.ts';
import { countRuns } from '../support/sampled.ts';
import { createClusterBench, createEmbeddedBench } from '../support/store-bench.ts';
import { commitOf, noisyLines } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

describe.for([
  ['EmbeddedStore', createEmbeddedBench, []],
  ['ClusterStore', createClusterBench, ['nats-server']],
] as const)('%s', { timeout: 30_000 }, ([, createBench, programs]) => {
  const behaviour = withPrograms(programs, test);

  behaviour('keeps positions by router and component over a restart, the last one of each', async () => {
    await using bench = await createBench();
    {
      await using opened = await bench.open({ routers: ['plant-7', 'plant.7'] });
      const { store } = opened;
      expect(store.readPositions('plant-7')).toEqual(new Map());
      await store.commit(commitOf([], 'first'));
      await store.commit(commitOf(['x'], 'second'));
      await store.commit(commitOf([], 'other', 'system'));
      await store.commit(commitOf([], 'seven', 'network', 'plant.7'));
      expect(store.readPositions('plant-7').get('network')).toBe('second');
    }
    await using opened = await bench.open({ routers: ['plant-7', 'plant.7', 'plant-9'] });
    expect(opened.store.readPositions('plant-7')).toEqual(
      new Map([
        ['network', 'second'],
        ['system', 'other'],
      ]),
    );
    expect(opened.store.readPositions('plant.7')).toEqual(new Map([['network', 'seven']]));
    expect(opened.store.readPositions('plant-9')).toEqual(new Map());
  });

  behaviour('keeps facts and values of a router over a restart, and refuses values that are too long', async () => {
    await using bench = await createBench();
    {
      await using opened = await bench.open();
      const { store } = opened;
      expect([store.readFacts('plant-7'), store.readValue('plant-7', 'day')]).toEqual([undefined, undefined]);
      await store.commit({ router: 'plant-7', facts: 'met' }, commitOf(['x'], 'p'));
      await store.writeValue('plant-7', 'day', '1');
      await store.writeValue('plant-7', 'day', '2');
      await store.writeValue('plant-7', 'a.b', 'ü');
      await expect(async () => store.writeValue('plant-7', 'day', 'x'.repeat(17_000))).rejects.toMatchObject({
        code: 'too-long',
      });
    }
    await using opened = await bench.open();
    const { store } = opened;
    expect([store.readFacts('plant-7'), store.readPositions('plant-7').get('network')]).toEqual(['met', 'p']);
    expect(['day', 'a.b', 'other'].map((key) => store.readValue('plant-7', key))).toEqual(['2', 'ü', undefined]);
  });

  behaviour('stores facts with the step of a log that they are of, or neither', async () => {
    await using bench = await createBench({ bytesMax: 256 * 1024 });
    {
      await using opened = await bench.open();
      const { store } = opened;
      const step = (count: number) =>
        store.commit(commitOf(noisyLines(200, count), `p${count}`), { router: 'plant-7', facts: `f${count}` });
      let stored = -1;
      const fill = async () => {
        for (;;) {
          await step(stored + 1);
          stored++;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'full' });
      expect([store.readFacts('plant-7'), store.readPositions('plant-7').get('network')]).toEqual([
        `f${stored}`,
        `p${stored}`,
      ]);
      expect(stored).toBeGreaterThan(1);
      await store.commit(commitOf([], 'last'), { router: 'plant-7', facts: 'of the last step' });
    }
    await using opened = await bench.open();
    const { store } = opened;
    expect([store.readFacts('plant-7'), store.readPositions('plant-7').get('network')]).toEqual([
      'of the last step',
      'last',
    ]);
  });

  behaviour('forgets the positions of logs, and keeps their records for the sinks', async () => {
    await using bench = await createBench();
    {
      await using opened = await bench.open();
      const { store } = opened;
      for (const component of ['network', 'system', 'modem']) await store.commit(commitOf(['x'], 'p', component));
      await store.forgetLogs('plant-7', ['network', 'modem', 'unknown']);
      expect(store.readPositions('plant-7')).toEqual(new Map([['system', 'p']]));
    }
    await using opened = await bench.open();
    expect(opened.store.readPositions('plant-7')).toEqual(new Map([['system', 'p']]));
    expect(await opened.take('a', 3)).toEqual(['x', 'x', 'x']);
    await opened.store.commit(commitOf(['again'], 'new'));
    expect(opened.store.readPositions('plant-7').get('network')).toBe('new');
  });

  behaviour('keeps the journal of a router with the records of its events, both or neither', async () => {
    await using bench = await createBench({ bytesMax: 256 * 1024 });
    const isEvent = (_router: string, component: string) => component === EVENTS_LOG;
    {
      await using opened = await bench.open();
      const { store } = opened;
      await store.commit(commitOf(['line'], 'position'), commitOf(['down'], 'journal 1', EVENTS_LOG));
      await store.commit(commitOf(['up'], 'journal 2', EVENTS_LOG));
      let stored = 2;
      const fill = async () => {
        for (;;) {
          await store.commit(commitOf(noisyLines(200, stored + 1), `journal ${stored + 1}`, EVENTS_LOG));
          stored++;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'full' });
      expect(store.readPositions('plant-7').get(EVENTS_LOG)).toBe(`journal ${stored}`);
      await store.commit(commitOf([], 'journal without records', EVENTS_LOG));
    }
    await using opened = await bench.open();
    expect(opened.store.readPositions('plant-7')).toEqual(
      new Map([
        [EVENTS_LOG, 'journal without records'],
        ['network', 'position'],
      ]),
    );
    expect(await opened.take('a', 2, { isWanted: isEvent, recordsMax: 2 })).toEqual(['down', 'up']);
  });

  behaviour('hands each sink all records in the order of their commits, over a restart', async () => {
    await using bench = await createBench();
    const sinks = ['a', 'b'];
    {
      await using opened = await bench.open({ sinks });
      const { store } = opened;
      await store.commit(commitOf(['1', '2']));
      await store.commit(commitOf(['3'], 'p', 'system'));
      expect(await opened.take('a', 3)).toEqual(['1', '2', '3']);
      await store.commit(commitOf(['4', 'ü ✓ \\n']));
    }
    await using opened = await bench.open({ sinks });
    expect(await opened.take('a', 2)).toEqual(['4', 'ü ✓ \\n']);
    expect(await opened.take('b', 5)).toEqual(['1', '2', '3', '4', 'ü ✓ \\n']);
    expect(opened.store.countWaiting('a')).toBe(0);
  });

  behaviour('gives the same records again until they are acknowledged, from the middle of a step too', async () => {
    await using bench = await createBench();
    {
      await using opened = await bench.open();
      await opened.store.commit(commitOf(['1', '2', '3']));
      await opened.store.commit(commitOf(['4', '5']));
      const bounds = { recordsMax: 2 };
      expect((await opened.next('a', bounds)).lines).toEqual(['1', '2']);
      expect((await opened.next('a', bounds)).lines).toEqual(['1', '2']);
      await opened.acknowledge('a');
      expect((await opened.next('a', bounds)).lines).toEqual(['3', '4']);
    }
    await using opened = await bench.open();
    expect((await opened.next('a', { bytesMax: 1 })).lines).toEqual(['3']);
    await opened.acknowledge('a');
    expect(await opened.take('a', 2)).toEqual(['4', '5']);
  });

  behaviour('counts what waits for a sink of the logs that it wants, and since when', async () => {
    await using bench = await createBench();
    await using opened = await bench.open();
    const { store } = opened;
    const isWanted = (_router: string, component: string) => component === 'network';
    await store.commit(commitOf(['1', '2'], 'p', 'system'));
    bench.nowMs += 1000;
    await store.commit(commitOf(['3', '4', '5']));
    const wantedMs = bench.nowMs;
    await store.commit(commitOf(['6']));
    await expect.poll(() => store.countWaiting('a')).toBe(6);
    expect(await opened.next('a', { isWanted, recordsMax: 2 })).toEqual({ lines: ['3', '4'], isRepeat: false });
    expect(store.countWaiting('a', isWanted)).toBe(4);
    expect(store.oldestWaitingMs('a', isWanted)).toBe(wantedMs);
    expect(store.oldestWaitingMs('a')).toBe(wantedMs - 1000);
    await opened.acknowledge('a');
    expect([store.countWaiting('a', isWanted), store.countWaiting('a')]).toEqual([2, 2]);
    expect(await opened.take('a', 2, { isWanted })).toEqual(['5', '6']);
    expect([store.countWaiting('a'), store.oldestWaitingMs('a')]).toEqual([0, undefined]);
  });

  behaviour('lets a new sink begin at the oldest record or behind the newest, and takes a sink away', async () => {
    await using bench = await createBench();
    await using opened = await bench.open({ sinks: ['a'] });
    const { store } = opened;
    await store.commit(commitOf(['1']));
    await store.setSinks([
      { name: 'a', start: 'oldest' },
      { name: 'old', start: 'oldest' },
      { name: 'new', start: 'newest' },
    ]);
    await arrive(opened, 'new');
    await store.commit(commitOf(['2']));
    expect(await opened.take('old', 2)).toEqual(['1', '2']);
    expect(await opened.take('new', 1)).toEqual(['2']);
    await store.setSinks([{ name: 'a', start: 'oldest' }]);
    expect(await opened.take('a', 2)).toEqual(['1', '2']);
  });

  behaviour('delivers again what a sink took within its replay, ahead of new records, over a restart', async () => {
    await using bench = await createBench();
    const sinks = [{ name: 'a', start: 'oldest', replayMs: 60_000 } as const];
    {
      await using opened = await bench.open({ sinks });
      await opened.store.commit(commitOf(['1']));
      await opened.take('a', 1);
      bench.nowMs += 300_000;
      await opened.store.commit(commitOf(['2', '3', '4']));
      await opened.take('a', 1, { recordsMax: 1 });
      await opened.take('a', 2);
      await opened.store.commit(commitOf(['5']));
      await opened.store.repeat('a', bench.nowMs);
      expect(await opened.next('a', { recordsMax: 2 })).toEqual({ lines: ['2', '3'], isRepeat: true });
      await opened.acknowledge('a');
    }
    await using opened = await bench.open({ sinks });
    expect(await opened.next('a')).toEqual({ lines: ['4'], isRepeat: true });
    await opened.acknowledge('a');
    expect(await opened.next('a')).toEqual({ lines: ['5'], isRepeat: false });
  });

  behaviour(
    'refuses records without changing anything when it is full, and takes them when there is room',
    async () => {
      await using bench = await createBench({ bytesMax: 256 * 1024 });
      // What could be delivered again gives way to what is new.
      await using opened = await bench.open({ sinks: [{ name: 'a', start: 'oldest', replayMs: 300_000 }] });
      const { store } = opened;
      let committed = 0;
      const fill = async () => {
        for (; ; committed++) await store.commit(commitOf(noisyLines(200, committed), `p${committed}`));
      };
      await expect(fill()).rejects.toMatchObject({ code: 'full', disposition: 'hold-back' });
      expect(store.readPositions('plant-7').get('network')).toBe(`p${committed - 1}`);
      expect(committed).toBeGreaterThan(3);
      expect(await opened.take('a', committed * 200)).toHaveLength(committed * 200);
      if ('purge' in store && typeof store.purge === 'function') await store.purge();
      const more = noisyLines(200, committed);
      await store.commit(commitOf(more, 'later'));
      expect(await opened.take('a', 200)).toEqual(more);
    },
  );

  behaviour('loses, repeats and reorders nothing, whatever is committed, read and restarted', async () => {
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.record({ type: fc.constant('commit' as const), log: fc.nat(2), records: fc.nat(5) }) },
      {
        weight: 4,
        arbitrary: fc.record({ type: fc.constant('read' as const), recordsMax: fc.integer({ min: 1, max: 7 }) }),
      },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
    );
    await using bench = await createBench();
    const sinks = ['a', 'b'];
    let opened = await bench.open({ sinks });
    let count = 0;
    const logs = ['network', 'system', 'modem'];
    const written: string[] = [];
    const got: Record<string, string[]> = { a: [], b: [] };
    const property = fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (actions) => {
      for (const one of actions) {
        if (one.type === 'commit') {
          const lines = Array.from({ length: one.records }, () => `line ${count++}`);
          await opened.store.commit(commitOf(lines, `p${count}`, logs[one.log]));
          written.push(...lines);
        } else if (one.type === 'read') {
          for (const sink of sinks) {
            if ((got[sink]?.length ?? 0) === written.length) continue;
            got[sink]?.push(...(await opened.next(sink, { recordsMax: one.recordsMax })).lines);
            await opened.acknowledge(sink);
          }
        } else {
          await opened[Symbol.asyncDispose]();
          opened = await bench.open({ sinks });
        }
      }
      for (const sink of sinks)
        got[sink]?.push(...(await opened.take(sink, written.length - (got[sink]?.length ?? 0))));
      expect(got).toEqual({ a: written, b: written });
    });
    try {
      await fc.assert(property, { numRuns: Math.ceil(countRuns(60) / 4), endOnFailure: true });
    } finally {
      await opened[Symbol.asyncDispose]();
    }
  });
});

/** Resolves when a sink has its cursor, although there is nothing for it. */
async function arrive({ store }: OpenStore, sink: string): Promise<void> {
  store.readSlice(sink, { recordsMax: 1, bytesMax: 1, isWanted: () => true });
  await store.repeat(sink);
}
