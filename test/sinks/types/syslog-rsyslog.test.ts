import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createSteppedClock, createSystemClock, Secret } from '../../../src/base/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';
import { openRsyslog } from '../../support/sinks/syslog-rsyslog.ts';
import { type ProgramPart, withPrograms } from '../../support/tools.ts';
import { createTestAuthority } from '../../web/certificates.ts';

/** Debian has it in the package rsyslog-gnutls. */
const tlsModule: ProgramPart = {
  name: 'the module gtls of rsyslog',
  isInstalled: () => globSync('/usr/lib/*/rsyslog/lmnsd_gtls.so').length > 0,
};
const never = new AbortController().signal;

const createSink = ({ port, ...change }: { port: number } & SinkChange<'syslog'>) =>
  createTestSink(
    'syslog',
    { name: 'rsyslog', address: `127.0.0.1:${port}` },
    { clock: createSystemClock(), ...change },
  );

const records = [
  sampleRecord('u0', { severity: 'error', message: 'wan1: "down" \\ [x]\nline two', flags: ['zone_assumed'] }),
  sampleRecord('u1', { message: 'Übertragung 😀', tag: 'a"b]c\\d', labels: { site: 'Köln' } }),
  sampleRecord('u2', { severity: 'debug', message: 'x'.repeat(30_000) }),
];

const whole = [
  {
    pri: '131',
    timereported: '2025-10-26T00:59:58.000018Z',
    hostname: 'plant-7',
    'app-name': 'router-exporter',
    procid: '-',
    msgid: 'network',
    'structured-data':
      '[timeQuality tzKnown="0" isSynced="1"][record@0 uid="u0" component="network" tag="wan" file="network/current" offset="18231" observed="2025-10-26T01:00:31.412Z" flags="zone_assumed"][labels@0 site="munich"]',
    msg: 'wan1: "down" \\ [x]\nline two',
  },
  {
    pri: '133',
    'structured-data': expect.stringContaining('tag="a\\"b\\]c\\\\d"'),
    msg: '\ufeffÜbertragung 😀',
  },
  {
    pri: '135',
    'structured-data': expect.stringContaining('truncated="true"'),
    msg: expect.stringMatching(/^x{7000,}$/),
  },
];

withPrograms(['rsyslogd'], describe)('rsyslog', () => {
  test('takes over TCP what SyslogSink sends, every field of it', async () => {
    await using rsyslog = await openRsyslog();
    const sink = createSink({ port: rsyslog.port });
    await sink.deliver(records, never);
    await expect
      .poll(() => rsyslog.messages())
      .toMatchObject(whole.map((fields) => ({ ...fields, inputname: 'imtcp' })));
    await sink.close();
  });

  test('takes over UDP what SyslogSink sends, one message a datagram', async () => {
    await using rsyslog = await openRsyslog();
    const sink = createSink({ port: rsyslog.udpPort, protocol: 'udp' });
    await sink.deliver(records, never);
    await expect
      .poll(() => rsyslog.messages())
      .toMatchObject(whole.map((fields) => ({ ...fields, inputname: 'imudp' })));
    await sink.close();
  });

  withPrograms([tlsModule], test)('takes over TLS what SyslogSink sends, with certificates on both sides', async () => {
    const authority = createTestAuthority('logs');
    const client = authority.issue('client', 'agent');
    await using rsyslog = await openRsyslog({
      tls: { ...authority.issue('server', 'collector.example'), caPem: authority.caPem, isClientAsked: true },
    });
    const tls = { ca_file: authority.caPem, server_name: 'collector.example' };
    const sink = createSink({
      port: rsyslog.port,
      protocol: 'tls',
      tls: { ...tls, cert_file: client.cert, key_file: new Secret(client.key) },
    });
    expect(await sink.preflight({ routers: 1, labelValues: {} }, never)).toMatchObject([
      { step: 'message size', verdict: 'ok' },
      { step: 'connect', verdict: 'ok' },
      { step: 'test record', verdict: 'ok' },
    ]);
    await sink.deliver(records, never);
    await expect
      .poll(() => rsyslog.messages())
      .toMatchObject([
        {
          'structured-data': expect.stringContaining('uid="preflight-'),
          hostname: 'router-exporter',
          msgid: 'preflight',
        },
        ...whole,
      ]);
    await sink.close();

    // Without a certificate it is turned away, and nothing counts as delivered.
    const stranger = createSink({ port: rsyslog.port, protocol: 'tls', tls, clock: createSteppedClock(0) });
    await expect(stranger.deliver(records, never)).rejects.toMatchObject({ name: 'DeliveryError' });
    await stranger.close();
  });

  test('gets everything at least once when it is restarted, and what comes twice is marked', async () => {
    await using rsyslog = await openRsyslog();
    const sink = createSink({ port: rsyslog.port });
    await sink.deliver(sampleRecords('a', 100), never);
    await expect.poll(() => rsyslog.messages()).toHaveLength(100);
    await rsyslog.stop();
    await expect(sink.deliver(sampleRecords('b', 10), never)).rejects.toMatchObject({ code: 'unreachable' });
    await rsyslog.start();
    await sink.deliver(sampleRecords('b', 10), never);
    const read = () =>
      rsyslog.messages().map((message) => {
        const data = message['structured-data'];
        return { uid: / uid="([^"]*)"/.exec(data)?.[1], isReplay: data.includes('replayed="true"') };
      });
    await expect.poll(() => read().filter(({ uid }) => uid?.startsWith('b-'))).toHaveLength(10);
    const seen = new Set<string | undefined>();
    const unmarked = read().filter(({ uid, isReplay }) => {
      const isRepeated = seen.has(uid);
      seen.add(uid);
      return isRepeated && !isReplay;
    });
    expect(unmarked).toEqual([]);
    expect(seen.size).toBe(110);
    await sink.close();
  });
});
