import { once } from 'node:events';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { type Agent, type AgentOptions, startAgent } from '../../src/agent/index.ts';
import { createSeededRandom } from '../../src/base/index.ts';
import type { Config, LoadedConfig } from '../../src/config/index.ts';
import { createStdoutSettings } from '../../src/delivery/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { answerJson, openRouter } from '../router/http-router.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createHttpSettings, createLokiSettings } from '../support/sink-settings.ts';
import { openLokiServer } from '../support/sinks/loki-server.ts';
import { commitOf, createStoreFolder, runSql, type StoreFolder } from '../support/store-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { createRouterSettings, MINUTE_MS, SECOND_MS } from './router-agent-bench.ts';

const NO_FILES = { patterns: [], digests: new Map<string, string>() };

interface Bench extends AsyncDisposable {
  readonly agent: Agent;
  readonly records: readonly LogRecord[];
  readonly ownLog: readonly OwnLine[];
  readonly configured: readonly Config[];
  /** That the router lists. */
  readonly logFiles: string[];
  advance(durationMs: number): Promise<void>;
  get(path: string): Promise<string>;
  /** Loads the configuration with these changes. */
  reload(change: (config: Config) => Config): ReturnType<Agent['reload']>;
}

/** The whole agent over the state in `folder`, with one router over HTTP that has one log, and one sink. */
async function openAgent(
  folder: StoreFolder,
  change: (config: Config) => Config = (config) => config,
  options: Partial<AgentOptions> = {},
): Promise<Bench> {
  const logFiles = ['network/current'];
  const router = await openRouter((request, response) => {
    const url = request.url ?? '';
    if (url.includes('/auth/')) answerJson(response, {});
    else if (url.includes('list_files')) answerJson(response, { log_files: logFiles });
    else if (url.endsWith('.Z')) response.end(Buffer.from('\x1f\x9dcompressed', 'latin1'));
    else if (url.includes('log_file=')) response.end('2026-11-21 12:59:00 [app] a line\n');
    else answerJson(response, { status: { n: 'seven' } });
  });
  const records: LogRecord[] = [];
  const ownLog: OwnLine[] = [];
  const configured: Config[] = [];
  const config = change({
    web: { listen: [{ host: '127.0.0.1', port: 0 }] },
    schedule: { runsMax: undefined },
    connections: { connectionsMax: undefined },
    storage: { path: folder.path, spoolBytesMax: 64 * 1024 * 1024, recentBytesMax: 1024 * 1024 },
    routers: [createRouterSettings(router.url)],
    routerSources: [],
    backup: undefined,
    sinks: [createStdoutSettings('console')],
    deadLetters: { bytesMax: 64 * 1024 * 1024, keepMs: 30 * 86_400_000 },
    logRules: [],
    redact: [],
  });
  let loaded: LoadedConfig = { ok: true, config, watched: NO_FILES };
  const { clock } = router;
  let agent: Agent;
  try {
    agent = await startAgent({
      config,
      reload: async () => loaded,
      clock,
      version: '0.0.0-test',
      random: createSeededRandom(7),
      logger: createCollectingLogger(ownLog),
      stdout: new Writable({
        write(chunk: Buffer, _encoding, done) {
          for (const line of chunk.toString().split('\n')) if (line) records.push(JSON.parse(line) as LogRecord);
          done();
        },
      }),
      onConfigured: async (one) => void configured.push(one),
      ...options,
    });
  } catch (cause) {
    await router[Symbol.asyncDispose]();
    throw cause;
  }
  return {
    agent,
    records,
    ownLog,
    configured,
    logFiles,
    advance: (durationMs) => clock.advance(durationMs, () => agent.whenIdle()),
    get: async (path) => (await fetch(`${agent.urls[0]}${path}`)).text(),
    reload(next) {
      loaded = { ok: true, config: next(config), watched: NO_FILES };
      return agent.reload();
    },
    async [Symbol.asyncDispose]() {
      await agent.stop();
      await router[Symbol.asyncDispose]();
    },
  };
}

/** Makes a store in which nothing can be written to one of its tables: that is no fault of a disk. */
function breakTable(folder: StoreFolder, table: string): void {
  folder.open().close();
  const refuse = `BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'refused'); END`;
  runSql(folder.database, `CREATE TRIGGER refuse ${refuse}`);
}

