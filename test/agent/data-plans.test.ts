import { describe, expect, test } from 'vitest';
import { createRouterValues } from '../../src/agent/routers/adaptive-interval.ts';
import { DataPlans } from '../../src/agent/routers/data-plans.ts';
import { createSeededRandom, createSteppedClock, type Random, type SteppedClock } from '../../src/base/index.ts';
import type { RouterSettings } from '../../src/config/index.ts';
import { FleetExposition } from '../../src/exposition/index.ts';
import type { Labels, MetricFamily, Store } from '../../src/model/index.ts';
import type { PollResult, ResourceResult } from '../../src/status/index.ts';
import { createRouterSettings } from '../support/router-settings.ts';
import { createClusterBench, createEmbeddedBench } from '../support/store-bench.ts';
import { withPrograms } from '../support/tools.ts';
import { down, failed, read, up } from './router-recorder-bench.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WRAP = 2 ** 32;
const START_MS = Date.UTC(2026, 10, 10, 12);
const PLAN = { sim: 'unknown', limit: 1e9, billing_day: 1 };

function family(name: string, ...samples: readonly (readonly [Labels, number])[]): MetricFamily {
  return { name, help: '', type: 'gauge', samples: samples.map(([labels, value]) => ({ labels, value })) };
}

interface Counters {
  readonly rx: number;
  readonly tx: number;
  readonly uptime?: number | undefined;
  readonly isOnline?: boolean;
  readonly sim?: string;
  readonly serial?: string;
  readonly interface?: string;
  readonly modem?: string;
}

function readCounters(name: string, rx: number, tx: number): ResourceResult {
  const families = [
    family('router_interface_receive_bytes_total', [{ interface: name }, rx], [{ interface: 'net1' }, 7]),
    family('router_interface_transmit_bytes_total', [{ interface: name }, tx], [{ interface: 'net1' }, 7]),
  ];
  return read('sysdetail/ip_addresses', { families });
}

/** The counters come first: their modem and uptime are read later in the same poll. */
function poll({ rx, tx, uptime, isOnline = true, sim = '', serial = '4711', ...names }: Counters): PollResult {
  const { interface: name = 'lte2', modem = 'lte2' } = names;
  return up(
    [
      readCounters(name, rx, tx),
      read('sysdetail/system', {
        families: uptime === undefined ? [] : [family('router_uptime_seconds', [{}, uptime])],
      }),
      read(modem, {
        families: [
          family('router_modem_online', [{ modem }, Number(isOnline)]),
          family('router_modem_used_sim', ...(sim === '' ? [] : ([[{ modem, used_sim: sim }, 1]] as const))),
        ],
      }),
    ],
    { serialNumber: serial },
  );
}

function openBench(changes: Partial<RouterSettings> = {}, startMs = START_MS) {
  const clock: SteppedClock = createSteppedClock(startMs);
  const values = new Map<string, string>();
  const router = createRouterSettings('https://192.0.2.7', { timezone: 'UTC', data_plans: [PLAN], ...changes });
  const exposition = new FleetExposition();
  const open = (settings = router) =>
    new DataPlans({
      router: settings,
      bytes: { sumSince: () => 5 },
      exposition,
      values: { read: (_, key) => values.get(key), write: (_, key, text) => void values.set(key, text) },
      clock,
    });
  let plans = open();
  return {
    clock,
    values,
    /** As after kill -9: only what was stored remains. */
    restart: (settings = router) => {
      plans = open(settings);
    },
    async pass(ms: number, ...results: readonly PollResult[]) {
      for (const result of results) {
        await clock.advance(ms);
        plans.record(result);
      }
    },
    used: (sim = 'unknown') => plans.describe().find((one) => one.sim === sim)?.used,
    describe: () => plans.describe(),
    metrics: () => [...exposition.render('text', clock.monotonic())].join(''),
    resets: () =>
      Number(
        /^router_data_plan_counter_resets_total\{[^}]*\} (\d+)$/m.exec(
          [...exposition.render('text', clock.monotonic())].join(''),
        )?.[1],
      ),
  };
}

