import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtempDisposable, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startProgram } from '../support/child.ts';

const SCRIPT = fileURLToPath(new URL('../../router-exporter', import.meta.url));
const NODE = '#!/bin/sh\necho "$@"\n';
/** Notes each call, and installs a Node.js. */
const NPM = `#!/bin/sh
echo "$@" >> npm-calls
mkdir -p node_modules/.bin
printf '${NODE.replaceAll('\n', '\\n')}' > node_modules/.bin/node
chmod +x node_modules/.bin/node
touch node_modules/.package-lock.json
`;

test('./router-exporter installs the dependencies if they are missing or old, and passes its arguments on', async () => {
  await using root = await mkdtempDisposable(join(tmpdir(), 'router-exporter-checkout '));
  const [script, lock, tools] = ['router-exporter', 'package-lock.json', 'tools'].map((name) => join(root.path, name));
  if (!script || !lock || !tools) return expect.unreachable();
  await copyFile(SCRIPT, script);
  await writeFile(lock, '{}');
  await mkdir(tools);
  const run = (file = script) =>
    promisify(execFile)(file, ['demo', '--for', '1 s'], { env: { PATH: `${tools}:/usr/bin:/bin` } });
  const countInstallations = async () => (await readFile(join(root.path, 'npm-calls'), 'utf8')).split('\n').length - 1;

  await writeFile(join(tools, 'npm'), NPM, { mode: 0o755 });
  const { stdout, stderr } = await run();
  expect(stdout).toBe(`${root.path}/bin/router-exporter.js demo --for 1 s\n`);
  expect(stderr).toBe('Installing the dependencies (npm ci)\n');
  expect(await run()).toEqual({ stdout, stderr: '' });
  expect(await countInstallations()).toBe(1);

  await utimes(lock, new Date(), new Date(Date.now() + 3_600_000));
  await run();
  expect(await countInstallations()).toBe(2);
  await utimes(lock, new Date(), new Date(0));
  const link = join(tools, 'link');
  await symlink(script, link);
  expect(await run(link)).toEqual({ stdout, stderr: '' });
});

test('a second ./router-exporter waits while the first one installs, and does not install again', async () => {
  await using root = await mkdtempDisposable(join(tmpdir(), 'router-exporter-checkout '));
  const script = join(root.path, 'router-exporter');
  await copyFile(SCRIPT, script);
  await writeFile(join(root.path, 'package-lock.json'), '{}');
  // It installs once somebody writes to the pipe.
  await promisify(execFile)('mkfifo', [join(root.path, 'go')]);
  const npm = NPM.replace('\n', '\necho started >&2\nread line < go\n');
  await writeFile(join(root.path, 'npm'), npm, { mode: 0o755 });
  const env = { PATH: `${root.path}:/usr/bin:/bin` };
  await using first = startProgram(script, ['first'], env);
  await first.waitFor('stderr', /started/);
  await using second = startProgram(script, ['second'], env);
  await second.waitFor('stderr', /Waiting for another installation/);
  await writeFile(join(root.path, 'go'), '\n');
  expect(await first.ended).toMatchObject({ code: 0, stdout: `${root.path}/bin/router-exporter.js first\n` });
  expect(await second.ended).toMatchObject({ code: 0, stdout: `${root.path}/bin/router-exporter.js second\n` });
  expect(await readFile(join(root.path, 'npm-calls'), 'utf8')).toBe('ci --loglevel=error\n');
});

test('./router-exporter says that it needs npm, with exit code 2', async () => {
  await using root = await mkdtempDisposable(join(tmpdir(), 'router-exporter-checkout '));
  await copyFile(SCRIPT, join(root.path, 'router-exporter'));
  await writeFile(join(root.path, 'package-lock.json'), '{}');
  const programs = join(root.path, 'programs');
  await mkdir(programs);
  for (const name of ['sh', 'dirname', 'readlink']) await symlink(`/bin/${name}`, join(programs, name));
  const run = promisify(execFile)(join(root.path, 'router-exporter'), [], { env: { PATH: programs } });
  await expect(run).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs npm (Node.js 20 or later)'),
  });
});
