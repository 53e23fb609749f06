import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { findFreePort } from '../support/free-port.ts';
import { findNoDiskReason, openSmallDisk } from '../support/small-disk.ts';

const MIB = 1024 ** 2;
const noDisk = findNoDiskReason();

test('an agent that waits for its disk while it starts is healthy, and answers 503 to everything else', async (context) => {
  context.skip(noDisk !== undefined, noDisk);
  await using disk = await openSmallDisk(64 * MIB);
  const port = await findFreePort();
  await using fleet = await startFleet({
    web: { isLifecycleEnabled: true },
    config: (config) => ({
      ...config,
      web: { listen: [{ host: '127.0.0.1', port }] },
      storage: { ...config.storage, path: disk.path },
    }),
  });
  await fleet.advance(60_000);
  await fleet.stopAgent();
  const filler = join(disk.path, 'something else');
  await writeFile(filler, Buffer.alloc(58 * MIB));
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return [answer.status, await answer.text()];
  };

  const starting = fleet.startAgent();
  // From here on it stands still until the clock moves.
  await expect
    .poll(() => fleet.ownLog.map(({ message }) => message))
    .toContain('The state cannot be written; retrying');
  const busy = [503, 'The agent is starting or stopping; try again later.\n'];
  expect(await ask('/-/healthy')).toEqual([200, 'Healthy.\n']);
  expect(await ask('/-/ready')).toEqual(busy);
  expect(await ask('/metrics')).toEqual(busy);
  expect(await ask('/')).toEqual(busy);
  expect(await ask('/-/reload', 'POST')).toEqual(busy);
  expect(await ask('/-/quit', 'POST')).toEqual(busy);

  await rm(filler);
  await fleet.clock.advance(10_000);
  await starting;
  expect(await ask('/-/ready')).toEqual([200, 'Ready.\n']);
  expect(await ask('/-/reload', 'POST')).toEqual([200, 'Reloaded.\n']);
  await fleet.advance(60_000);
  expect(await fleet.metrics()).toMatch(/^router_up\{router="sim-1"\} 1$/m);
});