test('DataPlans counts nothing of the first reading, then what flowed, and is absent before', async () => {
  const bench = openBench();
  await bench.pass(MINUTE_MS, up([read('device_info')]));
  expect(bench.used()).toBeNull();
  expect(bench.metrics()).toContain('router_data_plan_limit_bytes{router="plant-7",sim="unknown"} 1000000000');
  expect(bench.metrics()).not.toContain('used_bytes{');
  await bench.pass(MINUTE_MS, poll({ rx: 500, tx: 50 }));
  expect(bench.used()).toBe(0);
  await bench.pass(MINUTE_MS, poll({ rx: 600, tx: 53 }), poll({ rx: 600, tx: 60 }));
  expect(bench.used()).toBe(110);
});

test('DataPlans takes a lower counter for a wrap only above 2^31, with the uptime going on and the modem online all the time', async () => {
  const before = { rx: WRAP - 100, tx: 1000, uptime: 100 };
  const wrapped = { rx: 50, tx: 1010, uptime: 200 };
  const cases: readonly (readonly [what: string, used: number, ...results: PollResult[]])[] = [
    ['a wrap', 160, poll(before), poll(wrapped)],
    [
      'a wrap of the sent bytes',
      160,
      poll({ ...before, rx: 1000, tx: WRAP - 100 }),
      poll({ rx: 1010, tx: 50, uptime: 200 }),
    ],
    ['an old value of less than 2^31', 60, poll({ ...before, rx: WRAP / 2 - 1 }), poll(wrapped)],
    ['a counter of 64 bits', 60, poll({ ...before, rx: WRAP + 1 }), poll(wrapped)],
    ['a reboot', 60, poll(before), poll({ ...wrapped, uptime: 90 })],
    ['an unknown uptime', 60, poll({ ...before, uptime: undefined }), poll({ ...wrapped, uptime: undefined })],
    ['a modem that is offline now', 60, poll(before), poll({ ...wrapped, isOnline: false })],
    ['a modem that was offline', 60, poll({ ...before, isOnline: false }), poll(wrapped)],
    ['a poll without the modem', 60, poll(before), up([failed('lte2')]), poll(wrapped)],
    ['a failed poll', 60, poll(before), down(), poll(wrapped)],
    ['a reset of both counters', 60, poll(before), poll({ ...wrapped, tx: 10 })],
  ];
  for (const [what, used, ...results] of cases) {
    const bench = openBench();
    await bench.pass(MINUTE_MS, ...results);
    expect([what, bench.used(), bench.resets()]).toEqual([what, used, used === 160 ? 0 : 1]);
  }
});

test('DataPlans that restarts takes a lower counter for a reset, because the modem may have been offline', async () => {
  const bench = openBench();
  await bench.pass(MINUTE_MS, poll({ rx: WRAP - 100, tx: 1000, uptime: 100 }));
  bench.restart();
  await bench.pass(MINUTE_MS, poll({ rx: 50, tx: 1010, uptime: 200 }));
  expect([bench.used(), bench.resets()]).toEqual([60, 1]);
});

test('DataPlans knows the modem lte_serial2 of the interface lte2, also of its second channel, and no other interface', async () => {
  const bench = openBench();
  const names = { interface: 'lte2_2', modem: 'lte_serial2' };
  await bench.pass(
    MINUTE_MS,
    poll({ rx: WRAP - 100, tx: 0, uptime: 1, ...names }),
    poll({ rx: 50, tx: 0, uptime: 2, ...names }),
    up([readCounters('net2', 0, 0)]),
    up([readCounters('net2', 1e6, 0)]),
  );
  expect([bench.used(), bench.resets()]).toEqual([150, 0]);
});

test('DataPlans counts the bytes of each SIM card for its own plan, and those of an interval with a change for none of them', async () => {
  const data_plans = [PLAN, { ...PLAN, sim: '1' }, { ...PLAN, sim: 'SIM 2' }];
  const bench = openBench({ data_plans });
  await bench.pass(MINUTE_MS, poll({ rx: 0, tx: 0 }), poll({ rx: 1, tx: 0 }));
  await bench.pass(MINUTE_MS, poll({ rx: 10, tx: 0, sim: 'SIM 1' }), poll({ rx: 110, tx: 0, sim: 'SIM 1' }));
  // The modem is off, and then dials in with the other card: both counters begin again.
  await bench.pass(MINUTE_MS, poll({ rx: 1110, tx: 0 }), poll({ rx: 7, tx: 0, sim: '2' }));
  await bench.pass(MINUTE_MS, poll({ rx: 10_007, tx: 0, sim: '2' }), poll({ rx: 110_007, tx: 0, sim: '1' }));
  await bench.pass(MINUTE_MS, poll({ rx: 1_110_007, tx: 0, sim: '3' }), poll({ rx: 3_110_007, tx: 0, sim: '3' }));
  expect(['1', 'SIM 2', 'unknown'].map((sim) => bench.used(sim))).toEqual([1100, 10_007, 3_100_010]);
});

