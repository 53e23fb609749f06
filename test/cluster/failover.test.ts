import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { ClusterStore, initCluster } from '../../src/cluster/cluster.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { toOpenStore } from '../support/open-store.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsCluster } from '../support/sinks/nats-cluster.ts';
import { commitOf } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 12;
const STEPS = 150;

withPrograms(['nats-server'], test.skipIf(sampled('real receivers', false, true)))(
  `a stream with three replicas holds each step once, also after kills of its leader in the middle${sampleNote('real receivers')}`,
  { timeout: 240_000 },
  async () => {
    await using engine = await openNatsCluster();
    const clock = createSystemClock();
    const servers = { servers: engine.urls, clock };
    await vi.waitFor(() => initCluster({ servers, cluster: 'test', replicas: 3, bytesMax: 5e7 }), {
      timeout: 60_000,
      interval: 200,
    });
    let woken = Promise.withResolvers<void>();
    const store = new ClusterStore({
      servers,
      cluster: 'test',
      replica: 'one',
      sinks: [{ name: 'a', start: 'oldest' }],
      isOwner: () => true,
      onRecords: () => {
        woken.resolve();
        woken = Promise.withResolvers<void>();
      },
    });
    await store.open();
    await using opened = toOpenStore(store, () => woken.promise);
    const routers = Array.from({ length: ROUTERS }, (_, index) => `plant-${index}`);
    let done = 0;
    let interrupted = 0;
    const work = routers.map(async (router) => {
      await store.openRouter(router);
      for (let step = 0; step < STEPS; ) {
        try {
          await store.commit(commitOf([`${router} ${step}`], String(step), 'network', router));
          step++;
          done++;
        } catch (cause) {
          expect(cause).toMatchObject({ name: 'StoreError' });
          interrupted++;
          await vi.waitFor(() => store.openRouter(router), { timeout: 60_000, interval: 100 });
          step = Number(store.readPositions(router).get('network') ?? -1) + 1;
        }
      }
    });
    const finished = Promise.all(work);
    for (const share of [0.25, 0.6]) {
      await vi.waitFor(() => expect(done).toBeGreaterThan(share * STEPS * ROUTERS), { timeout: 60_000, interval: 1 });
      const leader = await findLeader(servers);
      await engine.servers[leader]?.kill();
      // The others continue without it.
      const before = done;
      await vi.waitFor(() => expect(done).toBeGreaterThan(before), { timeout: 60_000, interval: 50 });
      await engine.servers[leader]?.start();
    }
    await finished;
    const lines = await opened.take('a', ROUTERS * STEPS);
    for (const router of routers) {
      const own = lines.filter((line) => line.startsWith(`${router} `));
      expect(own).toEqual(Array.from({ length: STEPS }, (_, step) => `${router} ${step}`));
    }
    expect({ lines: lines.length, interrupted }).toEqual({ lines: ROUTERS * STEPS, interrupted: expect.any(Number) });
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('real receivers', false, true)))(
  `sinks continue within seconds when a server ends that has their consumers, while it stays away${sampleNote('real receivers')}`,
  { timeout: 240_000 },
  async () => {
    await using engine = await openNatsCluster();
    // The connection itself stays as it is.
    const servers = { servers: engine.urls.slice(0, 1), clock: createSystemClock() };
    await vi.waitFor(() => initCluster({ servers, cluster: 'test', replicas: 3, bytesMax: 5e7 }), {
      timeout: 60_000,
      interval: 200,
    });
    const got = new Map<string, string[]>();
    const store = new ClusterStore({
      servers,
      cluster: 'test',
      replica: 'one',
      // With so many, one of the two other servers has some of their consumers.
      sinks: Array.from({ length: 8 }, (_, index) => ({ name: `sink-${index}`, start: 'oldest' })),
      isOwner: () => true,
      onRecords: (sink) => {
        const slice = store.readSlice(sink, { recordsMax: 10, bytesMax: 1e6, isWanted: () => true });
        if (!slice) return;
        const lines = got.get(sink) ?? [];
        lines.push(...slice.lines.map(({ text }) => text));
        got.set(sink, lines);
        void store.acknowledge(sink, slice.next);
      },
    });
    await using opened = new AsyncDisposableStack();
    opened.defer(() => store.close());
    await store.open();
    await store.openRouter('plant-7');
    await store.commit(commitOf(['before'], 'p1'));
    const expectAll = (lines: readonly string[], timeout: number) =>
      vi.waitFor(() => expect([...got.values()]).toEqual(Array.from({ length: 8 }, () => lines)), {
        timeout,
        interval: 20,
      });
    await expectAll(['before'], 20_000);
    const servedBy = await listConsumerServers(servers);
    const away = servedBy.find((name) => name !== 's0') ?? expect.unreachable('all consumers are at one server');

    await engine.servers[Number(away.slice(1))]?.kill();
    await vi.waitFor(
      async () => {
        await store.openRouter('plant-7');
        await store.commit(commitOf(['after'], 'p2'));
      },
      { timeout: 20_000, interval: 50 },
    );

    await expectAll(['before', 'after'], 10_000);
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('real receivers', false, true)))(
  `commits continue within seconds when the server hangs to which the connection leads${sampleNote('real receivers')}`,
  { timeout: 240_000 },
  async () => {
    await using engine = await openNatsCluster();
    const servers = { servers: engine.urls, clock: createSystemClock() };
    await vi.waitFor(() => initCluster({ servers, cluster: 'test', replicas: 3, bytesMax: 5e7 }), {
      timeout: 60_000,
      interval: 200,
    });
    let left = 0;
    const store = new ClusterStore({
      servers,
      cluster: 'test',
      replica: 'one',
      sinks: [],
      isOwner: () => true,
      onRecords: () => {},
      onLeft: () => left++,
    });
    await using opened = new AsyncDisposableStack();
    opened.defer(() => store.close());
    await store.open();
    await store.openRouter('plant-7');
    await store.commit(commitOf(['before'], 'p1'));

    // The connection leads to one of them.
    for (const server of engine.servers) {
      await server.pause();
      await vi.waitFor(
        async () => {
          await store.openRouter('plant-7');
          await store.commit(commitOf(['after'], 'p2'));
        },
        { timeout: 20_000, interval: 50 },
      );
      server.resume();
    }

    expect(left).toBeGreaterThan(0);
  },
);

/** The server that has each consumer of the stream. */
async function listConsumerServers(
  servers: ConstructorParameters<typeof ClusterStore>[0]['servers'],
): Promise<string[]> {
  const link = new ClusterLink({ ...servers, who: 'Test', peer: 'cluster' }, () => {});
  try {
    const { consumers } = await link.ask('CONSUMER.LIST.RX_test');
    return (consumers as readonly { readonly cluster: { readonly leader: string } }[]).map(
      ({ cluster }) => cluster.leader,
    );
  } finally {
    await link.close();
  }
}

/** The index of the server that leads the stream. */
async function findLeader(servers: ConstructorParameters<typeof ClusterStore>[0]['servers']): Promise<number> {
  const link = new ClusterLink({ ...servers, who: 'Test', peer: 'cluster' }, () => {});
  try {
    const { cluster } = await link.ask('STREAM.INFO.RX_test');
    return Number(/^s(\d)$/.exec(String(Reflect.get(Object(cluster), 'leader')))?.[1]);
  } finally {
    await link.close();
  }
}
