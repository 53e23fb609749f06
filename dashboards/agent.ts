import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import * as kit from './kit/index.ts';

const of = kit.selectBy(kit.BY_JOB, kit.BY_INSTANCE);
/** Series about routers, whose instance is that of the agent or the router, depending on how they are scraped. */
const routersOf = kit.selectBy(kit.BY_JOB);
const { linkToRouter } = kit;

const rate = (by: string, metric: string) => `sum by (${by}) (rate(${of(metric)}[$__rate_interval]))`;
const lagQuantile = (quantile: number): kit.Query => ({
  expr: `histogram_quantile(${quantile}, sum by (le) (rate(${of('router_exporter_schedule_lag_seconds_bucket')}[$__rate_interval])))`,
  legend: `${quantile * 100} % of turns`,
});

const now: kit.Section = {
  title: 'Now',
  panels: [
    kit.stat({
      title: 'Version',
      description: 'Versions of router-exporter that run. Several during an upgrade only.',
      width: 4,
      unit: units.NoUnit,
      isName: true,
      queries: [{ expr: `count by (version) (${of('router_exporter_build_info')})`, legend: '{{version}}' }],
    }),
    kit.stat({
      title: 'Agents',
      description: 'Processes of the agent that answer their scrapes. One less than yesterday is a shard without data.',
      width: 3,
      unit: units.NoUnit,
      queries: [{ expr: `count(${of('router_exporter_build_info')})`, legend: 'agents' }],
    }),
    kit.stat({
      title: 'Configuration loaded',
      description:
        'Whether the last reload was free of faults, the worst of all agents. If not, the configuration from before is in force; the log of the agent and `router-exporter check` name file and line.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.YES_OR_NO,
      queries: [{ expr: `min(${of('router_exporter_config_last_reload_successful')})`, legend: 'loaded' }],
    }),
    kit.stat({
      title: 'Loaded last',
      description: 'When the configuration was last loaded without a fault, the agent that did so longest ago.',
      width: 4,
      unit: units.DateTimeFromNow,
      queries: [
        { expr: `min(${of('router_exporter_config_last_reload_success_timestamp_seconds')}) * 1000`, legend: 'loaded' },
      ],
    }),
    kit.stat({
      title: 'Reading of logs pauses',
      description:
        'Agents that read no logs because the spool or its disk has no room. Look at the sinks: one that is down fills the spool.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_ALLOWED,
      queries: [{ expr: `sum(${of('router_exporter_spool_held_back')})`, legend: 'agents' }],
    }),
    kit.stat({
      title: 'Dead letters',
      description:
        'Records that a sink refused for good. `router-exporter dead-letters list` shows why; one is a curiosity, thousands are a sink that is set up wrong.',
      width: 3,
      unit: units.NoUnit,
      limits: kit.NONE_WANTED,
      queries: [{ expr: `sum(${of('router_exporter_dead_letters')}) or vector(0)`, legend: 'dead letters' }],
    }),
    kit.stat({
      title: 'Mapping errors',
      description:
        'Values of routers that could not become a sample, since the agents started. A table below names them; a new firmware may say a value in another form.',
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
      description: 'Configured routers: up, down, left alone because of their budget, and not polled yet (unknown).',
      width: 8,
      unit: units.NoUnit,
      min: 0,
      isStacked: true,
      queries: [{ expr: `sum by (state) (${of('router_exporter_routers')})`, legend: '{{state}}' }],
    }),
    kit.trend({
      title: 'Polls',
      description:
        'Polls by result. Their sum stays the same as long as the agent keeps up and nobody changes intervals.',
      width: 8,
      unit: units.OpsPerSecond,
      min: 0,
      isStacked: true,
      queries: [{ expr: rate('result', 'router_exporter_polls_total'), legend: '{{result}}' }],
    }),
    kit.trend({
      title: 'Turns that begin late',
      description:
        'How late turns of routers begin. Lines are bounds of buckets, up to a minute. Above a fifth of the interval the agent is overloaded: more shards, or longer intervals.',
      width: 8,
      unit: units.Seconds,
      min: 0,
      limits: kit.SCHEDULE_LAG,
      showsLimits: true,
      queries: [lagQuantile(0.5), lagQuantile(0.95), lagQuantile(0.99)],
    }),
    kit.trend({
      title: 'Duration of polls',
      description:
        'Over all routers that the jobs know. When all are slow, it is the way of the agent or the machine; when only the slowest are, it is their links.',
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
        'Logins, failed logins and token refreshes of all routers. Many logins: sessions do not last, which costs bytes and fills the logs of routers.',
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
        'How many times as long as configured the intervals of a router are, to keep within its byte budget. Empty without `byte_budget`.',
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
        'By module and metric, since the agents started. `router-exporter status NAME --metrics` shows what a router says; a module can be taught a new form.',
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
      description: 'Series that are not served, because a router has too many of them or has them twice.',
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
        'Whether the last delivery to a sink succeeded. Wrong credentials or a wrong address stop a sink until they are corrected; nothing is thrown away.',
      width: 12,
      unit: units.NoUnit,
      limits: kit.YES_WANTED,
      mappings: kit.UP_OR_DOWN,
      queries: [{ expr: `min by (sink) (${of('router_exporter_sink_up')})`, legend: '{{sink}}' }],
    }),
    kit.trend({
      title: 'Lag of sinks',
      description: 'Age of the oldest record that a sink does not have yet.',
      width: 12,
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
        'What becomes of records: delivered, duplicate (was there before), dead_letter and rejected (refused for good), skipped (not meant for the sink).',
      width: 8,
      unit: units.CountsPerSecond,
      min: 0,
      queries: [{ expr: rate('sink, result', 'router_exporter_sink_records_total'), legend: '{{sink}} {{result}}' }],
    }),
    kit.trend({
      title: 'Deliveries that failed, and warnings',
      description:
        'Deliveries that failed as a whole and are tried again, by reason, and what sinks said beside taking records, since the agents started. The words are in the log of the agent.',
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
      description: 'Bytes of deliveries that sinks took, compressed if they are.',
      width: 8,
      unit: units.BytesPerSecondIEC,
      min: 0,
      queries: [{ expr: rate('sink', 'router_exporter_sink_sent_bytes_total'), legend: '{{sink}}' }],
    }),
    kit.trend({
      title: 'Spool, share of its room',
      description:
        'Bytes on disk that wait for sinks, as a share of `storage.spool_max`. When it is full, no logs are read until there is room; the routers keep their lines as long as they can.',
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
      description: 'Records in the spool that a sink has yet to take.',
      width: 8,
      unit: units.Short,
      min: 0,
      queries: [{ expr: `sum by (instance) (${of('router_exporter_spool_records')})`, legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Dead letters and damage',
      description:
        'Dead letters that are kept, those that were dropped for age or room, and stored records that could not be read back (their logs are read again).',
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
      description: 'Cores in use. JavaScript runs on one; with archives to decompress, a second one works.',
      width: 6,
      unit: units.Short,
      min: 0,
      queries: [{ expr: rate('instance', 'process_cpu_seconds_total'), legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Memory',
      description: 'Resident memory of the process, and the heap of JavaScript in it.',
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
      description:
        'How long the event loop is held up: half and 99 % of the time, and the longest since the last scrape. Half a second delays every router.',
      width: 6,
      unit: units.Seconds,
      min: 0,
      limits: kit.LOOP_LAG,
      showsLimits: true,
      queries: [
        { expr: `max by (instance) (${of('nodejs_eventloop_lag_p50_seconds')})`, legend: '{{instance}} 50 %' },
        { expr: `max by (instance) (${of('nodejs_eventloop_lag_p99_seconds')})`, legend: '{{instance}} 99 %' },
        { expr: `max by (instance) (${of('nodejs_eventloop_lag_max_seconds')})`, legend: '{{instance}} longest' },
      ],
    }),
    kit.trend({
      title: 'Garbage collection',
      description: 'Share of the time that goes into garbage collection, by kind.',
      width: 6,
      unit: units.PercentUnit,
      min: 0,
      limits: kit.SHARE_BAD,
      showsLimits: true,
      queries: [{ expr: rate('kind', 'nodejs_gc_duration_seconds_sum'), legend: '{{kind}}' }],
    }),
    kit.trend({
      title: 'Open files and sockets, share of the limit',
      description:
        'File descriptors in use as a share of what the process may have. Each router that is being asked needs one.',
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
      description: 'How long Prometheus waits for an answer. It must stay well below the scrape timeout.',
      width: 6,
      unit: units.Seconds,
      min: 0,
      limits: kit.DURATION,
      queries: [{ expr: `topk(10, ${of('scrape_duration_seconds')})`, legend: '{{instance}}' }],
    }),
    kit.trend({
      title: 'Samples per scrape',
      description:
        'Samples in an answer: about 100 per router. One target with a million of them is better split into shards or scraped by `/probe`.',
      width: 6,
      unit: units.Short,
      min: 0,
      queries: [{ expr: `topk(10, ${of('scrape_samples_scraped')})`, legend: '{{instance}}' }],
    }),
  ],
};

/** The agents themselves. */
export function createAgentDashboard(): Dashboard {
  return kit.composeDashboard({
    name: 'agent',
    title: 'Routers / Agent',
    description: 'Whether the agents keep up: polling, sinks, spool, process.',
    variables: [kit.datasourceVariable(), kit.jobVariable(), kit.instanceVariable()],
    from: 'now-6h',
    sections: [now, polling, sinks, processes],
  });
}
