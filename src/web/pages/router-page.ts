import { renderBytes } from '../../base/index.ts';
import { explainFailure, type LifecycleState } from '../../model/index.ts';
import { EVENTS_MAX, type EventSummary } from '../api/events.ts';
import { parseRecordQuery, type RecordPage, type RecordQuery, toFleetQuery } from '../api/logs.ts';
import type { BackupSummary, RouterDetail } from '../api/router-detail.ts';
import { answerForOther, type FleetContent, withoutCredentials } from '../whole-fleet.ts';
import { renderEvents } from './events-table.ts';
import { type Html, html, renderAgo, renderAtLeast, renderMoment, renderSince, renderSpell, toShown } from './html.ts';
import { type Page, toHref } from './layout.ts';
import { renderLine } from './log-lines.ts';
import { hasLines, renderRouterLogs } from './logs-page.ts';
import { renderAgentView } from './router-agent.ts';
import { renderState, renderStep } from './router-facts.ts';
import { parseRange, renderModems, renderOverview } from './router-overview.ts';
import { type Column, renderTable } from './table.ts';
import { renderValues } from './value-table.ts';

/** The content of a router's page. */
export interface RouterPageContent extends Pick<FleetContent, 'describeShards' | 'readRecords' | 'listEvents'> {
  /** Everything known about one router; `undefined` if it is not configured. */
  describeRouter(name: string): RouterDetail | undefined;
  /** The running configuration of one router, as YAML without secrets; `undefined` if it is not configured. */
  renderRouterConfig(name: string): string | undefined;
  /** The versions of its profiles that were backed up, the newest first; none without backups. */
  listBackups(name: string): Promise<readonly BackupSummary[]>;
  /** What a version of a profile changed in the one before it, without values, or why that is not known. */
  compareKeys(name: string, profile: string, version: number): Promise<string>;
  /** URL of a Grafana with the dashboards, without a trailing slash; `undefined` without one. */
  findGrafana(): string | undefined;
}

const NO_RECORDS: RecordPage = { records: [], next: null, searchedTo: null, fault: null };
/** Lines and events on the overview. */
const LAST_LINES = 10;

/** Parts of the page, each with an address. */
const VIEWS = {
  overview: 'Overview',
  network: 'Network',
  modem: 'Modem',
  device: 'Device',
  logs: 'Logs',
  events: 'Events',
  configuration: 'Configuration',
  agent: 'Agent',
} as const;
/** `positions`: read progress, as a part of the logs. */
type View = keyof typeof VIEWS | 'positions';

/** Everything known about one router. */
export const routerPage: Page<RouterPageContent> = {
  path: '/router/:name',
  async render({ content, clock, isLifecycleEnabled: canPoll }, context, base) {
    const name = context.req.param('name') ?? '';
    const router = content.describeRouter(name);
    if (!router) {
      const main = html`<h1>No such router</h1>
<p>No router of this name is configured. <a href="${toHref(base, '')}">Search the fleet</a>.</p>`;
      const elsewhere = answerForOther(content, context, name, `/router/${name}`);
      return elsewhere ?? { title: 'No such router', main, status: 404 };
    }
    const wanted = context.req.query('view') ?? '';
    const view = wanted === 'positions' || Object.hasOwn(VIEWS, wanted) ? (wanted as View) : 'overview';
    const query = { ...(view === 'overview' ? toFleetQuery(LAST_LINES) : parseRecordQuery(context)), router: name };
    const page = view === 'logs' || view === 'overview' ? await content.readRecords(query) : NO_RECORDS;
    const events = content.listEvents({ router: name, max: EVENTS_MAX });
    const config = view === 'agent' ? (content.renderRouterConfig(name) ?? '') : '';
    const backups = view === 'configuration' ? await content.listBackups(name) : [];
    const [profile = '', version] = [context.req.query('profile'), Number(context.req.query('version'))];
    const changes = backups.length > 0 && version > 0 ? await content.compareKeys(name, profile, version) : '';
    const range = parseRange(context.req.query('range'));
    const grafana = content.findGrafana();
    const shown = { view, range, config, backups, changes, events, page, query, canPoll, grafana };
    return { title: router.name, main: renderRouter(withoutCredentials(router), shown, base, clock.now()) };
  },
};

interface RouterView {
  readonly view: View;
  /** Of charts. */
  readonly range: string;
  readonly config: string;
  readonly backups: readonly BackupSummary[];
  /** In one of these; empty unless asked for. */
  readonly changes: string;
  readonly events: readonly EventSummary[];
  readonly page: RecordPage;
  readonly query: RecordQuery;
  readonly grafana: string | undefined;
  /** True if the page has a button to poll the router. */
  readonly canPoll: boolean;
}

