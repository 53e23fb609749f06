import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { advanceUntil } from '../support/advance-until.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { openMetricsParser, parseOpenMetrics } from '../support/open-metrics-oracle.ts';
import { startPrometheus } from '../support/prometheus-server.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const ROUTERS = sampled('routers that a Prometheus scrapes', 200, 20);
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';

async function scrape(fleet: Fleet, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${fleet.agent.urls[0]}/metrics`, { headers });
}

// The programs come in one package.
withPrograms(['prometheus', 'promtool'], test)(
  `a Prometheus scrapes ${ROUTERS} routers, those with and those without a card, and promtool finds no fault${sampleNote('routers that a Prometheus scrapes')}`,
  { timeout: 120_000 },
  async () => {
    await using fleet = await startFleet({ routers: ROUTERS, config: (config) => ({ ...config, sinks: [] }) });
    await fleet.advance(60_000);
    const target = fleet.agent.urls[0]?.replace('http://', '') ?? '';
    await using server = await startPrometheus({
      job_name: 'fleet',
      scrape_interval: '1s',
      static_configs: [{ targets: [target] }],
    });

    await expect.poll(() => server.count('count(router_up == 1)'), { timeout: 30_000 }).toBe(ROUTERS);

    expect(await server.targets()).toMatchObject([{ health: 'up', lastError: '' }]);
    expect(await server.count('count(router_board_info{slot="1"})')).toBe(ROUTERS);
    // What Prometheus asks for by default is OpenMetrics; both families are of cards that only some models have.
    for (const family of ['router_analog_input_volts', 'router_sfp_temperature_celsius']) {
      const count = await server.count(`count(count by (router) (${family}))`);
      expect(count).toBeGreaterThan(ROUTERS / 10);
      expect(count).toBeLessThan(ROUTERS / 2);
    }

    const response = await scrape(fleet);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const check = spawnSync('promtool', ['check', 'metrics'], { input: await response.text(), encoding: 'utf8' });
    expect([check.status, check.stdout, check.stderr]).toEqual([0, '', '']);
  },
);

withPrograms([openMetricsParser], test)(
  'the strict parser of the official Python client reads the OpenMetrics text of a fleet',
  async () => {
    await using fleet = await startFleet({
      routers: 24,
      router: { byte_budget: { perDay: 50_000_000, statusShare: 0.2 } },
    });
    for (const component of ['network', 'system']) fleet.router().appendLog(component, 'a "line"');
    await fleet.advance(120_000);
    const text = await (await scrape(fleet)).text();
    const response = await scrape(fleet, { accept: OPEN_METRICS });
    expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');

    const families = parseOpenMetrics(await response.text());

    expect(families.get('router_board')).toEqual({ type: 'info', samples: expect.any(Number) });
    expect(families.get('router_api_received_bytes')).toEqual({ type: 'counter', samples: 24 });
    expect(families.get('router_failure_reason')).toEqual({ type: 'gauge', samples: 24 * 8 });
    expect(families.get('router_exporter_polls')).toEqual({ type: 'counter', samples: 2 });
    // Both formats have the same families.
    expect(families.size).toBe([...text.matchAll(/^# TYPE /gm)].length);
  },
);

withPrograms(['prometheus'], test)(
  'a Prometheus finds the routers by /sd and scrapes each by /probe',
  { timeout: 60_000 },
  async () => {
    await using fleet = await startFleet({ routers: 5, router: { labels: { site: 'munich' } } });
    await fleet.advance(60_000);
    await using server = await startPrometheus({
      job_name: 'probe',
      scrape_interval: '1s',
      http_sd_configs: [{ url: `${fleet.agent.urls[0]}/sd`, refresh_interval: '1s' }],
      relabel_configs: [{ source_labels: ['__param_target'], target_label: 'instance' }],
    });

    await expect.poll(() => server.count('count(up{instance=~"sim-[1-5]"} == 1)'), { timeout: 30_000 }).toBe(5);
    expect(await server.count('count(router_up{site="munich"} == 1)')).toBe(5);
    expect((await server.targets()).map(({ health }) => health)).toEqual(Array.from({ length: 5 }, () => 'up'));
  },
);

test('a fresh probe polls the router now, and several of them at the same time once', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(60_000);
  const probe = (name: string) => fleet.metrics(`/probe?target=${name}&fresh=1`);
  const polls = () => fleet.router().counters.requests['GET /status/sysdetail/system'] ?? 0;
  const before = polls();

  const texts = await Promise.all([probe('sim-1'), probe('sim-1'), probe('sim-1')]);

  expect(polls()).toBe(before + 1);
  for (const text of texts) {
    expect(text).toMatch(/^router_resource_age_seconds\{router="sim-1",resource="sysdetail\/dhcp_leases"\} 0$/m);
    expect(text).not.toContain('sim-2');
    expect(text).not.toContain('router_exporter_');
  }
  // The scheduled run comes as if there had been no trigger.
  await fleet.advance(60_000);
  expect(polls()).toBe(before + 2);
});

test('a fresh probe of a router that hangs is answered with what is known when its time is over', async () => {
  await using fleet = await startFleet();
  await fleet.advance(60_000);
  await fleet.router().fault('hang');
  const url = `${fleet.agent.urls[0]}/probe?target=sim-1&fresh=1`;
  const answer = fetch(url, { headers: { 'x-prometheus-scrape-timeout-seconds': '5' } });
  const response = await advanceUntil(answer, fleet.clock, 100);
  const text = await response.text();

  expect(text).toContain('router_up{router="sim-1"} 1\n');
  expect(text).toContain('router_uptime_seconds{router="sim-1"}');
  // Otherwise the logout would wait for the clock.
  await fleet.router().clearFault('hang');
});
