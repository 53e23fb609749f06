import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { bootedRoot, bootSystemd } from '../support/booted-root.ts';
import { copyCheckout } from '../support/checkout.ts';
import type { Program } from '../support/child.ts';
import { NO_ROOT, openCleanRoot } from '../support/clean-root.ts';
import { listElf, listFiles } from '../support/elf.ts';
import { findFreePorts } from '../support/free-port.ts';
import { countCommands, recordInstallation, StopWatch } from '../support/installation-figures.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const section = readFileSync(join(ROOT, 'docs/install.md'), 'utf8').split('\n## Debian package\n')[1] ?? '';
/** Commands of the page: to make the package, and to install it. */
const [, install = ''] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text ?? '');
const NEXT_VERSION = '99.0.0';
const CONFIG = 'etc/router-exporter/router-exporter.yaml';
/** What an administrator writes into {@link CONFIG}. */
const OURS = 'routers: [{ name: plant-7, url: "https://192.0.2.10", username: monitor, password: secret }]\n';
const LIB = 'usr/lib/router-exporter';
const ANYWHERE = ['--web.listen-address', '127.0.0.1:0'];
/** Compiling, installing the dependencies twice, and compressing a Node.js, on a busy machine. */
const BUILD_MS_MAX = 10 * 60_000;

