import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from '../kit/index.ts';

/** Selects series of the selected router. */
export const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE, kit.BY_ROUTER);

export const now: kit.Section = {
  title: '$router',
  panels: [
    kit.stat({
      title: 'State',
      description: 'Result of the last poll: reached the router and logged in.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `max(${of('router_up')})`, legend: 'state' }],
    }),
    kit.stat({
      title: 'Why not up',
      description:
        'dns, connect, timeout: network to the router. tls: its certificate. auth: user name or password. http, parse: invalid responses. budget: byte budget used up. `router-exporter doctor $router` shows more.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      isName: true,
      noValue: 'is up',
      queries: [{ expr: `max by (reason) (${of('router_failure_reason')}) == 1`, legend: '{{reason}}' }],
    }),
    kit.stat({
      title: 'Last success',
      description: 'Time of the last successful poll. Values expire after `poll.stale_after` without one.',
      width: 3,
      unit: units.DateTimeFromNow,
      queries: [{ expr: `max(${of('router_last_success_timestamp_seconds')}) * 1000`, legend: 'last success' }],
    }),
    kit.stat({
      title: 'Uptime',
      description: 'Time since the router started, as reported by the router.',
      width: 3,
      unit: units.DurationSeconds,
      limits: kit.UPTIME,
      queries: [{ expr: `max(${of('router_uptime_seconds')})`, legend: 'uptime' }],
    }),
    kit.stat({
      title: 'Firmware',
      description: 'Firmware version of the main board.',
      width: 3,
      unit: units.NoUnit,
      isName: true,
      queries: [
        { expr: `max by (firmware_version) (${of('router_board_info', 'slot="1"')})`, legend: '{{firmware_version}}' },
      ],
    }),
    kit.stat({
      title: 'Network',
      description: 'Operator, access technology and SIM card in use.',
      width: 3,
      unit: units.NoUnit,
      isName: true,
      queries: [
        { expr: `max by (provider_name) (${of('router_modem_info')})`, legend: '{{provider_name}}' },
        {
          expr: `max by (access_technology) (${of('router_modem_access_technology')})`,
          legend: '{{access_technology}}',
        },
        { expr: `max by (used_sim) (${of('router_modem_used_sim')})`, legend: '{{used_sim}}' },
      ],
    }),
    kit.stat({
      title: 'RSRP',
      description: 'Received power of the LTE reference signal. Below -110 dBm, connections become unstable.',
      width: 3,
      unit: units.DecibelMilliWatt,
      limits: kit.RSRP,
      queries: [{ expr: `max by (modem) (${of('router_modem_rsrp_dbm')})`, legend: '{{modem}}' }],
    }),
    kit.stat({
      title: 'Missing log lines',
      description: 'Gaps in logs since the agent began to count.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_gaps_total', kit.LOST)}) or vector(0)`, legend: 'gaps' }],
    }),
  ],
};

export const reachability: kit.Section = {
  title: 'Reachability',
  panels: [
    kit.timeline({
      title: 'Up',
      description: 'State of the router according to its polls.',
      width: 12,
      height: 4,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `max by (router) (${of('router_up')})`, legend: '{{router}}' }],
    }),
    kit.timeline({
      title: 'Reasons',
      description: 'Reasons for failures over time. No band means that the router was up.',
      width: 12,
      height: 4,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `max by (reason) (${of('router_failure_reason')}) == 1`, legend: '{{reason}}' }],
    }),
    kit.trend({
      title: 'Duration of polls',
      description:
        'Duration of the last poll over all resources. On a degrading link it grows long before the router is down.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.DURATION,
      showsLimits: true,
      queries: [{ expr: of('router_poll_duration_seconds'), legend: 'poll' }],
    }),
    kit.trend({
      title: 'Logins',
      description:
        'Logins, failed logins and token refreshes per hour. If there are more than two logins an hour, something ends the sessions.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [
        { expr: `3600 * rate(${of('router_api_logins_total')}[$__rate_interval])`, legend: 'logins per hour' },
        {
          expr: `3600 * rate(${of('router_api_login_failures_total')}[$__rate_interval])`,
          legend: '{{reason}} per hour',
        },
        {
          expr: `3600 * rate(${of('router_api_token_refreshes_total')}[$__rate_interval])`,
          legend: 'refreshes per hour',
        },
      ],
    }),
    kit.trend({
      title: 'Bytes of the agent',
      description: 'Traffic of polling and log reading, including TLS.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [
        { expr: `rate(${of('router_api_received_bytes_total')}[$__rate_interval])`, legend: 'received' },
        { expr: `rate(${of('router_api_sent_bytes_total')}[$__rate_interval])`, legend: 'sent' },
      ],
    }),
    kit.table({
      title: 'Resources',
      description:
        'Resources of the router: result of the last read, age of the values, duration, supported by the device, permitted for the account.',
      width: 12,
      sortBy: 'Last reading good',
      isDescending: false,
      columns: [
        { label: 'resource', title: 'Resource' },
        {
          title: 'Last reading good',
          expr: `max by (resource) (${of('router_resource_up')})`,
          unit: units.NoUnit,
          mappings: kit.YES_OR_NO,
        },
        {
          title: 'Age',
          expr: `max by (resource) (${of('router_resource_age_seconds')})`,
          unit: units.Seconds,
          decimals: 0,
        },
        {
          title: 'Duration',
          expr: `max by (resource) (${of('router_resource_duration_seconds')})`,
          unit: units.Seconds,
          decimals: 3,
        },
        {
          title: 'The device has it',
          expr: `max by (resource) (${of('router_resource_supported')})`,
          unit: units.NoUnit,
          mappings: kit.YES_OR_NO,
        },
        {
          title: 'May be read',
          expr: `max by (resource) (${of('router_resource_permitted')})`,
          unit: units.NoUnit,
          mappings: kit.YES_OR_NO,
        },
      ],
    }),
    kit.trend({
      title: 'Byte budget',
      description:
        'Used share of the budget of the UTC day; when it is used up, the router is not polled until midnight. Empty without `byte_budget`.',
      width: 6,
      height: 10,
      unit: units.PercentUnit,
      min: 0,
      max: 1,
      limits: kit.FILLING,
      showsLimits: true,
      queries: [{ expr: `${of('router_api_budget_used_bytes')} / ${of('router_api_budget_bytes')}`, legend: 'used' }],
    }),
    kit.trend({
      title: 'Stretched intervals',
      description:
        'Factor by which intervals are extended, to stay within the byte budget or because the router answers slowly, so that values are older than `poll.interval`. Empty without `byte_budget` while it answers as usual.',
      width: 6,
      height: 10,
      unit: units.Short,
      min: 1,
      limits: kit.STRETCH,
      showsLimits: true,
      queries: [{ expr: of('router_interval_stretch_ratio'), legend: '{{activity}}' }],
    }),
  ],
};

export const identity: kit.Section = {
  title: 'Identity and configuration',
  panels: [
    kit.table({
      title: 'Boards',
      description:
        'The boards of the router. A new serial number under the same name means that the device was replaced.',
      width: 12,
      height: 8,
      sortBy: 'Slot',
      isDescending: false,
      columns: [
        { label: 'slot', title: 'Slot' },
        { label: 'board_type', title: 'Type' },
        { label: 'serial_number', title: 'Serial number' },
        { label: 'firmware_version', title: 'Firmware' },
        { label: 'hardware_version', title: 'Hardware' },
        { label: 'hardware_features', title: 'Features' },
      ],
      labelQueries: [
        `max by (slot, board_type, serial_number, firmware_version, hardware_version, hardware_features) (${of('router_board_info')})`,
      ],
    }),
    kit.stat({
      title: 'Where it is',
      description: 'Location from the configuration of the router.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      isName: true,
      queries: [{ expr: `max by (location) (${of('router_location_info')})`, legend: '{{location}}' }],
    }),
    kit.stat({
      title: 'Certificate ends in',
      description: 'Remaining validity of the TLS certificate. Empty with plain HTTP.',
      width: 4,
      height: 4,
      unit: units.DurationSeconds,
      limits: kit.VALIDITY,
      queries: [
        { expr: `min(${of('router_tls_certificate_not_after_timestamp_seconds')}) - time()`, legend: 'valid yet' },
      ],
    }),
    kit.stat({
      title: 'Profile changed',
      description:
        'Stored profiles changed since their activation: the running configuration may differ from the profile.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      mappings: kit.NO_OR_YES,
      queries: [{ expr: `max by (profile) (${of('router_profile_modified')})`, legend: '{{profile}}' }],
    }),
    kit.stat({
      title: 'Clock offset',
      description: "Lead of the router's clock over the agent's. Log lines have the time of the router's clock.",
      width: 4,
      height: 4,
      unit: units.Seconds,
      limits: kit.CLOCK,
      queries: [{ expr: `max(${of('router_clock_offset_seconds')})`, legend: 'ahead' }],
    }),
    kit.stat({
      title: 'Age of the last backup',
      description:
        'Time since the newest stored version of each profile was last confirmed to match the router. Empty without `backup` in the configuration.',
      width: 4,
      height: 4,
      unit: units.DurationSeconds,
      limits: kit.BACKUP_AGE,
      queries: [
        {
          expr: `time() - max by (profile) (${of('router_backup_last_success_timestamp_seconds')})`,
          legend: '{{profile}}',
        },
      ],
    }),
    kit.stat({
      title: 'Changes of the configuration',
      description: 'Changes of configuration lists detected since the agent began to count.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      queries: [{ expr: `sum(${of('router_config_changes_total')}) or vector(0)`, legend: 'changes' }],
    }),
    kit.timeline({
      title: 'Configuration in force',
      description: 'Hash of the running configuration: a new band is a new configuration.',
      width: 24,
      height: 4,
      unit: units.NoUnit,
      queries: [{ expr: `max(${of('router_config_hash')})`, legend: 'hash' }],
    }),
  ],
};
