import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRouterExporter } from '../support/child.ts';
import { runCommand } from './run-command.ts';

/** A sound configuration that every user of the machine may read. */
async function createBench() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'open-files-'));
  await chmod(folder.path, 0o755);
  const file = join(folder.path, 'a.yaml');
  await writeFile(
    file,
    `web: { listen: ["127.0.0.1:0"] }\nstorage: { path: data }\nrouters: [{ name: a, url: "https://127.0.0.1:9", username: u, password: hunter2hunter2 }]\n`,
  );
  await chmod(file, 0o644);
  return { file, [Symbol.asyncDispose]: () => folder.remove() };
}

const WARNING = 'may read';

test('check names files with secrets that every user may read, and finds no fault in them', async () => {
  await using bench = await createBench();
  const { code, stdout } = await runCommand(['check', '--config.file', bench.file]);
  expect(code).toBe(0);
  expect(stdout).toContain(`no faults`);
  expect(stdout).toContain(
    `${bench.file}:1:1: Warning: Every user of this machine ${WARNING} ${bench.file} (mode 0644)`,
  );
});

test('run warns of them once, also after a reload', async () => {
  await using bench = await createBench();
  await using agent = startRouterExporter('run', '--config.file', bench.file, '--log.format', 'json');
  await agent.waitFor('stderr', /Started/);
  agent.process.kill('SIGHUP');
  await agent.waitFor('stderr', /Loaded the configuration again/);
  agent.process.kill('SIGTERM');
  const { stderr } = await agent.ended;
  expect(stderr.match(/The configuration has a warning/g)).toHaveLength(1);
  expect(stderr).not.toContain('hunter2hunter2');
});
