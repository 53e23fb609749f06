import { forEachYielding } from '../../base/index.ts';
import { POLL_STEPS } from '../../model/index.ts';
import type { ListedRouter, RouterSummary } from '../api/routers.ts';
import { type WholeFleet, withoutCredentials } from '../whole-fleet.ts';
import {
  createFacetMatcher,
  FACETS,
  type Facet,
  type FacetCount,
  type FacetCounts,
  listFacetValues,
} from './facets.ts';
import { FILTERS } from './fleet-filters.ts';
import { addUse, type FleetUse, NO_FLEET_USE } from './money.ts';
import { type DownRouter, findOutage, type Outage } from './outage.ts';
import { STATE_NAMES } from './router-facts.ts';
import {
  compareRanks,
  createMatcher,
  findPage,
  type Rank,
  ROWS_MAX,
  sortPage,
  type TablePage,
  type TableQuery,
} from './table-query.ts';

/** The data of the fleet page. */
export interface FleetView {
  readonly total: number;
  /** Routers that match search and facets, in any state. */
  readonly matching: number;
  /** Of the matching routers, by key of {@link FILTERS}. */
  readonly counts: Readonly<Record<string, number>>;
  /** Filters whose routers are all included in their `partOf`. */
  readonly parts: ReadonlySet<string>;
  /** Values of the whole fleet. */
  readonly facets: FacetCounts;
  /** Common properties of a mass outage of the whole fleet; `undefined` when few routers are down. */
  readonly outage: Outage | undefined;
  readonly page: TablePage<ListedRouter>;
  /** Traffic of the matching routers. */
  readonly use: FleetUse;
}

/** Only the sort value of a router is kept, to save memory with ten thousand routers. */
interface Ranked {
  readonly name: string;
  readonly rank: Rank;
}

/** The default order; equal rows are sorted by name. */
const WORST_FIRST = 'state';
const STATE_RANKS = { down: 0, budget: 1, unknown: 2, up: 4, paused: 5, retired: 6 };
/** Distinct values counted for each facet: a label may be different for each router. */
const VALUES_MAX = 20_000;

/** Sort values by key in the query string; `null` (unknown) is last in both directions. */
const RANKS: Readonly<Record<string, (router: RouterSummary) => Rank>> = {
  name: ({ name }) => name,
  state: ({ state, fault }) => (state === 'up' && fault ? 3 : STATE_RANKS[state]),
  since: ({ since }) => since,
  success: ({ lastSuccess }) => lastSuccess,
  step: ({ fault }) => fault && `${POLL_STEPS.indexOf(fault.step)} ${fault.resource ?? ''}`,
  signal: ({ device: { signal } }) => signal?.value ?? null,
  operator: ({ device: { operator } }) => operator,
  wan: ({ device: { wan } }) => wan,
  uptime: ({ device: { uptimeSeconds } }) => uptimeSeconds,
  model: ({ device: { model } }) => model,
  firmware: ({ firmware }) => firmware,
  duration: ({ durationSeconds }) => durationSeconds,
  lag: ({ logLagSeconds }) => logLagSeconds,
  bytes: ({ bytesToday }) => bytesToday,
  url: ({ url }) => url,
};

/** Sort keys of the fleet. */
export const FLEET_SORTS = Object.keys(RANKS);

/** Counts, filters and sorts the fleet for one page, in steps, so that polls and other answers continue. */
export async function viewFleet(
  content: Pick<WholeFleet, 'listRouters' | 'findRouter'>,
  query: TableQuery,
): Promise<FleetView> {
  const counts = Object.fromEntries(Object.keys(FILTERS).map((key) => [key, 0]));
  const facets = Object.fromEntries(FACETS.map((facet) => [facet, new Map()])) as Record<
    Facet,
    Map<string, FacetCount>
  >;
  const isMatch = createMatcher(query.search);
  const hasFacets = createFacetMatcher(query.facets);
  const isWanted = FILTERS[query.filter ?? '']?.fits ?? (() => true);
  const rank = RANKS[query.sort ?? WORST_FIRST] ?? (() => null);
  const found: Ranked[] = [];
  const parts = new Set(Object.keys(FILTERS).filter((key) => FILTERS[key]?.partOf !== undefined));
  const routersDown: DownRouter[] = [];
  let [total, matching, use] = [0, 0, NO_FLEET_USE];
  const filters = Object.entries(FILTERS);
  await forEachYielding(content.listRouters(), (one) => {
    const router = withoutCredentials(one);
    total++;
    countFacets(facets, router);
    if (router.state === 'down') {
      const { since, isFirstState, labels, failure, fault, firmware, device } = router;
      routersDown.push({ since, isFirstState, labels, failure, fault, firmware, device });
    }
    if (hasFacets(router) && (query.search === '' || isMatch(listTexts(router)))) {
      matching++;
      use = addUse(use, router);
      for (const [key, { fits, partOf }] of filters) {
        if (!fits(router)) continue;
        counts[key] = (counts[key] ?? 0) + 1;
        if (partOf !== undefined && router.state !== partOf) parts.delete(key);
      }
      if (isWanted(router)) found.push({ name: router.name, rank: rank(router) });
    }
  });
  const page = findPage(found.length, query.page);
  // Equal ranks are always in ascending order of names.
  const order = (a: Ranked, b: Ranked) =>
    compareRanks(a.rank, b.rank, query.isDescending) || compareRanks(a.name, b.name);
  const ranked = await sortPage(found, order, page.first, ROWS_MAX);
  // A reload may have removed a router in the meantime.
  const rows = ranked.flatMap(({ name }) => content.findRouter(name) ?? []).map(withoutCredentials);
  return {
    total,
    matching,
    counts,
    parts,
    facets,
    outage: findOutage({ total, routersDown, facets }),
    page: { rows, ...page },
    use,
  };
}

function countFacets(facets: Readonly<Record<Facet, Map<string, FacetCount>>>, router: RouterSummary): void {
  const down = router.state === 'down' ? 1 : 0;
  for (const facet of FACETS) {
    const counts = facets[facet];
    for (const value of listFacetValues(facet, router)) {
      const count = counts.get(value);
      if (count) {
        count.total++;
        count.down += down;
      } else if (counts.size < VALUES_MAX) counts.set(value, { total: 1, down });
    }
  }
}

function listTexts(router: RouterSummary): readonly (string | null | undefined)[] {
  const { name, url, state, lifecycle, isStale, failure, fault, firmware, device } = router;
  return [
    name,
    url,
    STATE_NAMES[state],
    isStale ? 'stale' : null,
    lifecycle.state === 'active' ? null : lifecycle.state,
    state === 'up' && fault ? 'degraded' : null,
    fault?.step,
    fault?.resource,
    failure?.reason,
    failure?.error,
    fault?.error,
    firmware,
    device.model,
    device.location,
    device.operator,
    device.technology,
    device.wan,
    ...listFacetValues('label', router),
  ];
}
