import { z } from 'zod';
import { moment, text } from './routers.ts';

/** Sinks, the spool and dead letters. Part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** The spool, in which records wait for the sinks: part of `GET /api/v1/sinks`. */
export type SpoolSummary = z.output<typeof spoolSchema>;
const spoolSchema = z.object({
  /** Waiting for at least one sink. */
  records: z.number(),
  /** Compressed size on disk. */
  bytes: z.number(),
  bytesMax: z.number(),
  /** At the growth of the last ten minutes; null if it does not grow. */
  secondsToFull: z.number().nullable(),
  /** True while log reading of all routers is paused because the spool or its disk is full. */
  isHeldBack: z.boolean(),
  /** Routers whose log reading is paused because their records fill their share of the spool. */
  routersHeldBack: z.array(text).readonly(),
});

/** An entry of `GET /api/v1/sinks`, which answers `{"sinks": [...], "spool": {...}}`. */
export type SinkSummary = z.output<typeof sinkSchema>;
const sinkSchema = z.object({
  name: text,
  type: text,
  /** `unknown`: no delivery yet. */
  state: z.enum(['up', 'down', 'unknown']),
  since: moment.nullable(),
  /** Time at which the agent started this sink; null when not known. */
  startedAt: moment.nullable(),
  /** Since the agent started. */
  recordsDelivered: z.number(),
  /** Delivered, over the last minute. */
  recordsPerSecond: z.number(),
  /** Not acknowledged yet. */
  recordsWaiting: z.number(),
  /** Age of the oldest record not acknowledged yet; 0 without one. */
  lagSeconds: z.number(),
  deadLetters: z.number(),
  lastSuccess: moment.nullable(),
  /** Error of the last delivery; null if it succeeded. */
  error: text.nullable(),
  /** Label `reason` of `router_exporter_sink_failures_total`, such as `protocol_error`; null without one. */
  reason: text.nullable(),
  /** Last error, also after later successes; null without one since the agent started. */
  lastFailure: z.object({ at: moment, error: text }).nullable(),
});

/** A record that a sink rejected permanently. */
export type DeadLetterSummary = z.output<typeof deadLetterSchema>;
export const deadLetterSchema = z.object({
  /** As in `router-exporter dead-letters list`. */
  id: z.int(),
  sink: text,
  /** Time of the rejection. */
  at: moment,
  /** Empty if the record does not contain it. */
  router: text,
  component: text,
  timestamp: moment.nullable(),
  /** Status or code of the rejection; null if the record was not sent. */
  code: text.nullable(),
  /** Error text of the sink, or the rule that applies. */
  reason: text,
  /** True if marked for replay. */
  isReplayed: z.boolean(),
});

/** A dead letter with its record. */
export interface DeadLetterDetail extends DeadLetterSummary {
  /** One JSON object, as stored. */
  readonly record: string;
}

/** A dead letter, or why it cannot be read; `undefined` if there is none with this number. */
export type FoundDeadLetter = DeadLetterDetail | { readonly fault: string } | undefined;

/** A page of dead letters, newest first. */
export interface DeadLetterPage {
  readonly letters: readonly DeadLetterSummary[];
  readonly hasMore: boolean;
  /** By sink name; sinks without any are omitted. */
  readonly counts: readonly (readonly [sink: string, letters: number])[];
  readonly fault: string | null;
}

/** Six hours, plus the current one. */
const MINUTES_MAX = 361;

/** Routers per state at one time. */
export type FleetMinute = z.output<typeof minuteSchema>;
const minuteSchema = z.object({
  at: moment,
  up: z.number(),
  down: z.number(),
  /** Routers of any state whose values are no longer served. */
  stale: z.number(),
  /** Neither up nor down, such as not polled yet or out of byte budget. */
  other: z.number(),
});

/** `GET /api/v1/runs`: polls, log reads and backups of all routers. */
export type RunSummary = z.output<typeof runSchema>;
const runSchema = z.object({
  running: z.number(),
  /** Due, but at the limit of concurrent runs. */
  waiting: z.number(),
  /** Due, of routers whose last run failed, which have a smaller limit. */
  heldBack: z.number(),
  max: z.number(),
});

/** `GET /api/v1/process`: counts of one process. */
export type ProcessSummary = z.output<typeof processSchema>;
export const processSchema = z.object({
  /** Minute by minute over the last six hours, oldest first; the last entry is now. */
  minutes: z.array(minuteSchema).max(MINUTES_MAX).readonly(),
  gaps: z.number(),
  runs: runSchema,
  sinks: z.array(sinkSchema).readonly(),
  spool: spoolSchema,
});
