/** Runs the agent and a bare client against the same stub routers at the same time, and compares their processor time. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/capture-answers.ts';
import { RoutersClient } from '../../src/cli/bench/stub-routers.ts';
import type { StubRoutersOptions } from '../../src/simulator/index.ts';
import type { BareOrder } from './bare-client.ts';

/** What agent and bare client do. */
export interface Comparison {
  readonly routers: number;
  /** Interval of the turns of both. Milliseconds. */
  readonly intervalMs: number;
  /** What the agent does in a turn. */
  readonly kind: 'status' | 'logs';
  /** Stub routers, besides their answers. */
  readonly stub: Omit<StubRoutersOptions, 'bodies' | 'clock' | 'random'>;
}

/** What it cost. */
export interface Compared {
  /** Requests of a turn. */
  readonly requests: number;
  /** How many of them have another answer each time. */
  readonly changing: number;
  /** Processor time of a turn. Milliseconds. */
  readonly agentMs: number;
  readonly bareMs: number;
  readonly agentMiB: number;
  readonly bareMiB: number;
}

/** Turns until everything is known and compiled. */
const WARM_UP_TURNS = 6;
const MEASURED_TURNS = 6;
const CLOCK_TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;
const LOG_PATH = '/download/log';
/** Requests of a look at six logs. */
export const LOG_PATHS = [
  `${LOG_PATH}?list_files=1`,
  ...['system', 'network', 'modem', 'vpn', 'firewall', 'web'].map((name) => `${LOG_PATH}?log_file=${name}/current`),
];

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

export function processorSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

export function residentMiBOf(pid: number | undefined): number {
  return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / KIB_PER_MIB;
}

/** Stub routers that answer at one port. */
export interface StubPart {
  readonly port: number;
  readonly caPem: string;
  readonly routers: number;
}

/**
 * Starts the agent, built by `npm run build`, with more lines of configuration. In the environment, AGENT_FLAGS are flags of
 * Node.js, PROFILES is a folder for its profile, and DIST the folder of the program.
 */
export function startAgent(folder: string, parts: readonly StubPart[], more: string): ChildProcess {
  const list = parts.flatMap(({ port, caPem, routers }) => {
    writeFileSync(join(folder, `ca-${port}.pem`), caPem);
    return Array.from({ length: routers }, (_, index) => {
      const router = `name: plant-${port}-${index}, url: "https://127.0.0.1:${port}/r${index}"`;
      return `  - { ${router}, tls: { ca_file: ${folder}/ca-${port}.pem } }`;
    });
  });
  const config = join(folder, 'router-exporter.yaml');
  writeFileSync(
    config,
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data }
${more}
routers:
${list.join('\n')}
`,
  );
  const { DIST, PROFILES, AGENT_FLAGS } = process.env;
  const profile = PROFILES === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${PROFILES}`];
  const flags = AGENT_FLAGS === undefined ? [] : AGENT_FLAGS.split(' ');
  const program = join(DIST ?? fileOf('../../dist'), 'main.js');
  const args = [...flags, ...profile, program, 'run', '--config.file', config, '--log.format', 'json'];
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Resolves with the address of an agent's web server once it has started; rejects when the agent ends before. */
export async function whenStarted(agent: ChildProcess): Promise<string> {
  const started = Promise.withResolvers<string>();
  agent.stderr?.on('data', (text: Buffer) => {
    const [, url] = /"urls":\["([^"]+)"/.exec(text.toString()) ?? [];
    if (url !== undefined) started.resolve(url);
  });
  agent.once('exit', (code) => started.reject(new RangeError(`The agent ended with ${code}`)));
  return await started.promise;
}

/** Returns the paths that were asked in at least every second turn, and the number of turns. */
function findTurn(requests: Readonly<Record<string, number>>): {
  readonly paths: readonly string[];
  readonly turns: number;
} {
  const turns = Math.max(...Object.values(requests));
  return { turns, paths: Object.entries(requests).flatMap(([path, number]) => (number > turns / 2 ? [path] : [])) };
}

/** Settings of the agent: the one that is not measured happens once an hour. */
function renderDefaults({ kind, intervalMs }: Comparison, folder: string): string {
  const [poll, logs] = kind === 'status' ? [`${intervalMs}ms`, '1h'] : ['1h', `${intervalMs}ms`];
  const sinks = kind === 'status' ? '' : `sinks:\n  - { name: discard, type: file, path: ${folder}/records }`;
  return `defaults: { username: u, password: p, timezone: UTC, labels: { site: munich }, poll: { interval: ${poll} }, logs: { interval: ${logs} } }
${sinks}`;
}

/** Takes two to three minutes. */
export async function compareWithBare(comparison: Comparison): Promise<Compared> {
  const { routers, intervalMs, kind, stub } = comparison;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const bodies = await captureAnswers();
  await using stubs = new RoutersClient(fileOf('../../src/main.ts'), createSystemClock());
  const started = await stubs.ask({ type: 'start', options: { ...stub, bodies } }, 'started');
  const count = async () => (await stubs.ask({ type: 'count' }, 'counted')).counts;
  const agent = startAgent(folder, [{ ...started, routers }], renderDefaults(comparison, folder));
  agent.stderr?.resume();
  await sleep(WARM_UP_TURNS * intervalMs);
  await count();
  await sleep(MEASURED_TURNS * intervalMs);
  const paths = kind === 'logs' ? LOG_PATHS : findTurn((await count()).requests).paths;
  // Both ask at once, so that other load of the machine affects both equally.
  const bare = fork(fileOf('bare-client.ts'));
  bare.send({ port: started.port, caPem: started.caPem, routers, intervalMs, paths } satisfies BareOrder);
  await sleep(WARM_UP_TURNS * intervalMs);
  const bareBefore = (await count()).bareRequests;
  const before = [agent, bare].map(({ pid }) => processorSecondsOf(pid));
  await sleep(MEASURED_TURNS * intervalMs);
  const [agentSeconds = 0, bareSeconds = 0] = [agent, bare].map(({ pid }, index) => {
    return processorSecondsOf(pid) - (before[index] ?? 0);
  });
  const { requests, bareRequests } = await count();
  const turns = kind === 'logs' ? (requests[LOG_PATH] ?? 0) / paths.length : findTurn(requests).turns;
  const compared = {
    requests: paths.length,
    changing: paths.filter((path) => (bodies[path]?.length ?? 0) > 1).length,
    agentMs: (agentSeconds / turns) * 1000,
    bareMs: (bareSeconds / ((bareRequests - bareBefore) / paths.length)) * 1000,
    agentMiB: residentMiBOf(agent.pid),
    bareMiB: residentMiBOf(bare.pid),
  };
  bare.kill();
  agent.kill('SIGTERM');
  await once(agent, 'exit');
  rmSync(folder, { recursive: true });
  return compared;
}

/** Renders the figures as a table in Markdown. */
export function renderCompared({ agentMs, bareMs, agentMiB, bareMiB }: Compared): string {
  return `| | Processor time per turn, ms | to the bare client | Resident, MiB |
|---|---:|---:|---:|
| agent | ${agentMs.toFixed(2)} | ${(agentMs / bareMs).toFixed(2)} | ${agentMiB.toFixed(0)} |
| bare client | ${bareMs.toFixed(2)} | 1 | ${bareMiB.toFixed(0)} |`;
}
