/**
 * Measures what the agent's status turns cost, beside a bare client that sends the same requests.
 *
 *   npm run build && npx node bench/fleet/status-turns.ts [routers, default 200]
 *
 * Takes two minutes. Prints Markdown for RESULTS.md. The routers answer from memory in a process of their own; a third of
 * the resources of a turn change.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeMachine, print } from '../contest.ts';
import type { BareOrder } from './bare-client.ts';
import type { StubCounts, StubStarted } from './stub-routers.ts';

const ROUTERS = Number(process.argv[2] ?? 200);
const INTERVAL_MS = 5000;
/** Turns until everything is known and compiled. */
const WARM_UP_TURNS = 6;
const MEASURED_TURNS = 6;
const CLOCK_TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function processorSecondsOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

function residentMiBOf({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / KIB_PER_MIB;
}

async function count(stub: ChildProcess): Promise<StubCounts> {
  stub.send('count');
  const [counts] = (await once(stub, 'message')) as [StubCounts];
  return counts;
}

/** Starts the agent, built by `npm run build`. */
function startAgent(folder: string, { port, caPem }: StubStarted): ChildProcess {
  writeFileSync(join(folder, 'ca.pem'), caPem);
  const routers = Array.from({ length: ROUTERS }, (_, index) => {
    return `  - { name: plant-${index}, url: "https://127.0.0.1:${port}/r${index}" }`;
  });
  const config = join(folder, 'router-exporter.yaml');
  writeFileSync(
    config,
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data }
defaults: { username: u, password: p, labels: { site: munich }, poll: { interval: ${INTERVAL_MS}ms }, tls: { ca_file: ca.pem } }
routers:
${routers.join('\n')}
`,
  );
  const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const profiles = process.env['PROFILES'];
  const profile = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
  const args = [...profile, program, 'run', '--config.file', config, '--log.level', 'error'];
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Returns the paths that were asked in at least every second turn, and the number of turns. */
function findTurn(requests: StubCounts['requests']): { readonly paths: readonly string[]; readonly turns: number } {
  const turns = Math.max(...Object.values(requests));
  return { turns, paths: Object.entries(requests).flatMap(([path, number]) => (number > turns / 2 ? [path] : [])) };
}

const folder = mkdtempSync(join(tmpdir(), 'status-turns-'));
const stub = fork(fileOf('stub-routers.ts'));
const [started] = (await once(stub, 'message')) as [StubStarted];
const agent = startAgent(folder, started);
await sleep(WARM_UP_TURNS * INTERVAL_MS);
await count(stub);
await sleep(MEASURED_TURNS * INTERVAL_MS);
const { paths } = findTurn((await count(stub)).requests);
// Both ask at once, so that other load of the machine affects both equally.
const bare = fork(fileOf('bare-client.ts'));
bare.send({
  port: started.port,
  caPem: started.caPem,
  routers: ROUTERS,
  intervalMs: INTERVAL_MS,
  paths,
} satisfies BareOrder);
await sleep(WARM_UP_TURNS * INTERVAL_MS);
await count(stub);
const before = [agent, bare].map(processorSecondsOf);
await sleep(MEASURED_TURNS * INTERVAL_MS);
const [agentSeconds = 0, bareSeconds = 0] = [agent, bare].map(
  (child, index) => processorSecondsOf(child) - (before[index] ?? 0),
);
const { requests, bareRequests } = await count(stub);
const { turns } = findTurn(requests);
const agentMs = (agentSeconds / turns) * 1000;
const bareMs = (bareSeconds / (bareRequests / paths.length)) * 1000;
const total = Object.values(requests).reduce((sum, number) => sum + number, 0);
const changing = paths.filter((path) => started.changing.includes(path));
print(
  `${describeMachine()}; ${ROUTERS} routers, a turn of ${paths.length} requests (${(total / turns).toFixed(1)} on average), ${changing.length} of them changing.`,
  '',
  '| | Processor time per turn, ms | to the bare client | Resident, MiB |',
  '|---|---:|---:|---:|',
  `| agent | ${agentMs.toFixed(2)} | ${(agentMs / bareMs).toFixed(2)} | ${residentMiBOf(agent).toFixed(0)} |`,
  `| bare client | ${bareMs.toFixed(2)} | 1 | ${residentMiBOf(bare).toFixed(0)} |`,
);
bare.kill();
stub.disconnect();
agent.kill('SIGTERM');
await once(agent, 'exit');
rmSync(folder, { recursive: true });