function renderRouter(router: RouterDetail, shown: RouterView, base: string, nowMs: number): Html {
  return html`${renderHead(router, shown, base, nowMs)}
<nav class="tabs" aria-label="Parts of the page"><ul>
${Object.entries(VIEWS).map(([view, title]) => html`<li><a href="?view=${view}"${view === (shown.view === 'positions' ? 'logs' : shown.view) ? html` aria-current="page"` : ''}>${title}</a></li>\n`)}</ul></nav>
${renderLifecycle(router)}
${renderNotice(router, shown.page.records.length > 0 || hasLines(router.logs))}
${renderWait(router)}
${renderLoss(router, nowMs)}
${renderView(router, shown, base, nowMs)}`;
}

/** Who the router is, its state, the age of its values, and what can be done. */
function renderHead(router: RouterDetail, { canPoll, grafana }: RouterView, base: string, nowMs: number): Html {
  const { name, url, since, isFirstState, lastSuccess, device, firmware, serial, labels } = router;
  const state =
    since === null
      ? ''
      : isFirstState
        ? html` ${renderAtLeast(since, nowMs)}`
        : html` since ${renderSpell(since, nowMs)}`;
  const facts = [
    labels['site'] ?? device.location,
    device.model,
    firmware && `firmware ${firmware}`,
    serial && `serial ${serial}`,
  ];
  // An address may come from a list of another system.
  const link = /^https?:\/\//.test(url) ? html`<a href="${url}" rel="noreferrer">Web interface</a>, ` : '';
  return html`<div class="head"><h1>${name}</h1>
<p>${renderState(router, state)}. <span class="soft">${facts.flatMap((fact) => (fact ? [toShown(fact, 120)] : [])).join(' · ')}${lastSuccess === null ? '' : html`. Newest values of ${renderAgo(lastSuccess, nowMs)}`}.</span></p>
<p>${link}<a href="${base}probe?target=${encodeURIComponent(name)}">Metrics</a>, <a href="${base}api/v1/routers/${encodeURIComponent(name)}">JSON</a>${renderDashboards(grafana, name)}</p>
${canPoll ? renderActions(router, base) : ''}</div>`;
}

function renderView(router: RouterDetail, shown: RouterView, base: string, nowMs: number): Html | string {
  const { view, range, page, query, grafana, config, events } = shown;
  const how = { showRouter: false, base, nowMs };
  switch (view) {
    case 'overview':
      return html`${renderOverview(router, range)}
<div class="pair"><section><h2>Last events <a href="?view=events">All events</a></h2>
${renderEvents(events.slice(0, LAST_LINES), how)}</section>
<section><h2>Last lines <a href="?view=logs">All lines, with filters</a></h2>
<ol class="lines own">
${page.records.map((line) => renderLine(line, undefined, { router: router.name, base }))}</ol>${page.records.length === 0 ? html`<p>No lines.</p>` : ''}</section></div>`;
    case 'logs':
    case 'positions':
      return renderRouterLogs(router, { isPositions: view === 'positions', page, query, grafana }, base, nowMs);
    case 'events':
      return html`<p class="help">Events of the last 30 days, the newest first; at most 100 are kept, fewer in a fleet of more than 2,000 routers.</p>
${renderEvents(events, how)}`;
    case 'agent':
      return renderAgentView(router, { range, config }, nowMs);
    case 'modem':
      return renderModems(router, range);
    case 'configuration':
      return html`${renderValues(router, view)}
${renderBackups(router.name, shown)}`;
    case 'network':
    case 'device':
      return renderValues(router, view);
  }
}

const listBackupColumns = (backups: readonly BackupSummary[]): readonly Column<BackupSummary>[] => [
  { title: 'Profile', cell: ({ profile, number }) => html`<bdi>${toShown(profile, 120)}</bdi>, version ${number}` },
  { title: 'Time', cell: ({ at }) => renderMoment(at) },
  { title: 'Size', kind: 'number', cell: ({ bytes }) => renderBytes(bytes) },
  { title: 'Reason', cell: ({ reason }) => reason },
  {
    title: 'Changes',
    cell: ({ profile, number }) =>
      backups.some((one) => one.profile === profile && one.number > number)
        ? html`<a href="?view=configuration&amp;profile=${encodeURIComponent(profile)}&amp;version=${number}#changes">from the version before</a>`
        : 'none before it is kept',
  },
];

