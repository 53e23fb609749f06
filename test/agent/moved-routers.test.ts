import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FleetShare } from '../../src/agent/cluster.ts';
import { Fleet } from '../../src/agent/routers/fleet.ts';
import { LifecycleKeeper } from '../../src/agent/routers/lifecycle-keeper.ts';
import { RouterAgent } from '../../src/agent/routers/router-agent.ts';
import { SpoolGuard } from '../../src/agent/spool-guard.ts';
import { createSteppedClock, hashToUnit } from '../../src/base/index.ts';
import { Claims, Share } from '../../src/cluster/share.ts';
import { renderClaim, toMemberKey, toOwnerKey } from '../../src/cluster/view.ts';
import type { Store } from '../../src/model/index.ts';
import { Scheduler } from '../../src/schedule/index.ts';
import { answerJson, openRouter } from '../client/http-router.ts';
import { createModelReplica } from '../cluster/model-replica.ts';
import { differences } from '../schedule/scheduler-bench.ts';
import { createCollectingLogger } from '../support/collecting-logger.ts';
import { createClusterBench } from '../support/store-bench.ts';
import { withPrograms } from '../support/tools.ts';
import {
  createModule,
  createRouterSettings,
  createSurroundings,
  NEVER,
  openRouterAgent,
  SECOND_MS,
} from './router-agent-bench.ts';

const NAMES = Array.from({ length: 64 }, (_, index) => `plant-${index}`);
/** Short, so that the first polls of a few routers are spread over all of it. */
const INTERVAL_MS = 400;
/** After it, a change of the members is acted upon. */
const SETTLING_MS = SECOND_MS;

/** Replica `b` with its scheduler and its routers, in a bucket in which replica `a` has claimed what belongs to it. */
async function openReplica() {
  const router = await openRouter((_request, response) => answerJson(response, { status: { n: 7 } }));
  const { clock } = router;
  const { options } = createSurroundings(clock);
  const { exposition, archives, values, logger } = options;
  const polls: { readonly name: string; readonly atMs: number }[] = [];
  const scheduler = new Scheduler({
    clock,
    // The clock stands still while a router answers.
    report: ({ key }) => polls.push({ name: key.replace('/status', ''), atMs: clock.monotonic() }),
  });
  const lifecycle = new LifecycleKeeper({ store: { writeValue: (...given) => values.write(...given) }, values, clock });
  const fleet = new Fleet({ scheduler, exposition, lifecycle, clock, logger });
  let moved = Promise.withResolvers<void>();
  const replica = createModelReplica({ clock, leaseMs: 3600 * SECOND_MS, replica: 'b' });
  const { bucket, view, membership, enter, look } = replica;
  const routers = new Claims('router', membership);
  const shares: Share[] = [];
  const share = new FleetShare(
    {
      routers,
      sinks: new Claims('sink', membership),
      setRouters: () => {},
      createShare(claims, shared) {
        const report = ({ type }: { readonly type: string }) => {
          if (type === 'moved') moved.resolve();
        };
        const one = new Share({ claims, membership, clock, report }, shared);
        shares.push(one);
        return one;
      },
      join: () => {},
    },
    fleet,
    { names: [], handOver: async () => {}, wake: () => {}, recordUnserved: () => {} },
  );
  // On a busy machine, a due run may begin an iteration of the event loop later.
  const settle = async () => {
    await scheduler.whenIdle();
    while (scheduler.load.waiting > 0) {
      await setImmediate();
      await scheduler.whenIdle();
    }
  };
  const advance = (ms: number) => clock.advance(ms, settle);
  for (const name of ['a', 'b']) enter(name, NAMES);
  look();
  const ofOther = NAMES.filter((name) => view.findRouterOwner(name) === 'a');
  for (const name of ofOther) bucket.put(toOwnerKey(name), renderClaim({ replica: 'a', incarnation: 'a/1' }));
  look();
  replica.acquire();
  /** When the agent of each router was made. Monotonic milliseconds. */
  const takenMs = new Map<string, number>();
  const modules = [createModule('number', 'number')];
  const poll = { ...createRouterSettings(router.url).poll, interval: INTERVAL_MS };
  scheduler.start();
  await share.apply(
    {
      routers: NAMES.map((name) => createRouterSettings(router.url, { name, modules, poll })),
      common: {},
      lines: options.lines,
      create: (settings, state) => {
        takenMs.set(settings.name, clock.monotonic());
        return new RouterAgent({ ...options, settings, lifecycle: state, hasSinks: false, gate: routers });
      },
    },
    NEVER,
  );
  // A move goes on in steps of the event loop, for which the clock waits here.
  await clock.advance(0);
  await moved.promise;
  return {
    polls,
    takenMs,
    own: NAMES.filter((name) => !ofOther.includes(name)),
    ofOther,
    timesOf: (name: string) => polls.filter((one) => one.name === name).map(({ atMs }) => atMs),
    /** The lease of `a` ends; resolves when `b` has taken its routers. */
    loseOther: async () => {
      moved = Promise.withResolvers();
      bucket.put(toMemberKey('a'), undefined, undefined, true);
      look();
      for (const one of shares) one.onChange();
      await advance(SETTLING_MS);
      await moved.promise;
    },
    advance,
    async [Symbol.asyncDispose]() {
      share.close();
      await scheduler.stop();
      await fleet.close(AbortSignal.abort()).catch(() => {});
      await archives.close();
      await router[Symbol.asyncDispose]();
    },
  };
}

