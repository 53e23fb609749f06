import { expect, test } from 'vitest';
import { type Fleet, startFleet } from '../support/fleet.ts';

const HOUR_MS = 3_600_000;

const probe = (fleet: Fleet) => fleet.metrics('/probe?target=sim-1&fresh=1');
const polls = (fleet: Fleet) => fleet.router().counters.requests['GET /status/sysdetail/system'] ?? 0;

test('fresh probes poll a router every ten seconds at most, and are answered from memory in between', async () => {
  await using fleet = await startFleet();
  await fleet.advance(30_000);
  const before = polls(fleet);
  for (let second = 0; second < 25; second++) {
    expect(await probe(fleet)).toContain('router_up{router="sim-1"} 1\n');
    await fleet.advance(1000);
  }
  expect(polls(fleet)).toBe(before + 3);
});

test('a fresh probe just after a scheduled poll is answered from memory', async () => {
  await using fleet = await startFleet();
  await fleet.advance(65_000);
  const before = polls(fleet);
  expect(before).toBe(2);
  await probe(fleet);
  expect(polls(fleet)).toBe(before);
});

test('a failed poll was paid for, too: fresh probes of a router that is down ask no more often', async () => {
  await using fleet = await startFleet();
  await fleet.advance(30_000);
  await fleet.router().fault('http_500');
  const before = fleet.agent.summary().polls;
  for (let count = 0; count < 5; count++) await probe(fleet);
  expect(fleet.agent.summary().polls).toBe(before + 1);
});

test('a fresh probe spends nothing while the byte budget slows a router down', async () => {
  const config = (perDay: number) => startFleet({ router: { byte_budget: { perDay, statusShare: 0.2 } } });
  for (const [bytesPerDay, hours, more] of [
    [1_000_000_000, 0, 1],
    // Used up far ahead of the day, and slowed down for hours.
    [2_000_000, 4, 0],
  ] as const) {
    await using fleet = await config(bytesPerDay);
    await fleet.advance(hours * HOUR_MS + 30_000);
    const before = polls(fleet);
    await probe(fleet);
    expect([bytesPerDay, polls(fleet) - before]).toEqual([bytesPerDay, more]);
  }
});

test.for([
  ['an image on a page of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }],
  ['a script of a neighbour', { 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'empty' }],
  ['a script over plain HTTP that names its page', { origin: 'http://evil.example' }],
  ['an image over plain HTTP that names its page', { referer: 'http://evil.example/page' }],
  [
    'an image over plain HTTP that hides its page',
    { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)', accept: 'image/avif,image/webp,*/*;q=0.8' },
  ],
] as const)('a fresh probe by %s is refused and polls nothing', async ([, headers]) => {
  await using fleet = await startFleet();
  await fleet.advance(30_000);
  const before = polls(fleet);
  const ask = async (path: string, more: Record<string, string> = headers) =>
    (await fetch(`${fleet.agent.urls[0]}${path}`, { headers: more })).status;
  expect(await ask('/probe?target=sim-1&fresh=1')).toBe(403);
  expect(polls(fleet)).toBe(before);
  // Known values cost nothing, and are served to all authorised readers.
  expect(await ask('/probe?target=sim-1')).toBe(200);
  expect(await ask('/probe?target=sim-1&fresh=1', { 'user-agent': 'Prometheus/3.5.0' })).toBe(200);
  expect(polls(fleet)).toBe(before + 1);
});

test('a person who opens a fresh probe in a browser has it', async () => {
  await using fleet = await startFleet();
  await fleet.advance(30_000);
  const before = polls(fleet);
  const headers = { 'user-agent': 'Mozilla/5.0', accept: 'text/html,*/*;q=0.8' };
  const answer = await fetch(`${fleet.agent.urls[0]}/probe?target=sim-1&fresh=1`, { headers });
  expect([answer.status, polls(fleet)]).toEqual([200, before + 1]);
});