/** Without the values in profiles, which may be secrets. */
function renderBackups(name: string, { backups, changes }: RouterView): Html | string {
  if (backups.length === 0) return '';
  return html`<h2>Backups</h2>
${renderTable({ caption: 'Versions of profiles', columns: listBackupColumns(backups), rows: backups, empty: '' })}
${changes === '' ? '' : html`<h3 id="changes">Changes</h3>\n<pre tabindex="0" role="region" aria-labelledby="changes">${changes}</pre>`}
<p class="soft">Changes are shown without values, which may be secrets. With them: <code>router-exporter profiles diff ${name}</code></p>`;
}

/** Hours of a maintenance to choose from. */
const HOURS = [1, 4, 24, 72] as const;

/** Works without scripts; the age of the values limits how often it polls. */
function renderActions({ name, lifecycle: { state, setBy } }: RouterDetail, base: string): Html {
  const router = encodeURIComponent(name);
  const choice = html`<label for="hours" class="unseen">Length of the maintenance</label>
<select name="hours" id="hours">${HOURS.map((hours) => html`<option value="${hours}">${hours} h</option>`)}</select> <button>Maintenance</button>`;
  const end = html`<input type="hidden" name="hours" value="0"><button>End maintenance</button>`;
  const canRest = setBy !== 'configuration' && (state === 'active' || state === 'maintenance');
  return html`<form method="post" action="${base}-/poll?router=${router}"><button title="Unless its values are less than 10 s old or its byte budget is used up">Poll now</button></form>
${canRest ? html`<form method="post" action="${base}-/maintenance?router=${router}">${state === 'active' ? choice : end}</form>` : ''}`;
}

function renderDashboards(grafana: string | undefined, name: string): Html | string {
  if (grafana === undefined) return '';
  const query = `?var-router=${encodeURIComponent(name)}`;
  return html`, Grafana: <a href="${grafana}/d/router-exporter-router${query}">router</a>, <a href="${grafana}/d/router-exporter-logs${query}">its logs</a>`;
}

function renderNotice({ name, failure, fault }: RouterDetail, canShowLines: boolean): Html | string {
  const error = failure?.error ?? fault?.error;
  if (error === undefined) return '';
  const step = failure ? failure.step : fault?.step;
  if (!step) return html`<div class="notice"><p><strong>Not polled:</strong> ${toShown(error)}</p></div>`;
  const where = fault ? renderStep(fault) : step;
  // An error with advice of its own ends with it, as a second sentence.
  return html`<div class="notice"><p><strong>${failure ? 'Fails' : 'Degraded'} at ${where}:</strong> ${toShown(error)}</p>
${/[.?!] [A-Z]/.test(error) ? '' : html`<p>${explainFailure(failure?.reason ?? step) ?? ''}.</p>`}
<p>Step by step: <code>router-exporter doctor ${name}</code>${failure && canShowLines ? html`. Before the failure: <a href="?view=logs">its last lines</a>` : ''}</p></div>`;
}

const LIFECYCLE_NOTES: Readonly<Record<LifecycleState, string>> = {
  active: '',
  maintenance: 'its status and logs are read as usual, and the shipped alerts ignore it.',
  paused: 'it is not polled. Log lines that it still has afterwards are read then.',
  retired: 'it is not polled any more and has no series.',
};

function renderLifecycle({ lifecycle: { state, until, setBy } }: RouterDetail): Html | string {
  if (state === 'active') return '';
  const end = until === null ? '' : html` until ${renderMoment(until)}`;
  const setter = setBy === 'request' ? 'by a request to the agent' : 'in the configuration';
  return html`<div class="notice" id="lifecycle"><p><strong>In the state ${state}${end}:</strong> ${LIFECYCLE_NOTES[state]} This is set ${setter}.</p></div>`;
}

function renderWait({ retryAfter }: RouterDetail): Html | string {
  if (retryAfter === null) return '';
  return html`<div class="notice"><p><strong>Paused until ${renderMoment(retryAfter)}:</strong> the router answered 429 or 503 with <code>Retry-After</code>. Until then neither its status nor its logs are read.</p></div>`;
}

/** Lines may be lost: the router keeps them for a shorter time than it was not read. */
function renderLoss({ logLossSince }: RouterDetail, nowMs: number): Html | string {
  if (logLossSince === null) return '';
  return html`<div class="notice"><p><strong>Log lines may be lost since ${renderSince(logLossSince, nowMs)}:</strong> its logs were not read for longer than it keeps lines at the last rate. While it is switched off, nothing is lost. See <a href="?view=positions">log positions</a>.</p></div>`;
}
