/**
 * The JSON of `/api/v1/`. Times are RFC 3339 in UTC, lengths of time are seconds, sizes are bytes. What is not known is
 * null. Later versions may add keys; they take none away and change the meaning of none.
 */

/** `unknown`: not polled yet. `budget`: not polled any more today, because its byte budget is used up. */
export type RouterState = 'up' | 'down' | 'unknown' | 'budget';

/**
 * The steps of the way to a value, in their order: the name is resolved, a connection opened, the certificate trusted, the
 * account let in, the resource answered, its document understood.
 */
export const POLL_STEPS = ['dns', 'tcp', 'tls', 'login', 'resource', 'parse'] as const;
export type PollStep = (typeof POLL_STEPS)[number];

/** One entry of `GET /api/v1/routers`, which answers `{"routers": [...]}` in the order of names. */
export interface RouterSummary {
  /** The configured name: label `router`. */
  readonly name: string;
  /** The configured address. Credentials in it are not shown. */
  readonly url: string;
  /** The configured labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly state: RouterState;
  /** Since when it is in this state; null before the first poll. */
  readonly since: string | null;
  /** Whether its values are no longer served, because no poll has reached it for as long as `poll.stale_after`. */
  readonly isStale: boolean;
  /** End of the last poll that reached the router and logged in. */
  readonly lastSuccess: string | null;
  /** When it may be asked again, because it answered 429 or 503 with `Retry-After`; null when it asks for no wait. */
  readonly retryAfter: string | null;
  /** Why the last poll failed; null when it did not. */
  readonly failure: RouterFailureSummary | null;
  /** What failed first in the last poll, also when it reached the router; null when nothing did. */
  readonly fault: PollFault | null;
  /** Polls that failed since the last one that succeeded. */
  readonly consecutiveFailures: number;
  /** How long the last poll took, whatever came of it. */
  readonly durationSeconds: number | null;
  /** The longest lag of its logs, as in {@link RouterLogSummary.lagSeconds}. */
  readonly logLagSeconds: number | null;
  /** What went over the wire today (UTC), and what may; null without a budget. */
  readonly bytesToday: number;
  readonly byteBudget: number | null;
}

export interface RouterFailureSummary {
  /** The label `reason` of `router_failure_reason`. */
  readonly reason: string;
  /** Where on the way it failed; null when nothing was tried, as when the byte budget is used up. */
  readonly step: PollStep | null;
  /** In words. */
  readonly error: string;
}

/** `GET /api/v1/routers/NAME`. */
export interface RouterDetail extends RouterSummary {
  /** Firmware version of the first board. */
  readonly firmware: string | null;
  /** Serial number of the first board. */
  readonly serial: string | null;
  readonly resources: readonly ResourceSummary[];
  readonly session: SessionSummary;
  readonly bytes: RouterBytes;
  /** What the router showed in the last handshake; null without TLS. */
  readonly certificate: { readonly notAfter: string } | null;
  readonly logs: readonly RouterLogSummary[];
  /** What its rotations have shown of how log files follow each other; null while they have shown nothing. */
  readonly logRotation: LogRotationSummary | null;
  /** Places where log lines are missing, the newest first; the last 10 since the agent started. */
  readonly recentGaps: readonly LogGapSummary[];
  /** What was stored for delivery last, redacted, the newest first; at most 20. */
  readonly recentRecords: readonly RecordSummary[];
  /** The newest first; those that failed are kept longer. */
  readonly recentPolls: readonly PollSummary[];
  /** Numbers of the last 60 polls, the oldest first. */
  readonly history: readonly PollPoint[];
}

export interface SessionSummary {
  /** `none`: nobody has logged in yet, or nobody has to. `lost`: the router ended it. `failed`: the last login did. */
  readonly state: 'none' | 'open' | 'lost' | 'failed' | 'closed';
  /** Since when. */
  readonly since: string | null;
  /** Counted since the agent started. */
  readonly logins: number;
  readonly loginFailures: number;
  readonly refreshes: number;
}

export interface ResourceSummary {
  /** The label `resource`. */
  readonly resource: string;
  /** `unsupported`: the router does not have it. `forbidden`: the account has no right to it. Neither is a failure. */
  readonly state: 'up' | 'failed' | 'unsupported' | 'forbidden';
  /** Since its values were read. */
  readonly ageSeconds: number | null;
  /** How long the router took for it. */
  readonly durationSeconds: number | null;
  readonly error: string | null;
  /** What is odd about an answer that was read, in words: values that could not be read. */
  readonly finding: string | null;
}

