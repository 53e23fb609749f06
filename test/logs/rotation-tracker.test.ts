import { beforeEach, describe, expect, test } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import type { LinkRule } from '../../src/logs/link-rule.ts';
import type { ListedLog } from '../../src/logs/names.ts';
import {
  createInstance as createFresh,
  createPosition,
  type Instance,
  type LogPosition,
} from '../../src/logs/position.ts';
import { parsePosition, renderPosition } from '../../src/logs/position-text.ts';
import { RotationTracker } from '../../src/logs/rotation-tracker.ts';
import { Zone } from '../../src/logs/zone.ts';

const NOON = Date.UTC(2026, 10, 21, 12, 0, 0);
const HOUR_MS = 3_600_000;
const FIRST = '2026-11-21-11:00:00';
const SECOND = '2026-11-21-11:30:00';

function createInstance(key: string, firstUtcMs?: number): Instance {
  return { ...createFresh(key, 0), off: 100, firstUtcMs, lastStart: 50 };
}

const listed = (...stamps: string[]): ListedLog => ({
  current: 'network/current',
  rotated: stamps.map((stamp) => ({ stamp, name: `network/log-${stamp}.bz2` })),
});

let clock: SteppedClock;
let chain: RotationTracker;

const berlin = new Zone('Europe/Berlin');

/** What the chain has told of the rule, and what it is told. */
let rule: LinkRule & {
  holds: boolean;
  readonly matches: string[];
  readonly misses: string[];
  readonly refuted: string[];
};

function createRule(): typeof rule {
  const matches: string[] = [];
  const misses: string[] = [];
  const refuted: string[] = [];
  return {
    holds: true,
    isRefuted: false,
    matches,
    misses,
    refuted,
    noteMatch: (stamp) => matches.push(stamp),
    noteMiss: (stamp) => misses.push(stamp),
    refute: (stamp) => refuted.push(stamp),
  };
}

function createChain(position: LogPosition, zone = berlin): RotationTracker {
  return new RotationTracker(position, { router: 'plant-7', component: 'network', clock, zone: () => zone, rule });
}

beforeEach(() => {
  clock = createSteppedClock(NOON);
  rule = createRule();
  chain = createChain(createPosition());
});

/** What a process that starts on the stored position knows. */
function restart(): RotationTracker {
  const position = parsePosition(renderPosition(chain.position));
  expect(position).toBeDefined();
  return createChain(position ?? createPosition());
}

