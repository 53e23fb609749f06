import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';

const of = kit.selectBy(kit.BY_JOB, kit.BY_SITE);
const agentOf = kit.selectBy(kit.BY_JOB);
const { linkToLogs, linkToRouter, linkToSite } = kit;

/** One series per router, even if several agents are scraped. */
const PER_ROUTER = 'max by (job, router, site)';
const UP = of('router_up');
const AVAILABILITY = `sum(${UP}) / count(${UP})`;
/** Routers that are not up, with the most consecutive failures first. */
const WORST = `topk(100, ${PER_ROUTER} (${of('router_consecutive_failures')} and on (job, router) (${UP} == 0)))`;
const ofWorst = (expr: string) => `(${expr}) and on (job, router) ${WORST}`;
const BOARD = of('router_board_info', 'slot="1"');
const BEHIND = `topk(100, max by (job, router, site, newest_version, severity) (${of('router_firmware_newer_versions')} > 0))`;
/** Bytes of every router on the wire, in both directions. */
const rateOfBytes = (by: string) =>
  `sum${by} (rate(${of('router_api_received_bytes_total')}[$__rate_interval])) + sum${by} (rate(${of('router_api_sent_bytes_total')}[$__rate_interval]))`;
const bytesShown = (by: string) =>
  `sum${by} (${kit.growthShown(of('router_api_received_bytes_total'))}) + sum${by} (${kit.growthShown(of('router_api_sent_bytes_total'))})`;
const SECONDS_OF_DAY = 86_400;

/** Up to 100 routers for which an expression is 1, with one more label. */
const listFlagged = (options: {
  readonly title: string;
  readonly description: string;
  readonly label: 'profile' | 'rule';
  readonly column: string;
  readonly expr: string;
}) =>
  kit.table({
    title: options.title,
    description: options.description,
    width: 12,
    sortBy: 'Router',
    isDescending: false,
    hidden: ['job'],
    columns: [
      { label: 'router', title: 'Router', links: [linkToRouter('column')] },
      { label: 'site', title: 'Site', links: [linkToSite('column')] },
      { label: options.label, title: options.label === 'rule' ? 'Rule' : 'Profile' },
      {
        title: options.column,
        expr: `topk(100, max by (job, router, site, ${options.label}) (${options.expr}))`,
        unit: units.NoUnit,
        mappings: kit.NO_OR_YES,
      },
    ],
  });

