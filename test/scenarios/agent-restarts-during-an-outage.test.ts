import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

const strip = (page: string) => page.replaceAll(/<[^>]*>/g, '');

test('after a restart in an outage, the pages know since when, and charts claim no more than was watched since', async () => {
  await using fleet = await startFleet({
    routers: 6,
    config: (config) => ({
      ...config,
      routers: config.routers.map((router) => ({
        ...router,
        labels: { site: 'munich' },
        logs: { ...router.logs, enabled: false },
      })),
    }),
  });
  await fleet.advance(3 * MINUTE_MS);
  const before = await fleet.metrics('/router/sim-1?view=modem');
  const [good, expired] = ['<bdi><span class="good">yes</span></bdi>', '<bdi><span class="expired">yes</span></bdi>'];
  expect(before).toContain(`>Data session</dt><dd>${good}`);
  for (const router of fleet.simulator.routers) await router.fault('down');
  await fleet.advance(5 * MINUTE_MS);
  // Seen by this process: it knows since when.
  expect(strip(await fleet.metrics('/'))).toContain('6 of 6 routers down at connect since 12:03');
  const down = await fleet.metrics('/router/sim-1?view=modem');
  expect(down).not.toContain(good);
  expect(down).toContain(`>Data session</dt><dd>${expired}`);

  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(5 * MINUTE_MS);
  const page = await fleet.metrics('/');
  expect(strip(page)).toContain('6 of 6 routers down at connect since 12:03');
  expect(strip(await fleet.metrics('/router/sim-1'))).toMatch(/down since 12:03:\d\d \((9|10) min\)/);
  for (const router of fleet.simulator.routers) await router.clearFault();
  await fleet.advance(5 * MINUTE_MS);
  const rows = (await fleet.metrics('/')).matchAll(/c-spark"><svg class="spark" role="img" aria-label="([^"]*)"/g);
  // Eighteen minutes were watched, in two steps of 12 min of which the first is not whole.
  const words = '0.0 % of the last 9 min without a failed poll';
  expect([...rows].map(([, label]) => label)).toEqual(Array.from({ length: 6 }, () => words));
});
