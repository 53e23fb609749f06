import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLine as parse, parseRepeatNotice } from '../../../src/logs/records/parse-line.ts';
import { learnDateOrder } from '../../../src/logs/time/stamp.ts';

const CONTEXT = { order: 'dmy', lineBeforeMs: undefined, endMs: Date.UTC(2026, 10, 21) } as const;
const parseLine = (text: string) => parse(text, CONTEXT);
const AT = Date.UTC(2026, 10, 21, 9, 36, 49);

test.each([
  ['2026-11-21 09:36:49 [wan] connection up', AT, 'wan', 'connection up'],
  ['21.11.2026 09:36:49 [wan] connection up', AT, 'wan', 'connection up'],
  ['2026/11/21 09:36:49 [wan] x', AT, 'wan', 'x'],
  ['21/11/2026 09:36:49 [wan] x', AT, 'wan', 'x'],
  ['Nov 21 09:36:49 [wan] x', AT, 'wan', 'x'],
  ['2026-11-21T09:36:49 [wan] x', AT, 'wan', 'x'],
  ['2026-11-21 09:36:49.5 [wan] x', AT + 500, 'wan', 'x'],
  ['2026-11-21 09:36:49,123456789 [wan] x', AT + 123, 'wan', 'x'],
  ['2026-11-21 09:36:49 [] x', AT, '', 'x'],
  ['2026-11-21 09:36:49 [wan]', AT, 'wan', ''],
  ['2026-11-21 09:36:49 [wan]x', AT, 'wan', 'x'],
  ['2026-11-21 09:36:49 [wan]  two blanks', AT, 'wan', ' two blanks'],
  ['2026-11-21 09:36:49 [dnsmasq 2.9] [eth0] [x', AT, 'dnsmasq 2.9', '[eth0] [x'],
  ['2026-11-21 09:36:49 [wan] quoted: 2020-01-01 00:00:00 [a] b', AT, 'wan', 'quoted: 2020-01-01 00:00:00 [a] b'],
  ['2026-11-21 09:36:49 [wan] two\nlines', AT, 'wan', 'two\nlines'],
  ['2024-02-29 00:00:00 [wan] leap day', Date.UTC(2024, 1, 29), 'wan', 'leap day'],
  ['1970-01-01 00:00:07 [wan] no battery', 7000, 'wan', 'no battery'],
])('parseLine() takes %j apart', (text, asUtcMs, tag, message) => {
  const { time, ...rest } = parseLine(text);
  expect(time?.asUtcMs).toBe(asUtcMs);
  expect(rest).toEqual({ tag, severity: undefined, message });
});

const HOUR = 3_600_000;

test.each([
  ['2026-11-21 09:36:49Z [wan] x', { time: { asUtcMs: AT, offsetMs: 0 }, tag: 'wan', message: 'x' }],
  ['2026-11-21T09:36:49+02:00 [wan] x', { time: { asUtcMs: AT, offsetMs: 2 * HOUR }, tag: 'wan', message: 'x' }],
  ['2026-11-21 09:36:49 -0330 [wan] x', { time: { offsetMs: -3.5 * HOUR }, tag: 'wan', message: 'x' }],
  ['2026-11-21T09:36:49.250Z up', { time: { asUtcMs: AT + 250, offsetMs: 0 }, tag: undefined, message: 'up' }],
  ['2026-11-21 09:36:49 -1234 x', { time: { asUtcMs: AT, offsetMs: undefined }, message: '-1234 x' }],
  ['2026-11-21 09:36:49', { time: { asUtcMs: AT }, tag: undefined, message: '' }],
  ['2026-11-21 09:36:49 wan: no brackets', { time: { asUtcMs: AT }, tag: undefined, message: 'wan: no brackets' }],
  ['2026-11-21 09:36:49 [wan', { time: { asUtcMs: AT }, tag: undefined, message: '[wan' }],
  ['2026-11-21  09:36:49  [wan] x', { time: { asUtcMs: AT }, tag: 'wan', message: 'x' }],
  ['2026-11-21\t09:36:49\t[wan]\tx', { time: { asUtcMs: AT }, tag: 'wan', message: '\tx' }],
  ['2026-11-21\t09:36:49\twan\tx', { time: { asUtcMs: AT }, tag: undefined, message: 'wan\tx' }],
  ['21.11.26 09:36:49 [wan] x', { time: { asUtcMs: AT }, tag: 'wan', message: 'x' }],
  ['2026-11-21 9:36:49 AM [wan] x', { time: { asUtcMs: AT }, tag: 'wan', message: 'x' }],
  ['21/11/2026 09:36:49 pm [wan] x', { time: { asUtcMs: AT + 12 * HOUR }, tag: 'wan', message: 'x' }],
  ['2026-11-21 12:36:49 AM [wan] x', { time: { asUtcMs: AT - 9 * HOUR }, tag: 'wan', message: 'x' }],
  ['2026-11-21 12:36:49PM x', { time: { asUtcMs: AT + 3 * HOUR }, tag: undefined, message: 'x' }],
  [
    '<11>Nov 21 09:36:49 plant wan: down',
    { time: { asUtcMs: AT }, tag: 'wan', severity: 'error', message: 'down', host: 'plant' },
  ],
  [
    '<190>Nov 21 09:36:49 10.0.0.1 dnsmasq[42]: x',
    { tag: 'dnsmasq', severity: 'info', message: '[42]: x', host: '10.0.0.1' },
  ],
  [
    'Nov 21 09:36:49 plant kernel: [ 12.3] x',
    { tag: 'kernel', severity: undefined, message: '[ 12.3] x', host: 'plant' },
  ],
  [
    '<13>Nov 21 09:36:49 no program here',
    { tag: undefined, severity: 'notice', message: 'no program here', host: undefined },
  ],
  ['<12>2026-11-21 09:36:49 [wan] x', { time: { asUtcMs: AT }, tag: 'wan', severity: 'warning', message: 'x' }],
])('parseLine() reads the form of %j', (text, expected) => {
  const { time, ...rest } = parseLine(text);
  expect({ ...rest, host: rest.host, time: { ...time, offsetMs: time?.offsetMs } }).toMatchObject(expected);
});

