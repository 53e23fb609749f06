import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RouterAnswer } from '../../src/web/index.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;

async function describeRouter(fleet: Fleet): Promise<RouterAnswer> {
  return JSON.parse(await fleet.metrics('/api/v1/routers/sim-1')) as RouterAnswer;
}

/** One letter for each three minutes since the first poll: up, down, mixed, and `-` for not watched. */
const toLetters = ({ lastHours }: RouterAnswer) =>
  lastHours
    .map(({ result }) => result?.[0] ?? '-')
    .join('')
    .replace(/^-+/, '');

const strip = (page: string) => page.replaceAll(/<[^>]*>/g, '');

test('an outage, and a restart of the agent within it, are on the page of the router with the time without the agent as a hole', async () => {
  await using fleet = await startFleet();
  await fleet.advance(9 * MINUTE_MS);
  const before = await describeRouter(fleet);
  expect(before).toMatchObject({ state: 'up', isStale: false });
  expect(before.lastHours.findLast(({ signal }) => signal !== null)).toMatchObject({
    signal: before.device.signal?.value,
    receiveBitsPerSecond: expect.any(Number),
    transmitBitsPerSecond: expect.any(Number),
  });
  await fleet.router().fault('down');
  await fleet.advance(6 * MINUTE_MS);
  await fleet.stopAgent();
  await fleet.clock.advance(12 * MINUTE_MS);
  await fleet.startAgent();

  // Nothing was polled yet: the last facts are shown as expired ones, with their age, and are in no metric.
  const recalled = await describeRouter(fleet);
  expect(recalled).toMatchObject({
    isStale: true,
    lastSuccess: before.lastSuccess,
    device: { model: before.device.model, location: before.device.location },
    firmware: before.firmware,
    serial: before.serial,
    traffic: null,
  });
  const page = await fleet.metrics('/router/sim-1');
  expect(page).toContain('<strong class="expired">');
  expect(strip(page)).toMatch(/Newest values of 1[89] min ago/);
  const metrics = await fleet.metrics();
  for (const name of ['router_up', 'router_last_success', 'router_modem', 'router_board']) {
    expect(metrics).not.toMatch(new RegExp(`^${name}`, 'm'));
  }

  await fleet.advance(6 * MINUTE_MS);
  await fleet.router().clearFault();
  await fleet.advance(9 * MINUTE_MS);
  const after = await describeRouter(fleet);
  expect(after).toMatchObject({ state: 'up', isStale: false });
  expect(toLetters(after)).toMatch(/^u{3}m?d{2,3}-{3,4}d{2,3}m?u{2,4}$/);
  const shown = await fleet.metrics('/router/sim-1?range=1h');
  expect(shown).toMatch(/without a failed poll, (9|12) min not watched"/);
  // One hole is one mark on the band.
  expect(shown).toMatch(/<svg class="spark"[\s\S]*?<path class="unwatched" d="M[^M"]*z"/);
  expect(strip(shown)).toMatch(
    /Traffic: received last [^;]*; sent last .*; red: polls failed; grey: (9|12) min not watched\./,
  );
  const { availability } = (
    JSON.parse(await fleet.metrics('/api/v1/routers')) as { routers: { availability: string }[] }
  ).routers[0] ?? { availability: '' };
  expect(availability).toMatch(/^-{116,}[um][dm][dm][um]?$/);
});

test('each of two modems has a chart of its own signal, over a restart of the agent', async () => {
  await using fleet = await startFleet();
  const signalOf = (modem: string, rssi: string) =>
    fleet.router().setStatus(modem, { unique: { state: 'Online', RSSI: rssi, RSRP: '', signal: '' } });
  signalOf('lte2', '-91 dBm');
  signalOf('lte3', '-61 dBm');
  await fleet.advance(9 * MINUTE_MS);
  await fleet.stopAgent();
  await fleet.startAgent();
  await fleet.advance(6 * MINUTE_MS);
  const { modems } = await describeRouter(fleet);
  expect(modems.map(({ modem, signal }) => [modem, signal?.value])).toEqual([
    ['lte2', -91],
    ['lte3', -61],
  ]);
  const page = await fleet.metrics('/router/sim-1?view=modem');
  const charts = page.matchAll(
    /<h3><bdi>(lte\d)<\/bdi><\/h3><div class="plots wide"><figure><svg [^>]*aria-label="([^"]*)"/g,
  );
  expect([...charts].map(([, ...texts]) => texts)).toEqual([
    [
      'lte2',
      expect.stringMatching(/^Signal \(RSSI\): last -91 dBm, minimum -91 dBm, maximum -91 dBm in the last 1\d min$/),
    ],
    [
      'lte3',
      expect.stringMatching(/^Signal \(RSSI\): last -61 dBm, minimum -61 dBm, maximum -61 dBm in the last 1\d min$/),
    ],
  ]);
});

test('a killed agent has lost at most the last five minutes of the history', async () => {
  let folder = '';
  await using fleet = await startFleet({
    config: (config) => {
      folder = config.storage.path;
      return config;
    },
  });
  const copy = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
  await using _ = { [Symbol.asyncDispose]: () => rm(copy, { recursive: true, force: true }) };
  await fleet.advance(34 * MINUTE_MS);
  const known = toLetters(await describeRouter(fleet));
  expect(known).toMatch(/^u{11,12}$/);
  // As the files of a process that is killed now.
  cpSync(folder, copy, { recursive: true });
  await fleet.stopAgent();
  fleet.propose((config) => ({ ...config, storage: { ...config.storage, path: copy } }));
  await fleet.startAgent();
  const recalled = await describeRouter(fleet);
  expect(recalled).toMatchObject({ isStale: true, device: { model: expect.any(String) } });
  const letters = toLetters(recalled);
  expect(letters).toMatch(/^u+-{0,2}$/);
  expect(letters).toHaveLength(known.length);
});

test('a wall clock that was set back during a restart leaves no hole and no values of the future', async () => {
  await using fleet = await startFleet();
  await fleet.advance(10 * MINUTE_MS);
  await fleet.stopAgent();
  fleet.clock.jump(-365 * 86_400_000);
  await fleet.startAgent();
  const recalled = await describeRouter(fleet);
  expect(Date.parse(recalled.lastSuccess ?? '')).toBe(fleet.clock.now());
  await fleet.advance(4 * MINUTE_MS);
  const after = await describeRouter(fleet);
  expect(toLetters(after)).toMatch(/^u{5,6}$/);
  expect(Date.parse(after.lastHours.at(-1)?.at ?? '')).toBeLessThanOrEqual(fleet.clock.now());
});
