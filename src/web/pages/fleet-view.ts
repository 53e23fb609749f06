import { forEachYielding } from '../../base/index.ts';
import { POLL_STEPS } from '../../model/index.ts';
import { findSite, type ListedRouter, type RouterSummary } from '../api/routers.ts';
import { type WholeFleet, withoutCredentials } from '../whole-fleet.ts';
import {
  createFacetMatcher,
  FACETS,
  type Facet,
  type FacetCount,
  type FacetCounts,
  listFacetValues,
} from './facets.ts';
import { FILTERS, isRebooted } from './fleet-filters.ts';
import { addUse, type FleetUse, NO_FLEET_USE } from './money.ts';
import { type DownRouter, findOutage, type Outage } from './outage.ts';
import { rankSignal, STATE_NAMES } from './router-facts.ts';
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
  /** Log gaps of the whole fleet. */
  readonly gaps: number;
  /** Routers that match search and facets, in any state. */
  readonly matching: number;
  /** Of the matching routers, by key of {@link FILTERS}. */
  readonly counts: Readonly<Record<string, number>>;
  /** Of the whole fleet, by key of {@link FILTERS}. */
  readonly wholeCounts: Readonly<Record<string, number>>;
  /** Filters whose routers are all included in their `partOf`. */
  readonly parts: ReadonlySet<string>;
  /** Values of the whole fleet. */
  readonly facets: FacetCounts;
  /** Common properties of a mass outage of the whole fleet; `undefined` when few routers are down. */
  readonly outage: Outage | undefined;
  /** The worst first, at most {@link SITES_MAX}. */
  readonly sites: readonly Site[];
  readonly page: TablePage<ListedRouter>;
  /** Traffic of the matching routers. */
  readonly use: FleetUse;
}

/** The routers of one site. */
interface Site extends Readonly<FacetCount> {
  readonly name: string;
  /** One letter per slot as in {@link ListedRouter.availability}; `m`: less than half of its routers were down, `d`: more. */
  readonly availability: string;
  /** Traffic of its routers. */
  readonly use: FleetUse;
}

interface Members {
  readonly names: string[];
  readonly use: FleetUse;
}

/** Only the sort value of a router is kept, to save memory with ten thousand routers. */
interface Ranked {
  readonly name: string;
  readonly rank: Rank;
}

/** The default order; equal rows are sorted by name. */
const WORST_FIRST = 'state';
const STATE_RANKS = { down: 0, budget: 2, unknown: 3, up: 9, paused: 10, retired: 11 };
/** Sites shown; others are found by the list of the filter. */
const SITES_MAX = 24;
/** Distinct values counted for each facet: a label may be different for each router. */
const VALUES_MAX = 20_000;

/** Sort values by key in the query string; `null` (unknown) is last in both directions. */
const RANKS: Readonly<Record<string, (router: RouterSummary) => Rank>> = {
  name: ({ name }) => name,
  state: rankState,
  since: ({ since }) => since,
  success: ({ lastSuccess }) => lastSuccess,
  step: ({ fault }) => fault && `${POLL_STEPS.indexOf(fault.step)} ${fault.resource ?? ''}`,
  site: findSite,
  signal: ({ device: { signal } }) => signal && rankSignal(signal),
  operator: ({ device: { operator } }) => operator,
  wan: ({ device: { wan } }) => wan,
  uptime: ({ device: { uptimeSeconds } }) => uptimeSeconds,
  model: ({ device: { model } }) => model,
  firmware: ({ firmware }) => firmware,
  duration: ({ durationSeconds }) => durationSeconds,
  lag: ({ logLagSeconds }) => logLagSeconds,
  traffic: ({ traffic }) => traffic && (traffic.receiveBytesPerSecond ?? 0) + (traffic.transmitBytesPerSecond ?? 0),
  bytes: ({ bytesToday }) => bytesToday,
  url: ({ url }) => url,
};

/** Routers that are up come behind the others, first those that an operator should look at. */
function rankState(router: RouterSummary): number {
  const { state, fault, isSlow, gaps, logLossSince, device } = router;
  if (state !== 'down' && logLossSince !== null) return 1;
  if (state !== 'up') return STATE_RANKS[state];
  if (fault) return 4;
  if (isSlow) return 5;
  if (gaps > 0) return 6;
  if (isRebooted(router)) return 7;
  return device.drift === null ? STATE_RANKS.up : 8;
}

/** Sort keys of the fleet. */
export const FLEET_SORTS = Object.keys(RANKS);

