import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { runCommand } from '../cli/run-command.ts';
import { CERTIFICATE } from '../config/configuration-folder.ts';
import { PROGRAM, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { recordInstallation, StopWatch } from '../support/installation-figures.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';
import { listAlerts, readShippedRules } from './rules-files.ts';

const CHART = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
const read = (name: string) => readFileSync(join(CHART, name), 'utf8');
const defaults = parse(read('values.yaml')) as Record<string, unknown>;
const page = read('README.md');
/** The examples of the page: whole values, a cluster, monitoring, and a network policy. */
const [wholeExample = '', clusterExample = '', monitoringExample = '', policyExample = ''] = [
  ...page.matchAll(/```yaml\n(.*?)```/gs),
].map(([, text]) => text ?? '');

const CREDENTIALS = `-----BEGIN NATS USER JWT-----
eyJ0
------END NATS USER JWT------
-----BEGIN USER NKEY SEED-----
SUAC
------END USER NKEY SEED------
`;

/** Versions of Kubernetes whose schemas are there: the oldest that the chart takes, and the newest known. */
const KUBERNETES = sampled('schemas of Kubernetes', ['v1.28.0', 'v1.37.0'], ['v1.37.0']);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-helm-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}

interface StatefulSetSpec {
  readonly replicas: number;
  readonly serviceName: string;
  readonly template: {
    readonly metadata: { readonly labels: Record<string, string>; readonly annotations: Record<string, string> };
    readonly spec: {
      readonly automountServiceAccountToken: boolean;
      readonly terminationGracePeriodSeconds: number;
      readonly securityContext: object;
      readonly volumes: readonly object[];
      readonly serviceAccountName: string;
      readonly initContainers?: readonly [Container];
      readonly containers: readonly [Container];
    };
  };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: object;
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

/** Runs Helm with these values, which it gets as a file. */
function runHelm(command: readonly string[], values: string | object) {
  const file = join(mkdtempSync(join(folder, 'values-')), 'values.yaml');
  writeFileSync(file, typeof values === 'string' ? values : stringify(values));
  const env = { ...process.env, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
  return spawnSync('helm', [...command, CHART, '--values', file], { encoding: 'utf8', env });
}

/** What Helm has made of some values, by them: each run takes half a second of the processor. */
const renders = new Map<string | object, string>();

function render(values: string | object): string {
  const known = renders.get(values);
  if (known !== undefined) return known;
  const { status, stdout, stderr } = runHelm(['template', 'plant', '--namespace', 'monitoring'], values);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  renders.set(values, stdout);
  return stdout;
}

function readManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function find(text: string, kind: string): Manifest {
  return readManifests(text).find((one) => one.kind === kind) ?? expect.unreachable(`there is no ${kind}`);
}

const readStatefulSet = (text: string) => find(text, 'StatefulSet').spec as StatefulSetSpec;

const MINIMAL = {
  image: { repository: 'registry.example.com/router-exporter' },
  config: { routers: [{ name: 'plant-7', url: 'https://192.0.2.10', username: 'monitor', password: '${PASSWORD}' }] },
};
const EVERYTHING = {
  ...MINIMAL,
  image: { repository: 'registry.example.com/router-exporter', digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  shards: 3,
  files: { 'device-ca.pem': '-----BEGIN CERTIFICATE-----\n"quoted": and more\n' },
  existingSecret: 'router-exporter',
  environmentSecret: 'router-passwords',
  extraArgs: ['--log.level=debug'],
  web: { port: 8443, scheme: 'HTTPS', routePrefix: '/routers' },
  persistence: { size: '1Gi', storageClass: 'fast', retainWhenDeleted: false },
  podMonitor: {
    enabled: true,
    labels: { release: 'prometheus' },
    endpoint: { authorization: { credentials: { name: 'scraper', key: 'token' } }, tlsConfig: { serverName: 'agent' } },
  },
  ...(parse(policyExample) as object),
  podDisruptionBudget: { maxUnavailable: '50%' },
  serviceMonitor: { enabled: false },
  prometheusRule: {
    enabled: true,
    labels: { release: 'prometheus' },
    runbookUrl: 'https://docs.example.net/router-exporter/',
    groups: (parse(read('../prometheus/examples/settings.yaml')) as { groups: object[] }).groups,
  },
  dashboards: { enabled: true, annotations: { grafana_folder: 'Routers' } },
  service: { type: 'LoadBalancer', port: 443, annotations: { note: 'a note' } },
  nameOverride: 'routers',
  serviceAccount: { create: false, name: 'nobody' },
  podAnnotations: { note: 'a note' },
  podLabels: { team: 'plants' },
  nodeSelector: { zone: 'a' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  affinity: { podAntiAffinity: {} },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { team: 'plants' } },
    },
  ],
  priorityClassName: 'high',
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
};
const VALUES: readonly (readonly [name: string, values: string | object])[] = [
  ['the least values', MINIMAL],
  ['every value', EVERYTHING],
  ['the example of the page', wholeExample],
  ['no volume', { ...MINIMAL, persistence: { enabled: false }, podDisruptionBudget: { enabled: false } }],
  ['a ConfigMap of its own', { image: MINIMAL.image, existingConfigMap: 'ours' }],
  ['a cluster, as on the page', clusterExample],
  [
    'a cluster in a ConfigMap of its own, which somebody else has created',
    { image: MINIMAL.image, existingConfigMap: 'ours', cluster: { enabled: true, init: false } },
  ],
  ['monitoring, as on the page', { ...MINIMAL, ...(parse(monitoringExample) as object) }],
  ['several shards and a ServiceMonitor', { ...MINIMAL, shards: 3, serviceMonitor: { enabled: true } }],
  [
    'other names, and other contexts',
    {
      ...MINIMAL,
      fullnameOverride: 'agents',
      serviceAccount: { name: 'agents-only', annotations: { note: 'a note' } },
      podSecurityContext: { runAsNonRoot: true, runAsUser: 20_000, fsGroup: 20_000 },
    },
  ],
];

describe('the chart', () => {
  test('has the version of the product, and a page with every value, its default and nothing else', () => {
    const { version } = JSON.parse(read('../../package.json')) as { version: string };
    expect(parse(read('Chart.yaml'))).toMatchObject({ version, appVersion: version });
    const rows = [...page.matchAll(/^\| `([\w.]+)` \| `(.*?)` \|/gm)].map(([, key, value = '']) => [
      key,
      JSON.parse(value),
    ]);
    expect(Object.fromEntries(rows)).toEqual(flatten(defaults, parse(read('values.schema.json')) as Schema));
  });

  test('has the rules and dashboards that are shipped: `npm run chart` copies them', () => {
    for (const [copies, source] of [
      ['rules', 'deploy/prometheus'],
      ['dashboards', 'dashboards/json'],
    ] as const) {
      const names = readdirSync(join(CHART, '../..', source)).filter((name) => /\.(yaml|json)$/.test(name));
      expect(readdirSync(join(CHART, copies)).toSorted()).toEqual(names.toSorted());
      for (const name of names) expect(read(`${copies}/${name}`)).toBe(read(`../../${source}/${name}`));
    }
  });
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The defaults by path, down to what the schema lists. */
function flatten(values: Readonly<Record<string, unknown>>, schema: Schema, prefix = ''): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {}).filter((name) => prefix !== '' || name !== 'global');
  expect(Object.keys(values).toSorted()).toEqual(names.toSorted());
  return Object.assign(
    {},
    ...names.map((name) => {
      const inner = schema.properties?.[name];
      if (inner?.properties === undefined) return { [`${prefix}${name}`]: values[name] };
      return flatten(values[name] as Record<string, unknown>, inner, `${prefix}${name}.`);
    }),
  ) as Record<string, unknown>;
}

withPrograms(['helm'], describe)('Helm', () => {
  test.for(VALUES)('finds no fault in the chart with %s', ([, values]) => {
    expect(runHelm(['lint', '--strict'], values)).toMatchObject({ status: 0, stderr: '' });
  });

  test.for([
    ['an unknown value', { ...MINIMAL, shard: 2 }, /shard/],
    ['a number of shards that is none', { ...MINIMAL, shards: 0 }, /shards/],
    ['no image', { config: MINIMAL.config }, /image\.repository: where the image/],
    ['no configuration', { image: MINIMAL.image }, /config: the content of router-exporter\.yaml/],
    ['two monitors', { ...MINIMAL, podMonitor: { enabled: true }, serviceMonitor: { enabled: true } }, /enable one/],
    [
      'a prefix of paths that probes would not follow',
      { ...MINIMAL, config: { ...MINIMAL.config, web: { route_prefix: '/r' } } },
      /route_prefix: use web\.routePrefix/,
    ],
    ['two configurations', { ...MINIMAL, existingConfigMap: 'ours' }, /existingConfigMap excludes config/],
    [
      'a file that would replace the configuration',
      { ...MINIMAL, files: { 'router-exporter.yaml': '' } },
      /router-exporter\.yaml/,
    ],
  ] as const)('refuses %s', ([, values, message]) => {
    expect(runHelm(['template', 'plant'], values)).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
  });

  test('renders pods without rights, which write to their volume alone', () => {
    const { template, volumeClaimTemplates } = readStatefulSet(render(EVERYTHING));
    const [container] = template.spec.containers;
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        fsGroup: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    // The user of the image, and more time than the agent needs to end.
    expect(read('../container/Dockerfile')).toContain('USER 10001:10001');
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(10);
    const writable = container.volumeMounts
      .filter(({ readOnly }) => readOnly !== true)
      .map(({ mountPath }) => mountPath);
    expect(writable.toSorted()).toEqual(['/more', '/tmp', '/var/lib/router-exporter']);
    expect(volumeClaimTemplates).toMatchObject([{ metadata: { name: 'state' } }]);
    expect(container.image).toMatch(/@sha256:0+$/);
  });

  test('restarts the pods when the configuration changes, and only then', () => {
    const sumOf = (values: object) => readStatefulSet(render(values)).template.metadata.annotations['checksum/config'];
    expect(sumOf(MINIMAL)).toMatch(/^[\da-f]{64}$/);
    expect(sumOf({ ...MINIMAL, podLabels: { team: 'plants' } })).toBe(sumOf(MINIMAL));
    expect(sumOf({ ...MINIMAL, files: { 'device-ca.pem': 'another' } })).not.toBe(sumOf(MINIMAL));
  });

  test('renders names, account and labels as they are asked for', () => {
    const names = (values: object) =>
      readManifests(render(values)).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names({ ...MINIMAL, fullnameOverride: 'agents' }).toSorted()).toEqual([
      'ConfigMap agents',
      'Pod agents-test',
      'PodDisruptionBudget agents',
      'Service agents',
      'Service agents-headless',
      'ServiceAccount agents',
      'StatefulSet agents',
    ]);
    expect(names({ ...MINIMAL, nameOverride: 'icom' })).toContain('StatefulSet plant-icom');
    expect(readStatefulSet(render(MINIMAL)).template.spec.serviceAccountName).toBe('plant-router-exporter');
    expect(readStatefulSet(render(EVERYTHING)).template.spec.serviceAccountName).toBe('nobody');
    const without = { ...MINIMAL, serviceAccount: { create: false } };
    expect(readStatefulSet(render(without)).template.spec.serviceAccountName).toBe('default');
    expect(names(without)).not.toContain('ServiceAccount plant-router-exporter');
  });

  test('renders a network policy in which the pods reach each other', () => {
    const { networkPolicy } = parse(policyExample) as {
      readonly networkPolicy: Readonly<Record<'from' | 'egress', readonly unknown[]>>;
    };
    const { podSelector, ingress, egress } = find(render(EVERYTHING), 'NetworkPolicy').spec as {
      readonly podSelector: unknown;
      readonly ingress: readonly { readonly from: readonly unknown[] }[];
      readonly egress: readonly unknown[];
    };
    expect(ingress[0]?.from).toEqual([...networkPolicy.from, { podSelector }]);
    expect(egress).toEqual([...networkPolicy.egress, { to: [{ podSelector }] }]);
    const open = find(render({ ...MINIMAL, networkPolicy: { enabled: true } }), 'NetworkPolicy').spec;
    expect(open).toEqual({
      podSelector: expect.anything(),
      policyTypes: ['Ingress'],
      ingress: [{ ports: [expect.anything()] }],
    });
  });

  test('renders a monitor whose keys the values may replace', () => {
    const serviceMonitor = { enabled: true, endpoint: { interval: '5s', path: '/other', honorLabels: true } };
    const { endpoints } = find(render({ ...MINIMAL, serviceMonitor }), 'ServiceMonitor').spec as {
      readonly endpoints: readonly unknown[];
    };
    expect(endpoints).toMatchObject([{ port: 'http', interval: '5s', path: '/other', honorLabels: true }]);
  });

  test('renders a monitor that scrapes each pod once, though two services have it', () => {
    const rendered = render({ ...MINIMAL, serviceMonitor: { enabled: true } });
    const services = readManifests(rendered).filter(({ kind }) => kind === 'Service');
    const { selector } = find(rendered, 'ServiceMonitor').spec as { selector: { matchLabels: Record<string, string> } };
    const isMatched = ({ metadata: { labels } }: Manifest) =>
      Object.entries(selector.matchLabels).every(([name, value]) => labels[name] === value);
    expect(services).toHaveLength(2);
    expect(services.filter(isMatched).map(({ spec }) => spec)).toMatchObject([
      { clusterIP: 'None', publishNotReadyAddresses: true },
    ]);
    expect(readStatefulSet(rendered).serviceName).toBe(services.find(isMatched)?.metadata.name);
  });

  test('renders all rules, with the address of the runbooks, and all dashboards, as Grafana reads them', () => {
    const manifests = readManifests(render(EVERYTHING));
    const groups = manifests
      .filter(({ kind }) => kind === 'PrometheusRule')
      .flatMap(({ spec }) => (spec as { groups: { rules: Rule[] }[] }).groups);
    const rules = groups.flatMap((group) => group.rules);
    const alerts = rules.filter(({ alert }) => alert !== undefined);
    expect(listAlerts(alerts)).toEqual(listAlerts(readShippedRules()));
    for (const { annotations } of alerts) {
      expect(annotations?.['runbook_url']).toMatch(/^https:\/\/docs\.example\.net\/router-exporter\/docs\/runbooks\//);
    }
    expect(rules.length).toBeGreaterThan(readShippedRules().length);
    const boards = manifests.filter(({ metadata }) => metadata.labels['grafana_dashboard'] === '1');
    const titles = boards.flatMap(({ data = {} }) =>
      Object.values(data).map((text) => (JSON.parse(text) as { title: string }).title),
    );
    expect(titles.toSorted()).toEqual(
      ['Agent', 'Cellular', 'Fleet', 'Logs', 'Router'].map((name) => expect.stringContaining(name)),
    );
  });

  test('renders a test that asks a pod as the health check of the image does', () => {
    const rendered = render({ ...MINIMAL, web: { routePrefix: '/routers' }, service: { port: 80 } });
    const { containers } = find(rendered, 'Pod').spec as { containers: [{ command: string[]; env: object[] }] };
    const [{ command, env }] = containers;
    expect(read('../container/Dockerfile')).toContain(`CMD ${JSON.stringify(command).replaceAll(',', ', ')}`);
    expect(env).toEqual([{ name: 'HEALTH_URL', value: 'http://plant-router-exporter:80/routers/-/ready' }]);
  });

  test.for(VALUES)('renders with %s a configuration in which `check` finds no fault', async ([, values]) => {
    const rendered = render(values);
    const data = readManifests(rendered).find((one) => one.data?.['router-exporter.yaml'] !== undefined)?.data;
    // A ConfigMap that is not of the chart is not to be checked here.
    if (data === undefined) return;
    vi.stubEnv('PASSWORD', 'simulated');
    vi.stubEnv('HOSTNAME', 'plant-router-exporter-0');
    onTestFinished(() => void vi.unstubAllEnvs());
    // The page leaves out the content of files.
    const files = { ...data, ...(data['device-ca.pem'] !== undefined && { 'device-ca.pem': CERTIFICATE }) };
    const file = layOutPod(join(folder, 'checked'), files);
    const { code, stdout } = await runCommand(['check', '--config.file', file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.any(String) });
  });

  test('renders pods that share a fleet: each router is polled by one of them, and probes and scrapes find their paths', async () => {
    await using simulator = await startSimulator({ routers: 6, clock: createSystemClock(), seed: 1 });
    const watch = new StopWatch();
    await using pods = await runPods({ ...EVERYTHING, shards: 2, web: { routePrefix: '/routers' } }, simulator);
    expect(pods.replicas).toBe(2);
    await expectShared(pods, simulator);
    const method = 'Kubernetes, two shards, without a cluster';
    // helm install, helm upgrade, helm uninstall; volumes stay.
    const [upgrade, removal] = [{ commands: 1 }, { commands: 1 }];
    recordInstallation({ method, first: { commands: 1, ms: watch.lap() }, upgrade, removal });
    // Each page shows the routers of all.
    const targets = (await (await fetch(`${pods.addresses[0]}/routers/sd`)).json()) as { targets: string[] }[];
    const domain = 'plant-routers-headless.monitoring.svc:9847';
    expect([...new Set(targets.flatMap((group) => group.targets))].toSorted()).toEqual([
      `plant-routers-0.${domain}`,
      `plant-routers-1.${domain}`,
    ]);
  });

  withPrograms(['nats-server'], test)(
    'renders pods of a cluster: the first of them creates it, and the routers are shared without shards',
    { timeout: 60_000 },
    async () => {
      await using server = await openNatsServer();
      await using simulator = await startSimulator({ routers: 6, clock: createSystemClock(), seed: 1 });
      // Here, the name of the machine is not that of the pod.
      const replica = '${HOSTNAME}';
      const nats = { servers: [server.url], name: 'plant', replica, lease: '3s', replicas: 1, max_bytes: '32MiB' };
      await using pods = await runPods({ ...EVERYTHING, shards: 2, web: { routePrefix: '/routers' } }, simulator, {
        cluster: { nats },
      });
      expect(pods.replicas).toBe(2);
      await expectShared(pods, simulator);
      const [first] = pods.addresses;
      const routers = (await (await fetch(`${first}/routers/sd`)).json()) as { targets: string[] }[];
      expect(new Set(routers.flatMap(({ targets }) => targets))).toEqual(
        new Set([0, 1].map((index) => `plant-routers-${index}.plant-routers-headless.monitoring.svc:9847`)),
      );
    },
  );
});

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Pods extends AsyncDisposable {
  readonly replicas: number;
  readonly addresses: readonly string[];
  readonly container: Container;
  /** Path that Prometheus asks each of them for. */
  readonly metricsPath: string;
}

/** Runs what the StatefulSet would: containers that come before, then the agent, each with its files, arguments and name. */
async function runPods(values: object, simulator: Simulator, more: object = {}): Promise<Pods> {
  const config = {
    ...more,
    defaults: {
      username: 'monitor',
      password_file: '/run/secrets/router-exporter/router-password',
      tls: { ca_file: 'device-ca.pem' },
    },
    routers: simulator.routers.map(({ name, url }) => ({ name, url })),
    sinks: [{ name: 'console', type: 'stdout' }],
  };
  const rendered = render({ ...values, config, files: { 'device-ca.pem': simulator.caPem } });
  const { replicas, template } = readStatefulSet(rendered);
  const { name } = find(rendered, 'StatefulSet').metadata;
  const { initContainers = [], containers } = template.spec;
  const [container] = containers;
  const monitor = find(rendered, 'PodMonitor').spec as { podMetricsEndpoints: [{ path: string }] };
  const agents = new AsyncDisposableStack();
  const addresses = [];
  for (let index = 0; index < replicas; index++) {
    const mounts = join(folder, `${name}-${index}`);
    const file = layOutPod(mounts, find(rendered, 'ConfigMap').data ?? {});
    const port = await findFreePort();
    const start = (args: readonly string[]) => {
      const words = args.map((word) =>
        word
          .replace('$(SHARD)', String(index))
          .replace(/(config\.file=).*/, `$1${file}`)
          .replace(/=(\/var\/)/, `=${mounts}$1`)
          .replace(/(listen-address=).*/, `$1127.0.0.1:${port}`),
      );
      return startProgram(process.execPath, [PROGRAM, ...words], { HOSTNAME: `${name}-${index}` });
    };
    for (const { args } of initContainers) {
      const { code, stderr } = await start(args).ended;
      expect({ code, stderr }).toMatchObject({ code: 0 });
    }
    await agents.use(start(container.args)).waitFor('stderr', /Started/);
    addresses.push(`http://127.0.0.1:${port}`);
  }
  const metricsPath = monitor.podMetricsEndpoints[0].path;
  return { replicas, addresses, container, metricsPath, [Symbol.asyncDispose]: () => agents.disposeAsync() };
}

/** Expects that each router is polled by one pod, that none is idle, and that all answer their probes. */
async function expectShared({ addresses, container, metricsPath }: Pods, simulator: Simulator): Promise<void> {
  const readUps = () =>
    Promise.all(
      addresses.map(async (address) => {
        const metrics = await (await fetch(`${address}${metricsPath}`)).text();
        const ups = [...metrics.matchAll(/^router_up\{.*router="(sim-\d)".*\} (\d)$/gm)];
        return ups.map(([, name, up]) => `${name} ${up}`);
      }),
    );
  const expected = simulator.routers.map(({ name }) => `${name} 1`);
  await expect
    .poll(
      async () => {
        const ups = await readUps();
        return { all: ups.flat().toSorted(), isAnyIdle: ups.some(({ length }) => length === 0) };
      },
      { timeout: 30_000 },
    )
    .toEqual({ all: expected, isAnyIdle: false });
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
    for (const address of addresses) expect((await fetch(`${address}${httpGet.path}`)).status).toBe(200);
  }
}

