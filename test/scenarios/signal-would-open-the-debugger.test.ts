import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { type Program, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

const toPath = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

const STARTS: readonly (readonly [how: string, entry: string])[] = [
  ['started by its command', 'bin/router-exporter.js'],
  ['started by its module', 'src/main.ts'],
  ['started as npx starts it in a checkout', 'tools/runtime/router-exporter.js'],
];

describe(`the agent opens no debugger at SIGUSR1, and goes on${sampleNote('ways to start the agent')}`, () => {
  test.for(sampled('ways to start the agent', STARTS, STARTS.slice(0, 1)))('%s', async ([, entry]) => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    await using config = await writeRunConfig(simulator);
    const port = await findFreePort();
    await using agent = startProgram(
      process.execPath,
      [toPath(entry), 'run', '--config.file', config.file, '--log.format', 'json'],
      { NODE_OPTIONS: `--inspect-port=127.0.0.1:${port}` },
    );
    const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
    await signalAndReload(agent);
    expect((await fetch(`${url}/-/healthy`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/json/version`)).rejects.toThrow('fetch failed');
    expect(agent.stderr).not.toContain('Debugger');
    agent.process.kill('SIGTERM');
    expect(await agent.ended).toMatchObject({ code: 0 });
  });
});

test('a checkout has closed the debugger before its command loads anything', async () => {
  // Reports for each loaded module if the signal has a listener by then.
  const hook =
    'import { registerHooks } from "node:module"; registerHooks({ resolve(name, context, next) { process.stderr.write(`${name.split("/").at(-1)} ${process.listenerCount("SIGUSR1")}\\n`); return next(name, context); } });';
  await using command = startProgram(process.execPath, [toPath('tools/runtime/router-exporter.js'), '--version'], {
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hook)}`,
  });
  expect(await command.ended).toMatchObject({ code: 0 });
  expect(command.stderr).toMatch(/^router-exporter\.js [1-9]/m);
});

/** The reload comes after the signal: when it has been done, the signal has been dealt with. */
async function signalAndReload(agent: Program): Promise<void> {
  agent.process.kill('SIGUSR1');
  agent.process.kill('SIGHUP');
  await agent.waitFor('stderr', /Loaded the configuration again/);
}
