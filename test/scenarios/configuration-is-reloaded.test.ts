import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Config, RouterSettings } from '../../src/config/index.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { startFleet } from '../support/fleet.ts';
import { createHttpSettings, createStdoutSettings } from '../support/sink-settings.ts';

const MINUTE_MS = 60_000;

function withRouters(change: (router: RouterSettings, index: number) => RouterSettings | undefined) {
  return (config: Config): Config => ({
    ...config,
    routers: config.routers.flatMap((router, index) => change(router, index) ?? []),
  });
}

function pollsOf(metrics: string, router: string): string | undefined {
  return new RegExp(`^router_up\\{router="${router}".*\\} (\\d)$`, 'm').exec(metrics)?.[1];
}

test('a reload leaves routers that did not change alone: session, phase, counters and values', async () => {
  await using fleet = await startFleet({ routers: 3 });
  await fleet.advance(5 * MINUTE_MS);
  const requests = fleet.router(0).counters.requests['GET /status/sysdetail/system'] ?? 0;

  const result = await fleet.reload(withRouters((router, index) => (index === 2 ? undefined : router)));
  const metrics = await fleet.metrics();
  await fleet.advance(5 * MINUTE_MS);

  expect(result).toEqual({ ok: true });
  expect(metrics).toMatch(/^router_uptime_seconds\{router="sim-1"\}/m);
  expect(metrics).toContain('router_api_logins_total{router="sim-1"} 1\n');
  expect(fleet.router(0).counters).toMatchObject({ logins: 1, logouts: 0 });
  expect(fleet.router(0).counters.requests['GET /status/sysdetail/system']).toBe(requests + 5);
});

test('a router that is taken out of the configuration is logged out of, and all its series vanish', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(2 * MINUTE_MS);
  await fleet.reload(withRouters((router, index) => (index === 1 ? undefined : router)));
  const { requests: before } = fleet.router(1).counters;

  await fleet.advance(10 * MINUTE_MS);

  expect(await fleet.metrics()).not.toContain('sim-2');
  expect(fleet.router(1).counters.logouts).toBe(1);
  expect(fleet.router(1).counters.requests).toEqual(before);
  expect(fleet.agent.summary()).toMatchObject({ routers: 1, states: { up: 1 } });
});

test('a router that is new is polled at once, and one that changed begins anew with the counters that it had', async () => {
  await using fleet = await startFleet({
    routers: 3,
    config: (config) => ({ ...config, routers: config.routers.slice(0, 2) }),
  });
  await fleet.advance(3 * MINUTE_MS);
  const spare = { url: fleet.router(2).url, name: 'sim-3' };

  const changed = withRouters((router, index) =>
    index === 1 ? { ...router, poll: { ...router.poll, interval: 30_000, deadline: 20_000 } } : router,
  );
  const result = await fleet.reload((config) => {
    const [first, ...others] = changed(config).routers;
    if (!first) throw new RangeError('There is no router');
    return { ...config, routers: [first, ...others, { ...first, ...spare }] };
  });
  await fleet.advance(2 * MINUTE_MS);
  const metrics = await fleet.metrics();

  expect(result).toEqual({ ok: true });
  expect(['sim-1', 'sim-2', 'sim-3'].map((name) => pollsOf(metrics, name))).toEqual(['1', '1', '1']);
  expect(metrics).toContain('router_api_logins_total{router="sim-2"} 2\n');
  expect(fleet.router(1).counters).toMatchObject({ logins: 2, logouts: 1 });
  expect(fleet.router(0).counters).toMatchObject({ logins: 1, logouts: 0 });
});

test('labels that changed are on every series afterwards, and no series has the old ones', async () => {
  await using fleet = await startFleet();
  await fleet.advance(2 * MINUTE_MS);
  await fleet.reload(withRouters((router) => ({ ...router, labels: { site: 'munich' } })));
  await fleet.advance(2 * MINUTE_MS);

  const series = (await fleet.metrics()).split('\n').filter((line) => line.includes('router="sim-1"'));
  expect(series.length).toBeGreaterThan(50);
  expect(series.filter((line) => !line.includes('router="sim-1",site="munich"'))).toEqual([]);
});

