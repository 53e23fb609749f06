import { renderCount, renderMany } from '../../base/index.ts';
import { ROUTER_EVENTS } from '../../model/index.ts';
import type { EventQuery, EventSummary } from '../api/events.ts';
import type { FleetMinute, ProcessSummary, RunSummary } from '../api/process.ts';
import type { ClusterSummary, PeerFault } from '../fan-out.ts';
import { collectEvents, collectFleet, collectProcesses, type FleetContent, type ProcessPart } from '../whole-fleet.ts';
import { CONCERNS_MAX, listConcerns, renderConcerns } from './attention.ts';
import type { ConfigContent } from './config-page.ts';
import { renderEvents } from './events-table.ts';
import { parseFacets, withFacet, withoutFacet } from './facets.ts';
import { createFleetColumns } from './fleet-columns.ts';
import { FILTERS, renderFilters } from './fleet-filters.ts';
import { FLEET_SORTS, type FleetView, viewFleet } from './fleet-view.ts';
import { type Html, html, renderLength, toShown } from './html.ts';
import { type Page, type PageBody, renderAlone, renderMissing } from './layout.ts';
import { renderMoney, renderSiteUse } from './money.ts';
import { renderOutage } from './outage.ts';
import { renderBand, STATE_TONES } from './router-facts.ts';
import { renderFittingTable, renderFound, renderPager } from './table.ts';
import { parseTableQuery, renderTableQuery, type TableQuery } from './table-query.ts';

/** The content of the fleet page. */
export interface FleetPageContent extends FleetContent, Pick<ConfigContent, 'describeConfiguration'> {
  /** URL of a Grafana with the dashboards, without a trailing slash; `undefined` without one. */
  findGrafana(): string | undefined;
}

/** The fleet: an outage first, the number of routers per state, the last hours, and one page of routers. */
export const fleetPage: Page<FleetPageContent> = {
  path: '/',
  entry: 'Fleet',
  async render(dependencies, context, base) {
    const { content, clock } = dependencies;
    const nowMs = clock.now();
    const facets = parseFacets((name) => context.req.queries(name));
    const eventKind = context.req.query('event_kind')?.slice(0, KIND_CHARS_MAX).toWellFormed() || undefined;
    const query = { ...parseTableQuery(context, FLEET_SORTS, Object.keys(FILTERS)), facets, eventKind };
    const eventQuery = toEventQuery(query, nowMs);
    // The short answers first, because all use the same connection.
    const [counts, { events, faults: silent }, whole] = await Promise.all([
      collectProcesses(dependencies),
      collectEvents(dependencies, eventQuery),
      collectFleet(dependencies),
    ]);
    const faults = new Map([...counts.faults, ...silent, ...whole.faults].map((fault) => [fault.shard, fault]));
    const view = await viewFleet(whole, query, nowMs);
    const concerns = listConcerns(
      {
        counts: view.wholeCounts,
        total: view.total,
        gaps: view.gaps,
        processes: counts.values,
        configuration: content.describeConfiguration(),
        sites: view.outage ? [] : view.sites,
      },
      base,
    );
    const fleet = { content, view, concerns, faults: [...faults.values()], processes: counts.values };
    const down = view.wholeCounts['down'] ?? 0;
    return {
      title: down === 0 ? 'Fleet' : `(${renderCount(down)} down) Fleet`,
      tone: findTone(fleet),
      main: html`${await renderFleet(fleet, query, base, nowMs)}
${renderLastEvents(events, eventQuery, query, base, nowMs)}`,
    };
  },
};

/** Of the last 24 hours, of the site and the kind that are selected. */
function toEventQuery({ facets, eventKind }: TableQuery, nowMs: number): EventQuery {
  const label = facets.label?.find((one) => one.startsWith('site='))?.slice('site='.length);
  const since = new Date(nowMs - DAY_MS).toISOString();
  return { since, site: facets.site?.[0] ?? label, kind: eventKind, max: EVENTS_SHOWN };
}

