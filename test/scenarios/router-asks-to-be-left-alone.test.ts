import { expect, test } from 'vitest';
import type { FaultName, FaultOptions } from '../../src/simulator/index.ts';
import type { RouterDetail } from '../../src/web/index.ts';
import { BOARD } from '../agent/router-agent-bench.ts';
import { answerJson, openRouter } from '../client/http-router.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

async function read(fleet: Fleet): Promise<{ up: string | undefined; retryAfter: number | undefined }> {
  const metrics = await fleet.metrics();
  const findValue = (family: string) => new RegExp(`^${family}\\{router="sim-1"\\} (\\S+)$`, 'm').exec(metrics)?.[1];
  const at = findValue('router_retry_after_timestamp_seconds');
  return { up: findValue('router_up'), retryAfter: at === undefined ? undefined : Number(at) };
}

async function describeRouter(fleet: Fleet): Promise<RouterDetail> {
  const response = await fetch(`${fleet.agent.urls[0]}/api/v1/routers/sim-1`);
  return (await response.json()) as RouterDetail;
}

function countRequests(fleet: Fleet): number {
  return Object.values(fleet.router().counters.requests).reduce((sum, count) => sum + count, 0);
}

function countWarnings(fleet: Fleet, message: RegExp): number {
  return fleet.ownLog.filter((line) => line.level === 'warn' && message.test(line.message)).length;
}

/** Moves the clock in steps until the metric shows a wait; returns what is left of it. Seconds. */
async function untilPutOff(fleet: Fleet): Promise<number> {
  for (let second = 0; second < 120; second++) {
    await fleet.advance(SECOND_MS);
    const { retryAfter } = await read(fleet);
    if (retryAfter !== undefined) return retryAfter - fleet.clock.now() / SECOND_MS;
  }
  return expect.fail('The router was never without requests');
}

const FAULTS: readonly (readonly [FaultName, FaultOptions])[] = [
  ['http_503', { path: '/status' }],
  ['http_429', { path: '/status' }],
  ['http_503', { path: '/download/log' }],
  ['http_429', { isRetryAfterDate: true }],
];

test.each(FAULTS)(
  'a router that answers %s (%o) with Retry-After gets no request for so long',
  async (name, options) => {
    await using fleet = await startFleet();
    await fleet.advance(MINUTE_MS);
    await fleet.router().fault(name, { ...options, retryAfterSeconds: 50 });
    const leftSeconds = await untilPutOff(fleet);
    expect(leftSeconds).toBeGreaterThan(40);
    await fleet.router().clearFault();
    fleet.router().appendLog('network', 'meanwhile');
    const before = countRequests(fleet);
    await fleet.advance((leftSeconds - 2) * SECOND_MS);

    // Neither status nor logs were asked for, and the router still counts as up: its values are younger than stale_after.
    expect(countRequests(fleet)).toBe(before);
    expect((await read(fleet)).up).toBe('1');
    expect((await describeRouter(fleet)).retryAfter).toMatch(/^2026-/);
    expect(fleet.records).toEqual([]);

    await fleet.advance(MINUTE_MS + 2 * SECOND_MS);
    expect(countRequests(fleet)).toBeGreaterThan(before);
    expect(await read(fleet)).toEqual({ up: '1', retryAfter: undefined });
    expect((await describeRouter(fleet)).retryAfter).toBeNull();
    expect(fleet.records.map(({ message }) => message)).toEqual(['meanwhile']);
    expect(countWarnings(fleet, /asks for a delay/)).toBe(1);
    expect(countWarnings(fleet, /longer delay than allowed/)).toBe(0);
  },
);

test('a router that says Retry-After with 404 for cards that it lacks is read whole in one poll', async () => {
  const asked = new Set<string>();
  await using router = await openRouter((request, response) => {
    const path = (request.url ?? '').split('/status/')[1] ?? '';
    asked.add(path);
    if (path === 'device_info') answerJson(response, BOARD);
    else if (path === 'lte5') answerJson(response, { status: { unique: { RSSI: '-71' } } });
    else response.writeHead(404, { 'retry-after': '60' }).end();
  });
  await using fleet = await startFleet({
    config: (one) => ({ ...one, sinks: [], routers: one.routers.map((first) => ({ ...first, url: router.url })) }),
  });
  await fleet.advance(10 * SECOND_MS);
  expect(asked.size).toBeGreaterThan(20);
  expect(await fleet.metrics()).toMatch(/^router_modem_rssi_dbm\{.*\} -71$/m);
});

test('a router with a delay longer than stale_after is down from then on, and up afterwards', async () => {
  await using fleet = await startFleet();
  await fleet.advance(MINUTE_MS);
  await fleet.router().fault('http_503', { path: '/status', retryAfterSeconds: 600 });
  const leftSeconds = await untilPutOff(fleet);
  await fleet.router().clearFault();
  await fleet.advance(90 * SECOND_MS);
  expect((await read(fleet)).up).toBe('1');
  await fleet.advance(60 * SECOND_MS);

  expect((await read(fleet)).up).toBe('0');
  const { state, failure } = await describeRouter(fleet);
  expect([state, failure?.reason, failure?.step]).toEqual(['down', 'http', 'http']);
  expect(failure?.error).toContain('asked for a delay');

  await fleet.advance((leftSeconds - 150 + 60) * SECOND_MS);
  expect((await read(fleet)).up).toBe('1');
});

test.each([
  ['a longer wait', { retryAfterSeconds: 3600 }, 0],
  ['a date while its clock is off', { retryAfterSeconds: 30, isRetryAfterDate: true }, -86_400_000],
])('%s counts as 15 minutes and is logged once', async (_what, options, jumpMs) => {
  await using fleet = await startFleet();
  await fleet.advance(MINUTE_MS);
  fleet.router().jumpClock(jumpMs);
  await fleet.router().fault('http_429', { path: '/status', ...options });
  const leftSeconds = await untilPutOff(fleet);
  expect(leftSeconds).toBeGreaterThan(890);
  expect(leftSeconds).toBeLessThanOrEqual(900);

  // It asks for it again.
  await fleet.advance(20 * MINUTE_MS);
  expect((await read(fleet)).retryAfter).toBeGreaterThan(0);
  expect(countWarnings(fleet, /longer delay than allowed/)).toBe(1);
});
