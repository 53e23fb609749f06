import { POLL_STEPS, type RouterSummary, type SinkSummary, type SpoolSummary } from '../api-types.ts';
import { type Html, html, toShown } from './html.ts';
import { NOTHING, renderAgo, renderBytes, renderCount, renderLength } from './quantities.ts';
import { type Column, renderFound, renderPager, renderSearch, renderTable, sortRows } from './table.ts';
import { createMatcher, cutPage, renderTableQuery, type TableQuery } from './table-query.ts';
import { FILTERS, renderStep, STATE_NAMES, STATE_TONES } from './words.ts';

/** The state of delivery. */
export interface Delivery {
  /** All sinks, in the order of the configuration. */
  readonly sinks: readonly SinkSummary[];
  /** The spool in which records wait for them. */
  readonly spool: SpoolSummary;
}

/** The keys by which the fleet can be sorted. */
export const FLEET_SORTS = ['name', 'state', 'success', 'step', 'duration', 'lag', 'bytes', 'url'];
const LABELS_SHOWN_MAX = 4;
/** Errors are truncated to this length; the router's page shows them in full. */
const ERROR_CHARS_MAX = 110;
/** The default order; equal rows are sorted by name. */
const WORST_FIRST = 'state';
const STATE_RANKS = { down: 0, budget: 1, unknown: 2, up: 4 };

/** Renders the fleet: the number of routers per state, and a table of all. `routers` must be sorted by name. */
export function renderFleet(
  routers: readonly RouterSummary[],
  { sinks, spool }: Delivery,
  query: TableQuery,
  base: string,
  nowMs: number,
): Html {
  const columns = createColumns(base, nowMs);
  const sorted = { ...query, sort: query.sort ?? WORST_FIRST };
  const isMatch = createMatcher(query.search);
  const isWanted = FILTERS[query.filter ?? '']?.fits ?? (() => true);
  const found = routers.filter((router) => isWanted(router) && isMatch(listTexts(router)));
  const page = cutPage(sortRows(found, columns, sorted), query.page);
  const sinksDown = sinks.filter(({ state }) => state === 'down').length;
  return html`<h1>Fleet</h1>
<ul class="cards">
${renderCard(renderTableQuery(query, { filter: undefined }), routers.length, routers.length === 1 ? 'router' : 'routers', query.filter === undefined)}
${Object.entries(FILTERS).map(([key, { title, fits }]) =>
  renderCard(renderTableQuery(query, { filter: key }), routers.filter(fits).length, title, query.filter === key),
)}
</ul>
${spool.isHeldBack ? html`<p class="notice"><strong>Log reading is paused: the spool or its disk is full.</strong> See <a href="${base}sinks">sinks</a>.</p>` : ''}
${!spool.isHeldBack && spool.routersHeldBack.length > 0 ? html`<p class="notice"><strong>Log reading is paused for ${spool.routersHeldBack.length} of ${routers.length} routers:</strong> their waiting records take as much of the spool as is free. See <a href="${base}sinks">sinks</a>.</p>` : ''}
${sinksDown > 0 ? html`<p class="notice"><strong>${sinksDown} of ${sinks.length} sinks down.</strong> See <a href="${base}sinks">sinks</a>.</p>` : ''}
${renderSearch('Search in names, addresses, labels, steps and errors', query)}
${renderTable({
  caption: renderFound('router', page, query.search, FILTERS[query.filter ?? '']?.title),
  columns,
  rows: page.rows,
  query: sorted,
  empty: routers.length === 0 ? 'No router is configured.' : 'No router matches.',
})}
${renderPager(page, query)}`;
}

function renderCard(href: string, count: number, title: string, isCurrent: boolean): Html {
  return html`<li><a href="${href}"${isCurrent ? html` aria-current="true"` : ''}><b>${renderCount(count)}</b>${title}</a></li>
`;
}

/** Lists the texts to search in. */
function listTexts({ name, url, labels, state, isStale, failure, fault }: RouterSummary): readonly (string | null)[] {
  const { reason = null, error = null } = failure ?? {};
  const { step = null, resource = null, error: firstError = null } = fault ?? {};
  const words = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return [
    name,
    url,
    STATE_NAMES[state],
    isStale ? 'stale' : null,
    state === 'up' && fault ? 'in part' : null,
    step,
    resource,
    reason,
    error,
    firstError,
    ...words,
  ];
}

function createColumns(base: string, nowMs: number): readonly Column<RouterSummary>[] {
  return [
    {
      title: 'Router',
      key: 'name',
      rank: ({ name }) => name,
      cell: ({ name }) => html`<a href="${base}router/${encodeURIComponent(name)}">${name}</a>`,
    },
    {
      title: 'State',
      key: 'state',
      rank: ({ state, fault }) => (state === 'up' && fault ? 3 : STATE_RANKS[state]),
      cell: renderState,
    },
    {
      title: 'Last success',
      key: 'success',
      rank: ({ lastSuccess }) => lastSuccess,
      cell: ({ lastSuccess }) => (lastSuccess === null ? 'never' : renderAgo(lastSuccess, nowMs)),
    },
    {
      title: 'Fails at',
      key: 'step',
      rank: ({ fault }) => fault && `${POLL_STEPS.indexOf(fault.step)} ${fault.resource ?? ''}`,
      cell: ({ fault }) => (fault ? renderStep(fault) : ''),
    },
    {
      title: 'Error',
      kind: 'wide',
      cell: ({ failure, fault }) => toShown(failure?.error ?? fault?.error ?? '', ERROR_CHARS_MAX),
    },
    {
      title: 'Poll',
      kind: 'number',
      key: 'duration',
      rank: ({ durationSeconds }) => durationSeconds,
      cell: ({ durationSeconds }) => renderLength(durationSeconds),
    },
    {
      title: 'Log lag',
      kind: 'number',
      key: 'lag',
      rank: ({ logLagSeconds }) => logLagSeconds,
      cell: ({ logLagSeconds }) => renderLength(logLagSeconds),
    },
    { title: 'Bytes today', kind: 'number', key: 'bytes', rank: ({ bytesToday }) => bytesToday, cell: renderUsed },
    { title: 'Address', key: 'url', rank: ({ url }) => url, cell: ({ url }) => toShown(url) },
    { title: 'Labels', cell: ({ labels }) => renderLabels(labels) },
  ];
}

/** Renders the state, and a note when the values are stale. */
export function renderState({ state, isStale, fault }: RouterSummary): Html {
  const stale = isStale ? html`, <span class="warn">stale</span>` : '';
  const isPart = state === 'up' && fault !== null;
  return html`<span class="state ${isPart ? 'warn' : STATE_TONES[state]}">${STATE_NAMES[state]}${isPart ? ' in part' : ''}</span>${stale}`;
}

function renderUsed({ bytesToday, byteBudget }: RouterSummary): string {
  return byteBudget === null ? renderBytes(bytesToday) : `${renderBytes(bytesToday)} of ${renderBytes(byteBudget)}`;
}

/** Renders at most `max` labels as `name=value`, and the number of the others. */
export function renderLabels(labels: RouterSummary['labels'], max = LABELS_SHOWN_MAX): string {
  const all = Object.entries(labels);
  const shown = all.slice(0, max).map(([label, value]) => `${label}=${toShown(value, 60)}`);
  if (all.length === 0) return NOTHING;
  return all.length > max ? `${shown.join(', ')}, and ${all.length - max} more` : shown.join(', ');
}
