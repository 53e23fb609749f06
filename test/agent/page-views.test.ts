import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { DeviceFacts, InterfaceRates } from '../../src/agent/router-state/device-facts.ts';
import { RouterHistory } from '../../src/agent/router-state/poll-history.ts';
import { FleetHistory } from '../../src/agent/views/fleet-history.ts';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import type { ResourceResult } from '../../src/status/index.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { createModule } from './router-agent-bench.ts';
import { createBench, up } from './router-recorder-bench.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.parse('2026-11-21T12:00:00.000Z');

type Samples = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

function createResult(
  name: string,
  families: Readonly<Record<string, Samples>>,
  change: Partial<ResourceResult> = {},
): ResourceResult {
  return {
    name,
    modules: [],
    state: 'read',
    isUnchanged: false,
    families: Object.entries(families).map(([family, samples]) => ({
      name: family,
      help: '',
      type: 'gauge',
      samples: samples.map(([labels, value]) => ({ labels, value })),
    })),
    faults: [],
    isUnread: false,
    durationMs: 1,
    readAtMs: 0,
    staleAfterMs: 1,
    isOptional: false,
    error: undefined,
    ...change,
  };
}

/** A poll that ended at `nowMs`, and reached the router. */
function record(device: DeviceFacts, resources: readonly ResourceResult[], nowMs = 0): void {
  device.record({ isUp: true, resources, withdrawn: [] }, nowMs);
}

test('a summary has the last values of a router, by the names of their families', () => {
  const device = new DeviceFacts();
  expect(Object.values(device.summary).every((value) => value === null)).toBe(true);
  const modem = (isOnline: number, provider: string, rsrp: Samples) => ({
    router_modem_info: [[{ provider_name: provider }, 1]] as Samples,
    router_modem_access_technology: [[{ access_technology: 'LTE' }, 1]] as Samples,
    router_modem_online: [[{}, isOnline]] as Samples,
    router_modem_rsrp_dbm: rsrp,
    router_modem_signal_csq: [[{}, 20]] as Samples,
  });
  record(device, [
    createResult('device_info', {
      router_board_info: [[{ board_type: 'M3CPU' }, 1]],
      router_device_info: [[{ device_type: 'MRX3' }, 1]],
    }),
    createResult('lte1', modem(0, 'A1', [[{}, -80]])),
    createResult('lte2', modem(1, 'Telekom.de', [[{}, -93]])),
    createResult('sysstat/wan', { router_wan_active_info: [[{ chain: 'wan1' }, 1]] }),
    createResult('sysdetail/system', {
      router_uptime_seconds: [[{}, 90]],
      router_location_info: [[{ location: 'x'.repeat(999) }, 1]],
    }),
  ]);
  expect(device.summary).toEqual({
    model: 'MRX3',
    location: 'x'.repeat(64),
    operator: 'Telekom.de',
    technology: 'LTE',
    signal: { kind: 'rsrp', value: -93 },
    wan: 'wan1',
    uptimeSeconds: 90,
    drift: null,
  });
  // What failed or is unchanged keeps its values; what lost one has none.
  const before = device.summary;
  record(device, [createResult('lte2', {}, { isUnchanged: true }), createResult('lte1', {}, { state: 'failed' })]);
  expect(device.summary).toBe(before);
  record(device, [
    createResult('lte2', modem(1, 'Telekom.de', [])),
    createResult('sysstat/wan', {}, { state: 'unsupported' }),
  ]);
  expect(device.summary).toMatchObject({ signal: { kind: 'csq', value: 20 }, wan: null });
});

test('a router that names modem after modem makes the summary no larger', () => {
  const device = new DeviceFacts();
  for (let index = 0; index < 1000; index++) {
    record(device, [
      createResult(`lte${index}`, {
        router_modem_online: [[{}, 0]],
        router_modem_info: [[{ provider_name: `p${index}` }, 1]],
      }),
    ]);
  }
  record(device, [
    createResult('lte999', { router_modem_online: [[{}, 1]], router_modem_info: [[{ provider_name: 'last' }, 1]] }),
  ]);
  expect(device.summary.operator).toBe('p0');
});

