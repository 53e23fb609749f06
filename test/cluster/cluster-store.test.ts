import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { createZstdCompress, zstdCompressSync } from 'node:zlib';
import { DiscardPolicy, RetentionPolicy, type StreamConfig } from '@nats-io/jetstream';
import { describe, expect, test, vi } from 'vitest';
import { createSystemClock, packLines, renderErrorChain, Secret } from '../../src/base/index.ts';
import { ClusterStore, initCluster } from '../../src/cluster/cluster.ts';
import type { ClusterStoreOptions } from '../../src/cluster/cluster-store.ts';
import { StoreError } from '../../src/model/index.ts';
import { toOpenStore } from '../support/open-store.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { type ClusterBench, createClusterBench } from '../support/store-bench.ts';
import { commitOf, thrownBy } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

/** Restarts of a server take a second or two. */
const LIMIT = { timeout: 40_000 };
const MIB = 1024 * 1024;
type DamagedRecords = Parameters<NonNullable<ClusterStoreOptions['onDamaged']>>[0];

/** The records in the stream, in its order, and the subjects of everything that is no record. */
async function readStream({ server }: ClusterBench) {
  const stored = await server.read('RX_test');
  return stored.map(({ subject }) => subject);
}

/** Pauses the server, and acknowledges what a sink has read: its cursor waits behind a batch of which the server says nothing. */
async function holdCursor(server: ClusterBench['server'], one: Awaited<ReturnType<ClusterBench['open']>>) {
  await server.pause();
  const stored = one.store.commit(commitOf(['4'], 'p2'));
  const acknowledged = one.acknowledge('a');
  await new Promise(setImmediate);
  return { stored, acknowledged };
}

