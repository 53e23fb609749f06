import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Clock, readRevision, type Timer } from '../../base/index.ts';
import type { ConnectionLoad } from '../../client/index.ts';
import type { ExpositionFormat } from '../../exposition/index.ts';
import type { RunLoad } from '../../schedule/index.ts';
import type { FirmwareVersion } from '../../status/index.ts';
import type { SourceSummary, SpoolSummary } from '../../web/index.ts';

/** Default families of prom-client with names that promtool rejects, and those that a histogram replaces. */
const LEFT_OUT = [
  ...['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`),
  ...['min', 'max', 'mean', 'stddev'].map((name) => `nodejs_eventloop_lag_${name}_seconds`),
];
/** Seconds. */
const LAG_BUCKETS = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60];
/** Seconds. */
const LOOP_DELAY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Milliseconds. */
const LOOP_DELAY_INTERVAL_MS = 1000;

/** States that `router_exporter_routers` counts. */
export const ROUTER_STATES = ['up', 'down', 'budget', 'unknown', 'paused', 'retired'] as const;
export type RouterStateName = (typeof ROUTER_STATES)[number];

const SINK_RESULTS = ['delivered', 'duplicate', 'dead_letter', 'rejected', 'skipped', 'repeated'] as const;

interface SelfReadings {
  readonly spool: () => SpoolSummary;
  /** Age of the oldest undelivered record of each sink. Seconds. */
  readonly sinkLags: () => ReadonlyMap<string, number>;
  readonly deadLetters: () => ReadonlyMap<string, number>;
  readonly routers: () => Readonly<Record<RouterStateName, number>>;
  readonly runs: () => RunLoad;
  readonly connections: () => ConnectionLoad;
  readonly sources: () => readonly SourceSummary[];
}

interface ClusterReadings {
  readonly members: number;
  /** Replicas whose leases ended without a logout. */
  readonly missing: number;
  readonly isLeaseHeld: boolean;
  /** Time since the last renewal; `Infinity` before the first. */
  readonly leaseAgeSeconds: number;
  readonly routersOwned: number;
  readonly areListsDifferent: boolean;
}

/** Fields of prom-client metrics that its types lack. */
interface Description {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

export class SelfMetrics {
  readonly #registry = new Registry();
  readonly #sinkFailures: Counter<'sink' | 'reason'>;
  /** Failure reasons by sink, to remove their series later. */
  readonly #failureReasons = new Map<string, Set<string>>();
  readonly polls: Counter<'result'>;
  readonly scheduleLag: Histogram<'activity'>;
  readonly #loopDelay: Histogram;
  readonly mappingErrors: Counter<'module' | 'metric'>;
  readonly sinkRecords: Counter<'sink' | 'result'>;
  readonly sinkUp: Gauge<'sink'>;
  readonly sinkTlsUnverified: Gauge<'sink'>;
  readonly sinkWarnings: Counter<'sink'>;
  readonly sinkSentBytes: Counter<'sink'>;
  readonly damagedRecords: Counter;
  readonly deadLettersDropped: Counter<'sink'>;
  readonly reloadSuccessful: Gauge;
  readonly reloadSuccessAt: Gauge;
  /** `undefined` outside a cluster. */
  clusterMoves: Counter<'direction'> | undefined;
  readonly #firmwareVersions: Gauge<'version' | 'date' | 'severity' | 'notes'>;
  readonly #shard: Gauge;
  readonly #totalShards: Gauge;

  #readings: SelfReadings | undefined;

