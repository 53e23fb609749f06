import { beforeEach, describe, expect, test } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import type { LinkFacts } from '../../src/logs/listing/link-rule.ts';
import type { ListedLog, RotatedFile } from '../../src/logs/listing/listing.ts';
import type { Gap, GapEdge } from '../../src/logs/position/gap.ts';
import {
  createFile as createFresh,
  createPosition,
  type FileFault,
  type LogFile,
  type LogPosition,
  parsePosition,
  renderPosition,
} from '../../src/logs/position/position.ts';
import {
  createStepState,
  edgeOf,
  flagsFor,
  isHolding,
  isLate,
  isNews,
  listBegun,
  listFresh,
  listRemembered,
  nextGen,
  type Observation,
  type ReadPiece,
  type StepState,
  type View,
} from '../../src/logs/step/state.ts';
import { type Step, takeStep } from '../../src/logs/step/step.ts';
import { Zone } from '../../src/logs/time/zone.ts';

const NOON = Date.UTC(2026, 10, 21, 12, 0, 0);
const HOUR_MS = 3_600_000;
const FIRST = '2026-11-21-11:00:00';
const SECOND = '2026-11-21-11:30:00';

function createFile(key: string, firstUtcMs?: number): LogFile {
  return { ...createFresh(key, 0), off: 100, firstUtcMs, lastStart: 50 };
}

const listed = (...stamps: string[]): ListedLog => ({
  current: 'network/current',
  rotated: stamps.map((stamp) => ({ stamp, name: `network/log-${stamp}.bz2` })),
});

let clock: SteppedClock;
let tracker: Tracker;

const berlin = new Zone('Europe/Berlin');
/** Evidence of another log by which the rule holds. */
const HOLDS: LinkFacts = {
  audit: { matches: 2, chance: 1e-4, stamps: ['2026-11-20-08:00:00', '2026-11-20-09:00:00'], refutedBy: undefined },
};

/** Whether the rule holds, and the observations reported about it. */
let rule: { holds: boolean; readonly matches: string[]; readonly misses: string[]; readonly refuted: string[] };

function createRule(): typeof rule {
  return { holds: true, matches: [], misses: [], refuted: [] };
}

/** A log and the steps that it takes, each of them on frozen data and once more on a copy of it. */
class Tracker {
  readonly #zone: Zone;
  #state: StepState;

  constructor(position: LogPosition, zone = berlin) {
    this.#zone = zone;
    this.#state = createStepState(position);
  }

  get position(): LogPosition {
    return this.#state.position;
  }

