import { expect, test } from 'vitest';
import { ask, SINK } from '../bench.ts';
import { createDown, createRouters, EVIL, read, readCaption, readNames, readRows } from './page-bench.ts';

const SPOOL = { records: 3, bytes: 900, bytesMax: 1000, isHeldBack: false, routersHeldBack: [] };

function readCards(page: string): Record<string, string> {
  return Object.fromEntries(
    [...page.matchAll(/<b>([\d,]+)<\/b>([a-z ]+)</g)].map(([, count = '', title]) => [title, count]),
  );
}

test('the fleet shows each router with state, last success, failing step, error, numbers, address and labels', async () => {
  const listRouters = () =>
    createRouters(
      3,
      (index) =>
        [{}, { ...createDown('tls', 'No trust'), lastSuccess: null, isStale: true }, createDown('parse', 'No shape')][
          index
        ] ?? {},
    );
  const page = await read('/?sort=name', { listRouters });
  expect(readRows(page)).toEqual([
    [
      'r-0001',
      'up',
      expect.stringContaining('ahead'),
      '',
      '',
      '0.4 s',
      '4 s',
      '20.5 KiB',
      'https://192.0.2.10',
      'site=munich',
    ],
    [
      'r-0002',
      'down, stale',
      'never',
      'TLS',
      'No trust',
      '0.4 s',
      '4 s',
      '20.5 KiB',
      'https://192.0.2.10',
      'site=munich',
    ],
    [
      'r-0003',
      'down',
      expect.stringContaining('ahead'),
      'parse lte2',
      'No shape',
      '0.4 s',
      '4 s',
      '20.5 KiB',
      'https://192.0.2.10',
      'site=munich',
    ],
  ]);
  expect(page).toContain('<a href="router/r-0002">r-0002</a>');
});

test('the fleet counts states, each count a link to its routers', async () => {
  const changes = [
    {},
    { state: 'unknown' as const, lastSuccess: null },
    { state: 'budget' as const },
    createDown('login', 'Refused'),
    { ...createDown('dns', 'No address'), isStale: true },
    { fault: { step: 'resource' as const, resource: 'lte2', error: 'Too late' } },
  ];
  const listRouters = () => createRouters(6, (index) => changes[index] ?? {});
  const page = await read('/', { listRouters });
  expect(readCards(page)).toEqual({
    routers: '6',
    up: '2',
    down: '2',
    'up in part': '1',
    stale: '1',
    'login refused': '1',
    'out of budget': '1',
    'not polled yet': '1',
  });
  const namesOf = async (state: string) => readNames(await read(`/?state=${state}`, { listRouters }));
  expect(await namesOf('down')).toEqual(['r-0004', 'r-0005']);
  expect(await namesOf('refused')).toEqual(['r-0004']);
  expect(await namesOf('stale')).toEqual(['r-0005']);
  expect(await namesOf('part')).toEqual(['r-0006']);
  expect(readRows(await read('/?q=in+part', { listRouters })).map((row) => row.slice(0, 2))).toEqual([
    ['r-0006', 'up in part'],
  ]);
  expect(await namesOf('nonsense')).toHaveLength(6);
});

test('an empty fleet is a page that says so', async () => {
  const page = await read('/', { listRouters: () => [] });
  expect([readCaption(page), readNames(page)]).toEqual(['No router', ['No router is configured.']]);
});

test.for([
  ['r-0042', ['r-0042']],
  ['R-0042', ['r-0042']],
  ['graz 004', ['r-0041', 'r-0045', 'r-0049']],
  ['login', ['r-0100']],
  ['not+let', ['r-0100']],
  ['lte2', ['r-0050']],
  ['site%3Dgraz+r-0001', ['r-0001']],
  ['203.0.113.7', ['r-0007']],
  ['nobody', ['No router matches.']],
] as const)('a search for %s finds %j', async ([search, names]) => {
  const listRouters = () =>
    createRouters(2000, (index) => ({
      labels: { site: index % 4 === 0 ? 'graz' : 'brno' },
      url: index === 6 ? 'https://203.0.113.7' : 'https://192.0.2.1',
      ...(index === 99 && createDown('login', 'The router did not let the account in')),
      ...(index === 49 && { fault: { step: 'resource' as const, resource: 'lte2', error: 'late' } }),
      // Only these, so that a handful is found.
      ...(index >= 100 && { labels: {} }),
    }));
  expect(readNames(await read(`/?q=${search}`, { listRouters }))).toEqual(names);
});

