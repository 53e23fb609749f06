import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planMoves } from '../../src/cluster/moves.ts';
import {
  ClusterView,
  digestNames,
  packNames,
  renderClaim,
  renderMember,
  toListKey,
  toMemberKey,
  toOwnerKey,
} from '../../src/cluster/view.ts';
import { countRuns } from '../support/sampled.ts';
import { ModelBucket } from './model-bucket.ts';

const ROUTERS = Array.from({ length: 12 }, (_, index) => `plant-${index}`);
const LIST = packNames(ROUTERS);
const DIGEST = digestNames(ROUTERS);

/** A replica that keeps to the plan, and reads the bucket on request. */
class ModelReplica {
  readonly claimed = new Set<string>();
  readonly #bucket: ModelBucket;
  readonly #self: { replica: string; incarnation: string };
  readonly #waitingSince = new Map<string, number>();
  #view = new ClusterView();
  #shown = 0;
  isAlive = true;

  constructor(bucket: ModelBucket, replica: string, incarnation: string) {
    this.#bucket = bucket;
    this.#self = { replica, incarnation };
    this.join();
    // A lease holds when what came before it is known.
    this.look();
  }

  join(): void {
    const { replica } = this.#self;
    this.isAlive = true;
    this.#bucket.put(toListKey(replica), LIST);
    const rest = { address: undefined, startedMs: 0, version: '', routers: DIGEST };
    this.#bucket.put(toMemberKey(replica), renderMember({ ...this.#self, ...rest }));
  }

  look(): void {
    this.#shown = this.#bucket.show(this.#view, this.#shown);
  }

  act(nowMs: number): boolean {
    const { claimed } = this;
    const options = { view: this.#view.of('router'), self: this.#self, routers: ROUTERS, claimed };
    const { take, give, drop } = planMoves({ ...options, waitingSince: this.#waitingSince, nowMs });
    for (const router of drop) claimed.delete(router);
    for (const router of give) {
      claimed.delete(router);
      this.#bucket.put(toOwnerKey(router), undefined, this.#view.findClaim(router).seq);
    }
    for (const router of take) {
      const [key, value] = [toOwnerKey(router), renderClaim(this.#self)];
      const seq = this.#bucket.put(key, value, this.#view.findClaim(router).seq);
      if (seq === undefined) continue;
      // It knows what it has written before it sees it, as in `Membership`.
      this.#view.apply({ key, seq, value: Buffer.from(value), isExpired: false, storedMs: 0 });
      claimed.add(router);
    }
    return take.length + give.length + drop.length > 0;
  }

  end(): void {
    this.isAlive = false;
    this.#bucket.put(toMemberKey(this.#self.replica), undefined, undefined, true);
  }
}

/** All replicas read everything and act, until none has anything to do. */
function settle(replicas: readonly ModelReplica[]): void {
  for (let round = 0; round < 20; round++) {
    const alive = replicas.filter(({ isAlive }) => isAlive);
    for (const one of alive) one.look();
    if (!alive.map((one) => one.act(0)).includes(true)) return;
  }
  expect.unreachable('the replicas do not come to an end');
}

test('replicas share the routers, and with one more only those of the new one move', () => {
  const bucket = new ModelBucket();
  const replicas = ['a', 'b', 'c'].map((name) => new ModelReplica(bucket, name, '1'));
  settle(replicas);
  expect(replicas.flatMap(({ claimed }) => [...claimed]).toSorted()).toEqual(ROUTERS.toSorted());
  const before = replicas.map(({ claimed }) => new Set(claimed));
  const written = bucket.length;
  settle(replicas);
  // Without a change, nothing is written.
  expect(bucket.length).toBe(written);
  const fourth = new ModelReplica(bucket, 'd', '1');
  settle([...replicas, fourth]);
  expect(fourth.claimed.size).toBeGreaterThan(0);
  for (const [index, { claimed }] of replicas.entries())
    expect([...(before[index] ?? [])]).toEqual(expect.arrayContaining([...claimed]));
  // Its names, its lease, and each router released and claimed.
  expect(bucket.length - written).toBe(2 + 2 * fourth.claimed.size);
});

test('a router is left to a living member until it is released, but not for ever', () => {
  const bucket = new ModelBucket();
  const first = new ModelReplica(bucket, 'a', '1');
  settle([first]);
  const second = new ModelReplica(bucket, 'b', '1');
  expect([second.act(0), second.act(9999)]).toEqual([false, false]);
  expect(second.act(10_000)).toBe(true);
  const taken = [...second.claimed];
  expect(taken.length).toBeGreaterThan(0);
  // The former owner hears of it and lets go without a word to the router.
  settle([first, second]);
  expect([...first.claimed].filter((router) => second.claimed.has(router))).toEqual([]);
  expect([...second.claimed].toSorted()).toEqual(taken.toSorted());
});

test('a replica that was paused claims again what others had meanwhile and have released', () => {
  const bucket = new ModelBucket();
  const [first, second] = [new ModelReplica(bucket, 'a', '1'), new ModelReplica(bucket, 'b', '1')];
  settle([first, second]);
  const before = [...first.claimed];
  first.end();
  settle([second]);
  expect(second.claimed.size).toBe(ROUTERS.length);
  // It continues: the other one releases the router before it has looked.
  first.join();
  settle([second]);
  expect([...first.claimed]).toEqual(before);
  const written = bucket.length;
  settle([first, second]);
  expect([...first.claimed].toSorted()).toEqual(before.toSorted());
  expect(bucket.length - written).toBe(before.length);
  // Each has a key, so that the next one waits for it.
  const third = new ModelReplica(bucket, 'c', '1');
  expect(third.act(0)).toBe(false);
});

test('a replica that starts again takes over what its former run had', () => {
  const bucket = new ModelBucket();
  const [first, second] = [new ModelReplica(bucket, 'a', '1'), new ModelReplica(bucket, 'b', '1')];
  settle([first, second]);
  const before = [...first.claimed];
  first.isAlive = false;
  const again = new ModelReplica(bucket, 'a', '2');
  expect(again.act(0)).toBe(true);
  expect([...again.claimed].toSorted()).toEqual(before.toSorted());
});

test('whatever happens in whatever order, in the end each router has one owner', () => {
  const replica = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('start' as const), replica }),
    fc.record({ kind: fc.constant('end' as const), replica }),
    fc.record({ kind: fc.constant('look' as const), replica }),
    fc.record({ kind: fc.constant('act' as const), replica, nowMs: fc.constantFrom(0, 20_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const bucket = new ModelBucket();
      const running = new Map([['z', new ModelReplica(bucket, 'z', '0')]]);
      for (const [index, one] of steps.entries()) {
        const found = running.get(one.replica);
        if (one.kind === 'start') {
          if (!found) running.set(one.replica, new ModelReplica(bucket, one.replica, String(index)));
        } else if (one.kind === 'end') {
          found?.end();
          running.delete(one.replica);
        } else if (one.kind === 'look') found?.look();
        else found?.act(one.nowMs);
      }
      const replicas = [...running.values()];
      settle(replicas);
      expect(replicas.flatMap(({ claimed }) => [...claimed]).toSorted()).toEqual(ROUTERS.toSorted());
    }),
    { numRuns: countRuns(500) },
  );
});
