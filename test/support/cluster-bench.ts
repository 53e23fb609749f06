import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { LogRecord } from '../../src/model/index.ts';
import { type Program, startRouterExporter } from './child.ts';
import { findFreePort } from './free-port.ts';

/** A request that a router got. */
export interface AskedRouter {
  /** `performance.now()` of the test. */
  readonly atMs: number;
  readonly router: string;
  /** Replica that asked. */
  readonly replica: string;
  readonly path: string;
}

/** Routers and a receiver of records, in the process of the test. */
export interface ClusterWorld extends AsyncDisposable {
  readonly names: readonly string[];
  readonly url: string;
  readonly asked: readonly AskedRouter[];
  /** Lines of each router's log, without their ends. */
  readonly written: ReadonlyMap<string, readonly string[]>;
  /** Records that the receiver has acknowledged, in their order. */
  readonly received: readonly LogRecord[];
  /** Every router writes a line. */
  write(): void;
  /** Replicas that asked a router since a time. */
  askedBy(router: string, sinceMs: number): readonly string[];
}

/** Starts plain routers with one log each: everybody may ask, and the name of the user is that of the replica. */
export async function openClusterWorld(count: number): Promise<ClusterWorld> {
  const names = Array.from({ length: count }, (_, index) => `plant-${index}`);
  const written = new Map(names.map((name): [string, string[]] => [name, []]));
  const asked: AskedRouter[] = [];
  const received: LogRecord[] = [];
  const answerRouter = (request: IncomingMessage, response: ServerResponse, url: URL) => {
    const [, router = ''] = url.pathname.split('/');
    const [, account = ''] = (request.headers.authorization ?? '').split(' ');
    const [replica = ''] = Buffer.from(account, 'base64').toString().split(':');
    const path = url.pathname.slice(url.pathname.indexOf('/v2_0') + 5);
    asked.push({ atMs: performance.now(), router, replica, path });
    const answerJson = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const lines = written.get(router);
    if (path === '/status/number') answerJson({ status: { unique: { n: 7 } } });
    else if (path !== '/download/log' || !lines) response.writeHead(404).end();
    else if (url.searchParams.has('list_files')) answerJson({ log_files: ['network/current'] });
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(lines.map((line) => `${line}\n`).join(''));
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', 'http://world');
    if (url.pathname === '/never') {
      request.resume();
      response.writeHead(503).end();
      return;
    }
    if (url.pathname !== '/sink') {
      request.resume();
      answerRouter(request, response, url);
      return;
    }
    let body = '';
    for await (const chunk of request) body += String(chunk);
    for (const line of body.split('\n')) if (line) received.push(JSON.parse(line) as LogRecord);
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let lines = 0;
  return {
    names,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    written,
    received,
    write() {
      const stamp = new Date().toISOString().slice(0, 19).replace('T', ' ');
      for (const log of written.values()) log.push(`${stamp} [app] line ${++lines}`);
    },
    askedBy: (router, sinceMs) => [
      ...new Set(asked.filter((one) => one.router === router && one.atMs >= sinceMs).map(({ replica }) => replica)),
    ],
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** One replica, as a process of the product's own command. */
export interface Replica extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly program: Program;
  start(): void;
  /** Lines of its log that have a message. */
  readonly log: string;
  signal(name: NodeJS.Signals): void;
  /** Ends it by itself. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Names of its own routers. */
  listOwn(): Promise<readonly string[]>;
  /** A gauge or counter about itself. */
  measure(metric: string): Promise<number>;
}

/** A cluster, and the replicas that a test starts. */
export interface ClusterBench extends AsyncDisposable {
  readonly configFile: (replica: string) => string;
  start(name: string): Promise<Replica>;
}

/** What the replicas of a test have in common. */
export interface ClusterBenchOptions {
  readonly servers: readonly string[];
  readonly world: ClusterWorld;
  /** As written. Default 3s. */
  readonly lease?: string;
  /** As written. Default 1m. */
  readonly grace?: string;
  /** Default 1. */
  readonly copies?: number;
  /** Default: one that gets all records, and one that takes none. */
  readonly hasSink?: boolean;
}

const PATIENCE = { timeout: 30_000, interval: 50 };

/** Sets up what replicas need, and starts them as they are wanted. */
export async function openClusterBench(options: ClusterBenchOptions): Promise<ClusterBench> {
  const { servers, world, lease = '3s', grace = '1m', copies = 1, hasSink = true } = options;
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-cluster-'));
  const replicas: Replica[] = [];
  const configFile = (name: string) => join(folder, `${name}.yaml`);
  const write = (name: string, port: number) =>
    writeFile(
      configFile(name),
      `web: { listen: ["127.0.0.1:${port}"] }
storage: { path: state-${name} }
cluster:
  nats: { servers: ${JSON.stringify(servers)}, name: plant, replica: ${name}, advertise: "http://127.0.0.1:${port}", lease: ${lease}, status_grace: ${grace}, replicas: ${copies}, max_bytes: 64MiB }
modules:
  number: { resources: [{ path: number, metrics: [{ name: router_number, help: A number., type: gauge, value: n }] }] }
defaults:
  username: ${name}
  password: none
  auth: basic
  timezone: UTC
  modules: [number]
  poll: { interval: 1s, timeout: 1s, connect_timeout: 1s, deadline: 1s, stale_after: 1m }
  logs: { interval: 1s, start: all }
routers:
${world.names.map((router) => `  - { name: ${router}, url: "${world.url}/${router}" }\n`).join('')}${
  hasSink
    ? `sinks:
  - { name: world, type: http, url: "${world.url}/sink", batch: { wait: 0s } }
  # As long as it has not taken them, all records stay in the stream.
  - { name: never, type: http, url: "${world.url}/never" }
`
    : ''
}`,
    );
  await write('admin', await findFreePort());
  // Servers that have just started may have no leader yet.
  await vi.waitFor(async () => {
    const init = await startRouterExporter('cluster', 'init', '--config.file', configFile('admin')).ended;
    expect(init, init.stderr).toMatchObject({ code: 0 });
  }, PATIENCE);
  return {
    configFile,
    async start(name) {
      const port = await findFreePort();
      await write(name, port);
      const replica = createReplica(name, `http://127.0.0.1:${port}`, configFile(name));
      replicas.push(replica);
      replica.start();
      await vi.waitFor(async () => {
        // With its log also where it has ended.
        expect(await replica.measure('cluster_lease_held').catch(String), replica.log).toBe(1);
      }, PATIENCE);
      return replica;
    },
    async [Symbol.asyncDispose]() {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function createReplica(name: string, url: string, file: string): Replica {
  let log = '';
  let program: Program | undefined;
  const running = () => program ?? expect.unreachable('the replica was not started');
  return {
    name,
    url,
    get program() {
      return running();
    },
    get log() {
      return `${log}${program?.stderr ?? ''}`;
    },
    start() {
      log += program?.stderr ?? '';
      program = startRouterExporter('run', '--config.file', file, '--log.format', 'json');
    },
    signal: (signal) => void running().process.kill(signal),
    async stop() {
      running().process.kill('SIGTERM');
      await running().ended;
    },
    async kill() {
      running().process.kill('SIGKILL');
      await running().ended;
    },
    async listOwn() {
      const answer = await fetch(`${url}/api/v1/routers?own=1`);
      return ((await answer.json()) as { routers: { name: string }[] }).routers.map((one) => one.name);
    },
    async measure(metric) {
      const text = await (await fetch(`${url}/metrics/agent`)).text();
      return Number(new RegExp(`^router_exporter_${metric} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
    },
    async [Symbol.asyncDispose]() {
      program?.process.kill('SIGCONT');
      await program?.[Symbol.asyncDispose]();
    },
  };
}