const now: kit.Section = {
  title: 'Now',
  panels: [
    kit.stat({
      title: 'Routers',
      description:
        'Routers that an agent has polled at least once. Those waiting for their first poll are on the dashboard Agent.',
      width: 3,
      unit: units.NoUnit,
      queries: [{ expr: `count(${UP})` }],
    }),
    kit.stat({
      title: 'Up',
      description: 'Routers whose last poll reached them and logged in.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      queries: [{ expr: `sum(${UP})` }],
    }),
    kit.stat({
      title: 'Down',
      description:
        'Routers whose last poll failed. The table below shows the reasons; `router-exporter doctor NAME` tests one step by step.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `sum(1 - ${UP}) - sum(${of('router_failure_reason', 'reason=~"budget|unasked"')})` }],
    }),
    kit.stat({
      title: 'Login refused',
      description:
        'Routers that reject user name or password. They may lock the account after several failures: correct the credentials soon.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `sum(${of('router_failure_reason', 'reason="auth"')})` }],
    }),
    kit.stat({
      title: 'Budget used up',
      description: 'Routers that are not polled until midnight UTC, because their byte budget is used up.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_failure_reason', 'reason="budget"')})` }],
    }),
    kit.stat({
      title: 'In maintenance',
      description: 'Routers in maintenance (`state: maintenance`): they are polled, and the alerts leave them out.',
      width: 3,
      unit: units.NoUnit,
      queries: [{ expr: `sum(${of('router_maintenance')}) or vector(0)` }],
    }),
    kit.stat({
      title: 'Up, data incomplete',
      description:
        'Routers that respond, but of which a status resource or the logs could not be read. The dashboard Router shows the resource.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [
        {
          expr: `count(count by (job, router) (${of('router_resource_up')} == 0) and on (job, router) (${UP} == 1)) or vector(0)`,
        },
      ],
    }),
    kit.stat({
      title: 'Availability',
      description: 'Average share of routers that were up in the selected time.',
      width: 3,
      unit: units.PercentUnit,
      decimals: 2,
      limits: kit.AVAILABILITY,
      queries: [{ expr: kit.averageShown(AVAILABILITY) }],
    }),
    kit.stat({
      title: 'Sinks down',
      description:
        'Sinks whose last delivery failed, over all agents of the jobs. Records wait in the spool; see the dashboard Agent.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `count(${agentOf('router_exporter_sink_up')} == 0) or vector(0)` }],
    }),
  ],
};

const notUp: kit.Section = {
  title: 'Routers that are not up',
  panels: [
    kit.table({
      title: 'Routers that are not up',
      description:
        'At most 100, those with the most consecutive failures first. Click a router for its dashboard, a site for its fleet. Many routers of one site indicate a failure of its operator or power.',
      width: 24,
      sortBy: 'Failures in a row',
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column'), linkToLogs('column')] },
        { label: 'site', title: 'Site', links: [linkToSite('column')] },
        { label: 'reason', title: 'Reason' },
        { title: 'Failures in a row', expr: WORST, unit: units.NoUnit },
        {
          title: 'Last success',
          expr: ofWorst(`${PER_ROUTER} (${of('router_last_success_timestamp_seconds')}) * 1000`),
          unit: units.DateTimeFromNow,
        },
        { label: 'board_type', title: 'Board' },
        { label: 'firmware_version', title: 'Firmware' },
      ],
      labelQueries: [
        ofWorst(`max by (job, router, site, reason) (${of('router_failure_reason')} == 1)`),
        ofWorst(`max by (job, router, site, board_type, firmware_version) (${BOARD})`),
      ],
    }),
  ],
};

const availability: kit.Section = {
  title: 'Availability',
  panels: [
    kit.trend({
      title: 'Routers by state',
      description: 'Up, down, and paused because of their byte budget.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [
        { expr: `sum(${UP})`, legend: 'up' },
        { expr: `sum(1 - ${UP}) - sum(${of('router_failure_reason', 'reason=~"budget|unasked"')})`, legend: 'down' },
        { expr: `sum(${of('router_failure_reason', 'reason="budget"')})`, legend: 'budget' },
      ],
    }),
    kit.trend({
      title: 'Availability',
      description: 'Share of routers that are up.',
      width: 8,
      unit: units.PercentUnit,
      max: 1,
      limits: kit.AVAILABILITY,
      showsLimits: true,
      queries: [{ expr: AVAILABILITY, legend: 'available' }],
    }),
    kit.trend({
      title: 'Why routers are not up',
      description:
        'dns, connect and timeout: network to the router. tls and auth: certificates and accounts. http and parse: invalid responses. budget: byte budget used up. unasked: not polled yet.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `sum by (reason) (${of('router_failure_reason')})`, legend: '{{reason}}' }],
    }),
    kit.ranking({
      title: 'Sites with the worst availability',
      description: 'The ten sites with the least uptime in the selected time. Requires the router label `site`.',
      width: 12,
      unit: units.PercentUnit,
      decimals: 1,
      min: 0,
      max: 1,
      limits: kit.AVAILABILITY,
      links: [linkToSite('label')],
      queries: [{ expr: `bottomk(10, ${kit.averageShown(`avg by (site) (${UP})`)})`, legend: '{{site}}' }],
    }),
    kit.ranking({
      title: 'Routers with the worst availability',
      description: 'The ten routers with the least uptime in the selected time.',
      width: 12,
      unit: units.PercentUnit,
      decimals: 1,
      min: 0,
      max: 1,
      limits: kit.AVAILABILITY,
      links: [linkToRouter('label')],
      queries: [{ expr: `bottomk(10, ${kit.averageShown(UP)})`, legend: '{{router}}' }],
    }),
  ],
};

const allRouters: kit.Section = {
  title: 'All routers',
  isClosed: true,
  panels: [
    kit.table({
      title: 'All routers',
      description:
        'All routers of the selected sites, worst state first. With thousands of routers, select sites first.',
      width: 24,
      height: 20,
      sortBy: 'State',
      isDescending: false,
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column'), linkToLogs('column')] },
        { label: 'site', title: 'Site', links: [linkToSite('column')] },
        { title: 'State', expr: `${PER_ROUTER} (${UP})`, unit: units.NoUnit, mappings: kit.UP_OR_DOWN },
        { label: 'reason', title: 'Reason' },
        {
          title: 'Age of data',
          expr: `time() - ${PER_ROUTER} (${of('router_last_success_timestamp_seconds')})`,
          unit: units.Seconds,
          limits: kit.DATA_AGE,
        },
        {
          title: 'Failing resources',
          expr: `count by (job, router, site) (${of('router_resource_up')} == 0)`,
          unit: units.NoUnit,
          limits: kit.NONE_WANTED,
        },
        { label: 'board_type', title: 'Board' },
        { label: 'firmware_version', title: 'Firmware' },
        {
          title: 'RSRP',
          expr: `${PER_ROUTER} (${of('router_modem_rsrp_dbm')})`,
          unit: units.DecibelMilliWatt,
          limits: kit.RSRP,
        },
        { title: 'CSQ', expr: `${PER_ROUTER} (${of('router_modem_signal_csq')})`, unit: units.NoUnit, limits: kit.CSQ },
        {
          title: 'Uptime',
          expr: `${PER_ROUTER} (${of('router_uptime_seconds')})`,
          unit: units.DurationSeconds,
          limits: kit.UPTIME,
        },
        {
          title: 'Log gaps',
          expr: `sum by (job, router, site) (${of('router_log_gaps_total', kit.LOST)})`,
          unit: units.NoUnit,
          limits: kit.NONE_WANTED,
        },
        { title: 'Bytes shown', expr: bytesShown(' by (job, router, site)'), unit: units.BytesIEC },
        {
          title: 'Profile changed',
          expr: `${PER_ROUTER} (${of('router_profile_modified')})`,
          unit: units.NoUnit,
          mappings: kit.NO_OR_YES,
        },
      ],
      labelQueries: [
        `max by (job, router, site, reason) (${of('router_failure_reason')} == 1)`,
        `max by (job, router, site, board_type, firmware_version) (${BOARD})`,
      ],
    }),
  ],
};

const inventory: kit.Section = {
  title: 'What runs where, and what has changed',
  panels: [
    kit.ranking({
      title: 'Firmware',
      description: 'Routers by the firmware version of their main board. The table of all routers lists outdated ones.',
      width: 6,
      unit: units.NoUnit,
      min: 0,
      queries: [{ expr: `sort_desc(count by (firmware_version) (${BOARD}))`, legend: '{{firmware_version}}' }],
    }),
    kit.ranking({
      title: 'Boards',
      description: 'Routers by the type of their main board.',
      width: 6,
      unit: units.NoUnit,
      min: 0,
      queries: [{ expr: `sort_desc(count by (board_type) (${BOARD}))`, legend: '{{board_type}}' }],
    }),
    kit.ranking({
      title: 'Started last',
      description: 'The ten routers with the shortest uptime. Several of one site indicate a power failure.',
      width: 6,
      unit: units.DurationSeconds,
      limits: kit.UPTIME,
      links: [linkToRouter('label')],
      queries: [{ expr: `bottomk(10, ${of('router_uptime_seconds')})`, legend: '{{router}}' }],
    }),
    kit.ranking({
      title: 'Certificates that expire next',
      description: 'The ten routers whose TLS certificates expire first, as of the last handshake.',
      width: 6,
      unit: units.DurationSeconds,
      limits: kit.VALIDITY,
      links: [linkToRouter('label')],
      queries: [
        {
          expr: `bottomk(10, ${of('router_tls_certificate_not_after_timestamp_seconds')} - time())`,
          legend: '{{router}}',
        },
      ],
    }),
    kit.stat({
      title: 'Certificates not verified',
      description: 'Routers of which any certificate is accepted (`tls.insecure_skip_verify` without a fingerprint).',
      width: 6,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_tls_unverified')})` }],
    }),
    kit.stat({
      title: 'Accounts that may write',
      description:
        'Routers whose account for the agent is in the group `readwrite`. The agent only reads; `read` is enough.',
      width: 6,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_account_writable')})` }],
    }),
    kit.table({
      title: 'Routers with older firmware',
      description:
        'Routers that run an older firmware than the newest one in `firmware_version_files` of the agent. At most 100.',
      width: 14,
      sortBy: 'Newer versions',
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column')] },
        { label: 'site', title: 'Site', links: [linkToSite('column')] },
        { label: 'board_type', title: 'Board' },
        { label: 'firmware_version', title: 'Firmware' },
        { label: 'newest_version', title: 'Newest' },
        { label: 'severity', title: 'Severity' },
        { title: 'Newer versions', expr: BEHIND, unit: units.NoUnit },
      ],
      labelQueries: [
        `max by (job, router, site, board_type, firmware_version) (${BOARD}) and on (job, router) ${BEHIND}`,
      ],
    }),
    kit.table({
      title: 'Firmware versions',
      description: 'The versions in `firmware_version_files` of the agent, with what these say about them.',
      width: 10,
      sortBy: 'Version',
      columns: [
        { label: 'version', title: 'Version' },
        { label: 'date', title: 'Date' },
        { label: 'severity', title: 'Severity' },
        { label: 'notes', title: 'Notes' },
        {
          title: 'Agents',
          expr: `count by (version, date, severity, notes) (${agentOf('router_exporter_firmware_version_info')})`,
          unit: units.NoUnit,
        },
      ],
    }),
    listFlagged({
      title: 'Profiles that are changed and not activated',
      description: 'The running configuration differs from the profile until the profile is activated. At most 100.',
      label: 'profile',
      column: 'Changed',
      expr: `${of('router_profile_modified')} == 1`,
    }),
    kit.ranking({
      title: 'Configurations as expected',
      description:
        'Share of routers that meet each rule of `expect`, lowest first. Rules are those of a group of routers. Empty without `expect`.',
      width: 12,
      unit: units.PercentUnit,
      min: 0,
      max: 1,
      queries: [{ expr: `bottomk(10, avg by (rule) (${of('router_config_expected')}))`, legend: '{{rule}}' }],
    }),
    listFlagged({
      title: 'Configurations that differ',
      description: 'Fields that do not have the value that `expect` names, as of the last reading. At most 100.',
      label: 'rule',
      column: 'Differs',
      expr: `(1 - ${of('router_config_expected')}) == 1`,
    }),
    kit.table({
      title: 'Backups that failed',
      description:
        'Profiles whose last backup failed, oldest backup first. Requires `backup` in the configuration. At most 100.',
      width: 12,
      sortBy: 'Last good backup',
      isDescending: false,
      hidden: ['job'],
      columns: [
        { label: 'router', title: 'Router', links: [linkToRouter('column')] },
        { label: 'site', title: 'Site', links: [linkToSite('column')] },
        { label: 'profile', title: 'Profile' },
        {
          title: 'Last good backup',
          expr: `bottomk(100, max by (job, router, site, profile) (${of('router_backup_last_success_timestamp_seconds')} and (${of('router_backup_success')} == 0))) * 1000`,
          unit: units.DateTimeFromNow,
        },
      ],
    }),
  ],
};

