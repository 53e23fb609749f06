import { expect, test } from 'vitest';
import type {
  ConfigurationSummary,
  DeadLetterSummary,
  LogRow,
  PlanSummary,
  SourceSummary,
  SpoolSummary,
  WebContent,
} from '../../../src/web/index.ts';
import { ask, createProcess, DETAIL, SINK } from '../bench.ts';
import { createRouters, EVIL, read, readCaption, readNames, readRows } from './page-bench.ts';

function createLogs(count: number, change: (index: number) => Partial<LogRow> = () => ({})): LogRow[] {
  return DETAIL.logs.flatMap((log) =>
    Array.from({ length: count }, (_, index) => ({
      ...log,
      router: `r-${String(index).padStart(4, '0')}`,
      ...change(index),
    })),
  );
}

test('the logs of all routers are searched, sorted and paged', async () => {
  const listLogs = () =>
    createLogs(1000, (index) => ({
      lagSeconds: index,
      gaps: index === 7 ? 2 : 0,
      component: index % 2 === 0 ? 'network' : 'system',
    })).toReversed();
  const page = await read('/logs/positions', { listLogs });
  expect([readCaption(page), readNames(page)[0]]).toEqual(['Logs 1 to 100 of 1,000', 'r-0000']);
  expect(page).toContain('1,000 logs followed; <strong class="warn">2 gaps</strong> found');
  expect(page).toContain('<a href="../router/r-0007?view=positions#gaps"><strong class="warn">2</strong></a>');
  expect(readNames(await read('/logs/positions?sort=-lag', { listLogs }))[0]).toBe('r-0999');
  expect(readRows(await read('/logs/positions?q=r-0007+SYSTEM', { listLogs }))).toEqual([
    ['r-0007', 'system', '7 s', '–', '2', '', expect.any(String), 'network/current at 1,000', '10', '1000 B', '0', '3'],
  ]);
  expect(readNames(await read('/logs/positions?q=r-0007+network', { listLogs }))).toEqual(['No log matches.']);
});

test('a log that waits for a file, or may have lost lines, says why and since when', async () => {
  const listLogs = () =>
    createLogs(5, (index) => ({
      ...(index === 4 && { unshipped: { state: 'reversed', message: 'network/current has its newest line first' } }),
      gapAt: index === 0 ? '2026-11-21T12:14:30.000Z' : index === 1 ? '1969-12-31T23:00:00.000Z' : null,
      ...(index === 2 && { secondsToLoss: 840, lagSeconds: 2000, lossSince: '2026-11-21T11:34:20.000Z' }),
    }));
  const notes = readRows(await read('/logs/positions', { listLogs })).map((row) => [row[3], row[5]]);
  const waiting = 'waiting for a rotated file; counted as a gap';
  expect(notes).toEqual([
    ['–', `${waiting} at 12:14 unless it is found`],
    ['–', `${waiting} at the next reading unless it is found`],
    ['overdue', 'lines may be lost since 11:34:20'],
    ['–', ''],
    ['–', 'lines are not shipped: network/current has its newest line first'],
  ]);
});

test('a log that will soon lose lines is highlighted, and without logs the page says why', async () => {
  const listLogs = () => createLogs(2, (index) => ({ lagSeconds: index === 0 ? 281 : 16, secondsToLoss: 840 }));
  const page = await read('/logs/positions', { listLogs });
  expect(page).toContain('<strong class="bad">14 min</strong>');
  expect(page.match(/class="bad"/g)).toHaveLength(1);
  expect(readNames(await read('/logs/positions'))).toEqual([
    'No log was read since the start. Logs are read only with a sink.',
  ]);
});

test('a sink that never delivered says since when, and the headings say what is kept and what is not', async () => {
  const sink = { ...SINK, lastSuccess: null, startedAt: '1969-12-31T23:17:00.000Z' };
  const page = await read('/sinks', createProcess({ sinks: [sink] }));
  expect(readRows(page)[0]?.[8]).toBe('never since the start at 23:17:00');
  expect(page).toContain('title="Kept in the spool until the sink accepts them: not lost">Waiting</th>');
  expect(page).toContain(
    'title="Records that the sink rejected permanently: not retried until you replay them">Dead letters',
  );
});

