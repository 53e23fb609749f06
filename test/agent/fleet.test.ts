import { expect, test } from 'vitest';
import { Fleet } from '../../src/agent/routers/fleet.ts';
import { LifecycleKeeper } from '../../src/agent/routers/lifecycle-keeper.ts';
import { RouterAgent } from '../../src/agent/routers/router-agent.ts';
import { createSteppedClock, Secret } from '../../src/base/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import { Scheduler } from '../../src/schedule/index.ts';
import { load } from '../config/configuration-folder.ts';
import { findFreePort } from '../support/free-port.ts';
import { createRouterSettings, createSurroundings, NEVER, openRouterAgent } from './router-agent-bench.ts';

/** A fleet whose scheduler does not begin, so that no router is asked. */
async function createBench() {
  const clock = createSteppedClock(0);
  const surroundings = createSurroundings(clock);
  const { options } = surroundings;
  const { exposition, archives, values } = options;
  const lifecycle = new LifecycleKeeper({ store: { writeValue: (...given) => values.write(...given) }, values, clock });
  const scheduler = new Scheduler({ clock, report: () => {} });
  const fleet = new Fleet({ scheduler, exposition, lifecycle, clock, logger: options.logger });
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const created: string[] = [];
  const removed: string[] = [];
  return {
    ...surroundings,
    exposition,
    scheduler,
    fleet,
    created,
    removed,
    router: (name: string, changes: Partial<RouterSettings> = {}) => createRouterSettings(url, { name, ...changes }),
    apply: (routers: readonly RouterSettings[], common: object = {}, signal = NEVER) =>
      fleet.apply(
        {
          routers,
          common,
          lines: options.lines,
          create: (settings, state) => {
            created.push(settings.name);
            return new RouterAgent({ ...options, settings, lifecycle: state });
          },
          onRemoved: (name) => void removed.push(name),
        },
        signal,
      ),
    /** Polls a router once, which logs in to it. */
    poll: async (name: string) => {
      const status = fleet
        .find(name)
        ?.activities()
        .find(({ key }) => key === `${name}/status`);
      await status?.run(NEVER, { isAwaited: () => false, isTriggered: false });
    },
    series: (name: string) =>
      [...exposition.render('text', clock.monotonic(), name)]
        .join('')
        .split('\n')
        .filter((line) => line.includes(`"${name}"`)),
    [Symbol.asyncDispose]: async () => {
      await fleet.close(NEVER);
      await archives.close();
    },
  };
}

test('Fleet makes and starts the agents of routers that are new, in the order of the configuration', async () => {
  await using bench = await createBench();
  expect(await bench.apply([bench.router('a'), bench.router('b')])).toEqual({ added: 2, changed: 0, removed: 0 });
  expect(bench.fleet.routers.map(({ settings }) => settings.name)).toEqual(['a', 'b']);
  expect(bench.fleet.find('b')).toBe(bench.fleet.routers[1]);
  expect(bench.fleet.find('c')).toBeUndefined();
  expect(bench.fleet.countStates()).toEqual({ up: 0, down: 0, budget: 0, unknown: 2, paused: 0, retired: 0 });
  expect(bench.ownLog.map(({ fields }) => fields['router'])).toEqual(['a', 'b']);
  // The scheduler knows them: a trigger waits for its start.
  const asked = bench.scheduler.trigger('b/logs');
  bench.scheduler.start();
  await bench.scheduler.stop();
  expect(await asked).toBe('gone');
});

test('Fleet leaves a router with the same settings alone, and restarts one with another password', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a'), bench.router('b')]);
  const [a, b] = bench.fleet.routers;
  const password = new Secret('another');
  const change = await bench.apply([bench.router('a'), bench.router('b', { password })]);
  expect(change).toEqual({ added: 0, changed: 1, removed: 0 });
  expect(bench.fleet.find('a')).toBe(a);
  expect(bench.fleet.find('b')).not.toBe(b);
  expect(bench.created).toEqual(['a', 'b', 'b']);
});

