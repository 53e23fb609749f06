import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startProgram, startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { writeRunConfig } from '../support/run-config.ts';

const RECEIVER = fileURLToPath(new URL('../support/forgetful-receiver.child.ts', import.meta.url));
const COMPONENTS = ['network', 'system', 'mobile', 'vpn', 'serial'];
const LINES = 5000;
const RECORDS = COMPONENTS.length * LINES;
/** A batch, an answer, and when both are killed: more than ten seconds of records are under way then. */
const BATCH = 250;
const ANSWER_MS = 150;
const KILL_AT = 20_000;

test('a receiver that forgets its last ten seconds at kill -9, and the agent killed at the same moment: nothing is missing', async () => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  for (const component of COMPONENTS) {
    for (let line = 0; line < LINES; line++) simulator.routers[0]?.appendLog(component, `line ${line}`);
  }
  const port = await findFreePort();
  const sink = `{ name: store, type: http, url: "http://127.0.0.1:${port}/in", replay: 12s, batch: { records: ${BATCH} } }`;
  await using config = await writeRunConfig(simulator, 'monitor', [], [sink]);
  const file = join(dirname(config.file), 'received');
  const startReceiver = (answerMs: number) =>
    startProgram(process.execPath, [RECEIVER, String(port), file, '10000', String(answerMs)]);
  {
    await using receiver = startReceiver(ANSWER_MS);
    await receiver.waitFor('stdout', /listens/);
    await using agent = startRouterExporter('run', '--config.file', config.file);
    await receiver.waitFor('stdout', new RegExp(`holds ${KILL_AT};`));
    receiver.process.kill('SIGKILL');
    agent.process.kill('SIGKILL');
    await Promise.all([receiver.ended, agent.ended]);
  }
  // It has lost most of what it had acknowledged.
  const before = (await readUids(file)).size;
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(KILL_AT / 2);
  await using receiver = startReceiver(0);
  await receiver.waitFor('stdout', /listens/);
  await using agent = startRouterExporter('run', '--config.file', config.file);
  await receiver.waitFor('stdout', new RegExp(`holds ${RECORDS};`));
  agent.process.kill('SIGTERM');
  expect((await agent.ended).code).toBe(0);
  receiver.process.kill('SIGTERM');
  await receiver.ended;
  expect((await readUids(file)).size).toBe(RECORDS);
}, 180_000);

async function readUids(file: string): Promise<ReadonlySet<string>> {
  return new Set((await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean));
}
