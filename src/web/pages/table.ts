import { raw } from 'hono/html';
import { forEachYielding, renderCount, renderMany } from '../../base/index.ts';
import { type Html, html, toShown } from './html.ts';
import {
  compareRanks,
  findPage,
  type Rank,
  ROWS_MAX,
  renderTableQuery,
  sortPage,
  type TablePage,
  type TableQuery,
} from './table-query.ts';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Html | string;
  /** `number`: right-aligned. `wide`: long text that may wrap. `text`: a name that wraps if it is very long. Default: none. */
  readonly kind?: 'number' | 'wide' | 'text' | undefined;
  /** Tooltip of the heading. */
  readonly help?: string | undefined;
  readonly className?: string | undefined;
  /** Returns the full text of a cell that may be truncated. */
  readonly tooltip?: ((row: Row) => string) | undefined;
  /** Sort key in the query string; absent: not sortable. */
  readonly key?: string | undefined;
  readonly rank?: ((row: Row) => Rank) | undefined;
}

/** Columns and rows of one table. */
export interface Table<Row> {
  /** Also the accessible name of the table. */
  readonly caption: string;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** For the sort links; absent: not sortable. */
  readonly query?: TableQuery | undefined;
  readonly empty: string;
  /** With a class, narrow screens show rows as blocks; roles keep it a table for assistive technology. `stack`: one line per cell. */
  readonly className?: string | undefined;
}

/** Renders a table whose first column names the row. */
export function renderTable<Row>(table: Table<Row>): Html {
  const { caption, columns, rows, query, empty, className } = table;
  if (className !== undefined) return renderFitting(table, html`${rows.map((row) => renderFittingRow(table, row))}`);
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
<table>
<caption>${caption}</caption>
<thead><tr>${columns.map((column) => renderHead(column, query))}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column, index) => renderCell(column, row, index === 0))}</tr>\n`)}${
  rows.length === 0 ? html`<tr><td colspan="${columns.length}" class="soft">${empty}</td></tr>` : ''
}</tbody>
</table>
</div>`;
}

/** Renders a table that is never wider than the screen. Yields to the event loop: a hundred rows take a dozen milliseconds. */
export async function renderFittingTable<Row>(table: Table<Row> & { readonly className: string }): Promise<Html> {
  const pieces: string[] = [];
  await forEachYielding(table.rows, async (row) => pieces.push(String(await renderFittingRow(table, row))));
  return renderFitting(table, raw(pieces.join('')));
}

function renderFitting<Row>({ caption, columns, rows, query, empty, className }: Table<Row>, body: Html): Html {
  return html`<table class="${className}" role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => renderHead(column, query))}</tr></thead>
<tbody role="rowgroup">
${body}${
  rows.length === 0
    ? html`<tr role="row"><td role="cell" colspan="${columns.length}" class="soft">${empty}</td></tr>`
    : ''
}</tbody>
</table>`;
}

function renderFittingRow<Row>({ columns, className }: Table<Row>, row: Row): Html {
  const cells = columns.map((column, index) => renderFittingCell(column, row, index === 0, className === 'stack'));
  return html`<tr role="row">${cells}</tr>\n`;
}

function renderFittingCell<Row>(column: Column<Row>, row: Row, isName: boolean, isTitled: boolean): Html {
  const tooltip = column.tooltip?.(row) ?? '';
  const title = tooltip === '' ? '' : html` title="${tooltip}"`;
  const classes = toClass(column);
  if (isName) return html`<th scope="row" role="rowheader"${classes}${title}>${column.cell(row)}</th>`;
  return html`<td role="cell"${isTitled ? html` data-title="${column.title}"` : ''}${classes}${title}>${column.cell(row)}</td>`;
}

function toClass<Row>({ kind, className }: Pick<Column<Row>, 'kind' | 'className'>): Html | string {
  const classes = [kind, className].filter((one) => one !== undefined).join(' ');
  return classes === '' ? '' : html` class="${classes}"`;
}

