import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../src/base/index.ts';
import { startSimulator } from '../src/simulator/index.ts';
import { THREAD_SOURCES } from '../tools/bundle.ts';
import { copyCheckout } from './support/checkout.ts';
import { startProgram } from './support/child.ts';
import { recordInstallation, StopWatch } from './support/installation-figures.ts';
import { sampled, sampleNote } from './support/sampled.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TSC = join(ROOT, 'node_modules/.bin/tsc');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
/** The compiler on a busy machine, and what npm does around it. */
const PACKING_MS_MAX = 5 * 60_000;
const REVISION = 'f1e2d3c4'.repeat(5);
/** What `--version` prints. */
const VERSION = `${manifest.version} (revision ${REVISION})\n`;

/** Somebody's project that has the package installed, and its dependencies, and nothing else. */
let project: string;
let packed: readonly string[];
let tarball: string;

const inProject = (...args: string[]) => startProgram(process.execPath, args, { NODE_OPTIONS: '' }, project);

/** The example of the reference. */
function readExample(): string {
  const section = readFileSync(join(ROOT, 'docs/reference.md'), 'utf8').split('## As a library\n')[1] ?? '';
  return /```ts\n(.*?)```/s.exec(section)?.[1] ?? '';
}

/** Every kind of file that there may be. */
const KINDS = [
  /^(bin\/router-exporter\.js|package\.json|[A-Z]+(\.md)?)$/,
  /^dist\/[\w.-]+\.js$/,
  /^dist\/types\/[\w/.-]+\.d\.ts$/,
  /^dist\/modules\/\w+\.yaml$/,
  /^dist\/dashboards\/[\w-]+\.json$/,
  /^dist\/assets\/pages\.(css|js)$/,
  /^dist\/third-party\.txt$/,
  /^docs\/([\w-]+\/)?[\w-]+\.md$/,
  /^docs\/router-exporter\.example\.yaml$/,
  /^docs\/images\/[\w-]+\.png$/,
  /^bench\/RESULTS\.md$/,
  /^dashboards\/(grafana-com|json)\/[\w-]+\.json$/,
  /^deploy\/helm\/((templates|templates\/tests|rules|dashboards)\/)?[\w.-]+\.(yaml|json|md|tpl|txt)$/,
  /^deploy\/ansible\/(README\.md|roles\/router_exporter\/\w+\/\w+\.yml)$/,
  /^deploy\/mixin\/(README\.md|mixin\.libsonnet|rules\.json)$/,
  /^deploy\/(loki|prometheus|prometheus\/examples|sidecar|systemd)\/[\w@-]+\.(yaml|sh|service)$/,
];

