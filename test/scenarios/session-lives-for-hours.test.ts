import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('the session of a router takes one login and a refresh every four minutes, and uses no refresh token twice', async () => {
  await using fleet = await startFleet();
  await fleet.advance(MINUTE_MS);
  expect(fleet.router().counters).toMatchObject({ logins: 1, refreshes: 0 });

  await fleet.advance(20 * MINUTE_MS);

  expect(fleet.router().counters).toMatchObject({
    logins: 1,
    refreshes: 5,
    refreshReuses: 0,
    loginFailures: 0,
    unauthorized: 0,
  });
  expect(await fleet.metrics()).toContain('router_api_token_refreshes_total{router="sim-1"} 5\n');
});

test('a restart of the router costs one login more, and nothing is lost', async () => {
  await using fleet = await startFleet();
  await fleet.advance(2 * MINUTE_MS);
  fleet.router().restart();

  await fleet.advance(2 * MINUTE_MS);

  expect(fleet.router().counters).toMatchObject({ logins: 2, refreshReuses: 0, unauthorized: 2 });
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(metrics).toContain('router_consecutive_failures{router="sim-1"} 0\n');
});

test('an access token that the router refuses early costs a refresh, and no login', async () => {
  await using fleet = await startFleet();
  await fleet.advance(2 * MINUTE_MS);
  fleet.router().expireTokens();

  await fleet.advance(2 * MINUTE_MS);

  expect(fleet.router().counters).toMatchObject({ logins: 1, refreshes: 1, refreshReuses: 0, unauthorized: 1 });
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_api_logins_total{router="sim-1"} 1\n');
  expect(metrics).toContain('router_api_token_refreshes_total{router="sim-1"} 1\n');
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
});

test('the agent logs out of every router when it stops', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(2 * MINUTE_MS);

  await fleet.stopAgent();

  expect(fleet.simulator.routers.map(({ counters }) => counters.logouts)).toEqual([1, 1]);
});
