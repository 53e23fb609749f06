import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { demoLogSettings, startSimulator } from '../../src/simulator/index.ts';
import { filePath, listPath, openBench, openClient, START_MS } from './client.ts';

const clock = createSteppedClock(START_MS);

/** The certificate that a router shows, once its chain and the name have been verified. */
async function readVerifiedCertificate(url: string, ca: string, servername: string): Promise<X509Certificate> {
  const connected = Promise.withResolvers<void>();
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca, servername });
  socket.once('secureConnect', connected.resolve).once('error', connected.reject);
  try {
    await connected.promise;
    return new X509Certificate(socket.getPeerX509Certificate()?.raw ?? '');
  } finally {
    socket.destroy();
  }
}

describe('TLS', () => {
  test('a client that trusts the authority reaches a router by address, and one that does not is kept out', async () => {
    await using simulator = await startSimulator({ routers: 1, clock, seed: 1 });
    const [router] = simulator.routers;
    if (!router) return expect.unreachable();
    expect(router.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await using trusting = openClient(router, simulator.caPem);
    expect((await trusting.login()).access).toBeTypeOf('string');
    await using stranger = openClient(router, '');
    await expect(stranger.login()).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  });

  test('a certificate names its own router, localhost and the loopback addresses, and no other router', async () => {
    await using simulator = await startSimulator({ routers: 2, clock, seed: 1 });
    const url = simulator.routers[1]?.url ?? '';
    const certificate = await readVerifiedCertificate(url, simulator.caPem, 'sim-2');
    expect(certificate.subjectAltName).toBe(
      'DNS:sim-2, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    );
    expect(certificate.validTo).toBe('Dec 31 23:59:59 2049 GMT');
    await expect(readVerifiedCertificate(url, simulator.caPem, 'sim-1')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });
});

describe('a fleet', () => {
  test('routers are numbered, and each has its own serial, sessions and logs', async () => {
    await using simulator = await startSimulator({ routers: 3, clock, seed: 1, plainHttp: true });
    const [first, second] = simulator.routers;
    if (!first || !second) return expect.unreachable();
    expect(simulator.routers.map(({ name }) => name)).toEqual(['sim-1', 'sim-2', 'sim-3']);
    expect(new Set(simulator.routers.map(({ serial }) => serial)).size).toBe(3);
    await using client = openClient(first, '');
    await using other = openClient(second, '');
    const { access } = await client.login();
    first.appendLog('network', 'up');
    expect((await other.get(listPath, access)).status).toBe(401);
    expect((await other.get(listPath, (await other.login()).access)).json.log_files).toEqual([]);
  });

  test('startSimulator() fails and leaves nothing open when a port is taken', async () => {
    // A loopback address that nothing else uses, so that the port below the taken one is free.
    const host = '127.86.41.7';
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, host, resolve));
    const { port } = squatter.address() as AddressInfo;
    const listen = { host, port: port - 1 };
    await expect(startSimulator({ routers: 2, clock, seed: 1, listen, plainHttp: true })).rejects.toMatchObject({
      code: 'listen-failed',
    });
    squatter.close();
    await using simulator = await startSimulator({ routers: 1, clock, seed: 1, listen, plainHttp: true });
    expect(simulator.routers[0]?.url).toBe(`http://${host}:${port - 1}`);
  });

  test.each([
    ['no router', { routers: 0 }],
    ['a port that does not exist', { listen: { host: '127.0.0.1', port: 65_536 } }],
    ['a time zone that does not exist', { timezone: 'Europe/Regensburg' }],
    ['no file to keep', { logs: { maxFiles: 0 } }],
  ])('startSimulator() refuses %s', async (_what, options) => {
    await expect(startSimulator({ routers: 1, clock, seed: 1, ...options })).rejects.toMatchObject({
      code: 'bad-option',
    });
  });

  test('close() ends connections and may be called twice', async () => {
    const simulator = await startSimulator({ routers: 1, clock, seed: 1, plainHttp: true });
    const [router] = simulator.routers;
    if (!router) return expect.unreachable();
    await using client = openClient(router, '');
    await client.login();
    await simulator.close();
    await simulator.close();
    await expect(client.login()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

/** What a client and the director of the simulation can see of one router after half a minute. */
async function observe(seed: number): Promise<string> {
  await using bench = await openBench({ seed, logActivity: 'live', logs: demoLogSettings });
  const tokens = await bench.client.login();
  await bench.clock.advance(30_000);
  const lines = ['network', 'system', 'restd'].map((component) => bench.router.truth(component));
  const { json } = await bench.client.get('/status/device_info', tokens.access);
  return JSON.stringify([bench.router.serial, tokens, json, lines]);
}

describe('live activity', () => {
  test('with a history, logs have lines of all severities from before the start, and the clock is right again', async () => {
    const logs = { ...demoLogSettings, compressionMs: 0, severityBrackets: true };
    const options = { routers: 8, logActivity: 'live', logHistoryMs: 86_400_000, timezone: 'UTC', logs } as const;
    const own = createSteppedClock(START_MS);
    await using simulator = await startSimulator({ clock: own, seed: 1, plainHttp: true, ...options });
    const texts = simulator.routers.flatMap((router) =>
      ['system', 'network', 'restd', 'httpd'].flatMap((name) => router.truth(name).map(({ text }) => text)),
    );
    const severities = texts.map((text) => /^\S+ \S+ \[\w+\]\[(\w+)\] /.exec(text)?.[1]);
    expect(new Set(severities)).toEqual(
      new Set(['EMERG', 'ALERT', 'CRIT', 'ERR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG']),
    );
    const [first = '', last = ''] = [texts.toSorted()[0], texts.toSorted().at(-1)];
    expect(first.slice(0, 13)).toBe('2026-11-20 08');
    expect(last.slice(0, 13)).toBe('2026-11-21 07');
    simulator.routers[0]?.appendLog('vpn', 'now');
    expect(simulator.routers[0]?.truth('vpn')[0]?.text).toMatch(/^2026-11-21 08:00:00 /);
  });

  test('a router that had no power has no lines of that time, runs since, and was not reached', async () => {
    const logs = { ...demoLogSettings, compressionMs: 0, maxSizeBytes: 1_000_000 };
    const options = { routers: 2, logActivity: 'live', logHistoryMs: 86_400_000, timezone: 'UTC', logs } as const;
    const own = createSteppedClock(START_MS);
    const past = (index: number) => (index === 1 ? ('power-cut' as const) : undefined);
    await using simulator = await startSimulator({ clock: own, seed: 1, plainHttp: true, past, ...options });
    const longestGapMs = simulator.routers.map((router) => {
      const texts = ['system', 'network', 'restd', 'httpd', 'modem', 'events'].flatMap((log) => router.truth(log));
      const times = texts
        .map(({ text }) => Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`))
        .toSorted((a, b) => a - b);
      return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
    });
    expect(longestGapMs[0]).toBeLessThan(600_000);
    expect(longestGapMs[1]).toBeGreaterThan(0.55 * 3_600_000);
    const askAt = async (hoursAgo: number) => {
      const then = createSteppedClock(START_MS - hoursAgo * 3_600_000);
      return JSON.stringify(await simulator.routers[1]?.openPast(then).readDocument('sysdetail/system'));
    };
    await expect(askAt(6.3)).rejects.toMatchObject({ code: 'connect' });
    // Each firmware has a format of its own.
    expect(await askAt(5)).toContain('"uptime":"0 01:00:00"');
    expect(await askAt(7)).toContain('"uptime":"19 ');
    await expect(askAt(0)).resolves.toContain('"uptime":"0 06:00:00"');
  });

  test('a changed configuration is active, with another hash', async () => {
    await using bench = await openBench({});
    const { access } = await bench.client.login();
    const readHash = async () => (await bench.client.get('/status/sysdetail/system', access)).text;
    const before = await readHash();
    bench.router.changeConfiguration();
    expect(await readHash()).not.toBe(before);
  });

  test('only the first routers write, if not all are to', async () => {
    const own = createSteppedClock(START_MS);
    const options = { clock: own, seed: 1, plainHttp: true, logActivity: 'live', logs: demoLogSettings } as const;
    await using simulator = await startSimulator({ routers: 2, liveRouters: 1, ...options });
    await own.advance(20_000);
    expect(simulator.routers.map((router) => router.truth('network').length > 0)).toEqual([true, false]);
  });

  test('20 seconds of live activity show several components and a rotation with its archive', async () => {
    await using bench = await openBench({ logActivity: 'live', logs: demoLogSettings });
    await bench.clock.advance(20_000);
    const { access } = await bench.client.login();
    const files: string[] = (await bench.client.get(listPath, access)).json.log_files;
    expect(files).toContain('modem/current');
    expect(files).toContain('httpd/current');
    const archive = files.find((file) => file.startsWith('network/log-')) ?? '';
    expect((await bench.client.get(filePath(archive), access)).text).toMatch(/^BZh9/);
    const lines = (await bench.client.get(filePath('network/current'), access)).text.split('\n').slice(0, -1);
    for (const line of lines) expect(line).toMatch(/^2026-11-21 09:00:\d\d \[\w+\] .+$/);
  });

  test('equal seeds give equal routers, tokens and lines; another seed gives others', async () => {
    const [first, again, other] = [await observe(7), await observe(7), await observe(8)];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});
