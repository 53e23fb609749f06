import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const CHART = fileURLToPath(new URL('../../deploy/helm', import.meta.url));
const read = (name: string) => readFileSync(join(CHART, name), 'utf8');
const defaults = parse(read('values.yaml')) as Record<string, unknown>;
const page = read('README.md');
/** The examples of the page: whole values, and a network policy. */
const [wholeExample = '', policyExample = ''] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text ?? '');

/** Versions of Kubernetes whose schemas are there: the oldest that the chart takes, and the newest known. */
const KUBERNETES = sampled('schemas of Kubernetes', ['v1.28.0', 'v1.37.0'], ['v1.37.0']);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'router-exporter-helm-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
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
  serviceAccountName: 'nobody',
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
    expect(sumOf({ ...MINIMAL, shards: 2 })).toBe(sumOf(MINIMAL));
    expect(sumOf({ ...MINIMAL, files: { 'device-ca.pem': 'another' } })).not.toBe(sumOf(MINIMAL));
  });

  test('renders pods that share a fleet: each router is polled by one of them, and probes and scrapes find their paths', async () => {
    await using simulator = await startSimulator({ routers: 6, clock: createSystemClock(), seed: 1 });
    const shards = 2;
    const config = {
      defaults: {
        username: 'monitor',
        password_file: '/run/secrets/router-exporter/router-password',
        tls: { ca_file: 'device-ca.pem' },
      },
      routers: simulator.routers.map(({ name, url }) => ({ name, url })),
      sinks: [{ name: 'console', type: 'stdout' }],
    };
    const rendered = render({
      ...EVERYTHING,
      config,
      files: { 'device-ca.pem': simulator.caPem },
      shards,
      web: { routePrefix: '/routers' },
    });
    const spec = readStatefulSet(rendered);
    expect(spec.replicas).toBe(shards);
    const [container] = spec.template.spec.containers;
    const monitor = find(rendered, 'PodMonitor').spec as { podMetricsEndpoints: [{ path: string }] };
    await using agents = new AsyncDisposableStack();
    const addresses = await Promise.all(
      Array.from({ length: shards }, async (_, index) => {
        const mounts = join(folder, `pod-${index}`);
        layOut(mounts, '/etc/router-exporter', find(rendered, 'ConfigMap').data ?? {});
        layOut(mounts, '/run/secrets/router-exporter', { 'router-password': 'simulated\n' });
        const file = join(mounts, 'etc/router-exporter/router-exporter.yaml');
        writeFileSync(file, readFileSync(file, 'utf8').replace('/run/secrets', `${mounts}/run/secrets`));
        const port = await findFreePort();
        const words = container.args.map((word) =>
          word
            .replace('$(SHARD)', String(index))
            .replace(/=(\/(etc|var)\/)/, `=${mounts}$1`)
            .replace(/(listen-address=).*/, `$1127.0.0.1:${port}`),
        );
        await agents.use(startRouterExporter(...words)).waitFor('stderr', /Started/);
        return `http://127.0.0.1:${port}`;
      }),
    );
    const readUps = () =>
      Promise.all(
        addresses.map(async (address) => {
          const metrics = await (await fetch(`${address}${monitor.podMetricsEndpoints[0].path}`)).text();
          const ups = [...metrics.matchAll(/^router_up\{.*router="(sim-\d)".*\} (\d)$/gm)];
          return ups.map(([, name, up]) => `${name} ${up}`);
        }),
      );
    const expected = simulator.routers.map(({ name }) => `${name} 1`);
    await expect.poll(async () => (await readUps()).flat().toSorted()).toEqual(expected);
    expect((await readUps()).map((ups) => ups.length)).not.toContain(0);
    for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
      for (const address of addresses) expect((await fetch(`${address}${httpGet.path}`)).status).toBe(200);
    }
  });
});

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
