import { expect, test } from 'vitest';
import { createSteppedClock, Secret } from '../../src/base/index.ts';
import { SourceReader, type SourceSettings } from '../../src/inventory/index.ts';
import { openNetbox } from '../support/netbox-server.ts';
import type { InventoryServer } from '../support/open-inventory.ts';

type NetboxSettings = Extract<SourceSettings, { type: 'netbox' }>;

const NEVER = new AbortController().signal;

function createReader(
  server: InventoryServer,
  token = 't',
  netbox: Partial<NetboxSettings> = {},
  clock = createSteppedClock(0),
): SourceReader {
  const settings: NetboxSettings = {
    name: 'netbox',
    type: 'netbox',
    interval: 60_000,
    allowed_addresses: [],
    allow_http: false,
    groups: [],
    allowed_groups: ['munich', 'mrx'],
    allowed_credentials: [],
    allowed_tls_sets: [],
    routers_max: 50_000,
    removal_max: 0.2,
    url: `${server.url}/`,
    timeout: 30_000,
    token: new Secret(token),
    query: 'status=active',
    page_size: 2,
    scheme: 'https',
    states: {},
    ...netbox,
  };
  return new SourceReader(settings, clock);
}

test('SourceReader.read() reads all pages of a NetBox, and makes routers of devices with a name and an address', async () => {
  await using server = await openNetbox('t', [
    { name: 'plant-1', address: '10.0.0.1/24', site: 'munich', tags: ['mrx', 'old'], customFields: { asset: 4711 } },
    { name: 'plant 2 (new)', address: '2001:db8::2/64', site: 'berlin' },
    { name: null, address: '10.0.0.3/24' },
    { name: 'plant-4', address: null },
    { name: 'plant-5', address: '10.0.0.5/32', customFields: { asset: null } },
  ]);
  const labels = {
    site: 'site.slug',
    model: 'device_type.slug',
    asset: 'custom_fields.asset',
    status: 'status',
    tenant: 'tenant.slug',
  };
  await using reader = createReader(server, 't', { labels, group_fields: ['site.slug', 'tags'], port: 8443 });
  const common = { model: 'mrx3', status: 'active' };
  expect(JSON.parse((await reader.read(NEVER))?.text ?? '')).toEqual([
    {
      name: 'plant-1',
      url: 'https://10.0.0.1:8443',
      groups: ['munich', 'mrx'],
      labels: { ...common, site: 'munich', asset: '4711' },
    },
    { name: 'plant-2-new-', url: 'https://[2001:db8::2]:8443', labels: { ...common, site: 'berlin' } },
    { name: 'plant-5', url: 'https://10.0.0.5:8443', groups: ['munich'], labels: { ...common, site: 'munich' } },
  ]);
  expect(server.requests.map(({ url }) => url)).toEqual(
    [0, 2, 4].map((offset) => `/api/dcim/devices/?status=active&exclude=config_context&limit=2&offset=${offset}`),
  );
});

test('SourceReader.read() reads a NetBox with a token of either version', async () => {
  for (const token of [
    '0123456789abcdef0123456789abcdef01234567',
    'nbt_4F9DAouzURLb.zjebxBPzICiPbWz0Wtx0fTL7bCKXKGTYhNzkgC2S',
  ]) {
    await using server = await openNetbox(token, [{ name: 'plant-1', address: '10.0.0.1/24' }]);
    await using reader = createReader(server, token);
    expect(JSON.parse((await reader.read(NEVER))?.text ?? '')).toMatchObject([{ name: 'plant-1' }]);
  }
});

test('SourceReader.read() makes states of the statuses that are mapped, and none of others', async () => {
  const statuses = ['active', 'offline', 'planned', 'toString', '__proto__', 'staged'];
  await using server = await openNetbox(
    't',
    statuses.map((status, index) => ({ name: `plant-${index}`, address: `10.0.0.${index}/24`, status })),
  );
  await using reader = createReader(server, 't', {
    states: { offline: 'paused', planned: 'retired', other: 'active' },
  });
  const routers = JSON.parse((await reader.read(NEVER))?.text ?? '') as readonly { readonly state?: string }[];
  expect(routers.map(({ state }) => state)).toEqual([undefined, 'paused', 'retired', undefined, undefined, undefined]);
});

test('SourceReader.read() says that NetBox refuses the token, and shows none', async () => {
  await using server = await openNetbox('t', []);
  await using reader = createReader(server, 'wrong-token');
  const failure = await reader.read(NEVER).catch((cause: unknown) => cause);
  expect(failure).toMatchObject({ code: 'refused', message: 'The source answered with status 403' });
  expect(JSON.stringify(failure)).not.toContain('wrong-token');
});

test('SourceReader.read() takes no list that changes between two of its pages, because it would miss a device', async () => {
  const devices = Array.from({ length: 5 }, (_, index) => ({ name: `plant-${index}`, address: `10.0.0.${index}/24` }));
  await using server = await openNetbox('t', devices);
  await using reader = createReader(server);
  const answer = server.answer;
  server.answer = (request, response) => {
    if (request.url?.endsWith('offset=2')) devices.shift();
    return answer(request, response);
  };
  await expect(reader.read(NEVER)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('has changed while its pages were read'),
  });
  server.answer = answer;
  expect(JSON.parse((await reader.read(NEVER))?.text ?? '')).toHaveLength(4);
});

test.for<[string, object, string]>([
  ['leads to another server', { count: 9, next: 'http://192.0.2.1/api/', results: [] }, 'invalid'],
  ['never ends', { count: 9, next: 'x', results: [{}] }, 'too_large'],
  ['has no results', { count: 0, next: null }, 'invalid'],
  ['has results that are no list', { count: 0, next: null, results: {} }, 'invalid'],
])('SourceReader.read() refuses a NetBox whose list %s', async ([_what, page, code]) => {
  await using server = await openNetbox('t', []);
  server.list(page);
  await using reader = createReader(server);
  await expect(reader.read(NEVER)).rejects.toMatchObject({ code });
});

test('SourceReader.read() keeps of large pages what its routers need, and gives each its own time', async () => {
  await using server = await openNetbox('t', []);
  const clock = createSteppedClock(0);
  const comments = 'x'.repeat(2 * 1024 ** 2);
  server.answer = ({ url = '' }, response) => {
    const offset = Number(new URL(url, server.url).searchParams.get('offset'));
    const results = [{ name: `r${offset}`, primary_ip: { address: '10.0.0.1/24' }, comments }];
    // All together take longer than one may.
    void clock.advance(20_000).then(() => response.end(JSON.stringify({ next: offset < 9 ? 'x' : null, results })));
  };
  await using reader = createReader(server, 't', {}, clock);
  expect(JSON.parse((await reader.read(NEVER))?.text ?? '')).toHaveLength(10);
  server.answer = (_request, response) => {
    void clock.advance(29_000).then(() => response.end(JSON.stringify({ next: 'x', results: [{}] })));
  };
  await expect(reader.read(NEVER)).rejects.toThrow('The source did not give all of its pages within 300 s');
  expect(server.requests).toHaveLength(10 + 11);
});
