import { BACKUP_FAMILIES } from '../../backup/index.ts';
import { SERIES_DROPPED } from '../../exposition/index.ts';
import type { FamilyDescription, Labels, MetricFamily, MetricType } from '../../model/index.ts';
import { CONFIG_CHANGES, CONFIG_ENTRIES } from '../../status/index.ts';

/** A family that the agent itself says something in; `labels` beside `router` and the router's own. */
export interface AgentFamily extends FamilyDescription {
  readonly labels: readonly string[];
}

function family(type: MetricType, name: string, labels: string, help: string): AgentFamily {
  return { name, help, type, labels: labels === '' ? [] : labels.split(' ') };
}

/** The families about routers that come from what the agent does, and not from what a router says. */
export const FLEET_FAMILIES = {
  up: family(
    'gauge',
    'router_up',
    '',
    'Whether the last poll reached the router, logged in and read at least one resource.',
  ),
  lastSuccess: family('gauge', 'router_last_success_timestamp_seconds', '', 'When a poll last succeeded.'),
  pollDuration: family('gauge', 'router_poll_duration_seconds', '', 'Duration of the last poll.'),
  consecutiveFailures: family(
    'gauge',
    'router_consecutive_failures',
    '',
    'Polls that failed since the last one that succeeded.',
  ),
  failureReason: family(
    'stateset',
    'router_failure_reason',
    'reason',
    'Why the router is not up: 1 for the reason that applies, 0 for all while it is up.',
  ),
  retryAfter: family(
    'gauge',
    'router_retry_after_timestamp_seconds',
    '',
    'When the router may be asked again, because it answered 429 or 503 with Retry-After; absent otherwise.',
  ),
  resourceUp: family('gauge', 'router_resource_up', 'resource', 'Whether the last reading of the resource succeeded.'),
  resourceDuration: family(
    'gauge',
    'router_resource_duration_seconds',
    'resource',
    'Duration of the last reading of the resource.',
  ),
  resourceAge: family(
    'gauge',
    'router_resource_age_seconds',
    'resource',
    'Time since the resource was last read with success.',
  ),
  resourceSupported: family(
    'gauge',
    'router_resource_supported',
    'resource',
    'Whether the router has the resource; for a pattern, whether it has any that fits.',
  ),
  resourcePermitted: family(
    'gauge',
    'router_resource_permitted',
    'resource',
    'Whether the account of the router has the right to read the resource.',
  ),
  resourceUnderstood: family(
    'gauge',
    'router_resource_understood',
    'resource',
    'Whether the last answer of the resource was understood; 0 when it has values and none of them became a series.',
  ),
  sentBytes: family(
    'counter',
    'router_api_sent_bytes_total',
    '',
    'Bytes sent to the router on the wire, TLS included.',
  ),
  receivedBytes: family(
    'counter',
    'router_api_received_bytes_total',
    '',
    'Bytes received from the router on the wire, TLS included.',
  ),
  byteBudget: family('gauge', 'router_api_budget_bytes', '', 'Bytes that the router may cost in a UTC day.'),
  byteBudgetUsed: family(
    'gauge',
    'router_api_budget_used_bytes',
    '',
    'Bytes of the budget that this UTC day has used.',
  ),
  stretch: family(
    'gauge',
    'router_interval_stretch_ratio',
    'activity',
    'How much longer than configured the intervals are, to keep within the byte budget.',
  ),
  certificateNotAfter: family(
    'gauge',
    'router_tls_certificate_not_after_timestamp_seconds',
    '',
    "When the router's TLS certificate expires, as seen at the last handshake.",
  ),
  logins: family('counter', 'router_api_logins_total', '', 'Successful logins.'),
  loginFailures: family(
    'counter',
    'router_api_login_failures_total',
    '',
    'Logins that failed, refused or not answered.',
  ),
  tokenRefreshes: family('counter', 'router_api_token_refreshes_total', '', 'Successful token refreshes.'),
  logLines: family('counter', 'router_log_lines_total', 'component', 'Log lines made durable for delivery.'),
  logBytes: family(
    'counter',
    'router_log_bytes_total',
    'component',
    'Bytes of log text made durable for delivery, decompressed.',
  ),
  logUnparsed: family(
    'counter',
    'router_log_unparsed_lines_total',
    'component',
    'Log lines without a readable time stamp, shipped as they are.',
  ),
  logGaps: family(
    'counter',
    'router_log_gaps_total',
    'component certainty',
    'Places where log lines are missing, by how sure that is.',
  ),
  logGapBytes: family(
    'counter',
    'router_log_gap_bytes_total',
    'component certainty',
    'Bytes of missing log lines, as far as they are known.',
  ),
  logRepeats: family(
    'counter',
    'router_log_repeats_total',
    'component',
    'Notices of the log daemon that it left out equal lines.',
  ),
  logResets: family(
    'counter',
    'router_log_resets_total',
    'component',
    'Times that a log began anew because its files were deleted.',
  ),
  logClockJumps: family(
    'counter',
    'router_log_clock_jumps_total',
    'component',
    "Jumps of the router's clock that the log has shown.",
  ),
  logSecondsToLoss: family(
    'gauge',
    'router_log_time_to_loss_seconds',
    'component',
    'Time until the router deletes what is unread, at the rate at which the log grows.',
  ),
  logArchives: family('gauge', 'router_log_archives', 'component', 'Rotated files of the log that the router lists.'),
  logNewest: family('gauge', 'router_log_newest_timestamp_seconds', 'component', 'Time of the newest log line.'),
  logLag: family('gauge', 'router_log_lag_seconds', 'component', 'Time since the log was last read to its end.'),
} as const satisfies Record<string, AgentFamily>;

/** Every family about routers that no module makes: modules may have none of these names. */
export const AGENT_FAMILIES: readonly AgentFamily[] = [
  ...Object.values(FLEET_FAMILIES),
  { ...SERIES_DROPPED, labels: [] },
  ...BACKUP_FAMILIES.map((one) => ({ ...one, labels: ['profile'] })),
  ...[CONFIG_ENTRIES, CONFIG_CHANGES].map((one) => ({ ...one, labels: ['section', 'resource'] })),
];

/** A family with samples, each as its labels and its value. */
export function toFamily(
  { name, help, type }: FamilyDescription,
  samples: readonly (readonly [Labels, number])[],
): MetricFamily {
  return { name, help, type, samples: samples.map(([labels, value]) => ({ labels, value })) };
}
