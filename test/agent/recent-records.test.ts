import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RecentRecords } from '../../src/agent/views/recent-records.ts';
import { parseRecord, spanOf, toTimelineMs, toTimelineTime } from '../../src/agent/views/record-times.ts';
import { StoreError } from '../../src/model/index.ts';
import type { EmbeddedStore } from '../../src/store/index.ts';
import type { LogLine, RecordQuery } from '../../src/web/index.ts';
import { commitOf, createStoreFolder } from '../support/store-folder.ts';

const BEGIN_MS = Date.UTC(2026, 10, 21);
const ALL: RecordQuery = { components: [], severities: [], search: '', limit: 100 };

const timeOf = (second: number) => new Date(BEGIN_MS + second * 1000).toISOString();

function lineOf(second: number, component: string, message: string, more: object = {}): string {
  const timestamp = timeOf(second).replace('Z', `${String(second).padStart(6, '0')}Z`);
  const uid = `${component}-${message.slice(0, 20)}`;
  return JSON.stringify({ timestamp, router: 'x', component, severity: 'info', message, uid, ...more });
}

function eventOf(component: string, event: string, details: object): string {
  const observed_timestamp = timeOf(100_000);
  return JSON.stringify({
    observed_timestamp,
    component,
    message: event,
    uid: `${component}-${event}`,
    event,
    details,
  });
}

