import { expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, createSystemClock, type SteppedClock } from '../../src/base/index.ts';
import { Janitor } from '../../src/cluster/janitor.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { ownsTask } from '../../src/cluster/share.ts';
import { Subjects } from '../../src/cluster/subjects.ts';
import { toMemberKey } from '../../src/cluster/view.ts';
import { type ClusterBench, createClusterBench } from '../support/store-bench.ts';
import { commitOf } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';
import { ModelBucket } from './model-bucket.ts';
import { createModelReplica } from './model-replica.ts';

const LEASE_MS = 15_000;
/** The one that the names of both make the janitor, and the other. */
const [FIRST, SECOND] = ['a', 'b'] as const;

/** The leases of a cluster: a bucket, and the clock of the replicas. */
interface Leases {
  readonly bucket: ModelBucket;
  readonly clock: SteppedClock;
}

/** A replica with a lease, and the share of it that says what belongs to it. Its view is as new as its last look. */
function enterReplica({ bucket, clock }: Leases, replica: string) {
  const one = createModelReplica({ clock, bucket, replica, leaseMs: LEASE_MS });
  one.enter(replica);
  one.lease.acquire(clock.monotonic());
  const look = () => {
    one.look();
    one.lease.see();
  };
  return { lease: one.lease, look, isOwner: () => ownsTask(one.membership, 'janitor/janitor') };
}

/** The store of a replica: it writes records of any router and serves any sink, and is the janitor only as its share says. */
async function openStore(bench: ClusterBench, replica: string, isJanitor: () => boolean) {
  return await bench.open({ replica, isOwner: (kind) => kind !== 'janitor' || isJanitor() });
}

async function openTwo() {
  const stack = new AsyncDisposableStack();
  const bench = stack.use(await createClusterBench());
  const leases = { bucket: new ModelBucket(), clock: createSteppedClock(0) };
  const first = enterReplica(leases, FIRST);
  const second = enterReplica(leases, SECOND);
  for (const { look } of [first, second]) look();
  const one = stack.use(await openStore(bench, FIRST, first.isOwner));
  const two = stack.use(await openStore(bench, SECOND, second.isOwner));
  let written = 0;
  return {
    leases,
    first: { ...first, store: one.store },
    second: { ...second, store: two.store },
    /** Adds three records that the only sink has, and does not need again. */
    settleThree: async () => {
      for (let count = 0; count < 3; count++) await one.store.commit(commitOf([`${++written}`]));
      await one.take('a', 3);
    },
    countRecords: async () => {
      const stored = await bench.server.read('RX_test');
      return stored.filter(({ subject }) => subject.includes('.rec.')).length;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

withPrograms(['nats-server'], test)(
  'of two replicas only the janitor purges, and when its lease ends the other one does',
  { timeout: 30_000 },
  async () => {
    await using bench = await openTwo();
    const { leases, first, second, settleThree, countRecords } = bench;
    expect([first.isOwner(), second.isOwner()]).toEqual([true, false]);
    await settleThree();
    await second.store.purge();
    expect(await countRecords()).toBe(3);
    await first.store.purge();
    expect(await countRecords()).toBe(0);

    // By its own clock the lease has ended, and the engine has not notified the other one yet: for now the router has no owner.
    await leases.clock.advance(LEASE_MS);
    second.lease.renew(leases.clock.monotonic());
    expect([first.isOwner(), second.isOwner()]).toEqual([false, false]);
    await settleThree();
    for (const { store } of [first, second]) await store.purge();
    expect(await countRecords()).toBe(3);

    leases.bucket.put(toMemberKey(FIRST), undefined, undefined, true);
    second.look();
    expect([first.isOwner(), second.isOwner()]).toEqual([false, true]);
    await first.store.purge();
    expect(await countRecords()).toBe(3);
    await second.store.purge();
    expect(await countRecords()).toBe(0);
  },
);

withPrograms(['nats-server'], test)(
  'a janitor whose lease ends while it finds out what is needed purges nothing',
  { timeout: 30_000 },
  async () => {
    await using bench = await openTwo();
    const { first, settleThree, countRecords } = bench;
    await settleThree();
    expect(first.isOwner()).toBe(true);
    const purged = first.store.purge();
    // It has begun, and the engine has not answered yet.
    first.lease.lose();
    await purged;
    expect(await countRecords()).toBe(3);
  },
);

withPrograms(['nats-server'], test)(
  'the cursor of a sink stays as long as another replica serves it, although the janitor does not know the sink',
  { timeout: 30_000 },
  async () => {
    await using bench = await createClusterBench();
    await using one = await bench.open({ sinks: ['a', 'later'] });
    await one.store.acknowledge('later', { batch: 0, index: 0 });
    await one.store.commit(commitOf(['1', '2', '3']));
    await one.take('a', 3);
    let sinceMs = 0;
    const system = createSystemClock();
    const clock = { ...system, monotonic: () => system.monotonic() + sinceMs };
    const link = new ClusterLink({ servers: [bench.server.url], clock, who: 'Test', peer: 'cluster' }, () => {});
    onTestFinished(() => link.close());
    const serving = new Set(['later']);
    const janitor = new Janitor({
      link,
      subjects: new Subjects('test'),
      isOwner: () => true,
      isTight: () => false,
      sinks: () => ['a'],
      isServed: (sink) => serving.has(sink),
      mayKnow: () => true,
    });
    const purgeForHalfAnHour = async () => {
      for (let minutes = 0; minutes < 30; minutes += 5) {
        await janitor.purge();
        sinceMs += 5 * 60_000;
      }
    };
    await purgeForHalfAnHour();
    expect(await one.next('later')).toMatchObject({ lines: ['1', '2', '3'] });
    const countRecords = async () =>
      (await bench.server.read('RX_test')).filter(({ subject }) => subject.includes('.rec.')).length;
    expect(await countRecords()).toBe(1);
    // No replica has it configured any more.
    serving.clear();
    await purgeForHalfAnHour();
    expect(await countRecords()).toBe(0);
  },
);
