import { expect, test } from 'vitest';
import { SinkShare } from '../../src/agent/cluster/sink-share.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { ClusterView, Lease } from '../../src/cluster/index.ts';
import { digestNames, renderClaim, renderMember } from '../../src/cluster/members.ts';
import { toMemberKey, toOwnerKey } from '../../src/cluster/view.ts';
import { ModelBucket } from '../cluster/model-bucket.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

const LEASE_MS = 60_000;
const SINKS = ['loki', 'archive', 'siem', 'lake'];

/** The share of replica `a` in a bucket that a test writes to, and sinks that have something in hand for as long as it says. */
function openShare() {
  const clock = createSteppedClock(0);
  const bucket = new ModelBucket();
  const view = new ClusterView();
  const lease = new Lease({ leaseMs: LEASE_MS, statusGraceMs: LEASE_MS, clock });
  const self = { replica: 'a', incarnation: 'a/1' };
  const steps: string[] = [];
  const unserved = new Map<string, string>();
  const ownLog: OwnLine[] = [];
  let hands = Promise.withResolvers<void>();
  hands.resolve();
  let shown = 0;
  const write = (sink: string, value: string | undefined) => {
    bucket.put(toOwnerKey(sink, 'sink'), value, view.findClaim(sink, 'sink').seq);
    shown = bucket.show(view, shown);
  };
  const share = new SinkShare({
    membership: {
      self,
      lease,
      view,
      term: 1,
      claim: async (sink) => write(sink, renderClaim(self)),
      async release(sink) {
        steps.push(`released ${sink}, its own ${share.isOwner(sink)}`);
        write(sink, undefined);
      },
    },
    sinks: () => SINKS,
    async handOver(sink, signal) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await Promise.race([hands.promise, aborted]);
      steps.push(`${signal.aborted ? 'gave up' : 'settled'} ${sink}, its own ${share.isOwner(sink)}`);
    },
    onMoved: () => {},
    onUnserved: (sink, owner) => (owner === undefined ? unserved.delete(sink) : unserved.set(sink, owner)),
    clock,
    logger: createCollectingLogger(ownLog),
  });
  const enter = (replica: string) => {
    const rest = { address: undefined, startedMs: 0, version: '', routers: digestNames([]) };
    bucket.put(toMemberKey(replica), renderMember({ replica, incarnation: `${replica}/1`, ...rest }));
    look();
  };
  const look = () => {
    shown = bucket.show(view, shown);
    share.noteChange();
  };
  const hold = () => {
    hands = Promise.withResolvers<void>();
    return hands.resolve;
  };
  const listOwn = () => SINKS.filter((sink) => share.isOwner(sink));
  return { clock, bucket, view, lease, share, steps, unserved, enter, look, hold, listOwn };
}

/** A replica that has joined and serves all sinks, and those of them that `b` would get. */
async function openAlone() {
  const bench = openShare();
  bench.enter('a');
  bench.lease.acquire(0);
  bench.lease.see();
  await bench.clock.advance(1000);
  expect(bench.listOwn()).toEqual(SINKS);
  const listGone = () => SINKS.filter((sink) => bench.view.findTaskOwner(`sink/${sink}`) === 'b');
  return { ...bench, listGone };
}

test('a sink that goes to another replica is written for until it has nothing in hand, and is released then', async () => {
  const { clock, share, steps, enter, hold, listGone, listOwn } = await openAlone();
  const settle = hold();
  enter('b');
  const gone = listGone();
  expect(gone.length).toBeGreaterThan(0);
  expect(gone.map((sink) => share.isLeaving(sink))).not.toContain(true);
  await clock.advance(1000);
  expect(SINKS.filter((sink) => share.isLeaving(sink))).toEqual(gone);
  expect(listOwn()).toEqual(SINKS);
  settle();
  await new Promise(setImmediate);
  expect(steps.toSorted()).toEqual(
    gone.flatMap((sink) => [`settled ${sink}, its own true`, `released ${sink}, its own false`]).toSorted(),
  );
  expect(listOwn()).toEqual(SINKS.filter((sink) => !gone.includes(sink)));
  expect(SINKS.filter((sink) => share.isLeaving(sink))).toEqual([]);
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
  expect(steps[0]).toMatch(/^gave up/);
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
  const { clock, bucket, share, look } = await openAlone();
  const before = share.termOf('loki');
  bucket.put(toOwnerKey('loki', 'sink'), renderClaim({ replica: 'b', incarnation: 'b/1' }));
  look();
  expect([share.isOwner('loki'), share.isOwner('siem')]).toEqual([false, true]);
  await clock.advance(1000);
  // The other one is no member any more, so the sink is taken back.
  look();
  await clock.advance(1000);
  expect(share.isOwner('loki')).toBe(true);
  expect(share.termOf('loki')).not.toBe(before);
});

test('without a lease nothing is claimed or written, and it goes on with the lease', async () => {
  const { clock, lease, listOwn, look } = await openAlone();
  await clock.advance(LEASE_MS);
  expect(listOwn()).toEqual([]);
  lease.renew(clock.monotonic());
  look();
  expect(listOwn()).toEqual(SINKS);
});

test('a sink that belongs to a replica which does not serve it is told after a minute, until somebody does', async () => {
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