test('startAgent() polls, ships lines, and sums up what it has done', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  expect(bench.agent.summary()).toEqual({ routers: 1, routersUp: 0, polls: 0, recordsShipped: 0, gaps: 0 });
  await bench.advance(2 * MINUTE_MS);
  expect(bench.records.map(({ message }) => message)).toEqual(['a line']);
  expect(bench.agent.summary()).toMatchObject({ routers: 1, routersUp: 1, recordsShipped: 1, gaps: 0 });
  expect(bench.agent.summary().polls).toBeGreaterThan(1);
  const own = await bench.get('/metrics/agent');
  const { polls } = bench.agent.summary();
  expect(own).toContain(`router_exporter_polls_total{result="success"} ${polls}\n`);
  expect(own).toContain('router_exporter_routers{state="up"} 1\n');
  expect(own).toMatch(/^router_exporter_schedule_lag_seconds_count [1-9]/m);
  expect(own).toContain('router_exporter_sink_lag_seconds{sink="console"} 0\n');
  expect(own).toContain(`router_exporter_spool_max_bytes ${64 * 1024 * 1024}\n`);
  expect(own).toContain('router_exporter_spool_held_back 0\n');
  expect(own).toContain('router_exporter_mapping_errors_total{module="number",metric="router_number"}');
  expect(bench.agent.failed.aborted).toBe(false);
});

test('startAgent() wakes the sinks when records are stored, and not only when they look by themselves', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    routers: config.routers.map((router) => ({ ...router, logs: { ...router.logs, intervalMs: 20 * SECOND_MS } })),
  }));
  // The line is stored at the second turn; sinks look every 30 seconds.
  await bench.advance(25 * SECOND_MS);
  expect(bench.records).toHaveLength(1);
});

test('startAgent() counts the gaps of all routers', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  // In a form that nobody can read.
  bench.logFiles.push('network/log-2026-11-21-12:30:00.Z');
  await bench.advance(2 * MINUTE_MS);
  const gaps = [...(await bench.get('/metrics')).matchAll(/^router_log_gaps_total\{.*\} (\d+)$/gm)];
  expect(bench.agent.summary().gaps).toBe(1);
  expect(gaps.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(1);
});

test.for([
  ['of the logs', 'log'],
  ['of values', 'note'],
])('startAgent() ends the agent when the state %s is broken', async ([, table]) => {
  await using folder = await createStoreFolder();
  breakTable(folder, table ?? '');
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    routers: config.routers.map((router) => ({ ...router, byteBudget: 1_000_000_000 })),
  }));
  expect(bench.agent.failed.aborted).toBe(false);
  await bench.advance(2 * MINUTE_MS);
  expect(bench.agent.failed.reason).toMatchObject({ name: 'StoreError', code: 'broken' });
});

test('startAgent() ends the agent when standard output is gone', async () => {
  await using folder = await createStoreFolder();
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(new Error('gone')) });
  await using bench = await openAgent(folder, undefined, { stdout });
  await bench.advance(2 * MINUTE_MS);
  expect(bench.agent.failed.reason).toMatchObject({ name: 'DeliveryError', code: 'closed' });
});

test('startAgent() delivers what an earlier process has left in the spool, and what is damaged of it is counted', async () => {
  await using folder = await createStoreFolder();
  const leave = () => {
    using store = folder.open({ sinks: ['console'] });
    store.commit(commitOf([JSON.stringify({ message: 'left', uid: 'u', router: 'r', component: 'network' })]));
  };
  leave();
  {
    await using bench = await openAgent(folder, (config) => ({ ...config, routers: [] }));
    await bench.agent.whenIdle();
    expect(bench.records).toMatchObject([{ message: 'left' }]);
  }
  leave();
  runSql(folder.database, "UPDATE spool SET body = x'00'");
  await using bench = await openAgent(folder, (config) => ({ ...config, routers: [] }));
  await bench.agent.whenIdle();
  expect(bench.records).toEqual([]);
  expect(await bench.get('/metrics/agent')).toContain('router_exporter_spool_damaged_records_total 1\n');
  expect(bench.ownLog).toContainEqual({
    level: 'error',
    message: 'Stored records were damaged; their log is read again from the router',
    fields: { router: 'plant-7', component: 'network', records: 1 },
  });
});

test('startAgent() tells a sink of Loki the number of all routers before it sends what an earlier process has left', async () => {
  await using folder = await createStoreFolder();
  const observed = new Date(1000).toISOString();
  const record = {
    observed_timestamp: observed,
    message: 'left',
    uid: 'u',
    router: 'r0',
    component: 'network',
    offset: 0,
  };
  {
    using store = folder.open({ sinks: ['loki'] });
    store.commit(commitOf([JSON.stringify(record)]));
  }
  await using server = await openLokiServer({ now: () => 0 });
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    // Ten streams of each would be more than half of the limit.
    routers: config.routers.flatMap((one) => Array.from({ length: 6 }, (_, index) => ({ ...one, name: `r${index}` }))),
    sinks: [createLokiSettings('loki', server.url, { streamLimit: 100 })],
  }));
  await waitFor(() => expect(server.records()).toHaveLength(1));
  expect(bench.agent.summary().routers).toBe(6);
  expect(server.records()[0]).toMatchObject({ line: 'left', labels: { shard: expect.any(String) } });
});

