/**
 * Measures the program as built, beside another build in the same run: what work costs of the processor, what the agent takes of
 * memory, how late runs begin, and how long the main thread is held up.
 *
 *   npm run build && npx node tools/product-figures.ts [dist of another build]
 *
 * Takes ten minutes for each build, on a machine that does nothing else. Wants bzip2. Prints a table in Markdown.
 */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeMachine, median, print } from '../bench/contest.ts';
import { processorSecondsOf, residentMiBOf, startAgent, whenStarted } from '../bench/fleet/compare.ts';
import { createLogText } from '../bench/log-text.ts';
import { StepTable } from '../bench/step-table.ts';
import { startWatchedAgent } from '../bench/watched-agent.ts';
import { runAgent } from '../bench/whole-agent.ts';
import { createSystemClock } from '../src/base/index.ts';
import { captureAnswers } from '../src/cli/bench/routers.ts';
import { RoutersClient } from '../src/cli/bench/routers-process.ts';

/** One row of the table: its title with the unit, and what a build has there. */
type Figure = readonly [title: string, value: string];

const MIB = 1024 ** 2;
const ARCHIVE_BYTES = 25_000_000;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const MILLI = 1000;
const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const bodies = await captureAnswers();

/** Processor time of a file of a router until its last record is written: of the first one of an agent, and of later ones. */
async function measureFiles(dist: string): Promise<Figure[]> {
  const measure = async (title: string, bytes: number, pack: (text: Buffer) => Buffer): Promise<Figure> => {
    const archives = [0, 1, 2, 3].map((part) => {
      const cut = createLogText(bytes, part);
      // A line that is cut in its time would belong to the one before.
      const text = cut.subarray(0, cut.lastIndexOf('\n') + 1);
      return { bytes: pack(text), lastOffset: text.lastIndexOf('\n', text.length - 2) + 1 };
    });
    const runs = await runAgent({ archives, routers: 1, program: join(dist, 'main.js') });
    const [first, ...later] = runs.map(({ processorSeconds }) => processorSeconds);
    return [`${title}, first and later ones, CPU-s`, `${first?.toFixed(2)}, ${median(later).toFixed(2)}`];
  };
  const bzip2 = (input: Buffer) => execFileSync('bzip2', ['-c'], { input, maxBuffer: ARCHIVE_BYTES });
  return [
    await measure('archive of 25 MB', ARCHIVE_BYTES, bzip2),
    await measure('log of 1 MiB as text', MIB, (text) => text),
  ];
}

/** What an agent of simulated routers does, once they are known. */
async function withAgent(
  dist: string,
  options: { readonly routers: number; readonly pollMs: number; readonly logsMs: number; readonly hasLogs: boolean },
  measure: (agent: ChildProcess, url: string) => Promise<Figure[]>,
): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'product-figures-'));
  const { routers, pollMs, logsMs, hasLogs } = options;
  const logs = { components: 6, bytes: 40_000, lineEveryMs: logsMs };
  await using stubs = new RoutersClient(program, createSystemClock());
  const started = await stubs.ask({ type: 'start', options: { bodies, routers, ...(hasLogs && { logs }) } }, 'started');
  process.env['DIST'] = dist;
  const sink = hasLogs ? `sinks:\n  - { name: discard, type: file, path: ${folder}/records }` : '';
  const agent = startAgent(
    folder,
    [{ ...started, routers }],
    `defaults: { username: monitor, password: simulated, timezone: UTC, poll: { interval: ${pollMs}ms, stale_after: 3h }, logs: { interval: ${logsMs}ms } }\n${sink}`,
  );
  try {
    const url = await whenStarted(agent);
    agent.stderr?.resume();
    return await measure(agent, url);
  } finally {
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    rmSync(folder, { recursive: true });
  }
}

/** Processor time of one poll, or one look at six logs with a new line in one of them. */
async function measureTurns(dist: string, kind: 'poll' | 'look'): Promise<Figure[]> {
  const [routers, intervalMs, turns] = [100, 5 * SECOND_MS, 6];
  const hasLogs = kind === 'look';
  const [pollMs, logsMs] = hasLogs ? [60 * MINUTE_MS, intervalMs] : [intervalMs, 60 * MINUTE_MS];
  return await withAgent(dist, { routers, pollMs, logsMs, hasLogs }, async (agent) => {
    await sleep(2 * turns * intervalMs);
    const before = processorSecondsOf(agent.pid);
    await sleep(turns * intervalMs);
    const seconds = processorSecondsOf(agent.pid) - before;
    const title = hasLogs ? 'look at six logs, one new line' : 'status poll';
    return [[`${title}, CPU-ms`, ((seconds / turns / routers) * MILLI).toFixed(2)]];
  });
}

