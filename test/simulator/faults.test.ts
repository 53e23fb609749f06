import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { FAULT_NAMES, startSimulator } from '../../src/simulator/index.ts';
import { filePath, openAdmin, openClient, START_MS } from './client.ts';

const ARCHIVE = 'n/log-2026-11-21-08:00:00.bz2';

/** A router with one archive and a `current` of one line. */
async function openFaulty() {
  const bench = await openAdmin({ logs: { compressionMs: 0 } });
  for (let line = 0; line < 200; line++) bench.router.appendLog('n', `line ${line} ${'x'.repeat(line % 50)}`);
  bench.router.rotate('n', 'last');
  const served = () => bench.router.truth('n').filter((line) => line.served).length;
  return { ...bench, served, read: (file: string) => bench.call('GET', filePath(file)) };
}

describe('answers in place of the router', () => {
  test.each([
    ['http_500', 500, 'application/json', 'config'],
    ['http_429', 429, 'application/json', 'description'],
    ['http_503', 503, 'application/json', 'description'],
    ['unauthorized', 401, 'application/json', 'authentication'],
    ['forbidden', 403, 'application/json', 'authorization'],
    ['garbage_json', 200, 'application/json', undefined],
    ['html_200', 200, 'text/html', undefined],
  ] as const)('%s answers %i', async (name, status, type, key) => {
    await using bench = await openFaulty();
    await bench.router.fault(name);
    const answer = await bench.read('n/current');
    expect([answer.status, answer.headers['content-type']]).toEqual([status, type]);
    expect(answer.headers['date']).toBe('Sat, 21 Nov 2026 08:00:00 GMT');
    if (key) expect(Object.keys(answer.json.error[0])).toEqual([key]);
    else expect(() => answer.json).toThrow(SyntaxError);
    expect(bench.served()).toBe(0);
    await bench.router.clearFault(name);
    expect((await bench.read('n/current')).status).toBe(200);
    expect(bench.served()).toBe(1);
  });

  test('http_503 says when to come again', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('http_503', { retryAfterSeconds: 17 });
    expect((await bench.read('n/current')).headers['retry-after']).toBe('17');
    await bench.router.fault('http_503', { retryAfterSeconds: 17, isRetryAfterDate: true });
    const { headers } = await bench.read('n/current');
    expect(Date.parse(String(headers['retry-after'])) - Date.parse(String(headers['date']))).toBe(17_000);
  });

  test('huge_body has the configured length', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('huge_body', { bytes: 3_000_000 });
    const { bytes, headers } = await bench.call('GET', '/status/device_info');
    expect(bytes.length).toBeGreaterThan(3_000_000);
    expect(headers['content-length']).toBeUndefined();
  });
});

describe('bodies that end early', () => {
  test.each([
    ['reset_mid_body', 'ECONNRESET'],
    ['truncate_body', 'UND_ERR_SOCKET'],
  ] as const)('%s sends half of what it promised, and only that counts as served', async (name, code) => {
    await using bench = await openFaulty();
    for (let line = 0; line < 9; line++) bench.router.appendLog('n', 'last');
    await bench.router.fault(name, { path: '/download/log' });
    const error = await bench.read('n/current').then(
      () => expect.unreachable(),
      (cause: Error & { code?: string }) => cause,
    );
    expect([error.code, (error.cause as { code?: string } | undefined)?.code]).toContain(code);
    expect(bench.served()).toBe(5);
    await expect(bench.read(ARCHIVE)).rejects.toThrow(Error);
    expect(bench.served()).toBe(5);
    expect((await bench.call('GET', '/profiles')).status).toBe(200);
  });

  test('reset_mid_body resets below TLS', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: 1, clock, seed: 1 });
    const [router] = simulator.routers;
    if (!router) return expect.unreachable();
    await using client = openClient(router, simulator.caPem);
    const { access } = await client.login();
    await router.fault('reset_mid_body', { times: 1 });
    await expect(client.get('/profiles', access)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await client.get('/profiles', access)).status).toBe(200);
  });
});

describe('archives', () => {
  test.each(['corrupt_archive', 'truncated_archive', 'archive_as_text'] as const)(
    '%s changes archives only',
    async (name) => {
      await using bench = await openFaulty();
      const whole = (await bench.read(ARCHIVE)).bytes;
      await bench.router.fault(name);
      expect((await bench.read('n/current')).text).toContain('last');
      const { status, bytes, headers } = await bench.read(ARCHIVE);
      expect([status, headers['content-length']]).toEqual([200, String(bytes.length)]);
      if (name === 'corrupt_archive') {
        expect(bytes.length).toBe(whole.length);
        expect(bytes.equals(whole)).toBe(false);
        expect(bytes.subarray(0, 3).toString()).toBe('BZh');
      }
      if (name === 'truncated_archive') expect(whole.subarray(0, bytes.length).equals(bytes)).toBe(true);
      if (name === 'archive_as_text') expect(bytes.toString().split('\n')[0]).toContain('[n] line 0');
    },
  );

  test.each([
    ['corrupt_archive', 0],
    ['truncated_archive', 0],
    ['archive_as_text', 200],
  ] as const)('%s counts %i lines as served', async (name, expected) => {
    await using bench = await openFaulty();
    await bench.router.fault(name);
    await bench.read(ARCHIVE);
    expect(bench.served()).toBe(expected);
  });
});

