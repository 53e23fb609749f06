import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { bootedRoot, bootSystemd } from '../support/booted-root.ts';
import { copyCheckout } from '../support/checkout.ts';
import { NO_ROOT, openCleanRoot } from '../support/clean-root.ts';
import { listElf, listFiles } from '../support/elf.ts';
import { findFreePort, findFreePorts } from '../support/free-port.ts';
import { countCommands, recordInstallation, StopWatch } from '../support/installation-figures.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const section = readFileSync(join(ROOT, 'docs/install.md'), 'utf8').split('\n## Archive\n')[1]?.split('\n## ')[0] ?? '';
/** Commands of the page: to make the archives, to install one, to make it a service, to upgrade and to remove it. */
const [, install = '', serve = '', upgrade = '', remove = ''] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(
  ([, text]) => text ?? '',
);
const CONFIG = 'etc/router-exporter/router-exporter.yaml';
/** Bundling, and compressing a Node.js, on a busy machine. */
const BUILD_MS_MAX = 10 * 60_000;
const toName = (architecture: string) => `router-exporter-${version}.linux-${architecture}`;

describe.skipIf(sampled('archive', false, true))(`the archive${sampleNote('archive')}`, () => {
  let checkout: string;
  const make = (architecture: string) => {
    const env = { ...process.env, SOURCE_DATE_EPOCH: '1795435200', npm_config_update_notifier: 'false' };
    const words = ['run', '--silent', 'tarball', '--', '--arch', architecture];
    const made = spawnSync('npm', words, { cwd: checkout, encoding: 'utf8', env });
    if (made.status !== 0) throw new RangeError(`npm run tarball failed: ${made.stderr}${made.stdout}`);
    return join(checkout, made.stdout.trim());
  };
  let file: string;
  let other: string;

  beforeAll(() => {
    checkout = join(mkdtempSync(join(tmpdir(), 'router-exporter-archive-')), 'checkout');
    copyCheckout(checkout);
    file = make('amd64');
    other = make('arm64');
  }, BUILD_MS_MAX);
  afterAll(() => rmSync(join(checkout, '..'), { recursive: true, force: true }));

  test('has the name, the folder and the sums that tools for exporters of Prometheus expect', () => {
    const list = spawnSync('tar', ['-tzf', file], { encoding: 'utf8' }).stdout.trim().split('\n');
    const name = toName('amd64');
    expect(file).toBe(join(checkout, `${name}.tar.gz`));
    expect(list.filter((path) => !path.startsWith(`${name}/`))).toEqual([]);
    const top = [
      'router-exporter',
      'router-exporter.yaml',
      'router-exporter.service',
      'router-exporter@.service',
      'LICENSE',
      'node-LICENSE',
    ];
    expect(list).toEqual(expect.arrayContaining([...top, 'lib/node', 'licences.md'].map((path) => `${name}/${path}`)));
    const sums = readFileSync(join(checkout, 'sha256sums.txt'), 'utf8');
    expect(sums.split('\n').map((line) => line.replace(/^[\da-f]{64} {2}/, ''))).toEqual([
      `${toName('amd64')}.tar.gz`,
      `${toName('arm64')}.tar.gz`,
      '',
    ]);
    const checked = spawnSync('sha256sum', ['--check', 'sha256sums.txt'], { cwd: checkout });
    expect(checked.status).toBe(0);
  });

  // That this program and this Node.js run on arm64 is a test of the container's.
  test('holds compiled code for one machine only, its Node.js, and no path of the machine that made it', () => {
    for (const [archive, architecture] of [
      [file, 'amd64'],
      [other, 'arm64'],
    ] as const) {
      const content = join(checkout, `../content-${architecture}`);
      mkdirSync(content);
      spawnSync('tar', ['-xzf', archive, '--strip-components=1', '-C', content]);
      expect(listElf(content)).toEqual([['lib/node', architecture]]);
      const texts = listFiles(content).filter((path) => /\.(js|json|service|yaml|md)$/.test(path));
      expect(texts.filter((path) => readFileSync(join(content, path), 'utf8').includes(checkout))).toEqual([]);
    }
  });

  withPrograms(['clean-root'], test.skipIf(NO_ROOT !== '' || bootedRoot.isMissing))(
    `is installed with the commands of the page in a bare Debian 12, serves, is upgraded and removed${NO_ROOT || bootedRoot.note}`,
    { timeout: BUILD_MS_MAX },
    async () => {
      await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
      using root = openCleanRoot();
      const at = (path: string) => join(root.folder, path);
      for (const path of [file, join(checkout, 'sha256sums.txt')]) cpSync(path, at(path.split('/').at(-1) ?? ''));
      await using booted = await bootSystemd(root);
      const before = listFiles(root.folder);
      const expectRun = (commands: string) => {
        const end = booted.run('sh', '-ec', `PATH=/usr/local/bin:$PATH\ncd /\n${commands}`);
        expect(end, booted.run('journalctl', '--no-pager', '--lines=50').stdout).toMatchObject({ status: 0 });
        return end.stdout;
      };
      expect(booted.run('sh', '-c', 'command -v node').status).not.toBe(0);

      const [demo = ''] = /^router-exporter demo .*\n/m.exec(install) ?? [];
      const watch = new StopWatch();
      expectRun(install.replace(demo, ''));
      const installMs = watch.lap();
      expectRun(demo.replace('--for 20s', '--for 2s --web.listen-address 127.0.0.1:0'));
      expect(expectRun('router-exporter --version')).toBe(`${version} (2026-11-23)\n`);
      expect(statSync(at(`opt/${toName('amd64')}/lib/node`)).uid).toBe(0);

      // What the administrator does by hand.
      const port = await findFreePort();
      mkdirSync(at('etc/router-exporter'), { recursive: true });
      writeFileSync(at('etc/router-exporter/router-password'), 'simulated\n', { mode: 0o600 });
      writeFileSync(at('etc/router-exporter/device-ca.pem'), simulator.caPem);
      const edit = `sed -i 's|https://192.0.2.10|${simulator.routers[0]?.url}|; $a web: { listen: ["127.0.0.1:${port}"] }' /${CONFIG}`;
      watch.lap();
      expectRun(serve.replace(/^\(umask .*\n/m, '').replace(/^editor .*$/m, edit));
      const read = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*\} 1$/m);
      const step = { commands: countCommands(install) - 1 + countCommands(serve), ms: installMs + watch.lap() };
      const first = expectRun('systemctl show --value --property MainPID router-exporter');

      watch.lap();
      expectRun(upgrade);
      await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*\} 1$/m);
      const upgraded = { commands: countCommands(upgrade), ms: watch.lap() };
      expect(expectRun('systemctl show --value --property MainPID router-exporter')).not.toBe(first);

      watch.lap();
      expectRun(remove);
      const removal = { commands: countCommands(remove), ms: watch.lap() };
      recordInstallation({ method: 'Archive, as a service', first: step, upgrade: upgraded, removal });
      await expect(read()).rejects.toThrow();
      expect(existsSync(at(CONFIG))).toBe(false);
      const left = listFiles(root.folder).filter((path) => !before.includes(path));
      expect(left.filter((path) => !/^(var\/(lib\/systemd|log)|tmp)\//.test(path))).toEqual([]);
    },
  );

  withPrograms(['clean-root', 'ansible-playbook'], test.skipIf(NO_ROOT !== '' || bootedRoot.isMissing))(
    `is installed by the Ansible role in a bare Debian 12, which changes nothing the second time, no agent by a faulty configuration, and starts two processes${NO_ROOT || bootedRoot.note}`,
    { timeout: BUILD_MS_MAX },
    async () => {
      await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
      using root = openCleanRoot();
      const at = (path: string) => join(root.folder, path);
      cpSync(file, at(`${toName('amd64')}.tar.gz`));
      cpSync(join(ROOT, 'deploy/ansible/roles'), at('roles'), { recursive: true });
      addAnsible(root.folder);
      await using booted = await bootSystemd(root);
      const port = await findFreePorts(2);
      const play = (polls: object, shards = 1) => {
        const config = {
          web: { listen: [`127.0.0.1:${port}`] },
          defaults: {
            username: 'monitor',
            password_file: '${CREDENTIALS_DIRECTORY}/router-password',
            tls: { ca_file: 'device-ca.pem' },
            ...polls,
          },
          routers: simulator.routers.map(({ name, url }) => ({ name, url })),
        };
        const vars = {
          router_exporter_archive: `/${toName('amd64')}.tar.gz`,
          router_exporter_secrets: { 'router-password': 'simulated' },
          router_exporter_files: { 'device-ca.pem': simulator.caPem },
          router_exporter_config: config,
          router_exporter_shards: shards,
        };
        const roles = [{ role: 'router_exporter', vars }];
        writeFileSync(
          at('site.yaml'),
          stringify([{ hosts: 'localhost', connection: 'local', gather_facts: false, roles }]),
        );
        return booted.run(
          ...[
            'env',
            'HOME=/root',
            'PYTHONPATH=/ansible',
            'ANSIBLE_ROLES_PATH=/roles',
            'ANSIBLE_NOCOLOR=1',
            'ANSIBLE_PIPELINING=1',
          ],
          ...['python3', '-m', 'ansible', 'playbook', '/site.yaml'],
        );
      };

      const watch = new StopWatch();
      const first = play({});
      expect(first, first.stdout).toMatchObject({ status: 0 });
      const read = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*\} 1$/m);
      const [upgraded, removal] = [{ commands: 1 }, { commands: countCommands(remove) }];
      const step = { commands: 1, ms: watch.lap() };
      recordInstallation({ method: 'Ansible, the archive as a service', first: step, upgrade: upgraded, removal });
      expect(statSync(at('etc/router-exporter/router-password')).mode.toString(8)).toBe('100600');
      const pid = () => booted.run('systemctl', 'show', '--value', '--property', 'MainPID', 'router-exporter').stdout;
      const before = pid();

      // The file of the configuration, and the agent that loads it again.
      const changed = play({ labels: { site: 'munich' } });
      expect(changed, changed.stdout).toMatchObject({ status: 0, stdout: expect.stringMatching(/changed=2 /) });
      await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*site="munich"[^}]*\} 1$/m);

      expect(play({ labels: { Site: ['munich'] } })).toMatchObject({
        status: 2,
        stdout: expect.stringContaining('labels'),
      });
      expect(pid()).toBe(before);
      expect(await read()).toMatch(/site="munich"/);

      const both = play({}, 2);
      expect(both, both.stdout).toMatchObject({ status: 0 });
      for (const own of [port, port + 1]) {
        const list = async () => await (await fetch(`http://127.0.0.1:${own}/api/v1/routers`)).json();
        await expect.poll(list, { timeout: 60_000 }).not.toHaveProperty('unanswered');
        expect(await list()).toMatchObject({ routers: { length: simulator.routers.length } });
      }
      expect(booted.run('systemctl', 'is-active', 'router-exporter').stdout).toBe('inactive\n');
      const again = play({}, 2);
      expect(again, again.stdout).toMatchObject({ status: 0, stdout: expect.stringMatching(/changed=0 /) });
    },
  );
});

