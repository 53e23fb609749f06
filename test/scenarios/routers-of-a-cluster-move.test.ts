import { expect, test, vi } from 'vitest';
import { expectSettled, expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { expectAskedOnceTaken } from '../support/cluster-returns.ts';
import { watchTaken } from '../support/cluster-stream.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 24;
const LEASE_MS = 3000;
const STALE_MS = 4000;
const PATIENCE = { timeout: 30_000, interval: 50 };

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `replicas share the routers: one more takes about its part, one that is killed loses its own within lease and 5 s, and each shows all${sampleNote('processes of a fleet')}`,
  { timeout: 180_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: [server.url], world, sinks: [] });
    const three = [await bench.start('a'), await bench.start('b'), await bench.start('c')];
    await expectSettled(three, world.names);
    const before = await Promise.all(three.map((replica) => replica.listOwn()));

    // The fourth one: only its routers move.
    const fourth = await bench.start('d');
    await expectSettled([...three, fourth], world.names);
    const moved = await fourth.listOwn();
    expect(moved.length).toBeGreaterThan(0);
    expect(moved.length).toBeLessThan(ROUTERS / 2);
    for (const [index, replica] of three.entries()) {
      expect(before[index]).toEqual(expect.arrayContaining([...(await replica.listOwn())]));
    }

    // Each shows all, and leads to the one that has it.
    const [first] = three;
    const [router = ''] = moved;
    const whole = await (await fetch(`${first?.url}/api/v1/routers`)).json();
    expect(whole).toMatchObject({ routers: { length: ROUTERS } });
    expect(whole).not.toHaveProperty('unanswered');
    await vi.waitFor(async () => {
      const probe = await fetch(`${first?.url}/probe?target=${router}`);
      expect([probe.status, probe.redirected, new URL(probe.url).origin]).toEqual([200, true, fourth.url]);
    }, PATIENCE);
    const targets = (await (await fetch(`${first?.url}/sd`)).json()) as { targets: string[]; labels: object }[];
    expect(targets).toHaveLength(ROUTERS);
    expect(targets.find(({ labels }) => Reflect.get(labels, '__param_target') === router)?.targets).toEqual([
      new URL(fourth.url).host,
    ]);
    expect(await (await fetch(`${first?.url}/`)).text()).toContain('4 replicas');
    const sinks = await (await fetch(`${first?.url}/sinks`)).text();
    expect(sinks.match(/<b>replica [a-d]:<\/b>/g)).toHaveLength(4);
    for (const path of ['/', '/logs', '/logs/positions', '/sinks', '/dead-letters']) {
      const [main] = /<main.*<\/main>/s.exec(await (await fetch(`${first?.url}${path}`)).text()) ?? [];
      expect([path, main?.includes('does not answer')]).toEqual([path, false]);
    }

    // It is killed: the others ask its routers soon, and name it.
    await fourth.kill();
    const killedMs = performance.now();
    await vi.waitFor(() => {
      for (const name of moved) expect(world.askedBy(name, killedMs)).toHaveLength(1);
    }, PATIENCE);
    const takeoverMs = performance.now() - killedMs;
    expect(takeoverMs).toBeLessThan(LEASE_MS + 5000);
    await expectShared(three, world.names);
    expect(await first?.measure('cluster_missing_members')).toBe(1);
    expect(await (await fetch(`${first?.url}/`)).text()).toContain('Replica d is missing');

    // One that ends by itself leaves at once.
    const [, , last] = three;
    await last?.stop();
    const stoppedMs = performance.now();
    await expectShared(three.slice(0, 2), world.names);
    expect(performance.now() - stoppedMs).toBeLessThan(LEASE_MS + 2000);
    expect(await first?.measure('cluster_missing_members')).toBe(1);
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `a replica that was stopped for longer than its lease asks no router that it has lost${sampleNote('processes of a fleet')}`,
  { timeout: 180_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({ servers: [server.url], world, sinks: [] });
    const [a, b] = [await bench.start('a'), await bench.start('b')];
    await expectShared([a, b], world.names);
    const lost = await a.listOwn();
    a.signal('SIGSTOP');
    const stoppedMs = performance.now();
    await vi.waitFor(async () => expect(await b.listOwn()).toHaveLength(ROUTERS), PATIENCE);
    expect(performance.now() - stoppedMs).toBeLessThan(LEASE_MS + 5000);
    // What was on the wire when it was stopped.
    const takenMs = performance.now();
    await vi.waitFor(() => {
      for (const name of lost) expect(world.askedBy(name, takenMs)).toContain('b');
    }, PATIENCE);
    await using watch = await watchTaken(server);
    const goesOn = { replica: a.name, lost, atMs: performance.now() };
    a.signal('SIGCONT');
    await expectShared([a, b], world.names);
    await expectAskedOnceTaken(world, watch, goesOn);
    expect(a.log).toContain('The lease of this replica has ended');
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `without the engine the status is asked for a while, by the replicas that had the routers, and all goes on without a hand${sampleNote('processes of a fleet')}`,
  { timeout: 180_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({
      servers: [server.url],
      world,
      grace: '8s',
      staleAfter: `${STALE_MS}ms`,
      sinks: [],
    });
    const [a, b] = [await bench.start('a'), await bench.start('b')];
    /** Every router is shown by one of them, as up or as down. */
    const expectUp = (value: 0 | 1) =>
      vi.waitFor(async () => {
        const seen = [...(await a.measureRouters('router_up')), ...(await b.measureRouters('router_up'))];
        expect(new Map(seen)).toEqual(new Map(world.names.map((name) => [name, value])));
        expect(seen).toHaveLength(ROUTERS);
      }, PATIENCE);
    await expectShared([a, b], world.names);
    const own = new Map([a, b].map((one) => [one.name, one.listOwn()]));
    await server.kill();
    await vi.waitFor(async () => {
      expect(await a.measure('cluster_lease_held')).toBe(0);
      expect(await b.measure('cluster_lease_held')).toBe(0);
    }, PATIENCE);
    const awayMs = performance.now();
    await vi.waitFor(() => {
      for (const name of world.names) expect(world.askedBy(name, awayMs)).not.toEqual([]);
    }, PATIENCE);
    for (const [replica, names] of own) {
      for (const name of await names) expect(world.askedBy(name, awayMs)).toEqual([replica]);
    }
    await expectUp(1);
    // The grace period ends: no router is polled for three times the interval, and an unpolled router does not count as up.
    await vi.waitFor(() => expect(performance.now() - (world.asked.at(-1)?.atMs ?? 0)).toBeGreaterThan(3000), PATIENCE);
    const askedLastMs = world.asked.at(-1)?.atMs ?? Number.NaN;
    await expectUp(0);
    expect(performance.now() - askedLastMs).toBeGreaterThan(STALE_MS - 1000);
    expect(world.asked.at(-1)?.atMs).toBe(askedLastMs);
    expect((await fetch(`${a.url}/-/ready`)).status).toBe(200);
    await server.start();
    await expectShared([a, b], world.names);
    const backMs = performance.now();
    await vi.waitFor(() => {
      for (const name of world.names) expect(world.askedBy(name, backMs)).toHaveLength(1);
    }, PATIENCE);
    await expectUp(1);
    // Nothing has moved for good.
    for (const replica of [a, b])
      expect((await replica.listOwn()).toSorted()).toEqual([...((await own.get(replica.name)) ?? [])].toSorted());
  },
);

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `replicas with different lists of routers say so in their metrics and pages, and share the rest; with one list they do not${sampleNote('processes of a fleet')}`,
  { timeout: 180_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    const [unknown = '', ...others] = world.names;
    const routersOf = (replica: string) => (replica === 'c' ? others : world.names);
    await using bench = await openClusterBench({ servers: [server.url], world, routersOf, sinks: [] });
    const same = [await bench.start('a'), await bench.start('b')];
    const expectDiffer = (replicas: readonly Replica[], value: 0 | 1) =>
      vi.waitFor(async () => {
        for (const replica of replicas) {
          expect(await replica.measure('cluster_lists_differ'), replica.name).toBe(value);
          const page = await (await fetch(`${replica.url}/`)).text();
          expect(page.includes('The replicas have different routers'), replica.name).toBe(value === 1);
        }
      }, PATIENCE);
    await expectShared(same, world.names);
    await expectDiffer(same, 0);
    const other = await bench.start('c');
    await expectShared([...same, other], world.names);
    await expectDiffer([...same, other], 1);
    // It got a part of what it knows.
    expect(await other.listOwn()).not.toContain(unknown);
    await other.stop();
    await expectShared(same, world.names);
    await expectDiffer(same, 0);
  },
);
