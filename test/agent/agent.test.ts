import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { expect, test } from 'vitest';
import { type Agent, type AgentOptions, startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock, type SteppedClock, sleepOn } from '../../src/base/index.ts';
import type { Config, LoadedConfig } from '../../src/config/index.ts';
import type { SourceSettings } from '../../src/inventory/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { SecretKeeper } from '../../src/settings/index.ts';
import type { RouterAnswer } from '../../src/web/index.ts';
import { answerJson, openRouter } from '../client/http-router.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { createHttpSettings, createLokiSettings, createStdoutSettings } from '../support/sink-settings.ts';
import { openLokiServer } from '../support/sinks/loki-server.ts';
import { commitOf, createStoreFolder, runSql, type StoreFolder } from '../support/store-folder.ts';
import { takeTurns } from '../support/take-turns.ts';
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
  /** Parts of addresses to which the router gives no answer. */
  readonly unanswered: string[];
  readonly clock: SteppedClock;
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
  const unanswered: string[] = [];
  const router = await openRouter((request, response) => {
    const url = request.url ?? '';
    if (unanswered.some((part) => url.includes(part))) return;
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
    schedule: {},
    connections: {},
    storage: { path: folder.path, spool_max: 64 * 1024 * 1024, recent: 1024 * 1024 },
    routers: [createRouterSettings(router.url)],
    modules: [],
    router_sources: [],
    origins: { main: [], routers: new Map() },
    backup: undefined,
    sinks: [createStdoutSettings('console')],
    dead_letters: { max: 64 * 1024 * 1024, keep: 30 * 86_400_000 },
    log_rules: [],
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
    unanswered,
    clock,
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
  expect(bench.agent.summary()).toMatchObject({ routers: 1, states: { up: 0 }, polls: 0, recordsShipped: 0, gaps: 0 });
  // Counters that begin with their first increase would hide it.
  const first = await bench.get('/metrics/agent');
  for (const result of ['delivered', 'dead_letter'])
    expect(first).toContain(`router_exporter_sink_records_total{sink="console",result="${result}"} 0\n`);
  expect(first).toContain('router_exporter_sink_sent_bytes_total{sink="console"} 0\n');
  expect(first).toContain('router_exporter_sink_warnings_total{sink="console"} 0\n');
  await bench.advance(2 * MINUTE_MS);
  expect(bench.records.map(({ message }) => message)).toEqual(['a line']);
  expect(bench.agent.summary()).toMatchObject({ routers: 1, states: { up: 1 }, recordsShipped: 1, gaps: 0 });
  expect(bench.agent.summary().polls).toBeGreaterThan(1);
  const own = await bench.get('/metrics/agent');
  const { polls } = bench.agent.summary();
  expect(own).toContain(`router_exporter_polls_total{result="success"} ${polls}\n`);
  expect(own).toContain('router_exporter_routers{state="up"} 1\n');
  expect(own).toMatch(/^router_exporter_schedule_lag_seconds_count\{activity="status"\} [1-9]/m);
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
    routers: config.routers.map((router) => ({ ...router, logs: { ...router.logs, interval: 20 * SECOND_MS } })),
  }));
  // The line is stored by the second run; sinks check every 30 seconds.
  await bench.advance(25 * SECOND_MS);
  expect(bench.records).toHaveLength(1);
});

test('startAgent() counts the gaps of all routers', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  // In an unreadable form.
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
    routers: config.routers.map((router) => ({ ...router, byte_budget: { perDay: 1_000_000_000, statusShare: 0.2 } })),
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
    message: 'Stored records were damaged; lines are read again from the router, events do not reach the sinks',
    fields: { router: 'plant-7', component: 'network', records: 1 },
  });
});

test('startAgent() passes the number of all routers to a Loki sink before it sends records of an earlier process', async () => {
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
    sinks: [createLokiSettings('loki', server.url, { stream_limit: 100 })],
  }));
  await waitFor(() => expect(server.records()).toHaveLength(1));
  expect(bench.agent.summary().routers).toBe(6);
  expect(server.records()[0]).toMatchObject({ line: 'left', labels: { shard: expect.any(String) } });
});

test('startAgent() counts dead letters that were dropped because of their age', async () => {
  await using folder = await createStoreFolder();
  {
    using deadLetters = folder.openDeadLetters({ now: () => 0 });
    deadLetters.add('console', [{ uid: 'u', line: '{}', reason: 'no' }]);
  }
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    routers: [],
    dead_letters: { ...config.dead_letters, keep: 10 * SECOND_MS },
  }));
  expect(await bench.get('/metrics/agent')).toContain('router_exporter_dead_letters{sink="console"} 1\n');
  await bench.advance(MINUTE_MS);
  const own = await bench.get('/metrics/agent');
  expect(own).toContain('router_exporter_dead_letters{sink="console"} 0\n');
  expect(own).toContain('router_exporter_dead_letters_dropped_total{sink="console"} 1\n');
});

