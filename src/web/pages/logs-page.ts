import { Steps } from '../../base/index.ts';
import type { LogRow, RouterLogSummary } from '../api/logs.ts';
import { type Html, html, toShown } from './html.ts';
import { type LinesView, renderLogLines, renderTabs } from './log-lines.ts';
import {
  NOTHING,
  renderAgo,
  renderBytes,
  renderClock,
  renderCount,
  renderLength,
  renderMany,
  renderSince,
} from './quantities.ts';
import { type Column, cutSorted, renderFound, renderPager, renderSearch, renderTable } from './table.ts';
import { createMatcher, type TableQuery } from './table-query.ts';

/** The sort keys of the logs. */
export const LOG_SORTS = ['router', 'log', 'lag', 'loss', 'gaps', 'newest', 'lines', 'bytes', 'unparsed', 'archives'];
/** Share of the time to loss from which the lag is a danger. */
const LAG_SHARE_HIGH = 1 / 3;

/** Renders the last lines of all routers. `notices`: what is missing. */
export function renderLines(
  view: Pick<LinesView, 'page' | 'query' | 'base' | 'follows' | 'grafana'>,
  notices: Html,
): Html {
  return html`<h1>Logs</h1>
${notices}
${renderLogLines({ ...view, router: undefined, components: [], positions: `${view.base}logs/positions` })}`;
}

/**
 * Renders the logs of all routers as a table, by default grouped by router and sorted by name. `notices`: what is missing.
 * Takes breaks.
 */
export async function renderLogs(
  logs: Iterable<LogRow>,
  notices: Html,
  query: TableQuery,
  base: string,
  nowMs: number,
): Promise<Html> {
  const router: Column<LogRow> = {
    title: 'Router',
    key: 'router',
    rank: (row) => row.router,
    cell: (row) => html`<a href="${base}router/${encodeURIComponent(row.router)}">${row.router}</a>`,
  };
  const toGaps = ({ router: name, gaps: count }: LogRow) =>
    html`<a href="${base}router/${encodeURIComponent(name)}?view=positions#gaps"><strong class="warn">${renderCount(count)}</strong></a>`;
  // What is missing, and why, is on the page of the router.
  const columns = [
    router,
    ...createLogColumns(nowMs).map(
      (column): Column<LogRow> =>
        column.key === 'gaps' ? { ...column, cell: (row) => (row.gaps === 0 ? '0' : toGaps(row)) } : column,
    ),
  ];
  const isMatch = createMatcher(query.search);
  const steps = new Steps();
  const found: LogRow[] = [];
  let [count, gaps] = [0, 0];
  for (const row of logs) {
    count++;
    gaps += row.gaps;
    if (isMatch([row.router, row.component])) found.push(row);
    if (steps.isDue) await steps.next();
  }
  const page = await cutSorted(found, columns, query);
  return html`<h1>Logs</h1>
${notices}
${renderTabs('positions', `${base}logs`, `${base}logs/positions`)}
<p>${renderMany(count, 'log')} followed; ${gaps === 0 ? 'no gaps' : html`<strong class="warn">${renderMany(gaps, 'gap')}</strong>`} found since the agent started.
<i>Time to loss</i> is red when the lag has reached a third of it: the router will soon delete unread lines.</p>
${renderSearch('Search router and log names', query)}
${renderTable({
  caption: renderFound('log', page, query.search),
  columns,
  rows: page.rows,
  query: { ...query, sort: query.sort ?? 'router' },
  empty: count === 0 ? 'No log was read. Logs are read only when a sink is configured.' : 'No log matches.',
  className: 'stack',
})}
${renderPager(page, query)}`;
}

function renderTimeToLoss({ lagSeconds, secondsToLoss, lossSince }: RouterLogSummary): Html | string {
  if (lossSince !== null) return html`<strong class="bad">passed</strong>`;
  const isHigh = secondsToLoss !== null && lagSeconds !== null && lagSeconds >= secondsToLoss * LAG_SHARE_HIGH;
  return isHigh ? html`<strong class="bad">${renderLength(secondsToLoss)}</strong>` : renderLength(secondsToLoss);
}

/** Why a log lags, and what may be lost of it. */
function renderNote({ gapAt, lossSince, unshipped }: RouterLogSummary, nowMs: number): Html | string {
  if (unshipped) return html`<span class="bad">lines are not shipped: ${toShown(unshipped.message, 400)}</span>`;
  if (lossSince !== null)
    return html`<span class="bad">lines may be lost since ${renderSince(lossSince, nowMs)}</span>`;
  if (gapAt === null) return '';
  const end = Date.parse(gapAt) > nowMs ? html`at ${renderClock(gapAt)}` : 'at the next reading';
  return html`waiting for a file that was rotated away; counted as a gap ${end} if it is not found`;
}

/** Creates the columns of a log, for the page of one router and for that of all logs. */
export function createLogColumns(nowMs: number): readonly Column<RouterLogSummary>[] {
  return [
    {
      title: 'Log',
      kind: 'text',
      key: 'log',
      rank: ({ component }) => component,
      cell: ({ component }) => toShown(component, 120),
    },
    {
      title: 'Lag',
      kind: 'number',
      key: 'lag',
      rank: ({ lagSeconds }) => lagSeconds,
      cell: ({ lagSeconds }) => renderLength(lagSeconds),
    },
    {
      title: 'Time to loss',
      kind: 'number',
      key: 'loss',
      rank: ({ secondsToLoss }) => secondsToLoss,
      cell: renderTimeToLoss,
    },
    {
      title: 'Gaps',
      kind: 'number',
      key: 'gaps',
      rank: ({ gaps }) => gaps,
      cell: ({ gaps }) => (gaps === 0 ? '0' : html`<strong class="warn">${renderCount(gaps)}</strong>`),
    },
    { title: 'Note', kind: 'wide', className: 'note', cell: (log) => renderNote(log, nowMs) },
    {
      title: 'Newest line',
      key: 'newest',
      rank: ({ newest }) => newest,
      cell: ({ newest }) => renderAgo(newest, nowMs),
    },
    {
      title: 'Position',
      kind: 'text',
      cell: ({ position }) =>
        position ? `${toShown(position.file, 120)} at ${renderCount(position.offset)}` : NOTHING,
    },
    {
      title: 'Lines',
      kind: 'number',
      key: 'lines',
      rank: ({ lines }) => lines,
      cell: ({ lines }) => renderCount(lines),
    },
    {
      title: 'Bytes',
      kind: 'number',
      key: 'bytes',
      rank: ({ bytes }) => bytes,
      cell: ({ bytes }) => renderBytes(bytes),
    },
    {
      title: 'Unparsed',
      kind: 'number',
      key: 'unparsed',
      rank: ({ unparsedLines }) => unparsedLines,
      cell: ({ unparsedLines }) => renderCount(unparsedLines),
    },
    {
      title: 'Archives',
      kind: 'number',
      key: 'archives',
      rank: ({ archives }) => archives,
      cell: ({ archives }) => (archives === null ? NOTHING : renderCount(archives)),
    },
  ];
}
