import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import type { EventQuery, ListedRouter } from '../../src/web/index.ts';
import { ask, createApp, createProcess, DETAIL, EVENT, openBench, ROUTER, SINK } from './bench.ts';

test('GET /api/v1/routers lists the routers in the order of names with their last hours, without credentials in addresses', async () => {
  const alpha: ListedRouter = { ...ROUTER, name: 'alpha', url: 'https://me:secret@192.0.2.11/', availability: 'ud' };
  const { status, headers, text } = await ask('/api/v1/routers', {
    content: { listRouters: () => [ROUTER, alpha] },
  });
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(JSON.parse(text)).toEqual({
    routers: [
      { ...alpha, url: 'https://192.0.2.11/' },
      { ...ROUTER, availability: '' },
    ],
  });
});

test('GET /api/v1/routers/NAME describes a router', async () => {
  const asked: string[] = [];
  const describeRouter = (name: string) => {
    asked.push(name);
    return { ...DETAIL, url: 'https://me:secret@192.0.2.10' };
  };
  const { status, text } = await ask('/api/v1/routers/plant%2D7', { content: { describeRouter } });
  expect([status, asked]).toEqual([200, ['plant-7']]);
  expect(JSON.parse(text)).toEqual({ ...DETAIL, url: 'https://192.0.2.10/', recentRecords: [] });
});

test.for(['/api/v1/routers/nobody', '/api/v1/routers/a%2Fb', '/api/v1/routers/%3Cscript%3E', '/api/v1/routers/%FF'])(
  'GET %s answers 404 as JSON',
  async (path) => {
    const { status, headers, text } = await ask(path);
    expect([status, JSON.parse(text)]).toEqual([404, { error: 'No router of this name is configured' }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  },
);

test('GET /api/v1/events passes on what is asked for, lists the events, and refuses what is no time', async () => {
  const asked: EventQuery[] = [];
  const listEvents = (query: EventQuery) => {
    asked.push(query);
    return [EVENT];
  };
  const { status, text } = await ask('/api/v1/events?since=2026-11-21T12:00:00Z&site=munich&kind=router.*&router=', {
    content: { listEvents },
  });
  expect([status, JSON.parse(text)]).toEqual([200, { events: [EVENT] }]);
  expect(asked).toEqual([{ since: '2026-11-21T12:00:00Z', site: 'munich', kind: 'router.*', max: 1000 }]);
  for (const [limit, max] of [
    ['20', 20],
    ['0', 1000],
    ['1e9', 1000],
    ['x', 1000],
  ] as const) {
    await ask(`/api/v1/events?limit=${limit}`, { content: { listEvents } });
    expect(asked.at(-1)?.max, limit).toBe(max);
  }
  const refused = await ask('/api/v1/events?since=yesterday', { content: { listEvents } });
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    400,
    { error: 'since must be a time as in 2026-11-29T12:00:00Z' },
  ]);
});

test('GET /api/v1/sinks lists the sinks and says what waits for them', async () => {
  const spool = { records: 3, bytes: 900, bytesMax: 1000, secondsToFull: null, isHeldBack: true, routersHeldBack: [] };
  const content = createProcess({ sinks: [SINK], spool });
  const { status, text } = await ask('/api/v1/sinks', { content });
  expect([status, JSON.parse(text)]).toEqual([200, { sinks: [SINK], spool }]);
});

test.for([
  '/',
  '/router/plant-7?view=agent',
  '/logs/positions',
  '/sinks',
  '/sd',
  '/api/v1/routers',
  '/api/v1/routers/plant-7',
  '/api/v1/sinks',
])('GET %s is sent again only when it changed, and compressed when that is accepted', async (path) => {
  const listRouters = () =>
    Array.from({ length: 100 }, (_, index) => ({ ...ROUTER, name: `r${index}`, url: `https://192.0.2.${index}` }));
  const sinks = Array.from({ length: 100 }, (_, index) => ({ ...SINK, name: `s${index}` }));
  const describeRouter = () => ({ ...DETAIL, recentPolls: Array(100).fill(DETAIL.recentPolls[0]) });
  const listLogs = () =>
    DETAIL.logs.flatMap((log) => Array.from({ length: 100 }, (_, index) => ({ ...log, router: `r${index}` })));
  await using bench = await openBench({ listRouters, ...createProcess({ sinks }), listLogs, describeRouter });
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
});

test('a short answer is not compressed', async () => {
  const { headers, text } = await ask('/api/v1/sinks', {}, { headers: { 'accept-encoding': 'gzip' } });
  expect(headers.get('content-encoding')).toBeNull();
  expect(text).toMatch(/^\{"sinks":\[\]/);
});

test('pages that clients are slow to take are bounded in number and in time', async () => {
  const { app, clock } = createApp();
  /** Asks for a page and takes none of it until the connection is said to be closed. */
  const begin = async (path: string) => {
    const outgoing = Object.assign(new EventEmitter(), { closed: false, destroy: vi.fn<() => void>() });
    const { status } = await app.request(path, {}, { outgoing: outgoing as unknown as ServerResponse });
    return { status, outgoing };
  };
  const paths = ['/', '/sd', '/api/v1/routers', '/api/v1/routers/plant-7', '/api/v1/sinks'];
  const first = await Promise.all(Array.from({ length: 40 }, (_, index) => begin(paths[index % 5] ?? '')));
  expect(first.map(({ status }) => status)).not.toContain(503);
  for (const path of paths) expect((await begin(path)).status).toBe(503);
  expect((await begin('/-/healthy')).status).toBe(200);

  first[0]?.outgoing.emit('close');
  const next = await begin('/sd');
  expect([next.status, (await begin('/sd')).status]).toEqual([200, 503]);
  await clock.advance(59_999);
  expect(next.outgoing.destroy).not.toHaveBeenCalled();
  await clock.advance(1);
  for (const { outgoing } of [...first.slice(1), next]) {
    expect(outgoing.destroy).toHaveBeenCalledTimes(1);
    outgoing.emit('close');
  }
  expect(first[0]?.outgoing.destroy).not.toHaveBeenCalled();
  const again = await Promise.all(Array.from({ length: 40 }, () => begin('/sd')));
  expect(again.map(({ status }) => status)).not.toContain(503);
});

test('pages whose client disconnected before they were rendered do not count against the limit', async () => {
  const { app } = createApp();
  for (let round = 0; round < 41; round++) {
    const outgoing = Object.assign(new EventEmitter(), { closed: true }) as unknown as ServerResponse;
    await app.request('/sd', {}, { outgoing });
  }
  expect((await app.request('/sd', {}, {})).status).toBe(200);
});
