import { once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { FleetShards, LogLine } from '../../src/web/index.ts';
import { openBench } from './bench.ts';
import { createContent, OTHER, openPeer, readMain } from './peer-bench.ts';

const TIME = '2026-11-21T12:00:00.000000000Z';
const LINE: LogLine = {
  router: OTHER.name,
  timestamp: TIME,
  observedTimestamp: TIME,
  time: TIME,
  component: 'network',
  tag: null,
  severity: 'info',
  message: 'a line',
  uid: 'u1',
  event: null,
  gap: null,
  before: `${TIME}_1_${OTHER.name}`,
};
const { before: _before, ...LINE_WITHOUT_PLACE } = LINE;

test.for([
  ['lines without places', { records: [LINE_WITHOUT_PLACE], next: null }],
  ['a next page of another format', { records: [LINE], next: '17' }],
  ['a next page that is newer than the one asked for', { records: [], next: '9999-01-01T00:00:00.000000000Z_0_' }],
])('a process that answers with %s is named: its lines would be missing without a word', async ([, answer]) => {
  await using peer = await openPeer((_request, response) => void response.end(JSON.stringify(answer)));
  await using bench = await openBench(createContent(peer.url));
  const before = encodeURIComponent('2026-11-22T00:00:00.000000000Z_0_');
  const page = JSON.parse(await readMain(bench, `/api/v1/records?before=${before}`));
  expect(page).toMatchObject({
    records: [],
    next: null,
    unanswered: [{ shard: 1, error: 'Its response is invalid; it may run another version' }],
  });
});

test('a store that another process cannot read is its fault', async () => {
  const answer = { records: [], next: null, searchedTo: null, fault: 'The disk fails' };
  await using peer = await openPeer((_request, response) => void response.end(JSON.stringify(answer)));
  await using bench = await openBench(createContent(peer.url));
  expect(await readMain(bench, '/logs')).toContain('cannot be read:</strong> process 1: The disk fails');
});

/** A process that others follow, and a reader of one of those. */
async function openStreams(shards: Partial<FleetShards> = {}) {
  const streams: ServerResponse[] = [];
  const peer = await openPeer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
    streams.push(response);
  });
  const content = createContent(peer.url, shards);
  const bench = await openBench(content);
  const request = get(`${bench.url}/api/v1/records/stream`, { agent: false }).on('error', () => {});
  onTestFinished(async () => {
    request.destroy();
    await bench[Symbol.asyncDispose]();
    await peer[Symbol.asyncDispose]();
  });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  answer
    .on('error', () => {})
    .on('data', (chunk) => {
      text += String(chunk);
    });
  await expect.poll(() => streams.length).toBe(1);
  const send = (line: LogLine) => void streams.at(-1)?.write(`event: line\ndata: ${JSON.stringify(line)}\n\n`);
  return { bench, peer, content, streams, send, read: () => text };
}

test('live lines of other processes may have separators of lines and paragraphs (U+2028, U+2029)', async () => {
  const { send, read } = await openStreams();
  send({ ...LINE, message: 'one\u2028two\u2029three' });
  send({ ...LINE, message: 'the last' });
  await expect.poll(read).toContain('the last');
  expect(read()).toContain('one\u2028two\u2029three');
});

test('live lines of a replica go on arriving when others join the cluster and its index changes', async () => {
  const others = new Map([[OTHER.name, OTHER]]);
  const { bench, peer, content, send, read, streams } = await openStreams({ names: ['a', 'b'], others });
  send({ ...LINE, message: 'before' });
  await expect.poll(read).toContain('before');
  const peers = ['http://127.0.0.1:1', 'http://127.0.0.1:2', peer.url];
  Object.assign(content.describeShards?.() ?? {}, { total: 3, names: ['a', 'aa', 'b'], peers });
  others.set(OTHER.name, { ...OTHER, shard: 2 });
  send({ ...LINE, message: 'meanwhile' });
  await expect.poll(read).toContain('meanwhile');
  await bench.clock.advance(15_000);
  await expect.poll(read).toContain('event: away\ndata: replica aa\n');
  send({ ...LINE, message: 'afterwards' });
  await expect.poll(read).toContain('afterwards');
  expect(streams).toHaveLength(1);
});

test('a stream that another process ends after its time is opened again at once, and nobody is called away', async () => {
  const { bench, send, read, streams } = await openStreams();
  for (let turn = 0; turn < 16; turn++) {
    send({ ...LINE, message: `line ${turn}.` });
    await expect.poll(read).toContain(`line ${turn}.`);
    await bench.clock.advance(40_000);
  }
  streams[0]?.end();
  await expect.poll(() => streams.length).toBe(2);
  send({ ...LINE, message: 'the last' });
  await expect.poll(read).toContain('the last');
  expect(read()).not.toContain('event: away');
});

const FOUR_MIB = 'Its answer is longer than 4194304 bytes';
const LONG = 'A line of the list is too long';
test.for([
  { page: '/logs', path: '/api/v1/records', answer: `{"records":[${'[],'.repeat(2 ** 21)}[]]}`, fault: FOUR_MIB },
  { page: '/sinks', path: '/api/v1/process', answer: `{"minutes":"${'a'.repeat(2 ** 22)}"}`, fault: FOUR_MIB },
  { page: '/', path: '/api/v1/routers', answer: `{ "routers": [${'[],'.repeat(2 ** 20)}[]]}`, fault: LONG },
  { page: '/', path: '/api/v1/routers', answer: `{"routers":[\n{"a":"${'a'.repeat(300_000)}"}\n]}`, fault: LONG },
  { page: '/logs/positions', path: '/api/v1/logs', answer: `{"logs":[\n"${'a'.repeat(300_000)}"\n]}`, fault: LONG },
])('$page parses nothing of an answer of $path that is too long: $fault', async ({ page, path, answer, fault }) => {
  await using peer = await openPeer((request, response) => {
    response.end(request.url?.startsWith(path) ? answer : '{}');
  });
  await using bench = await openBench(createContent(peer.url));
  expect(await readMain(bench, page)).toContain(fault);
});