test('the sinks show lag, waiting records, dead letters and errors, and the spool how full it is', async () => {
  const down = {
    ...SINK,
    name: 'search',
    state: 'down' as const,
    since: '1969-12-31T23:40:00.000Z',
    lagSeconds: 7200,
    recordsWaiting: 12_345,
    deadLetters: 3,
    error: 'Refused',
    reason: 'protocol_error',
    lastFailure: { at: '1970-01-01T00:00:00.000Z', error: 'Refused' },
  };
  const spool = {
    records: 1,
    bytes: 1024,
    bytesMax: 4096,
    secondsToFull: 5400,
    isHeldBack: true,
    routersHeldBack: [],
  };
  const page = await read('/sinks', createProcess({ sinks: [SINK, down], spool }));
  expect(readRows(page)[1]).toEqual([
    'search',
    'loki',
    'down (protocol_error) since 23:40 (20 min)',
    '2.5',
    '100',
    '12,345',
    '2 h',
    '3',
    expect.any(String),
    '0 s ago: Refused',
  ]);
  expect(page).toContain('1 record waiting, in 1.0 KiB of 4.0 KiB');
  expect(page).toContain('Log reading is paused');
  expect(page).toContain('<span class="bad">Full in 1 h 30 min at the growth');
  expect(page).toContain('<a href="dead-letters?sink=search">');
  expect(await read('/sinks', createProcess({ sinks: [SINK] }))).not.toMatch(/dead-letters|is paused|Full in/);
});

test.for<[spool: Partial<SpoolSummary>, text: string]>([
  [{ bytes: 4096, secondsToFull: 0 }, '<strong class="bad">It is full.</strong>'],
  [{ bytes: 5000, secondsToFull: null }, '<strong class="bad">It is full.</strong>'],
  [{ bytes: 0, secondsToFull: null }, 'No growth was measured in the last 10 min.'],
  [{ bytes: 10, secondsToFull: 6 * 3600 - 60 }, '<span class="bad">Full in 5 h 59 min'],
  [{ bytes: 10, secondsToFull: 6 * 3600 }, '<span class="soft">Full in 6 h'],
  [{ bytes: 10, secondsToFull: 4e9 }, 'It grows slowly: not full within 30 days.'],
])('the sinks page says when the spool is full: %j', async ([spool, text]) => {
  const whole = { records: 1, bytesMax: 4096, isHeldBack: false, routersHeldBack: [], bytes: 0, secondsToFull: null };
  const page = await read('/sinks', createProcess({ spool: { ...whole, ...spool } }));
  expect(page).toContain(text);
});

test('the sinks name the first ten routers whose logs are not read because of their share of the spool', async () => {
  const routersHeldBack = Array.from({ length: 12 }, (_, index) => `plant-${index}`);
  const spool = {
    records: 1,
    bytes: 1024,
    bytesMax: 4096,
    secondsToFull: null,
    isHeldBack: false,
    routersHeldBack,
  };
  const page = await read('/sinks', createProcess({ sinks: [SINK], spool }));
  expect(page).toContain('Log reading is paused for 12 routers:');
  expect(page).toContain('plant-8, plant-9, 2 more.');
});

const LETTER: DeadLetterSummary = {
  id: 17,
  sink: 'search',
  at: '1969-12-31T23:59:00.000Z',
  router: 'plant-7',
  component: 'network',
  timestamp: '1969-12-31T23:00:00.000Z',
  code: '400',
  reason: 'mapper_parsing_exception',
  isReplayed: false,
};

