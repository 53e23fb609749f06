import { expect, test } from 'vitest';
import { PollReader } from '../../src/agent/routers/answered-poll.ts';
import type { PollResult } from '../../src/status/index.ts';

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
    isIdentity: false,
    staleAfterMs: 0,
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
    capabilities: [],
    firmwareVersion: undefined,
    serialNumber: undefined,
    configHash: undefined,
  };
}

test.for<[what: string, values: Record<string, number[]>, isSignalPoor: boolean]>([
  ['a good signal', { router_modem_rsrp_dbm: [-95] }, false],
  ['a poor signal', { router_modem_rsrp_dbm: [-111] }, true],
  ['the better of two modems', { router_modem_rsrp_dbm: [-120, -90] }, false],
  ['a poor RSSI beside a good RSRP', { router_modem_rsrp_dbm: [-100], router_modem_rssi_dbm: [-99] }, false],
  ['a poor RSSI alone', { router_modem_rssi_dbm: [-96] }, true],
  ['no modem', {}, false],
])('%s', ([, values, isSignalPoor]) => {
  expect(new PollReader().read(createPoll([100], values))).toEqual({ responseMs: 100, isSignalPoor });
});

test('the usual answer decides, not the largest; an unchanged answer keeps the signal; a failed poll says nothing', () => {
  const reader = new PollReader();
  reader.read(createPoll([100], { router_modem_rsrp_dbm: [-115] }));
  expect(reader.read(createPoll([100, 9000, 120]))).toEqual({ responseMs: 120, isSignalPoor: true });
  expect(reader.read({ ...createPoll([10_000]), isUp: false })).toBeUndefined();
  expect(reader.read({ ...createPoll([]), isIdle: true })).toBeUndefined();
});
