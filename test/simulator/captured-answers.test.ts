import { expect, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { type SimulatorOptions, startSimulator } from '../../src/simulator/index.ts';

const captured = { '/status/same': ['{"a":1}'], '/status/other': ['{"n":1}', '{"n":2}'] };

async function openFleet(options: Partial<SimulatorOptions> = {}) {
  const all = { captured, routers: 3, clock: createSystemClock(), seed: 1, ...options };
  const simulator = await startSimulator(all);
  const clients = simulator.routers.map(({ url }) => {
    const account = { username: 'monitor', password: 'simulated' };
    return new RouterClient({ url, ...account, tls: { caPem: simulator.caPem }, requestTimeoutMs: 20_000 });
  });
  const [router, other] = simulator.routers;
  const [client, otherClient] = clients;
  if (!router || !other || !client || !otherClient) return expect.unreachable();
  return {
    router,
    other,
    client,
    otherClient,
    simulator,
    async [Symbol.asyncDispose]() {
      for (const one of clients) await one.close();
      await simulator.close();
    },
  };
}

test('routers with captured answers share a port, cycle through the answers, and lack all others', async () => {
  await using fleet = await openFleet();
  const { client, otherClient, simulator } = fleet;
  const port = new URL(fleet.router.url).port;
  expect(simulator.routers.map(({ name, url }) => [name, url])).toEqual([
    ['sim-1', `https://127.0.0.1:${port}/r0`],
    ['sim-2', `https://127.0.0.1:${port}/r1`],
    ['sim-3', `https://127.0.0.1:${port}/r2`],
  ]);
  expect(await client.readStatus('same')).toEqual({ a: 1 });
  const turns = [await client.readStatus('other'), await client.readStatus('other'), await client.readStatus('other')];
  expect(turns).toEqual([{ n: 1 }, { n: 2 }, { n: 1 }]);
  expect(await otherClient.readStatus('other')).toEqual({ n: 1 });
  await expect(client.readStatus('none')).rejects.toMatchObject({ status: 404 });
  expect(fleet.router.counters.requests).toEqual({
    'POST /auth/login': 2,
    'GET /status/same': 1,
    'GET /status/other': 4,
    'GET /status/none': 1,
  });
});

test('a router with captured answers has no address beyond its number', async () => {
  await using fleet = await openFleet();
  const url = fleet.router.url.replace('/r0', '/r3');
  await using client = new RouterClient({
    url,
    username: 'monitor',
    password: 'simulated',
    tls: { caPem: fleet.simulator.caPem },
  });
  await expect(client.logIn()).rejects.toMatchObject({ status: 404 });
});

test('routers with captured answers have the logs of one device', async () => {
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  await using fleet = await openFleet({ clock, timezone: 'UTC', logs: { compressionMs: 0 } });
  const { router, otherClient } = fleet;
  router.appendLog('system', 'one');
  router.rotate('system', 'two');
  await router.whenQuiet();
  expect(await otherClient.listLogs()).toEqual(['system/current', 'system/log-2026-11-21-00:00:00.bz2']);
  const text = await otherClient.readLog('system/current', AbortSignal.timeout(5000), async (body) =>
    Buffer.concat(await Array.fromAsync(body)).toString(),
  );
  expect(text).toBe('2026-11-21 00:00:00 [system] two\n');
  expect(router.counters.requests).toMatchObject({
    'GET /download/log?list_files': 1,
    'GET /download/log?log_file': 1,
  });
});

test('each of the routers with captured answers has faults of its own, but they are down together', async () => {
  await using fleet = await openFleet();
  const { router, other, client, otherClient } = fleet;
  await router.fault('http_500');
  await expect(client.readStatus('same')).rejects.toMatchObject({ status: 500 });
  expect(await otherClient.readStatus('same')).toEqual({ a: 1 });
  await router.clearFault();
  expect(await client.readStatus('same')).toEqual({ a: 1 });
  await other.fault('down');
  await expect(client.readStatus('same')).rejects.toMatchObject({ code: 'connect' });
  await other.clearFault();
  expect(await client.readStatus('same')).toEqual({ a: 1 });
});

test('a router closes a connection that is idle for the configured time', async () => {
  await using fleet = await openFleet({ idleMs: 1 });
  const { client } = fleet;
  await client.logIn();
  const { opened } = client.connections;
  const reconnect = async () => {
    await client.readStatus('same');
    return client.connections.opened;
  };
  await expect.poll(reconnect, { timeout: 20_000, interval: 5 }).toBeGreaterThan(opened);
});