test('DataPlans begins each period on the billing day of the zone, or on the last day of a shorter month', async () => {
  const data_plans = [{ ...PLAN, billing_day: 31 }];
  const bench = openBench({ timezone: 'Europe/Berlin', data_plans }, Date.UTC(2027, 0, 31, 22, 30));
  const start = () => bench.describe()[0]?.periodStart;
  await bench.pass(MINUTE_MS, poll({ rx: 0, tx: 0 }), poll({ rx: 10, tx: 0 }));
  expect([start(), bench.used()]).toEqual(['2027-01-30T23:00:00.000Z', 10]);
  for (const [day, expected] of [
    [26, '2027-01-30T23:00:00.000Z'],
    [28, '2027-02-27T23:00:00.000Z'],
    [57, '2027-02-27T23:00:00.000Z'],
    [58, '2027-03-30T22:00:00.000Z'],
    [90, '2027-04-29T22:00:00.000Z'],
  ] as const) {
    await bench.pass(Date.UTC(2027, 0, 31, 22, 40) + day * DAY_MS - bench.clock.now(), poll({ rx: 10, tx: 0 }));
    expect([day, start()]).toEqual([day, expected]);
  }
  expect(bench.used()).toBe(0);
});

test('DataPlans begins a period with the first reading in it, and counts bytes of an interval for the period in which it began', async () => {
  const bench = openBench({}, Date.UTC(2026, 10, 30, 23));
  const start = () => bench.describe()[0]?.periodStart;
  await bench.pass(MINUTE_MS, poll({ rx: 0, tx: 0 }), poll({ rx: 10, tx: 0 }));
  await bench.pass(2 * HOUR_MS, down());
  expect([start(), bench.used()]).toEqual(['2026-11-01T00:00:00.000Z', 10]);
  await bench.pass(MINUTE_MS, poll({ rx: 1010, tx: 0 }));
  expect([start(), bench.used()]).toEqual(['2026-12-01T00:00:00.000Z', 0]);
  await bench.pass(MINUTE_MS, poll({ rx: 1013, tx: 0 }));
  expect(bench.used()).toBe(3);
  // A clock that is set back over the start goes on in the period before, and takes nothing away.
  bench.clock.jump(-3 * HOUR_MS);
  await bench.pass(MINUTE_MS, poll({ rx: 1015, tx: 0 }));
  expect([start(), bench.used()]).toEqual(['2026-11-01T00:00:00.000Z', 1015]);
});

test.for([
  ['ahead into another month', Date.UTC(2026, 11, 20)],
  ['behind in 1970', Date.UTC(1970, 0, 1)],
])('DataPlans goes on in its period when a clock that was %s returns', async ([, awayMs]) => {
  const bench = openBench();
  await bench.pass(HOUR_MS, poll({ rx: 0, tx: 0 }), poll({ rx: 4000, tx: 0 }));
  const offsetMs = Number(awayMs) - bench.clock.now();
  bench.clock.jump(offsetMs);
  await bench.pass(MINUTE_MS, poll({ rx: 4001, tx: 0 }), poll({ rx: 4002, tx: 0 }));
  bench.clock.jump(-offsetMs);
  await bench.pass(MINUTE_MS, poll({ rx: 4003, tx: 0 }));
  expect(bench.used()).toBe(4003);
  expect(bench.describe()).toMatchObject([{ periodStart: '2026-11-01T00:00:00.000Z', forecast: expect.any(Number) }]);
  expect(bench.describe()[0]?.forecast).toBeLessThan(4003 * 40);
});

test('DataPlans forecasts the use at the mean rate since it began to count, and over a day at least', async () => {
  const bench = openBench({}, Date.UTC(2026, 10, 21));
  const forecast = () => bench.describe()[0]?.forecast;
  await bench.pass(0, poll({ rx: 0, tx: 0 }));
  await bench.pass(HOUR_MS, poll({ rx: 240, tx: 0 }));
  // Nine days and 23 hours are left, at 240 bytes a day.
  expect(forecast()).toBe(Math.round(240 + 240 * (10 - 1 / 24)));
  await bench.pass(5 * DAY_MS - HOUR_MS, poll({ rx: 1000, tx: 0 }));
  expect(forecast()).toBe(2000);
});

