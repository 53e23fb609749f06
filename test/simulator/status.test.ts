import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { openAdmin, openClient, START_MS } from './client.ts';

const MINUTE_MS = 60_000;

async function openStatus(...options: Parameters<typeof openAdmin>) {
  const bench = await openAdmin(...options);
  // Hours pass in these tests, so every request has a session of its own.
  const read = async (resource: string) =>
    (await bench.client.get(`/status/${resource}`, (await bench.client.login('status')).access)).json.status;
  const operate = async (type: string, given: object) => {
    const body = JSON.stringify({ method: 'manual_action', params: { type, options: given } });
    return (await bench.client.send('POST', '/operation', { token: (await bench.client.login()).access, body })).status;
  };
  return { ...bench, read, operate };
}

describe('the modem', () => {
  test('goes through all states after a restart, with the sentinels of what it does not know', async () => {
    await using bench = await openStatus();
    bench.router.restart();
    const seen: string[] = [];
    for (let second = 0; second <= 70; second += 5) {
      const { unique } = await bench.read('lte2');
      if (seen.at(-1) !== unique.state) seen.push(unique.state);
      const isKnown = ['Logged in', 'Offline', 'Online'].includes(unique.state);
      if (!isKnown) expect(unique).toMatchObject({ signal: '99', RSSI: '99', provider: '0', cell_id: '0' });
      else expect(Number(unique.signal)).toBeLessThanOrEqual(31);
      await bench.clock.advance(5000);
    }
    expect(seen).toEqual([
      ...[
        'Turned off',
        'Turned on',
        'SIM interface down',
        'Logged out',
        'Logging in',
        'Logged in',
        'Offline',
        'Online',
      ],
    ]);
  });

  test('loses its session within 40 minutes, its counters start anew, and the WAN falls back meanwhile', async () => {
    await using bench = await openStatus();
    let [lost, before] = [false, 0];
    for (let step = 0; step < 41 * 6 && !lost; step++) {
      await bench.clock.advance(10_000);
      const { list } = await bench.read('sysdetail/ip_addresses');
      const bytes = Number(list.find((one: { name: string }) => one.name === 'lte2').bytes_rx);
      lost = bytes < before;
      before = bytes;
    }
    expect(lost).toBe(true);
    expect((await bench.read('lte2')).unique.state).not.toBe('Online');
    expect((await bench.read('sysstat/wan')).unique.name).toBe('wan2');
    await bench.clock.advance(2 * MINUTE_MS);
    expect(await bench.read('sysstat/wan')).toEqual({
      unique: { name: 'wan1' },
      list: [
        { if_name: 'lte2', state: 'online' },
        { if_name: 'ipsec1', state: 'online' },
      ],
    });
  });

  test('carries WireGuard tunnels, which are called wg1, and loses them with its session', async () => {
    await using bench = await openAdmin();
    const path = '/configuration/interfaces/wireguard';
    const { json } = await bench.call('POST', path, { config: { list: [{ description: 'plant' }] } });
    expect(json.config.list).toMatchObject([{ name: 'wg1', active: '1' }]);
    const [chain] = (await bench.call('GET', '/configuration/wan/wans')).json.config.list;
    const list = [{ list_uid: chain.list_uid, sublist: [{ interface: 'wg1' }] }];
    await bench.call('POST', '/configuration/wan/wans', { config: { list }, profile: { activate: '1' } });
    const read = async (resource: string) => (await bench.call('GET', `/status/${resource}`)).json.status.list;
    expect((await read('sysdetail/ip_addresses')).map(({ name }: { name: string }) => name)).toContain('wg1');
    expect(await read('sysstat/wan')).toContainEqual({ if_name: 'wg1', state: 'online' });
    const options = { name: 'lte2', state_change: 'turn_off' };
    await bench.call('POST', '/operation', { method: 'manual_action', params: { type: 'modem_state', options } });
    await bench.call('POST', '/operation', {
      method: 'manual_action',
      params: { type: 'wan_chain', options: { wan_chain: 'wan1' } },
    });
    await bench.clock.advance(60_000);
    expect(await read('sysstat/wan')).toContainEqual({ if_name: 'wg1', state: 'offline' });
  });

  test('follows orders', async () => {
    await using bench = await openStatus();
    const order = (state_change: string) => bench.operate('modem_state', { name: 'lte2', state_change });
    expect(await order('turn_off')).toBe(201);
    await bench.clock.advance(10 * MINUTE_MS);
    expect((await bench.read('lte2')).unique).toMatchObject({
      state: 'Turned off',
      sim_state: expect.stringContaining('SIM'),
    });
    await order('turn_on');
    await bench.clock.advance(MINUTE_MS + 5000);
    expect((await bench.read('lte2')).unique.state).toBe('Online');
    await order('log_out');
    expect((await bench.read('lte2')).unique.state).toBe('Logged out');
    await order('log_in');
    expect((await bench.read('lte2')).unique.state).toBe('Logged out');
    await bench.clock.advance(MINUTE_MS);
    expect((await bench.read('lte2')).unique.state).toBe('Online');
    expect(await bench.operate('modem_state', { name: 'lte5', state_change: 'log_in' })).toBe(400);
  });
});

