import { expect, test } from 'vitest';
import type { LogLine, RecordPage, RecordQuery, WebContent } from '../../../src/web/index.ts';
import { ask, DETAIL } from '../bench.ts';
import { EVIL, read } from './page-bench.ts';

function lineOf(change: Partial<LogLine>): LogLine {
  const time = '2026-11-21T12:00:00.000000018Z';
  return {
    router: 'plant-7',
    timestamp: time,
    observedTimestamp: '2026-11-21T12:00:31.412Z',
    time,
    component: 'network',
    tag: 'wan',
    severity: 'warning',
    message: 'eth0 is down',
    uid: 'k7d2m4q2x4t5h7ca-00000e2f',
    event: null,
    gap: null,
    ...change,
  };
}

const GAP = { certainty: 'certain', reason: 'expired', from: null, to: null, bytesMin: null, gapUid: null };

/** Content with these lines; `asked` gets what pages ask for. */
function contentOf(records: readonly LogLine[], page: Partial<RecordPage> = {}, asked: RecordQuery[] = []) {
  return {
    describeRouter: () => DETAIL,
    readRecords: (query) => {
      asked.push(query);
      return Promise.resolve({ records, next: null, searchedTo: null, fault: null, ...page });
    },
  } satisfies Partial<WebContent>;
}

function readItems(page: string): string[] {
  const list = /<ol class="lines(?: own)?">(.*?)<\/ol>/s.exec(page)?.[1] ?? '';
  return list
    .split('</li>')
    .map((item) =>
      item
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((text) => text !== '');
}

test('the page of a router shows the last lines of all its logs, and its positions in another tab', async () => {
  const records = [lineOf({}), lineOf({ component: 'system', severity: null, message: 'second' })];
  const page = await read('/router/plant-7?view=logs', contentOf(records));
  expect(readItems(page)).toEqual([
    '2026-11-21 12:00:00 network warning eth0 is down',
    '2026-11-21 12:00:00 system second',
  ]);
  expect(page).toContain('<a href="../router/plant-7?view=positions">Read progress</a>');
  expect(page).not.toContain('Log positions');
  const asked: RecordQuery[] = [];
  const positions = await read('/router/plant-7?view=positions', contentOf(records, {}, asked));
  expect(positions).toContain('<caption>Log positions');
  expect(positions).toContain('<a href="../router/plant-7?view=logs">Lines</a>');
  expect([readItems(positions), asked]).toEqual([[], []]);
});

test('the page of all logs names the router of each line, and says when other processes are not known', async () => {
  const page = await read('/logs', contentOf([lineOf({ router: 'a/b' })]));
  expect(readItems(page)).toEqual(['2026-11-21 12:00:00 a/b network warning eth0 is down']);
  expect(page).toContain('href="router/a%2Fb?view=logs"');
  expect(page).not.toMatch(/alone|type="search"|>Older|name="severity"/);
  const shards = { index: 1, total: 3, peers: [], others: new Map() };
  const shared = await read('/logs', { ...contentOf([]), describeShards: () => shards });
  expect(shared).toContain('Lines of the routers of this process (1 of 3) alone: list all processes in');
});

test('where Grafana is known, a link leads to the lines of the fleet, or of the router, in its Explore', async () => {
  const content = { ...contentOf([lineOf({})]), findGrafana: () => 'https://grafana.example.com' };
  for (const [path, expr] of [
    ['/logs', '{service_name="router-exporter"}'],
    ['/router/plant-7?view=logs', '{service_name="router-exporter"} | router="plant-7"'],
  ] as const) {
    const link = /href="(https:\/\/grafana\.example\.com\/explore[^"]*)"/.exec(await read(path, content))?.[1] ?? '';
    const panes = JSON.parse(new URL(link.replaceAll('&amp;', '&')).searchParams.get('panes') ?? '');
    expect(panes.lines.queries).toEqual([{ refId: 'A', expr }]);
  }
  expect(await read('/logs', contentOf([]))).not.toContain('/explore');
});

test('a line of another day than the one above stands below that day', async () => {
  const dayOf = (day: string) =>
    lineOf({ time: `${day}T12:00:00.000000018Z`, timestamp: `${day}T12:00:00Z`, uid: day });
  const days = ['2026-11-21', '2026-11-21', '2026-11-20', '2026-11-18'];
  const page = await read('/router/plant-7?view=logs', contentOf(days.map(dayOf)));
  expect(readItems(page).map((text) => text.slice(0, 13).trim())).toEqual([
    '2026-11-21 12',
    '2026-11-21 12',
    '2026-11-20',
    '2026-11-20 12',
    '2026-11-18',
    '2026-11-18 12',
  ]);
});

