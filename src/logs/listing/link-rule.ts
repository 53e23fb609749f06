import { FLOOR_MS } from '../time/log-clock.ts';
import { Zone } from '../time/zone.ts';
import { parseStampUtcMs, renderStamp } from './listing.ts';

/** Tolerance between the name of a file and the first line of the next one, for two clock reads. Milliseconds. */
export const LINK_MS_MAX = 2000;
/** All zone offsets are multiples of this. Milliseconds. */
const OFFSET_STEP_MS = 15 * 60_000;
const OFFSET_MS_MAX = 14 * 3_600_000;
const UNKNOWN = new Zone(undefined);

/** Returns true if a file that begins at `firstUtcMs` follows the file rotated at `stamp`. */
export function isLinked(firstUtcMs: number, stamp: string): boolean {
  return Math.abs(firstUtcMs - parseStampUtcMs(stamp)) <= LINK_MS_MAX;
}

/**
 * Returns the UTC offset shown by a rotation; `undefined` if the files do not follow each other. File names are in UTC
 * and lines in the router's zone, and a file begins in the second in which the previous one was renamed to `stamp`.
 * Without a named zone any valid offset is accepted.
 */
export function linkOffsetMs(firstWallAsUtcMs: number, stamp: string, zone = UNKNOWN): number | undefined {
  const stampUtcMs = parseStampUtcMs(stamp);
  if (zone.isNamed) {
    const { utcMs } = zone.toUtc(firstWallAsUtcMs, stampUtcMs);
    return isLinked(utcMs, stamp) ? firstWallAsUtcMs - utcMs : undefined;
  }
  return toOffsetMs(firstWallAsUtcMs - stampUtcMs, LINK_MS_MAX);
}

/** Rounds a difference to the nearest zone offset. Milliseconds. */
export function roundToOffset(differenceMs: number): number {
  return Math.round(differenceMs / OFFSET_STEP_MS) * OFFSET_STEP_MS;
}

/** Returns the nearest zone offset, if it is within `residueMsMax` of the difference. Milliseconds. */
export function toOffsetMs(differenceMs: number, residueMsMax: number): number | undefined {
  const offsetMs = roundToOffset(differenceMs);
  const isZone = Math.abs(offsetMs) <= OFFSET_MS_MAX && Math.abs(differenceMs - offsetMs) <= residueMsMax;
  return isZone ? offsetMs : undefined;
}

/** Evidence from the rotations of one log that a file begins in the second in which the previous one ends. */
interface LinkEvidence {
  readonly matches: number;
  /** Probability that all matches are coincidence. */
  readonly chance: number;
  /** Stamps of the last matches, so that none counts twice. */
  readonly stamps: readonly string[];
  /** Stamps of the last rotations without a match while the log was not followed, so a file may be missing. */
  readonly misses?: readonly string[] | undefined;
  /** Stamp of a rotation without a match although no file is missing. It disables the rule for this log. */
  readonly refutedBy: string | undefined;
}

export type LinkFacts = Readonly<Record<string, LinkEvidence>>;

/** The verdict on the rule for one router. */
export interface LinkVerdict {
  /** True if logs that do not contradict the rule may rely on it. */
  readonly holds: boolean;
  readonly matches: number;
  /** Rotations without a match that were not followed. */
  readonly misses: number;
  readonly chance: number;
  readonly refuted: readonly string[];
}

/** Evidence from one rotation. `stamp`: name of the file before it. */
export type LinkObservation =
  /** The next file begins in that second, with this UTC offset and mean distance of its lines. */
  | {
      readonly type: 'match';
      readonly stamp: string;
      readonly distanceMs: number | undefined;
      readonly offsetMs: number;
    }
  /** No match. `refutation`: nothing is missing between the files; `miss`: a file may be missing. */
  | { readonly type: 'miss' | 'refutation'; readonly stamp: string };

export interface Pace {
  lines: number;
  spanMs: number;
  /** Mean of the last distances, because a log may be busy by day and silent by night. Milliseconds. */
  recentMs: number;
}

/** The rule holds if coincidence is less likely than this. */
const CHANCE_MAX = 1 / 100;
/** Below this probability the rule is confirmed: one contradicting rotation is then more likely a loss. */
const CONFIRMED_CHANCE_MAX = 1e-6;
/** Lower bound, beyond which more evidence changes nothing. */
const CHANCE_MIN = 1e-12;
/**
 * Weight of a contradiction as a factor of the probability. A rotation that was not followed fails for other reasons in
 * less than one of ten cases; all logs of a router have the same writer. A router to which the rule does not apply is
 * then trusted in about one of a hundred cases, however many rotations are seen.
 */
