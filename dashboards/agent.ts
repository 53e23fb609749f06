import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';

const of = kit.selectBy(kit.BY_JOB, kit.BY_INSTANCE);
/** Selects series about routers. Their instance is the agent or the router, depending on how they are scraped. */
const routersOf = kit.selectBy(kit.BY_JOB);
const { linkToRouter } = kit;

const rate = (by: string, metric: string) => `sum by (${by}) (rate(${of(metric)}[$__rate_interval]))`;
const lagQuantile = (quantile: number): kit.Query => ({
  expr: `histogram_quantile(${quantile}, sum by (le) (rate(${of('router_exporter_schedule_lag_seconds_bucket', 'activity="status"')}[$__rate_interval])))`,
  legend: `${quantile * 100} % of polls`,
});

const findLoopDelay = (quantile: number) =>
  `histogram_quantile(${quantile}, sum by (instance, le) (rate(${of('router_exporter_event_loop_delay_seconds_bucket')}[$__rate_interval])))`;

const now: kit.Section = {
  title: 'Now',
  panels: [
    kit.stat({
      title: 'Version',
      description: 'Running versions of router-exporter; several only during an upgrade.',
      width: 4,
      unit: units.NoUnit,
      isName: true,
      queries: [{ expr: `count by (version) (${of('router_exporter_build_info')})`, legend: '{{version}}' }],
    }),
    kit.stat({
      title: 'Agents',
      description: 'Agent processes that answer scrapes. If one is missing, a shard has no data.',
      width: 3,
      unit: units.NoUnit,
      queries: [
        { expr: `count(${of('router_exporter_shard')})`, legend: 'agents' },
        { expr: `max(${of('router_exporter_total_shards')})`, legend: 'processes of the fleet' },
      ],
    }),
    kit.stat({
      title: 'Configuration loaded',
      description:
        'Result of the last reload, the worst of all agents. After a failure, the previous configuration stays in force; the log of the agent and `router-exporter check` name file and line.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.YES_OR_NO,
      queries: [{ expr: `min(${of('router_exporter_config_last_reload_successful')})`, legend: 'loaded' }],
    }),
    kit.stat({
      title: 'Loaded last',
      description: 'Time of the last successful load of the configuration, of the agent with the oldest one.',
      width: 4,
      unit: units.DateTimeFromNow,
      queries: [
        { expr: `min(${of('router_exporter_config_last_reload_success_timestamp_seconds')}) * 1000`, legend: 'loaded' },
      ],
    }),
    kit.stat({
      title: 'Sources of routers',
      description:
        'Sources that could not be read last, and routers that are missing in lists that are held until they are confirmed. The lists before stay in use.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [
        { expr: `count(${of('router_exporter_source_up')} == 0) or vector(0)`, legend: 'not readable' },
        { expr: `sum(${of('router_exporter_source_held_removals')}) or vector(0)`, legend: 'removals held' },
        { expr: `sum(${of('router_exporter_source_refused_routers')}) or vector(0)`, legend: 'refused' },
      ],
    }),
    kit.stat({
      title: 'Routers of sources',
      description: 'Routers that come from sources, by source.',
      width: 3,
      unit: units.NoUnit,
      queries: [{ expr: `sum by (source) (${of('router_exporter_source_routers')})`, legend: '{{source}}' }],
    }),
    kit.stat({
      title: 'Sources read last',
      description: 'Time of the last successful reading of the source that was read least recently.',
      width: 4,
      unit: units.DateTimeFromNow,
      queries: [{ expr: `min(${of('router_exporter_source_last_success_timestamp_seconds')}) * 1000`, legend: 'read' }],
    }),
    kit.stat({
      title: 'Reading of logs pauses',
      description:
        'Agents that read no logs because the spool or its disk is full, and routers whose logs alone are paused because their records take as much of the spool as is free. Check the sinks: one that is down fills the spool.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [
        { expr: `sum(${of('router_exporter_spool_held_back')})`, legend: 'agents' },
        { expr: `sum(${of('router_exporter_spool_held_back_routers')})`, legend: 'routers' },
      ],
    }),
    kit.stat({
      title: 'Dead letters',
      description:
        'Records that a sink rejected permanently. `router-exporter dead-letters list` shows the reasons; thousands indicate a misconfigured sink.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_exporter_dead_letters')}) or vector(0)`, legend: 'dead letters' }],
    }),
    kit.stat({
      title: 'Mapping errors',
      description:
        'Values that could not be converted to a sample since the agents started. The table below lists them; a new firmware may use another format.',
      width: 4,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_exporter_mapping_errors_total')}) or vector(0)`, legend: 'errors' }],
    }),
  ],
};

