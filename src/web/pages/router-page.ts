import type { LifecycleState } from '../../model/index.ts';
import type { PaceSummary, PollSummary, ResourceSummary, RouterDetail } from '../api/router-detail.ts';
import { POLL_STEPS, type PollStep } from '../api/routers.ts';
import { renderLabels, renderState } from './fleet-columns.ts';
import { renderHistory } from './history-plot.ts';
import { type Html, html, toShown } from './html.ts';
import { renderPlot } from './plot.ts';
import {
  NOTHING,
  renderAgo,
  renderAtLeast,
  renderBytes,
  renderCount,
  renderLength,
  renderMany,
  renderMoment,
  renderSince,
  renderSpell,
} from './quantities.ts';
import { hasLines, type RouterLogsView, renderRouterLogs } from './router-logs.ts';
import { renderOverview } from './router-overview.ts';
import { renderValues } from './router-values.ts';
import { gradeSignal } from './signal.ts';
import { renderSparkline } from './sparkline.ts';
import { type Column, renderTable } from './table.ts';
import { hintFor, renderStep, STEP_NAMES } from './words.ts';

/** Renders how fast a router answers, and what is asked for less often because of that. */
function renderPace({ responseSeconds, level, isSignalPoor, stretch, statusStretch }: PaceSummary): Html {
  if (responseSeconds === null) return html`${NOTHING}`;
  const usual = html`usually after ${renderLength(responseSeconds)}`;
  if (level === 'usual') return usual;
  const why = isSignalPoor ? 'slow with a poor signal' : level === 'slow' ? 'slow' : 'very slow';
  return html`${usual}, <span class="warn">${why}</span>: slow modules and logs ${stretch} times as rarely, status ${statusStretch === 1 ? 'as configured' : `${statusStretch} times as rarely`}`;
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

/** Content of a router's page besides its state. */
export interface RouterPageContent {
  /** Its running configuration, as YAML. */
  readonly config: string;
  /** Its last lines, or the positions of reading. */
  readonly logs: RouterLogsView;
  /** Address of a Grafana with the dashboards. */
  readonly grafana: string | undefined;
  /** True when it may be polled from the page. */
  readonly canPoll: boolean;
}

/** Renders everything known about one router. */
export function renderRouter(
  router: RouterDetail,
  { config, grafana, logs, canPoll }: RouterPageContent,
  base: string,
  nowMs: number,
): Html {
  const { name } = router;
  return html`<p><a href="${base || './'}">Fleet</a></p>
<h1>${name}</h1>
<p>${renderState(router)}${router.since === null ? '' : router.isFirstState ? html` ${renderAtLeast(router.since, nowMs)}` : html` since ${renderSpell(router.since, nowMs)}`}.
<a href="${base}probe?target=${encodeURIComponent(name)}">Metrics</a>,
<a href="${base}api/v1/routers/${encodeURIComponent(name)}">JSON</a>,
<a href="#logs">logs</a>${renderDashboards(grafana, name)}.</p>
${renderLifecycle(router)}
${canPoll ? renderPollButton(name, base) : ''}
${renderNotice(router, logs.page.records.length > 0 || hasLines(router.logs), base)}
${renderWait(router)}
${renderLoss(router, nowMs)}
${renderOverview(router)}
${renderHours(router)}
${renderValues(router)}
<h2>Connection steps</h2>
${renderWay(router)}
<h2>Last polls</h2>
<div class="plots">
${renderPlot(
  'Poll duration',
  router.history.map(({ at, durationSeconds, ok }) => ({
    atMs: Date.parse(at),
    value: ok ? durationSeconds : null,
    isFailed: !ok,
  })),
)}
${renderPlot(
  'Log lag',
  router.history.map(({ at, logLagSeconds, ok }) => ({ atMs: Date.parse(at), value: logLagSeconds, isFailed: !ok })),
)}
</div>
${renderTable({ caption: 'Last polls; failed ones are kept longer', columns: createPollColumns(nowMs), rows: router.recentPolls, empty: 'None yet.' })}
<h2>Resources read</h2>
${renderTable({ caption: 'Resources read', columns: RESOURCE_COLUMNS, rows: router.resources, empty: 'Nothing was read yet.' })}
<h2>Identity, session and bytes</h2>
${renderFacts(router, nowMs)}
${renderRouterLogs(router, logs, base, nowMs)}
<h2>Configuration</h2>
<details id="config"><summary>The running configuration, with defaults and without secrets</summary>
<pre tabindex="0" role="region" aria-label="Configuration of the router">${config}</pre></details>`;
}

/** Renders a form that polls the router. It works without scripts, and the age of the values bounds how often it does. */
function renderPollButton(name: string, base: string): Html {
  return html`<form method="post" action="${base}-/poll?router=${encodeURIComponent(name)}"><button>Poll now</button>
<span class="soft">unless its values are younger than 10 s, or its byte budget forbids it</span></form>`;
}

/** Renders links to the dashboards about this router. */
function renderDashboards(grafana: string | undefined, name: string): Html | string {
  if (grafana === undefined) return '';
  const query = `?var-router=${encodeURIComponent(name)}`;
  return html`, Grafana: <a href="${grafana}/d/router-exporter-router${query}">router</a>, <a href="${grafana}/d/router-exporter-logs${query}">its logs</a>`;
}

/** Names of the kinds of signals in a plot. */
const SIGNAL_UNITS = { rsrp: 'dBm', rssi: 'dBm', csq: '' } as const;

/** Renders the last hours of the few values that matter. */
function renderHours({ lastHours, device: { signal } }: RouterDetail): Html | string {
  if (lastHours.length === 0) return '';
  const toUnit = (value: number) => `${value} ${SIGNAL_UNITS[signal?.kind ?? 'csq']}`.trim();
  const plots = [
    renderHistory(
      {
        title: `Signal (${signal?.kind.toUpperCase() ?? ''})`,
        pick: (point) => point.signal,
        range: ({ signalMin, signalMax }) => [signalMin, signalMax],
        render: toUnit,
        isFromZero: false,
        grade: (value) => gradeSignal(signal?.kind ?? 'csq', value),
      },
      lastHours,
    ),
    renderHistory(
      { title: 'Response time', pick: (point) => point.responseSeconds, render: renderLength, isFromZero: true },
      lastHours,
    ),
    renderHistory(
      { title: 'Log lag', pick: (point) => point.logLagSeconds, render: renderLength, isFromZero: true },
      lastHours,
    ),
  ];
  const letters = { up: 'u', down: 'd', mixed: 'm' } as const;
  return html`<h2>Last 6 hours</h2>
<figure class="up-down">${renderSparkline(lastHours.map(({ result }) => (result ? letters[result] : '-')).join(''))}<figcaption>Up or down, in steps of 3 min</figcaption></figure>
<div class="plots wide">${plots}</div>`;
}

/** Renders the failure of the last poll, and what to do about it. */
function renderNotice({ name, failure, fault }: RouterDetail, canShowLines: boolean, base: string): Html | string {
  const error = failure?.error ?? fault?.error;
  if (error === undefined) return '';
  const step = failure ? failure.step : fault?.step;
  if (!step) return html`<div class="notice"><p><strong>Not asked:</strong> ${toShown(error)}</p></div>`;
  const where = fault ? renderStep(fault) : STEP_NAMES[step];
  return html`<div class="notice"><p><strong>${failure ? 'Fails' : 'Fails in part'} at ${where}:</strong> ${toShown(error)}</p>
<p>${hintFor(step, failure?.reason ?? 'auth')}</p>
<p>Step by step: <code>router-exporter doctor ${name}</code>${failure && canShowLines ? html`. What it wrote before: <a href="${base}router/${encodeURIComponent(name)}#logs">its last lines</a>` : ''}</p></div>`;
}

const LIFECYCLE_NOTES: Readonly<Record<LifecycleState, string>> = {
  active: '',
  maintenance: 'its status and logs are read as usual, and the shipped alerts leave it out.',
  paused: 'it is not asked. What its logs still hold is read afterwards.',
  retired: 'it is not asked any more, and has no series.',
};

/** Renders the state that the operator has given the router, with its end. */
function renderLifecycle({ lifecycle: { state, until, setBy } }: RouterDetail): Html | string {
  if (state === 'active') return '';
  const end = until === null ? '' : html` until ${renderMoment(until)}`;
  const setter = setBy === 'request' ? 'by a request to the agent' : 'in the configuration';
  return html`<div class="notice" id="lifecycle"><p><strong>In the state ${state}${end}:</strong> ${LIFECYCLE_NOTES[state]} This is set ${setter}.</p></div>`;
}

/** Renders why the router is not polled at the moment. */
function renderWait({ retryAfter }: RouterDetail): Html | string {
  if (retryAfter === null) return '';
  return html`<div class="notice"><p><strong>Paused until ${renderMoment(retryAfter)}:</strong> the router answered 429 or 503 with <code>Retry-After</code>. Until then neither its status nor its logs are read.</p></div>`;
}

/** Renders that lines may be lost: the router keeps them for a shorter time than it was not read. */
function renderLoss({ logLossSince }: RouterDetail, nowMs: number): Html | string {
  if (logLossSince === null) return '';
  return html`<div class="notice"><p><strong>Log lines may be lost since ${renderSince(logLossSince, nowMs)}:</strong> its logs were not read for longer than it keeps lines at the last rate. While it is switched off, nothing is lost. See <a href="?view=positions#logs">log positions</a>.</p></div>`;
}

/** Renders the steps in order: passed, failed, and not tried. */
function renderWay({ url, state, failure, fault, session }: RouterDetail): Html {
  const failedAt = failure?.step ? POLL_STEPS.indexOf(failure.step) : -1;
  const isKnown = state === 'up' || failedAt >= 0;
  const describe = (step: PollStep, index: number): readonly [tone: string, word: string] => {
    if (index === failedAt) return ['bad', 'failed'];
    if (!isKnown || (failedAt >= 0 && index > failedAt)) return ['soft', 'not tried'];
    if (fault?.step === step) return ['warn', 'failed in part'];
    if (step === 'tls' && url.startsWith('http:')) return ['soft', 'not used'];
    if (step === 'login' && session.state === 'none') return ['soft', 'not used'];
    return ['good', 'passed'];
  };
  return html`<ol class="way">
${POLL_STEPS.map((step, index) => {
  const [tone, word] = describe(step, index);
  return html`<li class="${tone}">${STEP_NAMES[step]}: ${word}</li>
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
  { title: 'Took', kind: 'number', cell: ({ durationSeconds }) => renderLength(durationSeconds) },
  { title: 'Error or finding', kind: 'wide', cell: ({ error, finding }) => toShown(error ?? finding ?? '') },
];

function createPollColumns(nowMs: number): readonly Column<PollSummary>[] {
  return [
    { title: 'Began', cell: ({ at }) => renderMoment(at) },
    { title: 'Ago', cell: ({ at }) => renderAgo(at, nowMs) },
    { title: 'Took', kind: 'number', cell: ({ durationSeconds }) => renderLength(durationSeconds) },
    {
      title: 'Result',
      cell: ({ ok, fault }) => {
        const [tone, word] = !ok ? ['bad', 'failed'] : fault ? ['warn', 'in part'] : ['good', 'ok'];
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

function renderFacts(
  { url, labels, firmware, serial, certificate, session, bytes, pace }: RouterDetail,
  nowMs: number,
): Html {
  const { budget, usedToday, stretch, logsPausedUntil, statusPausedUntil } = bytes;
  const until = certificate && (Date.parse(certificate.notAfter) - nowMs) / 1000;
  return html`<dl>
<dt>Address</dt><dd>${toShown(url)}</dd>
<dt>Labels</dt><dd>${renderLabels(labels, LABELS_MAX)}</dd>
<dt>Firmware</dt><dd>${toShown(firmware ?? NOTHING)}</dd>
<dt>Serial number</dt><dd>${toShown(serial ?? NOTHING)}</dd>
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
</dl>`;
}
