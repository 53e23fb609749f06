import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DeadLetterStore } from '../../src/store/index.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings } from '../support/sink-settings.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { createStoreFolder } from '../support/store-folder.ts';
import { STORY_SIMULATOR, tellStory } from '../support/store-story.ts';

const MINUTE_MS = 60_000;

/**
 * What the agent of commit 1bf0417 left on the disk after {@link tellStory}, and the uids that its sinks had taken by then.
 * Its database has format 4 and its positions version 2, without what later versions have added to them.
 */
const FOLDER = join(import.meta.dirname, 'store-format-4');
const delivered = JSON.parse(readFileSync(join(FOLDER, 'delivered.json'), 'utf8')) as Record<
  'console' | 'strict' | 'laggard',
  string[]
>;

test('on the store of an earlier version every log is read from its start with the same uids, nothing is lost, and every sink goes on at its cursor', async () => {
  await using strict = await openHttpServer({ bodyBytesMax: 2500 });
  await using laggard = await openHttpServer();
  let folder = '';
  await using fleet = await startFleet({
    isStopped: true,
    simulator: STORY_SIMULATOR,
    config: (config) => {
      folder = config.storage.path;
      const sinks = [createHttpSettings('strict', strict.url), createHttpSettings('laggard', laggard.url)];
      return { ...config, sinks: [...config.sinks, ...sinks] };
    },
  });
  await tellStory(fleet, { closeLaggard: async () => {}, cutArchives: async () => {} });
  cpSync(FOLDER, folder, { recursive: true });
  await fleet.startAgent();
  fleet.router().appendLog('network', 'written for the later version');
  await fleet.advance(5 * MINUTE_MS);

  const linesOf = (component: string) =>
    fleet.records
      .filter(({ component: of, uid }) => of === component && !delivered.console.includes(uid))
      .map(({ message }) => message);
  expect(linesOf('network')).toEqual(['written for the later version']);
  expect(linesOf('events')).toEqual(['only in the archive that comes cut off']);
  expect(linesOf('system')).toEqual([
    'only in the file that is being compressed',
    'behind the file that is being compressed',
  ]);
  const uidsOf = (records: readonly object[]) => records.map((record) => (record as { uid: string }).uid);
  const all = new Set([...delivered.console, ...uidsOf(fleet.records)]);
  expect(all.size).toBe(delivered.console.length + 4);
  expect(new Set(uidsOf(fleet.records)).size).toBe(fleet.records.length);
  expect(new Set([...delivered.laggard, ...uidsOf(laggard.records())])).toEqual(all);
  const taken = new Set(uidsOf(strict.records()));
  // It refuses the same line as before.
  expect(fleet.records.filter(({ uid }) => !taken.has(uid))).toHaveLength(1);
  using letters = new DeadLetterStore({ path: folder, role: 'guest', now: () => fleet.clock.now() });
  const refusals = letters.list({ limit: 10 }).map(({ sink, code }) => `${sink} ${code}`);
  expect(new Set(refusals)).toEqual(new Set(['strict 413']));
});

test('what an earlier version had learnt of a router as a whole is found in the place that it has now', async () => {
  await using folder = await createStoreFolder();
  cpSync(FOLDER, folder.path, { recursive: true });
  using store = folder.open();
  expect(store.readFacts('sim-1')).toContain('"firstContactMs":1795262400036,"serial":"16000023","firmware":"9.5"');
  expect([...store.readPositions('sim-1').keys()]).toEqual(['events', 'firewall', 'network', 'portal', 'system']);
});
