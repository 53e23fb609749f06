import { expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import type { LogRecord } from '../../../src/model/index.ts';
import { DeliveryError, OutgoingRecord } from '../../../src/sinks/index.ts';
import { createTestSink, type SinkChange } from '../../support/sinks/create-sink.ts';
import { openLokiServer } from '../../support/sinks/loki-server.ts';
import { openMisbehavingServer } from '../../support/sinks/misbehaving-server.ts';

const never = new AbortController().signal;
const NOW_MS = Date.UTC(2025, 9, 26, 1, 0, 31);
const clock = createSteppedClock(NOW_MS);
const now = () => NOW_MS;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const openSink = (url: string, options: SinkChange<'loki'> = {}) =>
  createTestSink('loki', { url, name: 'logs', layout: 'router' }, { clock, routers: () => 3, ...options });

function instant(ms: number, nanos = '000018231'): string {
  return `${new Date(ms).toISOString().slice(0, 19)}.${nanos}Z`;
}

function outgoing(fields: Partial<LogRecord> = {}): OutgoingRecord {
  const record: LogRecord = {
    timestamp: instant(NOW_MS - 33_000),
    observed_timestamp: new Date(NOW_MS).toISOString(),
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

/** A record of so many minutes before its download, in the live lane, each with a uid and a message of its own. */
function aged(index: number, beforeMs: number, fields: Partial<LogRecord> = {}): OutgoingRecord {
  const ms = NOW_MS - beforeMs;
  return outgoing({
    timestamp: instant(ms, String(index).padStart(9, '0')),
    observed_timestamp: new Date(ms).toISOString(),
    uid: `u${index}`,
    message: `line ${index}`,
    ...fields,
  });
}

async function catchError(promise: Promise<unknown>): Promise<DeliveryError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(thrown instanceof DeliveryError)) throw new TypeError(`No DeliveryError: ${String(thrown)}`);
  return thrown;
}

test('A sink of type loki pushes the message as the line and everything else as labels and structured metadata', async () => {
  await using server = await openLokiServer({ now, tenant: 'fleet' });
  await using sink = openSink(server.url, { tenant: 'fleet' });
  const report = await sink.deliver(
    [
      outgoing({
        tag: 'wan',
        severity: 'warning',
        labels: { site: 'munich', region: 'south', level: 'two', 'odd-name': 'x', empty: '' },
        flags: ['zone_assumed', 'lossy'],
        original: '/wE=',
      }),
      outgoing({ component: 'system', event: 'log.gap', details: { bytes: 5, to: null }, offset: 0 }),
    ],
    never,
  );
  expect(server.violations).toEqual([]);
  expect(server.records()).toEqual([
    {
      labels: { component: 'network', router: 'plant-7', service_name: 'router-exporter', site: 'munich' },
      ns: '1761440398000018231',
      line: 'wan1: connection check failed, retry 3',
      metadata: {
        uid: 'k7d2m4q2x4t5h7ca-00000e2f',
        level: 'warning',
        tag: 'wan',
        file: 'network/current',
        offset: '18231',
        flags: 'zone_assumed,lossy',
        observed_timestamp: '2025-10-26T01:00:31.000Z',
        region: 'south',
        label_level: 'two',
        odd_name: 'x',
        original: '/wE=',
      },
    },
    {
      labels: { component: 'system', router: 'plant-7', service_name: 'router-exporter' },
      ns: '1761440398000018231',
      line: 'wan1: connection check failed, retry 3',
      metadata: {
        uid: 'k7d2m4q2x4t5h7ca-00000e2f',
        file: 'network/current',
        offset: '0',
        event: 'log.gap',
        observed_timestamp: '2025-10-26T01:00:31.000Z',
        details_bytes: '5',
      },
    },
  ]);
  expect(report).toEqual({ bytes: expect.any(Number) });
  expect(report.bytes).toBeLessThan(server.bodies[0]?.length ?? 0);
});

test('A sink of type loki keeps the order of records within a stream, whatever their times', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  await sink.deliver(
    [3, 1, 2].flatMap((index) => [aged(index, index * MINUTE_MS), aged(index + 10, 0, { component: 'system' })]),
    never,
  );
  expect(server.records().map(({ line }) => line)).toEqual([
    'line 3',
    'line 1',
    'line 2',
    'line 13',
    'line 11',
    'line 12',
  ]);
});

