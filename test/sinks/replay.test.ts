import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type DeliveryEvent, DeliveryWorker, type Sink } from '../../src/sinks/index.ts';
import { MemoryDeadLetters } from '../support/memory-spool.ts';
import { createTestSink, withoutWaits } from '../support/sinks/create-sink.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { type ArrivedRequest, openMisbehavingServer } from '../support/sinks/misbehaving-server.ts';
import { sampleRecords } from '../support/sinks/sample-records.ts';
import { openSyslogServer, type SyslogServer } from '../support/sinks/syslog-server.ts';
import { commitOf, createStoreFolder, NOW_MS } from '../support/store-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const REPLAY_MS = 16_000;
const never = new AbortController().signal;
const common = { name: 'a', batch: { records: 4, bytes: 1_000_000, wait: 0 } };

/** A sink at a spool on disk. The clock is the test's. */
async function openBench(create: (clock: ReturnType<typeof createSteppedClock>) => Sink, replayMs = REPLAY_MS) {
  const folder = await createStoreFolder();
  const clock = createSteppedClock(NOW_MS);
  const store = folder.open({ sinks: [{ name: 'a', start: 'oldest', replayMs }], now: () => clock.now() });
  const deadLetters = new MemoryDeadLetters();
  const events: DeliveryEvent[] = [];
  const open = () => {
    const sink = create(clock);
    const worker = new DeliveryWorker({
      sink,
      spool: store,
      deadLetters: deadLetters,
      clock,
      isWanted: () => true,
      report: (event) => void events.push(event),
    });
    return { sink, worker };
  };
  let running = open();
  onTestFinished(async () => {
    await running.sink.close();
    store.close();
    await folder[Symbol.asyncDispose]();
  });
  /** Steps until nothing is left; gives the codes of what stood in the way. */
  const drain = async () => {
    const faults: unknown[] = [];
    for (let step = 0; step < 1000; step++) {
      try {
        if ((await running.worker.step(never)) === 'idle') return faults;
      } catch (cause) {
        faults.push(cause instanceof Error && 'code' in cause ? cause.code : cause);
      }
    }
    throw new RangeError('The worker does not come to an end');
  };
  return {
    clock,
    store,
    deadLetters,
    events,
    drain,
    get sink() {
      return running.sink;
    },
    /** As a restart of the agent. */
    async restart() {
      await running.sink.close();
      running = open();
    },
    ship(name: string, count: number, change: object = {}) {
      store.commit(commitOf(sampleRecords(name, count, change).map(({ line }) => line)));
      return drain();
    },
    count: (type: DeliveryEvent['type']) =>
      events.reduce((sum, event) => sum + (event.type === type && 'records' in event ? event.records : 0), 0),
  };
}

