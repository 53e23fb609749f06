import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { fetchRuntime } from '../../tools/package.ts';
import { startProgram } from '../support/child.ts';
import { layOutRoot, NO_ROOT, openCleanRoot } from '../support/clean-root.ts';
import { buildInFolder, parseDockerfile, readWords } from '../support/dockerfile.ts';
import { listElf, listFiles } from '../support/elf.ts';
import { recordInstallation, StopWatch } from '../support/installation-figures.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCKERFILE = join(ROOT, 'deploy/container/Dockerfile');
const stages = parseDockerfile(readFileSync(DOCKERFILE, 'utf8'));
const last = stages.at(-1)?.instructions ?? [];
/** What stands behind a keyword of the last stage. */
const lastOf = (keyword: string) => last.find((one) => one.keyword === keyword)?.text ?? '';
const STATE = lastOf('VOLUME');
/** Bytes of the image. Node.js has 121 MiB. */
const IMAGE_BYTES_MAX = 140 * 1024 ** 2;
/** Three systems, two installations, and a compiler, on a busy machine. */
const BUILD_MS_MAX = 10 * 60_000;

withPrograms(['hadolint'], describe)('hadolint', () => {
  const lint = (text: string) => spawnSync('hadolint', ['-'], { encoding: 'utf8', input: text });

  test('finds no fault in the Dockerfile', () => {
    expect(lint(readFileSync(DOCKERFILE, 'utf8'))).toMatchObject({ status: 0, stdout: '' });
  });

  test.for([
    ['an image without a version', (text: string) => text.replace(/^FROM \S+$/m, 'FROM node'), 'DL3006'],
    ['a relative WORKDIR', (text: string) => text.replace('WORKDIR /build', 'WORKDIR build'), 'DL3000'],
    [
      'an ENTRYPOINT that starts a shell',
      (text: string) => text.replace(/^ENTRYPOINT .*$/m, 'ENTRYPOINT node'),
      'DL3025',
    ],
  ] as const)('would find %s', ([, change, code]) => {
    const { status, stdout } = lint(change(readFileSync(DOCKERFILE, 'utf8')));
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringContaining(code) });
  });
});

/**
 * Starts a program as the container engine does, on the arguments behind the root `$0`: as process 1, as the user of the image,
 * with a root that cannot be written, and a volume.
 */
const ENTER_IMAGE = `set -e
mkdir -p "$0/proc" "$0/dev"
mount --bind "$0" "$0"
mount -o remount,bind,ro "$0"
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
mount -t tmpfs tmp "$0/tmp"
mount -t tmpfs -o uid=10001,gid=10001,mode=0700 state "$0${STATE}"
exec chroot --userspec=${lastOf('USER')} "$0" "$@"`;

