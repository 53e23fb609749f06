import { expect, test } from 'vitest';
import { createSteppedClock } from '../../../src/base/index.ts';
import type { LogRecord } from '../../../src/model/index.ts';
import { OutgoingRecord } from '../../../src/sinks/index.ts';
import { findLokiTime, toLokiEntry } from '../../../src/sinks/types/loki/push.ts';
import { createTestSink } from '../../support/sinks/create-sink.ts';
import { openLokiServer } from '../../support/sinks/loki-server.ts';

const never = new AbortController().signal;
const OBSERVED = '2025-10-26T01:00:31.412Z';
const OBSERVED_MS = Date.parse(OBSERVED);
const OBSERVED_NS = BigInt(OBSERVED_MS) * 1_000_000n;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MIB = 1024 ** 2;

function record(aheadMs: number, fields: Partial<LogRecord> = {}): LogRecord {
  const timestamp = new Date(OBSERVED_MS + aheadMs).toISOString().replace('Z', '018231Z');
  return {
    timestamp,
    observed_timestamp: OBSERVED,
    router: 'plant-7',
    component: 'network',
    message: 'wan1: connection check failed, retry 3',
    uid: 'k7d2m4q2x4t5h7ca-00000e2f',
    file: 'network/current',
    offset: 18231,
    flags: ['zone_assumed'],
    ...fields,
  };
}

const openSink = (url: string, nowMs = OBSERVED_MS) =>
  createTestSink('loki', { url, layout: 'router', max_age: '1d' }, { clock: createSteppedClock(nowMs) });

/** The first reading of a router at UTC+02:00 whose zone is not known: a line every ten seconds, most far ahead. */
function firstReading(count = 600): readonly LogRecord[] {
  return Array.from({ length: count }, (_, index) =>
    record(2 * HOUR_MS - (count - index) * 10_000, { uid: `u${index}`, message: 'the same', offset: index * 60 }),
  );
}

const outgoing = (fields: LogRecord) => new OutgoingRecord(JSON.stringify(fields));
const toEntry = (fields: LogRecord) => toLokiEntry(fields, { kind: 'router' });

function timeless(fields: Partial<LogRecord>): LogRecord {
  const { timestamp: _, ...rest } = record(0, fields);
  return rest;
}

test.each<[string, LogRecord, boolean]>([
  ['hours ahead', record(2 * HOUR_MS), true],
  ['ahead with other flags', record(HOUR_MS, { flags: ['lossy', 'zone_assumed', 'late'] }), true],
  ['a little more than five minutes ahead', record(5 * MINUTE_MS + 1), true],
  ['five minutes ahead', record(5 * MINUTE_MS), false],
  ['behind', record(-2 * HOUR_MS), false],
  ['hours ahead in a zone that is known', record(2 * HOUR_MS, { flags: ['unsynced'] }), false],
  ['no time', timeless({ offset: 5 }), false],
  ['no date', record(0, { timestamp: 'tomorrow' }), false],
  ['without flags', record(8 * HOUR_MS, { flags: [] }), false],
])('toLokiEntry() and findLokiTime() know a time that only an assumed zone explains: %s', (_, timed, isGuessed) => {
  expect(toEntry(timed).metadata['timestamp']).toBe(isGuessed ? timed.timestamp : undefined);
  expect(findLokiTime(timed)).toBe(isGuessed ? OBSERVED : (timed.timestamp ?? OBSERVED));
});

test('toLokiEntry() keeps the order of lines within the millisecond of their download, however long the file is', () => {
  const offsets = [0, 15, 16, 60, 999_990, MIB, 3 * MIB, 15 * MIB, 16_000_000, 100 * MIB, Number.MAX_SAFE_INTEGER];
  const nanos = offsets.map((offset) => BigInt(toEntry(record(HOUR_MS, { offset })).ns) - OBSERVED_NS);
  expect(nanos.slice(0, 7)).toEqual([0n, 0n, 1n, 3n, 62_499n, 65_536n, 196_608n]);
  expect(nanos).toEqual(nanos.toSorted((one, other) => Number(one - other)));
  expect(nanos.at(-1)).toBe(999_999n);
});

test('toLokiEntry() gives lines of 16 bytes and more times of their own in a file of 15 MiB', () => {
  const nanos = [0, MIB, 8 * MIB, 15 * MIB].flatMap((start) =>
    Array.from({ length: 50 }, (_, index) => toEntry(record(HOUR_MS, { offset: start + index * 16 })).ns),
  );
  expect(new Set(nanos).size).toBe(200);
});