async function openBench() {
  const folder = await createStoreFolder();
  const store = folder.open({ recent: { bytesMax: 16 * 1024 * 1024, spanOf } });
  const recent = new RecentRecords(store, (router) => router !== 'removed');
  return {
    recent,
    commit: (router: string, component: string, lines: readonly string[]) =>
      store.commit(commitOf(lines, 'p', component, router)),
    read: async (query: Partial<RecordQuery> = {}) => {
      const { records, ...rest } = await recent.read({ ...ALL, ...query });
      return { messages: records.map(({ message }) => message), records, ...rest };
    },
    async [Symbol.asyncDispose]() {
      store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Reads page by page until the end. */
async function readAll(recent: RecentRecords, query: RecordQuery): Promise<readonly LogLine[]> {
  const all: LogLine[] = [];
  let before: string | undefined;
  for (let pages = 0; pages < 1000; pages++) {
    const { records, next } = await recent.read({ ...query, before });
    all.push(...records);
    if (next === null) return all;
    before = next;
  }
  throw new RangeError('There are always older records');
}

test('RecentRecords puts the lines of all logs of a router in the order of their times, whatever the order of their commits', async () => {
  await using bench = await openBench();
  bench.commit('a', 'network', [lineOf(10, 'network', 'n10'), lineOf(30, 'network', 'n30')]);
  bench.commit('a', 'system', [lineOf(20, 'system', 's20'), lineOf(40, 'system', 's40')]);
  bench.commit('b', 'system', [lineOf(25, 'system', 'b25')]);
  bench.commit('removed', 'system', [lineOf(26, 'system', 'removed')]);
  // A log that is read later, with older lines.
  bench.commit('a', 'events', [lineOf(5, 'events', 'e5'), lineOf(35, 'events', 'e35')]);
  expect(await bench.read({ router: 'a' })).toMatchObject({
    messages: ['s40', 'e35', 'n30', 's20', 'n10', 'e5'],
    next: null,
    fault: null,
  });
  expect((await bench.read()).messages).toEqual(['s40', 'e35', 'n30', 'b25', 's20', 'n10', 'e5']);
});

test('RecentRecords shows a line that was read twice once, and lines of one second in the order of the log', async () => {
  await using bench = await openBench();
  const same = ['a', 'b', 'c'].map((message) => lineOf(7, 'network', message));
  bench.commit('a', 'network', same);
  bench.commit('a', 'network', same.slice(1));
  expect((await bench.read()).messages).toEqual(['c', 'b', 'a']);
});

test('RecentRecords.read() pages through everything of a router once, in one order, whatever the size of the pages', async () => {
  await using bench = await openBench();
  for (let batch = 0; batch < 12; batch++) {
    for (const router of ['a', 'b', 'c']) {
      // Batches overlap, and many lines share a second.
      const seconds = Array.from({ length: 5 }, (_, index) => batch * 3 + ((index * 7 + batch) % 11));
      const lines = seconds.map((second, index) => lineOf(second, 'network', `${router}-${batch}-${index}`));
      bench.commit(router, 'network', lines);
    }
  }
  const whole = await readAll(bench.recent, { ...ALL, router: 'b', limit: 10_000 });
  expect(whole).toHaveLength(60);
  expect(whole.map(({ time }) => time)).toEqual(whole.map(({ time }) => time).toSorted((a, b) => (a < b ? 1 : -1)));
  for (const limit of [1, 7, 59]) {
    expect(await readAll(bench.recent, { ...ALL, router: 'b', limit })).toEqual(whole);
  }
});

test('the newest lines of all routers are those that a whole list begins with, and lead to no older ones', async () => {
  await using bench = await openBench();
  const routers = Array.from({ length: 30 }, (_, index) => `r${String(index).padStart(2, '0')}`);
  for (const [index, router] of routers.entries()) {
    const seconds = Array.from({ length: 40 }, (_, line) => (line * (index + 3)) % 500).toSorted((a, b) => a - b);
    bench.commit(
      router,
      'network',
      seconds.map((second, line) => lineOf(second, 'network', `${router}-${line}`)),
    );
  }
  const whole = await bench.read({ limit: 10_000 });
  expect(whole.messages).toHaveLength(1200);
  const newest = await bench.read({ limit: 100 });
  expect([newest.messages, newest.next]).toEqual([whole.messages.slice(0, 100), null]);
});

test('RecentRecords selects by component, severity and words, and keeps gaps whatever the severity', async () => {
  await using bench = await openBench();
  bench.commit('a', 'network', [
    lineOf(1, 'network', 'Link eth0 DOWN', { severity: 'error', tag: 'wan' }),
    lineOf(2, 'network', 'link eth1 up'),
    lineOf(3, 'network', 'plain', { severity: undefined }),
    eventOf('network', 'log.gap', { time_from: timeOf(4), time_to: null }),
  ]);
  bench.commit('a', 'system', [lineOf(5, 'system', 'link')]);
  const read = async (query: Partial<RecordQuery>) => (await bench.read(query)).messages;
  expect(await read({ components: ['system'] })).toEqual(['link']);
  expect(await read({ severities: ['error'] })).toEqual(['log.gap', 'Link eth0 DOWN']);
  expect(await read({ severities: ['none'], components: ['network'] })).toEqual(['log.gap', 'plain']);
  expect(await read({ search: 'LINK down' })).toEqual(['Link eth0 DOWN']);
  expect(await read({ search: 'wan' })).toEqual(['Link eth0 DOWN']);
});

test('a gap stands between the last line before it and the first one after it', async () => {
  await using bench = await openBench();
  bench.commit('a', 'network', [
    lineOf(1, 'network', 'before'),
    eventOf('network', 'log.gap', { time_from: timeOf(1), time_to: null, bytes_min: 5, certainty: 'certain' }),
  ]);
  bench.commit('a', 'network', [
    eventOf('network', 'log.gap_end', { gap_uid: 'network-log.gap', time_to: timeOf(9) }),
    lineOf(9, 'network', 'after'),
  ]);
  bench.commit('a', 'system', [lineOf(5, 'system', 'meanwhile')]);
  const { messages, records } = await bench.read();
  expect(messages).toEqual(['after', 'log.gap_end', 'meanwhile', 'log.gap', 'before']);
  expect(records[1]?.gap).toMatchObject({ to: timeOf(9), gapUid: 'network-log.gap' });
  expect(records[3]?.gap).toMatchObject({ from: timeOf(1), to: null, bytesMin: 5, certainty: 'certain' });
});

test('a search that looks at too much stops, says how far it came, and the next one goes on there', async () => {
  const batches = Array.from({ length: 24 }, (_, index) => ({
    router: 'a',
    seq: 24 - index,
    component: 'network',
    firstMs: BEGIN_MS + 1000 * (23 - index),
    lastMs: BEGIN_MS + 1000 * (23 - index),
  }));
  const filler = 'x'.repeat(4 * 1024 * 1024);
  const recent = new RecentRecords(
    {
      listRecent: ({ lastMs }) => batches.filter((batch) => batch.lastMs < lastMs),
      readRecent: ({ seq, lastMs }) =>
        Buffer.from(
          JSON.stringify({
            timestamp: new Date(lastMs).toISOString(),
            message: seq === 1 ? 'needle' : filler,
            uid: `${seq}`,
          }),
        ),
    },
    () => true,
  );
  const query = { ...ALL, router: 'a', search: 'needle' };
  const first = await recent.read(query);
  expect([first.records, first.next === null]).toEqual([[], false]);
  expect(first.searchedTo).toMatch(/^2026-11-21T00:00:1[0-9]/);
  const found = await readAll(recent, query);
  expect(found.map(({ message }) => message)).toEqual(['needle']);
});

test('records without times, with strange ones or damaged ones keep the list in order', async () => {
  await using bench = await openBench();
  bench.commit('a', 'network', ['{}', '[', '"text"', '{"timestamp":"soon"}', '{"observed_timestamp":7}']);
  bench.commit('a', 'network', [lineOf(1, 'network', 'usual')]);
  expect((await bench.read()).messages[0]).toBe('usual');
  expect((await bench.read({ before: 'nonsense' })).messages[0]).toBe('usual');
  expect(toTimelineTime({ timestamp: '2026-11-21T12:00:00.5Z'.padEnd(4000, '9') })).toBe(
    '1970-01-01T00:00:00.000000000Z',
  );
});

test('a store that cannot be read is a fault of the page', async () => {
  const fail = () => {
    throw new StoreError('unwritable', 'The disk fails', { disposition: 'hold-back' });
  };
  const store: Pick<EmbeddedStore, 'listRecent' | 'readRecent'> = { listRecent: fail, readRecent: fail };
  expect(await new RecentRecords(store, () => true).read(ALL)).toMatchObject({ records: [], fault: 'The disk fails' });
});

test('spanOf() gives the earliest and the latest time of records in any order, with and without times', () => {
  const second = fc.integer({ min: 0, max: 200_000 });
  const record = fc.oneof(
    { weight: 5, arbitrary: second.map((at) => lineOf(at, 'network', `line ${at}`)) },
    second.map((at) => eventOf('network', 'log.gap', { time_from: timeOf(at) })),
    second.map((at) => JSON.stringify({ timestamp: timeOf(at) })),
    fc.constantFrom('', 'no record', '{"timestamp":"short"}', '{"timestamp":7}'),
  );
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (records) => {
      const times = records.map((line) => toTimelineMs(toTimelineTime(parseRecord(line))));
      const span = { firstMs: Math.min(...times), lastMs: Math.max(...times) };
      expect(spanOf(Buffer.from(records.join('\n')))).toEqual(span);
    }),
  );
});
