import { expect, test } from 'vitest';
import { type Fleet, type FleetOptions, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;
const LINE_BYTES = 500;
const LOGS_PAUSED = 'router_api_budget_paused_until_timestamp_seconds{router="sim-1",activity="logs"}';

/** A router whose first contact costs so many bytes of logs. */
async function startBulkyFleet(bytes: number, router: NonNullable<FleetOptions['router']>): Promise<Fleet> {
  const fleet = await startFleet({ isStopped: true, router, simulator: { logs: { maxSizeBytes: 32 * MIB } } });
  const message = 'x'.repeat(LINE_BYTES - 'yyyy-mm-dd hh:mm:ss [bulk] \n'.length);
  for (let line = 0; line < bytes / LINE_BYTES; line++) fleet.router().appendLog('bulk', message);
  await fleet.startAgent();
  return fleet;
}

async function readSeries(fleet: Fleet, series: string): Promise<number> {
  const line = (await fleet.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

const readUp = (fleet: Fleet) => readSeries(fleet, 'router_up{router="sim-1"}');
const readReason = (fleet: Fleet, reason: string) =>
  readSeries(fleet, `router_failure_reason{router="sim-1",reason="${reason}"}`);

test('logs that spend their budget pause until a reported time, and a router that dies meanwhile is down in time', async () => {
  await using fleet = await startBulkyFleet(5 * MIB, { byte_budget: { perDay: 5 * MIB, statusShare: 0.2 } });
  await fleet.advance(10 * MINUTE_MS);
  const detail = await (await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-1`)).json();
  const page = await (await fetch(`${fleet.agent.urls[0]}/router/sim-1?view=agent`)).text();
  const until = await readSeries(fleet, LOGS_PAUSED);

  expect(until).toBe(Date.UTC(2026, 10, 22) / 1000);
  expect(detail).toMatchObject({ bytes: { logsPausedUntil: '2026-11-22T00:00:00.000Z', statusPausedUntil: null } });
  expect(page).toContain('logs paused until');
  expect(fleet.ownLog).toContainEqual({
    level: 'warn',
    message: 'The byte budget pauses the logs of the router',
    fields: { router: 'sim-1', until: '2026-11-22T00:00:00.000Z' },
  });
  expect([await readUp(fleet), await readReason(fleet, 'budget')]).toEqual([1, 0]);

  await fleet.router().fault('down');
  await fleet.advance(3 * MINUTE_MS);
  expect([await readUp(fleet), await readReason(fleet, 'connect')]).toEqual([0, 1]);
  await fleet.router().clearFault('down');
  await fleet.advance(6 * MINUTE_MS);
  expect(await readUp(fleet)).toBe(1);
});

test('a router whose status has spent its share as well is down with the reason budget, not up', async () => {
  // The share is worth about one poll.
  await using fleet = await startBulkyFleet(MIB / 2, { byte_budget: { perDay: 64 * 1024, statusShare: 0.05 } });
  await fleet.advance(30 * MINUTE_MS);

  expect([await readUp(fleet), await readReason(fleet, 'budget')]).toEqual([0, 1]);
  expect(await fleet.metrics()).toContain(
    'router_api_budget_paused_until_timestamp_seconds{router="sim-1",activity="status"}',
  );
});

test('after a restart within a budget that is used up, the router is down with the reason budget at once', async () => {
  await using fleet = await startBulkyFleet(MIB / 2, { byte_budget: { perDay: 64 * 1024, statusShare: 0.05 } });
  await fleet.advance(30 * MINUTE_MS);
  await fleet.stopAgent();
  await fleet.startAgent();

  expect([await readUp(fleet), await readReason(fleet, 'budget')]).toEqual([0, 1]);
});