describe('what moves', () => {
  test('counters only grow while nothing restarts, and reset when the router does', async () => {
    await using bench = await openStatus();
    const read = async () => (await bench.read('sysdetail/ip_addresses')).list[0];
    let before = await read();
    for (let step = 0; step < 50; step++) {
      await bench.clock.advance(7000);
      const now = await read();
      for (const name of ['bytes_rx', 'bytes_tx', 'packets_rx', 'packets_tx', 'errors_rx']) {
        expect(Number(now[name])).toBeGreaterThanOrEqual(Number(before[name]));
      }
      expect(Number(now.bytes_rx)).toBeGreaterThan(Number(before.bytes_rx));
      before = now;
    }
    bench.router.restart();
    expect((await read()).bytes_rx).toBe('0');
  });

  test('a port flaps within two hours, and the first one stays up', async () => {
    await using bench = await openStatus();
    const seen = [new Set<string>(), new Set<string>()];
    for (let step = 0; step < 24; step++) {
      const { list } = await bench.read('ethernet1');
      expect(list).toHaveLength(5);
      seen[0]?.add(list[0].link);
      seen[1]?.add(list[2].link);
      await bench.clock.advance(5 * MINUTE_MS);
    }
    expect(seen.map((one) => [...one].toSorted())).toEqual([['up'], ['down', 'up']]);
  });

  test('operations show: LED, output, WAN chain, container; a restart forgets them', async () => {
    await using bench = await openStatus();
    await bench.operate('info_led', { info_led: 'flash' });
    await bench.operate('wan_chain', { wan_chain: 'wan2' });
    await bench.operate('container_state', { name: 'edge-reader', state_change: 'stop' });
    expect((await bench.read('overview')).unique).toMatchObject({ info_led: 'flash', wan: 'wan2' });
    expect((await bench.read('sysdetail/container')).list[0].state).toBe('stopped');
    expect(await bench.operate('wan_chain', { wan_chain: 'wan9' })).toBe(400);
    expect(await bench.operate('reboot', {})).toBe(201);
    expect((await bench.read('overview')).unique).toMatchObject({ info_led: 'off' });
    expect((await bench.read('sysdetail/system')).unique.uptime).toBe('0 days, 00:00');
  });

  test('set_time sets the wall clock in the time of the zone, and ntp_sync sets it right', async () => {
    await using bench = await openStatus();
    const set = { hour: '2', minute: '30', second: '0', year: '2027', month: '7', day: '1' };
    expect(await bench.operate('set_time', set)).toBe(201);
    expect((await bench.read('sysdetail/system')).unique.date).toBe('2027-07-01 02:30:00');
    expect(await bench.operate('set_time', { ...set, day: '31', month: '2' })).toBe(400);
    await bench.operate('ntp_sync', {});
    expect((await bench.read('sysdetail/system')).unique.date).toBe('2026-11-21 09:00:00');
  });

  test('the location comes from the configuration that is active', async () => {
    await using bench = await openStatus();
    await bench.call('PUT', '/configuration/administration/hostnames', {
      config: { unique: { location: 'Pump house' } },
      profile: { activate: '1' },
    });
    expect((await bench.read('sysdetail/system')).unique.location).toBe('Pump house');
  });
});

