import type { LetterDetail, LetterPage, LetterSummary } from '../api/delivery.ts';
import { type Html, html, toShown } from './html.ts';
import { toHref } from './layout.ts';
import { NOTHING, renderAgo, renderCount, renderMany, renderMoment } from './quantities.ts';
import { type Column, renderTable } from './table.ts';

/** Number of dead letters on one page. */
export const LETTERS_MAX = 50;
/** Longer records are cut on the page; `dead-letters show` prints them whole. Characters. */
const RECORD_CHARS_MAX = 65_536;

/** Sink and begin of a list of dead letters. */
export interface LetterQuery {
  /** Sink whose letters are listed; `undefined` = of all sinks. */
  readonly sink: string | undefined;
  /** Only letters before this one; `undefined` = the newest. */
  readonly before: number | undefined;
}

/** Parses `sink` and `before`. Invalid values are ignored. */
export function parseLetterQuery(query: (name: string) => string | undefined): LetterQuery {
  const before = Number(query('before') ?? '');
  const sink = query('sink') ?? '';
  return {
    sink: sink === '' ? undefined : sink,
    before: Number.isSafeInteger(before) && before > 0 ? before : undefined,
  };
}

/** Renders one page of dead letters, newest first. */
export function renderLetters(
  { letters, hasMore, counts, fault }: LetterPage,
  { sink, before }: LetterQuery,
  base: string,
  nowMs: number,
): Html {
  const total = sink === undefined ? sumUp(counts) : (counts.find(([name]) => name === sink)?.[1] ?? 0);
  const last = letters.at(-1);
  return html`<p><a href="${toHref(base, 'sinks')}">Sinks</a></p>
<h1>Dead letters</h1>
<p>Records that a sink rejected permanently. They are kept to be looked at and tried again.</p>
${fault === null ? '' : renderFault(fault)}
${renderChoice(counts, sink)}
${renderTable({
  caption: `${renderMany(total, 'dead letter')}${sink === undefined ? '' : ` of ${toShown(sink)}`}, newest first`,
  columns: createColumns(base, nowMs),
  rows: letters,
  empty: before === undefined ? 'There are none.' : 'There are no older ones.',
  className: 'stack',
})}
<nav aria-label="Rows"><ul>${before === undefined ? '' : html`<li><a href="${toLink(sink)}">Newest</a></li>`}${
    hasMore && last ? html`<li><a rel="next" href="${toLink(sink, last.id)}">Older</a></li>` : ''
  }</ul></nav>
${letters.length === 0 ? '' : html`<p>To try them again, once the reason is gone: <code>router-exporter dead-letters replay --all${sink === undefined ? '' : ` --sink ${toShown(sink)}`}</code></p>`}`;
}

/** Renders what stands in the place of a dead letter that cannot be read now. */
export function renderUnread(fault: string, base: string): Html {
  return html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters">dead letters</a></p>
<h1>Dead letter</h1>
${renderFault(fault)}
<p>A command such as <code>dead-letters replay</code> may hold their file for a moment: load the page again.</p>`;
}

function renderFault(fault: string): Html {
  return html`<p class="notice"><strong>Dead letters cannot be read now:</strong> ${toShown(fault)}</p>`;
}

/** Renders one dead letter with its record. */
export function renderLetter(letter: LetterDetail, base: string, nowMs: number): Html {
  const { id, sink, at, router, component, timestamp, code, reason, isReplayed, record } = letter;
  return html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters${toLink(sink)}">dead letters of ${toShown(sink)}</a></p>
<h1>Dead letter ${id}</h1>
<div class="notice"><p><strong>${toShown(sink)} rejected this record${code === null ? '' : html` (${toShown(code, 40)})`}:</strong> ${toShown(reason, 1000)}</p>
<p>${isReplayed ? 'It is marked and will be tried again within 30 s.' : html`To try it again, once the reason is gone: <code>router-exporter dead-letters replay ${id}</code>`}</p></div>
<dl>
<dt>Rejected</dt><dd>${renderAgo(at, nowMs)}, ${renderMoment(at)}</dd>
<dt>Router</dt><dd>${router === '' ? NOTHING : html`<a href="${base}router/${encodeURIComponent(router)}">${toShown(router)}</a>`}</dd>
<dt>Log</dt><dd>${component === '' ? NOTHING : toShown(component)}</dd>
<dt>Time of the line</dt><dd>${renderMoment(timestamp)}</dd>
</dl>
<h2>Record</h2>
${record.length > RECORD_CHARS_MAX ? html`<p>The first ${renderCount(RECORD_CHARS_MAX)} of ${renderCount(record.length)} characters. All of it: <code>router-exporter dead-letters show ${id}</code></p>` : ''}
<pre class="wrap" tabindex="0" role="region" aria-label="Record">${renderRecord(record)}</pre>`;
}

/** Renders a record field by field; one that is cut, or is no JSON, as it is. */
function renderRecord(record: string): string {
  if (record.length > RECORD_CHARS_MAX) return `${record.slice(0, RECORD_CHARS_MAX).toWellFormed()}…`;
  try {
    return JSON.stringify(JSON.parse(record), undefined, 2);
  } catch {
    return record.toWellFormed();
  }
}

/** Renders links that select a sink; nothing when there is at most one to choose. */
function renderChoice(counts: LetterPage['counts'], sink: string | undefined): Html | string {
  if (counts.length < 2 && sink === undefined) return '';
  const link = (name: string | undefined, title: string, letters: number) =>
    html`<li><a href="${toLink(name)}"${name === sink ? html` aria-current="true"` : ''}><b>${renderCount(letters)}</b>${title}</a></li>`;
  return html`<ul class="cards" aria-label="Sinks">${link(undefined, 'of all sinks', sumUp(counts))}${counts.map(([name, letters]) => link(name, toShown(name, 60), letters))}</ul>`;
}

function sumUp(counts: LetterPage['counts']): number {
  return counts.reduce((sum, [, letters]) => sum + letters, 0);
}

function toLink(sink: string | undefined, before?: number): string {
  const parameters = new URLSearchParams();
  if (sink !== undefined) parameters.set('sink', sink);
  if (before !== undefined) parameters.set('before', String(before));
  return `?${parameters.toString()}`;
}

function createColumns(base: string, nowMs: number): readonly Column<LetterSummary>[] {
  return [
    { title: 'Number', cell: ({ id }) => html`<a href="${base}dead-letters/${id}">${id}</a>` },
    { title: 'Sink', kind: 'text', cell: ({ sink }) => toShown(sink) },
    { title: 'Rejected', cell: ({ at }) => renderAgo(at, nowMs) },
    { title: 'Router', kind: 'text', cell: ({ router }) => (router === '' ? NOTHING : toShown(router)) },
    { title: 'Log', kind: 'text', cell: ({ component }) => (component === '' ? NOTHING : toShown(component, 120)) },
    { title: 'Code', cell: ({ code }) => toShown(code ?? NOTHING, 40) },
    {
      title: 'Reason',
      kind: 'wide',
      cell: ({ reason, isReplayed }) => `${toShown(reason)}${isReplayed ? ' (is tried again)' : ''}`,
    },
  ];
}