  get #view(): View {
    const links = rule.holds ? HOLDS : {};
    const nowMs = clock.now();
    const rules = { router: 'plant-7', component: 'network', nowMs, zone: this.#zone, links, isOnlyRun: false };
    return { ...this.#state, rules };
  }

  /** Takes a step and returns the gaps that it emits. */
  observe(observation: Observation): Gap[] {
    return this.#take(observation).emitted.flatMap((one) => (one.type === 'gap' ? [one.gap] : []));
  }

  #take(observation: Observation): Step {
    const { rules } = this.#view;
    const step = takeStep(freeze(this.#state), freeze(observation), rules);
    expect(takeStep(structuredClone(this.#state), structuredClone(observation), rules)).toEqual(step);
    this.#state = step.state;
    for (const { type, stamp } of step.evidence) {
      const reported = { match: rule.matches, miss: rule.misses, refutation: rule.refuted };
      reported[type].push(stamp);
    }
    return step;
  }

  alter(position: Partial<LogPosition>): void {
    this.#state = { ...this.#state, position: { ...this.position, ...position } };
  }

  mayRead(firstWallAsUtcMs: number, stamp?: string): boolean {
    return this.#take({ type: 'file-began', firstWallAsUtcMs, stamp }).mayRead;
  }

  recordListed(list: ListedLog): RotatedFile[] {
    this.observe({ type: 'listed', listed: list });
    return listFresh(this.position, list);
  }

  dropUnlisted(list: ListedLog): Gap[] {
    return this.observe({ type: 'unlisted', listed: list });
  }

  expireOverdue(list: ListedLog): Gap[] {
    return this.observe({ type: 'time-passed', listed: list });
  }

  open(file: LogFile): void {
    this.observe({ type: 'current-opened', piece: toPiece(file) });
  }

  adopt(file: LogFile, stamp: string): void {
    this.observe({ type: 'lines-read', piece: toPiece(file, stamp) });
  }

  suspendOpen(): void {
    this.observe({ type: 'current-replaced' });
  }

  complete(stamp: string, file: LogFile | undefined): void {
    this.observe({ type: 'file-ended', stamp, piece: toPiece(file, stamp), damage: [] });
  }

  fail(stamp: string, fault: FileFault): void {
    this.observe({ type: 'file-failed', stamp, fault });
  }

  flagsFor(file: LogFile, stamp: string | undefined) {
    return flagsFor(this.#view, file, stamp);
  }

  isLate(file: LogFile, stamp: string): boolean {
    return isLate(this.#view, file, stamp);
  }

  get isHolding(): boolean {
    return isHolding(this.#view);
  }

  isNews(list: ListedLog): boolean {
    return isNews(this.position, list);
  }

  nextGen(key: string): number {
    return nextGen(this.position, key);
  }

  edgeOf(file: LogFile): GapEdge | undefined {
    return edgeOf(this.#view, file);
  }

  get begun(): LogFile[] {
    return listBegun(this.position);
  }

  get remembered(): LogFile[] {
    return listRemembered(this.position);
  }
}

function toPiece(file: LogFile | undefined, stamp?: string): ReadPiece {
  return { file, stamp, stream: undefined, first: undefined, gaps: [], skipped: undefined };
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
  return value;
}

beforeEach(() => {
  clock = createSteppedClock(NOON);
  rule = createRule();
  tracker = new Tracker(createPosition('UTC'));
});

/** What a process that starts on the stored position knows. */
function restart(): Tracker {
  const position = parsePosition(renderPosition(tracker.position));
  expect(position).toBeDefined();
  return new Tracker(position ?? createPosition('UTC'));
}

describe('takeStep() of a file that began', () => {
  /** Wall time in Berlin of a moment in the name of a file, moved by `ms`. */
  const wallAfter = (stamp: string, ms: number) =>
    Date.parse(`${stamp.slice(0, 10)}T${stamp.slice(11)}Z`) + HOUR_MS + ms;

  beforeEach(() => tracker.complete(FIRST, createFile('a')));

  test.each([0, 1000, 2000, -1000])('lets a file be read whose first line is %d ms from the name before it', (ms) => {
    expect(tracker.mayRead(wallAfter(FIRST, ms))).toBe(true);
    expect(tracker.position.brokenLinks).toEqual([]);
  });

  test('defers a file for a minute when one is missing before it, also across a restart', async () => {
    const wallMs = wallAfter(SECOND, 0);
    expect(tracker.mayRead(wallMs)).toBe(false);
    await clock.advance(59_000);
    tracker = restart();
    expect(tracker.mayRead(wallMs)).toBe(false);
    await clock.advance(1000);
    expect(tracker.mayRead(wallMs)).toBe(true);
    expect(tracker.flagsFor(createFile('c'), undefined)).toEqual(['out_of_order']);
  });

  test('lets a file be read while the zone is unknown if any zone explains when it begins', () => {
    const zoneless = new Tracker(tracker.position, new Zone(undefined));
    expect(zoneless.mayRead(wallAfter(FIRST, -30 * 60_000))).toBe(true);
    expect(zoneless.mayRead(wallAfter(FIRST, 7 * 60_000))).toBe(false);
  });

  test('a link that stays broken for 15 minutes becomes a likely gap, once', async () => {
    tracker.mayRead(wallAfter(SECOND, 0));
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toMatchObject([
      {
        certainty: 'likely',
        reason: 'broken-link',
        from: tracker.edgeOf(createFile('a')),
        file: `network/log-${FIRST}`,
      },
    ]);
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
  });

  test('a link does not expire for a file that was cut and not looked at since', async () => {
    tracker.mayRead(wallAfter(SECOND, 0));
    tracker.recordListed(listed(SECOND));
    tracker.fail(SECOND, 'cut');
    await clock.advance(20 * 60_000);
    expect(tracker.expireOverdue(listed(SECOND))).toEqual([]);
    tracker.fail(SECOND, 'cut');
    await clock.advance(60_000);
    const gaps = tracker.expireOverdue(listed(SECOND));
    expect(gaps.map(({ reason }) => reason).toSorted()).toEqual(['broken-link', 'damaged']);
  });

  test('a rotated file older than what was read last is late, and waits for nothing', async () => {
    tracker.complete(SECOND, createFile('c', Date.parse('2026-11-21T11:10:00Z')));
    const between = '2026-11-21-11:10:00';
    expect(tracker.mayRead(wallAfter(FIRST, 0), between)).toBe(true);
    const late = createFile('b', Date.parse('2026-11-21T11:00:00Z'));
    expect(tracker.flagsFor(late, between)).toEqual(['late']);
    tracker.adopt(late, between);
    tracker.complete(between, late);
    expect(tracker.position.sequenceEnd?.stamp).toBe(SECOND);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST, between, SECOND))).toEqual([]);
  });

  test('while the rules of the zone are not known, a file with an earlier name is late although some zone has it follow', () => {
    tracker = new Tracker(tracker.position, new Zone(undefined, [{ utcMs: 0, offsetMs: HOUR_MS }]));
    tracker.complete(SECOND, createFile('c', Date.parse('2026-11-21T11:15:00Z')));
    const between = '2026-11-21-11:15:00';
    expect(tracker.mayRead(wallAfter(FIRST, 1000), between)).toBe(true);
    expect(tracker.isLate(createFile('b'), between)).toBe(true);
    expect(rule.matches).toEqual([]);
  });

  test('a rotated file that follows what was read last is in order, although the clock was set back', () => {
    tracker.complete(SECOND, createFile('c', Date.parse('2026-11-21T11:00:00Z')));
    expect(tracker.mayRead(wallAfter(SECOND, 0), '2026-11-21-10:45:00')).toBe(true);
    expect(tracker.isLate(createFile('d'), '2026-11-21-10:45:00')).toBe(false);
  });

  test('a first line, or a name, of a clock that was not set proves neither a link nor a break', async () => {
    expect(tracker.mayRead(Date.UTC(1970, 0, 1, 1, 0, 20))).toBe(true);
    expect(tracker.position.brokenLinks).toMatchObject([{ isVague: true }]);
    const unset = '1970-01-01-00:00:20';
    tracker.recordListed(listed(FIRST, unset));
    tracker.complete(unset, createFile('b', Date.UTC(1970, 0, 1)));
    expect(tracker.mayRead(wallAfter(unset, 0))).toBe(true);
    expect(tracker.mayRead(wallAfter(SECOND, 0))).toBe(true);
    expect(rule.matches).toEqual([]);
    expect(rule.refuted).toEqual([]);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST, unset))).toEqual([]);
  });

  test('a file of a clock that began at the date of the firmware does not contradict the rule', () => {
    const zoneless = new Tracker(tracker.position, new Zone(undefined));
    zoneless.recordListed(listed(FIRST, SECOND));
    const bootMs = Date.UTC(2022, 0, 1, 0, 0, 20);
    zoneless.complete(SECOND, { ...createFile('b', bootMs), lastUtcMs: bootMs, follows: FIRST });
    expect(rule.refuted).toEqual([]);
  });

  test('after a start with an unset clock, the last file gone, something may be missing', async () => {
    tracker.mayRead(Date.UTC(1970, 0, 1, 1, 0, 20));
    expect(tracker.flagsFor(createFile('c'), undefined)).toEqual([]);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed())).toMatchObject([{ certainty: 'possible', reason: 'broken-link' }]);
  });

  test('reports what it sees of the rule, and only what a log that follows it shows', () => {
    tracker.mayRead(wallAfter(FIRST, 1000));
    expect(rule.matches).toEqual([FIRST]);
  });

  test('while the rule does not hold, nothing waits and nothing is claimed', async () => {
    rule.holds = false;
    tracker.recordListed(listed(FIRST));
    expect(tracker.mayRead(wallAfter(SECOND, 0))).toBe(true);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
  });

  test('a break that was found while the rule held is not emitted when it holds no more', async () => {
    tracker.recordListed(listed(FIRST));
    expect(tracker.mayRead(wallAfter(SECOND, 0))).toBe(false);
    rule.holds = false;
    expect(tracker.mayRead(wallAfter(SECOND, 0))).toBe(true);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
  });

  test('a file that is listed right behind the last one waits for nothing, whatever its first line says', () => {
    const next = '2026-11-21-12:00:00';
    tracker.recordListed(listed(FIRST, next));
    expect(tracker.mayRead(wallAfter(SECOND, 0), next)).toBe(true);
    expect(tracker.position.brokenLinks).toEqual([]);
    // Written with the clock set back: names no longer tell the order.
    expect(tracker.mayRead(wallAfter(FIRST, -600_000), next)).toBe(false);
  });

  test('a rotated file behind a name from a clock that was days ahead is not late, and something may be missing before it', () => {
    const ahead = '2027-12-26-22:34:46';
    tracker.complete(ahead, createFile('c', Date.parse('2027-12-26T22:30:15Z')));
    tracker.recordListed(listed(FIRST, ahead));
    expect(tracker.mayRead(wallAfter(SECOND, 0), '2026-11-21-11:40:00')).toBe(false);
    expect(tracker.isLate(createFile('d'), '2026-11-21-11:40:00')).toBe(false);
    expect(tracker.position.brokenLinks).toMatchObject([{ after: ahead }]);
  });

  test('a late file that lasted a second is not its own successor', async () => {
    tracker.complete(SECOND, createFile('c', Date.parse('2026-11-21T11:20:00Z')));
    const short = '2026-11-21-11:10:01';
    expect(tracker.mayRead(wallAfter('2026-11-21-11:10:00', 0), short)).toBe(true);
    const file = createFile('b', Date.parse('2026-11-21T11:10:00Z'));
    tracker.complete(short, file);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST, short, SECOND))).toMatchObject([
      { certainty: 'likely', reason: 'broken-link', from: tracker.edgeOf(file) },
    ]);
  });

  test('a link is whole again when the missing file was read', async () => {
    tracker.mayRead(wallAfter(SECOND, 0));
    tracker.complete(SECOND, createFile('b', Date.parse('2026-11-21T11:00:00Z')));
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST, SECOND))).toEqual([]);
    expect(tracker.mayRead(wallAfter(SECOND, 0))).toBe(true);
  });
});