/** What went over the wire, TLS included. */
export interface RouterBytes {
  /** Since the agent started. */
  readonly sent: number;
  readonly received: number;
  /** Allowed per day (UTC); null without a budget. */
  readonly budget: number | null;
  /** Sent and received today. */
  readonly usedToday: number;
  /** By how much intervals are stretched to stay within the budget; 1 is not at all. */
  readonly stretch: number;
}

export interface RouterLogSummary {
  readonly component: string;
  /** Shipped since the agent started. */
  readonly lines: number;
  readonly bytes: number;
  /** Lines without the form of a log line. */
  readonly unparsedLines: number;
  readonly gaps: number;
  /** Files beside the current one. */
  readonly archives: number | null;
  /** Time of the newest line that was read. */
  readonly newest: string | null;
  /** Since everything that the router had was read. */
  readonly lagSeconds: number | null;
  /** Until the router deletes what is not read yet. */
  readonly secondsToLoss: number | null;
  /** Where the last record that was stored begins; null until the agent has stored one since it started. */
  readonly position: { readonly file: string; readonly offset: number } | null;
}

/** Whether a log file begins in the second in which the one before ends, so that a missing one would show. */
export interface LogRotationSummary {
  /** Until it is proven, nothing waits for a missing file, and none is claimed. */
  readonly linksProven: boolean;
  /** Rotations in which it did, and those that nobody watched in which it did not. */
  readonly matches: number;
  readonly misses: number;
  /** How likely all these matches are by chance. */
  readonly chance: number;
  /** Logs in which a rotation was watched, nothing was missing, and it did not: it does not count for them. */
  readonly contradictedBy: readonly string[];
}

export interface LogGapSummary {
  /** When it was found. */
  readonly at: string;
  readonly component: string;
  /** The label `certainty` of `router_log_gaps_total`. */
  readonly certainty: string;
  readonly reason: string;
  /** Bytes that are missing at least; null when that is not known. */
  readonly bytesMin: number | null;
  /** Time of the first line behind it; null while that line is not known, or when it has no time. */
  readonly until: string | null;
}

export interface RecordSummary {
  /** As the record has it; null when its line has no time. */
  readonly timestamp: string | null;
  readonly component: string;
  readonly severity: string | null;
  /** Cut to 240 characters. */
  readonly message: string;
}

export interface PollSummary {
  /** When it began. */
  readonly at: string;
  readonly durationSeconds: number;
  readonly ok: boolean;
  /** The label `reason` of `router_failure_reason`; null when the poll succeeded. */
  readonly reason: string | null;
  readonly error: string | null;
  /** What failed first in it, also in a poll that reached the router; null when nothing did. */
  readonly fault: PollFault | null;
}

export interface PollFault {
  readonly step: PollStep;
  /** Which one, where the way had led to one. */
  readonly resource: string | null;
  /** In words. */
  readonly error: string;
}

/** One poll as numbers. */
export interface PollPoint {
  /** When it began. */
  readonly at: string;
  readonly durationSeconds: number;
  readonly ok: boolean;
  /** The longest lag of the logs at its end. */
  readonly logLagSeconds: number | null;
}

/** Beside the sinks in the answer of `GET /api/v1/sinks`: where records wait for them. */
export interface SpoolSummary {
  readonly records: number;
  /** On disk, compressed. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** Whether reading of logs pauses, because the spool or its disk has no room. */
  readonly isHeldBack: boolean;
}

/** One entry of `GET /api/v1/sinks`, which answers `{"sinks": [...], "spool": {...}}`. */
export interface SinkSummary {
  readonly name: string;
  readonly type: string;
  /** `unknown`: nothing was delivered yet. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Since the agent started. */
  readonly recordsDelivered: number;
  /** Records that the sink has yet to acknowledge. */
  readonly recordsWaiting: number;
  /** Age of the oldest record that it has yet to acknowledge; 0 when there is none. */
  readonly lagSeconds: number;
  /** Records that it refused for good. */
  readonly deadLetters: number;
  readonly lastSuccess: string | null;
  /** Why the last delivery failed; null when it did not. */
  readonly error: string | null;
}
