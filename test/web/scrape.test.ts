import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import type { MetricsFormat, MetricsScope, WebContent } from '../../src/web/index.ts';
import { ask, fetchRaw, openBench } from './bench.ts';

const PLAIN = { headers: {} };
const GZIP = { headers: { 'accept-encoding': 'gzip' } };
const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const LINE = `router_up{router="${'x'.repeat(80)}"} 1\n`;

/** Comments that no compressor makes small: each is new to its window. */
const NOISE = Array.from({ length: 8 }, () => `# ${randomBytes(8192).toString('hex')}\n`);
/** More than all buffers between server and client can hold; a source that is not held back shall fail, not fill the memory. */
const NOISE_MAX = 10_000;

/** Text until it is stopped, with a count of what was made. */
function createEndless() {
  const state = { chunks: 0, isReturned: false };
  function* renderMetrics() {
    try {
      for (; state.chunks < NOISE_MAX; state.chunks++) yield NOISE[state.chunks % NOISE.length] ?? '';
      throw new RangeError('Nobody held this back');
    } finally {
      state.isReturned = true;
    }
  }
  return { state, renderMetrics };
}

test('GET /metrics asks for all metrics, in the format that is accepted, and says which', async () => {
  const asked: [MetricsFormat, MetricsScope][] = [];
  const content: Partial<WebContent> = {
    renderMetrics(...args) {
      asked.push(args);
      return ['a 1\n', 'b 2\n'];
    },
  };
  const text = await ask('/metrics', { content });
  const headers = { accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1' };
  const openMetrics = await ask('/metrics', { content }, { headers });
  expect([text.status, text.text, text.headers.get('content-type')]).toEqual([200, 'a 1\nb 2\n', TEXT_TYPE]);
  expect([openMetrics.status, openMetrics.headers.get('content-type')]).toEqual([200, OPENMETRICS_TYPE]);
  expect(asked).toEqual([
    ['text', { kind: 'all' }],
    ['openmetrics', { kind: 'all' }],
  ]);
});

test('GET /metrics/agent and /probe ask for the metrics of the agent and of one router', async () => {
  const scopes: MetricsScope[] = [];
  const content: Partial<WebContent> = {
    renderMetrics(_format, scope) {
      scopes.push(scope);
      return [];
    },
  };
  for (const path of ['/metrics/agent', '/probe?target=plant-7']) {
    expect((await ask(path, { content })).status).toBe(200);
  }
  expect(scopes).toEqual([{ kind: 'agent' }, { kind: 'router', router: 'plant-7' }]);
});

test.for(['/metrics', '/metrics/agent', '/probe?target=plant-7'])(
  'GET %s says that its answer depends on what is accepted, and that caches must not store it',
  async (path) => {
    const { headers } = await ask(path);
    expect([headers.get('vary'), headers.get('cache-control')]).toEqual(['Accept, Accept-Encoding', 'no-store']);
  },
);

test('GET /metrics sends the very same text plain and compressed, from a source that is asynchronous or not', async () => {
  // Several MiB, so that their pieces share memory.
  const lines = Array.from({ length: 120_000 }, (_, index) => `router_up{router="r${index}",city="Köln"} 1\n`);
  const text = Buffer.from(lines.join(''));
  async function* renderSlowly() {
    yield* lines;
  }
  for (const renderMetrics of [() => lines, renderSlowly]) {
    await using bench = await openBench({ renderMetrics });
    const plain = await bench.get('/metrics');
    const compressed = await bench.get('/metrics', GZIP);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(plain.body.equals(text)).toBe(true);
    expect(gunzipSync(compressed.body).equals(text)).toBe(true);
    expect(compressed.body.length).toBeLessThan(plain.body.length / 5);
  }
});

test('GET /metrics can be empty, plain and compressed', async () => {
  await using bench = await openBench({ renderMetrics: () => [] });
  expect((await bench.get('/metrics')).body).toHaveLength(0);
  expect(gunzipSync((await bench.get('/metrics', GZIP)).body)).toHaveLength(0);
});

test.for(['/metrics', '/metrics/agent', '/probe?target=plant-7&fresh=1'])(
  'HEAD %s answers with the headers alone, and nothing is rendered or polled for it',
  async (path) => {
    const renderMetrics = vi.fn<WebContent['renderMetrics']>(() => []);
    const refresh = vi.fn<WebContent['refresh']>(() => Promise.resolve());
    await using bench = await openBench({ renderMetrics, refresh });
    const accept = 'application/openmetrics-text';
    const { status, headers, body } = await bench.get(path, { method: 'HEAD', headers: { ...GZIP.headers, accept } });
    expect([status, body.length]).toEqual([200, 0]);
    expect(headers).toMatchObject({ 'content-type': OPENMETRICS_TYPE, 'content-encoding': 'gzip' });
    expect(renderMetrics).not.toHaveBeenCalled();
    expect(refresh).not.toHaveBeenCalled();
  },
);

test.for([PLAIN, GZIP])(
  'a scrape that fails before its first piece is answered with 500 and reported (%j)',
  async (options) => {
    const cause = new RangeError('a detail for the log');
    const onFailed = vi.fn<WebContent['onFailed']>();
    function* renderMetrics() {
      yield LINE;
      throw cause;
    }
    await using bench = await openBench({ renderMetrics, onFailed });
    const { status, headers, body } = await bench.get('/metrics', options);
    expect([status, body.toString()]).toEqual([500, 'Internal error; see the log of the agent.\n']);
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['content-type']).toMatch(/^text\/plain/i);
    expect(onFailed.mock.calls).toEqual([[cause]]);
  },
);