test('DataPlans has the median of the last 14 days once they have passed, without days on which nothing was read', async () => {
  const bench = openBench();
  let rx = 0;
  await bench.pass(0, poll({ rx, tx: 0 }));
  const day = () => bench.describe()[0];
  for (let index = 1; index <= 14; index++) {
    expect(day()?.median).toBeNull();
    rx += index === 3 ? 1000 : index;
    await bench.pass(HOUR_MS, poll({ rx, tx: 0 }));
    // What flows from noon to noon counts for the day before, however long nothing was read.
    await bench.pass((index === 5 ? 3 : 1) * DAY_MS - HOUR_MS, poll({ rx, tx: 0 }));
  }
  expect(day()).toMatchObject({ day: 0, median: 8 });
  await bench.pass(HOUR_MS, poll({ rx: rx + 99, tx: 0 }));
  expect(day()).toMatchObject({ day: 99, median: 8 });
  expect(bench.metrics()).toContain('router_data_plan_day_median_bytes{router="plant-7",sim="unknown"} 8\n');
});

test('DataPlans stores less than 4 kB for a router, whatever it answers', async () => {
  const data_plans = Array.from({ length: 8 }, (_, index) => ({ ...PLAN, sim: `${index}`.repeat(64) }));
  const bench = openBench({ data_plans });
  const sum = Number.MAX_SAFE_INTEGER;
  for (let round = 0; round < 40; round++) {
    const name = `lte${round % 10}_${round % 7}`;
    const sim = 'x'.repeat(10_000);
    await bench.pass(DAY_MS, poll({ rx: round % 2 === 0 ? 0 : sum, tx: sum, sim, interface: name, modem: name }));
    await bench.pass(DAY_MS, up([readCounters('lte2', Number.NaN, -1)]), up([readCounters('__proto__', 1, 1)]));
  }
  expect(bench.values.get('data_plans')?.length).toBeLessThan(4096);
  const usual = openBench();
  for (let index = 0; index < 40; index++) await usual.pass(DAY_MS, poll({ rx: index * 1e8, tx: index * 1e7 }));
  expect(usual.values.get('data_plans')?.length).toBeLessThan(450);
});

test('DataPlans begins again if what was stored is damaged, and keeps the sums of the plans that remain', async () => {
  const bench = openBench();
  await bench.pass(MINUTE_MS, poll({ rx: 0, tx: 0 }), poll({ rx: 10, tx: 0 }));
  const stored = bench.values.get('data_plans') ?? '';
  bench.restart(createRouterSettings('https://192.0.2.7', { data_plans: [PLAN, { ...PLAN, sim: '1' }] }));
  expect([bench.used(), bench.used('1')]).toEqual([10, null]);
  for (const text of ['', '{', '[]', stored.replace('"2026-11-01"', '"x"'), stored.replace(':10,', ':-1,')]) {
    bench.values.set('data_plans', text);
    bench.restart();
    expect(bench.used()).toBeNull();
    await bench.pass(MINUTE_MS, poll({ rx: 20, tx: 0 }));
    expect(bench.used()).toBe(0);
  }
});

describe.for([
  ['EmbeddedStore', createEmbeddedBench, []],
  ['ClusterStore', createClusterBench, ['nats-server']],
] as const)('%s', { timeout: 30_000 }, ([, createBench, programs]) => {
  withPrograms(programs, test)(
    'another process that takes a router over goes on with the sums of its data plans',
    async () => {
      await using stores = await createBench();
      const settings = createRouterSettings('https://192.0.2.7', { timezone: 'UTC', data_plans: [PLAN] });
      const clock = createSteppedClock(START_MS);
      const openPlans = (store: Store) =>
        new DataPlans({
          ...{ router: settings, bytes: { sumSince: () => 0 }, exposition: new FleetExposition(), clock },
          values: createRouterValues(store, (cause) => expect(cause).toBeUndefined()),
        });
      {
        await using first = await stores.open();
        const plans = openPlans(first.store);
        for (const rx of [1000, 1500, 1700]) plans.record(poll({ rx, tx: 0 }));
        expect(plans.describe()).toMatchObject([{ used: 700 }]);
        // As a replica does that leaves a router to another one.
        await first.store.closeRouter('plant-7');
      }
      await using second = await stores.open();
      const plans = openPlans(second.store);
      expect(plans.describe()).toMatchObject([{ used: 700 }]);
      plans.record(poll({ rx: 1800, tx: 5 }));
      expect(plans.describe()).toMatchObject([{ used: 805 }]);
    },
  );
});