/** A receiver with scripted answers. */
async function openReceiver(answerTo: (answer: ServerResponse, lines: number) => void) {
  const bodies: string[] = [];
  let connections = 0;
  const handle = async (request: IncomingMessage, answer: ServerResponse) => {
    const body = await text(request);
    bodies.push(body);
    answerTo(answer, body.trim().split('\n').length);
  };
  const server = createServer((request, answer) => void handle(request, answer));
  // Longer than the test: the header of the answer is the test's.
  server.keepAliveTimeout = 600_000;
  server.on('connection', () => connections++);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/ingest`,
    bodies,
    connections: () => connections,
    endIdle: () => server.closeIdleConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const http = (url: string, replayMs = REPLAY_MS) =>
  openBench((clock) => createTestSink('http', { ...common, url }, { clock, replay: replayMs }), replayMs);

describe('a sink over HTTP with replay', () => {
  const uids = (requests: readonly ArrivedRequest[]) =>
    requests.map(({ body }) => [...body.toString().matchAll(/"uid":"([^"]*)"/g)].map(([, uid]) => uid).join(' '));

  test('gets its last records again after an answer 5xx, before what is new; they are no new deliveries and no backlog', async () => {
    await using server = await openHttpServer();
    const bench = await http(server.url);
    await bench.ship('old', 1);
    await bench.clock.advance(20_000);
    await bench.ship('young', 2);
    server.misbehave({ kind: 'status', status: 500 });
    expect(await bench.ship('new', 2)).toEqual(['failed']);
    expect(uids(server.requests)).toEqual([
      'old-0',
      'young-0 young-1',
      'new-0 new-1',
      'young-0 young-1',
      'new-0 new-1',
    ]);
    expect([bench.count('records-delivered'), bench.count('records-repeated')]).toEqual([5, 2]);
    expect(bench.store.spooled.records).toBe(0);
  });

  test.for([
    ['vanish', 'unreachable'],
    ['take-and-vanish', 'unreachable'],
    ['garbage', 'protocol_error'],
  ] as const)('gets them again after the connection broke in the middle of a request: %s', async ([kind, code]) => {
    await using server = await openHttpServer();
    const bench = await http(server.url);
    await bench.ship('a', 2);
    server.misbehave({ kind });
    expect(await bench.ship('b', 1)).toEqual([code]);
    expect(bench.count('records-repeated')).toBe(2);
  });

  test.for([
    ['HTTP/1.1', (answer: ServerResponse) => answer.setHeader('connection', 'close')],
    [
      'HTTP/1.0',
      (answer: ServerResponse) => Object.assign(answer, { shouldKeepAlive: false, useChunkedEncodingByDefault: false }),
    ],
  ] as const)('does not get them again because each answer ends its connection: %s', async ([, prepare]) => {
    await using receiver = await openReceiver((answer, lines) => {
      prepare(answer);
      // As proxies do with what is too large for them.
      answer.writeHead(lines > 2 ? 413 : 204).end();
    });
    const bench = await http(receiver.url);
    expect(await bench.ship('old', 2)).toEqual([]);
    expect(await bench.ship('new', 4)).toEqual([]);
    expect(receiver.bodies.map((body) => body.trim().split('\n').length)).toEqual([2, 4, 2, 2]);
    expect([bench.count('records-delivered'), bench.count('records-repeated')]).toEqual([6, 0]);
  });

  test('keeps a connection for as long as the receiver does, whatever that announces, because its end is a finding', async () => {
    await using receiver = await openReceiver((answer) => answer.writeHead(204, { 'keep-alive': 'timeout=1' }).end());
    const bench = await http(receiver.url);
    expect(await bench.ship('a', 1)).toEqual([]);
    expect(await bench.ship('b', 1)).toEqual([]);
    expect(receiver.connections()).toBe(1);
    const ended = Promise.withResolvers<void>();
    if (bench.sink.connection) bench.sink.connection.onEnd = ended.resolve;
    receiver.endIdle();
    await ended.promise;
    expect(await bench.drain()).toEqual([]);
    expect(bench.count('records-repeated')).toBe(2);
  });

  test('gets them again after the connection ended while nothing was under way, and is woken for it', async () => {
    await using server = await openHttpServer();
    const bench = await http(server.url);
    await bench.ship('a', 2);
    const woken = Promise.withResolvers<void>();
    if (bench.sink.connection) bench.sink.connection.onEnd = woken.resolve;
    server.disconnect();
    await woken.promise;
    expect(await bench.drain()).toEqual([]);
    expect(uids(server.requests)).toEqual(['a-0 a-1', 'a-0 a-1']);
    // A receiver that ends idle connections does not get the same for ever.
    await bench.clock.advance(REPLAY_MS + 2000);
    const again = Promise.withResolvers<void>();
    if (bench.sink.connection) bench.sink.connection.onEnd = again.resolve;
    server.disconnect();
    await again.promise;
    await bench.drain();
    expect(server.requests).toHaveLength(2);
  });

  test('gets them again after a restart of the agent, which does not know what happened meanwhile', async () => {
    await using server = await openHttpServer();
    const bench = await http(server.url);
    await bench.ship('a', 6);
    await bench.clock.advance(3_600_000);
    await bench.restart();
    expect(await bench.drain()).toEqual([]);
    expect(uids(server.requests)).toEqual(['a-0 a-1 a-2 a-3', 'a-4 a-5', 'a-0 a-1 a-2 a-3', 'a-4 a-5']);
  });

  test('gets all of a batch again of which it had taken a part', async () => {
    const statuses = [413, 204, 500];
    await using server = await openMisbehavingServer(() => ({ status: statuses.shift() ?? 204 }));
    const bench = await http(server.url);
    expect(await bench.ship('a', 4)).toEqual(['failed']);
    expect(uids(server.requests)).toEqual(['a-0 a-1 a-2 a-3', 'a-0 a-1', 'a-2 a-3', 'a-0 a-1 a-2 a-3']);
  });

  test('makes no dead letter of a record that it refuses the second time', async () => {
    let poison = 'none';
    await using server = await openMisbehavingServer(({ body }) => ({ status: body.includes(poison) ? 400 : 204 }));
    const bench = await http(server.url);
    await bench.ship('a', 3);
    poison = 'a-1';
    await bench.restart();
    expect(await bench.ship('b', 1)).toEqual([]);
    expect(bench.deadLetters.deadLetters).toEqual([]);
    expect([bench.count('records-repeated'), bench.count('repeats-refused')]).toEqual([2, 1]);
    expect(bench.count('records-delivered')).toBe(4);
  });

  test('gets what is new in the end though it answers 503 again and again', async () => {
    let requests = 0;
    await using server = await openMisbehavingServer(() => ({ status: ++requests % 3 === 0 ? 503 : 204 }));
    const bench = await http(server.url);
    const faults = await bench.ship('a', 40);
    expect(faults.length).toBeGreaterThan(3);
    expect(bench.store.countWaiting('a')).toBe(0);
  });

  test('gets what it took again once its connection breaks, however often it answered 503 before', async () => {
    const answers = [204, 503, 204, 503, 204, 503, 204, 503, 'break', 204, 204] as const;
    let requests = 0;
    await using receiver = await openReceiver((answer) => {
      const next = answers[requests++] ?? 204;
      if (next === 'break') answer.destroy();
      else answer.writeHead(next).end();
    });
    const bench = await http(receiver.url);
    await bench.ship('a', 2);
    expect(await bench.ship('b', 1)).toEqual(['failed', 'failed', 'failed', 'failed', 'unreachable']);
    const sent = receiver.bodies.map((body) => (body.includes('"a-0"') ? 'a' : 'b')).join('');
    expect(sent).toBe('ababababbab');
  });

  test('gets what is new in the end though it does not answer again and again', async () => {
    let requests = 0;
    await using receiver = await openReceiver((answer) => {
      if (++requests % 3 > 0) answer.writeHead(204).end();
      else void bench.clock.advance(30_000);
    });
    const bench = await http(receiver.url, 600_000);
    const faults = await bench.ship('a', 40);
    expect(faults.length).toBeGreaterThan(3);
    expect(new Set(faults)).toEqual(new Set(['timeout']));
    expect(bench.store.countWaiting('a')).toBe(0);
    expect(receiver.bodies.length).toBeLessThan(100);
  });

  test('without replay nothing goes again', async () => {
    await using server = await openHttpServer();
    const bench = await http(server.url, 0);
    await bench.ship('a', 2);
    server.misbehave({ kind: 'status', status: 500 });
    await bench.ship('b', 1);
    await bench.restart();
    await bench.ship('c', 1);
    expect(uids(server.requests)).toEqual(['a-0 a-1', 'b-0', 'b-0', 'c-0']);
    expect(bench.sink.connection).toBeUndefined();
  });

  test.for(['elasticsearch', 'loki', 'otlp'] as const)('is watched when it is of type %s', (type) => {
    const url = 'http://127.0.0.1:1';
    const create = (replay: number) => createTestSink(type, { ...common, url }, { replay });
    expect(create(1).connection).toBeDefined();
    expect(create(0).connection).toBeUndefined();
  });
});

describe('a sink of type syslog with replay', () => {
  const syslog = (port: number, replayMs = REPLAY_MS) =>
    openBench((clock) => {
      const keys = { ...common, address: `127.0.0.1:${port}` };
      return createTestSink('syslog', keys, { clock: withoutWaits(clock), replay: replayMs });
    }, replayMs);
  /** uids as they arrived, those that are marked as replays with a star. */
  const arrivals = ({ messages }: SyslogServer) =>
    messages.map(({ data }) => `${data['record@0']?.['uid']}${data['record@0']?.['replayed'] ? '*' : ''}`);

  test.for(['end', 'reset'] as const)(
    'sends the last messages again, marked, after the collector ended the connection with %s',
    async (kind) => {
      await using server = await openSyslogServer({ protocol: 'tcp' });
      const bench = await syslog(server.port);
      await bench.ship('a', 2);
      await waitFor(() => expect(server.uids).toHaveLength(2));
      const woken = Promise.withResolvers<void>();
      if (bench.sink.connection) bench.sink.connection.onEnd = woken.resolve;
      server.disconnect(kind);
      await woken.promise;
      await bench.ship('b', 1);
      await waitFor(() => expect(arrivals(server)).toEqual(['a-0', 'a-1', 'a-0*', 'a-1*', 'b-0']));
      expect(bench.events).toContainEqual({
        type: 'sink-warned',
        message: expect.stringMatching(
          /^Sink a lost its connection to 127\.0\.0\.1:\d+: messages of the last 16s are sent again, earlier ones may be lost$/,
        ),
      });
      expect(server.violations).toEqual([]);
      expect(bench.events.filter(({ type }) => type === 'sink-warned')).toHaveLength(1);
    },
  );

  test('sends nothing again that it sent long before an orderly end, and the last messages however long before a reset', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    const bench = await syslog(server.port);
    const end = async (kind: 'end' | 'reset') => {
      const woken = Promise.withResolvers<void>();
      if (bench.sink.connection) bench.sink.connection.onEnd = woken.resolve;
      server.disconnect(kind);
      await woken.promise;
      await bench.drain();
    };
    await bench.ship('old', 1);
    await bench.clock.advance(10_000);
    await bench.ship('young', 1);
    await waitFor(() => expect(server.uids).toHaveLength(2));
    await bench.clock.advance(10_000);
    await end('end');
    await waitFor(() => expect(arrivals(server).slice(2)).toEqual(['young-0*']));
    await bench.clock.advance(3_600_000);
    await end('reset');
    await waitFor(() => expect(arrivals(server).slice(3)).toEqual(['old-0*', 'young-0*']));
  });

  test('sends nothing again when replay is 0', async () => {
    await using server = await openSyslogServer({ protocol: 'tcp' });
    const bench = await syslog(server.port, 0);
    await bench.ship('a', 1);
    await waitFor(() => expect(server.uids).toHaveLength(1));
    server.disconnect('end');
    await waitFor(async () => {
      await bench.ship('b', 1);
      expect(server.connections).toBe(2);
    });
    await waitFor(() => expect(server.uids).toContain('b-0'));
    expect(arrivals(server)).not.toContain('a-0*');
  });
});
