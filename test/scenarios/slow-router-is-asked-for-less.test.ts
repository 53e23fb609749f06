import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DELAY_MS = 3 * SECOND_MS;
const FAST = 'GET /status/sysdetail/system';

/** Few modules, so that a poll of slow answers is over before the next; values last for ten minutes. */
function shape(config: Config): Config {
  const isWanted = ({ name }: { readonly name: string }) => ['boards', 'system', 'profiles'].includes(name);
  const routers = config.routers.map((router) => ({
    ...router,
    poll: { ...router.poll, stale_after: 10 * MINUTE_MS },
    modules: router.modules.filter(isWanted),
  }));
  return { ...config, routers, sinks: [] };
}

/** A slow poll is never idle, so the clock advances after some iterations of the event loop. */
async function pass(fleet: Fleet, minutes: number): Promise<number> {
  const before = fleet.router().counters.requests[FAST] ?? 0;
  for (let atMs = 0; atMs < minutes * MINUTE_MS; atMs += DELAY_MS) {
    await fleet.clock.advance(DELAY_MS, () => takeTurns(20));
  }
  return (fleet.router().counters.requests[FAST] ?? 0) - before;
}

test('a router that takes three seconds for an answer is polled every other minute after five polls, which metric, log and page show, and every minute when it is fast again', async () => {
  await using fleet = await startFleet({ config: shape });
  expect(await pass(fleet, 6)).toBe(6);
  expect(await fleet.metrics()).not.toContain('router_interval_stretch_ratio{');

  await fleet.router().fault('slow', { delayMs: DELAY_MS });
  expect(await pass(fleet, 6)).toBeGreaterThanOrEqual(5);
  expect(await pass(fleet, 6)).toBe(3);
  const slow = await fleet.metrics();
  expect(slow).toContain('router_up{router="sim-1"} 1\n');
  for (const activity of ['slow_modules', 'status', 'logs']) {
    expect(slow).toContain(`router_interval_stretch_ratio{router="sim-1",activity="${activity}"} 2\n`);
  }
  const detail = JSON.parse(await fleet.metrics('/api/v1/routers/sim-1')) as { pace: unknown };
  expect(detail.pace).toMatchObject({ level: 'slow', responseSeconds: 3, isSignalPoor: false, statusStretch: 2 });
  expect(await fleet.metrics('/router/sim-1?view=agent')).toContain('status interval × 2');

  await fleet.router().clearFault('slow');
  await pass(fleet, 12);
  expect(await pass(fleet, 6)).toBe(6);
  expect(await fleet.metrics()).not.toContain('router_interval_stretch_ratio{');
  const said = fleet.ownLog.filter(({ message }) => message.includes('requests are'));
  expect(said.map(({ level, fields }) => [level, fields['level'] ?? fields['stretch']])).toEqual([
    ['warn', 2],
    ['info', 1],
  ]);
});