withPrograms(['nats-server'], describe)('ClusterStore and others of its cluster', LIMIT, () => {
  test('refuses what a replica writes whose router another one has taken over, with all records of the step', async () => {
    await using bench = await createClusterBench();
    await using before = await bench.open({ replica: 'before' });
    await before.store.commit(commitOf(['1'], 'p1'));
    await using after = await bench.open({ replica: 'after' });
    expect(after.store.readPositions('plant-7').get('network')).toBe('p1');
    await after.store.commit(commitOf(['2'], 'p2'), { router: 'plant-7', facts: 'new' });
    await expect(before.store.commit(commitOf(['2'], 'p2'))).rejects.toMatchObject({ code: 'fenced' });
    expect(() => before.store.readPositions('plant-7')).toThrow(StoreError);
    await before.store.openRouter('plant-7');
    expect([before.store.readPositions('plant-7').get('network'), before.store.readFacts('plant-7')]).toEqual([
      'p2',
      'new',
    ]);
    await before.store.commit(commitOf(['3'], 'p3'));
    expect(await after.take('a', 3)).toEqual(['1', '2', '3']);
  });

  test('ends a redelivery of which nothing is left in the stream', async () => {
    await using bench = await createClusterBench();
    await using one = await bench.open({ sinks: [{ name: 'a', start: 'oldest', replayMs: 60_000 }] });
    // Behind what the stream held when its reading began.
    for (const uid of ['0', '1', '2', '3', '4']) {
      await one.store.commit(commitOf([uid], `p${uid}`));
      expect(await one.take('a', 1)).toEqual([uid]);
    }
    await bench.server.purge('RX_test', 'rx.test.rec.>');
    await one.store.repeat('a');
    const bounds = { recordsMax: 10, bytesMax: 1e6, isWanted: () => true };
    const slice = await waitFor(() => one.store.readSlice('a', bounds) ?? expect.fail('There is nothing yet'));
    expect([slice.isRepeat, slice.lines.length]).toEqual([true, 0]);
    await one.store.acknowledge('a', slice.next);
    await one.store.commit(commitOf(['5'], 'p5'));
    expect(await one.take('a', 1)).toEqual(['5']);
  });

  test('stores a value of a router whose logs must be read again, and still refuses its logs', async () => {
    await using bench = await createClusterBench();
    await using before = await bench.open({ replica: 'before' });
    await using after = await bench.open({ replica: 'after' });
    await after.store.commit(commitOf(['1'], 'p1'));
    await expect(before.store.commit(commitOf(['1'], 'p1'))).rejects.toMatchObject({ code: 'fenced' });
    await before.store.writeValue('plant-7', 'lifecycle', 'paused');
    await expect(before.store.commit(commitOf(['2'], 'p2'))).rejects.toMatchObject({ code: 'fenced' });
    await after.store.closeRouter('plant-7');
    await after.store.openRouter('plant-7');
    expect(after.store.readValue('plant-7', 'lifecycle')).toBe('paused');
  });

  test('splits a group by router: a fenced one harms no other in its batch', async () => {
    await using bench = await createClusterBench();
    const routers = Array.from({ length: 20 }, (_, index) => `plant-${index}`);
    await using before = await bench.open({ routers });
    await using after = await bench.open({ routers });
    await after.store.commit(commitOf(['of the new owner'], 'new', 'network', 'plant-3'));
    const commits = routers.map(async (router) => {
      await before.store.commit(commitOf([`of ${router}`], 'p', 'network', router));
    });
    const outcomes = await Promise.allSettled(commits);
    const refused = routers.filter((_, index) => outcomes[index]?.status === 'rejected');
    expect(refused).toEqual(['plant-3']);
    const lines = await after.take('a', 20);
    expect(lines.toSorted()).toEqual(
      [
        'of the new owner',
        ...routers.filter((router) => router !== 'plant-3').map((router) => `of ${router}`),
      ].toSorted(),
    );
    // All that were sent at once went into one batch.
    const batches = new Set((await bench.server.read('RX_test')).map(({ batch }) => batch));
    expect(batches.size).toBeLessThanOrEqual(4);
  });

  test('refuses a step that is larger than the server takes, and stores those of others at the same time', async () => {
    await using bench = await createClusterBench();
    await using one = await bench.open({ routers: ['plant-7', 'plant-8'] });
    const other = (uid: string) => ({ ...commitOf([uid], `p${uid}`), router: 'plant-8' });
    const [first, large, last] = await Promise.allSettled([
      one.store.commit(other('1')),
      one.store.commit(commitOf(['2'], 'x'.repeat(1_200_000))),
      one.store.commit(other('3')),
    ]);
    expect([first, last]).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
    expect(large).toMatchObject({ reason: { code: 'too-long', message: expect.stringContaining('plant-7') } });
    await one.store.commit(commitOf(['4'], 'p4'));
    expect(await one.take('a', 3)).toEqual(['1', '3', '4']);
  });

  test('writes nothing for a router that this replica does not own any more', async () => {
    await using bench = await createClusterBench();
    const owned = new Set(['plant-7']);
    await using opened = await bench.open({ isOwner: (_kind, name) => owned.has(name) });
    await opened.store.commit(commitOf(['1'], 'p1'));
    owned.clear();
    await expect(opened.store.commit(commitOf(['2'], 'p2'))).rejects.toMatchObject({ code: 'fenced' });
    expect(await readStream(bench)).toEqual(['rx.test.rec.plant-7.network', 'rx.test.pos.plant-7.network']);
  });

  test('serves a sink from one replica at a time, and refuses the cursor of the one before', async () => {
    await using bench = await createClusterBench();
    const owner = { sink: 'one' };
    const isOwnerAt =
      (replica: string): ClusterStoreOptions['isOwner'] =>
      (kind) =>
        kind !== 'sink' || owner.sink === replica;
    await using one = await bench.open({ replica: 'one', isOwner: isOwnerAt('one') });
    await using two = await bench.open({ replica: 'two', isOwner: () => true });
    await one.store.commit(commitOf(['1', '2', '3', '4']));
    await one.next('a', { recordsMax: 2 });
    await two.take('a', 3, { recordsMax: 3 });
    await expect(one.acknowledge('a')).rejects.toMatchObject({ code: 'fenced' });
    expect((await one.next('a')).lines).toEqual(['4']);
    owner.sink = 'two';
    expect([one.store.serves('a'), two.store.serves('a')]).toEqual([false, true]);
    // The caller must not assume that it is done.
    await expect(one.store.repeat('a')).rejects.toMatchObject({ code: 'fenced' });
    expect(one.store.readSlice('a', { recordsMax: 1, bytesMax: 1, isWanted: () => true })).toBeUndefined();
    expect((await two.next('a')).lines).toEqual(['4']);
  });

  test('reads the cursor of a sink again when another replica may have served it, also between two calls', async () => {
    await using bench = await createClusterBench();
    const owner = { sink: 'one', term: 1 };
    const isOwnerAt =
      (replica: string): ClusterStoreOptions['isOwner'] =>
      (kind) =>
        kind !== 'sink' || owner.sink === replica;
    await using one = await bench.open({ replica: 'one', isOwner: isOwnerAt('one'), termOf: () => owner.term });
    await using two = await bench.open({ replica: 'two', isOwner: isOwnerAt('two'), termOf: () => owner.term });
    await one.store.commit(commitOf(['1', '2']));
    expect(await one.take('a', 2)).toEqual(['1', '2']);
    await one.store.commit(commitOf(['3', '4'], 'p2'));
    owner.sink = 'two';
    owner.term++;
    expect(await two.take('a', 2)).toEqual(['3', '4']);
    owner.sink = 'one';
    owner.term++;
    await one.store.commit(commitOf(['5'], 'p3'));
    expect((await one.next('a')).lines).toEqual(['5']);
  });

  test('stores the cursor of what a sink has acknowledged although it is read again meanwhile, and returns nothing twice', async () => {
    await using bench = await createClusterBench();
    const owner = { term: 1 };
    await using one = await bench.open({ termOf: () => owner.term });
    await one.store.commit(commitOf(['1', '2', '3']));
    await one.next('a', { recordsMax: 2 });
    const { stored, acknowledged } = await holdCursor(bench.server, one);
    owner.term++;
    expect(one.store.countWaiting('a')).toBe(0);
    bench.server.resume();
    await expect(acknowledged).resolves.toBeUndefined();
    await stored;
    expect(await one.take('a', 2)).toEqual(['3', '4']);
  });

  test('stores the cursor of what a sink has acknowledged when it closes', async () => {
    await using bench = await createClusterBench();
    await using one = await bench.open({ replica: 'one' });
    await one.store.commit(commitOf(['1', '2', '3']));
    await one.next('a', { recordsMax: 2 });
    const { stored, acknowledged } = await holdCursor(bench.server, one);
    const closed = one.store.close();
    bench.server.resume();
    await expect(acknowledged).resolves.toBeUndefined();
    await Promise.all([stored, closed]);
    await using two = await bench.open({ replica: 'two' });
    expect(await two.take('a', 2)).toEqual(['3', '4']);
  });

  test('does not restart a sink whose cursor a later version has written, and reports it', async () => {
    await using bench = await createClusterBench();
    const { connect } = await import('@nats-io/transport-node');
    const connection = await connect({ servers: bench.server.url });
    const later = '{"version":2,"at":[7,0]}';
    await connection.request('rx.test.cur.a', later, { timeout: 5000 });
    await connection.close();
    const reported = Promise.withResolvers<string>();
    await using opened = await bench.open({
      onSilent: (sink, cause) => reported.resolve(`${sink}: ${renderErrorChain(cause)}`),
    });
    await opened.store.commit(commitOf(['1']));
    expect(opened.store.readSlice('a', { recordsMax: 1, bytesMax: 1000, isWanted: () => true })).toBeUndefined();
    expect(await reported.promise).toMatch(
      /^a: The stream has a place of the sink a that cannot be read.*upgrade this replica/,
    );
    const stored = await bench.server.read('RX_test');
    expect(stored.filter(({ subject }) => subject === 'rx.test.cur.a').map(({ text }) => text)).toEqual([later]);
  });

  test('skips records that cannot be read, and reports how many', async () => {
    await using bench = await createClusterBench();
    const damaged: unknown[] = [];
    await using opened = await bench.open({ onDamaged: (one) => void damaged.push(one) });
    const { server } = bench;
    const { connect, headers } = await import('@nats-io/transport-node');
    const connection = await connect({ servers: server.url });
    const words = headers();
    words.set('Rx-Records', '7');
    words.set('Rx-Time', '1');
    const subject = 'rx.test.rec.plant-7.network';
    await connection.request(subject, 'no archive', { headers: words, timeout: 5000 });
    await connection.request(subject, 'no headers');
    await connection.close();
    await opened.store.commit(commitOf(['1'], 'p1'));
    expect(await opened.take('a', 1)).toEqual(['1']);
    const about = { router: 'plant-7', component: 'network', cause: expect.anything() };
    expect(damaged).toEqual([
      { ...about, records: 7 },
      { ...about, records: 1 },
    ]);
  });

  test('gives out no records that expand to more than a step has, or are others than announced, and says why', async () => {
    await using bench = await createClusterBench();
    const damaged: DamagedRecords[] = [];
    await using opened = await bench.open({ onDamaged: (one) => void damaged.push(one) });
    const { connect, headers } = await import('@nats-io/transport-node');
    const connection = await connect({ servers: bench.server.url });
    const words = headers();
    words.set('Rx-Records', '1');
    words.set('Rx-Time', '1');
    const write = (body: Uint8Array) =>
      connection.request('rx.test.rec.plant-7.network', body, { headers: words, timeout: 5000 });
    // Less than a kilobyte, and one without its size.
    const large = zstdCompressSync(Buffer.alloc(9 * MIB));
    const stream = createZstdCompress();
    stream.end(Buffer.alloc(9 * MIB));
    const silent = await buffer(stream);
    for (let count = 0; count < 19; count++) await write(large);
    for (const body of [silent, packLines(['1', '2'])]) await write(body);
    await connection.close();
    await opened.store.commit(commitOf(['3'], 'p1'));
    // One slice looks at a few of them only, although all are here.
    await vi.waitFor(async () => {
      expect(await opened.next('a')).toMatchObject({ lines: [] });
      expect(damaged).toHaveLength(16);
    });
    expect(await opened.take('a', 1)).toEqual(['3']);
    expect(damaged.map(({ cause }) => String(cause))).toEqual([
      ...Array.from({ length: 19 }, () => 'RangeError: The batch expands to 9437184 bytes; the limit is 8388608'),
      expect.stringContaining('larger than 8388608 bytes'),
      'RangeError: The message has 2 records, and says 1',
    ]);
  });

  test('stores a step whose records expand to more than a reader unpacks as several messages, in one commit', async () => {
    await using bench = await createClusterBench();
    await using opened = await bench.open();
    const records = Array.from({ length: 20 }, (_, index) => `${index}${'x'.repeat(MIB)}`);
    await opened.store.commit(commitOf(records, 'p1'));
    const stored = await bench.server.read('RX_test');
    expect(stored.filter(({ subject }) => subject.startsWith('rx.test.rec.'))).toHaveLength(4);
    expect(new Set(stored.map(({ batch }) => batch)).size).toBe(1);
    expect(await opened.take('a', 20)).toEqual(records);
  });

  test('opens no router with more stored values than a router has, and reports where they are', async () => {
    await using bench = await createClusterBench();
    await using opened = await bench.open({ routers: [] });
    const { connect } = await import('@nats-io/transport-node');
    const connection = await connect({ servers: bench.server.url });
    for (let key = 0; key <= 10_000; key++) connection.publish(`rx.test.val.plant-7.${key}`, 'x');
    await connection.request('rx.test.val.plant-7.last', 'x');
    await connection.close();
    await expect(opened.store.openRouter('plant-7')).rejects.toThrow(
      /The stream RX_test has more than 10000 subjects, .* below rx\.test\.val\.plant-7\.\*/,
    );
    await opened.store.openRouter('plant-8');
    await opened.store.commit({ ...commitOf(['1'], 'p1'), router: 'plant-8' });
  });

  test('purges what every sink has and none may get again, at one replica', async () => {
    await using bench = await createClusterBench();
    const sinks = ['a', { name: 'b', start: 'oldest', replayMs: 60_000 } as const];
    await using opened = await bench.open({ sinks });
    const { store } = opened;
    const countRecords = async () => (await readStream(bench)).filter((subject) => subject.includes('.rec.')).length;
    for (const line of ['1', '2', '3']) await store.commit(commitOf([line]));
    await opened.take('a', 3);
    await store.purge();
    expect(await countRecords()).toBe(3);
    await opened.take('b', 3, { recordsMax: 1 });
    await store.purge();
    // The last minute may be delivered again.
    expect(await countRecords()).toBe(3);
    bench.nowMs += 3_600_000;
    await store.commit(commitOf(['4']));
    await opened.take('a', 1);
    await opened.take('b', 1);
    await store.purge();
    expect(await countRecords()).toBe(1);
    expect(store.readPositions('plant-7').get('network')).toBe('p');
  });

  test('stores each step once when the server is killed again and again in the middle', async () => {
    await using bench = await createClusterBench();
    const routers = Array.from({ length: 8 }, (_, index) => `plant-${index}`);
    await using opened = await bench.open({ routers });
    const { store } = opened;
    const steps = 60;
    let done = 0;
    const work = routers.map(async (router) => {
      for (let step = 0; step < steps; ) {
        const lines = [`${router} ${step}`];
        try {
          await store.commit(commitOf(lines, String(step), 'network', router));
          step++;
          done++;
        } catch (cause) {
          expect(cause).toMatchObject({ name: 'StoreError' });
          await vi.waitFor(() => store.openRouter(router), { timeout: 10_000, interval: 50 });
          // Whatever its outcome: the position says where to continue.
          step = Number(store.readPositions(router).get('network') ?? -1) + 1;
        }
      }
    });
    for (const share of [0.2, 0.5, 0.8]) {
      await vi.waitFor(() => expect(done).toBeGreaterThan(share * steps * routers.length), {
        timeout: 20_000,
        interval: 1,
      });
      await bench.server.kill();
      await bench.server.start();
    }
    await Promise.all(work);
    const lines = await opened.take('a', steps * routers.length);
    for (const router of routers) {
      const own = lines.filter((line) => line.startsWith(`${router} `));
      expect(own).toEqual(Array.from({ length: steps }, (_, step) => `${router} ${step}`));
    }
    expect(lines).toHaveLength(steps * routers.length);
  });

  test('reports that no server answers, and continues when one does', async () => {
    await using bench = await createClusterBench();
    await using opened = await bench.open();
    const { store } = opened;
    await store.commit(commitOf(['1'], 'p1'));
    await bench.server.kill();
    await waitFor(() => expect(thrownBy(() => store.checkWritable())).toMatchObject({ code: 'unwritable' }));
    expect(thrownBy(() => store.checkWritable()).disposition).toBe('hold-back');
    await bench.server.start();
    await vi.waitFor(() => store.checkWritable(), { timeout: 10_000, interval: 20 });
    await store.commit(commitOf(['2'], 'p2'));
    expect(await opened.take('a', 2)).toEqual(['1', '2']);
  });
});

