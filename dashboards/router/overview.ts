import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from '../kit/index.ts';

/** Series of the one router that is picked. */
export const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE, kit.BY_ROUTER);

export const now: kit.Section = {
  title: '$router',
  panels: [
    kit.stat({
      title: 'State',
      description: 'Whether the last poll reached the router and logged in.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `max(${of('router_up')})`, legend: 'state' }],
    }),
    kit.stat({
      title: 'Why not up',
      description:
        'dns, connect, timeout: the way to the router. tls: its certificate. auth: user or password. http, parse: strange answers. budget: the bytes of the day are used up. `router-exporter doctor $router` finds out more.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      isName: true,
      noValue: 'is up',
      queries: [{ expr: `max by (reason) (${of('router_failure_reason')}) == 1`, legend: '{{reason}}' }],
    }),
    kit.stat({
      title: 'Last success',
      description: 'When a poll last succeeded. What a router said vanishes after `poll.stale_after` without one.',
      width: 3,
      unit: units.DateTimeFromNow,
      queries: [{ expr: `max(${of('router_last_success_timestamp_seconds')}) * 1000`, legend: 'last success' }],
    }),
    kit.stat({
      title: 'Uptime',
      description: 'Time since the router started, by its own account.',
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
        {
          expr: `max by (provider_name, access_technology, used_sim) (${of('router_modem_info')})`,
          legend: '{{provider_name}} {{access_technology}} {{used_sim}}',
        },
      ],
    }),
    kit.stat({
      title: 'RSRP',
      description: 'Received power of the LTE reference signal. Below -110 dBm connections begin to break.',
      width: 3,
      unit: units.DecibelMilliWatt,
      limits: kit.RSRP,
      queries: [{ expr: `max by (modem) (${of('router_modem_rsrp_dbm')})`, legend: '{{modem}}' }],
    }),
    kit.stat({
      title: 'Missing log lines',
      description: 'Places where log lines are missing, since the agent began to count.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_log_gaps_total')}) or vector(0)`, legend: 'gaps' }],
    }),
  ],
};

export const reachability: kit.Section = {
  title: 'Reachability',
  panels: [
    kit.timeline({
      title: 'Up',
      description: 'When the router was up, as its polls saw it.',
      width: 12,
      height: 4,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `max by (router) (${of('router_up')})`, legend: '{{router}}' }],
    }),
    kit.timeline({
      title: 'Reasons',
      description: 'Which reason applied when. No band means that the router was up.',
      width: 12,
      height: 4,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `max by (reason) (${of('router_failure_reason')}) == 1`, legend: '{{reason}}' }],
    }),
    kit.trend({
      title: 'Duration of polls',
      description:
        'How long the last poll took, all its resources together. It grows with a bad link long before the router is down.',
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
        'Logins, failed logins and token refreshes per hour. More than a login or two an hour: something ends the sessions.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [
        { expr: `3600 * rate(${of('router_api_logins_total')}[$__rate_interval])`, legend: 'logins per hour' },
        { expr: `3600 * rate(${of('router_api_login_failures_total')}[$__rate_interval])`, legend: 'failed per hour' },
        {
          expr: `3600 * rate(${of('router_api_token_refreshes_total')}[$__rate_interval])`,
          legend: 'refreshes per hour',
        },
      ],
    }),
    kit.trend({
      title: 'Bytes of the agent',
      description: 'What polling and reading logs cost on the link, TLS included.',
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
        'What the agent reads of the router: whether the last reading succeeded, how old its values are, how long it took, whether the device has it and whether the account may read it.',
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
        'Share of the budget of the UTC day that is used; with all of it used the router is left alone until midnight. Empty without `byte_budget`.',
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
        'How many times as long as configured the intervals are, to keep within the byte budget: why values are older than `poll.interval`. Empty without `byte_budget`.',
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
        'The hardware of the router, board by board. Another serial number under the same name: the device was swapped.',
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
      description: 'The location that stands in the configuration of the router.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      isName: true,
      queries: [{ expr: `max by (location) (${of('router_location_info')})`, legend: '{{location}}' }],
    }),
    kit.stat({
      title: 'Certificate ends in',
      description: 'How long the TLS certificate of the router is valid yet. Empty over plain HTTP.',
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
        'Whether a stored profile was changed since it was activated: what the router does and what its profile says may be two things.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      mappings: kit.NO_OR_YES,
      queries: [{ expr: `max by (profile) (${of('router_profile_modified')})`, legend: '{{profile}}' }],
    }),
    kit.stat({
      title: 'Clock offset',
      description:
        'How far the clock of the router is ahead of that of the agent. Log lines are stamped with the clock of the router.',
      width: 4,
      height: 4,
      unit: units.Seconds,
      limits: kit.CLOCK,
      queries: [{ expr: `max(${of('router_clock_offset_seconds')})`, legend: 'ahead' }],
    }),
    kit.stat({
      title: 'Age of the last backup',
      description:
        'Time since the newest kept version of each profile was last found to be what the router has. Empty without `backup` in the configuration.',
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
      description: 'Changes of lists of the configuration that the agent has seen, since it began to count.',
      width: 4,
      height: 4,
      unit: units.NoUnit,
      queries: [{ expr: `sum(${of('router_config_changes_total')}) or vector(0)`, legend: 'changes' }],
    }),
    kit.timeline({
      title: 'Configuration in force',
      description: 'Hash of the running configuration: another band is another configuration.',
      width: 24,
      height: 4,
      unit: units.NoUnit,
      queries: [{ expr: `max by (hash) (${of('router_config_info')})`, legend: '{{hash}}' }],
    }),
  ],
};
