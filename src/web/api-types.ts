/**
 * The JSON of `/api/v1/`. Times are RFC 3339 in UTC, durations are seconds, sizes are bytes. Unknown values are null.
 * Later versions may add keys; they neither remove keys nor change their meaning.
 */

import type { LifecycleState } from '../model/index.ts';

/**
 * `unknown`: not polled yet. `budget`: not polled again today, because the byte budget is used up. `paused`, `retired`: not polled,
 * because the operator wants that.
 */
export type RouterState = 'up' | 'down' | 'unknown' | 'budget' | 'paused' | 'retired';

/** What the operator wants of a router, also the answer to `PUT /api/v1/routers/NAME/state`. */
export interface LifecycleSummary {
  /** The state that holds now. */
  readonly state: LifecycleState;
  /** Its end; null without one. */
  readonly until: string | null;
  /** Where it comes from: a file or a source (`configuration`), a request to the agent, or nowhere (`default`). */
  readonly setBy: 'configuration' | 'request' | 'default';
}

/**
 * The steps of a poll, in order: resolve the name, open a connection, verify the certificate, log in, request the
 * resource, parse its document.
 */
export const POLL_STEPS = ['dns', 'tcp', 'tls', 'login', 'resource', 'parse'] as const;
/** Steps of a poll, in their order. */
export type PollStep = (typeof POLL_STEPS)[number];

/** Answer to `POST /-/reload?dry_run=1`: what a reload would change. Of each kind, the first 100 routers are listed. */
export interface PlanSummary {
  /** Routers of this process. */
  readonly routers: {
    /** Number of routers after the reload. */
    readonly total: number;
    /** New ones. */
    readonly added: { readonly count: number; readonly names: readonly string[] };
    /** Those of which keys differ, with these keys: `poll.interval`. */
    readonly changed: {
      readonly count: number;
      readonly routers: readonly { readonly name: string; readonly keys: readonly string[] }[];
    };
    /** Those that are not configured any more. */
    readonly removed: { readonly count: number; readonly names: readonly string[] };
    /** Number of routers whose session would end and begin anew: changed ones, or all, if something for all of them changes. */
    readonly reconnected: number;
  };
  /** Other sections that differ. */
  readonly sections: readonly string[];
  /** Keys that differ and that only a restart applies. */
  readonly needsRestart: readonly string[];
}

/** What a reload would change, or the faults that prevent it. */
export type TrialResult =
  | { readonly ok: true; readonly plan: PlanSummary }
  | { readonly ok: false; readonly faults: readonly string[] };

/** One entry of `GET /api/v1/routers`, which answers `{"routers": [...]}` in the order of names. */
export interface RouterSummary {
  /** The configured name: label `router`. */
  readonly name: string;
  /** The configured address. Credentials in it are not shown. */
  readonly url: string;
  /** The configured labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** The result of the last poll. */
  readonly state: RouterState;
  /** What the operator wants of it. */
  readonly lifecycle: LifecycleSummary;
  /** Start of this state; null before the first poll. */
  readonly since: string | null;
  /** True when no poll has reached the router for `poll.stale_after`: its values are no longer served. */
  readonly isStale: boolean;
  /** End of the last poll that reached the router and logged in. */
  readonly lastSuccess: string | null;
  /** End of the wait that the router asked for with `Retry-After` (429 or 503); null without one. */
  readonly retryAfter: string | null;
  /** The failure of the last poll; null when it succeeded. */
  readonly failure: RouterFailureSummary | null;
  /** The first fault of the last poll, even if the poll reached the router; null without one. */
  readonly fault: PollFault | null;
  /** Polls that failed since the last one that succeeded. */
  readonly consecutiveFailures: number;
  /** Duration of the last poll, successful or not. */
  readonly durationSeconds: number | null;
  /** The largest {@link RouterLogSummary.lagSeconds} of its logs. */
  readonly logLagSeconds: number | null;
  /** Bytes sent and received today (UTC), TLS included. */
  readonly bytesToday: number;
  /** Bytes allowed per day (UTC); null without a budget. */
  readonly byteBudget: number | null;
  /** Firmware version of the first board. */
  readonly firmware: string | null;
  /** Last values that the router reported about itself; kept while it is down. */
  readonly device: DeviceSummary;
}

