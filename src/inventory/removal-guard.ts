/** Routers that a new answer of a source lacks. */
export interface Missing {
  readonly missing: number;
  /** Number of routers that the source has now, or the largest one of the last day. */
  readonly of: number;
}

/**
 * Returns what is missing in an answer if it is more than a source may remove at once, or within a day: more than the share
 * `removalMax` of its routers (but one router always may go), or all of them. `largest` is the largest number of routers that
 * it had within a day. `undefined` if the answer may be used.
 */
export function findMissing(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  removalMax: number,
  largest = 0,
): Missing | undefined {
  let missing = 0;
  for (const name of before) if (!after.has(name)) missing++;
  if (missing === 0 || removalMax >= 1) return undefined;
  const isTooMuch = (gone: number, of: number) => gone > Math.max(1, of * removalMax);
  const isAllGone = after.size === 0;
  if (isAllGone || isTooMuch(missing, before.size)) return { missing, of: before.size };
  // Many small removals, each of which would pass, are a large one.
  const gone = largest - after.size;
  return isTooMuch(gone, largest) ? { missing: gone, of: largest } : undefined;
}
