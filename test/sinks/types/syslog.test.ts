import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSteppedClock, createSystemClock, Secret } from '../../../src/base/index.ts';
import { advanceUntil } from '../../support/advance-until.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createTestSink, type SinkChange, withoutWaits } from '../../support/sinks/create-sink.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';
import { openSyslogServer, type SyslogServer } from '../../support/sinks/syslog-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createTestAuthority } from '../../web/certificates.ts';

const never = new AbortController().signal;
const fleet = { routers: 1, labelValues: {} };

/** By default a new connection counts as accepted at once. */
function createSink({ port, host = '127.0.0.1', ...change }: { port: number; host?: string } & SinkChange<'syslog'>) {
  const keys = { name: 'collector', address: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}` };
  const sink = createTestSink('syslog', keys, { clock: withoutWaits(createSteppedClock(0)), ...change });
  onTestFinished(() => sink.close());
  return sink;
}

/** uids as they arrived, those that are marked as replays with a star. */
const arrivals = (server: SyslogServer) =>
  server.messages.map(({ data }) => `${data['record@0']?.['uid']}${data['record@0']?.['replayed'] ? '*' : ''}`);

async function catchError(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => expect.unreachable('it was delivered'),
    (thrown: unknown) => thrown,
  );
}

describe('SyslogSink over TCP', () => {
  test('sends octet-counted messages in order over one connection, and ends it when it is closed', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    const sink = createSink({ port: server.port, facility: 'user', app_name: 'agent' });
    const { bytes } = await sink.deliver(sampleRecords('a', 100, { message: 'Zeile\n1 <13>1 ü' }), never);
    await sink.deliver(sampleRecords('b', 100), never);
    await sink.close();
    await waitFor(() => expect(server.messages).toHaveLength(200));
    expect(server.uids).toEqual(
      [...sampleRecords('a', 100), ...sampleRecords('b', 100)].map(({ fields }) => fields.uid),
    );
    expect(server.messages[0]).toMatchObject({ facility: 1, appName: 'agent', text: 'Zeile\n1 <13>1 ü' });
    const frames = server.messages.slice(0, 100).map((message) => `${message.bytes} `.length + message.bytes);
    expect(bytes).toBe(frames.reduce((sum, length) => sum + length));
    expect(server).toMatchObject({ connections: 1, violations: [] });
    expect(sink).toMatchObject({ name: 'collector', timeoutMs: 30_000, batch: { recordsMax: 500 } });
  });

  test('cuts messages at the bound that is set', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    await createSink({ port: server.port, message_max: 1000 }).deliver(
      [sampleRecord('a', { message: 'x'.repeat(5000) })],
      never,
    );
    await waitFor(() => expect(server.messages).toMatchObject([{ bytes: 1000 }]));
  });

  test('fails as unreachable while the port is closed, and delivers once it is open', async () => {
    const port = await findFreePort();
    const sink = createSink({ port });
    const error = await catchError(sink.deliver([sampleRecord('a')], never));
    expect(error).toMatchObject({
      code: 'unreachable',
      disposition: 'retry',
      message: `Sink collector could not connect to 127.0.0.1:${port}`,
      cause: { code: 'ECONNREFUSED' },
    });
    const server = createServer((socket) => void socket.resume()).listen(port, '127.0.0.1');
    await once(server, 'listening');
    await sink.deliver([sampleRecord('a')], never);
    await sink.close();
    server.close();
  });

  test('sees the end of a connection behind what a collector says', async () => {
    let connections = 0;
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      connections++;
      socket.resume().on('error', () => {});
      socket.end('Welcome to the collector\n');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sink = createSink({ port: (server.address() as AddressInfo).port });
    await waitFor(async () => {
      await sink.deliver([sampleRecord('a')], never).catch(() => {});
      expect(connections).toBeGreaterThan(1);
    });
    await sink.close();
    server.close();
  });

  test('sends nothing again when replay is 0', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    server.misbehave({ kind: 'end', messages: 1 });
    const sink = createSink({ port: server.port, replay: 0 });
    await sink.deliver([sampleRecord('a')], never);
    await waitFor(() => expect(server.uids).toHaveLength(1));
    server.misbehave(undefined);
    await waitFor(async () => {
      expect((await sink.deliver([sampleRecord('b')], never)).warning).toBeUndefined();
      expect(server.uids).toContain('b');
    });
    expect(arrivals(server)).not.toContain('a*');
  });

  test('stops when aborted while the collector does not read, and marks repeated messages', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    server.misbehave({ kind: 'stop-reading' });
    const sink = createSink({ port: server.port, message_max: 2 ** 20 });
    const records = sampleRecords('a', 40, { message: 'x'.repeat(500_000) });
    const abort = new AbortController();
    const reason = new RangeError('time is over');
    const delivering = sink.deliver(records, abort.signal);
    await waitFor(() => expect(server.connections).toBe(1));
    abort.abort(reason);
    await expect(delivering).rejects.toBe(reason);
    await expect(sink.deliver(records, abort.signal)).rejects.toBe(reason);
    server.misbehave(undefined);
    await sink.deliver([...records.slice(0, 2), sampleRecord('b')], never);
    await waitFor(() => expect(arrivals(server)).toEqual(['a-0*', 'a-1*', 'b']));
    expect(server).toMatchObject({ connections: 2, violations: [] });
  });

  test('marks what a failed attempt may have sent, also when a part of it or other records come first', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    server.misbehave({ kind: 'stop-reading' });
    const sink = createSink({ port: server.port, message_max: 2 ** 20 });
    const records = sampleRecords('a', 40, { message: 'x'.repeat(500_000) });
    const abort = new AbortController();
    const delivering = sink.deliver(records, abort.signal);
    await waitFor(() => expect(server.connections).toBe(1));
    abort.abort(new RangeError('time is over'));
    await expect(delivering).rejects.toThrow('time is over');
    server.misbehave(undefined);
    await sink.deliver([sampleRecord('b')], never, true);
    await sink.deliver(records.slice(0, 2), never);
    await sink.deliver(records.slice(2, 4), never);
    await sink.deliver([...records.slice(0, 1), sampleRecord('c')], never);
    await waitFor(() => expect(arrivals(server)).toEqual(['b*', 'a-0*', 'a-1*', 'a-2*', 'a-3*', 'a-0', 'c']));
  });

  test('takes nothing for delivered when the collector ends a new connection at once', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    server.misbehave({ kind: 'refuse' });
    const clock = createSteppedClock(0);
    const sink = createSink({ port: server.port, clock });
    await expect(sink.deliver([sampleRecord('a')], never)).rejects.toMatchObject({
      code: 'unreachable',
      disposition: 'retry',
    });
    server.misbehave(undefined);
    const delivered = vi.fn();
    const delivering = sink.deliver([sampleRecord('a')], never).then(delivered);
    await waitFor(() => expect(arrivals(server)).toEqual(['a*']));
    expect(delivered).not.toHaveBeenCalled();
    await advanceUntil(delivering, clock, 500);
    // That is over for this connection.
    await sink.deliver([sampleRecord('b')], never);
    await waitFor(() => expect(arrivals(server)).toEqual(['a*', 'b']));

    server.misbehave({ kind: 'refuse' });
    server.disconnect('end');
    await waitFor(async () => {
      expect(await catchError(sink.deliver([sampleRecord('c')], never))).toMatchObject({ code: 'unreachable' });
    });
  });
});

describe('SyslogSink over TLS', () => {
  const authority = createTestAuthority('logs');
  const certificate = authority.issue('server', 'collector.example');
  const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256;

  test.for([
    ['an authority and a name', { ca_file: authority.caPem, server_name: 'collector.example' }],
    ['a fingerprint', { fingerprint_sha256: fingerprint(certificate.cert) }],
    ['nothing', { insecure_skip_verify: true }],
  ] as const)('delivers when the certificate is checked against %s', async ([, tls]) => {
    await using server = await openSyslogServer({ protocol: 'tls', certificate });
    await createSink({ port: server.port, protocol: 'tls', tls }).deliver(sampleRecords('a', 3), never);
    await waitFor(() => expect(server.uids).toHaveLength(3));
    expect(server.violations).toEqual([]);
  });

  test.for([
    ['an unknown authority', {}, 'its authority is not a trusted one$'],
    ['another name', { ca_file: authority.caPem, server_name: 'other.example' }, 'it is for another name$'],
  ] as const)('does not trust %s', async ([, tls, reason]) => {
    await using server = await openSyslogServer({ protocol: 'tls', certificate });
    const error = await catchError(
      createSink({ port: server.port, protocol: 'tls', tls }).deliver([sampleRecord('a')], never),
    );
    expect(error).toMatchObject({ code: 'misconfigured', disposition: 'operator', hint: expect.any(String) });
    expect(error).toMatchObject({ message: expect.stringMatching(reason) });
    expect(server.messages).toEqual([]);
  });

  test('does not trust another fingerprint', async () => {
    await using server = await openSyslogServer({ protocol: 'tls', certificate });
    const tls = {
      ca_file: authority.caPem,
      server_name: 'collector.example',
      fingerprint_sha256: 'ab'.repeat(32),
    };
    const error = await catchError(
      createSink({ port: server.port, protocol: 'tls', tls }).deliver([sampleRecord('a')], never),
    );
    expect(error).toMatchObject({
      code: 'misconfigured',
      disposition: 'operator',
      message: `Sink collector does not trust the certificate of 127.0.0.1:${server.port}: it has a different fingerprint: ${fingerprint(certificate.cert)}`,
    });
    expect(server.messages).toEqual([]);
  });

  test('says that a client certificate is asked for, and takes nothing for delivered', async () => {
    const asking = { ...certificate, requestCert: true, rejectUnauthorized: true, ca: authority.caPem };
    await using server = await openSyslogServer({ protocol: 'tls', certificate: asking });
    const trust = { ca_file: authority.caPem, server_name: 'collector.example' };
    const sink = createSink({ port: server.port, protocol: 'tls', tls: trust, clock: createSteppedClock(0) });
    const error = await catchError(sink.deliver([sampleRecord('a')], never));
    expect(error).toMatchObject({ name: 'DeliveryError', disposition: 'operator', code: 'misconfigured' });
    expect(error).toMatchObject({ hint: expect.stringContaining('tls.cert_file') });
    const client = authority.issue('client', 'agent');
    const tls = { ...trust, cert_file: client.cert, key_file: new Secret(client.key) };
    await createSink({ port: server.port, protocol: 'tls', tls }).deliver([sampleRecord('a')], never);
    await waitFor(() => expect(server.uids).toEqual(['a']));
  });

  test('says that the port does not speak TLS', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    const error = await catchError(
      createSink({ port: server.port, protocol: 'tls' }).deliver([sampleRecord('a')], never),
    );
    expect(error).toMatchObject({ name: 'DeliveryError' });
  });
});

describe('SyslogSink over UDP', () => {
  test.for(['127.0.0.1', '::1', 'localhost'])('sends one message a datagram to %s', async (host) => {
    await using server = await openSyslogServer({ protocol: 'udp', host: host === 'localhost' ? '127.0.0.1' : host });
    const sink = createSink({ port: server.port, protocol: 'udp', host });
    const { bytes } = await sink.deliver(sampleRecords('a', 20), never);
    await waitFor(() => expect(server.uids).toHaveLength(20));
    expect(server.violations).toEqual([]);
    expect(bytes).toBe(server.messages.reduce((sum, message) => sum + message.bytes, 0));
  });

  test('cuts a message at what a datagram can carry', async () => {
    await using server = await openSyslogServer({ protocol: 'udp' });
    const sink = createSink({ port: server.port, protocol: 'udp', message_max: 2 ** 20 });
    expect(await sink.deliver([sampleRecord('a', { message: 'x'.repeat(100_000) })], never)).toEqual({ bytes: 65_507 });
    await waitFor(() => expect(server.messages).toMatchObject([{ bytes: 65_507 }]));
  });

  test('fails as unreachable once the system has learnt that the port is closed, and marks repeated messages', async () => {
    const server = await openSyslogServer({ protocol: 'udp' });
    await server.close();
    const sink = createSink({ port: server.port, protocol: 'udp' });
    const error = await waitFor(async () => await catchError(sink.deliver([sampleRecord('a')], never)));
    expect(error).toMatchObject({ code: 'unreachable', disposition: 'retry', cause: { code: 'ECONNREFUSED' } });
  });

  test('fails as unreachable when there is no such host, and rejects with the reason when aborted', async () => {
    const sink = createSink({ port: 514, protocol: 'udp', host: 'no.such.host.invalid' });
    await expect(sink.deliver([sampleRecord('a')], never)).rejects.toMatchObject({ code: 'unreachable' });
    const reason = new RangeError('time is over');
    await expect(sink.deliver([sampleRecord('a')], AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('SyslogSink.preflight()', () => {
  const verdicts = async (sink: ReturnType<typeof createSink>) =>
    (await sink.preflight(fleet, never)).map(({ step, verdict }) => `${step} ${verdict}`);

  test('sends a test record over a connection of its own and reports that it is not acknowledged', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    const sink = createSink({ port: server.port, clock: createSystemClock() });
    const findings = await sink.preflight(fleet, never);
    expect(findings.map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok']);
    expect(findings.at(-1)?.message).toContain('no acknowledgements');
    await waitFor(() => expect(server.messages).toMatchObject([{ msgId: 'preflight', hostname: 'router-exporter' }]));
    await sink.deliver([sampleRecord('a')], never);
    expect(server).toMatchObject({ connections: 2, violations: [] });
  });

  test('fails when the port is closed, when the certificate is not trusted and when the connection is closed at once', async () => {
    const clock = createSystemClock();
    expect(await verdicts(createSink({ port: await findFreePort(), clock }))).toEqual([
      'message size ok',
      'connect failed',
    ]);
    const certificate = createTestAuthority('logs').issue('server', 'collector.example');
    await using secure = await openSyslogServer({ protocol: 'tls', certificate });
    const findings = await createSink({ port: secure.port, protocol: 'tls', clock }).preflight(fleet, never);
    expect(findings.at(-1)).toMatchObject({
      step: 'connect',
      verdict: 'failed',
      hint: expect.stringContaining('tls.'),
    });
    expect(findings.at(-1)?.message).not.toContain(findings.at(-1)?.hint);
    await using server = await openSyslogServer({ protocol: 'tcp' });
    server.misbehave({ kind: 'refuse' });
    expect(await verdicts(createSink({ port: server.port, clock }))).toEqual([
      'message size ok',
      'connect ok',
      'test record failed',
    ]);
  });

  test('warns of UDP, and of messages that are larger than usual', async () => {
    await using server = await openSyslogServer({ protocol: 'udp' });
    const sink = createSink({ port: server.port, protocol: 'udp', clock: createSystemClock() });
    expect(await verdicts(sink)).toEqual(['message size warning', 'connect ok', 'test record warning']);
    await server.close();
    expect(await verdicts(sink)).toEqual(['message size warning', 'connect ok', 'test record failed']);
    await using stream = await openSyslogServer({ protocol: 'tcp' });
    const large = createSink({ port: stream.port, message_max: 9000, clock: createSystemClock() });
    expect(await verdicts(large)).toEqual(['message size warning', 'connect ok', 'test record ok']);
  });

  test('rejects with the reason when aborted', async () => {
    const reason = new RangeError('time is over');
    await expect(createSink({ port: 9 }).preflight(fleet, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