/** Counts, filters and sorts the fleet for one page, in steps, so that polls and other answers continue. */
export async function viewFleet(
  content: Pick<WholeFleet, 'listRouters' | 'findRouter' | 'describeAvailability'>,
  query: TableQuery,
  nowMs: number,
): Promise<FleetView> {
  const filters = Object.entries(FILTERS);
  const counts = Object.fromEntries(filters.map(([key]) => [key, 0]));
  const wholeCounts = { ...counts };
  const members = new Map<string, Members>();
  const facets = Object.fromEntries(FACETS.map((facet) => [facet, new Map()])) as Record<
    Facet,
    Map<string, FacetCount>
  >;
  const isMatch = createMatcher(query.search);
  const hasFacets = createFacetMatcher(query.facets);
  const isWanted = FILTERS[query.filter ?? '']?.fits ?? (() => true);
  const rank = RANKS[query.sort ?? WORST_FIRST] ?? (() => null);
  const found: Ranked[] = [];
  const parts = new Set(filters.flatMap(([key, { partOf }]) => (partOf === undefined ? [] : key)));
  const routersDown: DownRouter[] = [];
  let [total, gaps, matching, use] = [0, 0, 0, NO_FLEET_USE];
  await forEachYielding(content.listRouters(), (one) => {
    const router = withoutCredentials(one);
    total++;
    gaps += router.gaps;
    countFacets(facets, router);
    if (router.state === 'down') {
      const { since, isFirstState, labels, failure, fault, firmware, device } = router;
      routersDown.push({ since, isFirstState, labels, failure, fault, firmware, device });
    }
    const site = findSite(router);
    if (site !== null) {
      const known = members.get(site) ?? { names: [], use: NO_FLEET_USE };
      members.set(site, { names: known.names, use: addUse(known.use, router) });
      known.names.push(router.name);
    }
    const isFound = hasFacets(router) && (query.search === '' || isMatch(listTexts(router)));
    if (isFound) {
      matching++;
      use = addUse(use, router);
    }
    for (const [key, { fits, partOf }] of filters) {
      if (!fits(router, nowMs)) continue;
      wholeCounts[key] = (wholeCounts[key] ?? 0) + 1;
      if (!isFound) continue;
      counts[key] = (counts[key] ?? 0) + 1;
      if (partOf !== undefined && router.state !== partOf) parts.delete(key);
    }
    if (isFound && isWanted(router, nowMs)) found.push({ name: router.name, rank: rank(router) });
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
    gaps,
    matching,
    counts,
    wholeCounts,
    parts,
    facets,
    sites: await viewSites(content, facets.site, members),
    outage: findOutage({ total, routersDown, facets }),
    page: { rows, ...page },
    use,
  };
}

/** Returns the sites with most routers down, each with the results of all of its routers together. */
async function viewSites(
  content: Pick<WholeFleet, 'describeAvailability'>,
  counts: FacetCounts['site'],
  members: ReadonlyMap<string, Members>,
): Promise<readonly Site[]> {
  const isWorse = ([a, one]: readonly [string, FacetCount], [b, other]: readonly [string, FacetCount]) =>
    other.down - one.down || compareRanks(a, b);
  const sites: Site[] = [];
  for (const [name, count] of await sortPage([...counts], isWorse, 0, SITES_MAX)) {
    const { names = [], use = NO_FLEET_USE } = members.get(name) ?? {};
    const results = new Map<string, number>();
    await forEachYielding(names, (router) => {
      const letters = content.describeAvailability(router);
      results.set(letters, (results.get(letters) ?? 0) + 1);
    });
    sites.push({ name, ...count, availability: sumSlots(results), use });
  }
  return sites;
}

/** Adds up the results of routers, of which most are the same. The newest slot is the last one of all. */
function sumSlots(routers: ReadonlyMap<string, number>): string {
  const [up, down]: [number[], number[]] = [[], []];
  for (const [letters, count] of routers) {
    for (let age = 0; age < letters.length; age++) {
      const letter = letters[letters.length - 1 - age];
      if (letter === 'u' || letter === 'm') up[age] = (up[age] ?? 0) + count;
      if (letter === 'd' || letter === 'm') down[age] = (down[age] ?? 0) + count;
    }
  }
  const length = Math.max(0, ...[...routers.keys()].map((letters) => letters.length));
  return Array.from({ length }, (_, index) => {
    const [isUp, isDown] = [up[length - 1 - index] ?? 0, down[length - 1 - index] ?? 0];
    if (isDown === 0) return isUp === 0 ? '-' : 'u';
    return isDown > isUp ? 'd' : 'm';
  }).join('');
}

function countFacets(facets: Readonly<Record<Facet, Map<string, FacetCount>>>, router: RouterSummary): void {
  const [up, down] = [router.state === 'up' ? 1 : 0, router.state === 'down' ? 1 : 0];
  for (const facet of FACETS) {
    const counts = facets[facet];
    for (const value of listFacetValues(facet, router)) {
      const count = counts.get(value);
      if (count) {
        count.total++;
        count.up += up;
        count.down += down;
      } else if (counts.size < VALUES_MAX) counts.set(value, { total: 1, up, down });
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
