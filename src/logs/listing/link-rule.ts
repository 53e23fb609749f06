import { FLOOR_MS } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import { parseStampUtcMs, renderStamp } from './listing.ts';

/** A file begins in the second in which the one before it was rotated; this much more covers two clocks read in turn. */
export const LINK_MS_MAX = 2000;
/** Offsets of all zones are multiples of this. */
const OFFSET_STEP_MS = 15 * 60_000;
const OFFSET_MS_MAX = 14 * 3_600_000;
const UNKNOWN = new Zone(undefined);

/** True if a file that begins at `firstUtcMs` follows the file that was rotated at `stamp`. */
export function isLinked(firstUtcMs: number, stamp: string): boolean {
  return Math.abs(firstUtcMs - parseStampUtcMs(stamp)) <= LINK_MS_MAX;
}

/**
 * The router's UTC offset as a rotation shows it: names of files are in UTC, lines in the router's zone, and the first line
 * of a file falls in the second in which the file before it was renamed to `stamp`. `undefined` when the two do not belong
 * together. While the rules of the zone are not known, as by default, any offset that a zone can have will do.
 */
export function linkOffsetMs(firstWallAsUtcMs: number, stamp: string, zone = UNKNOWN): number | undefined {
  const stampUtcMs = parseStampUtcMs(stamp);
  if (zone.isNamed) {
    const { utcMs } = zone.toUtc(firstWallAsUtcMs, stampUtcMs);
    return isLinked(utcMs, stamp) ? firstWallAsUtcMs - utcMs : undefined;
  }
  return toOffsetMs(firstWallAsUtcMs - stampUtcMs, LINK_MS_MAX);
}

/** The multiple of the steps of all zones that is next to a difference. Milliseconds. */
export function roundToOffset(differenceMs: number): number {
  return Math.round(differenceMs / OFFSET_STEP_MS) * OFFSET_STEP_MS;
}

/** The offset that a zone can have and that a difference shows, unless it is further from one than `residueMsMax`. */
export function toOffsetMs(differenceMs: number, residueMsMax: number): number | undefined {
  const offsetMs = roundToOffset(differenceMs);
  const isZone = Math.abs(offsetMs) <= OFFSET_MS_MAX && Math.abs(differenceMs - offsetMs) <= residueMsMax;
  return isZone ? offsetMs : undefined;
}

/** Evidence from the rotations of one log for the rule that a file begins in the second in which the one before ends. */
interface LinkEvidence {
  /** Rotations in which it did. */
  readonly matches: number;
  /** Probability that all of them were chance. */
  readonly chance: number;
  /** Names of the last of them: none counts twice. */
  readonly stamps: readonly string[];
  /** Names of the last rotations in which it did not, and that nobody watched: something may have been missing, or lost. */
  readonly misses?: readonly string[] | undefined;
  /** A rotation in which it did not, although nothing was missing. It ends the use of the rule for this log. */
  readonly refutedBy: string | undefined;
}

/** By component. */
export type LinkFacts = Readonly<Record<string, LinkEvidence>>;

/** Result of judging the rotations of a router. */
export interface LinkVerdict {
  /** True if logs that do not contradict the rule may rely on it. */
  readonly holds: boolean;
  readonly matches: number;
  /** Rotations that speak against it, and were not watched. */
  readonly misses: number;
  /** Probability of all matches together by chance. */
  readonly chance: number;
  /** Logs that contradict it. */
  readonly refuted: readonly string[];
}

/** Evidence from one rotation for or against the rule. `stamp`: name of the file before it. */
export type LinkObservation =
  /** The file behind it, whose lines came at this distance, began in the second of that name by a clock with this offset. */
  | {
      readonly type: 'match';
      readonly stamp: string;
      readonly distanceMs: number | undefined;
      readonly offsetMs: number;
    }
  /** It did not, as far as anybody can tell who has not watched it; `refutation`: nothing is missing between the two. */
  | { readonly type: 'miss' | 'refutation'; readonly stamp: string };