test('a summary drops values of a resource when they expire, but keeps all of a router that is down', () => {
  const device = new DeviceFacts();
  const modem = (rsrp: number) => ({ router_modem_rsrp_dbm: [[{}, rsrp]] as Samples });
  const at = (minutes: number) => ({ readAtMs: minutes * MINUTE_MS, staleAfterMs: 3 * MINUTE_MS });
  const lte2 = (minutes: number, change: Partial<ResourceResult> = {}) => {
    record(device, [createResult('lte2', modem(-80), { ...at(minutes), ...change })], minutes * MINUTE_MS);
    return device.summary.signal?.value;
  };
  record(device, [
    createResult('device_info', { router_device_info: [[{ device_type: 'MRX3' }, 1]] }, { staleAfterMs: Infinity }),
    createResult('lte2', modem(-80), at(0)),
    createResult('lte3', modem(-90), at(1)),
  ]);
  expect(lte2(2, { state: 'failed', families: [] })).toBe(-80);
  expect(lte2(3, { state: 'failed', families: [] })).toBe(-90);
  expect(lte2(4, { state: 'failed', families: [] })).toBeUndefined();
  expect(device.summary.model).toBe('MRX3');
  // The exposition still holds the values of an answer that comes again.
  expect(lte2(5, { isUnchanged: true, families: [] })).toBe(-80);
  device.record({ isUp: false, resources: [], withdrawn: [] }, 60 * MINUTE_MS);
  expect(device.summary.signal?.value).toBe(-80);
  expect(lte2(61, { state: 'failed', families: [] })).toBeUndefined();
});

test('a summary shows nothing of a resource that no longer applies to the router', () => {
  const device = new DeviceFacts();
  record(device, [createResult('lte2', { router_modem_info: [[{ provider_name: 'A1' }, 1]] })]);
  expect(device.summary.operator).toBe('A1');
  device.record({ isUp: true, resources: [], withdrawn: ['lte2'] }, 0);
  expect(device.summary.operator).toBeNull();
});

const HOLD_MS = 3 * MINUTE_MS;
const DOWN = {
  isUp: false,
  signal: undefined,
  lagMs: undefined,
  durationMs: 10_000,
  traffic: undefined,
  holdMs: HOLD_MS,
};
const UP = { ...DOWN, isUp: true, durationMs: 250 };
const NOW = (clock: SteppedClock) => ({ wallMs: clock.now(), ms: clock.monotonic() });
const NO_VALUES = {
  signal: null,
  signalMin: null,
  signalMax: null,
  logLagSeconds: null,
  responseSeconds: null,
  receiveBitsPerSecond: null,
  transmitBitsPerSecond: null,
};
const resultsOf = (history: RouterHistory, clock: SteppedClock) =>
  history
    .describe(NOW(clock))
    .map(({ result }) => result?.[0] ?? '-')
    .join('')
    .replace(/^-+/, '');

test('a history has 24 hours in steps of three minutes, with holes where nothing was polled for longer than values hold', async () => {
  const clock = createSteppedClock(START_MS);
  const history = new RouterHistory();
  expect([history.describe(NOW(clock)), history.describeResults(clock.monotonic())]).toEqual([[], '']);
  const traffic = { receiveBytesPerSecond: 125_000, transmitBytesPerSecond: 0 };
  history.add({ ...UP, signal: -97, lagMs: 4000 }, clock.monotonic());
  history.add({ ...UP, signal: -93.4, lagMs: 4000, traffic }, clock.monotonic());
  await clock.advance(MINUTE_MS);
  history.add(DOWN, clock.monotonic());
  await clock.advance(9 * MINUTE_MS);
  history.add({ ...DOWN, traffic: { receiveBytesPerSecond: null, transmitBytesPerSecond: null } }, clock.monotonic());
  await clock.advance(3 * MINUTE_MS);
  const beyond = { receiveBytesPerSecond: 1e300, transmitBytesPerSecond: 1e300 };
  history.add({ ...UP, signal: -1e9, lagMs: 1e12, durationMs: 1e12, traffic: beyond }, clock.monotonic());
  const points = history.describe(NOW(clock));
  expect(points).toHaveLength(480);
  expect(resultsOf(history, clock)).toBe('md-du');
  expect(history.describeResults(clock.monotonic())).toBe(`${'-'.repeat(118)}mm`);
  expect(points.slice(-5)).toEqual([
    {
      at: '2026-11-21T12:00:00.000Z',
      result: 'mixed',
      signal: -93,
      signalMin: -97,
      signalMax: -93,
      logLagSeconds: 4,
      responseSeconds: 0.25,
      // Within one percent.
      receiveBitsPerSecond: expect.closeTo(1_000_000, -4),
      transmitBitsPerSecond: 0,
    },
    { at: '2026-11-21T12:03:00.000Z', result: 'down', ...NO_VALUES },
    { at: '2026-11-21T12:06:00.000Z', result: null, ...NO_VALUES },
    { at: '2026-11-21T12:09:00.000Z', result: 'down', ...NO_VALUES },
    // Values beyond all measure are cut.
    {
      at: '2026-11-21T12:12:00.000Z',
      result: 'up',
      signal: -127,
      signalMin: -127,
      signalMax: -127,
      logLagSeconds: 32_767,
      responseSeconds: 327.67,
      receiveBitsPerSecond: expect.any(Number),
      transmitBitsPerSecond: expect.any(Number),
    },
  ]);
  // A change of the wall clock moves nothing, and what is older than a day is gone.
  clock.jump(-86_400_000);
  expect(resultsOf(history, clock)).toBe('md-du');
  await clock.advance((24 * 60 - 3) * MINUTE_MS);
  expect(resultsOf(history, clock)).toMatch(/^uu-{475,}$/);
  await clock.advance(30 * MINUTE_MS);
  expect(history.describeResults(clock.monotonic())).toBe('-'.repeat(120));
  history.add(UP, clock.monotonic());
  expect(history.describeResults(clock.monotonic())).toBe(`${'-'.repeat(119)}u`);
});

