/** A position in the spool: everything before `index` of batch `batch` has been passed. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

export function isBefore(one: SpoolCursor, other: SpoolCursor): boolean {
  return one.batch < other.batch || (one.batch === other.batch && one.index < other.index);
}
