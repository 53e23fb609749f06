import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { WebContent, WebServerOptions } from '../../src/web/index.ts';
import { AddressSet, LOOPBACK, parseNetwork, toClientKey } from '../../src/web/server/client-address.ts';
import { type ConnectionBounds, toBounds } from '../../src/web/server/connections.ts';
import { type Bench, openBench } from './bench.ts';
import { createTestAuthority } from './certificates.ts';

/** Loopback counts as any other address here, so that there are several. */
const BOUNDS: ConnectionBounds = { max: 6, perAddressMax: 4, beyondMax: 2, exempt: [] };
const ATTACKER = '127.0.0.2';
const OTHERS = ['127.0.0.3', '127.0.0.4'] as const;

const openSmall = (content: Partial<WebContent> = {}, options: Partial<WebServerOptions> = {}) =>
  openBench(content, { bounds: BOUNDS, ...options });

const portOf = (bench: Bench) => Number(new URL(bench.url).port);

/** A connection without a request; `isClosed` once the server has ended it. */
async function openIdle(bench: Bench, localAddress: string) {
  const socket = connect({ port: portOf(bench), host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  socket.resume();
  return { socket, closed };
}

/** A request that the server does not finish answering. */
function openBusy(bench: Bench, localAddress: string) {
  const request = get(`${bench.url}/metrics`, { agent: false, localAddress });
  request.on('error', () => {});
  return request;
}

/** Content whose `/metrics` takes until the end, and how many ask for it. */
function createHanging() {
  const end = Promise.withResolvers<void>();
  const asked = { count: 0 };
  const content: Partial<WebContent> = {
    async *renderMetrics(_format, scope) {
      if (scope.kind !== 'all') {
        yield 'agent 1\n';
        return;
      }
      asked.count++;
      await end.promise;
      yield 'router_up 1\n';
    },
  };
  return { content, asked, end };
}

describe('a server with bounded connections', () => {
  test('answers others, and health checks, though one address opens all the connections that it can', async () => {
    await using bench = await openSmall();
    const idle = await Promise.all(Array.from({ length: 20 }, () => openIdle(bench, ATTACKER)));
    for (const localAddress of [...OTHERS, ATTACKER]) {
      for (const path of ['/-/healthy', '/metrics']) {
        expect([localAddress, path, (await bench.get(path, { localAddress })).status]).toEqual([
          localAddress,
          path,
          200,
        ]);
      }
    }
    for (const { socket } of idle) socket.destroy();
  });

  test('ends the connection that is idle for longest, and first those that never sent a request', async () => {
    await using bench = await openSmall();
    const spoken = await openIdle(bench, ATTACKER);
    spoken.socket.write('GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(spoken.socket, 'data');
    const silent = [await openIdle(bench, ATTACKER), await openIdle(bench, ATTACKER), await openIdle(bench, ATTACKER)];
    await openIdle(bench, ATTACKER);
    await silent[0]?.closed;
    await openIdle(bench, ATTACKER);
    await silent[1]?.closed;
    expect([spoken.socket.closed, silent[2]?.socket.closed]).toEqual([false, false]);
  });

  test('ends idle connections of any address when there are too many altogether', async () => {
    await using bench = await openSmall();
    const [first, ...rest] = await Promise.all(
      ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7'].map((one) => openIdle(bench, one)),
    );
    expect((await bench.get('/metrics', { localAddress: '127.0.0.8' })).status).toBe(200);
    await first?.closed;
    expect(rest.map(({ socket }) => socket.closed)).toEqual(rest.map(() => false));
  });

  test('closes a connection of the client with the most, not one whose request is about to be read', async () => {
    await using bench = await openSmall();
    const single = await openIdle(bench, OTHERS[0]);
    const crowd: Awaited<ReturnType<typeof openIdle>>[] = [];
    for (let count = 0; count < 20; count++) {
      crowd.push(await openIdle(bench, count % 2 === 0 ? ATTACKER : OTHERS[1]));
    }
    await Promise.all(crowd.slice(0, -6).map(({ closed }) => closed));
    single.socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const [answer] = (await once(single.socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
  });

  test('refuses an address with too many open requests with a short 429, and serves the others', async () => {
    const { content, asked, end } = createHanging();
    await using bench = await openSmall(content);
    const busy = Array.from({ length: 4 }, () => openBusy(bench, ATTACKER));
    await expect.poll(() => asked.count).toBe(4);
    const refused = await bench.get('/metrics/agent', { localAddress: ATTACKER });
    expect([refused.status, refused.body.toString(), refused.headers]).toMatchObject([
      429,
      'Too many connections from this address; try again later.\n',
      { connection: 'close', 'retry-after': '5' },
    ]);
    expect((await bench.get('/-/healthy', { localAddress: ATTACKER })).status).toBe(200);
    expect((await bench.get('/metrics/agent', { localAddress: OTHERS[0] })).status).toBe(200);
    const answers = Promise.all(busy.map(async (request) => (await once(request, 'response'))[0] as IncomingMessage));
    end.resolve();
    expect((await answers).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    for (const response of await answers) response.resume();
    await expect.poll(async () => (await bench.get('/metrics/agent', { localAddress: ATTACKER })).status).toBe(200);
  });

  test('answers health checks when every connection is busy, and refuses all else with 503', async () => {
    const { content, asked, end } = createHanging();
    await using bench = await openSmall(content);
    const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7'];
    for (const address of addresses) openBusy(bench, address);
    await expect.poll(() => asked.count).toBe(6);
    // The oldest connection above the limits is closed for the next one.
    const staying = await openIdle(bench, '127.0.0.9');
    for (let count = 0; count < 3; count++) {
      const healthy = await bench.get('/-/healthy', { localAddress: '127.0.0.8' });
      expect([healthy.status, healthy.headers.connection]).toEqual([200, 'close']);
      expect((await bench.get('/metrics', { localAddress: '127.0.0.8' })).status).toBe(503);
      await openIdle(bench, '127.0.0.9');
    }
    await staying.closed;
    end.resolve();
  });

  test('has no bound of their own for addresses that are exempt', async () => {
    const { content, asked } = createHanging();
    const exempt = [parseNetwork(ATTACKER) ?? []].flat();
    await using bench = await openSmall(content, { bounds: { ...BOUNDS, exempt } });
    for (let count = 0; count < 6; count++) openBusy(bench, ATTACKER);
    await expect.poll(() => asked.count).toBe(6);
    expect((await bench.get('/metrics/agent', { localAddress: ATTACKER })).status).toBe(503);
  });

  test('leaves a connection alone that waits for the second of two answers', async () => {
    const { content, asked, end } = createHanging();
    await using bench = await openSmall(content);
    const { socket } = await openIdle(bench, ATTACKER);
    const text = ['/metrics/agent', '/metrics'].map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    let answers = '';
    socket.on('data', (data: Buffer) => {
      answers += data.toString();
    });
    socket.write(text.join(''));
    await expect.poll(() => asked.count).toBe(1);
    await expect.poll(() => answers).toContain('agent 1');
    for (let count = 0; count < 6; count++) {
      const other = await openIdle(bench, ATTACKER);
      other.socket.write('GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(other.socket, 'data');
    }
    end.resolve();
    await expect.poll(() => answers).toContain('router_up 1');
  });

  test('counts connections over TLS, and forgets them when they end', async () => {
    const authority = createTestAuthority('test');
    const { cert, key } = authority.issue('server', '127.0.0.1');
    const security = {
      headers: {},
      users: new Map(),
      tls: { certPem: cert, keyPem: new Secret(key), clientAuth: 'none' as const },
    };
    await using bench = await openSmall({}, { security });
    const ca = authority.caPem;
    for (let round = 0; round < 10; round++) {
      expect((await bench.get('/metrics', { ca, localAddress: ATTACKER })).status).toBe(200);
    }
    const open = async () => {
      const socket = connectTls({ port: portOf(bench), host: '127.0.0.1', ca, localAddress: ATTACKER } as never);
      socket.on('error', () => {});
      const closed = once(socket, 'close');
      await once(socket, 'secureConnect');
      return { socket: socket as Socket, closed };
    };
    const first = await open();
    for (let count = 0; count < 4; count++) await open();
    await first.closed;
    expect((await bench.get('/metrics', { ca, localAddress: OTHERS[0] })).status).toBe(200);
  });
});

test.for([
  [undefined, 2000, 1000, 100],
  [65_536, 2000, 1000, 100],
  [1024, 328, 164, 16],
  [64, 8, 4, 2],
  [32, 2, 1, 2],
] as const)('toBounds() for %j descriptors allows %j connections', ([descriptors, max, perAddressMax, beyondMax]) => {
  expect(toBounds(descriptors)).toEqual({ max, perAddressMax, beyondMax, exempt: LOOPBACK });
});

test('toBounds() exempts the proxies that are configured', () => {
  const [proxy] = ['10.0.0.0/8'].flatMap((text) => parseNetwork(text) ?? []);
  expect(proxy && toBounds(undefined, [proxy]).exempt).toEqual([...LOOPBACK, proxy]);
});

test.for([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8:1::', '2001:db8:1:0::/64'],
] as const)('toClientKey() counts %s as %s', ([address, key]) => {
  expect(toClientKey(address)).toBe(key);
});

test.for(['', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', '10.0.0/8', '1.2.3.4/-1'])(
  'parseNetwork() refuses %j',
  (text) => {
    expect(parseNetwork(text)).toBeUndefined();
  },
);

test('AddressSet.has() finds addresses of networks in every spelling', () => {
  const set = new AddressSet(['10.0.0.0/8', 'fd00::/8', '192.0.2.7'].flatMap((text) => parseNetwork(text) ?? []));
  expect(['10.9.8.7', '::ffff:10.9.8.7', 'fd12::1', '192.0.2.7'].filter((one) => !set.has(one))).toEqual([]);
  expect(['11.0.0.1', 'fe00::1', '192.0.2.8', '', 'x'].filter((one) => set.has(one))).toEqual([]);
});
