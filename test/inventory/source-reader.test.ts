import { mkdtemp, mkdtempDisposable, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createSteppedClock, renderErrorChain, Secret } from '../../src/base/index.ts';
import { type ListedRouters, SourceReader, type SourceSettings } from '../../src/inventory/index.ts';
import { openInventory } from '../support/open-inventory.ts';
import { openConnectProxy } from '../support/proxies.ts';

const NEVER = new AbortController().signal;
const SOURCE = {
  name: 'inv',
  interval: 60_000,
  allowed_addresses: [],
  allow_http: false,
  groups: [],
  allowed_groups: ['munich', 'mrx'],
  allowed_credentials: [],
  allowed_tls_sets: [],
  routers_max: 50_000,
  removal_max: 0.2,
};

type HttpSource = Extract<SourceSettings, { type: 'http' }>;

function createHttpSource(url: string, changes: Partial<HttpSource> = {}): HttpSource {
  return { ...SOURCE, type: 'http', url, timeout: 30_000, ...changes };
}

function parseLines(list: ListedRouters | undefined): unknown {
  return JSON.parse(list?.text ?? 'null');
}

test('SourceReader.read() converts the list of service discovery, one router for each target', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(`${server.url}/sd?a=b`), createSteppedClock(0));
  server.list([
    { targets: ['10.0.0.1:8443', 'b.example.net'], labels: { site: 'x', __meta_rack: '7', __scheme__: 'https' } },
    {
      targets: ['[2001:db8::1]'],
      labels: {
        __router_name__: 'c',
        __router_groups__: 'munich, mrx',
        __router_credentials__: 'k',
        __router_tls_set__: 't',
        __router_timezone__: 'UTC',
      },
    },
    { name: 'plain', url: 'https://10.0.0.2', groups: ['munich'] },
  ]);
  const text = await reader.read(NEVER);
  expect(parseLines(text)).toEqual([
    { name: '10.0.0.1-8443', url: 'https://10.0.0.1:8443', labels: { site: 'x' } },
    { name: 'b.example.net', url: 'https://b.example.net', labels: { site: 'x' } },
    {
      name: 'c',
      url: 'https://[2001:db8::1]',
      groups: ['munich', 'mrx'],
      credentials: 'k',
      tls_set: 't',
      timezone: 'UTC',
    },
    { name: 'plain', url: 'https://10.0.0.2', groups: ['munich'] },
  ]);
  expect(text?.text.split('\n')).toHaveLength(7);
  expect(server.requests[0]?.url).toBe('/sd?a=b');
});

test('SourceReader.read() asks only for what has changed, and sends its credentials', async () => {
  await using server = await openInventory();
  const settings = createHttpSource(server.url, { username: 'u', password: new Secret('p') });
  await using reader = new SourceReader(settings, createSteppedClock(0));
  server.answer = ({ headers }, response) => {
    response.setHeader('etag', '"7"').setHeader('last-modified', 'Mon, 23 Nov 2026 12:00:00 GMT');
    response
      .writeHead(headers['if-none-match'] === '"7"' ? 304 : 200)
      .end(headers['if-none-match'] === '"7"' ? '' : '[]');
  };
  expect(await reader.read(NEVER)).toEqual({ text: '[]\n', places: [] });
  expect(await reader.read(NEVER)).toBeUndefined();
  expect(server.requests.map(({ headers }) => [headers.authorization, headers['if-modified-since']])).toEqual([
    ['Basic dTpw', undefined],
    ['Basic dTpw', 'Mon, 23 Nov 2026 12:00:00 GMT'],
  ]);
  // What is no list is asked for again.
  server.answer = (_request, response) => response.setHeader('etag', '"8"').end('{}');
  await expect(reader.read(NEVER)).rejects.toMatchObject({ code: 'invalid' });
  await expect(reader.read(NEVER)).rejects.toMatchObject({ code: 'invalid' });
  expect(server.requests.at(-1)?.headers['if-none-match']).toBe('"7"');
});

