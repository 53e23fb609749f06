import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
/** A look comes every 30 seconds, and an archive may need the one after that. */
const AVAILABLE_MS = 70 * SECOND_MS;

/** Lets a line come every so many seconds in each log, and finds the longest that one of them was not delivered. */
async function live(fleet: Fleet, minutes: number, logs: Readonly<Record<string, number>>): Promise<number> {
  const written: { readonly atMs: number; readonly message: string }[] = [];
  let longestMs = 0;
  for (let second = 0; second < minutes * 60; second++) {
    for (const [component, everySeconds] of Object.entries(logs)) {
      if (second % everySeconds !== 0) continue;
      const message = `${component} ${written.length}`;
      fleet.router().appendLog(component, message);
      written.push({ atMs: fleet.clock.now(), message });
    }
    await fleet.advance(SECOND_MS);
    const delivered = new Set(fleet.records.map(({ message }) => message));
    while (written[0] && delivered.has(written[0].message)) written.shift();
    longestMs = Math.max(longestMs, written[0] ? fleet.clock.now() - written[0].atMs : 0);
  }
  return longestMs;
}

test('a log that a timer rotates every 25 seconds is never behind, and nothing is flagged or missing', async () => {
  await using fleet = await startFleet({
    router: { modules: [] },
    simulator: { logs: { rotateEveryMs: 25 * SECOND_MS } },
  });
  const longestMs = await live(fleet, 18, { network: 23, system: 60, vpn: 2 });
  expect(longestMs).toBeLessThan(AVAILABLE_MS);
  await fleet.advance(2 * MINUTE_MS);
  for (const component of ['network', 'system', 'vpn']) expectEachLineOnce(fleet.records, fleet.router(), component);
  expect(fleet.records.flatMap(({ flags }) => flags ?? [])).toEqual([]);
  expect(fleet.agent.summary().gaps).toBe(0);
}, 120_000);
