import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  type Clock,
  createSeededRandom,
  createSteppedClock,
  renderErrorChain,
  type SteppedClock,
} from '../../src/base/index.ts';
import { toDialError } from '../../src/client/connection/connection-attempt.ts';
import { ConnectionLimit } from '../../src/client/connection/connection-limit.ts';
import { Connector } from '../../src/client/connection/connector.ts';
import { toRouterError } from '../../src/client/errors.ts';
import { RouterClient, type RouterError, type RouterTls } from '../../src/client/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { openRouter } from './http-router.ts';
import { authority, certificate, ok, openWire } from './wire-bench.ts';

const { caPem } = authority;
const TIMEOUT_MS = 10_000;

/** A clock that knows how many of its timers are set. */
function createCountingClock(): { clock: Clock; stepped: SteppedClock; readonly timers: number } {
  const stepped = createSteppedClock(0);
  let timers = 0;
  const setTimer: Clock['setTimer'] = (delayMs, fire) => {
    let isSet = true;
    timers++;
    const end = () => {
      if (isSet) timers--;
      isSet = false;
    };
    const timer = stepped.setTimer(delayMs, () => {
      end();
      fire();
    });
    return {
      cancel() {
        end();
        timer.cancel();
      },
    };
  };
  return {
    clock: { ...stepped, setTimer },
    stepped,
    get timers() {
      return timers;
    },
  };
}

/** The TCP connections of this process, listening ones left out, on their way or open. */
function countSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TCPConnectWrap')
    .length;
}

/** A port whose system takes no more connections, and says nothing: the packets get lost. */
async function openDeafPort(): Promise<number> {
  const worker = new Worker(
    `const { createServer } = require('node:net');
     const { parentPort } = require('node:worker_threads');
     const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     });`,
    { eval: true },
  );
  const [port] = (await once(worker, 'message')) as [number];
  const fillers: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of fillers) socket.destroy();
    await Promise.all([worker.terminate(), ...fillers.map((socket) => socket.closed || once(socket, 'close'))]);
  });
  for (let count = 0; count < 4; count++) fillers.push(connect(port, '127.0.0.1').on('error', () => {}));
  const [first, second] = fillers;
  if (first && second) await Promise.all([once(first, 'connect'), once(second, 'connect')]);
  return port;
}

/** A port that takes connections and never says a word. */
async function openSilentPort(): Promise<{ port: number; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => {}).resume()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

interface Opened {
  readonly error: Error | null;
  readonly socket: Socket | null;
}

function open(connector: Connector, port: number, protocol = 'https:', hostname = '127.0.0.1'): Promise<Opened> {
  return new Promise((resolve) => {
    connector.connect({ hostname, host: `${hostname}:${port}`, protocol, port: `${port}` }, (error, socket) =>
      resolve({ error, socket }),
    );
  });
}