test.for([
  ['empty', '', 'The file of the dead letters was empty; those that it held are lost'],
  ['damaged', 'not a database '.repeat(1000), 'The dead letters could not be read and were put aside'],
])('startAgent() says that the file of the dead letters is %s', async ([, content = '', message]) => {
  await using folder = await createStoreFolder();
  await writeFile(folder.deadLetters, content);
  await using bench = await openAgent(folder);
  await bench.advance(SECOND_MS);
  expect(bench.ownLog).toContainEqual(expect.objectContaining({ level: 'error', message }));
});

test.for([
  [0, 0],
  [1024 * 1024, 1],
] as const)(
  'startAgent() keeps %i bytes of the last lines for the pages, as storage.recent says',
  async ([recentBytesMax, kept]) => {
    await using folder = await createStoreFolder();
    await using bench = await openAgent(folder, (config) => ({
      ...config,
      storage: { ...config.storage, recent: recentBytesMax },
    }));
    await bench.advance(2 * MINUTE_MS);
    expect(bench.records).toHaveLength(1);
    const { recentRecords } = JSON.parse(await bench.get('/api/v1/routers/plant-7')) as RouterAnswer;
    expect(recentRecords).toHaveLength(kept);
  },
);

test.for([
  [1, 'router'],
  [2, 'shard'],
] as const)(
  'startAgent() tells a sink that there are %i routers: the streams of Loki have the label %s',
  async ([routers, label]) => {
    await using folder = await createStoreFolder();
    const bodies: string[] = [];
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      bodies.push(await readText(request.pipe(createGunzip())));
      response.writeHead(204).end();
    };
    await using loki = createHttpServer((request, response) => void answer(request, response));
    await once(loki.listen(0, '127.0.0.1'), 'listening');
    const { port } = loki.address() as AddressInfo;
    const sink = createLokiSettings('loki', `http://127.0.0.1:${port}`, { stream_limit: 20 });
    const idle = { name: 'idle', state: 'paused' } as const;
    await using bench = await openAgent(folder, (config) => ({
      ...config,
      sinks: [sink],
      routers: config.routers.flatMap((router) => [router, { ...router, ...idle }]).slice(0, routers),
    }));
    await bench.advance(2 * MINUTE_MS);
    expect(bodies).toHaveLength(1);
    const { streams } = JSON.parse(bodies[0] ?? '') as { streams: { stream: object }[] };
    expect(Object.keys(streams[0]?.stream ?? {}).filter((name) => name === 'router' || name === 'shard')).toEqual([
      label,
    ]);
  },
);

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

test('a reload logs what needs a restart, shows the running configuration, and passes it to the caller', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  const before = await bench.get('/config');
  const result = await bench.reload((config) => ({
    ...config,
    web: { listen: [{ host: '127.0.0.1', port: 1 }] },
    storage: { ...config.storage, path: '/elsewhere' },
    dead_letters: { ...config.dead_letters, keep: 1000 },
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
    fields: { added: 0, changed: 0, removed: 0, routers: 1 },
  });
  const after = await bench.get('/config');
  expect(after).toContain('hunter2');
  expect(after).not.toContain('/elsewhere');
  expect(after).not.toMatch(/keep: *1s/);
  const pick = (text: string, key: string) => text.split('\n').filter((line) => line.includes(key));
  expect(pick(after, 'path')).toEqual(pick(before, 'path'));
  expect(bench.configured.map(({ redact }) => redact.length)).toEqual([1]);
});

test('a reload that fails passes no configuration to the caller', async () => {
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

test('an agent that is stopped does not wait for a router that ends no session, and says what becomes of it', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder);
  await bench.advance(MINUTE_MS);
  bench.unanswered.push('/auth/logout');
  const stopped = bench.agent.stop();
  for (let step = 0; step < 60; step++) await bench.clock.advance(SECOND_MS / 10, () => takeTurns(40));
  await stopped;
  const failed = bench.ownLog.find(({ fields }) => fields?.['step'] === 'routers');
  expect(failed?.fields).toEqual({
    step: 'routers',
    error: expect.any(String),
    hint: 'Sessions of routers that answer slowly end by their auto-logout',
  });
});

test('an agent that is stopped delivers what it has read, logs out, and gives the state back', async () => {
  await using folder = await createStoreFolder();
  const bench = await openAgent(folder);
  await bench.advance(MINUTE_MS);
  await bench.agent.stop();
  await bench[Symbol.asyncDispose]();
  expect(bench.ownLog.filter(({ message }) => message === 'Logged out')).toHaveLength(1);
  expect(bench.ownLog.filter(({ message }) => message === 'A shutdown step failed')).toEqual([]);
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
  // More records wait than at the start, so there is an estimate of when the spool is full.
  const { spool } = JSON.parse(await bench.get('/api/v1/sinks')) as { spool: { secondsToFull: number | null } };
  expect(spool.secondsToFull).toBeGreaterThan(0);
  await bench[Symbol.asyncDispose]();
  expect(receiver.arrived).toHaveLength(1);
  using store = folder.open({ sinks: ['receiver'] });
  expect(store.spooled.records).toBe(0);
});

