import { expect, test } from 'vitest';
import type { SimulatedRouter } from '../../src/simulator/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const PLANS = [
  { sim: '1', limit: 1e9, billing_day: 31 },
  { sim: 'unknown', limit: 1e6, billing_day: 1 },
];

/** The simulated modem reports `SIM 1`. */
function setCounters(router: SimulatedRouter, bytes: number): void {
  router.setStatus('sysdetail/ip_addresses', {
    list: [
      { name: 'net1', bytes_rx: '900000000', bytes_tx: '900000000' },
      { name: 'lte2', bytes_rx: String(bytes), bytes_tx: '1000' },
    ],
  });
}

async function readPlan(fleet: Fleet, name: string, sim = '1'): Promise<number | undefined> {
  const line = new RegExp(String.raw`^router_data_plan_${name}\{[^}]*sim="${sim}"[^}]*\} (\S+)$`, 'm');
  const value = line.exec(await fleet.metrics())?.[1];
  return value === undefined ? undefined : Number(value);
}

test('the traffic of a SIM card goes on where it was after a restart of the agent, and a router that was exchanged begins with its own counters', async () => {
  await using fleet = await startFleet({ router: { data_plans: PLANS, timezone: 'Europe/Berlin' } });
  const router = fleet.router();
  setCounters(router, 1_000_000);
  await fleet.advance(3 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(0);
  setCounters(router, 3_000_000);
  await fleet.advance(2 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(2_000_000);
  expect(await readPlan(fleet, 'period_start_timestamp_seconds')).toBe(Date.UTC(2026, 9, 30, 23) / 1000);

  await fleet.stopAgent();
  setCounters(router, 4_000_000);
  await fleet.startAgent();
  expect(await readPlan(fleet, 'used_bytes')).toBe(2_000_000);
  await fleet.advance(2 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(3_000_000);
  // The modem has dialled in again.
  setCounters(router, 500_000);
  await fleet.advance(2 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(3_500_000);
  expect(await fleet.metrics()).toMatch(/^router_data_plan_counter_resets_total\{[^}]*\} 1$/m);

  await router.factoryReset();
  router.setStatus('device_info', { list: [{ serial_number: '99999999' }] });
  setCounters(router, 400_000);
  await fleet.advance(3 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(3_500_000);
  setCounters(router, 400_007);
  await fleet.advance(2 * MINUTE_MS);
  expect(await readPlan(fleet, 'used_bytes')).toBe(3_500_007);
  expect(await readPlan(fleet, 'used_bytes', 'unknown')).toBe(0);

  const answer = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/${router.name}`);
  const detail = (await answer.json()) as { dataPlans: object[]; bytes: { usedToday: number; days: object[] } };
  expect(detail.dataPlans[0]).toMatchObject({ sim: '1', limit: 1e9, used: 3_500_007, agent: detail.bytes.usedToday });
  // The bytes of the agent before its restart are still known, although there is no budget.
  expect(detail.bytes.days).toEqual([{ day: '2026-11-21', bytes: detail.bytes.usedToday, status: expect.any(Number) }]);
  expect(detail.bytes.usedToday).toBeGreaterThan(10_000);
});

test('routers without data plans have no series of them', async () => {
  await using fleet = await startFleet();
  await fleet.advance(3 * MINUTE_MS);
  expect(await fleet.metrics()).not.toContain('data_plan');
});
