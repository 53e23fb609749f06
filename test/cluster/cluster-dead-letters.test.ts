import { randomBytes } from 'node:crypto';
import { connect, headers } from '@nats-io/transport-node';
import { describe, expect, test, vi } from 'vitest';
import { createSystemClock, packLines } from '../../src/base/index.ts';
import { initCluster, withClusterDeadLetters } from '../../src/cluster/cluster.ts';
import { createClusterDeadLettersBench } from '../support/dead-letters-bench.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { createClusterBench } from '../support/store-bench.ts';
import { withPrograms } from '../support/tools.ts';

const LIMIT = { timeout: 40_000 };
const BOUNDS = { recordsMax: 100, bytesMax: 1_000_000 };

function deadLetterOf(uid: string, line = `{"router":"plant-7","uid":"${uid}"}`) {
  return { uid, line, reason: 'no such field', code: '400' };
}

function uidsOf(deadLetters: readonly { readonly uid: string }[]): string[] {
  return deadLetters.map(({ uid }) => uid);
}

withPrograms(['nats-server'], describe)('dead letters of several replicas', LIMIT, () => {
  test('the next owner of a sink sees, lists and replays what the one before wrote, which died without a word', async () => {
    await using bench = await createClusterDeadLettersBench();
    let owner = 'one';
    await using one = await bench.open({ isOwner: () => owner === 'one' });
    await using two = await bench.open({ isOwner: () => owner === 'two' });
    // The other one has looked before.
    expect(await two.deadLetters.list({ limit: 10 })).toEqual([]);
    await one.deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    expect(await two.deadLetters.list({ limit: 10 })).toEqual([]);
    expect(await two.deadLetters.readReplayed('a', BOUNDS)).toEqual([]);
    await expect(two.deadLetters.add('a', [deadLetterOf('3')])).rejects.toMatchObject({ code: 'fenced' });

    owner = 'two';
    const found = await two.deadLetters.list({ limit: 10, order: 'oldest' });
    expect(uidsOf(found)).toEqual(['1', '2']);
    expect(two.deadLetters.counts()).toEqual(new Map([['a', 2]]));
    expect(one.deadLetters.counts()).toEqual(new Map());
    const command = { servers: { servers: [bench.server.url], clock: createSystemClock() }, cluster: 'test' };
    expect(await withClusterDeadLetters(command, async (deadLetters) => deadLetters.markReplay({ sink: 'a' }))).toBe(2);
    await two.deadLetters.look();
    const marked = await two.deadLetters.readReplayed('a', BOUNDS);
    expect(marked.map(({ id, uid, line }) => ({ id, uid, line }))).toEqual(
      found.map(({ id, uid, line }) => ({ id, uid, line })),
    );
    await two.deadLetters.add('a', [], [found[0]?.id ?? 0]);
    expect(uidsOf(await two.deadLetters.readReplayed('a', BOUNDS))).toEqual(['2']);
  });

  test('a letter that another one has dropped is not dropped again, and not reported', async () => {
    await using bench = await createClusterDeadLettersBench();
    const onDropped = vi.fn();
    await using one = await bench.open({ bytesMax: 1000, onDropped });
    await using two = await bench.open();
    await one.deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    expect(await two.deadLetters.drop({})).toBe(2);
    await one.deadLetters.add('a', [deadLetterOf('3'), deadLetterOf('4'), deadLetterOf('5')]);
    expect(onDropped).not.toHaveBeenCalled();
    expect(uidsOf(await one.deadLetters.list({ limit: 10, order: 'oldest' }))).toEqual(['3', '4', '5']);
  });

  test('a stream without room takes new letters for old ones of the sink with the most, which are counted', async () => {
    await using bench = await createClusterDeadLettersBench(40_000);
    const onDropped = vi.fn();
    await using opened = await bench.open({ onDropped });
    const { deadLetters } = opened;
    await deadLetters.add('quiet', [deadLetterOf('q')]);
    const large = (uid: string) => deadLetterOf(uid, randomBytes(2000).toString('hex'));
    for (let index = 0; index < 40; index++) await deadLetters.add('loud', [large(String(index))]);
    const kept = deadLetters.count('loud');
    expect(kept).toBeGreaterThan(3);
    expect(onDropped.mock.calls.every(([sink]) => sink === 'loud')).toBe(true);
    expect(onDropped.mock.calls.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(40 - kept);
    expect(uidsOf(await deadLetters.list({ sink: 'loud', limit: 1 }))).toEqual(['39']);
    expect(deadLetters.count('quiet')).toBe(1);
  });

  test('letters of a sink that no replica serves any more are dropped at the janitor when they are too old, and counted', async () => {
    await using bench = await createClusterBench();
    const serving = new Set(['a']);
    const isServed = (sink: string) => serving.has(sink);
    const onDropped = vi.fn();
    const open = (replica: string, isJanitor: boolean) =>
      bench.open({
        ...{ replica, sinks: [], isServed, deadLetters: { onDropped } },
        isOwner: (kind, name) => (kind === 'sink' ? isServed(name) : kind === 'router' || isJanitor),
      });
    await using janitor = await open('one', true);
    await using other = await open('two', false);
    await janitor.store.deadLetters.add('a', [deadLetterOf('1'), deadLetterOf('2')]);
    serving.clear();
    const laterMs = bench.nowMs + 31 * 86_400_000;
    await other.store.deadLetters.expire(laterMs);
    expect(onDropped).not.toHaveBeenCalled();
    await janitor.store.deadLetters.expire(laterMs);
    expect(onDropped.mock.calls).toEqual([['a', 2]]);
    expect((await bench.server.read('RXD_test')).filter(({ text }) => text !== '')).toEqual([]);
  });

  test('a message that somebody else wrote is no letter, and one that is damaged or expands to too much is dropped and counted', async () => {
    await using bench = await createClusterDeadLettersBench();
    const onDropped = vi.fn();
    await using opened = await bench.open({ onDropped });
    const { deadLetters } = opened;
    await deadLetters.add('a', [deadLetterOf('1')]);
    const connection = await connect({ servers: [bench.server.url] });
    const about = headers();
    about.set('Rx-Bytes', '7');
    about.set('Rx-Time', '7');
    connection.publish('rxd.test.a.2', 'no letter');
    connection.publish('rxd.test.too.many.words', 'no letter', { headers: about });
    connection.publish('rxd.test.a.3', 'damaged', { headers: about });
    const long = { version: 1, atMs: 7, reason: '', line: 'x'.repeat(9 * 1024 * 1024) };
    connection.publish('rxd.test.a.4', packLines([JSON.stringify(long)]), { headers: about });
    await connection.drain();
    expect(uidsOf(await deadLetters.list({ limit: 10 }))).toEqual(['1']);
    expect(onDropped.mock.calls).toEqual([['a', 2]]);
    expect(deadLetters.counts()).toEqual(new Map([['a', 1]]));
  });

  test('a replica refuses to work with a stream of letters that is missing or differs', async () => {
    await using server = await openNatsServer();
    const servers = { servers: [server.url], clock: createSystemClock() };
    const init = () => initCluster({ servers, cluster: 'c', replicas: 1, bytesMax: 1e7 });
    await init();
    await server.updateStream('RXD_c', { max_age: 60_000_000_000, duplicate_window: 1_000_000_000 });
    const message = expect.stringMatching(/RXD_c is not as.*max_age is 60000000000 and must be 0/);
    await expect(init()).rejects.toMatchObject({ code: 'broken', message });
    await using bench = await createClusterBench();
    await bench.server.removeStream('RXD_test');
    await expect(bench.open()).rejects.toMatchObject({ code: 'absent', hint: expect.stringContaining('cluster init') });
  });
});