test('dead letters are listed with their reasons, by sink and page by page', async () => {
  const asked: unknown[] = [];
  const listDeadLetters: WebContent['listDeadLetters'] = (selection) => {
    asked.push(selection);
    const counts = [
      ['loki', 1],
      ['search', 2000],
    ] as const;
    return { letters: [LETTER, { ...LETTER, id: 16, isReplayed: true }], hasMore: true, counts, fault: null };
  };
  const page = await read('/dead-letters?sink=search&before=18', { listDeadLetters });
  expect(asked).toEqual([{ sink: 'search', limit: 50, before: 18 }]);
  expect(readCaption(page)).toBe('2,000 dead letters of search, newest first');
  expect(readRows(page)).toEqual([
    ['17', 'search', '60 s ago', 'plant-7', 'network', '400', 'mapper_parsing_exception'],
    ['16', 'search', '60 s ago', 'plant-7', 'network', '400', 'mapper_parsing_exception (marked for replay)'],
  ]);
  expect(page).toContain('<a rel="next" href="?sink=search&amp;before=16">Older</a>');
  expect(page).toContain('<a href="?sink=search">Newest</a>');
  expect(page).toContain('dead-letters replay --all --sink search');
  const whole = await read('/dead-letters?before=x', { listDeadLetters });
  expect(asked.at(-1)).toEqual({ sink: undefined, limit: 50, before: undefined });
  expect(readCaption(whole)).toBe('2,001 dead letters, newest first');
  const locked = () => ({ letters: [], hasMore: false, counts: [], fault: 'Locked' });
  expect(await read('/dead-letters', { listDeadLetters: locked })).toContain(
    '<strong>Dead letters cannot be read now:</strong> Locked',
  );
});

test('the page of a dead letter shows its whole record and the command that retries it', async () => {
  const findDeadLetter = (id: number) => (id === 17 ? { ...LETTER, record: '{"message":"<b>","n":[1]}' } : undefined);
  const page = await read('/dead-letters/17', { findDeadLetter });
  expect(page).toContain('<strong>search rejected this record (400):</strong> mapper_parsing_exception');
  expect(page).toContain('{\n  &quot;message&quot;: &quot;&lt;b&gt;&quot;,\n  &quot;n&quot;: [\n    1\n  ]\n}</pre>');
  expect(page).toContain('<code>router-exporter dead-letters replay 17</code>');
  expect(page).toContain('<a href="../router/plant-7">');
  const long = await read('/dead-letters/1', {
    findDeadLetter: () => ({ ...LETTER, id: 1, record: 'x'.repeat(70_000) }),
  });
  expect(long).toContain('The first 65,536 of 70,000 characters');
  expect(long).toContain(`${'x'.repeat(65_536)}…</pre>`);
  const { status, text } = await ask('/dead-letters/18', { content: { findDeadLetter } });
  expect([status, text]).toEqual([404, expect.stringContaining('No such dead letter')]);
  const locked = await ask('/dead-letters/17', { content: { findDeadLetter: () => ({ fault: 'Locked <b>' }) } });
  expect([locked.status, locked.text]).toEqual([
    503,
    expect.stringContaining('cannot be read now:</strong> Locked &lt;b'),
  ]);
});

test('the configuration page shows the first routers, each with a link to its page', async () => {
  const asked: string[] = [];
  const content = {
    listRouters: () => createRouters(2000).toReversed(),
    renderConfig: () => 'web:\n  listen: "<b>"\n',
    renderRouterConfig: (name: string) => {
      asked.push(name);
      return `name: ${name}\n`;
    },
  };
  const page = await read('/config', content);
  expect(page).toContain('web:\n  listen: &quot;&lt;b&gt;&quot;\n');
  expect(page).toContain('2,000 routers. The first 20 are listed');
  expect(page).toContain('<a href="router/r-0020">');
  expect([asked.length, asked[0]]).toEqual([20, 'r-0001']);
});

const SOURCE: SourceSummary = {
  name: 'netbox',
  state: 'up',
  lastSuccess: '1969-12-31T23:59:00.000Z',
  error: null,
  routers: 40,
  refused: 0,
  refusals: [],
  held: null,
};

