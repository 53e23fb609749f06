import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { unpackLines } from '../../src/base/index.ts';
import { startFleet } from '../support/fleet.ts';
import { expectEachLineOnce } from '../support/truth.ts';

const SECOND_MS = 1000;
/** More text than is read on the main thread. */
const LINES = 9000;

test('a long archive arrives line by line, and is stored packed', async () => {
  let folder = '';
  await using fleet = await startFleet({
    isStopped: true,
    config: (config) => {
      folder = config.storage.path;
      return config;
    },
  });
  const router = fleet.router();
  for (let index = 0; index < LINES; index++) {
    router.appendLog('network', `chain wan${index % 3} connected, address 10.0.${index % 256}.${index % 97}`);
    if (index % 500 === 0) await fleet.clock.advance(SECOND_MS);
  }
  router.rotate('network');
  await fleet.clock.advance(10 * SECOND_MS);
  await fleet.startAgent();
  await fleet.advance(60 * SECOND_MS);
  await expect.poll(() => fleet.records.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(LINES);
  expectEachLineOnce(fleet.records, router, 'network');
  await fleet.stopAgent();

  using database = new DatabaseSync(join(folder, 'router-exporter.db'), { readOnly: true });
  const rows = database.prepare('SELECT body FROM spool').all();
  const bodies = rows.map(({ body }) => body as Uint8Array);
  const stored = bodies.reduce((sum, body) => sum + unpackLines(body).memory.length, 0);
  expect(stored / bodies.reduce((sum, body) => sum + body.length, 0)).toBeGreaterThan(8);
});
