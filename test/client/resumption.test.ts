import { createHash, X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import type { RouterTls } from '../../src/client/index.ts';
import { isOfferingSession } from './counting-proxy.ts';
import type { BenchOptions } from './http-router.ts';
import { authority, certificate, closing, openWire, type Wire } from './wire-bench.ts';

const { caPem } = authority;
const fingerprintSha256 = createHash('sha256').update(new X509Certificate(certificate.cert).raw).digest('hex');
const HOUR_MS = 3_600_000;

/** What the server saw of each connection. */
function watch({ bench }: Wire): boolean[] {
  const reused: boolean[] = [];
  bench.server.on('secureConnection', (socket: TLSSocket) => reused.push(socket.isSessionReused()));
  return reused;
}

/** Makes calls, each on a connection of its own, and says what each cost in both directions. */
async function callOneByOne({ client }: Wire, count: number): Promise<{ sent: number; received: number }[]> {
  const costs: { sent: number; received: number }[] = [];
  for (let call = 0; call < count; call++) {
    const before = client.wireBytes;
    await client.readStatus('device_info');
    const after = client.wireBytes;
    costs.push({ sent: after.sent - before.sent, received: after.received - before.received });
  }
  return costs;
}

describe.each<[string, BenchOptions['certificate']]>([
  ['TLS 1.2', { ...certificate, maxVersion: 'TLSv1.2' }],
  ['TLS 1.3', { ...certificate, minVersion: 'TLSv1.3' }],
])('%s', (_version, server) => {
  test.each<[string, RouterTls]>([
    ['an authority', { caPem }],
    ['an authority and a fingerprint', { caPem, fingerprintSha256 }],
    ['a fingerprint', { fingerprintSha256 }],
    ['nothing', { insecureSkipVerify: true }],
  ])('RouterClient resumes the session of its last connection when it is trusted by %s', async (_what, tls) => {
    const wire = await openWire(closing, server, { tls });
    const reused = watch(wire);
    const [first, second, third] = await callOneByOne(wire, 3);
    expect(reused).toEqual([false, true, true]);
    expect(wire.client.connections).toEqual({ opened: 3, resumed: 2 });
    // The router need not show its certificate again.
    expect(second?.received).toBeLessThan((first?.received ?? 0) - 1000);
    expect(third?.received).toBeLessThan((first?.received ?? 0) - 1000);
    expect(wire.client.certificate).toMatchObject({ notAfterMs: Date.UTC(2049, 11, 31, 23, 59, 59) });
  });

  test('RouterClient sends no first message of more than 1,024 bytes, with a session or without', async () => {
    const wire = await openWire(closing, server, {
      unwanted: ({ length }) => length > 1024,
      tls: { caPem, serverName: 'localhost' },
    });
    (wire.bench.server as Server).setSecureContext({ ...server, ...authority.issue(['localhost']) });
    const reused = watch(wire);
    await callOneByOne(wire, 2);
    expect(reused).toEqual([false, true]);
    const [first, second] = wire.proxy.greetings.map(({ length }) => length);
    expect(first).toBeLessThan(450);
    expect(second).toBeLessThan(700);
  });

  test('RouterClient does without a session that the router no longer knows', async () => {
    const wire = await openWire(closing, server);
    const reused = watch(wire);
    await callOneByOne(wire, 2);
    (wire.bench.server as Server).setSecureContext(server ?? {});
    await callOneByOne(wire, 2);
    expect(reused).toEqual([false, true, false, true]);
    expect(wire.client.connections).toEqual({ opened: 4, resumed: 2 });
  });

  test('RouterClient begins from nothing within the same call when a handshake fails that offered a session', async () => {
    let isStrict = true;
    const wire = await openWire(closing, server, {
      unwanted: (greeting) => isStrict && isOfferingSession(greeting),
    });
    const reused = watch(wire);
    await callOneByOne(wire, 2);
    expect(wire.proxy.greetings.map(isOfferingSession)).toEqual([false, true, false]);
    expect(reused).toEqual([false, false]);
    isStrict = false;
    await callOneByOne(wire, 1);
    expect(reused).toEqual([false, false, true]);
  });

  test('RouterClient offers nothing any more to a router that has failed on it three times in a row', async () => {
    const wire = await openWire(closing, server, { unwanted: isOfferingSession });
    const costs = await callOneByOne(wire, 6);
    expect(wire.proxy.greetings.map(isOfferingSession)).toEqual([
      false,
      ...[true, false, true, false, true, false],
      ...[false, false],
    ]);
    expect(costs.at(-1)?.sent).toBe(costs[0]?.sent);
    expect(wire.client.connections).toEqual({ opened: 6, resumed: 0 });
  });

  test('RouterClient goes on offering to a router that fails on it now and then', async () => {
    let greetings = 0;
    const wire = await openWire(closing, server, {
      unwanted: (greeting) => isOfferingSession(greeting) && greetings++ % 2 === 0,
    });
    await callOneByOne(wire, 13);
    expect(wire.client.connections).toEqual({ opened: 13, resumed: 6 });
  });

  test('RouterClient looks at the certificate again after a day', async () => {
    const wire = await openWire(closing, server);
    const reused = watch(wire);
    await callOneByOne(wire, 2);
    await wire.bench.clock.advance(12 * HOUR_MS);
    await callOneByOne(wire, 1);
    await wire.bench.clock.advance(12 * HOUR_MS);
    await callOneByOne(wire, 2);
    expect(reused).toEqual([false, true, true, false, true]);
  });

  test('RouterClient looks at the certificate again once its time is over', async () => {
    const clock = createSteppedClock(Date.UTC(2049, 11, 31, 23));
    const wire = await openWire(closing, server, { clock });
    const reused = watch(wire);
    await callOneByOne(wire, 2);
    await clock.advance(HOUR_MS);
    await callOneByOne(wire, 2);
    expect(reused).toEqual([false, true, false, false]);
  });

  test('RouterClient forgets the session when a router is no longer trusted, and does not ask it twice', async () => {
    const wire = await openWire(closing, server);
    await callOneByOne(wire, 1);
    const { key, cert } = authority.issue(['plant-8.example']);
    (wire.bench.server as Server).setSecureContext({ ...server, key, cert });
    for (let call = 0; call < 2; call++) {
      await expect(wire.client.readStatus('device_info')).rejects.toMatchObject({ code: 'tls', isUnsent: true });
    }
    expect(wire.proxy.greetings.map(isOfferingSession)).toEqual([false, true, false]);
    expect(wire.bench.arrived).toHaveLength(1);
  });
});

test('RouterClient sends the key of the key exchange that the router chose', async () => {
  const wire = await openWire(closing, { ...certificate, ecdhCurve: 'P-384' });
  const [first, second, third] = await callOneByOne(wire, 3);
  // The router had to ask for it, which takes another message and a further round trip.
  expect(second?.sent).toBeLessThan(first?.sent ?? 0);
  expect(third?.sent).toBe(second?.sent);
  expect(wire.proxy.greetings).toHaveLength(3);
});

test('RouterClient keeps no session that is larger than 16 KiB, nor the one before it', async () => {
  const server = { ...certificate, maxVersion: 'TLSv1.2' } as const;
  const wire = await openWire(closing, server);
  await callOneByOne(wire, 1);
  const hosts = ['127.0.0.1', ...Array.from({ length: 800 }, (_, index) => `plant-${index}.some-long-name.example`)];
  (wire.bench.server as Server).setSecureContext({ ...server, ...authority.issue(hosts) });
  await callOneByOne(wire, 3);
  expect(wire.proxy.greetings.map(isOfferingSession)).toEqual([false, true, false, false]);
});