test('the configuration begins with its last reload, warnings and the sources of routers', async () => {
  const held = { ...SOURCE, name: 'csv', state: 'down' as const, error: 'Timed out', refused: 2, refusals: ['Name'] };
  const describeConfiguration = (): ConfigurationSummary => ({
    loadedAt: '1969-12-31T22:00:00.000Z',
    lastReload: { at: '1969-12-31T23:00:00.000Z', faults: Array.from({ length: 22 }, (_, n) => `f.yaml:${n}: Bad`) },
    pending: null,
    warnings: ['secrets.yaml: Others can read this file'],
    sources: [SOURCE, { ...held, held: { missing: 12, of: 40 } }],
  });
  const page = await read('/config', { describeConfiguration });
  expect(page).toMatch(
    /Loaded <time [^>]*>2 h ago<\/time>\. <strong class="bad">The last reload, <time [^>]*>1 h ago<\/time>, failed/,
  );
  expect(page).toContain('<li>f.yaml:19: Bad</li><li class="soft">2 more</li>');
  expect(page).toContain('<h2>Warnings</h2>\n<ul><li>secrets.yaml: Others can read this file</li></ul>');
  expect(readRows(page)).toEqual([
    ['netbox', 'up', '60 s ago', '40', '0', '0', ''],
    ['csv', 'down', '60 s ago', '40', '2', '12', 'Timed out; Name'],
  ]);
  expect(page).toContain('The newest answer of csv lacks 12 of 40 routers, so it is not used.');
  expect(page).toContain('accept_removals=csv');
  const plain = await read('/config');
  expect(plain).toContain('Not reloaded since the agent started.');
  expect(plain).not.toMatch(/Warnings|Sources of routers|class="notice"/);
});

const NO_CHANGES: PlanSummary = {
  routers: {
    total: 40,
    added: { count: 0, names: [] },
    changed: { count: 0, routers: [] },
    removed: { count: 0, names: [] },
    reconnected: 0,
  },
  sections: [],
  needsRestart: [],
};

test('the configuration page shows what a reload would change after a file has changed', async () => {
  const show = async (pending: ConfigurationSummary['pending'], faults?: readonly string[]) => {
    const loadedAt = '1969-12-31T22:00:00.000Z';
    const lastReload = faults ? { at: loadedAt, faults } : null;
    const describeConfiguration = () => ({ loadedAt, lastReload, pending, warnings: [], sources: [] });
    const page = await read('/config', { describeConfiguration });
    return page.slice(page.indexOf('Loaded <time'), page.indexOf('<h2>The agent'));
  };
  const at = '1969-12-31T23:00:00.000Z';
  expect(await show(null)).not.toMatch(/changed|would/);
  expect(await show('unchanged')).toContain('Its files have not changed since.');
  expect(await show({ at, result: { ok: true, plan: NO_CHANGES } })).toContain('but a reload would change nothing');
  const names = Array.from({ length: 100 }, (_, index) => `new-${index}`);
  const plan: PlanSummary = {
    routers: {
      total: 3001,
      added: { count: 3000, names },
      changed: { count: 1, routers: [{ name: 'plant-7', keys: ['poll.interval', 'labels'] }] },
      removed: { count: 1, names: ['old'] },
      reconnected: 2,
    },
    sections: ['redact', 'sinks'],
    needsRestart: ['web.listen'],
  };
  const changes = await show({ at, result: { ok: true, plan } });
  expect(changes).toContain('<h2 id="pending">What a reload would change</h2>');
  expect(changes.match(/<li>.*?<\/li>/g)?.map((one) => one.replaceAll(/<[^>]+>/g, ''))).toEqual([
    `3,000 routers to be added: ${names.slice(0, 20).join(', ')} and 2,980 more`,
    '1 router to be changed: plant-7 (poll.interval, labels)',
    '1 router to be removed: old',
    '2 sessions to be restarted',
    'Sections that differ: redact, sinks',
    'Needs a restart of the agent: web.listen',
  ]);
  const refused = { at, result: { ok: false as const, faults: ['f.yaml:3: Bad'] } };
  expect(await show(refused)).toMatch(/a reload would fail.*<li>f.yaml:3: Bad<\/li>/s);
  // The reload that was tried with it has said so already.
  expect((await show(refused, ['f.yaml:3: Bad'])).match(/f.yaml:3: Bad/g)).toHaveLength(1);
});

