import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Writes the addresses of all modules that the process has loaded to the file that it is given. */
const toHook = (file: string) => `
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
process.on('exit', () => writeFileSync(${JSON.stringify(file)}, JSON.stringify(loaded)));
`;

/** A router that is not asked. */
const CONFIG = `
web: { listen: ["127.0.0.1:0"] }
routers: [{ name: away, url: "http://127.0.0.1:9", username: monitor, password_file: password, state: retired }]
`;

test('an agent without the section cluster loads nothing of the cluster but the section, and no client of NATS', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-loaded-'));
  const toPath = (name: string) => join(folder.path, name);
  await writeFile(toPath('password'), 'simulated\n');
  await writeFile(toPath('router-exporter.yaml'), CONFIG);
  await writeFile(toPath('hook.mjs'), toHook(toPath('loaded.json')));
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const once = ['run', '--once', '--config.file', toPath('router-exporter.yaml'), '--storage.path', toPath('state')];

  await promisify(execFile)(process.execPath, ['--import', toPath('hook.mjs'), main, ...once]);

  const loaded = JSON.parse(await readFile(toPath('loaded.json'), 'utf8')) as readonly string[];
  const files = loaded.map((url) => url.replace(/^.*\/(?=src\/|node_modules\/)/, ''));
  expect(files).toContain('src/store/embedded-store.ts');
  expect(files.filter((file) => file.startsWith('src/cluster/')).toSorted()).toEqual([
    'src/cluster/index.ts',
    'src/cluster/settings.ts',
  ]);
  expect(files.filter((file) => file.includes('@nats-io'))).toEqual([]);
});