test('parseLine() gives two lines of one day the same time, also before 1970', () => {
  const line = '0999-01-01 00:00:03 [boot] clock';
  const times = [line, line].map((text) => parse(text, { ...CONTEXT, endMs: 0 }).time?.asUtcMs);
  expect(times).toEqual([-30_641_759_997_000, -30_641_759_997_000]);
});

test('parseLine() says whether the text resolves less than a second', () => {
  expect(parseLine('2026-11-21 09:36:49 [w] x').time?.hasFraction).toBe(false);
  expect(parseLine('2026-11-21 09:36:49.0 [w] x').time?.hasFraction).toBe(true);
});

test.each([
  '',
  'text',
  '                - Last output repeated 17 times -',
  '2026-11-21 09:36:49[wan] x',
  '2026-11-21 09:36:492026-11-21 09:36:50 [wan] x',
  '2026-11-21   09:36:49 [wan] x',
  '2026-11-21 9:36:49 [wan] x',
  '2026-11-21 13:36:49 PM [wan] x',
  '2026-11-21 00:36:49 am [wan] x',
  '21-11-26 09:36:49 [wan] x',
  '31.02.26 09:36:49 [wan] x',
  '<13> Nov 21 09:36:49 plant wan: x',
  '<1234>Nov 21 09:36:49 plant wan: x',
  '[   12.345678] eth0: link up',
  '<6>[   12.345678] eth0: link up',
  '{"time":"2026-11-21T09:36:49Z","message":"up"}',
  '2026-11-21_09:36:49 [wan] x',
  ' 2026-11-21 09:36:49 [wan] x',
  '20262026-11-21 09:36:49 [wan] x',
  '2026-11-21 09:36 [wan] x',
  '2026-02-30 09:36:49 [wan] x',
  '2025-02-29 09:36:49 [wan] x',
  '2026-13-01 09:36:49 [wan] x',
  '2026-00-10 09:36:49 [wan] x',
  '2026-11-00 09:36:49 [wan] x',
  '2026-11-21 24:00:00 [wan] x',
  '2026-11-21 09:60:00 [wan] x',
  '2026-11-21 09:99:49 [wan] x',
  '2026-11-21 09:36:60 [wan] x',
  '0050-11-21 09:36:49 [wan] x',
  '31.04.2026 09:36:49 [wan] x',
])('parseLine() finds no time in %j and leaves it whole', (text) => {
  expect(parseLine(text)).toEqual({ time: undefined, tag: undefined, severity: undefined, message: text });
});

test('parseLine() cuts a fraction off at milliseconds, for every number of them', () => {
  for (let ms = 0; ms < 1000; ms++) {
    const digits = String(ms).padStart(3, '0');
    expect(parseLine(`2026-11-21 09:36:49.${digits} [w] x`).time?.asUtcMs).toBe(AT + ms);
    expect(parseLine(`2026-11-21 09:36:49.${digits}999999 [w] x`).time?.asUtcMs).toBe(AT + ms);
  }
});

test('parseLine() reads back every time that there is', () => {
  const date = fc.date({
    min: new Date('1970-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(date, fc.string({ unit: 'grapheme' }), (moment, message) => {
      const iso = moment.toISOString();
      const [year, month, day] = iso.slice(0, 10).split('-');
      for (const text of [iso.slice(0, 10), `${day}.${month}.${year}`]) {
        const line = parseLine(`${text} ${iso.slice(11, 19)} [tag] ${message}`);
        expect(line.time?.asUtcMs).toBe(Math.floor(moment.getTime() / 1000) * 1000);
        expect(line).toMatchObject({ tag: 'tag', message });
      }
    }),
  );
});

