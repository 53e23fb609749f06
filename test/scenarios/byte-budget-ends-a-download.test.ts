import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MIB = 1024 * 1024;
/** Bytes that may come after the budget has ended: what the socket had read, and the polls before it. */
const SLACK_BYTES = MIB / 4;

/** A router with so many lines of about 500 bytes in `current` before the first contact, and a budget of 1 MiB. */
async function startBulkyFleet(lines: number): Promise<Fleet> {
  const fleet = await startFleet({
    isStopped: true,
    router: {
      byte_budget: { perDay: MIB, statusShare: 0.2 },
      logs: { enabled: true, interval: 10 * MINUTE_MS, start: 'all', components: ['*'] },
    },
    simulator: { features: { rangeRequests: true }, logs: { maxSizeBytes: 32 * MIB } },
  });
  for (let line = 1; line <= lines; line++) fleet.router().appendLog('bulk', `line ${line} ${'x'.repeat(480)}`);
  return fleet;
}

async function read(fleet: Fleet, name: string): Promise<number> {
  const line = (await fleet.metrics()).split('\n').find((text) => text.startsWith(`${name}{router="sim-1"} `));
  return Number(line?.split(' ')[1] ?? Number.NaN);
}

test('a download that is longer than the budget ends where the budget ends, and its bytes count while they come', async () => {
  await using fleet = await startBulkyFleet(20_000);
  await fleet.startAgent();
  await fleet.advance(2 * MINUTE_MS);
  const received = await read(fleet, 'router_api_received_bytes_total');

  expect(received).toBeGreaterThan(MIB / 2);
  expect(received).toBeLessThan(MIB + SLACK_BYTES);
  expect(await read(fleet, 'router_api_budget_used_bytes')).toBeLessThan(MIB + SLACK_BYTES);
  expect(fleet.ownLog).toContainEqual(
    expect.objectContaining({
      message: 'The logs could not be read',
      fields: expect.objectContaining({ error: expect.stringContaining('The byte budget of this day is used up') }),
    }),
  );
});

test('lines that came before the budget ended a download are kept, and the rest is read on the next day, each once', async () => {
  const lines = 2400;
  await using fleet = await startBulkyFleet(lines);
  await fleet.startAgent();
  const countLines = () => fleet.records.filter(({ component }) => component === 'bulk').length;
  // Noon to the last hour of the day.
  await fleet.advance(11 * HOUR_MS);
  const countOfFirstDay = countLines();
  await fleet.advance(12 * HOUR_MS);
  const numbers = fleet.records
    .filter(({ component }) => component === 'bulk')
    .map(({ message }) => Number(/^line (\d+) /.exec(message ?? '')?.[1]));

  expect(countOfFirstDay).toBeGreaterThan(0);
  expect(countOfFirstDay).toBeLessThan(lines);
  expect(numbers).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
});
