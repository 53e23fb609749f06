import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import { BOARD } from '../agent/router-agent-bench.ts';
import { answerJson, openRouter } from '../client/http-router.ts';
import { startFleet } from '../support/fleet.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** For days of the clock that are to pass quickly. */
const RARELY_POLLED = {
  poll: {
    interval: 10 * MINUTE_MS,
    timeout: 10_000,
    connect_timeout: 5000,
    deadline: 45_000,
    stale_after: HOUR_MS,
  },
  logs: { enabled: false, interval: 30_000, start: 'all', components: ['*'] },
} as const;

test('a card that a router does not have is asked for once a day, restarts of the agent or not, and shown as unsupported, never as a failure', async () => {
  const poll = { ...RARELY_POLLED.poll, interval: HOUR_MS, stale_after: 3 * HOUR_MS };
  await using fleet = await startFleet({ router: { ...RARELY_POLLED, poll } });
  // Cards that a simulated router does not have are paths that lead nowhere.
  const countAbsent = () => fleet.router().counters.requests['GET (unknown)'] ?? 0;
  await fleet.advance(1.5 * HOUR_MS);
  const first = countAbsent();
  await fleet.advance(22 * HOUR_MS);
  const metrics = await fleet.metrics();

  expect(first).toBeGreaterThan(10);
  expect(countAbsent()).toBe(first);
  expect(metrics).toContain('router_resource_supported{router="sim-1",resource="sfp*"} 0\n');
  expect(metrics).not.toContain('router_resource_up{router="sim-1",resource="sfp');
  expect(metrics).not.toContain('resource="sfp3"');
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(fleet.ownLog.filter(({ level }) => level === 'warn')).toEqual([]);

  await fleet.advance(2 * HOUR_MS);
  expect(countAbsent()).toBe(2 * first);
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(12 * HOUR_MS);
  expect(countAbsent()).toBe(2 * first);
  expect(await fleet.metrics()).toContain('router_resource_supported{router="sim-1",resource="sfp*"} 0\n');
  await fleet.advance(12 * HOUR_MS);
  expect(countAbsent()).toBe(3 * first);
});

test('a card that a starting router answers with 404 is down meanwhile, and is read again within minutes', async () => {
  let isStarting = false;
  await using router = await openRouter((request, response) => {
    const url = request.url ?? '';
    if (url.endsWith('/status/device_info')) answerJson(response, BOARD);
    else if (url.endsWith('/status/lte2') && !isStarting) answerJson(response, { status: { unique: { RSSI: '-71' } } });
    else if (url.includes('/auth/')) answerJson(response, {});
    else response.writeHead(404).end();
  });
  await using fleet = await startFleet({
    config: (one) => ({ ...one, sinks: [], routers: one.routers.map((first) => ({ ...first, url: router.url })) }),
  });
  await fleet.advance(3 * MINUTE_MS);
  const series = 'router="sim-1",resource="lte2"';
  expect(await fleet.metrics()).toContain(`router_resource_up{${series}} 1\n`);

  isStarting = true;
  await fleet.advance(MINUTE_MS);
  expect(await fleet.metrics()).toContain(`router_resource_up{${series}} 0\n`);
  expect(await fleet.metrics()).toContain(`router_resource_supported{${series}} 1\n`);
  isStarting = false;
  await fleet.advance(2 * MINUTE_MS);
  expect(await fleet.metrics()).toContain(`router_resource_up{${series}} 1\n`);
  expect(await fleet.metrics()).toMatch(/^router_modem_rssi_dbm\{.*\} -71$/m);

  // A card that was taken out is one that the router lacks, after an hour.
  isStarting = true;
  await fleet.advance(2 * HOUR_MS);
  const metrics = await fleet.metrics();
  expect(metrics).not.toContain(`{${series}}`);
  expect(metrics).toContain('router_resource_supported{router="sim-1",resource="lte*"} 0\n');
});

test('after the firmware changed, what a router did not have is asked for at its next inventory', async () => {
  await using fleet = await startFleet();
  await fleet.advance(HOUR_MS);
  fleet.router().setStatus('device_info', { list: [{ firmware_version: '9.6' }] });
  fleet.router().setStatus('sfp3', { list: [{ link: 'up', inserted: 'yes', temperature: '41.5 °C' }] });

  await fleet.advance(20 * MINUTE_MS);
  const metrics = await fleet.metrics();

  expect(metrics).toMatch(/^router_sfp_temperature_celsius\{router="sim-1",.*slot="3".*\} 41\.5$/m);
  expect(metrics).toContain('router_resource_supported{router="sim-1",resource="sfp3"} 1\n');
  expect(metrics).not.toContain('resource="sfp*"');
});