/** Frequency of the lines of a file. */
export interface Pace {
  /** Lines with a time. */
  lines: number;
  /** The time between them, all in all. Milliseconds. */
  spanMs: number;
  /** The mean of the last distances: a log may be busy by day and silent by night. Milliseconds. */
  recentMs: number;
}

/** Chance alone must be less likely than this. */
const CHANCE_MAX = 1 / 100;
/** Below this the rule is beyond doubt: then one rotation that contradicts it is more likely a loss. */
const DOUBT_CHANCE_MAX = 1e-6;
/** Beyond this, more evidence changes nothing. */
const CHANCE_MIN = 1e-12;
/**
 * Weight of a contradiction, as a factor of the chance: a rotation that nobody watched, because the rule fails for a
 * reason in less than one of so many, and a log, because all logs of a router have one writer. So a router whose rotations
 * mean nothing is believed in about one case of a hundred, however many of its rotations are looked at.
 */
const CONTRADICTION = 10;
/** Matches at so many moments at least: at one, any of a router's logs could have matched, and it is seen before the others. */
const MOMENTS_MIN = 2;
/** Rotations this close are one: a timer takes all logs at once, and what happens to a router stands in several of them. */
export const ONE_MOMENT_MS = 60_000;
/** Names that are remembered for each log. */
const STAMPS_MAX = 16;
/** More than this a log has to outweigh never. */
const MISSES_MAX = 8;
/** Names and lines show whole seconds, and a match may be off to either side. */
const WINDOW_MS = 2 * LINK_MS_MAX + 1000;
/**
 * A longer time between two lines counts as this. Silence says little about the hours in which a log writes; and any zone
 * explains a distance of a multiple of this, so that a match is no less likely by chance than that.
 */
const DISTANCE_MS_MAX = 15 * 60_000;
/** Distances that {@link Pace.recentMs} is about. */
const RECENT = 8;

/** The evidence of all logs of a router taken together. */
export function judgeLinks(facts: LinkFacts): LinkVerdict {
  let [chance, matches, misses] = [1, 0, 0];
  const stamps: string[] = [];
  const refuted: string[] = [];
  for (const [component, evidence] of Object.entries(facts)) {
    if (evidence.refutedBy !== undefined) {
      refuted.push(component);
      continue;
    }
    chance *= evidence.chance;
    matches += evidence.matches;
    misses += evidence.misses?.length ?? 0;
    stamps.push(...evidence.stamps);
  }
  const isUnlikely = weigh({ chance, misses, refuted }) < CHANCE_MAX;
  return { holds: isUnlikely && countMoments(stamps) >= MOMENTS_MIN, chance, matches, misses, refuted };
}

/** True if the rule holds for a log, and so many rotations have shown it that a single one without a match does not refute it. */
export function isBeyondDoubt(facts: LinkFacts, component: string): boolean {
  const verdict = judgeLinks(facts);
  return verdict.holds && !isRefuted(facts, component) && weigh(verdict) < DOUBT_CHANCE_MAX;
}

/** The probability by chance, with what speaks against the rule. */
function weigh({ chance, misses, refuted }: Pick<LinkVerdict, 'chance' | 'misses' | 'refuted'>): number {
  return chance * CONTRADICTION ** (misses + refuted.length);
}

/** Rotations that are close to each other are one. */
function countMoments(stamps: readonly string[]): number {
  const times = stamps.map(parseStampUtcMs).toSorted((a, b) => a - b);
  return times.filter((atMs, index) => index === 0 || atMs - (times[index - 1] ?? 0) > ONE_MOMENT_MS).length;
}

/** Returns the probability that the first line after an arbitrary moment falls into its second. */
function chanceOfMatch(distanceMs: number): number {
  return Math.min(1, WINDOW_MS / Math.min(Math.max(distanceMs, 1), DISTANCE_MS_MAX));
}

/** The evidence of a log that was not rotated yet. */
const NO_EVIDENCE: LinkEvidence = { matches: 0, chance: 1, stamps: [], refutedBy: undefined };

