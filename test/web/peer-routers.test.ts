import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import { toWebPolicy } from '../../src/web/index.ts';
import { HostPolicy } from '../../src/web/server/access.ts';
import { openBench, ROUTER } from './bench.ts';
import { createContent, OTHER, openPeer, renderRows, THEIRS } from './peer-bench.ts';

const answerRouters =
  (...routers: readonly unknown[]): RequestListener =>
  ({ url }, response) =>
    void response.writeHead(url?.startsWith('/api/v1/routers') ? 200 : 404).end(renderRows('routers', routers));

/** Routers as they are listed. */
const LISTED = { ...ROUTER, availability: '' };

test('GET /api/v1/routers has the routers of all processes, each with the name, URL and labels that are configured here', async () => {
  await using peer = await openPeer(
    answerRouters(
      { ...THEIRS, availability: 'uudm-' },
      { ...LISTED, name: 'plant-7' },
      { ...LISTED, name: 'stranger' },
    ),
  );
  await using bench = await openBench(createContent(peer.url, { token: new Secret('a-token-of-the-fleet') }));
  const { routers, unanswered } = JSON.parse((await bench.get('/api/v1/routers')).body.toString());
  expect(routers).toEqual([
    LISTED,
    { ...LISTED, name: 'plant-9', url: OTHER.url, labels: OTHER.labels, availability: 'uudm-' },
  ]);
  expect(unanswered).toBeUndefined();
  expect(peer.requests).toEqual([{ url: '/api/v1/routers?own=1', authorization: 'Bearer a-token-of-the-fleet' }]);
});

test('GET /api/v1/routers?own=1 asks no other process', async () => {
  await using peer = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
  await using bench = await openBench(createContent(peer.url));
  expect(JSON.parse((await bench.get('/api/v1/routers?own=1')).body.toString())).toEqual({ routers: [LISTED] });
  expect(peer.requests).toEqual([]);
});

test.for([301, 302, 303, 307, 308])(
  'a redirect (%i) of another process is not followed, so that the token of the fleet goes nowhere else',
  async (status) => {
    await using stranger = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
    await using peer = await openPeer(
      (_, response) => void response.writeHead(status, { Location: stranger.url }).end(),
    );
    await using bench = await openBench(createContent(peer.url, { token: new Secret('a-token-of-the-fleet') }));
    const { routers, unanswered } = JSON.parse((await bench.get('/api/v1/routers')).body.toString());
    expect(routers).toMatchObject([{ name: 'plant-7' }, { name: 'plant-9', state: 'unknown' }]);
    expect(unanswered).toMatchObject([{ error: `It answered with status ${status}` }]);
    expect([peer.requests.length, stranger.requests]).toEqual([1, []]);
  },
);

test('the other processes are asked at most every five seconds, however many look', async () => {
  await using peer = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
  await using bench = await openBench(createContent(peer.url));
  await Promise.all([bench.get('/'), bench.get('/'), bench.get('/api/v1/routers')]);
  await bench.clock.advance(4900);
  await bench.get('/');
  const count = () => peer.requests.filter(({ url }) => url === '/api/v1/routers?own=1').length;
  expect(count()).toBe(1);
  await bench.clock.advance(200);
  await bench.get('/');
  expect(count()).toBe(2);
});

test.for([
  ['refuses', (_request, response) => void response.writeHead(401).end(), /add a token with the role "read"/],
  ['fails', (_request, response) => void response.writeHead(500).end(), /status 500/],
  ['answers with something else', (_request, response) => void response.end('[]'), /another version/],
  ['answers with a list without an end', (_request, response) => void response.end('{"routers":[\n{}'), /truncated/],
  ['answers with no JSON', (_request, response) => void response.end('<html>'), /another version/],
  ['closes the connection', (request) => void request.socket.destroy(), /./],
] as const satisfies readonly (readonly [string, RequestListener, RegExp])[])(
  'a process that %s is named on the page, and its routers are listed as unknown',
  async ([, answer, reason]) => {
    await using peer = await openPeer(answer);
    await using bench = await openBench(createContent(peer.url));
    const json = JSON.parse((await bench.get('/api/v1/routers')).body.toString());
    expect(json.routers).toMatchObject([{ name: 'plant-7' }, { name: 'plant-9', state: 'unknown', url: OTHER.url }]);
    expect(json.unanswered).toEqual([{ shard: 1, url: peer.url, routers: 1, error: expect.stringMatching(reason) }]);
    const page = (await bench.get('/')).body.toString();
    expect(page).toContain(`Process 1 (${peer.url}) does not answer:</strong> its 1 router cannot be shown.`);
    expect(page).toContain('plant-9');
  },
);

