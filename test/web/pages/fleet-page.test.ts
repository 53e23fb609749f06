import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type EventQuery, type ListedRouter, NO_DEVICE, type WebContent } from '../../../src/web/index.ts';
import { ask, createProcess, ROUTER, SINK } from '../bench.ts';
import { createDown, createRouters, EVIL, read, readCaption, readNames, readRows } from './page-bench.ts';

const SPOOL = { records: 3, bytes: 900, bytesMax: 1000, secondsToFull: null, isHeldBack: false, routersHeldBack: [] };

function readCards(page: string): Record<string, string> {
  return Object.fromEntries(
    [...page.matchAll(/<b>([\d,]+)<\/b> ([a-z ]+)</g)].map(([, count = '', title]) => [title, count]),
  );
}

test('the fleet shows each router with state, reason, age of the state, and the values of its device', async () => {
  const listRouters = () =>
    createRouters(3, (index) =>
      index === 0
        ? {
            device: NO_DEVICE,
            labels: {},
            traffic: null,
            byteBudget: 30_000,
            use: { ...ROUTER.use, agentForecast: null },
            availability: 'uuud',
          }
        : {
            ...createDown(index === 1 ? 'tls' : 'parse', 'No trust'),
            lastSuccess: null,
            isStale: index === 1,
            availability: 'uuud',
          },
    );
  const page = await read('/?sort=name', { listRouters });
  const since = expect.stringContaining('ahead');
  const traffic = ['1.2 M / 100 k', '25 h', '4 s', '20.5 KiB / 1.0 MiB', ''];
  const device = ['munich', 'MRX3', 'wan1 · Telekom.de · LTE', ' -93 dBm', ...traffic];
  expect(readRows(page)).toEqual([
    ['r-0001', 'up', '', since, '–', '–', '–', '–', '–', '–', '4 s', '20.5 KiB (70 %)', ''],
    ['r-0002', 'down, stale', 'tls: No trust', since, ...device],
    ['r-0003', 'down', 'parse lte2: No trust', since, ...device],
  ]);
  expect(page).toContain('href="router/r-0002">r-0002</a>');
  expect(page).toContain('aria-label="75.0 % of the last 48 min without a failed poll"');
});

test('values that need a look are marked: uptime under an hour, gaps, traffic, grade, and a forecast above its limit', async () => {
  const traffic = { interface: 'lte2', receiveBytesPerSecond: 150_000, transmitBytesPerSecond: 10_000 };
  const device = { ...ROUTER.device, uptimeSeconds: 1800, signal: { kind: 'rssi' as const, value: -99 } };
  const odd = { device, traffic, gaps: 2, use: { ...ROUTER.use, forecast: 6e9, limit: 5e9 } };
  const page = await read('/', { listRouters: () => createRouters(1, () => odd) });
  const row = ['r-0001', 'up', '', 'munich', 'MRX3', 'wan1 · Telekom.de · LTE', ' unusable -99 dBm'];
  const end = ['1.2 M / 80.0 k', '30 min', '4 s 2 gaps', '20.5 KiB / 5.6 GiB', '–'];
  expect(readRows(page)[0]?.toSpliced(3, 1)).toEqual([...row, ...end]);
  expect(page).toContain('<strong class="warn">30 min</strong>');
  expect(page).toContain('<a class="warn" href="router/r-0001?view=positions">2 gaps</a>');
  expect(page).toContain('<span class="warn">5.6 GiB</span>');
  expect(page).toContain('title="20.5 KiB; 5.6 GiB of 4.7 GiB at the end of the data plan"');
});

test('address, labels and other facts without a column are in a panel next to the name', async () => {
  const name = 'n'.repeat(253);
  const page = await read('/', {
    listRouters: () => createRouters(1, () => ({ ...createDown('connect', 'x'.repeat(200)), name })),
  });
  const cut = `${'n'.repeat(12)}…${'n'.repeat(11)}`;
  expect(page).toContain(`href="router/${name}" title="${name}">${cut}</a>`);
  const behind = /<dl class="panel">(.*?)<\/dl>/s.exec(page)?.[1] ?? '';
  for (const text of [name, `connect: ${'x'.repeat(200)}`, 'https://192.0.2.10', 'site=munich', 'Regensburg', 'MRX3']) {
    expect(behind).toContain(`<dd>${text}</dd>`.replace(/<dd>(site.*|Regens.*)<\/dd>/, '<dd><bdi>$1</bdi></dd>'));
  }
});

