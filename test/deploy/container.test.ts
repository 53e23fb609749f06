import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { startProgram } from '../support/child.ts';
import { buildInFolder, parseDockerfile, readIgnoreRules, readWords } from '../support/dockerfile.ts';
import { sampled, sampleNote } from '../support/sampled.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(ROOT, 'deploy/container/Dockerfile'), 'utf8');
const stages = parseDockerfile(text);
const last = stages.at(-1)?.instructions ?? [];
/** What stands behind a keyword of the last stage. */
const lastOf = (keyword: string) => last.filter((one) => one.keyword === keyword).map((one) => one.text);

describe('the Dockerfile', () => {
  test('has no fault that its checker knows', () => {
    expect(validate(text).map(({ message }) => message)).toEqual([]);
  });

  test.for([
    ['an instruction that does not exist', 'FROM node:24\nINSTALL npm\n', 'Unknown instruction: INSTALL'],
    ['several sources and a target that is no folder', 'FROM node:24\nCOPY a b c\n', 'must be a directory'],
    ['a second command', 'FROM node:24\nCMD ["a"]\nCMD ["b"]\n', 'only be one CMD'],
  ])('would not pass its checker with %s', ([, bad = '', message = '']) => {
    expect(validate(bad).map((fault) => fault.message)).toEqual([expect.stringContaining(message)]);
  });

  test('runs the Node.js of the package, without root rights, under a number', () => {
    const [, major] = /^ARG NODE_IMAGE=node:(\d+)-\w+-slim$/m.exec(text) ?? [];
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } };
    expect(manifest.engines.node).toMatch(new RegExp(`^>=${major}\\.`));
    expect(stages.map(({ base }) => base)).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}', 'scratch']);
    expect(lastOf('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    expect(last.findIndex(({ keyword }) => keyword === 'USER')).toBeGreaterThan(
      last.findLastIndex(({ keyword }) => keyword === 'RUN' || keyword === 'COPY'),
    );
  });

  test('starts the program as process 1 and not a shell, on the port and the folder that it declares', () => {
    const [port = ''] = lastOf('EXPOSE');
    expect(readFileSync(join(ROOT, 'docs/router-exporter.example.yaml'), 'utf8')).toContain(`listen: [":${port}"]`);
    expect(JSON.parse(lastOf('ENTRYPOINT')[0] ?? '')).toEqual([
      '/usr/local/bin/node',
      '--disable-sigusr1',
      expect.stringMatching(/^\/.*\/bin\/router-exporter\.js$/),
    ]);
    expect(JSON.parse(lastOf('CMD')[0] ?? '')).toContain(`--storage.path=${lastOf('VOLUME')[0]}`);
    const root = stages.find(({ name }) => name === 'root')?.instructions.map((one) => one.text) ?? [];
    expect(root.join()).toContain(
      `install -d -o ${lastOf('USER')[0]?.replace(':', ' -g ')} -m 0700 ${lastOf('VOLUME')[0]?.slice(1)}`,
    );
    expect(lastOf('HEALTHCHECK').join()).toMatch(/CMD \["\/usr\/local\/bin\/node"/);
    const labels = [
      ...lastOf('LABEL')
        .join()
        .matchAll(/org\.opencontainers\.image\.(\w+)=/g),
    ].map(([, name]) => name);
    expect(labels).toEqual(['title', 'description', 'licenses', 'version', 'revision', 'created']);
  });

  test('.dockerignore lets in what is copied and nothing that may hold secrets', () => {
    const isLetIn = readIgnoreRules(ROOT);
    const copied = stages.flatMap(({ instructions }) =>
      instructions
        .filter(({ keyword, flags }) => keyword === 'COPY' && flags['from'] === undefined)
        .flatMap(({ text: words }) => readWords(words).slice(0, -1)),
    );
    expect(copied.filter((path) => !existsSync(join(ROOT, path)) || !isLetIn(path))).toEqual([]);
    const names = [...readdirSync(ROOT), '.env', 'data', 'router-exporter.yaml', 'device-ca.pem'];
    expect(names.filter((name) => isLetIn(name) && !copied.some((path) => path.split('/')[0] === name))).toEqual([]);
    expect(['.git', 'node_modules', '.env', 'data', 'test'].filter(isLetIn)).toEqual([]);
  });
});

/** Where the program of the image lies, and a folder beside it for what it works on. */
let folder: string;
let app: string;
const isRoot = process.getuid?.() === 0;
const [uid = 0, gid = 0] = (lastOf('USER')[0] ?? '').split(':').map(Number);

/** The user of the image, for `setpriv`. Only root can become another one, and that one has to reach the Node.js of the tests. */
const asUser = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--no-new-privs', '--bounding-set=-all', '--'];
const canBecomeUser = isRoot && spawnSync('setpriv', [...asUser, process.execPath, '--version']).status === 0;

/** Starts a program as the user of the image, as far as this process may. */
function startInImage(...args: string[]) {
  const env = { NODE_OPTIONS: '', TMPDIR: join(folder, 'data') };
  if (!canBecomeUser) return startProgram(process.execPath, args, env);
  return startProgram('setpriv', [...asUser, process.execPath, ...args], env);
}
const startAgent = (...args: string[]) => startInImage(join(app, 'bin/router-exporter.js'), ...args);

