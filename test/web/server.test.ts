import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, Server } from 'node:net';
import { hashSync } from 'bcryptjs';
import { expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { WebError } from '../../src/web/index.ts';
import { createContent, fetchRaw, openBench, toBasic } from './bench.ts';

const ANY_PORT = { host: '127.0.0.1', port: 0 };

test('openWebServer() serves on a real socket and is gone after close', async () => {
  const { server, url } = await openBench();
  expect(server.urls).toEqual([url]);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([200, 'router_up 1\n']);
  await server.close();
  await expect(fetch(`${url}/-/healthy`)).rejects.toThrow('fetch failed');
});

test('openWebServer() listens on every address it is given', async () => {
  await using bench = await openBench({}, { addresses: [ANY_PORT, ANY_PORT] });
  expect(new Set(bench.server.urls).size).toBe(2);
  for (const url of bench.server.urls) expect((await fetchRaw(`${url}/-/ready`)).status).toBe(200);
});

test('openWebServer() gives an address for people when it listens on all of them', async () => {
  await using bench = await openBench({}, { addresses: [{ host: undefined, port: 0 }] });
  expect(bench.url).toMatch(/^http:\/\/localhost:\d+$/);
});

test('openWebServer() throws WebError, and listens nowhere, when one of its addresses is taken', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const listen = vi.spyOn(Server.prototype, 'listen');
  const addresses = [ANY_PORT, { host: '127.0.0.1', port }];
  const error: unknown = await openBench({}, { addresses }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WebError);
  expect(error).toMatchObject({ code: 'listen', disposition: 'operator' });
  expect((error as WebError).message).toContain(`127.0.0.1:${port}`);
  expect((listen.mock.contexts as Server[]).map(({ listening }) => listening)).toEqual([false, false]);
  listen.mockRestore();
  await new Promise((resolve) => other.close(resolve));
});

test('WebServer.close() ends connections that a client keeps open', async () => {
  const pending = Promise.withResolvers<void>();
  const { server, url } = await openBench({
    async *renderMetrics(_format, scope) {
      if (scope.kind === 'all') yield 'router_up 1\n';
      pending.resolve();
      await new Promise(() => {});
    },
  });
  const idle = connect(Number(new URL(url).port), '127.0.0.1');
  const idleClosed = once(idle, 'close');
  // The one has had the beginning of its answer, the other nothing.
  const started = get(`${url}/metrics`, { agent: false }).on('error', () => {});
  const hanging = expect(fetch(`${url}/metrics/agent`)).rejects.toThrow('fetch failed');
  await pending.promise;
  const broken = new Promise((resolve) => started.once('close', resolve));
  await server.close();
  await Promise.all([hanging, broken, idleClosed]);
});

test('WebServer.close() can be called again', async () => {
  const { server } = await openBench();
  await server.close();
  await server.close();
});

test('WebServer.serve() serves other content from the next request on, on every address', async () => {
  await using bench = await openBench({}, { addresses: [ANY_PORT, ANY_PORT] });
  const texts = () =>
    Promise.all(bench.server.urls.map(async (url) => (await fetchRaw(`${url}/metrics`)).body.toString()));
  expect(await texts()).toEqual(['router_up 1\n', 'router_up 1\n']);
  bench.server.serve(createContent({ renderMetrics: () => ['other 1\n'] }));
  expect(await texts()).toEqual(['other 1\n', 'other 1\n']);
});

test('a server without content answers /-/healthy, and 503 to everything else', async () => {
  await using bench = await openBench({}, { isLifecycleEnabled: true, routePrefix: '/prefix' });
  bench.server.serve(undefined);
  const healthy = await bench.get('/-/healthy');
  expect([healthy.status, healthy.body.toString()]).toEqual([200, 'Healthy.\n']);
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/metrics'],
    ['GET', '/probe?target=plant-7'],
    ['GET', '/api/v1/routers'],
    ['GET', '/-/ready'],
    ['POST', '/-/reload'],
    ['POST', '/-/quit'],
    ['GET', '/nothing'],
  ] as const) {
    const { status, headers, body } = await bench.get(path, { method });
    expect([path, status, headers['retry-after']]).toEqual([path, 503, '5']);
    expect(body.toString()).toBe('The agent is starting or stopping; try again later.\n');
  }
});

test('a server without content refuses the same clients as with content', async () => {
  const security = { headers: { 'X-Frame-Options': 'deny' }, users: new Map([['alice', hashSync('secret', 4)]]) };
  await using bench = await openBench({}, { security });
  bench.server.serve(undefined);
  const refused = await bench.get('/-/ready');
  expect([refused.status, refused.headers['x-frame-options']]).toEqual([401, 'deny']);
  expect((await bench.get('/-/ready', { headers: toBasic('alice', 'secret') })).status).toBe(503);
});

test('WebServer.prepare() changes nothing until what it gives is called', async () => {
  await using bench = await openBench();
  const change = bench.server.prepare({ security: { headers: { 'X-Frame-Options': 'deny' }, users: new Map() } });
  expect((await bench.get('/metrics')).headers['x-frame-options']).toBeUndefined();
  change();
  expect((await bench.get('/metrics')).headers['x-frame-options']).toBe('deny');
});

test('WebServer.prepare() refuses faulty settings as a whole', async () => {
  await using bench = await openBench();
  const prepare = () =>
    bench.server.prepare({
      security: {
        headers: { 'X-Frame-Options': 'deny' },
        users: new Map(),
        tls: { certPem: 'no certificate', keyPem: new Secret('no key'), clientAuth: 'none' },
      },
    });
  expect(prepare).toThrow(WebError);
  expect((await bench.get('/metrics')).headers['x-frame-options']).toBeUndefined();
});

test('the sockets bound slow, idle and many clients', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  await using bench = await openBench();
  const [server] = listen.mock.contexts;
  listen.mockRestore();
  expect(server).toMatchObject({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 75_000,
    timeout: 150_000,
  });
  expect((await bench.get('/-/healthy')).status).toBe(200);
});

test('a connection can be closed by its client at any time', async () => {
  const onFailed = vi.fn<() => void>();
  await using bench = await openBench({ onFailed });
  for (const text of ['', 'GET', 'GET /metrics HTTP/1.1\r\n', 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n']) {
    const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(text);
    socket.resetAndDestroy();
  }
  expect((await bench.get('/-/healthy')).status).toBe(200);
  expect(onFailed).not.toHaveBeenCalled();
});

test('the body of a request is not read, however long it is', async () => {
  await using bench = await openBench();
  const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
  socket.on('error', () => {});
  const answered = once(socket, 'data') as Promise<[Buffer]>;
  socket.write('POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\nx');
  const [answer] = await answered;
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 405/);
  socket.destroy();
  expect((await bench.get('/-/healthy')).status).toBe(200);
});
