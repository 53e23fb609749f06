import { compareNaturally, forEachYielding } from '../../base/index.ts';
import { FACETS, type FacetQuery } from './facets.ts';

/** Search, order, page and filter of a table, from the query string of its page. */
export interface TableQuery {
  /** As typed, truncated. */
  readonly search: string;
  /** Sort key; `undefined`: the page's default order. */
  readonly sort: string | undefined;
  readonly isDescending: boolean;
  /** From 1. */
  readonly page: number;
  /** Key of one of the page's filters. */
  readonly filter: string | undefined;
  readonly facets: FacetQuery;
  /** Glob of the kinds of events on the fleet page. Default: all. */
  readonly eventKind?: string | undefined;
}

const SEARCH_CHARS_MAX = 200;
const WORDS_MAX = 8;
/** Rows per page: more would be slow to read and to render. */
export const ROWS_MAX = 100;

/** Parses `q`, `sort` (a leading `-` reverses the order), `page` and `state`. Invalid values are ignored. */
export function parseTableQuery(
  { req }: { readonly req: { query(name: string): string | undefined } },
  columns: readonly string[],
  filters: readonly string[] = [],
): TableQuery {
  const sort = req.query('sort') ?? '';
  const key = sort.replace(/^-/, '');
  const page = Number(req.query('page') ?? 1);
  const filter = req.query('state');
  return {
    search: (req.query('q') ?? '').trim().slice(0, SEARCH_CHARS_MAX).toWellFormed(),
    sort: columns.includes(key) ? key : undefined,
    isDescending: sort.startsWith('-'),
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    filter: filter !== undefined && filters.includes(filter) ? filter : undefined,
    facets: {},
  };
}

/** Renders the query string of a link: `query` with `change`, on the first page unless `change` has another. */
export function renderTableQuery(query: TableQuery, change: Partial<TableQuery> = {}): string {
  const { search, sort, isDescending, page, filter, facets, eventKind } = { ...query, page: 1, ...change };
  const parameters = new URLSearchParams();
  if (search !== '') parameters.set('q', search);
  if (filter !== undefined) parameters.set('state', filter);
  for (const facet of FACETS) for (const value of facets[facet] ?? []) parameters.append(facet, value);
  if (sort !== undefined) parameters.set('sort', isDescending ? `-${sort}` : sort);
  if (eventKind !== undefined) parameters.set('event_kind', eventKind);
  if (page > 1) parameters.set('page', String(page));
  return `?${parameters.toString()}`;
}

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
  readonly rows: readonly Row[];
  /** Index of the first row among all matching rows, from 0. */
  readonly first: number;
  readonly total: number;
  /** From 1. */
  readonly page: number;
  readonly pages: number;
}

/** Returns the range of a page; of the last one if `page` is beyond it. */
export function findPage(total: number, page: number): Omit<TablePage<never>, 'rows'> {
  const pages = Math.max(1, Math.ceil(total / ROWS_MAX));
  const shown = Math.min(page, pages);
  return { first: (shown - 1) * ROWS_MAX, total, page: shown, pages };
}

/** A sort value; `null`: unknown. */
export type Rank = number | string | null;

/** Compares sort values; an unknown one is last in both directions. */
export function compareRanks(a: Rank, b: Rank, isDescending = false): number {
  if (a === b) return 0;
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === 'string' && typeof b === 'string' ? compareNaturally(a, b) : Number(a > b) - Number(a < b);
  return isDescending ? -order : order;
}

/** Rows sorted without yielding; few enough not to block the event loop. */
const RUN_MAX = 1000;

/** Returns `count` rows from index `first` of the sorted rows, sorting no more than needed. Equal rows keep their order. */
export async function sortPage<Row>(
  rows: readonly Row[],
  compare: (a: Row, b: Row) => number,
  first: number,
  count: number,
): Promise<readonly Row[]> {
  const runs: { readonly rows: readonly Row[]; next: number }[] = [];
  await forEachYielding(cutRuns(rows), (run) => runs.push({ rows: run.toSorted(compare), next: 0 }));
  const ordered: Row[] = [];
  await forEachYielding(mergeRuns(runs, compare).take(first + count), (row) => ordered.push(row));
  return ordered.slice(first);
}

function* cutRuns<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let start = 0; start < rows.length; start += RUN_MAX) yield rows.slice(start, start + RUN_MAX);
}

function* mergeRuns<Row>(
  runs: readonly { readonly rows: readonly Row[]; next: number }[],
  compare: (a: Row, b: Row) => number,
): Generator<Row, undefined> {
  for (let row = takeLeast(runs, compare); row !== undefined; row = takeLeast(runs, compare)) yield row;
}

function takeLeast<Row>(
  runs: readonly { readonly rows: readonly Row[]; next: number }[],
  compare: (a: Row, b: Row) => number,
): Row | undefined {
  let best: (typeof runs)[number] | undefined;
  let least: Row | undefined;
  for (const run of runs) {
    const row = run.rows[run.next];
    if (row === undefined || (least !== undefined && compare(least, row) <= 0)) continue;
    best = run;
    least = row;
  }
  if (best) best.next++;
  return least;
}
