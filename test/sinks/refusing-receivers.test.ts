import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import type { ShippedRecord } from '../../src/model/index.ts';
import { type DeliveryEvent, DeliveryWorker } from '../../src/sinks/index.ts';
import { MemoryDeadLetters, MemorySpool } from '../support/memory-spool.ts';
import { createTestSink } from '../support/sinks/create-sink.ts';
import { openElasticsearchServer } from '../support/sinks/elasticsearch-server.ts';
import { type ArrivedRequest, openMisbehavingServer, type Reply } from '../support/sinks/misbehaving-server.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const never = new AbortController().signal;
const BATCH = 4;

const refuseWhole = (): Reply => ({ status: 400, body: 'no such field' });
/** Elasticsearch judges records one by one: an action and a document are two lines. */
const refuseEach = ({ body }: ArrivedRequest): Reply => {
  const item = { create: { status: 400, error: { type: 'mapper_parsing_exception', reason: 'no such field' } } };
  const items = Array.from({ length: body.toString().trim().split('\n').length / 2 }, () => item);
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ errors: true, items }),
  };
};

type Type = 'http' | 'loki' | 'otlp' | 'elasticsearch';
const RECEIVERS: readonly (readonly [string, Type, (request: ArrivedRequest) => Reply])[] = [
  ['http', 'http', refuseWhole],
  ['loki', 'loki', refuseWhole],
  ['otlp', 'otlp', refuseWhole],
  ['elasticsearch', 'elasticsearch', refuseEach],
  ['elasticsearch, whole', 'elasticsearch', refuseWhole],
];

/** A worker for the sink of the server, and all that it leaves behind. */
const createWorkerBench = (url: string, type: Type, isSelected?: (record: ShippedRecord) => boolean) => {
  const clock = createSteppedClock(NOW_MS);
  const spool = new MemorySpool();
  const deadLetters = new MemoryDeadLetters();
  const events: DeliveryEvent[] = [];
  const batch = { recordsMax: BATCH, bytesMax: 1 << 20, waitMs: 0 };
  const keys = type === 'loki' ? { max_age: 0 } : { compress: 'none' };
  const index = type === 'elasticsearch' && { index: 'logs-a-b' };
  const sink = createTestSink(type, { url, ...keys, ...index }, { batch, clock });
  const report = (event: DeliveryEvent) => void events.push(event);
  const common = { sink, spool, deadLetters: deadLetters, clock, isWanted: () => true, report };
  const worker = new DeliveryWorker({ ...common, ...(isSelected && { isSelected }) });
  return { spool, deadLetters, events, sink, worker };
};

test.for(RECEIVERS)(
  'a receiver that refuses everything is misconfigured after three batches and gets no fourth set aside: %s',
  async ([, type, answer]) => {
    await using server = await openMisbehavingServer(answer);
    const { spool, deadLetters, sink, worker } = createWorkerBench(server.url, type);
    spool.add(Array.from({ length: 10 * BATCH }, (_, index) => `r${index}`));
    const codes: unknown[] = [];
    for (let step = 0; step < 100; step++) {
      await worker.step(never).catch((cause: unknown) => codes.push(Reflect.get(Object(cause), 'code')));
    }
    await sink.close();
    expect(new Set(codes)).toEqual(new Set(['misconfigured']));
    expect(deadLetters.deadLetters).toHaveLength(3 * BATCH);
    expect(spool.cursors.get('sink')).toBe(3 * BATCH);
  },
);

/** Refuses what is of the router `bad`. */
const refuseWholeOfBad = ({ body }: ArrivedRequest): Reply =>
  body.toString().includes('"bad"') ? { status: 400, body: 'no such label' } : { status: 200 };
const refuseEachOfBad = ({ body }: ArrivedRequest): Reply => {
  const documents = body
    .toString()
    .trim()
    .split('\n')
    .filter((_, index) => index % 2 === 1);
  const error = { type: 'mapper_parsing_exception', reason: 'no such label' };
  const items = documents.map((text) => ({
    create: text.includes('"bad"') ? { status: 400, error } : { status: 201 },
  }));
  const answer = { errors: items.some(({ create }) => create.status === 400), items };
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(answer) };
};

