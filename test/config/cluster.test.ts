import { expect, test } from 'vitest';
import { renderEffectiveConfig } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

const nats = (keys: string) => `cluster: { nats: { servers: [nats-0], replica: a, ${keys} } }\n${withRouter()}`;

test('a cluster has its defaults', async () => {
  const { config } = await load(nats(''));
  expect(config?.cluster).toEqual({
    servers: ['nats://nats-0:4222'],
    name: 'router-exporter',
    replica: 'a',
    lease: 15_000,
    status_grace: 900_000,
    replicas: 3,
  });
});

test('without a name the replica has that of its machine', async () => {
  const { config } = await load(`cluster: { nats: { servers: [nats-0] } }\n${withRouter()}`);
  expect(config?.cluster?.replica).toMatch(/^[A-Za-z0-9._-]+$/);
});

test('a written cluster is shown as it is used, without its secrets', async () => {
  const keys = 'name: plant, advertise: "http://a:9847/rx/", lease: 5s, bearer_token: sesame, max_bytes: 2GiB';
  const { config } = await load(nats(keys));
  const text = config ? renderEffectiveConfig(config) : '';
  expect(text).toContain('bearer_token: "[secret]"');
  expect(text).toContain('advertise: http://a:9847/rx #');
  expect(text).toContain('max_bytes: 2GiB');
  expect(text).not.toContain('sesame');
});

test('an empty section is no cluster, with a warning', async () => {
  const { config, warnings } = await load(`cluster: {}\n${withRouter()}`, {
    options: { shard: { index: 0, total: 2 } },
  });
  expect(config?.cluster).toBeUndefined();
  expect(config?.shards).toBeDefined();
  expect(warnings?.map(({ message }) => message)).toEqual([
    'The section is empty: this process is no member of a cluster',
  ]);
});

test.each([
  ['nats: {}', 'cluster.nats.servers: Missing key'],
  ['nats: { servers: [nats-0, "tls://nats-1"] }', 'A server without TLS among servers with TLS'],
  ['nats: { servers: [nats-0], name: "plant.7" }', 'the name of a cluster'],
  ['nats: { servers: [nats-0], lease: 1s }', 'a duration with its unit from 3s to 10m'],
  ['nats: { servers: [nats-0], advertise: "ftp://a" }', 'an http or https URL'],
  ['nats: { servers: [nats-0], username: a }', '"username" requires "password"'],
])('%s is a fault', async (written, fault) => {
  const { lines } = await load(`cluster: { ${written} }\n${withRouter()}`);
  expect(lines.join('\n')).toContain(fault);
});

test('settings that a cluster replaces are a fault together with it', async () => {
  const peers = await load(`web: { peers: ["http://a", "http://b"] }\n${nats('')}`);
  expect(peers.lines.join('\n')).toContain('"peers" has no effect in a cluster');
  const shard = await load(nats(''), { options: { shard: { index: 1, total: 2 } } });
  expect(shard.lines.join('\n')).toContain('start it without --shard');
  expect((await load(nats(''), { options: { shard: { index: 0 } } })).lines).toEqual([]);
});

test('backups of a cluster have to be on storage that all replicas reach', async () => {
  const backup = (keys: string) => `backup: { schedule: "0 3 * * *", path: /srv/backups${keys} }\n${nats('')}`;
  expect((await load(backup(''))).lines.join('\n')).toContain('with "shared: true"');
  const { config } = await load(backup(', shared: true'));
  expect(config?.backup).toMatchObject({ path: '/srv/backups', shared: true });
});
