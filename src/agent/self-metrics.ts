import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ExpositionFormat } from '../exposition/index.ts';
import { toOpenMetrics } from './open-metrics.ts';

/** Default families of prom-client whose names break the naming rules that promtool checks. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
/** From a scheduler that keeps up to one that is hopelessly behind. Seconds. */
const LAG_BUCKETS = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60];

/** States of a router, as `router_exporter_routers` counts them. */
export const ROUTER_STATES = ['up', 'down', 'budget', 'unknown'] as const;
export type RouterStateName = (typeof ROUTER_STATES)[number];

/** Numbers that are read when they are scraped. */
export interface SelfReadings {
  readonly spooled: () => { readonly records: number; readonly bytes: number };
  readonly routers: () => Readonly<Record<RouterStateName, number>>;
}

/** What every metric of prom-client has, which its types do not tell. */
interface Description {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

/** The agent's metrics about itself, by prom-client. */
export class SelfMetrics {
  readonly #registry = new Registry();
  readonly polls: Counter<'result'>;
  readonly scheduleLag: Histogram;
  readonly mappingErrors: Counter<'module' | 'metric'>;
  readonly sinkRecords: Counter<'sink' | 'result'>;
  readonly sinkUp: Gauge<'sink'>;
  readonly reloadSuccessful: Gauge;
  readonly reloadSuccessAt: Gauge;

  constructor(version: string, readings: SelfReadings) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    new Gauge({
      name: 'router_exporter_build_info',
      help: 'Version of router-exporter and of the Node.js that it runs on.',
      labelNames: ['version', 'node_version'],
      registers,
    }).set({ version, node_version: process.versions.node }, 1);
    this.reloadSuccessful = new Gauge({
      name: 'router_exporter_config_last_reload_successful',
      help: 'Whether the configuration was free of faults when it was last loaded.',
      registers,
    });
    this.reloadSuccessAt = new Gauge({
      name: 'router_exporter_config_last_reload_success_timestamp_seconds',
      help: 'When the configuration was last loaded without a fault.',
      registers,
    });
    this.polls = new Counter({
      name: 'router_exporter_polls_total',
      help: 'Status polls of routers by their result.',
      labelNames: ['result'],
      registers,
    });
    this.polls.inc({ result: 'success' }, 0);
    this.polls.inc({ result: 'failure' }, 0);
    this.scheduleLag = new Histogram({
      name: 'router_exporter_schedule_lag_seconds',
      help: 'How late turns of routers began.',
      buckets: LAG_BUCKETS,
      registers,
    });
    this.mappingErrors = new Counter({
      name: 'router_exporter_mapping_errors_total',
      help: 'Values of status resources that could not become a sample, by module and metric.',
      labelNames: ['module', 'metric'],
      registers,
    });
    this.sinkRecords = new Counter({
      name: 'router_exporter_sink_records_total',
      help: 'Records by sink and by what became of them.',
      labelNames: ['sink', 'result'],
      registers,
    });
    this.sinkUp = new Gauge({
      name: 'router_exporter_sink_up',
      help: 'Whether the last delivery to the sink succeeded.',
      labelNames: ['sink'],
      registers,
    });
    new Gauge({
      name: 'router_exporter_spool_records',
      help: 'Records that a sink has yet to acknowledge.',
      registers,
      collect() {
        this.set(readings.spooled().records);
      },
    });
    new Gauge({
      name: 'router_exporter_spool_bytes',
      help: 'Bytes on disk of the records that a sink has yet to acknowledge.',
      registers,
      collect() {
        this.set(readings.spooled().bytes);
      },
    });
    new Gauge({
      name: 'router_exporter_routers',
      help: 'Configured routers by state.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(readings.routers())) this.set({ state }, count);
      },
    });
  }

  /** Without the mark at the end of OpenMetrics. */
  async render(format: ExpositionFormat): Promise<string> {
    const text = await this.#registry.metrics();
    return format === 'text' ? text : toOpenMetrics(text);
  }

  /** Families with their labels, for the reference. */
  describe(): { name: string; help: string; type: string; labels: readonly string[] }[] {
    return this.#registry.getMetricsAsArray().map((metric) => {
      const { name, help, type, labelNames = [] } = metric as unknown as Description;
      return { name, help, type, labels: labelNames };
    });
  }
}