const bytes: kit.Section = {
  title: 'Bytes that the agent costs',
  panels: [
    kit.trend({
      title: 'Bytes per day, at the present rate',
      description:
        'Traffic of polling, logs and backups of all routers, with TLS, without TCP and IP headers. See "Links that are paid by the byte" in the operations guide.',
      width: 8,
      unit: units.BytesIEC,
      min: 0,
      queries: [{ expr: `${SECONDS_OF_DAY} * (${rateOfBytes('')})`, legend: 'bytes per day' }],
    }),
    kit.ranking({
      title: 'Sites that cost most',
      description: 'Traffic in the selected time, by site.',
      width: 8,
      unit: units.BytesIEC,
      min: 0,
      links: [linkToSite('label')],
      queries: [{ expr: `topk(10, ${bytesShown(' by (site)')})`, legend: '{{site}}' }],
    }),
    kit.ranking({
      title: 'Byte budgets that are used most',
      description:
        'Used share of the budget of this UTC day; at 1 the router is not polled until midnight. Empty without `byte_budget`.',
      width: 8,
      unit: units.PercentUnit,
      min: 0,
      max: 1,
      limits: kit.FILLING,
      links: [linkToRouter('label')],
      queries: [
        {
          expr: `topk(10, ${of('router_api_budget_used_bytes')} / ${of('router_api_budget_bytes')})`,
          legend: '{{router}}',
        },
      ],
    }),
  ],
};

