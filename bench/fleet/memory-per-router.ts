/**
 * Measures the memory of the agent for each router, with logs, its connection kept and closed.
 *
 *   npm run build && npx node bench/fleet/memory-per-router.ts [few, default 200] [many, default 1000] [snapshots]
 *
 * Takes five minutes. Prints Markdown for RESULTS.md: the difference between few and many routers, divided by their number.
 * `live` is what the heap holds after the collection of garbage that precedes a snapshot of it. With `snapshots`, those are
 * kept in the folder that is printed. In the environment, INTERVAL_MS is the interval, and ONLY=kept or ONLY=closed leaves out
 * the other half.
 */
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { describeMachine, print } from '../contest.ts';
import { residentMiBOf, startAgent, whenStarted } from './compare.ts';

const [FEW = 200, MANY = 1000] = process.argv.slice(2, 4).map(Number);
const KEEPS_SNAPSHOTS = process.argv[4] === 'snapshots';
const INTERVAL_MS = Number(process.env['INTERVAL_MS'] ?? 30_000);
/** Intervals from the time on when all routers are up and all records are delivered. */
const INTERVALS = 2;
/** Longest time until then. Milliseconds. */
const CONTACT_MS_MAX = 15 * 60_000;
const IDLE_MS = 1000;
const KIB = 1024;
const MIB = KIB * KIB;

interface Memory {
  readonly residentMiB: number;
  /** Heap in use and memory outside of it, after a collection of garbage. */
  readonly liveMiB: number;
  readonly outsideMiB: number;
  /** Length of the exposition. */
  readonly textMiB: number;
}

const bodies = await captureAnswers();
const flags = process.env['AGENT_FLAGS'] ?? '';

async function measure(routers: number, isKept: boolean): Promise<Memory> {
  const folder = mkdtempSync(join(tmpdir(), 'memory-per-router-'));
  await using stubs = new RoutersClient(
    fileURLToPath(new URL('../../src/main.ts', import.meta.url)),
    createSystemClock(),
  );
  const logs = { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS };
  const options = { bodies, logs, routers, ...(!isKept && { idleMs: IDLE_MS }) };
  const started = await stubs.ask({ type: 'start', options }, 'started');
  process.env['AGENT_FLAGS'] =
    `${flags === '' ? '' : `${flags} `}--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${folder}`;
  const interval = `{ interval: ${INTERVAL_MS}ms }`;
  const agent = startAgent(
    folder,
    [{ ...started, routers }],
    `defaults: { username: monitor, password: simulated, timezone: UTC, labels: { site: munich }, poll: ${interval}, logs: ${interval} }
sinks:
  - { name: discard, type: file, path: ${folder}/records }`,
  );
  const url = await whenStarted(agent);
  agent.stderr?.resume();
  const isReady = async () => {
    const { text } = await stubs.ask({ type: 'read', url: `${url}/metrics/agent` }, 'read');
    const value = (name: string) => Number(new RegExp(`^router_exporter_${name} (\\d+)$`, 'm').exec(text)?.[1]);
    return value('routers{state="up"}') === routers && value('spool_records') < routers;
  };
  const endMs = performance.now() + CONTACT_MS_MAX;
  // One interval at least, because some resources are read in the second poll.
  for (await sleep(INTERVAL_MS); performance.now() < endMs && !(await isReady()); ) await sleep(1000);
  await sleep(INTERVALS * INTERVAL_MS);
  const residentMiB = residentMiBOf(agent.pid);
  const { text: metrics } = await stubs.ask({ type: 'read', url: `${url}/metrics` }, 'read');
  agent.kill('SIGUSR2');
  while (globSync(join(folder, '*.heapsnapshot')).length === 0) await sleep(1000);
  const { text } = await stubs.ask({ type: 'read', url: `${url}/metrics/agent` }, 'read');
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / MIB;
  agent.kill('SIGTERM');
  await once(agent, 'exit');
  if (KEEPS_SNAPSHOTS) print(`${routers} routers: ${folder}`);
  else rmSync(folder, { recursive: true });
  return {
    residentMiB,
    liveMiB: read('nodejs_heap_size_used_bytes'),
    outsideMiB: read('nodejs_external_memory_bytes'),
    textMiB: metrics.length / MIB,
  };
}

print(
  `${describeMachine()}; ${FEW} and ${MANY} routers with six logs, poll and logs every ${INTERVAL_MS / 1000} s; agent with ${flags || 'no further flags'}.`,
  '',
  '| | Resident, MiB | Live heap, MiB | Outside of the heap, MiB | Text of series, MiB |',
  '|---|---:|---:|---:|---:|',
);
for (const isKept of process.env['ONLY'] === undefined ? [true, false] : [process.env['ONLY'] === 'kept']) {
  const few = await measure(FEW, isKept);
  const many = await measure(MANY, isKept);
  const render = (name: string, values: Memory, times = 1, digits = 0) =>
    print(
      `| ${[name, ...[values.residentMiB, values.liveMiB, values.outsideMiB, values.textMiB].map((value) => (value * times).toFixed(digits))].join(' | ')} |`,
    );
  const state = isKept ? 'connections kept' : 'connections closed';
  render(`${FEW} routers, ${state}`, few);
  render(`${MANY} routers, ${state}`, many);
  const difference = {
    residentMiB: many.residentMiB - few.residentMiB,
    liveMiB: many.liveMiB - few.liveMiB,
    outsideMiB: many.outsideMiB - few.outsideMiB,
    textMiB: many.textMiB - few.textMiB,
  };
  render(`each router, KiB, ${state}`, difference, KIB / (MANY - FEW));
}
