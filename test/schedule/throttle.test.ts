import { expect, test } from 'vitest';
import { findThrottleLevel, type ThrottleLevel, ThrottleMemory, toThrottle } from '../../src/schedule/throttle.ts';

const MINUTE_MS = 60_000;
const INTERVALS = { intervalMs: MINUTE_MS, staleAfterMs: 30 * MINUTE_MS };

test.for<[responseMs: number, isSignalPoor: boolean, previous: ThrottleLevel, level: ThrottleLevel]>([
  [1999, false, 'usual', 'usual'],
  [2000, false, 'usual', 'slow'],
  [1000, false, 'slow', 'slow'],
  [999, false, 'slow', 'usual'],
  [4999, false, 'slow', 'slow'],
  [5000, false, 'usual', 'very_slow'],
  [2500, false, 'very_slow', 'very_slow'],
  [2499, false, 'very_slow', 'slow'],
  [10, false, 'very_slow', 'usual'],
  [499, true, 'usual', 'usual'],
  [500, true, 'usual', 'slow'],
  [250, true, 'slow', 'slow'],
  [249, true, 'slow', 'usual'],
  [4999, true, 'usual', 'slow'],
])('answers after %d ms, poor signal %s, %s before: %s', ([responseMs, isSignalPoor, previous, level]) => {
  expect(findThrottleLevel({ responseMs, isSignalPoor, previous })).toBe(level);
});

test.for<[level: ThrottleLevel, staleAfterMs: number, stretch: number, statusStretch: number]>([
  ['usual', 30 * MINUTE_MS, 1, 1],
  ['slow', 30 * MINUTE_MS, 2, 2],
  ['very_slow', 30 * MINUTE_MS, 4, 4],
  ['very_slow', 9 * MINUTE_MS, 4, 3],
  ['very_slow', 3 * MINUTE_MS, 4, 1],
  ['very_slow', 2 * MINUTE_MS, 4, 1],
])(
  '%s with values that last %d ms: slow modules and logs %d times, status %d times as rarely',
  ([level, staleAfterMs, stretch, statusStretch]) => {
    expect(toThrottle(level, { intervalMs: MINUTE_MS, staleAfterMs })).toMatchObject({ stretch, statusStretch });
  },
);

test('ThrottleMemory stretches nothing before five polls, and then by their median', () => {
  const memory = new ThrottleMemory(INTERVALS);
  const changes = [3000, 3000, 100, 3000, 100].map((responseMs) => memory.record({ responseMs, isSignalPoor: false }));
  expect([changes, memory.pace.level, memory.responseMs]).toEqual([[false, false, false, false, true], 'slow', 3000]);
  expect(memory.pace.slowResourcesMax).toBe(4);
});

test('ThrottleMemory ignores single bad and single good polls, and forgets slow polls', () => {
  const memory = new ThrottleMemory(INTERVALS);
  const record = (responseMs: number, count: number) => {
    for (let poll = 0; poll < count; poll++) memory.record({ responseMs, isSignalPoor: false });
    return memory.pace.level;
  };
  expect(record(100, 8)).toBe('usual');
  expect(record(9000, 4)).toBe('usual');
  expect(record(9000, 1)).toBe('very_slow');
  expect(record(100, 4)).toBe('very_slow');
  expect(record(100, 1)).toBe('usual');
});

test('ThrottleMemory counts a signal as poor that was poor in most polls', () => {
  const memory = new ThrottleMemory(INTERVALS);
  for (const isSignalPoor of [true, false, true, false]) memory.record({ responseMs: 600, isSignalPoor });
  expect(memory.isSignalPoor).toBe(false);
  memory.record({ responseMs: 600, isSignalPoor: true });
  expect([memory.isSignalPoor, memory.pace.level]).toEqual([true, 'slow']);
});
