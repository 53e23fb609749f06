import type { StatusBody, StatusRow } from './status-body.ts';

/** How the director of a simulation changes what a status resource says. */
export interface StatusOverride {
  /** The resource is not found. */
  readonly isAbsent?: boolean;
  /** Stands below `status` instead of everything else, whatever it is. */
  readonly body?: object;
  /** Single values in place of the router's own. */
  readonly unique?: Readonly<Record<string, string>>;
  /** Values in place of the router's own, row by row; rows beyond the router's own are added. */
  readonly list?: readonly Readonly<Record<string, string>>[];
  /** Names of single values and of values of rows that vanish. */
  readonly remove?: readonly string[];
}

/** The body with the override in it. */
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
