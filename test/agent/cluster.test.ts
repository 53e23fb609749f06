import { once } from 'node:events';
import { expect, test } from 'vitest';
import { FleetShare } from '../../src/agent/cluster.ts';
import type { FleetWish } from '../../src/agent/routers/fleet.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { Claims, ownsTask, Share } from '../../src/cluster/share.ts';
import {
  digestNames,
  packNames,
  renderClaim,
  renderMember,
  toListKey,
  toMemberKey,
  toOwnerKey,
} from '../../src/cluster/view.ts';
import { createModelReplica } from '../cluster/model-replica.ts';
import { createRouterSettings } from '../support/router-settings.ts';

const NAMES = Array.from({ length: 10 }, (_, index) => `plant-${index}`);
const LEASE_MS = 15_000;
const NEVER = new AbortController().signal;

/** The share of replica `a` in a bucket that a test writes to, and a fleet that only lists what runs. */
function openShare() {
  const clock = createSteppedClock(0);
  const running = new Set<string>();
  /** Those that do not answer their logout. */
  const hanging = new Set<string>();
  const steps: string[] = [];
  const replica = createModelReplica({
    clock,
    leaseMs: LEASE_MS,
    onRelease: (router) => steps.push(`released, running ${running.has(router)}`),
  });
  const { membership } = replica;
  const routers = new Claims('router', membership);
  const shares: Share[] = [];
  const fleetShare = new FleetShare(
    {
      routers,
      sinks: new Claims('sink', membership),
      setRouters: () => {},
      createShare(claims, shared) {
        const share = new Share(
          {
            claims,
            membership,
            clock,
            report(event) {
              if (event.type !== 'moved' || event.kind !== 'router') return;
              steps.push(`${event.taken} taken, ${event.given + event.lost} gone`);
            },
          },
          shared,
        );
        shares.push(share);
        return share;
      },
      join: () => {},
    },
    {
      async apply({ routers: wanted, onRemoved }, signal) {
        const names = new Set(wanted.map(({ name }) => name));
        const removed = [...running].filter((name) => !names.has(name));
        const ends = removed.map(async (name) => {
          if (hanging.has(name)) await once(signal, 'abort');
          running.delete(name);
          onRemoved?.(name);
        });
        await Promise.all(ends);
        for (const name of names) running.add(name);
        return { added: 0, changed: 0, removed: removed.length };
      },
      compare: async () => ({ added: [], changed: [], removed: [], reconnected: 0 }),
      find: (name) => (running.has(name) ? ({} as never) : undefined),
    },
    { names: [], handOver: async () => {}, wake: () => {}, recordUnserved: () => {} },
  );
  const look = () => {
    replica.look();
    for (const share of shares) share.onChange();
  };
  const wish = { routers: NAMES.map((name) => createRouterSettings('http://192.0.2.1', { name })), common: {} };
  const apply = () => fleetShare.apply(wish as unknown as FleetWish, NEVER);
  const enter = (name: string) => replica.enter(name, NAMES);
  const isJanitor = () => ownsTask(membership, 'janitor/janitor');
  return { ...replica, clock, share: routers, running, hanging, steps, enter, look, apply, isJanitor };
}

/** A replica that has joined, and runs all routers. */
async function openAlone() {
  const bench = openShare();
  bench.enter('a');
  bench.acquire();
  await bench.apply();
  bench.look();
  await bench.clock.advance(1000);
  expect([...bench.running]).toEqual(NAMES);
  return bench;
}

test('without a lease nothing runs, and no request is sent', async () => {
  const { clock, share, running, enter, look, apply, isJanitor } = openShare();
  enter('a');
  await apply();
  look();
  await clock.advance(5000);
  expect([running.size, share.mayAsk('plant-0'), isJanitor()]).toEqual([0, false, false]);
});

test('a router that goes to another replica is logged out of before it is released, and not before the members have settled', async () => {
  const { clock, share, running, steps, view, enter, look } = await openAlone();
  steps.length = 0;
  enter('b');
  look();
  await clock.advance(900);
  look();
  await clock.advance(900);
  expect(running.size).toBe(NAMES.length);
  await clock.advance(200);
  const kept = NAMES.filter((name) => view.findRouterOwner(name) === 'a');
  expect([...running]).toEqual(kept);
  expect(kept.length).toBeLessThan(NAMES.length);
  const gone = NAMES.length - kept.length;
  expect(steps).toEqual([...Array.from({ length: gone }, () => 'released, running false'), `0 taken, ${gone} gone`]);
  for (const name of NAMES) expect([name, share.mayAsk(name)]).toEqual([name, kept.includes(name)]);
});

