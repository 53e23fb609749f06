import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/logs/time/zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const utc = (text: string) => Date.parse(`${text}Z`);

describe('Europe/Berlin', () => {
  const zone = new Zone('Europe/Berlin');

  test.each([
    ['in winter', '2026-01-15T12:00:00', '2026-01-15T11:00:00'],
    ['in summer', '2026-07-15T12:00:00', '2026-07-15T10:00:00'],
    ['a second before summer time', '2026-03-29T01:59:59', '2026-03-29T00:59:59'],
    ['as summer time begins', '2026-03-29T03:00:00', '2026-03-29T01:00:00'],
    ['a second before the hour that comes twice', '2026-10-25T01:59:59', '2026-10-24T23:59:59'],
    ['after the hour that comes twice', '2026-10-25T03:00:00', '2026-10-25T02:00:00'],
  ])('Zone.toUtc() converts a time %s without a flag', (_when, wall, expected) => {
    expect(zone.toUtc(utc(wall), undefined)).toEqual({ utcMs: utc(expected), flags: [] });
  });

  test('Zone.toUtc() takes the first of two moments when no line came before', () => {
    expect(zone.toUtc(utc('2026-10-25T02:30:00'), undefined)).toEqual({
      utcMs: utc('2026-10-25T00:30:00'),
      flags: ['fold'],
    });
  });

  test('Zone.toUtc() gives rising moments for a clock that goes from 02:59:59 to 02:00:00', () => {
    const walls = ['01:59:59', '02:00:00', '02:30:00', '02:59:59', '02:00:00', '02:30:00', '02:59:59', '03:00:00'];
    let last: number | undefined;
    const placed = walls.map((time) => {
      const place = zone.toUtc(utc(`2026-10-25T${time}`), last);
      last = place.utcMs;
      return `${new Date(place.utcMs).toISOString().slice(11, 19)} ${place.flags.join()}`;
    });
    expect(placed).toEqual([
      '23:59:59 ',
      '00:00:00 fold',
      '00:30:00 fold',
      '00:59:59 fold',
      '01:00:00 fold',
      '01:30:00 fold',
      '01:59:59 fold',
      '02:00:00 ',
    ]);
  });

  test('Zone.toUtc() stays in the first hour for lines of one second', () => {
    const first = zone.toUtc(utc('2026-10-25T02:30:00'), undefined);
    expect(zone.toUtc(utc('2026-10-25T02:30:00'), first.utcMs)).toEqual(first);
  });

  test('Zone.toUtc() reads a time that summer time skips with the offset before it, flagged', () => {
    const last = zone.toUtc(utc('2026-03-29T01:59:59'), undefined).utcMs;
    const placed = zone.toUtc(utc('2026-03-29T02:30:00'), last);
    expect(placed).toEqual({ utcMs: utc('2026-03-29T01:30:00'), flags: ['hole'] });
    expect(placed.utcMs).toBeGreaterThan(last);
  });
});

test('Zone takes UTC for granted, and says so, when it has no name', () => {
  const zone = new Zone(undefined);
  expect(zone.isAssumed).toBe(true);
  expect(zone.toUtc(utc('2026-07-15T12:00:00'), undefined)).toEqual({
    utcMs: utc('2026-07-15T12:00:00'),
    flags: ['zone_assumed'],
  });
});

test('Zone does not assume a zone UTC that was configured', () => {
  const zone = new Zone('UTC');
  expect(zone.isAssumed).toBe(false);
  expect(zone.toUtc(utc('2026-10-25T02:30:00'), undefined)).toEqual({ utcMs: utc('2026-10-25T02:30:00'), flags: [] });
});

/** Zones with an hour, half an hour and a whole day of change, changes at half past in UTC, and none at all. */
const NAMES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Tehran',
  'Pacific/Apia',
  'Pacific/Chatham',
  'America/Caracas',
  'Asia/Kolkata',
  'Africa/Casablanca',
  'Antarctica/Troll',
] as const;

