import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createSystemClock, renderDuration, renderErrorChain } from '../../base/index.ts';
import { type CommandIo, EXIT, type ExitCode, writeResult } from '../terminal/io.ts';
import { type AgentFigures, AgentProcess, findLagBound, parseAgentFigures } from './agent-process.ts';
import { captureAnswers } from './capture-answers.ts';
import { RoutersClient } from './stub-routers.ts';

/** Options of `bench`. */
interface BenchFlags {
  /** First number of routers to try. */
  readonly from: number;
  /** Largest number of routers to try. */
  readonly routers: number;
  /** Interval of polls and of readings of logs. Milliseconds. */
  readonly intervalMs: number;
  /** Time from a request to its answer. Milliseconds. */
  readonly latencyMs: number;
  /** Time for which each number of routers is measured. Milliseconds. */
  readonly forMs: number;
  /** True to read logs too: six of each router. */
  readonly hasLogs: boolean;
  /** True to print a table in Markdown. */
  readonly isMarkdown: boolean;
}

/** Result for one number of routers. */
interface Row {
  readonly routers: number;
  readonly pollsPerSecond: number;
  /** Processor time per second. */
  readonly processorShare: number;
  /** Bound of 99 % of the lags. Seconds. */
  readonly lagSeconds: number | undefined;
  readonly residentBytes: number;
  /** Routers that were up at the end. */
  readonly up: number;
}

/** Each number of routers is this many times the one before. */
const STEP = 2;
/** Intervals before the measurement: logins, first answers, compiled code. */
const WARM_UP_INTERVALS = 2;
const SCRAPE_INTERVAL_MS = 15_000;
/** A process has one thread for everything but archives. Above this share of it, delays grow. */
const PROCESSOR_SHARE_MAX = 0.8;
/** Polls that begin later than this share of the interval are late. */
const LAG_SHARE_MAX = 0.1;
/** At least this share of the routers has to be up. */
const UP_SHARE_MIN = 0.99;
const LOGS = { components: 6, bytes: 40_000 };
const MIB = 1024 * 1024;

/**
 * `bench`: measures how many routers this machine carries, with simulated ones in a process of their own and the agent as it
 * is shipped in another. Steps the number of routers up until the processor or the lag says stop.
 */