/** Everything that arrives on a connection, and how the connection ended. */
async function readConnection(url: string, request: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let bytes = 0;
  let text = '';
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    text = (text + chunk.toString('latin1')).slice(-64);
  });
  const errors: unknown[] = [];
  socket.on('error', (error) => errors.push(error));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(request);
  await closed;
  return { bytes, end: text, errors };
}

test.for([
  ['plain', 'HTTP/1.1', ''],
  ['compressed', 'HTTP/1.1', 'Accept-Encoding: gzip\r\n'],
  ['plain', 'HTTP/1.0', ''],
])(
  'a scrape that fails midway breaks the connection, so that it is not taken for a whole one (%s, %s)',
  async ([, version, header]) => {
    const cause = new RangeError('midway');
    const reported = Promise.withResolvers<unknown>();
    const onFailed = vi.fn<WebContent['onFailed']>(reported.resolve);
    const consoleError = vi.spyOn(console, 'error');
    function* renderMetrics() {
      // Random digits, so that the compressor has something to send as well.
      for (let line = 0; line < 100_000; line++) yield `router_up{router="${(line * 7919) % 99_991}"} ${line ** 3}\n`;
      throw cause;
    }
    await using bench = await openBench({ renderMetrics, onFailed });
    const { bytes, end, errors } = await readConnection(
      bench.url,
      `GET /metrics ${version}\r\nHost: a\r\n${header}\r\n`,
    );
    expect(await reported.promise).toBe(cause);
    expect(bytes).toBeGreaterThan(1000);
    expect(end).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(errors).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(onFailed).toHaveBeenCalledTimes(1);
    expect(consoleError).not.toHaveBeenCalled();
  },
);

test('a scrape that fails midway fails for a reader without a socket', async () => {
  function* renderMetrics() {
    for (let line = 0; line < 20_000; line++) yield LINE;
    throw new RangeError('midway');
  }
  await expect(ask('/metrics', { content: { renderMetrics } })).rejects.toThrow('midway');
});