test('thousands of routers stand on pages of 100, which lead to each other with search and order', async () => {
  const listRouters = () => createRouters(2000);
  const first = await read('/', { listRouters });
  expect(readCaption(first)).toBe('Routers 1 to 100 of 2,000');
  expect(readNames(first)).toHaveLength(100);
  expect(first).toContain('<a href="?page=2">Next</a>');
  expect(first).not.toContain('>Previous</a>');
  const last = await read('/?page=20&q=r-&sort=-name', { listRouters });
  expect([readNames(last)[0], readNames(last).at(-1)]).toEqual(['r-0100', 'r-0001']);
  expect(last).toContain('<a href="?q=r-&amp;sort=-name&amp;page=19">Previous</a>');
  expect(last).not.toContain('>Next</a>');
  for (const page of ['21', '999999', '0', '-1', '1.5', 'x', '1e99']) {
    expect(readNames(await read(`/?page=${page}`, { listRouters }))).toHaveLength(100);
  }
  expect(readNames(await read('/?page=21', { listRouters }))[0]).toBe('r-1901');
});

test('the fleet is sorted by any column, either way round, and what is not known comes last', async () => {
  const durations = [3, null, 1, 2];
  const listRouters = () => createRouters(4, (index) => ({ durationSeconds: durations[index] ?? null }));
  const sorted = await read('/?sort=duration', { listRouters });
  expect(readNames(sorted)).toEqual(['r-0003', 'r-0004', 'r-0001', 'r-0002']);
  expect(sorted).toContain('<th scope="col" class="number" aria-sort="ascending"><a href="?sort=-duration">');
  const turned = await read('/?sort=-duration', { listRouters });
  expect(readNames(turned)).toEqual(['r-0001', 'r-0004', 'r-0003', 'r-0002']);
  expect(turned).toContain('aria-sort="descending"><a href="?sort=duration">');
  expect(readNames(await read('/?sort=nonsense', { listRouters }))).toEqual(['r-0001', 'r-0002', 'r-0003', 'r-0004']);
});

test('by itself the fleet begins with what is worst, and with names among equals', async () => {
  const changes = [
    {},
    { fault: { step: 'resource' as const, resource: 'lte2', error: 'Too late' } },
    { state: 'unknown' as const },
    { state: 'budget' as const },
    createDown('dns', 'x'),
    createDown('tcp', 'x'),
    {},
  ];
  const listRouters = () => createRouters(7, (index) => changes[index] ?? {}).toReversed();
  const page = await read('/', { listRouters });
  expect(readNames(page)).toEqual(['r-0005', 'r-0006', 'r-0004', 'r-0003', 'r-0002', 'r-0001', 'r-0007']);
  expect(page).toContain('aria-sort="ascending"><a href="?sort=-state">State');
});

test('sorting by step follows the way, and by state begins with the worst', async () => {
  const steps = ['parse', 'dns', 'login'] as const;
  const listRouters = () => createRouters(4, (index) => (steps[index] ? createDown(steps[index], 'x') : {}));
  expect(readNames(await read('/?sort=step', { listRouters }))).toEqual(['r-0002', 'r-0003', 'r-0001', 'r-0004']);
  expect(readNames(await read('/?sort=state', { listRouters })).at(-1)).toBe('r-0004');
});

test('the search keeps order and filter, and shows what was searched for', async () => {
  const page = await read('/?q=r-&sort=-bytes&state=up', { listRouters: () => createRouters(2) });
  expect(page).toContain('<input type="hidden" name="sort" value="-bytes">');
  expect(page).toContain('<input type="hidden" name="state" value="up">');
  expect(page).toContain('value="r-" maxlength="200"');
  expect(readCaption(page)).toBe('2 routers, up, matching “r-”');
});

