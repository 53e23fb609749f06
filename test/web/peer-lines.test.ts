import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { LineFeed } from '../../src/agent/views/line-feed.ts';
import {
  compareRecordPlaces,
  type LogLine,
  parseRecordPlace,
  type RecordPage,
  type RecordQuery,
  renderRecordPlace,
  type WebContent,
} from '../../src/web/index.ts';
import { mergeRecords } from '../../src/web/peers/records.ts';
import { openBench, ROUTER } from './bench.ts';
import { createContent, OTHER, openPair, openPeer, readMain } from './peer-bench.ts';

/** A line of a router, `second` seconds after noon; `seq` tells lines of the same second apart. */
function lineOf(router: string, second: number, seq = 0, change: Partial<LogLine> = {}): LogLine {
  const time = `2026-11-21T12:${String(Math.trunc(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}.000000000Z`;
  return {
    router,
    timestamp: time,
    observedTimestamp: time,
    time,
    component: 'network',
    tag: null,
    severity: 'info',
    message: `${router} ${second} ${seq}`,
    uid: `${router}-${second}-${seq}`,
    event: null,
    gap: null,
    before: renderRecordPlace({ time, router, seq }),
    ...change,
  };
}

const placeOf = ({ before }: LogLine) => parseRecordPlace(before ?? '') ?? expect.unreachable();
const newestFirst = (lines: readonly LogLine[]) =>
  lines.toSorted((a, b) => compareRecordPlaces(placeOf(b), placeOf(a)));

/** A store with these lines, which looks at `searched` of them at most in one query. */
function readerOf(lines: readonly LogLine[], searched = Number.POSITIVE_INFINITY, asked: RecordQuery[] = []) {
  return async (query: RecordQuery): Promise<RecordPage> => {
    asked.push(query);
    const before = parseRecordPlace(query.before ?? '');
    const older = newestFirst(lines).filter((line) => !before || compareRecordPlaces(placeOf(line), before) < 0);
    const seen = older.slice(0, searched);
    const records = seen.filter(({ message }) => message.includes(query.search)).slice(0, query.limit);
    const last = records.length === query.limit ? records.at(-1) : seen.at(-1);
    const isEnd = last === undefined || last === older.at(-1);
    return { records, next: isEnd ? null : last.before, searchedTo: isEnd ? null : last.time, fault: null };
  };
}

test.for([
  ['that no replica has', { names: ['a', 'b'], others: new Map([[OTHER.name, { ...OTHER, shard: -1 }]]) }],
  ['that is moving here', { names: ['a', 'b'], others: new Map([[OTHER.name, { ...OTHER, shard: 0 }]]) }],
] as const)('instead of the lines of a router %s, a notice stands', async ([, changes]) => {
  await using bench = await openBench(createContent('http://127.0.0.1:1', changes));
  const page = await readMain(bench, `/logs?router=${OTHER.name}`);
  expect(page).toContain('The router is moving to another replica; try again in some seconds');
  expect(page).not.toMatch(/No line fits|No router/);
  const { body } = await bench.get(`/api/v1/records?router=${OTHER.name}`);
  expect(JSON.parse(body.toString())).toMatchObject({ records: [], fault: expect.stringContaining('is moving') });
});

test('the lines of a router that is not configured are a notice', async () => {
  await using bench = await openBench();
  expect(await readMain(bench, '/logs?router=nobody')).toContain('No router of this name is configured: nobody');
  for (const path of ['/logs', `/logs?router=${ROUTER.name}`]) {
    expect(await readMain(bench, path)).not.toContain('No router');
  }
});

