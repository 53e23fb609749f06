import { expect, test } from 'vitest';
import type { Config, RouterSettings } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { openSilentListener } from '../support/silent-listener.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const ROUTERS = 17;
/** Dead routers by index. The hash of a name decides when in its interval a router is due: these are before most others. */
const [SILENT, HANGING, DRIPPING, REFUSING, ENDLESS] = [5, 7, 16, 10, 14] as const;
const DEAD: readonly number[] = [SILENT, HANGING, DRIPPING, REFUSING, ENDLESS];
/** Two places for polls, fewer than dead routers: they would hold both. */
const RUNS_MAX = 3;
/** Longer than the polls of all healthy routers that are due at the same time take. */
const LATE_MS = 5 * SECOND_MS;

/** One module, and no logs, so that many routers are simulated quickly; one of them is behind `silentPort`. */
function shape(silentPort: number): (config: Config) => Config {
  const change = (router: RouterSettings, index: number): RouterSettings => ({
    ...router,
    url: index === SILENT ? `https://127.0.0.1:${silentPort}` : router.url,
    modules: router.modules.filter(({ name }) => name === 'system'),
  });
  return (config) => ({
    ...config,
    schedule: { concurrent_runs: RUNS_MAX },
    sinks: [],
    routers: config.routers.map(change),
  });
}

/** A poll that hangs is never idle, so the clock advances after some iterations of the event loop. */
async function pass(fleet: Fleet, durationMs: number): Promise<void> {
  for (let atMs = 0; atMs < durationMs; atMs += SECOND_MS) {
    await fleet.clock.advance(SECOND_MS, () => takeTurns(60));
  }
}

/** Logouts take as long as other answers. */
async function stop(fleet: Fleet): Promise<void> {
  const stopped = fleet.stopAgent();
  await pass(fleet, 10 * SECOND_MS);
  await stopped;
}

function listValues(metrics: string, family: string): ReadonlyMap<string, number> {
  const lines = metrics.matchAll(new RegExp(`^${family}\\{router="([^"]+)"[^}]*\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, router = '', value]) => [router, Number(value)]));
}

test('with 30 % of the routers dead in five ways, the values of the others are never older than one interval and some seconds', async () => {
  await using silent = await openSilentListener();
  await using fleet = await startFleet({ routers: ROUTERS, config: shape(silent.port), isStopped: true });
  await fleet.router(REFUSING).fault('down');
  await fleet.router(HANGING).fault('hang');
  await fleet.router(DRIPPING).fault('slow_body', { bytesPerSecond: 1 });
  await fleet.router(ENDLESS).fault('huge_body', { bytes: 8 * 1024 * 1024 });
  const healthy = Array.from({ length: ROUTERS }, (_, index) => index).filter((index) => !DEAD.includes(index));
  for (const index of healthy) await fleet.router(index).fault('slow', { delayMs: 400 });
  await fleet.startAgent();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => stop(fleet));
  await pass(fleet, MINUTE_MS);
  for (let step = 0; step < 30; step++) {
    await pass(fleet, 10 * SECOND_MS);
    const ages = listValues(await fleet.metrics(), 'router_resource_age_seconds');
    expect([...ages.keys()]).toHaveLength(healthy.length);
    expect(Math.max(...ages.values())).toBeLessThanOrEqual((MINUTE_MS + LATE_MS) / SECOND_MS);
  }
  const up = listValues(await fleet.metrics(), 'router_up');
  const expected = Array.from({ length: ROUTERS }, (_, index) => [`sim-${index + 1}`, DEAD.includes(index) ? 0 : 1]);
  expect(Object.fromEntries(up)).toEqual(Object.fromEntries(expected));
});
