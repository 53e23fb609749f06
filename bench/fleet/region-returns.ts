/**
 * Shows what the return of a region does to the others: a part of the fleet is gone for some minutes and comes back at once, each
 * log with five rotated files more. It begins with the first contact of all routers, whose logs have five rotated files too.
 *
 *   npm run build && npx node bench/fleet/region-returns.ts [routers 1000] [of the region 300] [minutes away 3] [minutes after 4]
 *
 * Takes these minutes and those of the first contact. Prints Markdown for RESULTS.md: the age of the status of the routers
 * that stayed and of those that were gone, what waits in the spool (1 GiB) and what the sink has taken, lines that the agent
 * takes for missing, and jumps of clocks that it believes in; both must be 0. The region is a process of its own. In the
 * environment, LATENCY_MS is the time to an answer.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { describeMachine, print } from '../contest.ts';
import { residentMiBOf, startAgent, whenStarted } from './compare.ts';
import { describeAges, listValues } from './status-ages.ts';

const [ROUTERS = 1000, REGION = 300, AWAY_MINUTES = 3, AFTER_MINUTES = 4] = process.argv.slice(2).map(Number);
const LATENCY_MS = Number(process.env['LATENCY_MS'] ?? 0);
const INTERVAL_MS = 60_000;
const LOOK_MS = 20_000;
const ARCHIVES = 5;
const LOGS = { components: 6, bytes: 40_000, lineEveryMs: INTERVAL_MS, archives: ARCHIVES };
/** The first contact takes no longer. */
const CONTACT_MINUTES_MAX = 30;

const folder = mkdtempSync(join(tmpdir(), 'region-returns-'));
const bodies = await captureAnswers();
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

async function startRouters(routers: number) {
  const client = new RoutersClient(main, createSystemClock());
  const options = { bodies, routers, logs: LOGS, latencyMs: LATENCY_MS };
  return { client, routers, ...(await client.ask({ type: 'start', options }, 'started')) };
}

const others = await startRouters(ROUTERS - REGION);
const region = await startRouters(REGION);
const agent = startAgent(
  folder,
  [others, region],
  `defaults: { username: monitor, password: simulated, timezone: UTC, labels: { site: munich }, poll: { interval: 60s }, logs: { interval: 60s } }
sinks:
  - { name: discard, type: file, path: ${folder}/records }`,
);
const url = await whenStarted(agent);
const beganMs = performance.now();

interface Look {
  readonly up: number;
  readonly regionUp: number;
  readonly spool: number;
  readonly delivered: number;
  readonly lines: number;
  readonly gaps: number;
  readonly jumps: number;
}

function sum(text: string, family: string, mark = ''): number {
  return [...listValues(text, family)].reduce((all, { labels, value }) => all + (labels.includes(mark) ? value : 0), 0);
}

/** Prints a row and returns its figures; `undefined` if the agent did not answer. */
async function look(phase: string): Promise<Look | undefined> {
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0);
  try {
    const { text } = await others.client.ask({ type: 'read', url: `${url}/metrics` }, 'read');
    const { text: own } = await others.client.ask({ type: 'read', url: `${url}/metrics/agent` }, 'read');
    const mark = `plant-${region.port}-`;
    const seen = {
      up: sum(text, 'router_up'),
      regionUp: sum(text, 'router_up', mark),
      spool: sum(own, 'router_exporter_spool_records'),
      delivered: sum(own, 'router_exporter_sink_records_total', 'delivered'),
      lines: sum(text, 'router_log_lines_total'),
      gaps: sum(text, 'router_log_gaps_total'),
      jumps: sum(text, 'router_log_clock_jumps_total'),
    };
    const stayed = describeAges(text, (labels) => labels.includes(`plant-${others.port}-`));
    print(
      `| ${[
        phase,
        seconds,
        stayed,
        describeAges(text, (labels) => labels.includes(mark)),
        seen.regionUp,
        seen.lines,
        seen.spool,
        seen.delivered,
        seen.gaps,
        seen.jumps,
        residentMiBOf(agent.pid).toFixed(0),
        loadavg()[0]?.toFixed(1),
      ].join(' | ')} |`,
    );
    return seen;
  } catch {
    print(`| ${phase} | ${seconds} | no answer |`);
    return undefined;
  }
}

async function lookFor(phase: string, ms: number): Promise<void> {
  for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
    await sleep(Math.min(LOOK_MS, endMs - performance.now()));
    await look(phase);
  }
}

print(
  `${describeMachine()}; ${ROUTERS} routers, ${REGION} of them in the region, ${LATENCY_MS} ms from request to answer, ${LOGS.components} logs of ${LOGS.bytes / 1000} kB with ${ARCHIVES} rotated files each; interval 60 s; spool of 1 GiB, sink file.`,
  '',
  '| phase | s | age of status, p99 / most, s: others | region | region up | lines | spool | delivered | gaps | clock jumps | MiB | load |',
  '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
);
/** Waits until nothing is left to read and to deliver. */
async function settle(phase: string): Promise<number> {
  const phaseMs = performance.now();
  let before = -1;
  while (performance.now() - phaseMs < CONTACT_MINUTES_MAX * 60_000) {
    await sleep(LOOK_MS);
    const seen = await look(phase);
    if (!seen) continue;
    const isRead = before >= 0 && seen.lines - before <= ROUTERS;
    before = seen.lines;
    if (isRead && seen.up === ROUTERS && seen.spool < ROUTERS) break;
  }
  return (performance.now() - phaseMs) / 1000;
}
const contactSeconds = await settle('first contact');
const contact = await look('before');
await lookFor('before', INTERVAL_MS);
await region.client.ask({ type: 'leave' }, 'left');
await lookFor('away', AWAY_MINUTES * 60_000);
const away = await look('away');
await region.client.ask({ type: 'return', rotations: ARCHIVES }, 'returned');
const returnedMs = performance.now();
let upAfter: number | undefined;
let readAfter: number | undefined;
let last = away;
for (const endMs = returnedMs + AFTER_MINUTES * 60_000; performance.now() < endMs; ) {
  await sleep(LOOK_MS / 2);
  const seen = await look('back');
  if (!seen) continue;
  const seconds = (performance.now() - returnedMs) / 1000;
  if (seen.regionUp >= REGION) upAfter ??= seconds;
  const isRead = last && seen.lines - last.lines <= ROUTERS && seen.lines - (away?.lines ?? 0) > REGION * ARCHIVES;
  if (isRead && seen.spool < ROUTERS) readAfter ??= seconds;
  last = seen;
}
const perSecond = (records: number, seconds: number | undefined) =>
  seconds === undefined ? '-' : (records / seconds).toFixed(0);
print(
  '',
  `First contact: ${contact?.lines ?? 0} lines read and delivered within ${contactSeconds.toFixed(0)} s (${perSecond(contact?.lines ?? 0, contactSeconds)} a second).`,
  `Return: all of the region up within ${upAfter?.toFixed(0) ?? 'more'} s; ${(last?.lines ?? 0) - (away?.lines ?? 0)} lines, read and delivered within ${readAfter?.toFixed(0) ?? 'more'} s (${perSecond((last?.lines ?? 0) - (away?.lines ?? 0), readAfter)} a second). Gaps: ${last?.gaps}, clock jumps: ${last?.jumps}.`,
);
agent.kill('SIGTERM');
await once(agent, 'exit');
for (const { client } of [others, region]) await client[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
