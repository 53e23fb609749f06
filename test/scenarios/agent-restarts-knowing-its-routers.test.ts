import { expect, test } from 'vitest';
import type { Config, RouterSettings } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

/** Requests of one router since the last call. */
function openCount(fleet: Fleet): () => number {
  let before = 0;
  return () => {
    const all = Object.values(fleet.router().counters.requests).reduce((sum, count) => sum + count, 0);
    const since = all - before;
    before = all;
    return since;
  };
}

test('an agent that restarts does not ask its routers for what they are known to lack', async () => {
  await using fleet = await startFleet();
  const count = openCount(fleet);
  await fleet.advance(MINUTE_MS);
  const first = count();
  const metrics = await fleet.metrics();
  await fleet.stopAgent();
  count();
  await fleet.startAgent();
  await fleet.advance(MINUTE_MS);
  const again = count();
  expect(again).toBeLessThan(first / 2);

  const toNames = (text: string) => new Set(text.split('\n').flatMap((line) => /^router_\w+/.exec(line)?.[0] ?? []));
  expect(toNames(await fleet.metrics())).toEqual(toNames(metrics));
});

test('a router that is added is not asked for what another one of its model lacks, and shows the same families', async () => {
  // The seventh router is of the same model and firmware as the first. A reload changes what `shape` has made.
  let others: readonly RouterSettings[] = [];
  const shape = (config: Config): Config => {
    others = config.routers.slice(6);
    return { ...config, sinks: [], routers: config.routers.slice(0, 1) };
  };
  await using fleet = await startFleet({ routers: 7, config: shape });
  // Cards that a simulated router does not have are paths that lead nowhere, as are some lists of the configuration.
  const countAbsent = (index: number) => fleet.router(index).counters.requests['GET (unknown)'] ?? 0;
  await fleet.advance(MINUTE_MS / 2);
  await fleet.reload((config) => ({ ...config, routers: [...config.routers, ...others] }));
  await fleet.advance(MINUTE_MS / 2);
  expect(countAbsent(6)).toBeLessThan(countAbsent(0) / 3);
  const familiesOf = (text: string, router: string) =>
    new Set(text.matchAll(new RegExp(`^(router_\\w+)\\{router="${router}"`, 'gm')).map(([, name]) => name));
  const metrics = await fleet.metrics();
  expect(familiesOf(metrics, 'sim-7')).toEqual(familiesOf(metrics, 'sim-1'));
});
