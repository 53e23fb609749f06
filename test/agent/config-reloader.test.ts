import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { SelfMetrics } from '../../src/agent/metrics/self-metrics.ts';
import type { Plan } from '../../src/agent/plan.ts';
import { ConfigReloader } from '../../src/agent/reload.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import type { Config, LoadedConfig, WatchedFiles } from '../../src/config/index.ts';
import { type ConfigFault, readDigest } from '../../src/settings/index.ts';
import type { PlanSummary } from '../../src/web/index.ts';
import { createBareConfig } from '../support/bare-config.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

const SECOND_MS = 1000;
const NO_FILES: WatchedFiles = { patterns: [], digests: new Map() };
const FAULT: ConfigFault = { file: 'f.yaml', line: 3, column: 5, keyPath: 'routers', message: 'Expected a list' };

/** A reloader whose steps are written down; each goes on when the test lets it. */
function createBench(options: Partial<ConstructorParameters<typeof ConfigReloader>[0]> = {}) {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const ownLog: OwnLine[] = [];
  const happened: string[] = [];
  const metrics = new SelfMetrics('0');
  const state: { loaded: LoadedConfig; held: Promise<void> | undefined } = {
    loaded: { ok: true, config: createBareConfig(), watched: NO_FILES },
    held: undefined,
  };
  const reloader = new ConfigReloader({
    load: async () => {
      happened.push('load');
      return state.loaded;
    },
    prepare: async (config) => {
      happened.push('prepare');
      await state.held;
      return {
        config,
        compare: () => Promise.resolve({ added: [], changed: [], removed: [], reconnected: 0 }),
        commit: () => Promise.resolve({ added: 0, changed: 0, removed: 0 }),
      };
    },
    commit: async (plan: Plan) => {
      happened.push(`commit ${plan.config === (state.loaded.ok && state.loaded.config)}`);
      return { added: 0, changed: 0, removed: 0 };
    },
    watched: undefined,
    clock,
    logger: createCollectingLogger(ownLog),
    metrics,
    ...options,
  });
  reloader.start();
  const readMetric = async (name: string) => {
    const text = await metrics.render('text');
    return Number(new RegExp(`^router_exporter_config_last_reload_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  return { clock, ownLog, happened, state, reloader, readMetric };
}

test('ConfigReloader loads, prepares and commits what it has loaded, and says when', async () => {
  const { clock, reloader, happened, readMetric } = createBench();
  const startS = clock.now() / SECOND_MS;
  expect([await readMetric('successful'), await readMetric('success_timestamp_seconds')]).toEqual([1, startS]);
  await clock.advance(SECOND_MS);
  expect(await reloader.reload()).toEqual({ ok: true });
  expect(happened).toEqual(['load', 'prepare', 'commit true']);
  expect(await readMetric('success_timestamp_seconds')).toBe(startS + 1);
});

test('ConfigReloader describes what runs: since when, with which warnings, and how the last reload ended', async () => {
  const { clock, state, reloader } = createBench({ warnings: [FAULT] });
  const warnings = ['f.yaml:3:5: routers: Expected a list'];
  expect(reloader.describe()).toEqual({
    loadedAt: '2026-11-21T00:00:00.000Z',
    lastReload: null,
    pending: null,
    warnings,
  });
  await clock.advance(60_000);
  state.loaded = { ok: false, faults: [FAULT], watched: NO_FILES };
  await reloader.reload();
  const failed = { at: '2026-11-21T00:01:00.000Z', faults: warnings };
  expect(reloader.describe()).toEqual({
    loadedAt: '2026-11-21T00:00:00.000Z',
    lastReload: failed,
    pending: null,
    warnings,
  });
  state.loaded = { ok: true, config: createBareConfig(), watched: NO_FILES, warnings: [{ ...FAULT, line: 4 }] };
  await reloader.reload();
  expect(reloader.describe()).toEqual({
    loadedAt: failed.at,
    lastReload: { at: failed.at, faults: [] },
    pending: null,
    warnings: ['f.yaml:4:5: routers: Expected a list'],
  });
});

test('ConfigReloader prepares nothing of a configuration with faults, and reports all of them', async () => {
  const { clock, state, reloader, happened, ownLog, readMetric } = createBench();
  state.loaded = { ok: false, faults: [FAULT, { ...FAULT, line: 4 }], watched: NO_FILES };
  await clock.advance(SECOND_MS);
  const faults = ['f.yaml:3:5: routers: Expected a list', 'f.yaml:4:5: routers: Expected a list'];
  expect(reloader.describe().lastReload).toBeNull();
  expect(await reloader.reload()).toEqual({ ok: false, faults });
  expect(reloader.describe().lastReload).toEqual({ at: '2026-11-21T00:00:01.000Z', faults });
  expect(happened).toEqual(['load']);
  expect(ownLog).toEqual(
    faults.map((fault) => ({ level: 'error', message: 'The configuration was not loaded again', fields: { fault } })),
  );
  expect(await readMetric('successful')).toBe(0);
  expect(await readMetric('success_timestamp_seconds')).toBe((clock.now() - SECOND_MS) / SECOND_MS);
});

test('ConfigReloader has a line in the log for the first faults, and a number for the rest', async () => {
  const { state, reloader, ownLog } = createBench();
  state.loaded = {
    ok: false,
    faults: Array.from({ length: 12 }, (_, line) => ({ ...FAULT, line })),
    watched: NO_FILES,
  };
  expect(await reloader.reload()).toMatchObject({ ok: false, faults: { length: 12 } });
  expect(ownLog).toHaveLength(11);
  expect(ownLog.at(-1)).toEqual({
    level: 'error',
    message: 'The configuration has more faults; router-exporter check lists them',
    fields: { faults: 2 },
  });
});

test('ConfigReloader commits nothing that could not be prepared, and a later reload makes it well', async () => {
  const { state, reloader, happened, readMetric } = createBench();
  state.held = Promise.reject(new TypeError('No room'));
  state.held.catch(() => {});
  expect(await reloader.reload()).toEqual({ ok: false, faults: ['No room'] });
  expect(happened).toEqual(['load', 'prepare']);
  expect(await readMetric('successful')).toBe(0);
  state.held = undefined;
  expect(await reloader.reload()).toEqual({ ok: true });
  expect(await readMetric('successful')).toBe(1);
});

test('ConfigReloader without a file has nothing to load', async () => {
  const { reloader, happened, readMetric } = createBench({ load: undefined });
  const faults = ['This configuration was not loaded from a file'];
  expect(await reloader.reload()).toEqual({ ok: false, faults });
  expect(happened).toEqual([]);
  expect(await readMetric('successful')).toBe(1);
});

test('ConfigReloader reloads once after the other, however many ask', async () => {
  const { state, reloader, happened } = createBench();
  const held = Promise.withResolvers<void>();
  state.held = held.promise;
  const both = [reloader.reload(), reloader.reload()];
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(happened).toEqual(['load', 'prepare']);
  held.resolve();
  expect(await Promise.all(both)).toEqual([{ ok: true }, { ok: true }]);
  expect(happened).toEqual(['load', 'prepare', 'commit true', 'load', 'prepare', 'commit true']);
});

test('ConfigReloader that is closed waits for the reload under way and begins none', async () => {
  const { state, reloader, happened } = createBench();
  const held = Promise.withResolvers<void>();
  state.held = held.promise;
  const first = reloader.reload();
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  const stopping = { ok: false, faults: ['The agent is stopping'] };
  const closing = reloader.close().then(() => happened.push('closed'));
  expect(await first).toEqual(stopping);
  expect(await reloader.reload()).toEqual(stopping);
  expect(happened).toEqual(['load', 'prepare']);
  held.resolve();
  await closing;
  expect(happened).toEqual(['load', 'prepare', 'commit true', 'closed']);
});

test('ConfigReloader that is closed aborts reading a configuration, without a line in the log', async () => {
  const loading = Promise.withResolvers<LoadedConfig>();
  const { reloader, state, happened, ownLog } = createBench({ load: () => loading.promise });
  const asked = [reloader.reload(), reloader.tryOut()];
  await setImmediate();
  await reloader.close();
  const stopping = { ok: false, faults: ['The agent is stopping'] };
  expect(await Promise.all(asked)).toEqual([stopping, stopping]);
  loading.resolve(state.loaded);
  await setImmediate();
  expect([happened, ownLog]).toEqual([[], []]);
});

test('ConfigReloader reloads when a watched file changes, those of a configuration with faults included', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'reloader-'));
  const files = (name: string): WatchedFiles => ({
    patterns: [join(folder.path, `${name}*.yaml`)],
    digests: new Map(),
  });
  const { clock, state, reloader, happened, ownLog } = createBench({ watched: files('a') });
  /** Writes a file, and lets time pass until it was noticed. */
  const seeChangeOf = async (file: string) => {
    happened.length = 0;
    await writeFile(join(folder.path, file), 'text');
    const lookAgain = async () => {
      await clock.advance(SECOND_MS);
      return happened;
    };
    await expect.poll(lookAgain).toContain('load');
    // The watch takes no other files while the reload is under way.
    await reloader.reload();
  };
  state.loaded = { ok: false, faults: [FAULT], watched: files('b') };
  await seeChangeOf('a1.yaml');
  expect(ownLog[0]).toMatchObject({ level: 'info', message: 'A watched file of the configuration has changed' });
  // A main file that cannot be read names no files.
  state.loaded = { ok: false, faults: [FAULT], watched: NO_FILES };
  await seeChangeOf('b1.yaml');
  state.loaded = { ok: true, config: createBareConfig(), watched: files('c') };
  await seeChangeOf('b2.yaml');
  await seeChangeOf('c1.yaml');
  await reloader.close();
});

const PLAN: PlanSummary = {
  routers: {
    total: 1,
    added: { count: 1, names: ['plant-8'] },
    changed: { count: 0, routers: [] },
    removed: { count: 0, names: [] },
    reconnected: 0,
  },
  sections: [],
  needsRestart: [],
};

test('ConfigReloader tries a reload once for each change of a file that waits for one, and has it ready for the pages', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'reloader-'));
  const path = join(folder.path, 'main.yaml');
  await writeFile(path, 'a');
  const reread = { patterns: [path], digests: new Map([[path, await readDigest(path, 100)]]) };
  const tried: Config[] = [];
  const { clock, state, reloader, happened } = createBench({
    reread,
    tryOut: (config) => {
      tried.push(config);
      return Promise.resolve(PLAN);
    },
  });
  /** Lets looks at the file come and go, with the time that the system takes. */
  const pass = (isDone: () => boolean) =>
    vi.waitFor(
      () => {
        void clock.advance(SECOND_MS);
        if (!isDone()) throw new RangeError('Not yet');
      },
      { interval: 1, timeout: 4000 },
    );
  const seen = () => reloader.describe().pending;
  expect(seen()).toBe('unchanged');
  await writeFile(path, 'bb');
  await pass(() => seen() !== 'unchanged');
  expect(seen()).toMatchObject({ result: { ok: true, plan: PLAN } });
  // Pages that look at it again and again cost nothing more.
  const looked = clock.now();
  await pass(() => clock.now() > looked + 60 * SECOND_MS);
  for (let view = 0; view < 10; view++) reloader.describe();
  expect([tried.length, happened]).toEqual([1, ['load']]);
  state.loaded = { ok: false, faults: [FAULT], watched: NO_FILES };
  await writeFile(path, 'ccc');
  const before = seen();
  await pass(() => seen() !== before);
  expect(seen()).toMatchObject({ result: { ok: false, faults: ['f.yaml:3:5: routers: Expected a list'] } });
  // A successful reload has nothing pending; one with unknown files has no status.
  const digests = new Map([[path, await readDigest(path, 100)]]);
  state.loaded = { ok: true, config: createBareConfig(), watched: NO_FILES, reread: { patterns: [path], digests } };
  await reloader.reload();
  expect(seen()).toBe('unchanged');
  state.loaded = { ok: true, config: createBareConfig(), watched: NO_FILES };
  await reloader.reload();
  expect(seen()).toBeNull();
  expect(tried).toHaveLength(1);
  await reloader.close();
});
