import type { RouterSummary } from '../api/routers.ts';
import { type Facet, type FacetCounts, listFacetValues } from './facets.ts';

/** A mass outage: the common properties of the routers that are down. */
export interface Outage {
  /** Number of routers that are down. */
  readonly down: number;
  /** Number of all routers. */
  readonly total: number;
  /** The property that stands out: more than half of them have it, and it is more frequent among them than in the fleet. */
  readonly common: OutageValue | null;
  /** Start of the ten minutes in which most of those with {@link common}, by default of all, went down. */
  readonly since: OutageStart | null;
  /** The step at which most of the same routers fail. */
  readonly step: Majority | null;
  /** Counts by step, labels, firmware and so on, the largest first. */
  readonly groups: readonly OutageGroup[];
}

/** What more than half of some routers have. */
export interface Majority {
  /** The step or the time. */
  readonly value: string;
  /** True if all of them have it. */
  readonly isAll: boolean;
}

/** When most of some routers went down. */
interface OutageStart extends Majority {
  /** False if they were down when the agent started: then `value` is the latest time. */
  readonly isKnown: boolean;
}

/** A router that is down, as far as the outage is about it. */
export type DownRouter = Pick<
  RouterSummary,
  'since' | 'isFirstState' | 'labels' | 'failure' | 'fault' | 'firmware' | 'device'
>;

/** A value of a facet. */
export interface OutageValue {
  readonly facet: Facet;
  readonly value: string;
  /** Routers with this value that are down. */
  readonly down: number;
  /** Routers with this value. */
  readonly total: number;
}

/** Counts of the values of one property. */
export interface OutageGroup {
  /** `step`, `firmware`, …, or the name of a label. */
  readonly name: string;
  /** The values, the one with the most routers down first. */
  readonly values: readonly OutageValue[];
  /** Number of further values with a router down. */
  readonly rest: number;
}

/** A mass outage: so many routers are down, and this share of the fleet. */
const DOWN_MIN = 5;
const SHARE_MIN = 0.05;
const WINDOW_MS = 10 * 60_000;
/** A value stands out when its share of the routers that are down is so many times its share of the fleet. */
const LIFT_MIN = 1.25;
const VALUES_MAX = 4;
const GROUPS_MAX = 8;

/** Finds what the routers that are down have in common; `undefined` when they are few. */
export function findOutage(fleet: {
  readonly total: number;
  readonly routersDown: readonly DownRouter[];
  readonly facets: FacetCounts;
}): Outage | undefined {
  const { total, routersDown, facets } = fleet;
  const down = routersDown.length;
  if (down < DOWN_MIN || down < total * SHARE_MIN) return undefined;
  const all = Object.entries(facets).flatMap(([facet, counts]) => listDown(facet as Facet, counts));
  const lift = (one: OutageValue) => one.down / down / (one.total / total);
  const common = all
    .filter((one) => one.facet !== 'step' && one.down > down / 2 && lift(one) >= LIFT_MIN)
    .toSorted((a, b) => lift(b) - lift(a))[0];
  // Others that are down for another reason, and perhaps for long, change neither time nor step.
  const group = common
    ? routersDown.filter((router) => listFacetValues(common.facet, router).includes(common.value))
    : routersDown;
  const [since, step] = [findBurst(group), findStep(group)];
  return { down, total, common: common ?? null, since, step, groups: toGroups(all) };
}

function findStep(routers: readonly DownRouter[]): Majority | null {
  const counts = new Map<string, number>();
  for (const router of routers) {
    for (const step of listFacetValues('step', router)) counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  const [value, count] = [...counts].find(([, one]) => one > routers.length / 2) ?? [];
  return value === undefined ? null : { value, isAll: count === routers.length };
}

function listDown(facet: Facet, counts: FacetCounts[Facet]): OutageValue[] {
  return [...counts].filter(([, { down }]) => down > 0).map(([value, count]) => ({ facet, value, ...count }));
}

/** Groups the values by property. A label that is different for each router tells nothing. */
function toGroups(values: readonly OutageValue[]): readonly OutageGroup[] {
  const groups = Map.groupBy(values, ({ facet, value }) =>
    facet === 'label' ? value.slice(0, Math.max(0, value.indexOf('='))) : facet,
  );
  return [...groups]
    .map(([name, all]) => {
      const sorted = all.toSorted((a, b) => b.down - a.down);
      return { name, values: sorted.slice(0, VALUES_MAX), rest: Math.max(0, sorted.length - VALUES_MAX) };
    })
    .filter(({ values: [largest] }) => largest !== undefined && (largest.down > 1 || largest.facet === 'step'))
    .slice(0, GROUPS_MAX);
}

/**
 * Returns the start of the ten minutes in which most of the routers went down, if that is more than half of them; not known
 * of those that were down at their first poll, which is the latest time then.
 */
function findBurst(routers: readonly DownRouter[]): OutageStart | null {
  const sorted = routers
    .flatMap(({ since, isFirstState }) => (since === null ? [] : { atMs: Date.parse(since), isFirstState }))
    .filter(({ atMs }) => Number.isFinite(atMs))
    .toSorted((a, b) => a.atMs - b.atMs);
  let [first, most, end] = [0, 0, 0];
  for (const [start, { atMs }] of sorted.entries()) {
    while (end < sorted.length && (sorted[end]?.atMs ?? 0) - atMs <= WINDOW_MS) end++;
    if (end - start > most) [first, most] = [start, end - start];
  }
  if (most <= routers.length / 2) return null;
  const burst = sorted.slice(first, first + most);
  const isKnown = !burst.some(({ isFirstState }) => isFirstState);
  // The last one was polled last, and all of them are down for as long as it is.
  const value = new Date(burst.at(isKnown ? 0 : -1)?.atMs ?? 0).toISOString();
  return { value, isAll: most === routers.length, isKnown };
}