test('all pages escape what comes from outside', async () => {
  const content = {
    listRouters: () => createRouters(1, () => ({ name: EVIL })),
    listLogs: () =>
      createLogs(1, () => ({ router: EVIL, component: EVIL, newest: EVIL, position: { file: EVIL, offset: 0 } })),
    ...createProcess({ sinks: [{ ...SINK, name: EVIL, type: EVIL, error: EVIL, lastSuccess: EVIL }] }),
    listDeadLetters: () => ({
      letters: [{ ...LETTER, sink: EVIL, router: EVIL, component: EVIL, code: EVIL, reason: EVIL }],
      hasMore: true,
      counts: [[EVIL, 1]] as const,
      fault: EVIL,
    }),
    findDeadLetter: () => ({
      ...LETTER,
      sink: EVIL,
      router: EVIL,
      component: EVIL,
      code: EVIL,
      reason: EVIL,
      record: EVIL,
    }),
    describeConfiguration: () => ({
      loadedAt: EVIL,
      lastReload: { at: EVIL, faults: [EVIL] },
      pending: {
        at: EVIL,
        result: {
          ok: true as const,
          plan: {
            ...NO_CHANGES,
            routers: {
              ...NO_CHANGES.routers,
              added: { count: 1, names: [EVIL] },
              changed: { count: 1, routers: [{ name: EVIL, keys: [EVIL] }] },
              removed: { count: 1, names: [EVIL] },
            },
            sections: [EVIL],
            needsRestart: [EVIL],
          },
        },
      },
      warnings: [EVIL],
      sources: [{ ...SOURCE, name: EVIL, error: EVIL, refusals: [EVIL], held: { missing: 1, of: 1 } }],
    }),
    renderConfig: () => EVIL,
    renderRouterConfig: () => EVIL,
  };
  for (const path of [
    '/logs/positions',
    '/sinks',
    '/dead-letters',
    `/dead-letters?sink=${encodeURIComponent(EVIL)}`,
    '/dead-letters/17',
    '/config',
  ]) {
    const page = await read(path, content);
    expect([path, page.match(/<script/g)]).toEqual([path, ['<script']]);
    expect(page).toContain('&lt;script&gt;');
  }
});

test.for(['/', '/router/plant-7', '/router/nobody', '/logs', '/logs/positions', '/sinks', '/dead-letters', '/config'])(
  '%s runs its own script and style alone, from files that are kept for as long as they are the same, and is shown in no frame',
  async (path) => {
    const content: Partial<WebContent> = { describeRouter: (name) => (name === 'plant-7' ? DETAIL : undefined) };
    const { headers, text } = await ask(path, { content });
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "style-src 'self'",
      "script-src 'self'",
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ]);
    const files = [...text.matchAll(/(?:href|src)="([^"]*assets[^"]*)"/g)].map(([, file = '']) => file);
    expect(files.map((file) => file.replace(/^.*assets\/|\?.*$/g, ''))).toEqual(['pages.css', 'pages.js']);
    for (const file of files) {
      const { pathname, search } = new URL(file, `http://localhost${path}`);
      const asset = await ask(pathname + search);
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, 'max-age=31536000, immutable']);
      expect(asset.headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      const again = await ask(pathname + search, {}, { headers: { 'if-none-match': asset.headers.get('etag') ?? '' } });
      expect(again.status).toBe(304);
      // Another version may have another text at this address.
      const other = await ask(`${pathname}?v=other`);
      expect([other.text, other.headers.get('cache-control')]).toEqual([asset.text, 'no-cache']);
    }
    expect(text).not.toMatch(/<style|<script(?! type="module" src=)/);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(text).not.toMatch(/ (style|on\w+)="| src="https?:|<link[^>]* href="https?:/);
  },
);
