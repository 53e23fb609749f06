import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { hashSync } from 'bcryptjs';
import { expect, test } from 'vitest';
import { LineFeed } from '../../src/agent/views/recent-records.ts';
import type { WebContent } from '../../src/web/index.ts';
import { openBench, toBasic } from './bench.ts';

const lineOf = (message: string, more: object = {}) =>
  JSON.stringify({ component: 'network', severity: 'info', message, uid: message.slice(0, 20), ...more });

/** A server with a feed, and readers of it. */
async function openFeed() {
  const feed = new LineFeed();
  const content: Partial<WebContent> = { followRecords: (query, listener) => feed.follow(query, listener) };
  const bench = await openBench(content);
  const open: IncomingMessage[] = [];
  return {
    feed,
    bench,
    async read(path = '/logs/stream') {
      const request = get(`${bench.url}${path}`, { agent: false });
      request.on('error', () => {});
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      answer.on('error', () => {});
      open.push(answer);
      return answer;
    },
    async [Symbol.asyncDispose]() {
      for (const answer of open) answer.destroy();
      await bench[Symbol.asyncDispose]();
    },
  };
}

/** Reads until the text fits; the test's own time limit bounds the wait. */
async function readUntil(answer: IncomingMessage, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of answer.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (pattern.test(text)) return text;
  }
  return text;
}

test('a live reader gets the lines that fit, escaped, and how many a large commit left out', async () => {
  await using tail = await openFeed();
  const all = await tail.read();
  const own = await tail.read('/router/plant-7/stream?severity=error%2B&q=down');
  expect([all.statusCode, all.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
  const records = [lineOf('up'), lineOf('<script>\u202edown\ndata: x', { severity: 'error' })];
  tail.feed.prepare('plant-7', records)();
  tail.feed.prepare('plant-8', [lineOf('down elsewhere', { severity: 'error' })])();
  tail.feed.prepare(
    'plant-7',
    Array.from({ length: 300 }, (_, index) => lineOf(`down ${index}`, { severity: 'error' })),
  )();
  const whole = await readUntil(all, /down 299/);
  expect(whole.match(/^event: line$/gm)).toHaveLength(203);
  expect(whole).toContain('href="router/plant-8?view=logs"');
  expect(whole).toContain('event: skipped\ndata: 100\n');
  const some = await readUntil(own, /down 299/);
  expect(some.match(/^event: line$/gm)).toHaveLength(201);
  expect(some).toContain('&lt;script&gt;\ufffddown data: x');
  expect(some).not.toMatch(/elsewhere|<script|^data: x/m);
});

test('the 51st live reader gets 503, and a reader that disconnects frees a slot', async () => {
  await using tail = await openFeed();
  const readers = await Promise.all(Array.from({ length: 50 }, () => tail.read()));
  expect(readers.map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200));
  const refused = await tail.bench.get('/logs/stream');
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30']);
  // Pages are answered meanwhile.
  expect((await tail.bench.get('/logs')).status).toBe(200);
  readers[7]?.destroy();
  await expect
    .poll(async () => {
      const answer = await tail.read();
      return answer.statusCode;
    })
    .toBe(200);
});

test('a slow reader is disconnected with a notice, and others continue', async () => {
  await using tail = await openFeed();
  const [slow, quick] = [await tail.read(), await tail.read('/router/plant-7/stream?q=last')];
  const message = 'x'.repeat(60_000);
  // Far more than the connection and the waiting bytes hold.
  for (let batch = 0; batch < 20; batch++) {
    tail.feed.prepare(
      'plant-7',
      Array.from({ length: 100 }, (_, index) => lineOf(`${batch} ${index} ${message}`)),
    )();
    await new Promise(setImmediate);
  }
  tail.feed.prepare('plant-7', [lineOf('last')])();
  expect(await readUntil(quick, /last/)).toContain('event: line\n');
  const text = await readUntil(slow, /event: cut\ndata: slow\n\n/);
  expect(text.endsWith('event: cut\ndata: slow\n\n')).toBe(true);
  expect(text).not.toContain('>last<');
});

test('a commit of long lines does not disconnect a fast reader: it gets the last lines and the number omitted', async () => {
  await using tail = await openFeed();
  const reader = await tail.read();
  const message = 'x'.repeat(20_000);
  for (const batch of ['first', 'second', 'third']) {
    tail.feed.prepare(
      'plant-7',
      Array.from({ length: 100 }, (_, index) => lineOf(`${batch} ${index} ${message}`)),
    )();
    const text = await readUntil(reader, new RegExp(`${batch} 99 `));
    expect(text).not.toContain('event: cut');
    const sent = text.match(new RegExp(`>${batch} \\d+ `, 'g')) ?? [];
    const left = Number(/event: skipped\ndata: (\d+)\n/.exec(text)?.[1]);
    expect(left).toBeGreaterThan(50);
    expect(sent.length).toBeGreaterThan(0);
  }
});

test('a stream without lines shows signs of life, and ends after 15 minutes so that credentials are asked for again', async () => {
  await using tail = await openFeed();
  const reader = await tail.read();
  await tail.bench.clock.advance(15_000);
  expect(await readUntil(reader, /beat/)).toContain(': beat\n\n');
  await tail.bench.clock.advance(15 * 60_000);
  const ended = once(reader, 'end');
  reader.resume();
  await ended;
  expect((await tail.bench.get('/router/nobody/stream')).status).toBe(404);
});

test('followers get the lines of a step as they were when stored, and none after they unsubscribe', () => {
  const feed = new LineFeed();
  const bytes = Buffer.from(['one', 'two'].map((message) => JSON.stringify({ message })).join('\n'));
  const seen: unknown[] = [];
  const follow = (reader: string) =>
    feed.follow({ components: [], severities: [], search: '', limit: 10 }, (lines) =>
      seen.push([reader, lines.map(({ message }) => message)]),
    );
  follow('first');
  const leave = follow('second');
  const emit = feed.prepare('plant-7', { length: 2, bytes, [Symbol.iterator]: () => [].values() });
  expect(seen).toEqual([]);
  // A sink is done with it, and a thread fills it again.
  bytes.fill(0);
  leave();
  emit();
  expect(seen).toEqual([['first', ['one', 'two']]]);
});

test('requests for a stream without a body, and readers that disconnect before it begins, hold no slot', async () => {
  const feed = new LineFeed();
  let followers = 0;
  const content: Partial<WebContent> = {
    followRecords(query, listener) {
      const end = feed.follow(query, listener);
      followers++;
      return () => {
        followers--;
        end();
      };
    },
  };
  const security = { headers: {}, users: new Map([['alice', hashSync('secret', 4)]]) };
  await using bench = await openBench(content, { security });
  const headers = toBasic('alice', 'secret');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let count = 0; count < 60; count++) {
    expect((await bench.get('/logs/stream', { method: 'HEAD', headers, agent })).status).toBe(200);
  }
  agent.destroy();
  for (let count = 0; count < 60; count++) {
    // Its password is being compared when it leaves.
    const left = connect(Number(new URL(bench.url).port), '127.0.0.1');
    const { authorization } = toBasic('alice', `wrong ${count}`);
    const method = count % 2 === 0 ? 'GET' : 'HEAD';
    const known = count % 3 === 0 ? authorization : headers.authorization;
    left.write(`${method} /logs/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${known}\r\n\r\n`, () =>
      left.destroy(),
    );
    await once(left, 'close');
  }
  await expect.poll(() => followers).toBe(0);
});
