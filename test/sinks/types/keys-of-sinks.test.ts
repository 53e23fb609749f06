import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { credsAuthenticator } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../../src/base/index.ts';
import { createSink, type Sink } from '../../../src/sinks/index.ts';
import { load, withRouter } from '../../config/configuration-folder.ts';
import { openElasticsearchServer } from '../../support/sinks/elasticsearch-server.ts';
import { openHttpServer } from '../../support/sinks/http-server.ts';
import { type MisbehavingServerOptions, openMisbehavingServer } from '../../support/sinks/misbehaving-server.ts';
import { createNatsAccount } from '../../support/sinks/nats-account.ts';
import { openNatsServer } from '../../support/sinks/nats-server.ts';
import { sampleRecord } from '../../support/sinks/sample-records.ts';
import { openSyslogServer } from '../../support/sinks/syslog-server.ts';
import { withPrograms } from '../../support/tools.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createTestAuthority } from '../../web/certificates.ts';

/** Half an hour after the sample records. */
const NOW_MS = Date.UTC(2025, 9, 26, 1, 30);
const never = new AbortController().signal;
const authority = createTestAuthority('Keys CA');
/** Trust in a name that is not the one of the address, and a certificate to show. */
const TLS = 'tls: { ca_file: ca.pem, server_name: sink.example, cert_file: own.pem, key_file: own.key }';
const client = authority.issue('client', 'agent');
const tlsFiles = { 'ca.pem': authority.caPem, 'own.pem': client.cert, 'own.key': client.key };
const certificate = {
  ...authority.issue('server', 'sink.example'),
  ca: authority.caPem,
  requestCert: true,
  rejectUnauthorized: true,
};

let clock: SteppedClock;
let output: string;
let folder: string;

beforeEach(() => {
  clock = createSteppedClock(NOW_MS);
  output = '';
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-keys-'));
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** The sink of a configuration file with these keys, as the agent makes it. */
async function openSink(keys: string, files: Readonly<Record<string, string>> = {}): Promise<Sink> {
  const { config, lines } = await load(`sinks: [{ name: a, ${keys} }]\n${withRouter()}`, { files });
  expect(lines).toEqual([]);
  const [settings] = config?.sinks ?? [];
  if (!settings) throw new RangeError('The configuration has no sink');
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      output += chunk.toString();
      done();
    },
  });
  return createSink(settings, { clock, stdout, routers: () => 1 });
}

/** Delivers one record, and closes the sink. */
async function deliverOne(keys: string, files?: Readonly<Record<string, string>>): Promise<void> {
  const sink = await openSink(keys, files);
  await sink.deliver([sampleRecord('x')], never);
  await sink.close();
}

/** A receiver for every type of sink over HTTP that takes one record. */
const openReceiver = (options?: MisbehavingServerOptions) =>
  openMisbehavingServer(({ path }) => {
    if (path.startsWith('/_bulk')) return { status: 200, body: '{"errors":false,"items":[{"create":{"status":201}}]}' };
    return path.startsWith('/loki') ? { status: 204 } : { status: 200 };
  }, options);