test('the result of a poll holds until the next one is overdue', async () => {
  const clock = createSteppedClock(START_MS);
  const history = new RouterHistory();
  const holdMs = 15 * MINUTE_MS;
  history.add({ ...UP, holdMs }, clock.monotonic());
  await clock.advance(5 * MINUTE_MS);
  expect(resultsOf(history, clock)).toBe('uu');
  history.add({ ...DOWN, holdMs }, clock.monotonic());
  // Although it held for the beginning of the slot, and a page was shown.
  expect(resultsOf(history, clock)).toBe('ud');
  await clock.advance(30 * MINUTE_MS);
  expect(resultsOf(history, clock)).toMatch(/^ud{6}-+$/);
});

test.for([
  ['after twelve minutes', 12 * MINUTE_MS, 'dm---u'],
  ['in the same slot', 0, 'dm'],
  ['after a day', 24 * 60 * MINUTE_MS, 'u'],
  ['with a wall clock that was set back for a year', -365 * 86_400_000, 'dm'],
] as const)('a history is continued %s', async ([, passedMs, expected]) => {
  const clock = createSteppedClock(START_MS);
  const before = new RouterHistory();
  expect(before.pack(NOW(clock))).toBeUndefined();
  before.add(DOWN, clock.monotonic());
  await clock.advance(3 * MINUTE_MS);
  before.add(DOWN, clock.monotonic());
  before.add(
    { ...UP, signal: -97, lagMs: 300_000, traffic: { receiveBytesPerSecond: 1, transmitBytesPerSecond: null } },
    clock.monotonic(),
  );
  const packed = before.pack(NOW(clock));
  const values = before.describe(NOW(clock)).at(-1);
  // Another process has another monotonic clock.
  const next = createSteppedClock(clock.now() + passedMs);
  await next.advance(1000);
  const history = new RouterHistory();
  if (packed) history.recall(packed, NOW(next));
  if (passedMs <= 0) expect(history.describe(NOW(next)).at(-1)).toEqual({ ...values, at: expect.any(String) });
  history.add(UP, next.monotonic());
  expect(resultsOf(history, next)).toBe(expected);
});

test.for([
  ['', 0],
  ['AAAA', 0],
  [deflateSync(Buffer.alloc(100)).toString('base64'), 0],
  [deflateSync(Buffer.alloc(1e6)).toString('base64'), 0],
  ['%', Number.MAX_VALUE],
] as const)('a history of other text, %#, is empty', ([slots, newestMs]) => {
  const clock = createSteppedClock(START_MS);
  const history = new RouterHistory();
  history.recall({ newestMs, slots }, NOW(clock));
  expect(history.describeResults(clock.monotonic())).toBe('');
});

test.for([0, Number.MAX_VALUE])('a history of any bytes that begins %d ms after 1970 can be shown', (newestMs) => {
  const clock = createSteppedClock(START_MS);
  const history = new RouterHistory();
  history.recall({ newestMs, slots: deflateSync(Buffer.alloc(5760, 0xa7)).toString('base64') }, NOW(clock));
  expect(history.describe(NOW(clock))).toHaveLength(480);
  expect(history.describeResults(clock.monotonic())).toMatch(/^[udm-]{120}$/);
});

test('the history of ten thousand routers takes 5,760 bytes for each, and none before the first poll', () => {
  const clock = createSteppedClock(START_MS);
  // A thread of V8 frees what earlier tests left behind.
  const readBytes = () => {
    for (let bytes = -1; ; ) {
      collectGarbage();
      const { arrayBuffers } = process.memoryUsage();
      if (arrayBuffers === bytes) return bytes;
      bytes = arrayBuffers;
    }
  };
  const before = readBytes();
  const histories = Array.from({ length: 10_000 }, () => new RouterHistory());
  expect(readBytes() - before).toBeLessThan(100_000);
  for (const history of histories) history.add({ ...UP, signal: -90 }, clock.monotonic());
  const taken = readBytes() - before;
  expect(taken / histories.length).toBeGreaterThan(5700);
  expect(taken / histories.length).toBeLessThan(6000);
});