test('the lines of all processes are one timeline, filters are passed on, and pages lead through all of them', async () => {
  const own = Array.from({ length: 40 }, (_, index) => lineOf(ROUTER.name, index * 3, index));
  // Many in the same second.
  const far = Array.from({ length: 60 }, (_, index) => lineOf(OTHER.name, Math.trunc(index / 12) * 30, index));
  const asked: RecordQuery[] = [];
  await using pair = await openPair(
    { readRecords: readerOf(own, 11) },
    { readRecords: readerOf(far, Number.POSITIVE_INFINITY, asked) },
  );
  const seen: string[] = [];
  let next: string | null = '';
  while (next !== null) {
    const before: string = next === '' ? '' : `&before=${encodeURIComponent(next)}`;
    const page = JSON.parse(await pair.read(`/api/v1/records?limit=7&component=network&severity=info${before}`));
    seen.push(...page.records.map(({ uid }: LogLine) => uid));
    next = page.next;
  }
  expect(seen).toEqual(newestFirst([...own, ...far]).map(({ uid }) => uid));
  expect(asked[0]).toEqual({
    router: undefined,
    components: ['network'],
    severities: ['info'],
    search: '',
    before: undefined,
    limit: 7,
  });
  const html = await pair.read('/logs?q=plant-9');
  expect([html.includes('data-uid="plant-9-'), html.includes('does not answer')]).toEqual([true, false]);
});

test('a page of a process that has looked at a part says nothing of what is older', () => {
  const early = lineOf(OTHER.name, 10);
  const horizon = lineOf(ROUTER.name, 50);
  const pages: RecordPage[] = [
    { records: [], next: horizon.before, searchedTo: horizon.time, fault: null },
    { records: [lineOf(OTHER.name, 60), early], next: null, searchedTo: null, fault: null },
  ];
  expect(mergeRecords(pages, 10)).toEqual({
    records: [lineOf(OTHER.name, 60)],
    next: horizon.before,
    searchedTo: horizon.time,
    fault: null,
  });
});

test('lines of one router are asked of its process alone', async () => {
  const asked: RecordQuery[] = [];
  await using pair = await openPair({}, { readRecords: readerOf([lineOf(OTHER.name, 1)], 9, asked) });
  expect(await pair.read(`/logs?router=${ROUTER.name}`)).not.toContain('data-uid');
  expect(asked).toEqual([]);
  expect(await pair.read(`/logs?router=${OTHER.name}`)).toContain('data-uid="plant-9-1-0"');
  expect(asked).toMatchObject([{ router: OTHER.name }]);
});