test('the states are one bar of links, without those that no router has', async () => {
  const changes = [
    {},
    { state: 'unknown' as const, lastSuccess: null },
    { state: 'budget' as const },
    createDown('auth', 'Refused'),
    { ...createDown('dns', 'No address'), isStale: true },
    { fault: { step: 'http' as const, resource: 'lte2', error: 'Too late' } },
  ];
  const listRouters = () => createRouters(6, (index) => changes[index] ?? {});
  const page = await read('/', { listRouters });
  expect(readCards(page)).toEqual({
    routers: '6',
    up: '1',
    down: '2',
    degraded: '1',
    'of them stale': '1',
    'of them login refused': '1',
    'out of budget': '1',
    'not polled yet': '1',
  });
  expect(page).toContain('<li class="w3"><a class="bad" href="?state=down"><b>2</b> down</a></li>');
  const calm = await read('/', { listRouters: () => createRouters(3) });
  expect(readCards(calm)).toEqual({ up: '3', routers: '3' });
  // A filter that is active stays visible.
  expect(readCards(await read('/?state=down', { listRouters: () => createRouters(3) }))).toMatchObject({ down: '0' });
  const namesOf = async (state: string) => readNames(await read(`/?state=${state}`, { listRouters }));
  expect(await namesOf('down')).toEqual(['r-0004', 'r-0005']);
  expect(await namesOf('refused')).toEqual(['r-0004']);
  expect(await namesOf('stale')).toEqual(['r-0005']);
  expect(await namesOf('part')).toEqual(['r-0006']);
  expect(await namesOf('up')).toEqual(['r-0001']);
  expect(readRows(await read('/?q=degraded', { listRouters })).map((row) => row.slice(0, 2))).toEqual([
    ['r-0006', 'degraded'],
  ]);
  expect(await namesOf('nonsense')).toHaveLength(6);
});

test.for([
  [
    'connect',
    'POST /auth/refresh could not connect: connect ECONNREFUSED 192.0.2.1:443. Check host and port in the address of this router, and that its HTTPS or HTTP access is active',
    'connect: connection refused',
  ],
  ['http', 'GET /status/lte2 took longer than 5 s', 'http lte2: took longer than 5 s'],
  [
    'auth',
    'The router refused to log in user "monitor". Check username and password of this router',
    'auth: refused user "monitor"',
  ],
  [
    'tls',
    "The router's certificate is not trusted: self-signed. Check tls",
    'tls: certificate not trusted: self-signed',
  ],
] as const)(
  'at %s the reason leads with the cause, and its whole text is the title: %s',
  async ([step, error, brief]) => {
    const page = await read('/', { listRouters: () => createRouters(1, () => createDown(step, error)) });
    expect(readRows(page)[0]?.[2]?.replaceAll('&quot;', '"').replaceAll('&#39;', "'")).toBe(brief);
    const shown = error.replaceAll('"', '&quot;').replaceAll("'", '&#39;');
    expect(page.split(`: ${shown}`)).toHaveLength(3);
  },
);

test('a count that is not wholly a part of the one before it does not say so', async () => {
  const page = await read('/', { listRouters: () => createRouters(2, () => ({ state: 'budget', isStale: true })) });
  expect(readCards(page)).toMatchObject({ stale: '2' });
});

test('the fleet shows the time since when a router is in its state, and if that may be longer', async () => {
  const changes = [
    { since: '1969-12-31T23:40:00.000Z' },
    { isFirstState: true },
    { since: '1969-12-20T10:00:00.000Z' },
  ];
  const rows = readRows(await read('/', { listRouters: () => createRouters(3, (index) => changes[index] ?? {}) }));
  expect(rows.map((row) => row[3])).toEqual([
    '23:40 (20 min)',
    expect.stringMatching(/^by 11:00 \(.* ahead\)$/),
    '1969-12-20 (11 d)',
  ]);
});

test('an empty fleet is a page that says so', async () => {
  const page = await read('/', { listRouters: () => [] });
  expect([readCaption(page), readNames(page)]).toEqual(['No router', ['No router is configured.']]);
});

