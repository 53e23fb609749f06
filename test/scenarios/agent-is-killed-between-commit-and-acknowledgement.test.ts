import { expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { bundledChild, type Program, startProgram, startRouterExporter } from '../support/child.ts';
import { writeRunConfig } from '../support/run-config.ts';

const CHILD = bundledChild(new URL('../support/killed-agent.child.ts', import.meta.url));
const LINES = 40;

test.for([
  { moment: 'after', title: 'records that were delivered before the kill come again with equal uids' },
  { moment: 'before', title: 'records that were committed and not delivered before the kill are delivered once' },
])('case 43: kill -9: $title', async ({ moment }) => {
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
  await using config = await writeRunConfig(simulator);
  for (let index = 0; index < LINES; index++) simulator.routers[0]?.appendLog('network', `line ${index}`);

  await using killed = startProgram(process.execPath, [CHILD, config.file, moment]);
  const end = await killed.ended;
  expect({ signal: end.signal, stderr: end.stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
  const first = parseRecords(end.stdout);
  expect(first).toHaveLength(moment === 'after' ? LINES : 0);

  await using agent = startRouterExporter('run', '--config.file', config.file);
  await agent.waitFor('stdout', new RegExp(`line ${LINES - 1}"`));
  const second = await stop(agent);

  expect(second.map(({ message }) => message)).toEqual(Array.from({ length: LINES }, (_, index) => `line ${index}`));
  expect(new Set(second.map(({ uid }) => uid)).size).toBe(LINES);
  if (moment === 'after') expect(second).toEqual(first);
});

async function stop(agent: Program): Promise<LogRecord[]> {
  agent.process.kill('SIGTERM');
  const { code, stdout } = await agent.ended;
  expect(code).toBe(0);
  return parseRecords(stdout);
}

function parseRecords(stdout: string): LogRecord[] {
  return stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line) as LogRecord] : []));
}