describe('a connection on its way', () => {
  let time: ReturnType<typeof createCountingClock>;
  const createConnector = (tls: RouterTls = { caPem }) =>
    new Connector({
      tls,
      requestTimeoutMs: TIMEOUT_MS,
      connectTimeoutMs: TIMEOUT_MS / 2,
      clock: time.clock,
      connectionLimit: new ConnectionLimit(10),
    });

  beforeEach(async () => {
    time = createCountingClock();
    // Those of the test before have no event for their final release by the system.
    await expect.poll(countSockets).toBe(0);
  });
  afterEach(() => {
    expect(time.timers).toBe(0);
  });

  test.each(['http:', 'https:'])('is given up after its time when the packets get lost, with %s', async (protocol) => {
    const port = await openDeafPort();
    const socketsBefore = countSockets();
    const opening = open(createConnector(), port, protocol);
    await expect.poll(countSockets).toBeGreaterThan(socketsBefore);
    await time.stepped.advance(TIMEOUT_MS);
    const { error } = await opening;
    expect(error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    expect(toRouterError(error, 'X')).toMatchObject({ code: 'connect', isUnsent: true });
    await expect.poll(countSockets).toBe(socketsBefore);
  });

  test('times out when the handshake gets no answer', async () => {
    const { port, sockets } = await openSilentPort();
    const opening = open(createConnector(), port);
    await expect.poll(() => sockets[0]?.bytesRead).toBeGreaterThan(0);
    await time.stepped.advance(TIMEOUT_MS - 1);
    expect(sockets[0]?.readableEnded).toBe(false);
    await time.stepped.advance(1);
    expect((await opening).error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    await expect.poll(() => sockets[0]?.closed).toBe(true);
  });

  test.each(['deaf', 'silent'])('ends with its connector when the router is %s', async (kind) => {
    const port = kind === 'deaf' ? await openDeafPort() : (await openSilentPort()).port;
    const socketsBefore = countSockets();
    const connector = createConnector();
    const opening = open(connector, port);
    await expect.poll(countSockets).toBeGreaterThan(socketsBefore);
    connector.close();
    expect((await opening).error).toMatchObject({ code: 'UND_ERR_DESTROYED' });
    await expect.poll(countSockets).toBe(socketsBefore);
  });

  test('is dropped when the certificate is not trusted, before anything is sent', async () => {
    const { bench } = await openWire(ok, certificate);
    const { fingerprint256: fingerprintSha256 } = new X509Certificate(certificate.cert);
    const stranger = await createCertificateAuthority('stranger', createSeededRandom(8));
    for (const tls of [
      {},
      { fingerprintSha256: '00'.repeat(32) },
      { caPem, serverName: 'plant-7' },
      // Both are to hold, when both are given.
      { caPem, fingerprintSha256: '00'.repeat(32) },
      { caPem: stranger.caPem, fingerprintSha256 },
    ]) {
      const { error, socket } = await open(createConnector(tls), bench.port);
      expect(socket).toBeNull();
      expect(toRouterError(error, 'X')).toMatchObject({ code: 'tls', isUnsent: true });
    }
    await expect.poll(() => new Promise((resolve) => bench.server.getConnections((_e, n) => resolve(n)))).toBe(0);
    expect(bench.arrived).toEqual([]);
  });

  test('is trusted under the name that was given, be it an address, and asks for HTTP/1.1', async () => {
    const { key, cert } = authority.issue(['192.0.2.7', 'plant-7.example']);
    const { bench } = await openWire(ok, { key, cert, ALPNProtocols: ['h2', 'http/1.1'] });
    const secured: unknown[][] = [];
    bench.server.on('secureConnection', (socket: TLSSocket) => {
      secured.push([socket.servername, socket.alpnProtocol]);
    });
    for (const serverName of ['192.0.2.7', 'plant-7.example']) {
      const { error, socket } = await open(createConnector({ caPem, serverName }), bench.port);
      expect(error).toBeNull();
      await once(bench.server, 'secureConnection');
      socket?.destroy();
    }
    expect(secured).toEqual([
      [false, 'http/1.1'],
      ['plant-7.example', 'http/1.1'],
    ]);
  });

  test('distinguishes a closed port, an unknown name, a broken connection and a server without TLS', async () => {
    const { port: deadPort } = await takeDeadPort();
    const { error: refused } = await open(createConnector(), deadPort);
    expect(toRouterError(refused, 'X')).toMatchObject({ code: 'connect', isUnsent: true });
    expect(renderErrorChain(refused)).toContain('ECONNREFUSED');
    const { error: unknown } = await open(createConnector(), deadPort, 'https:', 'router.invalid');
    expect(toRouterError(unknown, 'X')).toMatchObject({ code: 'dns', isUnsent: true });
    const cutting = createServer((socket) => void socket.once('data', () => socket.destroy()).on('error', () => {}));
    cutting.listen(0, '127.0.0.1');
    onTestFinished(() => void cutting.close());
    await once(cutting, 'listening');
    const { error: cut } = await open(createConnector(), (cutting.address() as AddressInfo).port);
    expect(toRouterError(cut, 'X')).toMatchObject({ code: 'connect', isUnsent: false });
    await using plain = await openRouter(ok);
    const { error: foreign } = await open(createConnector(), plain.port);
    expect(toRouterError(foreign, 'X')).toMatchObject({ code: 'tls' });
  });

  test('says that the configured certificates are none', async () => {
    const { bench } = await openWire(ok, certificate);
    const { key } = certificate;
    for (const tls of [
      { caPem, certPem: 'none', keyPem: key },
      { caPem, certPem: caPem, keyPem: key },
    ]) {
      const { error } = await open(createConnector(tls), bench.port);
      expect(error).toMatchObject({ name: 'RouterError', code: 'tls', disposition: 'operator', isUnsent: true });
    }
  });

  test('leaves no timer behind when it has come to be', async () => {
    const { bench } = await openWire(ok, certificate);
    const { error, socket } = await open(createConnector(), bench.port);
    expect(error).toBeNull();
    await time.stepped.advance(10 * TIMEOUT_MS);
    expect(socket?.destroyed).toBe(false);
    socket?.destroy();
  });
});

test('RouterClient.close() ends a connection that is on its way, and so the call that waits for it', async () => {
  const { port, sockets } = await openSilentPort();
  const client = new RouterClient({
    url: `https://127.0.0.1:${port}`,
    username: 'a',
    password: 'b',
    auth: 'none',
    clock: createSteppedClock(0),
  });
  const call = client.readStatus('device_info').catch((cause: unknown) => cause);
  await expect.poll(() => sockets.length).toBe(1);
  await client.close(AbortSignal.abort()).catch(() => {});
  expect(await call).toMatchObject({ name: 'RouterError' } satisfies Partial<RouterError>);
  await expect.poll(() => sockets[0]?.closed).toBe(true);
});

test('RouterClient throws timeout when no connection comes to be in the time of a request, and is of use again', async () => {
  const { port, sockets } = await openSilentPort();
  const clock = createSteppedClock(0);
  const client = new RouterClient({
    url: `https://127.0.0.1:${port}`,
    username: 'a',
    password: 'b',
    auth: 'none',
    requestTimeoutMs: TIMEOUT_MS,
    clock,
  });
  for (let count = 1; count <= 2; count++) {
    const call = client.readStatus('device_info').catch((cause: unknown) => cause);
    await expect.poll(() => sockets.length).toBe(count);
    await clock.advance(TIMEOUT_MS);
    expect(await call).toMatchObject({ code: 'timeout' });
    await expect.poll(() => sockets[count - 1]?.closed).toBe(true);
  }
  await client.close();
});

test('Connector forgets the listeners that it has notified of the end of a connection', async () => {
  const { port } = await takeDeadPort();
  const connector = new Connector({
    connectionLimit: new ConnectionLimit(10),
    tls: {},
    requestTimeoutMs: TIMEOUT_MS,
    connectTimeoutMs: TIMEOUT_MS,
    clock: createSteppedClock(0),
  });
  const attempt = () =>
    new Promise<WeakRef<object>>((resolve) => {
      const callback = () => resolve(told);
      const told = new WeakRef(callback);
      connector.connect({ hostname: '127.0.0.1', protocol: 'http:', port: `${port}` }, callback);
    });
  const told = await attempt();
  const isForgotten = () => {
    collectGarbage();
    return told.deref() === undefined;
  };
  await expect.poll(isForgotten).toBe(true);
  expect(connector.connections.opened).toBe(0);
});

test('toDialError() takes silence of one address of several for silence', () => {
  const attempt = (code: string) => Object.assign(new TypeError(code), { code });
  const mixed = new AggregateError([attempt('ENETUNREACH'), attempt('ETIMEDOUT')]);
  const error = toDialError(mixed, 'plant-7', 5000);
  expect(error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', cause: mixed });
  expect(error.message).toBe('No connection to plant-7 within 5 s');
  for (const other of [new AggregateError([attempt('ENETUNREACH')]), attempt('ETIMEDOUT')]) {
    expect(toDialError(other, 'plant-7', 5000)).toBe(other);
  }
});

/** A closed port. */
async function takeDeadPort(): Promise<{ port: number }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return { port };
}
