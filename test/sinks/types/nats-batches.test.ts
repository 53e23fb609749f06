import { readFileSync } from 'node:fs';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSystemClock, Secret } from '../../../src/base/index.ts';
import type { OutgoingRecord } from '../../../src/sinks/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openCuttableConnection } from '../../support/sinks/cut-connection.ts';
import { type NatsServer, openNatsServer } from '../../support/sinks/nats-server.ts';
import { sampleRecord, sampleRecords } from '../../support/sinks/sample-records.ts';
import { withPrograms } from '../../support/tools.ts';

const never = new AbortController().signal;
const fleet = { routers: 1, labelValues: {} };
const MODES = { atomic: { allow_atomic: true }, single: {} } as const;
type Mode = keyof typeof MODES;

/** The least permissions as docs/sinks.md lists them, for a stream LOGS below the subject "logs". */
const [LEAST = ''] = /^permissions: \{$.*?^\}$/ms.exec(readFileSync('docs/sinks.md', 'utf8')) ?? [];

/** Users of the server: with the least permissions, with those for any stream, without a look at streams, and the test itself. */
const CONFIG = `authorization { users: [
  { user: "least", password: "p", ${LEAST} },
  { user: "agent", password: "p", permissions: {
    publish: ["*.*.*.*", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*"], subscribe: ["_INBOX.>"] } },
  { user: "blind", password: "p", permissions: { publish: ["*.*.*.*"], subscribe: ["_INBOX.>"] } },
  { user: "kept-out", password: "p", permissions: { publish: { deny: ["*.*.*.secret"] } } },
  { user: "admin", password: "p" }
] }`;
const ADMIN = { user: 'admin', pass: 'p' };
const accountOf = (username: string) => ({ username, password: new Secret('p') });

function createSink(url: string, subject: string, options: SinkChange<'nats'> = {}) {
  const keys = { name: 'events', servers: [url], subject, batch: { records: 5000 } };
  const account = accountOf('agent');
  const sink = createTestSink('nats', keys, { ...account, clock: createSystemClock(), ...options });
  onTestFinished(() => sink.close());
  return sink;
}

/** Records of three logs, alternating. */
function recordsOfLogs(prefix: string, count: number, message?: string): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) =>
    sampleRecord(`${prefix}-${index}`, { component: `log${index % 3}`, ...(message && { message }) }),
  );
}

/** Ids as they should be stored, log by log. */
function byLog(ids: readonly { readonly log: string; readonly id: string }[]): Record<string, string[]> {
  const logs: Record<string, string[]> = {};
  for (const { log, id } of ids) {
    logs[log] ??= [];
    logs[log].push(id);
  }
  return logs;
}
const expected = (records: readonly OutgoingRecord[]) =>
  byLog(records.map(({ fields }) => ({ log: fields.component ?? '', id: fields.uid })));