const logs: kit.Section = {
  title: 'Logs and sinks',
  panels: [
    kit.trend({
      title: 'Log lines',
      description:
        'Lines read and stored, by log. A log that becomes silent on all routers at once indicates a problem of reading.',
      width: 8,
      unit: units.CountsPerSecond,
      min: 0,
      queries: [
        {
          expr: `sum by (component) (rate(${of('router_log_lines_total')}[$__rate_interval]))`,
          legend: '{{component}}',
        },
      ],
    }),
    kit.ranking({
      title: 'Routers with missing lines',
      description: 'Gaps in logs since the agent began to count. The `log.gap` records have the details.',
      width: 8,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      links: [linkToLogs('label')],
      queries: [
        { expr: `topk(10, sum by (job, router) (${of('router_log_gaps_total', kit.LOST)}) > 0)`, legend: '{{router}}' },
      ],
    }),
    kit.trend({
      title: 'Lag of sinks',
      description:
        'Age of the oldest record not delivered to a sink. It grows while a sink is down; nothing is lost until the spool is full.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.DELIVERY_LAG,
      showsLimits: true,
      queries: [{ expr: `max by (sink) (${agentOf('router_exporter_sink_lag_seconds')})`, legend: '{{sink}}' }],
    }),
  ],
};

/** Creates the dashboard of all routers and of those that need attention. */
export function createFleetDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'fleet',
    title: 'Routers / Fleet',
    description: 'All routers: how many are up, why others are down, and which need attention.',
    variables: [kit.datasourceVariable(), kit.jobVariable(), kit.siteVariable()],
    from: 'now-6h',
    sections: [now, notUp, availability, allRouters, inventory, bytes, logs],
  });
}
