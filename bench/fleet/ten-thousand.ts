/**
 * Runs a fleet for minutes, and a bare client that sends the same requests, and tells whether the agent stays flat.
 *
 *   npm run build && npx node bench/fleet/ten-thousand.ts [routers 10000] [minutes 10] [latency in ms 0] [loss 0] [dead 0]
 *
 * Every router is polled and its six logs of 40 kB are read once a minute, one of which has a new line each time; two clients
 * scrape every 15 s. The minutes count from the end of the first contact on, when whole logs have been read, which takes up to
 * half an hour. Prints Markdown for RESULTS.md: each minute, the load that was offered and reached, and how memory and processor
 * time changed from the first third of the minutes to the last. The routers are a process of their own for each 5,000 of them.
 *
 * In the environment: BARE says when the bare client runs, `after` the agent, for three minutes (default: two cores are enough
 * then), `beside` it, or `no`; LOGS_MS is the interval of the logs (default a minute), and LOGS_START what the first contact reads
 * of them (default `all`); THEN are latency, loss and share of dead routers of more times of so many minutes with the same agent,
 * as in THEN="400 0 0, 400 0 0.3": each has its own figures. The first minute after a change does not count. Ages of the status are
 * told for up to 2,000 routers.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { type AgentFigures, findLagBound, parseAgentFigures } from '../../src/cli/bench/bench.ts';
import { captureAnswers, isDeadRouter } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { describeMachine, print } from '../contest.ts';
import { LOG_PATHS, processorSecondsOf, residentMiBOf, startAgent, startBare, whenStarted } from './compare.ts';
import { describeAges } from './status-ages.ts';

const [ROUTERS = 10_000, MINUTES = 10, LATENCY_MS = 0, LOSS = 0, DEAD = 0] = process.argv.slice(2).map(Number);
const BARE = process.env['BARE'] ?? 'after';
const LOGS_MS = Number(process.env['LOGS_MS'] ?? 60_000);
const LOGS_START = process.env['LOGS_START'] ?? 'all';
const THEN = (process.env['THEN'] ?? '').split(',').filter((text) => text !== '');
/** The ages of more routers would be read from hundreds of megabytes. */
const AGES_ROUTERS_MAX = 2000;
const INTERVAL_MS = 60_000;
const CONTACT_MINUTES_MAX = 30;
/** Minutes of the bare client alone, after one until its connections are open. */
const BARE_MINUTES = 3;
const ROUTERS_PER_PROCESS = 5000;
/** Of the routers that answer, this share has to be up at the end of the first contact. */
const UP_SHARE = 0.99;
/** Lines of a router in a minute of the steady state: one of each minute, and those of a minute that was missed. */
const LINES_PER_MINUTE_MAX = 3;
const SCRAPERS = 2;
const SCRAPE_INTERVAL_MS = 15_000;

/** How the routers answer. */
interface Manners {
  readonly latencyMs: number;
  readonly lossRatio: number;
  readonly deadRatio: number;
}

const folder = mkdtempSync(join(tmpdir(), 'ten-thousand-'));
const bodies = await captureAnswers();
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const first: Manners = { latencyMs: LATENCY_MS, lossRatio: LOSS, deadRatio: DEAD };
const options = {
  ...first,
  bodies,
  logs: { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS },
};
const parts = await Promise.all(
  Array.from({ length: Math.ceil(ROUTERS / ROUTERS_PER_PROCESS) }, async (_, index) => {
    const process = new RoutersClient(main, createSystemClock());
    const routers = Math.min(ROUTERS_PER_PROCESS, ROUTERS - index * ROUTERS_PER_PROCESS);
    const own = { ...options, routers, bareRouters: routers };
    const { port, caPem } = await process.ask({ type: 'start', options: own }, 'started');
    return { process, port, caPem, routers };
  }),
);
const agent = startAgent(
  folder,
  parts,
  `defaults: { username: monitor, password: simulated, timezone: UTC, labels: { site: munich }, poll: { interval: 60s }, logs: { interval: ${LOGS_MS}ms, start: ${LOGS_START} } }
sinks:
  - { name: discard, type: file, path: ${folder}/records }`,
);
const url = await whenStarted(agent);
const [part] = parts;
if (!part) throw new RangeError('There are no routers');
const scraped = part.process;
await scraped.ask(
  { type: 'scrape', url: `${url}/metrics`, scrapers: SCRAPERS, intervalMs: SCRAPE_INTERVAL_MS },
  'scraping',
);
const paths = [...Object.keys(bodies), ...LOG_PATHS];