test.for([
  ['r-0042', ['r-0042']],
  ['R-0042', ['r-0042']],
  ['graz 004', ['r-0041', 'r-0045', 'r-0049']],
  ['auth', ['r-0100']],
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
      ...(index === 99 && createDown('auth', 'The router did not let the account in')),
      ...(index === 49 && { fault: { step: 'http' as const, resource: 'lte2', error: 'late' } }),
      // Only these, so that a handful is found.
      ...(index >= 100 && { labels: {} }),
    }));
  expect(readNames(await read(`/?q=${search}`, { listRouters }))).toEqual(names);
});

test('thousands of routers are listed in pages of 100, whose links keep search and order', async () => {
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

test('the fleet is sorted by any column in both directions, with unknown values last', async () => {
  const durations = [3, null, 1, 2];
  const listRouters = () => createRouters(4, (index) => ({ logLagSeconds: durations[index] ?? null }));
  const sorted = await read('/?sort=lag', { listRouters });
  expect(readNames(sorted)).toEqual(['r-0003', 'r-0004', 'r-0001', 'r-0002']);
  expect(sorted).toContain('<th scope="col" class="number c-lag" aria-sort="ascending"><a href="?sort=-lag">');
  const turned = await read('/?sort=-lag', { listRouters });
  expect(readNames(turned)).toEqual(['r-0001', 'r-0004', 'r-0003', 'r-0002']);
  expect(turned).toContain('aria-sort="descending"><a href="?sort=lag">');
  expect(readNames(await read('/?sort=nonsense', { listRouters }))).toEqual(['r-0001', 'r-0002', 'r-0003', 'r-0004']);
});

test('the fleet is sorted worst first by default, and by name among equals', async () => {
  const odd = [
    {},
    { device: { ...ROUTER.device, drift: 'rule' as const } },
    { device: { ...ROUTER.device, uptimeSeconds: 60 } },
    { gaps: 1 },
    { isSlow: true },
    { logLossSince: '2026-11-21T12:00:00.000Z' },
  ];
  const listOdd = () => createRouters(6, (index) => odd[index] ?? {});
  const names = ['r-0006', 'r-0005', 'r-0004', 'r-0003', 'r-0002', 'r-0001'];
  expect(readNames(await read('/', { listRouters: listOdd }))).toEqual(names);
  const changes = [
    {},
    { fault: { step: 'http' as const, resource: 'lte2', error: 'Too late' } },
    { state: 'unknown' as const },
    { state: 'budget' as const },
    createDown('dns', 'x'),
    createDown('connect', 'x'),
    {},
  ];
  const listRouters = () => createRouters(7, (index) => changes[index] ?? {}).toReversed();
  const page = await read('/', { listRouters });
  expect(readNames(page)).toEqual(['r-0005', 'r-0006', 'r-0004', 'r-0003', 'r-0002', 'r-0001', 'r-0007']);
  expect(page).toContain('aria-sort="ascending"><a href="?sort=-state">State');
});

test('sorting by step follows the order of steps, and by state begins with the worst', async () => {
  const steps = ['parse', 'dns', 'auth'] as const;
  const listRouters = () => createRouters(4, (index) => (steps[index] ? createDown(steps[index], 'x') : {}));
  expect(readNames(await read('/?sort=step', { listRouters }))).toEqual(['r-0002', 'r-0003', 'r-0001', 'r-0004']);
  expect(readNames(await read('/?sort=state', { listRouters })).at(-1)).toBe('r-0004');
});

test('the search keeps order and filter, and shows what was searched for', async () => {
  const page = await read('/?q=r-&sort=-bytes&state=up', { listRouters: () => createRouters(2) });
  expect(page).toContain('<option value="-bytes" selected>');
  expect(page).toContain('<option value="up" selected>');
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
  const sinks = [{ ...SINK, name: EVIL, error: EVIL }];
  for (const query of ['', `?q=${encodeURIComponent('<script>')}`, `?sort=${EVIL}&state=${EVIL}&page=${EVIL}`]) {
    const page = await read(`/${query}`, { listRouters, ...createProcess({ sinks }) });
    expect(page.match(/<script/g)).toEqual(['<script']);
    expect(page).toContain('&lt;script&gt;');
    expect(page).toContain('href="router/%22%3E%3Cscript%3E');
  }
});

test('invisible characters in an error do not change the text direction', async () => {
  const listRouters = () => createRouters(1, () => createDown('connect', 'up\u202enwod'));
  expect(await read('/', { listRouters })).toContain('>connect: up\ufffdnwod</td>');
});

test('long texts are cut', async () => {
  const listRouters = () => createRouters(1, () => createDown('connect', 'x'.repeat(100_000)));
  expect((await read('/', { listRouters })).length).toBeLessThan(32_500);
  expect((await read(`/?q=${'y'.repeat(5000)}`)).length).toBeLessThan(32_500);
});

test('the fleet says how many runs are in progress, waiting and held back', async () => {
  const calm = { running: 3, waiting: 0, heldBack: 0, max: 512 };
  expect(await read('/', createProcess({ runs: calm }))).toContain('Runs: 3 of at most 512 in progress, 0 waiting.');
  const busy = { running: 512, waiting: 7, heldBack: 40, max: 512 };
  expect(await read('/', createProcess({ runs: busy }))).toContain(
    '512 of at most 512 in progress, 7 waiting, 40 held back for routers that do not answer.',
  );
});

test.for([
  [{}, '', '../'],
  [{ routePrefix: '/mon' }, '', '../'],
  [{ externalUrl: 'https://example.com/routers', routePrefix: '/' }, '/routers/', '/routers/'],
  [{ externalUrl: 'https://example.com' }, '/', '/'],
] as const)('links of pages with %j lead below it', async ([settings, top, below]) => {
  const path = 'routePrefix' in settings && settings.routePrefix !== '/' ? settings.routePrefix : '';
  const fleet = (await ask(`${path}/`, settings)).text;
  expect(fleet).toContain(`href="${top}router/plant-7">`);
  expect(fleet).toContain(`<a href="${top || './'}" aria-current="page">Fleet</a>`);
  expect(fleet).toContain(`<a href="${top}metrics">`);
  const none = await ask(`${path}/router/nobody`, settings);
  expect(none.status).toBe(404);
  expect(none.text).toContain(`<a href="${below}logs">Logs</a>`);
});

test('the filter "login refused" leaves out logins that were not answered, or not as a login is', async () => {
  const changes = [
    createDown('auth', 'Refused'),
    createDown('auth', 'Busy', 'http'),
    createDown('auth', 'Late', 'timeout'),
  ];
  const page = await read('/?state=refused', { listRouters: () => createRouters(3, (index) => changes[index] ?? {}) });
  expect(readNames(page)).toEqual(['r-0001']);
});

test('filters are combined, kept in every link, and shown with a link that removes each', async () => {
  const listRouters = () =>
    createRouters(40, (index) => ({
      labels: { site: index % 2 === 0 ? 'nord' : 'süd & west', line: String(index % 4) },
      firmware: index % 3 === 0 ? '9.4' : null,
      device: { ...NO_DEVICE, model: index < 20 ? 'MRX3' : 'MRX5', operator: index === 12 ? '中国移动' : null },
      ...(index % 2 === 0 && createDown(index === 6 ? 'tls' : 'connect', 'x')),
    }));
  const namesOf = async (query: string) => readNames(await read(`/?${query}`, { listRouters }));
  expect(await namesOf('firmware=9.4&model=MRX5')).toHaveLength(7);
  expect(await namesOf('label=site%3Dnord&label=line%3D2&firmware=9.4&state=down')).toEqual([
    'r-0007',
    'r-0019',
    'r-0031',
  ]);
  expect(await namesOf('step=tls')).toEqual(['r-0007']);
  expect(await namesOf('label=site%3Ds%C3%BCd+%26+west')).toHaveLength(20);
  expect(await namesOf(`operator=${encodeURIComponent('中国移动')}`)).toEqual(['r-0013']);
  // Empty values are those of lists in which nothing was chosen.
  expect(await namesOf('q=&state=&step=&label=&label=&firmware=&sort=state')).toHaveLength(40);
  expect(await namesOf('step=nonsense&label=zzz')).toEqual(['No router matches.']);
  const page = await read('/?label=site%3Dnord&firmware=9.4&sort=-name', { listRouters });
  expect(page).toContain('<a href="?label=site%3Dnord&amp;firmware=9.4&amp;sort=name">Router');
  expect(page).toMatch(/<li><a href="\?label=site%3Dnord&amp;sort=-name"><bdi title="Firmware 9.4">/);
  expect(page).toContain('<option value="site=nord" selected>nord (20)</option>');
});

test('a mass outage is one sentence with its begin and what its routers have in common, and counts that filter', async () => {
  const listRouters = () =>
    createRouters(2000, (index) => ({
      labels: { site: index < 1100 ? 'nord' : 'ost', env: 'production', serial: `n-${index}` },
      since: `2026-11-21T${index < 100 ? '11:00' : index < 200 ? '13:00' : '14:02'}:30.000Z`,
      ...(index < 1000 && createDown(index < 900 ? 'connect' : 'tls', 'x')),
    }));
  const page = await read('/', { listRouters });
  const [sentence = ''] = /<section class="notice".*?<\/p>/s.exec(page) ?? [];
  expect(sentence.replaceAll(/<[^>]*>/g, '')).toBe(
    '1,000 of 1,100 routers of site nord down, most at connect, most since 14:02:30.',
  );
  const groups = /<div class="groups".*?<\/dl>/s.exec(page)?.[0] ?? '';
  expect(groups).toMatch(/href="\?state=down&amp;step=tls".*?tls.*? 100</);
  expect(groups).toMatch(/href="\?state=down&amp;label=site%3Dnord".*?nord.*? 1,000 of 1,100</);
  // A value that only one router has, or all have, is not listed.
  expect(groups).not.toContain('n-5');
  expect(sentence).not.toContain('production');
  // Those that went down at all times have no begin.
  const scattered = await read('/', {
    listRouters: () =>
      createRouters(20, (index) => ({
        ...createDown('connect', 'x'),
        since: `2026-11-21T${10 + (index % 10)}:00:00.000Z`,
      })),
  });
  expect(scattered).toContain('<strong>20 of 20 routers down at connect</strong>');
  expect(
    await read('/', {
      listRouters: () => createRouters(200, (index) => (index < 9 ? createDown('connect', 'x') : {})),
    }),
  ).not.toContain('class="notice"');
});

test('a mass outage that the agent found when it started says since when it is known, not when it began', async () => {
  const page = await read('/', {
    listRouters: () =>
      createRouters(6, (index) => ({
        ...createDown('connect', 'x'),
        since: `1969-12-31T23:${50 + index}:00.000Z`,
        isFirstState: true,
      })),
  });
  const [sentence = ''] = /<section class="notice".*?<\/p>/s.exec(page) ?? [];
  expect(sentence.replaceAll(/<[^>]*>/g, '')).toBe(
    '6 of 6 routers down at connect for at least 5 min (since the first poll).',
  );
});

test.for([
  ['the whole window', 'u'.repeat(120), 'last 24 h'],
  ['what was watched of it', `${'-'.repeat(100)}${'u'.repeat(20)}`, 'last 3 h 45 min'],
  ['a time with a hole', `${'u'.repeat(100)}${'-'.repeat(10)}${'u'.repeat(10)}`, 'last 24 h', ', 2 h not watched'],
  ['no time yet', `${'-'.repeat(119)}u`, 'time since the first poll'],
] as const)('the availability is that of %s', async ([_what, results, span, hole = '']) => {
  const page = await read('/', { listRouters: () => createRouters(1, () => ({ availability: results })) });
  expect(page).toContain(`aria-label="100 % of the ${span} without a failed poll${hole}"`);
  // One hole is one mark.
  expect(page.match(/class="unwatched" d="(M[^M]*z)"/)?.length ?? 0).toBe(hole === '' ? 0 : 2);
});

test('the time and the step of a mass outage are those of its group, and others that are down are counted apart', async () => {
  const listRouters = () =>
    createRouters(24, (index) => ({
      labels: { site: index < 9 ? 'nord' : 'west' },
      since: `2026-11-21T11:${index < 9 ? 20 : 17}:42.000Z`,
      ...(index < 9 && createDown('connect', 'x')),
      ...(index === 9 && createDown('auth', 'x')),
    }));
  const sentenceOf = async (query: string) => {
    const page = await read(`/${query}`, { listRouters });
    return /<section class="notice".*?<p>(.*?)<\/p>/s.exec(page)?.[1]?.replaceAll(/<[^>]*>/g, '');
  };
  const sentence = '9 of 9 routers of site nord down at connect since 11:20:42; 1 more router down.';
  expect(await sentenceOf('')).toBe(sentence);
  expect(await sentenceOf('?state=down')).toBe(sentence);
  expect(await sentenceOf('?label=site%3Dwest')).toBe(`Whole fleet: ${sentence}`);
});

test('counts of a filtered list are those that their links show, and say what is about the whole fleet', async () => {
  const listRouters = () =>
    createRouters(10, (index) => ({
      labels: { site: index < 4 ? 'nord' : 'west' },
      ...(index % 2 === 0 && createDown('connect', 'x')),
    }));
  const at = (minute: number) => `2026-11-21T14:0${minute}:00.000Z`;
  const minutes = [0, 1].map((one) => ({ at: at(one), up: 5, down: 5, stale: 0, other: 0 }));
  const page = await read('/?label=site%3Dnord&state=up', { listRouters, ...createProcess({ minutes }) });
  expect(readCards(page)).toMatchObject({ routers: '4', up: '2', down: '2' });
  expect(page).toContain('Last 60 s, whole fleet: at most 5 down');
  expect(readNames(await read('/?label=site%3Dnord&state=down', { listRouters }))).toHaveLength(2);
  expect(readCards(await read('/?q=zzz', { listRouters }))).toEqual({ routers: '0' });
});

test('the last hours of the fleet are a strip that says in words what it shows', async () => {
  const at = (minute: number) => `2026-11-21T14:0${minute}:00.000Z`;
  const minutes = [0, 1, 3, 0].map((down, index) => ({ at: at(index), up: 3000 - down, down, stale: 0, other: 0 }));
  const page = await read('/', createProcess({ minutes }));
  expect(page).toContain('aria-label="Last 3 min: at most 3 down, at 14:02 UTC; now 0."');
  // A few of thousands can still be seen.
  expect(page).toContain('<path class="down" d="M357 0h2v1.5h-2z"/>');
  expect(await read('/', createProcess({ minutes: minutes.slice(0, 1) }))).not.toContain('class="strip"');
});

test('what needs attention is listed, the worst first, each with its number and a link; nothing without any', async () => {
  const soon = '1970-01-08T00:00:00.000Z';
  const changes: readonly Partial<ListedRouter>[] = [
    { logLossSince: '1969-12-31T23:00:00.000Z' },
    { certificateExpiry: soon },
    { device: { ...ROUTER.device, drift: 'profile' } },
    { device: { ...ROUTER.device, uptimeSeconds: 60 } },
    { device: { ...ROUTER.device, uptimeSeconds: 60 }, gaps: 1234 },
  ];
  const sinks = [
    { ...SINK, deadLetters: 2 },
    { ...SINK, name: 'search', state: 'down' as const, deadLetters: 1 },
  ];
  const configuration = { loadedAt: soon, pending: null, warnings: [], sources: [] };
  const describeConfiguration = () => ({ ...configuration, lastReload: { at: soon, faults: ['a', 'b'] } });
  const listRouters = () => createRouters(6, (index) => changes[index] ?? {});
  const list = async (content: Partial<WebContent>) => {
    const [text = ''] = /<ul class="attention">.*?<\/ul>/s.exec(await read('/', content)) ?? [];
    return [...text.matchAll(/class="(\w+)" href="(.*?)">(.*?)</g)].map(([, ...row]) => row);
  };
  const all = {
    listRouters,
    describeConfiguration,
    ...createProcess({ sinks, spool: { ...SPOOL, secondsToFull: 7200 } }),
  };
  expect(await list(all)).toEqual([
    ['bad', '?state=loss', '1 router may lose log lines'],
    ['bad', 'sinks', '1 of 2 sinks down: search'],
    ['bad', 'config', 'The last reload failed: 2 faults'],
    ['warn', 'sinks', 'The spool is full in 2 h at its present growth'],
    ['warn', 'logs/positions?sort=-gaps', '1,234 log gaps'],
    ['warn', 'dead-letters', '3 dead letters'],
  ]);
  expect(await list({ listRouters })).toEqual([
    ['bad', '?state=loss', '1 router may lose log lines'],
    ['warn', 'logs/positions?sort=-gaps', '1,234 log gaps'],
    ['warn', '?state=certificate', '1 certificate of routers expires within 30 days'],
    ['warn', '?state=drift', '1 router with a changed profile or an unexpected configuration'],
    ['warn', '?state=rebooted', '2 routers restarted within the last hour'],
  ]);
  for (const [state, names] of [
    ['loss', ['r-0001']],
    ['certificate', ['r-0002']],
    ['drift', ['r-0003']],
    ['rebooted', ['r-0005', 'r-0004']],
  ] as const) {
    expect(readNames(await read(`/?state=${state}`, { listRouters }))).toEqual(names);
  }
  const dark = [{ labels: { site: 'a & b' } }, { labels: { site: 'a & b' } }, { labels: { site: 'c' } }];
  const three = createRouters(3, (index) => ({ ...createDown('connect', 'x'), ...dark[index] }));
  expect(await list({ listRouters: () => three })).toEqual([
    ['bad', '?site=a%20%26%20b', 'All routers are down at a &amp; b'],
  ]);
  // An outage is the first of six.
  const down = { ...all, listRouters: () => [...listRouters(), ...createRouters(9, () => createDown('connect', 'x'))] };
  expect(await list(down)).toHaveLength(5);
  expect(await list({})).toEqual([]);
  const paused = await list(createProcess({ spool: { ...SPOOL, isHeldBack: true } }));
  expect(paused).toEqual([['bad', 'sinks', 'Log reading is paused: records cannot be stored']]);
  const share = await list(createProcess({ spool: { ...SPOOL, routersHeldBack: ['plant-7'] } }));
  expect(share).toEqual([['bad', 'sinks', 'Log reading is paused for 1 of 1 router: their records fill the spool']]);
  const broken = { at: soon, result: { ok: false as const, faults: ['x'] } };
  expect(
    await list({ describeConfiguration: () => ({ ...configuration, lastReload: null, pending: broken }) }),
  ).toEqual([['warn', 'config', 'A file has changed, and a reload would fail']]);
});

test('each site is a tile with its routers, its last 24 hours and its traffic, the worst first, and filters the table', async () => {
  const listRouters = () =>
    createRouters(9, (index) => ({
      labels: index < 6 ? { site: index < 3 ? 'nord' : 'süd & west' } : {},
      device: index === 8 ? NO_DEVICE : { ...ROUTER.device, operator: 'A1' },
      ...(index > 3 && index < 6 && createDown('connect', 'x')),
      availability: index > 3 && index < 6 ? 'uuuudddd' : index > 5 ? '---uuuuu' : 'uuuuuuuu',
      use: { ...ROUTER.use, agent: 1e6, ...(index < 3 && { used: 1e9, limit: 5e9, forecast: 6e9 }) },
    }));
  const page = await read('/', { listRouters });
  const [text = ''] = /<ul class="sites".*?<\/ul>/s.exec(page) ?? [];
  const tiles = [...text.matchAll(/href="(.*?)".*?<bdi>(.*?)<\/bdi><\/strong> (.*?)<svg .*?aria-label="(.*?)"/gs)];
  expect(tiles.map(([, href, name, counts = '', band]) => [href, name, counts.replaceAll(/<.*?>/g, ''), band])).toEqual(
    [
      [
        '?site=s%C3%BCd+%26+west',
        'süd &amp; west',
        '1 up, 2 down',
        'Routers were down in 4 of 8 steps of 12 min in the last 24 h',
      ],
      ['?site=A1', 'A1', '2 up', 'No router was down in what was watched of the last 24 h'],
      ['?site=nord', 'nord', '3 up', 'No router was down in what was watched of the last 24 h'],
    ],
  );
  const traffic = [...text.matchAll(/<span class="(\w+)" title="([^"]*)">([^<]*)<\/span><\/a>/g)];
  expect(traffic.map((match) => match.slice(1))).toEqual([
    ['soft', 'This month, by the agent', '2.9 MiB'],
    ['soft', 'This month, by the agent', '1.9 MiB'],
    ['warn', 'Data plans, 16.8 GiB forecast', '2.8 GiB of 14.0 GiB'],
  ]);
  // What was before the first poll has its place.
  expect([...text.matchAll(/viewBox="0 0 (\d+) /g)].map(([, width]) => width)).toEqual(['8', '8', '8']);
  // Two of three were down: more than half.
  expect(text).toContain('<path class="down" d="M4 0h4v14h-4z"/>');
  const site = await read('/?site=A1', { listRouters });
  expect(readNames(site)).toEqual(['r-0007', 'r-0008']);
  expect(site).toContain('<a href="?" title="A1" aria-current="true">');
  expect(site).toContain('<option value="A1" selected>A1 (2)</option>');
  expect(
    await read('/', { listRouters: () => createRouters(2, () => ({ labels: {}, device: NO_DEVICE })) }),
  ).not.toContain('class="sites"');
  const many = await read('/', {
    listRouters: () => createRouters(30, (index) => ({ labels: { site: `s-${index}` } })),
  });
  expect(many.match(/href="\?site=/g)).toHaveLength(24);
  expect(many).toContain('<a href="?sort=site">and 6 more sites</a>');
});

test('title and favicon say how many routers are down, and the worst state', async () => {
  const headOf = async (change: Partial<ListedRouter>, count = 3) => {
    const page = await read('/', { listRouters: () => createRouters(count, () => change) });
    const [, title, colour] = /<title>(.*?) – .*?fill%3D%22%23(\w+)%22/s.exec(page) ?? [];
    return [title, colour];
  };
  expect(await headOf({})).toEqual(['Fleet', '2da44e']);
  expect(await headOf(createDown('connect', 'x'))).toEqual(['(3 down) Fleet', 'd1242f']);
  expect(await headOf({ fault: { step: 'http', resource: 'lte2', error: 'x' } })).toEqual(['Fleet', 'bf8700']);
  expect(await headOf({}, 0)).toEqual(['Fleet', '8c959f']);
});

test('names are sorted as numbers, and signals of all kinds by their grades', async () => {
  const names = ['r-10', 'r-9', 'r-09', 'r-1x', 'q-2'];
  const listRouters = () => createRouters(5, (index) => ({ name: names[index] ?? '' }));
  expect(readNames(await read('/?sort=name', { listRouters }))).toEqual(['q-2', 'r-1x', 'r-09', 'r-9', 'r-10']);
  const signals = [
    ['rsrp', -92],
    ['rssi', -92],
    ['csq', 8],
    ['rsrp', -104],
    ['rssi', -60],
  ] as const;
  const listSignals = () =>
    createRouters(6, (index) => {
      const [kind, value] = signals[index] ?? [];
      return { device: { ...ROUTER.device, signal: kind ? { kind, value: value ?? 0 } : null } };
    });
  expect(readNames(await read('/?sort=signal', { listRouters: listSignals }))).toEqual([
    'r-0003',
    'r-0002',
    'r-0004',
    'r-0001',
    'r-0005',
    'r-0006',
  ]);
});

test('the last hours of a router end at the edge, and the mark of now is not cut there', async () => {
  const page = await read('/', { listRouters: () => createRouters(1, () => ({ availability: 'ud' })) });
  const [, width, path] = /<td[^>]*c-spark">.*?viewBox="0 0 (\d+) .*?<path class="down" d="M(\d+)/s.exec(page) ?? [];
  expect([width, path]).toEqual(['2', '1']);
  const css = readFileSync(new URL('../../../src/web/assets/pages.css', import.meta.url), 'utf8');
  expect(css).toMatch(/^\.spark \{[^}]*overflow: visible;/m);
});

test('events of the last 24 hours are below the table, of a site and a kind by the address, kept by links and forms', async () => {
  const asked: EventQuery[] = [];
  const event = { at: '1970-01-01T00:00:00.000Z', labels: {}, uid: 'u1', message: EVIL, details: {} };
  const listEvents = (query: EventQuery) => {
    asked.push(query);
    return [{ ...event, kind: 'router.down', router: 'r-0001' }];
  };
  const since = '1969-12-31T00:00:00.000Z';
  const page = await read('/', { listEvents });
  const [section = ''] = /<h2 id="events">.*/s.exec(page) ?? [];
  expect(section).toContain('Events of the last 24 h</h2>');
  expect(section).toContain('router.down</span>');
  expect(section).toContain('href="router/r-0001?view=events"');
  expect(section).not.toContain('<script>');
  expect(section).toContain(`href="api/v1/events?since=${encodeURIComponent(since)}"`);
  const some = await read('/?site=nord&event_kind=log.*&sort=name', { listEvents });
  expect(some).toContain('Events of the last 24 h at <bdi>nord</bdi>');
  expect(some).toContain(
    '<a href="?site=nord&amp;sort=name&amp;event_kind=log.*#events" aria-current="true">log.*</a>',
  );
  expect(some).toContain('<a href="?site=nord&amp;sort=name#events">all</a>');
  expect(some).toContain('<input type="hidden" name="event_kind" value="log.*">');
  expect(some).toContain(`api/v1/events?since=${encodeURIComponent(since)}&amp;site=nord&amp;kind=log.*"`);
  await read('/?label=site%3Ds%C3%BCd', { listEvents });
  expect(asked).toEqual([
    { since, max: 20 },
    { since, site: 'nord', kind: 'log.*', max: 20 },
    { since, site: 'süd', max: 20 },
  ]);
});