describe('the keys of sinks over HTTP have an effect', () => {
  describe.each(['http', 'loki', 'elasticsearch', 'otlp'])('of type %s', (type) => {
    test('headers, header_files, and an account', async () => {
      await using server = await openReceiver();
      const account = 'username: u, password: p, headers: { X-Own: one }, header_files: { X-File: f }';
      await deliverOne(`type: ${type}, url: "${server.url}", ${account}`, { f: 'two\n' });
      expect(server.requests).toMatchObject([
        { headers: { authorization: 'Basic dTpw', 'x-own': 'one', 'x-file': 'two' } },
      ]);
    });

    test('bearer_token', async () => {
      await using server = await openReceiver();
      await deliverOne(`type: ${type}, url: "${server.url}", bearer_token: t`);
      expect(server.requests).toMatchObject([{ headers: { authorization: 'Bearer t' } }]);
    });

    test('tls', async () => {
      await using server = await openReceiver({ certificate });
      await deliverOne(`type: ${type}, url: "${server.url}", ${TLS}`, tlsFiles);
      expect(server.requests).toHaveLength(1);
    });

    test('timeout, batch and replay', async () => {
      await using server = await openReceiver();
      const common = 'timeout: 7s, batch: { records: 3, bytes: 2KiB, wait: 4s }';
      const sink = await openSink(`type: ${type}, url: "${server.url}", ${common}, replay: 30s`);
      expect(sink).toMatchObject({ timeoutMs: 7000, batch: { recordsMax: 3, bytesMax: 2048, waitMs: 4000 } });
      expect(sink.connection).toBeDefined();
      expect((await openSink(`type: ${type}, url: "${server.url}"`)).connection).toBeUndefined();
    });
  });

  test.each([
    ['http', 'gzip', 'gzip'],
    ['http', 'none', undefined],
    ['elasticsearch', 'gzip', 'gzip'],
    ['elasticsearch', 'none', undefined],
    ['otlp', 'gzip', 'gzip'],
    ['otlp', 'none', undefined],
  ])('compress of type %s: %s', async (type, compress, encoding) => {
    await using server = await openReceiver();
    await deliverOne(`type: ${type}, url: "${server.url}", compress: ${compress}`);
    expect(server.requests[0]?.headers['content-encoding']).toBe(encoding);
  });

  test.each([
    ['native', 'uid', 'uid'],
    ['ecs', 'ecs', 'ecs'],
    ['otel', 'resourceLogs', 'resource'],
  ])('format of http and elasticsearch: %s', async (format, ofHttp, ofElasticsearch) => {
    await using http = await openHttpServer();
    await deliverOne(`type: http, url: "${http.url}", format: ${format}`);
    await using elasticsearch = await openElasticsearchServer();
    await deliverOne(`type: elasticsearch, url: "${elasticsearch.url}", format: ${format}`);
    expect(http.records()[0]).toHaveProperty(ofHttp);
    expect(elasticsearch.records()[0]).toHaveProperty(ofElasticsearch);
  });

  test('index, pipeline and api_key of elasticsearch', async () => {
    await using server = await openElasticsearchServer({
      index: 'routers',
      pipelines: ['geo'],
      authorization: 'ApiKey k',
    });
    await deliverOne(`type: elasticsearch, url: "${server.url}", index: routers, pipeline: geo, api_key: k`);
    expect(server.documents()).toMatchObject([{ id: 'x' }]);
    expect(server.requests[0]?.path).toContain('pipeline=geo');
    expect(server.violations).toEqual([]);
  });

  test('tenant, layout, shards and max_age of loki', async () => {
    await using server = await openReceiver();
    const place = `type: loki, url: "${server.url}"`;
    await deliverOne(`${place}, tenant: plants, layout: shard, shards: 1, max_age: 1h`);
    await deliverOne(`${place}, layout: router`);
    expect(server.requests[0]?.headers['x-scope-orgid']).toBe('plants');
    const streams = server.requests.map(({ body }) => JSON.parse(body.toString()).streams[0].stream);
    // Of this router the hash gives another bucket of 32 than the first.
    expect(streams).toMatchObject([{ shard: '0' }, { router: 'plant-7' }]);
    const old = sampleRecord('x', { timestamp: '2025-10-25T23:00:00Z' });
    expect((await openSink(`${place}, max_age: 1h`)).findRefusal?.(old, NOW_MS)?.reason).toContain('max_age');
    expect((await openSink(`${place}, max_age: 1d`)).findRefusal?.(old, NOW_MS)).toBeUndefined();
  });
});

describe('the keys of a sink of type syslog have an effect', () => {
  test('protocol, facility, app_name, message_max, timeout and batch', async () => {
    await using server = await openSyslogServer({ protocol: 'udp' });
    const own = 'protocol: udp, facility: auth, app_name: own, message_max: 480B, timeout: 7s, batch: { records: 3 }';
    const sink = await openSink(`type: syslog, address: "${server.url}", ${own}`);
    expect(sink).toMatchObject({ timeoutMs: 7000, batch: { recordsMax: 3 } });
    await sink.deliver([sampleRecord('x', { message: 'm'.repeat(5000) })], never);
    await waitFor(() => expect(server.messages).toMatchObject([{ facility: 4, appName: 'own', bytes: 480 }]));
    await sink.close();
  });

  test('tls', async () => {
    await using server = await openSyslogServer({ protocol: 'tls', certificate });
    const sink = await openSink(`type: syslog, protocol: tls, address: "${server.url}", ${TLS}`, tlsFiles);
    const delivered = sink.deliver([sampleRecord('x')], never);
    await waitFor(() => expect(server.uids).toEqual(['x']));
    // Until then the collector might close a connection that is new.
    await clock.advance(1000);
    await delivered;
    await sink.close();
  });

  test.each([
    ['', true],
    [', replay: 0', false],
    [', replay: 1m', true],
    [', replay: 1m, protocol: udp', false],
  ])('replay {%s}', async (keys, isWatched) => {
    const sink = await openSink(`type: syslog, address: "127.0.0.1:1"${keys}`);
    expect(sink.connection !== undefined).toBe(isWatched);
  });
});

