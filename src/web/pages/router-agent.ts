import { renderBytes, renderCount, renderMany } from '../../base/index.ts';
import { POLL_STEPS, type PollStep } from '../../model/index.ts';
import type { DataPlanSummary, PaceSummary, PollSummary, ResourceSummary, RouterDetail } from '../api/router-detail.ts';
import { type Html, html, NOTHING, renderAgo, renderLength, renderMoment, renderSince, toShown } from './html.ts';
import { renderLabels, renderStep } from './router-facts.ts';
import { renderHours } from './router-overview.ts';
import { type Column, renderTable } from './table.ts';

/** Renders what the agent does with a router: steps, polls, resources, session, certificate and bytes. */
export function renderAgentView(
  router: RouterDetail,
  { range, config }: { readonly range: string; readonly config: string },
  nowMs: number,
): Html {
  return html`<h2>Connection steps</h2>
${renderSteps(router)}
${renderHours(router, 'agent', range, ['response', 'lag'])}
<h2>Last polls</h2>
${renderTable({ caption: 'Last polls; failed ones are kept longer', columns: createPollColumns(nowMs), rows: router.recentPolls, empty: 'No poll yet.' })}
<h2>Resources</h2>
${renderTable({ caption: 'Resources', columns: RESOURCE_COLUMNS, rows: router.resources, empty: 'No resource was read yet.' })}
<h2>Session and bytes</h2>
${renderFacts(router, nowMs)}
<details id="bytes"><summary>Bytes by kind and day</summary>
${renderTable({ caption: 'Bytes by day (UTC)', columns: DAY_COLUMNS, rows: router.bytes.days, empty: '' })}</details>
<details id="config"><summary>Settings: the running configuration, with defaults and without secrets</summary>
<pre tabindex="0" role="region" aria-label="Configuration of the router">${config}</pre></details>`;
}

/** Typical response time, and how much less often a slow router is polled. */
function renderPace({ responseSeconds, level, isSignalPoor, stretch, statusStretch }: PaceSummary): Html {
  if (responseSeconds === null) return html`${NOTHING}`;
  const usual = html`typically after ${renderLength(responseSeconds)}`;
  if (level === 'usual') return usual;
  const why = isSignalPoor ? 'slow with a poor signal' : level === 'slow' ? 'slow' : 'very slow';
  return html`${usual}, <span class="warn">${why}</span>: intervals of slow modules and logs × ${stretch}, status interval ${statusStretch === 1 ? 'as configured' : `× ${statusStretch}`}`;
}

const SESSIONS: Readonly<Record<RouterDetail['session']['state'], string>> = {
  none: 'none yet, or none needed',
  open: 'logged in',
  lost: 'ended by the router',
  failed: 'the last login failed',
  closed: 'logged out',
};
const RESOURCE_TONES = { up: 'good', failed: 'bad', unsupported: 'soft', forbidden: 'warn' } as const;
const LABELS_MAX = 64;

function renderSteps({ url, state, failure, fault, session }: RouterDetail): Html {
  const failedAt = failure?.step ? POLL_STEPS.indexOf(failure.step) : -1;
  const isKnown = state === 'up' || failedAt >= 0;
  const describe = (step: PollStep, index: number): readonly [tone: string, word: string] => {
    if (index === failedAt) return ['bad', 'failed'];
    if (!isKnown || (failedAt >= 0 && index > failedAt)) return ['soft', 'not tried'];
    if (fault?.step === step) return ['warn', 'degraded'];
    if (step === 'tls' && url.startsWith('http:')) return ['soft', 'not used'];
    if (step === 'auth' && session.state === 'none') return ['soft', 'not used'];
    return ['good', 'passed'];
  };
  return html`<ol class="way">
${POLL_STEPS.map((step, index) => {
  const [tone, word] = describe(step, index);
  return html`<li class="${tone}">${step}: ${word}</li>
`;
})}</ol>`;
}

const RESOURCE_COLUMNS: readonly Column<ResourceSummary>[] = [
  { title: 'Resource', cell: ({ resource }) => toShown(resource, 120) },
  {
    title: 'State',
    cell: ({ state, finding }) =>
      html`<span class="state ${finding === null ? RESOURCE_TONES[state] : 'warn'}">${state}</span>`,
  },
  { title: 'Age', kind: 'number', cell: ({ ageSeconds }) => renderLength(ageSeconds) },
  { title: 'Duration', kind: 'number', cell: ({ durationSeconds }) => renderLength(durationSeconds) },
  { title: 'Error or finding', kind: 'wide', cell: ({ error, finding }) => toShown(error ?? finding ?? '') },
];

