import { Steps } from '../../base/index.ts';
import { POLL_STEPS, type RouterSummary } from '../api/routers.ts';
import type { WebContent } from '../content.ts';
import { withoutCredentials } from '../fleet-list.ts';
import {
  createFacetMatcher,
  FACETS,
  type Facet,
  type FacetCount,
  type FacetCounts,
  listFacetValues,
} from './facets.ts';
import { type DownRouter, findOutage, type Outage } from './outage.ts';
import { compareRanks, type Rank, sortPage } from './sort-page.ts';
import { createMatcher, findPage, ROWS_MAX, type TablePage, type TableQuery } from './table-query.ts';
import { FILTERS, STATE_NAMES } from './words.ts';

/** The fleet as its page shows it. */
export interface FleetView {
  /** Number of all routers. */
  readonly total: number;
  /** Number of routers that match search and facets, whatever their state. */
  readonly matching: number;
  /** Number of these by key of {@link FILTERS}. */
  readonly counts: Readonly<Record<string, number>>;
  /** Keys of the filters whose routers all fit their `partOf`, too. */
  readonly parts: ReadonlySet<string>;
  /** Values of the whole fleet, whatever the filters. */
  readonly facets: FacetCounts;
  /** The common properties of a mass outage of the whole fleet; `undefined` when few routers are down. */
  readonly outage: Outage | undefined;
  /** The matching routers of this page. */
  readonly page: TablePage<RouterSummary>;
}

/** A router with the value that it is sorted by. No more of it is kept: that of ten thousand would burden the memory. */
interface Ranked {
  readonly name: string;
  readonly rank: Rank;
}

/** The default order; equal rows are sorted by name. */
const WORST_FIRST = 'state';
const STATE_RANKS = { down: 0, budget: 1, unknown: 2, up: 4, paused: 5, retired: 6 };
/** Distinct values that are counted for each facet: a label may be different for each router. */
const VALUES_MAX = 20_000;

/** Values to sort by, by the key in the query string; `null` (unknown) is last in both directions. */
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

/** The keys by which the fleet can be sorted. */
export const FLEET_SORTS = Object.keys(RANKS);

/**
 * Counts, filters and sorts the fleet for one page. All routers are looked at once, in steps, so that polls and other
 * answers go on; only the routers of this page are put in order.
 */
export async function viewFleet(
  content: Pick<WebContent, 'listRouters' | 'findRouter'>,
  query: TableQuery,
): Promise<FleetView> {
  const steps = new Steps();
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
  let [total, matching] = [0, 0];
  const filters = Object.entries(FILTERS);
  for (const one of content.listRouters()) {
    const router = withoutCredentials(one);
    total++;
    countFacets(facets, router);
    if (router.state === 'down') {
      const { since, isFirstState, labels, failure, fault, firmware, device } = router;
      routersDown.push({ since, isFirstState, labels, failure, fault, firmware, device });
    }
    if (hasFacets(router) && (query.search === '' || isMatch(listTexts(router)))) {
      matching++;
      for (const [key, { fits, partOf }] of filters) {
        if (!fits(router)) continue;
        counts[key] = (counts[key] ?? 0) + 1;
        if (partOf !== undefined && router.state !== partOf) parts.delete(key);
      }
      if (isWanted(router)) found.push({ name: router.name, rank: rank(router) });
    }
    if (steps.isDue) await steps.next();
  }
  const page = findPage(found.length, query.page);
  // Equal ranks are in the order of names, which is never turned round.
  const order = (a: Ranked, b: Ranked) =>
    compareRanks(a.rank, b.rank, query.isDescending) || compareRanks(a.name, b.name);
  const ranked = await sortPage(found, order, page.first, ROWS_MAX);
  // A reload may have removed one meanwhile.
  const rows = ranked.flatMap(({ name }) => content.findRouter(name) ?? []).map(withoutCredentials);
  return {
    total,
    matching,
    counts,
    parts,
    facets,
    outage: findOutage({ total, routersDown, facets }),
    page: { rows, ...page },
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

/** Lists the texts to search in. */
function listTexts(router: RouterSummary): readonly (string | null | undefined)[] {
  const { name, url, state, lifecycle, isStale, failure, fault, firmware, device } = router;
  return [
    name,
    url,
    STATE_NAMES[state],
    isStale ? 'stale' : null,
    lifecycle.state === 'active' ? null : lifecycle.state,
    state === 'up' && fault ? 'in part' : null,
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
