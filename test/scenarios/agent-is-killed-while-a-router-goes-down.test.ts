import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { EventRecord } from '../../src/model/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';

const KILLS = 6;
/** When the agent is killed after a change. */
const MOMENTS = ['at once', 'when it is seen', 'when it is shipped'] as const;

test('kill -9 at any moment around an outage: each of its events is told once, and none is missing', {
  timeout: 120_000,
}, async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  const sink = '{ name: events, type: file, path: events.jsonl, events: ["router.down", "router.up"] }';
  await using config = await writeRunConfig(simulator, 'monitor', [], [sink]);
  const [router] = simulator.routers;
  const readEvents = async () => {
    const text = await readFile(join(dirname(config.file), 'events.jsonl'), 'utf8').catch(() => '');
    const records = text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as EventRecord] : []));
    // Delivery is at least once; the uid is the key.
    return [...new Map(records.map((record) => [record.uid, record])).values()];
  };
  const start = async () => {
    const agent = startRouterExporter('run', '--config.file', config.file);
    await agent.waitFor('stderr', /Started/);
    return agent;
  };
  {
    await using agent = await start();
    await agent.waitFor('stderr', /The router is up/);
    agent.process.kill('SIGTERM');
    await agent.ended;
  }
  const expected: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    if (kill % 2 === 0) await router?.fault('down');
    else await router?.clearFault();
    await using killed = await start();
    expected.push(kill % 2 === 0 ? 'router.down' : 'router.up');
    const isDone = async () => (await readEvents()).length === expected.length;
    const moment = MOMENTS[kill % MOMENTS.length];
    if (moment === 'when it is seen')
      await killed.waitFor('stderr', kill % 2 === 0 ? /router is down/ : /router is up/);
    if (moment === 'when it is shipped') await expect.poll(isDone, { timeout: 20_000 }).toBe(true);
    killed.process.kill('SIGKILL');
    await killed.ended;
    await using agent = await start();
    await expect.poll(isDone, { timeout: 20_000 }).toBe(true);
    agent.process.kill('SIGTERM');
    await agent.ended;
    expect((await readEvents()).map(({ event }) => event)).toEqual(expected);
  }
});