describe('time and connections', () => {
  test('slow answers after its delay on the router clock', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('slow', { delayMs: 5000 });
    let isDone = false;
    const answer = bench.call('GET', '/profiles').finally(() => {
      isDone = true;
    });
    // A second router answers meanwhile, so the first has been answered.
    await using other = await openAdmin();
    await other.call('GET', '/profiles');
    expect(isDone).toBe(false);
    await expect.poll(() => bench.clock.advance(5000).then(() => isDone)).toBe(true);
    expect((await answer).status).toBe(200);
  });

  test('slow answers another second late when a packet is lost', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('slow', { delayMs: 5000, lossRatio: 1 });
    let isDone = false;
    const answer = bench.call('GET', '/profiles').finally(() => {
      isDone = true;
    });
    await using other = await openAdmin();
    await other.call('GET', '/profiles');
    await bench.clock.advance(5999);
    await other.call('GET', '/profiles');
    expect(isDone).toBe(false);
    await expect.poll(() => bench.clock.advance(6000).then(() => isDone)).toBe(true);
    expect((await answer).status).toBe(200);
    await expect(bench.router.fault('slow', { lossRatio: 2 })).rejects.toMatchObject({ code: 'bad-option' });
  });

  test('hang never answers, until it is cleared and the connection ends', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('hang', { path: '/profiles' });
    const hanging = expect(bench.call('GET', '/profiles')).rejects.toThrow(Error);
    expect((await bench.call('GET', '/status/device_info')).status).toBe(200);
    await bench.router.clearFault();
    await hanging;
    expect((await bench.call('GET', '/profiles')).status).toBe(200);
  });

  test('down refuses connections and comes back on the same port, sessions included', async () => {
    await using bench = await openFaulty();
    const { url } = bench.router;
    await bench.router.fault('down');
    await expect(bench.call('GET', '/profiles')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await bench.router.clearFault('down');
    expect(bench.router.url).toBe(url);
    expect((await bench.call('GET', '/profiles')).status).toBe(200);
  });

  test('down does not wait for a client that has connected and begins no handshake', { timeout: 5000 }, async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSteppedClock(START_MS), seed: 1 });
    const [router] = simulator.routers;
    if (!router) return expect.unreachable();
    const silent = connect(Number(new URL(router.url).port), '127.0.0.1');
    silent.on('error', () => {});
    const ended = once(silent, 'close');
    await once(silent, 'connect');
    // Connections are accepted in their order.
    await using client = openClient(router, simulator.caPem);
    await client.login();
    await router.fault('down');
    await ended;
    await router.clearFault('down');
    expect((await client.login()).access).toBeTypeOf('string');
  });

  test('bad_certificate shows an untrusted one, also to connected clients', async () => {
    const clock = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ routers: 1, clock, seed: 1 });
    const [router] = simulator.routers;
    if (!router) return expect.unreachable();
    await using client = openClient(router, simulator.caPem);
    await client.login();
    await router.fault('bad_certificate');
    await expect(client.login()).rejects.toThrow(Error);
    await using newcomer = openClient(router, simulator.caPem);
    await expect(newcomer.login()).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    await router.clearFault();
    expect((await newcomer.login()).access).toBeTypeOf('string');
  });

  test('bad_certificate is refused by a router without HTTPS', async () => {
    await using bench = await openFaulty();
    await expect(bench.router.fault('bad_certificate')).rejects.toMatchObject({ code: 'bad-option' });
  });
});

describe('scope', () => {
  test('a fault with times ends by itself, and one with a path spares the others', async () => {
    await using bench = await openFaulty();
    await bench.router.fault('http_500', { path: '/profiles', times: 2 });
    expect((await bench.call('GET', '/status/device_info')).status).toBe(200);
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push((await bench.call('GET', '/profiles')).status);
    expect(statuses).toEqual([500, 500, 200]);
    expect(bench.router.faults).toEqual([]);
    expect(bench.router.counters.requests['GET (http_500)']).toBe(2);
  });

  test('a fleet can begin with faults', async () => {
    const clock = createSteppedClock(START_MS);
    const faults = ['http_500', 'slow'] as const;
    await using simulator = await startSimulator({ routers: 2, clock, seed: 1, plainHttp: true, faults });
    expect(simulator.routers.map((router) => router.faults)).toEqual([faults, faults]);
  });

  test.each(FAULT_NAMES.filter((name) => name !== 'bad_certificate'))(
    '%s can be set, listed and cleared',
    async (name) => {
      await using bench = await openFaulty();
      await bench.router.fault(name);
      expect(bench.router.faults).toEqual([name]);
      await bench.router.clearFault();
      expect(bench.router.faults).toEqual([]);
      expect((await bench.call('GET', '/profiles')).status).toBe(200);
    },
  );
});
