import type { FleetMinute, ProcessSummary, RunSummary } from '../api/process.ts';
import type { RouterSummary } from '../api/routers.ts';
import type { ClusterSummary } from '../content.ts';
import type { PeerFault } from '../fan-out.ts';
import type { ProcessPart } from '../whole-fleet.ts';
import { FACET_NAMES, type FacetQuery, withFacet } from './facets.ts';
import { createFleetColumns } from './fleet-columns.ts';
import { renderFilters } from './fleet-filters.ts';
import type { FleetView } from './fleet-view.ts';
import { type Html, html, toShown } from './html.ts';
import type { Majority, Outage, OutageGroup, OutageValue } from './outage.ts';
import { nameMissing, renderMissing } from './processes.ts';
import { renderAtLeast, renderCount, renderLength, renderMany, renderSince } from './quantities.ts';
import { renderFittingTable, renderFound, renderPager } from './table.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';
import { FACET_CHARS_MAX, FILTERS, renderFacetValue } from './words.ts';

const MINUTES = 360;
const HEIGHT = 40;

/**
 * Adds up the minutes of several processes. Each has one entry a minute and one for now, so the entries of a minute are those
 * with the same distance from the end: the clocks of their machines do not matter.
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

/**
 * Renders the last hours, minute by minute: up from below, down and stale from above. `missing` names the processes whose
 * routers are not counted; empty = all are. `isFiltered`: the rest of the page is not about all routers.
 */
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
        // A single router of ten thousand shows, too.
        return toHeight(minute) > 0 ? Math.max(1.5, Math.round(height * 10) / 10) : 0;
      }),
      offset,
      isFromTop,
    );
  return html`<figure class="strip"><svg role="img" aria-label="${words}" viewBox="0 0 ${MINUTES} ${HEIGHT}" preserveAspectRatio="none"><title>${words}</title><path class="up" d="${draw(({ up }) => up, false)}"/><path class="down" d="${draw(({ down }) => down, true)}"/><path class="stale" d="${draw(({ stale }) => stale, true)}"/></svg>
<figcaption>${words} <span class="key"><span class="up">up</span>, <span class="down">down</span>, <span class="stale">of these stale</span></span></figcaption></figure>`;
}

/** One rectangle for each run of equal heights. */
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

/**
 * Renders a mass outage: one sentence, then counts by step, labels, firmware and so on, each a filter. It is about all
 * routers; `isFiltered`: the rest of the page is not.
 */
