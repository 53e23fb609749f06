/** What a table shows, from the query of its page. */
export interface TableQuery {
  /** As it was typed, cut. */
  readonly search: string;
  /** The key of a column; `undefined`: the order that the page has by itself. */
  readonly sort: string | undefined;
  readonly isDescending: boolean;
  /** From 1. */
  readonly page: number;
  /** One of the page's own filters. */
  readonly filter: string | undefined;
}

const SEARCH_CHARS_MAX = 200;
const WORDS_MAX = 8;
/** What is rendered at a time: more would be slow to look at, and to make. */
export const ROWS_MAX = 100;

/** Parses `q`, `sort` (`-` before it turns the order round), `page` and `state`. What makes no sense is left out. */
export function parseTableQuery(
  query: (name: string) => string | undefined,
  columns: readonly string[],
  filters: readonly string[] = [],
): TableQuery {
  const sort = query('sort') ?? '';
  const key = sort.replace(/^-/, '');
  const page = Number(query('page') ?? 1);
  const filter = query('state');
  return {
    search: (query('q') ?? '').trim().slice(0, SEARCH_CHARS_MAX).toWellFormed(),
    sort: columns.includes(key) ? key : undefined,
    isDescending: sort.startsWith('-'),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    filter: filter !== undefined && filters.includes(filter) ? filter : undefined,
  };
}

/** The query of a link that differs from `query` in `change`; the first page unless it says another. */
export function renderTableQuery(query: TableQuery, change: Partial<TableQuery> = {}): string {
  const { search, sort, isDescending, page, filter } = { ...query, page: 1, ...change };
  const parameters = new URLSearchParams();
  if (search !== '') parameters.set('q', search);
  if (filter !== undefined) parameters.set('state', filter);
  if (sort !== undefined) parameters.set('sort', isDescending ? `-${sort}` : sort);
  if (page > 1) parameters.set('page', String(page));
  return `?${parameters.toString()}`;
}

/** Whether every word of the search stands somewhere in the texts, whatever the case. */
export function createMatcher(search: string): (texts: readonly (string | null | undefined)[]) => boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
  if (words.length === 0) return () => true;
  return (texts) => {
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

export interface TablePage<Row> {
  readonly rows: readonly Row[];
  /** Of all rows that fit. */
  readonly first: number;
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}

/** The rows of one page; the last one when there are not so many. */
export function cutPage<Row>(rows: readonly Row[], page: number): TablePage<Row> {
  const pages = Math.max(1, Math.ceil(rows.length / ROWS_MAX));
  const shown = Math.min(page, pages);
  const first = (shown - 1) * ROWS_MAX;
  return { rows: rows.slice(first, first + ROWS_MAX), first, total: rows.length, page: shown, pages };
}
