import { renderCount, renderMany } from '../../base/index.ts';
import type { FleetMinute, ProcessSummary, RunSummary } from '../api/process.ts';
import type { ClusterSummary, PeerFault } from '../fan-out.ts';
import { collectFleet, collectProcesses, type FleetContent, type ProcessPart } from '../whole-fleet.ts';
import { parseFacets } from './facets.ts';
import { createFleetColumns } from './fleet-columns.ts';
import { FILTERS, renderFilters } from './fleet-filters.ts';
import { FLEET_SORTS, type FleetView, viewFleet } from './fleet-view.ts';
import { type Html, html, renderLength, toShown } from './html.ts';
import { type Page, renderAlone, renderMissing } from './layout.ts';
import { renderMoney } from './money.ts';
import { renderOutage } from './outage.ts';
import { renderFittingTable, renderFound, renderPager } from './table.ts';
import { parseTableQuery, renderTableQuery, type TableQuery } from './table-query.ts';

/** The content of the fleet page. */
export interface FleetPageContent extends FleetContent {
  /** URL of a Grafana with the dashboards, without a trailing slash; `undefined` without one. */
  findGrafana(): string | undefined;
}

/** The fleet: an outage first, the number of routers per state, the last hours, and one page of routers. */
export const fleetPage: Page<FleetPageContent> = {
  path: '/',
  entry: 'Fleet',
  async render(dependencies, context, base) {
    const { content, clock } = dependencies;
    // The short answers first, because both use the same connection.
    const [counts, whole] = await Promise.all([collectProcesses(dependencies), collectFleet(dependencies)]);
    const facets = parseFacets((name) => context.req.queries(name));
    const query = { ...parseTableQuery(context, FLEET_SORTS, Object.keys(FILTERS)), facets };
    const faults = new Map([...counts.faults, ...whole.faults].map((fault) => [fault.shard, fault]));
    const view = await viewFleet(whole, query);
    const fleet = { content, view, faults: [...faults.values()], processes: counts.values };
    return { title: 'Fleet', main: await renderFleet(fleet, query, base, clock.now()) };
  },
};

interface ShownFleet {
  readonly content: Pick<FleetPageContent, 'describeShards' | 'findGrafana'>;
  readonly view: FleetView;
  readonly faults: readonly PeerFault[];
  readonly processes: readonly ProcessPart<ProcessSummary>[];
}

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

/** For counts other than 0. */
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

async function renderFleet(fleet: ShownFleet, query: TableQuery, base: string, nowMs: number): Promise<Html> {
  const { content, view, faults, processes } = fleet;
  const [shards, grafana] = [content.describeShards(), content.findGrafana()];
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
  )}${renderLosses(fleet, isFiltered, base)}
</ul>
${renderNotices(fleet, shards?.cluster, base)}
${renderAlone(shards, 'Routers')}${renderStrip(minutes, nameMissing(faults), isFiltered)}
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

/** A count, coloured if it needs attention and small if it is 0. */
function renderCard(href: string, count: number, title: string, key: string, isCurrent: boolean): Html {
  const tone = count === 0 ? 'zero' : (CARD_TONES[key] ?? '');
  return html`<li><a${tone === '' ? '' : html` class="${tone}"`} href="${href}"${isCurrent ? html` aria-current="true"` : ''}><b>${renderCount(count)}</b> ${title}</a></li>
`;
}

function renderLosses({ processes, view: { total } }: ShownFleet, isFiltered: boolean, base: string): Html | string {
  const gaps = processes.reduce((sum, { value }) => sum + value.gaps, 0);
  const of = isFiltered ? ', whole fleet' : '';
  const letters = processes.flatMap(({ value }) => value.sinks).reduce((sum, { deadLetters }) => sum + deadLetters, 0);
  return total === 0
    ? ''
    : html`${renderCard(`${base}logs/positions?sort=-gaps`, gaps, `${gaps === 1 ? 'log gap' : 'log gaps'}${of}`, 'gaps', false)}${letters === 0 ? '' : renderCard(`${base}dead-letters`, letters, `${letters === 1 ? 'dead letter' : 'dead letters'}${of}`, 'letters', false)}`;
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

function renderNotices(
  { view: { total }, faults, processes }: ShownFleet,
  cluster: ClusterSummary | undefined,
  base: string,
): Html {
  return html`${cluster ? renderClusterFaults(cluster) : ''}${renderMissing(faults)}${processes.map((part) => renderDeliveryNotices(part, total, base))}`;
}

function renderDeliveryNotices({ name, value }: ProcessPart<ProcessSummary>, total: number, base: string): Html {
  const { sinks, spool } = value;
  const sinksDown = sinks.filter(({ state }) => state === 'down').length;
  const at = name === undefined ? '' : ` at ${toShown(name)}`;
  const see = html`See <a href="${base}sinks">sinks</a>.`;
  return html`${spool.isHeldBack ? html`<p class="notice"><strong>Log reading is paused${at}: the spool or its disk is full.</strong> ${see}</p>` : ''}
${!spool.isHeldBack && spool.routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${spool.routersHeldBack.length} of ${total} routers${at}:</strong> their waiting records take as much of the spool as is free. ${see}</p>` : ''}
${sinksDown > 0 ? html`<p class="notice"><strong>${sinksDown} of ${sinks.length} ${sinks.length === 1 ? 'sink' : 'sinks'} down${at}.</strong> ${see}</p>` : ''}`;
}

function nameMissing(faults: readonly PeerFault[]): string {
  return faults
    .filter(({ leftOut }) => leftOut === undefined)
    .map(({ shard, name }) => (name === undefined ? `process ${shard}` : `replica ${toShown(name)}`))
    .join(', ');
}
