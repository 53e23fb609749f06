import type { LogGapSummary, LogRotationSummary, RecordPage } from '../api/logs.ts';
import type { RouterDetail } from '../api/router-detail.ts';
import type { RecordQuery } from '../content.ts';
import { type Html, html, toShown } from './html.ts';
import { renderLogLines, renderTabs } from './log-lines.ts';
import { createLogColumns } from './logs-page.ts';
import { renderBytes, renderCount, renderMany, renderMoment, renderSince } from './quantities.ts';
import { type Column, renderTable } from './table.ts';

const GAP_COLUMNS: readonly Column<LogGapSummary>[] = [
  { title: 'Found', cell: ({ at }) => renderMoment(at) },
  { title: 'Log', cell: ({ component }) => toShown(component, 120) },
  { title: 'Certainty', cell: ({ certainty }) => certainty },
  { title: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
  { title: 'Missing', cell: ({ bytesMin }) => (bytesMin === null ? 'not known' : `at least ${renderBytes(bytesMin)}`) },
  { title: 'Until', cell: ({ until }) => renderMoment(until) },
];

/** Content of the section about the logs of a router: its last lines, or the positions of reading. */
export interface RouterLogsView {
  /** True: the positions of reading. */
  readonly isPositions: boolean;
  /** Its last lines. */
  readonly page: RecordPage;
  /** The parsed query. */
  readonly query: RecordQuery;
  /** Address of a Grafana; `undefined` without one. */
  readonly grafana: string | undefined;
}

/** Renders the logs of one router: its last lines, or their positions and gaps. */
export function renderRouterLogs(
  router: RouterDetail,
  { isPositions, page, query, grafana }: RouterLogsView,
  base: string,
  nowMs: number,
): Html {
  const { name, logs, logRotation, recentGaps } = router;
  const lines = `${base}router/${encodeURIComponent(name)}`;
  const positions = `${lines}?view=positions#logs`;
  if (!isPositions) {
    const components = logs.map(({ component }) => component);
    return html`<h2 id="logs">Logs</h2>
${renderReach(router, nowMs)}
${renderLogLines({ page, query, router: name, components, base, positions, grafana, absence: explainAbsence(router) })}`;
  }
  return html`<h2 id="logs">Logs</h2>
${renderTabs('positions', `${lines}#logs`, positions)}
${renderTable({ caption: 'Log positions', columns: createLogColumns(nowMs), rows: logs, empty: 'No log was read.', className: 'stack' })}
<p>Log rotation: ${logRotation ? renderRotation(logRotation) : 'no rotation has yet shown how consecutive files are linked.'}</p>
${
  recentGaps.length === 0
    ? ''
    : html`<h2 id="gaps">Gaps</h2>
${renderTable({ caption: 'Missing log lines', columns: GAP_COLUMNS, rows: recentGaps, empty: '', className: 'stack' })}`
}`;
}

/** Renders until when the lines of a router that is down were read. */
function renderReach({ state, since, failure, logs }: RouterDetail, nowMs: number): Html | string {
  if (state !== 'down' || since === null) return '';
  const lags = logs.flatMap(({ lagSeconds }) => lagSeconds ?? []);
  const read =
    lags.length === 0
      ? 'Not read since the agent started'
      : html`Last read ${renderSince(new Date(nowMs - Math.min(...lags) * 1000).toISOString(), nowMs)}`;
  const what = failure?.step === 'dns' || failure?.step === 'tcp' ? 'not reachable' : 'down';
  return html`<p id="reach"><strong>${read}; ${what} since ${renderSince(since, nowMs)}.</strong></p>`;
}

/** Returns why no line can have been read of a router that no poll has reached. */
function explainAbsence({ lastSuccess, failure, logs }: RouterDetail): string | undefined {
  if (lastSuccess !== null || failure === null || hasLines(logs)) return undefined;
  return failure.step === 'login'
    ? 'No login to this router has succeeded since the agent started, so its logs were not read.'
    : 'No poll has reached this router since the agent started, so its logs were not read.';
}

/** True if lines of the router were read since the agent started. */
export function hasLines(logs: RouterDetail['logs']): boolean {
  return logs.some(({ newest, lines }) => newest !== null || lines > 0);
}

/** Smaller probabilities are shown as "less than". */
const CHANCE_MIN = 1e-6;

/** Renders the same text as the doctor. */
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
