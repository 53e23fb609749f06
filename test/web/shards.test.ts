import { expect, test } from 'vitest';
import type { ClusterSummary, FleetShards } from '../../src/web/index.ts';
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

test.for([
  ['http://127.0.0.1:9847', 'http://127.0.0.1:9848/rx', 'monitor.example.com:9848'],
  ['http://[::1]:9847', 'http://[::1]:9848/rx', 'monitor.example.com:9848'],
  ['http://192.0.2.1:9847', 'http://192.0.2.1:9848/rx', '192.0.2.1:9848'],
] as const)('a process at %s leads to another at %s by a name that the client can use', async ([self, other, host]) => {
  const shards = createShards([self, other]);
  const at = 'http://monitor.example.com:9847';
  const groups = JSON.parse((await ask(`${at}/sd`, shards)).text) as { targets: string[] }[];
  expect(groups.map(({ targets }) => targets[0])).toEqual([host.replace('9848', '9847'), host]);
  const { status, headers } = await ask(`${at}/api/v1/routers/plant-9`, shards);
  expect([status, headers.get('location')]).toEqual([307, `http://${host}/rx/api/v1/routers/plant-9`]);
});

test('GET /sd leaves out a router of another process that the configuration retires, until its end', async () => {
  // The clock stands at 0.
  const others = (
    [
      ['active', 'active', undefined],
      ['maintenance', 'maintenance', undefined],
      ['paused', 'paused', undefined],
      ['retired', 'retired', undefined],
      ['ended', 'retired', 0],
      ['ends', 'retired', 1000],
    ] as const
  ).map(([name, state, untilMs]) => [name, { ...OTHER, name, lifecycle: { state, untilMs } }] as const);
  const shards: FleetShards = { index: 0, total: 2, peers: PEERS, others: new Map(others) };
  const content = { listRouters: () => [ROUTER], describeShards: () => shards };
  const groups = JSON.parse((await ask('/sd', { content })).text) as { labels: Record<string, string> }[];
  expect(groups.map(({ labels }) => labels['__param_target'])).toEqual([
    'active',
    'ended',
    'maintenance',
    'paused',
    'plant-7',
  ]);
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
      'Process 1 of 2 has this router (--shard). List all processes in web.peers to be redirected.\n',
    ]);
  },
);

test('POST /-/poll of a router of another process leads to it, or names it, and does not say that there is none', async () => {
  const post = (peers: readonly string[]) =>
    ask('/-/poll?router=plant-9', { ...createShards(peers), isLifecycleEnabled: true }, { method: 'POST' });
  const { status, headers } = await post(PEERS);
  expect([status, headers.get('location')]).toEqual([307, 'https://exporter-1.example/rx/-/poll?router=plant-9']);
  const unknown = await post([]);
  expect([unknown.status, unknown.text]).toEqual([421, expect.stringContaining('Process 1 of 2 has this router')]);
});

test('GET /probe of a router that no process has answers 404', async () => {
  expect((await ask('/probe?target=plant-8', createShards(PEERS))).status).toBe(404);
});

/** Replica `a` of three, of which `b` has an address and `c` none; `owner` has the other router. */
function createCluster(owner: number, cluster: Partial<ClusterSummary> = {}) {
  const shards: FleetShards = {
    index: 0,
    total: 3,
    peers: ['http://a:9847', 'http://b:9847', undefined],
    names: ['a', 'b', 'c'],
    others: new Map([[OTHER.name, { ...OTHER, shard: owner }]]),
    cluster: {
      name: 'plant',
      replica: 'a',
      members: 3,
      missing: [],
      isLeaseHeld: true,
      isEngineAway: false,
      areListsDifferent: false,
      ...cluster,
    },
  };
  return { content: { listRouters: () => [ROUTER], describeShards: () => shards } };
}

test.for([
  ['of a replica with an address', 1, 307, ''],
  ['of a replica without one', 2, 421, 'Replica c has this router, at no known address'],
  ['that is moving here', 0, 503, 'moving to another replica'],
  ['that no replica has', -1, 503, 'moving to another replica'],
] as const)('GET /probe of a router of a cluster %s', async ([, owner, wanted, words]) => {
  const { status, text, headers } = await ask('/probe?target=plant-9', createCluster(owner));
  expect([status, text]).toEqual([wanted, expect.stringContaining(words)]);
  expect(headers.get('retry-after')).toBe(wanted === 503 ? '1' : null);
  if (wanted === 307) expect(headers.get('location')).toBe('http://b:9847/probe?target=plant-9');
});

test('GET /sd of a replica leaves out routers whose replica has no address', async () => {
  const names = async (owner: number) => {
    const groups = JSON.parse((await ask('/sd', createCluster(owner))).text) as { labels: Record<string, string> }[];
    return groups.map(({ labels }) => labels['__param_target']);
  };
  expect([await names(1), await names(2)]).toEqual([['plant-7', 'plant-9'], ['plant-7']]);
});

test('the fleet page names a replica that is missing, one whose routers cannot be shown, and what is wrong here', async () => {
  const whole = await ask('/', createCluster(2));
  expect(whole.text).toContain('Cluster plant: 3 replicas; this is a.');
  expect(whole.text).toContain('Replica c');
  expect(whole.text).toContain('set cluster.nats.advertise there');
  expect(whole.text).not.toContain('not in its cluster');
  const missing = [{ replica: '<b>', since: '2026-11-21T12:00:00.000Z' }];
  const states = { missing, isLeaseHeld: false, isEngineAway: true, areListsDifferent: true };
  const { text } = await ask('/', createCluster(1, states));
  expect(text).toContain('NATS cannot be reached');
  expect(text).toContain('Replica &lt;b&gt; is missing');
  expect(text).toContain('The replicas have different routers');
});