test.for<(typeof RECEIVERS)[number]>([
  ['http', 'http', refuseWholeOfBad],
  ['elasticsearch', 'elasticsearch', refuseEachOfBad],
])(
  'a receiver that refuses all records of one router, of which many batches wait, gets those of the others: %s',
  async ([, type, answer]) => {
    await using server = await openMisbehavingServer(answer);
    const { spool, deadLetters, events, sink, worker } = createWorkerBench(server.url, type);
    const bad = Array.from({ length: 10 * BATCH }, (_, index) => `b${index}`);
    spool.add(bad, { router: 'bad' });
    spool.add(['g1', 'g2'], { router: 'good' });
    for (let step = 0; step < 400 && spool.cursors.get('sink') !== spool.lines.length; step++) {
      await worker.step(never).catch(() => {});
    }
    await sink.close();
    expect(spool.cursors.get('sink')).toBe(spool.lines.length);
    expect(deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(bad);
    const delivered = events.filter((event) => event.type === 'records-delivered');
    expect(delivered.reduce((sum, { records }) => sum + records, 0)).toBe(2);
  },
);

test('a receiver that refuses all records of one router, and asks for those of the others later, gets no fourth batch set aside', async () => {
  const answer = (request: ArrivedRequest): Reply => {
    const { body = '', ...rest } = refuseEachOfBad(request) as { readonly body?: string };
    return {
      ...rest,
      body: body.replaceAll('{"status":201}', '{"status":429}').replace('"errors":false', '"errors":true'),
    } as Reply;
  };
  await using server = await openMisbehavingServer(answer);
  const { spool, deadLetters, sink, worker } = createWorkerBench(server.url, 'elasticsearch');
  const bad = Array.from({ length: 10 * BATCH }, (_, index) => `b${index}`);
  spool.add(bad, { router: 'bad' });
  spool.add(['g1'], { router: 'good' });
  for (let step = 0; step < 50; step++) await worker.step(never).catch(() => {});
  await sink.close();
  expect(deadLetters.deadLetters).toHaveLength(3 * BATCH);
});

const LASTING = [
  { status: 403, type: 'security_exception', reason: 'unauthorized on indices [logs-other]' },
  { status: 404, type: 'index_not_found_exception', reason: 'no such index [logs-other]' },
  { status: 500, type: 'dissect_exception', reason: 'Unable to find match for dissect pattern' },
] as const;

/** A worker for Elasticsearch, which has stepped until nothing is left or nothing moves any more. */
async function runElasticsearch(fault: (typeof LASTING)[number], bad: readonly string[], others: readonly string[]) {
  await using server = await openElasticsearchServer({ index: 'logs-a-b' });
  const bench = createWorkerBench(server.url, 'elasticsearch');
  bench.spool.add(bad, { router: 'bad' });
  bench.spool.add(others, { router: 'good' });
  for (const uid of bad) server.refuse(uid, fault);
  const failures: unknown[] = [];
  for (let step = 0; step < 100; step++) {
    const outcome = await bench.worker.step(never).catch((cause: unknown) => void failures.push(cause));
    if (outcome === 'idle') break;
  }
  await bench.sink.close();
  return { ...bench, failures, taken: [...new Set(server.documents().map(({ id }) => id))] };
}

test.for(LASTING)(
  'a record that Elasticsearch never takes becomes a dead letter, and others are delivered: $status',
  async (fault) => {
    const others = ['g0', 'g1', 'g2', 'g3', 'g4', 'g5'];
    // With others in its batch, and with a batch of its own before theirs.
    for (const { bad, attempts } of [
      { bad: ['b0'], attempts: 5 },
      { bad: ['b0', 'b1', 'b2', 'b3'], attempts: 4 },
    ]) {
      const { deadLetters, failures, spool, taken } = await runElasticsearch(fault, bad, others);
      expect(deadLetters.deadLetters).toMatchObject(bad.map((uid) => ({ uid, code: String(fault.status) })));
      expect(deadLetters.deadLetters[0]?.reason).toContain(fault.reason);
      expect(taken).toEqual(others);
      expect(spool.cursors.get('sink')).toBe(spool.lines.length);
      // What may pass gets some more attempts.
      expect(failures.length).toBe(fault.status === 500 ? attempts : 0);
    }
  },
);

test.for(LASTING)('records wait for as long as Elasticsearch takes none: $status', async (fault) => {
  const bad = ['b0', 'b1', 'b2', 'b3'];
  for (const others of [[], ['b4']]) {
    const { deadLetters, failures, spool } = await runElasticsearch(fault, [...bad, ...others], []);
    expect(deadLetters.deadLetters).toEqual([]);
    expect(failures).toHaveLength(100);
    expect(spool.cursors.get('sink')).toBeUndefined();
  }
});

/** Steps until nothing is left, or nothing moves any more. Returns the failures. */
async function stepLong(worker: DeliveryWorker<number>): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  for (let step = 0; step < 50; step++) {
    if ((await worker.step(never).catch((cause: unknown) => void failures.push(cause))) === 'idle') break;
  }
  return failures;
}

