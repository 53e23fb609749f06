import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { findOwner } from '../../src/cluster/view.ts';
import { type Program, startRouterExporter } from './child.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { findFreePort } from './free-port.ts';

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
  /** Values of a metric of its routers that has no labels of its own, by router. */
  measureRouters(metric: string): Promise<ReadonlyMap<string, number>>;
}

/** A cluster, and the replicas that a test starts. */
export interface ClusterBench extends AsyncDisposable {
  readonly configFile: (replica: string) => string;
  start(name: string): Promise<Replica>;
}

type SinkName = 'world' | 'events' | 'never' | 'refusing';

/** What the replicas of a test have in common. */
export interface ClusterBenchOptions {
  readonly servers: readonly string[];
  /** How a replica reaches the servers. Default: as they are. */
  readonly serversOf?: (replica: string) => readonly string[];
  /** Names of the routers, and where they and the receiver of sink `world` are. */
  readonly world: Pick<ClusterWorld, 'names' | 'url'>;
  /** Lines of the configuration by which routers are asked, in place of the account of the world. */
  readonly asked?: string;
  /** Names of the routers that a replica has configured. Default: all of the world. */
  readonly routersOf?: (replica: string) => readonly string[];
  /** URL of a router. Default: below that of the world. */
  readonly urlOf?: (router: string) => string;
  /** Between two polls, and two looks at the logs. As written, default 1s. */
  readonly interval?: string;
  /** Limit of a request to a router and of a poll, at most the interval. As written, default 1s. */
  readonly timeout?: string;
  /** Maximum size of the stream. As written, default 64MiB. */
  readonly maxBytes?: string;
  /** As written. Default 3s. */
  readonly lease?: string;
  /** As written. Default 1m. */
  readonly grace?: string;
  /** For the last values of a router. As written, default 1m. */
  readonly staleAfter?: string;
  /** Default 1. */
  readonly copies?: number;
  /** Keys of `cluster.nats` beside the others, for a replica or for `admin`, who creates the cluster. Default: none. */
  readonly keysOf?: (replica: string) => string;
  /**
   * `world` gets all records, and `events` those of routers that go down and come back; `never` takes none, so that all stay in the stream; `refusing` refuses those of the first router for
   * good. Default: the first two.
   */
  readonly sinks?: readonly SinkName[];
}

const PATIENCE = { timeout: 180_000, interval: 50 };

/** Resolves when each router runs at one of these replicas and nowhere else. */
export async function expectShared(replicas: readonly Replica[], names: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const own = await Promise.all(replicas.map((replica) => replica.listOwn()));
    expect(own.flat().toSorted()).toEqual(names.toSorted());
    expect(own.filter(({ length }) => length === 0)).toEqual([]);
  }, PATIENCE);
}

/** Resolves when each replica has the routers that are its own among these, which all of them know, and no move is to come. */
export async function expectSettled(replicas: readonly Replica[], names: readonly string[]): Promise<void> {
  const candidates = replicas.map(({ name }) => ({ replica: name, knows: () => true }));
  await vi.waitFor(async () => {
    for (const replica of replicas) {
      const own = names.filter((router) => findOwner(router, candidates) === replica.name);
      expect((await replica.listOwn()).toSorted()).toEqual(own.toSorted());
    }
  }, PATIENCE);
}

/** Sets up what replicas need, and starts them as they are wanted. */
export async function openClusterBench(options: ClusterBenchOptions): Promise<ClusterBench> {
  const { servers, serversOf = () => servers, world, lease = '3s', grace = '1m', copies = 1 } = options;
  const {
    interval = '1s',
    timeout = '1s',
    maxBytes = '64MiB',
    sinks = ['world', 'never'],
    asked,
    staleAfter = '1m',
  } = options;
  const { urlOf = (router) => `${world.url}/${router}`, routersOf = () => world.names, keysOf = () => '' } = options;
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-cluster-'));
  const replicas: Replica[] = [];
  const toSink = (sink: SinkName, replica: string) =>
    sink === 'world' || sink === 'events'
      ? `{ name: ${sink}, type: http, url: "${world.url}/sink/${replica}", batch: { wait: 0s }${sink === 'events' ? ', events: ["router.down", "router.up"]' : ''} }`
      : `{ name: ${sink}, type: http, url: "${world.url}/${sink}" }`;
  const configFile = (name: string) => join(folder, `${name}.yaml`);
  const write = (name: string, port: number) =>
    writeFile(
      configFile(name),
      `web: { listen: ["127.0.0.1:${port}"] }
storage: { path: state-${name} }
dead_letters: { max: 4MiB }
cluster:
  nats: { servers: ${JSON.stringify(serversOf(name))}, name: plant, replica: ${name}, advertise: "http://127.0.0.1:${port}", lease: ${lease}, status_grace: ${grace}, replicas: ${copies}, max_bytes: ${maxBytes}${keysOf(name)} }
modules:
  number: { resources: [{ path: number, metrics: [{ name: router_number, help: A number., type: gauge, value: n }] }] }
defaults:
${asked ?? `  username: ${name}\n  password: none\n  auth: basic\n  timezone: UTC\n  modules: [number]`}
  poll: { interval: ${interval}, timeout: ${timeout}, connect_timeout: 1s, deadline: ${timeout}, stale_after: ${staleAfter} }
  logs: { interval: ${interval}, start: all }
routers:
${routersOf(name)
  .map((router) => `  - { name: ${router}, url: "${urlOf(router)}" }\n`)
  .join('')}sinks:${sinks.length === 0 ? ' []' : ''}
${sinks.map((sink) => `  - ${toSink(sink, name)}\n`).join('')}`,
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
    async measureRouters(metric) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const samples = text.matchAll(new RegExp(`^${metric}\\{router="([^"]+)"\\} (\\S+)$`, 'gm'));
      return new Map([...samples].map(([, router = '', value]) => [router, Number(value)]));
    },
    async [Symbol.asyncDispose]() {
      program?.process.kill('SIGCONT');
      await program?.[Symbol.asyncDispose]();
    },
  };
}
