import { describe, expect, it } from 'vitest';
import { describePortFault, findShard, placeOnHost } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

const NAMES = Array.from({ length: 3000 }, (_, index) => `router-${index}`);
const ALL = ['a', 'b', 'c', 'd', 'e'];
const PEERS = ['http://exporter-0:9847', 'http://exporter-1:9847', 'https://exporter-2/rx/'];
const FLEET = `routers:
${ALL.map((name) => `  - { name: ${name}, url: "http://192.0.2.1:9${name.charCodeAt(0)}", auth: none, labels: { site: ${name}1 } }\n`).join('')}`;

describe('findShard()', () => {
  it('never changes for a name and a number of processes, because positions stay with their process', () => {
    const shards = ['plant-7', 'plant-8', 'sim-1', 'sim-2', 'sim-3', 'a', 'Z.9_x'].map((name) => findShard(name, 5));
    expect(shards).toMatchInlineSnapshot(`
      [
        3,
        4,
        2,
        1,
        3,
        0,
        0,
      ]
    `);
  });

  it('gives each of several processes about the same number of routers', () => {
    for (const total of [2, 3, 7, 20]) {
      const shards = NAMES.map((name) => findShard(name, total));
      const counts = Array.from({ length: total }, (_, index) => shards.filter((shard) => shard === index).length);
      const fair = NAMES.length / total;
      for (const count of counts) expect(Math.abs(count - fair)).toBeLessThan(5 * Math.sqrt(fair));
    }
  });

  it('moves routers to a new process only, and from none to another', () => {
    for (const total of [1, 2, 5, 10]) {
      const moved = NAMES.filter((name) => findShard(name, total) !== findShard(name, total + 1));
      expect(moved.every((name) => findShard(name, total + 1) === total)).toBe(true);
      expect(moved.length / NAMES.length).toBeCloseTo(1 / (total + 1), 1);
    }
  });
});

describe('loadConfig() for one process of several', () => {
  it('selects its routers, and knows where the others are', async () => {
    const shares = await Promise.all(
      [0, 1, 2].map(async (index) => (await load(FLEET, { options: { shard: { index, total: 3 } } })).config),
    );
    expect(shares.flatMap((config) => config?.routers.map(({ name }) => name) ?? []).toSorted()).toEqual(ALL);
    for (const [index, config] of shares.entries()) {
      const others = [...(config?.shards?.others.values() ?? [])];
      expect(config?.shards).toMatchObject({ index, total: 3, peers: [] });
      expect(
        [...others.map(({ name }) => name), ...(config?.routers.map(({ name }) => name) ?? [])].toSorted(),
      ).toEqual(ALL);
      for (const { name, url, labels, shard } of others) {
        expect([url, labels]).toEqual([`http://192.0.2.1:9${name.charCodeAt(0)}`, { site: `${name}1` }]);
        expect(shares[shard]?.routers.map((router) => router.name)).toContain(name);
      }
    }
  });

  it('knows the states of the others that the configuration names', async () => {
    const text = `${FLEET}defaults: { state: retired, state_until: "2100-01-01T00:00:00Z" }\n`;
    const { config } = await load(text, { options: { shard: { index: 0, total: 3 } } });
    const states = [...(config?.shards?.others.values() ?? [])].map(({ lifecycle }) => lifecycle);
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) expect(state).toEqual({ state: 'retired', untilMs: Date.UTC(2100, 0) });
  });

  it('counts the processes of web.peers when the number is not given, and removes slashes at their ends', async () => {
    const { config } = await load(`web: { peers: ${JSON.stringify(PEERS)} }\n${FLEET}`, {
      options: { shard: { index: 2 } },
    });
    expect(config?.shards).toMatchObject({
      index: 2,
      total: 3,
      peers: ['http://exporter-0:9847', 'http://exporter-1:9847', 'https://exporter-2/rx'],
    });
  });

  it('has all routers and no shards when there is one process, and when no process is chosen', async () => {
    for (const shard of [{ index: 0 }, { index: 0, total: 1 }, undefined]) {
      const { config } = await load(withRouter(), { options: { shard } });
      expect([config?.routers.length, config?.shards]).toEqual([1, undefined]);
    }
  });

  it('rejects a number of processes other than that of web.peers, and a process beyond it', async () => {
    const text = `web:\n  peers: ${JSON.stringify(PEERS)}\n${FLEET}`;
    expect((await load(text, { options: { shard: { index: 0, total: 4 } } })).lines).toEqual([
      'router-exporter.yaml:2:10: web.peers: "peers" lists 3 processes, but --total-shards is 4; list each process once, or leave out the flag',
    ]);
    expect((await load(text, { options: { shard: { index: 3 } } })).lines).toEqual([
      'router-exporter.yaml:2:10: web.peers: There is no process 3 (--shard): "peers" lists 3 processes, counted from 0; set --total-shards, or add it',
    ]);
    expect((await load(FLEET, { options: { shard: { index: 1 } } })).lines).toEqual([
      'router-exporter.yaml:1:1: web.peers: There is no process 1 (--shard): the default is one process; set --total-shards, or add it',
    ]);
  });

  it('rejects peers that are no plain URLs, without repeating what may be a password', async () => {
    const { lines } = await load(`web:\n  peers: ["http://u:geheim@h:1", "exporter-1"]\n${FLEET}`);
    expect(lines).toHaveLength(2);
    expect(lines.join('\n')).not.toContain('geheim');
    expect(lines[0]).toContain(
      'web.peers[0]: Expected an http or https URL of scheme, host, port and path prefix alone',
    );
  });

  it('shows other processes a token for reading, and never one that may do more', async () => {
    const access = (roles: string[]) =>
      `web: { access: { tokens: [${roles.map((role) => `{ name: ${role}, role: ${role}, token: token-of-${role} }`).join(', ')}] } }\n${FLEET}`;
    const readToken = async (roles: string[]) =>
      (await load(access(roles), { options: { shard: { index: 0, total: 2 } } })).config?.shards?.token?.reveal();
    expect(await readToken(['admin', 'metrics', 'read'])).toBe('token-of-read');
    expect(await readToken(['admin', 'metrics'])).toBeUndefined();
  });
});