/** Writes the files of a pod below `mounts`, and returns that of its configuration. */
function layOutPod(mounts: string, data: Readonly<Record<string, string>>): string {
  layOut(mounts, '/etc/router-exporter', data);
  layOut(mounts, '/run/secrets/router-exporter', { 'router-password': 'simulated\n', 'cluster.creds': CREDENTIALS });
  const file = join(mounts, 'etc/router-exporter/router-exporter.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('/run/secrets', `${mounts}/run/secrets`));
  return file;
}

/** Writes the keys of a ConfigMap or Secret as files, as where it is mounted below `top`. */
function layOut(top: string, path: string, data: Readonly<Record<string, string>>): void {
  mkdirSync(join(top, path), { recursive: true });
  for (const [name, content] of Object.entries(data)) writeFileSync(join(top, path, name), content, { mode: 0o600 });
}

withPrograms(['helm', 'check-manifests'], describe)(
  `the schemas of Kubernetes${sampleNote('schemas of Kubernetes')}`,
  () => {
    /** Checks all of these at once: each start of the program costs half a second of the processor. */
    const check = (version: string, all: readonly string[]) => {
      const where = mkdtempSync(join(folder, 'manifests-'));
      const files = all.map((manifests, index) => {
        const file = join(where, `${index}.yaml`);
        writeFileSync(file, manifests);
        return file;
      });
      return spawnSync('check-manifests', [version, ...files], { encoding: 'utf8' });
    };

    test.for(KUBERNETES)('of %s take what the chart makes of all values', (version) => {
      const all = VALUES.map(([, values]) => render(values));
      const { status, stdout } = check(version, all);
      const summary = /Valid: (\d+), Invalid: 0, Errors: 0, Skipped: 0/.exec(stdout);
      expect({ status, stdout, valid: Number(summary?.[1]) }).toMatchObject({
        status: 0,
        valid: all.flatMap(readManifests).length,
      });
    });

    const FAULTS = [
      ['an unknown key of a probe', 'failureThreshold:', 'failureTreshold:'],
      ['a value of the wrong kind', 'runAsNonRoot: true', 'runAsNonRoot: 1'],
      ['an unknown key of a scrape', 'scrapeTimeout:', 'scrapeTimeOut:'],
      ['an unknown key of a network policy', 'namespaceSelector:', 'nameSpaceSelector:'],
      ['an unknown key of a rule', 'for: 5m', 'fore: 5m'],
      ['a kind that does not exist', 'kind: PodMonitor', 'kind: PodsMonitor'],
    ] as const;

    test.for(KUBERNETES)('of %s would take no manifest with a fault', (version) => {
      const manifests = render(EVERYTHING);
      const broken = FAULTS.map(([, before, after]) => manifests.replace(before, after));
      expect(broken).not.toContain(manifests);
      const { status, stdout } = check(version, broken);
      expect(status).toBe(1);
      const taken = FAULTS.filter((_fault, index) => !new RegExp(`/${index}\\.yaml - .*(invalid|failed)`).test(stdout));
      expect(taken, stdout).toEqual([]);
    });
  },
);
