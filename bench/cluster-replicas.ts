/**
 * Measures replicas of a cluster against a real nats-server and simulated routers: processor time of a poll at one, two and three
 * replicas, each with as many routers; polls per second where each request takes 0.4 s and each replica has so many turns; and how
 * long the routers of a replica that is killed have no owner.
 *
 *   npm run build && PATH=$PATH:<folder with nats-server> npx node bench/cluster-replicas.ts [seconds 15] [routers of each replica 80]
 *
 * Takes less than five minutes. Prints Markdown for RESULTS.md.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSystemClock } from '../src/base/index.ts';
import { parseAgentFigures } from '../src/cli/bench/bench.ts';
import { captureAnswers } from '../src/cli/bench/routers.ts';
import { RoutersClient } from '../src/cli/bench/routers-process.ts';
import { findFreePort } from '../test/support/free-port.ts';
import { describeMachine, median, print } from './contest.ts';

const SECONDS = Number(process.argv[2] ?? 15);
const COUNTS = [1, 2, 3];
/** Routers of each replica. With two cores, more than some 100 keep both busy at three replicas, and every poll takes longer. */
const ROUTERS = Number(process.argv[3] ?? 80);
const MOST = ROUTERS * COUNTS.length;
const INTERVAL_MS = 2000;
const LATENCY_MS = 400;
const TURNS = 20;
const LEASE_MS = 5000;
const KILLS = 4;
const SETTLE_MS_MAX = 60_000;
const TARGET_RATIO = 1.15;

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'cluster-replicas-'));
const natsPort = await findFreePort();
writeFileSync(
  join(folder, 'nats.conf'),
  `listen: "127.0.0.1:${natsPort}"\njetstream { store_dir: "${folder}/store", max_file: 1GB, max_mem: 64MB }\n`,
);
const children = new Set<ChildProcess>();
function run(file: string, args: readonly string[], stderr: 'ignore' | 'inherit'): ChildProcess {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', stderr] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}
// Nothing is left when it is ended early.
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
run('nats-server', ['-c', join(folder, 'nats.conf')], 'ignore');

/** A cluster, its routers, and what its replicas are told beside. */
interface FleetOptions {
  readonly name: string;
  readonly routers: number;
  readonly stubs: { readonly port: number; readonly caPem: string };
  /** Lines of the configuration. */
  readonly more: string;
}

/** A replica in a process of its own. */
class Replica {
  readonly #config: string;
  readonly #url: string;
  #process: ChildProcess | undefined;

  private constructor(config: string, url: string) {
    this.#config = config;
    this.#url = url;
  }

  static async create({ name, routers, stubs, more }: FleetOptions, index: number): Promise<Replica> {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const own = mkdtempSync(join(folder, `${name}-`));
    writeFileSync(join(own, 'ca.pem'), stubs.caPem);
    const list = Array.from({ length: routers }, (_, router) => {
      return `  - { name: plant-${router}, url: "https://127.0.0.1:${stubs.port}/r${router}" }`;
    });
    const nats = `servers: ["nats://127.0.0.1:${natsPort}"], name: ${name}, replica: r${index}, lease: ${LEASE_MS}ms, replicas: 1, max_bytes: 64MiB`;
    const config = join(own, 'router-exporter.yaml');
    writeFileSync(
      config,
      `web: { listen: ["127.0.0.1:${port}"] }
storage: { path: data }
dead_letters: { max: 8MiB }
cluster: { nats: { ${nats}, advertise: "${url}" } }
${more}
routers:
${list.join('\n')}
`,
    );
    return new Replica(config, url);
  }

  async init(): Promise<void> {
    for (;;) {
      const [code] = (await once(this.#run('cluster', 'init'), 'exit')) as [number | null];
      if (code === 0) return;
    }
  }

  start(): void {
    this.#process = this.#run('run', '--log.level', 'error');
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const ended = this.#process && once(this.#process, 'exit');
    this.#process?.kill(signal);
    await ended;
  }

  async read(): Promise<{ readonly owned: number; readonly polls: number; readonly processorSeconds: number }> {
    try {
      const text = await (await fetch(`${this.#url}/metrics/agent`)).text();
      const owned = Number(/^router_exporter_cluster_routers_owned (\S+)$/m.exec(text)?.[1] ?? 0);
      return { owned, ...parseAgentFigures(text) };
    } catch {
      return { owned: 0, polls: 0, processorSeconds: 0 };
    }
  }

  #run(...args: readonly string[]): ChildProcess {
    const program = join(process.env['DIST'] ?? fileOf('../dist'), 'main.js');
    return run(process.execPath, [program, ...args, '--config.file', this.#config], 'inherit');
  }
}

/** Resolves with the time until these replicas have all routers, and each has some. Milliseconds. */
async function untilOwned(replicas: readonly Replica[], routers: number): Promise<number> {
  const beganMs = performance.now();
  for (;;) {
    const owned = (await Promise.all(replicas.map((replica) => replica.read()))).map((figures) => figures.owned);
    const tookMs = performance.now() - beganMs;
    if (!owned.includes(0) && owned.reduce((sum, count) => sum + count, 0) === routers) return tookMs;
    if (tookMs > SETTLE_MS_MAX) throw new RangeError('The routers have no owners');
    await sleep(50);
  }
}

async function startFleet(options: FleetOptions, count: number): Promise<Replica[]> {
  const replicas = await Promise.all(Array.from({ length: count }, (_, index) => Replica.create(options, index)));
  await replicas[0]?.init();
  for (const replica of replicas) replica.start();
  await untilOwned(replicas, options.routers);
  return replicas;
}

/** Polls per second, and processor time of one. */
async function measurePolls(replicas: readonly Replica[], warmUpMs: number) {
  await sleep(warmUpMs);
  const before = await Promise.all(replicas.map((replica) => replica.read()));
  const beganMs = performance.now();
  await sleep(SECONDS * 1000);
  const after = await Promise.all(replicas.map((replica) => replica.read()));
  const seconds = (performance.now() - beganMs) / 1000;
  const sum = (field: 'polls' | 'processorSeconds') =>
    after.reduce((total, figures, index) => total + figures[field] - (before[index]?.[field] ?? 0), 0);
  return { perSecond: sum('polls') / seconds, pollMs: (sum('processorSeconds') / sum('polls')) * 1000 };
}

async function endAll(replicas: readonly Replica[]): Promise<void> {
  await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
}

const stubs = new RoutersClient(fileOf('../src/main.ts'), createSystemClock());
const slowStubs = new RoutersClient(fileOf('../src/main.ts'), createSystemClock());
const common = 'username: monitor, password: simulated, timezone: UTC';
try {
  const bodies = await captureAnswers();
  const started = await stubs.ask({ type: 'start', options: { bodies, routers: MOST } }, 'started');
  const number = { '/status/number': ['{"status":{"unique":{"n":7}}}'] };
  const slow = await slowStubs.ask(
    { type: 'start', options: { bodies: number, routers: MOST, latencyMs: LATENCY_MS } },
    'started',
  );
  const toMore = (port: number, caPem: string, interval: number, lines: string) => {
    const ca = join(folder, `ca-${port}.pem`);
    writeFileSync(ca, caPem);
    const poll = `poll: { interval: ${interval}ms }`;
    return `defaults: { ${common}, tls: { ca_file: "${ca}" }, ${poll}, logs: { enabled: false }${lines}`;
  };

  print(
    `${describeMachine()}; ${ROUTERS} routers a replica, lease ${LEASE_MS / 1000} s, ${SECONDS} s each.`,
    '',
    `| Replicas | Polls a second | Processor of a poll, ms | of one replica | Polls a second at ${LATENCY_MS / 1000} s a request, ${TURNS} turns a replica | of one replica |`,
    '|---:|---:|---:|---:|---:|---:|',
  );
  let first: { readonly pollMs: number; readonly perSecond: number } | undefined;
  let worst = 0;
  for (const count of COUNTS) {
    const routers = ROUTERS * count;
    const fast = { name: `fast${count}`, routers, stubs: started };
    const replicas = await startFleet(
      { ...fast, more: `${toMore(started.port, started.caPem, INTERVAL_MS, '')} }` },
      count,
    );
    const polls = await measurePolls(replicas, 8 * INTERVAL_MS);
    await endAll(replicas);
    const modules = `, modules: [number] }
modules: { number: { resources: [{ path: number, metrics: [{ name: router_number, help: A number., type: gauge, value: n }] }] } }
schedule: { concurrent_runs: ${TURNS} }`;
    // Twice as many as the turns of all can do.
    const interval = Math.floor((ROUTERS * LATENCY_MS) / TURNS / 2);
    const more = toMore(slow.port, slow.caPem, Math.max(1000, interval), modules);
    const busy = await startFleet({ name: `slow${count}`, routers, stubs: slow, more }, count);
    const turns = await measurePolls(busy, 4 * INTERVAL_MS);
    await endAll(busy);
    first ??= { pollMs: polls.pollMs, perSecond: turns.perSecond };
    const ratio = polls.pollMs / first.pollMs;
    worst = Math.max(worst, ratio, 1 / ratio);
    const cells = [count, polls.perSecond.toFixed(0), polls.pollMs.toFixed(2), ratio.toFixed(2)];
    print(`| ${[...cells, turns.perSecond.toFixed(0), (turns.perSecond / first.perSecond).toFixed(2)].join(' | ')} |`);
  }
  print('', `A poll costs the same within 15 %: ${worst <= TARGET_RATIO ? 'yes' : 'no'}.`);

  const more = `${toMore(started.port, started.caPem, 5000, '')} }`;
  const replicas = await startFleet({ name: 'killed', routers: MOST, stubs: started, more }, COUNTS.length);
  const takeovers: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const [victim, ...others] = [...replicas.slice(kill % COUNTS.length), ...replicas.slice(0, kill % COUNTS.length)];
    await victim?.end('SIGKILL');
    takeovers.push(await untilOwned(others, MOST));
    victim?.start();
    await untilOwned(replicas, MOST);
    // Each begins at another point of the interval of renewals.
    await sleep(Math.random() * LEASE_MS);
  }
  await endAll(replicas);
  const toText = (ms: number) => (ms / 1000).toFixed(1);
  print(
    `Others have the routers of a killed replica after ${toText(median(takeovers))} s (${toText(Math.min(...takeovers))} to ${toText(Math.max(...takeovers))} of ${KILLS}; goal: lease and 5 s, ${toText(LEASE_MS + 5000)} s).`,
  );
} finally {
  await Promise.all([stubs[Symbol.asyncDispose](), slowStubs[Symbol.asyncDispose]()]);
  for (const child of children) child.kill();
}
