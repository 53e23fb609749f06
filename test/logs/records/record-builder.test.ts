import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Gap } from '../../../src/logs/position/gap.ts';
import {
  createFile as createFreshFile,
  createStreamState,
  type LogFile,
  type LogFileDraft,
  type StreamState,
} from '../../../src/logs/position/position.ts';
import { renderEvent } from '../../../src/logs/records/event-records.ts';
import { LineSplitter } from '../../../src/logs/records/line-splitter.ts';
import { type RecordBatch, RecordBuffer } from '../../../src/logs/records/record-batch.ts';
import { RecordBuilder, type RecordContext } from '../../../src/logs/records/record-builder.ts';
import { Zone } from '../../../src/logs/time/zone.ts';
import type { LogRecord } from '../../../src/model/index.ts';

const OBSERVED_MS = Date.UTC(2026, 10, 21, 12, 0, 0, 412);

function createFile(file: Partial<LogFile> = {}): LogFileDraft {
  return { ...createFreshFile('ab'.repeat(32), 0), ...file };
}

function createContext(context: Partial<RecordContext> = {}): RecordContext {
  return {
    router: { name: 'plant-7', labels: {} },
    component: 'network',
    zone: new Zone('UTC'),
    observedMs: OBSERVED_MS,
    file: 'network/current',
    flags: [],
    ...context,
  };
}

/** What lines that follow each other in one file become. */
function buildAll(
  lines: readonly (string | Buffer)[],
  context = createContext(),
  file = createFile(),
): RecordBatch & { readonly builder: RecordBuilder } {
  const builder = new RecordBuilder(context, file);
  const splitter = new LineSplitter(file.off);
  for (const line of lines) {
    splitter.push(Buffer.concat([Buffer.from(line), Buffer.from('\n')]), (raw) => builder.push(raw));
  }
  return { ...builder.take('open'), builder };
}

function renderAll(...args: Parameters<typeof buildAll>): LogRecord[] {
  return [...buildAll(...args).records].map((json) => JSON.parse(json) as LogRecord);
}

function render(line: string | Buffer, context?: RecordContext): LogRecord {
  const [record] = renderAll([line], context);
  if (!record) throw new TypeError('No record');
  return record;
}

test('RecordBuilder renders a line with the fields of the contract, in their order', () => {
  const context = createContext({
    router: { name: 'plant-7', labels: { site: 'munich' } },
    zone: new Zone('Europe/Berlin'),
    flags: ['late'],
  });
  const line = '2025-10-26 01:59:58 [wan] wan1: connection check failed, retry 3';
  const { records, unparsed } = buildAll([line], context, createFile({ off: 18_231 }));
  expect(unparsed).toBe(0);
  expect([...records][0]).toBe(
    '{"timestamp":"2025-10-25T23:59:58.500018231Z","observed_timestamp":"2026-11-21T12:00:00.412Z","router":"plant-7",' +
      '"component":"network","tag":"wan","message":"wan1: connection check failed, retry 3",' +
      '"uid":"jlcs53nw45cduak3-00000e2f","file":"network/current","offset":18231,"labels":{"site":"munich"},"flags":["late"]}',
  );
});

test.each([false, true])(
  'RecordBuilder renders each line once when every look brings one (lines are continued: %s)',
  (joins) => {
    const push = vi.spyOn(RecordBuffer.prototype, 'commit');
    const file = createFile();
    let stream: StreamState = { ...createStreamState(), joins };
    const records: string[] = [];
    for (let second = 10; second < 20; second++) {
      const line = `2026-11-21 09:36:${second} [wan] line`;
      const { builder, ...batch } = buildAll([line], createContext({ stream }), file);
      records.push(...batch.records);
      file.off += line.length + 1;
      stream = builder.stream;
    }
    expect(records).toHaveLength(joins ? 9 : 10);
    expect(push).toHaveBeenCalledTimes(records.length);
    push.mockRestore();
  },
);

test('RecordBuilder leaves out fields that it does not know', () => {
  const record = render('2026-11-21 09:36:49 [wan] x');
  expect(Object.keys(record)).toEqual([
    'timestamp',
    'observed_timestamp',
    'router',
    'component',
    'tag',
    'message',
    'uid',
    'file',
    'offset',
  ]);
});

