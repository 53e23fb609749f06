import { describe, expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { StepLoop } from '../../src/schedule/index.ts';
import { type DeliveryError, type DeliveryEvent, DeliveryWorker, type Sink } from '../../src/sinks/index.ts';
import { MemoryDeadLetters, MemorySpool } from '../support/memory-spool.ts';
import { createTestSink } from '../support/sinks/create-sink.ts';
import { openElasticsearchServer } from '../support/sinks/elasticsearch-server.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { openLokiServer } from '../support/sinks/loki-server.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { openOtlpServer } from '../support/sinks/otlp-server.ts';
import { withPrograms } from '../support/tools.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;

/** Spool, worker and retry loop of one sink, as the agent has them, on a stepped clock. */
function openLine(create: (common: Common) => Sink) {
  const clock = createSteppedClock(NOW_MS);
  const spool = new MemorySpool();
  const deadLetters = new MemoryDeadLetters();
  const events: DeliveryEvent[] = [];
  const failures: DeliveryError[] = [];
  const sink = create({
    name: 'sink',
    batch: { recordsMax: 500, bytesMax: 1 << 20, waitMs: 0 },
    clock,
  });
  const worker = new DeliveryWorker({
    sink,
    spool,
    deadLetters: deadLetters,
    clock,
    isWanted: () => true,
    report: (event) => void events.push(event),
  });
  const retryLoop = new StepLoop({
    clock,
    random: () => 1,
    backoff: { firstMs: 500, ceilingMs: 5 * MINUTE_MS },
    step: (signal, slot) => worker.step(signal, slot),
    onFailure: (cause) => {
      failures.push(cause as DeliveryError);
      return failures.at(-1)?.retryAfterMs;
    },
  });
  return {
    clock,
    spool,
    deadLetters,
    events,
    failures,
    /** Delivers until nothing more can be done now. */
    async deliver() {
      retryLoop.wake();
      await retryLoop.whenIdle();
    },
    /** Moves the clock, and lets what is due end before the next step. */
    async advance(durationMs: number) {
      await clock.advance(durationMs, () => retryLoop.whenIdle());
    },
    isDone: () => spool.cursors.get('sink') === spool.lines.length,
    count: (type: DeliveryEvent['type']) =>
      events.reduce((sum, event) => (event.type === type && 'records' in event ? sum + event.records : sum), 0),
    [Symbol.asyncDispose]: () => sink.close(),
  };
}

interface Common {
  readonly name: string;
  readonly batch: Sink['batch'];
  readonly clock: ReturnType<typeof createSteppedClock>;
}

/** A record as it is stored, a little before now. */
function renderRecord(index: number, fields: object = {}): string {
  return JSON.stringify({
    timestamp: new Date(NOW_MS - 10 * MINUTE_MS + index).toISOString().replace('Z', '000000Z'),
    observed_timestamp: new Date(NOW_MS - 5 * MINUTE_MS).toISOString(),
    router: 'plant-7',
    component: 'network',
    message: `line ${index}`,
    uid: `uid-${String(index).padStart(4, '0')}`,
    file: 'network/current',
    offset: index,
    ...fields,
  });
}

const records = (count: number) => Array.from({ length: count }, (_, index) => renderRecord(index));
const uids = (count: number) => records(count).map((line) => (JSON.parse(line) as { uid: string }).uid);

describe('Loki', () => {
  const openLoki = (url: string) =>
    openLine((common) => createTestSink('loki', { url, layout: 'router', max_age: 0 }, common));

  test('case 63: of 500 lines it refuses one: 499 are kept, that one is a dead letter with the reason, and nothing is sent twice', async () => {
    await using server = await openLokiServer({ now: () => NOW_MS });
    await using line = openLoki(server.url);
    const old = new Date(NOW_MS - 30 * 86_400_000).toISOString().replace('Z', '000000Z');
    line.spool.add(records(500).map((text, index) => (index === 250 ? renderRecord(250, { timestamp: old }) : text)));
    await line.deliver();
    expect(server.records()).toHaveLength(499);
    expect(server.duplicates).toBe(0);
    expect(line.deadLetters.deadLetters).toMatchObject([
      { uid: 'uid-0250', code: '400', reason: expect.stringContaining('too old') },
    ]);
    expect(line.isDone()).toBe(true);
    line.spool.add([renderRecord(500)]);
    await line.deliver();
    expect(server.records()).toHaveLength(500);
    expect(server.violations).toEqual([]);
  });

  test('case 64: it says 429 with Retry-After more than ten times and for more than an hour: the sink waits, and nothing is dropped', async () => {
    await using server = await openLokiServer({ now: () => NOW_MS });
    await using line = openLoki(server.url);
    server.misbehave({ kind: 'rate-limit', retryAfter: '400' }, 12);
    line.spool.add(records(20));
    await line.deliver();
    await line.advance(12 * 400_000 - 1);
    expect(line.failures).toHaveLength(12);
    expect(line.failures.every(({ code, retryAfterMs }) => code === 'throttled' && retryAfterMs === 400_000)).toBe(
      true,
    );
    expect(server.records()).toEqual([]);
    await line.advance(1);
    expect(server.records()).toHaveLength(20);
    expect(line.deadLetters.deadLetters).toEqual([]);
    expect(line.isDone()).toBe(true);
  });
});

test('case 66: Elasticsearch answers 201, 409, 429 and 400 in one batch: only what met 429 is sent again, 409 counts as delivered, 400 is a dead letter', async () => {
  await using server = await openElasticsearchServer();
  await using line = openLine((common) => createTestSink('elasticsearch', { url: server.url }, common));
  line.spool.add(records(2));
  await line.deliver();
  line.spool.cursors.set('sink', 1);
  server.refuse('uid-0002', {
    status: 429,
    type: 'es_rejected_execution_exception',
    reason: 'queue is full',
    times: 1,
  });
  server.refuse('uid-0003', { status: 400, type: 'document_parsing_exception', reason: 'no such date' });
  line.spool.add([renderRecord(2), renderRecord(3), renderRecord(4)]);
  await line.deliver();
  await line.advance(MINUTE_MS);
  const sent = server.requests.map(({ body }) =>
    [...String(body).matchAll(/"_id":"(uid-\d+)"/g)].map(([, uid]) => uid),
  );
  expect(sent).toEqual([['uid-0000', 'uid-0001'], ['uid-0001', 'uid-0002', 'uid-0003', 'uid-0004'], ['uid-0002']]);
  expect(
    server
      .documents()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(['uid-0000', 'uid-0001', 'uid-0002', 'uid-0004']);
  expect(line.events).toContainEqual(expect.objectContaining({ type: 'records-delivered', records: 2, duplicates: 1 }));
  expect(line.deadLetters.deadLetters).toMatchObject([
    { uid: 'uid-0003', code: '400', reason: expect.stringContaining('no such date') },
  ]);
  expect(line.isDone()).toBe(true);
});

test('case 67: OTLP answers 200 and has rejected three: they are counted and reported, and nothing is sent again', async () => {
  await using server = await openOtlpServer();
  await using line = openLine((common) => createTestSink('otlp', { url: server.url }, common));
  server.misbehave({ kind: 'partial', rejected: 3, message: 'over quota' });
  line.spool.add(records(10));
  await line.deliver();
  expect(server.requests).toBe(1);
  expect([line.count('records-delivered'), line.count('records-rejected')]).toEqual([7, 3]);
  expect(line.events).toContainEqual({
    type: 'records-rejected',
    records: 3,
    reason: expect.stringContaining('over quota'),
  });
  expect(line.isDone()).toBe(true);
});

withPrograms(['nats-server'], test)(
  'case 68: NATS acknowledges a repeat as a duplicate: it counts as delivered',
  async () => {
    await using server = await openNatsServer();
    await server.addStream({ name: 'LOGS', subjects: ['logs.>'] });
    await using line = openLine((common) => createTestSink('nats', { servers: [server.url] }, common));
    line.spool.add(records(5));
    await line.deliver();
    // As after a crash between the acknowledgement and the moving of the cursor.
    line.spool.cursors.delete('sink');
    await line.deliver();
    expect((await server.read('LOGS')).map(({ id }) => id)).toEqual(uids(5));
    expect(line.events.filter(({ type }) => type === 'records-delivered')).toMatchObject([
      { records: 5, duplicates: 0 },
      { records: 5, duplicates: 5 },
    ]);
    expect(line.isDone()).toBe(true);
  },
);

test('case 69: a line that is older than the sink keeps is not sent, and is a dead letter that says so', async () => {
  await using server = await openLokiServer({ now: () => NOW_MS });
  await using line = openLine((common) =>
    createTestSink('loki', { url: server.url, layout: 'router', max_age: '7d' }, common),
  );
  const old = new Date(NOW_MS - 8 * 86_400_000).toISOString().replace('Z', '000000Z');
  line.spool.add([renderRecord(0, { timestamp: old })]);
  await line.deliver();
  expect(server.bodies).toEqual([]);
  expect(line.deadLetters.deadLetters).toMatchObject([{ uid: 'uid-0000', reason: expect.stringMatching(/older|old/) }]);
});

describe('HTTP', () => {
  const openHttp = (url: string) => openLine((common) => createTestSink('http', { url }, common));

  test('case 71: it says 413: the batch is halved down to the one record that is too large, which is a dead letter', async () => {
    await using server = await openHttpServer({ bodyBytesMax: 4000 });
    await using line = openHttp(server.url);
    // Above the limit of the receiver, whatever else is in the batch.
    const huge = renderRecord(5, { message: 'x'.repeat(5000) });
    line.spool.add(records(12).map((text, index) => (index === 5 ? huge : text)));
    await line.deliver();
    expect(server.records().map(({ uid }) => uid)).toEqual(uids(12).filter((uid) => uid !== 'uid-0005'));
    expect(line.deadLetters.deadLetters).toMatchObject([{ uid: 'uid-0005', code: '413' }]);
    expect(server.violations).toEqual([]);
    expect(line.isDone()).toBe(true);
  });

  test('case 73: it does not answer: after the time limit the same batch comes again, with the same bytes', async () => {
    await using server = await openHttpServer();
    await using line = openHttp(server.url);
    server.misbehave({ kind: 'hang' }, 2);
    line.spool.add(records(3));
    let arrival = server.nextArrival();
    const delivery = line.deliver();
    for (const backoffMs of [500, 1000]) {
      await arrival;
      await line.clock.advance(30_000);
      await line.deliver();
      arrival = server.nextArrival();
      await line.clock.advance(backoffMs);
    }
    await arrival;
    await Promise.all([delivery, line.deliver()]);
    expect(line.failures.map(({ code }) => code)).toEqual(['timeout', 'timeout']);
    const bodies = server.requests.map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
    expect(server.records()).toHaveLength(3);
    expect(server.violations).toEqual([]);
    expect(line.isDone()).toBe(true);
  });
});
