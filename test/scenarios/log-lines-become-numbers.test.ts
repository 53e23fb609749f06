import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

test('log rules turn lines into counters and gauges, once each, and continue over a restart of the router', async () => {
  await using fleet = await startFleet({
    router: { modules: [] },
    config: (config) => ({
      ...config,
      log_rules: [
        {
          name: 'router_log_leases_total',
          help: 'Leases.',
          type: 'counter',
          components: ['net*', '!network2'],
          pattern: 'lease for (?P<device>\\S+)',
          labels: ['device'],
          fixed_labels: { kind: 'dhcp' },
        },
        {
          name: 'router_log_queue_length',
          help: 'Queue.',
          type: 'gauge',
          components: ['*'],
          pattern: 'queue has (?P<length>\\d+) entries',
          labels: [],
          fixed_labels: {},
          value: 'length',
        },
      ],
    }),
  });
  for (const text of ['lease for a', 'lease for b', 'lease for a', 'queue has 7 entries', 'nothing']) {
    fleet.router().appendLog('network', text);
  }
  fleet.router().appendLog('network2', 'lease for a');
  await fleet.advance(MINUTE_MS);
  fleet.router().rotate('network');
  fleet.router().appendLog('network', 'queue has 3 entries');
  await fleet.advance(2 * MINUTE_MS);
  const metrics = await fleet.metrics();

  expect(metrics).toContain('# TYPE router_log_leases_total counter\n');
  expect(metrics).toContain('router_log_leases_total{router="sim-1",component="network",device="a",kind="dhcp"} 2\n');
  expect(metrics).toContain('router_log_leases_total{router="sim-1",component="network",device="b",kind="dhcp"} 1\n');
  expect(metrics).not.toContain('component="network2",device');
  expect(metrics).toContain('router_log_queue_length{router="sim-1",component="network"} 3\n');
});

test('what is to be redacted stands in no record, no metric and nowhere in the state', async () => {
  await using fleet = await startFleet({
    router: { modules: [] },
    config: (config) => ({ ...config, redact: [{ pattern: 'pin=\\d+', replacement: '[redacted]' }] }),
  });
  fleet.router().appendLog('network', 'modem opened with pin=4711 at once');
  await fleet.advance(MINUTE_MS);

  expect(fleet.records.map(({ message }) => message)).toEqual(['modem opened with [redacted] at once']);
  expect(JSON.stringify(fleet.records)).not.toContain('4711');
  expect(JSON.stringify(fleet.ownLog)).not.toContain('4711');
});

test('the shipped rules count the logins that a simulated router logs', async () => {
  await using fleet = await startFleet({ router: { modules: [] }, simulator: { logActivity: 'live' } });
  await fleet.advance(2 * MINUTE_MS);
  const written = fleet.records.filter(
    ({ message }) => message.includes('login of user') && message.endsWith('succeeded'),
  );

  expect(written.length).toBeGreaterThan(0);
  expect(await fleet.metrics()).toContain(
    `router_log_logins_total{router="sim-1",component="events",result="success"} ${written.length}\n`,
  );
});
