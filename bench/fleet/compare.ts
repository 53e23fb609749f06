/** Runs the agent and a bare client against the same simulated routers at the same time, and compares their processor time. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { type BenchRoutersOptions, captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import type { BareOrder } from './bare-client.ts';

/** What agent and bare client do. */
export interface Comparison {
  readonly routers: number;
  /** Interval of the turns of both. Milliseconds. */
  readonly intervalMs: number;
  /** What the agent does in a turn. */
  readonly kind: 'status' | 'logs';
  /** The routers, besides their number and their answers. */
  readonly simulated: Pick<BenchRoutersOptions, 'logs' | 'idleMs'>;
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
  `${LOG_PATH}?list_files`,
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

/** Simulated routers that answer at one port. */
export interface FleetPart {
  readonly port: number;
  readonly caPem: string;
  readonly routers: number;
}

/**
 * Starts the agent, built by `npm run build`, with more lines of configuration, flags and variables. In the environment, AGENT_FLAGS are flags of
 * Node.js, PROFILES is a folder for its profile, and DIST the folder of the program.
 */
export function startAgent(
  folder: string,
  parts: readonly FleetPart[],
  more: string,
  own: readonly string[] = [],
  variables: NodeJS.ProcessEnv = {},
): ChildProcess {
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
  const args = [...flags, ...profile, program, 'run', '--config.file', config, '--log.format', 'json', ...own];
  const env = { ...process.env, ...variables };
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
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

/** A bare client at work. */
export interface BareClient {
  readonly child: ChildProcess;
  /** Returns the answers that it has had so far. */
  count(): Promise<number>;
}

/** Starts a bare client that asks as many routers as the agent, those with the numbers behind. */
export function startBare(parts: readonly FleetPart[], intervalMs: number, paths: readonly string[]): BareClient {
  const child = fork(fileOf('bare-client.ts'));
  for (const { port, caPem, routers } of parts) {
    child.send({ port, caPem, first: routers, routers, intervalMs, paths } satisfies BareOrder);
  }
  return {
    child,
    async count() {
      const counted = once(child, 'message');
      child.send('count');
      const [answers] = (await counted) as [number];
      return answers;
    },
  };
}

/** Returns the paths that were asked in at least every second turn. */
function findTurn(requests: Readonly<Record<string, number>>): readonly string[] {
  const turns = countTurns(requests);
  return Object.entries(requests).flatMap(([route, number]) =>
    number > turns / 2 ? [route.slice('GET '.length)] : [],
  );
}

/** Returns the number of turns: of the path that was asked in each. */
function countTurns(requests: Readonly<Record<string, number>>): number {
  return Math.max(...Object.values(requests));
}

/** Settings of the agent: the one that is not measured happens once an hour. */
function renderDefaults({ kind, intervalMs }: Comparison, folder: string): string {
  const [poll, logs] = kind === 'status' ? [`${intervalMs}ms`, '1h'] : ['1h', `${intervalMs}ms`];
  const sinks = kind === 'status' ? '' : `sinks:\n  - { name: discard, type: file, path: ${folder}/records }`;
  return `defaults: { username: monitor, password: simulated, timezone: UTC, labels: { site: munich }, poll: { interval: ${poll} }, logs: { interval: ${logs} } }
${sinks}`;
}

/** Takes two to three minutes. */
export async function compareWithBare(comparison: Comparison): Promise<Compared> {
  const { routers, intervalMs, kind, simulated } = comparison;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const bodies = await captureAnswers();
  await using stubs = new RoutersClient(fileOf('../../src/main.ts'), createSystemClock());
  const options = { ...simulated, bodies, routers, bareRouters: routers };
  const part = { ...(await stubs.ask({ type: 'start', options }, 'started')), routers };
  const count = async () => (await stubs.ask({ type: 'count' }, 'counted')).requests;
  const agent = startAgent(folder, [part], renderDefaults(comparison, folder));
  agent.stderr?.resume();
  await sleep(WARM_UP_TURNS * intervalMs);
  await count();
  await sleep(MEASURED_TURNS * intervalMs);
  const paths = kind === 'logs' ? LOG_PATHS : findTurn(await count());
  // Both ask at once, so that other load of the machine affects both equally.
  const bare = startBare([part], intervalMs, paths);
  await sleep(WARM_UP_TURNS * intervalMs);
  await count();
  const answersBefore = await bare.count();
  const before = [agent, bare.child].map(({ pid }) => processorSecondsOf(pid));
  await sleep(MEASURED_TURNS * intervalMs);
  const [agentSeconds = 0, bareSeconds = 0] = [agent, bare.child].map(({ pid }, index) => {
    return processorSecondsOf(pid) - (before[index] ?? 0);
  });
  const requests = await count();
  const bareTurns = ((await bare.count()) - answersBefore) / paths.length;
  const bothTurns = kind === 'logs' ? (requests[`GET ${LOG_PATHS[0]}`] ?? 0) : countTurns(requests);
  const turns = bothTurns - bareTurns;
  const compared = {
    requests: paths.length,
    changing: paths.filter((path) => (bodies[path]?.length ?? 0) > 1).length,
    agentMs: (agentSeconds / turns) * 1000,
    bareMs: (bareSeconds / bareTurns) * 1000,
    agentMiB: residentMiBOf(agent.pid),
    bareMiB: residentMiBOf(bare.child.pid),
  };
  bare.child.kill();
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