test('a gap shows both its ends, from one record or from two', async () => {
  const records = [
    lineOf({
      event: 'log.gap_end',
      uid: 'e',
      gap: { ...GAP, certainty: null, to: '2026-11-21T12:00:00.000Z', gapUid: 'g' },
    }),
    lineOf({
      event: 'log.gap',
      uid: 'g',
      message: 'Log lines are missing: because',
      gap: { ...GAP, from: '2026-11-21T11:00:00.000Z', bytesMin: 2048 },
    }),
    lineOf({ event: 'log.gap', uid: 'open', message: 'm', gap: { ...GAP, certainty: 'likely' } }),
  ];
  expect(readItems(await read('/router/plant-7?view=logs', contentOf(records)))).toEqual([
    '2026-11-21 12:00:00 network The gap ends. From 2026-11-21 11:00:00 to 2026-11-21 12:00:00.',
    '2026-11-21 12:00:00 network Lines are missing, at least 2.0 KiB. From 2026-11-21 11:00:00 to 2026-11-21 12:00:00. Log lines are missing: because (certain)',
    '2026-11-21 12:00:00 network Lines are missing. From an unknown time to an unknown time. m (likely)',
  ]);
});

test('filters are in the address, in the form and in the links to older lines', async () => {
  const asked: RecordQuery[] = [];
  const content = contentOf([lineOf({})], { next: '2026-11-21T12:00:00Z_7_0', searchedTo: null }, asked);
  const path = '/router/plant-7?view=logs&component=network&severity=error%2B&q=eth0+down';
  const page = await read(path, content);
  const severities = ['emergency', 'alert', 'critical', 'error'];
  expect(asked).toEqual([
    { router: 'plant-7', components: ['network'], severities, search: 'eth0 down', before: undefined, limit: 100 },
  ]);
  for (const text of [
    'name="q" value="eth0 down"',
    '<option value="network" selected>network</option>',
    '<option value="error+" selected>error and worse</option>',
    'href="?view=logs&amp;q=eth0+down&amp;component=network&amp;severity=error%2B&amp;before=2026-11-21T12%3A00%3A00Z_7_0">Older lines',
  ]) {
    expect(page).toContain(text);
  }
  await read('/router/plant-7?view=logs&severity=none&severity=bogus&limit=9999&before=x', content);
  expect(asked[1]).toEqual({
    router: 'plant-7',
    components: [],
    severities: ['none'],
    search: '',
    before: 'x',
    limit: 500,
  });
  const older = await read('/router/plant-7?view=logs&before=x', content);
  expect(older).toContain('>Newest lines</a>');
  expect(older).toContain('Older 1 line,');
});

test('a search that found nothing yet says how far it came, and a store that cannot be read is said', async () => {
  const searched = await read(
    '/router/plant-7?view=logs&q=x',
    contentOf([], { next: 'n', searchedTo: '2026-11-21T12:00:00.000000000Z' }),
  );
  expect(searched).toContain('No matching lines down to <time');
  expect(searched).toContain('>Older lines</a>');
  expect(await read('/logs', contentOf([], { fault: 'The disk <fails>' }))).toContain('The disk &lt;fails&gt;');
});

test('a long message is cut with the whole behind it, and everything in lines is escaped', async () => {
  const long = `begin ${'x'.repeat(5000)} end`;
  expect(await read('/logs', contentOf([lineOf({ message: long })]))).toContain(`<bdi>${long}</bdi></details>`);
  const evil = lineOf({
    router: EVIL,
    timestamp: EVIL,
    time: EVIL,
    component: EVIL,
    severity: EVIL,
    message: EVIL,
    uid: EVIL,
  });
  const gap = { certainty: EVIL, reason: EVIL, from: EVIL, to: EVIL, bytesMin: null, gapUid: null };
  const records = [evil, lineOf({ ...evil, message: EVIL.repeat(100) }), lineOf({ ...evil, event: 'log.gap', gap })];
  for (const path of [
    '/logs',
    '/router/plant-7',
    `/router/plant-7?view=logs&q=${encodeURIComponent(EVIL)}&component=${encodeURIComponent(EVIL)}`,
  ]) {
    const page = await read(path, contentOf(records, { next: EVIL, searchedTo: EVIL, fault: EVIL }));
    expect(page.match(/<script/g)).toEqual(['<script']);
    expect(page).toContain('&lt;script&gt;');
    // A field of the form has what was typed.
    if (!path.includes('?')) expect(page).not.toContain('\u202e');
  }
});

test('the JSON interface answers with records of the fleet, of a router, and not of one that there is not', async () => {
  const asked: RecordQuery[] = [];
  const content = contentOf([lineOf({})], { next: 'n' }, asked);
  const own = await ask('/api/v1/routers/plant-7/records?limit=5&severity=warning', { content });
  expect(JSON.parse(own.text)).toEqual({ records: [lineOf({})], next: 'n', searchedTo: null, fault: null });
  expect(asked[0]).toMatchObject({ router: 'plant-7', limit: 5, severities: ['warning'] });
  expect((await ask('/api/v1/records?limit=-1', { content })).status).toBe(200);
  expect(asked[1]).toEqual({ components: [], severities: [], search: '', limit: 100 });
  for (const filter of ['component=network', 'severity=error', 'q=down', 'before=x']) {
    const { status, text } = await ask(`/api/v1/records?${filter}`, { content });
    expect([status, text]).toEqual([400, expect.stringContaining('ask for /api/v1/routers/NAME/records')]);
  }
  expect((await ask('/api/v1/routers/nobody/records', { content })).status).toBe(404);
  const { text } = await ask('/api/v1/routers/plant-7', { content });
  expect(JSON.parse(text).recentRecords).toEqual([
    { timestamp: lineOf({}).timestamp, component: 'network', severity: 'warning', message: 'eth0 is down' },
  ]);
});