describe.skipIf(sampled('npm package', false, true))(`the package${sampleNote('npm package')}`, () => {
  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'router-exporter-package-'));
    const checkout = join(folder, 'checkout');
    project = join(folder, 'project');
    copyCheckout(checkout);
    const settings = { npm_config_update_notifier: 'false', npm_config_offline: 'true', REVISION };
    const env = { ...process.env, ...settings };
    const npm = spawnSync('npm', ['run', '--silent', 'package'], { cwd: checkout, encoding: 'utf8', env });
    if (npm.status !== 0) throw new RangeError(`npm run package failed: ${npm.stderr}${npm.stdout}`);
    tarball = join(checkout, npm.stdout.trim());
    const listed = spawnSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).stdout.trim().split('\n');
    packed = listed.map((path) => path.replace('package/', ''));
    const modules = join(project, 'node_modules');
    mkdirSync(modules, { recursive: true });
    spawnSync('tar', ['-xzf', tarball, '-C', modules]);
    cpSync(join(modules, 'package'), join(modules, 'router-exporter'), { recursive: true });
    for (const name of [...Object.keys(manifest.dependencies), '@types/node', 'undici-types']) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(project, 'example.ts'), readExample());
  }, PACKING_MS_MAX);
  afterAll(() => rmSync(dirname(project), { recursive: true, force: true }));

  test('holds the command, the library with its declarations, the documents, and no tests, sources or tools', () => {
    expect(packed).toEqual(expect.arrayContaining(['bin/router-exporter.js', 'LICENSE', 'README.md', 'CHANGELOG.md']));
    for (const entry of ['main', 'index', 'simulator', ...Object.keys(THREAD_SOURCES)]) {
      expect(packed).toContain(`dist/${entry}.js`);
    }
    for (const entry of ['index', 'simulator/index']) expect(packed).toContain(`dist/types/${entry}.d.ts`);
    const strange = packed.filter((path) => !KINDS.some((kind) => kind.test(path)));
    expect(packed).toContain('dist/modules/device.yaml');
    expect(strange).toEqual([]);
  });

  test('brings what the documents of installing point to', () => {
    expect(packed).toEqual(
      expect.arrayContaining([
        ...['docs/install.md', 'docs/operations.md', 'docs/router-exporter.example.yaml', 'dashboards/json/fleet.json'],
        ...['deploy/prometheus/alerts.yaml', 'deploy/prometheus/rules.yaml', 'deploy/loki/rules.yaml'],
        ...[
          'deploy/systemd/router-exporter.service',
          'deploy/systemd/router-exporter@.service',
          'deploy/sidecar/run-with-reader.sh',
        ],
      ]),
    );
  });

  test('has a manifest without anything that only a checkout needs, and no address that is not known', () => {
    const folder = join(project, 'node_modules/router-exporter');
    const keys = Object.keys(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object);
    const known = [
      'name',
      'version',
      'description',
      'license',
      'type',
      'bin',
      'exports',
      'files',
      'engines',
      'dependencies',
      'revision',
    ];
    expect(keys).toEqual(known);
  });

  test('is not made by `npm pack` or published from a checkout by mistake', () => {
    const npm = spawnSync('npm', ['pack', '--dry-run'], { cwd: dirname(tarball), encoding: 'utf8' });
    expect(npm).toMatchObject({ status: 1, stderr: expect.stringContaining('npm run package') });
    expect(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).toMatchObject({ private: true });
  });

  test('has documents whose links lead to files that it brings', () => {
    const folder = join(project, 'node_modules/router-exporter');
    const pages = packed.filter((path) => path.endsWith('.md'));
    const links = pages.flatMap((page) => {
      const text = readFileSync(join(folder, page), 'utf8');
      return [...text.matchAll(/\]\(([^)#\s:]+)(#[^)]*)?\)/g)].map(([, path = '']) => join(dirname(page), path));
    });
    expect(links.length).toBeGreaterThan(100);
    expect([...new Set(links)].filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  test('holds no source maps, whose sources are not there, and no path or secret of the machine that made it', () => {
    const folder = join(project, 'node_modules/router-exporter');
    const read = (path: string) => readFileSync(join(folder, path), 'utf8');
    expect(packed.filter((path) => path.endsWith('.js') && read(path).includes('sourceMappingURL'))).toEqual([]);
    const checkout = dirname(tarball);
    const homes = [ROOT.replace(/\/$/, ''), checkout, homedir() === '/' ? checkout : homedir()];
    const leaks = packed.filter((path) => {
      const text = read(path);
      return homes.some((home) => text.includes(`${home}/`)) || /BEGIN (EC |RSA )?PRIVATE KEY-{5}\s+\w{20}/.test(text);
    });
    expect(leaks).toEqual([]);
  });

  test('installs into an empty folder as npm does it, and runs there', async ({ skip }) => {
    const elsewhere = join(dirname(project), 'elsewhere');
    // The command of the page, at another place.
    const command = /^npm install --prefix (\S+) .*\.tgz$/m.exec(
      readFileSync(join(ROOT, 'docs/install.md'), 'utf8'),
    ) ?? [''];
    const [line, prefix = ''] = command;
    const here = line.replace(prefix, elsewhere).replace(/\S+\.tgz$/, tarball);
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
    const settings = {
      npm_config_update_notifier: 'false',
      npm_config_prefer_offline: 'true',
      npm_config_audit: 'false',
    };
    const env = { ...settings, PATH, NODE_OPTIONS: '', npm_config_loglevel: 'error' };
    const watch = new StopWatch();
    await using npm = startProgram('sh', ['-c', here], env, dirname(project));
    const { code, stderr } = await npm.ended;
    const installMs = watch.lap();
    // What a checkout has installed lies in the cache of npm, but not what the registry says about newer versions.
    if (
      code !== 0 &&
      /ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/.test(stderr) &&
      !process.env['REQUIRE_TOOLS']
    ) {
      skip('no registry can be reached');
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const unit = readFileSync(
      join(elsewhere, 'node_modules/router-exporter/deploy/systemd/router-exporter.service'),
      'utf8',
    );
    expect(unit).toContain(`ExecStart=${prefix}/node_modules/.bin/router-exporter run `);
    expect(existsSync(join(elsewhere, 'node_modules/dev-runtime'))).toBe(false);
    const run = (...args: string[]) => startProgram('node_modules/.bin/router-exporter', args, env, elsewhere);

    await using version = run('--version');
    expect(await version.ended).toEqual({ code: 0, signal: null, stdout: VERSION, stderr: '' });
    cpSync(
      join(elsewhere, 'node_modules/router-exporter/deploy/systemd/router-exporter.yaml'),
      join(elsewhere, 'router-exporter.yaml'),
    );
    await using check = run('check');
    expect(await check.ended).toMatchObject({ code: 2, stdout: expect.stringContaining('CREDENTIALS_DIRECTORY') });
    watch.lap();
    await using demo = run('demo', '--routers', '1', '--web.listen-address', '127.0.0.1:0');
    const [url] = await demo.waitFor('stderr', /http:\/\/127\.0\.0\.1:\d+/);
    const read = async () => await (await fetch(`${url}/metrics`)).text();
    await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*\} 1$/m);
    const first = { commands: 2, ms: installMs + watch.lap() };
    demo.process.kill('SIGTERM');
    expect(await demo.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 of 1 routers up/) });

    watch.lap();
    await using upgraded = startProgram('sh', ['-c', here], env, dirname(project));
    expect(await upgraded.ended).toMatchObject({ code: 0 });
    const upgrade = { commands: 1, ms: watch.lap() };
    const removed = startProgram('npm', ['uninstall', '--prefix', elsewhere, 'router-exporter'], env, dirname(project));
    expect(await removed.ended).toMatchObject({ code: 0 });
    const removal = { commands: 1, ms: watch.lap() };
    expect(existsSync(join(elsewhere, 'node_modules/router-exporter'))).toBe(false);
    recordInstallation({ method: 'npm, with a Node.js and simulated routers (`demo`)', first, upgrade, removal });
  });

  test('has a command that says its version', async () => {
    await using program = inProject('node_modules/router-exporter/bin/router-exporter.js', '--version');
    expect(await program.ended).toMatchObject({ code: 0, stdout: VERSION, stderr: '' });
  });

  test('says in its metrics which version and commit it was made of', async () => {
    const flags = ['demo', '--for', '30s', '--routers', '1', '--web.listen-address', '127.0.0.1:0'];
    await using program = inProject('node_modules/router-exporter/bin/router-exporter.js', ...flags);
    const [url] = await program.waitFor('stderr', /http:\S+\/metrics/);
    const metrics = await (await fetch(url)).text();
    expect(metrics).toContain(`\nrouter_exporter_build_info{version="${manifest.version}",revision="${REVISION}",`);
  });

  test('has a command that shows a fleet and ends by itself', async () => {
    const flags = ['demo', '--for', '3s', '--routers', '1', '--web.listen-address', '127.0.0.1:0'];
    await using program = inProject('node_modules/router-exporter/bin/router-exporter.js', ...flags);
    const { code, stdout, stderr } = await program.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/1 of 1 routers up, \d+ polls/) });
    expect(JSON.parse(stdout.split('\n')[0] ?? '')).toMatchObject({ router: 'sim-1' });
  });

  test('is a client and routers to try it on, for programs that import it', async () => {
    writeFileSync(
      join(project, 'program.ts'),
      `import { createSystemClock, RouterClient, RouterError } from 'router-exporter';
import { startSimulator } from 'router-exporter/simulator';

await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
const url: string = simulator.routers[0]?.url ?? '';
const tls = { caPem: simulator.caPem };
await using router = new RouterClient({ url, username: 'monitor', password: 'simulated', tls });
const profiles = await router.listProfiles();
const refused = await router.performAction({ type: 'reboot', options: {} }).catch((cause: unknown) => cause);
console.log(JSON.stringify([profiles[0]?.name, refused instanceof RouterError && refused.status]));
`,
    );
    await using program = inProject('program.ts');
    expect(await program.ended).toEqual({ code: 0, signal: null, stdout: '["Profile",403]\n', stderr: '' });
  });

  test('waits for a router that is busy, in a program that has nothing else to do', async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    const [simulated] = simulator.routers;
    await simulated?.fault('http_503', { path: '/status', retryAfterSeconds: 1, times: 1 });
    writeFileSync(join(project, 'device-ca.pem'), simulator.caPem);
    writeFileSync(
      join(project, 'patient.ts'),
      `import { readFileSync } from 'node:fs';
import { RouterClient } from 'router-exporter';

const tls = { caPem: readFileSync('device-ca.pem', 'utf8') };
await using router = new RouterClient({ url: process.argv[2] ?? '', username: 'monitor', password: 'simulated', tls });
await router.readStatus('device_info');
console.log('answered');
`,
    );
    await using program = inProject('patient.ts', simulated?.url ?? '');
    expect(await program.ended).toEqual({ code: 0, signal: null, stdout: 'answered\n', stderr: '' });
    expect(simulated?.faults).toEqual([]);
  });

  test('does what the reference shows', async () => {
    await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
    writeFileSync(join(project, 'device-ca.pem'), simulator.caPem);
    const example = readExample().replace('https://192.0.2.10', simulator.routers[0]?.url ?? '');
    writeFileSync(join(project, 'example-here.ts'), example);
    const env = { ROUTER_PASSWORD: 'simulated' };
    await using program = startProgram(process.execPath, ['example-here.ts'], env, project);
    const { code, stdout, stderr } = await program.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/status: .*username: 'monitor'/s);
    expect(simulator.routers[0]?.counters).toMatchObject({ logins: 1, logouts: 1 });
  });

  test('has declarations that a strict compiler takes, without the sources', () => {
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      strict: true,
    };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, noEmit: true, types: ['node'] }, include: ['*.ts'] }),
    );
    const { status, stdout } = spawnSync(process.execPath, [TSC], { cwd: project, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    const declarations = packed.filter((path) => path.endsWith('.d.ts'));
    const folder = join(project, 'node_modules/router-exporter');
    const leaks = declarations.filter((path) => /from '[^']*\.ts'/.test(readFileSync(join(folder, path), 'utf8')));
    expect(leaks).toEqual([]);
  });
});
