import { afterEach, expect, test, vi } from 'vitest';
import { parseHttpDate, parseRetryAfter } from '../../src/net/index.ts';

const WANTED_MS = Date.UTC(2026, 10, 6, 8, 49, 37);

afterEach(() => vi.unstubAllEnvs());

test.for(['UTC', 'Europe/Berlin', 'Asia/Kolkata'])(
  'parseHttpDate() reads each form of a date as one of UTC, also on a machine in the zone %s',
  (zone) => {
    vi.stubEnv('TZ', zone);
    for (const date of [
      'Fri, 06 Nov 2026 08:49:37 GMT',
      'Friday, 06-Nov-26 08:49:37 GMT',
      'Fri Nov  6 08:49:37 2026',
      // No form of HTTP, but clear.
      'Fri, 06 Nov 2026 08:49:37',
      'Fri, 06 Nov 2026 09:49:37 +0100',
    ]) {
      expect([date, parseHttpDate(date)]).toEqual([date, WANTED_MS]);
      expect(parseRetryAfter(date, WANTED_MS - 5000, date)).toBe(5000);
    }
    expect(['0', '-1', 'soon', '', 'Fri', undefined, ['a', 'b']].map(parseHttpDate)).toEqual(
      Array.from({ length: 7 }, () => undefined),
    );
  },
);
