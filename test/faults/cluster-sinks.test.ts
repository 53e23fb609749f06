import { expect, test, vi } from 'vitest';
import { findOwner } from '../../src/cluster/view.ts';
import { expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { expectComplete, expectReceived } from '../support/cluster-records.ts';
import { watchCursor } from '../support/cluster-stream.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { findRepeats } from '../support/sink-repeats.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 12;
const LEASE_MS = 3000;
const WRITE_EVERY_MS = 200;
const PATIENCE = { timeout: 30_000, interval: 50 };

/** Returns a name of a replica that gets the sink from `a` when it joins. */
function findHeir(): string {
  const knows = () => true;
  const isHeir = (name: string) =>
    findOwner('sink/world', [
      { replica: 'a', knows },
      { replica: name, knows },
    ]) === name;
  return ['b', 'c', 'd', 'e', 'f', 'g'].find(isHeir) ?? expect.unreachable('the sink stays where it is');
}

withPrograms(
  ['nats-server'],
  test.skipIf(sampled('faults of a cluster', false, true)).for(['SIGKILL', 'SIGSTOP'] as const),
)(
  `another replica serves the sink of one that gets %s in the middle of a batch: it sends that batch again, nothing is missing, and the cursor never goes back${sampleNote('faults of a cluster')}`,
  { timeout: 180_000 },
  async (signal) => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: [server.url], world, lease: `${LEASE_MS}ms` });
    const replicas = [await bench.start('a'), await bench.start('b')];
    await expectShared(replicas, world.names);
    await using cursor = await watchCursor(server, 'world');
    const stopWriting = world.keepWriting(WRITE_EVERY_MS);
    const { batch, answer } = await world.holdNext();
    const isVictim = ({ name }: Replica) => name === batch.replica;
    const victim = replicas.find(isVictim) ?? expect.unreachable('no replica has sent it');
    const other = replicas.find((one) => !isVictim(one)) ?? expect.unreachable('there is no other replica');

    victim.signal(signal);
    const atMs = performance.now();
    // The other one begins with the batch that may or may not have arrived.
    const again = await vi.waitFor(() => {
      const found = world.batches.find(({ replica }) => replica === other.name);
      return found ?? expect.unreachable('the other replica has sent nothing');
    }, PATIENCE);
    expect(again.atMs - atMs).toBeLessThan(LEASE_MS + 5000);
    expect(again.records.map(({ uid }) => uid)).toEqual(expect.arrayContaining(batch.records.map(({ uid }) => uid)));
    await expectReceived(world);

    // Its answer comes now, when others have moved the cursor.
    const goesOnMs = performance.now();
    answer();
    if (signal === 'SIGSTOP') victim.signal('SIGCONT');
    else {
      await victim.program.ended;
      victim.start();
    }
    await expectShared(replicas, world.names);
    // It gets the sink back, and goes on where the other one was.
    await vi.waitFor(() => expect(cursor.places.at(-1)?.owner).toBe(victim.name), PATIENCE);
    stopWriting();
    await expectComplete(server, world);
    const places = cursor.places.map(({ batch: seq, index }) => seq * 1e6 + index);
    expect(places).toEqual(places.toSorted((one, next) => one - next));
    expect(new Set(cursor.places.map(({ owner }) => owner))).toEqual(new Set(['a', 'b']));
    const repeats = findRepeats(world.batches, [{ replica: victim.name, atMs: goesOnMs }]);
    expect(repeats.unexplained).toEqual([]);
    expect(repeats.records).toBeGreaterThanOrEqual(batch.records.length);
    // That of the replica that was lost. The sink moves back without any.
    expect(repeats.batches).toBe(1);
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('faults of a cluster', false, true)))(
  `a sink that moves to a replica that joins, while the receiver has yet to answer, moves behind the answer: no record comes twice${sampleNote('faults of a cluster')}`,
  { timeout: 120_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: [server.url], world, lease: `${LEASE_MS}ms` });
    const first = await bench.start('a');
    await expectShared([first], world.names);
    await using cursor = await watchCursor(server, 'world');
    const stopWriting = world.keepWriting(WRITE_EVERY_MS);
    const { batch, answer } = await world.holdNext();
    expect(batch.replica).toBe(first.name);

    const heir = await bench.start(findHeir());
    // It has given away what goes to the other one. The sink stays with it until the receiver has answered.
    await vi.waitFor(async () => expect((await first.listOwn()).length).toBeLessThan(ROUTERS), PATIENCE);
    expect(world.batches.filter(({ replica }) => replica === heir.name)).toEqual([]);
    answer();
    await vi.waitFor(() => expect(cursor.places.at(-1)?.owner).toBe(heir.name), PATIENCE);
    await expectShared([first, heir], world.names);

    // It goes back the same way when that one stops, which has a batch in hand too.
    const held = await world.holdNext();
    expect(held.batch.replica).toBe(heir.name);
    heir.signal('SIGTERM');
    await vi.waitFor(() => expect(heir.log).toContain('Stopping'), PATIENCE);
    held.answer();
    await heir.program.ended;
    await vi.waitFor(() => expect(cursor.places.at(-1)?.owner).toBe(first.name), PATIENCE);
    await expectShared([first], world.names);
    stopWriting();
    await expectComplete(server, world);
    expect(findRepeats(world.batches, []).records).toBe(0);
  },
);
