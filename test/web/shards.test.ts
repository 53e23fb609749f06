import { expect, test } from 'vitest';
import type { FleetShards } from '../../src/web/index.ts';
import { ask, ROUTER } from './bench.ts';

const OTHER = { name: 'plant-9', url: 'https://192.0.2.99', labels: { site: 'essen' }, shard: 1 };
const PEERS = ['http://exporter-0:9847', 'https://exporter-1.example/rx'];

function createShards(peers: readonly string[]) {
  const shards: FleetShards = { index: 0, total: 2, peers, others: new Map([[OTHER.name, OTHER]]) };
  return { content: { listRouters: () => [ROUTER], describeShards: () => shards } };
}

test('GET /sd gives each router of the fleet the address of its process', async () => {
  const groups = JSON.parse((await ask('/sd', createShards(PEERS))).text) as {
    targets: string[];
    labels: Record<string, string>;
  }[];
  expect(groups.map(({ targets, labels }) => [labels['__param_target'], targets[0]])).toEqual([
    ['plant-7', 'exporter-0:9847'],
    ['plant-9', 'exporter-1.example:443'],
  ]);
  expect(groups[1]?.labels).toEqual({
    __metrics_path__: '/rx/probe',
    __param_target: 'plant-9',
    __scheme__: 'https',
    __meta_router_name: 'plant-9',
    __meta_router_url: 'https://192.0.2.99',
    __meta_router_label_site: 'essen',
  });
});

test('GET /sd of a process that does not know the addresses of the others gives its own routers', async () => {
  const groups = JSON.parse((await ask('/sd', createShards([]))).text) as { labels: Record<string, string> }[];
  expect(groups.map(({ labels }) => labels['__param_target'])).toEqual(['plant-7']);
});

test.for([
  [
    '/probe?target=plant-9&fresh=1&collect[]=modem',
    'https://exporter-1.example/rx/probe?target=plant-9&fresh=1&collect[]=modem',
  ],
  ['/api/v1/routers/plant-9', 'https://exporter-1.example/rx/api/v1/routers/plant-9'],
] as const)('GET %s is redirected to the process of the router', async ([path, location]) => {
  const { status, headers } = await ask(path, createShards(PEERS));
  expect([status, headers.get('location')]).toEqual([307, location]);
});

test.for(['/probe?target=plant-9', '/api/v1/routers/plant-9'])(
  'GET %s answers 421 and names the process when its address is not configured',
  async (path) => {
    const { status, text } = await ask(path, createShards([]));
    expect([status, text]).toEqual([
      421,
      'Process 1 of 2 polls this router (--shard). List all processes in web.peers to be redirected.\n',
    ]);
  },
);

test('GET /probe of a router that no process has answers 404', async () => {
  expect((await ask('/probe?target=plant-8', createShards(PEERS))).status).toBe(404);
});
