import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ConnectionLimit } from '../../src/router/index.ts';
import { certificate, ok, openWire, type Wire } from './wire-bench.ts';

/** Of the event loop; far more than the end of a connection takes. */
const TURNS_MAX = 100_000;

/** One run of one request, at the end of which the connection is no longer needed. */
async function run({ client }: Wire): Promise<void> {
  await client.readStatus('device_info');
  client.rest();
}

/** Waits until no connection is open, and its end has reached the client. */
async function awaitEnd({ proxy }: Wire): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX && proxy.open > 0; turn++) await setImmediate();
  expect(proxy.open).toBe(0);
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

test('two routers share one connection by turns, and each resumes its TLS session', async () => {
  const connectionLimit = new ConnectionLimit(1);
  const wires = [
    await openWire(ok, certificate, { connectionLimit }),
    await openWire(ok, certificate, { connectionLimit }),
  ];
  for (let round = 0; round < 3; round++) {
    for (const wire of wires) {
      await run(wire);
      expect(connectionLimit.load).toMatchObject({ busy: 0, idle: 1, waiting: 0 });
      expect(wires.filter(({ proxy }) => proxy.open > 0)).toEqual([wire]);
    }
  }
  expect(wires.map(({ client }) => client.connections)).toEqual([
    { opened: 3, resumed: 2 },
    { opened: 3, resumed: 2 },
  ]);
  expect(connectionLimit.load.evicted).toBe(5);
});

test('a download that is under way keeps its connection, and another router waits for its end', async () => {
  const connectionLimit = new ConnectionLimit(1);
  const slow = await openWire((_request, response) => void response.write('begin'), certificate, { connectionLimit });
  const other = await openWire(ok, certificate, { connectionLimit });
  let waiting: Promise<void> | undefined;
  const never = new AbortController().signal;
  await slow.client.readLog('network/current', never, async (body) => {
    for await (const _ of body) {
      waiting = run(other);
      await setImmediate();
      expect(connectionLimit.load).toMatchObject({ busy: 1, idle: 0, waiting: 1 });
      break;
    }
  });
  await waiting;
  expect(other.client.connections.opened).toBe(1);
});

test('a router for which no connection is free within its time limit says so', async () => {
  const connectionLimit = new ConnectionLimit(0);
  const wire = await openWire(ok, certificate, { connectionLimit });
  const asked = expect(wire.client.readStatus('device_info')).rejects.toMatchObject({
    code: 'connect',
    isUnsent: true,
    hint: expect.stringContaining('connections.max') as unknown,
  });
  await setImmediate();
  await wire.bench.clock.advance(5000);
  await asked;
  expect(connectionLimit.load.waiting).toBe(0);
});

test('a connection that its router closes before every next run is closed at once from the fourth run on, and kept again at the twentieth', async () => {
  const wire = await openWire(ok, certificate);
  for (let count = 0; count < 3; count++) {
    await run(wire);
    expect(wire.proxy.open).toBe(1);
    wire.bench.server.closeAllConnections();
    await awaitEnd(wire);
  }
  for (let count = 1; count < 20; count++) {
    await run(wire);
    await awaitEnd(wire);
  }
  // Kept for a trial: this time the router leaves it open, and it is used again.
  for (let count = 0; count < 5; count++) await run(wire);
  expect(wire.proxy.open).toBe(1);
  expect(wire.client.connections.opened).toBe(3 + 19 + 1);
});

test('a connection that is used again, and closed by the router now and then, is kept', async () => {
  const wire = await openWire(ok, certificate);
  for (let count = 0; count < 6; count++) {
    await run(wire);
    await run(wire);
    expect(wire.proxy.open).toBe(1);
    wire.bench.server.closeAllConnections();
    await awaitEnd(wire);
  }
  await run(wire);
  expect(wire.proxy.open).toBe(1);
});