describe('RotationTracker.admits()', () => {
  /** Wall time in Berlin of a moment in the name of a file, moved by `ms`. */
  const wallAfter = (stamp: string, ms: number) =>
    Date.parse(`${stamp.slice(0, 10)}T${stamp.slice(11)}Z`) + HOUR_MS + ms;

  beforeEach(() => chain.complete(FIRST, createInstance('a')));

  test.each([0, 1000, 2000, -1000])('lets a file be read whose first line is %d ms from the name before it', (ms) => {
    expect(chain.admits(wallAfter(FIRST, ms))).toBe(true);
    expect(chain.position.brokenLinks).toEqual([]);
  });

  test('withholds a file for a minute when one is missing before it, also across a restart', async () => {
    const wallMs = wallAfter(SECOND, 0);
    expect(chain.admits(wallMs)).toBe(false);
    await clock.advance(59_000);
    chain = restart();
    expect(chain.admits(wallMs)).toBe(false);
    await clock.advance(1000);
    expect(chain.admits(wallMs)).toBe(true);
    expect(chain.flagsFor(createInstance('c'), undefined)).toEqual(['out_of_order']);
  });

  test('lets a file be read while the zone is unknown if any zone explains when it begins', () => {
    const zoneless = createChain(chain.position, new Zone(undefined));
    expect(zoneless.admits(wallAfter(FIRST, -30 * 60_000))).toBe(true);
    expect(zoneless.admits(wallAfter(FIRST, 7 * 60_000))).toBe(false);
  });

  test('a link that stays broken for 15 minutes becomes a likely gap, once', async () => {
    chain.admits(wallAfter(SECOND, 0));
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toMatchObject([
      {
        certainty: 'likely',
        reason: 'broken-link',
        from: chain.edgeOf(createInstance('a')),
        file: `network/log-${FIRST}`,
      },
    ]);
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
  });

  test('a rotated file older than what was read last is late, and waits for nothing', async () => {
    chain.complete(SECOND, createInstance('c', Date.parse('2026-11-21T11:10:00Z')));
    const between = '2026-11-21-11:10:00';
    expect(chain.admits(wallAfter(FIRST, 0), between)).toBe(true);
    const late = createInstance('b', Date.parse('2026-11-21T11:00:00Z'));
    expect(chain.flagsFor(late, between)).toEqual(['late']);
    chain.adopt(late, between);
    chain.complete(between, late);
    expect(chain.position.chainEnd?.stamp).toBe(SECOND);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST, between, SECOND))).toEqual([]);
  });

  test('a rotated file that follows what was read last is in order, although the clock was set back', () => {
    chain.complete(SECOND, createInstance('c', Date.parse('2026-11-21T11:00:00Z')));
    expect(chain.admits(wallAfter(SECOND, 0), '2026-11-21-10:45:00')).toBe(true);
    expect(chain.isLate(createInstance('d'), '2026-11-21-10:45:00')).toBe(false);
  });

  test('a first line, or a name, of a clock that was not set proves neither a link nor a break', async () => {
    expect(chain.admits(Date.UTC(1970, 0, 1, 1, 0, 20))).toBe(true);
    expect(chain.position.brokenLinks).toMatchObject([{ isVague: true }]);
    const unset = '1970-01-01-00:00:20';
    chain.noteFresh(listed(FIRST, unset));
    chain.complete(unset, createInstance('b', Date.UTC(1970, 0, 1)));
    expect(chain.admits(wallAfter(unset, 0))).toBe(true);
    expect(chain.admits(wallAfter(SECOND, 0))).toBe(true);
    expect(rule.matches).toEqual([]);
    expect(rule.refuted).toEqual([]);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST, unset))).toEqual([]);
  });

  test('a file of a clock that began at the date of the firmware does not contradict the rule', () => {
    const zoneless = createChain(chain.position, new Zone(undefined));
    zoneless.noteFresh(listed(FIRST, SECOND));
    const bootMs = Date.UTC(2022, 0, 1, 0, 0, 20);
    zoneless.complete(SECOND, { ...createInstance('b', bootMs), lastUtcMs: bootMs, follows: FIRST });
    expect(rule.refuted).toEqual([]);
  });

  test('after a start with an unset clock, the last file gone, something may be missing', async () => {
    chain.admits(Date.UTC(1970, 0, 1, 1, 0, 20));
    expect(chain.flagsFor(createInstance('c'), undefined)).toEqual([]);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed())).toMatchObject([{ certainty: 'possible', reason: 'broken-link' }]);
  });

  test('tells what it sees of the rule, and only what a log that follows it shows', () => {
    chain.admits(wallAfter(FIRST, 1000));
    expect(rule.matches).toEqual([FIRST]);
  });

  test('while the rule does not hold, nothing waits and nothing is claimed', async () => {
    rule.holds = false;
    chain.noteFresh(listed(FIRST));
    expect(chain.admits(wallAfter(SECOND, 0))).toBe(true);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
  });

  test('a break that was found while the rule held is not told when it holds no more', async () => {
    chain.noteFresh(listed(FIRST));
    expect(chain.admits(wallAfter(SECOND, 0))).toBe(false);
    rule.holds = false;
    expect(chain.admits(wallAfter(SECOND, 0))).toBe(true);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
  });

  test('a file that is listed right behind the last one waits for nothing, whatever its first line says', () => {
    const next = '2026-11-21-12:00:00';
    chain.noteFresh(listed(FIRST, next));
    expect(chain.admits(wallAfter(SECOND, 0), next)).toBe(true);
    expect(chain.position.brokenLinks).toEqual([]);
    // Written with the clock set back: names no longer tell the order.
    expect(chain.admits(wallAfter(FIRST, -600_000), next)).toBe(false);
  });

  test('a rotated file behind a name from a clock that was days ahead is not late, and something may be missing before it', () => {
    const ahead = '2027-12-26-22:34:46';
    chain.complete(ahead, createInstance('c', Date.parse('2027-12-26T22:30:15Z')));
    chain.noteFresh(listed(FIRST, ahead));
    expect(chain.admits(wallAfter(SECOND, 0), '2026-11-21-11:40:00')).toBe(false);
    expect(chain.isLate(createInstance('d'), '2026-11-21-11:40:00')).toBe(false);
    expect(chain.position.brokenLinks).toMatchObject([{ after: ahead }]);
  });

  test('a late file that lasted a second is not its own successor', async () => {
    chain.complete(SECOND, createInstance('c', Date.parse('2026-11-21T11:20:00Z')));
    const short = '2026-11-21-11:10:01';
    expect(chain.admits(wallAfter('2026-11-21-11:10:00', 0), short)).toBe(true);
    const instance = createInstance('b', Date.parse('2026-11-21T11:10:00Z'));
    chain.complete(short, instance);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST, short, SECOND))).toMatchObject([
      { certainty: 'likely', reason: 'broken-link', from: chain.edgeOf(instance) },
    ]);
  });

  test('a link is whole again when the missing file was read', async () => {
    chain.admits(wallAfter(SECOND, 0));
    chain.complete(SECOND, createInstance('b', Date.parse('2026-11-21T11:00:00Z')));
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST, SECOND))).toEqual([]);
    expect(chain.admits(wallAfter(SECOND, 0))).toBe(true);
  });
});

