import { expect, test } from 'vitest';
import { DeviceFacts } from '../../src/agent/router-state/device-facts.ts';
import { AdaptiveInterval } from '../../src/agent/routers/adaptive-interval.ts';
import type { PollResult, ResourceResult } from '../../src/status/index.ts';

/** A poll whose resources took this long, the first of them with values of a modem. */
function createPoll(
  durationsMs: readonly number[],
  values: Readonly<Record<string, readonly number[]>> = {},
): PollResult {
  const families = Object.entries(values).map(([name, list]) => ({
    name,
    help: '',
    type: 'gauge' as const,
    samples: list.map((value) => ({ labels: {}, value })),
  }));
  const resources = durationsMs.map((durationMs, index) => ({
    name: `resource ${index}`,
    modules: [],
    state: 'read' as const,
    isUnchanged: false,
    families: index === 0 ? families : [],
    faults: [],
    isUnread: false,
    durationMs,
    readAtMs: 0,
    staleAfterMs: 1,
    isOptional: false,
    error: undefined,
  }));
  return {
    isUp: true,
    isIdle: false,
    failure: undefined,
    error: undefined,
    durationMs: 0,
    resources,
    withdrawn: [],
    lacks: [],
    firmwareVersion: undefined,
    serialNumber: undefined,
    configHash: undefined,
  };
}

/** The pace of a router, and a function that takes a poll in and returns whether its signal is poor. */
function openReader() {
  const device = new DeviceFacts();
  const pace = new AdaptiveInterval({
    router: 'plant-7',
    intervals: { intervalMs: 60_000, staleAfterMs: 180_000 },
    values: { read: () => undefined, write: () => {} },
  });
  const read = (poll: PollResult) => {
    const atMs = Math.max(...poll.resources.map(({ readAtMs }) => readAtMs));
    device.record(poll, atMs);
    pace.learn(poll, device);
    return device.hasPoorSignal(atMs);
  };
  return { pace, read };
}

test.for<[what: string, values: Record<string, number[]>, isSignalPoor: boolean]>([
  ['a good signal', { router_modem_rsrp_dbm: [-95] }, false],
  ['a poor signal', { router_modem_rsrp_dbm: [-111] }, true],
  ['the better of two modems', { router_modem_rsrp_dbm: [-120, -90] }, false],
  ['a poor RSSI beside a good RSRP', { router_modem_rsrp_dbm: [-100], router_modem_rssi_dbm: [-99] }, false],
  ['a poor RSSI alone', { router_modem_rssi_dbm: [-96] }, true],
  ['no modem', {}, false],
])('%s', ([, values, isSignalPoor]) => {
  expect(openReader().read(createPoll([100], values))).toBe(isSignalPoor);
});

test('the usual answer decides, not the largest; a failed poll says nothing', () => {
  const { read, pace } = openReader();
  for (let poll = 0; poll < 5; poll++) {
    read({ ...createPoll([10_000]), isUp: false });
    read({ ...createPoll([]), isIdle: true });
  }
  expect(pace.summarize().responseSeconds).toBeNull();
  for (let poll = 0; poll < 5; poll++) read(createPoll([100, 9000, 120]));
  expect(pace.summarize()).toMatchObject({ level: 'usual', responseSeconds: 0.12 });
});

/** A poll that has read these resources at `atMs`, after which their values are served for 3 s. */
function createReadings(atMs: number, changes: Readonly<Record<string, Partial<ResourceResult>>>): PollResult {
  const poll = createPoll([100]);
  const [base] = poll.resources;
  if (!base) throw new RangeError('The poll has no resource');
  const resources = Object.entries(changes).map(([name, change]) => {
    return { ...base, name, readAtMs: atMs, staleAfterMs: 3000, ...change };
  });
  return { ...poll, resources };
}

const withRsrp = (rsrp: number) => ({
  families: createPoll([100], { router_modem_rsrp_dbm: [rsrp] }).resources[0]?.families ?? [],
});
const UNCHANGED = { isUnchanged: true };
const FAILED = { state: 'failed' as const };

test('the best of all modems counts, also of those whose answer is unchanged or failed just now', () => {
  const { read } = openReader();
  const isPoor = (atMs: number, changes: Readonly<Record<string, Partial<ResourceResult>>>) =>
    read(createReadings(atMs, changes));
  expect(isPoor(0, { lte2: withRsrp(-90), lte3: withRsrp(-115) })).toBe(false);
  expect(isPoor(1000, { lte2: UNCHANGED, lte3: withRsrp(-116) })).toBe(false);
  expect(isPoor(2000, { lte2: withRsrp(-112), lte3: UNCHANGED })).toBe(true);
  expect(isPoor(3000, { lte2: FAILED, lte3: withRsrp(-90) })).toBe(false);
});

test.for<[what: string, change: Partial<ResourceResult>]>([
  ['is not there', { state: 'unsupported' }],
  ['has no signal in its answer', {}],
  ['was not read for as long as its values are served', FAILED],
])('a modem that %s has no poor signal any more', ([, change]) => {
  const { read } = openReader();
  read(createReadings(0, { lte2: withRsrp(-115) }));
  expect(read(createReadings(3000, { lte2: change, system: {} }))).toBe(false);
});