describe('takeStep() watches a rotation', () => {
  const THIRD = '2026-11-21-12:00:00';
  const at = (time: string) => Date.parse(`2026-11-21T${time}Z`);
  const read = (key: string, from: string, to: string): LogFile => ({
    ...createFile(key, at(from)),
    lastUtcMs: at(to),
  });

  /** The file before was seen as `current`, and the next one was begun behind it. */
  function follow(next: LogFile): void {
    const first = read('a', '10:40:00', '10:50:00');
    tracker.open(first);
    tracker.recordListed(listed(FIRST));
    tracker.complete(FIRST, first);
    tracker.open(next);
  }

  test('a file that does not begin where the one before ended, both listed and none between, refutes the rule', () => {
    const next = read('b', '11:20:00', '11:29:00');
    follow(next);
    tracker = restart();
    tracker.recordListed(listed(FIRST, SECOND));
    const [open] = tracker.begun;
    tracker.complete(SECOND, open);
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
    tracker.recordListed(listed(...stamps));
    tracker.complete(stamps.at(-1) ?? '', next);
    expect(rule.refuted).toEqual([]);
  });

  test('files that were there at first contact refute nothing, but speak against the rule', () => {
    tracker.recordListed(listed(FIRST, SECOND));
    tracker.complete(FIRST, read('a', '10:40:00', '10:50:00'));
    tracker.complete(SECOND, read('b', '11:20:00', '11:29:00'));
    expect(rule.refuted).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('the current of a first contact, behind a file that is still listed after 15 minutes, speaks against it too', async () => {
    tracker.recordListed(listed(FIRST));
    tracker.complete(FIRST, read('a', '10:40:00', '10:50:00'));
    expect(tracker.mayRead(at('12:20:00'))).toBe(false);
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('a log whose end lies in a buffer may have lost the beginning of a file in a crash, and refutes nothing', () => {
    tracker.alter({ stream: { ...tracker.position.stream, isBuffered: true } });
    const next = read('b', '11:20:00', '11:29:00');
    follow(next);
    tracker.recordListed(listed(FIRST, SECOND));
    tracker.complete(SECOND, next);
    expect(rule.refuted).toEqual([]);
    expect(rule.misses).toEqual([FIRST]);
  });

  test('a break behind a file that is still listed after 15 minutes refutes the rule, and is no gap', async () => {
    const first = read('a', '10:40:00', '10:50:00');
    tracker.open(first);
    tracker.recordListed(listed(FIRST));
    tracker.complete(FIRST, first);
    expect(tracker.mayRead(at('12:20:00'))).toBe(false);
    await clock.advance(15 * 60_000);
    tracker = restart();
    tracker.recordListed(listed(FIRST));
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
    expect(rule.refuted).toEqual([FIRST]);
  });

  test('a break before a file that may have taken the place of another one is a gap, and refutes nothing', async () => {
    const first = read('a', '10:40:00', '10:50:00');
    tracker.open(first);
    tracker.recordListed(listed(FIRST));
    tracker.complete(FIRST, first);
    expect(tracker.mayRead(at('12:30:00'))).toBe(false);
    tracker.recordListed(listed(FIRST, SECOND));
    tracker.complete(SECOND, read('b', '11:30:00', '11:30:00'));
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST, SECOND))).toMatchObject([
      { certainty: 'likely', reason: 'broken-link' },
    ]);
    expect(rule.refuted).toEqual([]);
  });
});

describe('takeStep()', () => {
  test('holds newer lines for a minute after the open file was shelved, and gives it up after 15', async () => {
    const open = createFile('a');
    tracker.open(open);
    tracker.suspendOpen();
    expect(tracker.isHolding).toBe(true);
    await clock.advance(60_000);
    expect(tracker.isHolding).toBe(false);
    expect(tracker.expireOverdue(listed())).toEqual([]);
    await clock.advance(14 * 60_000);
    expect(tracker.expireOverdue(listed())).toMatchObject([
      { certainty: 'possible', reason: 'not-found', from: tracker.edgeOf(open), offset: 100 },
    ]);
    expect(tracker.begun).toEqual([]);
    expect(tracker.remembered).toEqual([open]);
  });

  test('a rotated file that vanishes before it was read is one certain gap, placed after what was read of it', () => {
    const open = createFile('a');
    tracker.open(open);
    tracker.suspendOpen();
    tracker.recordListed(listed(FIRST));
    expect(tracker.dropUnlisted(listed())).toMatchObject([
      { certainty: 'certain', reason: 'expired', from: tracker.edgeOf(open), file: `network/log-${FIRST}` },
    ]);
    expect(tracker.dropUnlisted(listed())).toEqual([]);
    expect(tracker.begun).toEqual([]);
  });

  test('a file that stays cut expires only when it was read again after the time of grace', async () => {
    tracker.recordListed(listed(FIRST));
    tracker.fail(FIRST, 'cut');
    await clock.advance(20 * 60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toEqual([]);
    tracker.fail(FIRST, 'cut');
    await clock.advance(60_000);
    expect(tracker.expireOverdue(listed(FIRST))).toMatchObject([{ certainty: 'certain', reason: 'damaged' }]);
  });

  test('a file from before the clock was set is not lost because of a younger one', async () => {
    tracker.open({ ...createFile('a'), lastUtcMs: Date.UTC(2000, 0, 1, 0, 0, 20) });
    tracker.suspendOpen();
    const wallMs = Date.UTC(2026, 10, 21, 12, 0, 0);
    tracker.observe({ type: 'file-unrelated', stamp: SECOND, firstWallAsUtcMs: wallMs });
    tracker.observe({ type: 'file-unrelated', stamp: SECOND, firstWallAsUtcMs: Date.UTC(2000, 0, 1, 1, 0, 30) });
    expect(tracker.expireOverdue(listed(SECOND))).toEqual([]);
  });

  test('a file is not passed by a younger one while an older one may be it that is to be tried again', async () => {
    tracker.open({
      ...createFile('a'),
      lastUtcMs: Date.parse('2026-11-21T10:50:00Z'),
      shownMs: Date.parse('2026-11-21T10:50:00Z'),
    });
    tracker.suspendOpen();
    tracker.recordListed(listed(FIRST, SECOND));
    tracker.fail(FIRST, 'cut');
    const unrelated = {
      type: 'file-unrelated',
      stamp: SECOND,
      firstWallAsUtcMs: Date.parse('2026-11-21T12:00:00Z'),
    } as const;
    tracker.observe(unrelated);
    expect(tracker.expireOverdue(listed(FIRST, SECOND))).toEqual([]);
    // Now it was tried again, and is another one.
    await clock.advance(5000);
    tracker.observe(unrelated);
    expect(tracker.expireOverdue(listed(FIRST, SECOND))).toMatchObject([{ certainty: 'certain', reason: 'expired' }]);
  });

  test('a rotated file that vanishes is not the rest of one that newer lines have overtaken', () => {
    const shelved = createFile('a');
    tracker.open(shelved);
    tracker.suspendOpen();
    tracker.complete(FIRST, createFile('b'));
    tracker.recordListed(listed(SECOND));
    expect(tracker.dropUnlisted(listed(FIRST))).toMatchObject([
      { certainty: 'certain', reason: 'expired', from: tracker.edgeOf(createFile('b')) },
    ]);
    expect(tracker.begun).toEqual([shelved]);
  });

  test('a reset is a gap behind the files that were begun, and behind what was read last', () => {
    const begun = createFile('a');
    tracker.open(begun);
    tracker.suspendOpen();
    tracker.complete(FIRST, createFile('b'));
    tracker.alter({ brokenLinks: [{ after: FIRST, from: undefined, sinceMs: NOON }] });
    expect(tracker.observe({ type: 'wiped' })).toMatchObject([
      { certainty: 'likely', reason: 'broken-link', file: `network/log-${FIRST}` },
      { certainty: 'possible', reason: 'reset', from: tracker.edgeOf(begun) },
      { certainty: 'possible', reason: 'reset', from: tracker.edgeOf(createFile('b')) },
    ]);
  });

  test('a reset while the last file is open is one gap', () => {
    const open = createFile('a');
    tracker.open(open);
    const edge = tracker.edgeOf(open);
    tracker.alter({ stream: { ...tracker.position.stream, lastUid: edge?.uid } });
    expect(tracker.observe({ type: 'wiped' })).toMatchObject([{ certainty: 'possible', reason: 'reset', from: edge }]);
  });

  test.each([
    ['wiped', { certainty: 'possible', bytesMin: undefined }],
    ['replaced', { certainty: 'certain', bytesMin: 3 }],
  ] as const)('half a line that was seen is lost for certain only with its device: %s', (reason, gap) => {
    const open = { ...createFile('a'), tornAt: [103] };
    tracker.open(open);
    tracker.alter({ stream: { ...tracker.position.stream, lastUid: tracker.edgeOf(open)?.uid } });
    expect(tracker.observe({ type: reason })).toMatchObject([gap]);
  });

  test('a rotated file that was read to its end is no news and no gap when it goes', () => {
    tracker.recordListed(listed(FIRST));
    tracker.complete(FIRST, createFile('a'));
    expect(tracker.isNews(listed(FIRST))).toBe(false);
    expect(tracker.recordListed(listed(FIRST))).toEqual([]);
    expect(tracker.dropUnlisted(listed())).toEqual([]);
    expect(tracker.position.completed).toEqual({});
    // Should the listing have been wrong, the content still says that it is known.
    expect(tracker.remembered).toEqual([createFile('a')]);
  });

  test('the rest of a shelved file is late once a newer file has been opened', () => {
    const shelved = createFile('a');
    tracker.open(shelved);
    tracker.suspendOpen();
    expect(tracker.flagsFor(shelved, FIRST)).toEqual([]);
    tracker.open(createFile('b'));
    expect(tracker.flagsFor(shelved, FIRST)).toEqual(['late']);
    expect(tracker.flagsFor(createFile('c'), FIRST)).toEqual(['late']);
  });

  test('counts generations of files that begin alike', () => {
    expect(tracker.nextGen('a')).toBe(0);
    tracker.complete(FIRST, createFile('a'));
    expect(tracker.nextGen('a')).toBe(1);
    tracker.open({ ...createFile('a'), gen: 4 });
    expect(tracker.nextGen('a')).toBe(5);
    expect(tracker.nextGen('b')).toBe(0);
  });

  test.each([
    ['1970', Date.UTC(1970, 0, 1, 0, 0, 20), NOON],
    ['the date of its firmware', Date.UTC(2022, 0, 1, 0, 0, 20), Date.UTC(2022, 0, 1, 0, 1, 0)],
  ])('remembers for years how many files began when the clock began at %s', (_, firstUtcMs, shownMs) => {
    const complete = (index: number, file: LogFile) => {
      const stamp = new Date(NOON + index * 1000).toISOString().slice(0, 19).replace('T', '-');
      tracker.complete(stamp, file);
      tracker.dropUnlisted(listed());
    };
    complete(0, { ...createFile('boot', firstUtcMs), lastUtcMs: firstUtcMs + 60_000, shownMs });
    for (let index = 1; index < 100; index++) {
      const utcMs = NOON + index * 1000;
      complete(index, { ...createFile(`key ${index}`, utcMs), lastUtcMs: utcMs, shownMs: utcMs });
    }
    expect(restart().nextGen('boot')).toBe(1);
  });

  test('remembers beginnings that came again before those that did not', async () => {
    const boot = () => ({ ...createFile('boot', Date.UTC(1970, 0, 1)), gen: tracker.nextGen('boot') });
    for (let index = 0; index < 100; index++) {
      tracker.open(index < 2 ? boot() : createFile(`key ${index}`, Date.UTC(1970, 0, 1)));
      tracker.suspendOpen();
    }
    await clock.advance(15 * 60_000);
    tracker.expireOverdue(listed());
    expect(tracker.nextGen('boot')).toBe(2);
    expect(Object.keys(tracker.position.gens)).toHaveLength(64);
  });

  test('remembers no more than eight lost files', async () => {
    for (let index = 0; index < 12; index++) {
      tracker.open(createFile(`key ${index}`));
      tracker.suspendOpen();
    }
    await clock.advance(15 * 60_000);
    expect(tracker.expireOverdue(listed())).toHaveLength(12);
    expect(tracker.position.lost.map(({ key }) => key)).toEqual(
      ['4', '5', '6', '7', '8', '9', '10', '11'].map((n) => `key ${n}`),
    );
  });
});
