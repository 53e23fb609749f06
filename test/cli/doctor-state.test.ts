import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

/** Runs `doctor` on a configuration without routers that can be reached. */
async function examine(storage: string, ...flags: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-doctor-'));
  try {
    const file = join(folder, 'router-exporter.yaml');
    await writeFile(join(folder, 'file'), '');
    await writeFile(join(folder, 'none.yaml'), '[]');
    await writeFile(file, `router_files: [none.yaml]\nsinks: [{ name: console, type: stdout }]\n${storage}`);
    const { code, stdout, stderr } = await runCommand(['doctor', '--config.file', file, ...flags]);
    return { code, stdout: stdout.replaceAll(folder, 'FOLDER'), stderr };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('doctor tests the folder of the state and its free space', async () => {
  const { code, stdout } = await examine('storage: { path: state, spool_max: 1MiB }\n');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^state {2}FOLDER\/state {2}ok$/m);
  expect(stdout).toMatch(/^ {2}folder +ok +FOLDER\/state will be created$/m);
  expect(stdout).toMatch(/^ {2}free space +ok +[\d.]+ [MG]iB free, needs up to/m);
});

test('doctor fails when the folder of the state cannot be used, and only warns of the default one', async () => {
  const failed = await examine('storage: { path: file/state }\n', '--json');
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({
    state: {
      result: 'failed',
      steps: [{ step: 'folder', message: expect.stringContaining('a part of the path is a file') }],
    },
  });
  const warned = await examine('storage: { path: ./data, spool_max: 1000TiB }\n');
  expect(warned.code).toBe(0);
  expect(warned.stdout).toMatch(/^state {2}FOLDER\/data {2}warning$/m);
});
