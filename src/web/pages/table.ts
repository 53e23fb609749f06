import { type Html, html } from './html.ts';
import { renderCount, renderMany } from './quantities.ts';
import { renderTableQuery, type TablePage, type TableQuery } from './table-query.ts';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Html | string;
  /** Numbers stand to the right, long texts may break. */
  readonly kind?: 'number' | 'wide' | undefined;
  /** Key of the order by it; absent: there is none. */
  readonly key?: string | undefined;
  /** What it is ordered by; what is not known comes last either way. */
  readonly rank?: ((row: Row) => number | string | null) | undefined;
}

export interface Table<Row> {
  /** Also what the table is called. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Absent: its columns cannot be sorted. */
  readonly query?: TableQuery | undefined;
  /** What stands there instead of rows. */
  readonly empty: string;
}

/** A table whose first column names the row. */
export function renderTable<Row>({ caption, columns, rows, query, empty }: Table<Row>): Html {
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

function renderHead<Row>({ title, kind, key }: Column<Row>, query: TableQuery | undefined): Html {
  const number = kind === 'number' ? html` class="number"` : '';
  if (!query || key === undefined) return html`<th scope="col"${number}>${title}</th>`;
  const isSorted = query.sort === key;
  const order = query.isDescending ? 'descending' : 'ascending';
  const href = renderTableQuery(query, { sort: key, isDescending: isSorted && !query.isDescending });
  const arrow = isSorted ? html`<span aria-hidden="true"> ${query.isDescending ? '▼' : '▲'}</span>` : '';
  const sorted = isSorted ? html` aria-sort="${order}"` : '';
  return html`<th scope="col"${number}${sorted}><a href="${href}">${title}${arrow}</a></th>`;
}

function renderCell<Row>({ cell, kind }: Column<Row>, row: Row, isName: boolean): Html {
  if (isName) return html`<th scope="row">${cell(row)}</th>`;
  return html`<td${kind ? html` class="${kind}"` : ''}>${cell(row)}</td>`;
}

/** Sorts by a column; equal rows keep their order. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  query: TableQuery,
): readonly Row[] {
  const rank = columns.find(({ key }) => key !== undefined && key === query.sort)?.rank;
  if (!rank) return rows;
  const sign = query.isDescending ? -1 : 1;
  const ranked = rows.map((row) => ({ row, by: rank(row) }));
  ranked.sort(({ by: a }, { by: b }) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a === b ? 0 : a < b ? -sign : sign;
  });
  return ranked.map(({ row }) => row);
}

/** The field to search in, which keeps order and filter. */
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

/** Which rows are shown, as in "Routers 1 to 100 of 2,000". */
export function renderRange<Row>(what: string, { rows, first, total }: TablePage<Row>): string {
  if (total === 0) return `No ${what}`;
  if (rows.length === total) return renderMany(total, what);
  const [last, title] = [first + rows.length, what.replace(/^./, (letter) => letter.toUpperCase())];
  return `${title}s ${renderCount(first + 1)} to ${renderCount(last)} of ${renderCount(total)}`;
}

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
