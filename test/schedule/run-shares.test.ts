import { expect, test } from 'vitest';
import { RunShares } from '../../src/schedule/run-shares.ts';

/** Fills the places and returns what got one. */
function takeAll(shares: RunShares<string>): string[] {
  const taken: string[] = [];
  for (let item = shares.take(); item !== undefined; item = shares.take()) taken.push(item);
  return taken;
}

function pushMany(shares: RunShares<string>, kind: 'status' | 'work' | 'failing', count: number): void {
  for (let index = 0; index < count; index++) shares.push(`${kind} ${index}`, kind);
}

test.for([
  ['status', 8],
  ['work', 6],
  ['failing', 2],
] as const)('%s alone takes %d of 8 places', ([kind, most]) => {
  const shares = new RunShares<string>(8);
  pushMany(shares, kind, 20);
  expect(takeAll(shares)).toHaveLength(most);
  const [waiting, heldBack] = kind === 'failing' ? [0, 20 - most] : [20 - most, 0];
  expect(shares.load).toEqual({ running: most, waiting, heldBack, max: 8 });
});

test('while both wait, polls and logs get the same number of places, each in the order of their waiting', () => {
  const shares = new RunShares<string>(4);
  pushMany(shares, 'work', 5);
  pushMany(shares, 'status', 5);
  expect(takeAll(shares)).toEqual(['status 0', 'work 0', 'status 1', 'work 1']);
  shares.release('work 0');
  expect(takeAll(shares)).toEqual(['work 2']);
  shares.release('status 1');
  shares.release('status 0');
  expect(takeAll(shares)).toEqual(['status 2', 'status 3']);
});

test('downloads that hold all the places they may have leave the rest to polls', () => {
  const shares = new RunShares<string>(8);
  pushMany(shares, 'work', 20);
  takeAll(shares);
  pushMany(shares, 'status', 20);
  expect(takeAll(shares)).toEqual(['status 0', 'status 1']);
});

test.for([2, 3])('of %d places, one is left to polls', (max) => {
  const shares = new RunShares<string>(max);
  pushMany(shares, 'work', 5);
  expect(takeAll(shares)).toHaveLength(max - 1);
});

test('a kind has at least one place, and one that no longer waits gets none', () => {
  const shares = new RunShares<string>(1);
  pushMany(shares, 'failing', 2);
  shares.remove('failing 0');
  expect(takeAll(shares)).toEqual(['failing 1']);
});

test('a lower limit lets what is under way go on, a higher one takes effect with the next run', () => {
  const shares = new RunShares<string>(4);
  pushMany(shares, 'status', 6);
  takeAll(shares);
  shares.setMax(2);
  shares.release('status 0');
  expect(takeAll(shares)).toEqual([]);
  shares.setMax(5);
  expect(takeAll(shares)).toEqual(['status 4', 'status 5']);
});
