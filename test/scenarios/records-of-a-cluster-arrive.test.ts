import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, test, vi } from 'vitest';
import { createSeededRandom, createSystemClock, unpackLines } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type ClusterWorld, openClusterBench, openClusterWorld, type Replica } from '../support/cluster-bench.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsCluster } from '../support/sinks/nats-cluster.ts';
import { type NatsServer, openNatsServer } from '../support/sinks/nats-server.ts';
import { findTool } from '../support/tools.ts';

const natsServer = findTool('nats-server');
const isLeftOut = sampled('processes of a fleet', natsServer.isMissing, true);
const note = `${sampleNote('processes of a fleet')}${natsServer.note}`;
const ROUTERS = 12;
const LEASE_MS = 3000;
const STEPS = 8;
const PATIENCE = { timeout: 40_000, interval: 100 };
const clock = createSystemClock();

/** All records of the stream, in its order. */
async function readStream(server: Pick<NatsServer, 'url'>): Promise<LogRecord[]> {
  const connection = await connect({ servers: [server.url], reconnect: false });
  try {
    const manager = await jetstreamManager(connection);
    const { state } = await manager.streams.info('RX_plant');
    const records: LogRecord[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage('RX_plant', { seq }).catch(() => null);
      if (!message?.subject.startsWith('rx.plant.rec.')) continue;
      const table = unpackLines(message.data);
      for (let index = 0; index < table.length; index++) {
        records.push(JSON.parse(table.at(index)?.text ?? '') as LogRecord);
      }
    }
    return records;
  } finally {
    await connection.close();
  }
}

/** Index of the server that leads a stream; -1 while none does. */
async function findLeader(server: Pick<NatsServer, 'url'>, stream: string): Promise<number> {
  const connection = await connect({ servers: [server.url], reconnect: false });
  try {
    const manager = await jetstreamManager(connection);
    const { cluster } = await manager.streams.info(stream);
    return Number(/^s(\d)$/.exec(cluster?.leader ?? '')?.[1] ?? -1);
  } finally {
    await connection.close();
  }
}

/** Messages that the routers have written, by router. */
function listWritten(world: ClusterWorld): string[] {
  return [...world.written].flatMap(([router, lines]) =>
    lines.map((line) => `${router} ${line.replace(/^.*\] /, '')}`),
  );
}

const toText = ({ router, message }: LogRecord) => `${router} ${message}`;

function expectOrder(records: readonly LogRecord[], world: ClusterWorld): void {
  for (const router of world.names) {
    const seen = new Set<string>();
    const first = records.filter((one) => one.router === router).filter(({ uid }) => !seen.has(uid) && seen.add(uid));
    const numbers = first.map(({ message }) => Number(/line (\d+)/.exec(message ?? '')?.[1] ?? Number.NaN));
    expect(
      numbers.filter((number) => !Number.isNaN(number)),
      router,
    ).toEqual(numbers.filter((number) => !Number.isNaN(number)).toSorted((a, b) => a - b));
  }
}

/** Each line is in the stream once, has reached the sink, and none was given up. */
async function expectComplete(server: Pick<NatsServer, 'url'>, world: ClusterWorld): Promise<void> {
  const written = listWritten(world).toSorted();
  await vi.waitFor(() => {
    expect([...new Set(world.received.filter(({ event }) => event === undefined).map(toText))].toSorted()).toEqual(
      written,
    );
  }, PATIENCE);
  // A server that has just been started answers once there is a leader of all.
  const stored = await vi.waitFor(() => readStream(server), PATIENCE);
  const lines = stored.filter(({ event }) => event === undefined);
  expect(lines.map(toText).toSorted()).toEqual(written);
  const uids = stored.map(({ uid }) => uid);
  expect(uids).toHaveLength(new Set(uids).size);
  expectOrder(stored, world);
  expectOrder(world.received, world);
  // No line was given up.
  expect(world.received.filter(({ event }) => event?.startsWith('gap'))).toEqual([]);
}

test.skipIf(isLeftOut)(
  `whatever happens to replicas and engine, each line is in the stream once, and reaches the sink in order${note}`,
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

test.skipIf(isLeftOut)(
  `of three servers the leaders of stream and bucket are killed: the replicas go on, and each line is in the stream once${note}`,
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
      const written = new Set(listWritten(world));
      // The two others go on.
      await vi.waitFor(() => {
        const received = world.received.filter(({ event }) => event === undefined).map(toText);
        expect(new Set(received), replicas.map(({ log }) => log).join('\n')).toEqual(written);
      }, PATIENCE);
      await engine.servers[leader]?.start();
      await vi.waitFor(async () => {
        for (const one of replicas) expect(await one.measure('cluster_lease_held'), one.log).toBe(1);
      }, PATIENCE);
    }
    world.write();
    await expectComplete(first, world);
  },
);
