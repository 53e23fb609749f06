import { describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import {
  addEvidence,
  addToPace,
  isRefuted,
  judgeLinks,
  type LinkFacts,
  meanDistanceMs,
  type Pace,
} from '../../src/logs/listing/link-rule.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

const stampAt = (index: number) =>
  `2026-11-${10 + Math.floor(index / 24)}-${String(index % 24).padStart(2, '0')}:00:00`;

const addMatch = (links: LinkFacts, component: string, stamp: string, distanceMs: number) =>
  addEvidence(links, component, { type: 'match', stamp, distanceMs, offsetMs: 0 });
const addMiss = (links: LinkFacts, component: string, stamp: string) =>
  addEvidence(links, component, { type: 'miss', stamp });
const addRefutation = (links: LinkFacts, component: string, stamp: string) =>
  addEvidence(links, component, { type: 'refutation', stamp });

/** So many matches in a log whose lines come at this distance. */
function match(component: string, count: number, distanceMs: number, facts: LinkFacts = {}, from = 0): LinkFacts {
  let links = facts;
  for (let index = from; index < from + count; index++) links = addMatch(links, component, stampAt(index), distanceMs);
  return links;
}

const TEN_PER_CENT = 50 * SECOND_MS;

describe('judgeLinks()', () => {
  test.each([
    [0, 1],
    [SECOND_MS, 1],
    [5 * SECOND_MS, 1],
    [50 * SECOND_MS, 0.1],
    [500 * SECOND_MS, 0.01],
    // Any zone explains a multiple of 15 minutes.
    [15 * MINUTE_MS, 1 / 180],
    [24 * 60 * MINUTE_MS, 1 / 180],
  ])('takes the window of a match over the mean distance of the lines, %d ms, for its chance', (distanceMs, chance) => {
    expect(judgeLinks(match('a', 1, distanceMs)).chance).toBeCloseTo(chance, 6);
  });

  test.each([
    ['nothing was seen', {}, false],
    ['a busy log matches for ever', match('a', 59, 2 * SECOND_MS), false],
    ['one match is one in ten', match('a', 1, TEN_PER_CENT), false],
    ['two are exactly one in a hundred', match('a', 2, TEN_PER_CENT), false],
    ['three are less', match('a', 3, TEN_PER_CENT), true],
    ['the logs count together', match('b', 1, TEN_PER_CENT, match('a', 2, TEN_PER_CENT), 2), true],
    ['but not at one moment', match('b', 1, TEN_PER_CENT, match('a', 2, TEN_PER_CENT), 1), false],
    ['a log that contradicts counts no longer', addRefutation(match('a', 9, TEN_PER_CENT), 'a', stampAt(9)), false],
    ['and weighs against the others', match('b', 3, TEN_PER_CENT, addRefutation({}, 'a', stampAt(9))), false],
    ['one match is never enough', match('a', 1, 15 * MINUTE_MS), false],
    ['nor are several at one moment', match('b', 1, 15 * MINUTE_MS, match('a', 1, 15 * MINUTE_MS)), false],
    ['two at two moments are', match('a', 2, 15 * MINUTE_MS), true],
    ['a rotation that speaks against it weighs tenfold', addMiss(match('a', 3, TEN_PER_CENT), 'a', stampAt(9)), false],
    ['that of another log too', addMiss(match('a', 3, TEN_PER_CENT), 'b', stampAt(9)), false],
    ['which can be outweighed', addMiss(match('a', 4, TEN_PER_CENT), 'b', stampAt(9)), true],
    ['and counts once', addMiss(addMiss(match('a', 4, TEN_PER_CENT), 'b', stampAt(9)), 'b', stampAt(9)), true],
    ['which can outweigh it', match('b', 4, TEN_PER_CENT, addRefutation({}, 'a', stampAt(9))), true],
  ])('%s', (_, facts, holds) => {
    expect(judgeLinks(facts).holds).toBe(holds);
  });

  test.each([180, 101, 60, 30, 10, 5, 2])(
    'believes one router of a hundred at most, whose lines match by chance in one rotation of %d',
    (oneOf) => {
      const random = createSeededRandom(oneOf);
      const distanceMs = oneOf * 5 * SECOND_MS;
      let believed = 0;
      for (let router = 0; router < 1000; router++) {
        let facts: LinkFacts = {};
        for (let index = 0; index < 24 && !judgeLinks(facts).holds; index++) {
          const isMatch = random() < 1 / oneOf;
          facts = isMatch ? addMatch(facts, 'a', stampAt(index), distanceMs) : addMiss(facts, 'a', stampAt(index));
        }
        if (judgeLinks(facts).holds) believed++;
      }
      // Twice as much as the mean is chance.
      expect(believed).toBeLessThan(20);
    },
  );

  test('believes a log again after years in which it matched', () => {
    let facts: LinkFacts = {};
    for (let index = 0; index < 100; index++) facts = addMiss(facts, 'a', stampAt(index));
    expect(judgeLinks(match('a', 9, 15 * MINUTE_MS, facts, 100)).holds).toBe(true);
  });

  test('says why', () => {
    const verdict = judgeLinks(
      addRefutation(
        match('b', 5, MINUTE_MS, addMiss(match('a', 2, TEN_PER_CENT), 'a', stampAt(8)), 2),
        'b',
        stampAt(9),
      ),
    );
    expect(verdict).toMatchObject({ matches: 2, misses: 1, refuted: ['b'] });
    expect(verdict.chance).toBeCloseTo(0.01, 6);
  });
});

describe('addEvidence()', () => {
  test('counts no rotation twice', () => {
    const once = match('a', 1, MINUTE_MS);
    expect(addMatch(once, 'a', stampAt(0), MINUTE_MS)).toBe(once);
  });

  test('takes a log by its own name only', () => {
    expect(match('constructor', 1, MINUTE_MS)).toMatchObject({ constructor: { matches: 1 } });
    expect(isRefuted({}, '__proto__')).toBe(false);
    expect(isRefuted(addRefutation({}, '__proto__', stampAt(0)), '__proto__')).toBe(true);
  });

  test('stays a number for years', () => {
    expect(judgeLinks(match('a', 400, 15 * MINUTE_MS)).chance).toBeGreaterThan(0);
    expect(match('a', 400, 15 * MINUTE_MS)['a']?.stamps).toHaveLength(16);
  });
});

/** Lines at these distances, a first one before. */
function paceOf(...distances: number[]): Pace {
  return distances.reduce<Pace>((pace, distanceMs) => addToPace(pace, distanceMs), addToPace(undefined, 0));
}

describe('meanDistanceMs()', () => {
  test('is that of the lines up to the rotation', () => {
    expect(meanDistanceMs(paceOf(), 20 * SECOND_MS)).toBe(20 * SECOND_MS);
    expect(meanDistanceMs(paceOf(MINUTE_MS, MINUTE_MS), MINUTE_MS)).toBe(MINUTE_MS);
  });

  test('of a log that is silent by night is that of its day', () => {
    const day = Array.from({ length: 100 }, () => 10 * SECOND_MS);
    expect(meanDistanceMs(paceOf(...day, 10 * 60 * MINUTE_MS), 0)).toBeLessThan(2 * MINUTE_MS);
    // The night is over, and the log is busy when it is rotated.
    const night = [MINUTE_MS, 10 * 60 * MINUTE_MS];
    const morning = Array.from({ length: 40 }, () => SECOND_MS);
    expect(meanDistanceMs(paceOf(...night, ...morning), 0)).toBeLessThan(6 * SECOND_MS);
  });

  test('a clock that is set does not make lines rare', () => {
    expect(meanDistanceMs(paceOf(1000, 56 * 365 * 86_400_000, 1000, -86_400_000), 1000)).toBeLessThan(5 * MINUTE_MS);
  });
});
