import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FleetShards, WebContent } from '../../src/web/index.ts';
import { type Bench, openBench, ROUTER } from './bench.ts';

/** A router of process 1, as process 0 knows it. */
export const OTHER = { name: 'plant-9', url: 'https://192.0.2.99', labels: { site: 'essen' }, shard: 1 };
/** That router, as process 1 describes it. */
export const THEIRS = { ...ROUTER, name: 'plant-9', url: 'https://other.example', labels: { site: 'elsewhere' } };

/** A list as a process answers with it: each row on a line of its own. */
export function renderRows(key: string, rows: readonly unknown[], more: object = {}): string {
  const end = JSON.stringify(more).slice(1);
  return `{"${key}":[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}${rows.length > 0 ? '\n' : ''}]${end === '}' ? end : `,${end}`}\n`;
}

/** A process of the fleet that answers as a test wants. */
export async function openPeer(answer: RequestListener) {
  const requests: { url: string | undefined; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url, authorization: request.headers.authorization });
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Process 0 with one router; process 1, at `peer`, has the other. */
export function createContent(peer: string, changes: Partial<FleetShards> = {}): Partial<WebContent> {
  const others = new Map([[OTHER.name, OTHER]]);
  const shards: FleetShards = { index: 0, total: 2, peers: ['http://127.0.0.1:1', peer], others, ...changes };
  return {
    listRouters: () => [ROUTER],
    findRouter: (name) => (name === ROUTER.name ? { ...ROUTER, availability: '' } : undefined),
    describeShards: () => shards,
  };
}

/** The `main` of a page; the whole of any other answer. */
export async function readMain(bench: Bench, path: string): Promise<string> {
  const text = (await bench.get(path)).body.toString();
  return /<main.*<\/main>/s.exec(text)?.[0] ?? text;
}

/** Two processes of one fleet, each with one router, that know each other. */
export async function openPair(first: Partial<WebContent> = {}, second: Partial<WebContent> = {}) {
  const urls: string[] = [];
  const shardsOf = (index: number, other: string): FleetShards => {
    const others = new Map([[other, { ...OTHER, name: other, shard: 1 - index }]]);
    return { index, total: 2, peers: urls, others };
  };
  const contentOf = (index: number, own: string, other: string, content: Partial<WebContent>): Partial<WebContent> => ({
    hasRouter: (name) => name === own,
    listRouters: () => [{ ...ROUTER, name: own }],
    describeShards: () => shardsOf(index, other),
    ...content,
  });
  const a = await openBench(contentOf(0, ROUTER.name, OTHER.name, first), { nowMs: Date.UTC(2026, 10, 21, 12) });
  const b = await openBench(contentOf(1, OTHER.name, ROUTER.name, second), { nowMs: Date.UTC(2026, 10, 21, 12) });
  urls.push(a.url, b.url);
  return {
    a,
    b,
    read: (path: string) => readMain(a, path),
    async [Symbol.asyncDispose]() {
      await a[Symbol.asyncDispose]();
      await b[Symbol.asyncDispose]();
    },
  };
}
