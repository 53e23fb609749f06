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

const THREADS = ['archive', 'lines'];

test.skipIf(!existsSync('/proc/self/task'))(
  'the threads for archives run before a router has one, and not where nobody reads logs (without /proc: skipped)',
  async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    for (const [sinks, running] of [
      [['console'], THREADS],
      [[], []],
    ]) {
      await using config = await writeRunConfig(simulator, 'monitor', sinks);
      await using agent = startRouterExporter('run', '--config.file', config.file, '--log.format', 'json');
      const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
      const metrics = async () => (await fetch(`${url}/metrics`)).text();
      await expect.poll(metrics, { timeout: 30_000 }).toContain('router_up{router="sim-1"} 1\n');
      expect(
        listThreads(agent.process.pid)
          .filter((name) => THREADS.includes(name))
          .toSorted(),
      ).toEqual(running);
    }
  },
);
