import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '../../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../../base/index.ts';
import { readDescriptorLimit } from '../../net/index.ts';
import { WebError } from '../../web/index.ts';
import { type CommandIo, EXIT, type ExitCode } from '../support/io.ts';
import { OtherProcess } from '../support/other-process.ts';
import { readConfig, refuseConfig } from '../support/read-config.ts';
import { type LogFlags, openLogger, serve } from '../support/serve.ts';
import {
  type DemoOrder,
  type DemoReport,
  type DemoRouters,
  FAULTY_ROUTERS_MIN,
  findDemoPace,
  renderRouterSettings,
  startDemoRouters,
  TIMEZONE,
} from './demo-routers.ts';
import { LiveStatus } from './live-status.ts';

interface DemoFlags {
  readonly routers: number;
  /** Some routers fail. Default: with four routers or more. */
  readonly hasFaults: boolean | undefined;
  /** Milliseconds. Default: until a signal. */
  readonly forMs: number | undefined;
  /** Writes the records also to a terminal, instead of the live status. */
  readonly hasRecords: boolean;
  /** Default: 127.0.0.1:9847, or a free port if that is in use. */
  readonly listenAddress: string | undefined;
  readonly log: LogFlags;
}

const USUAL_ADDRESS = '127.0.0.1:9847';
const ANY_ADDRESS = '127.0.0.1:0';

/** Fewer routers run in the process of the agent. */
const OWN_PROCESS_FROM = 100;
/** Larger fleets take some seconds to start. */
const ANNOUNCED_FROM = 500;
/** Ten thousand routers take half a minute of one core. */
const START_MS_MAX = 5 * 60_000;
/** File descriptors for everything but routers and connections to them. */
const DESCRIPTORS_RESERVED = 300;
const CONNECTIONS_MIN = 50;

/** `demo`: runs a simulated fleet over HTTPS and the agent against it, without any configuration. */
export async function demo(flags: DemoFlags, io: CommandIo): Promise<ExitCode> {
  const hasFaults = flags.hasFaults ?? flags.routers >= FAULTY_ROUTERS_MIN;
  if (hasFaults && flags.routers < FAULTY_ROUTERS_MIN) {
    io.stderr.write(`--faults needs ${FAULTY_ROUTERS_MIN} routers or more: one of them is healthy\n`);
    return EXIT.usage;
  }
  const connections = findConnections(flags.routers);
  if (connections < CONNECTIONS_MIN) {
    io.stderr.write(
      `${flags.routers} routers need more open files than this process may have: raise the limit with ulimit -n\n`,
    );
    return EXIT.failed;
  }
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-demo-'));
  try {
    if (flags.routers >= ANNOUNCED_FROM) io.stderr.write(`Starting ${flags.routers} simulated routers …\n`);
    await using running = new AsyncDisposableStack();
    const simulated = await startRouters(flags.routers, hasFaults, running, io);
    return await runAgent({ simulated, folder, hasFaults, connections }, flags, io);
  } catch (cause) {
    if (io.signal.aborted) return EXIT.done;
    io.stderr.write(`The demo could not start: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A few routers run in this process, which starts faster. */
async function startRouters(
  count: number,
  hasFaults: boolean,
  running: AsyncDisposableStack,
  { signal }: CommandIo,
): Promise<DemoRouters> {
  const order = { type: 'start', routers: count, hasFaults } as const;
  if (count < OWN_PROCESS_FROM) return running.use(await startDemoRouters(order));
  const routers = new OtherProcess<DemoOrder, DemoReport>({
    program: process.argv[1] ?? '',
    command: 'demo-routers',
    role: 'simulated routers',
    clock: createSystemClock(),
    answerMsMax: START_MS_MAX,
    signal,
  });
  return { started: await running.use(routers).ask(order, 'started') };
}

interface DemoParts {
  readonly simulated: DemoRouters;
  readonly folder: string;
  readonly hasFaults: boolean;
  readonly connections: number;
}

/** In the process of the routers, each of them also has a listening socket. */
function findConnections(routers: number): number {
  const descriptors = readDescriptorLimit() ?? Infinity;
  return Math.min(routers + CONNECTIONS_MIN, descriptors - DESCRIPTORS_RESERVED - routers);
}

async function runAgent(parts: DemoParts, flags: DemoFlags, io: CommandIo): Promise<ExitCode> {
  try {
    return await runAgentAt(flags.listenAddress ?? USUAL_ADDRESS, parts, flags, io);
  } catch (cause) {
    if (flags.listenAddress !== undefined || !(cause instanceof WebError)) throw cause;
    return runAgentAt(ANY_ADDRESS, parts, flags, io);
  }
}

async function runAgentAt(listenAddress: string, parts: DemoParts, flags: DemoFlags, io: CommandIo): Promise<ExitCode> {
  const { simulated, folder } = parts;
  const configFile = join(folder, 'router-exporter.yaml');
  await writeFile(join(folder, 'ca.pem'), simulated.started.caPem);
  await writeFile(configFile, renderConfig(parts, listenAddress));
  const loaded = await readConfig({ 'config.file': configFile });
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  await simulated.storeHistory?.(config, io.signal);
  const { forMs } = flags;
  const live = io.stdout.isTTY && !flags.hasRecords ? new LiveStatus(io) : undefined;
  const { logger, useSecretsOf } = openLogger(flags.log, live?.io ?? io);
  await useSecretsOf(config);
  const { exitCode, summary } = await serve({
    config,
    io: live?.io ?? io,
    endsWithReader: true,
    logger,
    onStarted: (agent) => {
      const addresses = renderWhereToLook(agent, configFile);
      if (live) void live.run(agent, `${addresses}Ctrl-C ends. --records shows the log records instead.`);
      else
        io.stderr.write(`${flags.routers} simulated routers. Log records follow on stdout. Ctrl-C ends.\n${addresses}`);
    },
    ...(forMs !== undefined && { until: (signal: AbortSignal) => createSystemClock().sleep(forMs, signal) }),
  }).finally(() => live?.close());
  io.stderr.write(
    `Summary: ${summary.states.up} of ${summary.routers} routers up, ${summary.polls} polls, ` +
      `${summary.recordsShipped} records shipped, ${summary.gaps} gaps\n`,
  );
  return exitCode;
}

function renderConfig({ simulated, hasFaults, connections }: DemoParts, listenAddress: string): string {
  const routers = simulated.started.routers.map(
    ({ name, url }, index) => `  - { name: ${name}, url: "${url}"${renderRouterSettings(index, hasFaults)} }\n`,
  );
  const { intervalS, modules, runsMax } = findDemoPace(routers.length);
  return `# The configuration of this demo.
web:
  listen: ["${listenAddress}"]
connections: { max: ${connections} }
schedule: { concurrent_runs: ${runsMax} }
defaults:
  username: monitor
  password: simulated
  tls: { ca_file: ca.pem }
  timezone: ${TIMEZONE}
  poll: { interval: ${intervalS}s, stale_after: ${3 * intervalS}s }
${modules ? `  modules: [${modules.join(', ')}]\n` : ''}routers:
${routers.join('')}sinks:
  - { name: console, type: stdout }
`;
}

function renderWhereToLook(agent: Agent, configFile: string): string {
  const [url = ''] = agent.urls;
  return `  Status page    ${url}/
  Metrics        ${url}/metrics
  Configuration  ${configFile}
  History        what lies before the start is simulated
`;
}
