import { expect, test, vi } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';
import { expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { readRecords } from '../support/cluster-stream.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 6;
const LOG = 'network';
/** Of so many rotations the router keeps the last two files. */
const [ROTATIONS, FILES_MAX] = [6, 2];
/**
 * Half of the time between two rotations, on the routers' own clocks. A file that was written to for more than a minute shows that
 * those before it are gone, and nothing waits for them. Milliseconds.
 */
const ROTATION_MS = 60_000;
const AWAY = /The engine of the cluster cannot be used/;
const PATIENCE = { timeout: 60_000, interval: 100 };

/** A router rotates its log again and again, by a clock of its own, and deletes its oldest files. */
async function rotateAway(router: SimulatedRouter, count: () => number): Promise<void> {
  for (let rotation = 0; rotation < ROTATIONS; rotation++) {
    for (let line = 0; line < 3; line++) router.appendLog(LOG, `line ${count()}`);
    await router.advanceClock(ROTATION_MS);
    router.rotate(LOG, `line ${count()}`);
    await router.advanceClock(ROTATION_MS);
    await router.whenQuiet();
  }
}

const toMessage = (line: string) => line.replace(/^.*?\] /, '');

/** What a log of a router has to be at a receiver: each line that a file had when it was read. */
function listKept(router: SimulatedRouter): string[] {
  return router.truth(LOG).flatMap(({ text, lostUnread }) => (lostUnread ? [] : [toMessage(text)]));
}

const isGap = ({ event }: LogRecord) => event === 'log.gap';
const linesOf = (records: readonly LogRecord[], { name }: SimulatedRouter) =>
  records.filter(({ router, event }) => router === name && event === undefined).map(({ message }) => message);

/** Gaps that the replicas have counted, over all restarts. */
async function countGaps(replicas: readonly Replica[]): Promise<number> {
  const texts = await Promise.all(replicas.map(async ({ url }) => await (await fetch(`${url}/metrics`)).text()));
  const counts = texts.flatMap((text) => [...text.matchAll(/^router_log_gaps_total\{.*\} (\d+)$/gm)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

withPrograms(['nats-server'], test.skipIf(sampled('faults of a cluster', false, true)))(
  `while the engine of a cluster is away no log is read; what the routers delete meanwhile is a gap when it is back, emitted and counted once, and no line comes twice${sampleNote('faults of a cluster')}`,
  { timeout: 180_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(0);
    await using simulator = await startSimulator({
      routers: ROUTERS,
      clock: createSystemClock(),
      seed: 1,
      plainHttp: true,
      features: { basicAuth: true },
      logs: { maxFiles: FILES_MAX, compressionMs: 1000 },
      // Their clocks are not ahead of the agent's when they have rotated.
      clockOffsetMs: -2 * (ROTATIONS + 1) * ROTATION_MS,
    });
    const { routers } = simulator;
    const names = routers.map(({ name }) => name);
    await using bench = await openClusterBench({
      servers: [server.url],
      world: { names, url: world.url },
      urlOf: (router) => routers.find(({ name }) => name === router)?.url ?? '',
      asked: '  username: monitor\n  password: simulated\n  auth: basic\n  timezone: Europe/Berlin',
    });
    const replicas = [await bench.start('a'), await bench.start('b')];
    await expectShared(replicas, names);
    const countRequests = (isAboutLogs: boolean) =>
      routers.map(({ counters }) => {
        const own = Object.entries(counters.requests).filter(([path]) => path.includes('/log') === isAboutLogs);
        return own.reduce((sum, [, times]) => sum + times, 0);
      });
    let lines = 0;
    const count = () => ++lines;
    const untilComplete = () =>
      vi.waitFor(() => {
        for (const router of routers)
          expect(new Set(linesOf(world.received, router))).toEqual(new Set(listKept(router)));
      }, PATIENCE);
    for (const router of routers) for (let line = 0; line < 10; line++) router.appendLog(LOG, `line ${count()}`);
    await untilComplete();
    const lastOf = new Map(routers.map((router) => [router.name, listKept(router).at(-1)]));
    expect(await countGaps(replicas)).toBe(0);

    await server.kill();
    await vi.waitFor(() => {
      for (const { log } of replicas) expect(log).toMatch(AWAY);
    }, PATIENCE);
    await Promise.all(routers.map((router) => rotateAway(router, count)));
    // The replicas go on asking for the status of the routers, and look at no log.
    const [polls, looks] = [countRequests(false), countRequests(true)];
    await vi.waitFor(() => {
      for (const [index, done] of countRequests(false).entries()) expect(done).toBeGreaterThan((polls[index] ?? 0) + 3);
    }, PATIENCE);
    expect(countRequests(true)).toEqual(looks);
    for (const router of routers) {
      const unread = router.truth(LOG).filter(({ served }) => !served);
      expect(unread, router.name).toHaveLength(4 * ROTATIONS);
      expect(unread.filter(({ lostUnread }) => lostUnread)).not.toEqual([]);
    }

    await server.start();
    await untilComplete();
    await expectShared(replicas, names);
    const gaps = world.received.filter(isGap);
    // One for each router, whose lines follow each other without a gap otherwise.
    expect(gaps.map(({ router }) => router).toSorted()).toEqual(names.toSorted());
    for (const { router, details } of gaps) {
      const last = world.received.find(
        ({ message, router: from }) => from === router && message === lastOf.get(router),
      );
      expect(details).toMatchObject({ certainty: 'certain', reason: 'expired', from_uid: last?.uid });
    }
    expect(await countGaps(replicas)).toBe(gaps.length);
    for (const router of routers) expect(linesOf(world.received, router)).toEqual(listKept(router));
    const uids = world.received.map(({ uid }) => uid);
    expect(uids).toHaveLength(new Set(uids).size);
    const stored = await readRecords(server);
    expect(stored.map(({ uid }) => uid).toSorted()).toEqual(uids.toSorted());
  },
);
