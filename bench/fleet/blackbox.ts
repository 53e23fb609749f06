/**
 * Compares the agent with Debian's prometheus-blackbox-exporter: requests to routers per second of the processor, over HTTPS to
 * the same simulated routers.
 *
 *   npm run build && npx node bench/fleet/blackbox.ts [routers, default 100] [seconds, default 30]
 *
 * Takes three minutes. Prints Markdown for RESULTS.md. The exporter opens a connection for each probe, looks at the status of
 * the answer and makes nothing of its body; so the agent is measured with routers that keep connections and with routers that
 * close them after each turn. It reads, maps and renders what they answer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../../src/base/index.ts';
import { captureAnswers } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { describeMachine, print } from '../contest.ts';
import { type FleetPart, processorSecondsOf, residentMiBOf, startAgent } from './compare.ts';

const [ROUTERS = 100, SECONDS = 30] = process.argv.slice(2).map(Number);
const INTERVAL_MS = 5000;
const WARM_UP_INTERVALS = 4;
const IDLE_MS = 1000;
/** Probes at a time: as many as keep one core busy. */
const PROBES = 16;
const PROGRAM = 'prometheus-blackbox-exporter';
const START_MS_MAX = 10_000;

const bodies = await captureAnswers();
const folder = mkdtempSync(join(tmpdir(), 'blackbox-'));

async function startStubs(idleMs?: number) {
  const stubs = new RoutersClient(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), createSystemClock());
  const options = { bodies, routers: ROUTERS, ...(idleMs !== undefined && { idleMs }) };
  return { stubs, started: await stubs.ask({ type: 'start', options }, 'started') };
}

async function countRequests(stubs: RoutersClient): Promise<number> {
  const { requests } = await stubs.ask({ type: 'count' }, 'counted');
  return Object.values(requests).reduce((sum, count) => sum + count, 0);
}

/** Measures a process that is at work, and prints its row. */
async function measure(name: string, program: ChildProcess, stubs: RoutersClient): Promise<void> {
  await countRequests(stubs);
  const before = processorSecondsOf(program.pid);
  const beganMs = performance.now();
  await sleep(SECONDS * 1000);
  const requests = await countRequests(stubs);
  const [seconds, processor] = [(performance.now() - beganMs) / 1000, processorSecondsOf(program.pid) - before];
  print(
    `| ${[
      name,
      requests,
      (requests / seconds).toFixed(0),
      (processor / seconds).toFixed(2),
      (requests / processor).toFixed(0),
      ((processor / requests) * 1000).toFixed(2),
      residentMiBOf(program.pid).toFixed(0),
    ].join(' | ')} |`,
  );
}

async function measureAgent(name: string, idleMs?: number): Promise<void> {
  const { stubs, started } = await startStubs(idleMs);
  const own = mkdtempSync(join(folder, 'agent-'));
  const agent = startAgent(
    own,
    [{ ...started, routers: ROUTERS }],
    `defaults: { username: monitor, password: simulated, timezone: UTC, poll: { interval: ${INTERVAL_MS}ms }, logs: { enabled: false } }`,
  );
  agent.stderr?.resume();
  await sleep(WARM_UP_INTERVALS * INTERVAL_MS);
  await measure(name, agent, stubs);
  agent.kill('SIGTERM');
  await once(agent, 'exit');
  await stubs[Symbol.asyncDispose]();
}

async function startBlackbox({ caPem }: Pick<FleetPart, 'caPem'>) {
  const config = join(folder, 'blackbox.yml');
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, caPem);
  writeFileSync(
    config,
    `modules:
  https: { prober: http, timeout: 10s, http: { preferred_ip_protocol: ip4, tls_config: { ca_file: "${ca}" } } }
`,
  );
  const port = 20_000 + (process.pid % 10_000);
  const url = `http://127.0.0.1:${port}`;
  const args = [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'];
  const child = spawn(PROGRAM, args, { stdio: 'ignore' });
  child.once('error', (cause) => {
    print(`${PROGRAM} cannot be started: ${cause.message}`);
    process.exit(1);
  });
  const endMs = performance.now() + START_MS_MAX;
  while (performance.now() < endMs) {
    const isUp = await fetch(`${url}/-/healthy`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    await sleep(100);
  }
  return { child, url };
}

async function measureBlackbox(): Promise<void> {
  const { stubs, started } = await startStubs();
  const { child, url } = await startBlackbox(started);
  const paths = Object.keys(bodies);
  let next = 0;
  let failures = 0;
  const over = new AbortController();
  const probe = async () => {
    while (!over.signal.aborted) {
      const index = next++;
      const router = Math.floor(index / paths.length) % ROUTERS;
      const target = `https://127.0.0.1:${started.port}/r${router}/api/v2_0${paths[index % paths.length]}`;
      const answer = await fetch(`${url}/probe?module=https&target=${encodeURIComponent(target)}`);
      if (!(await answer.text()).includes('probe_success 1')) failures++;
    }
  };
  const probes = Promise.all(Array.from({ length: PROBES }, probe));
  await sleep(WARM_UP_INTERVALS * 1000);
  await measure(PROGRAM, child, stubs);
  over.abort();
  await probes;
  if (failures > 0) print('', `${failures} probes failed.`);
  child.kill();
  await once(child, 'exit');
  await stubs[Symbol.asyncDispose]();
}

print(
  `${describeMachine()}; ${ROUTERS} routers, ${Object.keys(bodies).length} resources each; ${SECONDS} s each.`,
  '',
  '| | Requests | a second | Cores | Requests a second and core | Processor of a request, ms | Resident, MiB |',
  '|---|---:|---:|---:|---:|---:|---:|',
);
await measureAgent('agent, connections kept');
await measureAgent('agent, routers close after each turn', IDLE_MS);
await measureBlackbox();
rmSync(folder, { recursive: true });
