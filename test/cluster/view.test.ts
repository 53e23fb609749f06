import { expect, test } from 'vitest';
import {
  ClusterView,
  digestNames,
  type Member,
  packNames,
  renderClaim,
  renderMember,
  toListKey,
  toMemberKey,
  toOwnerKey,
} from '../../src/cluster/view.ts';
import { ModelBucket } from './model-bucket.ts';

const ROUTERS = ['plant-1', 'plant.2', 'plant_2', 'plant-3'];

function createMember(replica: string, routers: readonly string[] = ROUTERS, rest: Partial<Member> = {}): Member {
  const own = { incarnation: `${replica}/1`, address: `http://${replica}:9847`, startedMs: 1, version: '1.2.3' };
  return { replica, ...own, routers: digestNames(routers), ...rest };
}

function join(bucket: ModelBucket, member: Member, routers: readonly string[] = ROUTERS): void {
  bucket.put(toListKey(member.replica), packNames(routers));
  bucket.put(toMemberKey(member.replica), renderMember(member));
}

test('members, their routers and owners are what the bucket says', () => {
  const [bucket, view] = [new ModelBucket(), new ClusterView()];
  const [a, b] = [createMember('exporter-a'), createMember('exporter.b')];
  join(bucket, b);
  join(bucket, a);
  bucket.put(toOwnerKey('plant.2'), renderClaim(b));
  bucket.put(toOwnerKey('plant_2'), renderClaim({ ...a, incarnation: 'a former run' }));
  bucket.show(view, 0);
  expect(view.members).toEqual([a, b]);
  expect(view.areListsDifferent).toBe(false);
  expect(ROUTERS.map((router) => view.findHolder(router)?.replica)).toEqual([
    undefined,
    b.replica,
    undefined,
    undefined,
  ]);
  for (const router of ROUTERS) expect(['exporter-a', 'exporter.b']).toContain(view.findRouterOwner(router));
  expect(view.findRouterOwner('unknown')).toBeUndefined();
  expect(['exporter-a', 'exporter.b']).toContain(view.findTaskOwner('sink/loki'));
});

test('a member that ended without a word is missing until it comes back; one that left is not', () => {
  const [bucket, view] = [new ModelBucket(), new ClusterView()];
  const [a, b] = [createMember('a'), createMember('b')];
  for (const member of [a, b]) join(bucket, member);
  bucket.put(toMemberKey('a'), undefined, undefined, true);
  bucket.put(toMemberKey('b'), undefined);
  let shown = bucket.show(view, 0);
  expect([view.members, [...view.listMissing(10_000).keys()]]).toEqual([[], ['a']]);
  // One that does not come back is gone.
  expect(view.listMissing(3_700_000).size).toBe(0);
  expect(view.findRouterOwner('plant-1')).toBeUndefined();
  join(bucket, { ...a, incarnation: 'a/2' });
  shown = bucket.show(view, shown);
  expect([view.members.length, view.listMissing(10_000).size]).toEqual([1, 0]);
});

test('different lists show, and a router goes to a member that knows it', () => {
  const [bucket, view] = [new ModelBucket(), new ClusterView()];
  const more = [...ROUTERS, 'plant-4'];
  join(bucket, createMember('a'));
  join(bucket, createMember('b', more), more);
  bucket.show(view, 0);
  expect(view.areListsDifferent).toBe(true);
  expect(view.findRouterOwner('plant-4')).toBe('b');
  // The names that a digest stands for have to be there.
  const later = new ClusterView();
  const second = new ModelBucket();
  second.put(toListKey('b'), packNames(ROUTERS));
  second.put(toMemberKey('b'), renderMember(createMember('b', more)));
  second.show(later, 0);
  expect(later.findRouterOwner('plant-1')).toBeUndefined();
});

test('a list that has come before the lease that names it changes no owner: until then the one before counts', () => {
  const [bucket, view] = [new ModelBucket(), new ClusterView()];
  for (const replica of ['a', 'b']) join(bucket, createMember(replica));
  let shown = bucket.show(view, 0);
  const before = ROUTERS.map((router) => view.findRouterOwner(router));
  const next = ['plant-1', 'plant.2', 'plant-4'];
  for (const replica of ['a', 'b']) {
    bucket.put(toListKey(replica), packNames(next));
    // A renewal that was under way.
    bucket.put(toMemberKey(replica), renderMember(createMember(replica)));
  }
  shown = bucket.show(view, shown);
  expect(ROUTERS.map((router) => view.findRouterOwner(router))).toEqual(before);
  expect(['plant-3', 'plant-4'].map((router) => view.mayKnow(router))).toEqual([true, true]);
  expect(view.findRouterOwner('plant-4')).toBeUndefined();
  for (const replica of ['a', 'b']) bucket.put(toMemberKey(replica), renderMember(createMember(replica, next)));
  bucket.show(view, shown);
  expect(['plant-1', 'plant.2'].map((router) => view.findRouterOwner(router))).toEqual(before.slice(0, 2));
  expect(['plant-3', 'plant-4'].map((router) => view.mayKnow(router))).toEqual([false, true]);
  expect([view.findRouterOwner('plant-3'), view.findRouterOwner('plant-4')]).toEqual([undefined, expect.any(String)]);
});