test('lines that are not of the routers of the process that sends them, or make no sense, are left out', async () => {
  const records = [
    lineOf(OTHER.name, 1, 0, { message: '<img src=x onerror=alert(1)>' }),
    lineOf(ROUTER.name, 2),
    lineOf('stranger', 3),
    { ...lineOf(OTHER.name, 4), before: 'x' },
    { ...lineOf(OTHER.name, 5), time: 'yesterday' },
    7,
  ];
  await using peer = await openPeer((_request, response) => void response.end(JSON.stringify({ records })));
  await using bench = await openBench(createContent(peer.url));
  const page = await readMain(bench, '/logs');
  expect(page.match(/data-uid="[^"]*"/g)).toEqual(['data-uid="plant-9-1-0"']);
  expect(page).not.toContain('<img');
  expect(JSON.parse(await readMain(bench, '/api/v1/records'))).not.toHaveProperty('unanswered');
});

test('GET /api/v1/records names a process that does not answer', async () => {
  await using bench = await openBench(createContent('http://127.0.0.1:2'));
  const { records, unanswered } = JSON.parse(await readMain(bench, '/api/v1/records'));
  expect([records, unanswered]).toMatchObject([[], [{ shard: 1, url: 'http://127.0.0.1:2', routers: 1 }]]);
  const own = JSON.parse(await readMain(bench, '/api/v1/records?own=1'));
  expect(own).not.toHaveProperty('unanswered');
});

/** Two processes with a feed each. */
async function openFeeds() {
  const [near, far] = [new LineFeed(), new LineFeed()];
  const contentOf = (feed: LineFeed): Partial<WebContent> => ({
    followRecords: (query, listener) => feed.follow(query, listener),
  });
  const pair = await openPair(contentOf(near), contentOf(far));
  const open: IncomingMessage[] = [];
  return {
    near,
    far,
    pair,
    async follow(path: string) {
      const request = get(`${pair.a.url}${path}`, { agent: false });
      request.on('error', () => {});
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      answer.on('error', () => {});
      open.push(answer);
      let text = '';
      answer.on('data', (chunk) => {
        text += String(chunk);
      });
      return { read: () => text };
    },
    async [Symbol.asyncDispose]() {
      for (const answer of open) answer.destroy();
      await pair[Symbol.asyncDispose]();
    },
  };
}

const recordOf = (message: string) =>
  JSON.stringify({
    timestamp: '2026-11-21T12:00:00.000000001Z',
    observed_timestamp: '2026-11-21T12:00:01.000Z',
    component: 'network',
    severity: 'info',
    message,
    uid: message.slice(0, 20),
  });

test('a live reader gets the lines of all processes, and is told when one goes and comes back', async () => {
  await using feeds = await openFeeds();
  const { near, far, pair } = feeds;
  const reader = await feeds.follow('/logs/stream?q=line');
  // The stream from the other process is open when its lines arrive.
  await expect
    .poll(() => {
      far.prepare(OTHER.name, [recordOf('a far line')])();
      return reader.read();
    })
    .toContain('a far line');
  far.prepare(OTHER.name, [recordOf('<script> line'), recordOf('something else')])();
  far.prepare('stranger', [recordOf('line of a stranger')])();
  near.prepare(ROUTER.name, [recordOf('a near line')])();
  await expect.poll(reader.read).toMatch(/&lt;script&gt; line/);
  await expect.poll(reader.read).toContain('a near line');
  expect(reader.read()).not.toMatch(/<script|something else|stranger|event: away/);

  pair.b.server.serve(undefined);
  await pair.b.server.close();
  await expect.poll(reader.read).toContain('event: away\ndata: process 1\n');
});

test('the stream of a process that others ask has its own lines alone, as JSON', async () => {
  await using feeds = await openFeeds();
  const reader = await feeds.follow('/api/v1/records/stream?own=1');
  feeds.near.prepare(ROUTER.name, [recordOf('near\nline')])();
  await expect.poll(reader.read).toContain('near');
  const data = /^data: (.*)$/m.exec(reader.read())?.[1] ?? '';
  expect(JSON.parse(data)).toMatchObject({ router: ROUTER.name, message: 'near\nline', before: null });
  feeds.far.prepare(OTHER.name, [recordOf('far')])();
  feeds.near.prepare(ROUTER.name, [recordOf('last')])();
  await expect.poll(reader.read).toContain('last');
  expect(reader.read()).not.toContain('far');
});

test('a process that refuses, or falls silent, is named to live readers, and asked again', async () => {
  let isRefusing = true;
  await using peer = await openPeer((_request, response) => {
    response.writeHead(isRefusing ? 503 : 200, { 'content-type': 'text/event-stream' });
    if (isRefusing) response.end();
    else response.write(': open\n\n');
  });
  await using bench = await openBench(createContent(peer.url));
  const request = get(`${bench.url}/logs/stream`, { agent: false }).on('error', () => {});
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  answer
    .on('error', () => {})
    .on('data', (chunk) => {
      text += String(chunk);
    });
  const awayCount = () => text.match(/event: away\ndata: process 1\n/g)?.length ?? 0;
  await expect.poll(awayCount).toBe(1);
  isRefusing = false;
  await bench.clock.advance(5000);
  await expect.poll(() => text).toContain('event: away\ndata: \n');
  await bench.clock.advance(45_000);
  await expect.poll(awayCount).toBe(2);
  const streams = peer.requests.filter(({ url }) => url?.startsWith('/api/v1/records/stream?own=1'));
  expect(streams).toHaveLength(2);
  answer.destroy();
});