const polling: kit.Section = {
  title: 'Polling',
  panels: [
    kit.trend({
      title: 'Routers by state',
      description: 'Configured routers: up, down, paused because of their byte budget, and not polled yet (unknown).',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `sum by (state) (${of('router_exporter_routers')})`, legend: '{{state}}' }],
    }),
    kit.trend({
      title: 'Polls',
      description: 'Polls by result. Their sum is constant while the agent keeps up and intervals do not change.',
      width: 8,
      unit: units.OpsPerSecond,
      min: 0,
      isStacked: true,
      queries: [{ expr: rate('result', 'router_exporter_polls_total'), legend: '{{result}}' }],
    }),
    kit.trend({
      title: 'Turns that begin late',
      description:
        'Delay of status polls, as bucket bounds up to a minute. Above a fifth of the interval, the agent is overloaded: use more shards or longer intervals.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.SCHEDULE_LAG,
      showsLimits: true,
      queries: [lagQuantile(0.5), lagQuantile(0.95), lagQuantile(0.99)],
    }),
    kit.trend({
      title: 'Replicas of the cluster',
      description:
        'Replicas that see each other, those whose leases ended without a word, and replicas that have a lease or know other routers than the rest. Empty without a cluster.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [
        { expr: `max(${of('router_exporter_cluster_members')})`, legend: 'members' },
        { expr: `sum(${of('router_exporter_cluster_lease_held')})`, legend: 'with a lease' },
        { expr: `max(${of('router_exporter_cluster_missing_members')})`, legend: 'missing' },
        { expr: `max(${of('router_exporter_cluster_lists_differ')})`, legend: 'lists differ' },
      ],
    }),
    kit.trend({
      title: 'Routers of each replica',
      description: 'Routers of each replica of a cluster, and those that move within five minutes.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [
        { expr: `sum by (instance) (${of('router_exporter_cluster_routers_owned')})`, legend: '{{instance}}' },
        {
          expr: `sum by (direction) (increase(${of('router_exporter_cluster_moved_routers_total')}[5m]))`,
          legend: '{{direction}}',
        },
      ],
    }),
    kit.trend({
      title: 'Age of leases',
      description:
        'Time since each replica renewed its lease: a third of `cluster.nats.lease` at most, while all is well.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      queries: [
        {
          expr: `max by (instance) (${of('router_exporter_cluster_lease_age_seconds')})`,
          legend: '{{instance}}',
        },
      ],
    }),
    kit.trend({
      title: 'Concurrent runs',
      description:
        'Polls, readings of logs and backups that are running, and those that wait because too many are. If some wait for minutes, raise `schedule.concurrent_runs`. Runs of routers that do not answer have a share of their own and are held back for that.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      queries: [
        { expr: `sum by (state) (${of('router_exporter_runs')})`, legend: '{{state}}' },
        { expr: `sum(${of('router_exporter_runs_max')})`, legend: 'limit' },
      ],
    }),
    kit.trend({
      title: 'Connections to routers',
      description:
        'Open connections, those that wait because all are in use, and the limit. Evicted ones are closed to make room for others, which costs a handshake each: if there are many, raise `connections.max` or the limit of open files.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      queries: [
        { expr: `sum by (state) (${of('router_exporter_connections')})`, legend: '{{state}}' },
        { expr: `sum(${of('router_exporter_connections_max')})`, legend: 'limit' },
        {
          expr: `sum(rate(${of('router_exporter_connections_evicted_total')}[$__rate_interval]))`,
          legend: 'evicted per second',
        },
      ],
    }),
    kit.trend({
      title: 'Duration of polls',
      description:
        'Over all routers of the jobs. If all are slow, the agent, its network or its machine is the cause; if only the slowest are, their links.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.DURATION,
      showsLimits: true,
      queries: [
        { expr: `quantile(0.5, ${routersOf('router_poll_duration_seconds')})`, legend: 'median' },
        { expr: `quantile(0.95, ${routersOf('router_poll_duration_seconds')})`, legend: '95 % of routers' },
        { expr: `max(${routersOf('router_poll_duration_seconds')})`, legend: 'slowest' },
      ],
    }),
    kit.trend({
      title: 'Sessions',
      description:
        "Logins, failed logins and token refreshes of all routers. With many logins, sessions do not last, which costs bytes and fills the routers' logs.",
      width: 8,
      unit: units.OpsPerSecond,
      min: 0,
      queries: [
        { expr: `sum(rate(${routersOf('router_api_logins_total')}[$__rate_interval]))`, legend: 'logins' },
        {
          expr: `sum(rate(${routersOf('router_api_login_failures_total')}[$__rate_interval]))`,
          legend: 'failed logins',
        },
        { expr: `sum(rate(${routersOf('router_api_token_refreshes_total')}[$__rate_interval]))`, legend: 'refreshes' },
      ],
    }),
    kit.ranking({
      title: 'Routers with stretched intervals',
      description:
        'Factor by which the intervals of a router are extended, to stay within its byte budget or because it answers slowly.',
      width: 8,
      unit: units.Short,
      min: 1,
      max: 8,
      limits: kit.STRETCH,
      links: [linkToRouter('label', [])],
      queries: [
        {
          expr: `topk(10, max by (job, router) (${routersOf('router_interval_stretch_ratio')}))`,
          legend: '{{router}}',
        },
      ],
    }),
    kit.table({
      title: 'Values that could not become a sample',
      description:
        'By module and metric, since the agents started. `router-exporter status NAME --metrics` shows the values of a router; a custom module can parse a new format.',
      width: 12,
      height: 8,
      sortBy: 'Values',
      columns: [
        { label: 'module', title: 'Module' },
        { label: 'metric', title: 'Metric' },
        {
          title: 'Values',
          expr: `topk(50, sum by (module, metric) (${of('router_exporter_mapping_errors_total')}))`,
          unit: units.NoUnit,
          limits: kit.NONE_WANTED,
        },
      ],
    }),
    kit.ranking({
      title: 'Routers with series that are left out',
      description: 'Series that are omitted, because a router has too many or duplicates.',
      width: 12,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      links: [linkToRouter('label', [])],
      queries: [{ expr: `topk(10, ${routersOf('router_series_dropped')} > 0)`, legend: '{{router}}' }],
    }),
  ],
};

