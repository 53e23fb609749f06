import { renderCount, renderMany } from '../../base/index.ts';
import type { RouterSummary } from '../api/routers.ts';
import { FACET_NAMES, type Facet, type FacetCounts, type FacetQuery, listFacetValues, withFacet } from './facets.ts';
import { FACET_CHARS_MAX, renderFacetValue } from './fleet-filters.ts';
import { type Html, html, renderAtLeast, renderSince, toShown } from './html.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';

/** A mass outage: common properties of the routers that are down. */
export interface Outage {
  readonly down: number;
  readonly total: number;
  /** Property of more than half of them, more frequent among them than in the fleet. */
  readonly common: OutageValue | null;
  /** Start of the ten minutes in which most of them (with {@link common}, if any) went down. */
  readonly since: OutageStart | null;
  /** The step at which most of the same routers fail. */
  readonly step: Majority | null;
  /** Counts by step, labels, firmware and so on, largest first. */
  readonly groups: readonly OutageGroup[];
}

/** A value of more than half of some routers. */
interface Majority {
  readonly value: string;
  /** True for all of them. */
  readonly isAll: boolean;
}

interface OutageStart extends Majority {
  /** False if they were down at the agent's start: `value` is the latest time. */
  readonly isKnown: boolean;
}

/** The properties of a router that is down. */
export type DownRouter = Pick<
  RouterSummary,
  'since' | 'isFirstState' | 'labels' | 'failure' | 'fault' | 'firmware' | 'device'
>;

interface OutageValue {
  readonly facet: Facet;
  readonly value: string;
  readonly down: number;
  readonly total: number;
}

/** Counts of the values of one property. */
interface OutageGroup {
  /** `step`, `firmware`, …, or the name of a label. */
  readonly name: string;
  readonly values: readonly OutageValue[];
  /** Further values with a router down. */
  readonly rest: number;
}

/** Routers down, and share of the fleet, of a mass outage. */
const DOWN_MIN = 5;
const SHARE_MIN = 0.05;
const WINDOW_MS = 10 * 60_000;
/** Minimum ratio of a value's share of the routers that are down to its share of the fleet. */
const LIFT_MIN = 1.25;
const VALUES_MAX = 4;
const GROUPS_MAX = 8;

/** Finds the common properties of the routers that are down; `undefined` if they are few. */
export function findOutage(fleet: {
  readonly total: number;
  readonly routersDown: readonly DownRouter[];
  readonly facets: FacetCounts;
}): Outage | undefined {
  const { total, routersDown, facets } = fleet;
  const down = routersDown.length;
  if (down < DOWN_MIN || down < total * SHARE_MIN) return undefined;
  // A site is a label or an operator already.
  const all = Object.entries(facets).flatMap(([facet, counts]) =>
    facet === 'site' ? [] : listDown(facet as Facet, counts),
  );
  const lift = (one: OutageValue) => one.down / down / (one.total / total);
  const common = all
    .filter((one) => one.facet !== 'step' && one.down > down / 2 && lift(one) >= LIFT_MIN)
    .toSorted((a, b) => lift(b) - lift(a))[0];
  // Routers that are down for other reasons do not affect time and step.
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

/** Groups the values by property, without labels that are different for each router. */
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
 * Returns the start of the ten minutes in which more than half of the routers went down. It is not known for routers that were down at
 * their first poll; that poll is the latest time then.
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
  // The last one was polled last; all of them have been down at least since then.
  const value = new Date(burst.at(isKnown ? 0 : -1)?.atMs ?? 0).toISOString();
  return { value, isAll: most === routers.length, isKnown };
}

/** Renders a mass outage: one sentence, then counts that are filters. `isFiltered`: the rest of the page is not about all routers. */
export function renderOutage(
  outage: Outage | undefined,
  query: TableQuery,
  isFiltered: boolean,
  nowMs: number,
): Html | string {
  if (!outage) return '';
  const { down, total, common, since, step, groups } = outage;
  const inCommon = common ?? { down, total };
  const of =
    common === null ? '' : html` of ${nameProperty(common)} <bdi>${renderFacetValue(common.facet, common.value)}</bdi>`;
  const others = down - inCommon.down;
  const parts = [
    html`<strong>${renderCount(inCommon.down)} of ${renderMany(inCommon.total, 'router')}${of} down`,
    renderMajority(step, ' at ', ({ value }) => renderFacetValue('step', value)),
    since?.isKnown === false
      ? renderMajority(since, ' ', ({ value }) => renderAtLeast(value, nowMs))
      : renderMajority(since, ' since ', ({ value }) => renderSince(value, nowMs)),
    html`</strong>${others === 0 ? '' : `; ${renderCount(others)} more ${others === 1 ? 'router' : 'routers'} down`}`,
  ];
  return html`<section class="notice" aria-label="Outage"><p>${isFiltered ? 'Whole fleet: ' : ''}${parts}.</p>
<div class="groups" tabindex="0" role="group" aria-label="Routers down by property"><dl>${groups.map((group) => renderGroup(group, query))}</dl></div></section>`;
}

function renderMajority(
  majority: Majority | null,
  word: string,
  render: (majority: Majority) => Html | string,
): Html | string {
  return majority === null ? '' : html`${majority.isAll ? '' : ', most'}${word}${render(majority)}`;
}

function renderGroup({ name, values, rest }: OutageGroup, query: TableQuery): Html {
  return html`<div><dt title="${toShown(name)}">${toShown(name, FACET_CHARS_MAX)}</dt>${values.map(
    ({ facet, value, down, total }) => {
      const facets: FacetQuery = withFacet({}, facet, value);
      const href = renderTableQuery({ ...query, search: '', facets }, { filter: 'down' });
      const of = facet === 'step' ? '' : ` of ${renderCount(total)}`;
      return html`<dd><a href="${href}"><bdi title="${toShown(value)}">${renderFacetValue(facet, value)}</bdi></a> ${renderCount(down)}${of}</dd>`;
    },
  )}${rest > 0 ? html`<dd class="soft">and ${renderCount(rest)} more</dd>` : ''}</div>`;
}

function nameProperty({ facet, value }: OutageValue): string {
  return facet === 'label'
    ? toShown(value.slice(0, value.indexOf('=')), FACET_CHARS_MAX)
    : FACET_NAMES[facet].toLowerCase();
}