test('a reload with a fault changes nothing, says what is wrong, and shows until one succeeds', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(2 * MINUTE_MS);

  const result = await fleet.reload(undefined);
  const faulty = await fleet.metrics();
  await fleet.advance(2 * MINUTE_MS);
  const again = await fleet.reload((config) => config);
  const mended = await fleet.metrics();

  expect(result).toEqual({ ok: false, faults: ['router-exporter.yaml:3:5: routers: Expected something else'] });
  expect(faulty).toContain('router_exporter_config_last_reload_successful 0\n');
  expect(fleet.ownLog).toContainEqual(
    expect.objectContaining({
      level: 'error',
      fields: { fault: 'router-exporter.yaml:3:5: routers: Expected something else' },
    }),
  );
  expect(again).toEqual({ ok: true });
  expect(mended).toContain('router_exporter_config_last_reload_successful 1\n');
  expect(fleet.router(0).counters).toMatchObject({ logins: 1, logouts: 0 });
  const time = /^router_exporter_config_last_reload_success_timestamp_seconds (\S+)$/m.exec(mended)?.[1];
  expect(Number(time)).toBe(fleet.clock.now() / 1000);
});

test('a reload ends a poll that hangs, of a router whose settings have changed, and nothing of the others', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(2 * MINUTE_MS);
  await fleet.router(1).fault('hang');
  // The hanging poll begins and is not waited for.
  await fleet.clock.advance(MINUTE_MS);

  const reloading = fleet.reload(
    withRouters((router, index) =>
      index === 1 ? { ...router, byte_budget: { perDay: 1e9, statusShare: 0.2 } } : router,
    ),
  );
  // The router does not answer the logout either, so the reload ends by its own bound.
  const result = await advanceUntil(reloading, fleet.clock, 1000);

  expect(result).toEqual({ ok: true });
  expect(fleet.router(0).counters).toMatchObject({ logins: 1, logouts: 0 });
});

test('a reload that changes all routers polls them at once, and takes none out of /sd, while one of them hangs', async () => {
  await using fleet = await startFleet({ routers: 3 });
  await fleet.advance(2 * MINUTE_MS);
  await fleet.router(2).fault('hang');
  const loginsOf = (index: number) => fleet.router(index).counters.logins;

  const reloading = fleet.reload(
    withRouters((router) => ({ ...router, byte_budget: { perDay: 1e9, statusShare: 0.2 } })),
  );
  await expect.poll(() => [0, 1].map((index) => fleet.router(index).counters.logouts)).toEqual([1, 1]);
  // The router that hangs is logged out of for five seconds.
  const loginsLater = async () => {
    await fleet.clock.advance(10);
    return [0, 1].map(loginsOf);
  };
  await expect.poll(loginsLater).toEqual([2, 2]);
  await expect.poll(async () => pollsOf(await fleet.metrics(), 'sim-1')).toBe('1');

  expect(fleet.clock.monotonic()).toBeLessThan(2 * MINUTE_MS + 5000);
  expect(await fleet.metrics('/sd')).toMatch(/sim-1.*sim-2.*sim-3/s);
  expect(await fleet.metrics()).toMatch(/^router_uptime_seconds\{router="sim-3"\}/m);
  expect(await advanceUntil(reloading, fleet.clock, 1000)).toEqual({ ok: true });
});

test('a router that is removed together with a sink that hangs is logged out of', async () => {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const hanging = createHttpSettings('hanging', `http://127.0.0.1:${port}/`);
  await using fleet = await startFleet({ routers: 2, config: (config) => ({ ...config, sinks: [hanging] }) });
  fleet.router(0).appendLog('network', 'a line');
  await advanceUntil(asked.promise, fleet.clock, 1000);

  const reloading = fleet.reload((config) => ({
    ...withRouters((router, index) => (index === 1 ? undefined : router))(config),
    sinks: [createStdoutSettings('console')],
  }));
  expect(await advanceUntil(reloading, fleet.clock, 1000)).toEqual({ ok: true });
  server.closeAllConnections();
  server.close();
  expect(fleet.router(1).counters).toMatchObject({ logins: 1, logouts: 1 });
});

