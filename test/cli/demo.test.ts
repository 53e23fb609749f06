import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { findDemoPace, renderFaultySettings, startDemoFaults } from '../../src/cli/demo/demo-routers.ts';
import { demoLogSettings, startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';

test('findDemoPace polls a few routers every two seconds, and thousands as often as one machine carries', () => {
  expect(findDemoPace(3)).toMatchObject({
    intervalS: 2,
    timeoutS: 1,
    deadlineS: 2,
    logIntervalS: 1,
    linesPerSecond: 9,
  });
  expect([findDemoPace(3).modules, findDemoPace(3).runsMax]).toEqual([undefined, 8]);
  const { intervalS, staleAfterS, linesPerSecond, modules, runsMax } = findDemoPace(10_000);
  expect([intervalS, staleAfterS, linesPerSecond]).toEqual([400, 1200, 0.3]);
  expect(modules).toContain('modem');
  // All at once, none of them would be done in time.
  expect(runsMax).toBe(32);
});

test('demo-routers alone is wrong usage', async () => {
  await using program = startRouterExporter('demo-routers');
  expect(await program.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('demo, which starts it') });
});

test('a demo with faults has a refused login, a slow router, and one that deletes lines before they are read', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  await using simulator = await startSimulator({ routers: 5, clock, seed: 1, plainHttp: true, logs: demoLogSettings });
  const end = new AbortController();
  await startDemoFaults(simulator, clock, end.signal);
  expect(simulator.routers.map(({ faults }) => faults)).toEqual([[], [], ['slow'], [], []]);
  expect(simulator.routers.map((_, index) => renderFaultySettings(index) !== '')).toEqual([
    false,
    true,
    true,
    true,
    false,
  ]);
  await clock.advance(60_000);
  const lines = simulator.routers[3]?.truth('network').map(({ loss }) => loss) ?? [];
  expect(lines.length).toBeGreaterThan(300);
  expect(lines.filter((loss) => loss === 'pruned').length).toBeGreaterThan(100);
  end.abort();
  await clock.advance(600_000);
  expect(simulator.routers[3]?.truth('network')).toHaveLength(lines.length);
});
