import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import type { WebContent } from '../../src/web/index.ts';
import type { ConnectionBounds } from '../../src/web/server/connections.ts';
import { type Bench, createContent, DETAIL, openBench, PROCESS, ROUTER } from './bench.ts';

/** Loopback counts as any other address here, so that there are several. */
const BOUNDS: ConnectionBounds = { max: 200, perAddressMax: 150, beyondMax: 2, exempt: [] };
const [GREEDY, OTHER] = ['127.0.0.2', '127.0.0.3'];

/** Asks from the same address as often as given, and resolves with the answers that came while the others hang. */
async function askMany(
  bench: Bench,
  path: string,
  count: number,
  isRefused: (refused: number) => boolean,
  headers: Readonly<Record<string, string>> = {},
) {
  const statuses: number[] = [];
  for (let index = 0; index < count; index++) {
    const request = get(bench.url + path, { agent: false, localAddress: GREEDY, headers });
    request.on('error', () => {});
    request.on('response', (answer: IncomingMessage) => {
      answer.on('error', () => {});
      answer.resume();
      statuses.push(answer.statusCode ?? 0);
    });
    onTestFinished(() => void request.destroy());
  }
  await expect.poll(() => isRefused(statuses.filter((status) => status === 503).length)).toBe(true);
  return statuses;
}

test.for([
  ['/metrics', 40],
  ['/api/v1/process', 40],
  ['/logs/stream', 50],
] as const)(
  'one address takes half of the places for %s, however slowly it reads, and others are answered',
  async ([path, places]) => {
    const hanging = Promise.withResolvers<void>();
    let isHanging = true;
    const content: Partial<WebContent> = {
      async *renderMetrics() {
        if (isHanging) await hanging.promise;
        yield 'router_up 1\n';
      },
      async describeProcess() {
        if (isHanging) await hanging.promise;
        return PROCESS;
      },
    };
    await using bench = await openBench(content, { bounds: BOUNDS });
    await askMany(bench, path, places, (refused) => refused === places / 2);
    isHanging = false;
    const request = get(bench.url + path, { agent: false, localAddress: OTHER });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    request.on('error', () => {});
    request.destroy();
    hanging.resolve();
  },
);

test('an address that uses its half of the slots for pages gets their style sheet and script', async () => {
  const hanging = Promise.withResolvers<never>();
  await using bench = await openBench({ describeProcess: () => hanging.promise }, { bounds: BOUNDS });
  await askMany(bench, '/api/v1/process', 40, (refused) => refused === 20);
  for (const name of ['pages.css', 'pages.js']) {
    expect((await fetch(`${bench.url}/assets/${name}`)).status).toBe(200);
  }
});

test('a process of the fleet with a token may use all slots for the streams of its readers, other clients half', async () => {
  const tokens = [{ name: 'fleet', token: 'a-token-of-the-fleet', role: 'read' as const }];
  await using bench = await openBench(
    {},
    { bounds: BOUNDS, access: { users: new Map(), tokens, isHealthOpen: false } },
  );
  const headers = { authorization: 'Bearer a-token-of-the-fleet' };
  await askMany(bench, '/api/v1/records/stream', 30, (refused) => refused === 5, headers);
  const statuses = await askMany(bench, '/api/v1/records/stream?own=1', 26, (refused) => refused > 0, headers);
  await expect.poll(() => statuses.length).toBe(26);
  expect(statuses.filter((status) => status === 503)).toHaveLength(1);
});