test('everything that came from a router, a configuration or a query is escaped', async () => {
  const listRouters = () =>
    createRouters(1, () => ({
      ...createDown('dns', EVIL),
      url: EVIL,
      labels: { [EVIL]: EVIL },
      lastSuccess: EVIL,
      name: EVIL,
    }));
  const listSinks = () => [{ ...SINK, name: EVIL, error: EVIL }];
  for (const query of ['', `?q=${encodeURIComponent('<script>')}`, `?sort=${EVIL}&state=${EVIL}&page=${EVIL}`]) {
    const page = await read(`/${query}`, { listRouters, listSinks });
    expect(page.match(/<script/g)).toEqual(['<script']);
    expect(page).toContain('&lt;script&gt;');
    expect(page).toContain('href="router/%22%3E%3Cscript%3E');
  }
});

test('what cannot be seen in an error does not turn the text around', async () => {
  const listRouters = () => createRouters(1, () => createDown('tcp', 'up\u202enwod'));
  expect(await read('/', { listRouters })).toContain('<td class="wide">up\ufffdnwod</td>');
});

test('long texts are cut', async () => {
  const listRouters = () => createRouters(1, () => createDown('tcp', 'x'.repeat(100_000)));
  expect((await read('/', { listRouters })).length).toBeLessThan(20_000);
  expect((await read(`/?q=${'y'.repeat(5000)}`)).length).toBeLessThan(20_000);
});

test('the fleet says how many runs are under way, waiting and held back', async () => {
  const calm = { running: 3, waiting: 0, heldBack: 0, max: 512 };
  expect(await read('/', { describeRuns: () => calm })).toContain('Runs: 3 of at most 512 under way, 0 waiting.');
  const busy = { running: 512, waiting: 7, heldBack: 40, max: 512 };
  expect(await read('/', { describeRuns: () => busy })).toContain(
    '512 of at most 512 under way, 7 waiting, 40 held back of routers that do not answer.',
  );
});

test('the fleet says it when reading of logs pauses and when sinks are down', async () => {
  const content = {
    listSinks: () => [SINK, { ...SINK, state: 'down' as const }],
    describeSpool: () => ({ ...SPOOL, isHeldBack: true }),
  };
  const page = await read('/', content);
  expect(page).toContain('Log reading is paused');
  expect(page).toContain('1 of 2 sinks down');
  const share = await read('/', { ...content, describeSpool: () => ({ ...SPOOL, routersHeldBack: ['plant-7'] }) });
  expect(share).toContain('Log reading is paused for 1 of ');
  const calm = await read('/', { listSinks: () => [SINK], describeSpool: () => SPOOL });
  expect(calm).not.toMatch(/is paused|sinks down/);
});

test.for([
  [{}, '', '../'],
  [{ routePrefix: '/mon' }, '', '../'],
  [{ externalUrl: 'https://example.com/routers', routePrefix: '/' }, '/routers/', '/routers/'],
  [{ externalUrl: 'https://example.com' }, '/', '/'],
] as const)('links of pages with %j lead below it', async ([settings, top, below]) => {
  const path = 'routePrefix' in settings && settings.routePrefix !== '/' ? settings.routePrefix : '';
  const fleet = (await ask(`${path}/`, settings)).text;
  expect(fleet).toContain(`<a href="${top}router/plant-7">`);
  expect(fleet).toContain(`<a href="${top || './'}" aria-current="page">Fleet</a>`);
  expect(fleet).toContain(`<a href="${top}metrics">`);
  const none = await ask(`${path}/router/nobody`, settings);
  expect(none.status).toBe(404);
  expect(none.text).toContain(`<a href="${below}logs">Logs</a>`);
});

test('the filter "login refused" leaves out logins that were not answered, or not as a login is', async () => {
  const changes = [
    createDown('login', 'Refused'),
    createDown('login', 'Busy', 'http'),
    createDown('login', 'Late', 'timeout'),
  ];
  const page = await read('/?state=refused', { listRouters: () => createRouters(3, (index) => changes[index] ?? {}) });
  expect(readNames(page)).toEqual(['r-0001']);
});
