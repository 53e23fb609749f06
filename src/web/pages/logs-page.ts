import { forEachYielding, renderBytes, renderCount, renderMany } from '../../base/index.ts';
import {
  type LogGapSummary,
  type LogRotationSummary,
  type LogRow,
  parseRecordQuery,
  type RecordPage,
  type RecordQuery,
  type RouterLogSummary,
  toFleetQuery,
} from '../api/logs.ts';
import type { RouterDetail } from '../api/router-detail.ts';
import { collectLogs, collectRecords, type FleetContent, nameProcess } from '../whole-fleet.ts';
import {
  type Html,
  html,
  NOTHING,
  renderAgo,
  renderClock,
  renderLength,
  renderMoment,
  renderSince,
  toShown,
} from './html.ts';
import { type Page, renderNotices } from './layout.ts';
import { renderLogLines, renderTabs } from './log-lines.ts';
import { type Column, cutSorted, renderFound, renderPager, renderSearch, renderTable } from './table.ts';
import { createMatcher, parseTableQuery, type TableQuery } from './table-query.ts';

/** The content of the log pages. */
export interface LogsContent extends FleetContent {
  /** URL of a Grafana with the dashboards, without a trailing slash; `undefined` without one. */
  findGrafana(): string | undefined;
}

/** The last lines of all routers. */
export const linesPage: Page<LogsContent> = {
  path: '/logs',
  entry: 'Logs',
  async render(dependencies, context, base) {
    const { content } = dependencies;
    const { router, limit } = parseRecordQuery(context);
    if (router !== undefined) {
      return context.redirect(`router/${encodeURIComponent(router)}${new URL(context.req.url).search}&view=logs`);
    }
    const { page, faults } = await collectRecords(dependencies, limit);
    const shards = content.describeShards();
    const lines = renderLogLines({
      page,
      query: toFleetQuery(limit),
      router,
      components: [],
      base,
      positions: `${base}logs/positions`,
      grafana: content.findGrafana(),
      follows: shards && nameProcess(shards, shards.index),
    });
    const main = html`<h1>Logs</h1>
${renderNotices(shards, faults, 'Lines of the routers', 'lines')}
${lines}`;
    return { title: 'Logs', main };
  },
};

/** Read progress of the logs of all routers. */
export const positionsPage: Page<LogsContent> = {
  path: '/logs/positions',
  async render(dependencies, context, base) {
    const { values, faults } = await collectLogs(dependencies);
    const notices = renderNotices(dependencies.content.describeShards(), faults, 'Logs of the routers', 'logs');
    const query = parseTableQuery(context, LOG_SORTS);
    return { title: 'Logs', main: await renderLogs(values, notices, query, base, dependencies.clock.now()) };
  },
};

const LOG_SORTS = ['router', 'log', 'lag', 'loss', 'gaps', 'newest', 'lines', 'bytes', 'unparsed', 'archives'];
/** Share of the time to loss above which the lag is critical. */
const LAG_SHARE_HIGH = 1 / 3;

async function renderLogs(
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
  // The router's page says what is missing, and why.
  const columns = [
    router,
    ...createLogColumns(nowMs).map(
      (column): Column<LogRow> =>
        column.key === 'gaps' ? { ...column, cell: (row) => (row.gaps === 0 ? '0' : toGaps(row)) } : column,
    ),
  ];
  const isMatch = createMatcher(query.search);
  const found: LogRow[] = [];
  let [count, gaps] = [0, 0];
  await forEachYielding(logs, (row) => {
    count++;
    gaps += row.gaps;
    if (isMatch([row.router, row.component])) found.push(row);
  });
  const page = await cutSorted(found, columns, query);
  return html`<h1>Logs</h1>
${notices}
${renderTabs('positions', `${base}logs`, `${base}logs/positions`)}
<p>${renderMany(count, 'log')} followed; ${gaps === 0 ? 'no gaps' : html`<strong class="warn">${renderMany(gaps, 'gap')}</strong>`} found since the agent started or in the last 24 h.
<i>Lines expire in</i> is red when the lag has reached a third of it: the router will soon delete unread lines.</p>
${renderSearch('Search router and log names', query)}
${renderTable({
  caption: renderFound('log', page, query.search),
  columns,
  rows: page.rows,
  query: { ...query, sort: query.sort ?? 'router' },
  empty: count === 0 ? 'No log was read since the start. Logs are read only with a sink.' : 'No log matches.',
  className: 'stack',
})}
${renderPager(page, query)}`;
}

function renderTimeToLoss({ lagSeconds, secondsToLoss, lossSince }: RouterLogSummary): Html | string {
  if (lossSince !== null) return html`<strong class="bad">overdue</strong>`;
  const isHigh = secondsToLoss !== null && lagSeconds !== null && lagSeconds >= secondsToLoss * LAG_SHARE_HIGH;
  return isHigh ? html`<strong class="bad">${renderLength(secondsToLoss)}</strong>` : renderLength(secondsToLoss);
}

