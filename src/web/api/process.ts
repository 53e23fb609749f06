/** Totals of one process. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

import { z } from 'zod';
import { sinkSchema, spoolSchema } from './delivery.ts';
import { moment } from './values.ts';

/** Six hours, and now. */
const MINUTES_MAX = 361;

/** The number of routers per state at one moment. */
export type FleetMinute = z.output<typeof minuteSchema>;
const minuteSchema = z.object({
  /** Time of the count. */
  at: moment,
  /** Routers that are up. */
  up: z.number(),
  /** Routers that are down. */
  down: z.number(),
  /** Routers of any state whose values are no longer served. */
  stale: z.number(),
  /** Routers that are neither up nor down: not polled yet, or without byte budget. */
  other: z.number(),
});

/** `GET /api/v1/runs`: polls, readings of logs and backups of all routers. */
export type RunSummary = z.output<typeof runSchema>;
const runSchema = z.object({
  /** Under way. */
  running: z.number(),
  /** Due, and waiting because too many are under way. */
  waiting: z.number(),
  /** Due, of routers whose last run failed, and waiting for a place of their own share. */
  heldBack: z.number(),
  /** Most that are under way at a time. */
  max: z.number(),
});

/** `GET /api/v1/process`: counts of one process. */
export type ProcessSummary = z.output<typeof processSchema>;
/** Schema of {@link ProcessSummary}. */
export const processSchema = z.object({
  /** The routers by state, minute by minute over the last six hours, the oldest first; the last entry is now. */
  minutes: z.array(minuteSchema).max(MINUTES_MAX).readonly(),
  /** Gaps in the logs of its routers since it started. */
  gaps: z.number(),
  /** Its runs, as in `GET /api/v1/runs`. */
  runs: runSchema,
  /** Its sinks, as in `GET /api/v1/sinks`. */
  sinks: z.array(sinkSchema).readonly(),
  /** Its spool. */
  spool: spoolSchema,
});