/** Adds Python and ansible-core, as a machine has them that Ansible works on: with their times, by which compiled modules count. */
function addAnsible(root: string): void {
  const as = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
  copyFileSync('/usr/bin/python3.11', join(root, 'usr/bin/python3'));
  cpSync('/usr/lib/python3.11', join(root, 'usr/lib/python3.11'), as);
  const modules = globSync('/usr/lib/python3.11/lib-dynload/*.so');
  const linked = spawnSync('ldd', ['/usr/bin/python3', ...modules], { encoding: 'utf8' }).stdout;
  for (const [, library = ''] of linked.matchAll(/=> (\/\S+)/g)) {
    if (existsSync(join(root, library))) continue;
    copyFileSync(library, join(root, library));
  }
  const program = spawnSync('sh', ['-c', 'command -v ansible-playbook'], { encoding: 'utf8' }).stdout.trim();
  cpSync(join(dirname(program), 'python'), join(root, 'ansible'), as);
}

test('the launcher is plain sh', () => {
  const launcher = join(ROOT, 'deploy/tarball/router-exporter');
  expect(spawnSync('sh', ['-n', launcher], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  expect(readFileSync(launcher, 'utf8')).toMatch(/^#!\/bin\/sh\n/);
});

test('README installs it with commands of the page, which are tried in a bare system', () => {
  const [, text = ''] = /\n## Install\n.*?```sh\n(.*?)```/s.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
  const commands = text.trim().split('\n');
  expect(commands.length).toBeGreaterThan(2);
  expect(install.split('\n')).toEqual(expect.arrayContaining(commands));
});