function renderHead<Row>({ title, kind, key, className, help }: Column<Row>, query: TableQuery | undefined): Html {
  // Without its own class, a heading takes only the alignment of its cells.
  const classes = toClass({ kind: className === undefined && kind !== 'number' ? undefined : kind, className });
  const tooltip = help === undefined ? '' : html` title="${help}"`;
  if (!query || key === undefined) return html`<th scope="col"${classes}${tooltip}>${title}</th>`;
  const isSorted = query.sort === key;
  const order = query.isDescending ? 'descending' : 'ascending';
  const href = renderTableQuery(query, { sort: key, isDescending: isSorted && !query.isDescending });
  const arrow = isSorted ? html`<span aria-hidden="true"> ${query.isDescending ? '▼' : '▲'}</span>` : '';
  const sorted = isSorted ? html` aria-sort="${order}"` : '';
  return html`<th scope="col"${classes}${sorted}><a href="${href}">${title}${arrow}</a></th>`;
}

function renderCell<Row>({ cell, kind }: Column<Row>, row: Row, isName: boolean): Html {
  if (isName) return html`<th scope="row">${cell(row)}</th>`;
  return html`<td${kind ? html` class="${kind}"` : ''}>${cell(row)}</td>`;
}

/** Returns one page of the rows, sorted by the column of the query, by default the first one. */
export async function cutSorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  query: TableQuery,
): Promise<TablePage<Row>> {
  const unranked = () => null;
  const { rank = unranked } = columns.find(({ key }) => key !== undefined && key === query.sort) ?? {};
  const { rank: first = unranked } = columns[0] ?? {};
  const order = (a: Row, b: Row) =>
    compareRanks(rank(a), rank(b), query.isDescending) || compareRanks(first(a), first(b));
  const page = findPage(rows.length, query.page);
  const shown = await sortPage(rows, order, page.first, ROWS_MAX);
  return { rows: shown, ...page };
}

/** Renders the search field. A search keeps order and filter. */
export function renderSearch(label: string, query: TableQuery): Html {
  const { search, sort, isDescending, filter } = query;
  return html`<form role="search" method="get">
<label for="q">${label}</label>
<input type="search" id="q" name="q" value="${search}" maxlength="200" autocomplete="off">
${filter === undefined ? '' : html`<input type="hidden" name="state" value="${filter}">`}
${sort === undefined ? '' : html`<input type="hidden" name="sort" value="${isDescending ? '-' : ''}${sort}">`}
<button>Search</button>
${search === '' && filter === undefined ? '' : html`<a id="clear" href="${renderTableQuery(query, { search: '', filter: undefined })}">Show all</a>`}
</form>`;
}

/** Renders the rows found, as in "2 routers, up, matching “berlin”" or "No router matches “zzz”". */
export function renderFound<Row>(what: string, page: TablePage<Row>, search: string, filter?: string): string {
  const [range, suffix] = [renderRange(what, page), filter === undefined ? '' : `, ${filter}`];
  if (search === '') return `${range}${suffix}`;
  const quoted = `“${toShown(search)}”`;
  return page.total === 0 ? `${range} matches ${quoted}${suffix}` : `${range}${suffix}, matching ${quoted}`;
}

/** Renders the range of rows shown, as in "Routers 1 to 100 of 2,000". */
function renderRange<Row>(what: string, { rows, first, total }: TablePage<Row>): string {
  if (total === 0) return `No ${what}`;
  if (rows.length === total) return renderMany(total, what);
  const [last, title] = [first + rows.length, what.replace(/^./, (letter) => letter.toUpperCase())];
  return `${title}s ${renderCount(first + 1)} to ${renderCount(last)} of ${renderCount(total)}`;
}

/** Renders the links to the other pages; empty if there is only one. */
export function renderPager<Row>({ page, pages }: TablePage<Row>, query: TableQuery): Html | string {
  if (pages === 1) return '';
  const link = (to: number, name: string) =>
    to < 1 || to > pages || to === page
      ? html`<li class="soft">${name}</li>`
      : html`<li><a href="${renderTableQuery(query, { page: to })}">${name}</a></li>`;
  return html`<nav aria-label="Rows">
<ul>${link(page === 1 ? 0 : 1, 'First')}${link(page - 1, 'Previous')}<li>Page ${page} of ${pages}</li>${link(page + 1, 'Next')}${link(
    page === pages ? 0 : pages,
    'Last',
  )}</ul>
</nav>`;
}
