import { renderCount, renderMany } from '../../base/index.ts';
import type { DeadLetterDetail, DeadLetterPage, DeadLetterSummary, FoundDeadLetter } from '../api/process.ts';
import {
  collectDeadLetters,
  type FleetContent,
  findProcess,
  nameProcess,
  type ProcessPart,
  redirectTo,
} from '../whole-fleet.ts';
import { type Html, html, NOTHING, renderAgo, renderMoment, toShown } from './html.ts';
import { type Page, type PageBody, renderNotices, toHref } from './layout.ts';
import { type Column, renderTable } from './table.ts';

/** Dead letters on one page: of this process, and of each other one. */
export const DEAD_LETTERS_MAX = 50;
export const DEAD_LETTERS_PER_PEER_MAX = 20;
/** `dead-letters show` prints longer records in full. Characters. */
const RECORD_CHARS_MAX = 65_536;

/** The content of the pages of dead letters. */
export interface DeadLettersContent extends FleetContent {
  /** Lists dead letters of one sink or of all, newest first: at most `limit`, with numbers below `before`. */
  listDeadLetters(selection: {
    readonly sink: string | undefined;
    readonly limit: number;
    readonly before: number | undefined;
  }): DeadLetterPage | Promise<DeadLetterPage>;
  /** Finds one dead letter; `undefined` if there is none with this number. `fault`: why it cannot be read. */
  findDeadLetter(id: number): FoundDeadLetter | Promise<FoundDeadLetter>;
}

/** The dead letters of this process, and the newest of the others. */
export const deadLettersPage: Page<DeadLettersContent> = {
  path: '/dead-letters',
  async render(dependencies, context, base) {
    const { content, clock } = dependencies;
    const asked = parseDeadLetterQuery(context);
    const shards = content.describeShards();
    const process = findProcess(shards, asked.process ?? '');
    if (shards && process !== undefined && process !== shards.index) {
      return redirectTo(shards, process, context, '/dead-letters', 'has these dead letters');
    }
    // The process is gone: its number means nothing in others.
    const isGone = asked.process !== undefined && process === undefined;
    const query = isGone ? { ...asked, process: undefined, before: undefined } : asked;
    const own = await content.listDeadLetters({ sink: query.sink, before: query.before, limit: DEAD_LETTERS_MAX });
    const isWhole = (shards?.peers.length ?? 0) > 0 && query.process === undefined && query.before === undefined;
    const others = isWhole ? await collectDeadLetters(dependencies, query.sink, DEAD_LETTERS_PER_PEER_MAX) : undefined;
    const notices = renderNotices(shards, others?.faults ?? [], 'Dead letters', 'dead letters');
    const name = shards && nameProcess(shards, shards.index);
    const main = renderLetters({ own, name, others: others?.values }, notices, query, base, clock.now());
    return { title: 'Dead letters', main };
  },
};

/** One dead letter with its record. */
export const deadLetterPage: Page<DeadLettersContent> = {
  path: '/dead-letters/:id',
  async render({ content, clock }, context, base) {
    const shards = content.describeShards();
    const { process } = parseDeadLetterQuery(context);
    const shard = process === undefined ? (shards?.index ?? 0) : findProcess(shards, process);
    const id = Number(context.req.param('id'));
    if (shard === undefined || !Number.isSafeInteger(id)) return renderNoLetter(base);
    if (shards && shard !== shards.index) {
      return redirectTo(shards, shard, context, `/dead-letters/${id}`, 'has this dead letter');
    }
    const letter = await content.findDeadLetter(id);
    if (!letter) return renderNoLetter(base);
    if ('fault' in letter) return renderUnread(letter.fault, base);
    const main = renderLetter(letter, shards && nameProcess(shards, shard), base, clock.now());
    return { title: `Dead letter ${id}`, main };
  },
};

interface LetterQuery {
  /** `undefined`: all sinks. */
  readonly sink: string | undefined;
  /** Only numbers below this one; `undefined`: the newest. */
  readonly before: number | undefined;
  /** Process key; `undefined`: this process, with the newest of the others. */
  readonly process: string | undefined;
}

/** Parses `sink`, `before` and `process`. Invalid values are ignored. */
export function parseDeadLetterQuery({
  req,
}: {
  readonly req: { query(name: string): string | undefined };
}): LetterQuery {
  const before = Number(req.query('before') ?? '');
  const process = req.query('process') ?? '';
  const sink = req.query('sink') ?? '';
  return {
    sink: sink === '' ? undefined : sink,
    before: Number.isSafeInteger(before) && before > 0 ? before : undefined,
    process: process === '' ? undefined : process,
  };
}