  constructor(version: string) {
    const registers = [this.#registry];
    const from =
      <T>(read: (readings: SelfReadings) => T) =>
      () =>
        this.#readings && read(this.#readings);
    const describe = <T extends string>(name: string, help: string, labelNames: readonly T[]) => {
      return { name, help, labelNames, registers };
    };
    const counter = <T extends string>(name: string, help: string, ...labels: readonly T[]) =>
      new Counter(describe(name, help, labels));
    const gauge = <T extends string>(name: string, help: string, ...labels: readonly T[]) =>
      new Gauge(describe(name, help, labels));
    collectDefaultMetrics({ register: this.#registry });
    for (const name of LEFT_OUT) this.#registry.removeSingleMetric(name);
    new Gauge({
      name: 'router_exporter_build_info',
      help: 'Version and git commit of router-exporter, and version of Node.js.',
      labelNames: ['version', 'revision', 'node_version'],
      registers,
    }).set({ version, revision: readRevision(), node_version: process.versions.node }, 1);
    this.reloadSuccessful = gauge(
      'router_exporter_config_last_reload_successful',
      'Whether the last load of the configuration succeeded.',
    );
    this.reloadSuccessAt = gauge(
      'router_exporter_config_last_reload_success_timestamp_seconds',
      'Time of the last successful load of the configuration.',
    );
    this.#firmwareVersions = gauge(
      'router_exporter_firmware_version_info',
      'Firmware versions in `firmware_version_files`, with what they say about them.',
      ...(['version', 'date', 'severity', 'notes'] as const),
    );
    this.#shard = gauge('router_exporter_shard', 'Index of this process among those that share the fleet, from 0.');
    this.#totalShards = gauge(
      'router_exporter_total_shards',
      'Number of processes that share the fleet, as this one is configured.',
    );
    this.polls = counter('router_exporter_polls_total', 'Status polls of routers, by result.', 'result');
    this.polls.inc({ result: 'success' }, 0);
    this.polls.inc({ result: 'failure' }, 0);
    this.scheduleLag = new Histogram({
      name: 'router_exporter_schedule_lag_seconds',
      help: 'Delay of scheduled tasks of routers.',
      labelNames: ['activity'],
      buckets: LAG_BUCKETS,
      registers,
    });
    this.#loopDelay = new Histogram({
      name: 'router_exporter_event_loop_delay_seconds',
      help: 'Delay of a timer of the event loop, measured once a second.',
      buckets: LOOP_DELAY_BUCKETS,
      registers,
    });
    this.mappingErrors = counter(
      'router_exporter_mapping_errors_total',
      'Values of status resources that could not be converted to a sample, by module and metric.',
      'module',
      'metric',
    );
    this.sinkRecords = counter(
      'router_exporter_sink_records_total',
      'Records by sink and result; `repeated` ones were delivered before.',
      'sink',
      'result',
    );
    this.sinkUp = gauge(
      'router_exporter_sink_up',
      'Whether the last delivery to the sink succeeded. 1 also before the first one, and at a replica that does not serve the sink.',
      'sink',
    );
    this.sinkTlsUnverified = gauge(
      'router_exporter_sink_tls_unverified',
      'Whether any certificate of the sink is accepted (`insecure_skip_verify` without a fingerprint).',
      'sink',
    );
    this.#sinkFailures = counter(
      'router_exporter_sink_failures_total',
      'Deliveries that failed completely and are retried, by reason.',
      'sink',
      'reason',
    );
    this.sinkWarnings = counter(
      'router_exporter_sink_warnings_total',
      'Warnings about accepted records, such as possible duplicates; the texts are in the log.',
      'sink',
    );
    this.sinkSentBytes = counter(
      'router_exporter_sink_sent_bytes_total',
      'Bytes of successful deliveries, after compression.',
      'sink',
    );
    this.#addGaugeBy(
      'sink',
      'router_exporter_sink_lag_seconds',
      'Age of the oldest record not delivered to the sink yet; 0 when there is none.',
      from(({ sinkLags }) => sinkLags()),
    );
    this.#addGaugeBy(
      'sink',
      'router_exporter_dead_letters',
      'Number of records that the sink rejected permanently and that are stored.',
      from(({ deadLetters }) => deadLetters()),
    );
    this.deadLettersDropped = counter(
      'router_exporter_dead_letters_dropped_total',
      'Dead letters dropped because of age or size.',
      'sink',
    );
    this.damagedRecords = counter(
      'router_exporter_spool_damaged_records_total',
      'Damaged stored records. Their log is read again from the router; in a cluster they are passed over.',
    );
    this.#addGauge(
      'router_exporter_spool_max_bytes',
      'Maximum of router_exporter_spool_bytes.',
      from(({ spool }) => spool().bytesMax),
    );
    this.#addGauge(
      'router_exporter_spool_held_back',
      'Whether log reading of all routers is paused, because the spool or its disk is full.',
      from(({ spool }) => (spool().isHeldBack ? 1 : 0)),
    );
    this.#addGauge(
      'router_exporter_spool_held_back_routers',
      'Number of routers whose log reading is paused, because their waiting records take as much of the spool as is free.',
      from(({ spool }) => spool().routersHeldBack.length),
    );
    this.#addGauge(
      'router_exporter_spool_records',
      'Number of records not acknowledged by every sink.',
      from(({ spool }) => spool().records),
    );
    this.#addGauge(
      'router_exporter_spool_bytes',
      'Size on disk of the records not acknowledged by every sink.',
      from(({ spool }) => spool().bytes),
    );
    this.#addGaugeBy(
      'state',
      'router_exporter_runs',
      'Number of polls, readings of logs and backups that are running, waiting because too many are running, or, of routers whose last run failed, held back for a place of their own share.',
      from(({ runs }) => {
        const { running, waiting, heldBack } = runs();
        return Object.entries({ running, waiting, held_back: heldBack });
      }),
    );
    this.#addGauge(
      'router_exporter_runs_max',
      'Maximum of running router_exporter_runs.',
      from(({ runs }) => runs().max),
    );
    this.#addSourceGauge(
      'up',
      'Whether the last reading of the source of routers succeeded, with an answer that can be used.',
      ({ state }) => (state === 'unknown' ? undefined : Number(state === 'up')),
    );
    this.#addSourceGauge(
      'last_success_timestamp_seconds',
      'Time of the last successful reading of the source of routers.',
      ({ lastSuccess }) => (lastSuccess === null ? undefined : Date.parse(lastSuccess) / 1000),
    );
    this.#addSourceGauge('routers', 'Number of routers of the source that are configured.', ({ routers }) => routers);
    this.#addSourceGauge(
      'refused_routers',
      'Number of routers in the answer of the source that are not used; the reasons are in the log.',
      ({ refused }) => refused,
    );
    this.#addSourceGauge(
      'held_removals',
      'Number of routers that are missing in the newest answer of the source, which is not used until this is confirmed; 0 otherwise.',
      ({ held }) => held?.missing ?? 0,
    );
    this.#addGaugeBy(
      'state',
      'router_exporter_connections',
      'Number of connections to routers: in use, idle, or waiting because too many are in use.',
      from(({ connections }) => {
        const { busy, idle, waiting } = connections();
        return Object.entries({ busy, idle, waiting });
      }),
    );
    this.#addGauge(
      'router_exporter_connections_max',
      'Maximum of busy and idle router_exporter_connections.',
      from(({ connections }) => connections().max),
    );
    const readEvicted = from(({ connections }) => connections().evicted);
    new Counter({
      name: 'router_exporter_connections_evicted_total',
      help: 'Idle connections to routers that were closed to make room for others.',
      registers,
      collect() {
        this.reset();
        this.inc(readEvicted() ?? 0);
      },
    });
    this.#addGaugeBy(
      'state',
      'router_exporter_routers',
      'Number of configured routers, by state.',
      from(({ routers }) => Object.entries(routers())),
    );
  }

  /** Measures the delay of the event loop. Returns a function that ends it. */
  measureLoop(clock: Clock): () => void {
    const begin = (): Timer => {
      const dueMs = clock.monotonic() + LOOP_DELAY_INTERVAL_MS;
      const end = () => {
        this.#loopDelay.observe(Math.max(0, clock.monotonic() - dueMs) / 1000);
        timer = begin();
      };
      return clock.setTimer(LOOP_DELAY_INTERVAL_MS, end, false);
    };
    let timer = begin();
    return () => timer.cancel();
  }

  /** Adds the metrics of a cluster, which other agents do not have. */
  readCluster(read: () => ClusterReadings): void {
    const add = (name: string, help: string, of: (readings: ClusterReadings) => number) =>
      this.#addGauge(`router_exporter_cluster_${name}`, help, () => of(read()));
    add('members', 'Number of replicas of the cluster, this one included.', ({ members }) => members);
    add(
      'missing_members',
      'Number of replicas of the cluster whose leases ended without a word.',
      (one) => one.missing,
    );
    add('lease_held', 'Whether this replica has a lease.', ({ isLeaseHeld }) => Number(isLeaseHeld));
    add(
      'lease_age_seconds',
      'Time since the last confirmed renewal of the lease of this replica was sent; +Inf before the first.',
      ({ leaseAgeSeconds }) => leaseAgeSeconds,
    );
    add('routers_owned', 'Number of routers that this replica of the cluster has.', (one) => one.routersOwned);
    add('lists_differ', 'Whether the replicas of the cluster know different routers.', (one) =>
      Number(one.areListsDifferent),
    );
    this.clusterMoves = new Counter({
      name: 'router_exporter_cluster_moved_routers_total',
      help: 'Routers that this replica of the cluster has taken, or that have gone to others.',
      labelNames: ['direction'],
      registers: [this.#registry],
    });
    for (const direction of ['taken', 'gone']) this.clusterMoves.inc({ direction }, 0);
  }

  #addSourceGauge(name: string, help: string, read: (source: SourceSummary) => number | undefined): void {
    this.#addGaugeBy('source', `router_exporter_source_${name}`, help, () =>
      (this.#readings?.sources() ?? []).flatMap((source): [string, number][] => {
        const value = read(source);
        return value === undefined ? [] : [[source.name, value]];
      }),
    );
  }

  /** Sets the source of values; without it their series are missing or 0. */
  read(readings: SelfReadings): void {
    this.#readings = readings;
  }

  setShard(index: number, total: number): void {
    this.#shard.set(index);
    this.#totalShards.set(total);
  }

  setFirmwareVersions(versions: readonly FirmwareVersion[]): void {
    this.#firmwareVersions.reset();
    for (const { date = '', notes = '', ...one } of versions) this.#firmwareVersions.set({ ...one, date, notes }, 1);
  }

  /** Creates the series of a sink. Those used by alerts start at zero, so that their first increase is visible. */
  registerSink(sink: string): void {
    for (const result of ['delivered', 'dead_letter', 'rejected']) this.sinkRecords.inc({ sink, result }, 0);
    this.sinkSentBytes.inc({ sink }, 0);
    this.sinkWarnings.inc({ sink }, 0);
    this.deadLettersDropped.inc({ sink }, 0);
  }

  countSinkFailure(sink: string, reason: string): void {
    this.#failureReasons.set(sink, (this.#failureReasons.get(sink) ?? new Set()).add(reason));
    this.#sinkFailures.inc({ sink, reason });
  }

  unregisterSink(sink: string): void {
    this.sinkUp.remove({ sink });
    this.sinkTlsUnverified.remove({ sink });
    this.sinkSentBytes.remove({ sink });
    this.sinkWarnings.remove({ sink });
    this.deadLettersDropped.remove({ sink });
    for (const result of SINK_RESULTS) this.sinkRecords.remove({ sink, result });
    for (const reason of this.#failureReasons.get(sink) ?? []) this.#sinkFailures.remove({ sink, reason });
    this.#failureReasons.delete(sink);
  }

  /** A gauge that is computed at each scrape; `undefined` leaves it unchanged. */
  #addGauge(name: string, help: string, read: () => number | undefined): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        const value = read();
        if (value !== undefined) this.set(value);
      },
    });
  }

  #addGaugeBy(
    label: string,
    name: string,
    help: string,
    read: () => Iterable<readonly [value: string, number: number]> | undefined,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [value, number] of read() ?? []) this.set({ [label]: value }, number);
      },
    });
  }

  /** Returns the metrics as text without the final `# EOF` of OpenMetrics. */
  async render(format: ExpositionFormat): Promise<string> {
    const text = await this.#registry.metrics();
    return format === 'text' ? text : toOpenMetrics(text);
  }

  describe(): { name: string; help: string; type: string; labels: readonly string[] }[] {
    return this.#registry.getMetricsAsArray().map((metric) => {
      const { name, help, type, labelNames = [] } = metric as unknown as Description;
      return { name, help, type, labels: labelNames };
    });
  }
}

/**
 * Converts text 0.0.4 to OpenMetrics without the final mark: counter families lose their suffix, empty lines go.
 * prom-client's own OpenMetrics output renames its counters permanently, so a registry cannot serve both formats.
 */
function toOpenMetrics(text: string): string {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => name));
  return text
    .replaceAll(/^# (HELP|TYPE) (\S+)_total (.*)$/gm, (line, keyword: string, name: string, rest: string) =>
      counters.has(name) ? `# ${keyword} ${name} ${rest}` : line,
    )
    .replaceAll(/^# HELP .*$/gm, (line) => line.replaceAll('"', '\\"'))
    .replaceAll(/\n{2,}/g, '\n');
}
