import { expect, test } from 'vitest';
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
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/^There is no such module\./),
    ]);
  }
  expect(listFamilies(await fleet.metrics('/metrics?collect[]=configuration'))).toContain('router_config_entries');
  // All modules are the same as no selection.
  const names = (await fleet.metrics('/metrics?collect[]=x')).replace(/^.*: /, '').trim();
  expect(listFamilies(await fleet.metrics(`/metrics?module=${names.replaceAll(' ', '')}`))).toEqual(all);
});
