import { describe, expect, test } from 'vitest';
import { MANUAL_ACTION_TYPES, type ManualAction, type ManualActionOptions } from '../../src/router/index.ts';
import { failureOf, type InterfaceBench, openInterface } from './bench.ts';

/** The single values of a status resource. */
async function readUnique(bench: InterfaceBench, resource: string): Promise<Record<string, string>> {
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
const performed: Performed = {
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
  sleep: [{ hours: '0', minutes: '1', seconds: '0' }, false],
  cert_reenrollment: [{ name: 'device_cert' }, false],
  network_tool: [{ name: 'ping1' }, false],
  device_counter: [{ name: 'boots_since_reset' }, false],
  provider_scan: [{ modem: 'lte2' }, false],
};

describe('manual actions', () => {
  test.for(Object.entries(performed))(
    '%s is carried out, once, and answered with 201',
    async ([type, [options, effect, router = 0]]) => {
      await using bench = await openInterface({ routers: router + 1 }, router);
      bench.router.jumpClock(-3_600_000);
      await bench.as().performAction({ type, options } as ManualAction);
      if (effect) await effect(bench);
      expect(bench.router.counters.requests['POST /operation']).toBe(1);
    },
  );

  test('these are all types that the client knows', () => {
    expect(Object.keys(performed)).toEqual(MANUAL_ACTION_TYPES);
  });

  test('every type refuses options that it does not have, and nothing happens', async () => {
    await using bench = await openInterface({ routers: 1 });
    const admin = bench.as();
    for (const type of MANUAL_ACTION_TYPES) {
      const options = { ...performed[type][0], colour: 'red' };
      const json = { method: 'manual_action', params: { type, options } };
      const answer = await admin.call({ method: 'POST', path: '/operation', json });
      expect({ type, ...answer }).toMatchObject({
        type,
        status: 400,
        body: { error: [{ colour: expect.any(String) }] },
      });
    }
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led: 'off', wan: 'wan1' });
  });

  test('every type that needs options is refused without them', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    for (const type of MANUAL_ACTION_TYPES) {
      const json = { method: 'manual_action', params: { type, options: {} } };
      const { status } = await admin.call({ method: 'POST', path: '/operation', json });
      // `sleep` without a duration sleeps until it is woken.
      const isComplete = Object.keys(performed[type][0]).length === 0 || type === 'sleep';
      expect({ type, isRefused: status === 400 }).toEqual({ type, isRefused: !isComplete });
    }
  });

  test.for(['monitor', 'status'])('no type is carried out for the account %s: 403', async (username) => {
    await using bench = await openInterface();
    const client = bench.as(username);
    for (const type of MANUAL_ACTION_TYPES) {
      const action = { type, options: performed[type][0] } as ManualAction;
      expect([type, await failureOf(client.performAction(action))]).toEqual([
        type,
        { code: 'auth', status: 403, topics: ['authorization'] },
      ]);
    }
    expect(bench.router.counters).toMatchObject({ logins: 1, unauthorized: 0 });
  });

  test.for(['on', 'off', 'flash'] as const)('info_led takes %s', async (info_led) => {
    await using bench = await openInterface();
    await bench.as().performAction({ type: 'info_led', options: { info_led } });
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led });
  });

  test('message takes the name of a configured message and no other', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    const send = (message: string) => failureOf(admin.performAction({ type: 'message', options: { message } }));
    expect(await send('pump stopped')).toEqual({ code: 'http', status: 400, topics: ['message'] });
    const parameters = { name: 'pump stopped', type: 'sms', contact: 'on-call' };
    await admin.configuration.addEntries('events/messages', [{ parameters }], { activate: true });
    expect(await send('pump stopped')).toBe('none');
  });

  test('a body that is no operation is refused', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    const params = { type: 'info_led', options: { info_led: 'on' } };
    for (const json of [
      {},
      { method: 'manual_action' },
      { method: 'dance', params },
      { method: 'manual_action', params: { type: 'dance' } },
    ]) {
      expect((await admin.call({ method: 'POST', path: '/operation', json })).status).toBe(400);
    }
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led: 'off' });
  });
});
