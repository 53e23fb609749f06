import { expect, test } from 'vitest';
import { parseDurationText } from '../../../src/status/values/quantities.ts';

const DAY = 86_400;

test.for<[string, number]>([
  ['3 days, 04:05', 3 * DAY + 4 * 3600 + 5 * 60],
  ['1 day, 04:05', DAY + 4 * 3600 + 5 * 60],
  ['0 days, 00:00', 0],
  ['12 days, 23:59:59', 12 * DAY + 86_399],
  ['12 Days 1:02', 12 * DAY + 3720],
  ['3 04:05:06', 3 * DAY + 14_706],
  ['0 00:00:07', 7],
  ['04:05:06', 14_706],
  ['04:05', 14_700],
  ['120:00:00', 5 * DAY],
  ['00:00:01.25', 1.25],
  ['1d 2h 3m 4s', 93_784],
  ['1d2h3m4s', 93_784],
  ['2d20h12m20s', 2 * DAY + 72_740],
  ['1w2d', 9 * DAY],
  ['3600 s', 3600],
  ['3600s', 3600],
  ['1.5 h', 5400],
  ['90 min', 5400],
  ['250 ms', 0.25],
  ['2 hours and 5 minutes', 7500],
  ['1 day, 2 hours, 3 minutes, 4 seconds', 93_784],
])('%j is %d seconds', ([text, seconds]) => {
  expect(parseDurationText(text)).toBe(seconds);
});

test.for([
  '',
  '3600',
  '3 V',
  'days',
  '04:65',
  '04:05:66',
  '4:5',
  '1d 2x',
  '-5 s',
  '3 days, 04',
  '1d-2h',
  '1m '.repeat(9),
])('%j is no duration', (text) => {
  expect(parseDurationText(text.trim())).toBeUndefined();
});
