import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('a router that starts with an unset clock after its last file was read to the end has lost nothing', async () => {
  // Lines reach the disk with a rotation only, or when there are many of them.
  await using fleet = await startFleet({ simulator: { logs: { blockBytes: 4096, compressionMs: 0 } } });
  const router = fleet.router();
  for (let rotation = 0; rotation < 4; rotation++) {
    router.appendLog('network', `between two rotations, ${rotation}`);
    await fleet.advance(10 * MINUTE_MS);
    // The router has shown meanwhile that each file begins in the second in which the one before ends.
    router.rotate('network', `after rotation ${rotation}`);
    await fleet.advance(10 * MINUTE_MS);
  }
  expect(fleet.records.at(-1)?.message).toBe('between two rotations, 3');
  expect(fleet.ownLog.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('so a missing file is detected'),
  );

  router.restart();
  router.jumpClock(Date.UTC(1970, 0, 1, 0, 0, 20) - fleet.clock.now());
  for (let line = 0; line < 200; line++) router.appendLog('network', `after the start ${line}`);
  await fleet.advance(30 * MINUTE_MS);

  expect(fleet.records.filter(({ message }) => message.startsWith('after the start')).length).toBeGreaterThan(150);
  expect(fleet.records.filter(({ event }) => event === 'log.gap')).toEqual([]);
  expect(fleet.agent.summary().gaps).toBe(0);
});
