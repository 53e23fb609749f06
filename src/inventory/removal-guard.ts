/** Routers that a new answer of a source lacks. */
export interface Missing {
  readonly missing: number;
  /** Number of routers that the source has now. */
  readonly of: number;
}

/**
 * Returns what is missing in an answer if it is more than a source may remove at once: more than the share `removalMax` of its
 * routers (but one router always may go), or all of them. `undefined` if the answer may be used.
 */
export function findMissing(
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
  removalMax: number,
): Missing | undefined {
  let missing = 0;
  for (const name of before) if (!after.has(name)) missing++;
  if (missing === 0 || removalMax >= 1) return undefined;
  const isAllGone = after.size === 0;
  return isAllGone || missing > Math.max(1, before.size * removalMax) ? { missing, of: before.size } : undefined;
}