test('SourceReader.read() follows no redirect, and sends its credentials nowhere else', async () => {
  await using server = await openInventory();
  await using other = await openInventory();
  const settings = createHttpSource(server.url, { bearer_token: new Secret('t') });
  await using reader = new SourceReader(settings, createSteppedClock(0));
  for (const status of [301, 302, 303, 307, 308]) {
    server.answer = (_request, response) => response.writeHead(status, { location: other.url }).end('[]');
    await expect(reader.read(NEVER)).rejects.toThrow(`The source answered with status ${status}`);
  }
  expect(other.requests).toEqual([]);
});

test.for<[string, string, string | Uint8Array, Record<string, string>]>([
  ['not UTF-8', 'invalid', Uint8Array.of(0x5b, 0xff, 0x5d), {}],
  ['not in the coding that it names', 'invalid', '[]', { 'content-encoding': 'gzip' }],
  ['a page', 'invalid', '<html></html>', {}],
  ['a text', 'invalid', '"x"', {}],
  ['empty', 'invalid', '', {}],
  ['deep', 'invalid', '['.repeat(5000), {}],
  ['full of brackets that are not closed', 'invalid', '[{'.repeat(1000), {}],
  ['of a YAML tag', 'invalid', '- !!js/function "x"', {}],
])('SourceReader.read() refuses an answer that is %s', async ([_what, code, body, headers]) => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.answer = (_request, response) => response.writeHead(200, headers).end(body);
  await expect(reader.read(NEVER)).rejects.toMatchObject({ name: 'InventoryError', code });
});

test('SourceReader.read() reads an answer that is compressed although that was not asked for', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.answer = (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('[{"targets":["10.0.0.1"]}]'));
  expect(parseLines(await reader.read(NEVER))).toMatchObject([{ name: '10.0.0.1' }]);
});

test('SourceReader.read() ends a body that has no end', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  const chunk = Buffer.alloc(1024 ** 2, ' ');
  let sent = 0;
  server.answer = (_request, response) => {
    const push = () => {
      while (!response.destroyed && response.write(chunk)) sent++;
      sent++;
    };
    response.on('drain', push);
    push();
  };
  await expect(reader.read(NEVER)).rejects.toMatchObject({ code: 'too_large' });
  expect(sent).toBeLessThan(64);
});

test('SourceReader.read() ends an answer that drips, when its time is over', async () => {
  await using server = await openInventory();
  const clock = createSteppedClock(0);
  await using reader = new SourceReader(createHttpSource(server.url, { timeout: 30_000 }), clock);
  const begun = Promise.withResolvers<void>();
  server.answer = (_request, response) => {
    response.write('[');
    begun.resolve();
  };
  const reading = reader.read(NEVER);
  const failure = expect(reading).rejects.toThrow('The source did not answer completely within 30 s');
  await begun.promise;
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  await clock.advance(30_000);
  await failure;
});

test('SourceReader.read() says which server cannot be reached, without its credentials', async () => {
  const server = await openInventory();
  await server[Symbol.asyncDispose]();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  await expect(reader.read(NEVER)).rejects.toMatchObject({ code: 'unreachable' });
});

