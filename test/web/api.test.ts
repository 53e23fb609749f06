import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { RouterDetail, RouterSummary, SinkSummary } from '../../src/web/index.ts';
import { ask, openBench, ROUTER } from './bench.ts';

const DETAIL: RouterDetail = {
  ...ROUTER,
  state: 'down',
  failure: { reason: 'timeout', error: 'No answer within 10 s' },
  consecutiveFailures: 2,
  firmware: '9.5',
  resources: [
    { resource: 'lte2', state: 'up', ageSeconds: 12.5, durationSeconds: 0.2, error: null },
    { resource: 'sfp2', state: 'unsupported', ageSeconds: null, durationSeconds: null, error: null },
  ],
  session: { logins: 2, loginFailures: 1, refreshes: 7 },
  bytes: { sent: 1000, received: 20_000, budget: 5_000_000, usedToday: 21_000, stretch: 1 },
  certificate: { notAfter: '2027-01-01T00:00:00Z' },
  logs: [
    {
      component: 'network',
      lines: 10,
      bytes: 1000,
      unparsedLines: 0,
      gaps: 0,
      archives: 3,
      newest: '2026-11-21T11:59:58.000Z',
      lagSeconds: 4,
      secondsToLoss: null,
    },
  ],
  recentPolls: [
    { at: '2026-11-21T12:01:00.000Z', durationSeconds: 10, ok: false, reason: 'timeout', error: 'No answer' },
    { at: '2026-11-21T12:00:00.000Z', durationSeconds: 0.4, ok: true, reason: null, error: null },
  ],
};

const SINK: SinkSummary = {
  name: 'loki',
  type: 'loki',
  state: 'up',
  recordsDelivered: 100,
  recordsWaiting: 0,
  lagSeconds: 0,
  deadLetters: 0,
  lastSuccess: '2026-11-21T12:00:00.000Z',
  error: null,
};

test('GET /api/v1/routers lists the routers in the order of names, without credentials in addresses', async () => {
  const alpha: RouterSummary = { ...ROUTER, name: 'alpha', url: 'https://me:secret@192.0.2.11/' };
  const { status, headers, text } = await ask('/api/v1/routers', { content: { listRouters: () => [ROUTER, alpha] } });
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(JSON.parse(text)).toEqual({ routers: [{ ...alpha, url: 'https://192.0.2.11/' }, ROUTER] });
});

test('GET /api/v1/routers/NAME describes a router', async () => {
  const asked: string[] = [];
  const describeRouter = (name: string) => {
    asked.push(name);
    return { ...DETAIL, url: 'https://me:secret@192.0.2.10' };
  };
  const { status, text } = await ask('/api/v1/routers/plant%2D7', { content: { describeRouter } });
  expect([status, asked]).toEqual([200, ['plant-7']]);
  expect(JSON.parse(text)).toEqual({ ...DETAIL, url: 'https://192.0.2.10/' });
});

test.for(['/api/v1/routers/nobody', '/api/v1/routers/a%2Fb', '/api/v1/routers/%3Cscript%3E', '/api/v1/routers/%FF'])(
  'GET %s answers 404 as JSON',
  async (path) => {
    const { status, headers, text } = await ask(path);
    expect([status, JSON.parse(text)]).toEqual([404, { error: 'No router of this name is configured' }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  },
);

test('GET /api/v1/sinks lists the sinks', async () => {
  const { status, text } = await ask('/api/v1/sinks', { content: { listSinks: () => [SINK] } });
  expect([status, JSON.parse(text)]).toEqual([200, { sinks: [SINK] }]);
});

test.for(['/', '/sd', '/api/v1/routers', '/api/v1/routers/plant-7', '/api/v1/sinks'])(
  'GET %s is sent again only when it changed, and compressed when that is accepted',
  async (path) => {
    const listRouters = () =>
      Array.from({ length: 100 }, (_, index) => ({ ...ROUTER, name: `r${index}`, url: `https://192.0.2.${index}` }));
    const listSinks = () => Array.from({ length: 100 }, (_, index) => ({ ...SINK, name: `s${index}` }));
    const describeRouter = () => ({ ...DETAIL, recentPolls: Array(100).fill(DETAIL.recentPolls[0]) });
    await using bench = await openBench({ listRouters, listSinks, describeRouter });
    const plain = await bench.get(path);
    const compressed = await bench.get(path, { headers: { 'accept-encoding': 'gzip' } });
    expect(plain.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
    expect(compressed.headers).toMatchObject({ 'content-encoding': 'gzip', etag: plain.headers.etag });
    expect(gunzipSync(compressed.body).toString()).toBe(plain.body.toString());
    expect(compressed.body.length).toBeLessThan(plain.body.length / 3);

    const again = await bench.get(path, { headers: { 'if-none-match': compressed.headers.etag } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    expect(again.headers).toMatchObject({ etag: plain.headers.etag, 'cache-control': 'no-cache' });
    const other = await bench.get(path, { headers: { 'if-none-match': 'W/"other"' } });
    expect(other.status).toBe(200);
  },
);

test('a short answer is not compressed', async () => {
  const { headers, text } = await ask('/api/v1/sinks', {}, { headers: { 'accept-encoding': 'gzip' } });
  expect([headers.get('content-encoding'), text]).toEqual([null, '{"sinks":[]}\n']);
});

test('pages that clients are slow to take are bounded in number and in time', async () => {
  // More than the buffers of a connection hold.
  const url = `https://192.0.2.10/${'x'.repeat(16_000_000)}`;
  await using bench = await openBench({ describeRouter: () => ({ ...DETAIL, url }) });
  const requests = Array.from({ length: 40 }, () => get(`${bench.url}/api/v1/routers/plant-7`, { agent: false }));
  const responses = await Promise.all(
    requests.map(async (request) => {
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return response.on('error', () => {});
    }),
  );
  const refused = await bench.get('/api/v1/sinks');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect((await bench.get('/metrics')).status).toBe(200);

  await bench.clock.advance(60_000);
  await expect.poll(async () => (await bench.get('/api/v1/sinks')).status).toBe(200);
  for (const response of responses) response.resume();
  await Promise.all(responses.map((response) => new Promise((resolve) => response.once('close', resolve))));
  expect(responses.map(({ complete }) => complete)).toEqual(Array(40).fill(false));
});
