import { expect, test } from 'vitest';
import { createSteppedClock, Secret } from '../../../src/base/index.ts';
import type { LogRecord } from '../../../src/model/index.ts';
import { DeliveryError, OutgoingRecord } from '../../../src/sinks/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openOtlpServer } from '../../support/sinks/otlp-server.ts';

const never = new AbortController().signal;
const noFleet = { routers: 1, labelValues: {} };
const NOW_MS = Date.UTC(2025, 9, 26, 1, 0, 31);

function openSink(url: string, options: SinkChange<'otlp'> = {}) {
  return createTestSink('otlp', { url, name: 'collector' }, { clock: createSteppedClock(NOW_MS), ...options });
}

function outgoing(fields: Partial<LogRecord> = {}): OutgoingRecord {
  const record: LogRecord = {
    timestamp: '2025-10-26T00:59:58.000018231Z',
    observed_timestamp: '2025-10-26T01:00:31.412Z',
    router: 'plant-7',
    component: 'network',
    message: 'wan1: connection check failed, retry 3',
    uid: 'k7d2m4q2x4t5h7ca-00000e2f',
    file: 'network/current',
    offset: 18231,
    ...fields,
  };
  return new OutgoingRecord(JSON.stringify(record));
}

async function catchError(promise: Promise<unknown>): Promise<DeliveryError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(thrown instanceof DeliveryError)) throw new TypeError(`No DeliveryError: ${String(thrown)}`);
  return thrown;
}

test('A sink of type otlp sends every field of a record, and no field that OTLP does not know', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url, { version: '1.2.3' });
  const report = await sink.deliver(
    [
      outgoing({
        tag: 'wan',
        severity: 'warning',
        labels: { site: 'munich' },
        flags: ['zone_assumed', 'lossy'],
        original: '/wE=',
      }),
    ],
    never,
  );
  expect(server.violations).toEqual([]);
  expect(server.records()).toEqual([
    {
      resource: { 'service.name': 'router-exporter', 'host.name': 'plant-7', 'router.label.site': 'munich' },
      scope: { name: 'router-exporter', version: '1.2.3' },
      fields: {
        timeUnixNano: '1761440398000018231',
        observedTimeUnixNano: '1761440431412000000',
        severityNumber: 13,
        severityText: 'warning',
        body: 'wan1: connection check failed, retry 3',
      },
      attributes: {
        'log.record.uid': 'k7d2m4q2x4t5h7ca-00000e2f',
        'log.file.path': 'network/current',
        'log.file.record_offset': '18231',
        'router.component': 'network',
        'router.tag': 'wan',
        'router.flags': ['zone_assumed', 'lossy'],
        'router.original_base64': '/wE=',
      },
    },
  ]);
  expect(report.bytes).toBeGreaterThan(100);
  expect(report).toEqual({ bytes: report.bytes });
});

test('A sink of type otlp sends what is unknown as nothing, an empty line as an empty text, and an event by its name', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const { timestamp: _, ...timeless } = outgoing({ message: '', offset: 2 ** 40 }).fields;
  await sink.deliver(
    [
      new OutgoingRecord(JSON.stringify(timeless)),
      outgoing({
        event: 'log.gap',
        message: '5 bytes are missing',
        details: { from: 'a', bytes: 5, ratio: 0.5, to: null },
      }),
      outgoing({ message: 'half of a pair \ud800 and ü€😀' }),
    ],
    never,
  );
  expect(server.violations).toEqual([]);
  const [first, second, third] = server.records();
  expect(first?.fields).toEqual({ observedTimeUnixNano: '1761440431412000000', body: '' });
  expect(first?.attributes['log.file.record_offset']).toBe(String(2 ** 40));
  expect(first?.scope).toEqual({ name: 'router-exporter' });
  expect(first?.resource).toEqual({ 'service.name': 'router-exporter', 'host.name': 'plant-7' });
  expect(second?.fields['eventName']).toBe('log.gap');
  expect(second?.attributes).toMatchObject({
    'router.details.from': 'a',
    'router.details.bytes': '5',
    'router.details.ratio': 0.5,
  });
  expect(second?.attributes).not.toHaveProperty('router.details.to');
  expect(third?.fields['body']).toBe('half of a pair \ufffd and ü€😀');
});