test('Fleet restarts every router when settings of all routers change', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a'), bench.router('b')], { hasSinks: true });
  await bench.apply([bench.router('a'), bench.router('b')], { hasSinks: true });
  expect(bench.created).toHaveLength(2);
  expect(await bench.apply([bench.router('a'), bench.router('b')], { hasSinks: false })).toMatchObject({ changed: 2 });
  expect(bench.created).toHaveLength(4);
});

test('Fleet sees a change of modules', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a')]);
  expect(await bench.apply([bench.router('a', { modules: [] })])).toEqual({ added: 0, changed: 1, removed: 0 });
});

test('Fleet reads the state of a returning router again, because another replica may have owned it meanwhile', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a')]);
  await bench.apply([]);
  const { values } = bench.options;
  const writeValue = async (router: string, key: string, text: string) => values.write(router, key, text);
  const other = new LifecycleKeeper({ store: { writeValue }, values, clock: bench.options.clock });
  await other.request('a', { state: 'paused', untilMs: undefined });
  await bench.apply([bench.router('a')]);
  expect(bench.fleet.countStates()).toMatchObject({ paused: 1 });
});

test('Fleet takes a router away that is not configured any more, with its activities and all of its series', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a'), bench.router('b')]);
  expect(bench.series('b')).not.toEqual([]);
  const waiting = bench.scheduler.trigger('b/status');
  expect(await bench.apply([bench.router('a')])).toEqual({ added: 0, changed: 0, removed: 1 });
  expect(await waiting).toBe('gone');
  expect(bench.removed).toEqual(['b']);
  expect(await bench.scheduler.trigger('b/logs')).toBe('gone');
  expect(bench.series('b')).toEqual([]);
  expect(bench.series('a')).not.toEqual([]);
  expect(bench.fleet.routers.map(({ settings }) => settings.name)).toEqual(['a']);
});

test('Fleet keeps the counters of a router that has changed, unless its labels have', async () => {
  await using bench = await createBench();
  const family = { name: 'router_words_total', help: 'Words.', type: 'counter' } as const;
  const value = { name: 'router_level', help: 'Level.', type: 'gauge', samples: [{ labels: {}, value: 1 }] } as const;
  const say = (router: RouterSettings) => {
    bench.exposition.add(router, family, {}, 5);
    bench.exposition.publish(router, 'part', [value]);
  };
  const of = (name: string) => bench.series(name).filter((line) => /words|level/.test(line));
  await bench.apply([bench.router('a'), bench.router('b')]);
  say(bench.router('a'));
  say(bench.router('b'));
  await bench.apply([
    bench.router('a', { byte_budget: { perDay: 1000, statusShare: 0.2 } }),
    bench.router('b', { labels: { site: 'munich' } }),
  ]);
  expect(of('a')).toEqual(['router_words_total{router="a"} 5']);
  expect(of('b')).toEqual([]);
});

test('Fleet logs out of what it takes away and, when it is closed, of all', async () => {
  await using router = await openRouterAgent();
  await using bench = await createBench();
  const { url } = router.agent.settings;
  await bench.apply([bench.router('a', { url }), bench.router('b', { url })]);
  const loggedOut = () =>
    bench.ownLog.filter(({ message }) => message === 'Logged out').map(({ fields }) => fields['router']);
  await bench.poll('a');
  await bench.poll('b');
  await bench.apply([bench.router('a', { url })]);
  expect(loggedOut()).toEqual(['b']);
  await bench.fleet.close(NEVER);
  expect(loggedOut()).toEqual(['b', 'a']);
});

test('Fleet goes on when a router cannot be logged out of', async () => {
  await using router = await openRouterAgent();
  await using bench = await createBench();
  await bench.apply([bench.router('a', { url: router.agent.settings.url })]);
  await bench.poll('a');
  router.answers.set('/auth/logout', (response) => response.destroy());
  expect(await bench.apply([])).toEqual({ added: 0, changed: 0, removed: 1 });
  expect(bench.fleet.countStates()).toEqual({ up: 0, down: 0, budget: 0, unknown: 0, paused: 0, retired: 0 });
});