test('RecordBuilder places lines of one second by their offset, and those of the first second half a second later', () => {
  const records = renderAll([
    '2026-11-21 09:36:49 [wan] first',
    '2026-11-21 09:36:49 [wan] same second',
    '2026-11-21 09:36:50 [wan] next second',
    '2026-11-21 09:36:50 [wan] the same',
  ]);
  expect(records.map(({ timestamp }) => timestamp?.slice(17))).toEqual([
    '49.500000000Z',
    '49.500000032Z',
    '50.000000070Z',
    '50.000000108Z',
  ]);
});

test('RecordBuilder places a line that has a fraction within its millisecond', () => {
  const records = renderAll(['2026-11-21 09:36:49.123 [wan] first', '2026-11-21 09:36:49.123 [wan] second']);
  expect(records.map(({ timestamp }) => timestamp)).toEqual([
    '2026-11-21T09:36:49.123000000Z',
    '2026-11-21T09:36:49.123000018Z',
  ]);
});

test('RecordBuilder gives the same timestamps when it goes on in the middle of a file', () => {
  const lines = [
    '2026-11-21 09:36:49 [wan] first',
    '2026-11-21 09:36:49 [wan] second',
    '2026-11-21 nine [wan] no time',
    '2026-11-21 09:36:50 [a] b',
  ];
  const whole = renderAll(lines);
  const file = createFile();
  const [first] = renderAll(lines.slice(0, 1), createContext(), file);
  // As it is after a restart: read back from text.
  const resumed = { ...(JSON.parse(JSON.stringify(file)) as LogFile), off: (lines[0]?.length ?? 0) + 1 };
  expect([first, ...renderAll(lines.slice(1), createContext(), resumed)]).toEqual(whole);
});

test('RecordBuilder gives a line that nothing can be made of the time of the line before it, and ships it whole', () => {
  const [, record] = renderAll(['2026-11-21 09:36:50 [wan] x', '2026-13-45 99:99:99 [wan] y']);
  expect(record).toMatchObject({ message: '2026-13-45 99:99:99 [wan] y', flags: ['unparsed'] });
  expect(record?.timestamp).toMatch(/^2026-11-21T09:36:50/);
  expect(record).not.toHaveProperty('tag');
});

test('RecordBuilder gives a line no timestamp when no time came before it', () => {
  expect(render('no time')).not.toHaveProperty('timestamp');
});

test('RecordBuilder gives timestamps that rise with the lines, with and without times and fractions', () => {
  const line = fc.record({
    stepMs: fc.constantFrom(0, 0, 1, 20, 999, 1000, 61_000),
    hasTime: fc.boolean(),
    message: fc.string({ unit: 'grapheme', maxLength: 20 }),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), fc.boolean(), fc.nat(999), (lines, hasFraction, startMs) => {
      // A fraction of nothing but zeroes looks like none to the next line.
      let nowMs = Date.UTC(2026, 10, 21, 9, 36, 49, hasFraction ? startMs : 0);
      const texts = lines.map(({ stepMs, hasTime, message }) => {
        nowMs += stepMs;
        if (hasFraction && nowMs % 1000 === 0) nowMs++;
        const iso = new Date(nowMs).toISOString();
        return hasTime
          ? `${iso.slice(0, 10)} ${iso.slice(11, hasFraction ? 23 : 19)} [t] ${message}`
          : `2026-11-21 ~${message}`;
      });
      const times = renderAll(texts).flatMap(({ timestamp }) => timestamp ?? []);
      expect(times).toEqual(times.toSorted());
      for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    }),
  );
});

test('RecordBuilder takes the second pass through an hour that comes twice from the line before', () => {
  const context = createContext({ zone: new Zone('Europe/Berlin') });
  const records = renderAll(
    ['2026-10-25 02:59:59 [a] x', '2026-10-25 02:00:00 [a] y', '2026-10-25 03:00:00 [a] z'],
    context,
  );
  expect(records.map(({ timestamp, flags }) => [timestamp?.slice(0, 19), flags])).toEqual([
    ['2026-10-25T00:59:59', ['fold']],
    ['2026-10-25T01:00:00', ['fold']],
    ['2026-10-25T02:00:00', undefined],
  ]);
});

test('RecordBuilder says that it took UTC for granted', () => {
  const record = render('2026-11-21 09:36:49 [wan] x', createContext({ zone: new Zone(undefined) }));
  expect(record.flags).toEqual(['zone_assumed']);
  expect(record.timestamp).toMatch(/^2026-11-21T09:36:49/);
});

