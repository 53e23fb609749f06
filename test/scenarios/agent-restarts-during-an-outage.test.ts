import { expect, test } from 'vitest';
import type { RouterSettings } from '../../src/config/index.ts';
import type { RouterAnswer } from '../../src/web/index.ts';
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

test('after a restart in an outage, the read progress of the logs is as before, on pages and in the API, until they are read again', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 0, maxFiles: 2 } } });
  fleet.router().appendLog('network', 'read');
  await fleet.advance(2 * MINUTE_MS);
  // Lines that are deleted before they are read.
  for (let index = 0; index < 4; index++) {
    fleet.router().appendLog('network', `unread ${index}`);
    fleet.router().rotate('network');
    await fleet.clock.advance(1000);
  }
  await fleet.advance(20 * MINUTE_MS);
  await fleet.router().fault('down');
  await fleet.advance(10 * MINUTE_MS);
  type Logs = Pick<RouterAnswer, 'logs' | 'logLagSeconds' | 'gaps' | 'logLossSince'>;
  const readLogs = async () => JSON.parse(await fleet.metrics('/api/v1/routers/sim-1')) as Logs;
  /** The same, some time later. */
  const later = ({ logs, logLagSeconds, gaps, logLossSince }: Logs, seconds: number) => ({
    logs: logs.map((log) => ({ ...log, lagSeconds: (log.lagSeconds ?? Number.NaN) + seconds })),
    logLagSeconds: (logLagSeconds ?? Number.NaN) + seconds,
    gaps,
    logLossSince,
  });
  const before = await readLogs();
  expect(before).toMatchObject({ gaps: 1, logs: { length: expect.any(Number) } });
  expect(before.logs.find(({ component }) => component === 'network')).toMatchObject({
    gaps: 1,
    newest: expect.any(String),
    position: { file: 'network/current' },
  });
  const tile = async () => /view=positions">Logs<.*?<\/li>/s.exec(await fleet.metrics('/router/sim-1'))?.[0];
  expect(strip((await tile()) ?? '')).toMatch(/(9|10) min behind.*1 gap/);

  await fleet.stopAgent();
  await fleet.clock.advance(MINUTE_MS);
  await fleet.startAgent();
  expect(await readLogs()).toMatchObject(later(before, 60));
  expect(strip((await tile()) ?? '')).toMatch(/1[01] min behind.*1 gap/);
  await fleet.advance(5 * MINUTE_MS);
  expect(await readLogs()).toMatchObject(later(before, 6 * 60));
  expect(await fleet.metrics('/router/sim-1?view=positions')).toContain('network/current at ');
  expect(strip(await fleet.metrics('/'))).toMatch(/1[567] min\s*1 gap/);
  expect(await fleet.metrics('/metrics')).not.toMatch(/^router_log_(lag|newest|archives)/m);

  // A stop in the middle of it forgets nothing.
  await fleet.stopAgent();
  await fleet.startAgent();
  expect(await readLogs()).toMatchObject(later(before, 6 * 60));
  // Logs that are not read any more make no progress.
  const pause = (router: RouterSettings): RouterSettings => ({ ...router, state: 'paused' });
  const unfollow = (router: RouterSettings): RouterSettings => ({
    ...router,
    logs: { ...router.logs, enabled: false },
  });
  for (const change of [pause, unfollow]) {
    await fleet.reload((config) => ({ ...config, routers: config.routers.map(change) }));
    expect(await readLogs()).toMatchObject({ logs: [], logLagSeconds: null, gaps: 0 });
    await fleet.reload((config) => config);
    expect(await readLogs()).toMatchObject({ logs: { length: before.logs.length }, gaps: 1 });
  }

  // Read again, they are not as if nothing had been lost; a day later, a restart does not warn any more.
  await fleet.router().clearFault();
  await fleet.advance(20 * MINUTE_MS);
  expect(await readLogs()).toMatchObject({ gaps: 1 });
  expect(strip(await fleet.metrics('/'))).toContain('1 log gap');
  await fleet.stopAgent();
  await fleet.clock.advance(24 * 60 * MINUTE_MS);
  await fleet.startAgent();
  await fleet.advance(5 * MINUTE_MS);
  expect(await readLogs()).toMatchObject({ gaps: 0 });
});
