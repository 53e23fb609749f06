import { z } from 'zod';
import { moment, text } from './routers.ts';

/** Logs: lines, positions and gaps. Part of the JSON of `/api/v1/`, in the units of routers.ts. */

/** One log of a router with its read position. */
export type RouterLogSummary = z.output<typeof routerLogSchema>;
const routerLogSchema = z.object({
  /** Label `component`. */
  component: text,
  lines: z.number(),
  bytes: z.number(),
  /** Lines that do not match the log line format. */
  unparsedLines: z.number(),
  gaps: z.number(),
  /** Rotated files next to the current one. */
  archives: z.number().nullable(),
  newest: moment.nullable(),
  /** Time since the agent had last read everything the router had. */
  lagSeconds: z.number().nullable(),
  /** Estimated time until the router deletes unread lines. */
  secondsToLoss: z.number().nullable(),
  /** Time at which a missing rotated file becomes a gap unless it is found; null without one. */
  gapAt: moment.nullable(),
  /** Time since when unread lines may be lost, because the log was not read for longer than its time to loss; null = none. */
  lossSince: moment.nullable(),
  /** Start of the last stored record; null until the agent has stored one since it started. */
  position: z.object({ file: text, offset: z.number() }).nullable(),
  /** Why lines are not shipped although the router sends them: label `reason` of `router_log_unshipped`; null = they are. */
  unshipped: z.object({ state: text, message: text }).nullable(),
});

/** An entry of `GET /api/v1/logs`, which answers `{"logs": [...]}`. */
export type LogRow = z.output<typeof logRowSchema>;
export const logRowSchema = z.object({
  router: text,
  ...routerLogSchema.shape,
});

/** Evidence that a log file begins in the second in which the previous one ends, so that a missing file would show. */
export interface LogRotationSummary {
  /** If false, the agent neither waits for a missing file nor reports one. */
  readonly linksProven: boolean;
  /** Rotations with equal seconds. */
  readonly matches: number;
  /** Unobserved rotations with different seconds. */
  readonly misses: number;
  /** Probability that all matches are coincidence. */
  readonly chance: number;
  /** Logs with an observed rotation in which nothing was missing and the seconds differed: excluded from the rule. */
  readonly contradictedBy: readonly string[];
}

/** Missing lines of one log. */
export interface LogGapSummary {
  readonly at: string;
  readonly component: string;
  /** Label `certainty` of `router_log_gaps_total`. */
  readonly certainty: string;
  /** `details.reason` of the record. */
  readonly reason: string;
  readonly bytesMin: number | null;
  /** Time of the first line after the gap; null when unknown. */
  readonly until: string | null;
}

/** One of the last records of a router. */
export interface RecordSummary {
  readonly timestamp: string | null;
  readonly component: string;
  readonly severity: string | null;
  /** Truncated to 240 characters; complete in `GET /api/v1/routers/NAME/records`. */
  readonly message: string;
}

/**
 * Answer of `GET /api/v1/records`, the newest lines of the fleet, and of `GET /api/v1/routers/NAME/records`, the last matching lines of
 * one router. Lines are kept within `storage.recent`: complete, redacted, across restarts.
 */
export interface RecordPage {
  /** By time, newest first. */
  readonly records: readonly LogLine[];
  /** Value of `before` for older records of the router; null at the end, and for the fleet. May be set although no older record matches. */
  readonly next: string | null;
  /** Oldest time searched if `next` is not null. */
  readonly searchedTo: string | null;
  /** Why the records could not be read; null without a fault. */
  readonly fault: string | null;
}

/** The two ends of a gap. `certainty` and `reason` are null at its end. */
export type LogLineGap = z.output<typeof gapSchema>;
const gapSchema = z.object({
  certainty: text.nullable(),
  reason: text.nullable(),
  /** Time of the last line before it; null when unknown. */
  from: moment.nullable(),
  /** Time of the first line after it; null when unknown. */
  to: moment.nullable(),
  bytesMin: z.number().nullable(),
  /** At the end of a gap, the `uid` of its beginning; otherwise null. */
  gapUid: text.nullable(),
});

/** One line of a log, or an event such as a gap. */
export type LogLine = z.output<typeof logLineSchema>;
export const logLineSchema = z.object({
  router: text,
  /** With nine decimals; null without a time. */
  timestamp: moment.nullable(),
  observedTimestamp: moment.nullable(),
  /** Sort time: `timestamp`, or for an event the time of the neighbouring lines. */
  time: moment,
  component: text,
  /** The word in the line's brackets. */
  tag: text.nullable(),
  severity: text.nullable(),
  message: text,
  /** Identity of the line, the same in all sinks. */
  uid: text,
  /** Kind of event, such as `log.gap`; null for a line. */
  event: text.nullable(),
  gap: gapSchema.nullable(),
});

/** Selects lines of logs. */
export interface RecordQuery {
  /** `undefined`: all routers. */
  readonly router?: string | undefined;
  /** Any of these; empty: all. */
  readonly components: readonly string[];
  /** Any of these; `none`: lines without one; empty: all. */
  readonly severities: readonly string[];
  /** All words must occur, ignoring case. */
  readonly search: string;
  /** `next` of the previous page of one router; `undefined`: the newest. */
  readonly before?: string | undefined;
  readonly limit: number;
}

const LIMIT_MAX = 500;
/** Values of one filter, and characters of each value. */
const VALUES_MAX = 20;
const VALUE_CHARS_MAX = 200;
const BEFORE_CHARS_MAX = VALUE_CHARS_MAX;
const PAGE_RECORDS = 100;

/** Most severe first; `none`: lines without a severity. */
export const SEVERITIES = [
  'emergency',
  'alert',
  'critical',
  'error',
  'warning',
  'notice',
  'info',
  'debug',
  'none',
] as const;

interface QueryContext {
  readonly req: { query(name: string): string | undefined; queries(name: string): string[] | undefined };
}

/** Parses a query; `component` and `severity` are repeatable, `warning+` means warnings and worse. Invalid values are ignored. */
export function parseRecordQuery(context: QueryContext): RecordQuery {
  const list = (name: string) =>
    (context.req.queries(name) ?? []).slice(0, VALUES_MAX).filter((value) => value !== '' && isShort(value));
  const limit = Number(context.req.query('limit') ?? PAGE_RECORDS);
  const before = context.req.query('before');
  return {
    router: list('router')[0],
    components: list('component'),
    severities: [...new Set(list('severity').flatMap(expandSeverity))],
    search: (context.req.query('q') ?? '').trim().slice(0, VALUE_CHARS_MAX).toWellFormed(),
    before: before !== undefined && before.length <= BEFORE_CHARS_MAX ? before : undefined,
    limit: Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, LIMIT_MAX) : PAGE_RECORDS,
  };
}

/** Returns the query of the newest lines of the fleet. */
export function toFleetQuery(limit: number): RecordQuery {
  return { components: [], severities: [], search: '', limit };
}

/** True if a query selects lines other than the newest. */
export function isSelective({ components, severities, search, before }: RecordQuery): boolean {
  return components.length + severities.length > 0 || search !== '' || before !== undefined;
}

function expandSeverity(value: string): readonly string[] {
  const index = (SEVERITIES as readonly string[]).indexOf(value.replace(/\+$/, ''));
  return value.endsWith('+') ? SEVERITIES.slice(0, index + 1) : SEVERITIES.slice(Math.max(0, index), index + 1);
}

function isShort(value: string): boolean {
  return value.length <= VALUE_CHARS_MAX;
}
