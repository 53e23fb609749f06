import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { Claims, Share } from '../../src/cluster/share.ts';
import { renderClaim, toMemberKey, toOwnerKey } from '../../src/cluster/view.ts';
import { createModelReplica } from './model-replica.ts';

const LEASE_MS = 60_000;
const SINKS = ['loki', 'archive', 'siem', 'lake'];

/** The share of replica `a` in a bucket that a test writes to, and sinks that have something in hand for as long as it says. */
function openShare() {
  const clock = createSteppedClock(0);
  const steps: string[] = [];
  const unserved = new Map<string, string>();
  let hands = Promise.withResolvers<void>();
  hands.resolve();
  const replica = createModelReplica({
    clock,
    leaseMs: LEASE_MS,
    onRelease: (sink) => steps.push(`released ${sink}, its own ${claims.isOwner(sink)}`),
  });
  const { membership, view, lease, bucket } = replica;
  const claims: Claims = new Claims('sink', membership);
  const share = new Share(
    { claims, membership, clock, report: () => {} },
    {
      names: () => SINKS,
      async end(gone, signal, onEnded) {
        const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        const end = async (sink: string) => {
          await Promise.race([hands.promise, aborted]);
          steps.push(`${signal.aborted ? 'aborted' : 'settled'} ${sink}, its own ${claims.isOwner(sink)}`);
          onEnded(sink);
        };
        await Promise.all(gone.map(end));
      },
      begin: async () => true,
      onUnserved: (sink, owner) => (owner === undefined ? unserved.delete(sink) : unserved.set(sink, owner)),
    },
  );
  const look = () => {
    replica.look();
    share.onChange();
  };
  const enter = (name: string) => {
    replica.enter(name);
    look();
  };
  const hold = () => {
    hands = Promise.withResolvers<void>();
    return hands.resolve;
  };
  const listOwn = () => SINKS.filter((sink) => claims.isOwner(sink));
  const acquire = () => replica.acquire();
  return { clock, bucket, view, lease, claims, share, steps, unserved, enter, look, hold, listOwn, acquire };
}

/** A replica that has joined and serves all sinks, and those of them that `b` would get. */
async function openAlone() {
  const bench = openShare();
  bench.enter('a');
  bench.acquire();
  await bench.clock.advance(1000);
  expect(bench.listOwn()).toEqual(SINKS);
  const listGone = () => SINKS.filter((sink) => bench.view.findTaskOwner(`sink/${sink}`) === 'b');
  return { ...bench, listGone };
}

test('a sink that goes to another replica is written for until it has nothing in hand, and is released then', async () => {
  const { clock, claims, steps, enter, hold, listGone, listOwn } = await openAlone();
  const settle = hold();
  enter('b');
  const gone = listGone();
  expect(gone.length).toBeGreaterThan(0);
  expect(gone.map((sink) => claims.isLeaving(sink))).not.toContain(true);
  await clock.advance(1000);
  expect(SINKS.filter((sink) => claims.isLeaving(sink))).toEqual(gone);
  expect(listOwn()).toEqual(SINKS);
  settle();
  await new Promise(setImmediate);
  expect(steps.toSorted()).toEqual(
    gone.flatMap((sink) => [`settled ${sink}, its own true`, `released ${sink}, its own false`]).toSorted(),
  );
  expect(listOwn()).toEqual(SINKS.filter((sink) => !gone.includes(sink)));
  expect(SINKS.filter((sink) => claims.isLeaving(sink))).toEqual([]);
});

test('a sink that goes to another replica and does not come to an end is released after five seconds', async () => {
  const { clock, steps, enter, hold, listGone } = await openAlone();
  hold();
  enter('b');
  await clock.advance(1000);
  await clock.advance(4900);
  expect(steps).toEqual([]);
  await clock.advance(200);
  expect(steps).toHaveLength(2 * listGone().length);
  expect(steps[0]).toMatch(/^aborted/);
});

test('a sink of a replica that ends is not released while something is in hand: the end of the lease does that', async () => {
  const { clock, share, steps, enter, hold, listOwn } = await openAlone();
  const settle = hold();
  enter('b');
  await clock.advance(1000);
  share.close();
  settle();
  await clock.advance(20_000);
  expect(listOwn()).toEqual(SINKS);
  expect(steps.filter((step) => step.startsWith('released'))).toEqual([]);
});

test('what another replica has taken is written for no more, and has another term once it is back', async () => {
  const { clock, bucket, claims, look } = await openAlone();
  const before = claims.termOf('loki');
  bucket.put(toOwnerKey('loki', 'sink'), renderClaim({ replica: 'b', incarnation: 'b/1' }));
  look();
  expect([claims.isOwner('loki'), claims.isOwner('siem')]).toEqual([false, true]);
  await clock.advance(1000);
  // The other one is no member any more, so the sink is taken back.
  look();
  await clock.advance(1000);
  expect(claims.isOwner('loki')).toBe(true);
  expect(claims.termOf('loki')).not.toBe(before);
});

test('without a lease nothing is claimed or written, until the lease is back', async () => {
  const { clock, lease, listOwn, look } = await openAlone();
  await clock.advance(LEASE_MS);
  expect(listOwn()).toEqual([]);
  lease.renew(clock.monotonic());
  look();
  expect(listOwn()).toEqual(SINKS);
});

test('a sink that belongs to a replica which does not serve it is reported after a minute, until a replica does', async () => {
  const { clock, bucket, lease, unserved, enter, look, listGone } = await openAlone();
  enter('b');
  const [first = '', ...rest] = listGone();
  for (let second = 0; second < 58; second++) await clock.advance(1000);
  expect([...unserved]).toEqual([]);
  lease.renew(clock.monotonic());
  for (let second = 0; second < 5; second++) await clock.advance(1000);
  expect([...unserved]).toEqual([first, ...rest].map((sink) => [sink, 'b']));
  bucket.put(toOwnerKey(first, 'sink'), renderClaim({ replica: 'b', incarnation: 'b/1' }));
  look();
  await clock.advance(1000);
  expect([...unserved.keys()]).toEqual(rest);
  // It ends, and the sinks are this replica's again.
  bucket.put(toMemberKey('b'), undefined);
  look();
  await clock.advance(1000);
  expect([...unserved]).toEqual([]);
});
