import type { LogLine, LogLineGap, RecordPage } from '../api/logs.ts';
import type { RecordQuery } from '../content.ts';
import { SEVERITIES } from '../record-query.ts';
import { type Html, html, toShown } from './html.ts';
import { renderBytes, renderMany, renderMoment } from './quantities.ts';

/** Longer messages can be opened. Characters. */
const SHOWN_CHARS = 400;
/** The longest message, and what its control characters become. Characters. */
const WHOLE_CHARS = 80_000;
const NAME_CHARS = 120;
const COMPONENTS_MAX = 100;
/** Severities that a page offers, each with those that are worse. */
const LEAST_SEVERITIES = ['critical', 'error', 'warning', 'notice', 'info'];
const TONES: Readonly<Record<string, string>> = {
  emergency: 'bad',
  alert: 'bad',
  critical: 'bad',
  error: 'bad',
  warning: 'warn',
  debug: 'soft',
};

/** Lines of logs, and where they are shown. */
export interface LinesView {
  /** The lines, newest first. */
  readonly page: RecordPage;
  /** The parsed query. */
  readonly query: RecordQuery;
  /** Name of the router whose page this is; `undefined` on the page of all, which has no filters. */
  readonly router: string | undefined;
  /** Names of logs to choose from; empty = any can be typed. */
  readonly components: readonly string[];
  /** Prefix of links. */
  readonly base: string;
  /** Address of the other view, the positions of reading. */
  readonly positions: string;
  /** Address of a Grafana. Default: none. */
  readonly grafana: string | undefined;
  /** Process whose lines alone are followed live. Default: there is no other. */
  readonly follows?: string | undefined;
  /** Why there are no lines, whatever is asked for. Default: not known. */
  readonly absence?: string | undefined;
}

/** Renders the views of logs as tabs that are links. */
export function renderTabs(current: 'lines' | 'positions', lines: string, positions: string): Html {
  const mark = (name: string) => (name === current ? html` aria-current="page"` : '');
  return html`<nav class="tabs" aria-label="Views of the logs"><ul>
<li><a href="${lines}"${mark('lines')}>Lines</a></li>
<li><a href="${positions}"${mark('positions')}>Positions of reading</a></li>
</ul></nav>`;
}

/** Renders the last lines of logs in the order of their times; of one router with filters and links to older ones. Works without scripts. */
export function renderLogLines(view: LinesView): Html {
  const { page, query, positions, router, follows } = view;
  const ends = findEnds(page.records);
  return html`${renderTabs('lines', toAddress(view), positions)}
${router === undefined ? renderChoice(view) : renderForm(view, router)}
${page.fault === null ? '' : html`<div class="notice"><p><strong>The lines cannot be read:</strong> ${toShown(page.fault)}</p></div>`}
<p class="help">${describePage(page, view)}${renderExplore(view)}</p>
<div id="live"${renderStream(view)}>${
    query.before === undefined
      ? html`<p><button type="button" id="live-toggle" hidden>Follow live</button> <span id="live-state" role="status"></span>${follows === undefined ? '' : html` New lines are those of the routers of ${toShown(follows)} alone; load the page again for those of the others.`}</p>`
      : ''
  }
<ol class="lines${router === undefined ? '' : ' own'}">
${page.records.map((line) => renderLine(line, ends, view))}</ol></div>
${router === undefined ? '' : renderPaging(page, query)}`;
}

/** Renders the address of the stream of new lines; old pages have none. */
function renderStream({ query, router, base }: LinesView): Html | string {
  if (query.before !== undefined) return '';
  if (router === undefined) return html` data-stream="${base}logs/stream"`;
  return html` data-stream="${base}router/${encodeURIComponent(router)}/stream${renderQuery(query, undefined)}"`;
}