test('RecordBuilder strips one carriage return and counts it in the offsets', () => {
  const records = renderAll(['2026-11-21 09:36:49 [wan] x\r', '2026-11-21 09:36:49 [wan] y\r\r']);
  expect(records.map(({ message, offset }) => [message, offset])).toEqual([
    ['x', 0],
    ['y\r', 29],
  ]);
  expect(records[0]).not.toHaveProperty('original');
});

test('RecordBuilder keeps valid UTF-8 as it is, a replacement character and a byte order mark of the router too', () => {
  const message = 'äöü ÄÖÜ ß € 🛰 \uFFFD \uFEFF "quoted" \\ \u0007';
  const record = render(`2026-11-21 09:36:49 [wan] ${message}`);
  expect(record.message).toBe(message);
  expect(record.flags).toBeUndefined();
  expect(record.original).toBeUndefined();
});

test('RecordBuilder keeps a byte order mark at the beginning of a line', () => {
  expect(render('\uFEFFno time')).toMatchObject({ message: '\uFEFFno time', flags: ['unparsed'] });
});

test.each([
  ['a lone byte', [0x41, 0xff, 0x42], ['lossy']],
  ['two scrambled letters (case 91)', [0xc3, 0x5f, 0x41, 0xe2, 0x5f, 0xac], ['lossy', 'device_scrambled']],
  ['a letter that was cut at the limit of the daemon (case 92)', [0x41, 0xe2, 0x82], ['lossy']],
])('case 36: RecordBuilder keeps the untouched bytes of %s next to a message that is valid', (_what, tail, flags) => {
  const bytes = Buffer.from(tail);
  const line = Buffer.concat([Buffer.from('2026-11-21 09:36:49 [wan] '), bytes]);
  const record = render(line);
  expect(record.flags).toEqual(flags);
  expect(record.message).toContain('\uFFFD');
  expect(record.message.isWellFormed()).toBe(true);
  expect(Buffer.from(record.original ?? '', 'base64')).toEqual(line);
});

test('RecordBuilder splits a line without a tag that quotes another one only where nothing of it stands before that', () => {
  const messagesOf = (text: string) => {
    const builder = new RecordBuilder(createContext(), createFile());
    new LineSplitter(0).push(Buffer.from(`${text}\n`), (raw) => builder.push(raw));
    return [...builder.take('closed').records].map((json) => (JSON.parse(json) as LogRecord).message);
  };
  const quoted = '2026-11-21 09:36:50 [wan] up';
  expect(messagesOf(`2026-11-21 09:36:49 said: ${quoted}`)).toEqual([`said: ${quoted}`]);
  expect(messagesOf(`2026-11-21 09:36:49 ${quoted}`)).toEqual(['', 'up']);
  expect(messagesOf(`2026-11-21 09:36:4${quoted}`)).toEqual(['2026-11-21 09:36:4', 'up']);
});

test('RecordBuilder leaves its priority to a line that follows half a line or the NUL bytes of a crash', () => {
  const partsOf = (text: string) => {
    const builder = new RecordBuilder(createContext(), createFile());
    new LineSplitter(0).push(Buffer.from(`${text}\n`), (raw) => builder.push(raw));
    const records = [...builder.take('closed').records].map((json) => JSON.parse(json) as LogRecord);
    return records.map(({ severity, message }) => [severity, message]);
  };
  const line = '<11>2026-11-21 09:36:50 [wan] down';
  expect(partsOf(`half a li${line}`)).toEqual([
    [undefined, 'half a li'],
    ['error', 'down'],
  ]);
  expect(partsOf(`\0\0\0${line}`).at(-1)).toEqual(['error', 'down']);
  expect(partsOf(`${line} <12>2026-11-21 09:36:51 [wan] quoted`)).toEqual([
    ['error', 'down <12>2026-11-21 09:36:51 [wan] quoted'],
  ]);
});

test('RecordBuilder keeps a line with the name of a host whole in its original', () => {
  const text = '<11>Nov 21 09:36:49 plant wan: down';
  const builder = new RecordBuilder(createContext(), createFile());
  new LineSplitter(0).push(Buffer.from(`${text}\n${text}\n`), (raw) => builder.push(raw));
  const records = [...builder.take('closed').records].map((json) => JSON.parse(json) as LogRecord);
  const original = Buffer.from(text).toString('base64');
  expect(records).toMatchObject([
    { tag: 'wan', severity: 'error', message: 'down', original },
    { tag: 'wan', severity: 'error', message: 'down', original },
  ]);
});