test('A sink of type otlp puts the records of each router into one resource, in their order', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const names = ['b', 'a', 'b', 'c', 'a', 'b'];
  await sink.deliver(
    names.map((router, index) => outgoing({ router, uid: `u${index}` })),
    never,
  );
  // The server counts a resource that comes twice as a violation.
  expect(server.violations).toEqual([]);
  expect(
    server.records().map(({ resource, attributes }) => [resource['host.name'], attributes['log.record.uid']]),
  ).toEqual([
    ['b', 'u0'],
    ['b', 'u2'],
    ['b', 'u5'],
    ['a', 'u1'],
    ['a', 'u4'],
    ['c', 'u3'],
  ]);
});

test('A sink of type otlp keeps a router apart from itself with other labels', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  await sink.deliver([outgoing({ labels: { site: 'old' } }), outgoing({ labels: { site: 'new' } })], never);
  expect(server.records().map(({ resource }) => resource['router.label.site'])).toEqual(['old', 'new']);
});

test('A sink of type otlp gives the same bytes for the same records', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const records = ['a', 'b'].map((router) => outgoing({ router }));
  server.misbehave({ kind: 'status', status: 503, message: 'busy' });
  await expect(sink.deliver(records, never)).rejects.toThrow('busy');
  await sink.deliver(records, never);
  expect(server.bodies).toHaveLength(2);
  expect(server.bodies[1]).toEqual(server.bodies[0]);
});

test('A sink of type otlp sends uncompressed bodies and to the path of its url, if so configured', async () => {
  await using server = await openOtlpServer({ path: '/collector/v1/logs', bearer: 'token-1' });
  await using sink = openSink(`${server.url}/collector/v1/logs`, {
    compress: 'none',
    bearer_token: new Secret('token-1'),
  });
  const { bytes } = await sink.deliver([outgoing()], never);
  expect(server.records()).toHaveLength(1);
  expect(server.bodies[0]).toHaveLength(bytes ?? 0);
});

test('A sink of type otlp counts rejected records that are not named, with the words of the collector (case 67)', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const records = Array.from({ length: 10 }, (_, index) => outgoing({ uid: `u${index}` }));
  for (const encoding of [undefined, 'json'] as const) {
    server.misbehave({ kind: 'partial', rejected: 3, message: 'too\nold', ...(encoding && { encoding }) });
    expect(await sink.deliver(records, never)).toEqual({
      bytes: expect.any(Number),
      refusedUnnamed: { records: 3, reason: 'too old' },
    });
  }
  server.misbehave({ kind: 'partial', rejected: 9 });
  expect((await sink.deliver(records, never)).refusedUnnamed).toEqual({
    records: 9,
    reason: 'rejected without a reason',
  });
});

test('A sink of type otlp names every record when all are rejected, even more than there were', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const refusal = { reason: 'no space', code: 'partial_success' };
  for (const rejected of [2, 2000]) {
    server.misbehave({ kind: 'partial', rejected, message: 'no space' });
    expect(await sink.deliver([outgoing(), outgoing()], never)).toEqual({
      bytes: expect.any(Number),
      refused: [
        { index: 0, ...refusal },
        { index: 1, ...refusal },
      ],
    });
  }
});

test('A sink of type otlp takes a message without rejected records for a warning, and a negative count for none', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  for (const encoding of [undefined, 'json'] as const) {
    for (const rejected of [0, -4]) {
      server.misbehave({ kind: 'partial', rejected, message: 'use v2', ...(encoding && { encoding }) });
      expect(await sink.deliver([outgoing()], never)).toEqual({
        bytes: expect.any(Number),
        warning: 'Sink collector warns: use v2',
      });
    }
  }
});

