import type { Facet, FacetCounts } from './facets.ts';

/** A mass outage: the common properties of the routers that are down. */
export interface Outage {
  /** Number of routers that are down. */
  readonly down: number;
  /** Number of all routers. */
  readonly total: number;
  /** Start of the ten minutes in which most of them went down; `null` when no ten minutes have more than half of them. */
  readonly since: string | null;
  /** The step at which more than half of them fail; `null` without one. */
  readonly step: string | null;
  /** The property that stands out: more than half of them have it, and it is more frequent among them than in the fleet. */
  readonly common: OutageValue | null;
  /** Counts by step, labels, firmware and so on, the largest first. */
  readonly groups: readonly OutageGroup[];
}

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
  readonly down: number;
  readonly downSince: readonly string[];
  readonly facets: FacetCounts;
}): Outage | undefined {
  const { total, down, downSince, facets } = fleet;
  if (down < DOWN_MIN || down < total * SHARE_MIN) return undefined;
  const all = Object.entries(facets).flatMap(([facet, counts]) => listDown(facet as Facet, counts));
  const step = all.find((one) => one.facet === 'step' && one.down > down / 2)?.value ?? null;
  const lift = (one: OutageValue) => one.down / down / (one.total / total);
  const common = all
    .filter((one) => one.facet !== 'step' && one.down > down / 2 && lift(one) >= LIFT_MIN)
    .toSorted((a, b) => lift(b) - lift(a))[0];
  return { down, total, since: findBurst(downSince), step, common: common ?? null, groups: toGroups(all) };
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

/** Returns the first time of the ten minutes that contain most of the times, if they contain more than half of them. */
function findBurst(times: readonly string[]): string | null {
  const sorted = times.map((at) => Date.parse(at)).toSorted((a, b) => a - b);
  let [best, most, end] = [0, 0, 0];
  for (const [start, firstMs] of sorted.entries()) {
    while (end < sorted.length && (sorted[end] ?? 0) - firstMs <= WINDOW_MS) end++;
    if (end - start > most) [best, most] = [firstMs, end - start];
  }
  return most > sorted.length / 2 ? new Date(best).toISOString() : null;
}
