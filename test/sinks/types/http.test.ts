import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, Secret } from '../../../src/base/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openHttpServer } from '../../support/sinks/http-server.ts';
import type { MisbehavingServerOptions } from '../../support/sinks/misbehaving-server.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';

const { signal } = new AbortController();
const fleet = { routers: 1, labelValues: {} };

async function openBench(options: SinkChange<'http'> = {}, serverOptions: MisbehavingServerOptions = {}) {
  const server = await openHttpServer(serverOptions);
  const clock = createSteppedClock(Date.UTC(2025, 9, 26, 1));
  const sink = createTestSink('http', { url: server.url, name: 'web' }, { clock, ...options });
  onTestFinished(async () => {
    await sink.close();
    await server.close();
  });
  return { server, sink };
}

describe('a sink of type http', () => {
  test('posts records as they were stored, one per line', async () => {
    const { server, sink } = await openBench();
    const records = [...sampleRecords('a', 3), sampleRecord('b', { message: 'zwei\nZeilen, "ü" 😀 \u2028' })];
    expect(await sink.deliver(records, signal)).toEqual({ bytes: server.requests[0]?.body.length });
    expect(server.requests[0]?.body.toString()).toBe(records.map(({ line }) => `${line}\n`).join(''));
    expect(server.records()).toEqual(records.map(({ fields }) => fields));
    expect(server.violations).toEqual([]);
  });

  test.for(['ecs', 'otel'] as const)('posts records in the format %s, compressed', async (format) => {
    const { server, sink } = await openBench({ format, compress: 'gzip' });
    await sink.deliver(sampleRecords('a', 100), signal);
    expect(server.records()).toHaveLength(100);
    expect(server.requests[0]?.headers['content-encoding']).toBe('gzip');
    expect(server.violations).toEqual([]);
  });

  test('gives the same records the same key and bytes, and others another key', async () => {
    const { server, sink } = await openBench({ compress: 'gzip' });
    const records = sampleRecords('a', 5);
    server.misbehave({ kind: 'take-and-vanish' });
    await expect(sink.deliver(records, signal)).rejects.toMatchObject({ code: 'unreachable', disposition: 'retry' });
    await sink.deliver(records, signal);
    expect([server.repeats, server.records().length]).toEqual([1, 5]);
    await sink.deliver(records.slice(0, 4), signal);
    await sink.deliver(records.toReversed(), signal);
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toBe(createHash('sha256').update('a-0\na-1\na-2\na-3\na-4\n').digest('hex'));
    expect(new Set(keys).size).toBe(3);
    expect(server.violations).toEqual([]);
  });

  test.for([200, 201, 202, 204, 206, 299])('takes status %s as success, whatever comes with it', async (status) => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'status', status, body: status === 204 ? '' : '{"errors":true' });
    expect(await sink.deliver(sampleRecords('a', 1), signal)).toMatchObject({ bytes: expect.any(Number) });
    server.misbehave({ kind: 'flood', bytes: 500_000 });
    await sink.deliver(sampleRecords('b', 1), signal);
  });

  test.for([
    [400, 'refused', 'dead-letter'],
    [413, 'too_large', 'dead-letter'],
    [422, 'refused', 'dead-letter'],
    [401, 'unauthorized', 'operator'],
    [404, 'misconfigured', 'operator'],
    [302, 'misconfigured', 'operator'],
    [429, 'throttled', 'retry'],
    [503, 'throttled', 'retry'],
  ] as const)('throws what status %s means', async ([status, code, disposition]) => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'status', status, body: 'no', headers: { 'retry-after': '3' } });
    await expect(sink.deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code,
      disposition,
      answer: String(status),
      message: `Sink web answered with status ${status}: no`,
      retryAfterMs: 3000,
    });
  });

  test('authorises itself', async () => {
    const { server, sink } = await openBench({ bearer_token: new Secret('t0ken') }, { authorization: 'Bearer t0ken' });
    await sink.deliver(sampleRecords('a', 1), signal);
    expect(server.records()).toHaveLength(1);
  });

  test('throws the reason of the signal when it is aborted', async () => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'hang' });
    const controller = new AbortController();
    const arrival = server.nextArrival();
    const failure = sink.deliver(sampleRecords('a', 1), controller.signal).catch((cause: unknown) => cause);
    await arrival;
    controller.abort('time is over');
    expect(await failure).toBe('time is over');
  });
});

describe('a sink of type http in a preflight', () => {
  test('sends a record that says that it is a test', async () => {
    const { server, sink } = await openBench();
    expect((await sink.preflight(fleet, signal)).map(({ step, verdict }) => `${step}: ${verdict}`)).toEqual([
      'connect: ok',
      'test record: ok',
    ]);
    expect(server.records()).toEqual([
      {
        timestamp: '2025-10-26T01:00:00.000000000Z',
        observed_timestamp: '2025-10-26T01:00:00.000Z',
        router: 'router-exporter',
        component: 'preflight',
        message: 'Test record of router-exporter: it can be deleted',
        uid: `preflight-${Date.UTC(2025, 9, 26, 1).toString(36)}`,
        file: 'preflight',
        offset: 0,
        labels: {},
      },
    ]);
  });

  test.for([
    [401, ['connect: ok', 'authorise: failed']],
    [404, ['connect: ok', 'test record: failed']],
    [400, ['connect: ok', 'test record: failed']],
    [500, ['connect: ok', 'test record: failed']],
  ] as const)('says how far it got when the sink answers with %s', async ([status, expected]) => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'status', status, body: 'no' });
    const findings = await sink.preflight(fleet, signal);
    expect(findings.map(({ step, verdict }) => `${step}: ${verdict}`)).toEqual(expected);
    expect(findings.at(-1)?.message).toBe(`Sink web answered with status ${status}: no`);
  });

  test('says that it cannot connect, and what to do', async () => {
    const { server, sink } = await openBench();
    await server.close();
    expect(await sink.preflight(fleet, signal)).toEqual([
      {
        step: 'connect',
        verdict: 'failed',
        message: expect.stringMatching(/^Sink web could not connect to http:.*: connect ECONNREFUSED/),
        hint: 'Check host and port in the address of this sink, and that it is running',
      },
    ]);
  });

  test('throws when it is aborted', async () => {
    const { sink } = await openBench();
    await expect(sink.preflight(fleet, AbortSignal.abort('stop'))).rejects.toBe('stop');
  });
});
