import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { InventoryWatch } from '../../src/agent/watches.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { SourceKeeper, type SourceSettings } from '../../src/inventory/index.ts';
import { AnswerFiles } from '../../src/store/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';

/** Iterations of the event loop until the watch waits again: far more than it needs. */
const TURNS = 20;

const SOURCE: SourceSettings = {
  name: 'inv',
  type: 'file_sd',
  interval: 60_000,
  allowed_addresses: [],
  allow_http: false,
  groups: [],
  allowed_groups: [],
  allowed_credentials: [],
  allowed_tls_sets: [],
  routers_max: 50_000,
  removal_max: 0.2,
  files: [],
};

test('InventoryWatch says once what a configuration could not use of the answers, and what is not on the disk', async () => {
  const clock = createSteppedClock(0);
  const keeper = new SourceKeeper(clock);
  const ownLog: OwnLine[] = [];
  const watch = new InventoryWatch({
    inventory: keeper,
    clock,
    logger: createCollectingLogger(ownLog),
    reload: () => Promise.resolve(),
  });
  // A file is in the place of the folder.
  keeper.keepIn(new AnswerFiles('/dev/null/inventory', 1000));
  const outcome = {
    source: 'inv',
    text: undefined,
    routers: new Set(['a']),
    refused: 2,
    refusals: ['a reason'],
    seen: undefined,
  };
  const problems = { ...outcome, text: '[]', unreadable: 'no list', faulty: 'no JSON' };
  try {
    for (let load = 0; load < 2; load++) await watch.apply([SOURCE], [problems]);
    expect(ownLog.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      [
        'warn',
        'The list of a source could not be stored; after a restart its routers are missing until it answers',
        { source: 'inv', error: expect.any(String) },
      ],
      [
        'warn',
        'The stored list of a source cannot be read; its routers are missing until it answers',
        { source: 'inv', error: 'no list' },
      ],
      ['warn', 'Routers of a source are not used', { source: 'inv', routers: 2, reasons: ['a reason'] }],
      [
        'error',
        'The answer of a source cannot be used; the previous one stays in use',
        { source: 'inv', error: 'no JSON' },
      ],
    ]);
    const state = () => watch.describe()[0]?.state;
    await vi.waitFor(() => expect(watch.describe()[0]?.lastSuccess).not.toBeNull(), { timeout: 20_000, interval: 1 });
    // It can be read, but not used.
    expect([state(), watch.describe()[0]?.error]).toEqual(['down', 'no JSON']);
    await watch.apply([SOURCE], [outcome]);
    expect([state(), watch.describe()[0]?.error]).toEqual(['up', null]);
  } finally {
    await watch.close();
  }
});

test('InventoryWatch loads the configuration again until one runs with the newest list', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-watch-'));
  const clock = createSteppedClock(0);
  const keeper = new SourceKeeper(clock);
  const source = { ...SOURCE, files: [join(folder, 'a.json')] };
  let reloads = 0;
  const watch: InventoryWatch = new InventoryWatch({
    inventory: keeper,
    clock,
    logger: createCollectingLogger([]),
    async reload(isNeeded) {
      expect(isNeeded()).toBe(true);
      reloads++;
      // The first two fail, for a reason that has nothing to do with the list.
      if (reloads < 3) return;
      const text = '[\n{"name":"a"}\n]\n';
      await keeper.settle([{ source: 'inv', text, routers: new Set(['a']), refused: 0, refusals: [], seen: text }]);
    },
  });
  const until = async (count: number) => {
    await vi.waitFor(() => expect(reloads).toBe(count), { timeout: 20_000, interval: 1 });
    for (let turn = 0; turn < TURNS; turn++) await setImmediate();
  };
  try {
    await writeFile(join(folder, 'a.json'), '[{"name":"a"}]');
    await watch.apply([source], []);
    for (const count of [1, 2, 3]) {
      await until(count);
      await clock.advance(60_000);
    }
    await until(3);
    await clock.advance(60_000);
    await until(3);
  } finally {
    await watch.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test('InventoryWatch that is closed waits for no list that is still being read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-'));
  const clock = createSteppedClock(0);
  const keeper = new SourceKeeper(clock);
  const ownLog: OwnLine[] = [];
  const watch = new InventoryWatch({
    inventory: keeper,
    clock,
    logger: createCollectingLogger(ownLog),
    reload: () => Promise.resolve(),
  });
  try {
    // Long enough for a thread, which has not even started yet.
    const list = Array.from({ length: 100 }, (_, index) => `- { name: r${index}, url: "https://10.0.0.1" }\n`);
    await writeFile(join(folder, 'a.yaml'), list.join(''));
    await watch.apply([{ ...SOURCE, files: [join(folder, 'a.yaml')] }], []);
    await watch.close();
    expect([keeper.isPending('inv'), ownLog]).toEqual([false, []]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
