import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const ROUTERS = 4;
const CONNECTIONS_MAX = 2;

/** The value of a series; NaN if it is absent. */
function findValue(metrics: string, series: string): number {
  const line = metrics.split('\n').find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? Number.NaN);
}

function countOpen(metrics: string): number {
  const states = ['busy', 'idle'].map((state) => findValue(metrics, `router_exporter_connections{state="${state}"}`));
  return states.reduce((sum, one) => sum + one, 0);
}

test('four routers over two connections are all polled, and after a reload with more each keeps its connection', async () => {
  await using fleet = await startFleet({
    routers: ROUTERS,
    config: (config) => ({ ...config, connections: { max: CONNECTIONS_MAX } }),
  });
  for (let step = 0; step < 6; step++) {
    await fleet.advance(15 * SECOND_MS);
    expect(countOpen(await fleet.metrics('/metrics/agent'))).toBeLessThanOrEqual(CONNECTIONS_MAX);
  }
  const before = await fleet.metrics();
  expect(before.match(/^router_up\{.*\} 1$/gm)).toHaveLength(ROUTERS);
  expect(before).toContain(`router_exporter_connections_max ${CONNECTIONS_MAX}\n`);
  expect(before).toContain(`router_exporter_runs_max ${CONNECTIONS_MAX}\n`);
  expect(before).toContain('router_exporter_connections{state="waiting"} 0\n');
  expect(findValue(before, 'router_exporter_connections_evicted_total')).toBeGreaterThan(ROUTERS);

  await fleet.reload((config) => ({ ...config, connections: {} }));
  await fleet.advance(MINUTE_MS);
  const wide = await fleet.metrics();
  await fleet.advance(MINUTE_MS);
  const late = await fleet.metrics();
  expect(findValue(late, 'router_exporter_connections{state="idle"}')).toBe(ROUTERS);
  const evicted = (metrics: string) => findValue(metrics, 'router_exporter_connections_evicted_total');
  expect(evicted(late)).toBe(evicted(wide));
});