describe('RotationTracker watches a rotation', () => {
  const THIRD = '2026-11-21-12:00:00';
  const at = (time: string) => Date.parse(`2026-11-21T${time}Z`);
  const read = (key: string, from: string, to: string): Instance => ({
    ...createInstance(key, at(from)),
    lastUtcMs: at(to),
  });

  /** The file before was seen as `current`, and the next one was begun behind it. */
  function follow(next: Instance): void {
    const first = read('a', '10:40:00', '10:50:00');
    chain.open(first);
    chain.noteFresh(listed(FIRST));
    chain.complete(FIRST, first);
    chain.open(next);
  }

  test('a file that does not begin where the one before ended, both listed and none between, refutes the rule', () => {
    const next = read('b', '11:20:00', '11:29:00');
    follow(next);
    chain = restart();
    chain.noteFresh(listed(FIRST, SECOND));
    const [open] = chain.begun();
    chain.complete(SECOND, open);
    expect(rule.refuted).toEqual([FIRST]);
  });

  test.each([
    ['one that begins there', read('b', '11:00:01', '11:29:00'), [FIRST, SECOND]],
    ['one that begins there in another zone', read('b', '09:00:00', '11:29:00'), [FIRST, SECOND]],
    ['one behind a file that is no longer listed', read('b', '11:20:00', '11:29:00'), [SECOND]],
    ['one behind another that is still to be read', read('b', '11:40:00', '11:50:00'), [FIRST, SECOND, THIRD]],
    ['one that was begun with the clock set back', read('b', '10:20:00', '11:29:00'), [FIRST, SECOND]],
    ['one that may have taken the place of another', read('b', '11:29:59', '11:30:00'), [FIRST, SECOND]],
    ['one that began with the clock set forward', read('b', '11:20:00', '23:00:00'), [FIRST, SECOND]],
  ])('but not %s', (_, next, stamps) => {
    follow(next);
    chain.noteFresh(listed(...stamps));
    chain.complete(stamps.at(-1) ?? '', next);
    expect(rule.refuted).toEqual([]);
  });

  test('files that were there at first contact refute nothing, but speak against the rule', () => {
    chain.noteFresh(listed(FIRST, SECOND));
    chain.complete(FIRST, read('a', '10:40:00', '10:50:00'));
    chain.complete(SECOND, read('b', '11:20:00', '11:29:00'));
    expect(rule.refuted).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('the current of a first contact, behind a file that is still listed after 15 minutes, speaks against it too', async () => {
    chain.noteFresh(listed(FIRST));
    chain.complete(FIRST, read('a', '10:40:00', '10:50:00'));
    expect(chain.admits(at('12:20:00'))).toBe(false);
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('a log whose end lies in a buffer may have lost the beginning of a file in a crash, and refutes nothing', () => {
    chain.position.stream.isBuffered = true;
    const next = read('b', '11:20:00', '11:29:00');
    follow(next);
    chain.noteFresh(listed(FIRST, SECOND));
    chain.complete(SECOND, next);
    expect(rule.refuted).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('a break behind a file that is still listed after 15 minutes refutes the rule, and is no gap', async () => {
    const first = read('a', '10:40:00', '10:50:00');
    chain.open(first);
    chain.noteFresh(listed(FIRST));
    chain.complete(FIRST, first);
    expect(chain.admits(at('12:20:00'))).toBe(false);
    await clock.advance(15 * 60_000);
    chain = restart();
    chain.noteFresh(listed(FIRST));
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
    expect(rule.refuted).toEqual([FIRST]);
  });

  test('a break before a file that may have taken the place of another one is a gap, and refutes nothing', async () => {
    const first = read('a', '10:40:00', '10:50:00');
    chain.open(first);
    chain.noteFresh(listed(FIRST));
    chain.complete(FIRST, first);
    expect(chain.admits(at('12:30:00'))).toBe(false);
    chain.noteFresh(listed(FIRST, SECOND));
    chain.complete(SECOND, read('b', '11:30:00', '11:30:00'));
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST, SECOND))).toMatchObject([{ certainty: 'likely', reason: 'broken-link' }]);
    expect(rule.refuted).toEqual([]);
  });
});

describe('RotationTracker', () => {
  test('holds newer lines for a minute after the open file was shelved, and gives it up after 15', async () => {
    const open = createInstance('a');
    chain.open(open);
    chain.shelveOpen();
    expect(chain.isHolding()).toBe(true);
    await clock.advance(60_000);
    expect(chain.isHolding()).toBe(false);
    expect(chain.giveUpOverdue(listed())).toEqual([]);
    await clock.advance(14 * 60_000);
    expect(chain.giveUpOverdue(listed())).toMatchObject([
      { certainty: 'possible', reason: 'not-found', from: chain.edgeOf(open), offset: 100 },
    ]);
    expect(chain.begun()).toEqual([]);
    expect(chain.remembered()).toEqual([open]);
  });

  test('a rotated file that vanishes before it was read is one certain gap, placed after what was read of it', () => {
    const open = createInstance('a');
    chain.open(open);
    chain.shelveOpen();
    chain.noteFresh(listed(FIRST));
    expect(chain.forgetUnlisted(listed())).toMatchObject([
      { certainty: 'certain', reason: 'expired', from: chain.edgeOf(open), file: `network/log-${FIRST}` },
    ]);
    expect(chain.forgetUnlisted(listed())).toEqual([]);
    expect(chain.begun()).toEqual([]);
  });

  test('a file that stays cut is given up only when it was looked at again after the time of grace', async () => {
    chain.noteFresh(listed(FIRST));
    chain.noteFault(FIRST, 'cut');
    await clock.advance(20 * 60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toEqual([]);
    chain.noteFault(FIRST, 'cut');
    await clock.advance(60_000);
    expect(chain.giveUpOverdue(listed(FIRST))).toMatchObject([{ certainty: 'certain', reason: 'damaged' }]);
  });

  test('a file from before the clock was set is not lost because of a younger one', async () => {
    chain.open({ ...createInstance('a'), lastUtcMs: Date.UTC(2000, 0, 1, 0, 0, 20) });
    chain.shelveOpen();
    const wallMs = Date.UTC(2026, 10, 21, 12, 0, 0);
    chain.noteStranger(SECOND, wallMs);
    chain.noteStranger(SECOND, Date.UTC(2000, 0, 1, 1, 0, 30));
    expect(chain.giveUpOverdue(listed(SECOND))).toEqual([]);
  });

  test('a rotated file that vanishes is not the rest of one that newer lines have overtaken', () => {
    const shelved = createInstance('a');
    chain.open(shelved);
    chain.shelveOpen();
    chain.complete(FIRST, createInstance('b'));
    chain.noteFresh(listed(SECOND));
    expect(chain.forgetUnlisted(listed(FIRST))).toMatchObject([
      { certainty: 'certain', reason: 'expired', from: chain.edgeOf(createInstance('b')) },
    ]);
    expect(chain.begun()).toEqual([shelved]);
  });

  test('a reset is a gap behind the files that were begun, and behind what was read last', () => {
    const begun = createInstance('a');
    chain.open(begun);
    chain.shelveOpen();
    chain.complete(FIRST, createInstance('b'));
    chain.position.brokenLinks = [{ after: FIRST, from: undefined, sinceMs: NOON }];
    expect(chain.reset('wiped')).toMatchObject([
      { certainty: 'likely', reason: 'broken-link', file: `network/log-${FIRST}` },
      { certainty: 'possible', reason: 'reset', from: chain.edgeOf(begun) },
      { certainty: 'possible', reason: 'reset', from: chain.edgeOf(createInstance('b')) },
    ]);
  });

  test('a reset while the last file is open is one gap', () => {
    const open = createInstance('a');
    chain.open(open);
    const edge = chain.edgeOf(open);
    chain.position.stream.lastUid = edge?.uid;
    expect(chain.reset('wiped')).toMatchObject([{ certainty: 'possible', reason: 'reset', from: edge }]);
  });

  test.each([
    ['wiped', { certainty: 'possible', bytesMin: undefined }],
    ['replaced', { certainty: 'certain', bytesMin: 3 }],
  ] as const)('half a line that was seen is lost for certain only with its device: %s', (reason, gap) => {
    const open = { ...createInstance('a'), tornAt: [103] };
    chain.open(open);
    chain.position.stream.lastUid = chain.edgeOf(open)?.uid;
    expect(chain.reset(reason)).toMatchObject([gap]);
  });

  test('a rotated file that was read to its end is no news and no gap when it goes', () => {
    chain.noteFresh(listed(FIRST));
    chain.complete(FIRST, createInstance('a'));
    expect(chain.isNews(listed(FIRST))).toBe(false);
    expect(chain.noteFresh(listed(FIRST))).toEqual([]);
    expect(chain.forgetUnlisted(listed())).toEqual([]);
    expect(chain.position.completed).toEqual({});
    // Should the listing have been wrong, the content still says that it is known.
    expect(chain.remembered()).toEqual([createInstance('a')]);
  });

  test('the rest of a shelved file is late once a newer file has been opened', () => {
    const shelved = createInstance('a');
    chain.open(shelved);
    chain.shelveOpen();
    expect(chain.flagsFor(shelved, FIRST)).toEqual([]);
    chain.open(createInstance('b'));
    expect(chain.flagsFor(shelved, FIRST)).toEqual(['late']);
    expect(chain.flagsFor(createInstance('c'), FIRST)).toEqual(['late']);
  });

  test('counts generations of files that begin alike', () => {
    expect(chain.nextGen('a')).toBe(0);
    chain.complete(FIRST, createInstance('a'));
    expect(chain.nextGen('a')).toBe(1);
    chain.open({ ...createInstance('a'), gen: 4 });
    expect(chain.nextGen('a')).toBe(5);
    expect(chain.nextGen('b')).toBe(0);
  });

  test.each([
    ['1970', Date.UTC(1970, 0, 1, 0, 0, 20), NOON],
    ['the date of its firmware', Date.UTC(2022, 0, 1, 0, 0, 20), Date.UTC(2022, 0, 1, 0, 1, 0)],
  ])('remembers for years how many files began when the clock began at %s', (_, firstUtcMs, shownMs) => {
    const complete = (index: number, instance: Instance) => {
      const stamp = new Date(NOON + index * 1000).toISOString().slice(0, 19).replace('T', '-');
      chain.complete(stamp, instance);
      chain.forgetUnlisted(listed());
    };
    complete(0, { ...createInstance('boot', firstUtcMs), lastUtcMs: firstUtcMs + 60_000, shownMs });
    for (let index = 1; index < 100; index++) {
      const utcMs = NOON + index * 1000;
      complete(index, { ...createInstance(`key ${index}`, utcMs), lastUtcMs: utcMs, shownMs: utcMs });
    }
    expect(restart().nextGen('boot')).toBe(1);
  });

  test('remembers beginnings that came again before those that did not', async () => {
    const boot = () => ({ ...createInstance('boot', Date.UTC(1970, 0, 1)), gen: chain.nextGen('boot') });
    for (let index = 0; index < 100; index++) {
      chain.open(index < 2 ? boot() : createInstance(`key ${index}`, Date.UTC(1970, 0, 1)));
      chain.shelveOpen();
    }
    await clock.advance(15 * 60_000);
    chain.giveUpOverdue(listed());
    expect(chain.nextGen('boot')).toBe(2);
    expect(Object.keys(chain.position.gens)).toHaveLength(64);
  });

  test('remembers no more than eight files that were given up', async () => {
    for (let index = 0; index < 12; index++) {
      chain.open(createInstance(`key ${index}`));
      chain.shelveOpen();
    }
    await clock.advance(15 * 60_000);
    expect(chain.giveUpOverdue(listed())).toHaveLength(12);
    expect(chain.position.lost.map(({ key }) => key)).toEqual(
      ['4', '5', '6', '7', '8', '9', '10', '11'].map((n) => `key ${n}`),
    );
  });
});
