/** Sinks, the spool and dead letters. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

import { z } from 'zod';
import { moment, text } from './values.ts';

/** The spool, in which records wait for the sinks: part of `GET /api/v1/sinks`. */
export type SpoolSummary = z.output<typeof spoolSchema>;
/** Schema of {@link SpoolSummary}. */
export const spoolSchema = z.object({
  /** Records waiting for at least one sink. */
  records: z.number(),
  /** Size on disk, compressed. */
  bytes: z.number(),
  /** Configured maximum size. */
  bytesMax: z.number(),
  /** Time until it is full if it goes on growing as in the last ten minutes; null when it does not grow. */
  secondsToFull: z.number().nullable(),
  /** True while log reading of all routers is paused because the spool or its disk is full. */
  isHeldBack: z.boolean(),
  /** Names of the routers whose log reading is paused because their records take as much of the spool as is free. */
  routersHeldBack: z.array(text).readonly(),
});

/** One entry of `GET /api/v1/sinks`, which answers `{"sinks": [...], "spool": {...}}`. */
export type SinkSummary = z.output<typeof sinkSchema>;
/** Schema of {@link SinkSummary}. */
export const sinkSchema = z.object({
  /** The configured name: label `sink`. */
  name: text,
  /** The configured type, such as `loki`. */
  type: text,
  /** `unknown`: no delivery yet. */
  state: z.enum(['up', 'down', 'unknown']),
  /** Start of this state; null when not known. */
  since: moment.nullable(),
  /** Time since when the agent has this sink; null when not known. */
  startedAt: moment.nullable(),
  /** Records delivered since the agent started. */
  recordsDelivered: z.number(),
  /** Records delivered per second, over the last minute. */
  recordsPerSecond: z.number(),
  /** Records that the sink has not acknowledged yet. */
  recordsWaiting: z.number(),
  /** Age of the oldest record that it has not acknowledged yet; 0 when there is none. */
  lagSeconds: z.number(),
  /** Records that the sink rejected permanently. */
  deadLetters: z.number(),
  /** Time of the last successful delivery; null before the first. */
  lastSuccess: moment.nullable(),
  /** Error message of the last delivery; null when it succeeded. */
  error: text.nullable(),
  /** Its reason as in `router_exporter_sink_failures_total`, such as `protocol_error`; null without one. */
  reason: text.nullable(),
  /** The last error and its time, also when deliveries succeed again; null without one since the agent started. */
  lastFailure: z.object({ at: moment, error: text }).nullable(),
});

/** A record that a sink rejected permanently. */
export type LetterSummary = z.output<typeof letterSchema>;
/** Schema of {@link LetterSummary}. */
export const letterSchema = z.object({
  /** Number of the letter, as in `router-exporter dead-letters list`. */
  id: z.int(),
  /** Name of the sink. */
  sink: text,
  /** Time of the rejection. */
  at: moment,
  /** Name of the router; empty if the record does not contain it. */
  router: text,
  /** Name of the log; empty if the record does not contain it. */
  component: text,
  /** Timestamp of the record; null if it has none. */
  timestamp: moment.nullable(),
  /** Status or code of the rejection; null if the record was not sent. */
  code: text.nullable(),
  /** Error text of the sink, or the rule that applies. */
  reason: text,
  /** True if it is marked to be tried again. */
  isReplayed: z.boolean(),
});

/** A dead letter with its record. */
export interface LetterDetail extends LetterSummary {
  /** The record as stored: one JSON object. */
  readonly record: string;
}

/** One dead letter; `undefined` when there is none of its number. `fault`: why it cannot be read now. */
export type FoundLetter = LetterDetail | { readonly fault: string } | undefined;

/** Some of the dead letters, newest first. */
export interface LetterPage {
  /** The letters. */
  readonly letters: readonly LetterSummary[];
  /** True if there are older ones. */
  readonly hasMore: boolean;
  /** Number of letters by sink, in the order of names; sinks without any are left out. */
  readonly counts: readonly (readonly [sink: string, letters: number])[];
  /** Why they cannot be read; null when they can. */
  readonly fault: string | null;
}
