// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.

import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/base/index.ts';
import { createStdoutSettings } from '../../support/sink-settings.ts';
import { CERTIFICATE, load, type Surroundings, withRouter } from '../configuration-folder.ts';

const KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const CREDENTIALS = `-----BEGIN NATS USER JWT-----
eyJ0
------END NATS USER JWT------
-----BEGIN USER NKEY SEED-----
SUAC
------END USER NKEY SEED------
`;

const ALL = { routers: ['*'], components: ['*'], severities: ['*'], events: ['line', 'log.*'] };
const COMMON = { name: 'a', start: 'oldest', ...ALL };
const NETWORK = { ...COMMON, timeout: 30_000 };
const MIB = 1024 ** 2;
const HTTP_BATCH = { recordsMax: 1000, bytesMax: MIB, waitMs: 1000 };
const WEB = { ...NETWORK, replay: 0 };

/** The settings of the one sink with these keys. */
async function sinkOf(keys: string, around: Surroundings = {}) {
  const { config, lines, folder } = await load(`sinks: [{ name: a, ${keys} }]\n${withRouter()}`, around);
  expect(lines).toEqual([]);
  return { sink: config?.sinks[0], folder };
}

describe('loadConfig() on sinks', () => {
  it.each([
    [
      'type: stdout',
      {
        ...COMMON,
        type: 'stdout',
        format: 'native',
        batch: { recordsMax: 5000, bytesMax: MIB, waitMs: 0 },
      },
    ],
    [
      'type: http, url: "https://a/in/"',
      {
        ...WEB,
        type: 'http',
        format: 'native',
        url: { url: 'https://a/in/', query: [] },
        compress: 'none',
        batch: HTTP_BATCH,
      },
    ],
    [
      'type: loki, url: "https://a/"',
      {
        ...WEB,
        type: 'loki',
        format: 'native',
        url: 'https://a',
        layout: 'auto',
        stream_limit: 5000,
        shards: 32,
        max_age: 604_800_000,
        batch: HTTP_BATCH,
      },
    ],
    [
      'type: elasticsearch, url: "http://a:9200/es/"',
      {
        ...WEB,
        type: 'elasticsearch',
        format: 'ecs',
        url: 'http://a:9200/es',
        index: 'logs-router-default',
        compress: 'gzip',
        batch: { recordsMax: 5000, bytesMax: 4 * MIB, waitMs: 1000 },
      },
    ],
    [
      'type: otlp, url: "http://a:4318"',
      { ...WEB, type: 'otlp', format: 'otel', url: 'http://a:4318', compress: 'gzip', batch: HTTP_BATCH },
    ],
    [
      'type: syslog, address: "siem:514"',
      {
        ...NETWORK,
        type: 'syslog',
        format: 'native',
        address: { host: 'siem', port: 514 },
        protocol: 'tcp',
        facility: 'local0',
        app_name: 'router-exporter',
        message_max: 8192,
        replay: 5000,
        batch: { recordsMax: 500, bytesMax: 262_144, waitMs: 0 },
      },
    ],
    [
      'type: nats, servers: [n1]',
      {
        ...NETWORK,
        type: 'nats',
        format: 'native',
        servers: ['nats://n1:4222'],
        subject: 'logs',
        batch: { recordsMax: 1000, bytesMax: MIB, waitMs: 0 },
      },
    ],
  ])('applies every default to {%s}', async (keys, settings) => {
    expect((await sinkOf(keys)).sink).toMatchObject(settings);
  });

  it('applies every default to a file, whose path starts at the folder of the configuration', async () => {
    const { sink, folder } = await sinkOf('type: file, path: logs/a.jsonl');
    expect(sink).toMatchObject({
      ...COMMON,
      type: 'file',
      format: 'native',
      timeout: 30_000,
      path: join(folder, 'logs/a.jsonl'),
      max_size: 100 * MIB,
      max_age: 86_400_000,
      keep: 10,
      compress: 'gzip',
      fsync: 'batch',
      batch: { recordsMax: 50_000, bytesMax: 8 * MIB, waitMs: 0 },
    });
  });

  it('takes every key of a sink', async () => {
    const common =
      'start: newest, batch: { records: 7, bytes: 1KiB, wait: 200ms }, routers: ["a*", "!ab"], components: [x], severities: ["!debug", "*", "[e]*"], events: [line, "log.*"]';
    const { sink } = await sinkOf(
      `${common}, type: loki, url: "https://a/push", tenant: t-1, layout: shard, stream_limit: "9", shards: 3, max_age: 0, timeout: 5s`,
    );
    expect(sink).toMatchObject({
      start: 'newest',
      batch: { recordsMax: 7, bytesMax: 1024, waitMs: 200 },
      routers: ['a*', '!ab'],
      components: ['x'],
      severities: ['!debug', '*', '[e]*'],
      events: ['line', 'log.*'],
      url: 'https://a/push',
      tenant: 't-1',
      layout: 'shard',
      stream_limit: 9,
      shards: 3,
      max_age: 0,
      timeout: 5000,
    });
  });

  it.each([
    [
      'type: file, path: /var/log/a, max_size: 64KiB, max_age: 1m, keep: 1, compress: none, fsync: never, format: ecs',
      {
        path: '/var/log/a',
        max_size: 65_536,
        max_age: 60_000,
        keep: 1,
        compress: 'none',
        fsync: 'never',
        format: 'ecs',
      },
    ],
    [
      'type: elasticsearch, url: "https://a", index: r-1, pipeline: geo, compress: none, format: otel',
      { index: 'r-1', pipeline: 'geo', compress: 'none', format: 'otel' },
    ],
    ['type: http, url: "https://a", compress: gzip, format: otel', { compress: 'gzip', format: 'otel' }],
    ['type: http, url: "https://a"', { url: { url: 'https://a/', query: [] } }],
    [
      'type: http, url: "HTTPS://A?_s=a,b&tok%20en=x%2Fy=&bare&empty=&&_bare?ü"',
      {
        url: {
          url: 'https://a/',
          query: [
            ...['_s=a,b', '&tok%20en=', new Secret('x%2Fy='), '&', new Secret('bare')],
            ...['&empty=', '&', '&_bare?%C3%BC'],
          ],
        },
      },
    ],
    ['type: http, url: "https://a", batch: { wait: 0 }', { batch: { recordsMax: 1000, bytesMax: MIB, waitMs: 0 } }],
    ['type: otlp, url: "https://a", compress: none, format: otel', { compress: 'none', format: 'otel' }],
    [
      'type: syslog, address: "[::1]:6514", protocol: udp, facility: auth, app_name: re, message_max: 480, replay: 0',
      {
        address: { host: '::1', port: 6514 },
        protocol: 'udp',
        facility: 'auth',
        app_name: 're',
        message_max: 480,
        replay: 0,
        format: 'native',
      },
    ],
    [
      'type: syslog, address: "h:1", protocol: udp, message_max: 65507, batch: { wait: 0s }',
      { message_max: 65_507, batch: { recordsMax: 500, bytesMax: 262_144, waitMs: 0 } },
    ],
    [
      'type: nats, servers: ["nats://a", "b:1", "[::1]", "nats://c:9/"], subject: a.b, stream: S, format: ecs',
      {
        servers: ['nats://a:4222', 'nats://b:1', 'nats://[::1]:4222', 'nats://c:9'],
        subject: 'a.b',
        stream: 'S',
        format: 'ecs',
      },
    ],
    ['type: nats, servers: ["tls://a", "tls://b:1"], tls: { server_name: n }', { tls: { server_name: 'n' } }],
  ])('takes {%s}', async (keys, settings) => {
    expect((await sinkOf(keys)).sink).toMatchObject(settings);
  });

  it.each([
    ['type: http, url: "https://a", username: u, password: "${PW}"', 'password', 's 1'],
    ['type: loki, url: "https://a", username: u, password_file: pw', 'password', 'f 1'],
    ['type: otlp, url: "https://a", bearer_token: t', 'bearer_token', 't'],
    ['type: nats, servers: [a], bearer_token_file: token', 'bearer_token', 'f-2'],
    ['type: nats, servers: [a], username: "a:b", password: p', 'password', 'p'],
    ['type: elasticsearch, url: "https://a", api_key: k', 'api_key', 'k'],
    ['type: elasticsearch, url: "https://a", api_key_file: token', 'api_key', 'f-2'],
  ])('proves who it is by {%s}', async (keys, key, secret) => {
    const { sink } = await sinkOf(keys, { env: { PW: 's 1' }, files: { pw: 'f 1\n', token: 'f-2\r\n' } });
    expect(Object.keys(sink ?? {}).filter((one) => one.endsWith('_file'))).toEqual([]);
    expect(Reflect.get(sink ?? {}, key).reveal()).toBe(secret);
  });

  it('takes the credentials of a user of NATS', async () => {
    const { sink } = await sinkOf('type: nats, servers: [a], credentials_file: a.creds', {
      files: { 'a.creds': CREDENTIALS + ' '.repeat(5000) },
    });
    expect(sink?.type === 'nats' && sink.credentials_file?.reveal().trimEnd()).toBe(CREDENTIALS.trimEnd());
  });

  it('takes headers from the configuration, the environment and files', async () => {
    const { sink } = await sinkOf(
      'type: http, url: "https://a", headers: { X-A: one two, X-B: "a ${B}" }, header_files: { Authorization: h }',
      { env: { B: 'b' }, files: { h: 'Custom x\n' } },
    );
    const headers = (sink && 'headers' in sink && sink.headers) || {};
    expect(Object.entries(headers).map(([name, value]) => [name, value.reveal()])).toEqual([
      ['X-A', 'one two'],
      ['X-B', 'a b'],
      ['Authorization', 'Custom x'],
    ]);
  });

  it.each([
    'type: otlp, url: "https://a"',
    'type: nats, servers: ["tls://a"]',
    'type: syslog, address: "a:1", protocol: tls',
  ])('reads the files of the TLS of {%s}', async (keys) => {
    const tls = 'tls: { ca_file: c.pem, cert_file: c.pem, key_file: k.pem, insecure_skip_verify: "true" }';
    const { sink } = await sinkOf(`${keys}, ${tls}`, { files: { 'c.pem': CERTIFICATE, 'k.pem': KEY } });
    const settings = sink && 'tls' in sink ? sink.tls : undefined;
    expect(settings).toMatchObject({ ca_file: CERTIFICATE, cert_file: CERTIFICATE, insecure_skip_verify: true });
    expect(settings?.key_file?.reveal()).toBe(KEY);
  });

  it('takes a pinned certificate', async () => {
    const { sink } = await sinkOf(`type: http, url: "https://a", tls: { fingerprint_sha256: ${'ab'.repeat(32)} }`);
    expect(sink).toMatchObject({ tls: { fingerprint_sha256: 'ab'.repeat(32) } });
  });

  it('takes the type from the environment', async () => {
    const { sink } = await sinkOf('type: "${TYPE}", path: /a', { env: { TYPE: 'file' } });
    expect(sink).toMatchObject({ type: 'file', path: '/a' });
  });

  it('keeps dead letters for 30 days and 64 MiB when nothing is said', async () => {
    const plain = await load(withRouter());
    expect(plain.config?.dead_letters).toEqual({ max: 67_108_864, keep: 2_592_000_000 });
    const own = await load(`dead_letters: { max: 1MiB, keep: 1h }\n${withRouter()}`);
    expect(own.config?.dead_letters).toEqual({ max: 1_048_576, keep: 3_600_000 });
  });
});

describe('createStdoutSettings()', () => {
  it('gives what a configuration gives that says no more', async () => {
    expect(createStdoutSettings('a')).toStrictEqual((await sinkOf('type: stdout')).sink);
  });
});
