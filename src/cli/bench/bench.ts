import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createSystemClock, renderDuration, renderErrorChain } from '../../base/index.ts';
import { type CommandIo, EXIT, type ExitCode, openProgress, writeResult } from '../support/io.ts';
import { AgentProcess } from '../support/other-process.ts';
import { captureAnswers } from './routers.ts';
import { RoutersClient } from './routers-process.ts';

interface BenchFlags {
  readonly from: number;
  readonly routers: number;
  /** Of polls and log readings. Milliseconds. */
  readonly interval: number;
  /** From a request to its answer. Milliseconds. */
  readonly latency: number;
  /** Duration of each measurement. Milliseconds. */
  readonly for: number;
  readonly logs: boolean;
  readonly markdown?: boolean | undefined;
}

interface Row {
  readonly routers: number;
  readonly pollsPerSecond: number;
  readonly processorShare: number;
  /** 99th percentile, rounded up to a bucket. Seconds. */
  readonly lagSeconds: number | undefined;
  readonly residentBytes: number;
  readonly up: number;
}

/** Factor between two numbers of routers. */
const STEP = 2;
/** For logins, first answers and compiled code. */
const WARM_UP_INTERVALS = 2;
const SCRAPE_INTERVAL_MS = 15_000;
/** One thread does everything but archives. Above this share of it, delays grow. */
const PROCESSOR_SHARE_MAX = 0.8;
/** Share of the interval; polls that start later are late. */
const LAG_SHARE_MAX = 0.1;
/** Share of the routers that must be up. */
const UP_SHARE_MIN = 0.99;
const LOGS = { components: 6, bytes: 40_000 };
const MIB = 1024 * 1024;

/**
 * `bench`: measures how many routers this machine carries. The simulated routers and the agent run in processes of
 * their own. Increases the number of routers until the processor or the lag reaches a limit.
 */
export async function bench(flags: BenchFlags, io: CommandIo): Promise<ExitCode> {
  const clock = createSystemClock();
  const program = process.argv[1] ?? '';
  const progress = openProgress(io);
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-bench-'));
  try {
    const bodies = await captureAnswers();
    await using routers = new RoutersClient(program, clock);
    const logs = flags.logs ? { ...LOGS, lineEveryMs: flags.interval } : undefined;
    const options = { bodies, logs, routers: flags.routers, latencyMs: flags.latency };
    const { port, caPem } = await routers.ask({ type: 'start', options }, 'started');
    await writeFile(join(folder, 'ca.pem'), caPem);
    await writeResult(renderHead(flags, Object.keys(bodies).length), io);
    for (let count = Math.min(flags.from, flags.routers); ; count = Math.min(STEP * count, flags.routers)) {
      const configFile = join(folder, `${count}.yaml`);
      await writeFile(configFile, renderConfig({ ...flags, folder, port, count }));
      const time = renderDuration(WARM_UP_INTERVALS * flags.interval + flags.for);
      progress.update(`Measuring ${count} of up to ${flags.routers} routers for ${time}`);
      const row = await measure(routers, { program, configFile, count, flags, clock, signal: io.signal });
      progress.end();
      const limit = findLimit(row, flags);
      await writeResult(renderRow(row, limit, flags), io);
      if (limit === undefined && count < flags.routers) continue;
      await writeResult(
        `\nStopped at ${count} routers: ${limit ?? 'the largest number to try, without a limit'}\n`,
        io,
      );
      return EXIT.done;
    }
  } catch (cause) {
    if (io.signal.aborted) return EXIT.done;
    io.stderr.write(`The measurement failed: ${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  } finally {
    progress.end();
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
  await clock.sleep(WARM_UP_INTERVALS * flags.interval, signal);
  const before = await figures();
  const startedMs = clock.monotonic();
  await clock.sleep(flags.for, signal);
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

export interface AgentFigures {
  /** Since the start. Seconds. */
  readonly processorSeconds: number;
  readonly residentBytes: number;
  /** Since the start. */
  readonly polls: number;
  /** Starts of polls and log readings, by the upper bound of their lag in seconds. */
  readonly lags: ReadonlyMap<number, number>;
}

export function parseAgentFigures(text: string): AgentFigures {
  const sum = (pattern: RegExp): number =>
    text
      .matchAll(pattern)
      .map(([, value]) => Number(value))
      .reduce((total, value) => total + value, 0);
  const lags = new Map<number, number>();
  for (const [, bound, count] of text.matchAll(
    /^router_exporter_schedule_lag_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)$/gm,
  )) {
    const seconds = bound === '+Inf' ? Infinity : Number(bound);
    lags.set(seconds, (lags.get(seconds) ?? 0) + Number(count));
  }
  return {
    processorSeconds: sum(/^process_cpu_seconds_total (\S+)$/gm),
    residentBytes: sum(/^process_resident_memory_bytes (\S+)$/gm),
    polls: sum(/^router_exporter_polls_total(?:\{[^}]*\})? (\S+)$/gm),
    lags,
  };
}

/**
 * Bucket that holds the 99th percentile of the lag between two samples. Seconds; `Infinity` above the last bucket,
 * `undefined` if nothing was started.
 */
export function findLagBound(before: AgentFigures, after: AgentFigures): number | undefined {
  const counts = [...after.lags]
    .map(([bound, count]) => [bound, count - (before.lags.get(bound) ?? 0)] as const)
    .toSorted(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  return total === 0 ? undefined : counts.find(([, count]) => count >= 0.99 * total)?.[0];
}

function findLimit(
  { processorShare, lagSeconds, up, routers }: Row,
  { interval: intervalMs }: BenchFlags,
): string | undefined {
  if (up < UP_SHARE_MIN * routers) return 'routers are down';
  if (processorShare > PROCESSOR_SHARE_MAX) return `processor above ${PROCESSOR_SHARE_MAX * 100} %`;
  const isLate = lagSeconds !== undefined && lagSeconds * 1000 > LAG_SHARE_MAX * intervalMs;
  return isLate ? `lag above ${LAG_SHARE_MAX * 100} % of the interval` : undefined;
}

interface ConfigOptions extends BenchFlags {
  readonly folder: string;
  readonly port: number;
  readonly count: number;
}

function renderConfig({ folder, port, count, interval: intervalMs, logs: hasLogs }: ConfigOptions): string {
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

function renderHead(flags: BenchFlags, resources: number): string {
  const { interval, latency, logs: hasLogs, markdown: isMarkdown } = flags;
  const load = loadavg().map((value) => value.toFixed(1));
  const logs = hasLogs ? `, ${LOGS.components} logs of ${LOGS.bytes / 1000} kB` : '';
  const head = isMarkdown
    ? [`| ${[...COLUMNS, 'The limit'].join(' | ')} |`, `|${'---:|'.repeat(COLUMNS.length)}---|`]
    : [COLUMNS.map(pad).join('')];
  return `${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown processor'}, Node.js ${process.version}, load average ${load.join(' ')}
Interval ${renderDuration(interval)}, ${latency} ms from request to answer, ${resources} resources${logs}, one scrape every 15s

${head.join('\n')}
`;
}

function renderRow(row: Row, limit: string | undefined, { markdown: isMarkdown }: BenchFlags): string {
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
