import { FACETS, type FacetQuery } from './facets.ts';

/** Search, order, page and filter of a table, from the query string of its page. */
export interface TableQuery {
  /** Search text as typed, truncated. */
  readonly search: string;
  /** Key of the column to sort by; `undefined` = the default order of the page. */
  readonly sort: string | undefined;
  /** True to reverse the order. */
  readonly isDescending: boolean;
  /** Page number, from 1. */
  readonly page: number;
  /** Key of one of the page's filters. */
  readonly filter: string | undefined;
  /** Wanted values of other properties. */
  readonly facets: FacetQuery;
}

const SEARCH_CHARS_MAX = 200;
const WORDS_MAX = 8;
/** Rows per page: more would be slow to read and to render. */
export const ROWS_MAX = 100;

/** Parses `q`, `sort` (a leading `-` reverses the order), `page` and `state`. Invalid values are ignored. */
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
    facets: {},
  };
}

/** Renders the query string of a link that differs from `query` in `change`; the first page unless `change` names another. */
export function renderTableQuery(query: TableQuery, change: Partial<TableQuery> = {}): string {
  const { search, sort, isDescending, page, filter, facets } = { ...query, page: 1, ...change };
  const parameters = new URLSearchParams();
  if (search !== '') parameters.set('q', search);
  if (filter !== undefined) parameters.set('state', filter);
  for (const facet of FACETS) for (const value of facets[facet] ?? []) parameters.append(facet, value);
  if (sort !== undefined) parameters.set('sort', isDescending ? `-${sort}` : sort);
  if (page > 1) parameters.set('page', String(page));
  return `?${parameters.toString()}`;
}

/** Returns the words of a search, in lower case. */
function splitSearch(search: string): readonly string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, WORDS_MAX);
}

/** Creates a test that every word of the search occurs in the texts, ignoring case. */
export function createMatcher(search: string): (texts: readonly (string | null | undefined)[]) => boolean {
  const words = splitSearch(search);
  if (words.length === 0) return () => true;
  return (texts) => {
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

/** One page of the matching rows. */
export interface TablePage<Row> {
  /** The rows of this page. */
  readonly rows: readonly Row[];
  /** Index of the first row among all matching rows, from 0. */
  readonly first: number;
  /** Number of all matching rows. */
  readonly total: number;
  /** Number of this page, from 1. */
  readonly page: number;
  /** Number of all pages, at least 1. */
  readonly pages: number;
}

/** Returns which rows stand on a page; on the last one when `page` is beyond it. */
export function findPage(total: number, page: number): Omit<TablePage<never>, 'rows'> {
  const pages = Math.max(1, Math.ceil(total / ROWS_MAX));
  const shown = Math.min(page, pages);
  return { first: (shown - 1) * ROWS_MAX, total, page: shown, pages };
}
