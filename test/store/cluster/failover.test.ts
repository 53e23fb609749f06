import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../../src/base/index.ts';
import { ClusterLink } from '../../../src/store/cluster/link.ts';
import { ClusterStore, initCluster } from '../../../src/store/index.ts';
import { sampled, sampleNote } from '../../support/sampled.ts';
import { openNatsCluster } from '../../support/sinks/nats-cluster.ts';
import { toOpenStore } from '../../support/store-bench.ts';
import { commitOf } from '../../support/store-folder.ts';
import { findTool } from '../../support/tools.ts';

const natsServer = findTool('nats-server');
const ROUTERS = 12;
const STEPS = 150;

test.skipIf(sampled('real receivers', natsServer.isMissing, true))(
  `a stream with three replicas holds each step once, also after kills of its leader in the middle${sampleNote('real receivers')}${natsServer.note}`,
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
      // The others go on without it.
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
