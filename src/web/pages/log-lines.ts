import { renderBytes, renderMany } from '../../base/index.ts';
import { type LogLine, type LogLineGap, type RecordPage, type RecordQuery, SEVERITIES } from '../api/logs.ts';
import { type Html, html, renderMoment, toShown } from './html.ts';

/** Longer messages can be expanded. Characters. */
const SHOWN_CHARS = 400;
/** The longest message, with escaped control characters. Characters. */
const WHOLE_CHARS = 80_000;
const NAME_CHARS = 120;
const COMPONENTS_MAX = 100;
/** Severities offered, each with the worse ones. */
const LEAST_SEVERITIES = ['critical', 'error', 'warning', 'notice', 'info'];
const TONES: Readonly<Record<string, string>> = {
  emergency: 'bad',
  alert: 'bad',
  critical: 'bad',
  error: 'bad',
  warning: 'warn',
  debug: 'soft',
};

interface LinesView {
  readonly page: RecordPage;
  readonly query: RecordQuery;
  /** `undefined` on the page of all routers, which has no filters. */
  readonly router: string | undefined;
  /** Logs to choose from; empty: any can be typed. */
  readonly components: readonly string[];
  readonly base: string;
  /** URL of the view of read progress. */
  readonly positions: string;
  readonly grafana: string | undefined;
  /** Process whose lines can be followed live. Default: there is no other. */
  readonly follows?: string | undefined;
  /** Why there are no lines with any filter. Default: not known. */
  readonly absence?: string | undefined;
}

/** Renders the views of logs as tabs. */
export function renderTabs(current: 'lines' | 'positions', lines: string, positions: string): Html {
  const mark = (name: string) => (name === current ? html` aria-current="page"` : '');
  return html`<nav class="tabs" aria-label="Views of the logs"><ul>
<li><a href="${lines}"${mark('lines')}>Lines</a></li>
<li><a href="${positions}"${mark('positions')}>Read progress</a></li>
</ul></nav>`;
}

/** Renders the last lines by time; of one router with filters and links to older ones. Works without scripts. */
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
${page.records.map((line, index) => html`${renderDay(line, page.records[index - 1])}${renderLine(line, ends, view)}`)}</ol></div>
${router === undefined ? '' : renderPaging(page, query)}`;
}

/** Pages of older lines have no stream. */
function renderStream({ query, router, base }: LinesView): Html | string {
  if (query.before !== undefined) return '';
  if (router === undefined) return html` data-stream="${base}logs/stream"`;
  return html` data-stream="${base}router/${encodeURIComponent(router)}/stream?${renderQuery(query, undefined)}"`;
}

function renderExplore({ grafana, router }: LinesView): Html | string {
  if (grafana === undefined) return '';
  const expr = `{service_name="router-exporter"}${router === undefined ? '' : ` | router=${JSON.stringify(router)}`}`;
  const panes = {
    lines: { datasource: 'loki', queries: [{ refId: 'A', expr }], range: { from: 'now-6h', to: 'now' } },
  };
  const parameters = new URLSearchParams({ schemaVersion: '1', panes: JSON.stringify(panes) });
  return html` Search in all of them: <a href="${grafana}/explore?${parameters.toString()}">Grafana</a>.`;
}

function renderChoice({ base }: LinesView): Html {
  return html`<form method="get" class="filters" action="${base}logs">
<label>Router <input name="router" id="lines-router" maxlength="200" autocomplete="off" spellcheck="false" required></label>
<button>Show</button> <span class="soft">Its lines can be searched on its page.</span>
</form>`;
}

function toAddress({ router, base }: Pick<LinesView, 'router' | 'base'>): string {
  return router === undefined ? `${base}logs` : `${base}router/${encodeURIComponent(router)}?view=logs`;
}

function describePage({ records, next, searchedTo, fault }: RecordPage, { query, absence }: LinesView): Html | string {
  if (records.length === 0 && fault !== null) return '';
  const which = query.before === undefined ? 'The last' : 'Older';
  if (records.length > 0) {
    return html`${which} ${renderMany(records.length, 'line')}, the newest first. The agent keeps the last lines of all routers, up to the size that <code>storage.recent</code> sets.`;
  }
  if (next !== null) return html`No matching lines down to ${renderMoment(searchedTo)}.`;
  if (absence !== undefined) return `No matching lines. ${absence}`;
  return 'No matching lines. Lines appear when a sink is configured, logs are read and storage.recent is not 0.';
}

function renderForm({ query, components, base }: LinesView, router: string): Html {
  const { search, components: wanted, severities, before } = query;
  const least = findLeast(query);
  const action = toAddress({ router, base });
  const hasFilter = wanted.length + severities.length > 0 || search !== '' || before !== undefined;
  return html`<form role="search" method="get" class="filters" action="${action}">
<input type="hidden" name="view" value="logs">
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

/** The least severe wanted severity, if all worse ones are wanted. */
function findLeast({ severities }: RecordQuery): string | undefined {
  const count = SEVERITIES.findLastIndex((name) => severities.includes(name)) + 1;
  return count === severities.length ? SEVERITIES[count - 1] : undefined;
}

function renderQuery({ search, components, severities }: RecordQuery, before: string | undefined): string {
  const parameters = new URLSearchParams();
  if (search !== '') parameters.set('q', search);
  for (const component of components) parameters.append('component', component);
  const least = findLeast({ components, severities, search, limit: 0 });
  if (least !== undefined) parameters.append('severity', `${least}+`);
  else for (const severity of severities) parameters.append('severity', severity);
  if (before !== undefined) parameters.set('before', before);
  return parameters.toString();
}

function renderPaging({ next }: RecordPage, query: RecordQuery): Html | string {
  const newest =
    query.before === undefined
      ? ''
      : html`<a id="newest" href="?view=logs&amp;${renderQuery(query, undefined)}">Newest lines</a>`;
  const older =
    next === null
      ? ''
      : html`<a id="older" rel="next" href="?view=logs&amp;${renderQuery(query, next)}">Older lines</a>`;
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

/** Before the first line of another day than the one above. */
function renderDay({ time }: LogLine, above: LogLine | undefined): Html | string {
  const day = time.slice(0, 10);
  return above === undefined || above.time.startsWith(day)
    ? ''
    : html`<li class="day">${day}</li>
`;
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
      ? html`<a class="of" href="${base}router/${encodeURIComponent(line.router)}?view=logs"><bdi>${toShown(line.router, NAME_CHARS)}</bdi></a> `
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