withPrograms(['clean-root'], describe.skipIf(sampled('container image', false, true) || NO_ROOT !== ''))(
  `the image, built in a bare Debian 12${sampleNote('container image')}${NO_ROOT}`,
  () => {
    let folder: string;
    let image: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'router-exporter-image-'));
      for (const { name, base } of stages) if (base !== 'scratch') layOutBase(join(folder, `stage-${name}`));
      image = buildInFolder(stages, ROOT, folder, (command, cwd, root) => {
        runInStage(command, relative(root, cwd), root);
        return true;
      });
      for (const name of readdirSync(folder)) if (join(folder, name) !== image) removeAll(join(folder, name));
    }, BUILD_MS_MAX);
    afterAll(() => removeAll(folder), BUILD_MS_MAX);

    const words = (keyword: string) => readWords(lastOf(keyword).replace(/^.*CMD /, ''));
    const startInImage = (...command: readonly string[]) =>
      startProgram(
        'unshare',
        ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', ENTER_IMAGE, image, ...command],
        {
          PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
        },
      );

    test('is the program, Node.js and its libraries, without a shell, and belongs to root but for its state', () => {
      const files = listFiles(image);
      const libraries = ['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libstdc++.so.6'];
      const packages = ['libc6', 'libgcc-s1', 'libstdc++6'];
      expect(files.filter((path) => !path.startsWith('opt/router-exporter/dist/')).toSorted()).toEqual([
        ...['group', 'nsswitch.conf', 'os-release', 'passwd'].map((name) => `etc/${name}`),
        ...libraries.map((name) => `lib/x86_64-linux-gnu/${name}`),
        'lib64/ld-linux-x86-64.so.2',
        ...['LICENSE', 'bin/router-exporter.js', 'healthcheck.js', 'package.json'].map(
          (name) => `opt/router-exporter/${name}`,
        ),
        'usr/local/LICENSE',
        'usr/local/bin/node',
        ...packages.map((name) => `usr/share/doc/${name}/copyright`),
        ...packages.map((name) => `var/lib/dpkg/status.d/${name}`),
      ]);
      const owned = spawnSync('find', ['.', '-xdev', '-user', '10001', '-printf', String.raw`%P %m\n`], {
        cwd: image,
        encoding: 'utf8',
      });
      expect(owned.stdout).toBe(`${STATE.slice(1)} 700\n`);
      expect(listElf(join(image, 'opt'))).toEqual([]);
      const bytes = files.reduce((sum, path) => sum + statSync(join(image, path)).size, 0);
      expect(bytes).toBeLessThan(IMAGE_BYTES_MAX);
    });

    test('brings the certificate authorities, the time zones and its user, and finds names in the hosts file', async () => {
      const script = `
        const { rootCertificates } = await import('node:tls');
        const { userInfo } = await import('node:os');
        const { lookup } = await import('node:dns/promises');
        const zone = new Date(0).toLocaleString('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit' });
        console.log(rootCertificates.length > 100, zone, userInfo().username, (await lookup('plant-7.example')).address);`;
      writeFileSync(join(image, 'etc/hosts'), '192.0.2.7 plant-7.example\n');
      const [node = ''] = words('ENTRYPOINT');
      await using asked = startInImage(node, '--input-type=module', '--eval', script);
      expect(await asked.ended).toMatchObject({ code: 0, stdout: 'true 01 router-exporter 192.0.2.7\n' });
    });

    test('runs its own command as its own user with a root that cannot be written, answers its health check, and ends at SIGTERM', async () => {
      await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
      const settings = join(image, 'etc/router-exporter');
      writeFileSync(join(settings, 'ca.pem'), simulator.caPem);
      writeFileSync(
        join(settings, 'router-exporter.yaml'),
        `web: { listen: ["127.0.0.1:9847"] }
defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem } }
routers: [{ name: sim-1, url: "${simulator.routers[0]?.url}" }]
sinks: [{ name: console, type: stdout }]
`,
      );
      const watch = new StopWatch();
      await using agent = startInImage(...words('ENTRYPOINT'), ...words('CMD'));
      await agent.waitFor('stderr', /Started/);
      const read = async () => await (await fetch('http://127.0.0.1:9847/metrics')).text();
      await expect.poll(read, { timeout: 60_000 }).toMatch(/^router_up\{[^}]*\} 1$/m);
      const method = 'Container, without building the image and the work of an engine';
      // docker run; docker rm and docker run; docker rm, docker volume rm and docker image rm.
      const [upgrade, removal] = [{ commands: 2 }, { commands: 3 }];
      recordInstallation({ method, first: { commands: 1, ms: watch.lap() }, upgrade, removal });
      simulator.routers[0]?.appendLog('network', 'a line');
      await agent.waitFor('stdout', /"message":"a line"/);
      await using health = startInImage(...words('HEALTHCHECK'));
      expect(await health.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/answers 200\n$/) });

      const parent = agent.process.pid ?? 0;
      const child = Number(readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8'));
      const status = readFileSync(`/proc/${child}/status`, 'utf8');
      expect(status).toMatch(/^Uid:\s+10001\s+10001\s/m);
      expect(status).toMatch(/^NSpid:\s+\d+\s+1$/m);
      process.kill(child, 'SIGTERM');
      expect(await agent.ended).toMatchObject({ code: 0 });
      expect(simulator.routers[0]?.counters).toMatchObject({ logouts: 1 });
    });

    withPrograms(['qemu-aarch64-static'], test)(
      'is the same program on arm64, in an emulator',
      { timeout: BUILD_MS_MAX },
      async () => {
        using root = openCleanRoot('arm64');
        const runtime = fetchRuntime('arm64', folder);
        const [node = '', ...entry] = words('ENTRYPOINT');
        cpSync(join(runtime, 'bin/node'), join(root.folder, node));
        cpSync(join(image, 'opt'), join(root.folder, 'opt'), { recursive: true, verbatimSymlinks: true });
        expect(new Set(listElf(root.folder).map(([, machine]) => machine))).toEqual(new Set(['arm64', 'amd64']));
        // The emulator itself is the only one of this machine.
        const foreign = listElf(root.folder).filter(([, machine]) => machine === 'amd64');
        expect(foreign).toEqual([['usr/bin/qemu-aarch64-static', 'amd64']]);
        const flags = ['--routers', '1', '--web.listen-address', '127.0.0.1:0'];
        await using demo = root.start(node, ...entry, 'demo', ...flags);
        const [url] = await demo.waitFor('stderr', /http:\/\/127\.0\.0\.1:\d+/);
        const read = async () => await (await fetch(`${url}/metrics`)).text();
        await expect.poll(read, { timeout: 120_000, interval: 500 }).toMatch(/^router_up\{[^}]*\} 1$/m);
        demo.process.kill('SIGTERM');
        expect(await demo.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 of 1 routers up/) });
      },
    );
  },
);

/** Removes a root: several times as fast as Node.js does it. */
function removeAll(folder: string): void {
  expect(spawnSync('rm', ['--recursive', '--force', '--one-file-system', folder]).status).toBe(0);
}

/** Lays out what the base image has: a Debian with the licences of its packages, and Node.js and npm in /usr/local. */
function layOutBase(root: string): void {
  layOutRoot(root, 'amd64');
  const local = join(root, 'usr/local');
  cpSync(process.execPath, join(local, 'bin/node'));
  cpSync(join(ROOT, 'LICENSE'), join(local, 'LICENSE'));
  for (const name of ['libc6', 'libgcc-s1', 'libstdc++6']) {
    mkdirSync(join(root, 'usr/share/doc', name), { recursive: true });
    writeFileSync(join(root, 'usr/share/doc', name, 'copyright'), '');
  }
  const npm = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' }).stdout.trim();
  cpSync(join(npm, 'npm'), join(local, 'lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true });
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
  for (const name of ['etc/resolv.conf', 'etc/ssl/certs/ca-certificates.crt']) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    cpSync(join('/', name), join(root, name), { dereference: true });
  }
}

/** Carries out a RUN in a stage, with the cache of npm of this machine. */
function runInStage(command: string, cwd: string, root: string): void {
  const script = `set -e
mount -t proc proc "$0/proc"
mkdir -p "$0/root/.npm"
mount --bind "$1" "$0/root/.npm"
exec chroot "$0" sh -c 'cd "/$0" && eval "$1"' "$2" "$3"`;
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
    NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt',
  };
  const cache = process.env['npm_config_cache'] ?? join(homedir(), '.npm');
  const done = spawnSync('unshare', ['--mount', 'sh', '-c', script, root, cache, cwd, command], {
    encoding: 'utf8',
    env,
  });
  if (done.status !== 0) throw new RangeError(`RUN ${command} failed: ${done.stdout}${done.stderr}`);
}
