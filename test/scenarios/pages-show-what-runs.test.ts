import { expect, test } from 'vitest';
import type { RouterAnswer } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

async function describeRouter(fleet: Fleet): Promise<RouterAnswer> {
  return JSON.parse(await fleet.metrics('/api/v1/routers/sim-1')) as RouterAnswer;
}

test('the configuration page shows what runs, after a reload as well, and no secret', async () => {
  await using fleet = await startFleet();
  const before = await fleet.metrics('/config');
  expect(before).toContain('name: console');
  expect(before).toContain('password: &quot;[secret]&quot;');
  expect(before).toContain('interval: 30s');
  expect(before).not.toMatch(/simulated\b/);
  await fleet.reload((config) => ({
    ...config,
    storage: { path: '/elsewhere', spool_max: 1024 ** 2, recent: 0 },
    web: { listen: [{ host: '127.0.0.1', port: 1 }] },
    routers: config.routers.map((router) => ({ ...router, logs: { ...router.logs, interval: 77_000 } })),
  }));
  const after = await fleet.metrics('/config');
  expect(after).toContain('interval: 1m17s');
  // These two need a restart.
  expect(after).toContain('spool_max: 64MiB');
  expect(after).toContain('127.0.0.1:0');
  expect(after).not.toContain('elsewhere');
  expect(await fleet.metrics('/')).not.toContain('Grafana');
  await fleet.reload((config) => ({ ...config, web: { ...config.web, grafana_url: 'https://grafana.example.com' } }));
  expect(await fleet.metrics('/')).toContain('href="https://grafana.example.com/d/router-exporter-fleet"');
});

test('a router is down since its first failure, and stale when its values are no longer served', async () => {
  await using fleet = await startFleet();
  await fleet.advance(60_000);
  const { since } = await describeRouter(fleet);
  await fleet.advance(60_000);
  expect(await describeRouter(fleet)).toMatchObject({ state: 'up', since, isStale: false });
  await fleet.router().fault('down');
  await fleet.advance(60_000);
  const down = await describeRouter(fleet);
  expect([down.state, down.isStale, down.since === since]).toEqual(['down', false, false]);
  // Minute by minute, the overview has what became of the fleet.
  const strip = /<figure class="strip"><svg[^>]*aria-label="([^"]*)"/.exec(await fleet.metrics('/'))?.[1];
  expect(strip).toContain('at most 1 down');
  await fleet.advance(10 * 60_000);
  expect(await describeRouter(fleet)).toMatchObject({ state: 'down', isStale: true, since: down.since });
  expect(await fleet.metrics()).not.toContain('router_uptime_seconds{router="sim-1"}');
  expect(await fleet.metrics('/?state=stale')).toContain('>sim-1</a>');
  expect(await fleet.metrics('/?state=up')).toContain('No router matches.');
});

test('records of a router that is not configured any more are not shown, until it comes back', async () => {
  await using fleet = await startFleet({ routers: 2 });
  fleet.router().appendLog('network', 'still kept');
  await fleet.advance(60_000);
  expect((await describeRouter(fleet)).recentRecords).toHaveLength(1);
  await fleet.reload((config) => ({ ...config, routers: config.routers.slice(1) }));
  expect(await fleet.metrics('/router/sim-1')).toContain('No router of this name');
  expect(await fleet.metrics('/logs')).not.toContain('still kept');
  await fleet.reload((config) => config);
  expect((await describeRouter(fleet)).recentRecords).toMatchObject([
    { message: expect.stringContaining('still kept') },
  ]);
});