const sinks: kit.Section = {
  title: 'Sinks and spool',
  panels: [
    kit.timeline({
      title: 'Sinks',
      description:
        'Result of the last delivery to a sink. Wrong credentials or a wrong address stop a sink until they are corrected; no record is dropped.',
      width: 12,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `min by (sink) (${of('router_exporter_sink_up')})`, legend: '{{sink}}' }],
    }),
    kit.timeline({
      title: 'Certificates of sinks that are not verified',
      description: '1: any certificate is accepted (`tls.insecure_skip_verify` without a fingerprint).',
      width: 12,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `max by (sink) (${of('router_exporter_sink_tls_unverified')})`, legend: '{{sink}}' }],
    }),
    kit.trend({
      title: 'Lag of sinks',
      description: 'Age of the oldest record not delivered to a sink.',
      width: 24,
      height: 6,
      unit: units.Seconds,
      min: 0,
      limits: kit.DELIVERY_LAG,
      showsLimits: true,
      queries: [{ expr: `max by (sink) (${of('router_exporter_sink_lag_seconds')})`, legend: '{{sink}}' }],
    }),
    kit.trend({
      title: 'Records',
      description:
        'Results of records: delivered, duplicate (already stored), dead_letter and rejected (permanently), skipped (not selected).',
      width: 8,
      unit: units.CountsPerSecond,
      min: 0,
      queries: [{ expr: rate('sink, result', 'router_exporter_sink_records_total'), legend: '{{sink}} {{result}}' }],
    }),
    kit.trend({
      title: 'Deliveries that failed, and warnings',
      description:
        'Deliveries that failed and are retried, by reason, and warnings of sinks, since the agents started. The log of the agent has the texts.',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      queries: [
        { expr: `sum by (sink, reason) (${of('router_exporter_sink_failures_total')})`, legend: '{{sink}} {{reason}}' },
        { expr: `sum by (sink) (${of('router_exporter_sink_warnings_total')})`, legend: '{{sink}} warnings' },
      ],
    }),
    kit.trend({
      title: 'Bytes to sinks',
      description: 'Bytes of successful deliveries, after compression.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [{ expr: rate('sink', 'router_exporter_sink_sent_bytes_total'), legend: '{{sink}}' }],
    }),
    kit.trend({
      title: 'Spool, share of its room',
      description:
        'Waiting records as a share of `storage.spool_max`. When the spool is full, log reading is paused; the lines stay on the routers as long as those keep them.',
      width: 8,
      unit: units.PercentUnit,
      min: 0,
      max: 1,
      limits: kit.FILLING,
      showsLimits: true,
      queries: [
        {
          expr: `max by (instance) (${of('router_exporter_spool_bytes')} / ${of('router_exporter_spool_max_bytes')})`,
          legend: '{{instance}}',
        },
      ],
    }),
    kit.trend({
      title: 'Records that wait',
      description: 'Records in the spool not delivered to every sink.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [{ expr: `sum by (instance) (${of('router_exporter_spool_records')})`, legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Dead letters and damage',
      description:
        'Stored dead letters, those dropped because of age or size, and damaged stored records (their logs are read again).',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      limits: kit.NONE_WANTED,
      queries: [
        { expr: `sum by (sink) (${of('router_exporter_dead_letters')})`, legend: '{{sink}}: kept' },
        { expr: `sum by (sink) (${of('router_exporter_dead_letters_dropped_total')})`, legend: '{{sink}}: dropped' },
        { expr: `sum(${of('router_exporter_spool_damaged_records_total')})`, legend: 'damaged in the spool' },
      ],
    }),
  ],
};