withPrograms(['nats-server'], describe)('NatsSink and batches, with a real server', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await openNatsServer({ config: CONFIG, admin: ADMIN });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  let streams = 0;
  /** A stream of its own for each test: `subject` is its prefix. */
  async function addStream(mode: Mode, config: object = {}) {
    const subject = `s${++streams}`;
    const name = subject.toUpperCase();
    await server.addStream({ name, subjects: [`${subject}.>`], ...MODES[mode], ...config });
    const read = async () => {
      const messages = await server.read(name);
      return byLog(messages.map((message) => ({ log: message.subject.split('.').at(-1) ?? '', id: message.id })));
    };
    return { subject, name, read };
  }

  /** Until the stream has acknowledged once, a sink asks of each record whether it is a repeat. */
  async function createWarmSink(subject: string, options?: SinkChange<'nats'>) {
    const sink = createSink(server.url, subject, options);
    await sink.deliver([sampleRecord('warm', { component: 'warm' })], never);
    return sink;
  }

  /** The numbers of messages of all batches from now on. */
  async function watchResults() {
    const connection = await connect({ servers: [server.url], ...ADMIN });
    const results: unknown[] = [];
    connection.subscribe('_INBOX.>', {
      callback: (_error, message) => {
        if (message.string().includes('"batch"')) results.push(message.json<{ readonly count: unknown }>().count);
      },
    });
    await connection.flush();
    return {
      async read() {
        await connection.flush();
        return results;
      },
      [Symbol.asyncDispose]: () => connection.close(),
    };
  }

  /** Delivers as the worker does: again what was not accepted. Resolves with the number of failures. */
  async function deliverAll(sink: ReturnType<typeof createSink>, records: readonly OutgoingRecord[]): Promise<number> {
    let failures = 0;
    let left = records;
    while (left.length > 0) {
      try {
        const { retry } = await sink.deliver(left, never);
        left = retry?.indexes.flatMap((index) => left[index] ?? []) ?? [];
        if (retry) failures++;
      } catch (cause) {
        expect(cause).toMatchObject({ disposition: 'retry' });
        if (++failures > 100) throw cause;
      }
    }
    return failures;
  }

  test('atomic batches: stores a delivery once and in order, by batches, with the least permissions', async () => {
    const { subject, name, read } = await addStream('atomic');
    await using watch = await watchResults();
    const sink = await createWarmSink(subject);
    const records = recordsOfLogs('a', 1500);
    const report = await sink.deliver(records, never);
    const id = 'NATS/1.0\r\nNats-Msg-Id: \r\n\r\n'.length;
    expect(report).toMatchObject({ refused: [], retry: undefined, warning: undefined });
    expect(report.bytes).toBe(records.reduce((sum, { line, uid }) => sum + line.length + uid.length + id, 0));
    const { warm, ...stored } = await read();
    expect(warm).toEqual(['warm']);
    expect(stored).toEqual(expected(records));
    expect(await watch.read()).toEqual([1000, 500]);
    expect(new Set((await server.read(name)).map(({ batch }) => batch)).size).toBe(3);
  });

  test('atomic batches: counts repeats after a restart of the agent, and stores none', async () => {
    const { subject, read } = await addStream('atomic');
    const records = recordsOfLogs('a', 60);
    await (await createWarmSink(subject)).deliver(records.slice(0, 40), never);
    expect(await createSink(server.url, subject).deliver(records, never)).toMatchObject({ duplicates: 40 });
    // An unexpected repetition.
    const sink = await createWarmSink(subject);
    await sink.deliver(recordsOfLogs('b', 30), never);
    const { duplicates } = await sink.deliver([...records, ...recordsOfLogs('b', 40)], never);
    expect(duplicates).toBe(90);
    const { warm: _warm, ...stored } = await read();
    expect(stored).toEqual(expected([...records, ...recordsOfLogs('b', 40)]));
  });

  test.for(['up', 'down'] as const)(
    'atomic batches: loses, repeats and reorders nothing when the connection is cut, %s',
    async (direction) => {
      const { subject, read } = await addStream('atomic');
      await using line = await openCuttableConnection(server.port);
      const sink = createSink(`nats://127.0.0.1:${line.port}`, subject);
      // From one cut to the next: the first delivery is cut, the second one finds out how the stream takes batches.
      const points = { up: [900, 14_000, 24_000, 33_000], down: [30, 70, 90, 110] }[direction];
      const records = recordsOfLogs('a', 30 + points.length * 130);
      await deliverAll(sink, records.slice(0, 10));
      await deliverAll(sink, records.slice(10, 30));
      let failures = 0;
      for (const [index, bytes] of points.entries()) {
        const start = 30 + index * 130;
        line.cutAfter(direction, bytes);
        failures += await deliverAll(sink, records.slice(start, start + 110));
        await deliverAll(sink, records.slice(start + 110, start + 130));
      }
      expect(line.cuts).toBe(points.length);
      expect(failures).toBeGreaterThanOrEqual(points.length);
      await sink.close();
      expect(await read()).toEqual(expected(records));
    },
  );

  test('atomic batches: loses, repeats and reorders nothing when the server is killed in a batch', async () => {
    await using own = await openNatsServer();
    await own.addStream({ name: 'LOGS', subjects: ['logs.>'], ...MODES.atomic });
    await using line = await openCuttableConnection(own.port);
    const sink = createSink(`nats://127.0.0.1:${line.port}`, 'logs', { username: undefined, password: undefined });
    const records = recordsOfLogs('a', 2000);
    await sink.deliver(records.slice(0, 200), never);
    let restarted: Promise<void> | undefined;
    line.cutAfter('up', 120_000, () => {
      restarted = own.kill().then(() => own.start());
    });
    for (let start = 200; start < records.length; start += 600) {
      let left = records.slice(start, start + 600);
      while (left.length > 0) {
        const retry = await sink.deliver(left, never).then(
          (report) => report.retry?.indexes ?? [],
          () => left.keys().toArray(),
        );
        left = retry.flatMap((index) => left[index] ?? []);
        if (left.length > 0) await restarted;
      }
    }
    expect(restarted).toBeDefined();
    const messages = await own.read('LOGS');
    const stored = messages.map((message) => ({ log: message.subject.split('.').at(-1) ?? '', id: message.id }));
    expect(byLog(stored)).toEqual(expected(records));
  });

  test('atomic batches: a record that the stream refuses becomes a dead letter alone', async () => {
    const { subject, read } = await addStream('atomic', { max_msg_size: 2048 });
    const sink = await createWarmSink(subject);
    for (const [bad, place] of [
      [0, 'first'],
      [17, 'middle'],
      [29, 'last'],
    ] as const) {
      const records = recordsOfLogs(place, 30);
      records[bad] = sampleRecord(`${place}-bad`, { component: `log${bad % 3}`, message: 'x'.repeat(3000) });
      expect(await sink.deliver(records, never)).toMatchObject({
        refused: [{ index: bad, code: '10054', reason: expect.stringContaining('message size exceeds maximum') }],
        retry: undefined,
        // What was stored before it is not published again.
        duplicates: 0,
      });
      const others = expected(records.filter((_, index) => index !== bad));
      for (const [log, ids] of Object.entries(others)) expect((await read())[log]?.slice(-ids.length)).toEqual(ids);
    }
    // Larger than the server takes at all: known before it is sent.
    const records = [...recordsOfLogs('big', 5), sampleRecord('huge', { message: 'x'.repeat(1024 ** 2) })];
    expect(await sink.deliver(records, never)).toMatchObject({
      refused: [{ index: 5, code: 'max_payload' }],
      retry: undefined,
    });
    expect(Object.values(await read()).flat()).toHaveLength(1 + 3 * 29 + 5);
  });

  test('atomic batches: records of a subject that the account must not publish to are refused alone', async () => {
    const { subject, read } = await addStream('atomic');
    const sink = await createWarmSink(subject, accountOf('kept-out'));
    const secret = (uid: string) => sampleRecord(uid, { component: 'secret' });
    const records = [...recordsOfLogs('a', 10), secret('s1'), ...recordsOfLogs('b', 10)];
    expect(await sink.deliver(records, never)).toMatchObject({
      refused: [{ index: 10, reason: expect.stringMatching(/permissions violation/i) }],
      retry: undefined,
    });
    const { warm: _warm, ...stored } = await read();
    expect(stored).toEqual(expected(records.filter(({ uid }) => uid !== 's1')));
    const more = [...recordsOfLogs('c', 4), secret('s2'), ...recordsOfLogs('d', 4), secret('s3')];
    // Known by now, they end no batch.
    expect(await sink.deliver(more, never)).toMatchObject({
      refused: [{ index: 4 }, { index: 9 }],
      retry: undefined,
      duplicates: 0,
    });
    const { warm: _again, ...all } = await read();
    expect(all).toEqual(expected([...records, ...more].filter(({ uid }) => !/^s\d/.test(uid))));
  });

  test('atomic batches: a full stream holds back, and gets the rest in order once there is room', async () => {
    const { subject, name } = await addStream('atomic', { max_msgs: 21, discard: 'new' });
    const sink = await createWarmSink(subject);
    const records = sampleRecords('a', 50, { component: 'log0' });
    const report = await sink.deliver(records, never);
    expect(report).toMatchObject({
      retry: { indexes: records.keys().toArray().slice(20), reason: expect.stringMatching(/The stream is full/) },
    });
    await expect(sink.deliver(records.slice(20), never)).rejects.toMatchObject({
      code: 'throttled',
      disposition: 'hold-back',
      answer: '10077',
    });
    expect((await server.read(name)).slice(1).map(({ id }) => id)).toEqual(records.slice(0, 20).map(({ uid }) => uid));
    await server.updateStream(name, { max_msgs: 100 });
    expect(await sink.deliver(records.slice(20), never)).toMatchObject({ retry: undefined });
    expect((await server.read(name)).slice(1).map(({ id }) => id)).toEqual(records.map(({ uid }) => uid));
  });

  test.for(['single', 'atomic'] as const)(
    '%s: records of a full subject wait five minutes, and are then refused alone until there is room',
    async (mode) => {
      const perSubject = { discard: 'new' as const, discard_new_per_subject: true, max_msgs_per_subject: 5 };
      const { subject, name, read } = await addStream(mode, perSubject);
      let laterMs = 0;
      const system = createSystemClock();
      const clock = { ...system, monotonic: () => system.monotonic() + laterMs };
      const sink = await createWarmSink(subject, { clock });
      const noisy = sampleRecords('n', 8, { component: 'noisy' });
      const others = (prefix: string) => recordsOfLogs(prefix, 3);
      expect(await sink.deliver([...noisy, ...others('a')], never)).toMatchObject({
        refused: [],
        retry: {
          indexes: [5, 6, 7],
          reason: expect.stringMatching(/maximum messages per subject exceeded.*max_msgs_per_subject/),
        },
      });
      laterMs = 4 * 60_000;
      await expect(sink.deliver(noisy.slice(5), never)).rejects.toMatchObject({ disposition: 'hold-back' });
      laterMs = 6 * 60_000;
      const full = { code: 'max_msgs_per_subject' };
      expect(await sink.deliver([...noisy.slice(5, 7), ...others('b')], never)).toMatchObject({
        refused: [
          { index: 0, ...full },
          { index: 1, ...full },
        ],
        retry: undefined,
      });
      await server.updateStream(name, { ...perSubject, max_msgs_per_subject: 10 });
      expect(await sink.deliver([...noisy.slice(7), ...others('c')], never)).toMatchObject({
        refused: [],
        retry: undefined,
      });
      const { warm: _warm, ...stored } = await read();
      expect(stored).toEqual({
        noisy: ['n-0', 'n-1', 'n-2', 'n-3', 'n-4', 'n-7'],
        ...expected([...others('a'), ...others('b'), ...others('c')]),
      });
    },
  );

  test('continues when the stream no longer allows batches, and uses them again when it does', async () => {
    const { subject, name, read } = await addStream('atomic');
    const sink = await createWarmSink(subject);
    const parts = ['a', 'b', 'c', 'd'].map((prefix) => recordsOfLogs(prefix, 20));
    const [first = [], second = [], third = [], fourth = []] = parts;
    await sink.deliver(first, never);
    await server.updateStream(name, { allow_atomic: false });
    expect(await sink.deliver(second, never)).toMatchObject({ refused: [], retry: undefined });
    await sink.deliver(third, never);
    await server.updateStream(name, { allow_atomic: true });
    const other = await createWarmSink(subject);
    await other.deliver(fourth, never);
    const { warm: _warm, ...stored } = await read();
    expect(stored).toEqual(expected(parts.flat()));
    expect((await server.read(name)).filter(({ batch }) => batch !== '')).toHaveLength(40);
  });

  test('publishes one by one when the account must not look at streams, or when a stream stores only some subjects or allows fast ingest alone', async () => {
    const blind = await addStream('atomic');
    const fastIngest = await addStream('single', { allow_batched: true });
    const partly = await addStream('atomic', { subjects: ['partly.munich.>'] });
    for (const [{ name }, subject, user] of [
      [blind, blind.subject, 'blind'],
      [partly, 'partly', 'agent'],
      [fastIngest, fastIngest.subject, 'agent'],
    ] as const) {
      const sink = await createWarmSink(subject, accountOf(user));
      const records = sampleRecords('a', 20);
      expect(await sink.deliver(records, never)).toMatchObject({ retry: undefined });
      const stored = await server.read(name);
      expect(stored.slice(1).map(({ id, batch }) => `${id}${batch}`)).toEqual(records.map(({ uid }) => uid));
    }
  });

  test('the permissions that the documentation lists suffice for every way to publish, and for the preflight', async () => {
    await server.addStream({ name: 'LOGS', subjects: ['logs.>'] });
    await using watch = await watchResults();
    for (const [mode, config] of Object.entries({
      atomic: { allow_atomic: true },
      single: { allow_atomic: false },
    })) {
      await server.updateStream('LOGS', config);
      for (const stream of [undefined, 'LOGS']) {
        const sink = createSink(server.url, 'logs', { ...accountOf('least'), stream });
        const findings = await sink.preflight(fleet, never);
        expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
        for (const part of ['first', 'second']) {
          const records = recordsOfLogs(`${mode}-${stream}-${part}`, 10);
          expect(await sink.deliver(records, never)).toMatchObject({ refused: [], retry: undefined, duplicates: 0 });
        }
      }
    }
    expect(await watch.read()).toEqual([10, 10]);
  });

  test('several sinks publish to one stream at a time, each in order', async () => {
    const { subject, read } = await addStream('atomic');
    const sinks = await Promise.all(Array.from({ length: 5 }, () => createWarmSink(subject)));
    await using watch = await watchResults();
    const reports = await Promise.all(
      sinks.map((sink, index) => sink.deliver(sampleRecords(`s${index}`, 300, { component: `log${index}` }), never)),
    );
    expect(reports.map(({ retry }) => retry)).toEqual(sinks.map(() => undefined));
    expect(await watch.read()).toEqual(sinks.map(() => 300));
    const { warm: _warm, ...stored } = await read();
    expect(stored).toEqual(
      expected(sinks.flatMap((_, index) => sampleRecords(`s${index}`, 300, { component: `log${index}` }))),
    );
  });

  test.for([
    ['atomic', /atomic batches/, /^$/],
    ['single', /one record of each log at a time/, /allow_atomic/],
  ] as const)(
    'the preflight says that a stream takes records in the mode %s, and what would be faster',
    async ([mode, message, hint]) => {
      const { subject } = await addStream(mode);
      const findings = await createSink(server.url, subject).preflight(fleet, never);
      expect(findings.filter(({ verdict }) => verdict !== 'ok')).toEqual([]);
      const found = findings.find(({ step }) => step === 'publishing');
      expect(found?.message).toMatch(message);
      expect(found?.hint ?? '').toMatch(hint);
    },
  );
});
