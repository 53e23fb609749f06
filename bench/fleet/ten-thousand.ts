/**
 * Runs a fleet for minutes, beside a bare client that sends the same requests, and tells whether the agent stays flat.
 *
 *   npm run build && npx node bench/fleet/ten-thousand.ts [routers 10000] [minutes 10] [latency in ms 0] [loss 0] [dead 0]
 *
 * Every router is polled and its six logs of 40 kB are read once a minute, one of which has a new line each time; two clients
 * scrape every 15 s. Prints Markdown for RESULTS.md. The routers are a process of their own for each 2,500 of them; BARE=0
 * leaves out the bare client, where the machine is too small for all.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { type AgentFigures, findLagBound, parseAgentFigures } from '../../src/cli/bench/agent-figures.ts';
import { captureAnswers } from '../../src/cli/bench/capture-answers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-client.ts';
import { describeMachine, print } from '../contest.ts';
import type { BareOrder } from './bare-client.ts';
import { LOG_PATHS, processorSecondsOf, residentMiBOf, startAgent } from './compare.ts';

const [ROUTERS = 10_000, MINUTES = 10, LATENCY_MS = 0, LOSS = 0, DEAD = 0] = process.argv.slice(2).map(Number);
const HAS_BARE = process.env['BARE'] !== '0';
const INTERVAL_MS = 60_000;
const WARM_UP_MINUTES = 3;
const ROUTERS_PER_PROCESS = 2500;
const SCRAPERS = 2;
const SCRAPE_INTERVAL_MS = 15_000;

const folder = mkdtempSync(join(tmpdir(), 'ten-thousand-'));
const bodies = await captureAnswers();
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const options = {
  bodies,
  logs: { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS },
  latencyMs: LATENCY_MS,
  lossRatio: LOSS,
  deadRatio: DEAD,
};
const parts = await Promise.all(
  Array.from({ length: Math.ceil(ROUTERS / ROUTERS_PER_PROCESS) }, async (_, index) => {
    const process = new RoutersClient(main, createSystemClock());
    const { port, caPem } = await process.ask({ type: 'start', options }, 'started');
    const routers = Math.min(ROUTERS_PER_PROCESS, ROUTERS - index * ROUTERS_PER_PROCESS);
    return { process, port, caPem, routers };
  }),
);
const agent = startAgent(
  folder,
  parts,
  `defaults: { username: u, password: p, timezone: UTC, labels: { site: munich }, poll: { interval: 60s }, logs: { interval: 60s } }
sinks:
  - { name: discard, type: file, path: ${folder}/records }`,
);
const started = Promise.withResolvers<string>();
agent.stderr?.on('data', (text: Buffer) => {
  const [, url] = /"urls":\["([^"]+)"/.exec(text.toString()) ?? [];
  if (url !== undefined) started.resolve(url);
});
agent.once('exit', (code) => started.reject(new RangeError(`The agent ended with ${code}`)));
const url = await started.promise;
const [first] = parts;
if (!first) throw new RangeError('There are no routers');
const scraped = first.process;
await scraped.ask(
  { type: 'scrape', url: `${url}/metrics`, scrapers: SCRAPERS, intervalMs: SCRAPE_INTERVAL_MS },
  'scraping',
);
const bare = HAS_BARE ? fork(fileURLToPath(new URL('bare-client.ts', import.meta.url))) : undefined;
const statusPaths = Object.keys(bodies);
for (const { port, caPem, routers } of bare ? parts : []) {
  const paths = [...statusPaths, ...LOG_PATHS];
  bare?.send({ port, caPem, routers, intervalMs: INTERVAL_MS, paths } satisfies BareOrder);
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
    figures = parseAgentFigures(text);
  } catch {
    // An agent that is too busy to answer is a result too.
    up = 'no answer';
  }
  return {
    agentSeconds: processorSecondsOf(agent.pid),
    bareSeconds: bare ? processorSecondsOf(bare.pid) : Number.NaN,
    figures,
  };
}

let figures = parseAgentFigures('');
let up = '';
let spool = '';
print(
  `${describeMachine()}; ${ROUTERS} routers, ${LATENCY_MS} ms, ${LOSS * 100} % lost, ${DEAD * 100} % dead.`,
  '',
  '| minute | agent, s of processor | bare client | ratio | resident MiB | lag p99, s | polls | up | spool | load |',
  '|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
);
let before = await sample();
const origin = { minute: 0, before };
for (let minute = 1; minute <= WARM_UP_MINUTES + MINUTES; minute++) {
  await sleep(INTERVAL_MS);
  const now = await sample();
  const [agentSeconds, bareSeconds] = [now.agentSeconds - before.agentSeconds, now.bareSeconds - before.bareSeconds];
  print(
    `| ${[
      minute,
      agentSeconds.toFixed(1),
      bareSeconds.toFixed(1),
      (agentSeconds / bareSeconds).toFixed(2),
      residentMiBOf(agent.pid).toFixed(0),
      findLagBound(before.figures, now.figures) ?? '',
      now.figures.polls - before.figures.polls,
      up,
      spool,
      loadavg()[0]?.toFixed(1),
    ].join(' | ')} |`,
  );
  before = now;
  if (minute === WARM_UP_MINUTES) Object.assign(origin, { minute, before });
}
const { scrapes } = await scraped.ask({ type: 'count' }, 'counted');
const ratio = (before.agentSeconds - origin.before.agentSeconds) / (before.bareSeconds - origin.before.bareSeconds);
print(
  '',
  `From minute ${origin.minute} on: ${ratio.toFixed(2)} times the bare client. Scrapes: ${scrapes
    .map(
      ({ scrapes: done, failures, longestMs, bytes }) =>
        `${done} done, ${failures} failed, longest ${(longestMs / 1000).toFixed(1)} s, ${(bytes / 1e6).toFixed(1)} MB`,
    )
    .join('; ')}.`,
);
bare?.kill();
agent.kill('SIGTERM');
await once(agent, 'exit');
for (const { process } of parts) await process[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
