import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { WebContent } from '../../src/web/index.ts';
import { ask, openBench, type Settings } from './bench.ts';

const GET_PATHS = [
  '/',
  '/logs',
  '/logs/positions',
  '/api/v1/records',
  '/sinks',
  '/config',
  '/assets/pages.css',
  '/assets/pages.js',
  '/metrics',
  '/metrics/agent',
  '/probe?target=plant-7',
  '/sd',
  '/-/healthy',
  '/-/ready',
  '/api/v1/routers',
  '/api/v1/runs',
  '/api/v1/sinks',
];

test('GET /-/ready answers 503 until the agent is ready, then 200', async () => {
  expect((await ask('/-/ready', { content: { findUnreadiness: () => 'No disk' } })).status).toBe(503);
  expect((await ask('/-/ready')).status).toBe(200);
});

test('HEAD answers wherever GET does, with the same status and headers and without a body', async () => {
  await using bench = await openBench();
  for (const path of GET_PATHS) {
    const got = await bench.get(path);
    const head = await bench.get(path, { method: 'HEAD' });
    const headersOf = ({ headers }: typeof got) => ({
      type: headers['content-type'],
      etag: headers.etag,
      vary: headers.vary,
    });
    expect([path, head.status, head.body.length, headersOf(head)]).toEqual([path, 200, 0, headersOf(got)]);
  }
});

test.for(GET_PATHS)('%s allows GET and HEAD and says so to other methods and to OPTIONS', async (path) => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
    const { status, headers, text } = await ask(path, {}, { method });
    expect([method, status, text]).toEqual([method, 405, 'Method not allowed.\n']);
    expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  }
  const { status, headers, text } = await ask(path, {}, { method: 'OPTIONS' });
  expect([status, headers.get('allow'), text]).toEqual([204, 'GET, HEAD, OPTIONS', '']);
});

test.for(['/nothing', '/metrics/', '/sd/', '//metrics', '/..%2f', '/metrics/x', '/api', '/api/v1/routers/', '/%00'])(
  'GET %s answers 404 in plain text, and POST as well',
  async (path) => {
    await using bench = await openBench();
    for (const method of ['GET', 'POST']) {
      const { status, headers, body } = await bench.get(path, { method });
      expect([status, body.toString()]).toEqual([404, 'Not found.\n']);
      expect(headers['content-type']).toMatch(/^text\/plain/i);
    }
  },
);

test.for(['/%6Detrics', '/-/../metrics', '/metrics?format=prometheus', '/metrics#fragment'])(
  'GET %s is the same as /metrics',
  async (path) => {
    expect((await ask(path)).text).toBe('router_up 1\n');
  },
);

test('a page that cannot be made is answered with 500 without its reason, which is reported', async () => {
  const cause = new RangeError('a detail for the log');
  const onFailed = vi.fn<WebContent['onFailed']>();
  const content: Partial<WebContent> = {
    listRouters() {
      throw cause;
    },
    onFailed,
  };
  for (const path of ['/', '/config', '/sd', '/api/v1/routers']) {
    const { status, text } = await ask(path, { content });
    expect([status, text]).toEqual([500, 'Internal error; see the log of the agent.\n']);
  }
  expect(onFailed.mock.calls).toEqual([[cause], [cause], [cause], [cause]]);
});

test('configured headers are on every answer and replace those of the page', async () => {
  const headers = { 'Strict-Transport-Security': 'max-age=3600', 'Content-Security-Policy': "default-src 'self'" };
  for (const [path, method] of [
    ['/', 'GET'],
    ['/metrics', 'GET'],
    ['/sd', 'HEAD'],
    ['/nothing', 'GET'],
    ['/metrics', 'DELETE'],
    ['/-/quit', 'POST'],
  ] as const) {
    const answer = await ask(path, { headers }, { method });
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=3600');
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'self'");
  }
});

/** The status lines that come back for requests written as they are. */
async function writeRaw(url: string, text: string): Promise<string[]> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket.write(text);
  await once(socket, 'end');
  return answer.match(/^HTTP\/1.1 \d+/gm) ?? [];
}

test.for([
  // As simple health checks send it, such as HAProxy's.
  ['HTTP/1.0 without Host', 'GET /-/healthy HTTP/1.0\r\n\r\n', 200],
  ['HTTP/1.1 without Host', 'GET /-/healthy HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['an absolute address', 'GET http://other.example/-/healthy HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 200],
  ['a header of 20 kB', `GET /-/healthy HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['a path of 20 kB', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
  ['something else', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 400],
  ['OPTIONS of no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
] as const)('a request with %s is answered as it deserves', async ([, text, status]) => {
  await using bench = await openBench();
  expect(await writeRaw(bench.url, text)).toEqual([`HTTP/1.1 ${status}`]);
  expect((await bench.get('/-/healthy')).status).toBe(200);
});

describe('a route prefix', () => {
  const settings: Settings = { routePrefix: '/monitoring/routers/' };

  test('stands before every path', async () => {
    for (const path of GET_PATHS) {
      expect([path, (await ask(`/monitoring/routers${path}`, settings)).status]).toEqual([path, 200]);
      if (path !== '/') expect([path, (await ask(path, settings)).status]).toEqual([path, 404]);
    }
    const quit = await ask('/monitoring/routers/-/quit', settings, { method: 'POST' });
    expect(quit.status).toBe(403);
  });

  test.for(['/', '/monitoring/routers'])('makes %s lead to the page', async (path) => {
    const { status, headers } = await ask(path, settings);
    expect([status, headers.get('location')]).toEqual([302, '/monitoring/routers/']);
    expect((await ask(path, settings, { method: 'POST' })).status).toBe(405);
  });

  test('is the path of the external URL when there is no other', async () => {
    await using bench = await openBench({}, { externalUrl: 'https://example.com/routers/' });
    expect(bench.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/routers$/);
    expect((await bench.get('/metrics')).status).toBe(200);
    await using other = await openBench({}, { externalUrl: 'https://example.com/routers/', routePrefix: '/' });
    expect(other.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await other.get('/metrics')).status).toBe(200);
  });

  test('gives links of the page the path under which it is known outside', async () => {
    const { text } = await ask('/', { routePrefix: '/', externalUrl: 'https://example.com/routers' });
    expect(text).toContain('<a href="/routers/metrics">');
    expect(text).toContain('href="/routers/router/plant-7">');
    expect(text).toContain('src="/routers/assets/pages.js?v=');
  });

  test.for(['/a b', '/a/../b', '/..', '/:name', '/*', '/a?b', '/a#b', '/{a}', '/a%2fb', '/<a>'])(
    'is refused as %j',
    async (routePrefix) => {
      await expect(openBench({}, { routePrefix })).rejects.toMatchObject({
        name: 'WebError',
        code: 'settings',
        disposition: 'operator',
      });
    },
  );
});

test.for([
  'example.com',
  '/path',
  'ftp://example.com/',
  'https://user@example.com/',
  'https://a/?b=c',
  'https://a/#b',
  'http://127.000.000.010/',
  'https:\\\\a',
  '',
])('the external URL %j is refused', async (externalUrl) => {
  await expect(openBench({}, { externalUrl, routePrefix: '/' })).rejects.toMatchObject({
    name: 'WebError',
    code: 'settings',
  });
});