test('A sink of type loki gives the same bytes for the same records, and a push that got lost leaves no doubles', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const late = aged(1, 2 * DAY_MS, { observed_timestamp: new Date(NOW_MS).toISOString() });
  const records = [outgoing(), late, aged(2, 0, { flags: ['late'] })];
  server.misbehave({ kind: 'cut' });
  expect(await catchError(sink.deliver(records, never))).toMatchObject({ code: 'unreachable', disposition: 'retry' });
  await sink.deliver(records, never);
  expect(server.bodies[1]).toBe(server.bodies[0]);
  expect(server.records()).toHaveLength(3);
  expect(server.duplicates).toBe(3);
});

test('A sink of type loki keeps two equal lines of one moment apart by their uids (case 42)', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  await sink.deliver([outgoing({ uid: 'a' }), outgoing({ uid: 'b' })], never);
  expect(server.records()).toHaveLength(2);
});

test('A sink of type loki gives equal lines without a time times of their own, also for a Loki that ignores metadata', async () => {
  await using server = await openLokiServer({ now, isMetadataIgnored: true });
  await using sink = openSink(server.url);
  const timeless = [18231, 18300].map((offset) => {
    const { timestamp: _, ...fields } = outgoing({ offset }).fields;
    return new OutgoingRecord(JSON.stringify(fields));
  });
  await sink.deliver(timeless, never);
  expect(server.records().map(({ ns }) => ns)).toEqual(['1761440431000018231', '1761440431000018300']);
});

test('A sink of type loki cuts a line between characters where Loki would refuse it, and says by how much', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const limit = 256 * 1024;
  await sink.deliver(
    [
      aged(1, 0, { message: 'x'.repeat(limit) }),
      aged(2, 0, { message: `${'x'.repeat(limit - 1)}€uro` }),
      aged(3, 0, { message: '😀'.repeat(limit / 4 + 1) }),
      aged(4, 0, { message: `half ${String.fromCharCode(0xd800)} pair` }),
    ],
    never,
  );
  expect(server.violations).toEqual([]);
  expect(server.records().map(({ line, metadata }) => [Buffer.byteLength(line), metadata['truncated_bytes']])).toEqual([
    [limit, undefined],
    [limit - 1, '6'],
    [limit, '4'],
    [13, undefined],
  ]);
  expect(server.records()[2]?.line.endsWith('😀')).toBe(true);
});

test('A sink of type loki leaves out metadata that Loki would not take, and says how much', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`label_${index}`, 'x']));
  await sink.deliver(
    [
      aged(1, 0, { labels: many }),
      aged(2, 0, { original: 'A'.repeat(64 * 1024) }),
      aged(3, 0, { labels: { big: 'ü'.repeat(40_000), small: 'x' } }),
    ],
    never,
  );
  const [first, second, third] = server.records().map(({ metadata }) => metadata);
  expect(Object.keys(first ?? {})).toHaveLength(128);
  expect(first).toMatchObject({ uid: 'u1', metadata_dropped: '77' });
  expect(second).toMatchObject({ uid: 'u2', metadata_dropped: '1' });
  expect(second).not.toHaveProperty('original');
  expect(third).toMatchObject({ small: 'x', metadata_dropped: '1' });
  expect(third).not.toHaveProperty('big');
});

test('A sink of type loki cuts a label where Loki would refuse the stream', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  await sink.deliver([outgoing({ component: `x${'ü'.repeat(2000)}` })], never);
  expect(server.records()[0]?.labels['component']).toBe(`x${'ü'.repeat(511)}`);
});

