import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { LogRow } from '../../../src/web/index.ts';
import { ask, DETAIL, SINK } from '../bench.ts';
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
  const page = await read('/logs', { listLogs });
  expect([readCaption(page), readNames(page)[0]]).toEqual(['Logs 1 to 100 of 1,000', 'r-0000']);
  expect(page).toContain('1,000 logs followed; <strong class="warn">2 gaps</strong> found');
  expect(readNames(await read('/logs?sort=-lag', { listLogs }))[0]).toBe('r-0999');
  expect(readRows(await read('/logs?q=r-0007+SYSTEM', { listLogs }))).toEqual([
    ['r-0007', 'system', '7 s', '–', '2', expect.any(String), 'network/current at 1,000', '10', '1000 B', '0', '3'],
  ]);
  expect(readNames(await read('/logs?q=r-0007+network', { listLogs }))).toEqual(['No log matches.']);
});

test('a log that will soon lose lines stands out, and without logs the page says why', async () => {
  const listLogs = () => createLogs(2, (index) => ({ secondsToLoss: index === 0 ? 3599 : 3600 }));
  const page = await read('/logs', { listLogs });
  expect(page).toContain('<strong class="bad">60 min</strong>'.replace('60 min', '1 h'));
  expect(page.match(/class="bad"/g)).toHaveLength(1);
  expect(readNames(await read('/logs'))).toEqual(['No log was read. Logs are read only when a sink is configured.']);
});

test('the sinks show lag, waiting records, dead letters and errors, and the spool how full it is', async () => {
  const down = {
    ...SINK,
    name: 'search',
    state: 'down' as const,
    lagSeconds: 7200,
    recordsWaiting: 12_345,
    deadLetters: 3,
    error: 'Refused',
  };
  const describeSpool = () => ({ records: 1, bytes: 1024, bytesMax: 4096, isHeldBack: true, routersHeldBack: [] });
  const page = await read('/sinks', { listSinks: () => [SINK, down], describeSpool });
  expect(readRows(page)[1]).toEqual([
    'search',
    'loki',
    'down',
    '2 h',
    '12,345',
    '100',
    '3',
    expect.any(String),
    'Refused',
  ]);
  expect(page).toContain('1 record waiting, in 1.0 KiB of 4.0 KiB');
  expect(page).toContain('Log reading is paused');
  expect(page).toContain('dead-letters list');
  expect(await read('/sinks', { listSinks: () => [SINK] })).not.toMatch(/dead-letters|is paused/);
});

test('the sinks name the first ten routers whose logs are not read because of their share of the spool', async () => {
  const routersHeldBack = Array.from({ length: 12 }, (_, index) => `plant-${index}`);
  const describeSpool = () => ({ records: 1, bytes: 1024, bytesMax: 4096, isHeldBack: false, routersHeldBack });
  const page = await read('/sinks', { listSinks: () => [SINK], describeSpool });
  expect(page).toContain('Log reading is paused for 12 routers:');
  expect(page).toContain('plant-8, plant-9, 2 more.');
});

test('the configuration stands there with the first routers, each with a link to its page', async () => {
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

test('all pages escape what comes from outside', async () => {
  const content = {
    listRouters: () => createRouters(1, () => ({ name: EVIL })),
    listLogs: () =>
      createLogs(1, () => ({ router: EVIL, component: EVIL, newest: EVIL, position: { file: EVIL, offset: 0 } })),
    listSinks: () => [{ ...SINK, name: EVIL, type: EVIL, error: EVIL, lastSuccess: EVIL }],
    renderConfig: () => EVIL,
    renderRouterConfig: () => EVIL,
  };
  for (const path of ['/logs', '/sinks', '/config', `/logs?q=${encodeURIComponent(EVIL)}`]) {
    const page = await read(path, content);
    expect([path, page.match(/<script/g)]).toEqual([path, ['<script']]);
    expect(page).toContain('&lt;script&gt;');
  }
});

test.for(['/', '/router/plant-7', '/router/nobody', '/logs', '/sinks', '/config'])(
  '%s runs its own script and style alone, loads nothing, and is shown in no frame',
  async (path) => {
    const { headers, text } = await ask(path, {
      content: { describeRouter: (name) => (name === 'plant-7' ? DETAIL : undefined) },
    });
    const policy = headers.get('content-security-policy')?.split('; ') ?? [];
    const hashOf = (tag: string) => {
      const content = new RegExp(`<${tag}(?: type="module")?>(.*?)</${tag}>`, 's').exec(text)?.[1] ?? '';
      return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    };
    expect(policy).toEqual([
      "default-src 'none'",
      `style-src ${hashOf('style')}`,
      `script-src ${hashOf('script')}`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ]);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(text).not.toMatch(/ (style|on\w+)="| (src|href)="https?:/);
  },
);
