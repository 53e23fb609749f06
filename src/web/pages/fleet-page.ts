import type { SinkSummary, SpoolSummary } from '../api/delivery.ts';
import type { FleetMinute } from '../api/process.ts';
import type { RouterSummary } from '../api/routers.ts';
import type { ClusterSummary } from '../content.ts';
import type { PeerFault } from '../peer-fleet.ts';
import { createFleetColumns } from './fleet-columns.ts';
import { renderFilters } from './fleet-filters.ts';
import { renderOutage } from './fleet-outage.ts';
import { renderStrip } from './fleet-strip.ts';
import type { FleetView } from './fleet-view.ts';
import { type Html, html, toShown } from './html.ts';
import { renderCount, renderMany } from './quantities.ts';
import { renderFittingTable, renderFound, renderPager } from './table.ts';
import { renderTableQuery, type TableQuery } from './table-query.ts';
import { FILTERS } from './words.ts';

/** The state of delivery. */
export interface Delivery {
  /** All sinks, in the order of the configuration. */
  readonly sinks: readonly SinkSummary[];
  /** The spool in which records wait for them. */
  readonly spool: SpoolSummary;
}

/** What the page of the fleet shows. */
export interface FleetContent {
  /** The counts, and the routers of this page. */
  readonly view: FleetView;
  /** Processes of the fleet that did not answer. */
  readonly faults: readonly PeerFault[];
  /** The cluster that this process is a replica of. Default: none. */
  readonly cluster?: ClusterSummary | undefined;
  /** True if other processes poll a part of the routers. */
  readonly isShared: boolean;
  /** The last hours of the routers of this process. */
  readonly minutes: readonly FleetMinute[];
  /** Sinks and spool. */
  readonly delivery: Delivery;
  /** Number of gaps in logs since the agent started. */
  readonly gaps: number;
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
  gaps: 'warn',
  budget: 'warn',
};

/** Renders the fleet: an outage first, the number of routers per state, the last hours, and the routers of one page. */
export async function renderFleet(
  content: FleetContent,
  query: TableQuery,
  base: string,
  nowMs: number,
): Promise<Html> {
  const { view, minutes, isShared, grafana, availabilityOf } = content;
  const { total, counts, facets, outage, page } = view;
  return html`<h1 class="unseen">Fleet</h1>
${renderOutage(outage, query)}
<ul class="cards">
${renderCard(renderTableQuery(query, { filter: undefined }), total, total === 1 ? 'router' : 'routers', 'all', query.filter === undefined)}
${Object.entries(FILTERS)
  .filter(([key, { isRare }]) => isRare !== true || (counts[key] ?? 0) > 0 || query.filter === key)
  .map(([key, { title }]) =>
    renderCard(renderTableQuery(query, { filter: key }), counts[key] ?? 0, title, key, query.filter === key),
  )}${renderGaps(content, base)}
</ul>
${renderNotices(content, base)}
${renderStrip(minutes, isShared)}
${renderFilters(query, facets)}
${await renderFittingTable({
  caption: renderFound('router', page, query.search, FILTERS[query.filter ?? '']?.title),
  columns: createFleetColumns({ base, nowMs, availabilityOf }),
  rows: page.rows,
  query: { ...query, sort: query.sort ?? 'state' },
  empty: total === 0 ? 'No router is configured.' : 'No router matches.',
  className: 'fleet',
})}
${renderPager(page, query)}${content.cluster ? renderCluster(content.cluster) : ''}${grafana === undefined ? '' : html`<p>Grafana: <a href="${grafana}/d/router-exporter-fleet">fleet</a>, <a href="${grafana}/d/router-exporter-cellular">cellular</a></p>`}`;
}

/** A count in colour, when it is not 0 and needs attention; small, when it is 0. */
function renderCard(href: string, count: number, title: string, key: string, isCurrent: boolean): Html {
  const tone = count === 0 ? 'zero' : (CARD_TONES[key] ?? '');
  return html`<li><a${tone === '' ? '' : html` class="${tone}"`} href="${href}"${isCurrent ? html` aria-current="true"` : ''}><b>${renderCount(count)}</b> ${title}</a></li>
`;
}

/** Whether anything is lost, with the way to the logs in which it is. */
function renderGaps({ gaps, view: { total } }: FleetContent, base: string): Html | string {
  return total === 0
    ? ''
    : renderCard(`${base}logs/positions?sort=-gaps`, gaps, gaps === 1 ? 'log gap' : 'log gaps', 'gaps', false);
}

/** A line about the cluster. */
function renderCluster({ name, replica, members }: ClusterSummary): Html {
  return html`<p>Cluster ${toShown(name)}: ${renderMany(members, 'replica')}; this is ${toShown(replica)}.</p>
`;
}

/** What is not as it should be in the cluster. */
function renderClusterFaults({ missing, isLeaseHeld, isEngineAway, areListsDifferent }: ClusterSummary): Html {
  const lost = isEngineAway ? 'NATS cannot be reached' : 'it has no lease';
  return html`${isLeaseHeld ? '' : html`<p class="notice"><strong>This replica is not in its cluster: ${lost}.</strong> Logs are not read.</p>`}
${missing.map(({ replica, since }) => html`<p class="notice"><strong>Replica ${toShown(replica)} is missing</strong> since ${since}. Its routers have gone to others.</p>`)}
${areListsDifferent ? html`<p class="notice"><strong>The replicas know different routers.</strong> Give all of them the same configuration.</p>` : ''}`;
}

function renderNotices(
  { view: { total }, faults, cluster, delivery: { sinks, spool } }: FleetContent,
  base: string,
): Html {
  const sinksDown = sinks.filter(({ state }) => state === 'down').length;
  return html`${cluster ? renderClusterFaults(cluster) : ''}${faults.map(renderPeerFault)}${spool.isHeldBack ? html`<p class="notice"><strong>Log reading is paused: the spool or its disk is full.</strong> See <a href="${base}sinks">sinks</a>.</p>` : ''}
${!spool.isHeldBack && spool.routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${spool.routersHeldBack.length} of ${total} routers:</strong> their waiting records take as much of the spool as is free. See <a href="${base}sinks">sinks</a>.</p>` : ''}
${sinksDown > 0 ? html`<p class="notice"><strong>${sinksDown} of ${sinks.length} ${sinks.length === 1 ? 'sink' : 'sinks'} down.</strong> See <a href="${base}sinks">sinks</a>.</p>` : ''}`;
}

function renderPeerFault({ shard, name, url, routers, error }: PeerFault): Html {
  const who = name === undefined ? `Process ${shard}` : `Replica ${toShown(name)}`;
  return html`<p class="notice"><strong>${who} (${toShown(url)}) does not answer:</strong> its ${renderMany(routers, 'router')} cannot be shown. ${toShown(error)}</p>
`;
}
