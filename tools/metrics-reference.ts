import { AGENT_FAMILIES } from '../src/agent/metrics/fleet-families.ts';
import { SelfMetrics } from '../src/agent/metrics/self-metrics.ts';
import { renderDuration } from '../src/base/index.ts';
import type { LogRuleSettings } from '../src/logs/index.ts';
import type { MetricDefinition, ModuleDefinition } from '../src/status/index.ts';

/** A row: a family, its labels other than `router` and the router's own, and the source of its field. */
interface Row {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly sources: readonly string[];
}

const INTRODUCTION = `# Metrics

<!-- Written by \`npm run docs\` from src/agent and src/status/modules. Do not edit. -->

\`/metrics\` exposes all of these, \`/metrics/agent\` those of the agent only, \`/probe?target=NAME\` those of one router, as Prometheus text 0.0.4 or
OpenMetrics 1.0.0, depending on the \`Accept\` header.

- Series of a router have the label \`router\` and its configured labels; the tables list the others.
- Values of a router expire when it has not responded for \`poll.stale_after\` (for three polls, where its modules are all read more rarely), or when their resource was not read for three of its intervals. Identity metrics and metrics of the
  agent itself (up, ages, failures, counters) remain.
- Samples have no timestamps. Counters read from a router are reset when it restarts.
- In OpenMetrics, families of the type \`info\` below have this type (in the text format they are gauges), and counters lose the suffix in their description. State sets are gauges in both formats, 1 for the current state.
- Each metric of a module is **documented** by the vendor, **observed** on a device, or **inferred** from similar fields. A field that a device does not have gives no series. Its help names the fields and resources that it is polled from.
`;

/** Renders the reference of all metrics in Markdown from the shipped modules, the shipped log rules and the agent's families. */
export function renderMetricsReference(
  modules: readonly { readonly definition: ModuleDefinition; readonly isDefault: boolean }[],
  rules: readonly LogRuleSettings[],
): string {
  const self = new SelfMetrics('');
  // Only its names are wanted.
  self.readCluster(() => ({
    members: 0,
    missing: 0,
    isLeaseHeld: false,
    leaseAgeSeconds: 0,
    routersOwned: 0,
    areListsDifferent: false,
  }));
  const agent = AGENT_FAMILIES.map((family) => ({ ...family, sources: [] }));
  const own = self.describe().map((family) => ({ ...family, sources: [] }));
  const isProduct = ({ name }: Row) => name.startsWith('router_exporter_');
  return [
    INTRODUCTION,
    '## State of routers\n',
    renderTable(agent),
    '## Values of routers\n',
    ...modules.filter(({ definition }) => !definition.reader).map(renderModule),
    '## Log lines\n',
    'From the shipped log rules, which `log_rules` replaces or extends.\n',
    renderTable(mergeRows(rules.map(toRuleRow))),
    '## The agent itself\n',
    renderTable(own.filter(isProduct)),
    '## Process and runtime\n',
    renderTable(own.filter((row) => !isProduct(row))),
  ].join('\n');
}

function renderModule({ definition, isDefault }: { definition: ModuleDefinition; isDefault: boolean }): string {
  const { name, help, resources } = definition;
  const paths = [...new Set(resources.map(({ path }) => `\`${path}\``))].join(', ');
  const metrics = resources.flatMap((resource) =>
    resource.metrics.map((metric) => toRow(metric, Object.keys(resource.labels))),
  );
  const rows = mergeRows(metrics);
  return `### Module \`${name}\`

${help} Read ${renderInterval(definition)} from ${paths}.${isDefault ? '' : ' Not in the default set.'}

${renderTable(rows, true)}`;
}

function renderInterval({ intervalMs, minIntervalMs }: ModuleDefinition): string {
  if (intervalMs !== undefined) return `every ${renderDuration(intervalMs)}`;
  return minIntervalMs === undefined
    ? 'at every poll'
    : `at polls, not more often than every ${renderDuration(minIntervalMs)},`;
}

function toRow(metric: MetricDefinition, shared: readonly string[]): Row {
  const { name, help, type, labels, stateLabel, source } = metric;
  const state = type === 'stateset' ? [stateLabel] : [];
  return { name, help, type, labels: [...shared, ...Object.keys(labels), ...state], sources: source ? [source] : [] };
}

function toRuleRow({ name, help, type, labels, fixed_labels }: LogRuleSettings): Row {
  return { name, help, type, labels: ['component', ...labels, ...Object.keys(fixed_labels)], sources: [] };
}

/** Merges rows of the same family. */
function mergeRows(rows: readonly Row[]): readonly Row[] {
  const merged = new Map<string, Row>();
  for (const row of rows) {
    const known = merged.get(row.name) ?? { ...row, labels: [], sources: [] };
    merged.set(row.name, {
      ...known,
      labels: [...new Set([...known.labels, ...row.labels])],
      sources: [...new Set([...known.sources, ...row.sources])],
    });
  }
  return [...merged.values()];
}

function renderTable(rows: readonly Row[], hasSources = false): string {
  const header = hasSources
    ? '| Metric | Type | Labels | Known | |\n|---|---|---|---|---|'
    : '| Metric | Type | Labels | |\n|---|---|---|---|';
  const lines = rows.map(({ name, type, labels, sources, help }) => {
    const cells = [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', ')];
    return `| ${[...cells, ...(hasSources ? [sources.join(', ')] : []), help.replaceAll('|', '\\|')].join(' | ')} |`;
  });
  return `${[header, ...lines].join('\n')}\n`;
}
