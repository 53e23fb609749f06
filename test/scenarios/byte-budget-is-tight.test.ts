import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Short enough to see that slow modules are stretched first. */
const STEP_MINUTES = 4;
const BUDGET_BYTES = 2_130_000;

function readSeries(metrics: string, series: string): number {
  const line = metrics.split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}

const USED = 'router_api_budget_used_bytes{router="sim-1"}';
const stretchOf = (metrics: string, activity: string) =>
  readSeries(metrics, `router_interval_stretch_ratio{router="sim-1",activity="${activity}"}`);

test('a tight budget stretches intervals, slow modules first, and is hardly exceeded over a day', {
  timeout: 120_000,
}, async () => {
  await using fleet = await startFleet({ router: { byte_budget: { perDay: BUDGET_BYTES, statusShare: 0.2 } } });
  const seen = { slow: 1, status: 1, logs: 1 };
  let wasSlowFirst = false;
  let longestSilence = 0;
  let lastPolls = 0;
  let silence = 0;
  // Noon to midnight, the rest of the UTC day.
  for (let step = 0; step < 12 * 15 - 3; step++) {
    await fleet.advance(STEP_MINUTES * MINUTE_MS);
    const metrics = await fleet.metrics();
    const [slow, status, logs] = ['slow_modules', 'status', 'logs'].map((one) => stretchOf(metrics, one)) as [
      number,
      number,
      number,
    ];
    if (slow > 1 && status === 1) wasSlowFirst ||= seen.status === 1;
    seen.slow = Math.max(seen.slow, slow);
    seen.status = Math.max(seen.status, status);
    seen.logs = Math.max(seen.logs, logs);
    const { polls } = fleet.agent.summary();
    silence = polls === lastPolls ? silence + STEP_MINUTES : 0;
    lastPolls = polls;
    longestSilence = Math.max(longestSilence, silence);
  }
  const metrics = await fleet.metrics();
  const used = readSeries(metrics, USED);

  expect(wasSlowFirst).toBe(true);
  expect(seen.slow).toBeGreaterThan(1);
  expect(longestSilence).toBeLessThanOrEqual(120);
  expect(used).toBeGreaterThan(0.8 * BUDGET_BYTES);
  expect(used).toBeLessThan(1.05 * BUDGET_BYTES);
  expect(readSeries(metrics, 'router_api_budget_bytes{router="sim-1"}')).toBe(BUDGET_BYTES);
});

test('a used-up budget ends polling except for a few liveness probes, with the reason budget, also over a restart', async () => {
  await using fleet = await startFleet({ router: { byte_budget: { perDay: 30_000, statusShare: 0.2 } } });
  await fleet.advance(2 * HOUR_MS);
  const polls = fleet.agent.summary().polls;
  const spent = await fleet.metrics();
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(2 * HOUR_MS);

  expect(polls).toBeGreaterThan(0);
  // Liveness probes, charged to the share kept for them.
  expect(fleet.agent.summary().polls).toBeLessThan(6);
  expect(spent).toContain('router_failure_reason{router="sim-1",reason="budget"} 1\n');
  expect(spent).toContain('router_up{router="sim-1"} 0\n');
  expect(spent).toContain('router_exporter_routers{state="budget"} 1\n');
  const warnings = fleet.ownLog.filter(({ level }) => level === 'warn').map(({ message }) => message);
  // Once in each of the two processes.
  expect(warnings.filter((message) => message === 'The byte budget of the router is used up')).toHaveLength(2);

  await fleet.advance(8.5 * HOUR_MS);
  expect(fleet.agent.summary().polls).toBeGreaterThan(0);
  expect(readSeries(await fleet.metrics(), USED)).toBeLessThan(40_000);
});

test('the bytes of the minute before a restart count: an agent that is restarted again and again spends no more', async () => {
  await using fleet = await startFleet({ router: { byte_budget: { perDay: BUDGET_BYTES, statusShare: 0.2 } } });
  await fleet.advance(90_000);
  const used = readSeries(await fleet.metrics(), USED);
  for (let time = 0; time < 2; time++) {
    await fleet.stopAgent();
    await fleet.startAgent();
  }
  expect(used).toBeGreaterThan(0);
  expect(readSeries(await fleet.metrics(), USED)).toBeGreaterThanOrEqual(used);
});

test('a router without a budget is counted at the socket and never stretched', async () => {
  await using fleet = await startFleet();
  await fleet.advance(HOUR_MS);
  const metrics = await fleet.metrics();

  expect(readSeries(metrics, 'router_api_sent_bytes_total{router="sim-1"}')).toBeGreaterThan(50_000);
  expect(readSeries(metrics, 'router_api_received_bytes_total{router="sim-1"}')).toBeGreaterThan(100_000);
  expect(metrics).not.toContain('router_interval_stretch_ratio');
  expect(fleet.agent.summary().polls).toBe(60);
});
