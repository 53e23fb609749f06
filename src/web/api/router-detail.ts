/** One router. A part of the JSON of `/api/v1/`, in the units of routers.ts. */

import type { LogGapSummary, LogRotationSummary, RecordSummary, RouterLogSummary } from './logs.ts';
import type { PollFault, RouterSummary } from './routers.ts';

/** A few minutes in the life of a router. */
export interface HistoryPoint {
  /** Start of these minutes. */
  readonly at: string;
  /** Result of the polls; `mixed`: some reached the router, some did not. Null without a poll. */
  readonly result: 'up' | 'down' | 'mixed' | null;
  /** Strength of the signal at the last poll, of the kind and in the unit of {@link DeviceSummary.signal}. */
  readonly signal: number | null;
  /** The weakest signal of all polls. */
  readonly signalMin: number | null;
  /** The strongest signal of all polls. */
  readonly signalMax: number | null;
  /** The largest log lag, at the last poll. */
  readonly logLagSeconds: number | null;
  /** Duration of the last poll that reached the router. */
  readonly responseSeconds: number | null;
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
  /** Speed of its answers, and the pace that follows. */
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
  /** Description of the module; may be empty. */
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
interface RouterBytes {
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

/** Speed of a router's answers, and the intervals stretched because of it. */
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