/** Renders a link to all lines that are stored for longer than here. */
function renderExplore({ grafana, router }: LinesView): Html | string {
  if (grafana === undefined) return '';
  const expr = `{service_name="router-exporter"}${router === undefined ? '' : ` | router=${JSON.stringify(router)}`}`;
  const panes = {
    lines: { datasource: 'loki', queries: [{ refId: 'A', expr }], range: { from: 'now-6h', to: 'now' } },
  };
  const parameters = new URLSearchParams({ schemaVersion: '1', panes: JSON.stringify(panes) });
  return html` Search in all of them: <a href="${grafana}/explore?${parameters.toString()}">Grafana</a>.`;
}

/** Renders a form that leads to the lines of one router, where they can be searched. */
function renderChoice({ base }: LinesView): Html {
  return html`<form method="get" class="filters" action="${base}logs">
<label>Router <input name="router" id="lines-router" maxlength="200" autocomplete="off" spellcheck="false" required></label>
<button>Show</button> <span class="soft">Its lines can be searched on its page.</span>
</form>`;
}

function toAddress({ router, base }: Pick<LinesView, 'router' | 'base'>): string {
  return router === undefined ? `${base}logs` : `${base}router/${encodeURIComponent(router)}#logs`;
}

function describePage({ records, next, searchedTo, fault }: RecordPage, { query, absence }: LinesView): Html | string {
  if (records.length === 0 && fault !== null) return '';
  const which = query.before === undefined ? 'The last' : 'Older';
  if (records.length > 0) {
    return html`${which} ${renderMany(records.length, 'line')}, the newest first; kept within <code>storage.recent</code>.`;
  }
  if (next !== null) return html`No line fits down to ${renderMoment(searchedTo)}.`;
  if (absence !== undefined) return `No line fits. ${absence}`;
  return 'No line fits. Lines appear when a sink is configured, logs are read and storage.recent is not 0.';
}

function renderForm({ query, components, base }: LinesView, router: string): Html {
  const { search, components: wanted, severities, before } = query;
  const least = findLeast(query);
  const action = toAddress({ router, base });
  const hasFilter = wanted.length + severities.length > 0 || search !== '' || before !== undefined;
  return html`<form role="search" method="get" class="filters" action="${action}">
<label for="lines-q" class="unseen">Search in lines</label>
<input type="search" id="lines-q" name="q" value="${search}" maxlength="200" autocomplete="off" placeholder="Text of lines">
${
  components.length > 0
    ? html`<label>Log <select name="component" id="lines-component"><option value="">all</option>${[
        ...new Set([...wanted, ...components]),
      ]
        .slice(0, COMPONENTS_MAX)
        .map(
          (name) =>
            html`<option value="${name}"${wanted.includes(name) ? html` selected` : ''}>${toShown(name, NAME_CHARS)}</option>`,
        )}</select></label>`
    : html`<label>Log <input name="component" id="lines-component" value="${wanted[0] ?? ''}" maxlength="200" autocomplete="off" spellcheck="false"></label>`
}
<label>Severity <select name="severity" id="lines-severity"><option value="">all</option>${LEAST_SEVERITIES.map(
    (name) => html`<option value="${name}+"${name === least ? html` selected` : ''}>${name} and worse</option>`,
  )}</select></label>
<button>Show</button>
${hasFilter ? html`<a id="lines-all" href="${action}">Show all</a>` : ''}
</form>`;
}

/** Returns the least of the wanted severities when all worse ones are wanted as well. */
function findLeast({ severities }: RecordQuery): string | undefined {
  const count = SEVERITIES.findLastIndex((name) => severities.includes(name)) + 1;
  return count === severities.length ? SEVERITIES[count - 1] : undefined;
}

/** Renders the query string of a page of the lines of a router. */
function renderQuery({ search, components, severities }: RecordQuery, before: string | undefined): string {
  const parameters = new URLSearchParams();
  if (search !== '') parameters.set('q', search);
  for (const component of components) parameters.append('component', component);
  const least = findLeast({ components, severities, search, limit: 0 });
  if (least !== undefined) parameters.append('severity', `${least}+`);
  else for (const severity of severities) parameters.append('severity', severity);
  if (before !== undefined) parameters.set('before', before);
  return `?${parameters.toString()}`;
}