test.for([PLAIN, GZIP])('a client of HTTP sees an error when a scrape fails midway (%j)', async (options) => {
  function* renderMetrics() {
    for (let line = 0; line < 50_000; line++) yield LINE;
    throw new RangeError('midway');
  }
  await using bench = await openBench({ renderMetrics });
  await expect(bench.get('/metrics', options)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test.for([PLAIN, GZIP])(
  'a client that reads slowly is rendered for only as fast as it reads (%j)',
  async ({ headers }) => {
    const { state, renderMetrics } = createEndless();
    await using bench = await openBench({ renderMetrics });
    const request = get(`${bench.url}/metrics`, { agent: false, headers });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.pause();
    let before = -1;
    // Buffers on both sides fill up, and then nothing more is made.
    await expect
      .poll(() => {
        const isStill = state.chunks === before;
        before = state.chunks;
        return isStill;
      })
      .toBe(true);
    expect(state.isReturned).toBe(false);
    response.resume();
    await expect.poll(() => state.chunks).toBeGreaterThan(before);
    request.destroy();
  },
);

test.for([PLAIN, GZIP])(
  'a client that goes away ends the work for it, which is no failure (%j)',
  async ({ headers }) => {
    const { state, renderMetrics } = createEndless();
    const onFailed = vi.fn<WebContent['onFailed']>();
    await using bench = await openBench({ renderMetrics, onFailed });
    const request = get(`${bench.url}/metrics`, { agent: false, headers });
    await once(request, 'response');
    request.destroy();
    await expect.poll(() => state.isReturned).toBe(true);
    expect(onFailed).not.toHaveBeenCalled();
  },
);

test('a client that goes away before the first piece ends the wait for it', async () => {
  const started = Promise.withResolvers<void>();
  const onFailed = vi.fn<WebContent['onFailed']>();
  const refresh = vi.fn<WebContent['refresh']>((_name, signal) => {
    started.resolve();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  const renderMetrics = vi.fn<WebContent['renderMetrics']>(() => []);
  await using bench = await openBench({ refresh, renderMetrics, onFailed });
  const request = get(`${bench.url}/probe?target=plant-7&fresh=1`, { agent: false }).on('error', () => {});
  await started.promise;
  request.destroy();
  await expect.poll(() => refresh.mock.calls[0]?.[1].aborted).toBe(true);
  expect((await bench.get('/-/healthy')).status).toBe(200);
  expect(renderMetrics).not.toHaveBeenCalled();
  expect(onFailed).not.toHaveBeenCalled();
});

test('a client that does not take its answer within three minutes is cut off, which is reported', async () => {
  const { state, renderMetrics } = createEndless();
  const onFailed = vi.fn<WebContent['onFailed']>();
  await using bench = await openBench({ renderMetrics, onFailed });
  const request = get(`${bench.url}/metrics`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => {});
  response.pause();
  await bench.clock.advance(179_999);
  expect(onFailed).not.toHaveBeenCalled();
  await bench.clock.advance(1);
  const cut = new Promise((resolve) => response.once('error', resolve));
  response.resume();
  expect(await cut).toMatchObject({ code: 'ECONNRESET' });
  await expect.poll(() => state.isReturned).toBe(true);
  expect(onFailed.mock.calls).toMatchObject([[{ code: 'slow-client' }]]);
});

test('the connection of a scrape can be used again', async () => {
  await using bench = await openBench();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  for (const headers of [{}, { 'accept-encoding': 'gzip' }, {}]) {
    const request = get(`${bench.url}/metrics`, { agent, headers });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    ports.add(request.socket?.localPort);
    await once(response.resume(), 'end');
  }
  agent.destroy();
  expect(ports.size).toBe(1);
});

test('the 41st concurrent scrape gets 503, and one is served again when another has ended', async () => {
  const open = Array.from({ length: 40 }, () => Promise.withResolvers<void>());
  let begun = 0;
  async function* renderMetrics() {
    await open[begun++]?.promise;
    yield 'router_up 1\n';
  }
  await using bench = await openBench({ renderMetrics });
  const scrapes = open.map((_, index) => bench.get(index % 2 ? '/metrics' : '/metrics/agent'));
  await expect.poll(() => begun).toBe(40);

  const refused = await bench.get('/metrics', GZIP);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(refused.headers['content-encoding']).toBeUndefined();
  expect(refused.body.toString()).toBe('Too many scrapes at once; try again later.\n');
  // Other paths are not kept waiting by it, and single routers are counted apart.
  expect((await bench.get('/-/healthy')).status).toBe(200);
  expect((await bench.get('/probe?target=plant-7')).status).toBe(200);

  open[0]?.resolve();
  expect((await Promise.race(scrapes)).status).toBe(200);
  await expect.poll(async () => (await bench.get('/metrics')).status).toBe(200);
  for (const { resolve } of open) resolve();
  for (const { status } of await Promise.all(scrapes)) expect(status).toBe(200);
});

test('scrapes that failed or were aborted do not count against the limit', async () => {
  let isFaulty = true;
  const { renderMetrics } = createEndless();
  await using bench = await openBench({
    renderMetrics(_format, scope) {
      if (scope.kind === 'agent') return renderMetrics();
      if (isFaulty) throw new RangeError('not now');
      return [LINE];
    },
  });
  for (let round = 0; round < 41; round++) {
    expect((await bench.get('/metrics')).status).toBe(500);
    const request = get(`${bench.url}/metrics/agent`, { agent: false });
    await once(request, 'response');
    request.destroy();
  }
  isFaulty = false;
  await expect.poll(async () => (await bench.get('/metrics')).status).toBe(200);
  const all = await Promise.all(Array.from({ length: 40 }, () => fetchRaw(`${bench.url}/metrics`)));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
});