describe('placeOnHost()', () => {
  const place = async (web: string, index = 1) => {
    const { config } = await load(`web: ${web}\n${FLEET}`, { options: { shard: { index, total: 3 } } });
    if (!config) return expect.unreachable('the configuration has a fault');
    const { web: placed, shards } = placeOnHost(config, '/rx');
    expect(placed.peers ?? []).toEqual(shards?.peers);
    return { ports: placed.listen.map(({ port }) => port), peers: shards?.peers };
  };

  it.for([
    ['{}', [9848], '127.0.0.1', 9847],
    ['{ listen: ["0.0.0.0:80"] }', [81], '127.0.0.1', 80],
    ['{ listen: ["[::]:80"] }', [81], '[::1]', 80],
    ['{ listen: ["192.0.2.1:80", "127.0.0.1:90"] }', [81, 91], '192.0.2.1', 80],
  ] as const)(
    'gives a process of a machine its port and the addresses of all with web: %s',
    async ([web, ports, host, first]) => {
      const peers = [0, 1, 2].map((shard) => `http://${host}:${first + shard}/rx`);
      expect(await place(web)).toEqual({ ports, peers });
    },
  );

  it('leaves the addresses that the configuration lists, and a process that is alone', async () => {
    const web = `{ peers: ${JSON.stringify(PEERS)} }`;
    expect(await place(web, 2)).toEqual({
      ports: [9849],
      peers: ['http://exporter-0:9847', 'http://exporter-1:9847', 'https://exporter-2/rx'],
    });
    const { config } = await load(FLEET, { options: { shard: { index: 0, total: 1 } } });
    if (config) expect(placeOnHost(config, '')).toBe(config);
  });

  it('lists no addresses with TLS, because the certificate of the server is for none of them', async () => {
    const { config } = await load(FLEET, { options: { shard: { index: 1, total: 3 } } });
    if (!config) return expect.unreachable('the configuration has a fault');
    const security = { users: new Map(), tls: {} } as unknown as NonNullable<typeof config.web.security>;
    const { web, shards } = placeOnHost({ ...config, web: { ...config.web, security } }, '');
    expect([web.listen, web.peers, shards?.peers]).toEqual([[{ host: undefined, port: 9848 }], undefined, []]);
  });

  it.for([
    [0, 'is 1 to 65533; found 0'],
    [65_534, 'is 1 to 65533; found 65534'],
    [65_533, undefined],
  ] as const)('is refused for port %i of three processes when there is no port for each', async ([port, message]) => {
    const { config } = await load(`web: { listen: [":${port}"] }\n${FLEET}`, {
      options: { shard: { index: 0, total: 3 } },
    });
    if (!config) return expect.unreachable('the configuration has a fault');
    const fault = describePortFault(config);
    if (message === undefined) expect(fault).toBeUndefined();
    else expect(fault).toContain(message);
  });
});
