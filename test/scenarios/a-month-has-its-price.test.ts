import { expect, test } from 'vitest';
import type { Config } from '../../src/config/index.ts';
import type { ListedRouter, RouterAnswer } from '../../src/web/index.ts';
import { load, SHIPPED_MODULES } from '../config/configuration-folder.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

async function readJson<T>(fleet: Fleet, path: string): Promise<T> {
  return JSON.parse(await fleet.metrics(path)) as T;
}

test('pages say what a month costs, by what each router was seen to send, with the use of the data plans apart', async () => {
  const plan = { sim: '1', limit: 1000, billing_day: 1 };
  await using fleet = await startFleet({ routers: 2, router: { data_plans: [plan], timezone: 'UTC' } });
  const setCounters = (bytes: number, index = 0) =>
    fleet.router(index).setStatus('sysdetail/ip_addresses', {
      list: [{ name: 'lte2', bytes_rx: String(bytes), bytes_tx: '0' }],
    });
  setCounters(0, 1);
  setCounters(0);
  const describe = () => readJson<RouterAnswer>(fleet, '/api/v1/routers/sim-1');
  await fleet.advance(5 * MINUTE_MS);
  expect((await describe()).bytes.month).toBeNull();
  expect(await fleet.metrics('/router/sim-1?view=agent')).toContain(
    '<dt>Bytes a month</dt><dd>not enough seen yet</dd>',
  );
  setCounters(2048);
  await fleet.advance(30 * MINUTE_MS);
  const { bytes, use } = await describe();
  const { status = 0, logs = 0 } = bytes.month ?? {};
  // A poll a minute and two readings of logs: what was seen, times 30 days.
  const [today] = bytes.days;
  const seen = (today?.status ?? 0) / 35;
  expect(status / (30 * 24 * 60)).toBeGreaterThan(seen / 2);
  expect(status / (30 * 24 * 60)).toBeLessThan(seen * 1.2);
  expect(logs).toBeGreaterThan(0);
  expect(today?.status).toBeLessThan(today?.bytes ?? 0);
  expect(use).toEqual({
    agent: bytes.usedToday,
    agentForecast: status + logs,
    used: 2048,
    limit: 1000,
    forecast: expect.any(Number),
  });
  const page = await fleet.metrics('/router/sim-1?view=agent');
  expect(page).toMatch(
    /At these intervals about [\d.]+ MiB a month \(status [\d.]+ MiB, logs [\d.]+ MiB\), as seen since/,
  );
  expect(page).toMatch(/Data plan <bdi>1<\/bdi><\/dt><dd>2.0 KiB of 1000 B since 2026-11-01, <span class="warn">/);
  expect(page).toContain('<th scope="row">2026-11-21</th>');
  // The fleet has the sums of its routers, the filtered fleet those of the routers shown.
  const { routers } = await readJson<{ routers: readonly ListedRouter[] }>(fleet, '/api/v1/routers');
  expect(routers.map((router) => router.use.limit)).toEqual([1000, 1000]);
  const whole = await fleet.metrics('/');
  expect(whole).toContain('Data plans: 2.0 KiB of 2.0 KiB used,');
  expect(whole).toContain('<strong class="warn">1 router over plan</strong> by then. The agent itself: ');
  expect(await fleet.metrics('/?q=sim-2')).toContain('Data plans: 0 B of 1000 B used, 0 B at the end');
});

test('bytes of polls and of logs stay apart over a restart', async () => {
  const hour = 60 * MINUTE_MS;
  const poll = { interval: hour, timeout: 10_000, connect_timeout: 5000, deadline: 45_000, stale_after: 3 * hour };
  const config = (one: Config) => ({
    ...one,
    routers: one.routers.map((router) => ({ ...router, poll, logs: { ...router.logs, interval: hour } })),
  });
  await using fleet = await startFleet({ config });
  await fleet.advance(11 * hour);
  const describe = async () => (await readJson<RouterAnswer>(fleet, '/api/v1/routers/sim-1')).bytes.days;
  const [before] = await describe();
  await fleet.stopAgent();
  await fleet.startAgent();
  const [today] = await describe();
  expect(today?.status).toBe(before?.status);
  expect(today?.status).toBeGreaterThan(40_000);
  expect(today?.bytes).toBeGreaterThan((today?.status ?? 0) + 5000);
  await fleet.advance(2 * hour);
  const [next, last] = await describe();
  expect([next?.day, last?.day]).toEqual(['2026-11-22', '2026-11-21']);
  expect(next?.status).toBeGreaterThan(5000);
  expect(last?.status).toBeGreaterThan(today?.status ?? Infinity);
});

test('values of a module of the user have its labels and colours on the page of a router', async () => {
  const text = `
modules:
  boiler:
    help: The boiler in the cellar.
    resources:
      - path: boiler
        metrics:
          - { name: boiler_pump_on, help: Whether the pump runs., label: Pump, good: 1, type: gauge, value: pump }
          - { name: boiler_flow_celsius, help: Measured at the outlet., label: Flow, type: gauge, value: flow }
          - { name: boiler_trips_total, help: Trips of the breaker., label: Trips, type: counter, value: trips }
routers:
  - { name: sim-1, url: "https://192.0.2.10", username: u, password: p, modules: [default, boiler] }
`;
  const { config, lines } = await load(text, { options: { shippedModules: SHIPPED_MODULES } });
  expect(lines).toEqual([]);
  const modules = config?.routers[0]?.modules ?? [];
  await using fleet = await startFleet({ router: { modules } });
  fleet.router().setStatus('boiler', { unique: { pump: '0', flow: '61.5', trips: '0' } });
  await fleet.advance(2 * MINUTE_MS);
  const page = await fleet.metrics('/router/sim-1?view=device');
  expect(page).toContain('<h2>Boiler</h2>');
  const help = (what: string, fields: string) => `<dt title="${what} Polled from ${fields} of boiler.">`;
  expect(page).toContain(
    `${help('Whether the pump runs.', 'pump')}Pump</dt><dd><bdi><strong class="warn">no</strong></bdi>`,
  );
  expect(page).toContain(`${help('Measured at the outlet.', 'flow')}Flow</dt><dd><bdi>61.5 °C</bdi>`);
  expect(page).toContain('<summary>1 value is zero</summary>');
});
