import { expect, test, vi } from 'vitest';
import type { EventRecord } from '../../src/model/index.ts';
import type { RouterAnswer } from '../../src/web/index.ts';
import { expectShared, openClusterBench, type Replica } from '../support/cluster-bench.ts';
import { openClusterWorld } from '../support/cluster-world.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = 6;
const PATIENCE = { timeout: 60_000, interval: 100 };
/** When the owner of the router is killed after it went down. */
const MOMENTS = ['when it is seen', 'before the sink has answered', 'when it is shipped'] as const;

async function describeRouter({ url }: Replica, router: string): Promise<RouterAnswer> {
  return (await (await fetch(`${url}/api/v1/routers/${router}`, { redirect: 'error' })).json()) as RouterAnswer;
}

withPrograms(['nats-server'], test.skipIf(sampled('processes of a fleet', false, true)))(
  `the owner of a router that goes down is killed: the other replica goes on with the same outage, each event has one uid, and the history is kept${sampleNote('processes of a fleet')}`,
  { timeout: 300_000 },
  async () => {
    await using server = await openNatsServer();
    await using world = await openClusterWorld(ROUTERS);
    await using bench = await openClusterBench({
      servers: [server.url],
      world,
      interval: '4s',
      timeout: '4s',
      sinks: ['events'],
    });
    world.write();
    const a = await bench.start('a');
    const stored = await vi.waitFor(async () => {
      // One by one: few of these answers may be read at a time.
      const answers = await Array.fromAsync(world.names, (name) => describeRouter(a, name));
      expect(answers.map(({ state }) => state)).toEqual(world.names.map(() => 'up'));
      for (const { logs } of answers) expect(logs).toMatchObject([{ position: { file: 'network/current' } }]);
      return new Map(answers.map((answer) => [answer.name, answer]));
    }, PATIENCE);
    // A stop stores the histories with the read progress of logs; a crash loses some minutes.
    await a.stop();
    const b = await bench.start('b');
    a.start();
    await expectShared([a, b], world.names);
    const [router = ''] = await a.listOwn();
    expect(stored.get(router)?.lastHours.at(-1)?.result).toBe('up');

    const received = () => world.received.filter((one) => one.router === router) as unknown as readonly EventRecord[];
    /** Delivery is at least once; the uid is the key. */
    const events = () => [...new Map(received().map((record) => [record.uid, record])).values()];
    const expected: string[] = [];
    for (const moment of MOMENTS) {
      await vi.waitFor(async () => expect((await describeRouter(a, router)).state).toBe('up'), PATIENCE);
      const held = moment === 'before the sink has answered' ? world.holdNext() : undefined;
      const seen = a.log.length;
      world.setRouterDown(router, true);
      expected.push('router.down');
      await vi.waitFor(() => expect(a.log.slice(seen)).toContain('The router is down'), PATIENCE);
      const before = moment === 'when it is seen' ? undefined : await describeRouter(a, router);
      const batch = await held;
      if (moment === 'when it is shipped')
        await vi.waitFor(() => expect(events()).toHaveLength(expected.length), PATIENCE);
      await a.kill();
      batch?.answer();

      // From its first answer on, before it has asked the router itself.
      const after = await vi.waitFor(async () => {
        const answer = await describeRouter(b, router);
        expect(answer.state).toBe('down');
        return answer;
      }, PATIENCE);
      const polled = await vi.waitFor(async () => {
        const answer = await describeRouter(b, router);
        expect(answer.consecutiveFailures).toBeGreaterThan(0);
        return answer;
      }, PATIENCE);
      await vi.waitFor(() => expect(events()).toHaveLength(expected.length), PATIENCE);
      const [down] = events().slice(-1);
      for (const { since, failure } of [after, polled, ...(before ? [before] : [])]) {
        expect([moment, since, failure?.error]).toEqual([moment, down?.observed_timestamp, expect.any(String)]);
      }
      const page = await (await fetch(`${b.url}/router/${router}`)).text();
      const since = `down since ${down?.observed_timestamp.slice(11, 19)}`;
      // Killed before its event was stored, nobody knows the begin: the other replica was the first to see it.
      const start = polled.isFirstState && !before ? 'down for at least' : since;
      expect(page.replaceAll(/<[^>]*>/g, '')).toContain(start);
      // The other replica has read its logs.
      expect(polled.logs).toMatchObject([{ component: 'network', lagSeconds: expect.any(Number) }]);
      // It was up for the last time at the other replica.
      expect(polled.lastHours.map(({ result }) => result)).toEqual(
        expect.arrayContaining([expect.stringMatching(/up|mixed/)]),
      );

      world.setRouterDown(router, false);
      expected.push('router.up');
      await vi.waitFor(() => expect(events().map(({ event }) => event)).toEqual(expected), PATIENCE);
      a.start();
      await expectShared([a, b], world.names);
    }
    // Nothing comes late, and none but what was in flight was sent twice.
    await b.stop();
    await a.stop();
    expect(events().map(({ event }) => event)).toEqual(expected);
    expect(received().length).toBeLessThanOrEqual(expected.length + MOMENTS.length);
  },
);