/** Returns how the accounts of a server connect to it. */
function accountsOf(url: string) {
  return (username: string) => ({
    servers: [url],
    clock: createSystemClock(),
    auth: { kind: 'basic', username, password: new Secret('secret') } as const,
  });
}

/** All that a replica may do, as the documentation lists it; it does not create the streams. */
const LEAST = (
  /authorization \{[\s\S]*?\n\}/.exec(readFileSync(new URL('../../docs/cluster.md', import.meta.url), 'utf8'))?.[0] ??
  ''
)
  .replaceAll('PASSWORD', 'secret')
  .replaceAll('_NAME', '_test')
  .replaceAll('.NAME', '.test');

withPrograms(['nats-server'], test)(
  'a sink of an account that may not read the stream fails, and says why',
  LIMIT,
  async () => {
    const config = LEAST.replace('"$JS.API.CONSUMER.CREATE.RX_test", ', '');
    await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'secret' } });
    const account = accountsOf(server.url);
    await initCluster({ servers: account('admin'), cluster: 'test', replicas: 1, bytesMax: 1e7 });
    const store = new ClusterStore({
      servers: account('router-exporter'),
      cluster: 'test',
      replica: 'one',
      sinks: [{ name: 'a', start: 'oldest' }],
      isOwner: () => true,
      onRecords: () => {},
    });
    await store.open();
    const read = () => store.readSlice('a', { recordsMax: 1, bytesMax: 1, isWanted: () => true });
    await vi.waitFor(() => expect(thrownBy(read)).toMatchObject({ code: 'unwritable', disposition: 'retry' }), {
      timeout: 30_000,
    });
    await store.close();
  },
);