const beside = BARE === 'beside' ? startBare(parts, INTERVAL_MS, paths) : undefined;
let bareAnswers = 0;

/** Returns the requests that were answered since the last call, except those of the bare client. */
async function countRequests(): Promise<number> {
  const counted = await Promise.all(parts.map(({ process }) => process.ask({ type: 'count' }, 'counted')));
  const before = bareAnswers;
  bareAnswers = (await beside?.count()) ?? 0;
  const sums = counted.map(({ requests }) => Object.values(requests).reduce((sum, one) => sum + one, 0));
  return sums.reduce((sum, one) => sum + one, 0) - (bareAnswers - before);
}

interface Sample {
  readonly agentSeconds: number;
  readonly bareSeconds: number;
  readonly figures: AgentFigures;
}

async function sample(): Promise<Sample> {
  try {
    const { text } = await scraped.ask({ type: 'read', url: `${url}/metrics/agent` }, 'read');
    up = /^router_exporter_routers\{state="up"\} (\d+)$/m.exec(text)?.[1] ?? '';
    spool = /^router_exporter_spool_records (\d+)$/m.exec(text)?.[1] ?? '';
    delivered = Number(
      /^router_exporter_sink_records_total\{[^}]*result="delivered"[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0,
    );
    figures = parseAgentFigures(text);
  } catch {
    // An agent that is too busy to answer is a result too.
    up = 'no answer';
  }
  return {
    agentSeconds: processorSecondsOf(agent.pid),
    bareSeconds: beside ? processorSecondsOf(beside.child.pid) : Number.NaN,
    figures,
  };
}

/** A minute that was measured. */
interface Minute {
  readonly agentSeconds: number;
  readonly residentMiB: number;
  readonly polls: number;
  readonly requests: number;
  /** Lines that reached the sink. */
  readonly lines: number;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Tells how a figure changed from the first third of the minutes to the last. */
function describeChange(minutes: readonly Minute[], read: (minute: Minute) => number): string {
  const third = Math.max(1, Math.floor(minutes.length / 3));
  const [early, late] = [minutes.slice(0, third), minutes.slice(-third)].map((some) => mean(some.map(read)));
  const percent = ((late ?? 0) / (early ?? 0) - 1) * 100;
  return `${early?.toFixed(1)} to ${late?.toFixed(1)} (${percent < 0 ? '' : '+'}${percent.toFixed(1)} %)`;
}

let figures = parseAgentFigures('');
let up = '';
let spool = '';
/** Records that the sink has taken. */
let delivered = 0;
let before = await sample();
let minute = 0;

/** Waits for a minute, and prints it. */
async function passMinute(note: string, manners: Manners): Promise<Minute> {
  const deliveredBefore = delivered;
  await sleep(INTERVAL_MS);
  const now = await sample();
  const requests = await countRequests();
  const residentMiB = residentMiBOf(agent.pid);
  const agentSeconds = now.agentSeconds - before.agentSeconds;
  const polls = now.figures.polls - before.figures.polls;
  minute++;
  print(
    `| ${[
      `${minute}${note}`,
      agentSeconds.toFixed(1),
      (now.bareSeconds - before.bareSeconds).toFixed(1),
      residentMiB.toFixed(0),
      findLagBound(before.figures, now.figures) ?? '',
      polls,
      requests,
      up,
      spool,
      delivered - deliveredBefore,
      await readAges(manners),
      loadavg()[0]?.toFixed(1),
    ].join(' | ')} |`,
  );
  before = now;
  return { agentSeconds, residentMiB, polls, requests, lines: delivered - deliveredBefore };
}

/** Ages of the status of routers that answer, so many of which are dead. */
async function readAges({ deadRatio }: Manners): Promise<string> {
  if (ROUTERS > AGES_ROUTERS_MAX) return '';
  try {
    const { text } = await scraped.ask({ type: 'read', url: `${url}/metrics` }, 'read');
    return describeAges(
      text,
      (labels) => !isDeadRouter(Number(/^router="plant-\d+-(\d+)"/.exec(labels)?.[1]), deadRatio),
    );
  } catch {
    return 'no answer';
  }
}

function describeManners({ latencyMs, lossRatio, deadRatio }: Manners): string {
  return `${latencyMs} ms from request to answer, ${lossRatio * 100} % lost, ${deadRatio * 100} % dead`;
}

/** Measures the minutes of one time, and prints what they show. */
async function measureMinutes(manners: Manners): Promise<readonly Minute[]> {
  const minutes: Minute[] = [];
  while (minutes.length < MINUTES) minutes.push(await passMinute('', manners));
  const reached = mean(minutes.map(({ polls }) => polls));
  summaries.push(
    `${describeManners(manners)}: offered ${ROUTERS} polls a minute; reached ${reached.toFixed(0)} polls and ${mean(minutes.map(({ requests }) => requests)).toFixed(0)} requests a minute (${(Math.max(0, 1 - reached / ROUTERS) * 100).toFixed(1)} % dropped, dead routers included); ${((mean(minutes.map(({ agentSeconds }) => agentSeconds)) / ROUTERS) * 1000).toFixed(2)} ms of processor for each router and minute. First to last third of ${minutes.length} minutes: processor ${describeChange(minutes, ({ agentSeconds }) => agentSeconds)} s a minute, resident ${describeChange(minutes, ({ residentMiB }) => residentMiB)} MiB.`,
  );
  return minutes;
}

const summaries: string[] = [];
print(
  `${describeMachine()}; ${ROUTERS} routers, ${describeManners(first)}; logs every ${LOGS_MS / 1000} s.`,
  '',
  '| minute | agent, s of processor | bare client | resident MiB | lag p99, s | polls | requests | up | spool | lines | age of status of routers that answer, s: p99 / most | load |',
  '|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
);
const alive = Math.round(ROUTERS * (1 - DEAD));
for (let isContact = true; isContact && minute < CONTACT_MINUTES_MAX; ) {
  const { lines } = await passMinute(' (first contact)', first);
  // Whole logs are read as long as there are more lines than one for each router and minute.
  isContact = Number(up) < alive * UP_SHARE || Number(spool) >= ROUTERS || lines > LINES_PER_MINUTE_MAX * ROUTERS;
}
const origin = before;
const minutes = await measureMinutes(first);
const after = before;
for (const text of THEN) {
  const [latencyMs = 0, lossRatio = 0, deadRatio = 0] = text.trim().split(' ').map(Number);
  const manners = { latencyMs, lossRatio, deadRatio };
  await Promise.all(parts.map(({ process }) => process.ask({ type: 'change', manners }, 'changed')));
  await passMinute(` (${describeManners(manners)})`, manners);
  await measureMinutes(manners);
}
const { scrapes } = await scraped.ask({ type: 'count' }, 'counted');
print(
  '',
  ...summaries,
  `Scrapes: ${scrapes
    .map(
      ({ scrapes: done, failures, longestMs, bytes }) =>
        `${done} done, ${failures} failed, longest ${(longestMs / 1000).toFixed(1)} s, ${(bytes / 1e6).toFixed(1)} MB`,
    )
    .join('; ')}.`,
);
agent.kill('SIGTERM');
await once(agent, 'exit');

/** Runs the bare client alone; returns its processor time and requests a minute. */
async function measureBare(): Promise<{ readonly seconds: number; readonly requests: number }> {
  await Promise.all(parts.map(({ process }) => process.ask({ type: 'change', manners: first }, 'changed')));
  const bare = startBare(parts, INTERVAL_MS, paths);
  await sleep(INTERVAL_MS);
  const [seconds, requests] = [processorSecondsOf(bare.child.pid), await bare.count()];
  await sleep(BARE_MINUTES * INTERVAL_MS);
  const spent = processorSecondsOf(bare.child.pid) - seconds;
  const counted = (await bare.count()) - requests;
  bare.child.kill();
  return { seconds: spent / BARE_MINUTES, requests: counted / BARE_MINUTES };
}

const agentSeconds = mean(minutes.map((one) => one.agentSeconds));
if (beside) {
  const ratio = (after.agentSeconds - origin.agentSeconds) / (after.bareSeconds - origin.bareSeconds);
  print(`${ratio.toFixed(2)} times the bare client beside it.`);
  beside.child.kill();
} else if (BARE === 'after') {
  const { seconds, requests } = await measureBare();
  print(
    `The bare client alone: ${seconds.toFixed(1)} s of processor for ${requests.toFixed(0)} requests a minute; the agent needed ${(agentSeconds / seconds).toFixed(2)} times as much, and ${(agentSeconds / mean(minutes.map((one) => one.requests)) / (seconds / requests)).toFixed(2)} times as much for each request.`,
  );
}
for (const { process } of parts) await process[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
