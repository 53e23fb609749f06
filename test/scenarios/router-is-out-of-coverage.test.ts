import { expect, test } from 'vitest';
import type { RouterDetail } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { openSilentListener } from '../support/silent-listener.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;

async function describeRouter(fleet: Fleet): Promise<RouterDetail> {
  const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-1`);
  return (await response.json()) as RouterDetail;
}

/** A run that waits for a connection is never idle, so the clock advances after some iterations of the event loop. */
async function advance(fleet: Fleet, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await fleet.clock.advance(SECOND_MS, () => takeTurns(30));
  }
}

test('a router that answers no SYN costs one connect_timeout in a round, and is up when it is back', async () => {
  await using silent = await openSilentListener();
  await using fleet = await startFleet({
    config: (config) => ({
      ...config,
      routers: config.routers.map((router) => ({ ...router, url: `https://127.0.0.1:${silent.port}` })),
    }),
  });
  fleet.router().appendLog('network', 'before');
  await advance(fleet, 70);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 0\n');
  expect(metrics).toContain('router_failure_reason{router="sim-1",reason="connect"} 1\n');
  const { recentPolls } = await describeRouter(fleet);
  expect(recentPolls.length).toBeGreaterThanOrEqual(2);
  for (const { reason, durationSeconds, fault } of recentPolls) {
    expect({ reason, step: fault?.step, durationSeconds }).toEqual({
      reason: 'connect',
      step: 'connect',
      durationSeconds: 5,
    });
  }
  // The runs over the logs did not retry what the poll had just found out.
  expect(fleet.ownLog.filter(({ message }) => message === 'The logs could not be read')).toEqual([]);

  await silent.accept(Number(new URL(fleet.router().url).port));
  await fleet.advance(180 * SECOND_MS);
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 1\n');
  expect(fleet.records.map(({ message }) => message)).toEqual(['before']);
});