withPrograms(['nats-server'], test)(
  'a sink whose cursor cannot be read is reported once, with the reason',
  LIMIT,
  async () => {
    const config = LEAST.replace('"$JS.API.STREAM.MSG.GET.RX_test", ', '');
    await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'secret' } });
    const account = accountsOf(server.url);
    await initCluster({ servers: account('admin'), cluster: 'test', replicas: 1, bytesMax: 1e7 });
    const reported: string[] = [];
    const store = new ClusterStore({
      servers: account('router-exporter'),
      cluster: 'test',
      replica: 'one',
      sinks: [{ name: 'a', start: 'oldest' }],
      isOwner: () => true,
      onRecords: () => {},
      onSilent: (sink, cause) => reported.push(`${sink}: ${renderErrorChain(cause)}`),
    });
    await store.open();
    const acknowledge = () => store.acknowledge('a', { batch: 1, index: 0 });
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(acknowledge()).rejects.toMatchObject({ code: 'unwritable' });
    }
    expect(reported).toEqual([expect.stringMatching(/^a: .*ermission/)]);
    await store.close();
  },
);

withPrograms(['nats-server'], describe)('a stream that has lost what replicas have read', LIMIT, () => {
  /** A store that has stored four records in a stream, of which nothing is left. */
  async function openAfterLoss(isServerRestarted: boolean, taken: number) {
    const bench = await createClusterBench();
    const opened = await bench.open();
    // Opens it: its cursor is the first message.
    await opened.store.acknowledge('a', { batch: 0, index: 0 });
    for (const line of ['1', '2', '3', '4']) await opened.store.commit(commitOf([line], line));
    if (taken > 0) await opened.take('a', taken);
    else await opened.next('a');
    if (isServerRestarted) await bench.server.kill();
    if (isServerRestarted) await bench.server.start();
    await bench.server.removeStream('RX_test');
    const servers = { servers: [bench.server.url], clock: bench.clock };
    await initCluster({ servers, cluster: 'test', replicas: 1, bytesMax: 1e7 });
    const commitAnew = () =>
      vi.waitFor(
        async () => {
          await opened.store.openRouter('plant-7');
          await opened.store.commit(commitOf(['again'], 'p'));
        },
        { timeout: 20_000, interval: 20 },
      );
    const dispose = async () => {
      await opened[Symbol.asyncDispose]();
      await bench[Symbol.asyncDispose]();
    };
    return { bench, ...opened, commitAnew, [Symbol.asyncDispose]: dispose };
  }

  test('gives a sink the new records, although they have lower numbers than those that it took', async () => {
    await using opened = await openAfterLoss(false, 4);
    await opened.store.purge();
    await opened.commitAnew();
    expect(await opened.take('a', 1)).toEqual(['again']);
  });

  test('moves no cursor over new records because of what was read before', async () => {
    await using opened = await openAfterLoss(true, 0);
    // The cursor is where it was, with the same number.
    const other = await opened.bench.open({ replica: 'other', routers: [] });
    await other.store.acknowledge('a', { batch: 0, index: 0 });
    await other.store.close();
    await expect(opened.acknowledge('a')).rejects.toMatchObject({ code: 'fenced' });
    await opened.commitAnew();
    expect(await opened.take('a', 1)).toEqual(['again']);
  });

  test('moves no cursor over new records because of what was read before, although there are more of them by now', async () => {
    await using opened = await openAfterLoss(true, 0);
    await using other = await opened.bench.open({ replica: 'other', routers: ['plant-8'] });
    const lines = Array.from({ length: 12 }, (_, index) => `new ${index}`);
    for (const line of lines) await other.store.commit({ ...commitOf([line], line), router: 'plant-8' });
    await expect(opened.acknowledge('a')).rejects.toMatchObject({ code: 'fenced' });
    expect(await opened.take('a', lines.length)).toEqual(lines);
  });
});