withPrograms(['nats-server'], describe)('the keys of a sink of type nats have an effect', () => {
  test('subject, stream, format, timeout, batch and an account', async () => {
    await using server = await openNatsServer({
      config: 'authorization { user: u, password: p }',
      admin: { user: 'u', pass: 'p' },
    });
    await server.addStream({ name: 'S', subjects: ['own.>'] });
    await server.addStream({ name: 'T', subjects: ['other.>'] });
    const place = `type: nats, servers: ["${server.url}"], username: u, password: p`;
    const sink = await openSink(
      `${place}, subject: own.logs, stream: S, format: ecs, timeout: 7s, batch: { records: 3 }`,
    );
    expect(sink).toMatchObject({ timeoutMs: 7000, batch: { recordsMax: 3 } });
    await sink.deliver([sampleRecord('x')], never);
    await sink.close();
    const stored = await server.read('S');
    expect(stored).toMatchObject([{ subject: 'own.logs.munich.plant-7.network', id: 'x' }]);
    expect(JSON.parse(stored[0]?.text ?? '{}')).toMatchObject({ event: { id: 'x' } });
    // The subject belongs to another stream than the one that is expected.
    const astray = await openSink(`${place}, subject: own.logs, stream: T`);
    await astray.deliver([sampleRecord('y')], never).catch(() => {});
    await astray.close();
    expect(await server.read('S')).toHaveLength(1);
  });

  test('credentials_file', async () => {
    const { config, credentials } = createNatsAccount();
    const admin = { authenticator: credsAuthenticator(Buffer.from(credentials)) };
    await using server = await openNatsServer({ config, admin });
    await server.addStream({ name: 'S', subjects: ['logs.>'] });
    await deliverOne(`type: nats, servers: ["${server.url}"], credentials_file: creds`, { creds: credentials });
    expect(await server.read('S')).toHaveLength(1);
  });

  test('tls', async () => {
    const own = authority.issue('server', 'sink.example');
    const { cert, key } = client;
    const admin = { tls: { ca: authority.caPem, cert, key, host: '127.0.0.1', servername: 'sink.example' } };
    const settings =
      'tls { cert_file: "FOLDER/cert.pem", key_file: "FOLDER/key.pem", ca_file: "FOLDER/ca.pem", verify: true, timeout: 5 }';
    await using server = await openNatsServer({
      config: settings,
      files: { 'cert.pem': own.cert, 'key.pem': own.key, 'ca.pem': authority.caPem },
      admin,
      isTls: true,
    });
    await server.addStream({ name: 'S', subjects: ['logs.>'] });
    await deliverOne(`type: nats, servers: ["${server.url}"], ${TLS}`, tlsFiles);
    expect(await server.read('S')).toHaveLength(1);
  });
});

describe('the keys of a sink of type file have an effect', () => {
  /** Delivers so many records of 40 KiB, each a minute after the other; returns the ends of the names of rotated files. */
  async function fill(keys: string, records: number): Promise<readonly string[]> {
    const sink = await openSink(`type: file, path: ${folder}/a.jsonl, ${keys}`);
    for (let index = 0; index < records; index++) {
      await sink.deliver([sampleRecord(`x-${index}`, { message: 'm'.repeat(40 * 1024) })], never);
      await clock.advance(60_000);
    }
    // The last rotated file is compressed after the delivery behind it.
    await sink.deliver([sampleRecord('last')], never);
    await sink.release?.();
    await sink.close();
    return readdirSync(folder).flatMap((name) => (/^a\.jsonl\.\d/.test(name) ? [name.replace(/^.*Z/, '')] : []));
  }

  test.each([
    ['max_size: 64KiB', ['.gz', '.gz']],
    ['max_size: 64KiB, keep: 1', ['.gz']],
    ['max_size: 64KiB, compress: none', ['', '']],
    ['max_age: 1m', ['.gz', '.gz', '.gz']],
    ['max_age: 2m', ['.gz']],
    ['', []],
  ])('{%s}', async (keys, rotated) => {
    expect(await fill(keys, 3)).toEqual(rotated);
  });

  test.each([
    ['batch', 1],
    ['rotate', 0],
    ['never', 0],
  ])('fsync: %s', async (fsync, times) => {
    await using handle = await open(folder);
    const datasync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'datasync');
    await deliverOne(`type: file, path: ${folder}/a.jsonl, fsync: ${fsync}`);
    expect(datasync).toHaveBeenCalledTimes(times);
  });

  test('format, timeout and batch', async () => {
    const keys = `type: file, path: ${folder}/a.jsonl, format: ecs, timeout: 7s, batch: { records: 3 }`;
    expect(await openSink(keys)).toMatchObject({ timeoutMs: 7000, batch: { recordsMax: 3 } });
    await deliverOne(keys);
    expect(JSON.parse(readFileSync(join(folder, 'a.jsonl'), 'utf8'))).toMatchObject({ event: { id: 'x' } });
  });
});

test('the keys of a sink of type stdout have an effect: format and batch', async () => {
  expect(await openSink('type: stdout, batch: { records: 3 }')).toMatchObject({ batch: { recordsMax: 3 } });
  await deliverOne('type: stdout, format: otel');
  expect(JSON.parse(output)).toHaveProperty('resourceLogs');
});
