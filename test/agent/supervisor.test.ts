import { expect, test } from 'vitest';
import { Supervisor } from '../../src/agent/supervisor.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import type { Config } from '../../src/config/index.ts';
import { createBareConfig } from '../support/bare-config.ts';
import { createCollectingLogger } from '../support/collecting-logger.ts';

function createConfig(index: number, others: readonly string[]): Config {
  const entries = others.map((name) => [name, { name, url: '', labels: {}, shard: 1 }] as const);
  const shards = { index, total: 2, peers: [], others: new Map(entries) };
  return createBareConfig({ shards });
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
