import { once } from 'node:events';
import type { Server } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { WireMeter } from '../../src/client/connection/connector.ts';
import type { RouterTls } from '../../src/client/index.ts';
import { answerJson, type BenchOptions, type Handler, inSequence } from './http-router.ts';
import { authority, certificate, closing, ok, openWire } from './wire-bench.ts';

describe('RouterClient.wireBytes', () => {
  test.each<[string, BenchOptions['certificate'], atLeast: number]>([
    ['plain HTTP', undefined, 300],
    ['TLS 1.2', { ...certificate, maxVersion: 'TLSv1.2' }, 700],
    ['TLS 1.3', { ...certificate, minVersion: 'TLSv1.3' }, 700],
  ])('counts what goes over the wire, handshakes included, with %s', async (_what, server, atLeast) => {
    const { client, proxy } = await openWire(ok, server);
    expect(client.wireBytes).toEqual({ sent: 0, received: 0 });
    for (let call = 0; call < 3; call++) {
      await client.readStatus('device_info');
      expect(client.wireBytes).toEqual({ sent: proxy.bytes.up, received: proxy.bytes.down });
    }
    expect(Math.min(proxy.bytes.up, proxy.bytes.down)).toBeGreaterThan(atLeast);
    expect(client.connections).toEqual({ opened: 1, resumed: 0 });
  });

  test('keeps the bytes of connections that have ended, and adds those of the next', async () => {
    const { client, proxy } = await openWire(closing, certificate);
    for (let call = 1; call <= 3; call++) {
      await client.readStatus('device_info');
      expect(client.connections.opened).toBe(call);
      expect(client.wireBytes.sent).toBe(proxy.bytes.up);
      // The side that closes first does not receive the close of the other.
      expect(proxy.bytes.down - client.wireBytes.received).toBeLessThan(100);
      expect(client.wireBytes.received).toBeLessThanOrEqual(proxy.bytes.down);
    }
    const before = client.wireBytes;
    await client.close();
    expect(client.wireBytes).toEqual(before);
  });

  test('counts connections that were not trusted, which are none of the opened', async () => {
    const { client, proxy, bench } = await openWire(ok, certificate, { tls: {} });
    await expect(client.readStatus('device_info')).rejects.toMatchObject({ code: 'tls' });
    await expect.poll(() => proxy.open).toBe(0);
    expect(client.wireBytes.sent).toBe(proxy.bytes.up);
    expect(client.wireBytes.sent).toBeGreaterThan(300);
    expect(client.wireBytes.received).toBeGreaterThan(1000);
    expect(client.connections).toEqual({ opened: 0, resumed: 0 });
    expect(bench.arrived).toEqual([]);
  });

  test('counts a download while it runs', async () => {
    const big: Handler = (_request, response) => {
      response.write(Buffer.alloc(100_000, 'x'));
    };
    const { client, proxy } = await openWire(big, certificate);
    await client.readLog('network/current', AbortSignal.timeout(20_000), async (body) => {
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes === 100_000) break;
      }
      expect(client.wireBytes.received).toBe(proxy.bytes.down);
      expect(client.wireBytes.received).toBeGreaterThan(100_000);
    });
  });
});

test('WireMeter never goes back, also when a connection breaks over what still waited inside the socket', async () => {
  const server = createServer((socket) => {
    socket.pause().on('error', () => {});
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const meter = new WireMeter();
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  meter.watch(socket);
  await once(socket, 'connect');
  // The system takes the first piece under way and lets the second wait.
  socket.write(Buffer.alloc(32 * 1024 * 1024));
  socket.write(Buffer.alloc(1024));
  const during = meter.read();
  expect(during).toEqual({ sent: 32 * 1024 * 1024 + 1024, received: 0 });
  socket.destroy();
  await once(socket, 'close');
  expect(socket.bytesWritten).toBeLessThan(during.sent);
  expect(meter.read()).toEqual(during);
});

describe('RouterClient.certificate', () => {
  test('reports validity and fingerprint of the last full handshake, and nothing without TLS or before it', async () => {
    const { client, bench } = await openWire(ok, certificate, { tls: { insecureSkipVerify: true } });
    expect(client.certificate).toBeUndefined();
    await client.readStatus('device_info');
    expect(client.certificate).toEqual({
      notBeforeMs: Date.UTC(2020, 0, 1),
      notAfterMs: Date.UTC(2049, 11, 31, 23, 59, 59),
      fingerprintSha256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
    });
    const first = client.certificate;
    (bench.server as Server).setSecureContext(authority.issue(['127.0.0.1']));
    bench.server.closeAllConnections();
    await client.readStatus('device_info');
    expect(client.certificate?.fingerprintSha256).not.toBe(first?.fingerprintSha256);
    const plain = await openWire(ok, undefined);
    await plain.client.readStatus('device_info');
    expect(plain.client.certificate).toBeUndefined();
  });

  test('is not taken over from a router that was not trusted', async () => {
    const tls: RouterTls = { fingerprintSha256: '00'.repeat(32) };
    const { client } = await openWire(ok, certificate, { tls });
    await expect(client.readStatus('device_info')).rejects.toMatchObject({ code: 'tls' });
    expect(client.certificate).toBeUndefined();
  });
});

describe('idle connections', () => {
  const announcing =
    (hint: string): Handler =>
    (_request, response) => {
      response.setHeader('keep-alive', hint);
      answerJson(response, {});
    };

  test('a connection is not used again when the router announces that it is about to close it', async () => {
    const { client } = await openWire(inSequence(announcing('timeout=2'), ok), undefined);
    await client.readStatus('a');
    await client.readStatus('b');
    expect(client.connections.opened).toBe(2);
  });

  test('a connection is used again when the router announces that it keeps it', async () => {
    const { client } = await openWire(announcing('timeout=60'), undefined);
    await client.readStatus('a');
    await client.readStatus('b');
    expect(client.connections.opened).toBe(1);
  });

  test.each<[string, string | undefined, number]>([
    ['15 minutes when the router announces nothing', undefined, 15 * 60],
    ['15 minutes when the router announces more', 'timeout=86400', 15 * 60],
    ['2 seconds less than the router announces', 'timeout=60', 58],
  ])('a connection is kept for %s', async (_what, hint, seconds) => {
    const handle = hint === undefined ? ok : announcing(hint);
    const { client, bench, proxy } = await openWire(handle, undefined);
    // Without a time of its own, the server announces none.
    bench.server.keepAliveTimeout = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await client.readStatus('a');
    // undici looks at its idle connection one iteration of the event loop after an answer.
    await turns(5);
    vi.advanceTimersByTime(seconds * 1000 - 1);
    await turns(5);
    await client.readStatus('b');
    expect(client.connections.opened).toBe(1);
    await turns(5);
    vi.advanceTimersByTime(seconds * 1000);
    vi.useRealTimers();
    await expect.poll(() => proxy.open).toBe(0);
  });
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
