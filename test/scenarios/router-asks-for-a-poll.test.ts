import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { waitFor } from '../support/wait-for.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const TOKEN = 'token-of-the-router';
const INTERVAL = 10 * MINUTE_MS;

const ROUTER = {
  notify_token: new Secret(TOKEN),
  poll: { interval: INTERVAL, timeout: 10_000, connect_timeout: 5000, deadline: 45_000, stale_after: 60 * MINUTE_MS },
  logs: { enabled: false, interval: 30_000, start: 'all', components: ['*'] },
} as const;

/** Sends what the message of a router sends. */
async function notify(fleet: Fleet, name = 'sim-1', token = TOKEN): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const url = `${fleet.agent.urls[0]}/api/v1/routers/${name}/notify`;
  const { status } = await fetch(url, { method: 'POST', headers, body: 'modem is offline' });
  return status;
}

const countPolls = (fleet: Fleet) => fleet.agent.summary().polls;

test('a router that asks for a poll is polled at once, and no values have to wait for the interval', async () => {
  await using fleet = await startFleet({ router: ROUTER });
  await fleet.advance(INTERVAL);
  await fleet.advance(3 * MINUTE_MS);
  const before = countPolls(fleet);
  expect(await notify(fleet)).toBe(202);
  await waitFor(() => expect(countPolls(fleet)).toBe(before + 1));
});

test('a flood of requests makes one poll in ten seconds at most, and the last request is served', async () => {
  await using fleet = await startFleet({ router: ROUTER });
  await fleet.advance(INTERVAL);
  await fleet.advance(MINUTE_MS);
  const before = countPolls(fleet);
  for (let second = 0; second < 60; second++) {
    expect(await notify(fleet)).toBe(202);
    expect(await notify(fleet)).toBe(202);
    await fleet.advance(SECOND_MS);
  }
  const made = countPolls(fleet) - before;
  expect(made).toBeGreaterThanOrEqual(5);
  expect(made).toBeLessThanOrEqual(7);
  await notify(fleet);
  await fleet.advance(11 * SECOND_MS);
  const last = countPolls(fleet);
  expect(last).toBeGreaterThan(before + made);
  await fleet.advance(MINUTE_MS);
  expect(countPolls(fleet)).toBe(last);
});

test('a wrong token, another router and a router that slows down for its byte budget make no poll', async () => {
  await using fleet = await startFleet({ router: { ...ROUTER, byte_budget: { perDay: 70_000, statusShare: 0.2 } } });
  await fleet.advance(INTERVAL);
  const before = countPolls(fleet);
  expect(await notify(fleet, 'sim-1', 'wrong')).toBe(401);
  expect(await notify(fleet, 'sim-2')).toBe(401);
  expect(countPolls(fleet)).toBe(before);
  for (let minute = 0; minute < 30; minute++) {
    await notify(fleet);
    await fleet.advance(MINUTE_MS);
  }
  const made = countPolls(fleet) - before;
  expect(made).toBeLessThan(15);
  expect(JSON.stringify(fleet.ownLog)).not.toContain(TOKEN);
  expect(await fleet.metrics()).not.toContain(TOKEN);
});
