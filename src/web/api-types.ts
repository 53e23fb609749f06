/**
 * The JSON of `/api/v1/`. Times are RFC 3339 in UTC, lengths of time are seconds, sizes are bytes. What is not known is
 * null. Later versions may add keys; they take none away and change the meaning of none.
 */

/** `unknown`: not polled yet. `budget`: not polled any more today, because its byte budget is used up. */
export type RouterState = 'up' | 'down' | 'unknown' | 'budget';

/** One entry of `GET /api/v1/routers`, which answers `{"routers": [...]}` in the order of names. */
export interface RouterSummary {
  /** The configured name: label `router`. */
  readonly name: string;
  /** The configured address. Credentials in it are not shown. */
  readonly url: string;
  /** The configured labels. */
  readonly labels: Readonly<Record<string, string>>;
  readonly state: RouterState;
  /** End of the last poll that reached the router and logged in. */
  readonly lastSuccess: string | null;
  /** Why the last poll failed; null when it did not. */
  readonly failure: RouterFailureSummary | null;
  /** Polls that failed since the last one that succeeded. */
  readonly consecutiveFailures: number;
}

export interface RouterFailureSummary {
  /** The label `reason` of `router_failure_reason`. */
  readonly reason: string;
  /** In words. */
  readonly error: string;
}

/** `GET /api/v1/routers/NAME`. */
export interface RouterDetail extends RouterSummary {
  /** Firmware version of the first board. */
  readonly firmware: string | null;
  readonly resources: readonly ResourceSummary[];
  /** Counted since the agent started. */
  readonly session: { readonly logins: number; readonly loginFailures: number; readonly refreshes: number };
  readonly bytes: RouterBytes;
  /** What the router showed in the last handshake; null without TLS. */
  readonly certificate: { readonly notAfter: string } | null;
  readonly logs: readonly RouterLogSummary[];
  /** The newest first; those that failed are kept longer. */
  readonly recentPolls: readonly PollSummary[];
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
}

export interface PollSummary {
  /** When it began. */
  readonly at: string;
  readonly durationSeconds: number;
  readonly ok: boolean;
  /** The label `reason` of `router_failure_reason`; null when the poll succeeded. */
  readonly reason: string | null;
  readonly error: string | null;
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
