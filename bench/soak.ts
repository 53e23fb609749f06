/**
 * Measures what the agent holds while it runs for long, with hostile routers in its fleet.
 *
 *   npm run build && npx node bench/soak.ts [ROUTERS, default 1000] [HOSTILE, default 10] [MINUTES, default 60]
 *
 * The agent runs from `dist` in a process of its own, as `run` starts it, with logs, a sink and a Prometheus that scrapes
 * every 15 seconds; routers and sink are in another process. Prints one row of Markdown for RESULTS.md per minute.
 * `SOAK_LOG=FILE` keeps the agent's own log. `SOAK_SNAPSHOTS=FOLDER` also writes a heap snapshot after a third of the time and at the end, to compare them.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderErrorChain } from '../src/base/index.ts';
import { describeMachine, print } from './contest.ts';
import type { FleetAddress, FleetCounts } from './soak-fleet.ts';
import type { HeldFigures } from './soak-probe.ts';

const MEBIBYTE = 2 ** 20;
const SCRAPE_MS = 15_000;
const MINUTE_MS = 60_000;
/** Together, whatever their number; the machine is shared by both sides. */
const LINES_PER_SECOND = 100;
const CLOCK_TICKS_PER_SECOND = 100;

const [routers = 1000, hostile = 10, minutes = 60] = process.argv.slice(2).map(Number);
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'soak-'));
const snapshots = process.env['SOAK_SNAPSHOTS'];

function writeConfig({ caPem, routers: living, hostile: bad, sinkUrl }: FleetAddress): string {
  writeFileSync(join(folder, 'ca.pem'), caPem);
  const file = join(folder, 'router-exporter.yaml');
  const rows = [
    ...living.map(({ name, url }) => `  - { name: ${name}, url: "${url}", tls: { ca_file: ca.pem } }`),
    ...bad.map(({ name, url }) => `  - { name: ${name}, url: "${url}" }`),
  ];
  writeFileSync(
    file,
    `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data, spool_max: 256MiB }
defaults: { username: monitor, password: simulated, timezone: Europe/Berlin, labels: { site: munich } }
routers:
${rows.join('\n')}
sinks:
  - { name: counts, type: http, url: "${sinkUrl}/" }
`,
  );
  return file;
}

async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  child.send(message);
  const [answer] = await once(child, 'message');
  return answer as T;
}

/** Pages in memory and processor time of a process, from the system. */
function readProcess({ pid }: ChildProcess): { readonly rss: number; readonly processorSeconds: number } {
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '').split(' ');
  return { rss, processorSeconds: (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND };
}

function measureFolder(path: string): number {
  return readdirSync(path).reduce(
    (sum, name) => sum + (statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

const fleet = fork(here('soak-fleet.ts'), [
  String(routers - hostile),
  String(hostile),
  String(LINES_PER_SECOND / routers),
]);
const [address] = (await once(fleet, 'message')) as [FleetAddress];
const agent = spawn(
  process.execPath,
  [
    '--import',
    here('soak-probe.ts'),
    here('../dist/main.js'),
    'run',
    '--config.file',
    writeConfig(address),
    '--log.format',
    'json',
  ],
  { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, SOAK_PROBE: '1' } },
);
const ownLog = process.env['SOAK_LOG'];
let ownLines = 0;
let said = '';
const started = Promise.withResolvers<string>();
agent.stderr?.setEncoding('utf8').on('data', (text: string) => {
  ownLines += text.split('\n').length - 1;
  if (ownLog !== undefined) appendFileSync(ownLog, text);
  if (said.length > MEBIBYTE) return;
  said += text;
  const [, url] = /"urls":\["([^"]+)"/.exec(said) ?? [];
  if (url !== undefined) started.resolve(url);
});
const ended = once(agent, 'exit').then(([code, signal]) => {
  throw new RangeError(`The agent ended with ${code ?? signal}: ${said.slice(-2000)}`);
});
ended.catch(() => {});

const columns = [
  'minute',
  'RSS',
  'heap committed',
  'heap',
  'live heap',
  'external',
  'buffers',
  'handles',
  'descriptors',
  'state',
  'series',
  'up',
  'records',
  'hostile requests',
  'failed scrapes',
  'own log',
  'CPU s',
  'load',
];
try {
  const url = await Promise.race([started.promise, ended]);
  let scraped = '';
  let failedScrapes = 0;
  const scrape = async () => {
    try {
      scraped = await (await fetch(`${url}/metrics`)).text();
    } catch (cause) {
      failedScrapes++;
      process.stderr.write(`${new Date().toISOString()} no scrape: ${renderErrorChain(cause)}\n`);
    }
  };
  const scrapes = setInterval(() => void scrape(), SCRAPE_MS);
  print(
    `${describeMachine()}; ${routers} routers, ${hostile} of them hostile (${address.hostile.map(({ name }) => name.slice(8)).join(', ')}); sizes in MiB.`,
    '',
  );
  print(`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`);
  const begin = performance.now();
  let before = readProcess(agent).processorSeconds;
  for (let minute = 1; minute <= minutes; minute++) {
    await Promise.race([
      new Promise((resolve) => setTimeout(resolve, begin + minute * MINUTE_MS - performance.now())),
      ended,
    ]);
    const isPhoto = snapshots !== undefined && (minute === Math.ceil(minutes / 3) || minute === minutes);
    const held = await ask<HeldFigures>(
      agent,
      isPhoto ? `snapshot ${join(snapshots, `minute-${minute}.heapsnapshot`)}` : 'measure',
    );
    const counts = await ask<FleetCounts>(fleet, 'counts');
    const { rss, processorSeconds } = readProcess(agent);
    const series = scraped.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const mib = (bytes: number) => (bytes / MEBIBYTE).toFixed(0);
    const cells = [
      minute,
      mib(rss),
      mib(held.heapTotal),
      mib(held.heapUsed),
      mib(held.heapLive),
      mib(held.external),
      mib(held.arrayBuffers),
      held.handles,
      held.descriptors,
      mib(measureFolder(join(folder, 'data'))),
      series.length,
      series.filter((line) => /^router_up\{.* 1$/.test(line)).length,
      counts.records,
      counts.hostileRequests,
      failedScrapes,
      ownLines,
      (processorSeconds - before).toFixed(0),
      loadavg()[0]?.toFixed(1),
    ];
    before = processorSeconds;
    print(`| ${cells.join(' | ')} |`);
  }
  clearInterval(scrapes);
} finally {
  ended.catch(() => {});
  agent.kill('SIGTERM');
  if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
  fleet.disconnect();
  rmSync(folder, { recursive: true, force: true });
}
