import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('values of a router that always answers the same stay fresh while it answers, and expire when it does not', async () => {
  await using fleet = await startFleet();
  fleet.router().setStatus('sysstat/wan', { body: { unique: { name: 'wan1' }, list: [] } });
  await fleet.advance(2 * MINUTE_MS);
  const wan = 'router_wan_active_info{router="sim-1",chain="wan1"} 1\n';
  expect(await fleet.metrics()).toContain(wan);

  await fleet.advance(60 * MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain(wan);
  const age = /^router_resource_age_seconds\{router="sim-1",resource="sysstat\/wan"\} (.+)$/m.exec(metrics)?.[1];
  expect(Number(age)).toBeLessThanOrEqual(60);

  await fleet.router().fault('http_500', { path: '/status/sysstat/wan' });
  await fleet.advance(10 * MINUTE_MS);
  expect(await fleet.metrics()).not.toContain(wan);

  await fleet.router().clearFault();
  await fleet.advance(5 * MINUTE_MS);
  expect(await fleet.metrics()).toContain(wan);
});
