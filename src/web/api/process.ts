/** Totals of one process. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

import type { SinkSummary, SpoolSummary } from './delivery.ts';

/** `GET /api/v1/process`: counts of one process. */
export interface ProcessSummary {
  /** The routers by state, minute by minute over the last six hours, the oldest first; the last entry is now. */
  readonly minutes: readonly FleetMinute[];
  /** Gaps in the logs of its routers since it started. */
  readonly gaps: number;
  /** Its runs, as in `GET /api/v1/runs`. */
  readonly runs: RunSummary;
  /** Its sinks, as in `GET /api/v1/sinks`. */
  readonly sinks: readonly SinkSummary[];
  /** Its spool. */
  readonly spool: SpoolSummary;
}

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
