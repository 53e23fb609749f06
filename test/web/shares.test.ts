import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { ConnectionBounds } from '../../src/web/connections.ts';
import type { WebContent } from '../../src/web/index.ts';
import { type Bench, openBench } from './bench.ts';

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
  ['/api/v1/records', 40],
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
      async readRecords() {
        if (isHanging) await hanging.promise;
        return { records: [], next: null, searchedTo: null, fault: null };
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

test('a process of the fleet with a token may have all places for the streams of its readers, and others half', async () => {
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