interface Change {
  readonly name: string;
  readonly atMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** All changes of a zone's offset in some years, found by asking Intl. */
function findChanges(name: string): Change[] {
  const changes: Change[] = [];
  for (let dayMs = utc('2011-01-01T00:00:00'); dayMs < utc('2027-01-01T00:00:00'); dayMs += DAY_MS) {
    const [beforeMs, afterMs] = [offsetMs(name, dayMs), offsetMs(name, dayMs + DAY_MS)];
    if (beforeMs === afterMs) continue;
    let [early, late] = [dayMs, dayMs + DAY_MS];
    while (late - early > 1000) {
      const middle = early + Math.floor((late - early) / 2000) * 1000;
      if (offsetMs(name, middle) === beforeMs) early = middle;
      else late = middle;
    }
    changes.push({ name, atMs: late, beforeMs, afterMs });
  }
  return changes;
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Wall time minus UTC, read from the words of Intl. */
function offsetMs(name: string, utcMs: number): number {
  const format =
    FORMATS.get(name) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: name, dateStyle: 'short', timeStyle: 'medium' });
  FORMATS.set(name, format);
  return Date.parse(`${format.format(utcMs).replace(' ', 'T')}Z`) - utcMs;
}

const CHANGES = NAMES.flatMap(findChanges);

test('the changes to compare with are of every kind', () => {
  expect(CHANGES.length).toBeGreaterThan(100);
  expect(new Set(CHANGES.map(({ beforeMs, afterMs }) => (afterMs - beforeMs) / HOUR_MS))).toEqual(
    new Set([1, -1, 0.5, -0.5, 2, -2, 24]),
  );
  expect(CHANGES.some(({ atMs }) => atMs % HOUR_MS !== 0)).toBe(true);
});

test('Zone.toUtc() agrees with Intl about every moment around every change', () => {
  const zones = new Map(NAMES.map((name) => [name as string, new Zone(name)]));
  const nearby = fc.integer({ min: -3 * 3600, max: 3 * 3600 });
  fc.assert(
    fc.property(fc.constantFrom(...CHANGES), nearby, (change, seconds) => {
      const moment = change.atMs + seconds * 1000;
      const wallMs = moment + offsetMs(change.name, moment);
      const zone = zones.get(change.name);
      const placed = zone?.toUtc(wallMs, moment);
      expect(placed?.utcMs).toBe(moment);
      expect(placed?.flags).not.toContain('hole');
      const alone = zone?.toUtc(wallMs, undefined).utcMs ?? 0;
      expect(alone + offsetMs(change.name, alone)).toBe(wallMs);
      expect(alone).toBeLessThanOrEqual(moment);
    }),
    { numRuns: 3000 },
  );
});

test('Zone.toUtc() flags exactly the times that a change skips, and reads them with the offset before', () => {
  const forward = CHANGES.filter(({ beforeMs, afterMs }) => afterMs > beforeMs);
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.constantFrom(...forward), share, (change, within) => {
      const lengthMs = change.afterMs - change.beforeMs;
      const wallMs = change.atMs + change.beforeMs + Math.floor((within * lengthMs) / 1000) * 1000;
      expect(new Zone(change.name).toUtc(wallMs, undefined)).toEqual({
        utcMs: wallMs - change.beforeMs,
        flags: ['hole'],
      });
    }),
  );
});

test.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Kathmandu'])(
  'Zone.toUtc() gives for times of %s that follow each other what it gives for each of them alone',
  (name) => {
    const step = fc.constantFrom(1000, 60_000, HOUR_MS - 1000, HOUR_MS, 2 * HOUR_MS, DAY_MS, -HOUR_MS);
    const start = fc.integer({ min: 0, max: 365 }).map((day) => utc('2025-06-01T00:00:00') + day * DAY_MS);
    fc.assert(
      fc.property(start, step, fc.array(step, { minLength: 50, maxLength: 400 }), (startMs, usual, steps) => {
        const zone = new Zone(name);
        let wall = startMs;
        for (const [index, one] of steps.entries()) {
          wall += index % 10 === 9 ? one : usual;
          expect(zone.toUtc(wall, undefined)).toEqual(new Zone(name).toUtc(wall, undefined));
        }
      }),
      { numRuns: 20 },
    );
  },
);