test.for(LASTING)('a record that waits alone is judged by the next ones of the only router: $status', async (fault) => {
  await using server = await openElasticsearchServer({ index: 'logs-a-b' });
  const bench = createWorkerBench(server.url, 'elasticsearch');
  server.refuse('b0', fault);
  bench.spool.add(['b0']);
  expect(await stepLong(bench.worker)).toHaveLength(50);
  bench.spool.add(['g0', 'g1']);
  await stepLong(bench.worker);
  await bench.sink.close();
  expect(server.documents().map(({ id }) => id)).toEqual(['g0', 'g1']);
  expect(bench.deadLetters.deadLetters).toMatchObject([{ uid: 'b0', code: String(fault.status) }]);
  expect(bench.spool.cursors.get('sink')).toBe(3);
});

test.for(LASTING)(
  'a replayed dead letter of the only router does not hold up its new records: $status',
  async (fault) => {
    await using server = await openElasticsearchServer({ index: 'logs-a-b' });
    const bench = createWorkerBench(server.url, 'elasticsearch');
    server.refuse('b0', fault);
    bench.spool.add(['b0', 'g0']);
    await stepLong(bench.worker);
    for (const deadLetter of bench.deadLetters.deadLetters) deadLetter.isReplayed = true;
    expect(await stepLong(bench.worker)).toHaveLength(50);
    bench.spool.add(['g1', 'g2']);
    await stepLong(bench.worker);
    await bench.sink.close();
    expect(server.documents().map(({ id }) => id)).toEqual(['g0', 'g1', 'g2']);
    expect(bench.deadLetters.deadLetters).toMatchObject([{ uid: 'b0', isReplayed: false }]);
  },
);

test('a record is judged by the next one of another router that this sink gets, whatever is before it', async () => {
  await using server = await openElasticsearchServer({ index: 'logs-a-b' });
  const bench = createWorkerBench(server.url, 'elasticsearch', ({ uid }) => !uid.startsWith('skipped'));
  server.refuse('b0', LASTING[0]);
  bench.spool.add(['b0', 'skipped0', 'skipped1', 'skipped2'], { router: 'bad' });
  bench.spool.add(['skipped3', 'g0'], { router: 'good' });
  expect(await stepLong(bench.worker)).toEqual([]);
  await bench.sink.close();
  expect(server.documents().map(({ id }) => id)).toEqual(['g0']);
  expect(bench.deadLetters.deadLetters).toMatchObject([{ uid: 'b0' }]);
});

test('records of several routers that are never accepted hold up neither each other nor those behind them', async () => {
  await using server = await openElasticsearchServer({ index: 'logs-a-b' });
  const bench = createWorkerBench(server.url, 'elasticsearch');
  const bad = ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6'];
  for (const uid of bad) server.refuse(uid, LASTING[0]);
  bench.spool.add(bad.slice(0, BATCH), { router: 'one' });
  bench.spool.add(bad.slice(BATCH, 6), { router: 'two' });
  bench.spool.add(['b6', 'g0'], { router: 'three' });
  await stepLong(bench.worker);
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(bad);
  // The next record of another router is none that the sink accepts, either.
  for (const deadLetter of bench.deadLetters.deadLetters) deadLetter.isReplayed = deadLetter.uid === 'b0';
  server.refuse('b7', LASTING[0]);
  bench.spool.add(['b7', 'g1'], { router: 'two' });
  await stepLong(bench.worker);
  await bench.sink.close();
  expect(server.documents().map(({ id }) => id)).toEqual(['g0', 'g1']);
  expect(bench.deadLetters.deadLetters.filter(({ isReplayed }) => isReplayed)).toEqual([]);
});

test('Elasticsearch gets a batch in halves when its answer about the whole is too long, and what it has already counts as delivered', async () => {
  await using server = await openElasticsearchServer({ index: 'logs-a-b' });
  const bench = createWorkerBench(server.url, 'elasticsearch');
  const uids = ['r0', 'r1', 'r2', 'r3'];
  bench.spool.add(uids);
  server.refuse('r2', { status: 400, type: 'mapper_parsing_exception', reason: 'no such field' });
  server.distort((answer) => ({ ...answer, more: 'x'.repeat(17 * 1024 * 1024) }));
  for (let step = 0; step < 10 && (await bench.worker.step(never)) !== 'idle'; step++);
  await bench.sink.close();
  expect(bench.events.filter(({ type }) => type === 'batch-split')).toHaveLength(1);
  expect(bench.events.filter(({ type }) => type === 'records-delivered')).toMatchObject([
    { records: 2, duplicates: 2 },
    { records: 1, duplicates: 1 },
  ]);
  expect(bench.deadLetters.deadLetters.map(({ uid }) => uid)).toEqual(['r2']);
  expect(bench.spool.cursors.get('sink')).toBe(uids.length);
});