function renderPaging({ next }: RecordPage, query: RecordQuery): Html | string {
  const newest =
    query.before === undefined
      ? ''
      : html`<a id="newest" href="${renderQuery(query, undefined)}#logs">Newest lines</a>`;
  const older =
    next === null ? '' : html`<a id="older" rel="next" href="${renderQuery(query, next)}#logs">Older lines</a>`;
  return newest === '' && older === '' ? '' : html`<p class="paging">${newest} ${older}</p>`;
}

/** Gaps whose ends are two records. */
interface GapEnds {
  readonly toOf: ReadonlyMap<string, string | null>;
  readonly fromOf: ReadonlyMap<string, LogLineGap>;
}

function findEnds(records: readonly LogLine[]): GapEnds {
  const toOf = new Map<string, string | null>();
  const fromOf = new Map<string, LogLineGap>();
  for (const { uid, event, gap } of records) {
    if (gap?.gapUid) toOf.set(gap.gapUid, gap.to);
    else if (gap && event === 'log.gap') fromOf.set(uid, gap);
  }
  return { toOf, fromOf };
}

/** Renders one line, or a gap with both its ends. */
export function renderLine(
  line: LogLine,
  ends: GapEnds | undefined,
  { router, base }: Pick<LinesView, 'router' | 'base'>,
): Html {
  const { severity, component, gap } = line;
  const of =
    router === undefined
      ? html`<a class="of" href="${base}router/${encodeURIComponent(line.router)}#logs"><bdi>${toShown(line.router, NAME_CHARS)}</bdi></a> `
      : '';
  const origin = html`${of}<bdi class="log">${toShown(component, NAME_CHARS)}</bdi>`;
  if (gap)
    return html`<li class="gap" data-uid="${toShown(line.uid, NAME_CHARS)}">${renderMoment(line.time)} ${origin} ${renderGap(line, gap, ends)}</li>
`;
  const tone = TONES[severity ?? ''] ?? '';
  return html`<li data-uid="${toShown(line.uid, NAME_CHARS)}"${line.event === null ? '' : html` class="event"`}>${renderMoment(line.timestamp ?? line.time)} ${origin} <span class="severity ${tone}">${toShown(severity ?? '', NAME_CHARS)}</span> ${renderMessage(line)}</li>
`;
}

function renderMessage({ uid, message }: LogLine): Html {
  if (message.length <= SHOWN_CHARS) return html`<bdi class="message">${toShown(message)}</bdi>`;
  return html`<details class="message" id="line-${toShown(uid, NAME_CHARS)}"><summary><bdi>${toShown(message, SHOWN_CHARS)}</bdi></summary><bdi>${toShown(message, WHOLE_CHARS)}</bdi></details>`;
}

function renderGap({ uid, message }: LogLine, gap: LogLineGap, ends: GapEnds | undefined): Html {
  if (gap.gapUid !== null) {
    const begin = ends?.fromOf.get(gap.gapUid);
    return html`<strong class="warn">The gap ends.</strong> ${begin ? renderSpan(begin.from, gap.to) : html`The first line after it: ${renderEnd(gap.to)}.`}`;
  }
  const size = gap.bytesMin === null ? '' : `, at least ${renderBytes(gap.bytesMin)}`;
  return html`<strong class="warn">Lines are missing${size}.</strong> ${renderSpan(gap.from, gap.to ?? ends?.toOf.get(uid) ?? null)} <bdi>${toShown(message)}</bdi> (${toShown(gap.certainty ?? 'possible', NAME_CHARS)})`;
}

function renderSpan(from: string | null, to: string | null): Html {
  return html`From ${renderEnd(from)} to ${renderEnd(to)}.`;
}

function renderEnd(time: string | null): Html | string {
  return time === null ? 'an unknown time' : renderMoment(time);
}
