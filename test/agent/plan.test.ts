import { chmod, mkdir, mkdtempDisposable, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { preparePlan, type RouterParts } from '../../src/agent/plan.ts';
import type { FleetWish } from '../../src/agent/routers/fleet.ts';
import { RouterAgent } from '../../src/agent/routers/router-agent.ts';
import { createSteppedClock, Secret } from '../../src/base/index.ts';
import type { Config } from '../../src/config/index.ts';
import { StoreError } from '../../src/model/index.ts';
import { createBareConfig } from '../support/bare-config.ts';
import { createStdoutSettings } from '../support/sink-settings.ts';
import { ACTIVE, createRouterSettings, createSurroundings, NEVER } from './router-agent-bench.ts';

const broken = new StoreError('broken', 'The state could not be used', { disposition: 'operator' });

function createConfig(changes: Partial<Config> = {}): Config {
  return createBareConfig({
    routers: [createRouterSettings('https://192.0.2.7', { name: 'a' })],
    sinks: [createStdoutSettings('console')],
    ...changes,
  });
}

type PlanOptions = Parameters<typeof preparePlan>[1];

/** Everything that a plan touches, writing down what is done to it. */
function createBench(changes: Partial<PlanOptions> = {}) {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const { options, ownLog } = createSurroundings(clock);
  const happened: string[] = [];
  const parts: RouterParts[] = [];
  const wishes: FleetWish[] = [];
  const secured: unknown[] = [];
  const planOptions: PlanOptions = {
    web: {
      prepare: (policy) => {
        happened.push('prepare web');
        secured.push(policy);
        return () => void happened.push('commit web');
      },
    },
    scheduler: { limitRuns: (runsMax) => void happened.push(`limit runs to ${runsMax}`) },
    memoryBytes: 1024 ** 3,
    metrics: {
      setShard: (index, total) => void happened.push(`shard ${index} of ${total}`),
      setFirmwareVersions: (versions) => void happened.push(`${versions.length} firmware versions`),
    },
    connections: { setMax: (max) => void happened.push(`limit connections to ${max}`) },
    connectionsMaxDefault: 512,
    setFleetSize: (routers) => void happened.push(`sinks of ${routers}`),
    descriptorsMax: 1024,
    sinks: {
      prepare: async (settings) => {
        happened.push(`prepare sinks ${settings.map(({ name }) => name).join()}`);
        return { commit: async () => void happened.push('commit sinks') };
      },
    },
    fleet: {
      compare: async () => ({ added: [], changed: [], removed: [], reconnected: 0 }),
      apply: async (wish) => {
        happened.push('commit routers');
        wishes.push(wish);
        for (const settings of wish.routers) wish.create(settings, ACTIVE);
        return { added: 1, changed: 0, removed: 0 };
      },
    },
    store: {
      keepRouters: async (names) => {
        happened.push(`keep ${names.join()}`);
        return [];
      },
    },
    createRouter: (of) => {
      parts.push(of);
      return new RouterAgent({ ...options, ...of });
    },
    onStoreFailed: ({ code }) => void happened.push(`store ${code}`),
    clock,
    logger: options.logger,
    ...changes,
  };
  return {
    happened,
    parts,
    wishes,
    secured,
    ownLog,
    prepare: (config: Config) => preparePlan(config, planOptions),
    [Symbol.asyncDispose]: () => options.archives.close(),
  };
}

test('preparePlan() changes nothing, and its plan then changes the web server, and the routers and sinks side by side', async () => {
  await using bench = createBench();
  const config = createConfig();
  const plan = await bench.prepare(config);
  expect(plan.config).toBe(config);
  expect(bench.happened).toEqual(['prepare web', 'prepare sinks console']);
  bench.happened.length = 0;
  expect(await plan.commit(NEVER)).toEqual({ added: 1, changed: 0, removed: 0 });
  expect(bench.happened).toEqual([
    'commit web',
    'shard 0 of 1',
    '0 firmware versions',
    'limit connections to 512',
    'limit runs to 192',
    'sinks of 1',
    'commit routers',
    'commit sinks',
    'keep a',
  ]);
  bench.happened.length = 0;
  await (await bench.prepare(createConfig({ schedule: { concurrent_runs: 12 } }))).commit(NEVER);
  expect(bench.happened).toContain('limit runs to 12');
  bench.happened.length = 0;
  const others = new Map([['b', { name: 'b', url: 'https://192.0.2.8', labels: {}, shard: 1 }]]);
  await (await bench.prepare(createConfig({ shards: { index: 0, total: 2, peers: [], others } }))).commit(NEVER);
  // Those of other processes have the same receivers.
  expect(bench.happened).toContain('sinks of 2');
  bench.happened.length = 0;
  await (await bench.prepare(createConfig({ connections: { max: 40 } }))).commit(NEVER);
  expect(bench.happened).toEqual(expect.arrayContaining(['limit connections to 40', 'limit runs to 40']));
});

test('a plan changes the routers while a removed sink hangs, and then waits for it', async () => {
  const hanging = Promise.withResolvers<void>();
  await using bench = createBench({ sinks: { prepare: async () => ({ commit: () => hanging.promise }) } });
  const committed = (await bench.prepare(createConfig())).commit(NEVER);
  expect(bench.happened).toContain('commit routers');
  expect(bench.happened).not.toContain('keep a');
  hanging.resolve();
  expect(await committed).toEqual({ added: 1, changed: 0, removed: 0 });
  expect(bench.happened).toContain('keep a');
});

test('a plan warns if the process may open fewer files than its connections need', async () => {
  const message = expect.stringContaining('limit of open files') as unknown;
  await using enough = createBench({ descriptorsMax: 2 });
  await (await enough.prepare(createConfig())).commit(NEVER);
  expect(enough.ownLog).not.toContainEqual(expect.objectContaining({ message }));
  await using low = createBench({ descriptorsMax: 1 });
  await (await low.prepare(createConfig())).commit(NEVER);
  expect(low.ownLog).toContainEqual(
    expect.objectContaining({ level: 'warn', message, fields: { openFilesMax: 1, openFilesWanted: 2, routers: 1 } }),
  );
});

test('preparePlan() begins nothing that would have to be committed when something before it fails', async () => {
  const fault = new TypeError('Needs a restart');
  await using bench = createBench({
    web: {
      prepare: () => {
        throw fault;
      },
    },
  });
  await expect(bench.prepare(createConfig())).rejects.toBe(fault);
  expect(bench.happened).toEqual([]);
});

test('preparePlan() compiles the rules before it sends any request', async () => {
  await using bench = createBench();
  const redact = [{ pattern: '(', replacement: '' }];
  await expect(bench.prepare(createConfig({ redact }))).rejects.toThrow();
  expect(bench.happened).toEqual([]);
});

test('a plan tells routers if there are sinks, and restarts all of them when settings of all routers change', async () => {
  await using bench = createBench();
  await (await bench.prepare(createConfig())).commit(NEVER);
  await (await bench.prepare(createConfig())).commit(NEVER);
  await (await bench.prepare(createConfig({ sinks: [] }))).commit(NEVER);
  await (await bench.prepare(createConfig({ redact: [{ pattern: 'x', replacement: '' }] }))).commit(NEVER);
  expect(
    bench.parts.map(({ hasSinks, lines, backup }) => [hasSinks, lines.matcher.of('network') !== undefined, backup]),
  ).toEqual([
    [true, false, undefined],
    [true, false, undefined],
    [false, false, undefined],
    [true, true, undefined],
  ]);
  const [first, same, without, again] = bench.wishes.map(({ common }) => JSON.stringify(common));
  expect(same).toBe(first);
  expect(without).not.toBe(first);
  // Other rules for lines need no other session.
  expect(again).toBe(first);
  expect(bench.wishes.map(({ lines }) => lines)).toEqual(bench.parts.map(({ lines }) => lines));
});

test('a plan makes the folder of backups ready and says at its commit where they are', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'plan-'));
  await using bench = createBench();
  const path = join(folder.path, 'backups');
  await mkdir(path);
  await chmod(path, 0o755);
  const plan = await bench.prepare(createConfig({ backup: { schedule: '@daily', path, keep: 2, format: 'binary' } }));
  expect((await stat(path)).isDirectory()).toBe(true);
  expect(bench.ownLog).toEqual([]);
  await plan.commit(NEVER);
  expect(bench.ownLog).toEqual([
    { level: 'info', message: 'The profiles in the backup folder contain secrets of the routers', fields: { path } },
    { level: 'warn', message: 'Other users of this machine can read the backup folder', fields: { path } },
  ]);
  const backup = bench.parts[0]?.backup;
  expect(backup).toMatchObject({ format: 'binary', archive: { path } });
  const kept = { router: 'a', profile: 'p', format: 'binary', reason: 'schedule' } as const;
  for (const text of ['one', 'two', 'three']) {
    await backup?.archive.keep({ ...kept, body: ReadableStream.from([Buffer.from(text)]) });
  }
  expect((await backup?.archive.listProfiles('a'))?.map(({ versions }) => versions.length)).toEqual([2]);
});

