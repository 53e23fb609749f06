import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { LineFeed } from '../../src/agent/views/recent-records.ts';
import type { LogLine, RecordQuery, WebContent } from '../../src/web/index.ts';
import { openBench, ROUTER } from './bench.ts';
import { createContent, OTHER, openPair, openPeer, readMain, renderRows } from './peer-bench.ts';

/** A line of a router, `second` seconds after noon. */
function lineOf(router: string, second: number, change: Partial<LogLine> = {}): LogLine {
  const time = `2026-11-21T12:${String(Math.trunc(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}.000000000Z`;
  return {
    router,
    timestamp: time,
    observedTimestamp: time,
    time,
    component: 'network',
    tag: null,
    severity: 'info',
    message: `${router} ${second}`,
    uid: `${router}-${second}`,
    event: null,
    gap: null,
    ...change,
  };
}

/** A process that has these lines, the newest first. */
function readerOf(lines: readonly LogLine[], asked: RecordQuery[] = []): Pick<WebContent, 'readRecords'> {
  return {
    readRecords: async (query) => {
      asked.push(query);
      return { records: lines.slice(0, query.limit), next: null, searchedTo: null, fault: null };
    },
  };
}

test.for([
  ['that no replica has', { names: ['a', 'b'], others: new Map([[OTHER.name, { ...OTHER, shard: -1 }]]) }],
  ['that is moving here', { names: ['a', 'b'], others: new Map([[OTHER.name, { ...OTHER, shard: 0 }]]) }],
] as const)('the lines of a router %s are asked for again later', async ([, changes]) => {
  await using bench = await openBench(createContent('http://127.0.0.1:1', changes));
  for (const path of [`/router/${OTHER.name}`, `/api/v1/routers/${OTHER.name}/records`]) {
    const { status, headers, body } = await bench.get(path);
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(body.toString()).toContain('The router is moving to another replica; try again');
  }
});

test('the lines of one router are on its page, which its own process has', async () => {
  await using pair = await openPair();
  const locate = async (path: string) => (await pair.a.get(path)).headers['location'];
  expect(await locate(`/logs?router=${ROUTER.name}&q=down`)).toBe('router/plant-7?router=plant-7&q=down&view=logs');
  expect(await locate('/api/v1/records?router=plant-9&limit=5')).toBe('routers/plant-9/records?router=plant-9&limit=5');
  expect(await locate('/api/v1/routers/plant-9/records?limit=5')).toBe(
    `${pair.b.url}/api/v1/routers/plant-9/records?limit=5`,
  );
});

test('the newest lines of all processes are one list, sorted by time', async () => {
  const own = [50, 30, 10].map((second) => lineOf(ROUTER.name, second));
  const far = [60, 40, 30, 20].map((second) => lineOf(OTHER.name, second));
  const asked: RecordQuery[] = [];
  await using pair = await openPair(readerOf(own), readerOf(far, asked));
  const { records, next, unanswered } = JSON.parse(await pair.read('/api/v1/records?limit=5'));
  expect(records.map(({ uid }: LogLine) => uid)).toEqual([
    'plant-9-60',
    'plant-7-50',
    'plant-9-40',
    'plant-7-30',
    'plant-9-30',
  ]);
  expect([next, unanswered]).toEqual([null, undefined]);
  expect(asked).toMatchObject([{ limit: 5 }]);
  const page = await pair.read('/logs');
  expect(page.match(/data-uid="[^"]*"/g)).toHaveLength(7);
  expect(page).toContain('New lines are those of the routers of process 0 alone');
  expect(page).not.toContain('does not answer');
});

test('lines of routers that the process which sends them does not have are passed over, and senseless ones are counted', async () => {
  const records = [
    lineOf(OTHER.name, 1, { message: '<img src=x onerror=alert(1)>' }),
    lineOf(ROUTER.name, 2),
    lineOf('stranger', 3),
    { ...lineOf(OTHER.name, 5), time: 'yesterday' },
    7,
  ];
  await using peer = await openPeer((_request, response) => void response.end(renderRows('records', records)));
  await using bench = await openBench(createContent(peer.url));
  const page = await readMain(bench, '/logs');
  expect(page.match(/data-uid="[^"]*"/g)).toEqual(['data-uid="plant-9-1"']);
  expect(page).not.toContain('<img');
  expect(page).toContain(`<strong>Process 1 (${peer.url}) sends 2 rows that are left out</strong> of its lines.`);
  expect(JSON.parse(await readMain(bench, '/api/v1/records')).unanswered).toMatchObject([{ shard: 1, leftOut: 2 }]);
});

test('GET /api/v1/records names a process that does not answer', async () => {
  await using bench = await openBench(createContent('http://127.0.0.1:2'));
  const { records, unanswered } = JSON.parse(await readMain(bench, '/api/v1/records'));
  expect([records, unanswered]).toMatchObject([[], [{ shard: 1, url: 'http://127.0.0.1:2', routers: 1 }]]);
  const own = JSON.parse(await readMain(bench, '/api/v1/records?own=1'));
  expect(own).not.toHaveProperty('unanswered');
});

test('a store that another process cannot read is its fault', async () => {
  await using pair = await openPair(
    {},
    {
      readRecords: async () => ({ records: [], next: null, searchedTo: null, fault: 'The disk <fails>' }),
    },
  );
  expect(await pair.read('/logs')).toMatch(/Process 1 .* does not answer:<\/strong>.* The disk &lt;fails&gt;/);
});

test('a live reader gets the lines of this process, as JSON, and no other process is asked', async () => {
  await using peer = await openPeer((_request, response) => void response.end());
  const feed = new LineFeed();
  await using bench = await openBench({
    ...createContent(peer.url),
    followRecords: (query, listener) => feed.follow(query, listener),
  });
  const request = get(`${bench.url}/api/v1/records/stream?q=near`, { agent: false }).on('error', () => {});
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  answer
    .on('error', () => {})
    .on('data', (chunk) => {
      text += String(chunk);
    });
  const store = (router: string, message: string) =>
    feed.prepare(router, [JSON.stringify({ component: 'network', message, uid: 'u' })])();
  store(ROUTER.name, 'something else');
  store(ROUTER.name, 'near\u2028\nline');
  await expect.poll(() => text).toContain('event: line');
  const data = /^data: ([^\n]*)$/m.exec(text)?.[1] ?? '';
  expect(JSON.parse(data)).toMatchObject({ router: ROUTER.name, message: 'near\u2028\nline' });
  expect(peer.requests).toEqual([]);
  answer.destroy();
});
