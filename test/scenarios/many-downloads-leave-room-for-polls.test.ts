import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const SECOND_MS = 1000;
const RUNS_MAX = 9;
/** A third of them. */
const DOWNLOADS_MAX = 3;
/** Longer than the values of a router last without a poll. */
const SECONDS = 260;
/** A log that takes five minutes. */
const LINES = 60;
const LINE_LENGTH = 1000;
const BYTES_PER_SECOND = 200;

test('routers whose logs never end hold the third of the places that is for downloads, all routers are polled all the same, and the metrics say what waits', async () => {
  await using fleet = await startFleet({
    routers: 6,
    config: (config) => ({ ...config, schedule: { concurrent_runs: RUNS_MAX } }),
  });
  const routers = [0, 1, 2, 3, 4, 5].map((index) => fleet.router(index));
  for (const router of routers) {
    for (let line = 0; line < LINES; line++) router.appendLog('network', 'x'.repeat(LINE_LENGTH));
    await router.fault('slow_body', { path: '/download/log', bytesPerSecond: BYTES_PER_SECOND });
  }
  for (let second = 0; second < SECONDS; second++) {
    await fleet.clock.advance(SECOND_MS, () => takeTurns(40));
  }
  const metrics = await fleet.metrics();
  expect(metrics).toContain(`router_exporter_runs_max ${RUNS_MAX}\n`);
  const runs = JSON.parse(await fleet.metrics('/api/v1/runs')) as { running: number; waiting: number };
  expect(metrics).toContain(`router_exporter_runs{state="running"} ${runs.running}\n`);
  expect(runs).toMatchObject({ heldBack: 0, max: RUNS_MAX });
  expect(runs.running).toBeGreaterThanOrEqual(DOWNLOADS_MAX);
  expect(runs.waiting).toBeGreaterThan(0);
  for (const { name } of routers) expect(metrics).toContain(`router_up{router="${name}"} 1\n`);
});
