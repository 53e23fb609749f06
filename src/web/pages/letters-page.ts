import type { LetterDetail, LetterPage, LetterSummary } from '../api/delivery.ts';
import type { ProcessPart } from '../whole-fleet.ts';
import { type Html, html, toShown } from './html.ts';
import { toHref } from './layout.ts';
import { NOTHING, renderAgo, renderCount, renderMany, renderMoment } from './quantities.ts';
import { type Column, renderTable } from './table.ts';

/** Number of dead letters on one page; beside those of this process, each other one has a smaller share. */
export const LETTERS_MAX = 50;
export const SHARED_LETTERS_MAX = 20;
/** Longer records are cut on the page; `dead-letters show` prints them whole. Characters. */
const RECORD_CHARS_MAX = 65_536;

/** Sink and begin of a list of dead letters. */
export interface LetterQuery {
  /** Sink whose letters are listed; `undefined` = of all sinks. */
  readonly sink: string | undefined;
  /** Only letters before this one; `undefined` = the newest. */
  readonly before: number | undefined;
  /** Key of the process whose letters are listed; `undefined` = of this one, with the newest of the others. */
  readonly process: string | undefined;
}

/** Parses `sink`, `before` and `process`. Invalid values are ignored. */
export function parseLetterQuery(query: (name: string) => string | undefined): LetterQuery {
  const before = Number(query('before') ?? '');
  const process = query('process') ?? '';
  const sink = query('sink') ?? '';
  return {
    sink: sink === '' ? undefined : sink,
    before: Number.isSafeInteger(before) && before > 0 ? before : undefined,
    process: process === '' ? undefined : process,
  };
}

/** Dead letters of this process, and the newest ones of the others. */
export interface LettersView {
  readonly own: LetterPage;
  /** What this process is called; `undefined` if there is only one. */
  readonly name: string | undefined;
  /** Letters of the other processes; `undefined` if they are not asked for. */
  readonly others: readonly ProcessPart<LetterSummary>[] | undefined;
}

/** Renders one page of dead letters, newest first, and the newest ones of the other processes. `notices`: what is missing. */
export function renderLetters(
  { own, name, others }: LettersView,
  notices: Html,
  query: LetterQuery,
  base: string,
  nowMs: number,
): Html {
  const { letters, hasMore, counts, fault } = own;
  const { sink, before, process } = query;
  const total = sink === undefined ? sumUp(counts) : (counts.find(([one]) => one === sink)?.[1] ?? 0);
  const last = letters.at(-1);
  const at = name === undefined ? '' : ` at ${toShown(name)}`;
  const of = sink === undefined ? '' : ` of ${toShown(sink)}`;
  const isEmpty = letters.length === 0 && (others ?? []).length === 0;
  return html`<p><a href="${toHref(base, 'sinks')}">Sinks</a></p>
<h1>Dead letters</h1>
<p>Records that a sink rejected permanently. They are kept to be looked at and tried again.</p>
${notices}
${renderChoice(counts, sink, at)}
${fault === null ? '' : renderFault(fault, at)}
${renderTable({
  caption: `${renderMany(total, 'dead letter')}${of}${at}, newest first`,
  columns: createColumns(base, undefined, nowMs),
  rows: letters,
  empty: before === undefined ? 'There are none.' : 'There are no older ones.',
  className: 'stack',
})}
<nav aria-label="Rows${at}"><ul>${before === undefined ? '' : html`<li><a href="${toLink({ sink, process })}">Newest</a></li>`}${
    hasMore && last ? html`<li><a rel="next" href="${toLink({ sink, before: last.id, process })}">Older</a></li>` : ''
  }</ul></nav>
${others ? renderOthers(others, sink, base, nowMs) : ''}
${isEmpty ? '' : html`<p>To try them again, once the reason is gone${others ? ', where they are' : ''}: <code>router-exporter dead-letters replay --all${sink === undefined ? '' : ` --sink ${toShown(sink)}`}</code></p>`}`;
}

