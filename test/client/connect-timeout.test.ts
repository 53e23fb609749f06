import dns from 'node:dns';
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createSteppedClock, createSystemClock, type SteppedClock } from '../../src/base/index.ts';
import { toTcpOptions } from '../../src/client/connection/connection-attempt.ts';
import { ConnectionCheck, RouterClient } from '../../src/client/index.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { openSilentListener } from '../support/silent-listener.ts';
import { answerJson, openRouter } from './http-router.ts';

const NEVER = new AbortController().signal;
const STEP_MS = 100;

function connectTo(url: string, clock: SteppedClock, connectTimeoutMs?: number): RouterClient {
  const account = { username: 'monitor', password: 'simulated', auth: 'none' } as const;
  return new RouterClient({ url, ...account, clock, requestTimeoutMs: 10_000, connectTimeoutMs });
}

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  ['an address', '127.0.0.1', 'http', undefined, 5000],
  ['an address over TLS', '127.0.0.1', 'https', 2000, 2000],
  ['all addresses of a name', 'localhost', 'http', undefined, 5000],
  ['a request that is shorter', '127.0.0.1', 'http', 20_000, 10_000],
])('connectTimeoutMs bounds TCP to %s that answers no SYN', async (_what, host, scheme, limitMs, expectedMs) => {
  await using silent = await openSilentListener();
  const clock = createSteppedClock(0);
  await using client = connectTo(`${scheme}://${host}:${silent.port}`, clock, limitMs);
  const failure = client.readStatus('device_info').catch((cause: unknown) => cause);
  // The name is resolved outside of the clock, and two at a time: of these questions the last one comes after the client's own.
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  for (let question = 0; question < 5; question++) await dns.promises.lookup(host);
  const error = await advanceUntil(failure, clock, STEP_MS);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(expectedMs);
  expect(clock.monotonic()).toBeLessThan(expectedMs + 1500);
  // The limit of the request itself comes first when both are the same.
  if (expectedMs < 10_000) {
    expect(error).toMatchObject({ code: 'connect', isUnsent: true, isAnswered: false, disposition: 'retry' });
    expect(String(Object(error).cause)).toContain(`within ${expectedMs / 1000} s`);
  }
});

test('a link that loses the first SYN stays usable: the system sends it again, and the limit was not reached', async () => {
  await using bench = await openRouter((_request, response) => answerJson(response, { status: {} }));
  await using silent = await openSilentListener();
  const clock = createSteppedClock(0);
  await using client = connectTo(`http://127.0.0.1:${silent.port}`, clock);
  const answer = client.readStatus('device_info');
  // Two seconds' round trip, and one second until the SYN is sent again.
  for (let second = 0; second < 3; second++) {
    await clock.advance(1000);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  }
  await silent.accept(bench.port);
  expect(await answer).toEqual({ status: {} });
});

test('the second address of a name is reached though the first one is dead', async () => {
  await using dead = await openSilentListener('127.0.0.2');
  const server = createServer((_request, response) => answerJson(response, { status: {} }));
  await new Promise<void>((resolve) => void server.listen(dead.port, '127.0.0.3', resolve));
  const addresses = ['127.0.0.2', '127.0.0.3'].map((address) => ({ address, family: 4 }));
  const lookup = vi.spyOn(dns, 'lookup');
  // Its other forms are not asked for.
  lookup.mockImplementation((...args: unknown[]) => {
    const callback = args.at(-1);
    if (typeof callback === 'function') queueMicrotask(() => callback(null, addresses));
  });
  const url = `http://plant-7:${dead.port}`;
  await using client = new RouterClient({
    url,
    username: 'monitor',
    password: 'simulated',
    auth: 'none',
    clock: createSystemClock(),
    connectTimeoutMs: 1000,
  });
  expect(await client.readStatus('device_info')).toEqual({ status: {} });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

// A link of two seconds' round trip needs two of the three that the default leaves.
test.for([
  [5000, 3000],
  [2000, 1000],
] as const)('of %i ms the first address of a name leaves %i ms to the next', ([limitMs, leftMs]) => {
  const { autoSelectFamilyAttemptTimeout } = toTcpOptions({ host: 'plant-7', port: 443 }, limitMs);
  expect(limitMs - autoSelectFamilyAttemptTimeout).toBe(leftMs);
});

test('the TLS handshake is bounded by the request, and not by connectTimeoutMs', async () => {
  await using silent = await openSilentListener();
  await silent.accept();
  const clock = createSteppedClock(0);
  await using client = connectTo(`https://127.0.0.1:${silent.port}`, clock);
  const error = await advanceUntil(
    client.readStatus('device_info').catch((cause: unknown) => cause),
    clock,
    STEP_MS,
  );
  expect(error).toMatchObject({ code: 'timeout' });
  expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000);
});

test('ConnectionCheck.connect() ends with connectTimeoutMs', async () => {
  await using silent = await openSilentListener();
  const url = `https://127.0.0.1:${silent.port}`;
  const probe = new ConnectionCheck({ url, timeoutMs: 60_000, connectTimeoutMs: 50, clock: createSystemClock() });
  const error: unknown = await probe.connect(NEVER).catch((cause: unknown) => cause);
  probe.close();
  expect(error).toMatchObject({ code: 'connect', isUnsent: true });
  expect(String(Object(error).cause)).toContain('within 0.05 s');
});