test('parseLine() never throws, and a time that it gives is one', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789-:. []x')) }),
    fc.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})? \[\w*\] .{0,9}$/),
  );
  fc.assert(
    fc.property(text, (line) => {
      const { time, tag, message } = parseLine(line);
      if (time) {
        expect(new Date(time.asUtcMs).toISOString().slice(11, 19)).toBe(line.slice(11, 19));
        expect(line.endsWith(message)).toBe(true);
      } else {
        expect([tag, message]).toEqual([undefined, line]);
      }
    }),
    { numRuns: 1000 },
  );
});

test('case 96: parseLine() takes a severity only from brackets of its own right behind the tag', () => {
  const severityOf = (rest: string) => {
    const { tag, severity, message } = parseLine(`2026-11-21 09:36:49 ${rest}`);
    return [tag, severity, message];
  };
  expect(severityOf('[wan][WARNING] text')).toEqual(['wan', 'warning', 'text']);
  expect(severityOf('[wan][EMERG] text')).toEqual(['wan', 'emergency', 'text']);
  expect(severityOf('[wan] [WARNING] text')).toEqual(['wan', undefined, '[WARNING] text']);
  expect(severityOf('[wan] [x] text')).toEqual(['wan', undefined, '[x] text']);
  expect(severityOf('[wan][x] text')).toEqual(['wan', undefined, '[x] text']);
  expect(severityOf('[wan][OTHER] text')).toEqual(['wan', undefined, '[OTHER] text']);
});

test('case 88: parseRepeatNotice() counts the lines that were left out', () => {
  const notice = (times: string) => `${' '.repeat(16)}- Last output repeated ${times} -`;
  expect(parseRepeatNotice(notice('twice'))).toBe(1);
  expect(parseRepeatNotice(notice('17 times'))).toBe(17);
  expect(parseRepeatNotice(notice('often'))).toBeUndefined();
  expect(parseRepeatNotice(notice('17 times').trim())).toBeUndefined();
});

test.each([
  ['the last one before the end of the file', 'Mar  1 12:00:00', undefined, '2026-11-21', '2026-03-01T12:00:00'],
  ['the last one before an end in January', 'Dec 31 23:59:59', undefined, '2027-01-01', '2026-12-31T23:59:59'],
  [
    'the next one, by a clock or zone ahead of the end',
    'Jan  1 00:30:00',
    undefined,
    '2026-12-31',
    '2027-01-01T00:30:00',
  ],
  ['the last one, by a clock that is further ahead', 'Jan  4 00:00:00', undefined, '2026-12-31', '2026-01-04T00:00:00'],
  ['that of the line before', 'Mar  1 12:00:00', '2025-02-10', '2026-11-21', '2025-03-01T12:00:00'],
  ['that of the line before, ten months on', 'Dec 20 12:00:00', '2025-02-10', '2026-11-21', '2025-12-20T12:00:00'],
  ['the next one in the new year', 'Jan  1 00:00:01', '2025-12-31', '2026-11-21', '2026-01-01T00:00:01'],
  [
    'that of the line before, in a clock that is set back',
    'Dec 31 23:59:00',
    '2026-01-01',
    '2026-11-21',
    '2025-12-31T23:59:00',
  ],
  [
    'the last one, where the line before is in the future',
    'Nov 20 12:00:00',
    '2027-10-01',
    '2026-11-21',
    '2026-11-20T12:00:00',
  ],
  ['the last one of a clock that begins anew', 'Jan  1 00:00:05', '2026-11-21', '2026-11-21', '2026-01-01T00:00:05'],
])('parseLine() gives a date without a year %s', (_what, text, before, end, expected) => {
  const lineBeforeMs = before === undefined ? undefined : Date.parse(before);
  const { time } = parse(`${text} [a] x`, { order: 'dmy', lineBeforeMs, endMs: Date.parse(end) });
  expect(time && new Date(time.asUtcMs).toISOString().slice(0, 19)).toBe(expected);
});

test.each([
  ['a day above twelve', ['02/11/2026', '13/11/2026'], 'dmy'],
  ['a day above twelve in second place', ['11/02/2026', '11/13/2026'], 'mdy'],
  ['lines that would go back', ['01/02/2026', '01/03/2026', '02/01/2026'], 'mdy'],
  ['the end of the file', ['05/10/2026', '06/10/2026'], 'dmy'],
  ['the end of the file, months first', ['10/05/2026', '10/06/2026'], 'mdy'],
  ['nothing, where both orders are one', ['10/10/2026'], undefined],
  ['nothing, where the form leaves no choice', ['2026-11-02', '02.11.2026'], undefined],
])('case 58: learnDateOrder() learns from %s', (_what, dates, order) => {
  const lines = dates.map((date) => `${date} 09:00:00 [wan] x`);
  expect(learnDateOrder(lines, Date.UTC(2026, 9, 6, 12))).toBe(order);
});