describe('the scripts of the Debian package', () => {
  test.for(['postinst', 'prerm', 'postrm', 'router-exporter'])('%s is plain sh', (name) => {
    const file = join(ROOT, 'deploy/debian', name);
    expect(spawnSync('sh', ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toMatch(/^#!\/bin\/sh\n/);
  });
});

withPrograms(['dpkg-deb'], describe.skipIf(sampled('Debian package', false, true)))(
  `the Debian package${sampleNote('Debian package')}`,
  () => {
    let folder: string;
    /** Makes the package as docs/install.md says, in a checkout of its own, and returns the file. */
    const make = (architecture: 'amd64' | 'arm64', compression: 'xz' | 'none') => {
      const env = {
        ...process.env,
        SOURCE_DATE_EPOCH: '1795435200',
        REVISION: '0123abc',
        DPKG_DEB_COMPRESSOR_TYPE: compression,
        // What is released is smaller, and takes half a minute.
        DPKG_DEB_COMPRESSOR_LEVEL: '0',
        npm_config_update_notifier: 'false',
      };
      const made = spawnSync('npm', ['run', '--silent', 'deb', '--', '--arch', architecture], {
        cwd: join(folder, 'checkout'),
        encoding: 'utf8',
        env,
      });
      if (made.status !== 0) throw new RangeError(`npm run deb failed: ${made.stderr}${made.stdout}`);
      return join(folder, 'checkout', made.stdout.trim());
    };
    let file: string;
    /** The same in a later version. */
    let next: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'router-exporter-debian-'));
      copyCheckout(join(folder, 'checkout'));
      file = make('amd64', 'xz');
      next = raiseVersion(file, folder);
    }, BUILD_MS_MAX);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    withPrograms(['lintian'], test)('passes lintian', { timeout: BUILD_MS_MAX }, () => {
      const { status, stdout } = spawnSync('lintian', ['--fail-on', 'error,warning', file], { encoding: 'utf8' });
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    });

    test('holds compiled code for one machine only, its Node.js, and no path of the machine that made it', () => {
      const content = join(folder, 'content');
      spawnSync('dpkg-deb', ['--extract', file, content]);
      expect(listElf(content)).toEqual([[`${LIB}/node`, 'amd64']]);
      const texts = listFiles(content).filter((path) => /\.(js|json|service|yaml|md)$/.test(path));
      expect(texts.filter((path) => readFileSync(join(content, path), 'utf8').includes(folder))).toEqual([]);
      const licences = readFileSync(join(content, 'usr/share/doc/router-exporter/licences.md'), 'utf8');
      expect(licences).toMatch(/^\| undici \| [\d.]+ \| MIT \|$/m);
      expect(readFileSync(join(content, LIB, 'dist/third-party.txt'), 'utf8')).toMatch(
        /^undici [\d.]+, MIT\n\nMIT License/m,
      );
      expect(existsSync(join(content, 'usr/share/doc/router-exporter/node-LICENSE.gz'))).toBe(true);
    });

    withPrograms(['clean-root'], test.skipIf(NO_ROOT !== ''))(
      `is installed, upgraded, removed and purged in a bare Debian 12${NO_ROOT}`,
      { timeout: BUILD_MS_MAX },
      async () => {
        using root = openCleanRoot();
        const before = listFiles(root.folder);
        const at = (path: string) => join(root.folder, path);
        cpSync(file, at('first.deb'));
        cpSync(next, at('next.deb'));

        root.expect('dpkg', '--install', '/first.deb');
        expect(root.expect('router-exporter', '--version')).toBe(`${version} (revision 0123abc, 2026-11-23)\n`);
        // Debian 12 has no Node.js of its own in this root.
        expect(root.run('sh', '-c', 'command -v node').status).not.toBe(0);
        const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
        await using demo = root.start(...asNobody, 'router-exporter', 'demo', '--routers', '1', ...ANYWHERE);
        await untilUp(demo);
        demo.process.kill('SIGTERM');
        expect(await demo.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 of 1 routers up/) });
        expect(
          root.expect('bash', '-c', `source /usr/share/bash-completion/completions/router-exporter && complete -p`),
        ).toContain('_router_exporter');
        const unit = readFileSync(at('usr/lib/systemd/system/router-exporter.service'), 'utf8');
        expect(unit).not.toContain('/opt/');
        const [program = '', script = '', ...flags] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
        expect([statSync(at(program)).mode.toString(8), existsSync(at(script)), flags[0]]).toEqual([
          '100755',
          true,
          'run',
        ]);
        // The configuration of the package as the unit would use it: only the address of the CA is missing.
        writeFileSync(at('etc/router-exporter/router-password'), 'simulated\n', { mode: 0o600 });
        const variables = [
          'env',
          'CREDENTIALS_DIRECTORY=/etc/router-exporter',
          'STATE_DIRECTORY=/var/lib/router-exporter',
        ];
        const check = root.run(...variables, 'router-exporter', 'check', '--config.file', `/${CONFIG}`);
        expect(check).toMatchObject({ status: 2, stdout: expect.stringMatching(/^[^\n]*device-ca\.pem[^\n]*\n/) });

        // What the administrator wrote, and what the agent did.
        writeFileSync(at(CONFIG), OURS);
        mkdirSync(at('var/lib/private/router-exporter'), { recursive: true });
        writeFileSync(at('var/lib/private/router-exporter/state.db'), 'positions');
        // Nothing is started before there is a configuration.
        expect(existsSync(at('etc/systemd/system/multi-user.target.wants/router-exporter.service'))).toBe(false);

        root.expect('dpkg', '--force-confold', '--install', '/next.deb');
        expect(root.expect('dpkg-query', '--show', '--showformat=${Version}', 'router-exporter')).toBe(NEXT_VERSION);
        expect(root.expect('router-exporter', 'check', '--config.file', `/${CONFIG}`)).not.toBe('');
        expect(readFileSync(at(CONFIG), 'utf8')).toBe(OURS);
        expect(readFileSync(at(`${CONFIG}.dpkg-dist`), 'utf8')).toContain('# changed in the next version');
        expect(existsSync(at('var/lib/private/router-exporter/state.db'))).toBe(true);
        expect(readFileSync(at('etc/default/router-exporter'), 'utf8')).toMatch(/^ARGS=""$/m);
        expect(root.expect('dpkg', '--verify', 'router-exporter')).toMatch(
          /^\S+ c \/etc\/router-exporter\/router-exporter\.yaml\n$/,
        );

        root.expect('dpkg', '--remove', 'router-exporter');
        expect(existsSync(at(LIB))).toBe(false);
        expect(existsSync(at('usr/bin/router-exporter'))).toBe(false);
        expect(readFileSync(at(CONFIG), 'utf8')).toBe(OURS);
        expect(existsSync(at('var/lib/private/router-exporter/state.db'))).toBe(true);

        root.expect('dpkg', '--purge', 'router-exporter');
        const left = listFiles(root.folder).filter((path) => !before.includes(path));
        expect(left.filter((path) => !/^(first|next)\.deb$|^var\/(lib\/dpkg|log|cache)\//.test(path))).toEqual([]);
      },
    );

    withPrograms(['clean-root'], test.skipIf(NO_ROOT !== '' || bootedRoot.isMissing))(
      `runs as a service of a real systemd: start, status, reload, watchdog, upgrade, several processes and removal${NO_ROOT || bootedRoot.note}`,
      { timeout: BUILD_MS_MAX },
      async () => {
        await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
        using root = openCleanRoot();
        const at = (path: string) => join(root.folder, path);
        cpSync(file, at('first.deb'));
        cpSync(next, at('next.deb'));
        await using booted = await bootSystemd(root);
        const expectRun = (...command: readonly string[]) => {
          const end = booted.run(...command);
          expect(end, booted.run('journalctl', '--no-pager', '--lines=50').stdout).toMatchObject({ status: 0 });
          return end.stdout;
        };
        const show = (property: string) =>
          expectRun('systemctl', 'show', '--value', '--property', property, 'router-exporter').trim();

        const watch = new StopWatch();
        expectRun('dpkg', '--install', '/first.deb');
        const installMs = watch.lap();
        expect(show('ActiveState')).toBe('inactive');
        const port = await findFreePorts(2);
        writeFileSync(at('etc/router-exporter/router-password'), 'simulated\n', { mode: 0o600 });
        writeFileSync(at('etc/router-exporter/device-ca.pem'), simulator.caPem);
        const config = readFileSync(at(CONFIG), 'utf8').replace('https://192.0.2.10', simulator.routers[0]?.url ?? '');
        writeFileSync(at(CONFIG), `${config}web: { listen: ["127.0.0.1:\${PORT}"] }\n`);
        const defaults = readFileSync(at('etc/default/router-exporter'), 'utf8');
        const flags = '--log.level=debug --web.enable-lifecycle';
        writeFileSync(
          at('etc/default/router-exporter'),
          `${defaults.replace('ARGS=""', `ARGS="${flags}"`)}PORT=${port}\n`,
        );
        // Shorter than that of the unit, for this test.
        mkdirSync(at('etc/systemd/system/router-exporter.service.d'), { recursive: true });
        writeFileSync(
          at('etc/systemd/system/router-exporter.service.d/test.conf'),
          '[Service]\nWatchdogSec=6\nRestartSec=100ms\n',
        );
        expectRun('systemctl', 'daemon-reload');
        watch.lap();
        expectRun('systemctl', 'enable', '--now', 'router-exporter');

        // `start` has waited until the agent serves its pages.
        expect((await fetch(`http://127.0.0.1:${port}/-/ready`)).status).toBe(200);
        await expect.poll(() => show('StatusText')).toBe('1 of 1 routers up');
        const step = { commands: countCommands(install), ms: installMs + watch.lap() };
        const first = show('MainPID');
        expect(expectRun('cat', `/proc/${first}/cmdline`)).toContain('\0--log.level=debug\0--web.enable-lifecycle\0');
        const status = expectRun('cat', `/proc/${first}/status`);
        // A user that exists only while it runs, no capabilities, no new privileges, and the filter of system calls.
        const user = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
        expect(user).toBeGreaterThanOrEqual(61_184);
        expect(status).toMatch(/^CapEff:\s+0+$/m);
        expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
        expect(status).toMatch(/^Seccomp:\s+2$/m);
        simulator.routers[0]?.appendLog('network', 'a line');
        const records = '/var/lib/private/router-exporter/records.jsonl';
        await expect.poll(() => booted.run('cat', records).stdout, { timeout: 60_000 }).toContain('"message":"a line"');

        expectRun('systemctl', 'reload', 'router-exporter');
        await expect
          .poll(() => expectRun('journalctl', '--no-pager', '--unit=router-exporter'))
          .toContain('Loaded the configuration again');
        expect([show('MainPID'), show('ActiveState'), show('NRestarts')]).toEqual([first, 'active', '0']);

        // An agent whose event loop stands still.
        expectRun('sh', '-c', `kill -STOP ${first}`);
        await expect.poll(() => show('NRestarts'), { timeout: 120_000 }).toBe('1');
        await expect.poll(() => show('StatusText'), { timeout: 60_000 }).toBe('1 of 1 routers up');
        const second = show('MainPID');
        expect(second).not.toBe(first);

        watch.lap();
        expectRun('dpkg', '--force-confold', '--install', '/next.deb');
        await expect.poll(() => show('StatusText'), { timeout: 60_000 }).toBe('1 of 1 routers up');
        const upgrade = { commands: 1, ms: watch.lap() };
        expect(show('MainPID')).not.toBe(second);
        // The state went on: no line is there twice.
        expect(expectRun('grep', '--count', '"message":"a line"', records)).toBe('1\n');

        // Two processes share the routers instead.
        expectRun('sh', '-c', 'echo TOTAL_SHARDS=2 >> /etc/default/router-exporter');
        expectRun('systemctl', 'disable', 'router-exporter');
        const both = ['router-exporter@0', 'router-exporter@1'];
        expectRun('systemctl', 'enable', '--now', ...both);
        expect(show('ActiveState')).toBe('inactive');
        for (const own of [port, port + 1]) {
          const list = async () => await (await fetch(`http://127.0.0.1:${own}/api/v1/routers`)).json();
          // A busy machine may take longer than a page waits.
          await expect.poll(list, { timeout: 60_000 }).not.toHaveProperty('unanswered');
          expect(await list()).toMatchObject({ routers: [{ name: 'plant-7' }] });
        }
        const folders = expectRun('sh', '-c', 'echo /var/lib/private/router-exporter-*');
        expect(folders).toBe('/var/lib/private/router-exporter-0 /var/lib/private/router-exporter-1\n');
        const shardPid = () => expectRun('systemctl', 'show', '--value', '--property', 'MainPID', ...both);
        const pids = shardPid();
        expectRun('dpkg', '--force-confold', '--install', '/next.deb');
        expect(expectRun('systemctl', 'is-active', ...both)).toBe('active\nactive\n');
        for (const pid of shardPid().trim().split(/\s+/)) expect(pids.split(/\s+/)).not.toContain(pid);

        watch.lap();
        expectRun('dpkg', '--remove', 'router-exporter');
        const removeMs = watch.lap();
        for (const own of [port, port + 1]) await expect(fetch(`http://127.0.0.1:${own}/-/healthy`)).rejects.toThrow();
        expect(booted.run('ls', '/etc/systemd/system/multi-user.target.wants').stdout).toBe('');
        watch.lap();
        expectRun('dpkg', '--purge', 'router-exporter');
        const removal = { commands: 1, ms: removeMs + watch.lap() };
        recordInstallation({ method: 'Debian package, as a service', first: step, upgrade, removal });
        expect(booted.run('find', '/var/lib', '-name', 'router-exporter*').stdout).not.toContain('private');
      },
    );

    // That this program and this Node.js run on arm64 is a test of the container's.
    test('is made for arm64 as well', { timeout: BUILD_MS_MAX }, () => {
      const other = make('arm64', 'none');
      expect(readField(other, 'Architecture')).toBe('arm64');
      const content = join(folder, 'content-arm64');
      spawnSync('dpkg-deb', ['--extract', other, content]);
      expect(listElf(content)).toEqual([[`${LIB}/node`, 'arm64']]);
    });
  },
);

/** Waits until a demo of one router shows it up, however long a busy machine takes. */
async function untilUp(demo: Program): Promise<void> {
  const [url] = await demo.waitFor('stderr', /http:\/\/127\.0\.0\.1:\d+/);
  const read = async () => await (await fetch(`${url}/metrics`)).text();
  await expect.poll(read, { timeout: 60_000, interval: 200 }).toMatch(/^router_up\{[^}]*\} 1$/m);
}

function readField(file: string, field: string): string {
  return spawnSync('dpkg-deb', ['--field', file, field], { encoding: 'utf8' }).stdout.trim();
}

/** Makes the same package in a later version, with another configuration. */
function raiseVersion(file: string, folder: string): string {
  const [content, next] = [join(folder, 'next'), join(folder, 'next.deb')];
  spawnSync('dpkg-deb', ['--raw-extract', file, content]);
  const control = join(content, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*/m, `Version: ${NEXT_VERSION}`));
  appendFileSync(join(content, CONFIG), '# changed in the next version\n');
  const made = spawnSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', content, next], { encoding: 'utf8' });
  expect(made).toMatchObject({ status: 0 });
  return next;
}
