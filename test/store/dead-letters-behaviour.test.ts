import { describe, expect, test, vi } from 'vitest';
import { createClusterDeadLettersBench, createDiskDeadLettersBench } from '../support/dead-letters-bench.ts';
import { NOW_MS } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

const DAY_MS = 86_400_000;
const BOUNDS = { recordsMax: 100, bytesMax: 1_000_000 };

function renderLine(uid: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    timestamp: '2026-11-21T12:00:00.000000000Z',
    router: 'plant-7',
    component: 'network',
    message: uid,
    uid,
    ...more,
  });
}

function deadLetterOf(uid: string, reason = 'field x is no date') {
  return { uid, line: renderLine(uid), reason, code: '400' };
}

function uidsOf(deadLetters: readonly { readonly uid: string }[]): string[] {
  return deadLetters.map(({ uid }) => uid);
}

describe.for([
  ['DeadLetterStore', createDiskDeadLettersBench, []],
  ['ClusterDeadLetters', createClusterDeadLettersBench, ['nats-server']],
] as const)('%s', { timeout: 30_000 }, ([, createBench, programs]) => {
  const behaviour = withPrograms(programs, test);

  behaviour('takes letters of another store as they are, and leaves alone those that it has', async () => {
    await using other = await createBench();
    await using bench = await createBench();
    await using from = await other.open();
    await from.deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    await from.deadLetters.markReplay({ ids: (await from.deadLetters.list({ limit: 1 })).map(({ id }) => id) });
    const moved = await from.deadLetters.list({ limit: 9, order: 'oldest' });
    bench.nowMs += 5000;
    await using to = await bench.open();
    await to.deadLetters.add('a', [deadLetterOf('1', 'known here')]);
    expect(await to.deadLetters.addMoved(moved)).toBe(1);
    expect(await to.deadLetters.addMoved(moved)).toBe(0);
    const listed = await to.deadLetters.list({ limit: 9, order: 'oldest' });
    expect(listed).toMatchObject([
      { uid: '1', reason: 'known here', isReplayed: false, atMs: NOW_MS + 5000 },
      { uid: '2', reason: deadLetterOf('2').reason, isReplayed: true, atMs: NOW_MS },
    ]);
    expect(to.deadLetters.bytes).toBeGreaterThan(0);
  });

  behaviour('keeps what a sink refused with its words, over a restart', async () => {
    await using bench = await createBench();
    bench.nowMs += 0.5;
    {
      await using opened = await bench.open();
      const { deadLetters } = opened;
      await deadLetters.add('es', [deadLetterOf('1', 'ü ✓ "field x"')]);
      await deadLetters.add('a.b', [{ uid: '2', line: 'no JSON', reason: 'too old' }]);
      await deadLetters.add('a.b', []);
    }
    await using opened = await bench.open();
    const { deadLetters } = opened;
    const common = { atMs: NOW_MS, isReplayed: false };
    const origin = { router: 'plant-7', component: 'network', timestamp: '2026-11-21T12:00:00.000000000Z' };
    expect(await deadLetters.list({ limit: 10 })).toEqual([
      { ...common, id: 2, sink: 'a.b', uid: '2', line: 'no JSON', router: '', component: '', reason: 'too old' },
      {
        ...common,
        id: 1,
        sink: 'es',
        uid: '1',
        line: renderLine('1'),
        ...origin,
        reason: 'ü ✓ "field x"',
        code: '400',
      },
    ]);
    expect((await deadLetters.get(2))?.uid).toBe('2');
    expect(await deadLetters.get(3)).toBeUndefined();
    expect(deadLetters.counts()).toEqual(
      new Map([
        ['es', 1],
        ['a.b', 1],
      ]),
    );
    expect([deadLetters.count(), deadLetters.count('es'), deadLetters.count('none')]).toEqual([2, 1, 0]);
  });

  behaviour('takes records whose fields are of another kind than they should be', async () => {
    await using bench = await createBench();
    await using opened = await bench.open();
    const { deadLetters } = opened;
    const lines = ['null', '[]', '7', JSON.stringify({ router: 7, component: null, timestamp: {} })];
    await deadLetters.add(
      'a',
      lines.map((line, index) => ({ uid: String(index), line, reason: '' })),
    );
    expect((await deadLetters.list({ limit: 10, order: 'oldest' })).map(({ line }) => line)).toEqual(lines);
    expect(
      new Set((await deadLetters.list({ limit: 10 })).map(({ router, timestamp }) => `${router}${timestamp}`)),
    ).toEqual(new Set(['undefined']));
  });

  behaviour('replaces the letter of the same record and sink, which then does not wait to be tried again', async () => {
    await using bench = await createBench();
    await using opened = await bench.open();
    const { deadLetters } = opened;
    await deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    await deadLetters.add('b', [deadLetterOf('1')]);
    expect(await deadLetters.markReplay({})).toBe(3);
    const [replayed] = await deadLetters.readReplayed('a', BOUNDS);
    await deadLetters.add('a', [deadLetterOf('1', 'refused again')]);
    expect(deadLetters.count()).toBe(3);
    expect(uidsOf(await deadLetters.readReplayed('a', BOUNDS))).toEqual(['2']);
    expect(uidsOf(await deadLetters.readReplayed('b', BOUNDS))).toEqual(['1']);
    // The number of the letter that was replaced means nothing any more.
    await deadLetters.add('a', [], [replayed?.id ?? 0]);
    const all = await deadLetters.list({ sink: 'a', limit: 10 });
    expect(all.map(({ uid, reason }) => `${uid} ${reason}`)).toEqual(['1 refused again', '2 field x is no date']);
  });

  behaviour('cuts a reason after 1,000 characters', async () => {
    await using bench = await createBench();
    await using opened = await bench.open();
    const { deadLetters } = opened;
    await deadLetters.add('a', [
      deadLetterOf('1', 'x'.repeat(1000)),
      deadLetterOf('2', `${'x'.repeat(998)}😀 and more`),
    ]);
    const [second, first] = await deadLetters.list({ limit: 2 });
    expect(first?.reason).toBe('x'.repeat(1000));
    expect(second?.reason).toBe(`${'x'.repeat(998)}\uFFFD…`);
  });

  behaviour('goes through the letters of a sink in pages, from either end', async () => {
    await using bench = await createBench();
    await using opened = await bench.open();
    const { deadLetters } = opened;
    for (const uid of ['1', '2', '3', '4', '5']) {
      await deadLetters.add('a', [deadLetterOf(uid)]);
      await deadLetters.add('b', [deadLetterOf(uid)]);
    }
    const list = async (order: 'newest' | 'oldest' | undefined, afterId?: number) =>
      await deadLetters.list({ sink: 'b', limit: 2, order, afterId });
    expect(uidsOf(await list(undefined))).toEqual(['5', '4']);
    expect(uidsOf(await list('newest', (await list('newest')).at(-1)?.id))).toEqual(['3', '2']);
    expect(uidsOf(await list('oldest'))).toEqual(['1', '2']);
    expect(uidsOf(await list('oldest', (await list('oldest')).at(-1)?.id))).toEqual(['3', '4']);
    expect(await deadLetters.list({ limit: 0 })).toEqual([]);
    expect(await deadLetters.list({ limit: -1 })).toEqual([]);
    expect(await deadLetters.list({ limit: 7 })).toHaveLength(7);
  });

  behaviour(
    'gives marked letters to be tried again, the oldest first and within bounds, until they are taken away',
    async () => {
      await using bench = await createBench();
      await using opened = await bench.open();
      const { deadLetters } = opened;
      await deadLetters.add(
        'a',
        ['1', '2', '3', '4'].map((uid) => deadLetterOf(uid)),
      );
      expect(await deadLetters.readReplayed('a', BOUNDS)).toEqual([]);
      const ids = (await deadLetters.list({ limit: 10, order: 'oldest' })).map(({ id }) => id);
      expect(await deadLetters.markReplay({ sink: 'b' })).toBe(0);
      expect(await deadLetters.markReplay({ ids: [] })).toBe(0);
      expect(await deadLetters.markReplay({ sink: 'a', ids: [...ids.slice(1), 999] })).toBe(3);
      const lineBytes = Buffer.byteLength(renderLine('1'));
      expect(uidsOf(await deadLetters.readReplayed('a', BOUNDS))).toEqual(['2', '3', '4']);
      expect(uidsOf(await deadLetters.readReplayed('a', { ...BOUNDS, recordsMax: 2 }))).toEqual(['2', '3']);
      expect(uidsOf(await deadLetters.readReplayed('a', { ...BOUNDS, bytesMax: 2 * lineBytes }))).toEqual(['2', '3']);
      expect(uidsOf(await deadLetters.readReplayed('a', { ...BOUNDS, bytesMax: 2 * lineBytes - 1 }))).toEqual(['2']);
      expect(uidsOf(await deadLetters.readReplayed('a', { ...BOUNDS, bytesMax: 1 }))).toEqual(['2']);
      expect(await deadLetters.readReplayed('b', BOUNDS)).toEqual([]);
      expect((await deadLetters.get(ids[1] ?? 0))?.isReplayed).toBe(true);
      await deadLetters.add('a', [], ids.slice(1, 3));
      await deadLetters.add('a', []);
      expect(uidsOf(await deadLetters.readReplayed('a', BOUNDS))).toEqual(['4']);
      expect(deadLetters.count()).toBe(2);
    },
  );

  behaviour('drops by sink, by number and by age, and all of them together', async () => {
    await using bench = await createBench();
    const onDropped = vi.fn();
    await using opened = await bench.open({ onDropped });
    const { deadLetters } = opened;
    const fill = async () => {
      await deadLetters.drop({});
      bench.nowMs = NOW_MS;
      await deadLetters.add('a', [deadLetterOf('1')]);
      await deadLetters.add('b', [deadLetterOf('2')]);
      bench.nowMs += DAY_MS;
      await deadLetters.add('a', [deadLetterOf('3')]);
    };
    const rest = async () => uidsOf(await deadLetters.list({ limit: 10, order: 'oldest' }));
    await fill();
    expect(await deadLetters.drop({ sink: 'a' })).toBe(2);
    expect(await rest()).toEqual(['2']);
    await fill();
    expect(await deadLetters.drop({ olderThanMs: DAY_MS })).toBe(2);
    expect(await rest()).toEqual(['3']);
    await fill();
    expect(await deadLetters.drop({ olderThanMs: DAY_MS + 1 })).toBe(0);
    expect(await deadLetters.drop({ olderThanMs: 0, sink: 'b' })).toBe(1);
    expect(await deadLetters.drop({ ids: [] })).toBe(0);
    const [first] = await deadLetters.list({ limit: 1, order: 'oldest' });
    expect(await deadLetters.drop({ sink: 'b', ids: [first?.id ?? 0] })).toBe(0);
    expect(await deadLetters.drop({ ids: [first?.id ?? 0] })).toBe(1);
    expect(await rest()).toEqual(['3']);
    // Somebody asked for these.
    expect(onDropped).not.toHaveBeenCalled();
  });

  behaviour('drops the oldest of the sink with the largest share above its bound, and tells how many', async () => {
    await using bench = await createBench();
    const onDropped = vi.fn();
    await using opened = await bench.open({ bytesMax: 10_000, onDropped });
    const { deadLetters } = opened;
    const large = (uid: string) => ({ uid, line: renderLine(uid, { message: 'x'.repeat(2000) }), reason: 'no' });
    await deadLetters.add('a', [large('1'), large('2')]);
    await deadLetters.add('b', [large('3'), large('4')]);
    expect(onDropped).not.toHaveBeenCalled();
    expect(deadLetters.bytes).toBeGreaterThan(8000);
    await deadLetters.add('b', [large('5'), large('6'), large('7')]);
    expect(onDropped.mock.calls).toEqual([['b', 3]]);
    expect(uidsOf(await deadLetters.list({ limit: 10, order: 'oldest' }))).toEqual(['1', '2', '6', '7']);
    expect(deadLetters.bytes).toBeLessThanOrEqual(10_000);
    // Letters of a third sink take from the larger ones until all have as much.
    await deadLetters.add('c', [large('8')]);
    expect(onDropped.mock.calls.slice(1)).toEqual([['a', 1]]);
    await deadLetters.add(
      'a',
      Array.from({ length: 500 }, (_, index) => large(`many ${index}`)),
    );
    expect(onDropped.mock.calls.slice(2)).toEqual([['a', 500]]);
    expect(deadLetters.counts()).toEqual(
      new Map([
        ['a', 1],
        ['b', 2],
        ['c', 1],
      ]),
    );
    await deadLetters.add('a', [{ uid: 'huge', line: 'x'.repeat(20_000), reason: 'no' }]);
    expect(deadLetters.counts()).toEqual(
      new Map([
        ['b', 2],
        ['c', 1],
      ]),
    );
  });

  behaviour('drops what is older than 30 days, or than it is told, and tells it', async () => {
    await using bench = await createBench();
    const onDropped = vi.fn();
    {
      await using opened = await bench.open({ onDropped });
      const { deadLetters } = opened;
      await deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
      bench.nowMs += DAY_MS;
      await deadLetters.add('b', [deadLetterOf('3')]);
      await deadLetters.expire(NOW_MS + 30 * DAY_MS - 1);
      expect(onDropped).not.toHaveBeenCalled();
      await deadLetters.expire(NOW_MS + 30 * DAY_MS);
      expect(onDropped.mock.calls).toEqual([['a', 2]]);
    }
    await using opened = await bench.open({ keepMs: 1000, onDropped });
    const { deadLetters } = opened;
    await deadLetters.expire(NOW_MS + DAY_MS + 1000);
    expect(onDropped.mock.calls.slice(1)).toEqual([['b', 1]]);
  });
});
