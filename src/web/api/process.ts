/** What one process counts as a whole. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** The number of routers per state at one moment. */
export interface FleetMinute {
  /** Time of the count. */
  readonly at: string;
  /** Routers that are up. */
  readonly up: number;
  /** Routers that are down. */
  readonly down: number;
  /** Routers of any state whose values are no longer served. */
  readonly stale: number;
  /** Routers that are neither up nor down: not polled yet, or without byte budget. */
  readonly other: number;
}

/** `GET /api/v1/runs`: polls, readings of logs and backups of all routers. */
export interface RunSummary {
  /** Under way. */
  readonly running: number;
  /** Due, and waiting because too many are under way. */
  readonly waiting: number;
  /** Due, of routers whose last run failed, and waiting for a place of their own share. */
  readonly heldBack: number;
  /** Most that are under way at a time. */
  readonly max: number;
}
