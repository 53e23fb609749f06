import { expect, test } from 'vitest';
import { createSeededRandom, createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/router/index.ts';
import { type StubRoutersOptions, startStubRouters } from '../../src/simulator/index.ts';
import { isDeadStub } from '../../src/simulator/stub/stub-routers.ts';

const BODIES = { '/status/same': ['{"a":1}'], '/status/other': ['{"n":1}', '{"n":2}'] };

async function openStub(
  { requestTimeoutMs = 300, ...options }: Partial<StubRoutersOptions> & { requestTimeoutMs?: number } = {},
  router = 0,
) {
  const all = { bodies: BODIES, clock: createSystemClock(), random: createSeededRandom(1), ...options };
  const stub = await startStubRouters(all);
  const client = new RouterClient({
    url: `https://127.0.0.1:${stub.port}/r${router}`,
    username: 'u',
    password: 'p',
    tls: { caPem: stub.caPem },
    requestTimeoutMs,
  });
  return {
    stub,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await stub[Symbol.asyncDispose]();
    },
  };
}

test('stub routers give each answer in turn, lack all others, and count what they were asked', async () => {
  await using rig = await openStub();
  const { client, stub } = rig;
  expect(await client.readStatus('same')).toEqual({ a: 1 });
  expect([
    await client.readStatus('other'),
    await client.readStatus('other'),
    await client.readStatus('other'),
  ]).toEqual([{ n: 1 }, { n: 2 }, { n: 1 }]);
  await expect(client.readStatus('none')).rejects.toMatchObject({ status: 404 });
  expect(stub.count().requests).toEqual({ '/auth/login': 1, '/status/same': 1, '/status/other': 3, '/status/none': 1 });
  expect(stub.count().requests).toEqual({});
});

test('stub routers answer after their latency, and a lost packet costs another second', async () => {
  const clock = createSteppedClock(0);
  await using rig = await openStub({ clock, latencyMs: 100, lossRatio: 1 });
  let isAnswered = false;
  const asked = rig.client.logIn().then(() => (isAnswered = true));
  while (rig.stub.count().requests['/auth/login'] === undefined) await new Promise(setImmediate);
  await clock.advance(1099);
  expect(isAnswered).toBe(false);
  await clock.advance(1);
  await asked;
});

test.each([
  ['hangs', 1, 'timeout'],
  ['resets the connection', 3, 'connect'],
  ['drips', 5, 'timeout'],
  ['sends without an end', 7, 'parse'],
])('a share of the stub routers is dead, and one of four %s', async (_way, router, code) => {
  const options = { deadRatio: 0.5, requestTimeoutMs: code === 'timeout' ? 300 : 20_000 };
  await using dead = await openStub(options, router);
  await expect(dead.client.logIn()).rejects.toMatchObject({ code });
  await using alive = await openStub(options, router - 1);
  await alive.client.logIn();
  expect([router, router - 1].map((index) => isDeadStub(index, 0.5))).toEqual([true, false]);
});

test('stub routers change how they answer', async () => {
  await using rig = await openStub({}, 1);
  await rig.client.logIn();
  rig.stub.change({ deadRatio: 0.5 });
  await expect(rig.client.readStatus('same')).rejects.toMatchObject({ code: 'timeout' });
  rig.stub.change({});
  expect(await rig.client.readStatus('same')).toEqual({ a: 1 });
});

test('a stub router closes a connection that is idle, if it is told to', async () => {
  await using rig = await openStub({ idleMs: 1 });
  await rig.client.logIn();
  const { opened } = rig.client.connections;
  const reconnect = async () => {
    await rig.client.readStatus('same');
    return rig.client.connections.opened;
  };
  await expect.poll(reconnect, { timeout: 20_000, interval: 5 }).toBeGreaterThan(opened);
});

test('the first log of a stub router grows a line at a time, and the others do not', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  await using rig = await openStub({ clock, logs: { components: 2, bytes: 1000, lineEveryMs: 60_000 } });
  const read = async (name: string) =>
    rig.client.readLog(name, AbortSignal.timeout(5000), async (body) =>
      Buffer.concat(await Array.fromAsync(body)).toString(),
    );
  const [first = '', second = ''] = await rig.client.listLogs();
  const before = [await read(first), await read(second)];
  expect(Math.min(...before.map(({ length }) => length))).toBeGreaterThanOrEqual(1000);
  await clock.advance(60_000);
  const after = [await read(first), await read(second)];
  expect(after[1]).toBe(before[1]);
  expect(after[0]?.startsWith(before[0] ?? '')).toBe(true);
  expect(after[0]?.slice(before[0]?.length).match(/\n/g)).toHaveLength(1);
});

test('stub routers that were away are back at the same port, with their logs rotated meanwhile', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  await using rig = await openStub({ clock, logs: { components: 1, bytes: 1000, archives: 1 } });
  const { stub, client } = rig;
  const before = await client.listLogs();
  expect(before).toHaveLength(2);
  await stub.leave();
  await expect(client.listLogs()).rejects.toMatchObject({ code: 'connect' });
  await clock.advance(60_000);
  await stub.comeBack(2);
  const after = await client.listLogs();
  expect(after).toEqual(expect.arrayContaining([...before]));
  expect(after.filter((name) => name.endsWith('.bz2'))).toHaveLength(3);
  // The newest line is of now.
  const text = await client.readLog('system/current', AbortSignal.timeout(5000), async (body) =>
    Buffer.concat(await Array.fromAsync(body)).toString(),
  );
  expect(text).toMatch(/2026-11-21 00:01:00 \[system\].*\n$/);
});
