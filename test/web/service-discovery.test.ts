import { expect, test } from 'vitest';
import { parseHostHeader } from '../../src/web/service-discovery.ts';
import { ask, fetchRaw, openBench, ROUTER, type Settings } from './bench.ts';

interface Group {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

async function discover(settings: Settings = {}, headers: Record<string, string> = {}) {
  const answer = await ask('/sd', settings, { headers });
  return { ...answer, groups: JSON.parse(answer.text) as Group[] };
}

test('GET /sd gives one group per router in the order of names, as Prometheus reads it', async () => {
  const alpha = { ...ROUTER, name: 'alpha', url: 'http://user:secret@192.0.2.11:8080', labels: {} };
  const plant = { ...ROUTER, labels: { site: 'munich', 'odd-name': 'x' } };
  const { headers, groups } = await discover(
    { content: { listRouters: () => [plant, alpha] } },
    { host: 'exporter.example:9847' },
  );
  expect(headers.get('content-type')).toBe('application/json');
  expect(groups).toEqual([
    {
      targets: ['exporter.example:9847'],
      labels: {
        __metrics_path__: '/probe',
        __param_target: 'alpha',
        __meta_router_name: 'alpha',
        __meta_router_url: 'http://192.0.2.11:8080/',
      },
    },
    {
      targets: ['exporter.example:9847'],
      labels: {
        __metrics_path__: '/probe',
        __param_target: 'plant-7',
        __meta_router_name: 'plant-7',
        __meta_router_url: 'https://192.0.2.10',
        __meta_router_label_odd_name: 'x',
        __meta_router_label_site: 'munich',
      },
    },
  ]);
});

test('GET /sd without routers gives an empty list', async () => {
  expect((await discover({ content: { listRouters: () => [] } })).groups).toEqual([]);
});

test('GET /sd sends nothing when nothing changed, whatever the order of routers and labels', async () => {
  const a = { ...ROUTER, name: 'a', labels: { x: '1', y: '2' } };
  const b = { ...ROUTER, name: 'b' };
  const host = { host: 'exporter:9847' };
  const first = await discover({ content: { listRouters: () => [a, b] } }, host);
  const etag = first.headers.get('etag') ?? '';
  const listRouters = () => [b, { ...a, labels: { y: '2', x: '1' } }];
  const headers = { ...host, 'if-none-match': etag };
  const second = await ask('/sd', { content: { listRouters } }, { headers });
  expect([second.status, second.text, second.headers.get('etag')]).toEqual([304, '', etag]);
  const third = await ask('/sd', { content: { listRouters: () => [a] } }, { headers });
  expect([third.status, third.headers.get('etag') === etag]).toEqual([200, false]);
});

test.for([
  [{ externalUrl: 'https://example.com/outer/', routePrefix: '/inner' }, 'example.com:443', '/outer/probe', 'https'],
  [{ externalUrl: 'https://example.com:8443', routePrefix: '/inner' }, 'example.com:8443', '/probe', 'https'],
  [{ externalUrl: 'http://[2001:db8::1]/outer' }, '[2001:db8::1]:80', '/outer/probe', undefined],
  [{ routePrefix: '/inner' }, 'exporter:9847', '/inner/probe', undefined],
] as const)('GET /sd with %j leads to %s and the path %s', async ([settings, target, path, scheme]) => {
  const { routePrefix = '' } = settings as Settings;
  const { text } = await ask(`${routePrefix}/sd`, settings, { headers: { host: 'exporter:9847' } });
  expect(JSON.parse(text)).toMatchObject([{ targets: [target], labels: { __metrics_path__: path } }]);
  expect((JSON.parse(text) as Group[])[0]?.labels['__scheme__']).toBe(scheme);
});

test('GET /sd answers with its own address when the request has no usable one', async () => {
  await using bench = await openBench();
  const { port } = new URL(bench.url);
  const targetOf = async (host: string) => {
    const { status, body } = await bench.get('/sd', { headers: { host } });
    return status === 200 ? (JSON.parse(body.toString()) as Group[])[0]?.targets : status;
  };
  expect(await targetOf(`exporter:${port}`)).toEqual([`exporter:${port}`]);
  expect(await targetOf('exporter')).toEqual(['exporter:80']);
  expect(await targetOf('exporter:0')).toEqual([`127.0.0.1:${port}`]);
  expect(await targetOf('-exporter')).toEqual([`127.0.0.1:${port}`]);
});

test('GET /sd on all addresses gives that of IPv4 as such', async () => {
  await using bench = await openBench({}, { addresses: [{ host: undefined, port: 0 }] });
  const { port } = new URL(bench.url);
  const { body } = await fetchRaw(`http://127.0.0.1:${port}/sd`, { headers: { host: '-' } });
  expect(JSON.parse(body.toString())).toMatchObject([{ targets: [`127.0.0.1:${port}`] }]);
});

test.for([
  ['exporter', 'http', 'exporter:80'],
  ['exporter', 'https', 'exporter:443'],
  ['exporter:9847', 'https', 'exporter:9847'],
  ['192.0.2.1:9847', 'http', '192.0.2.1:9847'],
  ['[2001:db8::1]', 'https', '[2001:db8::1]:443'],
  ['[2001:db8::1]:9847', 'http', '[2001:db8::1]:9847'],
  ['my_exporter.internal.', 'http', 'my_exporter.internal.:80'],
  [undefined, 'http', undefined],
  ['', 'http', undefined],
  ['exporter:', 'http', undefined],
  ['exporter:0', 'http', undefined],
  ['exporter:65536', 'http', undefined],
  ['exporter:9847:1', 'http', undefined],
  ['2001:db8::1', 'http', undefined],
  ['[2001:db8]', 'http', undefined],
  ['[exporter]', 'http', undefined],
  ['user@exporter', 'http', undefined],
  ['exporter/path', 'http', undefined],
  ['exporter,other', 'http', undefined],
  ['expörter', 'http', undefined],
  ['ex porter', 'http', undefined],
  ['a"b', 'http', undefined],
  ['x'.repeat(254), 'http', undefined],
] as const)('parseHostHeader() reads %j over %s as %j', ([header, scheme, target]) => {
  expect(parseHostHeader(header, scheme)).toBe(target);
});