function renderLastEvents(
  events: readonly EventSummary[],
  { since = '', site, kind }: EventQuery,
  query: TableQuery,
  base: string,
  nowMs: number,
): Html {
  const parameters = new URLSearchParams({
    since,
    ...(site !== undefined && { site }),
    ...(kind !== undefined && { kind }),
  });
  const link = (one: string | undefined) =>
    html`<li><a href="${renderTableQuery(query, { eventKind: one, page: query.page })}#events"${one === kind ? html` aria-current="true"` : ''}>${one ?? 'all'}</a></li>`;
  return html`<h2 id="events">Events of the last 24 h${site === undefined ? '' : html` at <bdi>${toShown(site)}</bdi>`}</h2>
<nav class="tabs" aria-label="Kinds of events"><ul>${[undefined, ...ROUTER_EVENTS, 'log.*', 'agent.*'].map(link)}</ul></nav>
${renderEvents(events, { showRouter: true, base, nowMs })}
<p><a href="${base}api/v1/events?${parameters.toString()}">All of them as JSON</a></p>`;
}

function findTone({ view: { wholeCounts: counts }, concerns }: ShownFleet): PageBody['tone'] {
  if ((counts['down'] ?? 0) > 0) return 'bad';
  if ((counts['part'] ?? 0) > 0 || concerns.length > 0) return 'warn';
  return (counts['up'] ?? 0) > 0 ? 'good' : 'soft';
}

interface ShownFleet {
  readonly content: Pick<FleetPageContent, 'describeShards' | 'findGrafana'>;
  readonly view: FleetView;
  readonly concerns: ReturnType<typeof listConcerns>;
  readonly faults: readonly PeerFault[];
  readonly processes: readonly ProcessPart<ProcessSummary>[];
}

/** The newest ones; more are in the JSON. */
const EVENTS_SHOWN = 20;
const KIND_CHARS_MAX = 64;
const DAY_MS = 86_400_000;
const MINUTES = 360;
const HEIGHT = 40;

/**
 * Adds up the minutes of several processes. Each has one entry per minute and one for now, so entries are matched by their distance from
 * the end: clock differences between machines do not matter.
 */
function sumMinutes(lists: readonly (readonly FleetMinute[])[]): readonly FleetMinute[] {
  const [longest = []] = lists.toSorted((a, b) => b.length - a.length);
  return longest.map(({ at }, index) => {
    const sum = { at, up: 0, down: 0, stale: 0, other: 0 };
    for (const minutes of lists) {
      const minute = minutes[minutes.length - longest.length + index];
      for (const key of ['up', 'down', 'stale', 'other'] as const) sum[key] += minute?.[key] ?? 0;
    }
    return sum;
  });
}

/** Up from below, down and stale from above. `missing`: processes without counts. `isFiltered`: the page is not about all routers. */
function renderStrip(minutes: readonly FleetMinute[], missing: string, isFiltered: boolean): Html | string {
  const [first, last] = [minutes[0], minutes.at(-1)];
  if (!first || !last || minutes.length < 2) return '';
  const worst = minutes.reduce((most, minute) => (minute.down > most.down ? minute : most), first);
  const span = renderLength((Date.parse(last.at) - Date.parse(first.at)) / 1000);
  const without = `${isFiltered ? ', whole fleet' : ''}${missing === '' ? '' : ` without ${missing}`}`;
  const words =
    worst.down === 0
      ? `Last ${span}${without}: no router down.`
      : `Last ${span}${without}: at most ${renderCount(worst.down)} down, at ${worst.at.slice(11, 16)} UTC; now ${renderCount(last.down)}.`;
  const offset = Math.max(0, MINUTES - minutes.length);
  const draw = (toHeight: (minute: FleetMinute) => number, isFromTop: boolean) =>
    toPath(
      minutes.map((minute) => {
        const total = minute.up + minute.down + minute.other;
        const height = total === 0 ? 0 : (toHeight(minute) / total) * HEIGHT;
        // Keeps a single router of ten thousand visible.
        return toHeight(minute) > 0 ? Math.max(1.5, Math.round(height * 10) / 10) : 0;
      }),
      offset,
      isFromTop,
    );
  return html`<figure class="strip"><svg role="img" aria-label="${words}" viewBox="0 0 ${MINUTES} ${HEIGHT}" preserveAspectRatio="none"><title>${words}</title><path class="up" d="${draw(({ up }) => up, false)}"/><path class="down" d="${draw(({ down }) => down, true)}"/><path class="stale" d="${draw(({ stale }) => stale, true)}"/></svg>
<figcaption>${words} <span class="key"><span class="up">up</span>, <span class="down">down</span>, <span class="stale">of these stale</span></span></figcaption></figure>`;
}