test('A sink of type loki puts late lines and lines from the future into streams of one router and day', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url, { layout: 'shard' });
  const observed = new Date(NOW_MS).toISOString();
  const at = (beforeMs: number, fields: Partial<LogRecord> = {}) =>
    outgoing({ timestamp: instant(NOW_MS - beforeMs), observed_timestamp: observed, ...fields });
  await sink.deliver(
    [
      at(50 * MINUTE_MS),
      at(-5 * MINUTE_MS),
      at(50 * MINUTE_MS + 1000),
      at(-5 * MINUTE_MS - 1000),
      ...(['late', 'out_of_order', 'backfill', 'recovered'] as const).map((flag) =>
        at(0, { flags: ['unsynced', flag] }),
      ),
      at(0, { flags: ['partial'] }),
      at(3 * DAY_MS, { labels: { site: 'munich' } }),
    ],
    never,
  );
  expect(server.violations).toEqual([]);
  const late = { component: 'network', lane: 'late', router: 'plant-7', service_name: 'router-exporter' };
  const day = '2025-10-26';
  const places = server.records().map(({ labels }) => labels);
  const live = places[0];
  expect(live).toEqual({
    component: 'network',
    service_name: 'router-exporter',
    shard: expect.stringMatching(/^\d+$/),
  });
  expect(places).toEqual([
    live,
    live,
    live,
    ...Array.from({ length: 5 }, () => ({ ...late, day })),
    { ...late, lane: 'ahead', day },
    { ...late, day: '2025-10-23', site: 'munich' },
  ]);
  // The router is in the labels or in the metadata, and never in both.
  expect(
    server.records().map(({ labels, metadata }) => [labels['router'], metadata['router']].filter(Boolean)),
  ).toEqual(places.map(() => ['plant-7']));
});

test('A sink of type loki delivers the spool of a day of outage without a line too far behind', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url, { layout: 'shard', shards: 1 });
  // Two routers of one bucket, downloaded every minute; the clock of one is ahead for a while, and the other one brings
  // lines of the last hours now and then.
  const records: OutgoingRecord[] = [];
  for (let minute = 0; minute < 1440; minute++) {
    const downloadMs = NOW_MS - DAY_MS + minute * MINUTE_MS;
    const observed_timestamp = new Date(downloadMs).toISOString();
    const aheadMs = minute > 300 && minute < 400 ? 3 * 60 * MINUTE_MS : 0;
    const behindMs = minute % 97 === 0 ? (minute % 5) * 60 * MINUTE_MS : (minute % 50) * MINUTE_MS;
    records.push(
      outgoing({ router: 'a', uid: `a${minute}`, observed_timestamp, timestamp: instant(downloadMs + aheadMs) }),
      outgoing({ router: 'b', uid: `b${minute}`, observed_timestamp, timestamp: instant(downloadMs - behindMs) }),
    );
  }
  for (let start = 0; start < records.length; start += 500) {
    expect(await sink.deliver(records.slice(start, start + 500), never)).toEqual({ bytes: expect.any(Number) });
  }
  expect(server.records()).toHaveLength(records.length);
});

test('A sink of type loki takes layout auto for router while the fleet fits half of the streams, and for shard ever after', async () => {
  await using server = await openLokiServer({ now });
  let routers = 250;
  await using sink = openSink(server.url, { layout: 'auto', routers: () => routers });
  await sink.deliver([aged(1, 0)], never);
  routers = 251;
  await sink.deliver([aged(2, 0)], never);
  routers = 3;
  await sink.deliver([aged(3, 0)], never);
  expect(server.records().map(({ labels, metadata }) => [labels['router'], metadata['router']])).toEqual([
    ['plant-7', undefined],
    [undefined, 'plant-7'],
    [undefined, 'plant-7'],
  ]);
});

test('A sink of type loki spreads routers over all shards, each always into the same', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url, { layout: 'shard', shards: 4 });
  const names = Array.from({ length: 60 }, (_, index) => `router-${index}`);
  const push = () =>
    sink.deliver(
      names.map((router, index) => aged(index, 0, { router })),
      never,
    );
  await push();
  const first = server.records().map(({ labels }) => labels['shard']);
  expect(new Set(first)).toEqual(new Set(['0', '1', '2', '3']));
  await push();
  expect(server.duplicates).toBe(60);
});

