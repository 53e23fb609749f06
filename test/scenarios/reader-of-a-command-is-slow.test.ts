import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';

const LINES = 5000;

test('logs fetch into a slow pipe loses nothing, and ends with exit code 0', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  for (let index = 0; index < LINES; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
  await using fetching = startRouterExporter('logs', 'fetch', 'sim-1', '--config.file', config.file);
  // Nothing is read until the command has everything: a pipe holds far less than its output.
  fetching.process.stdout?.pause();
  await expect
    .poll(() => simulator.routers[0]?.counters.requests['GET /download/log?log_file'] ?? 0)
    .toBeGreaterThan(0);
  fetching.process.stdout?.resume();

  const { code, stdout } = await fetching.ended;

  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(LINES);
  expect(stdout).toMatch(/line 4999"[^\n]*\}\n$/);
});

test('a command whose reader goes away ends quietly and logs out', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  for (let index = 0; index < LINES; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
  await using fetching = startRouterExporter('logs', 'fetch', 'sim-1', '--config.file', config.file);
  fetching.process.stdout?.destroy();

  const { code, stderr } = await fetching.ended;

  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(simulator.routers[0]?.counters).toMatchObject({ logins: 1, logouts: 1 });
});

test('demo whose reader goes away ends with its summary and exit code 0', async () => {
  await using demo = startRouterExporter('demo', '--routers', '3', '--web.listen-address', '127.0.0.1:0');
  await demo.waitFor('stdout', /\n/);
  demo.process.stdout?.destroy();

  const { code, stderr } = await demo.ended;

  expect(code).toBe(0);
  // How many have been polled by then is a matter of moments.
  expect(stderr).toMatch(/^Summary: \d of 3 routers up/m);
  expect(stderr).not.toContain('EPIPE');
});
