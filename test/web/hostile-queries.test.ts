import { expect, test } from 'vitest';
import type { WebContent } from '../../src/web/index.ts';
import { createApp, createProcess, DETAIL, openBench, ROUTER, SINK } from './bench.ts';

/** Values that look like an object key, markup, a header, a path, or the end of a text. */
const VALUES = [
  '__proto__',
  'constructor',
  'toString',
  '<img src=x onerror=alert(1)>',
  `"'><script>alert(1)</script>`,
  'x\r\nX-Evil: yes',
  '../../etc/passwd',
  '\0',
  '\u202e\ud800',
  '-1',
  '1e999',
  '9'.repeat(400),
  '*'.repeat(200),
];
/** Every parameter that some page has, and some that none has. */
const PARAMETERS = [
  'sort',
  'order',
  'filter',
  'q',
  'page',
  'router',
  'component',
  'severity',
  'before',
  'limit',
  'view',
  'target',
  'module',
  'sink',
  'reason',
  'own',
  'state',
  'site',
  'label',
  'firmware',
  'model',
  'operator',
  'fault',
  'group',
  'collect[]',
  'after',
  '__proto__',
  'constructor',
];
/** Each parameter alone with every value, also several times. */
const QUERIES = VALUES.flatMap((value) => {
  const one = encodeURIComponent(value.toWellFormed());
  return [
    ...PARAMETERS.map((name) => `${name}=${one}&${name}=${one}`),
    PARAMETERS.map((name) => `${name}=${one}`).join('&'),
  ];
});
const CONTENT: Partial<WebContent> = {
  describeRouter: (name) => (name === ROUTER.name ? DETAIL : undefined),
  ...createProcess({ sinks: [SINK] }),
};

test('no query and no name has any page fail, changes its headers, or gets into it as markup', async () => {
  const failed: unknown[] = [];
  const { app } = createApp({ content: { ...CONTENT, onFailed: (cause) => failed.push(cause) } });
  const paths = app.routes
    .filter(({ method, path }) => method === 'GET' && !path.endsWith('/stream'))
    .map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(15);
  const ask = async (path: string) => {
    const response = await app.request(path, {}, {});
    const text = await response.text();
    expect([path, response.status]).not.toEqual([path, 500]);
    expect([path, response.headers.get('x-evil')]).toEqual([path, null]);
    for (const markup of ['<img src=x', '<script>alert(1)'])
      expect([path, text.includes(markup) && !isJson(response)]).toEqual([path, false]);
  };
  for (const path of paths) {
    const named = path.replace(':name', ROUTER.name).replace(':id', '1');
    for (const query of QUERIES) await ask(`${named}?${query}`);
    if (named === path) continue;
    for (const value of VALUES) await ask(path.replace(/:\w+/, encodeURIComponent(value.toWellFormed())));
  }
  expect(failed).toEqual([]);
});

function isJson({ headers }: Response): boolean {
  return (
    headers.get('content-type')?.startsWith('application/json') === true &&
    headers.get('x-content-type-options') === 'nosniff'
  );
}

test('a redirect to another process has nothing in its address that is not that of the request', async () => {
  const other = { name: 'plant-9', url: 'https://192.0.2.9', labels: {}, shard: 1 };
  const shards = {
    index: 0,
    total: 2,
    peers: ['http://a.example', 'http://b.example/x'],
    others: new Map([['plant-9', other]]),
  };
  await using bench = await openBench({ ...CONTENT, hasRouter: () => false, describeShards: () => shards });
  for (const query of ['?a=%0d%0aX-Evil:%20yes', '?//evil.example', '?@evil.example', '?\\evil.example']) {
    for (const path of ['/router/plant-9', '/api/v1/routers/plant-9', '/api/v1/routers/plant-9/records']) {
      const { status, headers } = await bench.get(path + query);
      expect([path, status, headers['x-evil']]).toEqual([path, 307, undefined]);
      expect(headers.location).toMatch(
        /^http:\/\/b\.example\/x\/(router|api\/v1\/routers)\/plant-9(\/records)?\?[^\r\n]*$/,
      );
    }
  }
  for (const path of ['/router/..%2f..%2fevil', '/router/%2f%2fevil.example', '/router/plant-9%2f..']) {
    expect([path, (await bench.get(path)).headers.location]).toEqual([path, undefined]);
  }
});
