import { type OffsetSeen, Zone } from '../time/zone.ts';
import { ONE_MOMENT_MS, toOffsetMs } from './link-rule.ts';

/** Local and UTC time in one response of a router, from the same clock. */
export interface RouterTime {
  /** Local time as if it were UTC. Milliseconds since the Unix epoch. */
  readonly wallAsUtcMs: number;
  readonly utcMs: number;
}

/** Stored evidence of a router's zone. All times are by the router's clock. */
export interface ZoneEvidence {
  seen: OffsetSeen[];
  inferred: OffsetSeen[];
  /** Local against UTC time as reported by the router: the first one and each change. The stored name stays. */
  told?: OffsetSeen[] | undefined;
  /** Wall clock of the agent at the last request for these times. */
  askedMs?: number | undefined;
}

interface LearntZone {
  readonly zone: Zone;
  readonly name: string | undefined;
}

const SEEN_MAX = 16;
/** One could be a coincidence. */
const AGREEING_MIN = 2;
/** A router without a reported offset is asked again after this time: new firmware may report it. Milliseconds. */
const ASK_AGAIN_MS = 3_600_000;
/** After a change of summer time the router is asked for this long, because its clock may lag. Milliseconds. */
const SETTLING_MS = 10 * 60_000;
/** Zones with summer time where such routers are used. A zone is chosen once it matches two offsets. */
const CANDIDATES = [
  'Europe/Berlin',
  'Europe/London',
  'Europe/Athens',
  'America/New_York',
  'America/Chicago',
  'America/Denver',
  'America/Los_Angeles',
  'Australia/Sydney',
  'Pacific/Auckland',
];
const CANDIDATE_ZONES = CANDIDATES.map((name) => new Zone(name));

/**
 * Adds an offset reported by the router, shown by a rotation, or shown by a new line.
 *
 * Rotations at about the same moment count once: a timer rotates all logs together, and the next event of the router is
 * then the first line of several files.
 */
export function recordOffset(evidence: ZoneEvidence, from: 'reported' | 'rotation' | 'line', seen: OffsetSeen): void {
  if (from === 'line') evidence.inferred = addOffset(evidence.inferred, seen);
  else if (from === 'rotation') {
    const isKnown = evidence.seen.some(
      ({ utcMs, offsetMs }) => offsetMs === seen.offsetMs && Math.abs(utcMs - seen.utcMs) <= ONE_MOMENT_MS,
    );
    if (!isKnown) evidence.seen = addOffset(evidence.seen, seen);
  } else {
    const { told: reported = [] } = evidence;
    evidence.told = reported.at(-1)?.offsetMs === seen.offsetMs ? reported : [...reported, seen].slice(-SEEN_MAX);
  }
}

/** An observation equal to the two before it replaces the last one. */
function addOffset(list: readonly OffsetSeen[], seen: OffsetSeen): OffsetSeen[] {
  const [before, last] = list.slice(-2);
  const isSame = before?.offsetMs === seen.offsetMs && last?.offsetMs === seen.offsetMs;
  return [...(isSame ? list.slice(0, -1) : list), seen].slice(-SEEN_MAX);
}

/**
 * Returns the zone that the evidence shows. Reported offsets are used unless earlier rotations or later lines
 * contradict them: some routers report the time of another zone.
 */
export function learnZone({ seen, inferred, told: reported = [] }: ZoneEvidence): LearntZone | undefined {
  const [rotations, lines] = [confirm(seen), confirm(inferred)];
  const written = rotations.length > 0 ? rotations : lines;
  const all = nameZone([...reported, ...written]);
  if (!all || all.name !== undefined || !isRefuted(reported, [...rotations, ...lines], rotations)) return all;
  return nameZone(written);
}

/** Returns true if the router must be asked for its local time, so that no line gets an outdated offset. */
export function isZoneOpen({ told: reported = [], askedMs }: ZoneEvidence, nowMs: number): boolean {
  // The agent's clock was set back, so the age is unknown.
  if (askedMs === undefined || askedMs > nowMs) return true;
  const last = reported.at(-1);
  if (!last) return nowMs - askedMs >= ASK_AGAIN_MS;
  return CANDIDATE_ZONES.some((zone) => {
    const offsetMs = zone.offsetAt(askedMs - SETTLING_MS);
    return offsetMs === last.offsetMs && offsetMs !== zone.offsetAt(nowMs);
  });
}

function nameZone(steps: readonly OffsetSeen[]): LearntZone | undefined {
  if (steps.length === 0) return undefined;
  const offsets = new Set(steps.map(({ offsetMs }) => offsetMs));
  const name = offsets.size > 1 ? CANDIDATES.find((candidate) => explains(candidate, steps)) : undefined;
  return { zone: new Zone(name, steps), name };
}

/** True if lines written after the first report, or the last rotation before it, have another offset. */
function isRefuted(
  reported: readonly OffsetSeen[],
  written: readonly OffsetSeen[],
  rotations: readonly OffsetSeen[],
): boolean {
  const [first] = reported;
  const before = first && rotations.findLast(({ utcMs }) => utcMs <= first.utcMs);
  if (before && before.offsetMs !== first.offsetMs) return true;
  return written.some(({ utcMs, offsetMs }) => {
    const valid = reported.findLast((one) => one.utcMs <= utcMs);
    return valid !== undefined && valid.offsetMs !== offsetMs;
  });
}

function confirm(list: readonly OffsetSeen[]): OffsetSeen[] {
  if (list.length < AGREEING_MIN) return [];
  return list.filter(
    ({ offsetMs }, index) => list[index - 1]?.offsetMs === offsetMs || list[index + 1]?.offsetMs === offsetMs,
  );
}

function explains(name: string, steps: readonly OffsetSeen[]): boolean {
  const zone = new Zone(name);
  return steps.every(({ utcMs, offsetMs }) => zone.toUtc(utcMs + offsetMs, utcMs).utcMs === utcMs);
}

/** Both times are taken within moments. A larger remainder is not a zone offset. Milliseconds. */
const REPORTED_RESIDUE_MS_MAX = 2 * 60_000;

/** Returns the UTC offset between the reported local and UTC time; `undefined` if no zone has it. */
export function findReportedOffsetMs({ wallAsUtcMs, utcMs }: RouterTime): number | undefined {
  return toOffsetMs(wallAsUtcMs - utcMs, REPORTED_RESIDUE_MS_MAX);
}

/** A Date header this close to a zone offset from the agent's clock may be local time. Milliseconds. */
const DATE_RESIDUE_MS_MAX = 60_000;

/** Returns true if a Date header may be local time and therefore proves nothing. */
export function isDateLocal(dateMs: number, nowMs: number): boolean {
  return (toOffsetMs(dateMs - nowMs, DATE_RESIDUE_MS_MAX) ?? 0) !== 0;
}
