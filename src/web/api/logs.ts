/** Logs: their lines, positions and gaps. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

import { z } from 'zod';
import { moment, text } from './values.ts';

/** One log of a router and how far it is read. */
export type RouterLogSummary = z.output<typeof routerLogSchema>;
const routerLogSchema = z.object({
  /** Name of the log: label `component`. */
  component: text,
  /** Lines shipped since the agent started. */
  lines: z.number(),
  /** Bytes of these lines. */
  bytes: z.number(),
  /** Lines that do not match the log line format. */
  unparsedLines: z.number(),
  /** Gaps found since the agent started. */
  gaps: z.number(),
  /** Rotated files beside the current one. */
  archives: z.number().nullable(),
  /** Time of the newest line that was read. */
  newest: moment.nullable(),
  /** Time since the agent had last read everything the router had. */
  lagSeconds: z.number().nullable(),
  /** Estimated time until the router deletes unread lines. */
  secondsToLoss: z.number().nullable(),
  /** Time at which a file that was rotated away and is looked for becomes a gap unless it is found; null when none is. */
  gapAt: moment.nullable(),
  /** Time since when unread lines may be lost, because the log was not read for longer than its time to loss; null = none. */
  lossSince: moment.nullable(),
  /** Start of the last stored record; null until the agent has stored one since it started. */
  position: z.object({ file: text, offset: z.number() }).nullable(),
  /** Why its lines are not shipped although the router sends them: label `reason` of `router_log_unshipped`; null = they are. */
  unshipped: z.object({ state: text, message: text }).nullable(),
});

/** One log of one router: an entry of `GET /api/v1/logs`, which answers `{"logs": [...]}`. */
export type LogRow = z.output<typeof logRowSchema>;
/** Schema of {@link LogRow}. */
export const logRowSchema = z.object({
  /** Name of the router. */
  router: text,
  ...routerLogSchema.shape,
});

/** Evidence that a log file begins in the second in which the previous one ends, so that a missing file would show. */
export interface LogRotationSummary {
  /** While false, the agent neither waits for a missing file nor reports one. */
  readonly linksProven: boolean;
  /** Rotations in which the two seconds were the same. */
  readonly matches: number;
  /** Unobserved rotations in which they differed. */
  readonly misses: number;
  /** Probability that all matches are coincidence. */
  readonly chance: number;
  /** Logs with an observed rotation in which nothing was missing and the seconds differed: excluded from the rule. */
  readonly contradictedBy: readonly string[];
}

/** Missing lines of one log. */
export interface LogGapSummary {
  /** Time of detection. */
  readonly at: string;
  /** Name of the log. */
  readonly component: string;
  /** The label `certainty` of `router_log_gaps_total`. */
  readonly certainty: string;
  /** Reason, as in the field `details.reason` of the record. */
  readonly reason: string;
  /** Minimum number of missing bytes; null when unknown. */
  readonly bytesMin: number | null;
  /** Time of the first line after the gap; null while that line is unknown, or when it has no time. */
  readonly until: string | null;
}

/** One of the last records of a router. */
export interface RecordSummary {
  /** Timestamp of the record; null when its line has no time. */
  readonly timestamp: string | null;
  /** Name of the log. */
  readonly component: string;
  /** Severity of the record; null when its line has none. */
  readonly severity: string | null;
  /** Cut to 240 characters; whole in `GET /api/v1/routers/NAME/records`. */
  readonly message: string;
}

/**
 * Answer of `GET /api/v1/records`, the newest lines of the fleet, and of `GET /api/v1/routers/NAME/records`, the last lines of one
 * router that fit the query, the newest first. They are kept within `storage.recent`, whole, redacted, and across restarts.
 */
export interface RecordPage {
  /** Records in the order of their times, the newest first. */
  readonly records: readonly LogLine[];
  /** Value of `before` for the older ones of the router; null at the end, and of the fleet. There may be one although none fits. */
  readonly next: string | null;
  /** Time down to which was searched when `next` is not null. */
  readonly searchedTo: string | null;
  /** Why the records could not be read; null when they were. */
  readonly fault: string | null;
}

/** The two ends of a gap. */
export type LogLineGap = z.output<typeof gapSchema>;
const gapSchema = z.object({
  /** Certainty of the gap; null at its end. */
  certainty: text.nullable(),
  /** Reason of the gap; null at its end. */
  reason: text.nullable(),
  /** Time of the last line before it; null when not known. */
  from: moment.nullable(),
  /** Time of the first line after it; null while that line is unknown. */
  to: moment.nullable(),
  /** Minimum number of missing bytes; null when not known. */
  bytesMin: z.number().nullable(),
  /** At the end of a gap, the `uid` of its beginning; null otherwise. */
  gapUid: text.nullable(),
});

/** One line of a log, or an event such as a gap. */
export type LogLine = z.output<typeof logLineSchema>;
/** Schema of {@link LogLine}. */
export const logLineSchema = z.object({
  /** Name of the router. */
  router: text,
  /** Time of the line, with nine decimals; null when it has none. */
  timestamp: moment.nullable(),
  /** Time at which the agent downloaded it. */
  observedTimestamp: moment.nullable(),
  /** Time at which it stands: the same as `timestamp`; for an event, that of the lines next to it. */
  time: moment,
  /** Name of the log. */
  component: text,
  /** The word in the line's brackets; null without one. */
  tag: text.nullable(),
  /** Severity of the line; null without one. */
  severity: text.nullable(),
  /** The whole text. */
  message: text,
  /** Identity of the line, the same in all sinks. */
  uid: text,
  /** Kind of event, such as `log.gap`; null for a line. */
  event: text.nullable(),
  /** Details of a gap, and of its end; null for others. */
  gap: gapSchema.nullable(),
});