/** A clock that knows what is waited for: the delay of each timer, in milliseconds. */
function createCountingClock() {
  const stepped = createSteppedClock(Date.UTC(2026, 10, 21, 12));
  const waits = new Set<{ readonly delayMs: number }>();
  const setTimer: SteppedClock['setTimer'] = (delayMs, fire) => {
    const wait = { delayMs };
    waits.add(wait);
    const timer = stepped.setTimer(delayMs, () => {
      waits.delete(wait);
      fire();
    });
    return {
      cancel: () => {
        waits.delete(wait);
        timer.cancel();
      },
    };
  };
  const clock: SteppedClock = { ...stepped, setTimer, sleep: (delayMs, signal) => sleepOn(clock, delayMs, signal) };
  return { clock, listWaits: () => [...waits].map(({ delayMs }) => delayMs) };
}

/** A source of routers that is a file, which does not exist. */
function createSource({ path }: StoreFolder): SourceSettings {
  return {
    name: 'list',
    type: 'file_sd',
    interval: 7000,
    allowed_addresses: [],
    allow_http: false,
    groups: [],
    allowed_groups: [],
    allowed_credentials: [],
    allowed_tls_sets: [],
    routers_max: 50_000,
    removal_max: 0.2,
    files: [join(path, 'routers.json')],
  };
}

test('an agent that is stopped waits for nothing any more: not for a file, a source, a secret, a router or a sink', async () => {
  await using folder = await createStoreFolder();
  const { clock, listWaits } = createCountingClock();
  const files = { patterns: [join(folder.path, '*.yaml')], digests: new Map<string, string>() };
  const source = createSource(folder);
  const bench = await openAgent(
    folder,
    (config) => ({
      ...config,
      router_sources: [source],
      routers: config.routers.map((router) => ({
        ...router,
        state: 'maintenance' as const,
        state_until: clock.now() + 60 * MINUTE_MS,
      })),
    }),
    {
      clock,
      secrets: new SecretKeeper({ env: {} }),
      watched: files,
      reread: files,
    },
  );
  await clock.advance(2 * MINUTE_MS, () => bench.agent.whenIdle());
  // The source, by its interval, is one of many.
  await expect.poll(listWaits).toContain(source.interval);
  expect(listWaits().length).toBeGreaterThan(7);
  await bench[Symbol.asyncDispose]();
  expect(listWaits()).toEqual([]);
});

test('a source that a reload takes away or changes is not read any more', async () => {
  await using folder = await createStoreFolder();
  const { clock, listWaits } = createCountingClock();
  const source = createSource(folder);
  const change = (intervals: readonly number[]) => (config: Config) => ({
    ...config,
    routers: [],
    router_sources: intervals.map((interval) => ({ ...source, interval })),
  });
  await using bench = await openAgent(folder, change([7000]), { clock });
  const waits = () => listWaits().filter((delayMs) => delayMs >= 7000 && delayMs < 9000);
  await expect.poll(waits).toEqual([7000]);
  await bench.reload(change([8000]));
  await expect.poll(waits).toEqual([8000]);
  await bench.reload(change([]));
  await expect.poll(waits).toEqual([]);
});

test('an agent that is stopping is not ready, although its last deliveries are under way', async () => {
  await using folder = await createStoreFolder();
  const asked = Promise.withResolvers<() => void>();
  await using receiver = await openRouter((_request, response) => asked.resolve(() => response.writeHead(200).end()));
  await using bench = await openAgent(folder, (config) => ({
    ...config,
    sinks: [createHttpSettings('receiver', receiver.url)],
  }));
  await advanceUntil(asked.promise, bench.clock, SECOND_MS);
  expect(await bench.get('/-/ready')).toBe('Ready.\n');
  const stopping = bench.agent.stop();
  const answers = [await bench.get('/-/healthy'), await bench.get('/-/ready')];
  (await asked.promise)();
  await stopping;
  expect(answers).toEqual(['Healthy.\n', expect.stringContaining('The agent is starting or stopping')]);
});

test('an agent behind a proxy serves under its prefix, and passes its outer address to Prometheus', async () => {
  await using folder = await createStoreFolder();
  await using bench = await openAgent(folder, undefined, {
    web: { externalUrl: 'https://metrics.example.com/outer', routePrefix: '/inner' },
  });
  expect(bench.agent.urls).toEqual([expect.stringMatching(/:\d+\/inner$/)]);
  expect(await bench.get('/-/ready')).toBe('Ready.\n');
  expect(await bench.get('/sd')).toContain('"metrics.example.com:443"');
  // Without a flag, an agent cannot be ended over HTTP.
  const answer = await fetch(`${bench.agent.urls[0]}/-/quit`, { method: 'POST' });
  expect([answer.ok, bench.agent.quit.aborted]).toEqual([false, false]);
});
