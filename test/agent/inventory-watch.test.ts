import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { InventoryWatch } from '../../src/agent/inventory-watch.ts';
import { createSteppedClock } from '../../src/base/index.ts';
import { SourceKeeper, type SourceSettings } from '../../src/inventory/index.ts';
import { createCollectingLogger } from '../support/collecting-logger.ts';

/** Turns of the event loop in which the watch begins to wait again: far more than it needs. */
const TURNS = 20;

test('InventoryWatch loads the configuration again until one runs with the newest list', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-watch-'));
  const clock = createSteppedClock(0);
  const keeper = new SourceKeeper(clock);
  const source: SourceSettings = {
    name: 'inv',
    type: 'file_sd',
    intervalMs: 60_000,
    allowed: { addresses: [], allowsHttp: false, groups: [], credentials: [], tlsSets: [] },
    groups: [],
    removalMax: 0.2,
    files: [join(folder, 'a.json')],
  };
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