/** A router that never got to know the time writes on and on; the time for it must not grow with the square of the lines. */
test('RecordBuilder gets through 60,000 lines of a clock that was never set, and the last ones still get their times', {
  timeout: 20_000,
}, () => {
  const wall = (second: number) => new Date(second * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const lines = Array.from({ length: 60_000 }, (_, index) => `${wall(index)} [wan] unset ${index}`);
  const builder = new RecordBuilder(createContext(), createFile());
  const splitter = new LineSplitter(0);
  splitter.push(Buffer.from(`${lines.join('\n')}\n`), (raw) => builder.push(raw));
  const unset = [...builder.take('more').records].map((json) => JSON.parse(json) as LogRecord);
  const last = [`${wall(60_000)} [wan] unset`, `${wall(60_002)} [wan] unset`, '2026-11-21 09:36:49 [wan] set'];
  splitter.push(Buffer.from(`${last.join('\n')}\n`), (raw) => builder.push(raw));
  const records = [...builder.take('closed').records].map((json) => JSON.parse(json) as LogRecord);
  expect(unset).toHaveLength(60_000);
  expect(new Set(unset.map(({ timestamp }) => timestamp?.slice(0, 19)))).toEqual(new Set(['2026-11-21T12:00:00']));
  expect(
    records.filter(({ flags }) => flags?.includes('remapped')).map(({ timestamp }) => timestamp?.slice(11, 19)),
  ).toEqual(['09:36:47', '09:36:49']);
});

test('RecordBuilder renders one line of JSON for any bytes, and keeps them when they are no text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (tail, hasTime) => {
      const text = Buffer.from(tail.filter((byte) => byte !== 0x0a && byte !== 0));
      const bytes = Buffer.concat([Buffer.from(hasTime ? '2026-11-21 09:36:49 [wan] ' : '~'), text]);
      const { records } = buildAll([bytes], createContext(), createFile({ off: 5 }));
      expect(records).toHaveLength(1);
      const [json = '', ...others] = records;
      expect(others).toEqual([]);
      const record = JSON.parse(json) as LogRecord;
      expect(record.offset).toBe(5);
      const stripped = bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes;
      const isText = Buffer.from(stripped.toString('utf8')).equals(stripped);
      if (isText) expect(record.original).toBeUndefined();
      else expect(Buffer.from(record.original ?? '', 'base64')).toEqual(stripped);
    }),
  );
});

const renderGap = (context: Parameters<typeof renderEvent>[0], gap: Gap) => renderEvent(context, { type: 'gap', gap });
const CONTEXT = createContext();
const GAP: Gap = {
  certainty: 'certain',
  reason: 'expired',
  from: { uid: 'jlcs53nw45cduak3-0000007i', utcMs: Date.UTC(2026, 10, 21, 9) },
  file: 'network/log-2026-11-21-08:35:58',
  offset: 300,
};

test('renderEvent() says of a gap what is missing, since when and after which line', () => {
  const record = JSON.parse(renderGap({ ...CONTEXT, router: { name: 'plant-7', labels: { site: 'munich' } } }, GAP));
  expect(record).toMatchObject({
    router: 'plant-7',
    component: 'network',
    file: 'network/log-2026-11-21-08:35:58',
    event: 'log.gap',
    offset: 300,
    labels: { site: 'munich' },
    details: {
      certainty: 'certain',
      reason: 'expired',
      from_uid: 'jlcs53nw45cduak3-0000007i',
      time_from: '2026-11-21T09:00:00.000Z',
      to_uid: null,
      lines: null,
    },
  });
  expect(record.uid).toMatch(/^[a-z2-7]{16}-0000008c$/);
});

test('renderEvent() gives a gap the same uid in every telling, and other gaps others', () => {
  const uids = [
    GAP,
    { ...GAP, offset: 6 },
    { ...GAP, from: { uid: 'other', utcMs: undefined } },
    { ...GAP, reason: 'damaged' as const },
    { ...GAP, file: 'network/current' },
    { ...GAP, from: undefined },
    { ...GAP, damage: { block: 2, startBit: 80, endBit: 90 } },
  ].map((gap) => uidOf(renderGap(CONTEXT, gap)));
  expect(new Set(uids).size).toBe(uids.length);
  expect(uidOf(renderGap({ ...CONTEXT, observedMs: OBSERVED_MS + 5 }, GAP))).toBe(uids[0]);
});

function uidOf(json: string): string {
  return (JSON.parse(json) as LogRecord).uid;
}