function toPath(heights: readonly number[], offset: number, isFromTop: boolean): string {
  let path = '';
  for (let start = 0; start < heights.length; ) {
    const height = heights[start] ?? 0;
    let end = start + 1;
    while (end < heights.length && heights[end] === height) end++;
    if (height > 0) {
      const top = isFromTop ? 0 : Math.round((HEIGHT - height) * 10) / 10;
      path += `M${offset + start} ${top}h${end - start}v${height}h-${end - start}z`;
    }
    start = end;
  }
  return path;
}

function sumRuns(all: readonly RunSummary[]): RunSummary {
  const sum = { running: 0, waiting: 0, heldBack: 0, max: 0 };
  for (const runs of all) {
    for (const key of ['running', 'waiting', 'heldBack', 'max'] as const) sum[key] += runs[key];
  }
  return sum;
}

function renderRuns({ running, waiting, heldBack, max }: RunSummary): Html {
  const held = heldBack > 0 ? html`, ${renderCount(heldBack)} held back for routers that do not answer` : '';
  return html`<p>Runs: ${renderCount(running)} of at most ${renderCount(max)} in progress, ${renderCount(waiting)} waiting${held}.</p>
`;
}

/** Filters that are segments of the bar: each router has one of these states. */
const SEGMENTS: Readonly<Record<string, string>> = { ...STATE_TONES, part: 'warn' };
/** Steps of the width of a segment, for which the style sheet has classes: the policy allows no style in the page. */
const WIDTHS = 10;

async function renderFleet(fleet: ShownFleet, query: TableQuery, base: string, nowMs: number): Promise<Html> {
  const { content, view, faults, processes } = fleet;
  const [shards, grafana] = [content.describeShards(), content.findGrafana()];
  const minutes = sumMinutes(processes.map(({ value }) => value.minutes));
  const { total, facets, outage, page } = view;
  const isFiltered = query.search !== '' || Object.values(query.facets).some((values) => values.length > 0);
  return html`<h1 class="unseen">Fleet</h1>
${renderOutage(outage, query, isFiltered, nowMs)}
${renderConcerns(fleet.concerns, outage ? CONCERNS_MAX - 1 : CONCERNS_MAX)}
${renderStates(view, query)}
${shards?.cluster ? renderClusterFaults(shards.cluster) : ''}${renderMissing(faults)}
${renderAlone(shards, 'Routers')}${renderStrip(minutes, nameMissing(faults), isFiltered)}
${renderSites(view, query)}
${renderFilters(query, facets)}
${await renderFittingTable({
  caption: renderFound('router', page, query.search, FILTERS[query.filter ?? '']?.title),
  columns: createFleetColumns(base, nowMs),
  rows: page.rows,
  query: { ...query, sort: query.sort ?? 'state' },
  empty: total === 0 ? 'No router is configured.' : 'No router matches.',
  className: 'fleet',
})}
${renderPager(page, query)}${renderMoney(view.use)}${shards?.cluster ? renderCluster(shards.cluster) : ''}${grafana === undefined ? '' : html`<p>Grafana: <a href="${grafana}/d/router-exporter-fleet">fleet</a>, <a href="${grafana}/d/router-exporter-cellular">cellular</a></p>`}${renderRuns(sumRuns(processes.map(({ value }) => value.runs)))}`;
}

