/** One router. Part of the JSON of `/api/v1/`, in the units of routers.ts. */

import type { LogGapSummary, LogRotationSummary, RecordSummary, RouterLogSummary } from './logs.ts';
import type { InterfaceRate, PollFault, RouterSummary, SignalSummary } from './routers.ts';

/** Three minutes of a router's history. */
export interface HistoryPoint {
  readonly at: string;
  /** `mixed`: some polls reached the router, some did not. Null while it was not watched, such as without the agent. */
  readonly result: 'up' | 'down' | 'mixed' | null;
  /** At the last poll, in the kind and unit of {@link DeviceSummary.signal}. */
  readonly signal: number | null;
  /** Weakest and strongest of all polls. */
  readonly signalMin: number | null;
  readonly signalMax: number | null;
  /** Largest log lag at the last poll. */
  readonly logLagSeconds: number | null;
  /** Duration of the last poll that reached the router. */
  readonly responseSeconds: number | null;
  /** {@link RouterSummary.traffic} at the last poll that reached the router. */
  readonly receiveBitsPerSecond: number | null;
  readonly transmitBitsPerSecond: number | null;
}

/** Everything known about one router. */
export interface RouterDetail extends RouterSummary {
  /** Serial number of the first board. */
  readonly serial: string | null;
  readonly resources: readonly ResourceSummary[];
  readonly session: SessionSummary;
  readonly bytes: RouterBytes;
  /** As configured; empty without one. */
  readonly dataPlans: readonly DataPlanSummary[];
  readonly pace: PaceSummary;
  /** Certificate of the last TLS handshake; null without TLS. */
  readonly certificate: { readonly notAfter: string } | null;
  readonly logs: readonly RouterLogSummary[];
  /** Null before any rotation. */
  readonly logRotation: LogRotationSummary | null;
  /** The last 10 since the agent started, newest first. */
  readonly recentGaps: readonly LogGapSummary[];
  /** Newest first; failed ones are kept longer. */
  readonly recentPolls: readonly PollSummary[];
  /** Reported values by module, in the order of its modules. */
  readonly values: readonly ModuleValues[];
  /** Between the last two polls that read the interfaces. */
  readonly interfaceRates: readonly InterfaceRate[];
  /** The last 24 hours in steps of three minutes, oldest first; kept over a restart of the agent. */
  readonly lastHours: readonly HistoryPoint[];
  readonly modems: readonly ModemDetail[];
}

/** One modem. */
interface ModemDetail {
  /** Label `modem`. */
  readonly modem: string;
  readonly signal: SignalSummary | null;
  /** As {@link RouterDetail.lastHours}, with results and signals only; null if those are of the only modem, and beyond two. */
  readonly lastHours: readonly HistoryPoint[] | null;
}

/** Answer of `GET /api/v1/routers/NAME`. */
export interface RouterAnswer extends RouterDetail {
  /** Newest first, at most 20; kept within `storage.recent` and redacted. */
  readonly recentRecords: readonly RecordSummary[];
}

/** Values of the families of one module. */
export interface ModuleValues {
  readonly module: string;
  readonly help: string;
  /** One entry for each resource that has the family. */
  readonly families: readonly FamilyValues[];
}

/** Samples of one metric family from one resource. */
export interface FamilyValues {
  readonly name: string;
  readonly help: string;
  /** Short name of the module; null without one. */
  readonly label: string | null;
  /** Which value of a gauge is good; null: neither. */
  readonly good: 0 | 1 | null;
  readonly type: 'gauge' | 'counter' | 'info' | 'stateset';
  /** Unit in the router's answer; null without one. The unit of the samples is in the name. */
  readonly unit: string | null;
  /** Labels that identify a sample. */
  readonly keys: readonly string[];
  /** Label of a state set that names the state; null when unknown. */
  readonly stateLabel: string | null;
  readonly resource: string;
  readonly ageSeconds: number | null;
  /** Without the label `router` and the configured ones. */
  readonly samples: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

/** A version of a stored profile of a router that was backed up. */
export interface BackupSummary {
  readonly profile: string;
  /** 1 is the newest of its profile. */
  readonly number: number;
  readonly at: string;
  readonly bytes: number;
  readonly reason: 'schedule' | 'change' | 'recovered';
}

/** Logins and tokens of one router; counts since the agent started. */
export interface SessionSummary {
  /** `none`: no login yet, or none needed. `lost`: the router ended the session. `failed`: the last login failed. */
  readonly state: 'none' | 'open' | 'lost' | 'failed' | 'closed';
  readonly since: string | null;
  readonly logins: number;
  readonly loginFailures: number;
  readonly refreshes: number;
}

/** One resource of a router with the result of its last read. */
export interface ResourceSummary {
  /** Label `resource`. */
  readonly resource: string;
  /** `unsupported`: the router does not have it. `forbidden`: the account has no right to it. Neither is a failure. */
  readonly state: 'up' | 'failed' | 'unsupported' | 'forbidden';
  readonly ageSeconds: number | null;
  readonly durationSeconds: number | null;
  readonly error: string | null;
  /** Warning about a successful read, such as values that could not be parsed. */
  readonly finding: string | null;
}

/** Bytes on the wire, TLS included: totals since the agent started; `budget` and `usedToday` per day (UTC), `budget` null without one. */
interface RouterBytes {
  readonly sent: number;
  readonly received: number;
  readonly budget: number | null;
  readonly usedToday: number;
  /** Factor of poll intervals to stay within the budget; 1 = none. */
  readonly stretch: number;
  /** End of the pause by the budget; null without one. */
  readonly logsPausedUntil: string | null;
  readonly statusPausedUntil: string | null;
  /** The last 62 days (UTC), today first. `status`: of polls, the others are of logs and backups; null before they were told apart. */
  readonly days: readonly { readonly day: string; readonly bytes: number; readonly status: number | null }[];
  /** What 30 days cost at the rate since then; null before enough was seen. */
  readonly month: { readonly status: number; readonly logs: number; readonly since: string } | null;
}

/** A data plan in its billing period; null before the first reading of a cellular interface. */
export interface DataPlanSummary {
  readonly sim: string;
  readonly limit: number;
  readonly used: number | null;
  readonly periodStart: string | null;
  /** Use at the end of the period at its mean rate so far. */
  readonly forecast: number | null;
  /** Bytes of the agent in whole UTC days of the period, whatever carried them. */
  readonly agent: number | null;
  /** Use of today, in the zone of the router. */
  readonly day: number | null;
  /** Median use of the 14 days before; null until they have passed. */
  readonly median: number | null;
}

/** One poll of a router. */
export interface PollSummary {
  readonly at: string;
  readonly durationSeconds: number;
  /** True if the poll reached the router. */
  readonly ok: boolean;
  /** Label `reason` of `router_failure_reason`; null if the poll succeeded. */
  readonly reason: string | null;
  readonly error: string | null;
  /** First fault, also of a poll that reached the router; null without one. */
  readonly fault: PollFault | null;
}

/** Response time of a router, and the adaptive intervals that follow from it. */
export interface PaceSummary {
  /** `slow` and `very_slow`: intervals are stretched, independently of the byte budget. */
  readonly level: 'usual' | 'slow' | 'very_slow';
  /** Typical response time; null before there were enough polls. */
  readonly responseSeconds: number | null;
  /** True if the modem's signal was poor in most of the last polls. */
  readonly isSignalPoor: boolean;
  /** Factor of the intervals of slow modules, and of logs while no line is about to be lost. */
  readonly stretch: number;
  readonly statusStretch: number;
}