test('a resource that the account may not read is shown as not permitted, said once, and asked for again every hour', async () => {
  await using fleet = await startFleet({ router: { ...RARELY_POLLED, username: 'status' } });
  await fleet.advance(3 * HOUR_MS);
  const metrics = await fleet.metrics();

  expect(metrics).toContain('router_resource_permitted{router="sim-1",resource="configuration"} 0\n');
  expect(metrics).not.toContain('router_resource_up{router="sim-1",resource="configuration"}');
  expect(metrics).toContain('router_resource_permitted{router="sim-1",resource="sysdetail/system"} 1\n');
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  const warnings = fleet.ownLog.filter(({ fields }) => JSON.stringify(fields).includes('"configuration"'));
  expect(warnings.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test.for(sampled('resources that are refused', ['lte2', 'sysstat/wan', 'device_info'], ['device_info']))(
  `%s, answered with 401 whatever the login, is not permitted, costs a login an hour and harms no other resource${sampleNote('resources that are refused')}`,
  async (resource) => {
    await using fleet = await startFleet({ router: RARELY_POLLED });
    await fleet.router().fault('unauthorized', { path: `/status/${resource}` });
    await fleet.advance(50 * MINUTE_MS);
    const loginsAtFirst = fleet.router().counters.logins;
    const metrics = await fleet.metrics();
    expect(metrics).toContain(`router_resource_permitted{router="sim-1",resource="${resource}"} 0\n`);
    expect(metrics).not.toContain(`router_resource_up{router="sim-1",resource="${resource}"}`);
    expect(metrics).toMatch(/^router_uptime_seconds\{router="sim-1"\}/m);
    expect(metrics).toContain('router_up{router="sim-1"} 1\n');
    expect(loginsAtFirst).toBeLessThanOrEqual(3);

    await fleet.advance(10 * HOUR_MS);
    expect(fleet.router().counters.logins - loginsAtFirst).toBeLessThanOrEqual(11);
    await fleet.router().clearFault();
    await fleet.advance(HOUR_MS + 20 * MINUTE_MS);
    expect(await fleet.metrics()).toContain(`router_resource_up{router="sim-1",resource="${resource}"} 1\n`);
  },
);

test('logs that are answered with 401 whatever the login cost a login an hour', async () => {
  const logs = { enabled: true, interval: 5 * MINUTE_MS, start: 'all', components: ['*'] } as const;
  await using fleet = await startFleet({ router: { ...RARELY_POLLED, logs } });
  await fleet.router().fault('unauthorized', { path: '/download/log' });
  await fleet.advance(10 * HOUR_MS);
  expect(fleet.router().counters.logins).toBeLessThanOrEqual(12);
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 1\n');
  await fleet.router().clearFault();
  fleet.router().appendLog('network', 'at last');
  await fleet.advance(20 * MINUTE_MS);
  expect(fleet.records.map(({ message }) => message)).toContain('at last');
});

test('a router that answers everything with 401 is down, and read whole as soon as it answers', async () => {
  const names = ['device', 'system', 'modem', 'wan'];
  const config = (one: Config): Config => ({
    ...one,
    routers: one.routers.map((router) => ({
      ...router,
      modules: router.modules.filter(({ name }) => names.includes(name)),
      logs: RARELY_POLLED.logs,
    })),
  });
  await using fleet = await startFleet({ config });
  await fleet.advance(5 * MINUTE_MS);
  await fleet.router().fault('unauthorized', { path: '/status' });
  const loginsBefore = fleet.router().counters.logins;
  await fleet.advance(10 * MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_up{router="sim-1"} 0\n');
  expect(await fleet.metrics()).not.toMatch(/^router_resource_permitted\{.*\} 0$/m);
  expect(fleet.router().counters.logins - loginsBefore).toBeLessThanOrEqual(3);
  expect(JSON.stringify(fleet.ownLog)).not.toContain('may not read');
  await fleet.router().clearFault();
  await fleet.advance(10 * MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  for (const resource of ['device_info', 'sysdetail/system', 'sysstat/wan', 'lte2']) {
    expect(metrics).toContain(`router_resource_up{router="sim-1",resource="${resource}"} 1\n`);
  }
});

test('a resource that fails runs out alone, is down with its reason, and harms no other', async () => {
  await using fleet = await startFleet();
  await fleet.advance(5 * MINUTE_MS);
  await fleet.router().fault('http_500', { path: '/status/lte2' });

  await fleet.advance(2 * MINUTE_MS);
  const early = await fleet.metrics();
  await fleet.advance(2 * MINUTE_MS);
  const late = await fleet.metrics();

  for (const metrics of [early, late]) {
    expect(metrics).toContain('router_resource_up{router="sim-1",resource="lte2"} 0\n');
    expect(metrics).toContain('router_resource_up{router="sim-1",resource="sysstat/wan"} 1\n');
    expect(metrics).toMatch(/^router_uptime_seconds\{router="sim-1"\}/m);
    expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  }
  expect(early).toContain('router_modem_online{router="sim-1",modem="lte2"}');
  expect(late).not.toContain('router_modem_online{');
});

test('slow inventory of a router that fell silent does not outlive its other values, and its identity stays', async () => {
  await using fleet = await startFleet();
  await fleet.advance(10 * MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_dhcp_leases{');
  await fleet.router().fault('down');

  await fleet.advance(4 * MINUTE_MS);
  const metrics = await fleet.metrics();

  expect(metrics).not.toContain('router_dhcp_leases{');
  expect(metrics).not.toContain('router_uptime_seconds{');
  expect(metrics).toContain('router_board_info{router="sim-1",slot="1"');
  expect(metrics).toContain('router_up{router="sim-1"} 0\n');
  expect(metrics).toMatch(/router_resource_age_seconds\{router="sim-1",resource="sysdetail\/dhcp_leases"\} \d/);
});

test('values that no metric understands give no sample and are counted, and an unexpected state is unknown', async () => {
  await using fleet = await startFleet();
  fleet.router().setStatus('sysdetail/system', { unique: { uptime: 'since Tuesday' } });
  fleet.router().setStatus('lte2', { unique: { state: 'Dreaming' } });
  await fleet.advance(3 * MINUTE_MS);
  const metrics = await fleet.metrics();

  expect(metrics).not.toContain('router_uptime_seconds{');
  expect(metrics).toMatch(
    /^router_exporter_mapping_errors_total\{module="system",metric="router_uptime_seconds"\} [1-9]/m,
  );
  expect(metrics).toContain('router_modem_state{router="sim-1",modem="lte2",state="unknown"} 1\n');
  expect(metrics).toContain('router_modem_state{router="sim-1",modem="lte2",state="Online"} 0\n');
  expect(metrics).toMatch(/^router_exporter_mapping_errors_total\{module="modem",metric="router_modem_state"\} [1-9]/m);
});
