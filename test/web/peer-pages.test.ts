import { expect, test } from 'vitest';
import { Secret } from '../../src/base/index.ts';
import type { DeadLetterDetail, LogRow, ProcessSummary, WebContent } from '../../src/web/index.ts';
import { createProcess, DETAIL, openBench, ROUTER, SINK } from './bench.ts';
import { createRouters, EVIL, readRows } from './pages/page-bench.ts';
import { createContent, OTHER, openPair, openPeer, readMain, renderRows } from './peer-bench.ts';

/** Counts of a process, the last one at `end`. */
function minutesOf(end: string, ...counts: readonly (readonly [up: number, down: number])[]) {
  return counts.map(([up, down], index) => {
    const at = new Date(Date.parse(end) - (counts.length - 1 - index) * 60_000).toISOString();
    return { at, up, down, stale: 0, other: 0 };
  });
}

const logOf = (router: string, gaps: number): LogRow[] => DETAIL.logs.map((log) => ({ ...log, router, gaps }));

const LETTER: DeadLetterDetail = {
  id: 17,
  sink: 'search',
  at: '2026-11-21T11:59:00.000Z',
  router: OTHER.name,
  component: 'network',
  timestamp: null,
  code: '400',
  reason: 'Refused there',
  isReplayed: false,
  record: '{"message":"there"}',
};

/** What a second process has. */
const SECOND: Partial<WebContent> = {
  ...createProcess({
    minutes: minutesOf('2026-11-21T11:58:00.000Z', [3, 1], [2, 2]),
    runs: { running: 3, waiting: 1, heldBack: 0, max: 512 },
    sinks: [{ ...SINK, state: 'down', recordsWaiting: 70, deadLetters: 1 }],
  }),
  findRouter: (name) => (name === OTHER.name ? { ...ROUTER, name, availability: 'uudd', gaps: 4 } : undefined),
  listLogs: () => logOf(OTHER.name, 4),
  listDeadLetters: ({ sink, before, limit }) => {
    const isShown = (sink ?? 'search') === 'search' && (before ?? 99) > 17;
    const counts = [['search', 2]] as const;
    return { letters: isShown ? [LETTER] : [], hasMore: limit < 50 && isShown, counts, fault: null };
  },
  findDeadLetter: (id) => (id === 17 ? LETTER : undefined),
};

