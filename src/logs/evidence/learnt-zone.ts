import { type OffsetSeen, Zone } from '../time/zone.ts';
import { ONE_MOMENT_MS } from './link-rule.ts';

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

/** Adds an observation; what says the same as the two before it replaces the newer one. */
export function noteOffset(list: readonly OffsetSeen[], seen: OffsetSeen): OffsetSeen[] {
  const [before, last] = list.slice(-2);
  const isSame = before?.offsetMs === seen.offsetMs && last?.offsetMs === seen.offsetMs;
  return [...(isSame ? list.slice(0, -1) : list), seen].slice(-SEEN_MAX);
}

/**
 * Adds what a rotation shows. Rotations of one moment are one: the same may be seen twice, and a timer takes all logs at once,
 * behind which the next thing that happens to the router is the first line of several.
 */
export function noteRotation(list: readonly OffsetSeen[], seen: OffsetSeen): OffsetSeen[] {
  const isKnown = list.some(
    ({ utcMs, offsetMs }) => offsetMs === seen.offsetMs && Math.abs(utcMs - seen.utcMs) <= ONE_MOMENT_MS,
  );
  return isKnown ? [...list] : noteOffset(list, seen);
}

/** Adds what the router has told; only changes are worth keeping. */
export function noteTold(list: readonly OffsetSeen[], told: OffsetSeen): OffsetSeen[] {
  return list.at(-1)?.offsetMs === told.offsetMs ? [...list] : [...list, told].slice(-SEEN_MAX);
}

/**
 * The zone that the evidence shows; `undefined` while it shows none. What a router tells counts from its first word on, unless
 * the rotations before that, or its lines since, contradict it: then it tells the time of another zone than that of its lines.
 */
export function learnZone({
  seen,
  inferred,
  told = [],
}: ZoneEvidence): { readonly zone: Zone; readonly name: string | undefined } | undefined {
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

function nameZone(steps: readonly OffsetSeen[]) {
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
