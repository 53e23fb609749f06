import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;

/** The value of a series without labels of its own. */
function sampleOf(metrics: string, family: string, router: string): string | undefined {
  return new RegExp(`^${family}\\{router="${router}"\\} (\\S+)$`, 'm').exec(metrics)?.[1];
}

test('a router that is gone is down with its reason, its values run out, its identity stays, and the others go on', async () => {
  await using fleet = await startFleet({ routers: 3 });
  await fleet.advance(60 * SECOND_MS);
  await fleet.router(1).fault('down');

  await fleet.advance(60 * SECOND_MS);
  const early = await fleet.metrics();
  await fleet.advance(600 * SECOND_MS);
  const late = await fleet.metrics();

  for (const metrics of [early, late]) {
    expect(['sim-1', 'sim-2', 'sim-3'].map((name) => sampleOf(metrics, 'router_up', name))).toEqual(['1', '0', '1']);
    expect(metrics).toContain('router_failure_reason{router="sim-2",reason="connect"} 1\n');
    expect(metrics).toMatch(/router_board_info\{router="sim-2",slot="1"/);
    expect(metrics).toMatch(/router_uptime_seconds\{router="sim-1"/);
  }
  expect(early).toMatch(/router_uptime_seconds\{router="sim-2"/);
  expect(late).not.toMatch(/router_uptime_seconds\{router="sim-2"/);
  const age = /router_resource_age_seconds\{router="sim-2",resource="sysdetail\/system"\} (\S+)/.exec(late)?.[1];
  expect(Number(age)).toBeGreaterThan(600);
  const polls = fleet.router(0).counters.requests['GET /status/sysdetail/system'] ?? 0;
  expect(polls).toBeGreaterThanOrEqual(11);
});

test('a router that is back is up again, with one login more and every line that it wrote meanwhile', async () => {
  await using fleet = await startFleet({ routers: 2 });
  fleet.router(1).appendLog('network', 'before');
  await fleet.advance(60 * SECOND_MS);
  await fleet.router(1).fault('down');
  await fleet.advance(1200 * SECOND_MS);
  fleet.router(1).appendLog('network', 'meanwhile');
  await fleet.router(1).clearFault('down');

  await fleet.advance(600 * SECOND_MS);

  expect(sampleOf(await fleet.metrics(), 'router_up', 'sim-2')).toBe('1');
  expect(fleet.router(1).counters).toMatchObject({ refreshReuses: 0, loginFailures: 0 });
  const own = fleet.records.filter(({ router }) => router === 'sim-2');
  expect(own.map(({ message }) => message)).toEqual(['before', 'meanwhile']);
});

test.each([
  ['that answers no login', { path: '/auth/login' }],
  ['that refuses every request', {}],
])(
  'a router %s is asked to log in by its polls alone, and its logs come with the first one that works',
  async (_which, options) => {
    await using fleet = await startFleet({ routers: 1 });
    await fleet.router(0).fault('http_500', options);
    fleet.router(0).appendLog('network', 'line');
    await fleet.advance(1200 * SECOND_MS);
    // After one, two and four minutes, then every five.
    expect(fleet.router(0).counters.requests['POST (http_500)']).toBe(6);
    await fleet.router(0).clearFault('http_500');
    await fleet.advance(310 * SECOND_MS);
    expect(fleet.records.map(({ message }) => message)).toEqual(['line']);
  },
);

test('a router that never answers costs one timeout per resource, and the others are polled all the while', async () => {
  await using fleet = await startFleet({ routers: 3 });
  await fleet.advance(60 * SECOND_MS);
  await fleet.router(2).fault('hang');
  const before = fleet.router(0).counters.requests['GET /status/sysdetail/system'] ?? 0;

  // The hanging run is never idle, so the clock advances after some iterations of the event loop.
  for (let second = 0; second < 300; second++) {
    await fleet.clock.advance(SECOND_MS, () => takeTurns(150));
  }

  const metrics = await fleet.metrics();
  expect(['sim-1', 'sim-2', 'sim-3'].map((name) => sampleOf(metrics, 'router_up', name))).toEqual(['1', '1', '0']);
  expect(metrics).toContain('router_failure_reason{router="sim-3",reason="timeout"} 1\n');
  const after = fleet.router(0).counters.requests['GET /status/sysdetail/system'] ?? 0;
  expect(after - before).toBeGreaterThanOrEqual(5);
});
