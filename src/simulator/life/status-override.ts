import type { StatusBody, StatusRow } from './status-body.ts';

/** A test's changes to a status resource. */
export interface StatusOverride {
  /** True if the resource does not exist. */
  readonly isAbsent?: boolean;
  /** Replaces everything below `status`. */
  readonly body?: object;
  /** Single values that replace the router's own. */
  readonly unique?: Readonly<Record<string, string>>;
  /** Values that replace the router's own, row by row; additional rows are appended. */
  readonly list?: readonly Readonly<Record<string, string>>[];
  /** Names of single values and row values to remove. */
  readonly remove?: readonly string[];
}

/** Returns the body with the override applied. */
export function applyOverride(body: StatusBody, override: StatusOverride): object {
  if (override.body) return override.body;
  const without = (row: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !override.remove?.includes(name)));
  const unique = body.unique || override.unique ? { ...body.unique, ...override.unique } : undefined;
  const rows: StatusRow[] = [...(body.list ?? [])];
  for (const [position, row] of (override.list ?? []).entries()) rows[position] = { ...rows[position], ...row };
  const hasList = body.list !== undefined || override.list !== undefined;
  return { ...(unique && { unique: without(unique) }), ...(hasList && { list: rows.map(without) }) };
}
