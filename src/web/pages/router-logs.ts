import type { LogGapSummary, LogRotationSummary, RecordSummary, RouterDetail } from '../api-types.ts';
import { type Html, html, toShown } from './html.ts';
import { createLogColumns } from './logs-page.ts';
import { NOTHING, renderBytes, renderCount, renderMany, renderMoment } from './quantities.ts';
import { type Column, renderTable } from './table.ts';

const GAP_COLUMNS: readonly Column<LogGapSummary>[] = [
  { title: 'Found', cell: ({ at }) => renderMoment(at) },
  { title: 'Log', cell: ({ component }) => toShown(component, 120) },
  { title: 'Certainty', cell: ({ certainty }) => certainty },
  { title: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
  { title: 'Missing', cell: ({ bytesMin }) => (bytesMin === null ? 'not known' : `at least ${renderBytes(bytesMin)}`) },
  { title: 'Until', cell: ({ until }) => renderMoment(until) },
];

const RECORD_COLUMNS: readonly Column<RecordSummary>[] = [
  { title: 'Time', cell: ({ timestamp }) => renderMoment(timestamp) },
  { title: 'Log', cell: ({ component }) => toShown(component, 120) },
  { title: 'Severity', cell: ({ severity }) => severity ?? NOTHING },
  { title: 'Message', kind: 'wide', cell: ({ message }) => html`<bdi class="message">${toShown(message)}</bdi>` },
];

/** Renders the logs of one router: their positions, gaps and last records. */
export function renderRouterLogs({ logs, logRotation, recentGaps, recentRecords }: RouterDetail, nowMs: number): Html {
  return html`<h2>Logs</h2>
${renderTable({ caption: 'Log positions', columns: createLogColumns(nowMs), rows: logs, empty: 'No log was read.' })}
<p>Log rotation: ${logRotation ? renderRotation(logRotation) : 'no rotation has yet shown how consecutive files are linked.'}</p>
${
  recentGaps.length === 0
    ? ''
    : html`<h2>Gaps</h2>
${renderTable({ caption: 'Missing log lines', columns: GAP_COLUMNS, rows: recentGaps, empty: '' })}`
}
<h2>Last records</h2>
${renderTable({ caption: 'Last records stored for the sinks, redacted and truncated', columns: RECORD_COLUMNS, rows: recentRecords, empty: 'None since the agent started.' })}`;
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