/** Last values of a router, for lists. Null = not reported. */
export interface DeviceSummary {
  /** Type of the device; without one, that of its first board. */
  readonly model: string | null;
  /** Location from the configuration of the router. */
  readonly location: string | null;
  /** Mobile network of the modem; of several modems, that of one with a data session. */
  readonly operator: string | null;
  /** Access technology of the modem, such as `LTE`. */
  readonly technology: string | null;
  /** Strength of the signal of the modem. */
  readonly signal: SignalSummary | null;
  /** Name of the WAN chain in use. */
  readonly wan: string | null;
  /** Time since the router started, when it was last asked. */
  readonly uptimeSeconds: number | null;
}

/** Of a router that has reported nothing. */
export const NO_DEVICE: DeviceSummary = {
  model: null,
  location: null,
  operator: null,
  technology: null,
  signal: null,
  wan: null,
  uptimeSeconds: null,
};

/** Strength of a signal. `rsrp` and `rssi` are in dBm, `csq` is from 0 to 31 on the scale of AT+CSQ. */
export interface SignalSummary {
  /** The value that the modem reports; `rsrp` is preferred, then `rssi`. */
  readonly kind: 'rsrp' | 'rssi' | 'csq';
  /** The value. */
  readonly value: number;
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

/** A few minutes in the life of a router. */
export interface HistoryPoint {
  /** Start of these minutes. */
  readonly at: string;
  /** Whether polls reached the router; `mixed`: some did, and some did not. Null without a poll. */
  readonly result: 'up' | 'down' | 'mixed' | null;
  /** Strength of the signal, of the kind and in the unit of {@link DeviceSummary.signal}. */
  readonly signal: number | null;
  /** The largest log lag. */
  readonly logLagSeconds: number | null;
  /** Duration of the last poll that reached the router. */
  readonly responseSeconds: number | null;
}

/** A failure of one router: when, at which step, and why. */
export interface RouterFailureSummary {
  /** The label `reason` of `router_failure_reason`. */
  readonly reason: string;
  /** The step that failed; null when nothing was tried, for example because the byte budget is used up. */
  readonly step: PollStep | null;
  /** The error message. */
  readonly error: string;
}

/** `GET /api/v1/routers/NAME`. */
export interface RouterDetail extends RouterSummary {
  /** Serial number of the first board. */
  readonly serial: string | null;
  /** The resources that its modules ask for. */
  readonly resources: readonly ResourceSummary[];
  /** The agent's session with the router. */
  readonly session: SessionSummary;
  /** Traffic between agent and router, and its budget. */
  readonly bytes: RouterBytes;
  /** How fast it answers, and how it is spared. */
  readonly pace: PaceSummary;
  /** The certificate of the last TLS handshake; null without TLS. */
  readonly certificate: { readonly notAfter: string } | null;
  /** The logs that the agent follows. */
  readonly logs: readonly RouterLogSummary[];
  /** Evidence from log rotations on whether consecutive files share a second; null without any rotation. */
  readonly logRotation: LogRotationSummary | null;
  /** The last 10 log gaps since the agent started, newest first. */
  readonly recentGaps: readonly LogGapSummary[];
  /** The last polls, newest first; failed ones are kept longer. */
  readonly recentPolls: readonly PollSummary[];
  /** Figures of the last 60 polls, oldest first. */
  readonly history: readonly PollPoint[];
  /** The values that it reported, by module, in the order of its modules. */
  readonly values: readonly ModuleValues[];
  /** Traffic of its interfaces between the last two polls that read it. */
  readonly interfaceRates: readonly InterfaceRate[];
  /** The last six hours in steps of three minutes, oldest first. */
  readonly lastHours: readonly HistoryPoint[];
}

/** Answer of `GET /api/v1/routers/NAME`. */
export interface RouterAnswer extends RouterDetail {
  /** The last records among those kept within `storage.recent`, redacted, newest first; at most 20. */
  readonly recentRecords: readonly RecordSummary[];
}

/** Values of the families that one module defines. */
export interface ModuleValues {
  /** Name of the module. */
  readonly module: string;
  /** What the module is about; empty when it does not say. */
  readonly help: string;
  /** Its families, one entry for each resource that has it. */
  readonly families: readonly FamilyValues[];
}

/** Samples of one metric family from one resource. */
export interface FamilyValues {
  /** Name of the family, as in the metrics. */
  readonly name: string;
  /** Help of the family. */
  readonly help: string;
  /** Type of the family. */
  readonly type: 'gauge' | 'counter' | 'info' | 'stateset';
  /** Unit of the values in the answer of the router; null without one. The unit of the samples is in the name. */
  readonly unit: string | null;
  /** Labels that tell the samples apart. */
  readonly keys: readonly string[];
  /** Label of a state set that names the state; null when unknown. */
  readonly stateLabel: string | null;
  /** The resource they were read from. */
  readonly resource: string;
  /** Age of the values. */
  readonly ageSeconds: number | null;
  /** The samples, without the labels `router` and those of the configuration. */
  readonly samples: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

/** Traffic of one interface. Null: not known yet, or the counter began anew. */
export interface InterfaceRate {
  /** Name of the interface. */
  readonly interface: string;
  /** Received. */
  readonly receiveBytesPerSecond: number | null;
  /** Sent. */
  readonly transmitBytesPerSecond: number | null;
}

/** Logins and tokens of one router. */
export interface SessionSummary {
  /** `none`: no login yet, or none needed. `lost`: the router ended the session. `failed`: the last login failed. */
  readonly state: 'none' | 'open' | 'lost' | 'failed' | 'closed';
  /** Start of this state. */
  readonly since: string | null;
  /** Successful logins since the agent started. */
  readonly logins: number;
  /** Failed logins since the agent started. */
  readonly loginFailures: number;
  /** Token refreshes since the agent started. */
  readonly refreshes: number;
}

/** One resource of a router and how its last reading went. */
export interface ResourceSummary {
  /** The label `resource`. */
  readonly resource: string;
  /** `unsupported`: the router does not have it. `forbidden`: the account has no right to it. Neither is a failure. */
  readonly state: 'up' | 'failed' | 'unsupported' | 'forbidden';
  /** Age of its values. */
  readonly ageSeconds: number | null;
  /** Response time of the last request. */
  readonly durationSeconds: number | null;
  /** Error message of the last failed read; null when it succeeded. */
  readonly error: string | null;
  /** Warning about a response that was read, for example values that could not be parsed. */
  readonly finding: string | null;
}

/** Bytes on the wire, TLS included. */
export interface RouterBytes {
  /** Sent since the agent started. */
  readonly sent: number;
  /** Received since the agent started. */
  readonly received: number;
  /** Allowed per day (UTC); null without a budget. */
  readonly budget: number | null;
  /** Sent and received today. */
  readonly usedToday: number;
  /** Factor by which poll intervals are stretched to stay within the budget; 1 means not stretched. */
  readonly stretch: number;
  /** End of the pause of its logs by the budget; null without a pause. */
  readonly logsPausedUntil: string | null;
  /** End of the pause of its polls by the budget; null without a pause. */
  readonly statusPausedUntil: string | null;
}

/** One log of a router and how far it is read. */
export interface RouterLogSummary {
  /** Name of the log: label `component`. */
  readonly component: string;
  /** Lines shipped since the agent started. */
  readonly lines: number;
  /** Bytes of these lines. */
  readonly bytes: number;
  /** Lines that do not match the log line format. */
  readonly unparsedLines: number;
  /** Gaps found since the agent started. */
  readonly gaps: number;
  /** Rotated files beside the current one. */
  readonly archives: number | null;
  /** Time of the newest line that was read. */
  readonly newest: string | null;
  /** Time since the agent had last read everything the router had. */
  readonly lagSeconds: number | null;
  /** Estimated time until the router deletes unread lines. */
  readonly secondsToLoss: number | null;
  /** Start of the last stored record; null until the agent has stored one since it started. */
  readonly position: { readonly file: string; readonly offset: number } | null;
}

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
 * Answer of `GET /api/v1/records` and `GET /api/v1/routers/NAME/records`: the last lines of the fleet or of one router that
 * fit the query, newest first. They are kept within `storage.recent`, whole, redacted, and across restarts.
 */
export interface RecordPage {
  /** Records in the order of their times, the newest first. */
  readonly records: readonly LogLine[];
  /** Value of `before` for the older ones; null at the end. There may be one although none fits. */
  readonly next: string | null;
  /** Time down to which was searched when `next` is not null. */
  readonly searchedTo: string | null;
  /** Why the records could not be read; null when they were. */
  readonly fault: string | null;
}

/** One line of a log, or an event such as a gap. */
export interface LogLine {
  /** Name of the router. */
  readonly router: string;
  /** Time of the line, with nine decimals; null when it has none. */
  readonly timestamp: string | null;
  /** Time at which the agent downloaded it. */
  readonly observedTimestamp: string | null;
  /** Time at which it stands: the same as `timestamp`; for an event, that of the lines next to it. */
  readonly time: string;
  /** Name of the log. */
  readonly component: string;
  /** The word in the line's brackets; null without one. */
  readonly tag: string | null;
  /** Severity of the line; null without one. */
  readonly severity: string | null;
  /** The whole text. */
  readonly message: string;
  /** Identity of the line, the same in all sinks. */
  readonly uid: string;
  /** Kind of event, such as `log.gap`; null for a line. */
  readonly event: string | null;
  /** Details of a gap, and of its end; null for others. */
  readonly gap: LogLineGap | null;
}

/** The two ends of a gap. */
export interface LogLineGap {
  /** Certainty of the gap; null at its end. */
  readonly certainty: string | null;
  /** Reason of the gap; null at its end. */
  readonly reason: string | null;
  /** Time of the last line before it; null when not known. */
  readonly from: string | null;
  /** Time of the first line after it; null while that line is unknown. */
  readonly to: string | null;
  /** Minimum number of missing bytes; null when not known. */
  readonly bytesMin: number | null;
  /** At the end of a gap, the `uid` of its beginning; null otherwise. */
  readonly gapUid: string | null;
}

/** One of the last polls of a router. */
export interface PollSummary {
  /** Start of the poll. */
  readonly at: string;
  /** Duration of the poll. */
  readonly durationSeconds: number;
  /** True when the poll reached the router. */
  readonly ok: boolean;
  /** The label `reason` of `router_failure_reason`; null when the poll succeeded. */
  readonly reason: string | null;
  /** Error message; null when the poll succeeded. */
  readonly error: string | null;
  /** The first fault, even in a poll that reached the router; null without one. */
  readonly fault: PollFault | null;
}

/** A resource that failed in a poll. */
export interface PollFault {
  /** The step that failed. */
  readonly step: PollStep;
  /** The resource that was being read; null when the fault came before. */
  readonly resource: string | null;
  /** The error message. */
  readonly error: string;
}

/** Figures of one poll. */
export interface PollPoint {
  /** Start of the poll. */
  readonly at: string;
  /** Duration of the poll. */
  readonly durationSeconds: number;
  /** True when the poll reached the router. */
  readonly ok: boolean;
  /** The largest log lag at the end of the poll. */
  readonly logLagSeconds: number | null;
}

/** The spool, in which records wait for the sinks: part of `GET /api/v1/sinks`. */
export interface SpoolSummary {
  /** Records waiting for at least one sink. */
  readonly records: number;
  /** Size on disk, compressed. */
  readonly bytes: number;
  /** Configured maximum size. */
  readonly bytesMax: number;
  /** Time until it is full if it goes on growing as in the last ten minutes; null when it does not grow. */
  readonly secondsToFull: number | null;
  /** True while log reading of all routers is paused because the spool or its disk is full. */
  readonly isHeldBack: boolean;
  /** Names of the routers whose log reading is paused because their records take as much of the spool as is free. */
  readonly routersHeldBack: readonly string[];
}

/** One entry of `GET /api/v1/sinks`, which answers `{"sinks": [...], "spool": {...}}`. */
export interface SinkSummary {
  /** The configured name: label `sink`. */
  readonly name: string;
  /** The configured type, such as `loki`. */
  readonly type: string;
  /** `unknown`: no delivery yet. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Records delivered since the agent started. */
  readonly recordsDelivered: number;
  /** Records delivered per second, over the last minute. */
  readonly recordsPerSecond: number;
  /** Records that the sink has not acknowledged yet. */
  readonly recordsWaiting: number;
  /** Age of the oldest record that it has not acknowledged yet; 0 when there is none. */
  readonly lagSeconds: number;
  /** Records that the sink rejected permanently. */
  readonly deadLetters: number;
  /** Time of the last successful delivery; null before the first. */
  readonly lastSuccess: string | null;
  /** Error message of the last delivery; null when it succeeded. */
  readonly error: string | null;
  /** The last error and its time, also when deliveries succeed again; null without one since the agent started. */
  readonly lastFailure: { readonly at: string; readonly error: string } | null;
}

/** A record that a sink rejected permanently. */
export interface LetterSummary {
  /** Number of the letter, as in `router-exporter dead-letters list`. */
  readonly id: number;
  /** Name of the sink. */
  readonly sink: string;
  /** Time of the rejection. */
  readonly at: string;
  /** Name of the router; empty if the record does not contain it. */
  readonly router: string;
  /** Name of the log; empty if the record does not contain it. */
  readonly component: string;
  /** Timestamp of the record; null if it has none. */
  readonly timestamp: string | null;
  /** Status or code of the rejection; null if the record was not sent. */
  readonly code: string | null;
  /** Error text of the sink, or the rule that applies. */
  readonly reason: string;
  /** True if it is marked to be tried again. */
  readonly isReplayed: boolean;
}

/** A dead letter with its record. */
export interface LetterDetail extends LetterSummary {
  /** The record as stored: one JSON object. */
  readonly record: string;
}

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

/** The running configuration, its last reload, and the sources of its routers. */
export interface ConfigurationSummary {
  /** Time since which it runs. */
  readonly loadedAt: string;
  /** The last reload since the agent started; null without one. Without faults it succeeded. */
  readonly lastReload: { readonly at: string; readonly faults: readonly string[] } | null;
  /**
   * What a reload would change or refuse, computed when a file of the configuration last changed. `unchanged`: none has changed
   * since it was loaded; null: its files are not watched.
   */
  readonly pending: { readonly at: string; readonly result: TrialResult } | 'unchanged' | null;
  /** Warnings about it, as `router-exporter check` prints them. */
  readonly warnings: readonly string[];
  /** Sources of its routers, in the order of the configuration. */
  readonly sources: readonly SourceSummary[];
}

/** One source of routers. */
export interface SourceSummary {
  /** The configured name: label `source`. */
  readonly name: string;
  /** Whether the last reading succeeded; `unknown` before the first one has ended. */
  readonly state: 'up' | 'down' | 'unknown';
  /** Time of the last reading that succeeded; null before the first. */
  readonly lastSuccess: string | null;
  /** Why it could not be read, or why its answer is not used; null without an error. */
  readonly error: string | null;
  /** Number of its routers in the configuration. */
  readonly routers: number;
  /** Number of routers in its answer that are not used. */
  readonly refused: number;
  /** Reasons for some of them. */
  readonly refusals: readonly string[];
  /** Routers that a newer answer lacks, of how many: it is not used until that is confirmed. Null without such an answer. */
  readonly held: { readonly missing: number; readonly of: number } | null;
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

/** How fast a router answers, and what is asked for less often because of that. */
export interface PaceSummary {
  /** `slow` and `very_slow`: its intervals are stretched, whatever its byte budget. */
  readonly level: 'usual' | 'slow' | 'very_slow';
  /** Usual time of one answer; null before there were enough polls. */
  readonly responseSeconds: number | null;
  /** True if the signal of its modem was poor in most of the last polls. */
  readonly isSignalPoor: boolean;
  /** Factor of the intervals of slow modules, and of logs while no line is about to be lost. */
  readonly stretch: number;
  /** Factor of the interval of the status. */
  readonly statusStretch: number;
}
