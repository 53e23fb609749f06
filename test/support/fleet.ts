import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type Agent, type AgentWebOptions, startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import type { Config, LoadedConfig, RouterSettings } from '../../src/config/index.ts';
import { SHIPPED_RULES } from '../../src/logs/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import type { ConfigFault } from '../../src/settings/index.ts';
import {
  type SimulatedRouter,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.ts';
import { loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import type { ReloadResult } from '../../src/web/index.ts';
import { createCollectingLogger, type OwnLine } from './collecting-logger.ts';
import { createRouterSettings, PLAIN_TLS } from './router-settings.ts';
import { createStdoutSettings } from './sink-settings.ts';

const A_FAULT: ConfigFault = {
  file: 'router-exporter.yaml',
  line: 3,
  column: 5,
  keyPath: 'routers',
  message: 'Expected something else',
};

/** A Saturday noon without a change of summer time near it. */
const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);

export interface FleetOptions {
  readonly routers?: number;
  /** Time at the start. Default {@link START_MS}. */
  readonly startMs?: number;
  readonly simulator?: Partial<SimulatorOptions>;
  readonly router?: Partial<Omit<RouterSettings, 'tls'>>;
  /** Instead of trust in the simulator's own authority. */
  readonly tls?: Partial<RouterSettings['tls']>;
  /** Changes the whole configuration, here and at every reload. */
  readonly config?: (config: Config) => Config;
  readonly web?: AgentWebOptions;
  /** The agent is not started yet: {@link Fleet.startAgent} does it. Default false. */
  readonly isStopped?: boolean;
}

/** The whole agent against simulated routers over HTTPS, both on one stepped clock. */
export interface Fleet extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly simulator: Simulator;
  readonly agent: Agent;
  /** All records that reached the sink, over all agents of this fleet, in order. */
  readonly records: readonly LogRecord[];
  /** Lines of the agents' own log. */
  readonly ownLog: readonly OwnLine[];
  /** Moves time forward; after every timer all turns and deliveries end before the next one fires. */
  advance(durationMs: number): Promise<void>;
  stopAgent(): Promise<void>;
  /** Starts the agent again on the same state. */
  startAgent(): Promise<void>;
  /** Loads this configuration as a reload does; `undefined` is one with a fault. */
  reload(change: ((config: Config) => Config) | undefined): Promise<ReloadResult>;
  /** Makes this configuration the one that a reload would load; `undefined` is one with a fault. */
  propose(change: ((config: Config) => Config) | undefined): void;
  router(index?: number): SimulatedRouter;
  metrics(path?: string): Promise<string>;
}

/** Starts a fleet. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const clock = createSteppedClock(options.startMs ?? START_MS);
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
  const simulator = await startSimulator({ routers: options.routers ?? 1, clock, seed: 7, ...options.simulator });
  const { config: shape = (one: Config) => one } = options;
  const plain = shape(await createConfig(simulator, folder, options));
  let next: Config | undefined = plain;
  const watched = { patterns: [], digests: new Map<string, string>() };
  const load = async (): Promise<LoadedConfig> =>
    next ? { ok: true, config: next, watched } : { ok: false, faults: [A_FAULT], watched };
  const records: LogRecord[] = [];
  const ownLog: OwnLine[] = [];
  const start = () =>
    startAgent({
      config: next ?? plain,
      reload: load,
      web: options.web,
      clock,
      version: '0.0.0-test',
      random: createSeededRandom(7),
      logger: createCollectingLogger(ownLog),
      stdout: createRecordCollector(records),
    });
  let running = options.isStopped ? undefined : await start();
  const getAgent = (): Agent => {
    if (!running) throw new RangeError('The agent was not started yet');
    return running;
  };
  return {
    clock,
    simulator,
    records,
    ownLog,
    get agent() {
      return getAgent();
    },
    advance: (durationMs) => clock.advance(durationMs, async () => running?.whenIdle()),
    stopAgent: async () => running?.stop(),
    async startAgent() {
      running = await start();
    },
    reload(change) {
      next = change?.(plain);
      return getAgent().reload();
    },
    propose(change) {
      next = change?.(plain);
    },
    router(index = 0) {
      const router = simulator.routers[index];
      if (!router) throw new RangeError(`There is no router ${index}`);
      return router;
    },
    async metrics(path = '/metrics') {
      const response = await fetch(`${getAgent().urls[0]}${path}`);
      return response.text();
    },
    async [Symbol.asyncDispose]() {
      await running?.stop();
      await simulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Read once in a process. */
const shippedModules = loadShippedModules(SHIPPED_MODULES_FOLDER);

const ORIGINS = [
  { file: 'routers.yaml', lines: { name: 4, url: 5 } },
  { file: 'router-exporter.yaml', lines: { username: 8, password_file: 9, 'tls.ca_file': 10 } },
];

async function createConfig(simulator: Simulator, folder: string, options: FleetOptions): Promise<Config> {
  const shipped = await shippedModules;
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  const modules = shipped.modules.filter(({ isDefault }) => isDefault).map(({ definition }) => definition);
  return {
    modules,
    origins: {
      main: [
        {
          file: 'router-exporter.yaml',
          lines: { 'storage.path': 2, 'sinks.0.name': 4, 'sinks.0.type': 4, 'web.listen': '--web.listen-address' },
        },
      ],
      routers: new Map(simulator.routers.map(({ name }) => [name, ORIGINS])),
    },
    router_sources: [],
    backup: undefined,
    log_rules: SHIPPED_RULES,
    redact: [],
    web: { listen: [{ host: '127.0.0.1', port: 0 }] },
    schedule: {},
    connections: {},
    storage: { path: folder, spool_max: 64 * 1024 * 1024, recent: 1024 * 1024 },
    sinks: [createStdoutSettings('console')],
    dead_letters: { max: 64 * 1024 * 1024, keep: 30 * 86_400_000 },
    routers: simulator.routers.map(({ name, url }) =>
      createRouterSettings(url, {
        name,
        tls: { ...PLAIN_TLS, ...(options.tls ?? { ca_file: simulator.caPem }) },
        modules,
        ...options.router,
      }),
    ),
  };
}

function createRecordCollector(records: LogRecord[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n')) if (line) records.push(JSON.parse(line) as LogRecord);
      done();
    },
  });
}