/** Memory and threads of an agent that has known its routers for a while. */
async function measureMemory(dist: string, routers: number, waitMs: number): Promise<Figure[]> {
  const intervalMs = 30 * SECOND_MS;
  return await withAgent(dist, { routers, pollMs: intervalMs, logsMs: intervalMs, hasLogs: true }, async (agent) => {
    await sleep(waitMs);
    const title = `${routers} ${routers === 1 ? 'router' : 'routers'} with logs after ${waitMs / MINUTE_MS} min`;
    return [
      [`${title}, resident MiB`, residentMiBOf(agent.pid).toFixed(0)],
      [`${title}, threads`, `${readdirSync(`/proc/${agent.pid}/task`).length}`],
    ];
  });
}

/** How late the first runs of 300 routers begin, polls and readings of logs: the bucket of their 99th percentile. */
async function measureLag(dist: string): Promise<Figure[]> {
  const options = { routers: 300, pollMs: 30 * SECOND_MS, logsMs: 30 * SECOND_MS, hasLogs: true };
  return await withAgent(dist, options, async (_agent, url) => {
    await sleep(MINUTE_MS);
    const text = await (await fetch(`${url}/metrics/agent`)).text();
    const lines = text.match(/^router_exporter_schedule_lag_seconds_bucket\{.*$/gm) ?? [];
    const findBound = (activity: string) => {
      const own = lines.filter((line) => !line.includes('activity=') || line.includes(`activity="${activity}"`));
      const buckets = own.map((line) => /le="(.*?)".* (\d+)$/.exec(line) ?? []);
      return buckets.find(([, , count]) => Number(count) >= 0.99 * Number(buckets.at(-1)?.[2]))?.[1];
    };
    return [
      // Builds before 2026-11-29 have one figure for both.
      ['lag of polls at the first contact of 300 routers, p99 at most, s', `${findBound('status')}`],
      ['lag of readings of logs at the first contact of 300 routers, p99 at most, s', `${findBound('logs')}`],
    ];
  });
}

/** The longest step of the main thread while 10,000 routers arrive in a watched file. */
async function measureLoading(dist: string): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'product-figures-'));
  const [config, file] = [join(folder, 'router-exporter.yaml'), join(folder, 'routers.yaml')];
  writeFileSync(file, '[]');
  writeFileSync(
    config,
    `web: { listen: ["127.0.0.1:0"] }\nstorage: { path: ${folder}/data }\ndefaults: { username: monitor, password: simulated, poll: { interval: 1h, stale_after: 3h } }\nrouter_files: [routers.yaml]\n`,
  );
  const table = new StepTable();
  const agent = startWatchedAgent(config, table, join(dist, 'main.js'));
  try {
    await agent.waitFor('Started');
    const router = (index: number) => `- { name: plant-${index}, url: "https://127.0.0.1:9" }\n`;
    const list = Array.from({ length: 10_000 }, (_, index) => router(index)).join('');
    const { maxMs } = await agent.measure('10,000 routers arrive', () => writeFileSync(file, list));
    return [['longest step while 10,000 routers arrive, ms', maxMs.toFixed(0)]];
  } finally {
    agent[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  }
}

const MEASUREMENTS: readonly ((dist: string) => Promise<Figure[]>)[] = [
  measureFiles,
  (dist) => measureTurns(dist, 'poll'),
  (dist) => measureTurns(dist, 'look'),
  (dist) => measureMemory(dist, 1, MINUTE_MS),
  (dist) => measureMemory(dist, 1000, 2 * MINUTE_MS),
  measureLag,
  measureLoading,
];

const builds = ['dist', ...process.argv.slice(2, 3)].map((folder) => resolve(folder));
const columns: Figure[][] = builds.map(() => []);
for (const measure of MEASUREMENTS) {
  for (const [index, dist] of builds.entries()) columns[index]?.push(...(await measure(dist)));
}
print(`${describeMachine()}.`, '', `| | this build |${builds.length > 1 ? ' the other |' : ''}`, '|---|---:|---:|');
for (const [row, [title]] of (columns[0] ?? []).entries()) {
  print(`| ${title} | ${columns.map((column) => column[row]?.[1]).join(' | ')} |`);
}