test('a renewal changes nothing; another run, address or list of a member does', () => {
  const view = new ClusterView();
  const member = createMember('a');
  const apply = (next: Member) => {
    const value = Buffer.from(renderMember(next));
    return view.apply({ key: toMemberKey('a'), seq: 1, value, isExpired: false, storedMs: 0 });
  };
  expect(apply(member)).toBe('members');
  expect(apply(member)).toBeUndefined();
  expect(apply({ ...member, incarnation: 'a/2' })).toBe('members');
  expect(apply({ ...member, incarnation: 'a/2', address: 'http://other' })).toBe('members');
});

test.each([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['no digest', '{"replica":"a","incarnation":"x"}'],
  ['the name of another', renderMember(createMember('b'))],
  ['a name without end', renderMember(createMember('a'.repeat(3000)))],
])('a lease with %s is none', (_, text) => {
  const view = new ClusterView();
  view.apply({ key: toMemberKey('a'), seq: 1, value: Buffer.from(text), isExpired: false, storedMs: 0 });
  expect(view.members).toEqual([]);
});

test.each(['javascript:alert(1)', 'http://user:secret@host', 'ftp://host', 'nothing', 'http://host/?a=b'])(
  'the address %s is not shown as that of a member',
  (address) => {
    const view = new ClusterView();
    const value = Buffer.from(renderMember(createMember('a', ROUTERS, { address })));
    view.apply({ key: toMemberKey('a'), seq: 1, value, isExpired: false, storedMs: 0 });
    expect(view.members.map((one) => one.address)).toEqual([undefined]);
  },
);

test('a bucket with too many keys is read up to a bound', () => {
  const view = new ClusterView();
  for (let index = 0; index < 1100; index++) {
    const value = Buffer.from(renderMember(createMember(`a${index}`)));
    view.apply({ key: toMemberKey(`a${index}`), seq: index, value, isExpired: false, storedMs: 0 });
  }
  expect(view.members).toHaveLength(1000);
  const long = Buffer.from(renderMember(createMember('a0', ROUTERS, { version: 'x'.repeat(20_000) })));
  view.apply({ key: toMemberKey('a0'), seq: 2000, value: long, isExpired: false, storedMs: 0 });
  expect(view.findMember('a0')).toBeUndefined();
});

test('names that cannot be unpacked, and keys of another version, are left alone', () => {
  const view = new ClusterView();
  const entry = { seq: 1, value: Buffer.from('no gzip'), isExpired: false, storedMs: 0 };
  expect(view.apply({ ...entry, key: toListKey('a') })).toBe('members');
  for (const key of ['later.a', 'member', 'member.a=2', '', 'owner.']) {
    expect(view.apply({ ...entry, key })).toBeUndefined();
  }
});

test('a router may be known as long as a list names it, also that of a replica that is away, or a list has not come yet', () => {
  const [bucket, view] = [new ModelBucket(), new ClusterView()];
  expect(view.mayKnow('plant-1')).toBe(true);
  join(bucket, createMember('a'));
  join(bucket, createMember('b', ['plant-4']), ['plant-4']);
  let shown = bucket.show(view, 0);
  const look = () => ['plant-1', 'plant-4', 'plant-5'].map((router) => view.mayKnow(router));
  expect(look()).toEqual([true, true, false]);
  bucket.put(toMemberKey('b'), undefined, undefined, true);
  shown = bucket.show(view, shown);
  expect(look()).toEqual([true, true, false]);
  bucket.put(toListKey('b'), undefined, undefined, true);
  shown = bucket.show(view, shown);
  expect(look()).toEqual([true, false, false]);
  bucket.put(toMemberKey('c'), renderMember(createMember('c', ['plant-5'])));
  bucket.show(view, shown);
  expect(look()).toEqual([true, true, true]);
});
