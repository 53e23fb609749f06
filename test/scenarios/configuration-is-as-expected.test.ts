import { expect, test } from 'vitest';
import { RouterClient } from '../../src/client/index.ts';
import type { Config } from '../../src/config/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEB = 'administration/webinterface';

/** For days of the clock that are to pass quickly. */
const ROUTER = {
  poll: { interval: 10 * MINUTE_MS, timeout: 10_000, connect_timeout: 5000, deadline: 45_000, stale_after: HOUR_MS },
  logs: { enabled: false, interval: 30_000, start: 'all', components: ['*'] },
  expect: [
    { rule: 'no-http', resource: WEB, field: ['active', 'http_active'], value: '0' },
    { resource: 'administration/hostnames', field: 'location', value: 'hall 4' },
    { resource: 'administration/hostnames', field: 'no_such', value: '1' },
  ],
} as const;

function withFewModules(config: Config): Config {
  const isWanted = ({ name }: { readonly name: string }) => ['compliance', 'system'].includes(name);
  return { ...config, routers: config.routers.map((one) => ({ ...one, modules: one.modules.filter(isWanted) })) };
}

/** Series of the fleet's routers, without their names. */
async function readSeries(fleet: Fleet): Promise<readonly string[]> {
  const lines = (await fleet.metrics()).split('\n').filter((line) => line.startsWith('router_config_expected{'));
  return lines.map((line) => line.replace(/^.*rule="(.*)"\} (.*)$/, '$1 $2'));
}

const countRequests = (fleet: Fleet) =>
  Object.entries(fleet.router().counters.requests)
    .filter(([name]) => name.includes('/configuration/'))
    .reduce((sum, [, requests]) => sum + requests, 0);

async function change(fleet: Fleet, parameters: Record<string, string>): Promise<void> {
  await using admin = new RouterClient({
    url: fleet.router().url,
    username: 'admin',
    password: 'simulated',
    tls: { caPem: fleet.simulator.caPem },
    clock: fleet.clock,
  });
  await admin.configuration.changeParameters('administration/hostnames', parameters, { activate: true });
}

test('expected values are compared once, again after a change, at most once a day, and not again after a restart', async () => {
  await using fleet = await startFleet({ router: ROUTER, config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  expect(await readSeries(fleet)).toEqual(['no-http 1', 'hostnames.location 0']);
  expect(countRequests(fleet)).toBe(2);
  expect(await fleet.metrics('/?state=drift')).toContain('<caption>1 router, with a changed configuration</caption>');

  await change(fleet, { location: 'hall 4' });
  const own = countRequests(fleet);
  await fleet.advance(20 * HOUR_MS);
  expect(await readSeries(fleet)).toEqual(['no-http 1', 'hostnames.location 0']);
  expect(countRequests(fleet)).toBe(own);

  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(10 * MINUTE_MS);
  expect(await readSeries(fleet)).toEqual(['no-http 1', 'hostnames.location 0']);
  expect(countRequests(fleet)).toBe(own);

  await fleet.advance(6 * HOUR_MS);
  expect(await readSeries(fleet)).toEqual(['no-http 1', 'hostnames.location 1']);
  expect(countRequests(fleet)).toBe(own + 2);
  expect(await fleet.metrics('/?state=drift')).toContain('No router matches.');
  // Only what the router lacks is asked for again.
  await fleet.advance(2 * DAY_MS);
  expect(countRequests(fleet)).toBe(own + 4);
});

test('an account that may not read the configuration has no series, and is shown as such, for one request a day', async () => {
  await using fleet = await startFleet({ router: { ...ROUTER, username: 'status' }, config: withFewModules });
  await fleet.advance(DAY_MS + 2 * HOUR_MS);
  expect(await readSeries(fleet)).toEqual([]);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_resource_permitted{router="sim-1",resource="compliance"} 0\n');
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(countRequests(fleet)).toBe(2);
});

test('the values of a router that no longer answers expire', async () => {
  await using fleet = await startFleet({ router: ROUTER, config: withFewModules });
  await fleet.advance(10 * MINUTE_MS);
  await fleet.router().fault('down');
  await fleet.advance(4 * HOUR_MS);
  expect(await readSeries(fleet)).toEqual([]);
});

test('an answer beyond the bound is unknown, and the other resources are compared', async () => {
  await using fleet = await startFleet({ router: ROUTER, config: withFewModules });
  await fleet.router().fault('huge_body', { path: `/configuration/${WEB}` });
  await fleet.advance(10 * MINUTE_MS);
  expect(await readSeries(fleet)).toEqual(['hostnames.location 0']);
});
