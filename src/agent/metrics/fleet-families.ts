import { BACKUP_FAMILIES } from '../../backup/index.ts';
import { SERIES_DROPPED } from '../../exposition/index.ts';
import type { FamilyDescription, MetricType } from '../../model/index.ts';
import { CONFIG_CHANGES, CONFIG_ENTRIES, CONFIG_EXPECTED, GENERIC_ROWS, GENERIC_VALUE } from '../../status/index.ts';

/** A family that the agent itself fills; `labels` come in addition to `router` and the router's own labels. */
interface AgentFamily extends FamilyDescription {
  readonly labels: readonly string[];
}

function family(type: MetricType, name: string, labels: string, help: string): AgentFamily {
  return { name, help, type, labels: labels === '' ? [] : labels.split(' ') };
}

export const FLEET_FAMILIES = {
  up: family(
    'gauge',
    'router_up',
    '',
    'Whether the last poll reached the router, logged in and read at least one resource, or bytes of a download arrive while a poll waits.',
  ),
  maintenance: family(
    'gauge',
    'router_maintenance',
    '',
    'Always 1: the router is in maintenance, and the shipped alerts leave it out; absent otherwise.',
  ),
  lastSuccess: family('gauge', 'router_last_success_timestamp_seconds', '', 'Time of the last successful poll.'),
  pollDuration: family('gauge', 'router_poll_duration_seconds', '', 'Duration of the last poll.'),
  consecutiveFailures: family(
    'gauge',
    'router_consecutive_failures',
    '',
    'Number of failed polls since the last successful one.',
  ),
  failureReason: family(
    'stateset',
    'router_failure_reason',
    'reason',
    'Reason why the router is down: 1 for the current reason, 0 for all while it is up. `unasked`, which is absent otherwise: its first poll has not ended 50 s after the start.',
  ),
  retryAfter: family(
    'gauge',
    'router_retry_after_timestamp_seconds',
    '',
    'Time at which requests to the router resume after 429 or 503 with Retry-After; absent otherwise.',
  ),
  deviceChanges: family(
    'counter',
    'router_device_changes_total',
    'fact',
    'Changes seen between two polls. `fact`: `serial` (another device), `sim` (SIM card in use), `operator` (`provider_name`), `access_technology`, or, with the module `cells`, `cell`. All but `cell` also over a restart of the agent.',
  ),
  firmwareNewerVersions: family(
    'gauge',
    'router_firmware_newer_versions',
    'newest_version severity',
    'Number of versions in `firmware_version_files` that are newer than the firmware of the router. `severity`: the highest one of these, or `none`. Absent without such a file.',
  ),
  resourceUp: family('gauge', 'router_resource_up', 'resource', 'Whether the last read of the resource succeeded.'),
  resourceDuration: family(
    'gauge',
    'router_resource_duration_seconds',
    'resource',
    'Duration of the last read of the resource.',
  ),
  resourceAge: family(
    'gauge',
    'router_resource_age_seconds',
    'resource',
    'Time since the last successful read of the resource.',
  ),
  resourceSupported: family(
    'gauge',
    'router_resource_supported',
    'resource',
    'Whether the router has the resource or, for a pattern, any matching resource.',
  ),
  resourcePermitted: family(
    'gauge',
    'router_resource_permitted',
    'resource',
    'Whether the account on the router may read the resource.',
  ),
  resourceUnderstood: family(
    'gauge',
    'router_resource_understood',
    'resource',
    'Whether the last response for the resource was understood; 0 when it has values but none could be converted to a series.',
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
  byteBudget: family('gauge', 'router_api_budget_bytes', '', 'Byte budget of the router per UTC day.'),
  byteBudgetUsed: family(
    'gauge',
    'router_api_budget_used_bytes',
    '',
    'Bytes of the budget used in the current UTC day.',
  ),
  byteBudgetPausedUntil: family(
    'gauge',
    'router_api_budget_paused_until_timestamp_seconds',
    'activity',
    'Time until which the byte budget pauses the activity: logs, or status polls; absent without a pause.',
  ),
  stretch: family(
    'gauge',
    'router_interval_stretch_ratio',
    'activity',
    'Factor by which intervals are extended, to stay within the byte budget or because the router answers slowly; absent without a budget while the router answers as usual.',
  ),
  planLimit: family('gauge', 'router_data_plan_limit_bytes', 'sim', 'Volume of the data plan in a billing period.'),
  planUsed: family(
    'gauge',
    'router_data_plan_used_bytes',
    'sim',
    'Bytes of the cellular interfaces in the billing period, in both directions; absent before their first reading.',
  ),
  planStart: family('gauge', 'router_data_plan_period_start_timestamp_seconds', 'sim', 'Start of the billing period.'),
  planForecast: family(
    'gauge',
    'router_data_plan_forecast_bytes',
    'sim',
    'Use by the end of the period, at its mean rate.',
  ),
  planAgent: family(
    'gauge',
    'router_data_plan_agent_bytes',
    'sim',
    'Bytes of the agent with the router in the billing period, in whole UTC days: a part of the use if the router is reached over this SIM card.',
  ),
  planDay: family('gauge', 'router_data_plan_day_bytes', 'sim', 'Use of the current day in the zone of the router.'),
  planDayMedian: family('gauge', 'router_data_plan_day_median_bytes', 'sim', 'Median use of the 14 days before it.'),
  planResets: family(
    'counter',
    'router_data_plan_counter_resets_total',
    '',
    'Resets of the counters of cellular interfaces: the bytes between a reset and the reading before are not in the use.',
  ),
  certificateNotAfter: family(
    'gauge',
    'router_tls_certificate_not_after_timestamp_seconds',
    '',
    "Expiry time of the router's TLS certificate, as of the last handshake.",
  ),
  tlsUnverified: family(
    'gauge',
    'router_tls_unverified',
    '',
    'Whether any certificate of the router is accepted (`insecure_skip_verify` without a fingerprint); absent with plain HTTP.',
  ),
  accountWritable: family(
    'gauge',
    'router_account_writable',
    '',
    'Whether the account on the router may change it (group `readwrite`), which the agent never needs; absent if the router does not report it.',
  ),
  logins: family('counter', 'router_api_logins_total', '', 'Successful logins.'),
  loginFailures: family(
    'counter',
    'router_api_login_failures_total',
    'reason',
    'Failed logins. `reason`: `refused` by the router, or `unanswered` (no answer, or none that a login has).',
  ),
  tokenRefreshes: family('counter', 'router_api_token_refreshes_total', '', 'Successful token refreshes.'),
  logLines: family(
    'counter',
    'router_log_lines_total',
    'component',
    'Log lines read and stored, to be sent to the sinks.',
  ),
  logBytes: family(
    'counter',
    'router_log_bytes_total',
    'component',
    'Bytes of log text read and stored, to be sent to the sinks; decompressed.',
  ),
  logUnparsed: family(
    'counter',
    'router_log_unparsed_lines_total',
    'component',
    'Log lines without a readable timestamp, shipped unchanged.',
  ),
  logGaps: family(
    'counter',
    'router_log_gaps_total',
    'component certainty reason',
    'Gaps in logs, by certainty. `reason`: `missing`, `skipped` for lines that `logs.start` leaves out, or `paused` for those that the router may have deleted while it was paused.',
  ),
  logGapBytes: family(
    'counter',
    'router_log_gap_bytes_total',
    'component certainty reason',
    'Bytes of missing log lines, if known; `reason` as in `router_log_gaps_total`.',
  ),
  logRepeats: family(
    'counter',
    'router_log_repeats_total',
    'component',
    'Notices of the log daemon about omitted repeated lines.',
  ),
  logResets: family(
    'counter',
    'router_log_resets_total',
    'component',
    'Resets of a log because its files were deleted.',
  ),
  logClockJumps: family(
    'counter',
    'router_log_clock_jumps_total',
    'component',
    "Jumps of the router's clock detected in the log.",
  ),
  logSecondsToLoss: family(
    'gauge',
    'router_log_time_to_loss_seconds',
    'component',
    'Time until the router deletes unread lines at the current growth of the log.',
  ),
  logArchives: family('gauge', 'router_log_archives', 'component', 'Number of rotated files of the log.'),
  logNewest: family('gauge', 'router_log_newest_timestamp_seconds', 'component', 'Time of the newest log line.'),
  logLag: family(
    'gauge',
    'router_log_lag_seconds',
    'component',
    'Time since the log was last read to its end; before that, since the agent first tried to read it.',
  ),
  logUnshipped: family(
    'gauge',
    'router_log_unshipped',
    'component reason',
    'Always 1: the router sends the log, and its lines are not shipped; absent otherwise. `reason`: `error_page` (a document instead of a log) or `reversed` (the newest line is first).',
  ),
} as const satisfies Record<string, AgentFamily>;

/** All families about routers that no module defines. Their names are reserved. */
export const AGENT_FAMILIES: readonly AgentFamily[] = [
  ...Object.values(FLEET_FAMILIES),
  { ...SERIES_DROPPED, labels: [] },
  ...BACKUP_FAMILIES.map((one) => ({ ...one, labels: ['profile'] })),
  { ...GENERIC_VALUE, labels: ['resource', 'field', 'row'] },
  { ...GENERIC_ROWS, labels: ['resource'] },
  { ...CONFIG_EXPECTED, labels: ['rule'] },
  ...[CONFIG_ENTRIES, CONFIG_CHANGES].map((one) => ({ ...one, labels: ['section', 'resource'] })),
];
