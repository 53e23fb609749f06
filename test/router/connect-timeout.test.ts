import { lookup } from 'node:dns/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSteppedClock, createSystemClock, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient, RouterProbe } from '../../src/router/index.ts';
import { advanceUntil } from '../support/advance-until.ts';
import { openSilentListener } from '../support/silent-listener.ts';
import { answerJson, openRouter } from './http-router.ts';

const NEVER = new AbortController().signal;
const STEP_MS = 100;

function connectTo(url: string, clock: SteppedClock, connectTimeoutMs?: number): RouterClient {
  const account = { username: 'monitor', password: 'simulated', auth: 'none' } as const;
  return new RouterClient({ url, ...account, clock, requestTimeoutMs: 10_000, connectTimeoutMs });
}

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
  // The name is resolved outside of the clock; this question comes after the client's own.
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  await lookup(host);
  const error = await advanceUntil(failure, clock, STEP_MS);
  expect(clock.monotonic()).toBeGreaterThanOrEqual(expectedMs);
  expect(clock.monotonic()).toBeLessThan(expectedMs + 1500);
  // The limit of the request itself comes first when both are the same.
  if (expectedMs < 10_000) {
    expect(error).toMatchObject({ code: 'connect', isUnsent: true, isAnswered: false, disposition: 'retry' });
    expect(String(Object(error).cause)).toContain(`within ${expectedMs} ms`);
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

test('RouterProbe.connect() ends with connectTimeoutMs', async () => {
  await using silent = await openSilentListener();
  const url = `https://127.0.0.1:${silent.port}`;
  const probe = new RouterProbe({ url, timeoutMs: 60_000, connectTimeoutMs: 50, clock: createSystemClock() });
  const error: unknown = await probe.connect(NEVER).catch((cause: unknown) => cause);
  probe.close();
  expect(error).toMatchObject({ code: 'connect', isUnsent: true });
  expect(String(Object(error).cause)).toContain('within 50 ms');
});
