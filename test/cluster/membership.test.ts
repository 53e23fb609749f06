import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSystemClock, Secret } from '../../src/base/index.ts';
import type { Bucket } from '../../src/cluster/bucket.ts';
import { readView, withBucket } from '../../src/cluster/cluster.ts';
import type { ClusterSettings } from '../../src/cluster/index.ts';
import { Membership, type MembershipEvent } from '../../src/cluster/membership.ts';
import { type NatsServer, openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const clock = createSystemClock();
const ROUTERS = ['plant-1', 'plant.2', 'plant-3', 'plant-4'];
const LEASE_MS = 3000;
const PATIENCE = { timeout: 20_000, interval: 20 };
const never = new AbortController().signal;

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

function createSettings(server: NatsServer, replica: string): ClusterSettings {
  const times = { lease: LEASE_MS, status_grace: 60_000 };
  const advertise = `http://${replica}:9847`;
  return { servers: [server.url], ...times, replicas: 1, name: 'plant', replica, advertise };
}

async function openServer(isReady = true): Promise<NatsServer> {
  const server = await openNatsServer();
  opened.push(server);
  if (isReady) await withBucket(createSettings(server, 'admin'), clock, never, (bucket) => bucket.init(1));
  return server;
}

let runs = 0;

function join(server: NatsServer, replica: string, settings = createSettings(server, replica)) {
  const events: MembershipEvent['type'][] = [];
  const membership = new Membership({
    settings,
    incarnation: `run-${++runs}`,
    version: '1.2.3',
    startedMs: Date.now(),
    clock,
    report: ({ type }) => events.push(type),
  });
  membership.setRouters(ROUTERS);
  membership.start(() => {});
  opened.push({ [Symbol.asyncDispose]: () => membership.close() });
  const listMembers = () => membership.view.members.map((one) => one.replica);
  return { membership, events, listMembers };
}

withPrograms(['nats-server'], describe)('membership in a real bucket', () => {
  test('replicas see each other, agree about the owners, and one that leaves is gone at once', async () => {
    const server = await openServer();
    const [a, b] = [join(server, 'a'), join(server, 'b')];
    await vi.waitFor(() => {
      for (const one of [a, b]) {
        expect(one.listMembers()).toEqual(['a', 'b']);
        expect(one.membership.lease.isHeld).toBe(true);
      }
    }, PATIENCE);
    for (const router of ROUTERS) {
      expect(a.membership.view.findRouterOwner(router)).toBe(b.membership.view.findRouterOwner(router));
    }
    await a.membership.claim('plant.2');
    await expect(a.membership.claim('plant.2')).resolves.toBeUndefined();
    await vi.waitFor(() => expect(b.membership.view.findHolder('plant.2')?.replica).toBe('a'), PATIENCE);
    await a.membership.release('plant.2');
    await vi.waitFor(() => expect(b.membership.view.findHolder('plant.2')).toBeUndefined(), PATIENCE);
    await b.membership.close();
    await vi.waitFor(() => expect(a.listMembers()).toEqual(['a']), PATIENCE);
    expect(a.membership.view.listMissing(Date.now()).size).toBe(0);
    expect([a.events, b.events]).toEqual([['joined'], ['joined']]);
    const view = await withBucket(createSettings(server, 'admin'), clock, never, (one) => readView(one, clock, never));
    const members = view.members.map(({ replica, version, address }) => [replica, version, address]);
    expect(members).toEqual([['a', '1.2.3', 'http://a:9847']]);
  });

  test('of two claims that do not know of each other, one is refused', async () => {
    const server = await openServer();
    const [a, b] = [join(server, 'a'), join(server, 'b')];
    await vi.waitFor(() => expect([a, b].map((one) => one.listMembers().length)).toEqual([2, 2]), PATIENCE);
    const claims = await Promise.allSettled([a.membership.claim('plant-1'), b.membership.claim('plant-1')]);
    expect(claims.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('a router whose owner key ended without a word is claimed at the second attempt', async () => {
    const server = await openServer();
    const { membership } = join(server, 'a');
    await vi.waitFor(() => expect(membership.lease.isHeld).toBe(true), PATIENCE);
    await membership.claim('plant-1');
    await server.purge('KV_rx_plant');
    await expect(membership.claim('plant-1')).rejects.toMatchObject({ code: 'outdated' });
    await membership.claim('plant-1');
  });

  test('a bucket that is recreated while replicas run has their routers again', async () => {
    const server = await openServer();
    const a = join(server, 'a');
    await vi.waitFor(() => expect(a.membership.view.findRouterOwner('plant-1')).toBe('a'), PATIENCE);
    await server.purge('KV_rx_plant');
    await vi.waitFor(() => expect(a.events).toContain('lease-lost'), PATIENCE);
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    const view = await withBucket(createSettings(server, 'admin'), clock, never, (one) => readView(one, clock, never));
    expect(view.findRouterOwner('plant-1')).toBe('a');
  });

  test('a server that is away takes the lease and leaves the grace; it ends without a hand', async () => {
    const server = await openServer();
    const a = join(server, 'a');
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    await server.kill();
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(false), PATIENCE);
    expect(a.membership.lease.isInGrace).toBe(true);
    expect(a.listMembers()).toEqual(['a']);
    await expect(a.membership.claim('plant-1')).rejects.toThrow('away');
    await server.start();
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    expect(a.membership.lease.isEngineAway).toBe(false);
    expect([a.events[0], a.events.at(-1)]).toEqual(['joined', 'joined']);
    await a.membership.claim('plant-1');
  });

  test('a lease is renewed in good time, and the grace is as long as the settings say', async () => {
    const server = await openServer();
    const a = join(server, 'a', { ...createSettings(server, 'a'), status_grace: 6000 });
    const { lease } = a.membership;
    await vi.waitFor(() => expect(lease.isHeld).toBe(true), PATIENCE);
    const last = clock.monotonic() - lease.ageMs;
    const renewed = () => expect(clock.monotonic() - lease.ageMs).toBeGreaterThan(last + 100);
    await vi.waitFor(renewed, { timeout: LEASE_MS, interval: 20 });
    await server.kill();
    await vi.waitFor(() => expect(lease.isInGrace).toBe(true), PATIENCE);
    await vi.waitFor(() => expect(lease.isInGrace).toBe(false), PATIENCE);
    expect(lease.isEngineAway).toBe(true);
  });

  test('a lease that is not renewed expires, and a second process of the same name waits for that', async () => {
    const server = await openServer();
    const before = await withBucket(createSettings(server, 'admin'), clock, never, async (bucket) => {
      const member = { replica: 'a', incarnation: 'gone', startedMs: 0, version: '', routers: 'none' };
      await bucket.put('member.a', JSON.stringify(member), { ttlMs: LEASE_MS });
      return Date.now();
    });
    const [a, b] = [join(server, 'a'), join(server, 'b')];
    await vi.waitFor(() => expect(b.listMembers()).toEqual(['a', 'b']), PATIENCE);
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    expect(Date.now() - before).toBeGreaterThanOrEqual(LEASE_MS - 1000);
    expect(Date.now() - before).toBeLessThan(LEASE_MS + 5000);
    expect(a.events).toEqual(['name-taken', 'joined']);
  });

  test('without a bucket there is no lease, and the reason is said once', async () => {
    const server = await openServer(false);
    const a = join(server, 'a');
    await vi.waitFor(() => expect(a.events).toEqual(['engine-away']), PATIENCE);
    await withBucket(createSettings(server, 'admin'), clock, never, async (bucket) => {
      expect([await bucket.init(1), await bucket.init(1)]).toEqual([true, false]);
    });
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    expect(a.events).toEqual(['engine-away', 'joined']);
  });

  test('a replica needs no more permissions than these, which are in docs/cluster.md', async () => {
    const text = readFileSync(new URL('../../docs/cluster.md', import.meta.url), 'utf8');
    const users = /authorization \{[\s\S]*?\n\}/.exec(text)?.[0] ?? '';
    const config = users.replaceAll('PASSWORD', 'secret').replaceAll('_NAME', '_plant').replaceAll('.NAME', '.plant');
    const server = await openNatsServer({ config, admin: { user: 'admin', pass: 'secret' } });
    opened.push(server);
    const as = (username: string): ClusterSettings => ({
      ...createSettings(server, 'a'),
      username,
      password: new Secret('secret'),
    });
    const refused = withBucket(as('router-exporter'), clock, never, (bucket) => bucket.init(1));
    await expect(refused).rejects.toThrow(/permission|authori|timeout|exist/i);
    await withBucket(as('admin'), clock, never, (bucket) => bucket.init(1));
    const a = join(server, 'a', as('router-exporter'));
    await vi.waitFor(() => expect(a.membership.lease.isHeld).toBe(true), PATIENCE);
    await a.membership.claim('plant-1');
    await a.membership.release('plant-1');
    await a.membership.close();
    const view = await withBucket(as('router-exporter'), clock, never, (one) => readView(one, clock, never));
    expect([view.members, view.listMissing(Date.now()).size]).toEqual([[], 0]);
    expect(a.events).toEqual(['joined']);
  });

  test('a bucket with other settings is refused', async () => {
    const server = await openServer(false);
    const metadata = { 'router-exporter-format': '1' };
    await server.addStream({ name: 'KV_rx_plant', subjects: ['$KV.rx_plant.>'], max_msgs_per_subject: 1, metadata });
    const settings = createSettings(server, 'admin');
    await expect(withBucket(settings, clock, never, (bucket) => bucket.init(1))).rejects.toThrow(/must have/);
  });

  test.each([undefined, '2'])('a bucket of format %s is refused, and no replica joins it', async (format) => {
    const server = await openServer();
    const metadata = format === undefined ? {} : { 'router-exporter-format': format };
    const right = await server.readConfig('KV_rx_plant');
    await server.removeStream('KV_rx_plant');
    await server.addStream({ ...right, metadata });
    const settings = createSettings(server, 'admin');
    const refusal = {
      code: 'format',
      disposition: 'operator',
      message: expect.stringContaining('it was left as it is'),
    };
    for (const work of [(bucket: Bucket) => bucket.init(1), (bucket: Bucket) => bucket.check()]) {
      await expect(withBucket<unknown>(settings, clock, never, work)).rejects.toMatchObject(refusal);
    }
    const a = join(server, 'a');
    await vi.waitFor(() => expect(a.events).toEqual(['other-format']), PATIENCE);
    expect([a.membership.lease.isHeld, await server.read('KV_rx_plant')]).toEqual([false, []]);
  });

  test('a bucket in which ended keys leave no marker is refused for that alone: expired leases would not be noticed', async () => {
    const server = await openServer();
    const { subject_delete_marker_ttl: _, ...without } = await server.readConfig('KV_rx_plant');
    await server.removeStream('KV_rx_plant');
    await server.addStream(without);
    const refusal = { code: 'different', message: expect.stringContaining('must have subject_delete_marker_ttl') };
    const settings = createSettings(server, 'admin');
    for (const work of [(bucket: Bucket) => bucket.init(1), (bucket: Bucket) => bucket.check()]) {
      await expect(withBucket<unknown>(settings, clock, never, work)).rejects.toMatchObject(refusal);
    }
    // A replica does not join either.
    const a = join(server, 'a');
    await vi.waitFor(() => expect(a.events).toEqual(['engine-away']), PATIENCE);
    expect([a.membership.lease.isHeld, await server.read('KV_rx_plant')]).toEqual([false, []]);
  });
});
