import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecordMatcher, createTextFilter } from '../../src/agent/views/record-filter.ts';
import { parseRecord, spanOf, toTimelineMs, toTimelineTime } from '../../src/agent/views/record-times.ts';
import { Timeline, toLogLine } from '../../src/agent/views/timeline.ts';
import type { EmbeddedStore } from '../../src/store/index.ts';
import { StoreError } from '../../src/store/index.ts';
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

async function openBench(searchedBytesMax?: number) {
  const folder = await createStoreFolder();
  const store = folder.open({ recent: { bytesMax: 16 * 1024 * 1024, spanOf } });
  const timeline = new Timeline(store, (router) => router !== 'removed', searchedBytesMax);
  return {
    store,
    timeline,
    commit: (router: string, component: string, lines: readonly string[]) =>
      store.commit(commitOf(lines, 'p', component, router)),
    read: async (query: Partial<RecordQuery> = {}) => {
      const { records, ...rest } = await timeline.read({ ...ALL, ...query });
      return { messages: records.map(({ message }) => message), records, ...rest };
    },
    async [Symbol.asyncDispose]() {
      store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Reads page by page until the end. */
async function readAll(timeline: Timeline, query: RecordQuery): Promise<readonly LogLine[]> {
  const all: LogLine[] = [];
  let before: string | undefined;
  for (let pages = 0; pages < 1000; pages++) {
    const { records, next } = await timeline.read({ ...query, before });
    all.push(...records);
    if (next === null) return all;
    before = next;
  }
  throw new RangeError('There are always older records');
}

test('Timeline puts the lines of all logs of a router in the order of their times, whatever the order of their commits', async () => {
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

test('Timeline shows a line that was read twice once, and lines of one second in the order of the log', async () => {
  await using bench = await openBench();
  const same = ['a', 'b', 'c'].map((message) => lineOf(7, 'network', message));
  bench.commit('a', 'network', same);
  bench.commit('a', 'network', same.slice(1));
  expect((await bench.read()).messages).toEqual(['c', 'b', 'a']);
});

test('Timeline.read() pages through everything once, in one order, whatever the size of the pages', async () => {
  await using bench = await openBench();
  for (let batch = 0; batch < 12; batch++) {
    for (const router of ['a', 'b', 'c']) {
      // Batches overlap, and many lines share a second.
      const seconds = Array.from({ length: 5 }, (_, index) => batch * 3 + ((index * 7 + batch) % 11));
      const lines = seconds.map((second, index) => lineOf(second, 'network', `${router}-${batch}-${index}`));
      bench.commit(router, 'network', lines);
    }
  }
  const whole = await readAll(bench.timeline, { ...ALL, limit: 10_000 });
  expect(whole).toHaveLength(180);
  expect(whole.map(({ time }) => time)).toEqual(whole.map(({ time }) => time).toSorted((a, b) => (a < b ? 1 : -1)));
  for (const limit of [7, 100]) expect(await readAll(bench.timeline, { ...ALL, limit })).toEqual(whole);
  const own = await readAll(bench.timeline, { ...ALL, router: 'b', limit: 13 });
  expect(own).toEqual(whole.filter(({ router }) => router === 'b'));
});

test('Timeline selects by component, severity and words, and keeps gaps whatever the severity', async () => {
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

test('createTextFilter() leaves out no text with a record that the query wants, whatever stands in it', () => {
  const texts = ['link', 'LINK down', 'ß', 'İ', '\u212a', 'a"b', 'a\\b', '\n', '\u0001', '😀', '\ud800', 'wan', ''];
  const text = fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'binary', maxLength: 6 }));
  const record = fc.record(
    {
      component: text,
      tag: text,
      severity: fc.constantFrom('error', 'info'),
      message: text,
      event: fc.constantFrom('log.gap', 'log.gap_end', 'log.reset'),
      details: fc.record({ time_from: text }),
    },
    { requiredKeys: ['component', 'message'] },
  );
  const query = fc.record({
    components: fc.array(text, { maxLength: 2 }),
    severities: fc.array(fc.constantFrom('error', 'info', 'none'), { maxLength: 2 }),
    search: fc.array(text, { maxLength: 2 }).map((words) => words.join(' ')),
  });
  let wanted = 0;
  fc.assert(
    fc.property(fc.array(record, { maxLength: 3 }), query, text, (records, selection, router) => {
      const lines = records.map((one) => JSON.stringify(one));
      const [isWanted, mayBeWanted] = [createRecordMatcher(selection), createTextFilter(selection)];
      for (const line of lines.filter((one) => isWanted(toLogLine(one, router)))) {
        wanted++;
        expect([line, mayBeWanted(line, router), mayBeWanted(lines.join('\n'), router)]).toEqual([line, true, true]);
      }
    }),
    { numRuns: 300 },
  );
  expect(wanted).toBeGreaterThan(40);
  const filter = createTextFilter({ components: ['network'], severities: ['error'], search: 'down' });
  const line = lineOf(1, 'network', 'Link DOWN', { severity: 'error' });
  const others = ['"network"', '"error"', 'DOWN'].map((part) => line.replaceAll(part, '"other"'));
  expect([line, ...others].map((one) => filter(one, 'x'))).toEqual([true, false, false, false]);
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

test('a search that looks at too much stops, and the next one goes on where it stopped', async () => {
  await using bench = await openBench(1024 * 1024);
  const filler = 'x'.repeat(6000);
  for (let batch = 0; batch < 34; batch++) {
    const lines = Array.from({ length: 10 }, (_, index) =>
      lineOf(batch * 10 + index, 'network', `${batch} ${index} ${filler}`),
    );
    bench.commit('a', 'network', batch === 0 ? [lineOf(0, 'network', 'needle'), ...lines] : lines);
  }
  const first = await bench.read({ search: 'needle' });
  expect([first.messages, first.next === null]).toEqual([[], false]);
  expect(first.searchedTo).toMatch(/^2026-11-21T00:02/);
  const found = await readAll(bench.timeline, { ...ALL, search: 'needle' });
  expect(found.map(({ message }) => message)).toEqual(['needle']);
});

test('a search through many routers that wrote all the time goes on from page to page until its end', async () => {
  const routers = Array.from({ length: 24 }, (_, index) => `router-${index}`);
  const batches = routers.map((router, index) => ({
    router,
    seq: 1,
    firstMs: BEGIN_MS,
    lastMs: BEGIN_MS + 9000 - index,
  }));
  const toLine = (atMs: number, component: string, message: string) =>
    JSON.stringify({ timestamp: new Date(atMs).toISOString(), component, message, uid: component });
  const filler = 'x'.repeat(64 * 1024);
  let reads = 0;
  const timeline = new Timeline(
    {
      listRecent: ({ lastMs }) => (lastMs > BEGIN_MS + 9000 ? batches : []),
      readRecent: ({ router }) => {
        reads++;
        const { firstMs = 0, lastMs = 0 } = batches.find((batch) => batch.router === router) ?? {};
        return Buffer.from(`${toLine(firstMs, 'first', 'needle')}\n${toLine(lastMs, 'last', filler)}\n`);
      },
    },
    () => true,
    256 * 1024,
  );
  const first = await timeline.read({ ...ALL, search: 'needle' });
  expect([first.records, first.next === null]).toEqual([[], false]);
  reads = 0;
  const found = await readAll(timeline, { ...ALL, search: 'needle' });
  // A page goes on for as long as it passed over what others had seen: few pages pass over the same again.
  expect(reads).toBeLessThan(2.5 * routers.length);
  expect(found.map(({ router }) => router).toSorted()).toEqual(routers.toSorted());
});

test('of more lines than a query may hold, the newest before a moment are shown', async () => {
  // Each router has lines before the moment, and one after it.
  const batches = Array.from({ length: 23 }, (_, index) => ({
    router: `router-${index}`,
    seq: 1,
    firstMs: BEGIN_MS,
    lastMs: BEGIN_MS + 9000 - index,
  }));
  const toLine = (atMs: number) =>
    JSON.stringify({ timestamp: new Date(atMs).toISOString(), component: 'network', message: '', uid: String(atMs) });
  const timeline = new Timeline(
    {
      listRecent: ({ lastMs }) => (lastMs > BEGIN_MS + 9000 ? batches : []),
      readRecent: () =>
        Buffer.from(
          `${Array.from({ length: 1000 }, (_, ms) => toLine(BEGIN_MS + ms)).join('\n')}\n${toLine(BEGIN_MS + 8000)}\n`,
        ),
    },
    () => true,
  );
  const { records } = await timeline.read({ ...ALL, limit: 46, before: '2026-11-21T00:00:01.000000000Z_0_' });
  expect(new Set(records.map(({ uid }) => Number(uid) - BEGIN_MS))).toEqual(new Set([999, 998]));
  expect(new Set(records.map(({ router }) => router)).size).toBe(23);
});

test('records without times, with strange ones or damaged ones keep the timeline in order', async () => {
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
  expect(await new Timeline(store, () => true).read(ALL)).toMatchObject({ records: [], fault: 'The disk fails' });
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