test.each([
  ['200 without a body', { body: '' }],
  ['204 without a body', { status: 204, body: '', type: 'text/plain' }],
  ['an empty object of JSON', { body: '{}', type: 'application/json; charset=utf-8' }],
  ['a partial success of nothing', { body: '{"partialSuccess":null}', type: 'application/json' }],
  ['fields of a later version', { body: Uint8Array.of(0x0a, 0x02, 0x18, 0x05, 0x12, 0x01, 0x61) }],
  ['protobuf without a content type of its own', { body: Uint8Array.of(0x0a, 0x00), type: 'application/octet-stream' }],
])('A sink of type otlp takes %s for success', async (_, answer) => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'answer', ...answer });
  expect(await sink.deliver([outgoing()], never)).toEqual({ bytes: expect.any(Number) });
});

test.each([
  ['a page', 'text/html', '<h1>Please log in</h1>', 'misconfigured', 'operator', 'Please log in'],
  [
    'broken protobuf',
    'application/x-protobuf',
    Uint8Array.of(0x0a, 0x7f, 0x08),
    'protocol_error',
    'retry',
    'an invalid body',
  ],
  [
    'a partial success that is no message',
    'application/x-protobuf',
    Uint8Array.of(0x0a, 0x01, 0x0c),
    'protocol_error',
    'retry',
    'an invalid body',
  ],
  ['broken JSON', 'application/json', '{"partialSuccess":', 'protocol_error', 'retry', 'an invalid body'],
  ['a text as JSON', 'application/json', '"ok"', 'protocol_error', 'retry', 'an invalid body'],
])('A sink of type otlp does not take 200 with %s for success', async (_, type, body, code, disposition, words) => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'answer', type, body });
  const error = await catchError(sink.deliver([outgoing()], never));
  expect(error).toMatchObject({ code, disposition, answer: '200' });
  expect(error.message).toContain(words);
});

test('A sink of type otlp reads an answer as large as OTLP recommends', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'partial', rejected: 1, message: 'x'.repeat(4_000_000) });
  const { refusedUnnamed } = await sink.deliver([outgoing(), outgoing()], never);
  expect(refusedUnnamed).toEqual({ records: 1, reason: 'x'.repeat(500) });
});

test('A sink of type otlp refuses an answer larger than OTLP recommends', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'answer', body: new Uint8Array(4 * 1024 * 1024 + 1) });
  expect(await catchError(sink.deliver([outgoing()], never))).toMatchObject({
    code: 'protocol_error',
    disposition: 'retry',
  });
});

test.each([
  [400, 'refused', 'dead-letter'],
  [401, 'unauthorized', 'operator'],
  [403, 'unauthorized', 'operator'],
  [404, 'misconfigured', 'operator'],
  [413, 'too_large', 'dead-letter'],
  [429, 'throttled', 'retry'],
  [500, 'failed', 'retry'],
  [502, 'failed', 'retry'],
  [503, 'failed', 'retry'],
  [504, 'failed', 'retry'],
])(
  'A sink of type otlp throws for status %i what its class means, with the words of its Status',
  async (status, code, disposition) => {
    await using server = await openOtlpServer();
    await using sink = openSink(server.url);
    for (const encoding of [undefined, 'json', 'text'] as const) {
      server.misbehave({ kind: 'status', status, message: 'bad ünit', ...(encoding && { encoding }) });
      const error = await catchError(sink.deliver([outgoing()], never));
      expect(error).toMatchObject({ code, disposition, answer: String(status) });
      expect(error.message).toBe(`Sink collector answered with status ${status}: bad ünit`);
    }
  },
);

test('A sink of type otlp passes on how long a collector wants to be left alone', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const date = new Date(NOW_MS + 90_000).toUTCString();
  for (const [retryAfter, retryAfterMs] of [
    ['7', 7000],
    [date, 90_000],
  ] as const) {
    server.misbehave({ kind: 'status', status: 429, headers: { 'retry-after': retryAfter } });
    expect(await catchError(sink.deliver([outgoing()], never))).toMatchObject({ retryAfterMs });
  }
});

test('A sink of type otlp sends the same again after a connection that broke in the answer', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'cut' });
  expect(await catchError(sink.deliver([outgoing()], never))).toMatchObject({
    code: 'unreachable',
    disposition: 'retry',
  });
  await sink.deliver([outgoing()], never);
  expect(server.bodies[1]).toEqual(server.bodies[0]);
});