describe('a fleet', () => {
  test('shows every family of devices and every firmware, each with its own resources and formats', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: 24, clock, seed: 1, plainHttp: true });
    const uptimes = new Set<string>();
    const types = new Set<string>();
    const combinations = new Set<string>();
    const resources = [
      'lte2',
      'lte_serial2',
      'io2',
      'io3',
      'sio4',
      'adio4',
      'sfp3',
      'power2',
      'wlan1',
      'serial2',
      'dsl5/status',
    ];
    const found = new Set<string>();
    for (const router of simulator.routers) {
      await using client = openClient(router, '');
      const { access } = await client.login('status');
      const read = async (resource: string) => client.get(`/status/${resource}`, access);
      const device = (await read('device_info')).json.status;
      types.add(device.unique.device_type);
      combinations.add(`${device.unique.device_type} ${device.list[0].firmware_version}`);
      uptimes.add((await read('sysdetail/system')).json.status.unique.uptime.replaceAll(/\d+/g, '9'));
      for (const resource of resources) {
        const { status, json } = await read(resource);
        expect(status === 200 ? json.status : json.error).toBeDefined();
        if (status === 200) found.add(resource);
      }
    }
    expect([...types].toSorted()).toEqual(['ECR-LW300', 'MIRO-L200', 'MRO-L200', 'MRX3', 'MRX5']);
    expect([...uptimes].toSorted()).toEqual(['9', '9 9:9:9', '9 days, 9:9']);
    expect([...found].toSorted()).toEqual(resources.toSorted());
    expect(combinations.size).toBe(15);
  });

  test('all values of all resources are text', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: 6, clock, seed: 1, plainHttp: true });
    const general = [
      'overview',
      'status_summary',
      'device_features',
      'sysdetail/dhcp_leases',
      'sysdetail/init_services',
    ];
    const more = [
      'sysdetail/container',
      'sysdetail/cert_enrollment',
      'sysstat/lan',
      'lte2/providers',
      'ethernet1',
      'lte2',
    ];
    for (const router of simulator.routers) {
      await using client = openClient(router, '');
      const { access } = await client.login('status');
      for (const resource of [
        ...general,
        ...more,
        'wlan1',
        'wlan1/scan_results',
        'sfp3',
        'adio4',
        'dsl5/statistics_spectrum',
      ]) {
        const { status, text } = await client.get(`/status/${resource}`, access);
        expect([200, 404]).toContain(status);
        expect(text.replaceAll(/"[^"]*"/g, '')).toMatch(/^[[\]{}:,]*$/);
        expect(text).not.toMatch(/undefined|NaN/);
      }
    }
  });
});

describe('setStatus()', () => {
  test('replaces single values and rows, adds and removes, and gives the resource back', async () => {
    await using bench = await openStatus();
    bench.client.allowUndescribed();
    bench.router.setStatus('lte2', { unique: { state: 'Offline', odd: 'x' }, remove: ['RSSI'] });
    const { unique } = await bench.read('lte2');
    expect(unique).toMatchObject({ state: 'Offline', odd: 'x', provider_name: expect.any(String) });
    expect(unique).not.toHaveProperty('RSSI');
    bench.router.setStatus('ethernet1', { list: [{ link: 'down' }] });
    expect((await bench.read('ethernet1')).list[0]).toMatchObject({ link: 'down', port_net: 'net1' });
    bench.router.setStatus('lte2', { isAbsent: true });
    expect(await bench.read('lte2')).toBeUndefined();
    bench.router.setStatus('new/thing', { body: { anything: [1] } });
    expect(await bench.read('new/thing')).toEqual({ anything: [1] });
    bench.router.setStatus('lte2', undefined);
    expect((await bench.read('lte2')).unique.RSSI).toBeDefined();
  });
});