const processes: kit.Section = {
  title: 'Process',
  panels: [
    kit.trend({
      title: 'Processor',
      description: 'CPU cores in use: one for JavaScript, a second one while archives are decompressed.',
      width: 6,
      unit: units.Short,
      min: 0,
      queries: [{ expr: rate('instance', 'process_cpu_seconds_total'), legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Memory',
      description: 'Resident memory of the process, and its JavaScript heap.',
      width: 6,
      unit: units.BytesIEC,
      min: 0,
      queries: [
        { expr: `max by (instance) (${of('process_resident_memory_bytes')})`, legend: '{{instance}} resident' },
        { expr: `max by (instance) (${of('nodejs_heap_size_used_bytes')})`, legend: '{{instance}} heap' },
      ],
    }),
    kit.trend({
      title: 'Event loop',
      description: 'Delay of the event loop: median and 99th percentile. Half a second delays every router.',
      width: 6,
      unit: units.Seconds,
      min: 0,
      limits: kit.LOOP_LAG,
      showsLimits: true,
      queries: [
        { expr: findLoopDelay(0.5), legend: '{{instance}} 50 %' },
        { expr: findLoopDelay(0.99), legend: '{{instance}} 99 %' },
      ],
    }),
    kit.trend({
      title: 'Garbage collection',
      description: 'Share of time spent in garbage collection, by kind.',
      width: 6,
      unit: units.PercentUnit,
      min: 0,
      limits: kit.SHARE_BAD,
      showsLimits: true,
      queries: [{ expr: rate('kind', 'nodejs_gc_duration_seconds_sum'), legend: '{{kind}}' }],
    }),
    kit.trend({
      title: 'Open files and sockets, share of the limit',
      description: 'File descriptors in use, as a share of the limit. Each active router connection needs one.',
      width: 6,
      unit: units.PercentUnit,
      min: 0,
      limits: kit.FILLING,
      showsLimits: true,
      queries: [
        { expr: `max by (instance) (${of('process_open_fds')} / ${of('process_max_fds')})`, legend: '{{instance}}' },
      ],
    }),
    kit.trend({
      title: 'Starts',
      description: 'Time since each process started.',
      width: 6,
      unit: units.DurationSeconds,
      min: 0,
      queries: [{ expr: `time() - max by (instance) (${of('process_start_time_seconds')})`, legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Duration of scrapes',
      description: 'Duration of scrapes. It must stay well below the scrape timeout.',
      width: 6,
      unit: units.Seconds,
      min: 0,
      limits: kit.DURATION,
      queries: [{ expr: `topk(10, ${of('scrape_duration_seconds')})`, legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Samples per scrape',
      description:
        'Samples per scrape: about 100 per router. Split a target with a million samples into shards, or scrape it by `/probe`.',
      width: 6,
      unit: units.Short,
      min: 0,
      queries: [{ expr: `topk(10, ${of('scrape_samples_scraped')})`, legend: '{{instance}}' }],
    }),
  ],
};

/** Creates the dashboard of the agents themselves. */
export function createAgentDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'agent',
    title: 'Routers / Agent',
    description: 'Health of the agents: polling, sinks, spool, process.',
    variables: [kit.datasourceVariable(), kit.jobVariable(), kit.instanceVariable()],
    from: 'now-6h',
    sections: [now, polling, sinks, processes],
  });
}