withPrograms(['nats-server'], test)('ClusterStore.close() does not wait for an engine that hangs', LIMIT, async () => {
  await using bench = await createClusterBench();
  const opened = await bench.open();
  await opened.store.commit(commitOf(['1'], 'p1'));
  await opened.take('a', 1);
  await bench.server.pause();
  const outcome = expect(opened.store.commit(commitOf(['2'], 'p2'))).rejects.toMatchObject({ code: 'unwritable' });
  const startMs = performance.now();
  await opened.store.close();
  await outcome;
  expect(performance.now() - startMs).toBeLessThan(1500);
  bench.server.resume();
});

withPrograms(['nats-server'], test)(
  'ClusterStore needs no more permissions than docs/cluster.md lists',
  LIMIT,
  async () => {
    await using server = await openNatsServer({ config: LEAST, admin: { user: 'admin', pass: 'secret' } });
    const account = accountsOf(server.url);
    await initCluster({
      servers: account('admin'),
      cluster: 'test',
      replicas: 1,
      bytesMax: 1e7,
      deadLettersBytesMax: 20_000,
    });
    let woken = Promise.withResolvers<void>();
    const store = new ClusterStore({
      servers: account('router-exporter'),
      cluster: 'test',
      replica: 'one',
      sinks: [{ name: 'a', start: 'newest' }],
      isOwner: () => true,
      onRecords: () => {
        woken.resolve();
        woken = Promise.withResolvers<void>();
      },
    });
    await store.open();
    await store.repeat('a');
    await using opened = toOpenStore(store, () => woken.promise);
    await store.openRouter('plant-7');
    await store.commit(commitOf(['1', '2'], 'p'), { router: 'plant-7', facts: 'met' });
    await store.writeValue('plant-7', 'day', '1');
    await store.forgetLogs('plant-7', ['network']);
    await store.closeRouter('plant-7');
    await store.openRouter('plant-7');
    expect(store.readFacts('plant-7')).toBe('met');
    expect(await opened.take('a', 2, { recordsMax: 1 })).toEqual(['1', '2']);
    await store.purge();
    const deadLetter = (uid: string) => ({ uid, line: randomBytes(4000).toString('hex'), reason: 'no such field' });
    await store.deadLetters.add('a', [deadLetter('1'), deadLetter('2')]);
    expect(await store.deadLetters.markReplay({})).toBe(2);
    const [first] = await store.deadLetters.readReplayed('a', { recordsMax: 1, bytesMax: 1 });
    await store.deadLetters.add('a', [], [first?.id ?? 0]);
    expect((await store.deadLetters.list({ limit: 2 })).map(({ uid }) => uid)).toEqual(['2']);
    // The stream becomes full, and old dead letters are purged.
    for (const uid of ['3', '4', '5', '6', '7']) await store.deadLetters.add('a', [deadLetter(uid)]);
    const other = initCluster({ servers: account('router-exporter'), cluster: 'other', replicas: 1, bytesMax: 1e7 });
    await expect(other).rejects.toMatchObject({ code: 'unwritable', disposition: 'hold-back' });
  },
);

