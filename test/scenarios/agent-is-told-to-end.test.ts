import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Program, startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';

test.for(['SIGTERM', 'SIGINT'] as const)(
  'run logs out of its routers at %s and ends with exit code 0',
  async (signal) => {
    await using simulator = await startSimulator({ routers: 2, clock: createSystemClock(), seed: 1 });
    await using config = await writeRunConfig(simulator);
    for (const router of simulator.routers) router.appendLog('network', 'a line');
    await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'text');
    await agent.waitFor('stdout', /sim-1[^\n]*\n.*sim-2|sim-2[^\n]*\n.*sim-1/);

    agent.process.kill(signal);
    const { code, stderr } = await agent.ended;

    expect(code).toBe(0);
    expect(stderr).toMatch(/INFO {2}Stopped\n$/);
    expect(stderr).not.toContain('simulated');
    expect(simulator.routers.map(({ counters }) => counters.logouts)).toEqual([1, 1]);
  },
);

test('run ends at once at a second signal, when its sink does not take its records', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  for (let index = 0; index < 5000; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
  await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'text');
  // Nothing is read from here on: the pipe fills up, and the delivery hangs.
  agent.process.stdout?.pause();
  await waitForSpooled(agent, 5000);
  agent.process.kill('SIGTERM');
  await agent.waitFor('stderr', /Stopping/);

  agent.process.kill('SIGTERM');
  const [code] = (await once(agent.process, 'exit')) as [number | null];
  agent.process.stdout?.resume();

  expect(code).toBe(143);
  expect((await agent.ended).stderr).not.toContain('Stopped');
});

test('run ends with exit code 1 and says why when the reader of its records goes away', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'text');
  await agent.waitFor('stderr', /Started/);
  agent.process.stdout?.destroy();
  simulator.routers[0]?.appendLog('network', 'a line for nobody');

  const { code, stderr } = await agent.ended;

  expect(code).toBe(1);
  expect(stderr).toContain('Sink console could not write to standard output: ');
  expect(stderr).toContain('The program that read the output has ended');
});

test('run names every fault of its configuration with file, line and column, and ends with exit code 2', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  await using agent = startRouterExporter('run', '--config.file', `${config.file}.missing`);

  const { code, stdout, stderr } = await agent.ended;

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(
    `${config.file}.missing:1:1: The configuration file does not exist. Use --config.file to name another\n`,
  );
});

test('run ends with exit code 2 when a file is where the folder of its state should be, and names the flag or the key', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  const folder = `${config.file}/state`;
  const reason = `${folder} cannot be used: a part of the path is a file`;
  await using flagged = startRouterExporter('run', '--config.file', config.file, '--storage.path', folder);
  expect(await flagged.ended).toMatchObject({ code: 2, stderr: `--storage.path: ${reason}\n` });
  const text = await readFile(config.file, 'utf8');
  await writeFile(config.file, `${text.replace(/^storage:.*$/m, '')}\nstorage: { path: ${folder} }\n`);
  await using keyed = startRouterExporter('run', '--config.file', config.file);
  const { code, stderr } = await keyed.ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^\S+:\d+:18: storage\.path: /);
  expect(stderr).toContain(reason);
});

test('run with several sinks that do not take their records ends within the bound of one', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator, 'monitor', ['a', 'b', 'c', 'd']);
  for (let index = 0; index < 5000; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);
  await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'text');
  agent.process.stdout?.pause();
  await waitForSpooled(agent, 5000);
  const url = await readUrl(agent);
  expect((await fetch(`${url}/-/ready`)).status).toBe(200);
  agent.process.kill('SIGTERM');
  await agent.waitFor('stderr', /Stopping/);
  expect((await fetch(`${url}/-/ready`)).status).toBe(503);
  const [code] = (await once(agent.process, 'exit')) as [number | null];
  agent.process.stdout?.resume();

  const { stderr } = await agent.ended;
  expect(code).toBe(0);
  // Each step that hangs runs into its bound and says so: one for all sinks together.
  expect(stderr.match(/A shutdown step failed/g) ?? []).toHaveLength(1);
  expect(stderr).toContain('step=sinks');
});

async function readUrl(agent: Program): Promise<string> {
  const [, url = ''] = await agent.waitFor('stderr', /(http:\/\/127\.0\.0\.1:\d+)/);
  return url;
}

/** Resolves when so many records wait for a sink. */
async function waitForSpooled(agent: Program, records: number): Promise<void> {
  const url = await readUrl(agent);
  const read = async () => (await fetch(`${url}/metrics`)).text();
  await expect.poll(read).toContain(`router_exporter_spool_records ${records}\n`);
}
