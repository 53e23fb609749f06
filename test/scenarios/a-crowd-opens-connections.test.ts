import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, type Program, startProgram } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { fetchRaw } from '../web/bench.ts';

const CROWD = join(import.meta.dirname, '../support/many-connections.child.ts');
/** Connections, and descriptors of the agent: a small agent meets a small crowd. The large one has all that it would take. */
const { connections, descriptors } = sampled(
  'open connections',
  { connections: 10_000, descriptors: '"$(ulimit -Hn)"' },
  { connections: 1000, descriptors: '400' },
);
/** A probe of Kubernetes waits one second; the machine of a test is busier than one. Milliseconds. */
const HEALTH_MS_MAX = 5000;
/** So many descriptors are more than the agent's bounds of connections, and what it needs itself. */
const OWN_MAX = sampled('open connections', 2300, 250);

const startLimited = (limit: string, ...args: string[]): Program =>
  startProgram('bash', ['-c', `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, ...args]);

test(`health checks and metrics are answered while a crowd opens ten thousand connections and ends none${sampleNote('open connections')}`, async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  await using agent = startLimited(descriptors, PROGRAM, 'run', '--config.file', config.file, '--log.format', 'json');
  const [, url = ''] = await agent.waitFor('stderr', /"urls":\["([^"]+)"/);
  await using crowd = startLimited('"$(ulimit -Hn)"', CROWD, new URL(url).port, String(connections));
  let isOpened = false;
  const opened = crowd.waitFor('stdout', /opened/).finally(() => {
    isOpened = true;
  });
  opened.catch(() => {});
  const times: number[] = [];
  // At least twenty, and the last ones when all are open.
  for (let last = 0; last < 20; last += isOpened ? 1 : 0) {
    const before = performance.now();
    const { status } = await fetchRaw(`${url}/-/healthy`, { localAddress: '127.0.0.9' });
    expect(status).toBe(200);
    times.push(performance.now() - before);
  }
  await opened;
  expect(Math.max(...times)).toBeLessThan(HEALTH_MS_MAX);
  expect((await readdir(`/proc/${agent.process.pid}/fd`)).length).toBeLessThan(OWN_MAX);
  const { body } = await fetchRaw(`${url}/metrics`, { localAddress: '127.0.0.9' });
  expect(body.toString()).toMatch(/^router_up\{router="sim-1"\} 1$/m);
  agent.process.kill('SIGTERM');
  expect(await agent.ended).toMatchObject({ code: 0 });
});
