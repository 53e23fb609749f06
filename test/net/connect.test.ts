import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createServer, TLSSocket, type TlsOptions } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, createSystemClock } from '../../src/base/index.ts';
import { connectToNats, loadNatsLibrary, openConnection } from '../../src/net/index.ts';
import { type CountingProxy, type GreetingFault, openCountingProxy } from '../client/counting-proxy.ts';
import { authority, certificate } from '../client/wire-bench.ts';
import { waitFor } from '../support/wait-for.ts';

const never = new AbortController().signal;
const tls = { caPem: authority.caPem };

/** A server of TLS behind a box that takes first messages of `bytesMax` bytes. */
async function openBox(fault: GreetingFault, bytesMax = 1024, options: TlsOptions = {}): Promise<CountingProxy> {
  const server = createServer({ ...certificate, ...options }, (socket) => void socket.on('error', () => {}));
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const box = await openCountingProxy((server.address() as AddressInfo).port, ({ length }) => length > bytesMax, fault);
  onTestFinished(async () => {
    await box[Symbol.asyncDispose]();
    server.close();
  });
  return box;
}

test.each<[GreetingFault, RegExp]>([
  ['reset', /^127\.0\.0\.1:\d+ ended the connection at a TLS ClientHello of 1\.6 KB/],
  ['end', / ended the connection at /],
  ['alert', / answered with an alert to /],
  ['silence', / did not answer within 5 s to /],
])('openConnection() tries a shorter first message after %s, says so, and keeps to it', async (fault, words) => {
  const { port, greetings } = await openBox(fault);
  const clock = createSteppedClock(0);
  const said: string[] = [];
  const plan = { host: '127.0.0.1', port, tls, clock, onShortHello: (message: string) => said.push(message) };
  const opening = openConnection(plan, never);
  if (fault === 'silence') {
    await waitFor(() => expect(greetings).toHaveLength(1));
    await clock.advance(5000);
  }
  const first = await opening;
  expect(first).toBeInstanceOf(TLSSocket);
  const second = await openConnection(plan, never);
  expect(greetings.map(({ length }) => length > 1024)).toEqual([true, false, false]);
  expect(said).toEqual([expect.stringMatching(words)]);
  for (const socket of [first, second]) socket.destroy();
});

test('openConnection() offers a post-quantum key to whom it does not trouble, and tries no second time there', async () => {
  const { port, greetings } = await openBox('reset', 4096);
  const plan = { host: '127.0.0.1', port, clock: createSystemClock() };
  const socket = await openConnection({ ...plan, tls }, never);
  await expect(openConnection({ ...plan, tls: {} }, never)).rejects.toThrow('unable to verify');
  expect(greetings.map(({ length }) => length > 1024)).toEqual([true, true]);
  socket.destroy();
});

test('openConnection() fails where a short first message is not answered either, and learns nothing from it', async () => {
  const { port, greetings } = await openBox('alert', 0);
  const plan = { host: '127.0.0.1', port, tls, clock: createSystemClock(), onShortHello: expect.unreachable };
  for (let time = 0; time < 2; time++) await expect(openConnection(plan, never)).rejects.toThrow('alert');
  expect(greetings.map(({ length }) => length > 1024)).toEqual([true, false, true, false]);
});

/** A server of NATS that asks for TLS, behind the box. */
async function openNatsBox(fault: GreetingFault): Promise<CountingProxy> {
  const info = {
    server_id: 'S',
    version: '2.15.2',
    proto: 1,
    headers: true,
    max_payload: 1_048_576,
    tls_required: true,
  };
  const server = createTcpServer((socket) => {
    socket.on('error', () => {}).write(`INFO ${JSON.stringify(info)}\r\n`);
    const secured = new TLSSocket(socket, { ...certificate, isServer: true }).on('error', () => {});
    secured.on('data', (chunk: Buffer) => chunk.includes('PING\r\n') && secured.write('PONG\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const box = await openCountingProxy((server.address() as AddressInfo).port, ({ length }) => length > 1024, fault);
  onTestFinished(async () => {
    await box[Symbol.asyncDispose]();
    server.close();
  });
  return box;
}

test.each<GreetingFault>(['reset', 'end', 'alert', 'silence'])(
  'connectToNats() tries a shorter first message of TLS after %s, says so, and keeps to it',
  async (fault) => {
    const { port, greetings } = await openNatsBox(fault);
    const nats = await loadNatsLibrary();
    const clock = createSteppedClock(0);
    const said: string[] = [];
    const onShortHello = (message: string) => said.push(message);
    const servers = [`nats://127.0.0.1:${port}`];
    const connect = () =>
      connectToNats(nats, { who: 'Sink lake', peer: 'sink', servers, tls, clock, onShortHello }, never);
    const connecting = connect();
    if (fault === 'silence') {
      await waitFor(() => expect(greetings).toHaveLength(1));
      await clock.advance(10_000);
    }
    const connections = [await connecting, await connect()];
    expect(greetings.map(({ length }) => length > 1024)).toEqual([true, false, false]);
    expect(said).toEqual([expect.stringContaining(`127.0.0.1:${port} `)]);
    for (const connection of connections) await connection.close();
  },
);
