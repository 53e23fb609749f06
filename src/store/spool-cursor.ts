/** A place in the spool: everything before `index` of batch `batch` is behind it. */
export interface SpoolCursor {
  readonly batch: number;
  readonly index: number;
}

export function isBefore(one: SpoolCursor, other: SpoolCursor): boolean {
  return one.batch < other.batch || (one.batch === other.batch && one.index < other.index);
}