/** Renders the newest letters of the other processes; their pages have all. */
function renderOthers(
  others: readonly ProcessPart<LetterSummary>[],
  sink: string | undefined,
  base: string,
  nowMs: number,
): Html {
  const rows = others.map(({ value, name, key }) => ({ ...value, name, key }));
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      title: 'Process',
      cell: ({ name, key }) =>
        html`<a href="${base}dead-letters${toLink({ sink, process: key })}">all of ${toShown(name ?? '')}</a>`,
    },
    ...createColumns(base, ({ key }: (typeof rows)[number]) => key, nowMs),
  ];
  const caption = 'The newest of other processes';
  return renderTable({ caption, columns, rows, empty: 'There are none.', className: 'stack' });
}

/** Renders what stands in the place of a dead letter that cannot be read now. */
export function renderUnread(fault: string, base: string): Html {
  return html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters">dead letters</a></p>
<h1>Dead letter</h1>
${renderFault(fault)}
<p>A command such as <code>dead-letters replay</code> may hold their file for a moment: load the page again.</p>`;
}

function renderFault(fault: string, at = ''): Html {
  return html`<p class="notice"><strong>Dead letters${at} cannot be read now:</strong> ${toShown(fault)}</p>`;
}

/** Renders one dead letter with its record. `process`: what its process is called; `undefined` if there is only one. */
export function renderLetter(letter: LetterDetail, process: string | undefined, base: string, nowMs: number): Html {
  const { id, sink, at, router, component, timestamp, code, reason, isReplayed, record } = letter;
  return html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters${toLink({ sink })}">dead letters of ${toShown(sink)}</a></p>
<h1>Dead letter ${id}</h1>
<div class="notice"><p><strong>${toShown(sink)} rejected this record${code === null ? '' : html` (${toShown(code, 40)})`}:</strong> ${toShown(reason, 1000)}</p>
<p>${isReplayed ? 'It is marked and will be tried again within 30 s.' : html`To try it again, once the reason is gone: <code>router-exporter dead-letters replay ${id}</code>`}</p></div>
<dl>
${
  process === undefined
    ? ''
    : html`<dt>Process</dt><dd>${toShown(process)}; commands work where it runs</dd>
`
}<dt>Rejected</dt><dd>${renderAgo(at, nowMs)}, ${renderMoment(at)}</dd>
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
function renderChoice(counts: LetterPage['counts'], sink: string | undefined, at: string): Html | string {
  if (counts.length < 2 && sink === undefined) return '';
  const link = (name: string | undefined, title: string, letters: number) =>
    html`<li><a href="${toLink({ sink: name })}"${name === sink ? html` aria-current="true"` : ''}><b>${renderCount(letters)}</b>${title}</a></li>`;
  return html`<ul class="cards" aria-label="Sinks${at}">${link(undefined, 'of all sinks', sumUp(counts))}${counts.map(([name, letters]) => link(name, toShown(name, 60), letters))}</ul>`;
}

function sumUp(counts: LetterPage['counts']): number {
  return counts.reduce((sum, [, letters]) => sum + letters, 0);
}

function toLink({ sink, before, process }: Partial<LetterQuery>): string {
  const parameters = new URLSearchParams();
  if (sink !== undefined) parameters.set('sink', sink);
  if (process !== undefined) parameters.set('process', process);
  if (before !== undefined) parameters.set('before', String(before));
  return `?${parameters.toString()}`;
}

/** `processOf`: returns the key of the process that has a letter; default: this one. */
function createColumns<Row extends LetterSummary>(
  base: string,
  processOf: ((row: Row) => string | undefined) | undefined,
  nowMs: number,
): readonly Column<Row>[] {
  const toAddress = (row: Row) =>
    `${base}dead-letters/${row.id}${processOf ? toLink({ process: processOf(row) }) : ''}`;
  return [
    { title: 'Number', cell: (row) => html`<a href="${toAddress(row)}">${row.id}</a>` },
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