test('A sink of type loki knows what Loki is certain to refuse', async () => {
  const sink = openSink('http://127.0.0.1:1');
  const find = (beforeMs: number, options = {}) =>
    openSink('http://127.0.0.1:1', options).findRefusal?.(aged(1, beforeMs), NOW_MS);
  expect(find(7 * DAY_MS)).toBeUndefined();
  expect(find(7 * DAY_MS + 1000)).toEqual({
    reason: 'The line is from 2025-10-19T01:00:30.000000001Z, and Loki accepts none older than 1w (max_age)',
  });
  expect(find(365 * DAY_MS, { max_age: 0 })).toBeUndefined();
  expect(find(-10 * MINUTE_MS)).toBeUndefined();
  expect(find(-10 * MINUTE_MS - 1000)).toEqual({
    reason: 'The line is from 2025-10-26T01:10:32.000000001Z, and Loki accepts none more than 10m ahead',
  });
  const { timestamp: _, ...timeless } = aged(1, 8 * DAY_MS).fields;
  expect(sink.findRefusal?.(new OutgoingRecord(JSON.stringify(timeless)), NOW_MS)?.reason).toContain(
    'none older than 1w',
  );
  await sink.close();
});

test('A sink of type loki names the one line of 500 that Loki did not keep, and the 499 are there once (case 63)', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const records = Array.from({ length: 500 }, (_, index) => aged(index, index === 250 ? 2 * 60 * MINUTE_MS : 0));
  expect(await sink.deliver(records, never)).toEqual({
    bytes: expect.any(Number),
    refused: [
      {
        index: 250,
        code: '400',
        reason: expect.stringContaining('entry too far behind, entry timestamp is: 2025-10-25T23:00:31Z'),
      },
    ],
  });
  expect(server.records()).toHaveLength(499);
  await sink.deliver([aged(500, 0)], never);
  expect(server.records()).toHaveLength(500);
  expect(server.violations).toEqual([]);
});

test.each([false, true])(
  'A sink of type loki finds all of 30 lines too far behind although Loki names ten (sharding: %s)',
  async (isSharding) => {
    await using server = await openLokiServer({ now, isSharding });
    await using sink = openSink(server.url);
    const records = Array.from({ length: 60 }, (_, index) => aged(index, index % 2 ? (2 + index) * 60 * MINUTE_MS : 0));
    const { refused, refusedUnnamed } = await sink.deliver(records, never);
    expect(refused?.map(({ index }) => index)).toEqual(Array.from({ length: 30 }, (_, index) => 2 * index + 1));
    expect(refusedUnnamed).toBeUndefined();
  },
);

test('A sink of type loki warns when Loki speaks of one stream and may have dropped lines of others', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const behind = 2 * 60 * MINUTE_MS;
  const records = ['a', 'b', 'c'].flatMap((component, index) => [
    aged(index, 0, { component }),
    aged(index + 10, index === 2 ? 0 : behind, { component }),
  ]);
  const { refused, warning } = await sink.deliver(records, never);
  expect(refused?.map(({ index }) => index)).toEqual([3]);
  expect(warning).toBe('Loki dropped lines of one stream and did not report on the other 2');
});

test('A sink of type loki counts lines that Loki neither names nor identifies by its limit', async () => {
  await using server = await openLokiServer({ now });
  server.limits.namedMax = 1;
  await using sink = openSink(server.url);
  // The second one lies behind a limit that had risen after the only one that is named.
  const records = [
    aged(0, 180 * MINUTE_MS),
    aged(1, 250 * MINUTE_MS),
    aged(2, 100 * MINUTE_MS),
    aged(3, 170 * MINUTE_MS),
    aged(4, 0),
  ];
  const { refused, refusedUnnamed } = await sink.deliver(records, never);
  expect(refused?.map(({ index }) => index)).toEqual([1]);
  expect(refusedUnnamed).toEqual({ records: 1, reason: expect.stringContaining('entry too far behind') });
});