withPrograms(['nats-server'], describe)('the stream of a cluster', LIMIT, () => {
  const servers = (url: string) => ({ servers: [url], clock: createSystemClock() });

  test('is created once, and refused when it differs, with the field, what it is and what it must be', async () => {
    await using server = await openNatsServer();
    const init = () => initCluster({ servers: servers(server.url), cluster: 'c', replicas: 1, bytesMax: 1e7 });
    expect([await init(), await init()]).toMatchObject([
      [
        { name: 'RX_c', isNew: true },
        { name: 'RXD_c', isNew: true },
      ],
      [{ isNew: false }, { isNew: false }],
    ]);
    await server.removeStream('RXD_c');
    expect(await init()).toMatchObject([{ isNew: false }, { isNew: true }]);
    await server.updateStream('RX_c', {
      max_age: 60_000_000_000,
      duplicate_window: 1_000_000_000,
      discard: 'old',
    });
    await expect(init()).rejects.toMatchObject({
      code: 'broken',
      disposition: 'operator',
      message: expect.stringMatching(/discard is "old" and must be "new".*max_age is 60000000000 and must be 0/),
    });
  });

  /** Fields that a stream differs in, and what a replica that starts says of them. */
  const DIFFERENCES: readonly (readonly [Partial<StreamConfig>, string])[] = [
    // A full stream would lose positions by the first one, and by the next two every stream those that no consumer waits for.
    [{ discard: DiscardPolicy.Old }, 'discard is "old" and must be "new"'],
    [{ retention: RetentionPolicy.Interest }, 'retention is "interest" and must be "limits"'],
    [{ retention: RetentionPolicy.Workqueue }, 'retention is "workqueue" and must be "limits"'],
    [{ max_age: 60_000_000_000, duplicate_window: 1_000_000_000 }, 'max_age is 60000000000 and must be 0'],
    [{ max_msgs_per_subject: 1 }, 'max_msgs_per_subject is 1 and must be -1'],
    [{ allow_atomic: false }, 'allow_atomic is not set and must be true'],
  ];

  test.for(DIFFERENCES)(
    'is refused by each replica that starts, which writes nothing to it, when it exists with %j',
    async ([difference, words]) => {
      await using server = await openNatsServer();
      await initCluster({ servers: servers(server.url), cluster: 'c', replicas: 1, bytesMax: 1e7 });
      const right = await server.readConfig('RX_c');
      await server.removeStream('RX_c');
      await server.addStream({ ...right, ...difference });
      const reported: string[] = [];
      const store = new ClusterStore({
        servers: servers(server.url),
        cluster: 'c',
        replica: 'one',
        sinks: [{ name: 'a', start: 'oldest' }],
        isOwner: () => true,
        onRecords: () => {},
        onFault: ({ message }) => reported.push(message),
      });
      // No field but this one.
      const message = `The stream RX_c is not as the cluster needs it: ${words}`;
      await expect(store.open()).rejects.toMatchObject({ code: 'broken', disposition: 'operator', message });
      expect(reported).toEqual([message]);
      expect(thrownBy(() => store.checkWritable())).toMatchObject({ code: 'broken', message });
      expect([store.isWaiting, await server.read('RX_c')]).toEqual([true, []]);
      await store.close();
    },
  );

  test.for([
    ['RX_c', undefined, 'has another format, and this program knows 1', 'cluster.nats.name'],
    ['RXD_c', undefined, 'has another format, and this program knows 1', 'cluster.nats.name'],
    ['RX_c', '2', 'has the format 2, and this program knows 1', 'a later one'],
  ] as const)('of the name %s and format %s is left as it is by each replica', async ([name, format, words, hint]) => {
    await using server = await openNatsServer();
    const init = () => initCluster({ servers: servers(server.url), cluster: 'c', replicas: 1, bytesMax: 1e7 });
    await init();
    const right = await server.readConfig(name);
    await server.removeStream(name);
    await server.addStream({ ...right, metadata: format === undefined ? {} : { 'router-exporter-format': format } });
    const before = await server.readConfig(name);
    const onFault = vi.fn();
    const store = new ClusterStore({
      servers: servers(server.url),
      cluster: 'c',
      replica: 'one',
      sinks: [{ name: 'a', start: 'oldest' }],
      isOwner: () => true,
      onRecords: () => {},
      onFault,
    });
    const refusal = {
      code: 'format',
      disposition: 'operator',
      message: `The stream ${name} ${words}; it was left as it is`,
    };
    await expect(store.open()).rejects.toMatchObject({ ...refusal, hint: expect.stringContaining(hint) });
    expect(onFault).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'format' }));
    await expect(init()).rejects.toMatchObject(refusal);
    await store.openRouter('plant-7');
    await expect(store.writeValue('plant-7', 'key', 'text')).rejects.toMatchObject({ code: 'fenced' });
    await expect(store.commit(commitOf(['1']))).rejects.toMatchObject({ code: 'fenced' });
    await expect(store.deadLetters.add('a', [{ uid: '1', line: '{}', reason: 'no' }])).rejects.toMatchObject({
      code: 'fenced',
    });
    expect(store.serves('a')).toBe(false);
    await store.close();
    expect([await server.read('RX_c'), await server.read('RXD_c'), await server.readConfig(name)]).toEqual([
      [],
      [],
      before,
    ]);
  });
});
