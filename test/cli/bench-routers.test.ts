import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { BenchRouters, isDeadRouter } from '../../src/cli/bench/routers.ts';
import { RoutersClient } from '../../src/cli/bench/routers-process.ts';
import { RouterClient } from '../../src/client/index.ts';

const bodies = { '/status/same': ['{"a":1}'] };
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const fleet = new RoutersClient(main, createSystemClock());
afterAll(() => fleet[Symbol.asyncDispose]());

function openClient(
  { port, caPem }: { readonly port: number; readonly caPem: string },
  router: number,
  timeoutMs = 300,
) {
  return new RouterClient({
    url: `https://127.0.0.1:${port}/r${router}`,
    username: 'monitor',
    password: 'simulated',
    tls: { caPem },
    requestTimeoutMs: timeoutMs,
  });
}

const read = (client: RouterClient, name: string) =>
  client.readLog(name, AbortSignal.timeout(5000), async (body) =>
    Buffer.concat(await Array.fromAsync(body)).toString(),
  );

test('a process of routers sets how they answer, counts requests, and disconnects and reconnects them', async () => {
  const started = await fleet.ask({ type: 'start', options: { bodies, routers: 2 } }, 'started');
  await using client = openClient(started, 1, 20_000);
  await using hurried = openClient(started, 1);
  expect(await client.readStatus('same')).toEqual({ a: 1 });
  const counted = await fleet.ask({ type: 'count' }, 'counted');
  expect(counted).toMatchObject({ requests: { 'POST /auth/login': 1, 'GET /status/same': 1 }, scrapes: [] });
  expect((await fleet.ask({ type: 'count' }, 'counted')).requests).toEqual({});
  await fleet.ask({ type: 'change', manners: { deadRatio: 0.5 } }, 'changed');
  await expect(hurried.readStatus('same')).rejects.toMatchObject({ code: 'timeout' });
  await fleet.ask({ type: 'change', manners: {} }, 'changed');
  expect(await client.readStatus('same')).toEqual({ a: 1 });
  await fleet.ask({ type: 'leave' }, 'left');
  await expect(client.readStatus('same')).rejects.toMatchObject({ code: 'connect' });
  await fleet.ask({ type: 'return', rotations: 1 }, 'returned');
  expect(await client.readStatus('same')).toEqual({ a: 1 });
});

test.each([
  ['hangs', 1, 'timeout'],
  ['resets the connection', 3, 'connect'],
  ['drips', 5, 'timeout'],
  ['sends without an end', 7, 'parse'],
  // Those for the bare client hang.
  ['hangs', 11, 'timeout'],
])('a share of the routers of a bench is dead, and one of four %s', async (_way, router, code) => {
  const options = { bodies, routers: 8, bareRouters: 8, deadRatio: 0.5 };
  await using routers = await BenchRouters.start(options, createSystemClock());
  await using dead = openClient(routers, router, code === 'timeout' ? 300 : 20_000);
  await expect(dead.logIn()).rejects.toMatchObject({ code });
  await using alive = openClient(routers, router - 1, 20_000);
  await alive.logIn();
  expect([router, router - 1].map((number) => isDeadRouter(number, 0.5))).toEqual([true, false]);
});

test('the first log of the routers of a bench grows a line at a time, and the others do not', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const logs = { components: 2, bytes: 1000, lineEveryMs: 60_000 };
  await using routers = await BenchRouters.start({ bodies, routers: 1, logs }, clock);
  await using client = openClient(routers, 0, 20_000);
  expect(await client.listLogs()).toEqual(['network/current', 'system/current']);
  const before = [await read(client, 'system/current'), await read(client, 'network/current')];
  expect(Math.min(...before.map(({ length }) => length))).toBeGreaterThanOrEqual(1000);
  expect(before[0]).toMatch(/2026-11-21 00:00:00 \[system\] the state .* since 2026-11-21 00:00:00\n$/);
  await clock.advance(60_000);
  const after = [await read(client, 'system/current'), await read(client, 'network/current')];
  expect(after[1]).toBe(before[1]);
  expect(after[0]?.startsWith(before[0] ?? '')).toBe(true);
  expect(after[0]?.slice(before[0]?.length).match(/\n/g)).toHaveLength(1);
});

test('routers of a bench that were away are back at the same port, with their logs rotated meanwhile', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const logs = { components: 1, bytes: 1000, archives: 1 };
  await using routers = await BenchRouters.start({ bodies, routers: 1, logs }, clock);
  await using client = openClient(routers, 0, 20_000);
  const before = await client.listLogs();
  expect(before).toHaveLength(2);
  await routers.leave();
  await expect(client.listLogs()).rejects.toMatchObject({ code: 'connect' });
  await clock.advance(60_000);
  await routers.comeBack(2);
  const after = await client.listLogs();
  expect(after).toEqual(expect.arrayContaining([...before]));
  expect(after.filter((name) => name.endsWith('.bz2'))).toHaveLength(3);
  // The newest line is of now.
  expect(await read(client, 'system/current')).toMatch(/2026-11-21 00:01:00 \[system\].*\n$/);
  await routers.leave();
  await clock.advance(60_000);
  await routers.comeBack(2);
  expect((await client.listLogs()).filter((name) => name.endsWith('.bz2'))).toHaveLength(5);
  expect(await read(client, 'system/current')).toMatch(/00:02:00 \[system\] .* since 2026-11-21 00:02:00\n$/);
});