test('A sink of type loki finds what the distributor drops by what it says of one or of many', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url, { max_age: 0 });
  const records = [
    aged(0, 8 * DAY_MS),
    aged(1, 0),
    aged(2, 9 * DAY_MS, { component: 'system' }),
    aged(3, 9 * DAY_MS, { component: 'system' }),
    aged(4, -20 * MINUTE_MS),
    aged(5, 0, { message: 'x'.repeat(2000) }),
    aged(6, 0, { labels: { site: 'y'.repeat(300) } }),
    aged(7, 0, { labels: { region: 'z'.repeat(3000) } }),
    aged(8, 0, { labels: Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`l${index}`, 'x'])) }),
  ];
  server.limits.lineBytesMax = 1000;
  server.limits.metadataBytesMax = 2000;
  server.limits.metadataEntriesMax = 12;
  const { refused, refusedUnnamed } = await sink.deliver(records, never);
  expect(
    refused?.map(({ index, reason }) => [
      index,
      /too old|too new|Max entry size|metadata too large|too many/.exec(reason)?.[0],
    ]),
  ).toEqual([
    [0, 'too old'],
    [2, 'too old'],
    [3, 'too old'],
    [4, 'too new'],
    [5, 'Max entry size'],
    [7, 'metadata too large'],
    [8, 'too many'],
  ]);
  expect(refusedUnnamed).toBeUndefined();
  expect(server.records().map(({ line }) => line)).toEqual(['line 1', 'line 6']);
});

test('A sink of type loki finds the lines of a stream whose labels Loki does not take', async () => {
  await using server = await openLokiServer({ now, limits: { labelNamesMax: 2 } });
  await using sink = openSink(server.url);
  const { refused } = await sink.deliver(
    [0, 1, 2, 3].map((index) => aged(index, 0, index % 2 ? { labels: { site: 'a"b\\c\n\u0001ü' } } : {})),
    never,
  );
  expect(refused?.map(({ index }) => index)).toEqual([1, 3]);
  expect(refused?.[0]?.reason).toContain('has 3 label names; limit 2');
});

test('A sink of type loki throws refused when Loki kept nothing and names nothing, so that the batch is halved', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  for (const body of ['loghttp.PushRequest: parse error', '{"message":"not good"}', "couldn't parse labels: 1:3", '']) {
    server.misbehave({ kind: 'status', status: 400, body });
    expect(await catchError(sink.deliver([outgoing(), outgoing()], never))).toMatchObject({
      code: 'refused',
      disposition: 'dead-letter',
      answer: '400',
    });
  }
});

test('A sink of type loki reads the words of a gateway that wraps them in JSON', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const message = `entry with timestamp 2025-10-26 00:59:58.000018231 +0000 UTC ignored, reason: 'entry out of order',\nuser 'fake', total ignored: 1 out of 2 for stream: {component="network", router="plant-7", service_name="router-exporter"}`;
  server.misbehave({ kind: 'status', status: 400, body: JSON.stringify({ code: 400, status: 'error', message }) });
  const { refused } = await sink.deliver([aged(1, 0), outgoing()], never);
  expect(refused).toEqual([{ index: 1, code: '400', reason: 'entry out of order' }]);
});

test.each([
  ['includes structured metadata, but this feature is disallowed', 'allow_structured_metadata'],
  ['missing required labels env for user fake for stream {a="b"}', 'enforced_labels'],
])('A sink of type loki waits for the operator when Loki would refuse every record: %s', async (body, hint) => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'status', status: 400, body });
  const error = await catchError(sink.deliver([outgoing()], never));
  expect(error).toMatchObject({ code: 'failed', disposition: 'operator' });
  expect(error.hint).toContain(hint);
});

test('A sink of type loki repeats a push that met the limit of one stream, without doubles', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  const records = Array.from({ length: 10 }, (_, index) => aged(index, 0));
  server.misbehave({ kind: 'stream-rate-limit', kept: 4 });
  expect(await catchError(sink.deliver(records, never))).toMatchObject({ code: 'throttled', disposition: 'retry' });
  await sink.deliver(records, never);
  expect(server.records()).toHaveLength(10);
  expect(server.duplicates).toBe(4);
});