test('A sink of type otlp ends a delivery with the reason of its signal while the collector hangs', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'hang' });
  const abort = new AbortController();
  const reason = new RangeError('time is over');
  const delivering = sink.deliver([outgoing()], abort.signal);
  await expect.poll(() => server.requests).toBe(1);
  abort.abort(reason);
  await expect(delivering).rejects.toBe(reason);
});

test('The preflight of a sink of type otlp sends one test record that says what it is', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  expect(await sink.preflight(noFleet, never)).toEqual([
    { step: 'connect', verdict: 'ok', message: `${server.url}/ can be reached` },
    { step: 'authorise', verdict: 'ok', message: 'The receiver accepts the credentials' },
    { step: 'test record', verdict: 'ok', message: 'The test record was accepted' },
  ]);
  expect(server.records().map(({ fields }) => fields['body'])).toEqual([
    'Test record of router-exporter: it can be deleted',
  ]);
  expect(server.violations).toEqual([]);
});

test.for(['/otlp/v1/logs', '/otlp', ''])(
  'The preflight of a sink of type otlp recognises Loki behind %s, whatever became of the test record, and points to its type',
  async (path) => {
    await using server = await openOtlpServer({ path: '/otlp/v1/logs', lokiVersion: '3.8.0' });
    await using sink = openSink(`${server.url}${path}`);
    const findings = await sink.preflight(noFleet, never);
    expect(findings.some(({ verdict }) => verdict === 'failed')).toBe(path !== '/otlp/v1/logs');
    expect(findings.at(-1)).toEqual({
      step: 'receiver',
      verdict: 'warning',
      message: expect.stringMatching(/^The receiver is Loki 3\.8\.0: over OTLP, logs share streams/),
      hint: `Use type loki with the url ${server.url}`,
    });
  },
);

test('The preflight of a sink of type otlp says which step failed and what to do', async () => {
  await using server = await openOtlpServer({ bearer: 'right-token' });
  await using sink = openSink(server.url, { bearer_token: new Secret('wrong-token') });
  const unauthorised = await sink.preflight(noFleet, never);
  expect(unauthorised.map(({ step, verdict }) => `${step} ${verdict}`)).toEqual(['connect ok', 'authorise failed']);
  expect(unauthorised[1]).toMatchObject({
    message: expect.stringContaining('no such token'),
    hint: expect.stringContaining('credentials'),
  });
  expect(JSON.stringify(unauthorised)).not.toContain('wrong-token');

  await using lost = openSink(`${server.url}/other`);
  expect((await lost.preflight(noFleet, never)).map(({ step, verdict }) => `${step} ${verdict}`)).toEqual([
    'connect ok',
    'test record failed',
  ]);
  await server.close();
  const unreachable = await sink.preflight(noFleet, never);
  expect(unreachable.map(({ step, verdict }) => `${step} ${verdict}`)).toEqual(['connect failed']);
  expect(unreachable[0]?.hint).toContain('Check host and port');
});

test('The preflight of a sink of type otlp distinguishes refusals, failures and warnings', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const tryOnce = async () => (await sink.preflight(noFleet, never)).map(({ step, verdict }) => `${step} ${verdict}`);
  server.misbehave({ kind: 'partial', rejected: 1, message: 'no logs here' });
  expect(await tryOnce()).toEqual(['connect ok', 'authorise ok', 'test record failed']);
  server.misbehave({ kind: 'status', status: 400, message: 'bad unit' });
  expect(await tryOnce()).toEqual(['connect ok', 'test record failed']);
  server.misbehave({ kind: 'partial', rejected: 0, message: 'use v2' });
  expect(await tryOnce()).toEqual(['connect ok', 'authorise ok', 'test record ok', 'answer warning']);
});

test('The preflight of a sink of type otlp throws when it is aborted', async () => {
  await using server = await openOtlpServer();
  await using sink = openSink(server.url);
  const reason = new RangeError('enough');
  await expect(sink.preflight(noFleet, AbortSignal.abort(reason))).rejects.toBe(reason);
});
