import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { type ClusterBench, expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { expectComplete, expectReceived } from '../support/cluster-records.ts';
import { findLeader } from '../support/cluster-stream.ts';
import { type ClusterWorld, openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsCluster } from '../support/sinks/nats-cluster.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { findNoDiskReason, openSmallDisk } from '../support/small-disk.ts';
import { withPrograms } from '../support/tools.ts';

const run = promisify(execFile);
const noDisk = findNoDiskReason();
const limits = { timeout: 240_000 };
const MIB = 1024 ** 2;
const ROUTERS = 12;
const NOISE_BYTES = 3000;
const FULL = /Log reading paused: records cannot be stored|The stream of the cluster/;
const PATIENCE = { timeout: 60_000, interval: 100 };

/** Routers write until a replica reads no more logs and says why; the routers are asked for their status all the same. */
async function untilPaused(
  world: ClusterWorld,
  replicas: readonly Replica[],
  metric: { readonly [name: string]: number },
  reason: RegExp,
): Promise<void> {
  await vi.waitFor(async () => {
    world.write(NOISE_BYTES);
    for (const [name, value] of Object.entries(metric)) {
      const values = await Promise.all(replicas.map((replica) => replica.measure(name)));
      expect(values, name).toContain(value);
    }
    expect(replicas.map(({ log }) => log).join('\n')).toMatch(reason);
  }, PATIENCE);
  await expectPolled(world);
}

/** The routers are asked for their status all the same. */
async function expectPolled(world: ClusterWorld): Promise<void> {
  const sinceMs = performance.now();
  await vi.waitFor(() => {
    for (const router of world.names) expect(world.askedBy(router, sinceMs)).not.toEqual([]);
  }, PATIENCE);
}

/** Everything that was held back arrives, and nothing is held back any more. */
async function expectRecovered(world: ClusterWorld, replicas: readonly Replica[]): Promise<void> {
  world.write();
  await expectReceived(world);
  await expectShared(replicas, world.names);
  await vi.waitFor(async () => {
    for (const replica of replicas) expect(await replica.measure('spool_held_back')).toBe(0);
  }, PATIENCE);
  const uids = world.received.map(({ uid }) => uid);
  expect(uids).toHaveLength(new Set(uids).size);
  expect(world.received.filter(({ event }) => event?.startsWith('gap'))).toEqual([]);
}

async function startTwo(bench: ClusterBench, { names }: ClusterWorld): Promise<readonly Replica[]> {
  const replicas = [await bench.start('a'), await bench.start('b')];
  await expectShared(replicas, names);
  return replicas;
}

withPrograms(['nats-server'], describe.skipIf(sampled('faults of a cluster', false, true)))(
  `the engine of a cluster${sampleNote('faults of a cluster')}`,
  limits,
  () => {
    test('is full, because a sink takes nothing: logs pause, and go on by themselves when it does', async () => {
      await using server = await openNatsServer();
      await using world = await openClusterWorld(ROUTERS);
      const options = { servers: [server.url], world, sinks: ['world'], maxBytes: '1MiB' } as const;
      await using bench = await openClusterBench(options);
      const replicas = await startTwo(bench, world);
      world.setDown(true);
      await untilPaused(world, replicas, { spool_held_back: 1, cluster_lease_held: 1 }, FULL);
      world.setDown(false);
      await expectRecovered(world, replicas);
    });

    test('has no storage left, because another stream has it: logs pause, and go on by themselves when it is purged', async () => {
      await using server = await openNatsServer({ fileMax: '40MB' });
      await using world = await openClusterWorld(ROUTERS);
      await using bench = await openClusterBench({ servers: [server.url], world, maxBytes: '16MiB' });
      const replicas = await startTwo(bench, world);
      await server.addStream({ name: 'other', subjects: ['other'] });
      await server.fill('other', 100_000);
      await untilPaused(world, replicas, { cluster_lease_held: 0 }, /insufficient resources/);
      await server.purge('other');
      await expectRecovered(world, replicas);
      await expectComplete(server, world);
    });

    test('has a full disk: logs pause, and go on by themselves when the server is started again with room', async (context) => {
      context.skip(noDisk !== undefined, noDisk);
      await using disk = await openSmallDisk(48 * MIB);
      await using server = await openNatsServer({ storePath: join(disk.path, 'store') });
      await using world = await openClusterWorld(ROUTERS);
      await using bench = await openClusterBench({ servers: [server.url], world });
      const replicas = await startTwo(bench, world);
      const filler = join(disk.path, 'filler');
      await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']).catch(() => {});
      await untilPaused(world, replicas, { cluster_lease_held: 0 }, /The engine of the cluster cannot be used/);
      // It shows the old leases for as long as it stores nothing; they are none.
      await vi.waitFor(async () => {
        for (const replica of replicas) expect(await replica.measure('cluster_lease_age_seconds')).toBeGreaterThan(12);
      }, PATIENCE);
      for (const { log } of replicas) expect(log.match(/This replica has a lease/g)).toHaveLength(1);
      await rm(filler);
      await server.kill();
      // Meanwhile it cannot be written at all.
      await disk.remount('ro');
      await expect(server.start()).rejects.toThrow(/ended without/);
      await expectPolled(world);
      await disk.remount('rw');
      await server.start();
      await expectRecovered(world, replicas);
      await expectComplete(server, world);
    });

    test('is three servers, and the disk of the leader is full: the others go on', async (context) => {
      context.skip(noDisk !== undefined, noDisk);
      await using opened = new AsyncDisposableStack();
      const disks = [await openSmallDisk(48 * MIB), await openSmallDisk(48 * MIB), await openSmallDisk(48 * MIB)];
      for (const disk of disks) opened.use(disk);
      await using engine = await openNatsCluster(disks.map(({ path }) => join(path, 'store')));
      await using world = await openClusterWorld(ROUTERS);
      await using bench = await openClusterBench({ servers: engine.urls, world, copies: 3 });
      const replicas = await startTwo(bench, world);
      const [first] = engine.servers;
      if (!first) return expect.unreachable('there is no server');
      const leader = await findLeader(first);
      const filler = join(disks[leader]?.path ?? '', 'filler');
      await run('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']).catch(() => {});
      for (let times = 0; times < 5; times++) {
        world.write(NOISE_BYTES);
        await expectReceived(world);
      }
      await rm(filler);
      await engine.servers[leader]?.kill();
      await engine.servers[leader]?.start();
      await expectRecovered(world, replicas);
      await expectComplete(first, world);
    });
  },
);
