import type { FamilyDescription } from '../exposition/index.ts';

const gauge = (name: string, help: string): FamilyDescription => ({ name, help, type: 'gauge' });
const counter = (name: string, help: string): FamilyDescription => ({ name, help, type: 'counter' });

/** The families about routers that come from what the agent does, and not from what a router says. */
export const FLEET_FAMILIES = {
  up: gauge('router_up', 'Whether the last poll reached the router and logged in.'),
  lastSuccess: gauge('router_last_success_timestamp_seconds', 'When a poll last succeeded.'),
  pollDuration: gauge('router_poll_duration_seconds', 'Duration of the last poll.'),
  consecutiveFailures: gauge('router_consecutive_failures', 'Polls that failed since the last one that succeeded.'),
  failureReason: gauge('router_failure_reason', 'Why the last poll failed: 1 for the reason that applies.'),
  resourceUp: gauge('router_resource_up', 'Whether the last reading of the resource succeeded.'),
  resourceDuration: gauge('router_resource_duration_seconds', 'Duration of the last reading of the resource.'),
  resourceAge: gauge('router_resource_age_seconds', 'Time since the resource was last read with success.'),
  logins: counter('router_logins_total', 'Successful logins.'),
  loginFailures: counter('router_login_failures_total', 'Logins that failed, refused or not answered.'),
  tokenRefreshes: counter('router_token_refreshes_total', 'Successful token refreshes.'),
  logLines: counter('router_log_lines_total', 'Log lines made durable for delivery.'),
  logBytes: counter('router_log_bytes_total', 'Bytes of log text made durable for delivery, decompressed.'),
  logUnparsed: counter(
    'router_log_unparsed_lines_total',
    'Log lines without a readable time stamp, shipped as they are.',
  ),
  logGaps: counter('router_log_gaps_total', 'Places where log lines are missing, by how sure that is.'),
  logGapBytes: counter('router_log_gap_bytes_total', 'Bytes of missing log lines that were seen and not read.'),
  logRepeats: counter('router_log_repeats_total', 'Notices of the log daemon that it left out equal lines.'),
  logResets: counter('router_log_resets_total', 'Times that a log began anew because its files were deleted.'),
  logClockJumps: counter('router_log_clock_jumps_total', "Jumps of the router's clock that the log has shown."),
  logSecondsToLoss: gauge(
    'router_log_seconds_to_loss',
    'Time until the router deletes what is unread, at the rate at which the log grows.',
  ),
  logArchives: gauge('router_log_archives', 'Rotated files of the log that the router lists.'),
  logNewest: gauge('router_log_newest_timestamp_seconds', 'Time of the newest log line.'),
  logLag: gauge('router_log_lag_seconds', 'Time since the log was last read to its end.'),
} as const satisfies Record<string, FamilyDescription>;
