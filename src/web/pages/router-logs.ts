import type { LogGapSummary, RecordSummary, RouterDetail } from '../api-types.ts';
import { type Html, html, toShown } from './html.ts';
import { createLogColumns } from './logs-page.ts';
import { NOTHING, renderBytes, renderMoment } from './quantities.ts';
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

/** The logs of one router: how far each was read, what is missing, and what came last. */
export function renderRouterLogs({ logs, recentGaps, recentRecords }: RouterDetail, nowMs: number): Html {
  return html`<h2>Logs</h2>
${renderTable({ caption: 'How far its logs were read', columns: createLogColumns(nowMs), rows: logs, empty: 'No log was read.' })}
${
  recentGaps.length === 0
    ? ''
    : html`<h2>Gaps</h2>
${renderTable({ caption: 'Where log lines are missing', columns: GAP_COLUMNS, rows: recentGaps, empty: '' })}`
}
<h2>Last records</h2>
${renderTable({ caption: 'What was stored for the sinks last, redacted and cut', columns: RECORD_COLUMNS, rows: recentRecords, empty: 'None since the agent started.' })}`;
}