/** The evidence with one more observation of a log; the same when it was counted already. */
export function addEvidence(facts: LinkFacts, component: string, observation: LinkObservation): LinkFacts {
  const { stamp } = observation;
  const known = evidenceOf(facts, component);
  if (observation.type !== 'match') {
    if (observation.type === 'refutation') return { ...facts, [component]: { ...known, refutedBy: stamp } };
    const others = known.misses?.filter((other) => other !== stamp) ?? [];
    return { ...facts, [component]: { ...known, misses: [...others, stamp].slice(-MISSES_MAX) } };
  }
  const { distanceMs } = observation;
  if (distanceMs === undefined || known.stamps.includes(stamp)) return facts;
  const atMs = parseStampUtcMs(stamp);
  const isOne = Object.values(facts).some(({ stamps }) =>
    stamps.some((other) => Math.abs(parseStampUtcMs(other) - atMs) <= ONE_MOMENT_MS),
  );
  const chance = isOne ? known.chance : Math.max(CHANCE_MIN, known.chance * chanceOfMatch(distanceMs));
  const stamps = [...known.stamps, stamp].slice(-STAMPS_MAX);
  return { ...facts, [component]: { ...known, matches: known.matches + 1, chance, stamps } };
}

/** Returns true if another rotation of this log than `stamp` did not match. */
export function hasOtherMiss(facts: LinkFacts, component: string, stamp: string): boolean {
  return evidenceOf(facts, component).misses?.some((other) => other !== stamp) ?? false;
}

/** Returns true if two files of this log have contradicted the rule. */
export function isRefuted(facts: LinkFacts, component: string): boolean {
  return evidenceOf(facts, component).refutedBy !== undefined;
}

/** A log may be named as something that any object has. */
function evidenceOf(facts: LinkFacts, component: string): LinkEvidence {
  return (Object.hasOwn(facts, component) ? facts[component] : undefined) ?? NO_EVIDENCE;
}

/** The next line with a time: `sinceMs` after the one before it, which the first line of a file does not have. */
export function addToPace(pace: Pace | undefined, sinceMs: number): Pace {
  if (!pace) return { lines: 1, spanMs: 0, recentMs: 0 };
  const distanceMs = clip(sinceMs);
  pace.spanMs += distanceMs;
  pace.recentMs += (distanceMs - pace.recentMs) / Math.min(pace.lines, RECENT);
  pace.lines++;
  return pace;
}

/** The mean distance of the lines of a file, where its rotation came `sinceMs` after the last one. Milliseconds. */
export function meanDistanceMs(pace: Pace, sinceMs: number): number {
  const meanMs = (pace.spanMs + clip(sinceMs)) / pace.lines;
  return pace.lines > 1 ? Math.min(meanMs, pace.recentMs) : meanMs;
}

function clip(distanceMs: number): number {
  return Math.min(Math.max(distanceMs, 0), DISTANCE_MS_MAX);
}

/** Evidence of a router's UTC offset from one rotation. */
export interface OffsetEvidence {
  /** The moment in the name of the newest rotated file, in UTC. */
  readonly rotatedUtcMs: number;
  /** The first line with a stamp behind it, by the router's wall clock as if that were UTC. */
  readonly firstWallAsUtcMs: number;
  /** The difference, when it is one that a zone can have: wall time minus UTC. */
  readonly offsetMs: number | undefined;
  /** The mean distance of the lines behind it, if there are several. Milliseconds. */
  readonly distanceMs: number | undefined;
}

/** Judges from the newest rotations of some logs how files follow each other. None of them was watched. */
export function judgeRotations(seen: ReadonlyMap<string, OffsetEvidence>): LinkVerdict {
  let facts: LinkFacts = {};
  for (const [component, { rotatedUtcMs, firstWallAsUtcMs, offsetMs, distanceMs }] of seen) {
    const stamp = renderStamp(rotatedUtcMs);
    if (offsetMs !== undefined) facts = addEvidence(facts, component, { type: 'match', stamp, distanceMs, offsetMs });
    else if (firstWallAsUtcMs >= FLOOR_MS) facts = addEvidence(facts, component, { type: 'miss', stamp });
  }
  return judgeLinks(facts);
}