export async function bench(flags: BenchFlags, io: CommandIo): Promise<ExitCode> {
  const clock = createSystemClock();
  const program = process.argv[1] ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-bench-'));
  try {
    const bodies = await captureAnswers();
    await using routers = new RoutersClient(program, clock);
    const logs = flags.hasLogs ? { ...LOGS, lineEveryMs: flags.intervalMs } : undefined;
    const { latencyMs } = flags;
    const { port, caPem } = await routers.ask({ type: 'start', options: { bodies, logs, latencyMs } }, 'started');
    await writeFile(join(folder, 'ca.pem'), caPem);
    await writeResult(renderHead(flags, Object.keys(bodies).length), io);
    for (let count = Math.min(flags.from, flags.routers); ; count = Math.min(STEP * count, flags.routers)) {
      const configFile = join(folder, `${count}.yaml`);
      await writeFile(configFile, renderConfig({ ...flags, folder, port, count }));
      const row = await measure(routers, { program, configFile, count, flags, clock, signal: io.signal });
      const limit = findLimit(row, flags);
      await writeResult(renderRow(row, limit, flags), io);
      if (limit !== undefined || count === flags.routers) break;
    }
    return EXIT.done;
  } catch (cause) {
    if (io.signal.aborted) return EXIT.done;
    io.stderr.write(`The measurement failed: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measurement {
  readonly program: string;
  readonly configFile: string;
  readonly count: number;
  readonly flags: BenchFlags;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function measure(routers: RoutersClient, measurement: Measurement): Promise<Row> {
  const { program, configFile, count, flags, clock, signal } = measurement;
  await using agent = await AgentProcess.start(program, configFile, clock);
  const figures = async (): Promise<AgentFigures> => {
    const { text } = await routers.ask({ type: 'read', url: `${agent.url}/metrics/agent` }, 'read');
    return parseAgentFigures(text);
  };
  await routers.ask(
    { type: 'scrape', url: `${agent.url}/metrics`, scrapers: 1, intervalMs: SCRAPE_INTERVAL_MS },
    'scraping',
  );
  await clock.sleep(WARM_UP_INTERVALS * flags.intervalMs, signal);
  const before = await figures();
  const startedMs = clock.monotonic();
  await clock.sleep(flags.forMs, signal);
  const after = await figures();
  const seconds = (clock.monotonic() - startedMs) / 1000;
  const up = await routers.ask({ type: 'read', url: `${agent.url}/metrics/agent` }, 'read');
  return {
    routers: count,
    pollsPerSecond: (after.polls - before.polls) / seconds,
    processorShare: (after.processorSeconds - before.processorSeconds) / seconds,
    lagSeconds: findLagBound(before, after),
    residentBytes: after.residentBytes,
    up: Number(/^router_exporter_routers\{state="up"\} (\d+)$/m.exec(up.text)?.[1] ?? 0),
  };
}

/** Returns the reason for which more routers need not be tried; `undefined` if there is none. */
function findLimit({ processorShare, lagSeconds, up, routers }: Row, { intervalMs }: BenchFlags): string | undefined {
  if (up < UP_SHARE_MIN * routers) return 'routers are down';
  if (processorShare > PROCESSOR_SHARE_MAX) return 'processor';
  return lagSeconds !== undefined && lagSeconds * 1000 > LAG_SHARE_MAX * intervalMs ? 'lag' : undefined;
}

interface ConfigOptions extends BenchFlags {
  readonly folder: string;
  readonly port: number;
  readonly count: number;
}

function renderConfig({ folder, port, count, intervalMs, hasLogs }: ConfigOptions): string {
  const interval = renderDuration(intervalMs);
  const routers = Array.from({ length: count }, (_, index) => {
    return `  - { name: plant-${index}, url: "https://127.0.0.1:${port}/r${index}" }\n`;
  });
  return `web: { listen: ["127.0.0.1:0"] }
storage: { path: "${folder}/state-${count}" }
defaults:
  username: monitor
  password: simulated
  labels: { site: bench }
  tls: { ca_file: "${folder}/ca.pem" }
  timezone: UTC
  poll: { interval: ${interval} }
  logs: { interval: ${interval} }
routers:
${routers.join('')}${hasLogs ? `sinks:\n  - { name: discard, type: file, path: "${folder}/records-${count}" }\n` : ''}`;
}

const COLUMNS = ['Routers', 'Polls/s', 'Processor', 'Lag p99', 'Memory', 'Up'];

function renderHead({ intervalMs, latencyMs, hasLogs, isMarkdown }: BenchFlags, resources: number): string {
  const load = loadavg().map((value) => value.toFixed(1));
  const logs = hasLogs ? `, ${LOGS.components} logs of ${LOGS.bytes / 1000} kB` : '';
  const head = isMarkdown
    ? [`| ${[...COLUMNS, 'The limit'].join(' | ')} |`, `|${'---:|'.repeat(COLUMNS.length)}---|`]
    : [COLUMNS.map(pad).join('')];
  return `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown processor'}, Node.js ${process.version}, load average ${load.join(' ')}
Interval ${renderDuration(intervalMs)}, ${latencyMs} ms from request to answer, ${resources} resources${logs}, one scrape every 15s

${head.join('\n')}
`;
}

function renderRow(row: Row, limit: string | undefined, { isMarkdown }: BenchFlags): string {
  const cells = [
    String(row.routers),
    row.pollsPerSecond.toFixed(1),
    `${(row.processorShare * 100).toFixed(0)} %`,
    renderLag(row.lagSeconds),
    `${(row.residentBytes / MIB).toFixed(0)} MiB`,
    String(row.up),
  ];
  if (isMarkdown) return `| ${[...cells, limit ?? ''].join(' | ')} |\n`;
  return `${cells.map(pad).join('')}${limit === undefined ? '' : `   the limit: ${limit}`}\n`;
}

function renderLag(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  return seconds === Infinity ? 'longer' : `< ${renderDuration(seconds * 1000)}`;
}

function pad(text: string): string {
  return text.padStart(12);
}