function renderOutage(
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

/** Adds up the runs of several processes. */
function sumRuns(all: readonly RunSummary[]): RunSummary {
  const sum = { running: 0, waiting: 0, heldBack: 0, max: 0 };
  for (const runs of all) {
    for (const key of ['running', 'waiting', 'heldBack', 'max'] as const) sum[key] += runs[key];
  }
  return sum;
}

/** Renders how many runs are under way and waiting, as one line. */
function renderRuns({ running, waiting, heldBack, max }: RunSummary): Html {
  const held = heldBack > 0 ? html`, ${renderCount(heldBack)} held back of routers that do not answer` : '';
  return html`<p>Runs: ${renderCount(running)} of at most ${renderCount(max)} under way, ${renderCount(waiting)} waiting${held}.</p>
`;
}

/** Modules whose values the fleet page shows. */
export interface FleetContent {
  /** The counts, and the routers of this page. */
  readonly view: FleetView;
  /** Processes of the fleet whose routers or counts are missing. */
  readonly faults: readonly PeerFault[];
  /** The cluster that this process is a replica of. Default: none. */
  readonly cluster?: ClusterSummary | undefined;
  /** Totals of each process. */
  readonly processes: readonly ProcessPart<ProcessSummary>[];
  /** Says that other processes are not shown; empty if they are, or if there are none. */
  readonly alone: Html | string;
  /** Address of a Grafana with the dashboards. */
  readonly grafana: string | undefined;
  /** Returns the results of the polls of one router. */
  readonly availabilityOf: (router: RouterSummary) => string;
}

/** Colours of the counts that are not 0. */
const CARD_TONES: Readonly<Record<string, string>> = {
  down: 'bad',
  stale: 'bad',
  refused: 'bad',
  part: 'warn',
  loss: 'warn',
  gaps: 'warn',
  letters: 'warn',
  budget: 'warn',
};

/** Renders the fleet: an outage first, the number of routers per state, the last hours, and the routers of one page. */
export async function renderFleet(
  content: FleetContent,
  query: TableQuery,
  base: string,
  nowMs: number,
): Promise<Html> {
  const { view, faults, processes, alone, grafana, availabilityOf } = content;
  const minutes = sumMinutes(processes.map(({ value }) => value.minutes));
  const { total, matching, counts, parts, facets, outage, page } = view;
  const isFiltered = query.search !== '' || Object.values(query.facets).some((values) => values.length > 0);
  return html`<h1 class="unseen">Fleet</h1>
${renderOutage(outage, query, isFiltered, nowMs)}
<ul class="cards">
${renderCard(renderTableQuery(query, { filter: undefined }), matching, matching === 1 ? 'router' : 'routers', 'all', query.filter === undefined)}
${Object.entries(FILTERS)
  .filter(([key, { isRare }]) => isRare !== true || (counts[key] ?? 0) > 0 || query.filter === key)
  .map(([key, { title }]) =>
    renderCard(
      renderTableQuery(query, { filter: key }),
      counts[key] ?? 0,
      parts.has(key) ? `of them ${title}` : title,
      key,
      query.filter === key,
    ),
  )}${renderLosses(content, isFiltered, base)}
</ul>
${renderNotices(content, base)}
${alone}${renderStrip(minutes, nameMissing(faults), isFiltered)}
${renderFilters(query, facets)}
${await renderFittingTable({
  caption: renderFound('router', page, query.search, FILTERS[query.filter ?? '']?.title),
  columns: createFleetColumns({ base, nowMs, availabilityOf }),
  rows: page.rows,
  query: { ...query, sort: query.sort ?? 'state' },
  empty: total === 0 ? 'No router is configured.' : 'No router matches.',
  className: 'fleet',
})}
${renderPager(page, query)}${content.cluster ? renderCluster(content.cluster) : ''}${grafana === undefined ? '' : html`<p>Grafana: <a href="${grafana}/d/router-exporter-fleet">fleet</a>, <a href="${grafana}/d/router-exporter-cellular">cellular</a></p>`}${renderRuns(sumRuns(processes.map(({ value }) => value.runs)))}`;
}

/** A count in colour, when it is not 0 and needs attention; small, when it is 0. */
function renderCard(href: string, count: number, title: string, key: string, isCurrent: boolean): Html {
  const tone = count === 0 ? 'zero' : (CARD_TONES[key] ?? '');
  return html`<li><a${tone === '' ? '' : html` class="${tone}"`} href="${href}"${isCurrent ? html` aria-current="true"` : ''}><b>${renderCount(count)}</b> ${title}</a></li>
`;
}

/** Renders the gaps and dead letters, with links to the logs and sinks concerned. */
function renderLosses({ processes, view: { total } }: FleetContent, isFiltered: boolean, base: string): Html | string {
  const gaps = processes.reduce((sum, { value }) => sum + value.gaps, 0);
  const of = isFiltered ? ', whole fleet' : '';
  const letters = processes.flatMap(({ value }) => value.sinks).reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  return total === 0
    ? ''
    : html`${renderCard(`${base}logs/positions?sort=-gaps`, gaps, `${gaps === 1 ? 'log gap' : 'log gaps'}${of}`, 'gaps', false)}${letters === 0 ? '' : renderCard(`${base}dead-letters`, letters, `${letters === 1 ? 'dead letter' : 'dead letters'}${of}`, 'letters', false)}`;
}

/** A line about the cluster. */
function renderCluster({ name, replica, members }: ClusterSummary): Html {
  return html`<p>Cluster ${toShown(name)}: ${renderMany(members, 'replica')}; this is ${toShown(replica)}.</p>
`;
}

/** Renders the faults of the cluster. */
function renderClusterFaults({ missing, isLeaseHeld, isEngineAway, areListsDifferent }: ClusterSummary): Html {
  const lost = isEngineAway ? 'NATS cannot be reached' : 'it has no lease';
  return html`${isLeaseHeld ? '' : html`<p class="notice"><strong>This replica is not in its cluster: ${lost}.</strong> Logs are not read.</p>`}
${missing.map(({ replica, since }) => html`<p class="notice"><strong>Replica ${toShown(replica)} is missing</strong> since ${since}. Its routers have gone to others.</p>`)}
${areListsDifferent ? html`<p class="notice"><strong>The replicas know different routers.</strong> Give all of them the same configuration.</p>` : ''}`;
}

function renderNotices({ view: { total }, faults, cluster, processes }: FleetContent, base: string): Html {
  return html`${cluster ? renderClusterFaults(cluster) : ''}${renderMissing(faults)}${processes.map((part) => renderDeliveryNotices(part, total, base))}`;
}

/** Renders the reasons why a process does not deliver. */
function renderDeliveryNotices({ name, value }: ProcessPart<ProcessSummary>, total: number, base: string): Html {
  const { sinks, spool } = value;
  const sinksDown = sinks.filter(({ state }) => state === 'down').length;
  const at = name === undefined ? '' : ` at ${toShown(name)}`;
  const see = html`See <a href="${base}sinks">sinks</a>.`;
  return html`${spool.isHeldBack ? html`<p class="notice"><strong>Log reading is paused${at}: the spool or its disk is full.</strong> ${see}</p>` : ''}
${!spool.isHeldBack && spool.routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${spool.routersHeldBack.length} of ${total} routers${at}:</strong> their waiting records take as much of the spool as is free. ${see}</p>` : ''}
${sinksDown > 0 ? html`<p class="notice"><strong>${sinksDown} of ${sinks.length} ${sinks.length === 1 ? 'sink' : 'sinks'} down${at}.</strong> ${see}</p>` : ''}`;
}