test('a sink that is removed before it had its records is named with their number, at a reload and at a start', async () => {
  const [console, away] = [createStdoutSettings('console'), createHttpSettings('away', 'http://127.0.0.1:9/')];
  await using fleet = await startFleet({ config: (config) => ({ ...config, sinks: [console, away] }) });
  const gone = () =>
    fleet.ownLog.filter(({ message }) => message.startsWith('Sink removed with')).map(({ fields }) => fields);
  for (const line of ['one', 'two']) fleet.router().appendLog('network', line);
  await fleet.advance(2 * MINUTE_MS);
  await fleet.stopAgent();
  fleet.propose((config) => ({ ...config, sinks: [console] }));
  await fleet.startAgent();
  expect(gone()).toEqual([{ sink: 'away', records: 2 }]);
  await fleet.reload((config) => ({ ...config, sinks: [console, { ...away, name: 'late' }] }));
  fleet.router().appendLog('network', 'three');
  await fleet.advance(2 * MINUTE_MS);
  await advanceUntil(
    fleet.reload((config) => ({ ...config, sinks: [console] })),
    fleet.clock,
    1000,
  );
  expect(gone().slice(1)).toEqual([{ sink: 'late', records: 1 }]);
  await fleet.stopAgent();
  await fleet.startAgent();
  expect(gone()).toHaveLength(2);
});

test('other rules for log lines hold from the reload on, and touch no session and no schedule', async () => {
  const gauge = {
    name: 'router_log_queue_length',
    help: 'Queue.',
    type: 'gauge',
    components: ['*'],
    pattern: 'queue has (?P<length>\\d+) entries',
    labels: [],
    fixed_labels: {},
    value: 'length',
  } as const;
  const words = { name: 'router_log_words_total', help: 'Words.', type: 'counter' } as const;
  const counter = { ...words, components: ['*'], pattern: 'word', labels: [], fixed_labels: {} } as const;
  await using fleet = await startFleet({ routers: 2, config: (config) => ({ ...config, log_rules: [gauge] }) });
  fleet.router().appendLog('network', 'queue has 7 entries, pin=4711');
  await fleet.advance(2 * MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_log_queue_length{router="sim-1",component="network"} 7\n');
  const polls = fleet.router(1).counters.requests['GET /status/sysdetail/system'] ?? 0;

  await fleet.reload((config) => ({
    ...config,
    log_rules: [counter],
    redact: [{ pattern: 'pin=\\d+', replacement: '[redacted]' }],
  }));
  fleet.router().appendLog('network', 'a word of pin=4711');
  await fleet.advance(2 * MINUTE_MS);

  expect(fleet.records.map(({ message }) => message)).toEqual([
    'queue has 7 entries, pin=4711',
    'a word of [redacted]',
  ]);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_log_words_total{router="sim-1",component="network"} 1\n');
  expect(metrics).not.toContain('router_log_queue_length{');
  for (const index of [0, 1]) expect(fleet.router(index).counters).toMatchObject({ logins: 1, logouts: 0 });
  expect(fleet.router(1).counters.requests['GET /status/sysdetail/system']).toBe(polls + 2);
});

test('sinks that are added by a reload get what comes from then on, and logs begin to be followed', async () => {
  await using fleet = await startFleet({ config: (config) => ({ ...config, sinks: [] }) });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(2 * MINUTE_MS);
  expect(fleet.records).toEqual([]);

  await fleet.reload((config) => ({ ...config, sinks: [createStdoutSettings('console')] }));
  await fleet.advance(2 * MINUTE_MS);
  expect(fleet.records.map(({ message }) => message)).toEqual(['a line']);

  await fleet.reload((config) => config);
  fleet.router().appendLog('network', 'a line for nobody');
  await fleet.advance(2 * MINUTE_MS);
  expect(fleet.records).toHaveLength(1);
});
