import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

function listFamilies(metrics: string): string[] {
  return [...metrics.matchAll(/^# TYPE (router_\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('router_exporter_'));
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
  expect(listFamilies(await fleet.metrics('/metrics?collect[]=configuration'))).toContain('router_config_entries');
  // All modules are the same as no selection.
  const names = (await fleet.metrics('/metrics?collect[]=x')).replace(/^.*: /, '').trim();
  expect(listFamilies(await fleet.metrics(`/metrics?module=${names.replaceAll(' ', '')}`))).toEqual(all);
});