/** The states of the matching routers as one bar, and parts of these; those without a router are left out. */
function renderStates({ matching, counts, parts }: FleetView, query: TableQuery): Html {
  const render = (key: string | undefined, count: number, title: string, tone = '') => {
    const width = tone === '' ? 0 : Math.max(1, Math.round((count / Math.max(1, matching)) * WIDTHS));
    return html`<li class="w${width}"><a${tone === '' ? '' : html` class="${tone}"`} href="${renderTableQuery(query, { filter: key })}"${query.filter === key ? html` aria-current="true"` : ''}><b>${renderCount(count)}</b> ${title}</a></li>`;
  };
  // The others are listed as concerns.
  const isShown = (key: string, isRare = false) => query.filter === key || ((counts[key] ?? 0) > 0 && !isRare);
  const shown = Object.entries(FILTERS).filter(([key, { isRare }]) => isShown(key, isRare));
  const [segments, others] = [true, false].map((isSegment) => shown.filter(([key]) => key in SEGMENTS === isSegment));
  return html`<ul class="bar" aria-label="Routers by state">${render(undefined, matching, matching === 1 ? 'router' : 'routers')}${segments?.map(
    ([key, { title }]) => render(key, counts[key] ?? 0, title, SEGMENTS[key]),
  )}${others?.map(([key, { title }]) => render(key, counts[key] ?? 0, parts.has(key) ? `of them ${title}` : title))}</ul>`;
}

/** One tile per site, a link to its routers, with its last 24 hours and its traffic. */
function renderSites({ sites, facets }: FleetView, query: TableQuery): Html | string {
  if (sites.length === 0) return '';
  const rest = facets.site.size - sites.length;
  return html`<ul class="sites" aria-label="Sites">${sites.map(({ name, up, down, availability, use }) => {
    const isCurrent = query.facets.site?.includes(name) === true;
    const change = isCurrent ? withoutFacet(query.facets, 'site', name) : withFacet(query.facets, 'site', name);
    const shown = toShown(name);
    return html`<li><a href="${renderTableQuery(query, { facets: change })}" title="${shown}"${isCurrent ? html` aria-current="true"` : ''}><strong><bdi>${shown}</bdi></strong> <span>${renderCount(up)} up${down > 0 ? html`, <b class="bad">${renderCount(down)} down</b>` : ''}</span>${renderBand(availability, describeBand(availability))}${renderSiteUse(use)}</a></li>`;
  })}${rest > 0 ? html`<li><a href="${renderTableQuery(query, { sort: 'site', isDescending: false })}">and ${renderMany(rest, 'more site')}</a></li>` : ''}</ul>`;
}

function describeBand(letters: string): string {
  const known = letters.replaceAll('-', '').length;
  const down = letters.replaceAll(/[^dm]/g, '').length;
  if (known === 0) return 'Not polled yet';
  if (down === 0) return 'No router was down in what was watched of the last 24 h';
  return `Routers were down in ${renderCount(down)} of ${renderMany(known, 'step')} of 12 min in the last 24 h`;
}

function renderCluster({ name, replica, members }: ClusterSummary): Html {
  return html`<p>Cluster ${toShown(name)}: ${renderMany(members, 'replica')}; this is ${toShown(replica)}.</p>
`;
}

function renderClusterFaults({ missing, isLeaseHeld, isEngineAway, areListsDifferent }: ClusterSummary): Html {
  const lost = isEngineAway ? 'NATS cannot be reached' : 'it has no lease';
  return html`${isLeaseHeld ? '' : html`<p class="notice"><strong>This replica is not in its cluster: ${lost}.</strong> Logs are not read.</p>`}
${missing.map(({ replica, since }) => html`<p class="notice"><strong>Replica ${toShown(replica)} is missing</strong> since ${since}. Its routers have gone to others.</p>`)}
${areListsDifferent ? html`<p class="notice"><strong>The replicas have different routers.</strong> Give all of them the same configuration.</p>` : ''}`;
}

function nameMissing(faults: readonly PeerFault[]): string {
  return faults
    .filter(({ leftOut }) => leftOut === undefined)
    .map(({ shard, name }) => (name === undefined ? `process ${shard}` : `replica ${toShown(name)}`))
    .join(', ');
}
