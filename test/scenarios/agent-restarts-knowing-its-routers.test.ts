import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

/** Requests of the router since the last call. */
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
