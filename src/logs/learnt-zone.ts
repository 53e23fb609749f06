import { type OffsetSeen, Zone } from './zone.ts';

/** What the rotations of a router, and its own time, have shown of its zone. */
export interface ZoneEvidence {
  /** From rotations, oldest first. */
  seen: OffsetSeen[];
  /** From lines that were just written, against the router's own time. */
  inferred: OffsetSeen[];
}

/** Observations that are kept. */
const SEEN_MAX = 16;
/** One could be a coincidence. */
const AGREEING_MIN = 2;
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

/** Adds an observation; what says the same as the two before it replaces the newer one. */
export function noteOffset(list: readonly OffsetSeen[], seen: OffsetSeen): OffsetSeen[] {
  const [before, last] = list.slice(-2);
  const isSame = before?.offsetMs === seen.offsetMs && last?.offsetMs === seen.offsetMs;
  return [...(isSame ? list.slice(0, -1) : list), seen].slice(-SEEN_MAX);
}

/** The zone that the evidence shows; `undefined` while it shows none. Rotations count before the router's own time. */
export function learnZone({
  seen,
  inferred,
}: ZoneEvidence): { readonly zone: Zone; readonly name: string | undefined } | undefined {
  const proven = confirm(seen);
  const steps = proven.length > 0 ? proven : confirm(inferred);
  if (steps.length === 0) return undefined;
  const offsets = new Set(steps.map(({ offsetMs }) => offsetMs));
  const name = offsets.size > 1 ? CANDIDATES.find((candidate) => explains(candidate, steps)) : undefined;
  return { zone: new Zone(name, steps), name };
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
  return steps.every(({ utcMs, offsetMs }) => zone.place(utcMs + offsetMs, utcMs).utcMs === utcMs);
}