test('the fleet is counted once a minute, for six hours', async () => {
  const clock = createSteppedClock(START_MS);
  let down = 0;
  const history = new FleetHistory(clock, () => ({ up: 10 - down, down, stale: 0, other: 0 }));
  history.start();
  expect(history.describe()).toHaveLength(1);
  await clock.advance(MINUTE_MS);
  down = 4;
  await clock.advance(MINUTE_MS);
  await clock.advance(MINUTE_MS / 2);
  expect(history.describe().map(({ at, ...counts }) => [at.slice(11, 19), counts.down])).toEqual([
    ['12:01:00', 0],
    ['12:02:00', 4],
    ['12:02:30', 4],
  ]);
  await clock.advance(400 * MINUTE_MS);
  expect(history.describe()).toHaveLength(361);
  expect(history.describe()[0]?.at).toBe('2026-11-21T12:43:00.000Z');
  history.stop();
  await clock.advance(10 * MINUTE_MS);
  expect(history.describe().at(-2)?.at).toBe('2026-11-21T18:42:00.000Z');
});

test('rates of interfaces are those between two answers, and none where a counter was reset', () => {
  const rates = new InterfaceRates();
  const answer = (receive: number, transmit: number, readAtMs: number, isUnchanged = false) => {
    const families = {
      router_interface_receive_bytes_total: [[{ interface: 'net1' }, receive]] as Samples,
      router_interface_transmit_bytes_total: [[{ interface: 'net1' }, transmit]] as Samples,
    };
    rates.record([createResult('ip', isUnchanged ? {} : families, { readAtMs, isUnchanged })]);
    return rates
      .describe()
      .map(({ receiveBytesPerSecond, transmitBytesPerSecond }) => [receiveBytesPerSecond, transmitBytesPerSecond]);
  };
  expect(answer(1000, 5000, 0)).toEqual([[null, null]]);
  expect(answer(4000, 100, 60_000)).toEqual([[50, null]]);
  expect(answer(0, 0, 90_000, true)).toEqual([[0, 0]]);
  expect(answer(7000, 160, 120_000)).toEqual([[100, 2]]);
  // An interface that is gone, or of which nothing can be read, has no rate any more.
  const receive = (name: string, value: number, readAtMs: number) =>
    createResult('ip', { router_interface_receive_bytes_total: [[{ interface: name }, value]] }, { readAtMs });
  rates.record([receive('net2', 100, 180_000)]);
  expect(rates.describe()[0]).toMatchObject({ interface: 'net1', receiveBytesPerSecond: null });
  rates.record([receive('net2', 700, 240_000)]);
  expect(rates.describe()[1]).toMatchObject({ interface: 'net2', receiveBytesPerSecond: 10 });
  rates.record([{ ...receive('net2', 700, 300_000), state: 'failed' }]);
  expect(rates.describe()[1]).toMatchObject({ interface: 'net2', receiveBytesPerSecond: null });
  for (let index = 0; index < 500; index++) {
    rates.record([createResult('ip', { router_interface_receive_bytes_total: [[{ interface: `x${index}` }, 1]] })]);
  }
  expect(rates.describe()).toHaveLength(32);
});

test('values come from the exposition, by module, without the labels of the router, whatever is in them', async () => {
  const nasty = 'a"b\\c\nd{e} f,g="h"';
  const module = createModule('level', 'lte2');
  const definitions = module.resources.map((one) => ({
    ...one,
    labels: { tank: '$index' },
    metrics: one.metrics.map((metric) => ({ ...metric, name: 'mine_level' })),
  }));
  const modules = [{ ...module, name: 'tanks', help: 'Tanks.', resources: definitions }];
  const { recorder, clock, poll } = createBench(0, 'active', { labels: { site: 'munich' }, modules });
  const families: Readonly<Record<string, Samples>> = {
    mine_level: [
      [{ tank: nasty, site: 'munich' }, 1.5],
      [{ tank: '' }, -Infinity],
    ],
    mine_info: [[{ kind: 'x' }, 1]],
  };
  poll(up([createResult('lte2', families, { readAtMs: clock.monotonic(), staleAfterMs: MINUTE_MS })]));
  await clock.advance(7000);
  const { values } = recorder.describe();
  expect(values.map(({ module: name, help }) => [name, help])).toEqual([
    ['tanks', 'Tanks.'],
    ['other', ''],
  ]);
  expect(values[0]?.families).toMatchObject([
    {
      name: 'mine_level',
      keys: ['tank'],
      resource: 'lte2',
      ageSeconds: 7,
      samples: [
        { labels: { tank: nasty }, value: 1.5 },
        { labels: {}, value: -Infinity },
      ],
    },
  ]);
  expect(values[1]?.families).toMatchObject([{ name: 'mine_info', samples: [{ labels: { kind: 'x' }, value: 1 }] }]);
});
