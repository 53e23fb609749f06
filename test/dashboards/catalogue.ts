import { SHIPPED_RULES } from '../../src/logs/index.ts';
import type { LogRecord } from '../../src/model/index.ts';
import { toLokiEntry } from '../../src/sinks/types/loki/push.ts';
import { loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../src/status/index.ts';
import { renderMetricsReference } from '../../tools/metrics-reference.ts';

/** Labels of every series name that the product serves. */
export type Catalogue = ReadonlyMap<string, ReadonlySet<string>>;

/** What Prometheus itself adds to every series. */
const TARGET_LABELS = ['job', 'instance'];
/** Of series about routers; `site` is the label that the documentation recommends. */
const ROUTER_LABELS = ['router', 'site'];
/** What Prometheus itself stores about every scrape. */
const OF_PROMETHEUS = ['up', 'scrape_duration_seconds', 'scrape_samples_scraped'];
/** Headlines of the reference behind which series are about the agent. */
const ABOUT_AGENT = /^## (The agent itself|Process and runtime)$/m;

/** The catalogue as the program describes itself: families of the agent, the shipped modules and the shipped rules. */
export async function readCatalogue(): Promise<Catalogue> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  if (!shipped.ok) throw new RangeError('The shipped modules have faults');
  const reference = renderMetricsReference(shipped.modules, SHIPPED_RULES);
  const aboutAgentFrom = reference.search(ABOUT_AGENT);
  const catalogue = new Map<string, Set<string>>(OF_PROMETHEUS.map((name) => [name, new Set(TARGET_LABELS)]));
  for (const { 1: name = '', 2: type, 3: cell = '', index } of reference.matchAll(
    /^\| `(\w+)` \| (\w+) \| ([^|]*) \|/gm,
  )) {
    const own = [...cell.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '');
    const labels = new Set([...TARGET_LABELS, ...(index < aboutAgentFrom ? ROUTER_LABELS : []), ...own]);
    if (type === 'histogram') {
      for (const suffix of ['_sum', '_count']) catalogue.set(`${name}${suffix}`, labels);
      catalogue.set(`${name}_bucket`, new Set([...labels, 'le']));
    } else {
      // A family of two modules has the labels of both.
      catalogue.set(name, new Set([...(catalogue.get(name) ?? []), ...labels]));
    }
  }
  return catalogue;
}

/** What LogQL can ask lines for, in both layouts of the sink. */
export interface LineLabels {
  /** Labels of every stream, whatever the layout. */
  readonly stream: ReadonlySet<string>;
  /** Labels and structured metadata of every line together, whatever the layout. */
  readonly line: ReadonlySet<string>;
}

const RECORD: LogRecord = {
  timestamp: '2025-10-26T00:59:58.000018231Z',
  observed_timestamp: '2025-10-26T01:00:31.412Z',
  router: 'plant-7',
  component: 'network',
  tag: 'wan',
  severity: 'warning',
  message: 'wan1: connection check failed',
  uid: 'k7d2m4q2x4t5h7ca-00000e2f',
  file: 'network/current',
  offset: 18231,
  labels: { site: 'munich' },
  flags: ['zone_assumed'],
  event: 'log.gap',
};

/** What the sink `loki` makes of a record that has everything. */
export function readLineLabels(): LineLabels {
  const entries = [toLokiEntry(RECORD, { kind: 'router' }), toLokiEntry(RECORD, { kind: 'shard', shards: 8 })];
  const streams = entries.map(({ labels }) => new Set(Object.keys(labels)));
  const lines = entries.map(({ labels, metadata }) => new Set([...Object.keys(labels), ...Object.keys(metadata)]));
  const inAll = (sets: readonly ReadonlySet<string>[]) =>
    new Set([...(sets[0] ?? [])].filter((label) => sets.every((set) => set.has(label))));
  return { stream: inAll(streams), line: inAll(lines) };
}
