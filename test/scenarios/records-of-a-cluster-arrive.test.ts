import { expect, test, vi } from 'vitest';
import { createSeededRandom, createSystemClock } from '../../src/base/index.ts';
import { openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { expectComplete, expectReceived } from '../support/cluster-records.ts';
import { findLeader } from '../support/cluster-stream.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsCluster } from '../support/sinks/nats-cluster.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 12;
const LEASE_MS = 3000;
const STEPS = 8;
const PATIENCE = { timeout: 40_000, interval: 100 };
const clock = createSystemClock();

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `whatever happens to replicas and engine, each line is in the stream once, and reaches the sink in order${sampleNote('processes of a fleet')}`,
  { timeout: 600_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: [server.url], world });
    const replicas: Replica[] = [];
    for (const name of ['a', 'b', 'c']) replicas.push(await bench.start(name));
    const random = createSeededRandom(Number(process.env['CLUSTER_SEED'] ?? 7));
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const isMember = async (replica: Replica) => (await replica.measure('cluster_lease_held')) === 1;

    for (let step = 0; step < STEPS; step++) {
      world.write();
      const replica = pick(replicas);
      const kind = pick(['kill', 'stop', 'pause', 'server'] as const);
      if (kind === 'kill') await replica.kill();
      else if (kind === 'stop') await replica.stop();
      else if (kind === 'pause') replica.signal('SIGSTOP');
      else await server.kill();
      await clock.sleep(500 + random() * 2 * LEASE_MS);
      world.write();
      if (kind === 'pause') replica.signal('SIGCONT');
      else if (kind === 'server') await server.start();
      else replica.start();
      await vi.waitFor(async () => {
        for (const one of replicas) expect(await isMember(one), one.log).toBe(true);
      }, PATIENCE);
    }
    world.write();

    await expectComplete(server, world);
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `of three servers the leaders of stream and bucket are killed: the replicas go on, and each line is in the stream once${sampleNote('processes of a fleet')}`,
  { timeout: 600_000 },
  async () => {
    await using engine = await openNatsCluster();
    const [first] = engine.servers;
    if (!first) return expect.unreachable('there is no server');
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: engine.urls, world, copies: 3 });
    const replicas = [await bench.start('a'), await bench.start('b')];
    for (const stream of ['RX_plant', 'KV_rx_plant']) {
      world.write();
      const leader = await vi.waitFor(async () => {
        const found = await findLeader(first, stream);
        expect(found).toBeGreaterThanOrEqual(0);
        return found;
      }, PATIENCE);
      await engine.servers[leader]?.kill();
      world.write();
      // The two others go on.
      await expectReceived(world).catch((cause: unknown) => {
        expect.unreachable(`${String(cause)}\n${replicas.map(({ log }) => log).join('\n')}`);
      });
      await engine.servers[leader]?.start();
      await vi.waitFor(async () => {
        for (const one of replicas) expect(await one.measure('cluster_lease_held'), one.log).toBe(1);
      }, PATIENCE);
    }
    world.write();
    await expectComplete(first, world);
  },
);
