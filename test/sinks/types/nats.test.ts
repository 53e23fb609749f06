import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { credsAuthenticator, headers } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSteppedClock, createSystemClock, Secret } from '../../../src/base/index.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { createNatsAccount } from '../../support/sinks/nats-account.ts';
import { openNatsServer } from '../../support/sinks/nats-server.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';
import { withPrograms } from '../../support/tools.ts';
import { createTestAuthority } from '../../web/certificates.ts';

const never = new AbortController().signal;
const fleet = { routers: 1, labelValues: {} };
const LOGS = { name: 'LOGS', subjects: ['logs.>'] };

function createSink(url: string | readonly string[], options: SinkChange<'nats'> = {}) {
  const servers = typeof url === 'string' ? [url] : url;
  const keys = { name: 'events', servers, batch: { records: 500 } };
  const sink = createTestSink('nats', keys, { clock: createSystemClock(), ...options });
  onTestFinished(() => sink.close());
  return sink;
}

async function catchError(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => expect.unreachable('it was delivered'),
    (thrown: unknown) => thrown,
  );
}

withPrograms(['nats-server'], describe)('NatsSink with a real server', () => {
  test('stores each record once, under its subject and with its uid as id, in order', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    const sink = createSink(server.url);
    const homeless = { router: 'a.b*c >', component: 'système' };
    const records = [...sampleRecords('a', 50), ...sampleRecords('b', 50, { component: 'ser ial' })];
    const report = await sink.deliver(records, never);
    expect(report).toMatchObject({ duplicates: 0, refused: [], retry: undefined, warning: undefined });
    await sink.deliver([sampleRecord('c', homeless), sampleRecord('d', { labels: {}, router: 'a.b*c >' })], never);
    const stored = await server.read('LOGS');
    const of = (subject: string) => stored.filter((message) => message.subject === subject);
    expect(of('logs.munich.plant-7.network').map(({ id }) => id)).toEqual(
      sampleRecords('a', 50).map(({ fields }) => fields.uid),
    );
    expect(of('logs.munich.plant-7.ser%20ial').map(({ id }) => id)).toHaveLength(50);
    expect(of('logs.munich.a%2Eb%2Ac%20%3E.syst%C3%A8me').map(({ id }) => id)).toEqual(['c']);
    expect(of('logs.none.a%2Eb%2Ac%20%3E.network').map(({ id }) => id)).toEqual(['d']);
    expect(of('logs.munich.plant-7.network')[0]?.text).toBe(records[0]?.line);
    const header = headers();
    header.set('Nats-Msg-Id', 'a-0');
    const overhead = 'NATS/1.0\r\nNats-Msg-Id: a-0\r\n\r\n'.length;
    expect((await sink.deliver([sampleRecord('a-0')], never)).bytes).toBe((records[0]?.line.length ?? 0) + overhead);
    expect(sink).toMatchObject({ name: 'events', timeoutMs: 30_000, batch: { recordsMax: 500 } });
  });

  test('writes the format that is asked for', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    await createSink(server.url, { format: 'otel', subject: 'logs.deep' }).deliver([sampleRecord('a')], never);
    const [stored] = await server.read('LOGS');
    expect(stored?.subject).toBe('logs.deep.munich.plant-7.network');
    expect(JSON.parse(stored?.text ?? '')).toHaveProperty('resourceLogs');
  });

  test('counts what the stream had already as duplicates', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    const sink = createSink(server.url);
    await sink.deliver(sampleRecords('a', 3), never);
    expect(await sink.deliver(sampleRecords('a', 5), never)).toMatchObject({ duplicates: 3 });
    expect(await server.read('LOGS')).toHaveLength(5);
  });

  test('stores each record once when the server is killed in the middle and comes back', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    const batches = Array.from({ length: 10 }, (_, batch) =>
      Array.from({ length: 8 }, (__, log) => sampleRecords(`b${batch}-${log}`, 20, { component: `log${log}` })).flat(),
    );
    // It is asked before each message: some are out, and not acknowledged.
    let asked = 0;
    let restarted = Promise.resolve();
    const system = createSystemClock();
    const monotonic = () => {
      if (++asked === 500 || asked === 1200) restarted = server.kill().then(() => server.start());
      return system.monotonic();
    };
    const sink = createSink(server.url, { clock: { ...system, monotonic } });
    let failures = 0;
    for (const batch of batches) {
      let left = batch;
      while (left.length > 0) {
        try {
          const { retry } = await sink.deliver(left, never);
          if (retry) failures++;
          left = retry?.indexes.flatMap((index) => left[index] ?? []) ?? [];
        } catch (cause) {
          failures++;
          expect(cause).toMatchObject({ disposition: 'retry' });
          await restarted;
        }
      }
    }
    expect(failures).toBeGreaterThanOrEqual(2);
    const stored = await server.read('LOGS');
    expect(new Set(stored.map(({ id }) => id)).size).toBe(batches.flat().length);
    for (let log = 0; log < 8; log++) {
      const subject = `logs.munich.plant-7.log${log}`;
      expect(stored.filter((message) => message.subject === subject).map(({ id }) => id)).toEqual(
        batches.flat().flatMap(({ fields }) => (fields.component === `log${log}` ? [fields.uid] : [])),
      );
    }
  });

  test('treats a full stream as back-pressure, and continues once there is room', async () => {
    await using server = await openNatsServer();
    await server.addStream({ ...LOGS, max_msgs: 3, discard: 'new' });
    const sink = createSink(server.url);
    const records = sampleRecords('a', 5);
    expect(await sink.deliver(records, never)).toMatchObject({
      retry: { indexes: [3, 4], reason: expect.stringMatching(/maximum messages exceeded.*The stream is full/) },
    });
    expect(await catchError(sink.deliver(records.slice(3), never))).toMatchObject({
      code: 'throttled',
      disposition: 'hold-back',
      answer: '10077',
      message: expect.stringContaining('maximum messages exceeded'),
    });
    await server.purge('LOGS');
    expect(await sink.deliver(records.slice(3), never)).toMatchObject({ retry: undefined });
    expect((await server.read('LOGS')).map(({ id }) => id)).toEqual(['a-3', 'a-4']);
  });

  test('fails while no stream takes the subject, and while JetStream is off', async () => {
    await using server = await openNatsServer();
    await using plain = await openNatsServer({ hasJetStream: false });
    for (const { url } of [server, plain]) {
      expect(await catchError(createSink(url).deliver([sampleRecord('a')], never))).toMatchObject({
        code: 'failed',
        disposition: 'retry',
        answer: '503',
        hint: expect.stringContaining('a stream stores the subjects'),
      });
    }
  });

  test('refuses a record that is larger than server or stream take, and delivers the others', async () => {
    await using server = await openNatsServer({ config: 'max_payload: 4096' });
    await server.addStream({ ...LOGS, max_msg_size: 2048 });
    const sink = createSink(server.url);
    const records = [
      sampleRecord('a'),
      sampleRecord('b', { message: 'x'.repeat(5000) }),
      sampleRecord('c'),
      sampleRecord('d', { message: 'x'.repeat(3000) }),
      sampleRecord('e'),
    ];
    const { refused, retry } = await sink.deliver(records, never);
    expect(retry).toBeUndefined();
    expect(refused).toMatchObject([
      { index: 1, code: 'max_payload', reason: expect.stringMatching(/has \d+ bytes.*at most 4096/) },
      { index: 3, code: '10054', reason: expect.stringContaining('message size exceeds maximum allowed') },
    ]);
    expect((await server.read('LOGS')).map(({ id }) => id)).toEqual(['a', 'c', 'e']);
    // Also when it stands alone.
    expect(await sink.deliver([records[1] ?? sampleRecord('b')], never)).toMatchObject({ refused: [{ index: 0 }] });
  });

  test('keeps just below and just above the bound of the server apart', async () => {
    await using server = await openNatsServer({ config: 'max_payload: 2048' });
    await server.addStream(LOGS);
    const sink = createSink(server.url);
    const overhead = 'NATS/1.0\r\nNats-Msg-Id: a\r\n\r\n'.length;
    const message = 'x'.repeat(2048 - overhead - sampleRecord('a', { message: '' }).line.length);
    expect(await sink.deliver([sampleRecord('a', { message })], never)).toMatchObject({ bytes: 2048, refused: [] });
    expect(await sink.deliver([sampleRecord('b', { message: `${message}x` })], never)).toMatchObject({
      refused: [{ index: 0, code: 'max_payload' }],
    });
  });

  test('is misconfigured when another stream than the one that is named takes the subject', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    const error = await catchError(createSink(server.url, { stream: 'OTHER' }).deliver([sampleRecord('a')], never));
    expect(error).toMatchObject({ code: 'misconfigured', disposition: 'operator', answer: '10060' });
    await createSink(server.url, { stream: 'LOGS' }).deliver([sampleRecord('a')], never);
    expect(await server.read('LOGS')).toHaveLength(1);
  });

  test('refuses the records of a subject that another stream stores, batch after batch, until the named one does', async () => {
    await using server = await openNatsServer();
    await server.addStream({ name: 'LOGS', subjects: ['logs.*.*.network'] });
    await server.addStream({ name: 'OTHER', subjects: ['logs.*.*.secret'] });
    const sink = createSink(server.url, { stream: 'LOGS' });
    const secret = (uid: string) => sampleRecord(uid, { component: 'secret' });
    const reason = expect.stringContaining('expected stream does not match');
    const refusedAt = (...indexes: number[]) => ({
      refused: indexes.map((index) => ({ index, code: '10060', reason })),
      retry: undefined,
    });
    expect(await sink.deliver([sampleRecord('a'), secret('s1'), sampleRecord('b')], never)).toMatchObject(refusedAt(1));
    expect(await sink.deliver([secret('s2')], never)).toMatchObject(refusedAt(0));
    expect(await sink.deliver([secret('s3'), sampleRecord('c')], never)).toMatchObject(refusedAt(0));

    await server.removeStream('OTHER');
    await server.updateStream('LOGS', { subjects: ['logs.>'] });
    expect(await sink.deliver([secret('s4'), sampleRecord('d')], never)).toMatchObject(refusedAt());
    expect((await server.read('LOGS')).map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c', 'd', 's4']);
  });

  test('waits five minutes for a subject that no stream stores, delivers the others meanwhile, and then refuses its records', async () => {
    await using server = await openNatsServer();
    await server.addStream({ name: 'LOGS', subjects: ['logs.*.*.network'] });
    let laterMs = 0;
    const system = createSystemClock();
    const clock = { ...system, monotonic: () => system.monotonic() + laterMs };
    const sink = createSink(server.url, { clock });
    const lost = sampleRecord('x', { component: 'elsewhere' });
    const retry = { indexes: [1], reason: expect.stringContaining('no responders') };
    expect(await sink.deliver([sampleRecord('a'), lost], never)).toMatchObject({ refused: [], retry });
    laterMs = 4 * 60_000;
    expect(await sink.deliver([sampleRecord('b'), lost], never)).toMatchObject({ refused: [], retry });
    laterMs = 6 * 60_000;
    expect(await sink.deliver([lost, sampleRecord('c')], never)).toMatchObject({
      refused: [{ index: 0, code: '503' }],
      retry: undefined,
    });
    expect((await server.read('LOGS')).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('does not take another program for a stream', async () => {
    await using server = await openNatsServer();
    const { connect } = await import('@nats-io/transport-node');
    const other = await connect({ servers: [server.url] });
    let answer = '{"ok":true}';
    other.subscribe('logs.>', { callback: (_error, message) => void message.respond(answer) });
    await other.flush();
    const sink = createSink(server.url);
    expect(await catchError(sink.deliver([sampleRecord('a')], never))).toMatchObject({ code: 'protocol_error' });
    answer = 'hello';
    expect(await catchError(sink.deliver([sampleRecord('a')], never))).toMatchObject({ code: 'protocol_error' });
    await other.close();
  });

  test('stops at the wrong account or token, and delivers with the right one', async () => {
    const users = 'authorization { users: [{ user: "agent", password: "pa55word" }] }';
    const admin = { user: 'agent', pass: 'pa55word' };
    await using server = await openNatsServer({ config: users, admin });
    await server.addStream(LOGS);
    const wrong = new Secret('wr0ng-pa55');
    for (const account of [{}, { username: 'agent', password: wrong }]) {
      const error = await catchError(createSink(server.url, account).deliver([sampleRecord('a')], never));
      expect(error).toMatchObject({ code: 'unauthorized', disposition: 'operator', hint: expect.any(String) });
      expect(String(error)).not.toContain('wr0ng');
    }
    const account = { username: 'agent', password: new Secret('pa55word') };
    await createSink(server.url, account).deliver([sampleRecord('a')], never);
    expect(await server.read('LOGS')).toHaveLength(1);

    const token = 'authorization { token: "t0ken" }';
    await using tokenServer = await openNatsServer({ config: token, admin: { token: 't0ken' } });
    await tokenServer.addStream(LOGS);
    const bearer = new Secret('t0ken');
    await createSink(tokenServer.url, { bearer_token: bearer }).deliver([sampleRecord('a')], never);
    expect(await tokenServer.read('LOGS')).toHaveLength(1);
  });

  test('shows the credentials of a file', async () => {
    const { config, credentials } = createNatsAccount();
    const admin = { authenticator: credsAuthenticator(Buffer.from(credentials)) };
    await using server = await openNatsServer({ config, admin });
    await server.addStream(LOGS);
    await createSink(server.url, { credentials_file: new Secret(credentials) }).deliver([sampleRecord('a')], never);
    expect(await server.read('LOGS')).toHaveLength(1);
    const stranger = createNatsAccount().credentials;
    const sinks = [createSink(server.url, { credentials_file: new Secret(stranger) }), createSink(server.url)];
    for (const sink of sinks) {
      expect(await catchError(sink.deliver([sampleRecord('b')], never))).toMatchObject({
        code: 'unauthorized',
        disposition: 'operator',
      });
    }
    const broken = createSink(server.url, { credentials_file: new Secret('nothing of the kind') });
    expect(await catchError(broken.deliver([sampleRecord('b')], never))).toMatchObject({
      code: 'unauthorized',
      disposition: 'operator',
      hint: expect.stringContaining('credentials_file'),
    });
  });

  test('refuses the records of a subject that the account must not publish to, once others were stored', async () => {
    const config = `authorization { users: [
      { user: "agent", password: "p", permissions: { publish: { deny: ["logs.*.*.secret"] } } },
      { user: "admin", password: "p" }
    ] }`;
    await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'p' } });
    await server.addStream(LOGS);
    const account = { username: 'agent', password: new Secret('p') };
    const sink = createSink(server.url, account);
    const secret = sampleRecord('s', { component: 'secret' });
    // Nothing says yet that the account may publish anything.
    expect(await catchError(sink.deliver([secret], never))).toMatchObject({
      code: 'unauthorized',
      disposition: 'operator',
    });
    const reason = expect.stringMatching(/permissions violation.*Check the credentials/i);
    expect(await sink.deliver([sampleRecord('a'), secret, secret, sampleRecord('b')], never)).toMatchObject({
      refused: [
        { index: 1, reason },
        { index: 2, reason },
      ],
      retry: undefined,
    });
    expect(await sink.deliver([secret], never)).toMatchObject({ refused: [{ index: 0, reason }], retry: undefined });
    expect((await server.read('LOGS')).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  const authority = createTestAuthority('nats');
  const tlsConfig =
    'tls { cert_file: "FOLDER/cert.pem", key_file: "FOLDER/key.pem", ca_file: "FOLDER/ca.pem", timeout: 5 }';
  const toFiles = ({ cert, key }: { cert: string; key: string }) => ({
    'cert.pem': cert,
    'key.pem': key,
    'ca.pem': authority.caPem,
  });

  test('checks the certificate of the server, by name, by address, and shows one of its own', async () => {
    const certificate = authority.issue('server', 'nats.example', '127.0.0.1');
    const admin = { tls: { ca: authority.caPem, host: '127.0.0.1', servername: '' } };
    await using server = await openNatsServer({ config: tlsConfig, files: toFiles(certificate), admin, isTls: true });
    await server.addStream(LOGS);
    const { caPem: ca_file } = authority;
    await createSink(server.url, { tls: { ca_file } }).deliver([sampleRecord('a')], never);
    await createSink(server.url, { tls: { ca_file, server_name: 'nats.example' } }).deliver([sampleRecord('b')], never);
    await createSink(server.url, { tls: { insecure_skip_verify: true } }).deliver([sampleRecord('c')], never);
    // A server that insists on TLS gets it, checked, whatever the address says.
    await createSink(`nats://127.0.0.1:${server.port}`, { tls: { ca_file } }).deliver([sampleRecord('d')], never);
    expect(await server.read('LOGS')).toHaveLength(4);
    for (const tls of [{}, { ca_file, server_name: 'other.example' }]) {
      expect(await catchError(createSink(server.url, { tls }).deliver([sampleRecord('x')], never))).toMatchObject({
        code: 'misconfigured',
        disposition: 'operator',
        hint: expect.stringContaining('tls.'),
      });
    }
  });

  test('shows a certificate of its own, and says so when one is asked for', async () => {
    const config = tlsConfig.replace('timeout', 'verify: true, timeout');
    const certificate = authority.issue('server', '127.0.0.1');
    const client = authority.issue('client', 'agent');
    const admin = {
      tls: { ca: authority.caPem, cert: client.cert, key: client.key, host: '127.0.0.1', servername: '' },
    };
    await using server = await openNatsServer({ config, files: toFiles(certificate), admin, isTls: true });
    await server.addStream(LOGS);
    const { caPem: ca_file } = authority;
    const tls = { ca_file, cert_file: client.cert, key_file: new Secret(client.key) };
    await createSink(server.url, { tls }).deliver([sampleRecord('a')], never);
    expect(await server.read('LOGS')).toHaveLength(1);
    const error = await catchError(createSink(server.url, { tls: { ca_file } }).deliver([sampleRecord('b')], never));
    // Whether the server's word arrives before the end of the connection is up to the network.
    expect(error).toMatchObject({
      name: 'DeliveryError',
      code: expect.stringMatching(/misconfigured|unauthorized|unreachable/),
    });
    expect(await server.read('LOGS')).toHaveLength(1);
  });

  test('sends no credentials to a server that does not speak TLS when TLS is asked for', async () => {
    await using server = await openNatsServer();
    const url = `tls://127.0.0.1:${server.port}`;
    expect(await catchError(createSink(url).deliver([sampleRecord('a')], never))).toMatchObject({
      name: 'DeliveryError',
      message: expect.stringContaining('tls'),
    });
  });

  test('goes to the next server when one does not answer, and says the most telling reason when none does', async () => {
    const closed = `nats://127.0.0.1:${await findFreePort()}`;
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    await createSink([closed, server.url]).deliver([sampleRecord('a')], never);
    expect(await server.read('LOGS')).toHaveLength(1);
    await using guarded = await openNatsServer({
      config: 'authorization { token: "t0ken" }',
      admin: { token: 't0ken' },
    });
    expect(await catchError(createSink([guarded.url, closed]).deliver([sampleRecord('a')], never))).toMatchObject({
      code: 'unauthorized',
    });
    expect(await catchError(createSink([closed]).deliver([sampleRecord('a')], never))).toMatchObject({
      code: 'unreachable',
      disposition: 'retry',
      message: expect.stringContaining(closed),
    });
  });

  test('says after an outage that was longer than the duplicate window that records may be stored twice', async () => {
    await using server = await openNatsServer();
    await server.addStream({ ...LOGS, duplicate_window: 60_000_000_000 });
    const clock = createSteppedClock(0);
    const sink = createSink(server.url, { clock });
    await sink.deliver([sampleRecord('a')], never);
    const abort = new AbortController();
    for (const { outageMs, warning } of [
      { outageMs: 60_000, warning: undefined },
      {
        outageMs: 61_000,
        warning: expect.stringMatching(
          /^Sink events got no acknowledgements for 1m1s, and stream LOGS detects duplicates within 1m/,
        ),
      },
    ]) {
      await server.pause();
      const hanging = new AbortController();
      const reason = new RangeError('time is over');
      const delivering = sink.deliver([sampleRecord('b')], hanging.signal);
      await new Promise((resolve) => setImmediate(resolve));
      hanging.abort(reason);
      await expect(delivering).rejects.toBe(reason);
      server.resume();
      await clock.advance(outageMs);
      expect((await sink.deliver([sampleRecord('b')], abort.signal)).warning).toEqual(warning);
      expect((await sink.deliver([sampleRecord('c')], abort.signal)).warning).toBeUndefined();
    }
  });

  test('says nothing of duplicates after an outage in which nothing was on its way', async () => {
    await using server = await openNatsServer();
    await server.addStream({ ...LOGS, duplicate_window: 1_000_000_000 });
    const clock = createSteppedClock(0);
    const sink = createSink(server.url, { clock });
    await server.kill();
    await catchError(sink.deliver([sampleRecord('a')], never));
    await clock.advance(3_600_000);
    await server.start();
    expect((await sink.deliver([sampleRecord('a')], never)).warning).toBeUndefined();
  });

  test('reports what it has done when the time of a delivery is nearly over', async () => {
    await using server = await openNatsServer();
    await server.addStream(LOGS);
    const clock = createSteppedClock(0);
    const slow = { ...clock, monotonic: vi.fn(() => slow.monotonic.mock.calls.length * 1000) };
    const report = await createSink(server.url, { clock: slow }).deliver(sampleRecords('a', 100), never);
    expect(report.retry).toMatchObject({ reason: 'The time limit of the delivery has passed', retryAfterMs: 0 });
    const [first = 0] = report.retry?.indexes ?? [];
    expect(first).toBeGreaterThan(0);
    expect(report.retry?.indexes).toHaveLength(100 - first);
    expect(await server.read('LOGS')).toHaveLength(first);
  });

  describe('preflight()', () => {
    const verdicts = async (url: string, options: SinkChange<'nats'> = {}) =>
      (await createSink(url, options).preflight(fleet, never)).map(({ step, verdict }) => `${step} ${verdict}`);

    test('looks at the stream and stores a test record', async () => {
      await using server = await openNatsServer();
      await server.addStream(LOGS);
      expect(await verdicts(server.url, { stream: 'LOGS' })).toEqual([
        'connect ok',
        'stream ok',
        'duplicate window ok',
        'storage ok',
        'publishing ok',
        'test record ok',
      ]);
      expect(await server.read('LOGS')).toMatchObject([
        { subject: 'logs.none.router-exporter.preflight', id: expect.stringMatching(/^preflight-/) },
      ]);
    });

    test('warns of a stream that would lose or refuse records', async () => {
      await using server = await openNatsServer();
      await server.addStream({
        name: 'LOGS',
        subjects: ['logs.none.>'],
        storage: 'memory',
        duplicate_window: 1_000_000_000,
        max_msg_size: 4096,
      });
      const findings = await createSink(server.url).preflight(fleet, never);
      expect(findings.map(({ step, verdict }) => `${step} ${verdict}`)).toEqual([
        'connect ok',
        'stream warning',
        'duplicate window warning',
        'storage warning',
        'publishing ok',
        'message size warning',
        'test record ok',
      ]);
      expect(findings.filter(({ verdict, hint }) => verdict === 'warning' && !hint)).toEqual([]);
    });

    test('fails without a stream, with another stream, with a silent one and without an account', async () => {
      await using server = await openNatsServer();
      expect(await verdicts(server.url)).toEqual(['connect ok', 'stream failed', 'test record failed']);
      await server.addStream(LOGS);
      expect(await verdicts(server.url, { stream: 'OTHER' })).toEqual([
        'connect ok',
        'stream failed',
        'test record failed',
      ]);
      await server.addStream({ name: 'SILENT', subjects: ['quiet.>'], no_ack: true });
      expect(await verdicts(server.url, { subject: 'quiet', timeout: 200 })).toContain('acknowledgement failed');
      await using guarded = await openNatsServer({ config: 'authorization { token: "t" }', admin: { token: 't' } });
      expect(await verdicts(guarded.url)).toEqual(['connect failed']);
    });

    test('continues when the account may not read streams', async () => {
      const config = `authorization { users: [
        { user: "agent", password: "p", permissions: { publish: ["logs.>"], subscribe: ["_INBOX.>"] } },
        { user: "admin", password: "p" }
      ] }`;
      await using server = await openNatsServer({ config, admin: { user: 'admin', pass: 'p' } });
      await server.addStream(LOGS);
      const account = { username: 'agent', password: new Secret('p') };
      expect(await verdicts(server.url, account)).toEqual(['connect ok', 'stream warning', 'test record ok']);
    });
  });
});

describe('NatsSink', () => {
  async function listen(greeting: string) {
    const server = createServer((socket) => void socket.on('error', () => {}).write(greeting)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    return { server, url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test.for([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n'],
    ['no JSON', 'INFO {oops}\r\n'],
    ['a greeting without an end', `INFO {"a":"${'x'.repeat(100_000)}`],
  ])('is a protocol error for %s', async ([, greeting]) => {
    const { url } = await listen(greeting ?? '');
    const error = await catchError(createSink(url).deliver([sampleRecord('a')], never));
    expect(error).toMatchObject({ code: 'protocol_error', disposition: 'retry', hint: expect.any(String) });
  });

  test('rejects with the reason when aborted while a server says nothing, and leaves no connection', async () => {
    const { server, url } = await listen('');
    const abort = new AbortController();
    const reason = new RangeError('time is over');
    const connected = once(server, 'connection');
    const delivering = createSink(url).deliver([sampleRecord('a')], abort.signal);
    const [socket] = await connected;
    const closed = once(socket, 'close');
    abort.abort(reason);
    await expect(delivering).rejects.toBe(reason);
    socket.resume();
    await closed;
    await expect(createSink(url).preflight(fleet, abort.signal)).rejects.toBe(reason);
  });

  test('aborts after a time limit when a server does not answer', async () => {
    const { server, url } = await listen('');
    const clock = createSteppedClock(0);
    const connected = once(server, 'connection');
    const delivering = catchError(createSink(url, { clock }).deliver([sampleRecord('a')], never));
    await connected;
    await clock.advance(10_000);
    expect(await delivering).toMatchObject({ name: 'DeliveryError', disposition: 'retry' });
  });
});
