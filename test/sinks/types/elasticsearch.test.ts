import { describe, expect, onTestFinished, test } from 'vitest';
import { createSteppedClock, Secret } from '../../../src/base/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { type ElasticsearchServerOptions, openElasticsearchServer } from '../../support/sinks/elasticsearch-server.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';

const { signal } = new AbortController();

async function openBench(options: SinkChange<'elasticsearch'> = {}, serverOptions: ElasticsearchServerOptions = {}) {
  const server = await openElasticsearchServer(serverOptions);
  const clock = createSteppedClock(Date.UTC(2025, 9, 26, 1));
  const sink = createTestSink('elasticsearch', { url: server.url, name: 'elastic' }, { clock, ...options });
  onTestFinished(async () => {
    await sink.close();
    await server.close();
  });
  return { server, sink };
}

describe('a sink of type elasticsearch', () => {
  test('creates a document for each record, with the uid as its id', async () => {
    const { server, sink } = await openBench({}, { prefix: '/elastic' });
    const records = sampleRecords('a', 3);
    expect(await sink.deliver(records, signal)).toEqual({ bytes: server.requests[0]?.wireBytes, duplicates: 0 });
    expect(server.documents().map(({ id }) => id)).toEqual(['a-0', 'a-1', 'a-2']);
    // As shippers do: receivers that speak the bulk interface under a prefix know no path with an index in it.
    expect(server.requests[0]?.path.split('?')[0]).toBe('/elastic/_bulk');
    expect(server.requests[0]?.body.toString('utf8').split('\n')[0]).toBe(
      '{"create":{"_index":"logs-router-default","_id":"a-0"}}',
    );
    expect(server.records()[0]).toMatchObject({ '@timestamp': records[0]?.fields.timestamp, event: { id: 'a-0' } });
    expect(server.violations).toEqual([]);
  });

  test.for([
    ['native', { uid: 'a-0', router: 'plant-7', timestamp: '2025-10-26T00:59:58.000018231Z' }],
    ['ecs', { event: { id: 'a-0' }, host: { name: 'plant-7' } }],
    ['otel', { attributes: { 'log.record.uid': 'a-0' }, body: { text: 'message of a-0' } }],
  ] as const)('writes documents in the format %s', async ([format, document]) => {
    const { server, sink } = await openBench({ format });
    await sink.deliver(sampleRecords('a', 1), signal);
    expect(server.records()).toMatchObject([{ '@timestamp': '2025-10-26T00:59:58.000018231Z', ...document }]);
    // A line without a time has the one at which it was seen.
    const { timestamp: _, ...fields } = sampleRecord('b').fields;
    await sink.deliver([sampleRecord('b', { ...fields, timestamp: undefined } as never)], signal);
    expect(server.records()[1]).toMatchObject({ '@timestamp': '2025-10-26T01:00:31.412Z' });
    expect(server.violations).toEqual([]);
  });

  test('counts records that are there already as taken', async () => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'take-and-vanish' });
    await expect(sink.deliver(sampleRecords('a', 5), signal)).rejects.toMatchObject({ code: 'unreachable' });
    expect(await sink.deliver(sampleRecords('a', 6), signal)).toMatchObject({ duplicates: 5 });
    expect(await sink.deliver([...sampleRecords('b', 1), ...sampleRecords('b', 1)], signal)).toMatchObject({
      duplicates: 1,
    });
    expect(server.documents()).toHaveLength(7);
  });

  test('reports of every record what became of it', async () => {
    const { server, sink } = await openBench();
    await sink.deliver(sampleRecords('a', 2), signal);
    server.refuse('a-2', { status: 429, type: 'es_rejected_execution_exception', reason: 'queue is full' });
    server.refuse('a-3', { status: 400, type: 'document_parsing_exception', reason: 'failed\nto parse' });
    server.refuse('a-5', { status: 503, type: 'unavailable_shards_exception', reason: 'primary shard' });
    server.refuse('a-6', { status: 413, type: 'too_long', reason: 'document' });
    const { bytes: _, ...report } = await sink.deliver(sampleRecords('a', 8), signal);
    expect(report).toEqual({
      duplicates: 2,
      refused: [
        { index: 3, code: '400', reason: 'document_parsing_exception: failed to parse: because of this' },
        { index: 6, code: '413', reason: 'too_long: document: because of this' },
      ],
      retry: {
        indexes: [2, 5],
        reason: 'Status 429: es_rejected_execution_exception: queue is full: because of this',
      },
    });
    expect(server.documents().map(({ id }) => id)).toEqual(['a-0', 'a-1', 'a-4', 'a-7']);
  });

  test.for([
    [400, 'es_rejected_execution_exception'],
    [400, 'rejected_execution_exception'],
    [408, 'timeout'],
    [409, 'resource_already_exists_exception'],
    [500, 'whatever'],
  ] as const)('wants a record to come again after status %s, %s', async ([status, type]) => {
    const { server, sink } = await openBench();
    server.refuse('a-1', { status, type, reason: 'x', times: 1 });
    const records = sampleRecords('a', 3);
    expect(await sink.deliver(records, signal)).toMatchObject({ duplicates: 0, retry: { indexes: [1] } });
    expect(await sink.deliver(records.slice(1, 2), signal)).not.toHaveProperty('retry');
  });

  test.for([
    [401, 'security_exception', 'unauthorized', 'operator'],
    [403, 'cluster_block_exception', 'unauthorized', 'operator'],
    [404, 'index_not_found_exception', 'misconfigured', 'operator'],
    [400, 'index_closed_exception', 'misconfigured', 'operator'],
    [500, 'dissect_exception', 'failed', 'retry'],
  ] as const)(
    'fails when no record was taken, for it or its records: %s, %s',
    async ([status, type, code, disposition]) => {
      const { server, sink } = await openBench();
      for (const uid of ['a-0', 'a-1']) server.refuse(uid, { status, type, reason: 'not you' });
      await expect(sink.deliver(sampleRecords('a', 2), signal)).rejects.toMatchObject({
        code,
        disposition,
        mayBeOfRecords: true,
        answer: String(status),
        message: `Sink elastic refused a record with status ${status}: ${type}: not you: because of this`,
      });
    },
  );

  test.for([
    [401, 'security_exception'],
    [403, 'cluster_block_exception'],
    [404, 'index_not_found_exception'],
    [400, 'index_closed_exception'],
  ] as const)('refuses a record alone when others of its batch are taken: %s, %s', async ([status, type]) => {
    const { server, sink } = await openBench();
    server.refuse('a-1', { status, type, reason: 'not you' });
    const { bytes: _, ...report } = await sink.deliver(sampleRecords('a', 3), signal);
    expect(report).toEqual({
      duplicates: 0,
      refused: [{ index: 1, code: String(status), reason: `${type}: not you: because of this` }],
    });
    expect(server.documents().map(({ id }) => id)).toEqual(['a-0', 'a-2']);
  });

  test.for([503, 429])(
    'blames no record for back-pressure, however many others fail with a 5xx: %s',
    async (status) => {
      const { server, sink } = await openBench();
      server.refuse('a-0', { status: 500, type: 'dissect_exception', reason: 'no match' });
      server.refuse('a-1', { status, type: 'busy', reason: 'later' });
      expect(await sink.deliver(sampleRecords('a', 2), signal)).toMatchObject({ retry: { indexes: [0, 1] } });
    },
  );

  test('names its pipeline, and stops when there is none of that name', async () => {
    const { server, sink } = await openBench({ pipeline: 'a/b&c' }, { pipelines: ['a/b&c'] });
    await sink.deliver(sampleRecords('a', 1), signal);
    expect(server.documents()).toHaveLength(1);
    const other = await openBench({ pipeline: 'gone' });
    await expect(other.sink.deliver(sampleRecords('a', 1), signal)).rejects.toMatchObject({
      code: 'misconfigured',
      disposition: 'operator',
      hint: 'Check pipeline of this sink',
    });
  });

  test('is not put down by a record that looks like a missing pipeline', async () => {
    const { server, sink } = await openBench();
    const reason = "Preview of field's value: 'illegal_argument_exception: pipeline with id [x] does not exist'";
    server.refuse('a-1', { status: 400, type: 'document_parsing_exception', reason });
    expect((await sink.deliver(sampleRecords('a', 3), signal)).refused).toHaveLength(1);
  });

  test('reports records that went to the failure store, which count as accepted', async () => {
    const { server, sink } = await openBench();
    server.setAside('a-1');
    expect(await sink.deliver(sampleRecords('a', 3), signal)).toMatchObject({
      duplicates: 0,
      warning: '1 records went to the failure store of the data stream',
    });
  });

  test('takes an item without an id, as imitations of the interface give it', async () => {
    const { server, sink } = await openBench();
    server.distort(() => ({ errors: false, items: [{ create: { status: 201 } }, { create: { status: 200 } }] }));
    expect(await sink.deliver(sampleRecords('a', 2), signal)).toMatchObject({ duplicates: 0 });
  });

  test.for([
    ['no JSON', () => '<html>'],
    ['no items', () => ({ errors: false })],
    ['items that are no list', () => ({ errors: false, items: {} })],
    ['an item too few', (answer: { items: unknown[] }) => ({ items: answer.items.slice(1) })],
    ['an item too many', ({ items }: { items: unknown[] }) => ({ items: [...items, items[0]] })],
    ['items in another order', ({ items }: { items: unknown[] }) => ({ items: items.toReversed() })],
    ['another action', () => ({ items: Array.from({ length: 3 }, () => ({ index: { status: 201 } })) })],
    ['no status', () => ({ items: Array.from({ length: 3 }, () => ({ create: {} })) })],
    ['a status that is a text', () => ({ items: Array.from({ length: 3 }, () => ({ create: { status: '201' } })) })],
    ['a status of nothing', () => ({ items: Array.from({ length: 3 }, () => ({ create: { status: 0 } })) })],
    ['null items', () => ({ items: [null, null, null] })],
  ] as const)('cannot make sense of an answer with %s', async ([, change]) => {
    const { server, sink } = await openBench();
    server.distort(change);
    await expect(sink.deliver(sampleRecords('a', 3), signal)).rejects.toMatchObject({
      code: 'protocol_error',
      disposition: 'retry',
    });
    // What was taken then is there already.
    expect(await sink.deliver(sampleRecords('a', 3), signal)).toMatchObject({ duplicates: 3 });
  });

  test.for([
    [413, 'too_large', 'dead-letter'],
    [400, 'refused', 'dead-letter'],
    [429, 'throttled', 'retry'],
    [502, 'failed', 'retry'],
    [401, 'unauthorized', 'operator'],
    [404, 'misconfigured', 'operator'],
    [201, 'protocol_error', 'retry'],
  ] as const)('throws what status %s of the whole answer means', async ([status, code, disposition]) => {
    const { server, sink } = await openBench();
    server.misbehave({ kind: 'status', status, body: '{"error":"no"}' });
    await expect(sink.deliver(sampleRecords('a', 3), signal)).rejects.toMatchObject({ code, disposition });
  });

  test('takes an answer about many refused records, and wants fewer of them when it is too long', async () => {
    const { server, sink } = await openBench();
    const records = sampleRecords('a', 5000);
    for (const { fields } of records) {
      server.refuse(fields.uid, { status: 400, type: 'mapper_parsing_exception', reason: 'x'.repeat(1000), times: 1 });
    }
    expect((await sink.deliver(records, signal)).refused).toHaveLength(5000);
    server.misbehave({ kind: 'flood', bytes: 17 * 1024 * 1024 }, 2);
    await expect(sink.deliver(records, signal)).rejects.toMatchObject({
      code: 'too_large',
      disposition: 'dead-letter',
      message: expect.stringContaining('The response has more than 16777216 bytes'),
    });
    // One record is not to blame for it.
    await expect(sink.deliver(records.slice(0, 1), signal)).rejects.toMatchObject({
      code: 'protocol_error',
      disposition: 'retry',
    });
  });

  test('shows its key', async () => {
    const { server, sink } = await openBench({ api_key: new Secret('bXkta2V5') }, { authorization: 'ApiKey bXkta2V5' });
    await sink.deliver(sampleRecords('a', 1), signal);
    expect(server.documents()).toHaveLength(1);
  });
});
