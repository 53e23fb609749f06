import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Agent } from '../agent/index.ts';
import { createSystemClock, renderErrorChain } from '../base/index.ts';
import { renderFault } from '../settings/index.ts';
import { demoLogSettings, type Simulator, startSimulator } from '../simulator/index.ts';
import { WebError } from '../web/index.ts';
import { readConfig } from './configuration.ts';
import { type LogFlags, openLogger, serve } from './serve.ts';
import { type CommandIo, EXIT, type ExitCode } from './terminal/io.ts';

/** Options of `demo`. */
export interface DemoFlags {
  /** Number of simulated routers. */
  readonly routers: number;
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

/** `demo`: runs a simulated fleet over HTTPS and the agent against it, without any configuration. */
export async function demo(flags: DemoFlags, io: CommandIo): Promise<ExitCode> {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-demo-'));
  try {
    await using simulator = await startSimulator({
      routers: flags.routers,
      clock: createSystemClock(),
      seed: 1,
      logActivity: 'live',
      timezone: TIMEZONE,
      logs: demoLogSettings,
    });
    return await runAgent(simulator, folder, flags, io);
  } catch (cause) {
    io.stderr.write(`The demo could not start: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runAgent(simulator: Simulator, folder: string, flags: DemoFlags, io: CommandIo): Promise<ExitCode> {
  try {
    return await runAgentAt(flags.listenAddress ?? USUAL_ADDRESS, simulator, folder, flags, io);
  } catch (cause) {
    if (flags.listenAddress !== undefined || !(cause instanceof WebError)) throw cause;
    return runAgentAt(ANY_ADDRESS, simulator, folder, flags, io);
  }
}

async function runAgentAt(
  listenAddress: string,
  simulator: Simulator,
  folder: string,
  flags: DemoFlags,
  io: CommandIo,
): Promise<ExitCode> {
  const configFile = join(folder, 'router-exporter.yaml');
  await writeFile(join(folder, 'ca.pem'), simulator.caPem);
  await writeFile(configFile, renderConfig(simulator, listenAddress));
  const loaded = await readConfig(configFile);
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${renderFault(fault)}\n`);
    return EXIT.usage;
  }
  const { config } = loaded;
  const { forMs } = flags;
  const { logger, useSecretsOf } = openLogger(flags.log, io);
  useSecretsOf(config);
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

function renderConfig(simulator: Simulator, listenAddress: string): string {
  const routers = simulator.routers.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }\n`);
  return `# The configuration of this demo: simulated routers and short intervals.
web:
  listen: ["${listenAddress}"]
defaults:
  username: monitor
  password: simulated
  tls: { ca_file: ca.pem }
  timezone: ${TIMEZONE}
  labels: { site: demo }
  poll: { interval: 2s, timeout: 1s, deadline: 2s, stale_after: 30s }
  logs: { interval: 1s }
routers:
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
