import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ConnectionLimit } from '../../src/client/index.ts';
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

test('two routers alternate on one connection, and each resumes its TLS session', async () => {
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

/** One run, while the clock goes on until it has ended. Returns how long it took. */
async function runSlowly(wire: Wire): Promise<number> {
  const { clock } = wire.bench;
  const startMs = clock.monotonic();
  const state = { isOver: false };
  const running = run(wire).finally(() => {
    state.isOver = true;
  });
  running.catch(() => {});
  for (let turn = 0; !state.isOver; turn++) {
    await setImmediate();
    // Answers take no time; what is swallowed takes as long as the client waits.
    if (turn >= 4000 && turn % 20 === 0) await clock.advance(1000);
  }
  await running;
  return clock.monotonic() - startMs;
}

describe('a connection that a NAT forgets without a word', () => {
  test('costs half a time limit and no call, three times; then no connection is used after so long', async () => {
    const wire = await openWire(ok, certificate);
    const { clock } = wire.bench;
    await run(wire);
    const idle = async () => {
      wire.proxy.forget();
      await clock.advance(60_000);
    };
    const tookMs: number[] = [];
    for (let count = 0; count < 3 + 19 + 1; count++) {
      await idle();
      tookMs.push(await runSlowly(wire));
    }
    expect(tookMs).toEqual([5000, 5000, 5000, ...Array.from({ length: 19 }, () => 0), 5000]);
    expect(wire.proxy.swallowed).toBe(4);
    // It lasts for shorter.
    const { opened } = wire.client.connections;
    await clock.advance(59_000);
    expect(await runSlowly(wire)).toBe(0);
    expect(wire.client.connections.opened).toBe(opened);
  });

  test('is used again after so long once it lasts', async () => {
    const wire = await openWire(ok, certificate);
    const { clock } = wire.bench;
    await run(wire);
    for (let count = 0; count < 3; count++) {
      wire.proxy.forget();
      await clock.advance(60_000);
      await runSlowly(wire);
    }
    for (let count = 0; count < 20; count++) {
      await clock.advance(60_000);
      await run(wire);
    }
    const { opened } = wire.client.connections;
    for (let count = 0; count < 3; count++) {
      await clock.advance(60_000);
      await run(wire);
    }
    expect(wire.client.connections.opened).toBe(opened);
  });

  test('teaches nothing when the router cannot be reached over a new one either', async () => {
    const wire = await openWire(ok, certificate);
    const { clock } = wire.bench;
    await run(wire);
    for (let count = 0; count < 5; count++) {
      await clock.advance(60_000);
      wire.proxy.forget();
      wire.proxy.isClosed = true;
      await expect(runSlowly(wire)).rejects.toMatchObject({ code: 'connect' });
      wire.proxy.isClosed = false;
      await run(wire);
    }
    const { opened } = wire.client.connections;
    await clock.advance(60_000);
    await run(wire);
    expect(wire.client.connections.opened).toBe(opened);
  });

  test('costs a login instead of a refresh of the token, which may have arrived', async () => {
    const wire = await openWire(ok, certificate, { auth: 'token' });
    const { clock } = wire.bench;
    await run(wire);
    await clock.advance(5 * 60_000);
    wire.proxy.forget();
    expect(await runSlowly(wire)).toBe(5000);
    expect(wire.bench.lines()).toEqual([
      'POST /auth/login',
      'GET /status/device_info',
      'POST /auth/login',
      'GET /status/device_info',
    ]);
  });
});