interface LettersView {
  readonly own: DeadLetterPage;
  /** Name of this process; `undefined` if there is only one. */
  readonly name: string | undefined;
  readonly others: readonly ProcessPart<DeadLetterSummary>[] | undefined;
}

function renderLetters(
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
<p>Records that a sink rejected permanently. They are kept for inspection and retry.</p>
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
${isEmpty ? '' : html`<p>To retry them after the cause is fixed${others ? ', on their own process' : ''}: <code>router-exporter dead-letters replay --all${sink === undefined ? '' : ` --sink ${toShown(sink)}`}</code></p>`}`;
}

/** Renders the newest of the other processes; their own pages list all. */
function renderOthers(
  others: readonly ProcessPart<DeadLetterSummary>[],
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

function renderUnread(fault: string, base: string): PageBody {
  const main = html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters">dead letters</a></p>
<h1>Dead letter</h1>
${renderFault(fault)}
<p>A command such as <code>dead-letters replay</code> may lock their file for a moment: reload the page.</p>`;
  return { title: 'Dead letter', main, status: 503 };
}

function renderNoLetter(base: string): PageBody {
  const main = html`<h1>No such dead letter</h1>
<p>It was dropped, or a sink has accepted it since. <a href="${base}dead-letters">All dead letters</a>.</p>`;
  return { title: 'No such dead letter', main, status: 404 };
}

function renderFault(fault: string, at = ''): Html {
  return html`<p class="notice"><strong>Dead letters${at} cannot be read now:</strong> ${toShown(fault)}</p>`;
}

/** `process`: name of its process; `undefined` if there is only one. */
function renderLetter(letter: DeadLetterDetail, process: string | undefined, base: string, nowMs: number): Html {
  const { id, sink, at, router, component, timestamp, code, reason, isReplayed, record } = letter;
  return html`<p><a href="${base}sinks">Sinks</a>, <a href="${base}dead-letters${toLink({ sink })}">dead letters of ${toShown(sink)}</a></p>
<h1>Dead letter ${id}</h1>
<div class="notice"><p><strong>${toShown(sink)} rejected this record${code === null ? '' : html` (${toShown(code, 40)})`}:</strong> ${toShown(reason, 1000)}</p>
<p>${isReplayed ? 'It is marked for replay and will be retried within 30 s.' : html`To retry it after the cause is fixed: <code>router-exporter dead-letters replay ${id}</code>`}</p></div>
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

function renderRecord(record: string): string {
  if (record.length > RECORD_CHARS_MAX) return `${record.slice(0, RECORD_CHARS_MAX).toWellFormed()}…`;
  try {
    return JSON.stringify(JSON.parse(record), undefined, 2);
  } catch {
    return record.toWellFormed();
  }
}

function renderChoice(counts: DeadLetterPage['counts'], sink: string | undefined, at: string): Html | string {
  if (counts.length < 2 && sink === undefined) return '';
  const link = (name: string | undefined, title: string, letters: number) =>
    html`<li><a href="${toLink({ sink: name })}"${name === sink ? html` aria-current="true"` : ''}><b>${renderCount(letters)}</b>${title}</a></li>`;
  return html`<ul class="cards" aria-label="Sinks${at}">${link(undefined, 'of all sinks', sumUp(counts))}${counts.map(([name, letters]) => link(name, toShown(name, 60), letters))}</ul>`;
}

function sumUp(counts: DeadLetterPage['counts']): number {
  return counts.reduce((sum, [, letters]) => sum + letters, 0);
}

function toLink({ sink, before, process }: Partial<LetterQuery>): string {
  const parameters = new URLSearchParams();
  if (sink !== undefined) parameters.set('sink', sink);
  if (process !== undefined) parameters.set('process', process);
  if (before !== undefined) parameters.set('before', String(before));
  return `?${parameters.toString()}`;
}

/** `processOf`: returns the key of a row's process; default: this one. */
function createColumns<Row extends DeadLetterSummary>(
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
      cell: ({ reason, isReplayed }) => `${toShown(reason)}${isReplayed ? ' (marked for replay)' : ''}`,
    },
  ];
}