test('SourceReader.read() reads files as YAML and JSON, and takes missing ones for a failure', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-source-'));
  try {
    await using reader = new SourceReader(
      { ...SOURCE, type: 'file_sd', files: [join(folder, '*.yaml'), join(folder, 'b.json')] },
      createSteppedClock(0),
    );
    await expect(reader.read(NEVER)).rejects.toMatchObject({ code: 'unreachable' });
    await writeFile(
      join(folder, 'a.yaml'),
      '- targets: [10.0.0.1]\n  labels: { site: x }\n- { name: b, url: "https://10.0.0.2" }\n',
    );
    await writeFile(join(folder, 'b.json'), '[{"targets":["10.0.0.3"]}]');
    expect(parseLines(await reader.read(NEVER))).toEqual([
      { name: '10.0.0.1', url: 'https://10.0.0.1', labels: { site: 'x' } },
      { name: '10.0.0.3', url: 'https://10.0.0.3' },
      { name: 'b', url: 'https://10.0.0.2' },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('SourceReader.read() gives the same text for the same routers in any order', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.list([
    { url: 'https://10.0.0.2', name: 'b', labels: { y: '1', x: '2' } },
    { name: 'a', url: 'https://10.0.0.1' },
  ]);
  const first = await reader.read(NEVER);
  server.list([
    { name: 'a', url: 'https://10.0.0.1' },
    { labels: { x: '2', y: '1' }, name: 'b', url: 'https://10.0.0.2' },
  ]);
  expect((await reader.read(NEVER))?.text).toBe(first?.text);
});

test.for<[string, unknown]>([
  [
    'large labels',
    [
      {
        targets: Array.from({ length: 40_000 }, (_, i) => `${i}.example.net`),
        labels: { x: 'x'.repeat(20_000), y: 'y'.repeat(20_000) },
      },
    ],
  ],
  [
    'large groups',
    [
      {
        targets: Array.from({ length: 4000 }, (_, i) => `${i}.example.net`),
        labels: { __router_groups__: 'x,'.repeat(9000) },
      },
    ],
  ],
  ['many targets', [{ targets: Array.from({ length: 60_000 }, () => 'a') }]],
])('SourceReader.read() refuses a short answer whose list is long, because of %s', async ([_what, answer]) => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.list(answer);
  const failure = await reader.read(NEVER).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(failure).toMatchObject({ code: 'too_large' });
});

test('SourceReader.read() refuses a list of more routers than routers_max, with the key', async () => {
  await using server = await openInventory();
  const settings = { ...createHttpSource(server.url), routers_max: 2 };
  await using reader = new SourceReader(settings, createSteppedClock(0));
  server.list([{ targets: ['a', 'b'] }]);
  expect(parseLines(await reader.read(NEVER))).toHaveLength(2);
  server.list([{ targets: ['a', 'b', 'c'] }]);
  await expect(reader.read(NEVER)).rejects.toThrow(
    'The list has more than 2 routers; if all are wanted, and there is memory for them, raise "routers_max" of the source',
  );
});

test.for<[string, string, string]>([
  ['millions of brackets', '['.repeat(8_000_000), 'It holds more than 1000000 values'],
  ['as many that are closed', `${'['.repeat(4_000_000)}${']'.repeat(4_000_000)}`, 'It holds more than 1000000 values'],
  ['millions of numbers', `[0${',0'.repeat(2_000_000)}]`, 'It holds more than 1000000 values'],
  ['YAML that is nested', '['.repeat(300_000), 'The values are nested more than 16 deep'],
  ['long YAML', '? '.repeat(450_000), 'It is YAML of more than 400000 characters; write it as JSON'],
  // It is valid, and needs more than the memory that such a list may take.
  ['YAML that takes its thread too much memory', `[${'[],'.repeat(133_000)}]`, 'This file takes too much memory'],
])('SourceReader.read() survives %s in a file, and reads the next one', async ([_what, text, reason]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-source-'));
  const file = join(folder.path, 'a.yaml');
  const settings: SourceSettings = { ...SOURCE, type: 'file_sd', files: [file], routers_max: 1000 };
  await using reader = new SourceReader(settings, createSteppedClock(0));
  await writeFile(file, text);
  await expect(reader.read(NEVER)).rejects.toThrow(reason);
  await writeFile(file, '- targets: [10.0.0.1]\n');
  expect(parseLines(await reader.read(NEVER))).toMatchObject([{ name: '10.0.0.1' }]);
});

test('SourceReader.read() keeps a router with labels that are too large for one that is refused', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.list([{ targets: ['a'], labels: { x: 'x'.repeat(20_000), y: { deep: [] }, z: 7 } }]);
  expect(parseLines(await reader.read(NEVER))).toEqual([
    { name: 'a', url: 'https://a', labels: { x: 'x'.repeat(257), y: null, z: 7 } },
  ]);
});

test('SourceReader.read() leaves out single items that are nested too deeply, or repeat a key in YAML', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  const good = '{"name":"good","url":"https://10.0.0.1"}';
  server.answer = (_request, response) =>
    response.end(`[${good},${'{"a":'.repeat(1000)}1${'}'.repeat(1000)},${' '.repeat(3000)}7]`);
  expect(parseLines(await reader.read(NEVER))).toEqual([JSON.parse(good), {}, {}]);
  server.answer = (_request, response) => response.end('[{"name":"a","name":"b"}]');
  expect(parseLines(await reader.read(NEVER))).toEqual([{ name: 'b' }]);
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-source-'));
  try {
    await writeFile(join(folder, 'a.yaml'), `- ${good}\n- {name: b, name: c}\n`);
    await using files = new SourceReader(
      { ...SOURCE, type: 'file_sd', files: [join(folder, '*')] },
      createSteppedClock(0),
    );
    expect(parseLines(await files.read(NEVER))).toEqual([JSON.parse(good), {}]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('SourceReader.read() names routers at different IPv6 addresses differently', async () => {
  await using server = await openInventory();
  await using reader = new SourceReader(createHttpSource(server.url), createSteppedClock(0));
  server.list([{ targets: ['[2001:db8::1]', '[2001:db8:1::]', '[2001:DB8::1]:8443', '[::]', '[x]'] }]);
  const routers = parseLines(await reader.read(NEVER)) as readonly { readonly name: string }[];
  expect(routers.map(({ name }) => name)).toEqual([
    '0-0-0-0-0-0-0-0',
    '2001-db8-0-0-0-0-0-1',
    '2001-db8-0-0-0-0-0-1-8443',
    '2001-db8-1-0-0-0-0-0',
    'x',
  ]);
});

test('SourceReader.read() asks a proxy to connect, and names it when it fails', async () => {
  await using server = await openInventory();
  server.list([{ name: 'plain', url: 'https://10.0.0.2' }]);
  const name = server.url.replace('127.0.0.1', 'inventory.example');
  await using proxy = await openConnectProxy({ account: 'agent:pw-of-proxy' });
  const url = `http://127.0.0.1:${proxy.port}`;
  const read = async (password: string) => {
    const settings = createHttpSource(name, { proxy: { url, username: 'agent', password: new Secret(password) } });
    await using reader = new SourceReader(settings, createSteppedClock(0));
    return parseLines(await reader.read(NEVER));
  };
  expect(await read('pw-of-proxy')).toEqual([{ name: 'plain', url: 'https://10.0.0.2' }]);
  expect(proxy.asked).toMatchObject([{ target: new URL(name).host }]);
  const error: unknown = await read('pw-that-is-wrong').catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: 'unreachable' });
  expect(renderErrorChain(error)).toBe(
    `The source could not be reached: The proxy ${url} requires another login: it answered with 407. Check proxy.username and proxy.password of this source`,
  );
});

test('SourceReader.read() names the proxy behind which there is no answer', async () => {
  await using server = await openInventory();
  const arrived = Promise.withResolvers<undefined>();
  server.answer = () => arrived.resolve(undefined);
  await using proxy = await openConnectProxy();
  const url = `http://127.0.0.1:${proxy.port}`;
  const clock = createSteppedClock(0);
  const settings = createHttpSource(server.url, { proxy: { url } });
  await using reader = new SourceReader(settings, clock);
  const failure = expect(reader.read(NEVER)).rejects.toThrow(
    `The source did not answer completely through the proxy ${url} within 30 s`,
  );
  await arrived.promise;
  await clock.advance(30_000);
  await failure;
});
