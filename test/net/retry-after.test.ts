import { expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/net/index.ts';

const NOW_MS = Date.UTC(2025, 9, 26);
const LATER = 'Sun, 26 Oct 2025 00:02:00 GMT';

test.for([
  ['17', undefined, 17_000],
  [LATER, undefined, 120_000],
  [LATER, 'Sun, 26 Oct 2025 00:01:00 GMT', 120_000],
  // By another clock, a date is no time to wait for.
  [LATER, 'Sun, 26 Oct 2025 00:01:01 GMT', Infinity],
  [LATER, 'Thu, 01 Jan 1970 00:00:00 GMT', Infinity],
  ['17', 'Thu, 01 Jan 1970 00:00:00 GMT', 17_000],
  ['Sat, 25 Oct 2025 00:00:00 GMT', undefined, 0],
  ['-1', undefined, undefined],
  ['1.5', undefined, undefined],
  ['soon', undefined, undefined],
  [undefined, undefined, undefined],
  [['17', '18'], undefined, undefined],
] as const)('parseRetryAfter() reads %j of an answer of %j as %j', ([header, date, expected]) => {
  expect(parseRetryAfter(header, NOW_MS, date)).toBe(expected);
});