test.for(['at the start', 'by a reload'] as const)(
  'clients behind a proxy that is trusted %s and names them have a share each, and the proxy itself has none',
  async (when) => {
    const hanging = Promise.withResolvers<void>();
    async function* renderMetrics() {
      await hanging.promise;
      yield 'router_up 1\n';
    }
    const policy = { trustedProxies: [{ address: '127.0.0.1', family: 'ipv4', bits: 32 }] } as const;
    await using bench = await openBench({ renderMetrics }, when === 'at the start' ? policy : {});
    if (when === 'by a reload') bench.server.prepare(policy)();
    const statuses: (number | undefined)[] = [];
    const ask = (headers: Record<string, string>) =>
      bench.get('/metrics', { headers }).then(
        ({ status }) => statuses.push(status),
        () => {},
      );
    const client = (address: string) => ({ 'x-forwarded-for': address });
    const all = Array.from({ length: 25 }, () => ask(client('192.0.2.1')));
    await expect.poll(() => statuses).toEqual(Array(5).fill(503));
    all.push(
      ...Array.from({ length: 5 }, () => ask(client('192.0.2.2'))),
      ...Array.from({ length: 16 }, () => ask({})),
    );
    await expect.poll(() => statuses).toEqual(Array(6).fill(503));
    hanging.resolve();
    await Promise.all(all);
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
  },
);

test('two searches of lines run at a time over all clients; others are refused at once, and health and metrics answered', async () => {
  const hanging = Promise.withResolvers<void>();
  let searches = 0;
  const content: Partial<WebContent> = {
    describeRouter: () => DETAIL,
    async readRecords() {
      searches++;
      await hanging.promise;
      return { records: [], next: null, searchedTo: null, fault: null };
    },
  };
  const failures: unknown[] = [];
  await using bench = await openBench({ ...content, onFailed: (cause) => failures.push(cause) });
  await askMany(bench, '/logs?q=xyz', 20, (refused) => refused === 18);
  for (const path of [
    '/api/v1/records',
    '/api/v1/routers/plant-7/records',
    '/api/v1/routers/plant-7',
    '/router/plant-7',
  ]) {
    const { status, headers, body } = await bench.get(path, { localAddress: OTHER });
    expect([status, headers['retry-after'], body.toString()]).toEqual([
      503,
      '1',
      'Too many searches of log lines at once; try again later.\n',
    ]);
  }
  for (const path of ['/-/healthy', '/-/ready', '/metrics', '/router/plant-7?view=positions']) {
    expect(await bench.get(path, { localAddress: OTHER })).toMatchObject({ status: 200 });
  }
  expect(searches).toBe(2);
  expect(failures).toEqual([]);
  hanging.resolve();
  await expect.poll(async () => (await bench.get('/logs')).status).toBe(200);
});

/** As long as a piece of work that is long for the main thread. Milliseconds. */
const PIECE_MS = 5;

function workFor(durationMs: number): void {
  for (const endMs = performance.now() + durationMs; performance.now() < endMs; );
}

test('two pages of the configuration are rendered at a time, and others refused at once', async () => {
  let [running, most] = [0, 0];
  const content: Partial<WebContent> = {
    listRouters: () => Array.from({ length: 5 }, (_, index) => ({ ...ROUTER, name: `plant-${index}` })),
    renderConfig() {
      most = Math.max(most, ++running);
      return 'web: {}\n';
    },
    renderRouterConfig() {
      workFor(PIECE_MS);
      return 'name: plant\n';
    },
    describeConfiguration() {
      running--;
      return createContent().describeConfiguration();
    },
  };
  await using bench = await openBench(content);
  const answers = await Promise.all(Array.from({ length: 30 }, () => bench.get('/config')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  expect(most).toBe(2);
});

test('pages of many concurrent readers begin one after the other, with event-loop iterations for other work between them', async () => {
  let [begun, most] = [0, 0];
  const content: Partial<WebContent> = {
    describeProcess() {
      workFor(PIECE_MS);
      most = Math.max(most, ++begun);
      setImmediate(() => (begun = 0));
      return Promise.resolve(PROCESS);
    },
  };
  await using bench = await openBench(content, { clock: createSystemClock() });
  // All of them come at once.
  const socket = connect(Number(new URL(bench.url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let answers = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answers += text));
  socket.write('GET /api/v1/sinks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(30));
  await expect.poll(() => answers.match(/^HTTP\/1\.1 200 /gm)?.length).toBe(30);
  // Two in the event-loop iteration that answers sockets, and two in the one after.
  expect(most).toBeLessThanOrEqual(4);
});
