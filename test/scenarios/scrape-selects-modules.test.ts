import { expect, test } from 'vitest';
import { filterModules } from '../../src/status/module-settings/metric-filter.ts';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

function listFamilies(metrics: string): string[] {
  return [...metrics.matchAll(/^# TYPE (router_\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('router_exporter_'));
}

/** Names and labels of the series of routers, in order. */
function listSeries(metrics: string): string[] {
  return [...metrics.matchAll(/^(router_\w+\{.*\}) /gm)]
    .map(([, series = '']) => series)
    .filter((series) => !series.startsWith('router_exporter_'));
}

test('collect[] and module select what modules make; what the agent knows is always there', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(10 * MINUTE_MS);
  const all = listFamilies(await fleet.metrics());
  expect(all).toEqual(expect.arrayContaining(['router_modem_state', 'router_uptime_seconds', 'router_config_entries']));

  for (const path of ['/metrics?collect[]=modem', '/probe?target=sim-1&module=modem']) {
    const metrics = await fleet.metrics(path);
    const families = listFamilies(metrics);
    expect(families).toContain('router_modem_state');
    expect(families).toContain('router_up');
    expect(families).toContain('router_resource_up');
    expect(families).not.toContain('router_uptime_seconds');
    expect(families).not.toContain('router_config_entries');
    // It shares its resource with the modem.
    expect(families).not.toContain('router_supply_volts');
    expect(metrics.includes('router="sim-2"')).toBe(path.startsWith('/metrics'));
  }
  // A name twice is the same as once: no series comes twice.
  expect(listSeries(await fleet.metrics('/metrics?collect[]=modem&module=modem,modem'))).toEqual(
    listSeries(await fleet.metrics('/metrics?collect[]=modem')),
  );
  for (const path of ['/metrics?collect[]=modme', '/probe?target=sim-1&module=modme']) {
    const response = await fetch(`${fleet.agent.urls[0]}${path}`);
    expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(/^Unknown module\./)]);
  }
  expect(listFamilies(await fleet.metrics('/metrics?collect[]=configuration'))).toContain('router_config_entries');
  // All modules are the same as no selection.
  const names = (await fleet.metrics('/metrics?collect[]=x')).replace(/^.*: /, '').trim();
  expect(listFamilies(await fleet.metrics(`/metrics?module=${names.replaceAll(' ', '')}`))).toEqual(all);
});

test('collect[] selects the same of each router, whatever another one leaves out by metrics', async () => {
  const filter = {
    deny: [
      { name: 'router_modem_state', labels: {} },
      { name: 'router_port_link_up', labels: {} },
    ],
  };
  const isRead =
    (...names: string[]) =>
    ({ name }: { name: string }) =>
      names.includes(name);
  await using fleet = await startFleet({
    routers: 2,
    config: (config) => {
      const modules = config.modules.filter(isRead('modem', 'ports', 'sfp'));
      const filtered = filterModules(modules.filter(isRead('modem', 'ports')), filter);
      const [whole, ...others] = config.routers;
      if (!whole) return config;
      const left = others.map((router) => ({ ...router, modules: filtered, metrics: filter }));
      return { ...config, routers: [{ ...whole, modules }, ...left] };
    },
  });
  await fleet.advance(10 * MINUTE_MS);
  const listOf = async (path: string) =>
    listSeries(await fleet.metrics(path)).filter((series) => series.includes('router="sim-1"'));
  for (const module of ['modem', 'ports', 'sfp']) {
    expect(await listOf(`/metrics?collect[]=${module}`)).toEqual(
      await listOf(`/probe?target=sim-1&collect[]=${module}`),
    );
  }
  const ports = listFamilies(await fleet.metrics('/metrics?collect[]=ports'));
  expect(ports).toContain('router_port_link_up');
  expect(ports).not.toContain('router_modem_state');
});

test('a module that no router of the process has makes no scrape fail', async () => {
  await using fleet = await startFleet({ routers: 2 });
  await fleet.advance(MINUTE_MS);
  const paths = ['/metrics?collect[]=modem', '/probe?target=sim-1&collect[]=modem'];
  const statusOf = async (path: string) => (await fetch(`${fleet.agent.urls[0]}${path}`)).status;
  await fleet.reload((config) => ({
    ...config,
    routers: config.routers.map((router) => ({ ...router, modules: [] })),
  }));
  expect([await statusOf(paths[0] ?? ''), await statusOf(paths[1] ?? '')]).toEqual([200, 200]);
  await fleet.reload((config) => ({ ...config, routers: [] }));
  expect(await statusOf(paths[0] ?? '')).toBe(200);
  expect(await fleet.metrics(paths[0])).toContain('router_exporter_build_info{');
});
