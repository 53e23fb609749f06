import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';

/** Names of the threads of a process. */
function listThreads(pid: number | undefined): string[] {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8').trim());
}

test.skipIf(!existsSync('/proc/self/task'))(
  'no thread for archives runs before a router has one (without /proc: skipped)',
  async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    await using config = await writeRunConfig(simulator, 'monitor', ['console']);
    await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'json');
    const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
    const metrics = async () => (await fetch(`${url}/metrics`)).text();
    await expect.poll(metrics, { timeout: 30_000 }).toContain('router_up{router="sim-1"} 1\n');
    expect(listThreads(agent.process.pid)).not.toContain('archive');
  },
);