function renderNote({ gapAt, lossSince, unshipped }: RouterLogSummary, nowMs: number): Html | string {
  if (unshipped) return html`<span class="bad">lines are not shipped: ${toShown(unshipped.message, 400)}</span>`;
  if (lossSince !== null)
    return html`<span class="bad">lines may be lost since ${renderSince(lossSince, nowMs)}</span>`;
  if (gapAt === null) return '';
  const end = Date.parse(gapAt) > nowMs ? html`at ${renderClock(gapAt)}` : 'at the next reading';
  return html`waiting for a rotated file; counted as a gap ${end} unless it is found`;
}

function createLogColumns(nowMs: number): readonly Column<RouterLogSummary>[] {
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
      title: 'Lines expire in',
      kind: 'number',
      key: 'loss',
      rank: ({ secondsToLoss }) => secondsToLoss,
      cell: renderTimeToLoss,
    },
    {
      title: 'Gaps',
      help: 'Since the agent started, or those remembered of the last 24 h if they are more',
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

const GAP_COLUMNS: readonly Column<LogGapSummary>[] = [
  { title: 'Found', cell: ({ at }) => renderMoment(at) },
  { title: 'Log', cell: ({ component }) => toShown(component, 120) },
  { title: 'Certainty', cell: ({ certainty }) => certainty },
  { title: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
  { title: 'Missing', cell: ({ bytesMin }) => (bytesMin === null ? 'not known' : `at least ${renderBytes(bytesMin)}`) },
  { title: 'Until', cell: ({ until }) => renderMoment(until) },
];

/** Content of the logs section of a router: its last lines, or its read progress. */
interface RouterLogsView {
  /** True: read progress. */
  readonly isPositions: boolean;
  readonly page: RecordPage;
  readonly query: RecordQuery;
  readonly grafana: string | undefined;
}

/** Renders the logs of one router: last lines, or positions and gaps. */
export function renderRouterLogs(
  router: RouterDetail,
  { isPositions, page, query, grafana }: RouterLogsView,
  base: string,
  nowMs: number,
): Html {
  const { name, logs, logRotation, recentGaps } = router;
  const lines = `${base}router/${encodeURIComponent(name)}`;
  const positions = `${lines}?view=positions`;
  if (!isPositions) {
    const components = logs.map(({ component }) => component);
    return html`${renderReach(router, nowMs)}
${renderLogLines({ page, query, router: name, components, base, positions, grafana, absence: explainAbsence(router) })}`;
  }
  return html`${renderTabs('positions', `${lines}?view=logs`, positions)}
${renderTable({ caption: 'Log positions', columns: createLogColumns(nowMs), rows: logs, empty: 'Not read since the start.', className: 'stack' })}
<p>Log rotation: ${logRotation ? renderRotation(logRotation) : 'no rotation has yet shown how consecutive files are linked.'}</p>
${
  recentGaps.length === 0
    ? ''
    : html`<h2 id="gaps">Gaps</h2>
${renderTable({ caption: 'Missing log lines, also from before the agent started', columns: GAP_COLUMNS, rows: recentGaps, empty: '', className: 'stack' })}`
}`;
}

/** Up to when the lines of a router that is down were read. */
function renderReach({ state, since, failure, logs }: RouterDetail, nowMs: number): Html | string {
  if (state !== 'down' || since === null) return '';
  const lags = logs.flatMap(({ lagSeconds }) => lagSeconds ?? []);
  const read =
    lags.length === 0
      ? 'Not read since the agent started'
      : html`Last read ${renderSince(new Date(nowMs - Math.min(...lags) * 1000).toISOString(), nowMs)}`;
  const what = failure?.step === 'dns' || failure?.step === 'connect' ? 'not reachable' : 'down';
  return html`<p id="reach"><strong>${read}; ${what} since ${renderSince(since, nowMs)}.</strong></p>`;
}

/** Why no line can exist of a router that no poll has reached. */
function explainAbsence({ lastSuccess, failure, logs }: RouterDetail): string | undefined {
  if (lastSuccess !== null || failure === null || hasLines(logs)) return undefined;
  return failure.step === 'auth'
    ? 'No login to this router has succeeded since the agent started, so its logs were not read.'
    : 'No poll has reached this router since the agent started, so its logs were not read.';
}

/** True if lines of the router were read since the agent started. */
export function hasLines(logs: RouterDetail['logs']): boolean {
  return logs.some(({ newest, lines }) => newest !== null || lines > 0);
}

/** Smaller probabilities are shown as "less than". */
const CHANCE_MIN = 1e-6;

/** The same text as in doctor. */
function renderRotation({ linksProven, matches, misses, chance, contradictedBy }: LogRotationSummary): Html {
  const least = chance < CHANCE_MIN ? 'less than ' : '';
  const odds =
    chance < 1 ? `, by chance ${least}1 in ${renderCount(Math.round(1 / Math.max(chance, CHANCE_MIN)))}` : '';
  const seen = `in ${renderCount(matches)} of ${renderMany(matches + misses, 'rotation')}${odds}`;
  const others = contradictedBy.length === 0 ? '' : html` Contradicted by ${toShown(contradictedBy.join(', '), 240)}.`;
  return linksProven
    ? html`a file begins in the second in which the one before ends (${seen}): a missing one would show.${others}`
    : html`not proven that a file begins in the second in which the one before ends (${seen}): nothing waits for a missing one.${others}`;
}