const DAY_COLUMNS: readonly Column<RouterDetail['bytes']['days'][number]>[] = [
  { title: 'Day', cell: ({ day }) => day },
  { title: 'Status', kind: 'number', cell: ({ status }) => (status === null ? NOTHING : renderBytes(status)) },
  {
    title: 'Logs and backups',
    kind: 'number',
    cell: ({ bytes, status }) => (status === null ? NOTHING : renderBytes(Math.max(0, bytes - status))),
  },
  { title: 'All', kind: 'number', cell: ({ bytes }) => renderBytes(bytes) },
];

function renderPlan({ sim, limit, used, periodStart, forecast, day, median }: DataPlanSummary): Html {
  if (used === null)
    return html`<dt>Data plan <bdi>${toShown(sim, 60)}</bdi></dt><dd>${renderBytes(limit)}, not read yet</dd>`;
  const usual = median === null ? '' : `, ${renderBytes(median)} on a usual day`;
  const end = forecast === null ? NOTHING : renderBytes(forecast);
  return html`<dt>Data plan <bdi>${toShown(sim, 60)}</bdi></dt><dd>${renderBytes(used)} of ${renderBytes(limit)} since ${periodStart?.slice(0, 10)}, <span class="${(forecast ?? 0) > limit ? 'warn' : 'good'}">${end} forecast</span>; today ${renderBytes(day ?? 0)}${usual}</dd>
`;
}

function createPollColumns(nowMs: number): readonly Column<PollSummary>[] {
  return [
    { title: 'Start', cell: ({ at }) => renderMoment(at) },
    { title: 'Ago', cell: ({ at }) => renderAgo(at, nowMs) },
    { title: 'Duration', kind: 'number', cell: ({ durationSeconds }) => renderLength(durationSeconds) },
    {
      title: 'Result',
      cell: ({ ok, fault }) => {
        const [tone, word] = !ok ? ['bad', 'failed'] : fault ? ['warn', 'degraded'] : ['good', 'ok'];
        return html`<span class="state ${tone}">${word}</span>`;
      },
    },
    {
      title: 'Failed at',
      cell: ({ fault }) => (fault ? renderStep(fault) : ''),
    },
    { title: 'Error', kind: 'wide', cell: ({ error, fault }) => toShown(error ?? fault?.error ?? '') },
  ];
}

function renderPause(what: string, until: string | null): Html | string {
  return until === null ? '' : html`, <span class="warn">${what} paused until</span> ${renderMoment(until)}`;
}

/** Renders what a router was seen to cost. */
function renderMonth(month: RouterDetail['bytes']['month'], nowMs: number): Html | string {
  if (month === null) return 'not enough seen yet';
  const { status, logs, since } = month;
  return html`At these intervals about ${renderBytes(status + logs)} a month (status ${renderBytes(status)}, logs ${renderBytes(logs)}), as seen since ${renderSince(since, nowMs)}`;
}

function renderFacts(
  { url, labels, certificate, session, bytes, pace, use, dataPlans }: RouterDetail,
  nowMs: number,
): Html {
  const { budget, usedToday, stretch, logsPausedUntil, statusPausedUntil } = bytes;
  const until = certificate && (Date.parse(certificate.notAfter) - nowMs) / 1000;
  return html`<dl>
<dt>Address</dt><dd>${toShown(url)}</dd>
<dt>Labels</dt><dd>${renderLabels(labels, LABELS_MAX)}</dd>
<dt>Certificate</dt><dd>${until === null ? NOTHING : html`${until < 0 ? html`<span class="bad">expired</span>` : html`expires in ${renderLength(until)}`}, ${renderMoment(certificate?.notAfter ?? null)}`}</dd>
<dt>Session</dt><dd>${SESSIONS[session.state]}${session.since === null ? '' : html` ${renderAgo(session.since, nowMs)}`};
${renderMany(session.logins, 'login')}, ${renderCount(session.loginFailures)} failed, ${renderMany(session.refreshes, 'refresh', 'refreshes')}</dd>
<dt>Answers</dt><dd>${renderPace(pace)}</dd>
<dt>Bytes since the agent started</dt><dd>${renderBytes(bytes.sent)} sent, ${renderBytes(bytes.received)} received</dd>
<dt>Bytes today</dt><dd>${renderBytes(usedToday)}${
    budget === null
      ? ', no budget'
      : html` of ${renderBytes(budget)} <meter aria-label="Share of the byte budget" min="0" max="${budget}" value="${Math.min(usedToday, budget)}"></meter>${stretch > 1 ? `, intervals ${stretch} times as long` : ''}${renderPause('logs', logsPausedUntil)}${renderPause('polls', statusPausedUntil)}`
  }</dd>
<dt>Bytes this month</dt><dd>${renderBytes(use.agent)}</dd>
<dt>Bytes a month</dt><dd>${renderMonth(bytes.month, nowMs)}</dd>
${dataPlans.map(renderPlan)}</dl>`;
}