test('startAgent() counts dead letters that were dropped because of their age', async () => {
  await using folder = await createStoreFolder();
  {
    using letters = folder.openLetters({ now: () => 0 });
    letters.add('console', [{ uid: 'u', line: '{}', reason: 'no' }]);
  }
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    routers: [],
    deadLetters: { ...config.deadLetters, keepMs: 10 * SECOND_MS },
  }));
  expect(await bench.get('/metrics/agent')).toContain('router_exporter_dead_letters{sink="console"} 1\n');
  await bench.advance(MINUTE_MS);
  const own = await bench.get('/metrics/agent');
  expect(own).toContain('router_exporter_dead_letters{sink="console"} 0\n');
  expect(own).toContain('router_exporter_dead_letters_dropped_total{sink="console"} 1\n');
});

test('startAgent() that cannot open the state releases what it had opened', async () => {
  await using folder = await createStoreFolder();
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  await new Promise((resolve) => probe.close(resolve));
  const listenThere = (config: Config) => ({ ...config, web: { listen: [{ host: '127.0.0.1', port }] } });
  {
    using store = folder.open();
    expect(store.spooled.records).toBe(0);
    await expect(openAgent(folder, listenThere)).rejects.toMatchObject({ name: 'StoreError', code: 'locked' });
  }
  await using bench = await openAgent(folder, listenThere);
  expect(await bench.get('/-/ready')).toBe('Ready.\n');
});

test('a reload says what needs a restart, shows what runs, and tells the caller which configuration that is', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  const before = await bench.get('/config');
  const result = await bench.reload((config) => ({
    ...config,
    web: { listen: [{ host: '127.0.0.1', port: 1 }] },
    storage: { ...config.storage, path: '/elsewhere' },
    deadLetters: { ...config.deadLetters, keepMs: 1000 },
    redact: [{ pattern: 'hunter2', replacement: '***' }],
  }));
  expect(result).toEqual({ ok: true });
  expect(bench.ownLog).toContainEqual({
    level: 'warn',
    message: 'A change of these keys needs a restart of the agent',
    fields: { keys: ['web.listen', 'storage', 'dead_letters'] },
  });
  expect(bench.ownLog.at(-1)).toEqual({
    level: 'info',
    message: 'Loaded the configuration again',
    fields: { added: 0, changed: 1, removed: 0, routers: 1 },
  });
  const after = await bench.get('/config');
  expect(after).toContain('hunter2');
  expect(after).not.toContain('/elsewhere');
  expect(after).not.toMatch(/keep: *1s/);
  const pick = (text: string, key: string) => text.split('\n').filter((line) => line.includes(key));
  expect(pick(after, 'path')).toEqual(pick(before, 'path'));
  expect(bench.configured.map(({ redact }) => redact.length)).toEqual([1]);
});

test('a reload that fails tells the caller of no configuration', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  const result = await bench.reload((config) => ({ ...config, redact: [{ pattern: '(', replacement: '' }] }));
  expect(result.ok).toBe(false);
  expect(bench.configured).toEqual([]);
  expect(await bench.get('/-/ready')).toBe('Ready.\n');
});

test('an agent that is asked to end over HTTP says so and goes on until it is stopped', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder, undefined, { web: { isLifecycleEnabled: true } });
  expect(bench.agent.quit.aborted).toBe(false);
  const asked = once(bench.agent.quit, 'abort');
  await fetch(`${bench.agent.urls[0]}/-/quit`, { method: 'POST' });
  await asked;
  expect(await bench.get('/-/ready')).toBe('Ready.\n');
});

test('an agent that is stopped delivers what it has read, logs out, and gives the state back', async () => {
  await using folder = await createStoreFolder();
  const bench = await openAgent(folder);
  await bench.advance(MINUTE_MS);
  await bench.agent.stop();
  await bench[Symbol.asyncDispose]();
  expect(bench.ownLog.filter(({ message }) => message === 'Logged out')).toHaveLength(1);
  expect(bench.ownLog.filter(({ message }) => message.startsWith('A step of stopping'))).toEqual([]);
  using store = folder.open({ sinks: ['console'] });
  expect(store.spooled.records).toBe(0);
  expect(bench.records).toHaveLength(1);
});

test('an agent that is stopped delivers records that wait for others to fill their batch', async () => {
  await using folder = await createStoreFolder();
  await using receiver = await openRouter((_request, response) => response.writeHead(200).end());
  const batch = { recordsMax: 1000, bytesMax: 1024 ** 2, waitMs: 60 * MINUTE_MS };
  const bench = await openAgent(folder, (config) => ({
    ...config,
    sinks: [createHttpSettings('receiver', receiver.url, { batch })],
  }));
  await bench.advance(2 * MINUTE_MS);
  expect(await bench.get('/metrics/agent')).toContain('router_exporter_spool_records 1\n');
  expect(receiver.arrived).toEqual([]);
  await bench[Symbol.asyncDispose]();
  expect(receiver.arrived).toHaveLength(1);
  using store = folder.open({ sinks: ['receiver'] });
  expect(store.spooled.records).toBe(0);
});