/** A device with counters of 32 bits, whose modem and whose power fail at times. */
class Device {
  serial = 1;
  rx = 0;
  tx = 0;
  uptime = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the bytes that flowed in ten minutes, and whether the counters were reset or belong to another device. */
  live(): { readonly flowed: number; readonly isReset: boolean; readonly isExchanged: boolean } {
    const draw = this.#random();
    const isExchanged = draw < 0.001;
    const isReboot = !isExchanged && draw < 0.004;
    const isReset = isReboot || (!isExchanged && draw < 0.02);
    const [before, after] = [this.#flow(), this.#flow()];
    if (isExchanged) {
      this.serial++;
      [this.rx, this.tx] = [Math.floor(this.#random() * WRAP), Math.floor(this.#random() * WRAP)];
    }
    if (isReset) [this.rx, this.tx] = [after.rx, after.tx];
    else this.#count(before.rx + after.rx, before.tx + after.tx);
    this.uptime = isReboot || isExchanged ? 60 : this.uptime + 600;
    return { flowed: before.rx + before.tx + after.rx + after.tx, isReset, isExchanged };
  }

  #flow() {
    const rx = this.#random() < 0.3 ? 0 : Math.floor(this.#random() * 4e7);
    return { rx, tx: Math.floor(rx / 10) };
  }

  #count(rx: number, tx: number): void {
    this.rx = (this.rx + rx) % WRAP;
    this.tx = (this.tx + tx) % WRAP;
  }
}

test.for([1, 2, 3, 4, 5])(
  'DataPlans over 40 days of resets, wraps, reboots, outages, kills and exchanged devices has never more than flowed, and is short by one interval at each reset at most (seed %i)',
  async (seed) => {
    const random = createSeededRandom(seed);
    const bench = openBench({ data_plans: [{ ...PLAN, billing_day: 20 }] });
    const device = new Device(random);
    const seen = { wraps: 0, resets: 0, kills: 0, exchanged: 0, periods: 0 };
    let [flowed, missing, waiting] = [0, 0, 0];
    let [wasReset, wasExchanged, wasKilled] = [false, false, false];
    await bench.pass(0, poll({ rx: 0, tx: 0, uptime: 0, serial: '1' }));
    let start = bench.describe()[0]?.periodStart;
    for (let turn = 0; turn < 40 * 144; turn++) {
      const lastRx = device.rx;
      const step = device.live();
      waiting += step.flowed;
      wasReset ||= step.isReset;
      wasExchanged ||= step.isExchanged;
      const isWrap = !step.isReset && !step.isExchanged && device.rx < lastRx;
      if (random() < 0.02) {
        seen.kills++;
        wasKilled = true;
        bench.restart();
      }
      const isOutage = random() < 0.05;
      const { rx, tx, uptime, serial } = device;
      await bench.pass(10 * MINUTE_MS, isOutage ? down() : poll({ rx, tx, uptime, serial: String(serial) }));
      if (isOutage) wasKilled = true;
      else {
        // After a kill or an outage, a wrap is not told from a reset.
        if (wasReset || wasExchanged || (isWrap && wasKilled)) missing += waiting;
        else if (isWrap) seen.wraps++;
        if (wasReset) seen.resets++;
        if (wasExchanged) seen.exchanged++;
        flowed += waiting;
        [waiting, wasReset, wasExchanged, wasKilled] = [0, false, false, false];
      }
      const [plan] = bench.describe();
      if (plan?.periodStart !== start) {
        seen.periods++;
        start = plan?.periodStart;
        [flowed, missing] = [0, 0];
      }
      const used = plan?.used ?? Number.NaN;
      if (used > flowed || used < flowed - missing)
        expect({ turn, used }).toEqual({ turn, used: [flowed - missing, flowed] });
    }
    expect(seen).toEqual({
      wraps: expect.toSatisfy((count: number) => count > 2),
      resets: expect.toSatisfy((count: number) => count > 20),
      kills: expect.toSatisfy((count: number) => count > 50),
      exchanged: expect.toSatisfy((count: number) => count > 0),
      periods: 2,
    });
  },
);
