import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { HostPolicy } from '../../src/web/server/access.ts';
import { openBench } from './bench.ts';

const EVIL = 'evil.example:9847';
const BROWSER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)',
  'accept-language': 'en',
  accept: 'text/html',
};

describe('a server that is asked by a foreign name', () => {
  test.for([
    ['/', {}, 421],
    ['/config', {}, 421],
    ['/api/v1/routers', {}, 421],
    ['/nothing', {}, 421],
    ['/metrics', {}, 200],
    ['/metrics/agent', {}, 200],
    ['/probe?target=plant-7', {}, 200],
    ['/sd', {}, 200],
    ['/-/healthy', {}, 200],
    ['/metrics', BROWSER, 421],
    ['/probe?target=plant-7', BROWSER, 421],
    ['/-/healthy', BROWSER, 421],
    // A script of a page can write these itself, and can remove none of the others.
    ['/metrics', { 'user-agent': 'Prometheus/3', 'accept-language': '' }, 421],
    ['/metrics', { 'user-agent': 'Prometheus/3', 'sec-fetch-site': 'same-origin' }, 421],
    ['/metrics', { 'user-agent': 'Prometheus/3', origin: 'http://evil.example:9847' }, 421],
  ] as const)('GET %s with %j is answered with %i', async ([path, headers, status]) => {
    await using bench = await openBench();
    const answer = await bench.get(path, { headers: { ...headers, host: EVIL } });
    expect(answer.status).toBe(status);
    if (status === 421) expect(answer.body.toString()).toContain('web.allowed_hosts');
  });

  test('applies the same rules below a route prefix', async () => {
    await using bench = await openBench({}, { routePrefix: '/prefix' });
    expect((await bench.get('/metrics', { headers: { host: EVIL } })).status).toBe(200);
    expect((await bench.get('/', { headers: { host: EVIL } })).status).toBe(421);
  });

  test('refuses it also while it has no content, and before it asks for a password', async () => {
    await using bench = await openBench(
      {},
      { security: { headers: {}, users: new Map([['a', `$2b$04$${'.'.repeat(53)}`]]) } },
    );
    bench.server.serve(undefined);
    expect((await bench.get('/-/healthy', { headers: { ...BROWSER, host: EVIL } })).status).toBe(421);
  });
});

test('a browser may ask by a name of the configuration, which a reload changes', async () => {
  await using bench = await openBench(
    {},
    { allowedHosts: ['a.example', '*.b.example'], externalUrl: 'https://c.example/' },
  );
  const ask = async (host: string) => (await bench.get('/', { headers: { ...BROWSER, host } })).status;
  for (const host of [
    'a.example',
    'A.Example:9847',
    'x.b.example',
    'c.example',
    'c.example:443',
    'router-exporter:9110',
  ]) {
    expect([host, await ask(host)]).toEqual([host, 200]);
  }
  for (const host of ['b.example', 'x.a.example', 'ab.example', EVIL])
    expect([host, await ask(host)]).toEqual([host, 421]);
  bench.server.prepare({ allowedHosts: ['d.example'] })();
  expect([await ask('a.example'), await ask('d.example'), await ask('c.example')]).toEqual([421, 200, 200]);
});

test.for([
  '127.0.0.1',
  '127.0.0.1:9847',
  '[::1]',
  '[2001:db8::1]:9847',
  'localhost',
  'LOCALHOST:1',
  'a.localhost',
  'router-exporter:9110',
  'router-exporter.monitoring.svc:9847',
  'router-exporter.monitoring.svc.cluster.local',
  'host.docker.internal',
  'localhost.',
])('HostPolicy.knows() %s', (host) => {
  expect(new HostPolicy([]).knows(host)).toBe(true);
});

test.for([
  'evil.example',
  'evil.example:80',
  '',
  'a b',
  'svc.evil.example',
  '127.0.0.1.evil.example',
  '[evil.example]',
  'a@b',
  '1.2.3',
])('HostPolicy.knows() not %j', (host) => {
  expect(new HostPolicy([]).knows(host)).toBe(false);
});

test.for([
  ['two Host headers', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n', 400],
  ['two equal Host headers', 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n', 400],
  ['no Host header', 'GET /metrics HTTP/1.1\r\n\r\n', 400],
  ['HTTP/2.0', 'GET /metrics HTTP/2.0\r\nHost: localhost\r\n\r\n', 505],
  ['HTTP/0.9', 'GET /metrics HTTP/0.9\r\nHost: localhost\r\n\r\n', 505],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['HTTP/1.0 without a Host header', 'GET /metrics HTTP/1.0\r\n\r\n', 200],
] as const)('a request with %s is answered with %s', async ([, text, status]) => {
  await using bench = await openBench();
  const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  expect(Buffer.concat(chunks).toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*connection: close`, 'i'));
});