test('toLokiEntry() leaves other times as they are', () => {
  const own = (aheadMs: number) => String(OBSERVED_NS + BigInt(aheadMs) * 1_000_000n + 18_231n);
  expect(toEntry(record(5 * MINUTE_MS)).ns).toBe(own(5 * MINUTE_MS));
  expect(toEntry(record(2 * HOUR_MS, { flags: [] })).ns).toBe(own(2 * HOUR_MS));
  expect(toEntry(timeless({ offset: MIB })).ns).toBe(String(OBSERVED_NS + 48_576n));
});

test('toLokiEntry() judges an assumed time by the download', () => {
  expect(toEntry(record(2 * HOUR_MS)).labels['lane']).toBeUndefined();
  expect(toEntry(record(2 * HOUR_MS, { flags: [] })).labels['lane']).toBe('ahead');
  expect(toEntry(record(-2 * HOUR_MS)).labels['lane']).toBe('late');
  // 23 hours ahead is the next day.
  const late = record(23 * HOUR_MS, { flags: ['zone_assumed', 'backfill'] });
  expect(toEntry(late).labels).toMatchObject({ lane: 'late', day: '2025-10-26' });
});

test('A sink of type loki makes no dead letter of a line whose zone was assumed', async () => {
  await using sink = openSink('http://127.0.0.1:1');
  const find = (fields: LogRecord, nowMs = OBSERVED_MS) => sink.findRefusal?.(outgoing(fields), nowMs)?.reason;
  for (const fields of firstReading()) expect(find(fields)).toBeUndefined();
  expect(find(record(2 * HOUR_MS, { flags: [] }))).toContain('more than 10m ahead');
  // Its age is that of the download too.
  expect(find(record(2 * HOUR_MS), OBSERVED_MS + 24 * HOUR_MS)).toBeUndefined();
  expect(find(record(2 * HOUR_MS), OBSERVED_MS + 25 * HOUR_MS)).toContain(`The line is from ${OBSERVED}`);
  expect(find(record(2 * HOUR_MS), OBSERVED_MS - HOUR_MS)).toContain('more than 10m ahead');
});

test.each([false, true])(
  'A sink of type loki brings the first lines of a router without a zone in order, once (metadata ignored: %s)',
  async (isMetadataIgnored) => {
    await using server = await openLokiServer({ now: () => OBSERVED_MS, isMetadataIgnored });
    await using sink = openSink(server.url);
    const records = firstReading();
    const batch = records.map(outgoing);
    expect(await sink.deliver(batch, never)).toEqual({ bytes: expect.any(Number) });
    const kept = server.records();
    expect(kept.map(({ metadata }) => metadata['uid'])).toEqual(records.map(({ uid }) => uid));
    expect(kept.map(({ metadata }) => metadata['timestamp'])).toEqual(records.map(({ timestamp }) => timestamp));
    const nanos = kept.map(({ ns }) => BigInt(ns));
    expect(nanos.every((ns, index) => index === 0 || ns > (nanos[index - 1] ?? 0n))).toBe(true);
    expect(nanos.every((ns) => ns >= OBSERVED_NS && ns < OBSERVED_NS + 1_000_000n)).toBe(true);
    expect(new Set(kept.map(({ labels }) => labels['lane']))).toEqual(new Set([undefined]));
    await sink.deliver(batch, never);
    expect(server.bodies[1]).toBe(server.bodies[0]);
    expect(server.duplicates).toBe(600);
    expect(server.violations).toEqual([]);
  },
);

test('A sink of type loki gives the same bytes for an assumed time when the agent sends it again a day later', async () => {
  await using server = await openLokiServer({ now: () => OBSERVED_MS });
  const batch = firstReading(3).map(outgoing);
  for (const nowMs of [OBSERVED_MS, OBSERVED_MS + 23 * HOUR_MS]) {
    await using sink = openSink(server.url, nowMs);
    await sink.deliver(batch, never);
  }
  expect(server.bodies[1]).toBe(server.bodies[0]);
  expect(server.duplicates).toBe(3);
});

test('A sink of type loki repeats the time of a line only if it is assumed, apart from a label of that name', async () => {
  await using server = await openLokiServer({ now: () => OBSERVED_MS });
  await using sink = openSink(server.url);
  const labels = { timestamp: 'label' };
  await sink.deliver([record(HOUR_MS, { labels }), record(0, { labels })].map(outgoing), never);
  expect(server.records().map(({ metadata }) => [metadata['timestamp'], metadata['label_timestamp']])).toEqual([
    ['2025-10-26T02:00:31.412018231Z', 'label'],
    [undefined, 'label'],
  ]);
});
