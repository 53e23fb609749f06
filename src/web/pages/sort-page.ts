import { Steps } from '../../base/index.ts';

/** A value to sort by; `null`: it is unknown. */
export type Rank = number | string | null;

/** Compares values to sort by; an unknown one is last in both directions. */
export function compareRanks(a: Rank, b: Rank, isDescending = false): number {
  if (a === b) return 0;
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b === isDescending ? 1 : -1;
}

/** Rows sorted in one go; few enough that nobody waits for it. */
const RUN_MAX = 1000;

/**
 * Returns the rows from index `first` on, at most `count`, of all rows in order. Takes breaks, and orders no more than
 * that needs. Equal rows keep their order.
 */
export async function sortPage<Row>(
  rows: readonly Row[],
  compare: (a: Row, b: Row) => number,
  first: number,
  count: number,
): Promise<readonly Row[]> {
  const steps = new Steps();
  const runs: { readonly rows: readonly Row[]; next: number }[] = [];
  for (let start = 0; start < rows.length; start += RUN_MAX) {
    runs.push({ rows: rows.slice(start, start + RUN_MAX).toSorted(compare), next: 0 });
    if (steps.isDue) await steps.next();
  }
  const page: Row[] = [];
  for (let index = 0; index < first + count; index++) {
    const least = takeLeast(runs, compare);
    if (least === undefined) break;
    if (index >= first) page.push(least);
    if (steps.isDue) await steps.next();
  }
  return page;
}

/** Takes the first row of the run whose first row comes before those of all others. */
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
