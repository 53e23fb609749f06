/**
 * One fleet on one, two and four processes of one machine (`--web.shard-ports`): processor, memory and lag of all of them together.
 *
 *   npm run build && npx node bench/fleet/processes.ts [routers, default 10000] [numbers of processes, default 1 2 4]
 *
 * Status and six logs of 40 kB for each router, every minute. Takes four minutes for each number: three intervals to begin with, and
 * one that is measured. The simulated routers, a process for each 2,500, share the processor with the agents.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { findFreePorts } from '../../test/support/free-port.ts';
import { describeMachine, print } from '../contest.ts';
import { type FleetPart, processorSecondsOf, residentMiBOf, startAgent, whenStarted } from './compare.ts';

const [ROUTERS = 10_000, ...COUNTS] = process.argv.slice(2).map(Number);
const DEFAULT_COUNTS = [1, 2, 4];
const INTERVAL_MS = 60_000;
const WARM_UP_INTERVALS = 3;
const ROUTERS_OF_PART = 2500;
const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const LOGS = { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS };

/** Numbers of runs by the upper bound of their lag. */
async function readLags(url: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics/agent`)).text();
  const lags = new Map<string, number>();
  for (const [, bound = '', count] of text.matchAll(
    /^router_exporter_schedule_lag_seconds_bucket\{.*le="(.*?)".* (\d+)$/gm,
  )) {
    lags.set(bound, (lags.get(bound) ?? 0) + Number(count));
  }
  return lags;
}

/** Returns the bound that 99 % of the runs of all processes since `before` keep. */
function findP99(
  before: readonly ReadonlyMap<string, number>[],
  after: readonly ReadonlyMap<string, number>[],
): string {
  const countOf = (lags: readonly ReadonlyMap<string, number>[], bound: string) =>
    lags.reduce((sum, one) => sum + (one.get(bound) ?? 0), 0);
  const bounds = [...(after[0]?.keys() ?? [])];
  const since = (bound: string) => countOf(after, bound) - countOf(before, bound);
  return bounds.find((bound) => since(bound) >= 0.99 * since('+Inf')) ?? '?';
}

/** Measures one number of processes and returns its row. */
async function measure(parts: readonly FleetPart[], processes: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'processes-'));
  const port = await findFreePorts(processes);
  const agents = Array.from({ length: processes }, (_, shard) => {
    const flags = ['--shard', `${shard}`, '--total-shards', `${processes}`, '--web.shard-ports'];
    const own = [`--storage.path=${folder}/data-${shard}`, `--web.listen-address=127.0.0.1:${port}`];
    return startAgent(
      folder,
      parts,
      `defaults: { username: monitor, password: simulated, timezone: UTC, poll: { interval: ${INTERVAL_MS}ms }, logs: { interval: ${INTERVAL_MS}ms } }
sinks:\n  - { name: discard, type: file, path: "\${SHARD_FOLDER}/records" }`,
      [...flags, ...own],
      { SHARD_FOLDER: `${folder}/data-${shard}` },
    );
  });
  try {
    const urls = await Promise.all(agents.map(whenStarted));
    for (const agent of agents) agent.stderr?.resume();
    await sleep(WARM_UP_INTERVALS * INTERVAL_MS);
    const before = await Promise.all(urls.map(readLags));
    const sum = (read: (pid: number | undefined) => number) => agents.reduce((all, { pid }) => all + read(pid), 0);
    const secondsBefore = sum(processorSecondsOf);
    await sleep(INTERVAL_MS);
    const seconds = sum(processorSecondsOf) - secondsBefore;
    const lag = findP99(before, await Promise.all(urls.map(readLags)));
    const cells = [
      ROUTERS,
      processes,
      `${((seconds * 1000 * 100) / INTERVAL_MS).toFixed(0)} % of a core`,
      `${((seconds * 1000) / ROUTERS).toFixed(1)} ms`,
      `${sum(residentMiBOf).toFixed(0)} MiB`,
      lag === '+Inf' ? 'more' : `< ${lag} s`,
      loadavg()[0]?.toFixed(1),
    ];
    return `| ${cells.join(' | ')} |`;
  } finally {
    for (const agent of agents) {
      if (agent.kill('SIGKILL')) await once(agent, 'exit');
    }
    rmSync(folder, { recursive: true });
  }
}

const bodies = await captureAnswers();
await using stubs = new AsyncDisposableStack();
const parts: FleetPart[] = [];
for (let left = ROUTERS; left > 0; left -= ROUTERS_OF_PART) {
  const client = stubs.use(new RoutersClient(PROGRAM, createSystemClock()));
  const routers = Math.min(left, ROUTERS_OF_PART);
  const started = await client.ask({ type: 'start', options: { bodies, routers, logs: LOGS } }, 'started');
  parts.push({ ...started, routers });
}
print(`${describeMachine()}, ${availableParallelism()} cores for agents and routers.`, '');
print(
  '| Routers | Processes | CPU | CPU per router and minute | Memory | Lag p99 | Load |',
  '|---:|---:|---:|---:|---:|---:|---:|',
);
for (const processes of COUNTS.length > 0 ? COUNTS : DEFAULT_COUNTS) print(await measure(parts, processes));