test('Fleet restarts and adds routers while another one does not answer its logout, which keeps agent and values until then', async () => {
  await using router = await openRouterAgent();
  await using hanging = await openRouterAgent();
  await using bench = await createBench();
  const { url } = router.agent.settings;
  const routers = [bench.router('hung', { url: hanging.agent.settings.url }), bench.router('a', { url })];
  await bench.apply(routers);
  await bench.poll('hung');
  await bench.poll('a');
  const asked = Promise.withResolvers<void>();
  hanging.answers.set('/auth/logout', () => asked.resolve());
  const [hung, a] = bench.fleet.routers;
  bench.created.length = 0;
  const patience = new AbortController();

  const applied = bench.apply([...routers, bench.router('b', { url })], { hasSinks: false }, patience.signal);
  await asked.promise;
  await expect.poll(() => bench.created.toSorted()).toEqual(['a', 'b']);

  expect(bench.fleet.find('a')).not.toBe(a);
  expect(bench.fleet.routers.map(({ settings }) => settings.name)).toEqual(['hung', 'a', 'b']);
  expect(bench.fleet.find('hung')).toBe(hung);
  expect(bench.series('hung')).toContain('router_up{router="hung"} 1');
  patience.abort();
  expect(await applied).toEqual({ added: 1, changed: 2, removed: 0 });
  expect(bench.fleet.find('hung')).not.toBe(hung);
  expect(bench.series('hung').filter((line) => line.startsWith('router_up{'))).toEqual([]);
});

test('Fleet restarts the routers of a group that changed, and no others', async () => {
  await using bench = await createBench();
  const loadRouters = async (interval: string, site: string) => {
    const { config, lines } = await load(`
defaults: { auth: none }
groups: { slow: { poll: { interval: ${interval} } }, munich: { timezone: Europe/Berlin, labels: { site: ${site} } } }
routers:
  - { name: a, url: "http://127.0.0.1:9", groups: [slow, munich] }
  - { name: b, url: "http://127.0.0.1:9", groups: [munich] }
  - { name: c, url: "http://127.0.0.1:9", groups: [slow], poll: { interval: 2m } }
  - { name: d, url: "http://127.0.0.1:9" }
`);
    expect(lines).toEqual([]);
    return config?.routers ?? [];
  };
  await bench.apply(await loadRouters('5m', 'm'));
  bench.created.length = 0;
  // c sets the only key that changed itself.
  expect(await bench.apply(await loadRouters('6m', 'm'))).toEqual({ added: 0, changed: 1, removed: 0 });
  expect(await bench.apply(await loadRouters('6m', 'n'))).toEqual({ added: 0, changed: 2, removed: 0 });
  expect(bench.created).toEqual(['a', 'a', 'b']);
});

test('Fleet begins with no router of a change that is under way when it is closed, or comes behind that', async () => {
  await using bench = await createBench();
  await bench.apply([bench.router('a')]);
  const changing = bench.apply([
    bench.router('a', { byte_budget: { perDay: 1000, statusShare: 0.2 } }),
    bench.router('b'),
  ]);
  await bench.fleet.close(NEVER);
  await changing;
  await bench.apply([bench.router('c')]);
  expect(bench.created).toEqual(['a']);
  expect(bench.fleet.routers).toEqual([]);
});

test('Fleet stores the histories of its routers one by one when it is closed, with pauses, and none that it has no time for', async () => {
  await using bench = await createBench();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await bench.apply(names.map((name) => bench.router(name)));
  for (const name of names) await bench.poll(name);
  // Each look at the clock is a millisecond later, and each turn of the event loop is counted.
  let [nowMs, turn] = [bench.options.clock.monotonic(), 0];
  Object.assign(bench.options.clock, { monotonic: () => nowMs++ });
  const stored = new Map<string, number>();
  Object.assign(bench.options.values, {
    write: (name: string, key: string) => key === 'history' && stored.set(name, turn),
  });
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  await expect(bench.fleet.close(AbortSignal.abort())).rejects.toThrow();
  expect([...stored.keys()]).toEqual([]);
  await bench.fleet.close(NEVER);
  expect([...stored.keys()]).toEqual(names);
  expect(new Set(stored.values()).size).toBeGreaterThan(2);
  clearImmediate(next);
});
