import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Supervisor } from '../../src/agent/reload.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import type { ClusterSettings } from '../../src/cluster/index.ts';
import { type Config, renderEffectiveConfig } from '../../src/config/index.ts';
import { createBareConfig } from '../support/bare-config.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

function createConfig(index: number, others: readonly string[]): Config {
  const entries = others.map((name) => [name, { name, url: '', labels: {}, shard: 1 }] as const);
  const shards = { index, total: 2, peers: [], others: new Map(entries) };
  return createBareConfig({ shards });
}

function createClusterSettings(name: string): ClusterSettings {
  const times = { lease: 15_000, status_grace: 900_000 };
  return { servers: ['nats://127.0.0.1:1'], name, replica: 'a', ...times, replicas: 3 };
}

test('during a reload, the routers that a process gives away and those that it takes over are both known to be elsewhere', async () => {
  const [before, next] = [createConfig(0, ['a', 'b']), createConfig(0, ['b', 'c'])];
  const compare = () => Promise.resolve({ added: [], changed: [], removed: [], reconnected: 0 });
  const logger = createCollectingLogger([]);
  const supervisor = new Supervisor({
    config: before,
    clock: createSteppedClock(0),
    logger,
    prepare: (config) =>
      Promise.resolve({ config, compare, commit: async () => ({ added: 0, changed: 0, removed: 0 }) }),
  });
  const listOthers = () => [...(supervisor.shards?.others.keys() ?? [])];
  let during: string[] = [];
  await supervisor.commit({
    config: next,
    compare,
    async commit() {
      during = listOthers();
      return { added: 0, changed: 0, removed: 0 };
    },
  });
  expect(during).toEqual(['a', 'b', 'c']);
  expect(listOthers()).toEqual(['b', 'c']);
});

test('a reload ends when its caller has the new configuration, and says so only then', async () => {
  const ownLog: OwnLine[] = [];
  const told = Promise.withResolvers<void>();
  const compare = () => Promise.resolve({ added: [], changed: [], removed: [], reconnected: 0 });
  const supervisor = new Supervisor({
    config: createBareConfig(),
    clock: createSteppedClock(0),
    logger: createCollectingLogger(ownLog),
    prepare: () => Promise.reject(new RangeError('no')),
    onConfigured: () => told.promise,
  });
  const commit = () => Promise.resolve({ added: 1, changed: 2, removed: 3 });
  const committed = supervisor.commit({ config: createBareConfig(), compare, commit });
  await setImmediate();
  // The secrets of the former configuration are still masked then.
  expect(ownLog).toEqual([]);
  told.resolve();
  await committed;
  expect(ownLog).toMatchObject([{ message: 'Loaded the configuration again', fields: { added: 1, routers: 0 } }]);
});

test('a reload that changes the cluster says that it needs a restart, and the cluster that runs is shown', async () => {
  const ownLog: OwnLine[] = [];
  const compare = () => Promise.resolve({ added: [], changed: [], removed: [], reconnected: 0 });
  const commit = () => Promise.resolve({ added: 0, changed: 0, removed: 0 });
  const before = createBareConfig({ cluster: createClusterSettings('one') });
  const supervisor = new Supervisor({
    config: before,
    clock: createSteppedClock(0),
    logger: createCollectingLogger(ownLog),
    prepare: () => Promise.reject(new RangeError('no')),
  });
  await supervisor.commit({ config: createBareConfig({ cluster: createClusterSettings('two') }), compare, commit });
  expect(supervisor.config.cluster).toBe(before.cluster);
  expect(ownLog[0]).toMatchObject({ level: 'warn', fields: { keys: ['cluster'] } });
});

test('after a reload, a key that needs a restart is shown where it is written now, unless it was changed there', async () => {
  const originsAt = (line: number) => ({
    main: [{ file: 'a.yaml', lines: { 'storage.spool_max': line, 'dead_letters.max': line } }],
    routers: new Map(),
  });
  const supervisor = new Supervisor({
    config: createBareConfig({ origins: originsAt(1) }),
    clock: createSteppedClock(0),
    logger: createCollectingLogger([]),
    prepare: () => Promise.reject(new RangeError('no')),
  });
  await supervisor.commit({
    config: createBareConfig({ origins: originsAt(3), dead_letters: { max: 2, keep: 1 } }),
    compare: () => Promise.resolve({ added: [], changed: [], removed: [], reconnected: 0 }),
    commit: () => Promise.resolve({ added: 0, changed: 0, removed: 0 }),
  });
  const shown = renderEffectiveConfig(supervisor.config);
  expect(shown).toContain('spool_max: 1B # a.yaml:3');
  expect(shown).toContain('max: 1B # a.yaml:1');
});
