import { expect, test, vi } from 'vitest';
import { createSeededRandom, createSystemClock } from '../../src/base/index.ts';
import { expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { expectComplete, expectReceived } from '../support/cluster-records.ts';
import { findLeader } from '../support/cluster-stream.ts';
import { type ClusterWorld, openClusterWorld } from '../support/cluster-world.ts';
import { openCuttableLines } from '../support/cuttable-lines.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { findRepeats, type GoesOn } from '../support/sink-repeats.ts';
import { openNatsCluster } from '../support/sinks/nats-cluster.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 300;
const LEASE_MS = 5000;
const TAKEOVER_MS_MAX = LEASE_MS + 5000;
/** Between two requests to a router for the same. */
const INTERVAL_MS = 3000;
/** Until each router that has moved was asked; more than two intervals only on a busy machine. */
const ASKED_MS_MAX = 12 * INTERVAL_MS;
const WRITE_EVERY_MS = 2000;
/** A batch is often under way when something happens. */
const SINK_MS = 100;
const PATIENCE = { timeout: 180_000, interval: 100 };
const clock = createSystemClock();
const NAMES = ['a', 'b', 'c'];
const FAULTS = ['kill', 'pause', 'cut', 'leader', 'engine', 'rolling'] as const;

/** Everything that a fault works on. */
interface Stage {
  readonly world: ClusterWorld;
  readonly replicas: readonly Replica[];
  readonly engine: Awaited<ReturnType<typeof openNatsCluster>>;
  readonly lines: ReadonlyMap<string, Awaited<ReturnType<typeof openCuttableLines>>>;
  readonly random: () => number;
  /** Until others had the routers of a replica. Milliseconds. */
  readonly takeovers: number[];
  readonly goesOn: GoesOn[];
}

/** Resolves when these replicas have all routers, and records how long that took. */
async function expectTakenOver(stage: Stage, others: readonly Replica[], sinceMs: number): Promise<void> {
  await vi.waitFor(async () => {
    const owned = await Promise.all(others.map((one) => one.measure('cluster_routers_owned')));
    expect(owned.reduce((sum, count) => sum + count, 0)).toBe(ROUTERS);
  }, PATIENCE);
  stage.takeovers.push(performance.now() - sinceMs);
}

/** Every router is asked by these replicas, each by one of them. */
async function expectAsked({ world }: Stage, others: readonly Replica[], routers: readonly string[]): Promise<void> {
  const names = others.map(({ name }) => name);
  const sinceMs = performance.now();
  await vi.waitFor(() => {
    for (const router of routers) {
      const askers = world.askedBy(router, sinceMs).filter((name) => names.includes(name));
      expect(askers, router).toHaveLength(1);
    }
  }, PATIENCE);
  expect(performance.now() - sinceMs).toBeLessThan(ASKED_MS_MAX);
}

/** A fourth replica takes about a quarter of the routers, and gives them back; nothing else moves. */
async function expectQuarterMoves(
  three: readonly Replica[],
  { names }: ClusterWorld,
  startFourth: () => Promise<Replica>,
): Promise<void> {
  const before = await Promise.all(three.map((replica) => replica.listOwn()));
  const fourth = await startFourth();
  await expectShared([...three, fourth], names);
  const { length: moved } = await fourth.listOwn();
  expect(moved).toBeGreaterThan(ROUTERS * 0.17);
  expect(moved).toBeLessThan(ROUTERS * 0.33);
  const kept = await Promise.all(three.map((replica) => replica.listOwn()));
  for (const [index, routers] of kept.entries()) expect(before[index]).toEqual(expect.arrayContaining([...routers]));
  await fourth.stop();
  await expectShared(three, names);
}

async function kill(stage: Stage, victim: Replica, others: readonly Replica[]): Promise<void> {
  const lost = await victim.listOwn();
  await victim.kill();
  await expectTakenOver(stage, others, performance.now());
  await expectAsked(stage, others, lost);
  victim.start();
}

async function pause(stage: Stage, victim: Replica, others: readonly Replica[]): Promise<void> {
  const { world, goesOn } = stage;
  const lost = await victim.listOwn();
  victim.signal('SIGSTOP');
  await expectTakenOver(stage, others, performance.now());
  await expectAsked(stage, others, lost);
  const atMs = performance.now();
  goesOn.push({ atMs, replica: victim.name });
  victim.signal('SIGCONT');
  await expectShared(stage.replicas, world.names);
  // It asks a router again once the others have let it go; before that comes at most what was on the wire.
  const asked = Map.groupBy(
    world.asked.filter((one) => one.atMs >= atMs),
    ({ router }) => router,
  );
  for (const router of lost) {
    const since = asked.get(router) ?? [];
    const lastOfOthers = since.findLastIndex(({ replica }) => replica !== victim.name);
    const early = since.filter(({ replica }, index) => replica === victim.name && index < lastOfOthers);
    expect(early.length, JSON.stringify(since)).toBeLessThanOrEqual(1);
  }
}

/** It reaches routers and sinks, and none of the servers. */
async function cut(stage: Stage, victim: Replica, others: readonly Replica[]): Promise<void> {
  const { world, lines } = stage;
  const lost = await victim.listOwn();
  lines.get(victim.name)?.cut();
  await expectTakenOver(stage, others, performance.now());
  const fromMs = performance.now();
  await expectAsked(stage, others, lost);
  // It goes on with the status, and reads no log that is another's.
  const own = world.asked.filter(({ replica, atMs }) => replica === victim.name && atMs >= fromMs);
  expect([...new Set(own.map(({ path }) => path))]).toEqual(['/status/number']);
  lines.get(victim.name)?.mend();
}

async function killLeader({ world, engine }: Stage): Promise<void> {
  const leader = await vi.waitFor(async () => {
    const found = await Promise.any(engine.servers.map((server) => findLeader(server)));
    expect(found).toBeGreaterThanOrEqual(0);
    return found;
  }, PATIENCE);
  await engine.servers[leader]?.kill();
  world.write();
  // The two others go on.
  await expectReceived(world);
  await engine.servers[leader]?.start();
}

/** All servers end at once. */
async function restartEngine({ engine, random }: Stage): Promise<void> {
  await Promise.all(engine.servers.map((server) => server.kill()));
  await clock.sleep(random() * 2 * LEASE_MS);
  await Promise.all(engine.servers.map((server) => server.start()));
}

async function restartAll({ world, replicas }: Stage): Promise<void> {
  for (const replica of replicas) {
    await replica.stop();
    replica.start();
    await expectShared(replicas, world.names);
  }
}

withPrograms(['nats-server'], test.skipIf(sampled('faults of a cluster', false, true)))(
  `of three replicas and three servers each fails in its way: every line of ${ROUTERS} routers is in the stream once, and others take over in time${sampleNote('faults of a cluster')}`,
  { timeout: 900_000 },
  async (context) => {
    await using engine = await openNatsCluster();
    await using world = await openClusterWorld(ROUTERS, { sinkMs: SINK_MS });
    await using opened = new AsyncDisposableStack();
    const ports = engine.servers.map(({ port }) => port);
    const lines = new Map<string, Awaited<ReturnType<typeof openCuttableLines>>>();
    for (const name of NAMES) lines.set(name, opened.use(await openCuttableLines(ports)));
    await using bench = await openClusterBench({
      servers: engine.urls,
      serversOf: (name) => lines.get(name)?.ports.map((port) => `nats://127.0.0.1:${port}`) ?? engine.urls,
      world,
      lease: `${LEASE_MS}ms`,
      interval: `${INTERVAL_MS}ms`,
      copies: 3,
    });
    const replicas: Replica[] = [];
    for (const name of NAMES) replicas.push(await bench.start(name));
    await expectShared(replicas, world.names);

    await expectQuarterMoves(replicas, world, () => bench.start('d'));

    const seed = Number(process.env['CLUSTER_SEED'] ?? 7);
    const random = createSeededRandom(seed);
    const stage: Stage = { world, replicas, engine, lines, random, takeovers: [], goesOn: [] };
    const pick = <T>(items: T[]): T => items.splice(Math.floor(random() * items.length), 1)[0] as T;
    const stopWriting = world.keepWriting(WRITE_EVERY_MS);
    const left = [...FAULTS];
    const story: string[] = [`seed ${seed}`];
    try {
      while (left.length > 0) {
        const fault = pick(left);
        const [victim, ...others] = [...replicas].toSorted(() => random() - 0.5);
        if (!victim) return expect.unreachable('there is no replica');
        story.push(`${fault} ${victim.name} at ${performance.now().toFixed(0)}`);
        if (fault === 'kill') await kill(stage, victim, others);
        else if (fault === 'pause') await pause(stage, victim, others);
        else if (fault === 'cut') await cut(stage, victim, others);
        else if (fault === 'leader') await killLeader(stage);
        else if (fault === 'engine') await restartEngine(stage);
        else await restartAll(stage);
        await expectShared(replicas, world.names);
        await clock.sleep(random() * 2000);
      }
    } catch (cause) {
      const logs = replicas.map(({ name, log }) => `--- ${name}\n${log.slice(-5000)}`);
      expect.unreachable(`${story.join(', ')}: ${String(cause)}\n${logs.join('\n')}`);
    }
    stopWriting();

    const [first] = engine.servers;
    if (first) await expectComplete(first, world);
    expect(stage.takeovers).toHaveLength(3);
    // Of one, a busy machine may make twice as much.
    const [, median = Number.NaN, longest = Number.NaN] = stage.takeovers.toSorted((one, other) => one - other);
    expect(median).toBeLessThan(TAKEOVER_MS_MAX);
    expect(longest).toBeLessThan(2 * TAKEOVER_MS_MAX);
    const repeats = findRepeats(world.batches, stage.goesOn);
    expect(repeats.unexplained, story.join(', ')).toEqual([]);
    const { records, batches } = repeats;
    const tookSeconds = stage.takeovers.map((ms) => (ms / 1000).toFixed(1)).join(', ');
    await context.annotate(
      `seed ${seed}: taken over after ${tookSeconds} s; ${records} of ${world.received.length} records came again, in ${batches} of ${world.batches.length} batches`,
    );
  },
);
