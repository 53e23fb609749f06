import { type OffsetSeen, Zone } from '../time/zone.ts';
import { ONE_MOMENT_MS, toOffsetMs } from './link-rule.ts';

/** Local and UTC time of a router in one response: both by the same clock, right or wrong. */
export interface RouterTime {
  /** Local time, as if it were UTC. Milliseconds since the Unix epoch. */
  readonly wallAsUtcMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly utcMs: number;
}

/** Evidence of a router's zone. All times in it are the router's own. */
export interface ZoneEvidence {
  /** From rotations, oldest first. */
  seen: OffsetSeen[];
  /** From lines that were just written, against the router's own time. */
  inferred: OffsetSeen[];
  /** From the local and the UTC time in one answer of the router, oldest first: the first, and each that was another. */
  told?: OffsetSeen[] | undefined;
  /** Wall time of the agent at which the router was last asked for these. */
  askedMs?: number | undefined;
}

/** A zone that a router has shown. */
interface LearntZone {
  readonly zone: Zone;
  /** The IANA zone that explains all offsets, if one was found. */
  readonly name: string | undefined;
}

/** Observations that are kept. */
const SEEN_MAX = 16;
/** One could be a coincidence. */
const AGREEING_MIN = 2;
/** A router that has shown no offset is asked again after this: new firmware may have what the old one lacked. */
const ASK_AGAIN_MS = 3_600_000;
/** After a change of summer time the router is asked again and again for this long: its clock may be behind. */
const SETTLING_MS = 10 * 60_000;
/** Zones with summer time in which such routers are used. One is taken for a router's when it explains two offsets. */
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
 * Adds what the router has told, a rotation has shown, or a line that was just written. Of what it tells only changes are worth keeping.
 * Rotations of one moment are one: the same may be seen twice, and a timer takes all logs at once, behind which the next thing that
 * happens to the router is the first line of several.
 */
export function noteOffset(evidence: ZoneEvidence, from: 'told' | 'rotation' | 'line', seen: OffsetSeen): void {
  if (from === 'line') evidence.inferred = addOffset(evidence.inferred, seen);
  else if (from === 'rotation') {
    const isKnown = evidence.seen.some(
      ({ utcMs, offsetMs }) => offsetMs === seen.offsetMs && Math.abs(utcMs - seen.utcMs) <= ONE_MOMENT_MS,
    );
    if (!isKnown) evidence.seen = addOffset(evidence.seen, seen);
  } else {
    const { told = [] } = evidence;
    evidence.told = told.at(-1)?.offsetMs === seen.offsetMs ? told : [...told, seen].slice(-SEEN_MAX);
  }
}

/** Adds an observation; what says the same as the two before it replaces the newer one. */
function addOffset(list: readonly OffsetSeen[], seen: OffsetSeen): OffsetSeen[] {
  const [before, last] = list.slice(-2);
  const isSame = before?.offsetMs === seen.offsetMs && last?.offsetMs === seen.offsetMs;
  return [...(isSame ? list.slice(0, -1) : list), seen].slice(-SEEN_MAX);
}

/**
 * The zone that the evidence shows; `undefined` while it shows none. What a router tells counts from its first word on, unless
 * the rotations before that, or its lines since, contradict it: then it tells the time of another zone than that of its lines.
 */
export function learnZone({ seen, inferred, told = [] }: ZoneEvidence): LearntZone | undefined {
  const [rotations, lines] = [confirm(seen), confirm(inferred)];
  const written = rotations.length > 0 ? rotations : lines;
  const all = nameZone([...told, ...written]);
  if (!all || all.name !== undefined || !isRefuted(told, [...rotations, ...lines], rotations)) return all;
  return nameZone(written);
}

/** True if a router must be asked for its local time, so that lines do not get an offset that it no longer has. */
export function isZoneOpen({ told = [], askedMs }: ZoneEvidence, nowMs: number): boolean {
  // After the agent's clock was set back, nothing says how long ago it was.
  if (askedMs === undefined || askedMs > nowMs) return true;
  const last = told.at(-1);
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

/** True if lines that were written since the router first told its offset have another one, or rotations just before that. */
function isRefuted(
  told: readonly OffsetSeen[],
  written: readonly OffsetSeen[],
  rotations: readonly OffsetSeen[],
): boolean {
  const [first] = told;
  const before = first && rotations.findLast(({ utcMs }) => utcMs <= first.utcMs);
  if (before && before.offsetMs !== first.offsetMs) return true;
  return written.some(({ utcMs, offsetMs }) => {
    const valid = told.findLast((one) => one.utcMs <= utcMs);
    return valid !== undefined && valid.offsetMs !== offsetMs;
  });
}

/** Observations that another one next to them confirms. */
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

/** The two times of one answer are made within moments; what is further from an offset of a zone is no offset. */
const TOLD_RESIDUE_MS_MAX = 2 * 60_000;

/** The UTC offset that a router tells with its local and its UTC time; `undefined` when no zone has it. */
export function findToldOffsetMs({ wallAsUtcMs, utcMs }: RouterTime): number | undefined {
  return toOffsetMs(wallAsUtcMs - utcMs, TOLD_RESIDUE_MS_MAX);
}

/** A Date header that is off the agent's clock by an offset that a zone has may be local time; further from one than this, it is a wrong clock. */
const DATE_RESIDUE_MS_MAX = 60_000;

/** True if a router's Date header proves nothing: it differs from the agent's clock as local time does from UTC. */
export function isDateLocal(dateMs: number, nowMs: number): boolean {
  return (toOffsetMs(dateMs - nowMs, DATE_RESIDUE_MS_MAX) ?? 0) !== 0;
}