test('the page of the fleet adds up last hours, gaps and runs of all processes, and says where a sink is down', async () => {
  await using pair = await openPair(
    createProcess({ minutes: minutesOf('2026-11-21T12:00:00.000Z', [1, 0], [1, 0], [0, 1]) }),
    SECOND,
  );
  const page = await pair.read('/');
  expect(page).toContain('Last 2 min: at most 3 down, at 12:00 UTC; now 3.');
  expect(page).toContain('>4 log gaps</a>');
  expect(page).toContain('Runs: 3 of at most 1,024 in progress, 1 waiting.');
  expect(page).toContain('>1 of 1 sink down: loki at process 1</a>');
  expect(page).not.toContain('does not answer');
  // Of both routers, one has a drawing of its last hours.
  expect(page.match(/c-spark"><svg class="spark"/g)).toHaveLength(1);
});

test('a mass outage is one sentence over the routers of all processes', async () => {
  const down = { state: 'down' as const, since: '2026-11-21T11:30:00.000Z' };
  const far = createRouters(9, () => ({ ...down, labels: { site: 'nord' } }));
  const others = new Map(far.map(({ name, url, labels }) => [name, { name, url, labels, shard: 1 }]));
  await using b = await openBench({ listRouters: () => far });
  await using a = await openBench(createContent(b.url, { others }));
  expect(await readMain(a, '/')).toMatch(/<strong>9 of 10 routers down since <time [^>]*>11:30:00<\/time><\/strong>/);
});

test('the sinks of all processes are one table, and each process has its spool', async () => {
  await using pair = await openPair(createProcess({ sinks: [SINK] }), SECOND);
  const page = await pair.read('/sinks');
  expect(readRows(page).map((cells) => cells.slice(0, 4))).toEqual([
    ['loki', 'process 0', 'loki', 'up since 11:00 (1 h)'],
    ['loki', 'process 1', 'loki', 'down since 11:00 (1 h)'],
  ]);
  expect(page.match(/<b>process \d:<\/b> 0 records waiting/g)).toHaveLength(2);
});

test('read progress is that of all processes', async () => {
  await using pair = await openPair({ listLogs: () => logOf(ROUTER.name, 0) }, SECOND);
  const page = await pair.read('/logs/positions');
  expect(readRows(page).map(([router, log]) => [router, log])).toEqual([
    ['plant-7', 'network'],
    ['plant-9', 'network'],
  ]);
  expect(page).toContain('2 logs followed; <strong class="warn">4 gaps</strong> found');
});

test('the newest dead letters of other processes are listed below those of this one, with links to all of them', async () => {
  const listDeadLetters: WebContent['listDeadLetters'] = () => ({
    letters: [],
    hasMore: false,
    counts: [],
    fault: null,
  });
  await using pair = await openPair({ listDeadLetters }, SECOND);
  const page = await pair.read('/dead-letters');
  expect(page).toContain('<caption>0 dead letters at process 0, newest first</caption>');
  expect(page).toContain('<caption>The newest of other processes</caption>');
  expect(page).toContain('<a href="dead-letters/17?process=1">17</a>');
  expect(page).toContain('<a href="dead-letters?process=1">all of process 1</a>');
  for (const path of ['/dead-letters?process=1', '/dead-letters/17?process=1']) {
    const { status, headers } = await pair.a.get(path);
    expect([status, headers['location']]).toEqual([307, `${pair.b.url}${path}`]);
  }
  const theirs = await readMain(pair.b, '/dead-letters?process=1');
  expect(theirs).toContain('<caption>2 dead letters at process 1, newest first</caption>');
  expect(theirs).not.toContain('other processes');
  const letter = await readMain(pair.b, '/dead-letters/17?process=1');
  expect(letter).toContain('<dt>Process</dt><dd>process 1; commands work where it runs</dd>');
  expect(letter).toContain('&quot;there&quot;');
  expect((await pair.a.get('/dead-letters/17')).status).toBe(404);
});

test('a dead letter of a replica has its name in the address, and is not found in others after the replica has gone', async () => {
  await using b = await openBench(SECOND);
  await using a = await openBench(createContent(b.url, { names: ['a', 'b'] }));
  expect(await readMain(a, '/dead-letters')).toContain('<a href="dead-letters/17?process=b">17</a>');
  expect((await a.get('/dead-letters/17?process=b')).headers['location']).toBe(`${b.url}/dead-letters/17?process=b`);
  expect((await a.get('/dead-letters/17?process=c')).status).toBe(404);
  // A number in its list means nothing in those of others.
  expect(await readMain(a, '/dead-letters?process=c&before=17')).toContain(
    '<a href="dead-letters/17?process=b">17</a>',
  );
});

const PAGES = [
  ['/', 'its 1 router cannot be shown'],
  ['/logs', 'its lines are missing here'],
  ['/logs/positions', 'its logs are missing here'],
  ['/sinks', 'its deliveries are missing here'],
  ['/dead-letters', 'its dead letters are missing here'],
] as const;

test.for(PAGES)('%s names a process that is dead', async ([path, lack]) => {
  await using bench = await openBench(createContent('http://127.0.0.1:2'));
  const page = await readMain(bench, path);
  expect(page).toContain(`<strong>Process 1 (http://127.0.0.1:2) does not answer:</strong> ${lack}.`);
  expect(page.match(/does not answer/g)).toHaveLength(1);
});

test('the strip of the last hours says whose routers it lacks', async () => {
  const minutes = minutesOf('2026-11-21T12:00:00.000Z', [1, 0], [1, 0]);
  await using bench = await openBench({ ...createContent('http://127.0.0.1:2'), ...createProcess({ minutes }) });
  expect(await readMain(bench, '/')).toContain('Last 60 s without process 1: no router down.');
});

test.for(PAGES)('%s says that it shows one process alone when the others are not configured', async ([path]) => {
  await using bench = await openBench(createContent('', { peers: [] }));
  const page = await readMain(bench, path);
  expect(page).toMatch(/of this process \(0 of 2\) alone: list all processes in <code>web\.peers<\/code>/);
});

const HOSTILE: ProcessSummary = {
  minutes: [{ at: EVIL, up: 1, down: 1, stale: 0, other: 0 }, ...minutesOf('2026-11-21T12:00:00.000Z', [1, 0], [0, 1])],
  gaps: 1,
  runs: { running: 1, waiting: 0, heldBack: 0, max: 1 },
  sinks: [{ ...SINK, name: EVIL, type: EVIL, error: EVIL, lastFailure: { at: EVIL, error: EVIL }, lastSuccess: EVIL }],
  spool: { records: 1, bytes: 1, bytesMax: 2, secondsToFull: null, isHeldBack: true, routersHeldBack: [EVIL] },
};
const HOSTILE_LETTER = {
  ...LETTER,
  sink: EVIL,
  router: EVIL,
  component: EVIL,
  code: EVIL,
  reason: EVIL,
};

test.for([
  [
    'what becomes part of the page',
    {
      ...HOSTILE,
      minutes: HOSTILE.minutes.slice(1),
      sinks: HOSTILE.sinks.map((sink) => ({ ...sink, lastFailure: null, lastSuccess: null })),
    },
    [HOSTILE_LETTER, { id: 'x' }, 7],
  ],
  ['texts for times', HOSTILE, [{ ...HOSTILE_LETTER, at: EVIL }]],
  ['other types', { minutes: 7, gaps: 'x' }, { letters: {} }],
  ['nothing but numbers', 7, [7]],
])('a process that sends %s breaks no page', async ([, process, letters]) => {
  await using peer = await openPeer(({ url = '' }, response) => {
    const records = [{ router: OTHER.name, time: EVIL, message: EVIL, uid: EVIL }];
    const key = /^\/api\/v1\/(\w+)/.exec(url)?.[1] ?? '';
    const lists: Readonly<Record<string, unknown>> = {
      logs: [...logOf(OTHER.name, 1), { router: OTHER.name, component: EVIL }, 7],
      dead: letters,
      records,
      routers: [7],
    };
    const list = lists[key];
    const name = key === 'dead' ? 'letters' : key;
    response.end(Array.isArray(list) ? renderRows(name, list, { hasMore: EVIL }) : JSON.stringify(process));
  });
  await using bench = await openBench(createContent(peer.url));
  for (const path of PAGES.map(([one]) => one)) {
    const text = await readMain(bench, path);
    expect(text).toMatch(/^<main/);
    expect([path, text.includes('<script')]).toEqual([path, false]);
    expect([path, text.includes('\u202e') || text.includes('Invalid Date') || text.includes('NaN')]).toEqual([
      path,
      false,
    ]);
  }
});

test('the token of the fleet is shown to the other processes by every page', async () => {
  await using peer = await openPeer((_request, response) => void response.writeHead(401).end());
  await using bench = await openBench(createContent(peer.url, { token: new Secret('a-token-of-the-fleet') }));
  for (const [path] of PAGES) {
    const page = await readMain(bench, path);
    expect(page).toContain('add a token with the role &quot;read&quot; to web.access.tokens');
    expect(page).not.toContain('a-token-of-the-fleet');
  }
  expect(new Set(peer.requests.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer a-token-of-the-fleet']),
  );
  expect(peer.requests).toHaveLength(6);
});

test('a replica without an address is named without one', async () => {
  await using bench = await openBench({
    ...createContent('', { names: ['a', 'b'], peers: ['http://127.0.0.1:1', undefined] }),
  });
  expect(await readMain(bench, '/sinks')).toContain('<strong>Replica b does not answer:</strong>');
});