test('a plan forgets routers that were removed long ago, logs it, and reports a store that fails', async () => {
  await using bench = createBench({ store: { keepRouters: async () => ['old'] } });
  await (await bench.prepare(createConfig())).commit(NEVER);
  expect(bench.ownLog).toEqual([
    { level: 'info', message: 'Forgot routers that are not configured any more', fields: { routers: ['old'] } },
  ]);
  await using failing = createBench({
    store: {
      keepRouters: async () => {
        throw broken;
      },
    },
  });
  expect(await (await failing.prepare(createConfig())).commit(NEVER)).toEqual({ added: 1, changed: 0, removed: 0 });
  expect(failing.happened.at(-1)).toBe('store broken');
});

test('a plan gives the web server its protection', async () => {
  await using bench = createBench();
  const headers = { 'X-Frame-Options': 'deny' };
  const users = new Map([['alice', 'hash']]);
  const tls = { certPem: 'c', keyPem: new Secret('k'), clientAuth: 'none' as const };
  await bench.prepare(createConfig());
  await bench.prepare(createConfig({ web: { listen: [], security: { headers, users } } }));
  await bench.prepare(createConfig({ web: { listen: [], security: { headers, users, tls } } }));
  expect(bench.secured).toEqual([
    { security: undefined, allowedHosts: [] },
    { security: { headers, users }, allowedHosts: [] },
    { security: { headers, users, tls }, allowedHosts: [] },
  ]);
});
