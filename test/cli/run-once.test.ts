import { mkdtempDisposable, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { runCommand } from './run-command.ts';

function readRecords(stdout: string): readonly LogRecord[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogRecord);
}

test('run --once reads every router and log once, writes metrics and records, and continues there the next time', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using config = await writeRunConfig(simulator);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-once-'));
  // Without modules, so that a poll takes few requests.
  const written = await readFile(config.file, 'utf8');
  await writeFile(config.file, written.replace('defaults:\n', 'defaults:\n  modules: []\n'));
  const output = join(folder.path, 'routers.prom');
  const once = ['run', '--once', '--config.file', config.file, '--storage.path', join(folder.path, 'state')];
  const [one] = simulator.routers;
  one?.appendLog('network', 'first');

  const mixed = await runCommand(once);
  const first = await runCommand([...once, '--output', output]);
  const metrics = await readFile(output, 'utf8');
  one?.appendLog('network', 'second');
  const second = await runCommand([...once, '--output', output]);

  expect([mixed.code, mixed.stdout, mixed.stderr]).toEqual([2, '', expect.stringContaining('--output FILE')]);
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(readRecords(first.stdout).filter(({ message }) => message === 'first')).toHaveLength(1);
  expect(readRecords(second.stdout).map(({ message }) => message)).toContain('second');
  expect(readRecords(second.stdout).map(({ message }) => message)).not.toContain('first');
  expect((await readdir(folder.path)).toSorted()).toEqual(['routers.prom', 'state']);
  expect(one?.counters).toMatchObject({ logins: 2, logouts: 2 });
});

test('run --once keeps the list of a source for the next cycle, in which the source is away', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using config = await writeRunConfig(simulator, 'monitor', []);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-once-'));
  const list = join(folder.path, 'routers.json');
  await writeFile(list, JSON.stringify([{ name: 'sim-1', url: simulator.routers[0]?.url }]));
  const written = await readFile(config.file, 'utf8');
  const routers = written.indexOf('routers:');
  const source = `router_sources: [{ name: list, type: file_sd, files: ["${list}"], allowed_addresses: ["127.0.0.1"] }]\n`;
  await writeFile(config.file, written.slice(0, routers).replace('defaults:\n', 'defaults:\n  modules: []\n') + source);
  const once = ['run', '--once', '--config.file', config.file, '--storage.path', join(folder.path, 'state')];

  const first = await runCommand(once);
  await rm(list);
  const second = await runCommand(once);

  for (const { code, stdout } of [first, second]) {
    expect([code, stdout]).toEqual([0, expect.stringContaining('router_up{router="sim-1"} 1\n')]);
  }
  expect(second.stderr).toContain('the list before stays in use');
});

test.each(['http_500', 'reset_mid_body', 'truncate_body'] as const)(
  'run --once ends with 1 if a log file cannot be read to its end, and continues there the next time: %s',
  async (fault) => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
    await using config = await writeRunConfig(simulator);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-once-'));
    const output = join(folder.path, 'routers.prom');
    const [router] = simulator.routers;
    const lines = Array.from({ length: 2000 }, (_, index) => `line ${index} of many`);
    const once = ['run', '--once', '--output', output, '--config.file', config.file, '--storage.path', folder.path];
    router?.appendLog('network', 'the first line');
    expect((await runCommand(once)).code).toBe(0);
    for (const line of lines) router?.appendLog('network', line);
    await router?.fault(fault, { path: '/download/log?log_file=network' });
    const first = await runCommand(once);
    await router?.clearFault(fault);
    const second = await runCommand(once);

    expect([first.code, first.stderr]).toEqual([1, expect.stringContaining('The cycle is not complete')]);
    expect(first.stderr).toMatch(/"logsFailed":1/);
    expect(second.code).toBe(0);
    const ofNetwork = [first, second].map(({ stdout }) =>
      readRecords(stdout).flatMap(({ message }) => (message?.endsWith('of many') ? [message] : [])),
    );
    expect(ofNetwork.flat()).toEqual(lines);
    // What came before the connection was closed is not lost with it; a reset discards also what is on its way.
    if (fault === 'truncate_body') expect(ofNetwork[0]?.length).toBeGreaterThan(0);
  },
);

test('run --once ends with 1 if a router is down or refuses the login, and prints metrics where there are no records', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using config = await writeRunConfig(simulator, 'nobody', []);
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-once-'));

  const { code, stdout, stderr } = await runCommand([
    'run',
    '--once',
    '--config.file',
    config.file,
    '--storage.path',
    folder.path,
  ]);
  const alone = await runCommand(['run', '--output', 'x', '--config.file', config.file]);

  expect(code).toBe(1);
  expect(stdout).toContain('router_failure_reason{router="sim-1",reason="auth"} 1\n');
  expect(stderr).toContain('The cycle is not complete');
  expect(alone.code).toBe(2);
});