describe.skipIf(sampled('container image', false, true))(
  `what the steps of the Dockerfile make${sampleNote('container image')}`,
  () => {
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'router-exporter-image-'));
      chmodSync(folder, 0o755);
      const root = buildInFolder(stages, ROOT, folder, (command, cwd) => {
        // The tools of the build are those of this checkout: what `npm ci` would bring.
        if (command !== 'npm ci --ignore-scripts') return false;
        symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
        return true;
      });
      // The stages before the last are no part of the image.
      for (const name of readdirSync(folder)) {
        if (join(folder, name) !== root) rmSync(join(folder, name), { recursive: true });
      }
      app = join(root, dirname(dirname(readWords(lastOf('ENTRYPOINT')[0] ?? '').at(-1) ?? '')));
      mkdirSync(join(folder, 'data'), { mode: 0o700 });
      if (isRoot) chownSync(join(folder, 'data'), uid, gid);
    }, 120_000);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test('is the bundled program, and nothing of the build', () => {
      expect(readdirSync(app).toSorted()).toEqual(['LICENSE', 'bin', 'dist', 'healthcheck.js', 'package.json']);
      expect(existsSync(join(app, 'dist/third-party.txt'))).toBe(true);
      expect(existsSync(join(app, 'dist/types'))).toBe(false);
    });

    test('says its version, and checks a configuration', async () => {
      await using version = startAgent('--version');
      expect(await version.ended).toMatchObject({ code: 0, stderr: '' });
      const file = join(folder, 'data/router-exporter.yaml');
      writeFileSync(
        file,
        'routers: [{ name: plant-7, url: "https://192.0.2.10", username: monitor, password: secret }]\n',
      );
      if (isRoot) chownSync(file, uid, gid);
      await using check = startAgent('check', '--config.file', file);
      expect(await check.ended).toMatchObject({ code: 0 });
    });

    test('shows a fleet and ends by itself', async () => {
      await using demo = startAgent('demo', '--for', '3s', '--routers', '1', '--web.listen-address', '127.0.0.1:0');
      expect(await demo.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 of 1 routers up/) });
    });

    test('writes below its data folder alone, answers the health check, and ends at SIGTERM', async () => {
      await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
      const settings = join(folder, 'settings');
      mkdirSync(settings, { recursive: true });
      writeFileSync(join(settings, 'ca.pem'), simulator.caPem);
      writeFileSync(
        join(settings, 'router-exporter.yaml'),
        `web: { listen: ["127.0.0.1:0"] }
defaults: { username: monitor, password: simulated, tls: { ca_file: ca.pem } }
routers: [{ name: sim-1, url: "${simulator.routers[0]?.url}" }]
sinks: [{ name: console, type: stdout }]
`,
      );
      const config = join(settings, 'router-exporter.yaml');
      const before = listAll(folder);
      await using agent = startAgent(
        'run',
        `--config.file=${config}`,
        `--storage.path=${join(folder, 'data')}`,
        '--log.format',
        'text',
      );
      simulator.routers[0]?.appendLog('network', 'a line');
      await agent.waitFor('stdout', /a line/);
      const [, port = ''] = await agent.waitFor('stderr', /127\.0\.0\.1:(\d+)/);

      await using health = startProgram(process.execPath, [join(app, 'healthcheck.js')], {
        HEALTH_URL: `http://127.0.0.1:${port}/-/healthy`,
      });
      expect(await health.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/answers 200\n$/) });
      agent.process.kill('SIGTERM');
      expect(await agent.ended).toMatchObject({ code: 0 });
      const after = listAll(folder).filter((path) => !before.includes(path));
      expect(after).not.toEqual([]);
      expect(after.filter((path) => !path.startsWith('data/'))).toEqual([]);
    });

    test('ends at SIGTERM as process 1, too', async ({ skip }) => {
      const isolated = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];
      if (spawnSync('unshare', [...isolated, 'true']).status !== 0)
        skip('this machine gives out no process namespaces');
      const command = [process.execPath, join(app, 'bin/router-exporter.js'), 'demo', '--routers', '1'];
      await using demo = startProgram('unshare', [
        ...isolated,
        '--kill-child',
        ...command,
        '--web.listen-address',
        '127.0.0.1:0',
      ]);
      await demo.waitFor('stdout', /sim-1/);
      const parent = demo.process.pid ?? 0;
      const child = Number(readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8'));
      expect(readFileSync(`/proc/${child}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m);
      process.kill(child, 'SIGTERM');
      expect(await demo.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/Summary: 1 of 1/) });
    });

    test.for([
      [200, 0],
      [401, 0],
      [503, 1],
    ])('the health check of a server that answers %i ends with %i', async ([status = 0, code = 0]) => {
      const server = createServer((_request, response) => void response.writeHead(status).end());
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      try {
        await using health = startProgram(process.execPath, [join(app, 'healthcheck.js')], {
          HEALTH_URL: `http://127.0.0.1:${port}/`,
        });
        expect(await health.ended).toMatchObject({ code, stdout: expect.stringContaining(`answers ${status}`) });
      } finally {
        server.close();
      }
    });

    test('the health check takes a certificate that is made for another name', async () => {
      await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 1 });
      const HEALTH_URL = `${simulator.routers[0]?.url}/openapi.json`;
      await using health = startProgram(process.execPath, [join(app, 'healthcheck.js')], { HEALTH_URL });
      expect(await health.ended).toMatchObject({ code: 0, stdout: `${HEALTH_URL} answers 200\n` });
    });

    test('the health check fails when nobody answers', async () => {
      await using health = startProgram(process.execPath, [join(app, 'healthcheck.js')], {
        HEALTH_URL: 'http://127.0.0.1:1/',
      });
      expect(await health.ended).toMatchObject({ code: 1, stdout: expect.stringContaining('does not answer') });
    });
  },
);

/** Every path below `top`, relative to it. */
function listAll(top: string): readonly string[] {
  return readdirSync(top, { recursive: true, encoding: 'utf8' });
}
