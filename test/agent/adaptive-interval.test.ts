import { expect, test } from 'vitest';
import { AdaptiveInterval } from '../../src/agent/routers/adaptive-interval.ts';

const SLOW = { responseMs: 3000, isSignalPoor: false };
const FAST = { responseMs: 100, isSignalPoor: false };
const ONE = { serial: 'SN-1', firmware: '6.1' };
const POLLS_LEAST = 5;

/** What is stored, and a memory that reads and writes it. */
function createStore(stored?: string) {
  const store = { text: stored, writes: 0 };
  const open = () =>
    new AdaptiveInterval({
      router: 'plant-7',
      intervals: { intervalMs: 60_000, staleAfterMs: 180_000 },
      values: {
        read: () => store.text,
        write: (_router, _key, text) => {
          store.text = text;
          store.writes++;
        },
      },
    });
  return { store, open };
}

function record(
  pace: AdaptiveInterval,
  poll: typeof SLOW,
  identity: Parameters<AdaptiveInterval['record']>[1] = ONE,
): boolean[] {
  return Array.from({ length: POLLS_LEAST }, () => pace.record(poll, identity));
}

test('a slow router is throttled from the first poll after a restart on, and no longer once it is faster', () => {
  const { open } = createStore();
  expect(record(open(), SLOW).at(-1)).toBe(true);
  const next = open();
  expect(next.pace).toMatchObject({ level: 'slow', stretch: 2 });
  expect(next.summarize().responseSeconds).toBe(3);
  record(next, FAST);
  record(next, FAST);
  expect(open().pace.level).toBe('usual');
});

test.for([
  ['another device', { serial: 'SN-2', firmware: '6.1' }],
  ['another firmware', { serial: 'SN-1', firmware: '6.2' }],
] as const)('what was learnt does not hold for %s', ([, identity]) => {
  const { open } = createStore();
  record(open(), SLOW);
  const next = open();
  expect(next.record(SLOW, identity)).toBe(true);
  expect(next.pace.level).toBe('usual');
});

test('a usual time that hardly changes is stored once, and none of a device without a serial number', () => {
  const { store, open } = createStore();
  const pace = open();
  record(pace, FAST, { serial: undefined, firmware: '6.1' });
  expect(store.writes).toBe(0);
  for (const responseMs of [100, 110, 120, 130, 140]) record(pace, { ...FAST, responseMs });
  expect(store.writes).toBe(1);
});

test.for(['', '{', '[]', '{"serial":"SN-1"}', '{"serial":"SN-1","responseMs":-1,"isSignalPoor":true}'])(
  'a stored text that is none of these is as good as none: %s',
  (text) => {
    const { open } = createStore(text);
    expect(open().summarize().responseSeconds).toBeNull();
  },
);
