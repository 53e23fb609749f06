import { expect, test } from 'vitest';
import type { RouterDetail } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const UNREAD = 'answered, but no metric could be read from it';

async function findResource(fleet: Fleet, resource: string) {
  const { resources } = JSON.parse(await fleet.metrics('/api/v1/routers/sim-1')) as RouterDetail;
  return resources.find((one) => one.resource === resource);
}

const countWarnings = (fleet: Fleet, resource: string) =>
  fleet.ownLog.filter(({ level, fields }) => level === 'warn' && Reflect.get(fields, 'resource') === resource).length;

test('a resource of which no metric can be read is a metric, a line on the page and a line in the log, until it can', async () => {
  await using fleet = await startFleet();
  await fleet.advance(2 * MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_resource_understood{router="sim-1",resource="sysstat/wan"} 1\n');

  fleet.router().setStatus('sysstat/wan', { body: { list: [{ chain: 'wan1', uplink: 'net1' }] } });
  await fleet.advance(3 * MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_resource_understood{router="sim-1",resource="sysstat/wan"} 0\n');
  expect(metrics).toContain('router_resource_up{router="sim-1",resource="sysstat/wan"} 1\n');
  expect(metrics).not.toMatch(/^router_wan_/m);
  expect(await findResource(fleet, 'sysstat/wan')).toMatchObject({ state: 'up', error: null, finding: UNREAD });
  expect(await fleet.metrics('/router/sim-1?view=agent')).toContain(UNREAD);
  expect(countWarnings(fleet, 'sysstat/wan')).toBe(1);

  fleet.router().setStatus('sysstat/wan', undefined);
  await fleet.advance(MINUTE_MS);
  expect(await fleet.metrics()).toContain('router_resource_understood{router="sim-1",resource="sysstat/wan"} 1\n');
  expect(await findResource(fleet, 'sysstat/wan')).toMatchObject({ finding: null });
});

test('a chain whose name is inside its list is read', async () => {
  await using fleet = await startFleet();
  const body = { list: [{ name: 'wan1', interface: [{ if_name: 'net1', state: 'online' }] }] };
  fleet.router().setStatus('sysstat/wan', { body });
  await fleet.advance(2 * MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_wan_active_info{router="sim-1",chain="wan1"} 1\n');
  expect(metrics).toContain('router_wan_chain_member_online{router="sim-1",chain="wan1",interface="net1"} 1\n');
  expect(metrics).toContain('router_resource_understood{router="sim-1",resource="sysstat/wan"} 1\n');
});

test.for([
  ['a router that leases nothing', 'sysdetail/dhcp_leases', { list: [] }],
  ['a router without interfaces', 'sysdetail/ip_addresses', { list: [] }],
  ['a router without a chain', 'sysstat/wan', { unique: { name: '---' }, list: [] }],
  ['a router that says nothing', 'sysstat/wan', { unique: {} }],
] as const)('%s is understood', async ([, resource, status]) => {
  await using fleet = await startFleet();
  fleet.router().setStatus(resource, { body: status });
  await fleet.advance(2 * MINUTE_MS);
  expect(await fleet.metrics()).toContain(`router_resource_understood{router="sim-1",resource="${resource}"} 1\n`);
  expect(await findResource(fleet, resource)).toMatchObject({ state: 'up', finding: null });
  expect(countWarnings(fleet, resource)).toBe(0);
});

test('of two interfaces of one name the first is served, and what the other says is counted and said', async () => {
  await using fleet = await startFleet();
  const list = [
    { name: 'net1', bytes_rx: '1', bytes_tx: '2' },
    { name: 'net2', bytes_rx: '3', bytes_tx: '4' },
    { name: 'net2', bytes_rx: '5', bytes_tx: '4' },
  ];
  fleet.router().setStatus('sysdetail/ip_addresses', { body: { list } });
  await fleet.advance(2 * MINUTE_MS);
  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_interface_receive_bytes_total{router="sim-1",interface="net2"} 3\n');
  const errors =
    /^router_exporter_mapping_errors_total\{module="interfaces",metric="router_interface_receive_bytes_total"\} (\d+)$/m;
  expect(Number(errors.exec(metrics)?.[1])).toBeGreaterThan(0);
  // What is the same in both is no loss.
  expect(metrics).not.toContain('metric="router_interface_transmit_bytes_total"');
  expect(metrics).toContain('router_series_dropped{router="sim-1"} 1\n');
  expect(await findResource(fleet, 'sysdetail/ip_addresses')).toMatchObject({ finding: '1 value could not be read' });
  expect(await fleet.metrics('/router/sim-1?view=agent')).toContain('1 value could not be read');
  expect(countWarnings(fleet, 'sysdetail/ip_addresses')).toBe(1);
});