test('a process that never answers delays a page by three seconds at most', async () => {
  const asked = Promise.withResolvers<void>();
  await using peer = await openPeer(() => asked.resolve());
  await using bench = await openBench(createContent(peer.url));
  const answer = bench.get('/api/v1/routers');
  await asked.promise;
  await bench.clock.advance(3000);
  expect(JSON.parse((await answer).body.toString()).unanswered).toHaveLength(1);
});

test('a router that does not fit, as during an upgrade, is listed as unknown and counted, and the others as their process says', async () => {
  const others = new Map(['plant-8', 'plant-9'].map((name) => [name, { ...OTHER, name }]));
  const routers = [
    { ...THEIRS, name: 'plant-8', availability: 'u', aLaterKey: [1] },
    { ...THEIRS, availability: 'u', state: '<script>', fault: { step: 'rm', error: '<img src=x>' } },
  ];
  await using peer = await openPeer(answerRouters(...routers));
  await using bench = await openBench(createContent(peer.url, { others }));
  const answer = JSON.parse((await bench.get('/api/v1/routers')).body.toString());
  expect(answer.routers).toMatchObject([{ name: 'plant-7' }, { state: 'up' }, { name: 'plant-9', state: 'unknown' }]);
  expect(answer.routers[1]).not.toHaveProperty('aLaterKey');
  expect(answer.unanswered).toMatchObject([{ shard: 1, leftOut: 1, error: expect.stringMatching('another version') }]);
  const page = (await bench.get('/')).body.toString();
  expect(page).toContain(`<strong>Process 1 (${peer.url}) sends 1 row that is left out</strong> of its routers.`);
  expect(page).not.toMatch(/<script>|<img src=x>/);
});

test('a router of a process of an earlier version, which lacks later keys, is listed as that says', async () => {
  const absent = {
    isSlow: undefined,
    certificateExpiry: undefined,
    gaps: undefined,
    traffic: undefined,
    use: undefined,
  };
  const device = { ...THEIRS.device, drift: undefined };
  await using peer = await openPeer(answerRouters({ ...THEIRS, ...absent, availability: 'u', device }));
  await using bench = await openBench(createContent(peer.url));
  const { routers, unanswered } = JSON.parse((await bench.get('/api/v1/routers')).body.toString());
  expect(routers[1]).toMatchObject({
    name: 'plant-9',
    state: 'up',
    isSlow: false,
    gaps: 0,
    device: { ...device, drift: null },
  });
  expect(unanswered).toBeUndefined();
});

test('the page of the fleet asks other processes for as many events as it shows', async () => {
  await using peer = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
  await using bench = await openBench(createContent(peer.url));
  await bench.get('/');
  const asked = peer.requests.find(({ url }) => url?.startsWith('/api/v1/events?'));
  expect(new URLSearchParams(asked?.url?.split('?')[1]).get('limit')).toBe('20');
});

test('a router that this process polls is listed once, though it is still known as that of another process', async () => {
  await using peer = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
  const content = createContent(peer.url, { others: new Map([[ROUTER.name, { ...OTHER, name: ROUTER.name }]]) });
  await using bench = await openBench(content);
  expect(JSON.parse((await bench.get('/api/v1/routers')).body.toString()).routers).toEqual([LISTED]);
  expect(JSON.parse((await bench.get('/sd')).body.toString())).toHaveLength(1);
});

test('a process is asked by the name in web.peers', () => {
  const peers = ['http://exporter-0.example.com:9847', 'http://[::1]:9847'];
  const { allowedHosts = [] } = toWebPolicy({ listen: [], peers });
  expect(new HostPolicy(allowedHosts).knows('exporter-0.example.com:9847')).toBe(true);
  expect(new HostPolicy([]).knows('exporter-0.example.com:9847')).toBe(false);
});

test('the page of a router of another process is there', async () => {
  await using peer = await openPeer(answerRouters({ ...THEIRS, availability: '' }));
  await using bench = await openBench(createContent(peer.url));
  const { status, headers } = await bench.get('/router/plant-9');
  expect([status, headers['location']]).toEqual([307, `${peer.url}/router/plant-9`]);
});