test('what rotations have shown of how log files follow each other is on the page of the router, in its JSON and in the log', async () => {
  const every = 20 * 60_000;
  const logs = { rotateEveryMs: every, compressionMs: 0 };
  await using fleet = await startFleet({ simulator: { logs } });
  const verdicts = () => fleet.ownLog.flatMap(({ message }) => (/previous one ends/.test(message) ? [message] : []));
  await fleet.advance(60_000);
  expect((await describeRouter(fleet)).logRotation).toBeNull();
  expect(await fleet.metrics('/router/sim-1?view=positions')).toContain('Log rotation: no rotation has yet');
  // The clock stands a minute behind a rotation. Lines that come with it are as those of a writer that rotates.
  for (let rotation = 0; rotation < 3; rotation++) {
    fleet.router().appendLog('network', `between ${rotation}`);
    await fleet.advance(every - 60_000);
    fleet.router().appendLog('network', `with ${rotation}`);
    await fleet.advance(60_000);
  }
  expect((await describeRouter(fleet)).logRotation).toMatchObject({ linksProven: true, matches: 3, misses: 0 });
  expect(await fleet.metrics('/router/sim-1?view=positions')).toMatch(
    /Log rotation: a file begins in the second in which the one before ends \(in 3 of 3 rotations, by chance .*1 in [\d,]+\): a missing one would show\.</,
  );
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(60_000);
  expect((await describeRouter(fleet)).logRotation).toMatchObject({ linksProven: true, matches: 3 });
  await fleet.advance(every);
  fleet.router().appendLog('network', 'long behind a rotation');
  await fleet.advance(every);
  expect(await describeRouter(fleet)).toMatchObject({
    logRotation: { linksProven: false, contradictedBy: ['network'] },
    recentGaps: [],
  });
  expect(await fleet.metrics('/router/sim-1?view=positions')).toContain(
    'nothing waits for a missing one. Contradicted by network.',
  );
  const [first, , last] = verdicts();
  expect(verdicts()).toHaveLength(3);
  expect(first).toBe(
    'Each log file starts in the second in which the previous one ends, so a missing file is detected',
  );
  expect(last).toBe(
    'Log files do not provably start in the second in which the previous one ends, so missing files are not waited for',
  );
});

test('the gaps of a router are on its page and in its JSON after a restart as well, and after a change of its settings', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 0, maxFiles: 2 } } });
  const gapsOf = async () => (await describeRouter(fleet)).recentGaps;
  fleet.router().appendLog('network', 'read');
  await fleet.advance(60_000);
  await fleet.stopAgent();
  // Unread lines are deleted meanwhile.
  for (let index = 0; index < 4; index++) {
    fleet.router().appendLog('network', `unread ${index}`);
    fleet.router().rotate('network');
    await fleet.clock.advance(60_000);
  }
  fleet.router().appendLog('network', 'behind');
  await fleet.startAgent();
  await fleet.advance(20 * 60_000);
  const found = await gapsOf();
  expect(found).toMatchObject([{ component: 'network', reason: 'not-found', until: expect.any(String) }]);
  await fleet.stopAgent();
  await fleet.startAgent();
  // Before the first poll, and after looks at the logs that have found no more.
  expect(await gapsOf()).toEqual(found);
  await fleet.advance(5 * 60_000);
  expect(await gapsOf()).toEqual(found);
  expect(await fleet.metrics('/router/sim-1?view=positions')).toMatch(/Missing log lines.*not-found/s);
  // A router with other settings begins anew, too.
  await fleet.reload((config) => ({
    ...config,
    routers: config.routers.map((router) => ({ ...router, logs: { ...router.logs, interval: 77_000 } })),
  }));
  expect(await gapsOf()).toEqual(found);
});

test('lines that are missing are gaps on the overview, and those that are left out as configured are not', async () => {
  const logs = { enabled: true, interval: 60_000, start: 'now', components: ['*'] } as const;
  await using fleet = await startFleet({
    isStopped: true,
    router: { logs },
    simulator: { logs: { compressionMs: 0, maxFiles: 2 } },
  });
  fleet.router().appendLog('network', 'from before');
  await fleet.clock.advance(60_000);
  await fleet.startAgent();
  await fleet.advance(2 * 60_000);
  expect(await fleet.metrics()).toMatch(/^router_log_gaps_total\{.*reason="skipped"\} 1$/m);
  expect(fleet.agent.summary().gaps).toBe(0);
  const readGaps = async () => /(\d+)\s+log gap/.exec((await fleet.metrics('/')).replaceAll(/<[^>]*>/g, ' '))?.[1];
  expect(await readGaps()).toBeUndefined();
  for (let index = 0; index < 4; index++) {
    fleet.router().appendLog('network', `unread ${index}`);
    fleet.router().rotate('network');
    await fleet.clock.advance(1000);
  }
  await fleet.advance(20 * 60_000);
  expect(fleet.agent.summary().gaps).toBe(1);
  expect(await readGaps()).toBe('1');
});
