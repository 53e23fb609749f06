import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '../../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../../base/index.ts';
import { readDescriptorLimit } from '../../net/index.ts';
import { WebError } from '../../web/index.ts';
import { readConfig, refuseConfig } from '../configuration.ts';
import { OtherProcess } from '../other-process.ts';
import { type LogFlags, openLogger, serve } from '../serve.ts';
import { type CommandIo, EXIT, type ExitCode } from '../terminal/io.ts';
import { findDemoPace, LOGGED_ROUTERS_MAX } from './demo-pace.ts';
import {
  type DemoOrder,
  type DemoReport,
  type DemoStarted,
  FAULTY_ROUTERS_MIN,
  renderFaultySettings,
  startDemoRouters,
} from './demo-routers.ts';

/** Options of `demo`. */
interface DemoFlags {
  /** Number of simulated routers. */
  readonly routers: number;
  /** True for routers that fail; `undefined` = from four routers on. */
  readonly hasFaults: boolean | undefined;
  /** Duration of the demo in milliseconds; `undefined` = until a signal. */
  readonly forMs: number | undefined;
  /** Address to listen on; `undefined` = 127.0.0.1:9847, or a free port if it is taken. */
  readonly listenAddress: string | undefined;
  /** Level and format of the agent's own log. */
  readonly log: LogFlags;
}

/** Time zone of the simulated routers: not UTC, so that the conversion shows. */
const TIMEZONE = 'Europe/Berlin';
const USUAL_ADDRESS = '127.0.0.1:9847';
const ANY_ADDRESS = '127.0.0.1:0';

/** Fewer routers leave the agent's thread enough time. */
const OWN_PROCESS_FROM = 100;
/** Fleets of this size take some seconds to start. */
const ANNOUNCED_FROM = 500;
/** Limit of the start of the simulated routers: ten thousand take half a minute of one core. Milliseconds. */
const START_MS_MAX = 5 * 60_000;
/** Descriptors of a process besides routers and connections to them. */
const SPARED_DESCRIPTORS = 300;
/** Connections that are few for a fleet of any size. */
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

/** Starts the simulated routers: many in a process of their own, few in this one, which saves the start of another. */
async function startRouters(
  count: number,
  hasFaults: boolean,
  running: AsyncDisposableStack,
  { signal }: CommandIo,
): Promise<DemoStarted> {
  const { linesPerSecond } = findDemoPace(count);
  const order = {
    type: 'start',
    routers: count,
    loggedRouters: LOGGED_ROUTERS_MAX,
    linesPerSecond,
    timezone: TIMEZONE,
    hasFaults,
  } as const;
  if (count < OWN_PROCESS_FROM) return running.use(await startDemoRouters(order)).started;
  const routers = new OtherProcess<DemoOrder, DemoReport>({
    program: process.argv[1] ?? '',
    command: 'demo-routers',
    role: 'simulated routers',
    clock: createSystemClock(),
    answerMsMax: START_MS_MAX,
    signal,
  });
  return await running.use(routers).ask(order, 'started');
}

/** The running parts of a demo. */
interface DemoParts {
  readonly simulated: DemoStarted;
  /** Folder of the configuration and the state. */
  readonly folder: string;
  readonly hasFaults: boolean;
  /** Most connections to routers at a time. */
  readonly connections: number;
}

/** Finds how many connections to routers there may be: in the process of the routers, each of them listens as well. */
function findConnections(routers: number): number {
  const descriptors = readDescriptorLimit();
  if (descriptors === undefined) return routers;
  return Math.min(routers + CONNECTIONS_MIN, descriptors - SPARED_DESCRIPTORS - routers);
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
  await writeFile(join(folder, 'ca.pem'), simulated.caPem);
  await writeFile(configFile, renderConfig(parts, listenAddress));
  const loaded = await readConfig(configFile);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const { forMs } = flags;
  const { logger, useSecretsOf } = openLogger(flags.log, io);
  await useSecretsOf(config);
  const { exitCode, summary } = await serve({
    config,
    io,
    endsWithReader: true,
    logger,
    onStarted: (agent) => io.stderr.write(renderWhereToLook(agent, configFile, flags.routers)),
    ...(forMs !== undefined && { until: (signal: AbortSignal) => createSystemClock().sleep(forMs, signal) }),
  });
  io.stderr.write(
    `Summary: ${summary.routersUp} of ${summary.routers} routers up, ${summary.polls} polls, ` +
      `${summary.recordsShipped} records shipped, ${summary.gaps} gaps\n`,
  );
  return exitCode;
}

function renderConfig({ simulated, hasFaults, connections }: DemoParts, listenAddress: string): string {
  const routers = simulated.routers.map(
    ({ name, url }, index) =>
      `  - { name: ${name}, url: "${url}"${hasFaults ? renderFaultySettings(index) : ''}${index < LOGGED_ROUTERS_MAX ? '' : ', logs: { enabled: false }'} }\n`,
  );
  const { intervalS, timeoutS, deadlineS, staleAfterS, logIntervalS, modules, runsMax } = findDemoPace(routers.length);
  return `# The configuration of this demo: simulated routers and short intervals.
web:
  listen: ["${listenAddress}"]
connections: { max: ${connections} }
schedule: { concurrent_runs: ${runsMax} }
defaults:
  username: monitor
  password: simulated
  tls: { ca_file: ca.pem }
  timezone: ${TIMEZONE}
  labels: { site: demo }
  poll: { interval: ${intervalS}s, timeout: ${timeoutS * 1000}ms, deadline: ${deadlineS}s, stale_after: ${staleAfterS}s }
  logs: { interval: ${logIntervalS * 1000}ms }
${modules ? `  modules: [${modules.join(', ')}]\n` : ''}routers:
${routers.join('')}sinks:
  - { name: console, type: stdout }
`;
}

function renderWhereToLook(agent: Agent, configFile: string, routers: number): string {
  const [url = ''] = agent.urls;
  return `${routers} simulated routers. Their log records follow on standard output. Ctrl-C ends.
  Status page    ${url}/
  Metrics        ${url}/metrics
  Configuration  ${configFile}
`;
}
