import { expect } from 'vitest';
import type { ManualActionOptions } from '../../src/client/index.ts';
import type { InterfaceBench } from './bench.ts';

/** The single values of a status resource. */
export async function readUnique(bench: InterfaceBench, resource: string): Promise<Record<string, string>> {
  const body = (await bench.as('status').readStatus(resource)) as { status: { unique: Record<string, string> } };
  return body.status.unique;
}

/** Looks at what an action has changed; `false` = accepted, with nothing to see on a simulated router. */
type Effect = false | ((bench: InterfaceBench) => Promise<void>);
type Performed = {
  /** The last says on which router of the fleet, from 0: cards differ. */
  readonly [Type in keyof ManualActionOptions]: readonly [ManualActionOptions[Type], Effect, router?: number];
};

const expectUnique = (resource: string, values: object) => async (bench: InterfaceBench) =>
  expect(await readUnique(bench, resource)).toMatchObject(values);

/** Every type of manual action once, with options that the router of these tests can carry out. */
export const performed: Performed = {
  ntp_sync: [{}, expectUnique('sysdetail/system', { date: '2026-11-21 09:00:00' })],
  reboot: [
    {},
    async (bench) => {
      expect((await readUnique(bench, 'sysdetail/system'))['uptime']).toBe('0 days, 00:00');
      expect(bench.router.counters.unauthorized).toBe(0);
    },
  ],
  auto_update: [{}, false],
  port_mirror: [{}, false],
  ssid_scan: [{}, false],
  set_time: [
    { hour: '2', minute: '30', second: '5', year: '2027', month: '7', day: '1' },
    expectUnique('sysdetail/system', { date: '2027-07-01 02:30:05' }),
  ],
  info_led: [{ info_led: 'on' }, expectUnique('overview', { info_led: 'on' })],
  message: [{ message: 'link lost' }, false],
  sms: [{ modem: 'lte2', recipient: '+491700000000', text: 'x'.repeat(140) }, false],
  email: [{ recipient: 'on-call@example.com', subject: 'x'.repeat(100), text: 'x'.repeat(5000) }, false],
  wan_chain: [{ wan_chain: 'wan2' }, expectUnique('sysstat/wan', { name: 'wan2' })],
  modem_state: [{ name: 'lte2', state_change: 'turn_off' }, expectUnique('lte2', { state: 'Turned off' })],
  container_state: [
    { name: 'edge-reader', state_change: 'stop' },
    async (bench) =>
      expect(await bench.as('status').readStatus('sysdetail/container')).toMatchObject({
        status: { list: [{ name: 'edge-reader', state: 'stopped' }] },
      }),
  ],
  firmware: [{ firmware: '9.5' }, false],
  profile: [
    { profile: 'quick_start_profile' },
    async (bench) =>
      expect(await bench.as('monitor').listProfiles()).toMatchObject([
        { lastActivated: false },
        { lastActivated: true },
      ]),
  ],
  ascii: [{ ascii: 'nightly' }, false],
  timer: [{ name: 'hourly', change: 'start' }, false],
  counter: [{ name: 'counter1', set: 'reset' }, false],
  output: [{ output: '4.1', change: 'close' }, expectUnique('adio4', { digital_output_1: 'closed' }), 5],
  analog_output: [{ output: '4.1', value: '4.20 V' }, expectUnique('adio4', { analog_output_1: '4.20 V' }), 5],
  serge: [
    { name: 'serial4.1', change: 'connect' },
    async (bench) =>
      expect(await bench.as('status').readStatus('serial4')).toMatchObject({
        status: { list: [{ state: 'connected' }] },
      }),
    2,
  ],
  sleep: [{ hours: '23', minutes: '1', seconds: '0' }, false],
  cert_reenrollment: [{ cert_reenrollment: 'enrollment1' }, false],
  network_tool: [{ network_tool: 'ping1' }, false],
  device_counter: [{ name: 'boots_since_reset' }, false],
  provider_scan: [{ modem: 'lte2' }, false],
};
