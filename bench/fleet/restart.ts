/**
 * Counts the requests that a restart of the agent costs each router, beside those of a usual turn.
 *
 *   npm run build && npx node bench/fleet/restart.ts [routers, default 100]
 *
 * Takes two minutes. Prints Markdown for RESULTS.md. A turn is a poll and a look at six logs, every 20 s.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { describeMachine, print } from '../contest.ts';
import { startAgent, whenStarted } from './compare.ts';

const ROUTERS = Number(process.argv[2] ?? 100);
const INTERVAL_MS = 20_000;
/** Turns until everything is known. */
const WARM_UP_TURNS = 3;

const folder = mkdtempSync(join(tmpdir(), 'restart-'));
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
await using stubs = new RoutersClient(main, createSystemClock());
const bodies = await captureAnswers();
const logs = { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS };
const started = await stubs.ask({ type: 'start', options: { bodies, logs, routers: ROUTERS } }, 'started');
const interval = `{ interval: ${INTERVAL_MS}ms }`;

async function start() {
  const agent = startAgent(
    folder,
    [{ ...started, routers: ROUTERS }],
    `defaults: { username: monitor, password: simulated, timezone: UTC, poll: ${interval}, logs: ${interval} }
sinks:
  - { name: discard, type: file, path: ${folder}/records }`,
  );
  await whenStarted(agent);
  agent.stderr?.resume();
  return agent;
}

/** Returns the requests of one interval for each router: status, logs, logins. */
async function countTurn(): Promise<readonly number[]> {
  await stubs.ask({ type: 'count' }, 'counted');
  await sleep(INTERVAL_MS);
  const { requests } = await stubs.ask({ type: 'count' }, 'counted');
  const sum = (isMeant: (route: string) => boolean) =>
    Object.entries(requests).reduce((all, [route, number]) => all + (isMeant(route) ? number : 0), 0) / ROUTERS;
  const isLog = (route: string) => route.includes(' /download/');
  const isLogin = (route: string) => route.includes(' /auth/');
  return [sum((route) => !isLog(route) && !isLogin(route)), sum(isLog), sum(isLogin)];
}

print(
  `${describeMachine()}; ${ROUTERS} routers.`,
  '',
  '| Requests of each router | Status | Logs | Logins | All |',
  '|---|---:|---:|---:|---:|',
);
const render = (name: string, turn: readonly number[]) =>
  print(
    `| ${[name, ...[...turn, turn.reduce((sum, one) => sum + one, 0)].map((one) => one.toFixed(1))].join(' | ')} |`,
  );
const first = await start();
render('first contact', await countTurn());
await sleep(WARM_UP_TURNS * INTERVAL_MS);
render('usual turn', await countTurn());
first.kill('SIGTERM');
await once(first, 'exit');
const second = await start();
render('first turn after a restart', await countTurn());
second.kill('SIGTERM');
await once(second, 'exit');
rmSync(folder, { recursive: true });
