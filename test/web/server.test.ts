import { createServer } from 'node:http';
import { type AddressInfo, Server } from 'node:net';
import { expect, test, vi } from 'vitest';
import { openWebServer, type RouterRow, type WebContent, WebError } from '../../src/web/index.ts';
import { createWebApp } from '../../src/web/server.ts';

const ROW: RouterRow = {
  name: 'plant-7',
  url: 'https://192.0.2.10',
  state: 'up',
  lastSuccessMs: Date.UTC(2026, 10, 21, 12, 0, 0),
  error: '',
};

function createContent(content: Partial<WebContent> = {}): WebContent {
  return {
    renderMetrics: () => Promise.resolve('router_up 1\n'),
    listRouters: () => [ROW],
    isReady: () => true,
    onFailed: () => {},
    ...content,
  };
}

async function get(path: string, content: Partial<WebContent> = {}) {
  const response = await createWebApp(createContent(content)).request(path);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('GET /metrics answers with the metrics as Prometheus text', async () => {
  const { status, headers, text } = await get('/metrics');
  expect([status, text]).toEqual([200, 'router_up 1\n']);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('GET / shows each router with its state, address, last success and error', async () => {
  const down: RouterRow = { ...ROW, name: 'harbour', state: 'down', lastSuccessMs: undefined, error: 'No route' };
  const { status, headers, text } = await get('/', { listRouters: () => [ROW, down] });
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/html; charset=utf-8/i);
  expect(text).toContain('1 of 2 routers up');
  for (const words of ['plant-7', 'https://192.0.2.10', '2026-11-21T12:00:00.000Z', 'harbour', 'No route', 'never']) {
    expect(text).toContain(`<td>${words}</td>`);
  }
});

test('GET / escapes everything that came from a router or a configuration, and forbids scripts', async () => {
  const evil = `<script>alert("1")</script>'&amp;`;
  const row: RouterRow = { ...ROW, name: evil, url: evil, error: evil };
  const { headers, text } = await get('/', { listRouters: () => [row] });
  expect(text).not.toContain('<script');
  expect(text.match(/&lt;script&gt;/g)).toHaveLength(3);
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
});

test('GET / works without routers', async () => {
  expect((await get('/', { listRouters: () => [] })).text).toContain('0 of 0 routers up');
});

test('GET /-/healthy answers 200 though the agent is not ready', async () => {
  expect((await get('/-/healthy', { isReady: () => false })).status).toBe(200);
});

test('GET /-/ready answers 503 until the agent is ready, then 200', async () => {
  expect((await get('/-/ready', { isReady: () => false })).status).toBe(503);
  expect((await get('/-/ready')).status).toBe(200);
});

test.each(['/nothing', '/metrics/', '/..%2f', '/-/reload'])('GET %s answers 404 in plain text', async (path) => {
  const { status, headers, text } = await get(path);
  expect([status, text]).toEqual([404, 'Not found.\n']);
  expect(headers.get('content-type')).toMatch(/^text\/plain/i);
});

test.each(['POST', 'PUT', 'DELETE'])('%s changes nothing and answers 404', async (method) => {
  const response = await createWebApp(createContent()).request('/metrics', { method });
  expect(response.status).toBe(404);
});

test('openWebServer() serves the routes on a real socket and is gone after close', async () => {
  const server = await openWebServer([{ host: '127.0.0.1', port: 0 }], createContent());
  const [url] = server.urls;
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([200, 'router_up 1\n']);
  const head = await fetch(`${url}/metrics`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  await server.close();
  await expect(fetch(`${url}/-/healthy`)).rejects.toThrow('fetch failed');
});

test('openWebServer() listens on every address it is given', async () => {
  const addresses = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port: 0 },
  ];
  const server = await openWebServer(addresses, createContent());
  expect(new Set(server.urls).size).toBe(2);
  for (const url of server.urls) expect((await fetch(`${url}/-/ready`)).status).toBe(200);
  await server.close();
});

test('openWebServer() gives an address for people when it listens on all of them', async () => {
  const server = await openWebServer([{ host: undefined, port: 0 }], createContent());
  expect(server.urls[0]).toMatch(/^http:\/\/localhost:\d+$/);
  await server.close();
});

test('openWebServer() throws WebError, and listens nowhere, when one of its addresses is taken', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const listen = vi.spyOn(Server.prototype, 'listen');
  const addresses = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port },
  ];
  const error: unknown = await openWebServer(addresses, createContent()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WebError);
  expect(error).toMatchObject({ code: 'listen', disposition: 'operator' });
  expect((error as WebError).message).toContain(`127.0.0.1:${port}`);
  expect((listen.mock.contexts as Server[]).map(({ listening }) => listening)).toEqual([false, false]);
  listen.mockRestore();
  await new Promise((resolve) => other.close(resolve));
});

test('WebServer.close() ends connections that a client keeps open', async () => {
  const server = await openWebServer([{ host: '127.0.0.1', port: 0 }], createContent());
  const pending = Promise.withResolvers<void>();
  const stuck = await openWebServer(
    [{ host: '127.0.0.1', port: 0 }],
    createContent({
      renderMetrics: () => {
        pending.resolve();
        return new Promise(() => {});
      },
    }),
  );
  await (await fetch(`${server.urls[0]}/metrics`)).text();
  const hanging = fetch(`${stuck.urls[0]}/metrics`);
  await pending.promise;
  await Promise.all([server.close(), stuck.close(), expect(hanging).rejects.toThrow('fetch failed')]);
});

test('a page that cannot be made is answered with 500 without its reason, which is reported', async () => {
  const reported: unknown[] = [];
  const cause = new RangeError('a detail for the log');
  const { status, text } = await get('/metrics', {
    renderMetrics: () => Promise.reject(cause),
    onFailed: (fault) => void reported.push(fault),
  });
  expect(status).toBe(500);
  expect(text).not.toContain('detail');
  expect(reported).toEqual([cause]);
});
