import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startRouterExporter } from '../support/child.ts';
import {
  type ComposeFile,
  type ComposeService,
  checkComposeFile,
  layOutMounts,
  listMounts,
} from '../support/compose-file.ts';
import { parseDockerfile, readWords } from '../support/dockerfile.ts';
import { openLokiServer } from '../support/sinks/loki-server.ts';
import { withPrograms } from '../support/tools.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/compose/', import.meta.url));
const FILE = join(FOLDER, 'compose.yaml');
const text = readFileSync(FILE, 'utf8');

/** What the services mount, laid out: `<tree>/<service>/<path in its container>`. */
let tree: string;
let file: ComposeFile;
const service = (name: string): ComposeService => file.services[name] ?? {};
const mounts = () => Object.values(file.services).flatMap(listMounts);
const inService = (name: string, path: string) => join(tree, name, path);
const readYaml = (name: string, path: string): unknown => parse(readFileSync(inService(name, path), 'utf8'));

withPrograms(['docker-compose'], describe)('the compose file', () => {
  beforeAll(() => {
    tree = mkdtempSync(join(tmpdir(), 'router-exporter-compose-'));
    const checked = checkComposeFile(FILE);
    if (checked.file === undefined) throw new SyntaxError(checked.complaint);
    file = checked.file;
    for (const [name, one] of Object.entries(file.services)) layOutMounts(one, join(tree, name));
  });
  afterAll(() => rmSync(tree, { recursive: true, force: true }));

  test.for([
    ['beside the services', `${text}\nservises: {}\n`, 'servises'],
    ['in a service', text.replace('    image: grafana/loki', '    imagee: x\n    image: grafana/loki'), 'imagee'],
    ['in a health check', text.replace('start_period: 30s', 'startperiod: 30s'), 'startperiod'],
    ['to depend on', text.replace('depends_on: [prometheus', 'depends_on: [promethius'), 'promethius'],
  ])('would not pass its checker with an unknown name %s', ([, bad = '', name = '']) => {
    const copy = join(tree, 'compose.yaml');
    writeFileSync(copy, bad);
    expect(bad).not.toBe(text);
    expect(checkComposeFile(copy).complaint).toMatch(new RegExp(`exit code 1: [^]*${name}`));
  });

  test('mounts files that exist, all read-only, and every volume that it declares', () => {
    expect(Object.keys(file.services).toSorted()).toEqual(['agent', 'fleet', 'grafana', 'loki', 'prometheus']);
    const paths = mounts().filter(({ isVolume }) => !isVolume);
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter(({ source, isReadOnly }) => !existsSync(source) || !isReadOnly)).toEqual([]);
    const volumes = mounts().flatMap(({ source, isVolume }) => (isVolume ? [source] : []));
    expect(Object.keys(file.volumes).toSorted()).toEqual([...new Set(volumes)].toSorted());
  });

  test('pins its images, watches over every service, and publishes nothing beyond this machine', () => {
    for (const [name, { image, build, ports = [], healthcheck, restart }] of Object.entries(file.services)) {
      expect(image, name).toMatch(/^(router-exporter:local|[\w/-]+:v?\d+\.\d+\.\d+)$/);
      // The health check of the agent is that of its image.
      expect(healthcheck !== undefined || build !== undefined, name).toBe(true);
      expect(
        ports.filter((port) => !port.startsWith('127.0.0.1:')),
        name,
      ).toEqual([]);
      expect(restart, name).toBe('unless-stopped');
      if (build) expect(existsSync(join(build.context, build.dockerfile)), name).toBe(true);
    }
    expect([service('agent').read_only, service('fleet').read_only]).toEqual([true, true]);
    // The checker itself does not ask this of networks.
    const networks = Object.values(file.services).flatMap((one) => Object.keys(one.networks ?? {}));
    expect(new Set(networks)).toEqual(new Set(Object.keys(file.networks)));
    expect(file.networks['routers']?.internal).toBe(true);
    expect(text).not.toMatch(/(password|secret|token)\w*:\s*\S/i);
  });

  test('gives every simulated router the name and port that the agent looks for', () => {
    const { routers } = readYaml('agent', '/etc/router-exporter/router-exporter.yaml') as {
      routers: { name: string; url: string }[];
    };
    const command = service('fleet').command ?? [];
    const first = Number(command[command.indexOf('--listen') + 1]?.slice(1));
    expect(routers.length).toBe(Number(command[command.indexOf('--routers') + 1]));
    expect(routers).toMatchObject(routers.map((_, index) => ({ url: `https://sim-${index + 1}:${first + index}` })));
    // What the file and docs/install.md say of it.
    expect(command.join(' ')).toMatch(/ --fault sim-6=down$/);
    expect(service('fleet').networks?.['routers']?.aliases).toEqual(routers.map(({ name }) => name));
    expect(Object.keys(service('agent').networks ?? {})).toContain('routers');
  });

  test('has a configuration for the agent that its own check accepts', async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    writeFileSync(inService('agent', '/etc/router-exporter/fleet/ca.pem'), simulator.caPem);
    const config = inService('agent', '/etc/router-exporter/router-exporter.yaml');
    await using check = startRouterExporter('check', '--config.file', copyBeside(config));
    expect(await check.ended).toMatchObject({ code: 0, stderr: '' });
  });

  test('runs an agent and a fleet that find each other, and Loki', async () => {
    const folder = inService('agent', '/etc/router-exporter');
    const caFile = join(folder, 'fleet/ca.pem');
    const command = (service('fleet').command ?? []).map((word) =>
      word.endsWith('/ca.pem') ? caFile : word.replace(/^:9443$/, '127.0.0.1:0'),
    );
    await using fleet = startRouterExporter(...command);
    await fleet.waitFor('stdout', /Ctrl-C/);
    await using loki = await openLokiServer({ now: () => createSystemClock().now() });
    // Names that only the network of the containers has become addresses; the certificates are still asked for the names.
    const here = readFileSync(join(folder, 'router-exporter.yaml'), 'utf8')
      .replaceAll(/url: "https:\/\/(sim-\d):\d+"/g, (_match, name: string) => {
        const [, url] = new RegExp(`^${name}\\s+(https:\\S+)`, 'm').exec(fleet.stdout) ?? [];
        return `url: "${url}", tls: { server_name: ${name} }`;
      })
      .replace('http://loki:3100', loki.url)
      .replace('interval: 15s, timeout: 5s, deadline: 15s', 'interval: 1s, timeout: 1s, deadline: 1s')
      .replace('interval: 10s', 'interval: 1s');
    const config = join(folder, 'here.yaml');
    writeFileSync(config, here);
    const flags = [
      '--storage.path',
      join(tree, 'state'),
      '--web.listen-address',
      '127.0.0.1:0',
      '--log.format',
      'text',
    ];
    await using agent = startRouterExporter('run', '--config.file', config, ...flags);
    const [, port] = await agent.waitFor('stderr', /127\.0\.0\.1:(\d+)/);
    const readUp = async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const ups = [...metrics.matchAll(/^router_up\{.*router="(sim-\d)".*\} (\d)$/gm)];
      return ups.map(([, name, up]) => `${name} ${up}`).toSorted();
    };
    await expect.poll(readUp).toEqual(['sim-1 1', 'sim-2 1', 'sim-3 1', 'sim-4 1', 'sim-5 1', 'sim-6 0']);
    await expect
      .poll(() => new Set(loki.records().map(({ labels }) => labels['site'])))
      .toEqual(new Set(['munich', 'hamburg']));
    expect(loki.violations).toEqual([]);
  });

  test('can have two agents, which share the routers on ports of one network, each with its state, and Prometheus asks both', () => {
    const { file: both, complaint } = checkComposeFile(FILE, join(FOLDER, 'compose.shards.yaml'));
    expect(complaint).toBe('');
    const { agent = {}, 'agent-1': other = {}, prometheus = {} } = both?.services ?? {};
    const image = parseDockerfile(readFileSync(join(FOLDER, '../container/Dockerfile'), 'utf8')).at(-1);
    const command = readWords(image?.instructions.find(({ keyword }) => keyword === 'CMD')?.text ?? '');
    for (const [index, one] of [agent, other].entries()) {
      expect(one.command).toEqual([...command, '--total-shards=2', `--shard=${index}`, '--web.shard-ports']);
      const { image: name, restart, read_only } = one;
      expect({ name, restart, read_only }).toEqual({
        name: agent.image,
        restart: 'unless-stopped',
        read_only: true,
      });
    }
    expect([other.network_mode, other.ports]).toEqual(['service:agent', undefined]);
    expect(other.environment?.['HEALTH_URL']).toBe('http://127.0.0.1:9848/-/healthy');
    expect(agent.ports).toEqual(['127.0.0.1:9847:9847/tcp', '127.0.0.1:9848:9848/tcp']);
    const [states, otherStates] = [agent, other].map((one) =>
      listMounts(one).filter(({ target }) => target === '/var/lib/router-exporter'),
    );
    expect(states?.[0]?.source).not.toBe(otherStates?.[0]?.source);
    const rest = [agent, other].map((one) => listMounts(one).filter(({ target }) => target !== states?.[0]?.target));
    expect(rest[0]).toEqual(rest[1]);
    const config = listMounts(prometheus).find(({ target }) => target === '/etc/prometheus/prometheus.yml');
    const single = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8');
    const withBoth = single.replace('["agent:9847"]', '["agent:9847", "agent:9848"]');
    expect(parse(readFileSync(config?.source ?? '', 'utf8'))).toEqual(parse(withBoth));
  });

  test('has a Grafana that is given our dashboards and the addresses of the others', () => {
    const { datasources } = readYaml('grafana', '/etc/grafana/provisioning/datasources/router-exporter.yaml') as {
      datasources: { url: string; type: string }[];
    };
    expect(datasources).toMatchObject([
      { type: 'prometheus', url: 'http://prometheus:9090' },
      { type: 'loki', url: 'http://loki:3100' },
    ]);
    const { providers } = readYaml('grafana', '/etc/grafana/provisioning/dashboards/router-exporter.yaml') as {
      providers: { options: { path: string } }[];
    };
    const folder = providers[0]?.options.path ?? '';
    expect(readdirSync(inService('grafana', folder)).filter((name) => name.endsWith('.json'))).not.toEqual([]);
    const home = service('grafana').environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
    expect(home.startsWith(`${folder}/`)).toBe(true);
    expect(JSON.parse(readFileSync(inService('grafana', home), 'utf8'))).toMatchObject({ uid: expect.any(String) });
  });

  test('has a Loki that keeps everything in its volume and takes lines as old as the agent sends', () => {
    const config = readYaml('loki', '/etc/loki/loki.yaml') as {
      server: { http_listen_port: number };
      common: { path_prefix: string; storage: { filesystem: Record<string, string> } };
      compactor: { working_directory: string };
      ruler: { rule_path: string; storage: { local: { directory: string } } };
      ruler_storage: { backend: string; local: { directory: string } };
      limits_config: { reject_old_samples_max_age: string };
    };
    expect(service('loki').command).toEqual(['-config.file=/etc/loki/loki.yaml']);
    expect(config.server.http_listen_port).toBe(3100);
    const volume = listMounts(service('loki')).find(({ isVolume }) => isVolume)?.target;
    const paths = [
      config.common.path_prefix,
      config.compactor.working_directory,
      config.ruler.rule_path,
      ...Object.values(config.common.storage.filesystem),
    ];
    expect(paths.filter((path) => path !== volume && !path.startsWith(`${volume}/`))).toEqual([]);
    // Loki from 3.8 on ignores the former.
    expect(config.ruler_storage).toEqual({ backend: 'local', local: config.ruler.storage.local });
    // Without logins there is one tenant, and that is its name.
    const rules = inService('loki', join(config.ruler.storage.local.directory, 'fake'));
    const groups = readdirSync(rules).flatMap(
      (name) => (parse(readFileSync(join(rules, name), 'utf8')) as Rules).groups,
    );
    expect(groups).toEqual(expect.arrayContaining([expect.objectContaining({ rules: expect.any(Array) })]));
    expect(config.limits_config.reject_old_samples_max_age).toBe('7d');
    expect(readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8')).toContain(
      '| `max_age` | duration | `1w` | Age at which Loki rejects lines',
    );
  });

  withPrograms(['docker-compose', 'promtool'], describe)('the Prometheus of the compose file', () => {
    const CONFIG = '/etc/prometheus/prometheus.yml';
    const check = (path: string) => spawnSync('promtool', ['check', 'config', path], { encoding: 'utf8' });

    test('has a configuration with rules that promtool accepts, and scrapes the agent', () => {
      const { status, stdout, stderr } = check(inService('prometheus', CONFIG));
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(Number(/(\d+) rule files found/.exec(stdout)?.[1])).toBeGreaterThan(0);
      expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
      const { scrape_configs: jobs } = readYaml('prometheus', CONFIG) as {
        scrape_configs: { static_configs: { targets: string[] }[] }[];
      };
      expect(jobs.flatMap(({ static_configs: groups }) => groups.flatMap(({ targets }) => targets))).toEqual([
        'agent:9847',
      ]);
      expect(service('prometheus').command).toContain(`--config.file=${CONFIG}`);
    });

    test('would not pass promtool with an unknown key, or with a rule that is none', () => {
      const broken = (change: (text: string) => string, rule: string) => {
        const folder = mkdtempSync(join(tree, 'prometheus-'));
        writeFileSync(join(folder, 'rule.yaml'), rule);
        writeFileSync(join(folder, 'prometheus.yml'), change(readFileSync(inService('prometheus', CONFIG), 'utf8')));
        return check(join(folder, 'prometheus.yml'));
      };
      const withKey = broken((config) => `${config}\nscrape_confgs: []\n`, '');
      expect(withKey).toMatchObject({ status: 1, stderr: expect.stringContaining('scrape_confgs') });
      const withRule = broken(
        (config) => config.replace(/^rule_files: .*$/m, 'rule_files: ["rule.yaml"]'),
        'groups: [{ name: a, rules: [{ alert: A, expr: "sum(" }] }]',
      );
      expect(withRule).toMatchObject({ status: 1, stderr: expect.stringContaining('parse error') });
    });
  });
});

interface Rules {
  readonly groups: readonly object[];
}

/** A copy of a file that is mounted, as a file of its own: relative paths in it begin where it is mounted. */
function copyBeside(path: string): string {
  const copy = path.replace(/\.yaml$/, '.copy.yaml');
  writeFileSync(copy, readFileSync(path));
  return copy;
}