test('a router that does not answer its logout is released when its time is over, and holds up no other', async () => {
  const { clock, running, hanging, steps, view, enter, look } = await openAlone();
  steps.length = 0;
  enter('b');
  const given = NAMES.filter((name) => view.findRouterOwner(name) === 'a');
  look();
  const kept = NAMES.filter((name) => view.findRouterOwner(name) === 'a');
  const gone = given.filter((name) => !kept.includes(name));
  expect(gone.length).toBeGreaterThan(1);
  const [silent = ''] = gone;
  hanging.add(silent);
  await clock.advance(1000);
  expect(steps).toEqual(gone.slice(1).map(() => 'released, running false'));
  expect([...running].toSorted()).toEqual([...kept, silent].toSorted());
  await clock.advance(5000);
  expect(steps).toEqual([...gone.map(() => 'released, running false'), `0 taken, ${gone.length} gone`]);
});

test('a list that changes moves no router: nothing is logged out of until the lease names the new list', async () => {
  const { clock, bucket, running, steps, look, apply } = await openAlone();
  steps.length = 0;
  // As a reload does: the list is in the bucket before the lease that names it.
  const next = [...NAMES, 'plant-10'];
  bucket.put(toListKey('a'), packNames(next));
  look();
  await apply();
  await clock.advance(1000);
  expect([...running]).toEqual(NAMES);
  const rest = { incarnation: 'a/1', address: undefined, startedMs: 0, version: '' };
  bucket.put(toMemberKey('a'), renderMember({ replica: 'a', ...rest, routers: digestNames(next) }));
  look();
  await clock.advance(1000);
  expect([running.size, steps]).toEqual([NAMES.length, []]);
});

test('members that come and go without end are acted upon all the same', async () => {
  const { clock, running, enter, look } = await openAlone();
  enter('b');
  for (let times = 0; times < 8; times++) {
    look();
    await clock.advance(500);
  }
  expect(running.size).toBeLessThan(NAMES.length);
});

test('a router that another replica has claimed gets no request from then on, before it moves', async () => {
  const { bucket, share, look, running } = await openAlone();
  bucket.put(toOwnerKey('plant-3'), renderClaim({ replica: 'b', incarnation: 'b/1' }));
  look();
  expect([share.mayAsk('plant-3'), share.mayRead('plant-3'), share.mayAsk('plant-4')]).toEqual([false, false, true]);
  expect(running.has('plant-3')).toBe(true);
});

test('a router that another replica has released gets no request before it is claimed again', async () => {
  const { clock, bucket, share, steps, look, running } = await openAlone();
  steps.length = 0;
  bucket.put(toOwnerKey('plant-3'), renderClaim({ replica: 'b', incarnation: 'b/1' }));
  bucket.put(toOwnerKey('plant-3'), undefined);
  look();
  expect([share.mayAsk('plant-3'), share.isOwner('plant-3')]).toEqual([false, false]);
  await clock.advance(1000);
  expect(steps).toEqual(['1 taken, 1 gone']);
  expect([share.mayAsk('plant-3'), share.isOwner('plant-3'), running.has('plant-3')]).toEqual([true, true, true]);
});

test('once the engine is seen to be away no log is read, and what was read before may still be stored while the lease goes on', async () => {
  const { clock, lease, share } = await openAlone();
  lease.recordFailure(clock.monotonic(), 1000);
  const seen = () => [share.mayAsk('plant-0'), share.mayRead('plant-0'), share.isOwner('plant-0')];
  expect(seen()).toEqual([true, false, true]);
  lease.renew(clock.monotonic());
  expect(seen()).toEqual([true, true, true]);
});

test('while the engine is away, status may be polled and logs may not be read; a pause allows neither', async () => {
  const { clock, lease, share, running, isJanitor } = await openAlone();
  for (let second = 0; second < 20; second++) {
    lease.recordFailure(clock.monotonic(), 1000);
    await clock.advance(1000);
  }
  expect([share.mayAsk('plant-0'), share.mayRead('plant-0'), isJanitor()]).toEqual([true, false, false]);
  await clock.advance(LEASE_MS);
  expect([share.mayAsk('plant-0'), running.size]).toEqual([false, NAMES.length]);
});