test('A sink of type loki passes on how long Loki wants to be left alone (case 64)', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'rate-limit', retryAfter: '7' });
  const error = await catchError(sink.deliver([outgoing()], never));
  expect(error).toMatchObject({ code: 'throttled', disposition: 'retry', retryAfterMs: 7000, answer: '429' });
  expect(error.message).toContain('Ingestion rate limit exceeded for user fake');
  expect(server.records()).toEqual([]);
});

test('A sink of type loki says what to do when Loki allows no more streams', async () => {
  await using server = await openLokiServer({ now, limits: { streamsMax: 1 } });
  await using sink = openSink(server.url);
  const error = await catchError(sink.deliver([outgoing(), outgoing({ component: 'system' })], never));
  expect(error).toMatchObject({ code: 'throttled', disposition: 'retry' });
  expect(error.hint).toContain('layout of this sink to shard');
});

test.each([
  ['blocked by an administrator (260)', { kind: 'blocked' }, 'throttled', 'retry', 300_000],
  ['silent about blocked lines (200)', { kind: 'status', status: 200 }, 'protocol_error', 'operator', undefined],
  ['a gateway with another status (202)', { kind: 'status', status: 202 }, 'protocol_error', 'operator', undefined],
  [
    'short of room in gRPC',
    {
      kind: 'status',
      status: 500,
      body: 'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)',
    },
    'too_large',
    'dead-letter',
    undefined,
  ],
  [
    'busy',
    { kind: 'status', status: 500, body: 'at least 2 live replicas required, could only find 1' },
    'failed',
    'retry',
    undefined,
  ],
  [
    'short of room',
    { kind: 'status', status: 413, body: 'request body too large' },
    'too_large',
    'dead-letter',
    undefined,
  ],
  ['elsewhere', { kind: 'status', status: 404 }, 'misconfigured', 'operator', undefined],
] as const)(
  'A sink of type loki takes nothing for kept when Loki is %s',
  async (_, misbehaviour, code, disposition, retryAfterMs) => {
    await using server = await openLokiServer({ now });
    await using sink = openSink(server.url);
    server.misbehave(misbehaviour);
    expect(await catchError(sink.deliver([outgoing()], never))).toMatchObject({ code, disposition, retryAfterMs });
  },
);

test('A sink of type loki takes the 200 of another receiver with the push API of Loki, and asks once what it is', async () => {
  await using server = await openLokiServer({ now, isLoki: false });
  await using sink = openSink(server.url);
  expect(await sink.deliver([outgoing()], never)).toMatchObject({ bytes: expect.any(Number) });
  await sink.deliver([outgoing({ message: 'another' })], never);
  expect(server.records()).toHaveLength(2);
  expect(server.paths).toEqual([
    '/loki/api/v1/push',
    '/loki/api/v1/status/buildinfo',
    '/loki/api/v1/push',
    '/loki/api/v1/push',
  ]);
  expect(server.violations).toEqual([]);
});

test('A sink of type loki does not take the 200 of a server that answers everything so', async () => {
  await using server = await openMisbehavingServer(() => ({ status: 200, body: '<html>' }));
  await using sink = openSink(server.url);
  for (let count = 0; count < 2; count++) {
    const error = await catchError(sink.deliver([outgoing()], never));
    expect(error).toMatchObject({ code: 'protocol_error', disposition: 'operator', hint: expect.any(String) });
  }
});

test('A sink of type loki asks for a tenant when Loki misses one', async () => {
  await using server = await openLokiServer({ now, tenant: 'fleet' });
  await using sink = openSink(server.url);
  expect(await catchError(sink.deliver([outgoing()], never))).toMatchObject({
    code: 'unauthorized',
    hint: 'Set tenant of this sink',
  });
});

test('A sink of type loki ends a delivery with the reason of its signal while Loki hangs', async () => {
  await using server = await openLokiServer({ now });
  await using sink = openSink(server.url);
  server.misbehave({ kind: 'hang' });
  const abort = new AbortController();
  const reason = new RangeError('time is over');
  const delivering = sink.deliver([outgoing()], abort.signal);
  await expect.poll(() => server.bodies.length).toBe(1);
  abort.abort(reason);
  await expect(delivering).rejects.toBe(reason);
});