const CONTRADICTION = 10;
/** Matches at this many different moments are needed: at one moment any of a router's logs could match. */
const MOMENTS_MIN = 2;
/** Rotations this close count as one, because a timer rotates all logs together. Milliseconds. */
export const ONE_MOMENT_MS = 60_000;
const STAMPS_MAX = 16;
/** Upper bound of remembered misses. */
const MISSES_MAX = 8;
/** Names and lines have whole seconds, and a match may be off in both directions. */
const WINDOW_MS = 2 * LINK_MS_MAX + 1000;
/** Longer distances count as this: silence says little about busy hours, and multiples of 15 minutes match any zone. */
const DISTANCE_MS_MAX = 15 * 60_000;
/** Number of distances averaged in {@link Pace.recentMs}. */
const RECENT = 8;

/** Judges the evidence of all logs of a router together. */
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

/** Returns true if the rule holds so surely that one rotation without a match does not refute it. */
export function isRuleConfirmed(facts: LinkFacts, component: string): boolean {
  const verdict = judgeLinks(facts);
  return verdict.holds && !isRefuted(facts, component) && weigh(verdict) < CONFIRMED_CHANCE_MAX;
}

function weigh({ chance, misses, refuted }: Pick<LinkVerdict, 'chance' | 'misses' | 'refuted'>): number {
  return chance * CONTRADICTION ** (misses + refuted.length);
}

function countMoments(stamps: readonly string[]): number {
  const times = stamps.map(parseStampUtcMs).toSorted((a, b) => a - b);
  return times.filter((atMs, index) => index === 0 || atMs - (times[index - 1] ?? 0) > ONE_MOMENT_MS).length;
}

/** Returns the probability that the first line after any moment falls into the same second. */
function chanceOfMatch(distanceMs: number): number {
  return Math.min(1, WINDOW_MS / Math.min(Math.max(distanceMs, 1), DISTANCE_MS_MAX));
}

const NO_EVIDENCE: LinkEvidence = { matches: 0, chance: 1, stamps: [], refutedBy: undefined };

/** Returns the evidence with one more observation; the same object if it was counted before. */
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

/** Returns true if two files of this log contradicted the rule. */
export function isRefuted(facts: LinkFacts, component: string): boolean {
  return evidenceOf(facts, component).refutedBy !== undefined;
}

/** `hasOwn`, because a log may have the name of a property of `Object`. */
function evidenceOf(facts: LinkFacts, component: string): LinkEvidence {
  return (Object.hasOwn(facts, component) ? facts[component] : undefined) ?? NO_EVIDENCE;
}

/** Counts a line `sinceMs` after the previous one. The first line of a file has no distance. */
export function addToPace(pace: Pace | undefined, sinceMs: number): Pace {
  if (!pace) return { lines: 1, spanMs: 0, recentMs: 0 };
  const distanceMs = clip(sinceMs);
  pace.spanMs += distanceMs;
  pace.recentMs += (distanceMs - pace.recentMs) / Math.min(pace.lines, RECENT);
  pace.lines++;
  return pace;
}

/** Returns the mean distance of the lines of a file that was rotated `sinceMs` after its last line. Milliseconds. */
export function meanDistanceMs(pace: Pace, sinceMs: number): number {
  const meanMs = (pace.spanMs + clip(sinceMs)) / pace.lines;
  return pace.lines > 1 ? Math.min(meanMs, pace.recentMs) : meanMs;
}

function clip(distanceMs: number): number {
  return Math.min(Math.max(distanceMs, 0), DISTANCE_MS_MAX);
}

/** Evidence of a router's UTC offset from one rotation. */
export interface OffsetEvidence {
  readonly rotatedUtcMs: number;
  /** Wall time of the first stamped line after it, as if it were UTC. Milliseconds since the Unix epoch. */
  readonly firstWallAsUtcMs: number;
  /** Wall time minus UTC, if a zone has this offset. Milliseconds. */
  readonly offsetMs: number | undefined;
  /** Mean distance of the following lines, if there are several. Milliseconds. */
  readonly distanceMs: number | undefined;
}

/** Judges the newest rotations of some logs, without having followed them. */
export function judgeRotations(seen: ReadonlyMap<string, OffsetEvidence>): LinkVerdict {
  let facts: LinkFacts = {};
  for (const [component, { rotatedUtcMs, firstWallAsUtcMs, offsetMs, distanceMs }] of seen) {
    const stamp = renderStamp(rotatedUtcMs);
    if (offsetMs !== undefined) facts = addEvidence(facts, component, { type: 'match', stamp, distanceMs, offsetMs });
    else if (firstWallAsUtcMs >= FLOOR_MS) facts = addEvidence(facts, component, { type: 'miss', stamp });
  }
  return judgeLinks(facts);
}
