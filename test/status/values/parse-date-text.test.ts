import { expect, test } from 'vitest';
import { parseDateText } from '../../../src/status/values/parse-date-text.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 8);
const BERLIN = { readAtMs: NOON_MS, zone: 'Europe/Berlin' };

function parse(text: string, context: Parameters<typeof parseDateText>[1] = BERLIN): string | undefined {
  const date = parseDateText(text, context);
  return date && new Date(date.utcMs).toISOString();
}

test.for([
  ['2026-11-21 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['2026-07-01 09:00:00', '2026-07-01T07:00:00.000Z'],
  ['2026/11/21 09:00', '2026-11-21T08:00:00.000Z'],
  ['2026-11-21T09:00:00', '2026-11-21T08:00:00.000Z'],
  ['2026-11-21T09:00:00Z', '2026-11-21T09:00:00.000Z'],
  ['2026-11-21t09:00:00.25z', '2026-11-21T09:00:00.250Z'],
  ['2026-11-21 09:00:00,123456 +05:30', '2026-11-21T03:30:00.123Z'],
  ['2026-11-21T09:00:00-0800', '2026-11-21T17:00:00.000Z'],
  ['2026-11-21T09:00:00+01', '2026-11-21T08:00:00.000Z'],
  ['2026-11-21 09:00:00 UTC', '2026-11-21T09:00:00.000Z'],
  ['2026-11-21', '2026-11-20T23:00:00.000Z'],
  ['21.11.2026 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['1.2.2026 09:00', '2026-02-01T08:00:00.000Z'],
  ['Sa, 21.11.2026', undefined],
  ['Sat, 21.11.2026 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['Nov 21 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['November 3 09:00:00', '2026-11-03T08:00:00.000Z'],
  ['Sat Nov 21 09:00:00 2026', '2026-11-21T08:00:00.000Z'],
  ['Sat Nov 21 09:00:00 CET 2026', '2026-11-21T08:00:00.000Z'],
  ['Saturday, Nov 21, 2026 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['Nov 21 09:00:00 2027 GMT', '2027-11-21T09:00:00.000Z'],
  ['Sat, 21 Nov 2026 08:00:00 GMT', '2026-11-21T08:00:00.000Z'],
  ['21-Nov-2026 09:00:00', '2026-11-21T08:00:00.000Z'],
  ['1970-01-01 01:00:38', '1970-01-01T00:00:38.000Z'],
])('%j is %s', ([text, utc]) => {
  expect(parse(text ?? '')).toBe(utc);
});

test.for([
  '',
  'Nov',
  '2026-13-01',
  '2026-02-29',
  '31.04.2026',
  '2026-11-00',
  '2026-11-21 24:00:00',
  '2026-11-21 09:60',
  '0099-01-01',
  '09:00:00',
  '16334455',
  'Foo 21 09:00:00',
  '2026-11-21 nine',
])('%j is no date', (text) => {
  expect(parse(text)).toBeUndefined();
});

test('a leap day and a leap second exist', () => {
  expect(parse('2028-02-29 00:00:00Z')).toBe('2028-02-29T00:00:00.000Z');
  expect(parse('2016-12-31T23:59:60Z')).toBe('2017-01-01T00:00:00.000Z');
});

test('a date without a year is the nearest one', () => {
  const newYear = { readAtMs: Date.UTC(2027, 0, 1, 0, 10), zone: 'UTC' };
  expect(parse('Dec 31 23:59:00', newYear)).toBe('2026-12-31T23:59:00.000Z');
  expect(parse('Jan 1 00:05:00', { ...newYear, readAtMs: Date.UTC(2026, 11, 31, 23) })).toBe(
    '2027-01-01T00:05:00.000Z',
  );
  expect(parse('Feb 29 00:00:00', { ...newYear, readAtMs: Date.UTC(2027, 8, 1) })).toBe('2028-02-29T00:00:00.000Z');
});

test('in the hour that comes twice, a date is the nearer of the two moments', () => {
  const text = '2026-10-25 02:30:00';
  expect(parse(text, { ...BERLIN, readAtMs: Date.UTC(2026, 9, 25, 0, 31) })).toBe('2026-10-25T00:30:00.000Z');
  expect(parse(text, { ...BERLIN, readAtMs: Date.UTC(2026, 9, 25, 1, 31) })).toBe('2026-10-25T01:30:00.000Z');
});

test('without a zone, or with an unknown one, UTC is assumed and flagged', () => {
  const utcMs = Date.UTC(2026, 10, 21, 9);
  for (const zone of [undefined, 'Europe/Regensburg', '']) {
    expect(parseDateText('2026-11-21 09:00:00', { readAtMs: NOON_MS, zone })).toMatchObject({
      utcMs,
      isZoneAssumed: true,
    });
  }
  expect(parseDateText('2026-11-21 10:00:00+01:00', { readAtMs: NOON_MS, zone: undefined })).toMatchObject({
    utcMs,
    isZoneAssumed: false,
  });
  expect(parseDateText('2026-11-21 10:00:00', BERLIN)?.isZoneAssumed).toBe(false);
});

test('a day alone is a date without a time', () => {
  expect(['2026-11-21', '21.11.2026', '2026-11-21 00:00'].map((text) => parseDateText(text, BERLIN)?.hasTime)).toEqual([
    false,
    false,
    true,
  ]);
});
