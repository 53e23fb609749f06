import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TlsCarrier } from '../../src/client/connection/tls.ts';
import { certificate, ok, openWire } from './wire-bench.ts';

/** Opens a carrier to a server of its own. */
async function openCarrier(): Promise<{ carrier: TlsCarrier; socket: Socket; peer: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const carrier = new TlsCarrier();
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', onread: carrier.onread });
  await once(socket, 'connect');
  carrier.attach(socket);
  const [peer] = await accepted;
  onTestFinished(() => {
    carrier.destroy();
    peer.destroy();
    server.close();
  });
  return { carrier, socket, peer };
}

function digest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('TlsCarrier keeps what has arrived until it is read, whatever other connections receive meanwhile', async () => {
  const carriers = await Promise.all([openCarrier(), openCarrier()]);
  const sent = carriers.map(() => randomBytes(300_000));
  for (const [index, { peer }] of carriers.entries()) peer.end(sent[index] ?? '');
  await expect.poll(() => carriers.every(({ carrier }) => carrier.readableLength > 50_000)).toBe(true);
  const kept = carriers.map(({ carrier, socket }) => carrier.readableLength + socket.readableLength);
  expect(Math.max(...kept)).toBeLessThan(200_000);
  const received = await Promise.all(carriers.map(({ carrier }) => carrier.toArray()));
  expect(received.map((pieces) => digest(Buffer.concat(pieces)))).toEqual(sent.map(digest));
});

test('TlsCarrier copies nothing for a reader that takes pieces at once, and what waits while it pauses', async () => {
  const [first, other] = await Promise.all([openCarrier(), openCarrier()]);
  const sent = randomBytes(300_000);
  const received: Buffer[] = [];
  const memories: ArrayBufferLike[] = [];
  first.carrier.on('data', (piece: Buffer) => {
    memories.push(piece.buffer);
    received.push(Buffer.from(piece));
    if (received.length === 20) first.carrier.pause();
  });
  first.peer.end(sent);
  await expect.poll(() => first.carrier.isPaused() && first.carrier.readableLength > 10_000).toBe(true);
  other.peer.end(randomBytes(100_000));
  await other.carrier.toArray();
  first.carrier.resume();
  await once(first.carrier, 'end');
  expect(digest(Buffer.concat(received))).toBe(digest(sent));
  expect(new Set(memories.slice(0, 20)).size).toBe(1);
});

test('TlsCarrier hands on pieces for which Node.js has memory in its first buffer of a connection', async () => {
  const { carrier, peer } = await openCarrier();
  const lengths: number[] = [];
  carrier.on('data', (piece: Buffer) => lengths.push(piece.length));
  peer.end(Buffer.alloc(100_000));
  await once(carrier, 'end');
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(100_000);
  expect(Math.max(...lengths)).toBeLessThan(4096);
});

test('TlsCarrier ends with its socket, and its socket with it', async () => {
  const first = await openCarrier();
  first.peer.resetAndDestroy();
  const [cause] = (await once(first.carrier, 'error')) as [Error];
  expect(cause).toMatchObject({ code: 'ECONNRESET' });
  expect(first.carrier.destroyed).toBe(true);
  const second = await openCarrier();
  second.carrier.end('bye');
  const pieces = (await second.peer.toArray()) as Buffer[];
  expect(Buffer.concat(pieces).toString()).toBe('bye');
  second.carrier.destroy();
  expect(second.socket.destroyed).toBe(true);
});

test('RouterClient receives long answers of several routers at once over TLS, also while their readers wait', async () => {
  const bodies = [randomBytes(400_000), randomBytes(400_000)];
  const clients = await Promise.all(
    bodies.map((body) => openWire((_request, response) => void response.end(body), certificate)),
  );
  const received = await Promise.all(
    clients.map(({ client }) =>
      client.readLog('network/current', AbortSignal.timeout(20_000), async (body) => {
        const pieces: Uint8Array[] = [];
        for await (const piece of body) {
          pieces.push(piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return Buffer.concat(pieces);
      }),
    ),
  );
  expect(received.map(digest)).toEqual(bodies.map(digest));
});

test.each([
  ['https', certificate, 1],
  ['http', undefined, 0],
])('RouterClient has a carrier for each %s connection that has TLS', async (_scheme, server, times) => {
  const attach = vi.spyOn(TlsCarrier.prototype, 'attach');
  const { client } = await openWire(ok, server);
  await client.readStatus('device_info');
  expect(attach).toHaveBeenCalledTimes(times);
  attach.mockRestore();
});