test('routers that move are polled at their own phases on the replica that takes them, which its own routers keep', async () => {
  await using bench = await openReplica();
  const { own, ofOther, takenMs, timesOf } = bench;
  await bench.advance(4 * SECOND_MS);
  expect([...takenMs.keys()]).toEqual(own);
  await bench.loseOther();
  await bench.advance(4 * SECOND_MS);

  expect(own.length).toBeGreaterThan(INTERVAL_MS / 20);
  for (const name of ofOther) {
    const [firstMs = Number.NaN] = timesOf(name);
    const phaseMs = Math.floor(hashToUnit(name) * INTERVAL_MS);
    expect([name, firstMs - (takenMs.get(name) ?? 0)]).toEqual([name, phaseMs]);
  }
  for (const name of NAMES) {
    expect(timesOf(name).length).toBeGreaterThan(5);
    expect([name, new Set(differences(timesOf(name)))]).toEqual([name, new Set([INTERVAL_MS])]);
  }
  // All of them were taken at the same time.
  expect(new Set(ofOther.map((name) => takenMs.get(name))).size).toBe(1);
  const firstTimes = ofOther.flatMap((name) => timesOf(name)[0] ?? []);
  expect(new Set(firstTimes).size).toBeGreaterThan(0.8 * ofOther.length);
});

test('a replica that had no router does not poll those that it takes all at once', async () => {
  await using bench = await openReplica();
  const { own, takenMs, timesOf } = bench;
  await bench.advance(3 * SECOND_MS);
  expect(new Set(own.map((name) => takenMs.get(name))).size).toBe(1);
  const counts = Map.groupBy(own, (name) => timesOf(name)[0]);
  expect(Math.max(...[...counts.values()].map(({ length }) => length))).toBeLessThan(4);
  expect(counts.size).toBeGreaterThan(0.7 * own.length);
});

withPrograms(['nats-server'], test)(
  'the gaps that one replica has found are told by the one that has the router next, from its start on',
  { timeout: 30_000 },
  async () => {
    await using engine = await createClusterBench();
    await using one = await engine.open({ replica: 'a' });
    await using two = await engine.open({ replica: 'b', routers: [] });
    await using before = await openRouterAgent({}, { records: toRecords(one.store) });
    // In an unreadable form.
    const files = ['network/current', 'network/log-2026-11-21-12:30:00.Z'];
    before.answers.set('list_files', (response) => answerJson(response, { log_files: files }));
    before.answers.set('.Z', (response) => response.end(Buffer.from('\x1f\x9dcompressed', 'latin1')));
    await before.run('logs');
    const found = before.agent.recorder.describe().recentGaps;
    expect(found).toMatchObject([{ component: 'network', reason: 'unsupported' }]);

    await one.store.closeRouter('plant-7');
    await two.store.openRouter('plant-7');
    await using after = await openRouterAgent({}, { records: toRecords(two.store) });
    expect(after.asked()).toEqual([]);
    expect(after.agent.recorder.describe().recentGaps).toEqual(found);
  },
);

withPrograms(['nats-server'], test)(
  'a router whose logs another replica has moved on shows the gaps of that one with its next look at them',
  { timeout: 30_000 },
  async () => {
    await using engine = await createClusterBench();
    await using one = await engine.open({ replica: 'a' });
    await using two = await engine.open({ replica: 'b' });
    await using fenced = await openRouterAgent({}, { records: toRecords(one.store) });
    await using other = await openRouterAgent({}, { records: toRecords(two.store) });
    const files = ['network/current', 'network/log-2026-11-21-12:30:00.Z'];
    other.answers.set('list_files', (response) => answerJson(response, { log_files: files }));
    other.answers.set('.Z', (response) => response.end(Buffer.from('\x1f\x9dcompressed', 'latin1')));
    await other.run('logs');
    const found = other.agent.recorder.describe().recentGaps;
    expect(found).toHaveLength(1);

    await fenced.run('logs');
    expect(fenced.agent.recorder.describe().recentGaps).toEqual([]);
    await fenced.run('logs');
    expect(fenced.agent.recorder.describe().recentGaps).toEqual(found);
  },
);

/** The records of a replica, without limits. */
function toRecords(store: Store): SpoolGuard {
  const clock = createSteppedClock(0);
  const logger = createCollectingLogger([]);
  return new SpoolGuard({ store, spoolBytesMax: () => Number.POSITIVE_INFINITY, onSpooled: () => {}, clock, logger });
}
